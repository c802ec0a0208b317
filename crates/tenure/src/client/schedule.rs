//! Schedules of a program: made, declared, looked at and run.

use tenure_api::schedules::{
    BackfillMode, BackfilledSlot, RulePreview, Schedule, ScheduleBackfill, ScheduleDelete, ScheduleExplain,
    ScheduleExplanation, ScheduleList, ScheduleOutcome, SchedulePause, ScheduleResume, ScheduleRun, ScheduleSlots,
    Slot, SlotState,
};
use tenure_core::codes;

use super::Client;
use crate::error::Result;
use crate::operations::Perform;
use crate::schedules::{self, NewSchedule};
use crate::store::Timestamp;

/// Two that declare a schedule at once may stand in each other's way; the one that gives way tries again.
const ROUNDS_MAX: usize = 5;
/// The maximum number of schedules or slots of a list that names none.
const LIMIT: i32 = 100;

impl Client {
    /// The schedule of this name, whether there is one or not.
    ///
    /// ```no_run
    /// # async fn run(client: tenure::Client) -> tenure::Result<()> {
    /// use std::time::{Duration, SystemTime};
    /// use tenure::schedules::NewSchedule;
    ///
    /// let nightly = client.schedule("nightly");
    /// nightly.put(&NewSchedule::cron("0 3 * * *", "report.build").zone("Europe/Berlin")).await?;
    /// println!("next: {:?}", nightly.preview(3).await?.slots);
    /// let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    /// println!("{}", nightly.explain(an_hour_ago).await?.answer);
    /// # Ok(())
    /// # }
    /// ```
    pub fn schedule(&self, name: impl Into<String>) -> NamedSchedule {
        NamedSchedule {
            client: self.clone(),
            name: name.into(),
        }
    }

    /// The schedules of the tenant by name, at most so many, after this name.
    pub async fn schedules(&self, limit: Option<i32>, after: Option<&str>) -> Result<Vec<Schedule>> {
        let list = ScheduleList {
            after: after.map(str::to_owned),
            cursor: None,
            limit: limit.unwrap_or(LIMIT),
        };
        let page = list.perform(&*self.pool.get().await?).await?;
        Ok(page.items)
    }
}

/// Which slots to list; what is left out does not filter.
#[derive(Debug, Clone, Default)]
pub struct SlotFilter {
    /// Only slots in one of these states.
    pub state: Option<Vec<SlotState>>,
    /// Only slots planned for this time or later.
    pub from: Option<Timestamp>,
    /// Only slots planned for this time or earlier.
    pub until: Option<Timestamp>,
    /// The maximum number of slots; 100 if left out.
    pub limit: Option<i32>,
    /// Only slots planned for a time before this one.
    pub before: Option<Timestamp>,
}

/// A schedule by its name; see [`Client::schedule`].
#[derive(Debug, Clone)]
pub struct NamedSchedule {
    client: Client,
    name: String,
}

impl NamedSchedule {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes it. Refused as `schedule_exists` if there is one of this name.
    pub async fn create(&self, schedule: &NewSchedule) -> Result<Schedule> {
        let connection = self.client.pool.get().await?;
        let whom = self.client.on_behalf_of.as_deref();
        let made = schedules::create(&*connection, &self.name, &schedule.spec(), whom).await?;
        Ok(made.schedule)
    }

    /// Makes it, or makes it equal to this one, or leaves it alone if it is: for schedules that a program declares. A
    /// pause stays. Two who declare it at once both succeed.
    pub async fn put(&self, schedule: &NewSchedule) -> Result<ScheduleOutcome> {
        let connection = self.client.pool.get().await?;
        let whom = self.client.on_behalf_of.as_deref();
        let mut round = 1;
        loop {
            match schedules::put(&*connection, &self.name, &schedule.spec(), whom).await {
                Err(error) if error.is(codes::BUSY_TRY_AGAIN) && round < ROUNDS_MAX => round += 1,
                answer => return Ok(answer?.outcome),
            }
        }
    }

    /// Lets its slots be skipped, each with its row, until it is resumed. What is under way goes on.
    pub async fn pause(&self, note: &str) -> Result<Schedule> {
        let pause = SchedulePause {
            name: self.name.clone(),
            note: Some(note.to_owned()),
            on_behalf_of: self.whom(),
        };
        self.perform(pause).await
    }

    /// Lets it go on with the next slot.
    pub async fn resume(&self) -> Result<Schedule> {
        let (name, on_behalf_of) = (self.name.clone(), self.whom());
        self.perform(ScheduleResume { name, on_behalf_of }).await
    }

    /// Ends it; its slots stay until their retention is over. Refused as `state_conflict` while a run is under way.
    pub async fn delete(&self) -> Result<()> {
        let (name, on_behalf_of) = (self.name.clone(), self.whom());
        self.perform(ScheduleDelete { name, on_behalf_of }).await?;
        Ok(())
    }

    /// Runs it now, whatever its rule says and paused or not: a slot of its own. While another run is under way its
    /// overlap decides whether this one runs, waits or is skipped.
    pub async fn run_now(&self) -> Result<Slot> {
        let (name, on_behalf_of) = (self.name.clone(), self.whom());
        Ok(self.perform(ScheduleRun { name, on_behalf_of }).await?.slot)
    }

    /// What it is, and where it stands.
    pub async fn show(&self) -> Result<Schedule> {
        schedules::show(&*self.client.pool.get().await?, &self.name).await
    }

    /// Its next slots.
    pub async fn preview(&self, count: i32) -> Result<RulePreview> {
        schedules::preview(&*self.client.pool.get().await?, &self.name, count).await
    }

    /// What became of a moment: which slot stands for it, or why none does.
    pub async fn explain(&self, at: impl Into<Timestamp>) -> Result<ScheduleExplanation> {
        let (name, at) = (self.name.clone(), at.into());
        self.perform(ScheduleExplain { name, at }).await
    }

    /// Its slots, newest first.
    pub async fn slots(&self, filter: &SlotFilter) -> Result<Vec<Slot>> {
        let list = ScheduleSlots {
            name: self.name.clone(),
            state: filter.state.clone(),
            from: filter.from,
            until: filter.until,
            before: filter.before,
            cursor: None,
            limit: filter.limit.unwrap_or(LIMIT),
        };
        Ok(self.perform(list).await?.items)
    }

    /// What a backfill of this range would run: slots of the past that nobody ran.
    pub async fn backfill_preview(&self, from: Timestamp, until: Timestamp) -> Result<Vec<BackfilledSlot>> {
        self.fill(from, until, BackfillMode::DryRun, 0).await
    }

    /// Runs the slots of this range that nobody ran, each so many seconds after the one before.
    pub async fn backfill(
        &self,
        from: Timestamp,
        until: Timestamp,
        stagger_seconds: i32,
    ) -> Result<Vec<BackfilledSlot>> {
        self.fill(from, until, BackfillMode::Apply, stagger_seconds).await
    }

    async fn fill(
        &self,
        from: Timestamp,
        until: Timestamp,
        mode: BackfillMode,
        stagger_seconds: i32,
    ) -> Result<Vec<BackfilledSlot>> {
        let backfill = ScheduleBackfill {
            name: self.name.clone(),
            from,
            until,
            mode,
            stagger_seconds,
            on_behalf_of: self.whom(),
        };
        Ok(self.perform(backfill).await?.items)
    }

    async fn perform<O: Perform>(&self, operation: O) -> Result<O::Answer> {
        operation.perform(&*self.client.pool.get().await?).await
    }

    fn whom(&self) -> Option<String> {
        self.client.on_behalf_of.as_deref().map(str::to_owned)
    }
}
