//! Schedules are created, declared and changed by a specification: a rule, and the job that each slot starts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CatchUp, Overlap, Reentry, Schedule};
use crate::jobs::Classification;
use crate::values::present;
use crate::{Effect, Json, Operation, Priority, Route, Timestamp, words};

words! {
    /// What a write did to a schedule.
    pub enum ScheduleOutcome {
        /// It was created.
        Created = "created",
        /// It was changed.
        Updated = "updated",
        /// It was like this already.
        Unchanged = "unchanged",
    }
}

/// Create a schedule
///
/// Its rule is cron (five fields, in a time zone) or a fixed interval. Each moment of the rule becomes a slot, and a job when it
/// is due.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleCreate {
    /// The name of the schedule, unique in the tenant.
    #[schemars(length(min = 1, max = 200), example = &"nightly-report")]
    pub name: String,
    /// Its rule and its job.
    pub spec: ScheduleSpec,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ScheduleCreate {
    const NAME: &str = "schedule_create";
    const ROUTE: Route = Route::post("/v1/schedules", "schedules")
        .spec("spec")
        .answers(&[(201, "Created")]);
    const EFFECT: Effect = Effect::Changes;
    type Answer = ScheduleWritten;
}

/// Declare a schedule: create it, make it equal to this, or leave it unchanged
///
/// For programs that declare their schedules when they start. Members that are left out get their defaults. A pause stays.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulePut {
    /// The name of the schedule.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Its rule and its job.
    pub spec: ScheduleSpec,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for SchedulePut {
    const NAME: &str = "schedule_put";
    const ROUTE: Route = Route::put("/v1/schedules/{name}", "schedules")
        .spec("spec")
        .answers(&[(200, "Made equal to this, or left unchanged"), (201, "Created")]);
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ScheduleWritten;

    fn status(answer: &ScheduleWritten) -> u16 {
        match answer.outcome {
            ScheduleOutcome::Created => 201,
            _ => 200,
        }
    }
}

/// Change a schedule
///
/// Members that are left out stay as they are; a member that is null gets its default. A new rule replaces the old one from now
/// on, and slots that the old one has planned are skipped as `superseded`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleUpdate {
    /// The name of the schedule.
    pub name: String,
    /// What changes.
    pub changes: ScheduleChanges,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ScheduleUpdate {
    const NAME: &str = "schedule_update";
    const ROUTE: Route = Route::patch("/v1/schedules/{name}", "schedules").spec("changes");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ScheduleWritten;
}

/// A schedule after a write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleWritten {
    /// The schedule.
    #[serde(flatten)]
    pub schedule: Schedule,
    /// What the write did.
    pub outcome: ScheduleOutcome,
}

/// Declares both specifications from one list of members: in [`ScheduleSpec`] a member may be left out, in [`ScheduleChanges`] it
/// may also be null.
macro_rules! members {
    ($($(#[$meta:meta])* $name:ident: $type:ty,)*) => {
        /// A rule, and the job that each slot starts. Members that are left out get their defaults.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ScheduleSpec {
            /// The kind of the jobs.
            #[schemars(length(min = 1, max = 200), example = &"report")]
            pub kind: String,
            $(
                $(#[$meta])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )*
        }

        /// What changes in a schedule. Members that are left out stay as they are; a member that is null gets its default.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ScheduleChanges {
            /// The kind of the jobs; null is refused.
            #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
            #[schemars(length(min = 1, max = 200), example = &"report")]
            pub kind: Option<Option<String>>,
            $(
                $(#[$meta])*
                #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
                pub $name: Option<Option<$type>>,
            )*
        }
    };
}

members! {
    /// The rule, if it is cron: minute, hour, day of the month, month, day of the week.
    #[schemars(length(max = 200), example = &"0 3 * * MON-FRI")]
    cron: String,
    /// The rule, if it is a fixed interval: seconds between two slots.
    #[schemars(range(min = 10, max = 31_622_400))]
    every_seconds: i64,
    /// The time zone that cron is read in, by its IANA name; UTC by default.
    #[schemars(example = &"Europe/Berlin")]
    zone: String,
    /// A slot starts up to this many seconds later than planned, always before the next one; 0 by default.
    #[schemars(range(min = 0, max = 86_400))]
    jitter_seconds: i64,
    /// No slot before this time. An interval counts from here.
    start_at: Timestamp,
    /// No slot after this time.
    end_at: Timestamp,
    /// The type of thing that the runs are for; `global` by default.
    #[schemars(length(min = 1, max = 200), example = &"customer")]
    scope_kind: String,
    /// The thing of that type that the runs are for; `global` by default.
    #[schemars(length(min = 1, max = 200), example = &"4711")]
    scope_id: String,
    /// The executor of the jobs; by default the one that the kind names.
    executor: String,
    /// The priority of the jobs; `normal` by default.
    priority: Priority,
    /// The payload of the jobs: a small JSON object. A job finds the slot it runs for in the member `slot` beside it.
    #[schemars(with = "Option<crate::values::JsonObject>", example = serde_json::json!({"report": "daily"}))]
    payload: Json,
    /// Who may see the payload; `safe_metadata` by default.
    classification: Classification,
    /// Where the input of the jobs is.
    #[schemars(length(max = 500))]
    source_ref: String,
    /// What the jobs work on.
    #[schemars(length(max = 500))]
    target_ref: String,
    /// Where a larger payload is.
    #[schemars(length(max = 500))]
    payload_ref: String,
    /// What happens to a slot while another run is in progress; `queue` by default with `every_plan`, else `skip`.
    overlap: Overlap,
    /// What happens to slots that no scheduler saw in time; by default as the kind says.
    catch_up: CatchUp,
    /// For `every_plan`: how many seconds back slots are caught up; a day by default.
    #[schemars(range(min = 60, max = 2_592_000))]
    catch_up_window_seconds: i64,
    /// For `every_plan`: the maximum number of slots that are caught up at once; 10 by default.
    #[schemars(range(min = 1, max = 100))]
    catch_up_slots_max: i64,
    /// How many seconds a run may take; by default as the kind says.
    #[schemars(range(min = 1, max = 2_592_000))]
    run_timeout_seconds: i64,
    /// The maximum number of attempts of a run; by default as the kind says.
    #[schemars(range(min = 1, max = 1000))]
    attempts_max: i64,
    /// The seconds before the first retry; by default as the kind says.
    #[schemars(range(min = 1, max = 86_400))]
    backoff_base_seconds: i64,
    /// Whether a run that was lost, or took too long, is repeated; `allowed` by default.
    reentry: Reentry,
    /// What the schedule is for.
    description: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_to_null_differs_from_no_change() {
        let given = json!({"cron": null, "every_seconds": 60, "payload": {"n": null}, "priority": 7});
        let changes: ScheduleChanges = serde_json::from_value(given.clone()).expect("changes");
        assert_eq!(changes.cron, Some(None));
        assert_eq!(changes.zone, None);
        assert_eq!(serde_json::to_value(changes).expect("JSON"), given);
    }

    #[test]
    fn a_specification_refuses_a_member_that_it_does_not_know() {
        let spec: ScheduleSpec = serde_json::from_value(json!({"kind": "k", "every_seconds": 60})).expect("a spec");
        let written = serde_json::to_value(spec).expect("JSON");
        assert_eq!(written, json!({"kind": "k", "every_seconds": 60}));
        let unknown = serde_json::from_value::<ScheduleSpec>(json!({"kind": "k", "crn": "* * * * *"}));
        assert!(unknown.is_err_and(|error| error.to_string().contains("unknown field `crn`")));
    }
}
