//! Executors: their list, and the heartbeats of their processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// Whether an executor runs jobs.
    pub enum ExecutorRole {
        /// It claims and runs jobs.
        Executor = "executor",
        /// It makes jobs and runs none.
        Generator = "generator",
    }
}

words! {
    /// How a process is.
    pub enum BeatStatus {
        /// It works.
        Ok = "ok",
        /// It works, but something is wrong.
        Warn = "warn",
        /// It does not work.
        Error = "error",
    }
}

/// List executors, with the number of live processes of each
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorList {}

impl Operation for ExecutorList {
    const NAME: &str = "executor_list";
    const ROUTE: Route = Route::get("/v1/executors", "kinds");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<Executor>;
}

/// An executor in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Executor {
    /// Its name.
    pub executor: String,
    /// Whether it runs jobs.
    pub role: ExecutorRole,
    /// What it is, for people.
    pub note: String,
    /// The number of its processes with a recent heartbeat.
    pub alive: i64,
    /// The last heartbeat of any of its processes; null if there was none.
    pub last_tick_at: Option<Timestamp>,
}

/// Record a heartbeat of a process of an executor
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorBeat {
    /// The executor that the process works for.
    #[schemars(example = &"external_worker")]
    pub executor: String,
    /// The name of the process, up to 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// How the process is; `ok` if left out.
    pub status: Option<BeatStatus>,
    /// The job that it works on.
    pub current_job_id: Option<Uuid>,
    /// More about the process: a JSON object of up to 8192 bytes.
    #[schemars(with = "Option<crate::values::JsonObject>")]
    pub metadata: Option<Json>,
    /// Distinguishes processes with the same name.
    pub instance: Option<Uuid>,
}

impl Operation for ExecutorBeat {
    const NAME: &str = "executor_beat";
    const ROUTE: Route = Route::post("/v1/executors/{executor}/beat", "kinds");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ExecutorBeaten;
}

/// The heartbeat as it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutorBeaten {
    /// The name of the process.
    pub executor_name: String,
    /// The executor that it works for.
    pub executor: String,
    /// When the heartbeat was recorded.
    pub last_tick_at: Timestamp,
    /// How the process is; `warn` if another process shares its name.
    pub last_tick_status: BeatStatus,
    /// The number of heartbeats under this name.
    pub ticks_total: i64,
    /// Whether another live process uses the same name.
    pub name_shared: bool,
}

/// List processes of executors without a recent heartbeat
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaleCheck {
    /// A process is stale this many seconds after its last heartbeat, 1 to 31536000. If left out: twice the setting
    /// `queue.heartbeat.stale_threshold_seconds`.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub threshold_seconds: Option<i32>,
}

impl Operation for StaleCheck {
    const NAME: &str = "stale_check";
    const ROUTE: Route = Route::get("/v1/executors/stale", "services");
    const EFFECT: Effect = Effect::Reads;
    type Answer = StaleExecutors;
}

/// Processes without a recent heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaleExecutors {
    /// A process is stale this many seconds after its last heartbeat.
    pub threshold_seconds: i32,
    /// When this was found.
    pub checked_at: Timestamp,
    /// The number of stale processes.
    pub stale_count: i32,
    /// The stale processes, oldest heartbeat first.
    pub stale: Vec<StaleExecutor>,
}

/// A process without a recent heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaleExecutor {
    /// The name of the process.
    pub executor_name: String,
    /// The executor that it works for.
    pub executor: String,
    /// Its last heartbeat.
    pub last_tick_at: Timestamp,
    /// The seconds since then.
    pub age_seconds: i64,
}
