//! `tenure execution`: frozen plans, who allowed them, and what became of each step.

pub(super) mod applied;
mod archive;
mod dead_letter;
mod decide;
mod operate;
mod read;
mod submit;
mod wait;
mod watch;

use clap::Subcommand;
use uuid::Uuid;

use super::evidence::Export;
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
    /// List executions, newest first
    #[command(visible_alias = "ls")]
    List(read::List),
    /// Show one: how far it is, what it waits for, its steps and its approvals
    Show {
        /// Its id
        execution: Uuid,
    },
    /// Draw its steps as they go, until it is over; on a pipe, a line for each event
    Watch(watch::Watch),
    /// List its steps, in the order of the plan
    Steps(read::Steps),
    /// Print its plan just as it was frozen
    Plan {
        /// Its id
        execution: Uuid,
    },
    /// Tell what happened to it, oldest first
    Timeline(read::Timeline),
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
    /// Stop it: what is under way is asked to stop, nothing more of it starts
    Cancel(operate::Cancel),
    /// Take your own back before it starts
    Withdraw(operate::Withdraw),
    /// Decide about a step of which nobody knows whether it was done
    #[command(after_help = operate::EXAMPLE_RESOLVE)]
    Resolve(operate::Resolve),
    /// Run the plan of one that failed again, as a new execution with approvals of its own; requesters their own
    Retry(operate::Retry),
    /// Free the key of one that has partially failed
    Close(operate::Close),
    /// Let nothing new start in the tenant; what runs goes on
    Freeze(operate::Freeze),
    /// End the freeze
    Unfreeze(operate::Unfreeze),
    /// Executions that failed: look and triage
    #[command(subcommand, visible_alias = "dead-letters")]
    DeadLetter(dead_letter::DeadLetter),
}

impl Execution {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Execution::Submit(submit) => submit.run(session).await,
            Execution::Preview { file, behalf } => submit::preview(session, &file, behalf).await,
            Execution::List(list) => list.run(session).await,
            Execution::Show { execution } => read::show(session, execution).await,
            Execution::Watch(watch) => watch.run(session).await,
            Execution::Steps(steps) => steps.run(session).await,
            Execution::Plan { execution } => read::plan(session, execution).await,
            Execution::Timeline(timeline) => timeline.run(session).await,
            Execution::Diff { execution, other } => read::diff(session, execution, other).await,
            Execution::Export(export) => export.run(session).await,
            Execution::Approve(approve) => approve.run(session).await,
            Execution::Reject(reject) => reject.run(session).await,
            Execution::Cancel(cancel) => cancel.run(session).await,
            Execution::Withdraw(withdraw) => withdraw.run(session).await,
            Execution::Resolve(resolve) => resolve.run(session).await,
            Execution::Retry(retry) => retry.run(session).await,
            Execution::Close(close) => close.run(session).await,
            Execution::Freeze(freeze) => freeze.run(session).await,
            Execution::Unfreeze(unfreeze) => unfreeze.run(session).await,
            Execution::DeadLetter(dead_letter) => dead_letter.run(session).await,
        }
    }
}
