//! `tenure job start`, `heartbeat` and `progress`: while a job is held.

use clap::Args;
use tenure::store::jobs::{self, Hold};

use super::Held;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::shown;
use crate::remote;
use crate::values::{Number, json_object};

#[derive(Debug, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    held: Held,
}

#[derive(Debug, Args)]
pub(crate) struct Heartbeat {
    #[command(flatten)]
    held: Held,
    /// How long the lease lasts from now on [default: as long as before]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    lease_seconds: Option<Number>,
}

#[derive(Debug, Args)]
pub(crate) struct Progress {
    #[command(flatten)]
    held: Held,
    /// How far it is, a small JSON object such as {"percent": 40}: JSON, @FILE, or -
    #[arg(value_name = "JSON|@FILE|-")]
    progress: String,
}

impl Start {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let hold = Hold::from(self.held);
        let job = hold.job_id;
        let answer = session
            .ask(remote::job_start(hold), async |tx| jobs::start(tx, hold).await)
            .await?;
        session
            .out
            .done(&format!("Job {job} is in_progress."), &answer, &["job_id"])
    }
}

impl Heartbeat {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let hold = Hold::from(self.held);
        let Hold { job_id: job, token } = hold;
        let seconds = Number::read_option(self.lease_seconds.as_ref(), "lease_seconds")?;
        let answer = session
            .ask(remote::job_heartbeat(hold, seconds), async |tx| {
                jobs::heartbeat(tx, hold, seconds).await
            })
            .await?;
        let until = shown("leased_until", &answer["leased_until"]);
        let sentence = if answer["status"] == "cancel" {
            let reason = shown("cancel_reason", &answer["cancel_reason"]);
            format!(
                "Somebody asked to cancel job {job}: {reason}\nStop, then run: tenure job acknowledge-cancel {job} {token}"
            )
        } else {
            format!("Job {job} is yours until {until}.")
        };
        session.out.done(&sentence, &answer, &["status"])
    }
}

impl Progress {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let hold = Hold::from(self.held);
        let Hold { job_id: job, token } = hold;
        let progress = json_object("progress", &self.progress)?;
        let answer = session
            .ask(remote::job_progress(hold, &progress), async |tx| {
                jobs::progress(tx, hold, &progress).await
            })
            .await?;
        let mut sentence = format!("The progress of job {job} is noted.");
        if answer["cancel_requested"] == true {
            sentence.push_str(&format!(
                "\nSomebody asked to cancel it: stop, then run: tenure job acknowledge-cancel {job} {token}"
            ));
        }
        session.out.done(&sentence, &answer, &["job_id"])
    }
}
