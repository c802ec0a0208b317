//! `tenure job cancel`, `retry` and `dead-letter`: what an operator does to a job by its id.

use clap::Args;
use serde_json::Value;
use tenure::store::jobs::{self, CancelMode};
use uuid::Uuid;

use crate::cli::Behalf;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::shown;
use crate::remote;

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The job's id
    job: Uuid,
    /// Why; it stays with the job
    #[arg(long, short, value_name = "TEXT")]
    reason: String,
    /// Take a running job from its worker at once, without waiting for it to stop
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    behalf: Behalf,
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The job's id
    job: Uuid,
    /// Why; it stays with the job
    #[arg(long, short, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    behalf: Behalf,
}

#[derive(Debug, Args)]
pub(crate) struct DeadLetter {
    /// The job's id
    job: Uuid,
    /// Why; it stays with the dead letter
    #[arg(long, short, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    behalf: Behalf,
}

impl Cancel {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let mode = if self.force {
            CancelMode::Force
        } else {
            CancelMode::Cooperative
        };
        let behalf = self.behalf.on_behalf_of.as_deref();
        let answer = session
            .ask(remote::job_cancel(self.job, &self.reason, mode, behalf), async |tx| {
                jobs::cancel(tx, self.job, &self.reason, mode, behalf).await
            })
            .await?;
        let sentence = if answer["cancel_requested"] == true {
            format!(
                "Job {} is running; its worker is asked to stop. --force takes it away at once.",
                self.job
            )
        } else {
            is_now(&answer)
        };
        session.out.done(&sentence, &answer, &["job_id"])
    }
}

impl Retry {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (reason, behalf) = (self.reason.as_deref(), self.behalf.on_behalf_of.as_deref());
        let answer = session
            .ask(remote::job_retry(self.job, reason, behalf), async |tx| {
                jobs::retry(tx, self.job, reason, behalf).await
            })
            .await?;
        session.out.done(&is_now(&answer), &answer, &["job_id"])
    }
}

impl DeadLetter {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let behalf = self.behalf.on_behalf_of.as_deref();
        let answer = session
            .ask(remote::job_dead_letter(self.job, &self.reason, behalf), async |tx| {
                jobs::dead_letter(tx, self.job, &self.reason, behalf).await
            })
            .await?;
        session.out.done(&is_now(&answer), &answer, &["job_id"])
    }
}

fn is_now(answer: &Value) -> String {
    let due = match &answer["due"] {
        Value::Null => String::new(),
        due => format!(", due {}", shown("due", due)),
    };
    format!(
        "Job {} is {}{due}.",
        shown("job_id", &answer["job_id"]),
        shown("state", &answer["state"])
    )
}
