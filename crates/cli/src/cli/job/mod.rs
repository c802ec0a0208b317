//! `tenure job`: everything that can be done with a job, so that a shell script can be a producer, a worker or an operator.

mod claim;
mod enqueue;
mod operate;
mod wait;
mod work;

use clap::Subcommand;

use super::verb::{Chosen, Command, Noun};
use crate::connect::Session;
use crate::errors::Outcome;

pub(super) use enqueue::{check_key, moment};

#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// Put a job into the queue
    Enqueue(Box<enqueue::Enqueue>),
    /// Take the next job under a new lease, and print its token
    Claim(claim::Claim),
    #[command(flatten)]
    Plain(Chosen<Plain>),
}

/// The verbs that are one operation each.
pub(crate) struct Plain;

impl Noun for Plain {
    const VERBS: &'static [&'static dyn Command] = &[
        &operate::LIST,
        &operate::SHOW,
        &operate::TIMELINE,
        &operate::EXPLAIN,
        &work::START,
        &work::HEARTBEAT,
        &work::PROGRESS,
        &work::COMPLETE,
        &work::FAIL,
        &work::SNOOZE,
        &work::RELEASE,
        &work::ACKNOWLEDGE_CANCEL,
        &operate::CANCEL,
        &operate::RETRY,
        &operate::DEAD_LETTER,
    ];
}

impl Job {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Job::Enqueue(command) => command.run(session).await,
            Job::Claim(command) => command.run(session).await,
            Job::Plain(command) => command.run(session).await,
        }
    }
}
