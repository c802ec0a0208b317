//! Times, names and events in words.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use tenure_core::evidence::{Event, Vote};

/// A time as an auditor reads it, in UTC.
pub(super) fn at(text: &str) -> String {
    match text.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => text.to_owned(),
    }
}

/// From when to when, and how long that was.
pub(super) fn span(start: Option<&str>, end: Option<&str>) -> Option<String> {
    Some(match (start, end) {
        (Some(start), Some(end)) => match how_long(start, end) {
            Some(long) => format!("{}, for {long}", at(start)),
            None => format!("{} to {}", at(start), at(end)),
        },
        (None, Some(end)) => format!("never started, over at {}", at(end)),
        (Some(start), None) => format!("from {}", at(start)),
        (None, None) => return None,
    })
}

/// The time between two times, in its two largest units.
pub(super) fn how_long(start: &str, end: &str) -> Option<String> {
    let (start, end): (Timestamp, Timestamp) = (start.parse().ok()?, end.parse().ok()?);
    let millis = end
        .as_millisecond()
        .checked_sub(start.as_millisecond())
        .filter(|millis| *millis >= 0)?;
    let seconds = millis / 1000;
    Some(
        match (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
            (0, 0, 0, 0) => format!("{millis} ms"),
            (0, 0, 0, seconds) => format!("{seconds} s"),
            (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
            (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
            (days, hours, _, _) => format!("{days} d {hours} h"),
        },
    )
}

pub(super) fn quoted(text: &str) -> String {
    format!("“{text}”")
}

pub(super) fn listed(texts: &[String]) -> String {
    texts.join(", ")
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// How an approver proved who they are.
pub(super) fn proof(vote: &Vote) -> String {
    let method = vote.auth_method.as_deref().unwrap_or("nothing that is stated");
    let method = match method.split_once(' ') {
        Some(("api_key", prefix)) => format!("API key {prefix}"),
        Some(("login", name)) => format!("database login {name}"),
        _ => method.to_owned(),
    };
    match vote.auth_makers.as_slice() {
        [] => method,
        makers => format!("{method}, which was made by {}", names(makers)),
    }
}

/// An event as a sentence without its subject.
pub(super) fn event(event: &Event) -> String {
    let data = &event.data;
    let text = |field: &str| data[field].as_str().unwrap_or_default();
    let because = |sentence: &str, field: &str| match text(field) {
        "" => sentence.to_owned(),
        why => format!("{sentence}: {why}"),
    };
    match event.kind.as_str() {
        "execution_submitted" => format!("submitted the plan; it needs level {}", data["approval_level"]),
        "approval_requested" => format!("approval requested: level {}, {} needed", data["level"], data["quorum"]),
        "approval_vote" => because(&format!("voted to {}", text("decision")), "comment"),
        "approval_approved" if data["auto_approved"] == true => "approved by the rule alone".to_owned(),
        "approval_approved" => "the approval is complete".to_owned(),
        "approval_rejected" => because("the approval was rejected", "reason"),
        "approval_expired" => because("the approval expired", "reason"),
        "approval_withdrawn" => because("the approval no longer counts", "reason"),
        "approval_escalated" => "the approval was escalated".to_owned(),
        "approval_consumed" => "the approval of the step was used".to_owned(),
        "execution_approved" => "the plan may start".to_owned(),
        "execution_started" => "the approval of the plan was used by its start".to_owned(),
        "execution_running" => "the plan runs".to_owned(),
        "execution_completed" => "all steps succeeded".to_owned(),
        "execution_failed" => because("the plan failed", "reason_code"),
        "execution_partially_failed" => "some steps failed".to_owned(),
        "execution_rejected" => because("the plan was rejected", "reason"),
        "execution_cancelled" => because("the plan was cancelled", "reason"),
        "execution_stopping" => because("the plan is being stopped", "reason"),
        "execution_timed_out" => because("the plan took too long", "reason"),
        "execution_parked" => because("the start has to wait", "because"),
        "execution_resumed" => format!("{} steps carried over from {}", count(&data["carried"]), text("from")),
        "execution_retried" => because(&format!("retried as {}", text("as")), "reason"),
        "execution_closed" => because("closed", "reason"),
        "step_started" if data["job_id"].is_null() => because("started", "worker"),
        "section_entered" => format!("section {} holds {}", text("section"), text("target")),
        "section_left" => format!("section {} released {}", text("section"), text("target")),
        "step_queued" | "step_started" => match data["fence"].as_i64() {
            Some(fence) => format!("dispatched, holding {} (fence {fence})", text("target")),
            None => "dispatched".to_owned(),
        },
        "step_blocked" => because("waits for a lock", "held_by"),
        "step_completed" if data["by_verdict"] == true => "succeeded, by verdict".to_owned(),
        "step_completed" => because("succeeded", "worker"),
        "step_failed" if data["by_verdict"] == true => "failed, by verdict".to_owned(),
        "step_failed" => because("failed", "error_message"),
        "step_retrying" => because("failed, and is tried again", "error_message"),
        "step_cancelled" => because("was cancelled", "error_message"),
        "step_skipped" => because("is never started", "reason"),
        "step_unknown" => because("ended without a known outcome", "error_message"),
        "step_resolved" => because(&format!("verdict: {}", text("verdict")), "reason"),
        "step_progress" => format!("progress: {data}"),
        "lock_broken" => because("the lock was broken", "reason"),
        kind => kind.replace('_', " "),
    }
}

fn count(value: &Value) -> usize {
    value.as_array().map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_told_in_its_two_largest_units() {
        let long = |end: &str| how_long("2026-01-01T00:00:00Z", end).unwrap_or_default();
        assert_eq!(long("2026-01-01T00:00:00.25Z"), "250 ms");
        assert_eq!(long("2026-01-01T00:00:59Z"), "59 s");
        assert_eq!(long("2026-01-01T00:02:03Z"), "2 min 3 s");
        assert_eq!(long("2026-01-01T05:02:03Z"), "5 h 2 min");
        assert_eq!(long("2026-01-04T05:02:03Z"), "3 d 5 h");
        assert_eq!(how_long("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"), None);
    }

    #[test]
    fn names_are_joined_as_in_a_sentence() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&texts(&["ada"])), "ada");
        assert_eq!(names(&texts(&["ada", "bob", "cyd"])), "ada, bob and cyd");
    }
}
