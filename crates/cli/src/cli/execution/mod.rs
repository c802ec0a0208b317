//! `tenure execution`: frozen plans, who allowed them, and what became of each step.

pub(super) mod applied;
mod dead_letter;
mod decide;
mod lists;
mod operate;
mod read;
mod submit;
mod wait;
mod watch;

use clap::Subcommand;
use uuid::Uuid;

use super::evidence::Export;
use super::verb::Chosen;
use crate::cli::Behalf;
use crate::connect::Session;
use crate::errors::Outcome;

#[derive(Debug, Subcommand)]
pub(crate) enum Execution {
    /// Freeze a plan and let it run as soon as it may
    #[command(after_help = submit::EXAMPLE)]
    Submit(Box<submit::Submit>),
    /// Say what a plan would need: approvals, locks, time; nothing is written
    Preview {
        /// The file with the plan; - for standard input
        file: String,
        #[command(flatten)]
        behalf: Behalf,
    },
    #[command(flatten)]
    Lists(Chosen<lists::Lists>),
    /// Show one: how far it is, what it waits for, its steps and its approvals
    Show {
        /// Its id
        execution: Uuid,
    },
    /// Draw its steps as they go, until it is over; on a pipe, a line for each event
    Watch(watch::Watch),
    /// Print its plan just as it was frozen
    Plan {
        /// Its id
        execution: Uuid,
    },
    /// Show how its plan differs from that of another
    Diff {
        /// One of them
        execution: Uuid,
        /// The other
        other: Uuid,
    },
    /// Write its signed evidence, which `tenure evidence verify` checks without a database
    Export(Export),
    /// Allow just the plan with this hash
    #[command(after_help = decide::EXAMPLE)]
    Approve(decide::Approve),
    /// Refuse it, and say why
    Reject(decide::Reject),
    #[command(flatten)]
    Decisions(Chosen<operate::Decisions>),
    /// Executions that failed: look and triage
    #[command(subcommand, visible_alias = "dead-letters")]
    DeadLetter(Chosen<dead_letter::DeadLetter>),
}

impl Execution {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Execution::Submit(submit) => submit.run(session).await,
            Execution::Preview { file, behalf } => submit::preview(session, &file, behalf).await,
            Execution::Lists(list) => list.run(session).await,
            Execution::Show { execution } => read::show(session, execution).await,
            Execution::Watch(watch) => watch.run(session).await,
            Execution::Plan { execution } => read::plan(session, execution).await,
            Execution::Diff { execution, other } => read::diff(session, execution, other).await,
            Execution::Export(export) => export.run(session).await,
            Execution::Approve(approve) => approve.run(session).await,
            Execution::Reject(reject) => reject.run(session).await,
            Execution::Decisions(decision) => decision.run(session).await,
            Execution::DeadLetter(dead_letter) => dead_letter.run(session).await,
        }
    }
}
