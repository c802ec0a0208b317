//! The plan and the chain of events: what everything else in a file follows from.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::finding::{Fault, Finding};
use super::fold::state_after;
use super::read::{Event, Evidence};
use super::story::Story;
use super::{hex, sha256_hex, time};

/// What the chain of an execution hangs on, before its id.
const CHAIN_START: &str = "tenure/execution/";

pub(super) fn check(evidence: &Evidence, story: &Story) -> Vec<Finding> {
    let mut findings = plan(evidence, story);
    findings.extend(events(evidence));
    findings.extend(states(evidence));
    findings.extend(exported(evidence));
    findings
}

/// A file is not older than what it tells.
fn exported(evidence: &Evidence) -> Option<Finding> {
    let said = &evidence.head.exported_at;
    let wrong = |what: String, expected: String| {
        Some(Finding::new(1, Fault::Contradiction, what, expected).of("evidence", Some("exported_at")))
    };
    let Some(written) = time::moment(said) else {
        return wrong(
            format!("The exported_at is {said:?}."),
            "a time as of RFC 3339".to_owned(),
        );
    };
    let is_later = |event: &&Event| time::moment(&event.at).is_some_and(|at| at > written);
    let event = evidence.events.iter().find(is_later)?;
    let what = format!(
        "The file was written at {said}, before event {} of {}.",
        event.seq, event.at
    );
    wrong(what, "a time that is not before any event".to_owned())
}

/// The plan is the one whose hash the first event names, or what is shown of it.
fn plan(evidence: &Evidence, story: &Story) -> Vec<Finding> {
    let hash = sha256_hex(evidence.plan.as_bytes());
    let named = story.plan_shown_hash.as_ref().or(story.execution.plan_hash.as_ref());
    if named == Some(&hash) {
        return Vec::new();
    }
    let what = format!("The plan has the hash {hash}.");
    let expected = match named {
        Some(named) => format!("{named}, as the first event says"),
        None => "a first event that names its hash".to_owned(),
    };
    vec![Finding::new(2, Fault::PlanHashWrong, what, expected).of("plan", Some("plan"))]
}

/// Numbered without a gap, each hash following from the one before, and as many as the first line says.
fn events(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before = sha256_hex(format!("{CHAIN_START}{}", evidence.head.execution_id).as_bytes());
    let mut seq = 0_u64;
    for event in &evidence.events {
        seq = seq.saturating_add(1);
        let follows = link(&before, &event.body);
        if event.seq != seq {
            let what = format!("This is event {}: the numbering has a gap.", event.seq);
            let finding = Finding::new(event.line, Fault::EventMissing, what, format!("event {seq}"));
            findings.push(finding.of(&format!("event {seq}"), None));
        } else if event.hash != follows {
            let what = format!("The chain breaks at event {seq}: its hash is {:?}.", event.hash);
            let finding = Finding::new(event.line, Fault::ChainBroken, what, follows);
            findings.push(finding.of(&format!("event {seq}"), None));
        }
        if time::moment(&event.at).is_none() {
            let what = format!("The time of event {} is {:?}.", event.seq, event.at);
            findings.push(Finding::new(
                event.line,
                Fault::Malformed,
                what,
                "a time as of RFC 3339",
            ));
        }
        // On with what the line claims: one break is one finding.
        before.clone_from(&event.hash);
        seq = event.seq;
    }
    // The execution keeps the hash of its last event: none can be taken away at the end.
    let line = evidence
        .events
        .last()
        .map_or(evidence.execution.line, |event| event.line);
    let kept = evidence.execution.text("chain_hash").unwrap_or_default();
    if kept != before && findings.last().is_none_or(|finding| finding.line != line) {
        let what = format!("The chain ends with the hash {before}.");
        let expected = format!("{kept:?}, as line 3 says");
        findings.push(Finding::new(line, Fault::ChainBroken, what, expected).of("execution", Some("chain_hash")));
    }
    let (said, found) = (evidence.head.events, evidence.events.len() as u64);
    if said != found {
        let what = format!("There are {said} events by this line, and {found} in the file.");
        let finding = Finding::new(1, Fault::EventMissing, what, format!("{said} lines of kind event"));
        findings.push(finding.of("evidence", Some("events")));
    }
    findings
}

/// The hash of what follows upon a hash. One that is no hexadecimal number is followed by nothing.
fn link(before: &str, body: &str) -> String {
    let digits = before
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    let bytes: Option<Vec<u8>> = digits.map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    let mut digest = Sha256::new();
    digest.update(bytes.unwrap_or_default());
    digest.update(body.as_bytes());
    hex(&digest.finalize())
}

/// Each move of the execution begins where the one before ended.
fn states(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut reached: Option<&str> = None;
    for event in &evidence.events {
        let Some(to) = state_after(event) else { continue };
        if let (Some(from), Some(is)) = (said(event, "from"), reached)
            && from != is
        {
            let what = format!("Event {} says that the execution was {from:?} before.", event.seq);
            let expected = format!("{is:?}, by the events before");
            findings.push(Finding::new(event.line, Fault::StateOther, what, expected));
        }
        reached = Some(to);
    }
    findings
}

fn said<'a>(event: &'a Event, field: &str) -> Option<&'a str> {
    event.data.get(field).and_then(Value::as_str)
}
