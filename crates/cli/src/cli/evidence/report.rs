//! What a file of evidence tells an auditor, in plain words: the same for the terminal and for the page.

use serde_json::{Map, Value};
use tenure_core::evidence::{Approval, Attempt, Evidence, Step, Story, Vote};
use tenure_core::json;

use super::words::{at, event, how_long, listed, names, proof, quoted, span};

/// A report: a verdict, what it is about, and parts that answer one question each.
pub(super) struct Report {
    pub(super) execution_id: String,
    pub(super) purpose: String,
    pub(super) state: String,
    /// Whether it was checked, as a sentence.
    pub(super) check: String,
    /// Whether it was checked.
    pub(super) is_checked: bool,
    /// The whole story in a few sentences.
    pub(super) summary: String,
    pub(super) parts: Vec<Part>,
    pub(super) timeline: Vec<Moment>,
    pub(super) exported_at: String,
}

/// The answer to one question.
pub(super) struct Part {
    pub(super) title: &'static str,
    pub(super) items: Vec<Item>,
}

/// One thing that is told, with what belongs to it.
#[derive(Default)]
pub(super) struct Item {
    pub(super) title: String,
    /// What became of it, in one word.
    pub(super) state: Option<String>,
    pub(super) facts: Vec<Fact>,
    pub(super) items: Vec<Item>,
}

/// A label and what it stands for.
pub(super) struct Fact {
    pub(super) label: String,
    pub(super) value: String,
    /// Whether it is an id, a hash or JSON.
    pub(super) is_code: bool,
}

/// An event.
pub(super) struct Moment {
    pub(super) seq: u64,
    pub(super) at: String,
    pub(super) step: String,
    pub(super) what: String,
    pub(super) actor: String,
}

impl Report {
    /// The report on a file; `key_id` is the key by which it was checked.
    pub(super) fn of(evidence: &Evidence, key_id: Option<&str>) -> Report {
        let story = evidence.story();
        let execution = &story.execution;
        let count = evidence.events.len();
        let parts = [
            Part::new("What was asked for, and by whom", vec![asked(evidence, &story)]),
            Part::new(
                "Who allowed it",
                story.approvals.iter().map(|it| approval(&story, it)).collect(),
            ),
            Part::new("Under which rule", rules(&story)),
            Part::new("What was done, and what came of it", steps(evidence, &story)),
        ];
        Report {
            execution_id: evidence.head.execution_id.clone(),
            purpose: execution.purpose.clone().unwrap_or_default(),
            state: evidence.head.state.clone(),
            check: match key_id {
                Some(id) => format!(
                    "Verified: signed with the key {id}, not changed since, and every statement follows from its {count} chained events."
                ),
                None => "NOT VERIFIED: this is what the file says. Give --public-key to check it.".to_owned(),
            },
            is_checked: key_id.is_some(),
            summary: summary(&story),
            parts: parts.into_iter().filter(|part| !part.items.is_empty()).collect(),
            timeline: evidence
                .events
                .iter()
                .map(|it| Moment {
                    seq: it.seq,
                    at: at(&it.at),
                    step: it.step.as_str().unwrap_or_default().to_owned(),
                    what: event(it),
                    actor: it.actor.clone().unwrap_or_default(),
                })
                .collect(),
            exported_at: at(&evidence.head.exported_at),
        }
    }
}

impl Part {
    fn new(title: &'static str, items: Vec<Item>) -> Part {
        Part { title, items }
    }
}

impl Item {
    fn new(title: impl Into<String>, state: Option<&str>) -> Item {
        Item {
            title: title.into(),
            state: state.map(str::to_owned),
            ..Item::default()
        }
    }

    fn fact(mut self, label: &str, value: Option<impl Into<String>>) -> Item {
        self.facts.extend(value.map(|value| Fact {
            label: label.to_owned(),
            value: value.into(),
            is_code: false,
        }));
        self
    }

    fn code(mut self, label: &str, value: Option<impl Into<String>>) -> Item {
        self.facts.extend(value.map(|value| Fact {
            label: label.to_owned(),
            value: value.into(),
            is_code: true,
        }));
        self
    }
}

/// The story in a few sentences.
fn summary(story: &Story) -> String {
    let execution = &story.execution;
    let who = execution.requested_by.as_deref().unwrap_or("unknown");
    let asked = match &execution.on_behalf_of {
        Some(other) => format!("{who} asked for it on behalf of {other}."),
        None => format!("{who} asked for it."),
    };
    let approvers: Vec<String> = deciders(story, "approve");
    let rejecters: Vec<String> = deciders(story, "reject");
    let rule = quoted(execution.rule.as_deref().unwrap_or("default"));
    let allowed = match (approvers.as_slice(), rejecters.as_slice()) {
        ([], []) if execution.approval_level == Some(0) => format!("The rule {rule} asks for no approval."),
        ([], []) => "No decision was made.".to_owned(),
        ([], no) => format!("{} rejected it under the rule {rule}.", names(no)),
        (yes, []) => format!("{} approved it under the rule {rule}.", names(yes)),
        (yes, no) => format!("{} approved, {} rejected under the rule {rule}.", names(yes), names(no)),
    };
    let came = match execution.state.as_deref().unwrap_or("unknown") {
        "succeeded" => format!("{} of {} steps succeeded.", story.steps.len(), story.steps.len()),
        "rejected" => "Nothing was started.".to_owned(),
        "cancelled" if execution.started_at.is_none() => "It was called off before it started.".to_owned(),
        state => format!("{} Steps: {}.", state_in_words(state), outcomes(&story.steps)),
    };
    let took = match (&execution.started_at, &execution.ended_at) {
        (Some(start), Some(end)) => how_long(start, end).map(|long| format!(" It took {long}.")),
        _ => None,
    };
    format!("{asked} {allowed} {came}{}", took.unwrap_or_default())
}

/// `It failed.`, `It is running.`
fn state_in_words(state: &str) -> String {
    match state {
        "failed" => "It failed.".to_owned(),
        "partially_failed" => "It partially failed.".to_owned(),
        "cancelled" => "It was cancelled.".to_owned(),
        other => format!("It is {}.", other.replace('_', " ")),
    }
}

/// How many steps came to what: `2 succeeded and 1 cancelled`.
fn outcomes(steps: &[Step]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for step in steps {
        match counts.iter_mut().find(|(state, _)| *state == step.state) {
            Some((_, count)) => *count += 1,
            None => counts.push((&step.state, 1)),
        }
    }
    let counted: Vec<String> = counts
        .iter()
        .map(|(state, count)| format!("{count} {}", state.replace('_', " ")))
        .collect();
    names(&counted)
}

fn deciders(story: &Story, decision: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for vote in story
        .votes
        .iter()
        .filter(|vote| vote.decision.as_deref() == Some(decision))
    {
        names.extend(vote.principal.clone().filter(|name| !names.contains(name)));
    }
    names
}

fn asked(evidence: &Evidence, story: &Story) -> Item {
    let execution = &story.execution;
    let plan: Value = json::parse(&evidence.plan).unwrap_or_default();
    let of_plan = |field: &str| plan[field].as_str().map(str::to_owned);
    let others = || Some(listed(&execution.requesters)).filter(|_| execution.requesters.len() > 1);
    let state = execution.state.as_deref().unwrap_or_default();
    Item::new(execution.purpose.clone().unwrap_or_default(), Some(state))
        .fact("Tenant", story.tenant.clone())
        .fact("Requested by", execution.requested_by.clone())
        .fact("On behalf of", execution.on_behalf_of.clone())
        .fact("Count as requesters", others())
        .fact("Through", execution.via.clone())
        .fact("Requested", execution.created_at.as_deref().map(at))
        .fact("Started", execution.started_at.as_deref().map(at))
        .fact("Ended", execution.ended_at.as_deref().map(at))
        .fact("Reason", execution.reason.clone())
        .fact("Stopped by", execution.stopped_by.clone())
        .fact("Closed by", execution.closed_by.clone())
        .fact("Class", execution.action_class.clone())
        .fact(
            "Approval level",
            execution.approval_level.map(|level| level.to_string()),
        )
        .fact("Runbook", of_plan("runbook_ref"))
        .fact("Generated by", of_plan("generator"))
        .fact("Correlation", of_plan("correlation_id"))
        .code("Key", execution.key.clone())
        .code("Metadata", execution.metadata.as_ref().map(Value::to_string))
        .code("Supersedes", execution.supersedes.clone())
        .code("Retry of", execution.retry_of.clone())
        .code("Retried as", execution.retried_as.clone())
        .code("Plan hash", execution.plan_hash.clone())
}

fn approval(story: &Story, approval: &Approval) -> Item {
    let of = match &approval.step {
        Some(step) => format!("Approval of the step {}", quoted(step)),
        None => "Approval of the plan".to_owned(),
    };
    let quorum = approval.quorum.unwrap_or(1);
    let asks = match (approval.auto_approved, quorum) {
        (true, _) => "no approval".to_owned(),
        (false, 1) => "1 approver".to_owned(),
        (false, quorum) => format!("{quorum} different approvers"),
    };
    let level = approval.level.unwrap_or_default();
    let roles = approval.roles.as_ref().map(list).filter(|roles| !roles.is_empty());
    let asks = match &roles {
        Some(roles) => format!("level {level}, {asks}, with the roles {roles}"),
        None => format!("level {level}, {asks}"),
    };
    let votes = || {
        story
            .votes
            .iter()
            .filter(|vote| vote.approval_id == approval.approval_id)
    };
    // A comment is told with its vote.
    let reason = approval
        .reason
        .clone()
        .filter(|_| votes().all(|vote| vote.comment != approval.reason));
    let mut item = Item::new(of, Some(&approval.state))
        .fact("Rule", approval.rule.clone())
        .fact("Asks for", Some(asks))
        .fact("Requested", approval.created_at.as_deref().map(at))
        .fact("Expires", approval.expires_at.as_deref().map(at))
        .fact("Escalated", approval.escalated_at.as_deref().map(at))
        .fact("Decided", approval.decided_at.as_deref().map(at))
        .fact("Decided by", approval.decided_by.clone())
        .fact("Reason", reason)
        .fact("Used by the start", approval.consumed_at.as_deref().map(at))
        .code("Approval", approval.approval_id.clone());
    item.items = votes().map(vote).collect();
    item
}

fn vote(vote: &Vote) -> Item {
    let who = vote.principal.as_deref().unwrap_or_default();
    let did = match vote.decision.as_deref() {
        Some("approve") => "approved",
        Some("reject") => "rejected",
        _ => "decided",
    };
    let roles = vote.roles.as_ref().map(list).filter(|roles| !roles.is_empty());
    Item::new(who, Some(did))
        .fact("At", vote.at.as_deref().map(at))
        .fact("Comment", vote.comment.clone())
        .fact("Proved by", Some(proof(vote)))
        .fact("From", vote.source.clone())
        .fact("May approve", vote.level.map(|level| format!("up to level {level}")))
        .fact("Roles", roles)
        .fact("On behalf of", vote.on_behalf_of.clone())
}

/// Each rule that is named, with its content and author.
fn rules(story: &Story) -> Vec<Item> {
    let mut items: Vec<Item> = story.rules.iter().map(|(name, content)| rule(name, content)).collect();
    let named = story.steps.iter().filter_map(|step| step.rule.as_deref());
    if named
        .chain(story.execution.rule.as_deref())
        .any(|name| name.split(", ").any(|name| name == "default"))
    {
        let words = "Reading needs no approval, modifying needs one approval, deploying needs a plan review (level 2).";
        items.push(
            Item::new("default", None)
                .fact("Content", Some(words))
                .fact("Author", Some("built in; applies where no rule of the tenant matches")),
        );
    }
    items
}

fn rule(name: &str, content: &Value) -> Item {
    let text = |field: &str| content[field].as_str().map(str::to_owned);
    let empty = Map::new();
    let fields = content.as_object().unwrap_or(&empty);
    let known = ["note", "updated_by", "updated_at", "position"];
    let mut item = Item::new(name, None)
        .fact("Set by", text("updated_by"))
        .fact("Set", text("updated_at").as_deref().map(at))
        .fact("Note", text("note").filter(|note| !note.is_empty()));
    for (field, value) in fields.iter().filter(|(field, _)| !known.contains(&field.as_str())) {
        let value = match value {
            Value::Array(values) if values.is_empty() => continue,
            value => list(value),
        };
        let label = field.replace('_', " ");
        let label = label[..1].to_uppercase() + &label[1..];
        item = item.fact(&label, Some(value));
    }
    item
}

fn steps(evidence: &Evidence, story: &Story) -> Vec<Item> {
    story
        .steps
        .iter()
        .map(|step| told_step(evidence, story, step))
        .collect()
}

fn told_step(evidence: &Evidence, story: &Story, step: &Step) -> Item {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let title = format!("{}. {}: {}", step.step_number, text(&step.step), text(&step.action));
    let target = format!("{} {}", text(&step.target_type), text(&step.target_ref));
    let payload = step
        .payload
        .as_ref()
        .filter(|payload| payload.as_object().is_none_or(|fields| !fields.is_empty()));
    let terms = format!(
        "{}, level {} under the rule {}",
        text(&step.action_class),
        step.approval_level.unwrap_or_default(),
        quoted(step.rule.as_deref().unwrap_or_default())
    );
    let lock = step
        .lock_target
        .as_ref()
        .map(|target| match (step.fence, step.lock_action.as_deref()) {
            (Some(fence), Some("") | None) => format!("{target}, fence {fence}"),
            (Some(fence), Some(action)) => format!("{target} for {action}, fence {fence}"),
            (None, _) => format!("{target}, never taken"),
        });
    let verdict = step
        .verdict_by
        .as_ref()
        .map(|by| format!("{by}: {}", text(&step.verdict_reason)));
    let error = error(&step.error_code, &step.error_class, &step.error_message);
    let runs: Vec<Item> = story
        .attempts
        .iter()
        .filter(|run| run.step == step.step)
        .map(|it| run(evidence, it))
        .collect();
    let why = if step.state == "skipped" { "Because" } else { "Error" };
    let mut item = Item::new(title, Some(&step.state))
        .fact("Target", Some(target.trim().to_owned()))
        .fact("Class", Some(terms))
        .fact("After", step.needs.as_deref().map(listed))
        .code("Payload", payload.map(Value::to_string))
        .code("Payload (SHA-256)", step.payload_sha256.clone())
        .code("Payload at", step.payload_ref.clone())
        .fact("Lock", lock)
        .fact("Carried from", step.carried_from.clone())
        .fact("Verdict of", verdict)
        .fact(why, error.filter(|_| runs.is_empty() || step.verdict_by.is_some()))
        .fact("To undo it", step.compensation_note.clone());
    item.items = runs;
    item
}

fn run(evidence: &Evidence, run: &Attempt) -> Item {
    let worker = run.worker.as_deref().unwrap_or("no worker");
    let outcome = run.outcome.as_deref().unwrap_or_default();
    let number = run.run.unwrap_or_default();
    let is_it = |line: &&tenure_core::evidence::Record| {
        line.text("job_id") == run.job_id.as_deref() && line.fields.get("run") == Some(&Value::from(number))
    };
    let result = evidence
        .attempts
        .iter()
        .find(is_it)
        .and_then(|line| line.text("result"));
    let holder = run.holder.clone().filter(|holder| holder != worker);
    Item::new(format!("Run {number} by {worker}"), Some(outcome))
        .fact("Ran", span(run.started_at.as_deref(), run.ended_at.as_deref()))
        .fact("As", holder)
        .fact("Error", error(&run.error_code, &run.error_class, &run.error_message))
        .code("Result", result)
        .fact("Result at", run.result_ref.clone())
        .code("Job", run.job_id.clone())
}

fn error(code: &Option<String>, class: &Option<String>, message: &Option<String>) -> Option<String> {
    let kind: Vec<&str> = [code, class].into_iter().flatten().map(String::as_str).collect();
    match (message, kind.is_empty()) {
        (Some(message), true) => Some(message.clone()),
        (Some(message), false) => Some(format!("{message} ({})", kind.join(", "))),
        (None, false) => Some(kind.join(", ")),
        (None, true) => None,
    }
}

/// A value of a rule: lists without brackets.
fn list(value: &Value) -> String {
    match value {
        Value::Array(values) => values.iter().map(list).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
