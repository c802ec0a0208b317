//! `tenure timeout-policy`: how long executions, steps and leases may take.

use serde_json::{Value, json};
use tenure_api::timeout_policies::{TimeoutPolicyList, TimeoutPolicySet};

use super::verb::{Command, Noun, Verb};
use crate::output::Column;
use crate::values::short;

/// The verbs of `tenure timeout-policy`.
pub(crate) struct TimeoutPolicy;

impl Noun for TimeoutPolicy {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &SET];
}

const LIST: Verb<TimeoutPolicyList> = Verb {
    row: Some(durations_for_people),
    quiet: &["sla_class", "action_class"],
    ..Verb::table(
        "list",
        &[
            Column("SLA", "sla_class"),
            Column("ACTION", "action_class"),
            Column("EXECUTION", "execution"),
            Column("STEP", "step"),
            Column("LEASE", "lease"),
            Column("RENEWALS", "renewals_max"),
            Column("FROM", "origin"),
        ],
        "",
    )
};

fn durations_for_people(policy: &mut Value) {
    let fields = [
        ("execution", "execution_timeout_ms"),
        ("step", "step_timeout_ms"),
        ("lease", "lease_ms"),
    ];
    for (name, field) in fields {
        policy[name] = json!(policy[field].as_i64().map(|ms| short(ms / 1000)));
    }
}

const SET: Verb<TimeoutPolicySet> = Verb {
    places: &["sla_class", "action_class"],
    options: &[
        ("execution_timeout_ms", "execution"),
        ("step_timeout_ms", "step"),
        ("lease_ms", "lease"),
    ],
    durations: &["execution_timeout_ms", "step_timeout_ms", "lease_ms"],
    quiet: &["sla_class", "action_class"],
    ..Verb::<TimeoutPolicySet>::sentence("set", |_, limits| {
        let time = |ms: i32| short(i64::from(ms) / 1000);
        format!(
            "{} {}: an execution may take {}, a step {}; a lease lasts {} and is renewed up to {} times.",
            limits.sla_class,
            limits.action_class,
            time(limits.execution_timeout_ms),
            time(limits.step_timeout_ms),
            time(limits.lease_ms),
            limits.renewals_max
        )
    })
};
