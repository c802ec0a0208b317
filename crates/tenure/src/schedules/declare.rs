//! A schedule to be.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenure_api::schedules::Overlap;
use tenure_core::{Refusal, codes};

use crate::error::Result;
use crate::store::Timestamp;

/// A schedule to make or to declare: a rule, and the job it starts. What is left out has its default.
///
/// ```
/// use std::time::Duration;
/// use serde_json::json;
/// use tenure::schedules::{CatchUp, NewSchedule, Overlap};
///
/// let nightly = NewSchedule::cron("0 3 * * *", "report.build")
///     .zone("Europe/Berlin")
///     .payload(&json!({"of": "yesterday"}))?
///     .jitter(Duration::from_secs(60))
///     .run_timeout(Duration::from_secs(3600));
///
/// let feed = NewSchedule::every(Duration::from_secs(300), "feed.import")
///     .overlap(Overlap::Queue)
///     .catch_up(CatchUp::EveryPlan { window: Duration::from_secs(3600), slots_max: 12 });
/// assert_eq!(feed.spec()["every_seconds"], 300);
/// # Ok::<(), tenure::Error>(())
/// ```
///
/// A rule is checked, and times are compared, when the schedule is made; see [`crate::Client::schedule`].
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct NewSchedule {
    spec: Map<String, Value>,
}

/// What becomes of slots that nobody was there to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatchUp {
    /// The latest of them runs, once.
    LatestOnly,
    /// Each runs, as far back as the window, so many at a time.
    EveryPlan {
        /// How far back.
        window: Duration,
        /// How many at a time.
        slots_max: u16,
    },
    /// None does.
    None,
}

impl NewSchedule {
    /// At the moments that five fields of cron name, in UTC unless [`zone`](Self::zone) says otherwise: a job of this kind.
    pub fn cron(expression: impl Into<String>, kind: impl Into<String>) -> NewSchedule {
        NewSchedule::of(kind).set("cron", expression.into())
    }

    /// At a fixed interval of whole seconds: a job of this kind.
    pub fn every(interval: Duration, kind: impl Into<String>) -> NewSchedule {
        NewSchedule::of(kind).set("every_seconds", seconds(interval))
    }

    fn of(kind: impl Into<String>) -> NewSchedule {
        NewSchedule { spec: Map::new() }.set("kind", kind.into())
    }

    /// The time zone that cron is read in, by its name in the IANA database.
    pub fn zone(self, zone: impl Into<String>) -> NewSchedule {
        self.set("zone", zone.into())
    }

    /// With this payload: anything that serde turns into a small JSON object. Its jobs get just this;
    /// which slot they run for is the [`SlotInfo`] beside it.
    pub fn payload(self, payload: &impl Serialize) -> Result<NewSchedule> {
        let payload = serde_json::to_value(payload).map_err(|error| {
            Refusal::new(
                codes::USAGE,
                "The payload cannot be written as JSON.",
                error.to_string(),
                "Give a value that serde can turn into a JSON object.",
            )
        })?;
        Ok(self.set("payload", payload))
    }

    /// Its jobs have this priority: higher goes first, 0 is normal.
    pub fn priority(self, priority: i32) -> NewSchedule {
        self.set("priority", priority)
    }

    /// Its jobs are for this executor, instead of the one that the policy of the kind names.
    pub fn executor(self, executor: impl Into<String>) -> NewSchedule {
        self.set("executor", executor.into())
    }

    /// Where the input of its jobs is.
    pub fn source_ref(self, reference: impl Into<String>) -> NewSchedule {
        self.set("source_ref", reference.into())
    }

    /// What its jobs work on.
    pub fn target_ref(self, reference: impl Into<String>) -> NewSchedule {
        self.set("target_ref", reference.into())
    }

    /// Where a larger payload is.
    pub fn payload_ref(self, reference: impl Into<String>) -> NewSchedule {
        self.set("payload_ref", reference.into())
    }

    /// Its payload is shown only to those who may see restricted ones.
    pub fn restricted(self) -> NewSchedule {
        self.set("classification", "restricted")
    }

    /// Each slot starts up to this much later than planned, so that not all start at once. Shorter than the way to the
    /// next slot.
    pub fn jitter(self, jitter: Duration) -> NewSchedule {
        self.set("jitter_seconds", seconds(jitter))
    }

    /// No slot before: a [`Timestamp`] or a [`SystemTime`](std::time::SystemTime). Intervals are counted from here.
    pub fn start(self, at: impl Into<Timestamp>) -> NewSchedule {
        self.set("start_at", at.into().to_string())
    }

    /// No slot after.
    pub fn end(self, at: impl Into<Timestamp>) -> NewSchedule {
        self.set("end_at", at.into().to_string())
    }

    /// What its runs are for: a kind of thing, and which of them. By default global.
    pub fn scope(self, kind: impl Into<String>, id: impl Into<String>) -> NewSchedule {
        self.set("scope_kind", kind.into()).set("scope_id", id.into())
    }

    /// What becomes of a slot while another run is under way. By default it is skipped; it waits if every plan is caught
    /// up.
    pub fn overlap(self, overlap: Overlap) -> NewSchedule {
        self.set("overlap", overlap.as_str())
    }

    /// What becomes of slots that nobody was there to start. By default what the kind says; else none of an agent's runs,
    /// and of others the latest.
    pub fn catch_up(self, catch_up: CatchUp) -> NewSchedule {
        match catch_up {
            CatchUp::LatestOnly => self.set("catch_up", "latest_only"),
            CatchUp::None => self.set("catch_up", "none"),
            CatchUp::EveryPlan { window, slots_max } => self
                .set("catch_up", "every_plan")
                .set("catch_up_window_seconds", seconds(window))
                .set("catch_up_slots_max", slots_max),
        }
    }

    /// How long a run may take. By default as the kind says.
    pub fn run_timeout(self, timeout: Duration) -> NewSchedule {
        self.set("run_timeout_seconds", seconds(timeout))
    }

    /// At most so many attempts of a run. By default as the kind says.
    pub fn attempts_max(self, attempts: u16) -> NewSchedule {
        self.set("attempts_max", attempts)
    }

    /// How long to wait before the second attempt. By default as the kind says.
    pub fn backoff(self, base: Duration) -> NewSchedule {
        self.set("backoff_base_seconds", seconds(base))
    }

    /// A run whose worker is lost, or that takes too long, has failed and is not run again: nobody knows how far it came.
    pub fn reentry_refused(self) -> NewSchedule {
        self.set("reentry", "refused")
    }

    /// What it is, for people.
    pub fn description(self, description: impl Into<String>) -> NewSchedule {
        self.set("description", description.into())
    }

    /// As `tenure.schedule_create` and `tenure.schedule_put` take it.
    #[doc(hidden)]
    pub fn spec(&self) -> Value {
        Value::Object(self.spec.clone())
    }

    fn set(mut self, field: &str, value: impl Into<Value>) -> NewSchedule {
        self.spec.insert(field.to_owned(), value.into());
        self
    }
}

/// Whole seconds. A fraction stays one, for the database to refuse: it would not be kept.
fn seconds(duration: Duration) -> Value {
    match duration.subsec_nanos() {
        0 => duration.as_secs().into(),
        _ => duration.as_secs_f64().into(),
    }
}

/// Which slot a job runs for, as the database wrote it with the job: what the payload says means nothing here. In a worker,
/// see [`Context::slot`](crate::worker::Context::slot).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SlotInfo {
    /// The schedule.
    pub schedule: String,
    /// The moment that the run stands for: take it for the time, not the clock.
    pub plan_time: Timestamp,
    /// What the run is for: a kind of thing,
    pub scope_kind: String,
    /// and which of them.
    pub scope_id: String,
    /// Who asked for it: the `rule`, somebody (`manual`), or a `backfill`.
    pub origin: String,
}
