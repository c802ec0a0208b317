//! `tenure job claim`: how a shell script becomes a worker.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use tenure_api::request::WAIT_SECONDS_MAX;
use tenure_api::work::{ClaimMode, JobClaim};
use tenure_core::priority;

use super::wait::Patience;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::Format;
use crate::values::Number;

#[derive(Debug, Args)]
pub(crate) struct Claim {
    /// Only jobs of this kind; may be given several times [default: every kind]
    #[arg(long = "kind", short, value_name = "KIND")]
    kinds: Vec<String>,
    /// Claim for this executor [default: any]
    #[arg(long, value_name = "NAME")]
    executor: Option<String>,
    /// Who claims, as others will see it [default: USER@HOST]
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// How long the lease lasts without a heartbeat [default: the kind's policy]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    lease_seconds: Option<Number>,
    /// Prefer jobs with this affinity key
    #[arg(long, value_name = "KEY")]
    affinity_key: Option<String>,
    /// Nothing below this priority: urgent, normal, bulk or a number
    #[arg(long, value_name = "PRIORITY", allow_negative_numbers = true)]
    priority_min: Option<String>,
    /// Begin work at once, without a separate `job start`
    #[arg(long)]
    start: bool,
    /// Wait up to this many seconds for a job
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    wait: Option<Number>,
}

impl Claim {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let mut patience = Patience::of(self.wait.as_ref())?;
        let answer = loop {
            let answer = self.once(&mut session, patience.left()).await?;
            if !answer["job"].is_null() || !patience.pause().await {
                break answer;
            }
        };
        let out = session.out;
        let job = &answer["job"];
        match out.format {
            Format::Json => out.json(&answer),
            Format::Quiet => out.done("", job, &["job_id", "token", "payload"]),
            Format::People if job.is_null() => out.text("There is no job to claim."),
            Format::People => out.object(
                job,
                &[
                    "job_id",
                    "token",
                    "kind",
                    "state",
                    "leased_until",
                    "attempt",
                    "attempts_max",
                    "payload",
                ],
                &[],
            ),
        }
    }

    async fn once(&self, session: &mut Session, wait: Duration) -> Outcome<Value> {
        let priority_min = self.priority_min.as_deref().map(priority::parse).transpose()?;
        let claim = JobClaim {
            worker: self.worker.clone().unwrap_or_else(worker_name),
            executor: self.executor.clone(),
            kinds: (!self.kinds.is_empty()).then(|| self.kinds.clone()),
            limit: 1,
            lease_seconds: Number::read_option(self.lease_seconds.as_ref(), "lease_seconds")?,
            mode: match self.start {
                true => ClaimMode::Started,
                false => ClaimMode::Leased,
            },
            priority_min: priority_min.map(i32::from),
            affinity_key: self.affinity_key.clone(),
            token: None,
            wait_seconds: Some(wait.as_secs().min(WAIT_SECONDS_MAX)),
        };
        let (_, claimed) = session.perform(&claim).await?;
        Ok(json!({ "job": claimed["jobs"][0] }))
    }
}

/// `ann@host`: enough to find whoever holds a job.
fn worker_name() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
    let user = user.map_or_else(|| "cli".to_owned(), |user| user.name);
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    format!("{user}@{}", host.unwrap_or_else(|| "localhost".to_owned()))
}
