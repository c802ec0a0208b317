//! The flags that say what a schedule is.

use clap::Args;
use serde_json::{Map, Value, json};
use tenure::schedules::moment;
use tenure::store::Timestamp;

use crate::errors::Outcome;
use crate::values::{Number, Seconds, json_object};

/// The rule: when there are slots.
#[derive(Debug, Args)]
pub(super) struct RuleFlags {
    /// Five fields: minute, hour, day of the month, month, day of the week; names, L, W, # and @daily too
    #[arg(long, value_name = "FIELDS", help_heading = "When", conflicts_with = "every")]
    pub(super) cron: Option<String>,
    /// A fixed interval, such as 15m
    #[arg(long, value_name = "DURATION", help_heading = "When", allow_hyphen_values = true)]
    pub(super) every: Option<Seconds>,
    /// The time zone that cron is read in, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", help_heading = "When")]
    pub(super) zone: Option<String>,
    /// No slot before: RFC 3339, or a time in the zone such as 2026-11-16T03:00; an interval counts from here
    #[arg(long, value_name = "TIME", help_heading = "When")]
    pub(super) start: Option<String>,
    /// No slot after
    #[arg(long, value_name = "TIME", help_heading = "When")]
    pub(super) end: Option<String>,
}

/// What a schedule starts, and how.
#[derive(Debug, Args)]
pub(super) struct SpecFlags {
    /// The kind of the jobs it starts
    #[arg(long, short, value_name = "KIND")]
    kind: Option<String>,
    #[command(flatten)]
    pub(super) rule: RuleFlags,
    /// Start up to this much later than planned, so that not all start at once
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = "When")]
    jitter: Option<Seconds>,
    /// While another run is under way: skip, queue, cancel_other or allow
    #[arg(long, value_name = "WHAT", help_heading = "Policies")]
    overlap: Option<String>,
    /// Slots that nobody saw in time: latest_only, every_plan or none
    #[arg(long, value_name = "WHAT", help_heading = "Policies")]
    catch_up: Option<String>,
    /// For every_plan: how far back, such as 6h
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = "Policies")]
    catch_up_window: Option<Seconds>,
    /// For every_plan: how many at once
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Policies")]
    catch_up_max: Option<Number>,
    /// How long a run may take [default: the kind's policy]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = "Policies")]
    run_timeout: Option<Seconds>,
    /// Attempts of a run [default: the kind's policy]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Policies")]
    attempts: Option<Number>,
    /// The first delay before a retry [default: the kind's policy]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = "Policies")]
    backoff: Option<Seconds>,
    /// Whether a run that was lost is run again: allowed or refused
    #[arg(long, value_name = "WHETHER", help_heading = "Policies")]
    reentry: Option<String>,
    /// What the worker needs to know, a small JSON object: JSON, @FILE, or -
    #[arg(long, short, value_name = "JSON|@FILE|-", help_heading = "Jobs")]
    payload: Option<String>,
    /// urgent, normal, bulk or a number
    #[arg(long, value_name = "PRIORITY", allow_negative_numbers = true, help_heading = "Jobs")]
    priority: Option<String>,
    /// Who runs them [default: the kind's policy]
    #[arg(long, value_name = "NAME", help_heading = "Jobs")]
    executor: Option<String>,
    /// Who may see the payload: safe_metadata or restricted
    #[arg(long, value_name = "CLASS", help_heading = "Jobs")]
    classification: Option<String>,
    /// Where the work comes from, by reference
    #[arg(long, value_name = "REF", help_heading = "Jobs")]
    source_ref: Option<String>,
    /// What the work is about, by reference
    #[arg(long, value_name = "REF", help_heading = "Jobs")]
    target_ref: Option<String>,
    /// Where the data is, by reference
    #[arg(long, value_name = "REF", help_heading = "Jobs")]
    payload_ref: Option<String>,
    /// What the runs are for, such as customer/4711
    #[arg(long, value_name = "KIND/ID", help_heading = "Jobs", conflicts_with_all = ["scope_kind", "scope_id"])]
    scope: Option<String>,
    /// The kind of thing that the runs are for
    #[arg(long, value_name = "KIND", help_heading = "Jobs")]
    scope_kind: Option<String>,
    /// Which of them
    #[arg(long, value_name = "ID", help_heading = "Jobs")]
    scope_id: Option<String>,
    /// What it is, for people
    #[arg(long, value_name = "TEXT", help_heading = "Jobs")]
    description: Option<String>,
}

impl SpecFlags {
    /// Only what was given; times without an offset are in this zone.
    pub(super) fn read(&self, zone: &str, now: Timestamp) -> Outcome<Map<String, Value>> {
        let (scope_kind, scope_id) = match self.scope.as_deref().map(|scope| scope.split_once('/')) {
            Some(Some((kind, id))) => (Some(kind), Some(id)),
            // A kind alone says nothing of which: the database asks for it.
            Some(None) => (self.scope.as_deref(), Some("")),
            None => (self.scope_kind.as_deref(), self.scope_id.as_deref()),
        };
        #[rustfmt::skip] // A table is read by column.
        let texts = [
            ("kind", self.kind.as_deref()),
            ("cron", self.rule.cron.as_deref()),
            ("zone", self.rule.zone.as_deref()),
            ("overlap", self.overlap.as_deref()),
            ("catch_up", self.catch_up.as_deref()),
            ("reentry", self.reentry.as_deref()),
            ("priority", self.priority.as_deref()),
            ("executor", self.executor.as_deref()),
            ("classification", self.classification.as_deref()),
            ("source_ref", self.source_ref.as_deref()),
            ("target_ref", self.target_ref.as_deref()),
            ("payload_ref", self.payload_ref.as_deref()),
            ("scope_kind", scope_kind),
            ("scope_id", scope_id),
            ("description", self.description.as_deref()),
        ];
        #[rustfmt::skip]
        let durations = [
            ("every_seconds", "every", &self.rule.every),
            ("jitter_seconds", "jitter", &self.jitter),
            ("catch_up_window_seconds", "catch-up-window", &self.catch_up_window),
            ("run_timeout_seconds", "run-timeout", &self.run_timeout),
            ("backoff_base_seconds", "backoff", &self.backoff),
        ];
        let numbers = [
            ("catch_up_slots_max", "catch-up-max", &self.catch_up_max),
            ("attempts_max", "attempts", &self.attempts),
        ];
        let times = [("start_at", &self.rule.start), ("end_at", &self.rule.end)];
        let mut spec = Map::new();
        let mut say = |field: &str, value: Value| spec.insert(field.to_owned(), value);
        for (field, text) in texts {
            text.map(|text| say(field, json!(text)));
        }
        for (field, option, duration) in durations {
            Seconds::read_option(duration.as_ref(), option)?.map(|seconds| say(field, json!(seconds)));
        }
        for (field, option, number) in numbers {
            Number::read_option(number.as_ref(), option)?.map(|number| say(field, json!(number)));
        }
        for (field, text) in times {
            if let Some(text) = text {
                say(field, json!(moment(text, zone, None, now)?));
            }
        }
        if let Some(payload) = &self.payload {
            say("payload", json_object("payload", payload)?);
        }
        Ok(spec)
    }

    /// Whether a time is given that needs the zone to be understood.
    pub(super) fn has_times(&self) -> bool {
        self.rule.start.is_some() || self.rule.end.is_some()
    }
}
