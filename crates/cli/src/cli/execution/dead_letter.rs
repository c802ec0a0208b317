//! `tenure execution dead-letter`: executions that failed.

use clap::{Args, Subcommand};
use tenure::store::execution_dead_letters as dead_letters;
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, shown};
use crate::remote;
use crate::values::Number;

const LIST: &[Column] = &[
    Column("EXECUTION", "execution_id"),
    Column("PURPOSE", "purpose"),
    Column("STATUS", "triage_status"),
    Column("ATTEMPTS", "attempt_count"),
    Column("FAILED", "failed_at"),
    Column("RETRIED AS", "retried_as"),
    Column("ERROR", "last_error"),
];

const FIRST: &[&str] = &[
    "execution_id",
    "purpose",
    "triage_status",
    "last_error",
    "failed_at",
    "attempt_count",
    "retried_as",
    "plan_hash",
];

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetter {
    /// List those of the last days, newest first
    #[command(visible_alias = "ls")]
    List(List),
    /// Show everything about one: its plan, and where it failed
    Show {
        /// The execution
        execution: Uuid,
    },
    /// Record what somebody decided about one
    Triage {
        /// The execution
        execution: Uuid,
        /// acknowledged, manual_replay, escalated or closed
        status: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// How many days back
    #[arg(long, value_name = "N", default_value = "7", allow_negative_numbers = true)]
    days: Number,
    /// Only with this status: pending, acknowledged, manual_replay, escalated or closed
    #[arg(long, short, value_name = "STATUS")]
    status: Option<String>,
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

impl DeadLetter {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            DeadLetter::List(list) => list.run(session).await,
            DeadLetter::Show { execution } => {
                let letter = session
                    .ask(remote::execution_dead_letter_show(execution), async |tx| {
                        dead_letters::execution_dead_letter_show(tx, execution).await
                    })
                    .await?;
                session.out.object(&letter, FIRST, &["execution_id"])
            }
            DeadLetter::Triage {
                execution,
                status,
                note,
            } => {
                let (status, note) = (status.as_str(), note.as_deref());
                let request = remote::execution_dead_letter_triage(execution, status, note);
                let done = session
                    .ask(request, async |tx| {
                        dead_letters::execution_dead_letter_triage(tx, execution, status, note).await
                    })
                    .await?;
                let mut sentence = format!(
                    "The dead letter of {execution} is {}.",
                    shown("", &done["triage_status"])
                );
                if status == "manual_replay" {
                    sentence.push_str(&format!(
                        " To run it again: tenure execution retry {execution} --reason TEXT"
                    ));
                }
                session.out.done(&sentence, &done, &["execution_id"])
            }
        }
    }
}

impl List {
    async fn run(self, mut session: Session) -> Outcome {
        let (days, limit) = (self.days.read("days")?, self.limit.read("limit")?);
        let status = self.status.as_deref();
        let request = remote::execution_dead_letter_list(days, status, limit);
        let rows = session
            .call(request, async |tx| {
                dead_letters::execution_dead_letter_list(tx, Some(days), status, Some(limit)).await
            })
            .await?;
        let empty = "No execution has failed in this time.";
        session.out.list(LIST, &rows, &["execution_id"], empty)
    }
}
