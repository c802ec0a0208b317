//! `tenure job list`, `show`, `timeline` and `explain`.

use clap::Args;
use serde_json::Value;
use tenure::store::jobs::{self, JobFilter};
use tenure_core::hints::{self, Surface};
use uuid::Uuid;

use super::enqueue::past_moment;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, shown};
use crate::remote;
use crate::values::Number;

const LIST: &[Column] = &[
    Column("JOB", "job_id"),
    Column("KIND", "kind"),
    Column("STATE", "state"),
    Column("PRIORITY", "priority"),
    Column("DUE", "due"),
    Column("ATTEMPTS", "attempts"),
    Column("OF", "attempts_max"),
    Column("WORKER", "lease_owner"),
    Column("ERROR", "error_message"),
];

const TIMELINE: &[Column] = &[
    Column("AT", "at"),
    Column("STATE", "state"),
    Column("VERB", "verb"),
    Column("RUN", "run"),
    Column("ATTEMPT", "attempt"),
    Column("ACTOR", "actor"),
    Column("WORKER", "worker"),
    Column("DETAIL", "detail"),
];

/// What people want to see first of a job.
const FIRST: &[&str] = &[
    "job_id",
    "kind",
    "state",
    "executor",
    "priority",
    "due",
    "deadline_at",
    "attempts",
    "attempts_max",
    "run",
    "lease_owner",
    "leased_until",
    "started_at",
    "progress",
    "finished_at",
    "error_code",
    "error_message",
    "result",
    "result_ref",
    "payload",
];

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only jobs in this state
    #[arg(long, short, value_name = "STATE")]
    state: Option<String>,
    /// Only jobs of this kind
    #[arg(long, short, value_name = "KIND")]
    kind: Option<String>,
    /// Only jobs for this executor
    #[arg(long, value_name = "NAME")]
    executor: Option<String>,
    /// Only jobs with this correlation id
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    /// Only jobs enqueued then or later: RFC 3339, or a time ago such as -2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    created_after: Option<String>,
    /// Only jobs enqueued earlier than then: RFC 3339, or a time ago
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    created_before: Option<String>,
    /// Only jobs whose last run ended with this error
    #[arg(long, value_name = "CODE")]
    error_code: Option<String>,
    /// The next page: jobs older than this one
    #[arg(long, value_name = "JOB")]
    before: Option<Uuid>,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "50",
        allow_negative_numbers = true
    )]
    limit: Number,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The job's id
    job: Uuid,
}

#[derive(Debug, Args)]
pub(crate) struct Timeline {
    /// The job's id
    job: Uuid,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The job's id
    job: Uuid,
}

impl List {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let limit = self.limit.read("limit")?;
        let filter = JobFilter {
            state: self.state,
            kind: self.kind,
            executor: self.executor,
            correlation_id: self.correlation_id,
            created_after: past_moment(&mut session, "created_after", self.created_after.as_deref()).await?,
            created_before: past_moment(&mut session, "created_before", self.created_before.as_deref()).await?,
            error_code: self.error_code,
            before: self.before,
            limit: Some(limit),
        };
        let rows = session
            .call(remote::job_list(&filter), async |tx| jobs::list(tx, &filter).await)
            .await?;
        let unfiltered = JobFilter {
            limit: filter.limit,
            ..JobFilter::default()
        };
        let empty = match filter == unfiltered {
            true => "No jobs. `tenure job enqueue KIND` makes one.",
            false => "No jobs match. Without filters: tenure job list.",
        };
        session.out.list(LIST, &rows, &["job_id"], empty)?;
        if usize::try_from(limit).is_ok_and(|limit| rows.len() == limit)
            && let Some(last) = rows.last()
        {
            session
                .out
                .note(&format!("There may be more: --before {}", last.job_id));
        }
        Ok(())
    }
}

impl Show {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let job = session
            .ask(remote::job_show(self.job), async |tx| jobs::show(tx, self.job).await)
            .await?;
        session.out.object(&job, FIRST, &["job_id"])
    }
}

impl Timeline {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let rows = session
            .call(remote::job_timeline(self.job), async |tx| {
                jobs::timeline(tx, self.job).await
            })
            .await?;
        session
            .out
            .list(TIMELINE, &rows, &["verb"], "Nothing has happened to it.")
    }
}

impl Explain {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let mut told = session
            .ask(remote::job_explain(self.job), async |tx| {
                jobs::explain(tx, self.job).await
            })
            .await?;
        hints::in_answer(Surface::Command, &mut told);
        match session.out.format {
            Format::People => session.out.text(&reasons(&told)),
            _ => session.out.object(&told, &[], &["state"]),
        }
    }
}

fn reasons(told: &Value) -> String {
    let mut text = format!(
        "Job {} ({}) is {}.",
        shown("", &told["job_id"]),
        shown("", &told["kind"]),
        shown("", &told["state"])
    );
    for reason in told["reasons"].as_array().into_iter().flatten() {
        let part = |field: &str| shown(field, &reason[field]);
        text.push_str(&format!(
            "\n\n{}: {}\n  why:  {}\n  next: {}",
            part("code"),
            part("what"),
            part("why"),
            part("next")
        ));
    }
    text
}
