//! What is said of a schedule: all of it, or what is to change.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tenure::store::Timestamp;
use utoipa::ToSchema;

use super::super::jobs::Priority;

/// A field: left out, null (its default), or a value.
type Given<T> = Option<Option<T>>;

/// A field that is there, be it null.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<Given<T>, D::Error> {
    Option::deserialize(field).map(Some)
}

/// A request with the fields of a specification beside its own.
macro_rules! request {
    ($(#[$meta:meta])* struct $name:ident { $($(#[$own_meta:meta])* $own:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Deserialize, Serialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[$own_meta])* pub(super) $own: $type,)*
            /// Its rule, unless that is an interval: minute, hour, day of the month, month, day of the week.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, example = "0 3 * * MON-FRI", max_length = 200)]
            cron: Given<String>,
            /// Its rule, unless that is cron: a fixed interval.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<i64>, minimum = 10, maximum = 31622400)]
            every_seconds: Given<i64>,
            /// The time zone that cron is read in; UTC by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, example = "Europe/Berlin")]
            zone: Given<String>,
            /// A slot starts up to this much later than planned, always before the next; 0 by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<i64>, minimum = 0, maximum = 86400)]
            jitter_seconds: Given<i64>,
            /// No slot before; an interval counts from here.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, format = DateTime)]
            start_at: Given<Timestamp>,
            /// No slot after.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, format = DateTime)]
            end_at: Given<Timestamp>,
            /// What its runs are for, the kind of thing: `global` by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, example = "customer")]
            scope_kind: Given<String>,
            /// What its runs are for, which of that kind: `global` by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, example = "4711")]
            scope_id: Given<String>,
            /// Who runs the jobs; that of the kind by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>)]
            executor: Given<String>,
            /// The priority of the jobs: `urgent`, `normal`, `bulk` or a number.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<Priority>)]
            priority: Given<Value>,
            /// What the worker needs to know: a small JSON object. It finds which slot it runs for in the member `slot`.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<Object>, example = json!({"report": "daily"}))]
            payload: Given<Value>,
            /// `safe_metadata` (the default) or `restricted`.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>)]
            classification: Given<String>,
            /// Where the input of the jobs is.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>)]
            source_ref: Given<String>,
            /// What they work on.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>)]
            target_ref: Given<String>,
            /// Where a larger payload is.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>)]
            payload_ref: Given<String>,
            /// What becomes of a slot while another run is under way: `skip`, `queue`, `cancel_other` or `allow`; `skip` by default, `queue` with `every_plan`.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, example = "skip")]
            overlap: Given<String>,
            /// What becomes of slots that nobody saw in time: `latest_only`, `every_plan` or `none`; as the kind says by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, example = "latest_only")]
            catch_up: Given<String>,
            /// For `every_plan`: how far back; a day by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<i64>, minimum = 60, maximum = 2592000)]
            catch_up_window_seconds: Given<i64>,
            /// For `every_plan`: how many at once; 10 by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<i64>, minimum = 1, maximum = 100)]
            catch_up_slots_max: Given<i64>,
            /// How long a run may take; as the kind says by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<i64>, minimum = 1, maximum = 2592000)]
            run_timeout_seconds: Given<i64>,
            /// Attempts of a run; as the kind says by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<i64>, minimum = 1, maximum = 1000)]
            attempts_max: Given<i64>,
            /// The first retry delay; as the kind says by default.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<i64>, minimum = 1, maximum = 86400)]
            backoff_base_seconds: Given<i64>,
            /// Whether a run that was lost, or takes too long, is run again: `allowed` (the default) or `refused`.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>, example = "allowed")]
            reentry: Given<String>,
            /// What it is, for people.
            #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<String>)]
            description: Given<String>,
            /// The person or program this is done for.
            #[serde(skip_serializing)]
            pub(super) on_behalf_of: Option<String>,
        }

        impl $name {
            /// The specification alone, as it was given.
            pub(super) fn spec(&self) -> Value {
                serde_json::json!(self)
            }
        }
    };
}

request! {
    /// A schedule to make. What is left out, or null, has its default.
    struct NewSchedule {
        /// Its name.
        #[serde(skip_serializing)]
        #[schema(example = "nightly-report", min_length = 1, max_length = 200)]
        name: String,
        /// The kind of the jobs it starts.
        #[schema(example = "report", min_length = 1, max_length = 200)]
        kind: String,
    }
}

request! {
    /// All of a schedule. What is left out, or null, has its default.
    struct ScheduleSpec {
        /// The kind of the jobs it starts.
        #[schema(example = "report", min_length = 1, max_length = 200)]
        kind: String,
    }
}

request! {
    /// What is to change of a schedule. What is left out stays; null is the default again. A new rule replaces the old one.
    struct ScheduleChanges {
        /// The kind of the jobs it starts.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<String>)]
        kind: Given<String>,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_null_stays_apart_from_what_is_left_out() {
        let text =
            r#"{"cron": null, "every_seconds": 60, "payload": {"n": null}, "priority": 7, "on_behalf_of": "ann"}"#;
        let changes: ScheduleChanges = serde_json::from_str(text).expect("changes");
        assert_eq!(
            changes.spec(),
            json!({"cron": null, "every_seconds": 60, "payload": {"n": null}, "priority": 7})
        );
        assert_eq!(changes.on_behalf_of.as_deref(), Some("ann"));
    }

    #[test]
    fn a_name_is_no_part_of_the_specification() {
        let new: NewSchedule =
            serde_json::from_value(json!({"name": "n", "kind": "k", "every_seconds": 60})).expect("a schedule");
        assert_eq!(new.spec(), json!({"kind": "k", "every_seconds": 60}));
        let unknown = serde_json::from_value::<ScheduleSpec>(json!({"kind": "k", "crn": "* * * * *"}));
        assert!(unknown.is_err_and(|error| error.to_string().contains("unknown field `crn`")));
    }
}
