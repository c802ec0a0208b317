//! From the outcome of a run to the end of a job.

use std::time::Duration;

use tenure_core::limits::SCHEDULE_AHEAD_DAYS_MAX;
use tenure_core::masking::error_message;
use uuid::Uuid;

use super::failure::Verdict;
use super::kind::Kind;
use super::run::Outcome as RunOutcome;
use super::{CancelReason, Context, Failure};
use crate::error::Error;
use crate::store::jobs::{End, EndAnswer, Outcome};

/// The code of a run whose handler completed the job in a transaction and did not commit it.
const NOT_COMMITTED: &str = "not_committed";

/// The end that records this outcome.
pub(super) fn end_of(kind: &Kind, context: &Context, outcome: RunOutcome) -> End {
    let hold = context.job().hold();
    match outcome {
        // Were it committed, the database would answer that the run has ended as succeeded.
        Ok(_) if context.may_be_completed() => {
            let failure = Failure::retry("The handler completed the job in a transaction that was not committed.");
            failed(kind, context, failure.code(NOT_COMMITTED).class("transaction"))
        }
        Ok(done) => {
            let mut end = End::succeeded(hold.job_id, hold.token);
            (end.result, end.result_ref) = (done.result, done.reference);
            end
        }
        Err(failure) => {
            tell(context, &failure);
            failed(kind, context, failure)
        }
    }
}

/// The end of a run that did not succeed.
fn failed(kind: &Kind, context: &Context, failure: Failure) -> End {
    let hold = context.job().hold();
    let asked = context.cancel_reason() == Some(CancelReason::Requested);
    let stopping = context.cancel_reason() == Some(CancelReason::Shutdown);
    let (outcome, delay) = match failure.verdict {
        _ if asked => (Outcome::Cancelled, None),
        Verdict::Cancelled if stopping => (Outcome::Released, None),
        Verdict::Cancelled => (Outcome::Cancelled, None),
        Verdict::Snooze(delay) => (Outcome::Snoozed, Some(delay)),
        Verdict::Permanent => (Outcome::FailedPermanently, None),
        Verdict::Retry(delay) => {
            let delay = delay.or_else(|| kind.delay(context.attempt(), &failure));
            (Outcome::Failed, delay)
        }
    };
    let mut end = End::new(hold.job_id, hold.token, outcome);
    end.delay_seconds = delay.map(seconds);
    end.error_code = failure.code.map(|code| code.replace('\0', ""));
    end.error_class = failure.class.map(|class| class.replace('\0', ""));
    end.error_message = (!failure.message.is_empty()).then(|| error_message(&failure.message));
    end
}

/// The end of a run that took too long.
pub(super) fn timed_out(kind: &Kind, context: &Context) -> End {
    let failure = Failure::retry("The run took longer than it may.")
        .code("timed_out")
        .class("timeout");
    end_of(kind, context, Err(failure))
}

/// Logs a run that failed by a missing commit. Only the answer to its end says whether one was missing.
pub(super) fn tell_uncommitted(end: &End, answer: &EndAnswer) {
    if answer.status == "ended" && end.error_code.as_deref() == Some(NOT_COMMITTED) {
        let message = end.error_message.as_deref().unwrap_or_default();
        tracing::warn!(job_id = %answer.job_id, code = NOT_COMMITTED, "run failed: {message}");
    }
}

/// What to record instead of an end that the database cannot take, so that its job does not hang until the lease runs
/// out. None when even that was refused.
pub(super) fn instead_of(end: &End, code: &str, why: &str) -> Option<End> {
    let is_plain = end.result.is_none() && end.result_ref.is_none() && end.delay_seconds.is_none();
    if is_plain && matches!(end.outcome, Outcome::Failed | Outcome::FailedPermanently) && end.error_code.is_some() {
        return None;
    }
    let (job_id, token) = (end.hold.job_id, end.hold.token);
    let mut instead = match code {
        // The handler stopped for a wish that nobody had: it may well work another time.
        "cancel_not_requested" => End::failed(job_id, token, "The handler was cancelled, but nobody asked for it."),
        _ => End::failed_permanently(job_id, token, error_message(why)),
    };
    instead.error_code = Some(code.to_owned());
    Some(instead)
}

/// What to record instead of an end that makes its statement fail.
pub(super) fn instead_of_poison(end: &End, error: &Error) -> Option<End> {
    let why = format!("The outcome of the run could not be recorded. {error}");
    instead_of(end, error.code(), &why)
}

/// The end of a job that is given back.
pub(super) fn released(job_id: Uuid, token: Uuid) -> End {
    End::new(job_id, token, Outcome::Released)
}

/// Whole seconds, rounded up, as far ahead as a job may lie.
fn seconds(delay: Duration) -> i32 {
    let whole = delay.as_secs().saturating_add(u64::from(delay.subsec_nanos() > 0));
    let most = SCHEDULE_AHEAD_DAYS_MAX * 24 * 60 * 60;
    i32::try_from(whole.min(most.unsigned_abs())).unwrap_or(i32::MAX)
}

fn tell(context: &Context, failure: &Failure) {
    let job = context.job();
    match failure.verdict {
        Verdict::Retry(_) | Verdict::Permanent => tracing::warn!(
            job_id = %job.job_id, kind = %job.kind, run = job.run, attempt = job.attempt,
            code = failure.code_name(), class = failure.class_name(),
            "run failed: {}", error_message(&failure.message)
        ),
        Verdict::Snooze(_) | Verdict::Cancelled => {
            tracing::debug!(job_id = %job.job_id, kind = %job.kind, run = job.run, verdict = ?failure.verdict, "run ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_whole_seconds_rounded_up_and_bounded() {
        assert_eq!(seconds(Duration::ZERO), 0);
        assert_eq!(seconds(Duration::from_millis(1)), 1);
        assert_eq!(seconds(Duration::from_secs(60)), 60);
        assert_eq!(seconds(Duration::MAX), 30 * 24 * 60 * 60);
    }

    #[test]
    fn an_end_that_cannot_be_taken_is_replaced_once() {
        let end = End::succeeded(Uuid::nil(), Uuid::nil()).result(serde_json::json!("x"));
        let instead = instead_of(&end, "result_too_large", "too large").expect("a plain failure");
        assert_eq!(instead.outcome, Outcome::FailedPermanently);
        assert_eq!(instead.error_code.as_deref(), Some("result_too_large"));
        assert_eq!(instead_of(&instead, "database_error", "again"), None);
        let end = End::new(Uuid::nil(), Uuid::nil(), Outcome::Cancelled);
        let instead = instead_of(&end, "cancel_not_requested", "").expect("a retry");
        assert_eq!(instead.outcome, Outcome::Failed);
    }
}
