//! Who allowed it: by the chained lines, every start was approved, by enough people, and by none who asked for it.

use super::finding::{Fault, Finding};
use super::read::Evidence;
use super::story::{Approval, Execution, Story, Vote};

pub(super) fn check(evidence: &Evidence, story: &Story) -> Vec<Finding> {
    let mut findings = about_the_plan(evidence, story);
    findings.extend(requesters(evidence, story));
    findings.extend(votes(story));
    findings.extend(start(story));
    findings.extend(steps(story));
    findings
}

/// Every decision names the hash of what was decided about.
fn about_the_plan(evidence: &Evidence, story: &Story) -> Vec<Finding> {
    let hash = &evidence.head.plan_hash;
    let approvals = story
        .approvals
        .iter()
        .map(|approval| ("The approval", approval.line, &approval.plan_hash));
    let votes = story.votes.iter().map(|vote| ("The vote", vote.line, &vote.plan_hash));
    let other = approvals
        .chain(votes)
        .filter(|(_, _, about)| about.as_ref() != Some(hash));
    let finding = |(noun, line, about): (&str, usize, &Option<String>)| {
        let what = format!(
            "{noun} is about the plan {}.",
            about.as_deref().unwrap_or("without a hash")
        );
        Finding::new(line, Fault::OtherPlan, what, format!("the plan {hash}"))
    };
    other.map(finding).collect()
}

/// Who submitted the plan, and for whom.
fn submitters(story: &Story) -> impl Iterator<Item = &String> {
    let Execution {
        requested_by,
        on_behalf_of,
        ..
    } = &story.execution;
    let names = requested_by.iter().chain(on_behalf_of);
    names.filter(|name| !name.is_empty())
}

/// They are among the requesters.
fn requesters(evidence: &Evidence, story: &Story) -> Vec<Finding> {
    let line = evidence.events.first().map_or(1, |event| event.line);
    let missing = submitters(story).filter(|name| !story.execution.requesters.contains(name));
    let finding = |name: &String| {
        let what = format!("{name} submitted the plan and is not among its requesters.");
        Finding::new(line, Fault::Contradiction, what, "requesters with all who asked")
    };
    missing.map(finding).collect()
}

/// Each vote is about an approval of this execution, and none that approves is of a requester.
fn votes(story: &Story) -> Vec<Finding> {
    let mut findings = Vec::new();
    for vote in &story.votes {
        if !story
            .approvals
            .iter()
            .any(|approval| approval.approval_id == vote.approval_id)
        {
            let what = format!("The vote is about the approval {:?}.", vote.approval_id);
            let expected = "an approval that was requested before";
            findings.push(Finding::new(vote.line, Fault::Contradiction, what, expected));
        }
        if vote.decision.as_deref() != Some("approve") {
            continue;
        }
        let asked = |name: &&String| {
            story.execution.requesters.contains(name) || submitters(story).any(|submitter| submitter == *name)
        };
        let voter = vote.principal.iter().chain(&vote.on_behalf_of).find(asked);
        let maker = vote.auth_makers.iter().find(asked);
        let what = match (voter, maker) {
            (Some(voter), _) => format!("{voter} approved a plan of their own."),
            (None, Some(maker)) => format!("A plan of {maker} was approved with a key or login that {maker} had made."),
            (None, None) => continue,
        };
        let expected = "a principal that did not request the plan";
        findings.push(Finding::new(vote.line, Fault::SelfApproved, what, expected));
    }
    findings
}

/// A start uses up an approval of the whole plan.
fn start(story: &Story) -> Vec<Finding> {
    let execution = &story.execution;
    let Some(line) = execution.started_line else {
        return Vec::new();
    };
    let mut candidates = story.approvals.iter().filter(|approval| approval.step.is_none());
    if candidates.any(|approval| approval.level >= execution.approval_level && allows(story, approval, line)) {
        return Vec::new();
    }
    let what = "It was started, and no approval of its plan allows that.";
    let expected = "an approval of the plan, of its level, by as many as it asks for, used up by the start";
    vec![Finding::new(line, Fault::Unapproved, what, expected)]
}

/// A step of level 3 is started by an approval of its own.
fn steps(story: &Story) -> Vec<Finding> {
    let asks = story.steps.iter().filter(|step| step.approval_level == Some(3));
    let unapproved = asks.filter_map(|step| {
        let is_allowed = |line: usize| {
            let mut own = story.approvals.iter().filter(|approval| approval.step == step.step);
            own.any(|approval| allows(story, approval, line))
        };
        let mut starts = step.first_started_line.into_iter().chain(step.started_line);
        let line = starts.find(|line| !is_allowed(*line))?;
        let what = format!(
            "The step {:?} ran, and no approval allows that.",
            step.step.as_deref().unwrap_or_default()
        );
        let expected = "an approval of this step that is approved and used up by its start";
        Some(Finding::new(line, Fault::Unapproved, what, expected))
    });
    unapproved.collect()
}

/// Approved before the line of the start, used up, and by as many people as it asks for, unless a rule decides alone.
fn allows(story: &Story, approval: &Approval, start: usize) -> bool {
    let counts = |vote: &&Vote| {
        vote.approval_id == approval.approval_id && vote.decision.as_deref() == Some("approve") && vote.line < start
    };
    let given = heads(story.votes.iter().filter(counts));
    let is_enough = approval.auto_approved || given >= quorum(story, approval);
    let is_before = approval.decided_line.is_some_and(|line| line < start);
    approval.state == "approved" && approval.consumed_at.is_some() && is_before && is_enough
}

/// What the approval asks for, and at least what the rules did when the plan was submitted: for its step, or for any.
fn quorum(story: &Story, approval: &Approval) -> u64 {
    let steps = story.steps.iter();
    let asks = steps.filter(|step| approval.step.is_none() || step.step == approval.step);
    let least = asks.filter_map(|step| step.quorum).max();
    approval.quorum.max(least).unwrap_or(1).unsigned_abs()
}

/// How many people these votes are of. One who stands behind another vote, or has made what another came by, counts once.
fn heads<'a>(votes: impl Iterator<Item = &'a Vote>) -> u64 {
    let mut counted: Vec<&Vote> = Vec::new();
    for vote in votes {
        let is_behind = |other: &&Vote| stands_behind(vote, other) || stands_behind(other, vote);
        if !counted.iter().any(is_behind) {
            counted.push(vote);
        }
    }
    counted.len() as u64
}

/// Whether a name of the one vote is in the other: who voted, for whom, or who made what they came by.
fn stands_behind(one: &Vote, other: &Vote) -> bool {
    let names = |vote: &'_ Vote| {
        vote.principal
            .iter()
            .chain(&vote.on_behalf_of)
            .cloned()
            .collect::<Vec<_>>()
    };
    let known: Vec<String> = names(other)
        .into_iter()
        .chain(other.auth_makers.iter().cloned())
        .collect();
    names(one).iter().any(|name| known.contains(name))
}
