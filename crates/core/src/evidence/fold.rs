//! Folds the chained lines into the story: a pure function of plan and events.

use serde_json::Value;

use super::data::{cut, list, number, text, texts};
use super::fold_steps::planned;
use super::read::{Event, Evidence};
use super::story::{Approval, Attempt, Execution, Step, Story, Vote};
use super::time;
use crate::json;

/// All states of an execution: an event may go from one thing to another that is none.
pub(super) const STATES: &[&str] = &[
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
/// States that end an execution.
const ENDS: &[&str] = &["succeeded", "partially_failed", "failed", "cancelled", "rejected"];
/// States in which nothing has started.
const UNSTARTED: &[&str] = &["pending", "awaiting_approval", "approved"];

/// The story that plan and events tell.
pub(super) fn fold(evidence: &Evidence) -> Story {
    let plan: Value = json::parse(&evidence.plan).unwrap_or_default();
    let mut story = Story {
        execution: Execution {
            execution_id: Some(evidence.head.execution_id.clone()),
            purpose: text(&plan, "purpose"),
            ..Execution::default()
        },
        steps: planned(&plan),
        ..Story::default()
    };
    for event in &evidence.events {
        story.take(event);
        story.move_to(event);
    }
    story
}

impl Story {
    /// What an event says of the rows, but for the state of the execution.
    fn take(&mut self, event: &Event) {
        let data = &event.data;
        match event.kind.as_str() {
            "execution_submitted" => self.submitted(event),
            "execution_started" => {
                let at = text(data, "started_at");
                self.execution.started_at = at.clone();
                self.execution.started_line = Some(event.line);
                self.approval(event, |approval| approval.consumed_at = at);
            }
            "execution_stopping" | "execution_timed_out" => {
                self.execution.stopped_by = event.actor.clone();
                self.execution.reason_code = text(data, "reason_code");
                self.execution.reason = text(data, "reason");
            }
            "execution_parked" => {
                let blocked = self.steps.iter_mut().filter(|step| step.state == "blocked");
                blocked.for_each(|step| step.state = "waiting".to_owned());
            }
            "execution_resumed" => self.resumed(data),
            "execution_retried" => self.execution.retried_as = text(data, "as"),
            "execution_closed" => {
                self.execution.closed_at = Some(event.at.clone());
                self.execution.closed_by = event.actor.clone();
            }
            "approval_requested" => self.requested(event),
            "approval_vote" => self.voted(event),
            "approval_escalated" => self.approval(event, |approval| approval.escalated_at = Some(event.at.clone())),
            "approval_consumed" => self.approval(event, |approval| approval.consumed_at = text(data, "consumed_at")),
            "approval_approved" | "approval_rejected" | "approval_expired" => self.decided(event),
            // It was approved, and an approver has lost the right since.
            "approval_withdrawn" => self.approval(event, |approval| {
                approval.state = "withdrawn".to_owned();
                approval.reason = text(data, "reason");
            }),
            kind if kind.starts_with("step_") => self.step_event(event),
            _ => {}
        }
    }

    fn submitted(&mut self, event: &Event) {
        let data = &event.data;
        let record = &data["record"];
        self.has_record = record.is_object();
        self.tenant = text(record, "tenant");
        self.plan_shown_hash = text(record, "plan_shown_hash");
        self.rules = record["rules"].as_object().cloned().unwrap_or_default();
        let execution = &mut self.execution;
        execution.plan_hash = text(data, "plan_hash");
        execution.state = Some("pending".to_owned());
        execution.approval_level = number(data, "approval_level");
        execution.rule = text(data, "rule");
        execution.requested_by = event.actor.clone();
        execution.on_behalf_of = text(data, "on_behalf_of");
        execution.via = text(data, "via");
        execution.supersedes = text(data, "supersedes");
        execution.retry_of = text(data, "retry_of");
        execution.created_at = Some(event.at.clone());
        execution.action_class = text(record, "action_class");
        execution.requesters = texts(record, "requesters");
        execution.key = text(record, "key");
        execution.key_origin = text(record, "key_origin");
        execution.start_after = text(record, "start_after");
        execution.start_before = text(record, "start_before");
        execution.start_window = record.get("start_window").cloned();
        execution.timeout_ms = number(record, "timeout_ms");
        execution.metadata = record.get("metadata").cloned();
        for terms in list(record, "steps") {
            let numbers: Vec<i64> = list(terms, "steps").iter().filter_map(Value::as_i64).collect();
            let named = self.steps.iter_mut().filter(|step| numbers.contains(&step.step_number));
            named.for_each(|step| step.resolve(terms));
        }
    }

    /// What was carried over from the execution that this one retries ran there.
    fn resumed(&mut self, data: &Value) {
        let carried = texts(data, "carried");
        let is_carried = |step: &&mut Step| step.step.as_ref().is_some_and(|id| carried.contains(id));
        for step in self.steps.iter_mut().filter(is_carried) {
            step.state = "succeeded".to_owned();
            step.carried_from = text(data, "from");
        }
    }

    fn requested(&mut self, event: &Event) {
        let data = &event.data;
        let step = event.step.as_str().map(str::to_owned);
        self.step(event, |step| step.state = "awaiting_approval".to_owned());
        self.approvals.push(Approval {
            approval_id: text(data, "approval_id"),
            step,
            plan_hash: text(data, "plan_hash"),
            level: number(data, "level"),
            roles: data.get("roles").cloned(),
            quorum: number(data, "quorum"),
            rule: text(data, "rule"),
            state: "pending".to_owned(),
            created_at: text(data, "created_at"),
            expires_at: text(data, "expires_at"),
            line: event.line,
            ..Approval::default()
        });
    }

    fn voted(&mut self, event: &Event) {
        let data = &event.data;
        let comment = text(data, "comment");
        self.approval(event, |approval| approval.reason = comment.clone());
        self.votes.push(Vote {
            approval_id: text(data, "approval_id"),
            principal: event.actor.clone(),
            decision: text(data, "decision"),
            plan_hash: text(data, "plan_hash"),
            comment,
            auth_method: text(data, "auth_method"),
            auth_makers: texts(data, "auth_makers"),
            source: text(data, "source"),
            roles: data.get("roles").cloned(),
            level: number(data, "level"),
            on_behalf_of: text(data, "on_behalf_of"),
            at: Some(event.at.clone()),
            line: event.line,
        });
    }

    fn decided(&mut self, event: &Event) {
        let data = &event.data;
        if data["auto_approved"] == true {
            self.approvals.push(Approval {
                approval_id: text(data, "approval_id"),
                plan_hash: text(data, "plan_hash"),
                level: number(data, "level"),
                roles: Some(Value::Array(Vec::new())),
                quorum: Some(1),
                rule: text(data, "rule"),
                auto_approved: true,
                created_at: Some(event.at.clone()),
                line: event.line,
                ..Approval::default()
            });
        }
        let state = event.kind.trim_start_matches("approval_").to_owned();
        let (at, reason) = (Some(event.at.clone()), text(data, "reason"));
        self.approval(event, |approval| {
            approval.decided_at = time::later(at, approval.created_at.clone());
            approval.decided_by = event.actor.clone();
            approval.decided_line = Some(event.line);
            approval.reason = reason.clone();
            approval.state = state.clone();
        });
        self.step(event, |step| match state.as_str() {
            "approved" => step.state = "waiting".to_owned(),
            state => {
                let code = if state == "rejected" {
                    "rejected"
                } else {
                    "approval_expired"
                };
                step.error_code = Some(code.to_owned());
                step.error_class = Some("approval".to_owned());
                step.error_message = reason.map(cut);
            }
        });
    }

    fn step_event(&mut self, event: &Event) {
        let data = &event.data;
        match event.kind.as_str() {
            "step_blocked" => self.step(event, |step| step.state = "blocked".to_owned()),
            "step_resolved" => self.step(event, |step| step.judge(event)),
            "step_skipped" if data.get("run").is_none() => self.skipped(event),
            "step_completed" | "step_failed" | "step_cancelled" | "step_skipped" | "step_unknown" | "step_retrying" => {
                self.ended(event);
            }
            // A dispatch names the job. The start of a run names the worker, and the number that the run acts under.
            "step_queued" | "step_started" => self.step(event, |step| {
                step.fence = step.fence.max(number(data, "fence"));
                if let Some(job_id) = text(data, "job_id") {
                    step.state = "running".to_owned();
                    step.started_line = Some(event.line);
                    step.first_started_line = step.first_started_line.or(Some(event.line));
                    step.job_id = Some(job_id);
                }
            }),
            // Others change nothing that the file states.
            _ => {}
        }
    }

    fn skipped(&mut self, event: &Event) {
        let (at, reason) = (text(&event.data, "ended_at"), text(&event.data, "reason"));
        self.step(event, |step| step.skip(at.clone(), reason.clone().map(cut)));
        let of_step = |approval: &&mut Approval| approval.step.as_deref() == event.step.as_str();
        for approval in self
            .approvals
            .iter_mut()
            .filter(of_step)
            .filter(|approval| approval.is_open())
        {
            approval.withdraw(at.clone(), Some("policy"), reason.clone());
        }
    }

    /// A run is over, or a step failed without one.
    fn ended(&mut self, event: &Event) {
        let data = &event.data;
        // The verdict has its own event.
        if data["by_verdict"] == true {
            return;
        }
        let Some(place) = self
            .steps
            .iter()
            .position(|step| step.step.as_deref() == event.step.as_str())
        else {
            return;
        };
        let step = &mut self.steps[place];
        if data.get("run").is_none() {
            step.state = "failed".to_owned();
            step.ended_at = text(data, "ended_at");
            step.error_code = text(data, "error_code");
            step.error_class = text(data, "error_class");
            step.error_message = text(data, "error_message");
            return;
        }
        let run = |data: &Value| Attempt::read(data, event, step);
        let last = run(data);
        let runs: Vec<Attempt> = list(data, "earlier").iter().map(run).chain([last.clone()]).collect();
        self.attempts.extend(runs);
        let of_job = self.attempts.iter().filter(|run| run.job_id == step.job_id);
        let first = of_job.filter_map(|run| run.started_at.clone()).reduce(|a, b| {
            match time::later(Some(a.clone()), Some(b.clone())) {
                Some(later) if later == a => b,
                _ => a,
            }
        });
        step.follow(&event.kind, last, first);
    }

    /// The state of the execution after an event, if it has changed it.
    fn move_to(&mut self, event: &Event) {
        let Some(to) = state_after(event) else { return };
        let (data, at) = (&event.data, Some(event.at.clone()));
        let execution = &mut self.execution;
        if to == "approved" {
            execution.approved_at = at.clone();
            execution.lapses_at = text(data, "lapses_at");
        }
        if ENDS.contains(&to) {
            execution.ended_at = time::later(at.clone(), execution.started_at.clone());
            execution.reason_code = text(data, "reason_code").or(execution.reason_code.take());
            execution.reason = text(data, "reason")
                .or(execution.reason.take())
                .filter(|_| to != "succeeded");
            // Called off before its start, with one event for all of its steps.
            if text(data, "from").is_some_and(|from| UNSTARTED.contains(&from.as_str())) {
                let reason = text(data, "reason");
                for step in self.steps.iter_mut().filter(|step| step.is_waiting()) {
                    step.skip(at.clone(), reason.clone().map(cut));
                }
                for approval in self.approvals.iter_mut().filter(|approval| approval.is_open()) {
                    approval.withdraw(at.clone(), event.actor.as_deref(), reason.clone());
                }
            }
        }
        self.execution.state = Some(to.to_owned());
    }

    fn step(&mut self, event: &Event, change: impl FnOnce(&mut Step)) {
        let is_it = |step: &&mut Step| step.step.is_some() && step.step.as_deref() == event.step.as_str();
        if let Some(step) = self.steps.iter_mut().find(is_it) {
            change(step);
        }
    }

    fn approval(&mut self, event: &Event, change: impl FnOnce(&mut Approval)) {
        let id = text(&event.data, "approval_id");
        let is_it = |approval: &&mut Approval| id.is_some() && approval.approval_id == id;
        if let Some(approval) = self.approvals.iter_mut().find(is_it) {
            change(approval);
        }
    }
}

/// The state of the execution after an event, if it has changed it.
pub(super) fn state_after(event: &Event) -> Option<&str> {
    match event.kind.as_str() {
        "execution_submitted" => Some("pending"),
        "approval_requested" if event.step.is_null() => Some("awaiting_approval"),
        kind if kind.starts_with("execution_") => event.data["to"].as_str().filter(|to| STATES.contains(to)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn story(plan: &Value, events: &[(&str, &str, Value)]) -> Story {
        let mut story = Story {
            steps: planned(plan),
            ..Story::default()
        };
        for ((kind, step, data), line) in events.iter().zip(10..) {
            let event = json!({"seq": line, "at": "2026-01-01T00:00:00Z", "kind": kind, "step": step, "data": data});
            let event = Event {
                line,
                ..serde_json::from_value(event).expect("an event")
            };
            story.take(&event);
            story.move_to(&event);
        }
        story
    }

    #[test]
    fn a_step_has_the_fence_of_its_last_run_and_the_line_of_its_dispatch() {
        let plan = json!({"sections": [{"id": "both", "steps": ["b"]}], "steps": [{"id": "a"}, {"id": "b"}]});
        let events = [
            ("step_queued", "b", json!({"job_id": "j", "fence": 4})),
            ("step_started", "b", json!({"run": 1, "worker": "w", "fence": 4})),
            ("step_started", "b", json!({"run": 2, "worker": "w", "fence": 6})),
            ("section_entered", "", json!({"section": "both"})),
        ];
        let story = story(&plan, &events);
        let step = &story.steps[1];
        assert_eq!((step.state.as_str(), step.job_id.as_deref()), ("running", Some("j")));
        assert_eq!((step.fence, step.started_line), (Some(6), Some(10)));
        assert_eq!(step.section.as_deref(), Some("both"));
        let first = &story.steps[0];
        assert_eq!((first.state.as_str(), first.section.as_deref()), ("waiting", None));
    }

    #[test]
    fn an_approval_can_lapse_or_be_withdrawn_after_it_was_given() {
        let events = [
            ("approval_requested", "a", json!({"approval_id": "p"})),
            ("approval_approved", "a", json!({"approval_id": "p"})),
            (
                "approval_withdrawn",
                "a",
                json!({"approval_id": "p", "reason": "The key was revoked."}),
            ),
            (
                "execution_approved",
                "",
                json!({"to": "approved", "lapses_at": "2026-01-02T00:00:00Z"}),
            ),
        ];
        let story = story(&json!({"steps": [{"id": "a"}]}), &events);
        let approval = &story.approvals[0];
        assert_eq!(approval.state, "withdrawn");
        assert_eq!(approval.reason.as_deref(), Some("The key was revoked."));
        assert!(approval.decided_at.is_some());
        assert_eq!(story.execution.lapses_at.as_deref(), Some("2026-01-02T00:00:00Z"));
    }
}
