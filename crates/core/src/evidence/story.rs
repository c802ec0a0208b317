//! Whether the story holds together: plan and hash, the chain of events, who allowed it, and how it ended.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::finding::{Fault, Finding};
use super::read::{Event, Evidence, Record};
use super::{hex, sha256_hex};

/// What the chain of an execution hangs on, before its id.
const CHAIN_START: &str = "tenure/execution/";

/// All states of an execution: an event may go from one thing to another that is none.
const STATES: &[&str] = &[
    "pending",
    "awaiting_approval",
    "approved",
    "running",
    "succeeded",
    "partially_failed",
    "failed",
    "cancelled",
    "rejected",
];
/// States that nobody reaches without a start.
const STARTED: &[&str] = &["running", "succeeded", "partially_failed", "failed"];

/// Outcomes that no step has without an event. The steps of an execution that was called off have one event together.
const OVER: &[&str] = &["succeeded", "failed", "unknown"];

pub(super) fn check(evidence: &Evidence) -> Vec<Finding> {
    let parts = [head, plan, events, approvals, votes, start, steps, outcomes, state];
    parts.iter().flat_map(|part| part(evidence)).collect()
}

/// The execution is the one that the first line names.
fn head(evidence: &Evidence) -> Vec<Finding> {
    let head = &evidence.head;
    let execution = &evidence.execution;
    let same = [
        ("execution_id", &head.execution_id, Fault::Contradiction),
        ("plan_hash", &head.plan_hash, Fault::PlanHashWrong),
        ("state", &head.state, Fault::StateOther),
    ];
    let differs = same
        .iter()
        .filter(|(field, said, _)| execution.text(field) != Some(said));
    differs
        .map(|(field, said, fault)| {
            let what = format!(
                "The {field} of the execution is {}.",
                shown(execution.fields.get(*field))
            );
            Finding::new(execution.line, *fault, what, format!("{said:?}, as line 1 says"))
        })
        .collect()
}

fn plan(evidence: &Evidence) -> Vec<Finding> {
    let hash = sha256_hex(evidence.plan.as_bytes());
    if hash == evidence.head.plan_hash {
        return Vec::new();
    }
    let what = format!("The plan has the hash {hash}.");
    let expected = format!("{}, as line 1 says", evidence.head.plan_hash);
    vec![Finding::new(2, Fault::PlanHashWrong, what, expected)]
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
            findings.push(Finding::new(
                event.line,
                Fault::EventMissing,
                what,
                format!("event {seq}"),
            ));
        } else if event.hash != follows {
            let what = format!("The chain breaks at event {seq}: its hash is {:?}.", event.hash);
            findings.push(Finding::new(event.line, Fault::ChainBroken, what, follows));
        }
        // On with what the line claims: one break is one finding.
        before.clone_from(&event.hash);
        seq = event.seq;
    }
    // The execution keeps the hash of its last event: nobody takes one away at the end.
    let line = evidence
        .events
        .last()
        .map_or(evidence.execution.line, |event| event.line);
    let kept = evidence.execution.text("chain_hash").filter(|kept| *kept != before);
    if let Some(kept) = kept.filter(|_| findings.last().is_none_or(|finding| finding.line != line)) {
        let what = format!("The chain ends with the hash {before}.");
        let expected = format!("{kept}, as line 3 says");
        findings.push(Finding::new(line, Fault::ChainBroken, what, expected));
    }
    let (said, found) = (evidence.head.events, evidence.events.len() as u64);
    if said != found {
        let what = format!("There are {said} events by this line, and {found} in the file.");
        findings.push(Finding::new(
            1,
            Fault::EventMissing,
            what,
            format!("{said} lines of kind event"),
        ));
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

fn approvals(evidence: &Evidence) -> Vec<Finding> {
    about_the_plan(evidence, &evidence.approvals, "The approval")
}

fn votes(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = about_the_plan(evidence, &evidence.votes, "The vote");
    let known = |vote: &&Record| approval_of(evidence, vote).is_none();
    for vote in evidence.votes.iter().filter(known) {
        let what = format!(
            "The vote is about the approval {}.",
            shown(vote.fields.get("approval_id"))
        );
        findings.push(Finding::new(
            vote.line,
            Fault::Contradiction,
            what,
            "an approval of this file",
        ));
    }
    let requesters = requesters(&evidence.execution);
    for vote in evidence
        .votes
        .iter()
        .filter(|vote| vote.text("decision") == Some("approve"))
    {
        let voter = vote.text("principal").filter(|voter| requesters.contains(voter));
        let maker = vote.texts("auth_makers").find(|maker| requesters.contains(maker));
        let what = match (voter, maker) {
            (Some(voter), _) => format!("{voter} approved a plan of their own."),
            (None, Some(maker)) => format!("A plan of {maker} was approved by what {maker} had made."),
            (None, None) => continue,
        };
        let expected = "somebody else than the requester";
        findings.push(Finding::new(vote.line, Fault::SelfApproved, what, expected));
    }
    findings
}

/// Who stands behind it: who asked, for whom, and whoever asked for what it retries. Files from before name the first two alone.
fn requesters(execution: &Record) -> Vec<&str> {
    let asked = ["requested_by", "on_behalf_of"]
        .into_iter()
        .filter_map(|field| execution.text(field));
    asked.chain(execution.texts("requesters")).collect()
}

/// Every decision names the hash of what was decided about.
fn about_the_plan(evidence: &Evidence, records: &[Record], noun: &str) -> Vec<Finding> {
    let hash = &evidence.head.plan_hash;
    let other = records.iter().filter(|record| record.text("plan_hash") != Some(hash));
    other
        .map(|record| {
            let what = format!("{noun} is about the plan {}.", shown(record.fields.get("plan_hash")));
            Finding::new(record.line, Fault::OtherPlan, what, format!("the plan {hash}"))
        })
        .collect()
}

/// Whoever started it used up an approval of the whole plan.
fn start(evidence: &Evidence) -> Vec<Finding> {
    let execution = &evidence.execution;
    let started = STARTED.contains(&evidence.head.state.as_str()) || execution.has("started_at");
    let level = |record: &Record, field: &str| record.fields.get(field).and_then(Value::as_u64);
    let of_plan = |approval: &&Record| {
        let is_enough = level(approval, "level") >= level(execution, "approval_level");
        !approval.has("step_id") && !approval.has("step_number") && is_enough
    };
    let mut candidates = evidence.approvals.iter().filter(of_plan);
    if !started || candidates.any(|approval| allows(evidence, approval)) {
        return Vec::new();
    }
    let what = "It was started, and no approval of its plan allows that.";
    let expected =
        "an approval of the plan and its level that is approved, by as many as it asks for, and used up by the start";
    vec![Finding::new(execution.line, Fault::Unapproved, what, expected)]
}

/// A step of level 3 is started by an approval of its own.
fn steps(evidence: &Evidence) -> Vec<Finding> {
    let asks = |step: &&Record| step.fields.get("approval_level").and_then(Value::as_u64) == Some(3);
    // What was carried over from an execution that failed ran there.
    let ran = |step: &&Record| step.has("job_id") && !step.has("carried_from");
    let unapproved = evidence.steps.iter().filter(asks).filter(ran).filter(|step| {
        let of_step = |approval: &&Record| {
            ["step_id", "step_number"]
                .iter()
                .any(|field| approval.has(field) && approval.fields.get(*field) == step.fields.get(*field))
        };
        !evidence
            .approvals
            .iter()
            .filter(of_step)
            .any(|approval| allows(evidence, approval))
    });
    unapproved
        .map(|step| {
            let what = format!(
                "The step {} ran, and no approval allows that.",
                shown(step.fields.get("step_id"))
            );
            let expected = "an approval of this step that is approved and used up by its start";
            Finding::new(step.line, Fault::Unapproved, what, expected)
        })
        .collect()
}

/// What became of each step is what its events say, and so is who did it.
fn outcomes(evidence: &Evidence) -> Vec<Finding> {
    let mut told: BTreeMap<&str, Option<(&Event, &str)>> = BTreeMap::new();
    for event in &evidence.events {
        let (Some(step), Some(change)) = (event.step.as_str(), outcome_after(event)) else {
            continue;
        };
        told.insert(step, change.map(|state| (event, state)));
    }
    let mut findings = Vec::new();
    // What was carried over from an execution that failed is told there.
    for step in evidence.steps.iter().filter(|step| !step.has("carried_from")) {
        let id = step.text("step_id").unwrap_or_default();
        let state = step.text("state").unwrap_or_default();
        let found = match told.get(id).copied().flatten() {
            Some((event, outcome)) if outcome != state => Some((
                format!("The step {id:?} is {state:?}."),
                format!("{outcome:?}, as event {} in line {} says", event.seq, event.line),
            )),
            Some((event, _)) if said(event, "worker").is_some_and(|worker| step.text("worker") != Some(worker)) => {
                Some((
                    format!("The step {id:?} was done by {}.", shown(step.fields.get("worker"))),
                    format!("the worker that event {} in line {} names", event.seq, event.line),
                ))
            }
            None if OVER.contains(&state) => Some((
                format!("The step {id:?} is {state:?}, and no event says so."),
                "an event that says so".to_owned(),
            )),
            _ => None,
        };
        findings.extend(found.map(|(what, expected)| Finding::new(step.line, Fault::Contradiction, what, expected)));
    }
    findings
}

/// What became of a step after an event: an outcome, none yet, or what it was before.
fn outcome_after(event: &Event) -> Option<Option<&'static str>> {
    Some(match event.kind.as_str() {
        "step_completed" | "step_succeeded" => Some("succeeded"),
        "step_failed" => Some("failed"),
        "step_cancelled" => Some("cancelled"),
        "step_skipped" => Some("skipped"),
        "step_unknown" => Some("unknown"),
        // A verdict may let it run once more.
        "step_started" | "step_blocked" | "step_resolved" => None,
        _ => return None,
    })
}

/// Approved, used up, and by as many people as it asks for, unless a rule decides alone.
fn allows(evidence: &Evidence, approval: &Record) -> bool {
    let approves = |vote: &&Record| {
        vote.text("decision") == Some("approve") && vote.text("approval_id") == approval.text("approval_id")
    };
    let given = heads(evidence.votes.iter().filter(approves));
    let quorum = approval.fields.get("quorum").and_then(Value::as_u64).unwrap_or(1);
    let is_automatic = approval.fields.get("auto_approved") == Some(&Value::Bool(true));
    approval.text("state") == Some("approved") && approval.has("consumed_at") && (is_automatic || given >= quorum)
}

/// How many people these votes are of. Whoever stands behind another vote, or has made what another came by, counts once.
fn heads<'a>(votes: impl Iterator<Item = &'a Record>) -> u64 {
    let mut counted: Vec<&Record> = Vec::new();
    for vote in votes {
        if !counted
            .iter()
            .any(|other| stands_behind(vote, other) || stands_behind(other, vote))
        {
            counted.push(vote);
        }
    }
    counted.len() as u64
}

/// Whether somebody of the one vote is named in the other, as who voted, for whom, or who made what they came by.
fn stands_behind(one: &Record, other: &Record) -> bool {
    names(one).any(|name| {
        names(other)
            .chain(other.texts("auth_makers"))
            .any(|known| known == name)
    })
}

fn names(vote: &Record) -> impl Iterator<Item = &str> {
    ["principal", "on_behalf_of"]
        .into_iter()
        .filter_map(|field| vote.text(field))
}

fn approval_of<'a>(evidence: &'a Evidence, vote: &Record) -> Option<&'a Record> {
    let id = vote.text("approval_id")?;
    evidence
        .approvals
        .iter()
        .find(|approval| approval.text("approval_id") == Some(id))
}

/// The events lead to the state that the first line says, one from the other.
fn state(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut reached: Option<(&Event, &str)> = None;
    for event in &evidence.events {
        let Some(to) = state_after(event) else { continue };
        let (from, is) = (said(event, "from"), reached.map(|(_, state)| state));
        if let (Some(from), Some(is)) = (from, is)
            && from != is
        {
            let what = format!("Event {} says that it was {from:?} before.", event.seq);
            findings.push(Finding::new(
                event.line,
                Fault::StateOther,
                what,
                format!("{is:?}, by the events before"),
            ));
        }
        reached = Some((event, to));
    }
    let state = &evidence.head.state;
    match reached {
        Some((_, reached)) if reached == state => {}
        Some((event, reached)) => {
            let expected = format!("{reached:?}, as event {} in line {} says", event.seq, event.line);
            let what = format!("By this line it is {state:?}.");
            findings.push(Finding::new(1, Fault::StateOther, what, expected));
        }
        None => {
            let what = format!("By this line it is {state:?}, and no event says so.");
            findings.push(Finding::new(1, Fault::StateOther, what, "an event that says so"));
        }
    }
    findings
}

/// The state of the execution after an event, if it has changed it.
fn state_after(event: &Event) -> Option<&str> {
    match event.kind.as_str() {
        "execution_submitted" => Some("pending"),
        "approval_requested" if event.step.is_null() => Some("awaiting_approval"),
        kind if kind.starts_with("execution_") => said(event, "to").filter(|to| STATES.contains(to)),
        _ => None,
    }
}

fn said<'a>(event: &'a Event, field: &str) -> Option<&'a str> {
    event.data.get(field)?.as_str()
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "not said".to_owned(), Value::to_string)
}
