//! The ways in which a held job ends: `complete`, `fail`, `snooze`, `release`, `acknowledge-cancel`.

use clap::Args;
use serde_json::Value;
use tenure::store::jobs::{self, End, Hold};

use super::Held;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::shown;
use crate::remote;
use crate::values::{Number, json_value};

#[derive(Debug, Args)]
pub(crate) struct Complete {
    #[command(flatten)]
    held: Held,
    /// What came out of it, small JSON: JSON, @FILE, or -
    #[arg(long, short, value_name = "JSON|@FILE|-")]
    result: Option<String>,
    /// Where what came out of it is, by reference
    #[arg(long, value_name = "REF")]
    result_ref: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Fail {
    #[command(flatten)]
    held: Held,
    /// What went wrong; secrets in it are masked
    #[arg(long, short, value_name = "TEXT")]
    message: String,
    /// A word of yours to group failures by
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// What sort of failure it is
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Trying again is pointless: give up at once
    #[arg(long)]
    permanent: bool,
    /// Try again after this many seconds [default: the kind's backoff]
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "permanent")]
    retry_seconds: Option<Number>,
}

#[derive(Debug, Args)]
pub(crate) struct Snooze {
    #[command(flatten)]
    held: Held,
    /// Come back after this many seconds
    #[arg(allow_negative_numbers = true)]
    seconds: Number,
}

#[derive(Debug, Args)]
pub(crate) struct Release {
    #[command(flatten)]
    held: Held,
}

#[derive(Debug, Args)]
pub(crate) struct AcknowledgeCancel {
    #[command(flatten)]
    held: Held,
}

impl Complete {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let hold = Hold::from(self.held);
        let result = self
            .result
            .as_deref()
            .map(|given| json_value("result", given))
            .transpose()?;
        let reference = self.result_ref.as_deref();
        let answer = session
            .ask(remote::job_complete(hold, result.as_ref(), reference), async |tx| {
                jobs::complete(tx, hold, result.as_ref(), reference).await
            })
            .await?;
        told(&session, &answer)
    }
}

impl Fail {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let Held { job, token } = self.held;
        let retry = Number::read_option(self.retry_seconds.as_ref(), "retry_seconds")?;
        let mut end = if self.permanent {
            End::failed_permanently(job, token, self.message)
        } else {
            End::failed(job, token, self.message)
        };
        end.error_code = self.code;
        end.error_class = self.class;
        end.delay_seconds = retry;
        let answer = session
            .ask(remote::job_fail(&end), async |tx| jobs::fail(tx, &end).await)
            .await?;
        told(&session, &answer)
    }
}

impl Snooze {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let hold = Hold::from(self.held);
        let seconds = self.seconds.read("seconds")?;
        let answer = session
            .ask(remote::job_snooze(hold, seconds), async |tx| {
                jobs::snooze(tx, hold, seconds).await
            })
            .await?;
        told(&session, &answer)
    }
}

impl Release {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let hold = Hold::from(self.held);
        let answer = session
            .ask(remote::job_release(hold), async |tx| jobs::release(tx, hold).await)
            .await?;
        told(&session, &answer)
    }
}

impl AcknowledgeCancel {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let hold = Hold::from(self.held);
        let answer = session
            .ask(remote::job_acknowledge_cancel(hold), async |tx| {
                jobs::acknowledge_cancel(tx, hold).await
            })
            .await?;
        told(&session, &answer)
    }
}

/// `Job … is retry_waiting, due 2026-01-31 09:00:00Z.`
fn told(session: &Session, answer: &Value) -> Outcome {
    let mut sentence = format!(
        "Job {} is {}",
        shown("job_id", &answer["job_id"]),
        shown("state", &answer["state"])
    );
    if answer["status"] == "already_ended" {
        sentence.push_str(", as you said before");
    }
    if !answer["next_due"].is_null() {
        sentence.push_str(&format!(", due {}", shown("next_due", &answer["next_due"])));
    }
    sentence.push('.');
    session.out.done(&sentence, answer, &["job_id"])
}
