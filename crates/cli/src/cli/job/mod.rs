//! `tenure job`: everything that can be done with a job, so that a shell script can be a producer, a worker or an operator.

mod claim;
mod end;
mod enqueue;
mod hold;
mod operate;
mod read;
mod wait;

use clap::{Args, Subcommand};
use tenure::store::jobs::Hold;
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::Outcome;

pub(super) use enqueue::{check_key, moment};

#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// Put a job into the queue
    Enqueue(Box<enqueue::Enqueue>),
    /// List jobs, newest first
    #[command(visible_alias = "ls")]
    List(read::List),
    /// Show everything about one job
    Show(read::Show),
    /// Show what happened to one job, step by step
    Timeline(read::Timeline),
    /// Say why a job is not running
    Explain(read::Explain),
    /// Take the next job under a new lease, and print its token
    Claim(claim::Claim),
    /// Say that work on a claimed job begins
    Start(hold::Start),
    /// Renew the lease of a held job, and learn of cancel requests
    Heartbeat(hold::Heartbeat),
    /// Record how far a held job is
    Progress(hold::Progress),
    /// Finish a held job
    Complete(end::Complete),
    /// Say that a held job failed; it is tried again while attempts are left
    Fail(end::Fail),
    /// Put a held job aside for later; costs no attempt
    Snooze(end::Snooze),
    /// Give a held job back; costs no attempt
    Release(end::Release),
    /// Say that a held job was stopped because somebody asked to cancel it
    AcknowledgeCancel(end::AcknowledgeCancel),
    /// Cancel a job; one that runs is asked to stop
    Cancel(operate::Cancel),
    /// Run a waiting job now, or give a failed one fresh attempts
    Retry(operate::Retry),
    /// Move a waiting job to the dead letters
    DeadLetter(operate::DeadLetter),
}

/// The proof of holding a job.
#[derive(Debug, Args)]
struct Held {
    /// The job's id
    job: Uuid,
    /// The lease token that `job claim` printed
    token: Uuid,
}

impl From<Held> for Hold {
    fn from(held: Held) -> Hold {
        Hold {
            job_id: held.job,
            token: held.token,
        }
    }
}

impl Job {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Job::Enqueue(command) => command.run(session).await,
            Job::List(command) => command.run(session).await,
            Job::Show(command) => command.run(session).await,
            Job::Timeline(command) => command.run(session).await,
            Job::Explain(command) => command.run(session).await,
            Job::Claim(command) => command.run(session).await,
            Job::Start(command) => command.run(session).await,
            Job::Heartbeat(command) => command.run(session).await,
            Job::Progress(command) => command.run(session).await,
            Job::Complete(command) => command.run(session).await,
            Job::Fail(command) => command.run(session).await,
            Job::Snooze(command) => command.run(session).await,
            Job::Release(command) => command.run(session).await,
            Job::AcknowledgeCancel(command) => command.run(session).await,
            Job::Cancel(command) => command.run(session).await,
            Job::Retry(command) => command.run(session).await,
            Job::DeadLetter(command) => command.run(session).await,
        }
    }
}
