//! `tenure kind`: the policy of a kind of job, and whether it may run.

use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use tenure::store::kinds;

use super::Behalf;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, shown};
use crate::remote;
use crate::values::Number;

const LIST: &[Column] = &[
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
];

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

#[derive(Debug, Subcommand)]
pub(crate) enum Kind {
    /// List the kinds that have a policy
    #[command(visible_alias = "ls")]
    List,
    /// Show the policy in force, defaults filled in
    Show {
        /// The kind
        kind: String,
    },
    /// Set fields of a policy; the others stay
    Set(Box<Set>),
    /// Keep jobs of a kind from being claimed; what is held goes on
    Pause(Pause),
    /// Let jobs of a paused kind be claimed again
    Resume(Resume),
}

#[derive(Debug, Args)]
pub(crate) struct Pause {
    /// The kind
    kind: String,
    /// Why, for whoever wonders
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    behalf: Behalf,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The kind
    kind: String,
    #[command(flatten)]
    behalf: Behalf,
}

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
    /// What becomes of slots of its schedules that nobody saw in time: latest_only, every_plan or none
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
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Kind::List => {
                let rows = session
                    .call(remote::kind_list(), async |tx| kinds::kind_list(tx).await)
                    .await?;
                session.out.list(
                    LIST,
                    &rows,
                    &["kind"],
                    "No kind has a policy; all run under the default one.",
                )
            }
            Kind::Show { kind } => {
                let policy = session
                    .ask(remote::kind_show(&kind), async |tx| kinds::kind_show(tx, &kind).await)
                    .await?;
                session.out.object(&policy, FIRST, &["kind"])
            }
            Kind::Set(set) => {
                let policy = set.policy()?;
                let behalf = set.behalf.on_behalf_of.as_deref();
                let policy = session
                    .ask(remote::kind_set(&set.kind, &policy, behalf), async |tx| {
                        kinds::kind_set(tx, &set.kind, &policy, behalf).await
                    })
                    .await?;
                if policy["pending"] == true {
                    return super::governance::changed(&session, "", &policy);
                }
                session.out.object(&policy, FIRST, &["kind"])
            }
            Kind::Pause(pause) => {
                let (note, behalf) = (pause.note.as_deref(), pause.behalf.on_behalf_of.as_deref());
                let policy = session
                    .ask(remote::kind_pause(&pause.kind, note, behalf), async |tx| {
                        kinds::kind_pause(tx, &pause.kind, note, behalf).await
                    })
                    .await?;
                let part = |field: &str| shown(field, &policy[field]);
                let sentence = format!(
                    "Kind {kind} is paused since {} by {}: none of its jobs is claimed until `tenure kind resume {kind}`.",
                    part("paused_at"),
                    part("paused_by"),
                    kind = part("kind"),
                );
                session.out.done(&sentence, &policy, &["kind"])
            }
            Kind::Resume(resume) => {
                let behalf = resume.behalf.on_behalf_of.as_deref();
                let policy = session
                    .ask(remote::kind_resume(&resume.kind, behalf), async |tx| {
                        kinds::kind_resume(tx, &resume.kind, behalf).await
                    })
                    .await?;
                let sentence = format!(
                    "Kind {} is not paused: its jobs are claimed.",
                    shown("", &policy["kind"])
                );
                session.out.done(&sentence, &policy, &["kind"])
            }
        }
    }
}

impl Set {
    /// Only what was named; null takes a field back.
    fn policy(&self) -> Outcome<Value> {
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
        Ok(Value::Object(policy))
    }
}
