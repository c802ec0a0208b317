//! `tenure job enqueue`.

use clap::Args;
use serde_json::Value;
use tenure_api::jobs::{Classification, JobEnqueue};
use tenure_api::{Json, Priority, Timestamp};
use tenure_core::api_key::ApiKey;
use tenure_core::codes;
use uuid::Uuid;

use super::wait::{Patience, ended};
use crate::cli::Behalf;
use crate::connect::Session;
use crate::errors::{Outcome, refuse};
use crate::output::shown;
use crate::values::{Moment, Number, json_object};

/// What a job that has ended is asked for.
const OUTCOME: &[&str] = &["state", "result", "result_ref", "error_code", "error_message"];

#[derive(Debug, Args)]
pub(crate) struct Enqueue {
    /// What kind of work it is, such as mail.send
    kind: String,
    /// What the worker needs to know, a small JSON object: JSON, @FILE, or - for standard input
    #[arg(long, short, value_name = "JSON|@FILE|-")]
    payload: Option<String>,
    /// Makes it safe to repeat: while an unfinished job of this kind has the key, no second one is made
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Who is to run it [default: the kind's policy]
    #[arg(long, value_name = "NAME")]
    executor: Option<String>,
    /// urgent, normal, bulk or a number; higher is sooner
    #[arg(long, value_name = "PRIORITY", allow_negative_numbers = true)]
    priority: Option<String>,
    /// Not before this time: RFC 3339, or a delay such as +10m
    #[arg(long, value_name = "TIME", visible_alias = "at", allow_hyphen_values = true)]
    due: Option<String>,
    /// Never start after this time: RFC 3339, or a delay such as +1h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    deadline: Option<String>,
    /// Attempts before it gives up [default: the kind's policy]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_attempts: Option<Number>,
    /// Who may see the payload: safe_metadata or restricted
    #[arg(long, value_name = "CLASS")]
    classification: Option<String>,
    /// Where the work comes from, by reference
    #[arg(long, value_name = "REF")]
    source_ref: Option<String>,
    /// What the work is about, by reference
    #[arg(long, value_name = "REF")]
    target_ref: Option<String>,
    /// Where the data is, by reference
    #[arg(long, value_name = "REF")]
    payload_ref: Option<String>,
    /// Ties jobs of one undertaking together
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    /// A worker that asks for this key gets the job first
    #[arg(long, value_name = "KEY")]
    affinity_key: Option<String>,
    /// The job that made this one
    #[arg(long, value_name = "JOB")]
    parent: Option<Uuid>,
    /// What it is about, in one word [default: the kind's policy]
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    /// The system that asks for it
    #[arg(long, value_name = "NAME")]
    source_system: Option<String>,
    /// An id of your own: a UUID of version 7
    #[arg(long, value_name = "UUID")]
    id: Option<Uuid>,
    /// Wait up to this many seconds for its end, and print what came of it
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    wait: Option<Number>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Enqueue {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let payload = self
            .payload
            .as_deref()
            .map(|given| json_object("payload", given))
            .transpose()?;
        check_key("job enqueue", self.key.as_deref())?;
        let job = JobEnqueue {
            kind: self.kind,
            payload: payload.map(Json),
            key: self.key,
            executor: self.executor,
            priority: self.priority.map(Priority::Name),
            due: moment(&mut session, "due", self.due.as_deref()).await?,
            deadline: moment(&mut session, "deadline", self.deadline.as_deref()).await?,
            source_ref: self.source_ref,
            target_ref: self.target_ref,
            payload_ref: self.payload_ref,
            classification: self.classification.as_deref().map(Classification::from),
            attempts_max: Number::read_option(self.max_attempts.as_ref(), "max_attempts")?,
            correlation_id: self.correlation_id,
            causation_event: None,
            parent_job_id: self.parent,
            workflow_id: None,
            run_id: None,
            affinity_key: self.affinity_key,
            event_domain: self.domain,
            source_system: self.source_system,
            job_id: self.id,
            on_behalf_of: self.behalf.on_behalf_of,
        };
        // Read first: a wait that is refused must not leave a job behind.
        let patience = self.wait.as_ref().map(|wait| Patience::of(Some(wait))).transpose()?;
        let (made, mut answer) = session.perform(&job).await?;
        let mut sentence = told(&answer);
        if let Some(patience) = patience {
            let (details, shown) = ended(&mut session, made.job_id, patience).await?;
            for field in OUTCOME.iter().filter(|field| !shown[**field].is_null()) {
                answer[*field] = shown[*field].clone();
            }
            sentence = told(&answer);
            if !details.state.is_at_rest() {
                sentence.push_str(&format!(
                    "\nThe wait is over, the job is not. See `tenure job explain {}`.",
                    made.job_id
                ));
            }
        }
        session.out.done(&sentence, &answer, &["job_id"])
    }
}

/// What became of a job, in words.
fn told(answer: &Value) -> String {
    let part = |field: &str| shown("", &answer[field]);
    let mut text = match answer["duplicate"] == true {
        true => format!("Job {} has this key already; it is {}.", part("job_id"), part("state")),
        false => format!("Job {} is {}.", part("job_id"), part("state")),
    };
    for field in OUTCOME.iter().skip(1).filter(|field| !answer[**field].is_null()) {
        text.push_str(&format!("\n{field}: {}", part(field)));
    }
    text
}

/// Before the command --key is the key for the server, behind it that of the work: who mixes them up must not write a
/// secret where everybody reads it.
pub(in crate::cli) fn check_key(command: &str, key: Option<&str>) -> Outcome {
    match key.and_then(ApiKey::parse) {
        None => Ok(()),
        Some(_) => Err(refuse(
            codes::USAGE,
            "What is given with --key is an API key.",
            format!("Behind `{command}`, --key makes it safe to repeat, and everybody can read it."),
            format!(
                "Give the API key before the command (tenure --key KEY {command} …), or with --key-file or TENURE_KEY."
            ),
        )),
    }
}

/// A delay counts from the database's clock, which alone decides when a job is due.
pub(in crate::cli) async fn moment(
    session: &mut Session,
    field: &str,
    given: Option<&str>,
) -> Outcome<Option<Timestamp>> {
    match given {
        None => Ok(None),
        Some(given) => resolved(session, field, Moment::read(field, given)?).await,
    }
}

async fn resolved(session: &mut Session, field: &str, moment: Moment) -> Outcome<Option<Timestamp>> {
    let now = match moment {
        Moment::At(_) => jiff::Timestamp::UNIX_EPOCH,
        Moment::FromNow(_) => session.now().await?,
    };
    let at = moment.resolve(field, now)?;
    Ok(Some(Timestamp::from_micros(at.as_microsecond())))
}
