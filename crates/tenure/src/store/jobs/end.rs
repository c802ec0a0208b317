//! The end of a run.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Hold;
use super::hold::one;
use crate::error::Result;
use crate::store::Statement;
use crate::store::Timestamp;
use crate::store::call::{Call, column, row};
use crate::store::statement::Arguments;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The work is done.
    Succeeded,
    /// It failed and may work another time.
    Failed,
    /// It failed and always will.
    FailedPermanently,
    /// A cancel request is acknowledged.
    Cancelled,
    /// It waits; no attempt is used up.
    Snoozed,
    /// It is given back; no attempt is used up.
    Released,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::FailedPermanently => "failed_permanently",
            Outcome::Cancelled => "cancelled",
            Outcome::Snoozed => "snoozed",
            Outcome::Released => "released",
        }
    }
}

/// The end of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// The job and its token.
    pub hold: Hold,
    /// How it ended.
    pub outcome: Outcome,
    /// What came out: a small JSON value.
    pub result: Option<Value>,
    /// Where a larger result is.
    pub result_ref: Option<String>,
    /// A code of the error, for people and filters.
    pub error_code: Option<String>,
    /// The class of the error.
    pub error_class: Option<String>,
    /// The error; what looks like a secret in it is masked.
    pub error_message: Option<String>,
    /// After a failure: instead of the backoff. For a snooze: how long.
    pub delay_seconds: Option<i32>,
}

impl End {
    /// An end of this outcome and nothing more.
    pub fn new(job_id: Uuid, token: Uuid, outcome: Outcome) -> End {
        End {
            hold: Hold { job_id, token },
            outcome,
            result: None,
            result_ref: None,
            error_code: None,
            error_class: None,
            error_message: None,
            delay_seconds: None,
        }
    }

    /// Done.
    pub fn succeeded(job_id: Uuid, token: Uuid) -> End {
        End::new(job_id, token, Outcome::Succeeded)
    }

    /// Failed, and may work another time.
    pub fn failed(job_id: Uuid, token: Uuid, message: impl Into<String>) -> End {
        let mut end = End::new(job_id, token, Outcome::Failed);
        end.error_message = Some(message.into());
        end
    }

    /// Failed, and always will.
    pub fn failed_permanently(job_id: Uuid, token: Uuid, message: impl Into<String>) -> End {
        let mut end = End::failed(job_id, token, message);
        end.outcome = Outcome::FailedPermanently;
        end
    }

    /// Waits for so many seconds.
    pub fn snoozed(job_id: Uuid, token: Uuid, seconds: i32) -> End {
        let mut end = End::new(job_id, token, Outcome::Snoozed);
        end.delay_seconds = Some(seconds);
        end
    }

    /// With this result.
    pub fn result(mut self, result: Value) -> End {
        self.result = Some(result);
        self
    }
}

row! {
    /// What became of an end.
    pub struct EndAnswer {
        /// The job.
        pub job_id: Uuid,
        /// `ended`, `already_ended`, `stale_lease`, `lease_expired`, or what was wrong with it.
        pub status: String,
        /// The job's state now.
        pub state: Option<String>,
        /// When it runs again.
        pub next_due: Option<Timestamp>,
    }
}

impl EndAnswer {
    /// Whether the end stands, now or from an earlier call.
    pub fn is_ended(&self) -> bool {
        self.status == "ended" || self.status == "already_ended"
    }

    /// Whether another attempt may own the job: its result must be dropped.
    pub fn is_lost(&self) -> bool {
        self.status == "stale_lease" || self.status == "lease_expired"
    }
}

/// Ends as the SQL functions take them: arrays that run parallel.
pub(super) struct Ends<'a> {
    job_ids: Vec<Uuid>,
    tokens: Vec<Uuid>,
    outcomes: Vec<&'static str>,
    results: Option<Vec<Option<&'a Value>>>,
    result_refs: Option<Vec<Option<&'a str>>>,
    error_codes: Option<Vec<Option<&'a str>>>,
    error_classes: Option<Vec<Option<&'a str>>>,
    error_messages: Option<Vec<Option<&'a str>>>,
    delay_seconds: Option<Vec<Option<i32>>>,
}

impl<'a> Ends<'a> {
    pub(super) fn new(ends: &'a [End]) -> Ends<'a> {
        Ends {
            job_ids: ends.iter().map(|end| end.hold.job_id).collect(),
            tokens: ends.iter().map(|end| end.hold.token).collect(),
            outcomes: ends.iter().map(|end| end.outcome.name()).collect(),
            results: column(ends, |end| end.result.as_ref()),
            result_refs: column(ends, |end| end.result_ref.as_deref()),
            error_codes: column(ends, |end| end.error_code.as_deref()),
            error_classes: column(ends, |end| end.error_class.as_deref()),
            error_messages: column(ends, |end| end.error_message.as_deref()),
            delay_seconds: column(ends, |end| end.delay_seconds),
        }
    }

    pub(super) fn call(&'a self, function: &'static str) -> Call<'a> {
        Call::new(function)
            .with("p_job_ids", &self.job_ids)
            .with("p_tokens", &self.tokens)
            .with("p_outcomes", &self.outcomes)
            .nullable("p_results", &self.results)
            .nullable("p_result_refs", &self.result_refs)
            .nullable("p_error_codes", &self.error_codes)
            .nullable("p_error_classes", &self.error_classes)
            .nullable("p_error_messages", &self.error_messages)
            .nullable("p_delay_seconds", &self.delay_seconds)
    }
}

/// Ends runs; each answers for itself (`tenure.job_end_many`).
pub async fn end_many(client: &impl GenericClient, ends: &[End]) -> Result<Vec<EndAnswer>> {
    Ends::new(ends).call("job_end_many").rows(client).await
}

/// Fails one job by its [`End`]: outcome [`Outcome::Failed`] or [`Outcome::FailedPermanently`] (`tenure.job_fail`).
pub async fn fail(client: &impl GenericClient, end: &End) -> Result<EndAnswer> {
    let permanence = match end.outcome {
        Outcome::Failed => "transient",
        Outcome::FailedPermanently => "permanent",
        other => other.name(),
    };
    one("job_fail", &end.hold)
        .nullable("p_message", &end.error_message)
        .with("p_permanence", &permanence)
        .maybe("p_code", &end.error_code)
        .maybe("p_class", &end.error_class)
        .maybe("p_retry_seconds", &end.delay_seconds)
        .read(client)
        .await
}

/// Completes a run in the caller's transaction, or refuses and so aborts it (`tenure.job_complete`). A run that its holder
/// has ended before is refused too: the transaction has come twice, and `tenure.job_heartbeat` refuses what is not held.
pub(crate) fn completion(hold: Hold, result: Option<&Value>, result_ref: Option<&str>) -> Statement {
    Arguments::default()
        .with("p_job_id", "uuid", Some(hold.job_id))
        .with("p_token", "uuid", Some(hold.token))
        .with("p_result", "jsonb", result)
        .with("p_result_ref", "text", result_ref)
        .statement(|arguments| {
            format!(
                "select case tenure.job_complete({arguments}) ->> 'status' when 'already_ended' then \
                 tenure.job_heartbeat($1::text::uuid, $2::text::uuid) ->> 'status' end"
            )
        })
}
