//! `tenure kind`: the policy of a kind of job, and whether it may run.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tenure_api::governed::Governed;
use tenure_api::kinds::{KindList, KindPause, KindPolicy, KindResume, KindSet, KindShow};
use tenure_core::codes;

use super::Behalf;
use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::Session;
use crate::errors::{Outcome, refuse};
use crate::output::{Column, shown};
use crate::values::Number;

#[derive(Debug, Subcommand)]
pub(crate) enum Kind {
    #[command(flatten)]
    Plain(Chosen<Verbs>),
    /// Set fields of the policy of a kind; the others stay
    Set(Box<Set>),
}

/// The verbs of `tenure kind` that are one operation each.
pub(crate) struct Verbs;

impl Noun for Verbs {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &SHOW, &PAUSE, &RESUME];
}

const LIST: Verb<KindList> = Verb {
    quiet: &["kind"],
    ..Verb::table(
        "list",
        &[
            Column("KIND", "kind"),
            Column("EXECUTOR", "executor"),
            Column("ATTEMPTS", "attempts_max"),
            Column("BACKOFF", "backoff_base_seconds"),
            Column("LEASE", "lease_seconds"),
            Column("TIMEOUT", "run_timeout_seconds"),
            Column("EXHAUSTED", "on_exhausted"),
            Column("LIMIT", "concurrency_max"),
            Column("ONLY BY PLAN", "only_by_plan"),
            Column("PAUSED", "paused_at"),
            Column("DESCRIPTION", "description"),
        ],
        "No kind has a policy; all run under the default one.",
    )
};

/// The fields of a policy that people see first.
const FIRST: &[&str] = &[
    "kind",
    "known",
    "executor",
    "description",
    "paused_at",
    "paused_by",
    "pause_note",
    "only_by_plan",
    "waiting_without_plan",
    "concurrency_max",
    "attempts_max",
    "lease_seconds",
    "on_exhausted",
];

const SHOW: Verb<KindShow> = Verb {
    places: &["kind"],
    quiet: &["kind"],
    ..Verb::fields("show", FIRST)
};

const PAUSE: Verb<KindPause> = Verb {
    places: &["kind"],
    quiet: &["kind"],
    ..Verb::<KindPause>::sentence("pause", |_, done| {
        format!(
            "Kind {kind} is paused since {} by {}: none of its jobs is claimed until `tenure kind resume {kind}`.",
            shown("paused_at", &json!(done.paused_at)),
            shown("paused_by", &json!(done.paused_by)),
            kind = done.kind,
        )
    })
};

const RESUME: Verb<KindResume> = Verb {
    places: &["kind"],
    quiet: &["kind"],
    ..Verb::<KindResume>::sentence("resume", |_, done| {
        format!("Kind {} is not paused: its jobs are claimed.", done.kind)
    })
};

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The kind, such as mail.send
    kind: String,
    /// Who runs it
    #[arg(long, value_name = "NAME")]
    executor: Option<String>,
    /// What it is about, in one word
    #[arg(long, value_name = "DOMAIN")]
    event_domain: Option<String>,
    /// Attempts before it gives up
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    attempts_max: Option<Number>,
    /// The first delay before a retry; each later one is twice as long
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    backoff_base_seconds: Option<Number>,
    /// Random part added to a delay
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    backoff_jitter_percent: Option<Number>,
    /// How long a lease lasts without a heartbeat
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    lease_seconds: Option<Number>,
    /// The longest lease a claim may ask for
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    lease_seconds_max: Option<Number>,
    /// Heartbeats before the job is taken away
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    renewals_max: Option<Number>,
    /// The longest run, heartbeats or not
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    run_timeout_seconds: Option<Number>,
    /// Jobs of it that are held at once, over all workers; no limit: --default concurrency_max
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    concurrency_max: Option<Number>,
    /// Refuse every job of it that is not a step of a plan; no longer: --only-by-plan=false
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    only_by_plan: Option<bool>,
    /// How long a job keeps its idempotency key after its end; until its end: --default key_keep_seconds
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    key_keep_seconds: Option<Number>,
    /// When a finished job is cleaned
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    retention_seconds: Option<Number>,
    /// What becomes of a job without attempts left: dead_letter or fail
    #[arg(long, value_name = "WHAT")]
    on_exhausted: Option<String>,
    /// What becomes of the late slots of its schedules: latest_only, every_plan or none
    #[arg(long, value_name = "WHAT")]
    catch_up: Option<String>,
    /// What it is, for people
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Take this field back, such as attempts_max: what the configuration says holds again
    #[arg(long = "default", value_name = "FIELD")]
    defaults: Vec<String>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Kind {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Kind::Plain(verb) => verb.run(session).await,
            Kind::Set(set) => set.run(session).await,
        }
    }
}

impl Set {
    async fn run(self, mut session: Session) -> Outcome {
        let set = KindSet {
            policy: self.policy()?,
            kind: self.kind,
            on_behalf_of: self.behalf.on_behalf_of,
        };
        let (set, whole) = session.perform(&set).await?;
        match set {
            Governed::Pending(_) => super::governance::changed(&session, "", &whole),
            Governed::Done(_) => session.out.object(&whole, FIRST, &["kind"]),
        }
    }

    /// Only what was named; null takes a field back.
    fn policy(&self) -> Outcome<KindPolicy> {
        let texts = [
            ("executor", &self.executor),
            ("event_domain", &self.event_domain),
            ("on_exhausted", &self.on_exhausted),
            ("catch_up", &self.catch_up),
            ("description", &self.description),
        ];
        let numbers = [
            ("attempts_max", &self.attempts_max),
            ("backoff_base_seconds", &self.backoff_base_seconds),
            ("backoff_jitter_percent", &self.backoff_jitter_percent),
            ("lease_seconds", &self.lease_seconds),
            ("lease_seconds_max", &self.lease_seconds_max),
            ("renewals_max", &self.renewals_max),
            ("run_timeout_seconds", &self.run_timeout_seconds),
            ("retention_seconds", &self.retention_seconds),
            ("concurrency_max", &self.concurrency_max),
            ("key_keep_seconds", &self.key_keep_seconds),
        ];
        let mut policy: Map<String, Value> = self
            .defaults
            .iter()
            .map(|field| (field.replace('-', "_"), Value::Null))
            .collect();
        for (field, text) in texts {
            if let Some(text) = text {
                policy.insert(field.to_owned(), Value::from(text.as_str()));
            }
        }
        for (field, number) in numbers {
            if let Some(number) = Number::read_option(number.as_ref(), field)? {
                policy.insert(field.to_owned(), Value::from(number));
            }
        }
        if let Some(only_by_plan) = self.only_by_plan {
            policy.insert("only_by_plan".to_owned(), Value::from(only_by_plan));
        }
        // What is given is of its type; only the name of a default may be one that no policy has.
        serde_json::from_value(Value::Object(policy)).map_err(|error| {
            refuse(
                codes::VALUE_UNKNOWN,
                format!("--default is {}.", self.defaults.join(", ")),
                format!("A policy has no such field: {error}."),
                "Name a field that `tenure kind show` shows.",
            )
        })
    }
}
