//! Schedules of a program: made, declared, looked at and run.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_core::{Refusal, codes};

use super::Client;
use crate::error::Result;
use crate::schedules::{self, Explanation, NewSchedule, Preview};
use crate::store::Timestamp;
use crate::store::schedules::{self as store, Backfilled, Schedule, Slot, SlotFilter};

/// Two that declare a schedule at once may stand in each other's way; the one that gives way tries again.
const ROUNDS_MAX: usize = 5;

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
        store::schedule_list(&*self.pool.get().await?, limit, after).await
    }
}

/// A schedule by its name; see [`Client::schedule`].
#[derive(Debug, Clone)]
pub struct NamedSchedule {
    client: Client,
    name: String,
}

/// What became of a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PutOutcome {
    /// There was no schedule of this name.
    Created,
    /// It was another, and is now as declared. What the old rule had planned is given up.
    Updated,
    /// It was just so.
    Unchanged,
}

impl NamedSchedule {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes it. Refused as `schedule_exists` if there is one of this name.
    pub async fn create(&self, schedule: &NewSchedule) -> Result<Schedule> {
        let connection = self.client.pool.get().await?;
        let made = schedules::create(&*connection, &self.name, &schedule.spec(), self.whom()).await?;
        read("schedule_create", made)
    }

    /// Makes it, or makes it equal to this one, or leaves it alone if it is: for schedules that a program declares. A
    /// pause stays. Two who declare it at once both succeed.
    pub async fn put(&self, schedule: &NewSchedule) -> Result<PutOutcome> {
        let connection = self.client.pool.get().await?;
        let mut round = 1;
        let answer = loop {
            match schedules::put(&*connection, &self.name, &schedule.spec(), self.whom()).await {
                Err(error) if error.is(codes::BUSY_TRY_AGAIN) && round < ROUNDS_MAX => round += 1,
                answer => break answer?,
            }
        };
        read("schedule_put", answer["outcome"].clone())
    }

    /// Lets its slots be skipped, each with its row, until it is resumed. What is under way goes on.
    pub async fn pause(&self, note: &str) -> Result<Schedule> {
        let connection = self.client.pool.get().await?;
        let paused = store::schedule_pause(&*connection, &self.name, Some(note), self.whom()).await?;
        read("schedule_pause", paused)
    }

    /// Lets it go on with the next slot.
    pub async fn resume(&self) -> Result<Schedule> {
        let connection = self.client.pool.get().await?;
        let resumed = store::schedule_resume(&*connection, &self.name, self.whom()).await?;
        read("schedule_resume", resumed)
    }

    /// Ends it; its slots stay until their retention is over. Refused as `state_conflict` while a run is under way.
    pub async fn delete(&self) -> Result<()> {
        let connection = self.client.pool.get().await?;
        store::schedule_delete(&*connection, &self.name, self.whom()).await?;
        Ok(())
    }

    /// Runs it now, whatever its rule says and paused or not: a slot of its own. While another run is under way its
    /// overlap decides whether this one runs, waits or is skipped.
    pub async fn run_now(&self) -> Result<Slot> {
        let connection = self.client.pool.get().await?;
        let slot = store::schedule_run(&*connection, &self.name, self.whom()).await?;
        read("schedule_run", slot)
    }

    /// What it is, and where it stands.
    pub async fn show(&self) -> Result<Schedule> {
        store::schedule_show(&*self.client.pool.get().await?, &self.name).await
    }

    /// Its next slots.
    pub async fn preview(&self, count: usize) -> Result<Preview> {
        schedules::preview(&*self.client.pool.get().await?, &self.name, count).await
    }

    /// What became of a moment: which slot stands for it, or why none does.
    pub async fn explain(&self, at: impl Into<Timestamp>) -> Result<Explanation> {
        schedules::explain(&*self.client.pool.get().await?, &self.name, at.into()).await
    }

    /// Its slots, newest first.
    pub async fn slots(&self, filter: &SlotFilter) -> Result<Vec<Slot>> {
        store::schedule_slots(&*self.client.pool.get().await?, &self.name, filter).await
    }

    /// What a backfill of this range would run: slots of the past that nobody ran.
    pub async fn backfill_preview(&self, from: Timestamp, until: Timestamp) -> Result<Vec<Backfilled>> {
        let connection = self.client.pool.get().await?;
        schedules::backfill(&*connection, &self.name, (from, until), "dry_run", None, self.whom()).await
    }

    /// Runs the slots of this range that nobody ran, each so many seconds after the one before.
    pub async fn backfill(&self, from: Timestamp, until: Timestamp, stagger_seconds: i32) -> Result<Vec<Backfilled>> {
        let connection = self.client.pool.get().await?;
        let stagger = Some(stagger_seconds);
        schedules::backfill(&*connection, &self.name, (from, until), "apply", stagger, self.whom()).await
    }

    fn whom(&self) -> Option<&str> {
        self.client.on_behalf_of.as_deref()
    }
}

pub(super) fn read<T: DeserializeOwned>(function: &str, answer: Value) -> Result<T> {
    serde_json::from_value(answer).map_err(|error| {
        let refusal = Refusal::new(
            codes::DATABASE_ERROR,
            format!("The answer of tenure.{function} cannot be read."),
            error.to_string(),
            "Check that program and schema belong together: tenure doctor.",
        );
        refusal.into()
    })
}
