//! Kinds of jobs: their policies, and pausing them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::governed::{GOVERNED_STATUSES, Governed};
use crate::schedules::CatchUp;
use crate::values::present;
use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// What becomes of a job without attempts left.
    pub enum OnExhausted {
        /// It becomes a dead letter.
        DeadLetter = "dead_letter",
        /// It fails.
        Fail = "fail",
    }
}

/// List the kinds that have a policy
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindList {}

impl Operation for KindList {
    const NAME: &str = "kind_list";
    const ROUTE: Route = Route::get("/v1/kinds", "kinds");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<Kind>;
}

/// The policy of a kind in a list. Where a field is null, the configuration decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kind {
    /// Its name.
    pub kind: String,
    /// The executor of its jobs.
    pub executor: String,
    /// The domain of the events of its jobs.
    pub event_domain: String,
    /// Whether only plans make jobs of it.
    pub only_by_plan: bool,
    /// How often a job may be attempted.
    pub attempts_max: Option<i16>,
    /// The delay before the first retry; each later one is twice as long.
    pub backoff_base_seconds: Option<i32>,
    /// The random part of a delay, in percent.
    pub backoff_jitter_percent: Option<i16>,
    /// What becomes of a job without attempts left.
    pub on_exhausted: OnExhausted,
    /// The lease of a claim that asks for none.
    pub lease_seconds: Option<i32>,
    /// The longest lease that a claim may ask for.
    pub lease_seconds_max: Option<i32>,
    /// How often a lease may be renewed.
    pub renewals_max: Option<i32>,
    /// The longest run.
    pub run_timeout_seconds: Option<i32>,
    /// The maximum number of its jobs that are held at once, over all workers.
    pub concurrency_max: Option<i32>,
    /// When it was paused; null if it is not.
    pub paused_at: Option<Timestamp>,
    /// The principal that paused it.
    pub paused_by: Option<String>,
    /// The reason of the pause.
    pub pause_note: Option<String>,
    /// What becomes of the late slots of its schedules.
    pub catch_up: Option<CatchUp>,
    /// How long a finished job is kept.
    pub retention_seconds: Option<i32>,
    /// How long a job keeps its idempotency key after its end.
    pub key_keep_seconds: Option<i32>,
    /// What it is, for people.
    pub description: String,
    /// When the policy was set.
    pub updated_at: Timestamp,
    /// The principal that set it.
    pub updated_by: String,
}

/// Show the policy in force for a kind, with every default filled in
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindShow {
    /// The name of the kind.
    pub kind: String,
}

impl Operation for KindShow {
    const NAME: &str = "kind_show";
    const ROUTE: Route = Route::get("/v1/kinds/{kind}", "kinds");
    const EFFECT: Effect = Effect::Reads;
    type Answer = KindDetails;
}

/// The policy in force for a kind. Defaults are filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindDetails {
    /// Its name.
    pub kind: String,
    /// Whether it has a policy of its own.
    pub known: bool,
    /// The executor of its jobs.
    pub executor: String,
    /// The domain of the events of its jobs.
    pub event_domain: String,
    /// How often a job may be attempted.
    pub attempts_max: i32,
    /// The delay before the first retry; each later one is twice as long.
    pub backoff_base_seconds: i32,
    /// The random part of a delay, in percent.
    pub backoff_jitter_percent: i32,
    /// The lease of a claim that asks for none.
    pub lease_seconds: i32,
    /// The longest lease that a claim may ask for.
    pub lease_seconds_max: i32,
    /// How often a lease may be renewed; null: without a limit.
    pub renewals_max: Option<i32>,
    /// The longest run; null: without a limit.
    pub run_timeout_seconds: Option<i32>,
    /// How long a finished job is kept.
    pub retention_seconds: i32,
    /// What becomes of a job without attempts left.
    pub on_exhausted: OnExhausted,
    /// Whether only plans make jobs of it.
    pub only_by_plan: bool,
    /// The number of waiting jobs that no plan made, up to 1000; null unless `only_by_plan` is true.
    pub waiting_without_plan: Option<i32>,
    /// The maximum number of its jobs that are held at once, over all workers; null: without a limit.
    pub concurrency_max: Option<i32>,
    /// How long a job keeps its idempotency key after its end; null: until its end.
    pub key_keep_seconds: Option<i32>,
    /// What becomes of the late slots of its schedules.
    pub catch_up: CatchUp,
    /// When it was paused; null if it is not.
    pub paused_at: Option<Timestamp>,
    /// The principal that paused it.
    pub paused_by: Option<String>,
    /// The reason of the pause.
    pub pause_note: Option<String>,
    /// What it is, for people.
    pub description: String,
    /// When the policy was set; null if it has none.
    pub updated_at: Option<Timestamp>,
    /// The principal that set it.
    pub updated_by: Option<String>,
}

/// Set fields of the policy of a kind
///
/// Only the fields that are named change. Where the tenant says so (`governance.changes.need_approval`), a change of
/// `only_by_plan` waits for a second admin: the answer is 202, `pending` with its `change_id`, and nothing of the policy is in
/// force before.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindSet {
    /// The name of the kind, up to 200 characters.
    #[schemars(example = &"mail.send", length(min = 1, max = 200))]
    pub kind: String,
    /// The fields to change; a field that is null goes back to what the configuration says.
    pub policy: KindPolicy,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for KindSet {
    const NAME: &str = "kind_set";
    const ROUTE: Route = Route::put("/v1/kinds/{kind}", "kinds").answers(GOVERNED_STATUSES);
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = Governed<KindDetails>;

    fn status(answer: &Self::Answer) -> u16 {
        answer.status()
    }
}

/// Fields of a policy. A field that is left out stays as it is; null takes its value back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindPolicy {
    /// The executor of its jobs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub executor: Option<Option<String>>,
    /// The domain of the events of its jobs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub event_domain: Option<Option<String>>,
    /// How often a job may be attempted, 1 to 1000.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub attempts_max: Option<Option<i64>>,
    /// The delay before the first retry, 1 to 86400 seconds; each later one is twice as long.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub backoff_base_seconds: Option<Option<i64>>,
    /// The random part of a delay, 0 to 100 percent.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub backoff_jitter_percent: Option<Option<i64>>,
    /// The lease of a claim that asks for none, 1 to 86400 seconds.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub lease_seconds: Option<Option<i64>>,
    /// The longest lease that a claim may ask for, 1 to 86400 seconds.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub lease_seconds_max: Option<Option<i64>>,
    /// How often a lease may be renewed, 0 to 1000000; null: without a limit.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub renewals_max: Option<Option<i64>>,
    /// The longest run, 1 to 2592000 seconds; null: without a limit.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_592_000))]
    pub run_timeout_seconds: Option<Option<i64>>,
    /// How long a finished job is kept, 60 to 315360000 seconds.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 315_360_000))]
    pub retention_seconds: Option<Option<i64>>,
    /// The maximum number of its jobs that are held at once, over all workers, 1 to 100000; null: without a limit.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub concurrency_max: Option<Option<i64>>,
    /// What becomes of the late slots of its schedules.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<Option<CatchUp>>,
    /// What becomes of a job without attempts left.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<Option<OnExhausted>>,
    /// What it is, for people.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    /// How long a job keeps its idempotency key after its end, 1 to 315360000 seconds; null: until its end.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 315_360_000))]
    pub key_keep_seconds: Option<Option<i64>>,
    /// Whether only plans make jobs of it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub only_by_plan: Option<Option<bool>>,
}

/// Pause a kind: its jobs wait
///
/// None of its jobs is claimed; those that are held go on. Pausing a paused kind changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindPause {
    /// The name of the kind.
    pub kind: String,
    /// The reason, up to 200 characters; it is shown with the kind.
    pub note: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for KindPause {
    const NAME: &str = "kind_pause";
    const ROUTE: Route = Route::post("/v1/kinds/{kind}/pause", "kinds");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = KindDetails;
}

/// Resume a kind: its jobs can be claimed again
///
/// Resuming a kind that is not paused changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindResume {
    /// The name of the kind.
    pub kind: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for KindResume {
    const NAME: &str = "kind_resume";
    const ROUTE: Route = Route::post("/v1/kinds/{kind}/resume", "kinds");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = KindDetails;
}
