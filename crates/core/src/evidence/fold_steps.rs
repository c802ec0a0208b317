//! What the plan and the events make of a step.

use serde_json::{Map, Value};

use super::data::{cut, list, number, text};
use super::read::Event;
use super::story::{Attempt, Step};
use super::time;

/// The steps as the text of the plan has them.
pub(super) fn planned(plan: &Value) -> Vec<Step> {
    let steps = list(plan, "steps");
    let section = |id: Option<&Value>| {
        let has_it = |section: &&Value| list(section, "steps").iter().any(|step| Some(step) == id);
        text(list(plan, "sections").iter().find(has_it)?, "id")
    };
    let place = |id: &Value| steps.iter().position(|step| step.get("id") == Some(id));
    let step = |(step, number): (&Value, i64)| {
        let mut needs: Vec<&Value> = list(step, "needs").iter().collect();
        needs.sort_by_key(|id| place(id));
        let needs: Vec<String> = needs.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
        let hash = text(step, "payload_sha256");
        let payload = step
            .get("payload")
            .cloned()
            .unwrap_or_else(|| Value::Object(Map::new()));
        Step {
            step_number: number,
            step: text(step, "id"),
            action: text(step, "action"),
            target_type: text(step, "target_type"),
            target_ref: text(step, "target_ref"),
            job_kind: text(step, "kind").or_else(|| text(step, "action")),
            executor: text(step, "executor"),
            payload: hash.is_none().then_some(payload),
            payload_sha256: hash,
            payload_ref: text(step, "payload_ref"),
            compensation_note: text(step, "compensation_note"),
            needs: (!needs.is_empty()).then_some(needs),
            section: section(step.get("id")),
            state: "waiting".to_owned(),
            ..Step::default()
        }
    };
    steps.iter().zip(1..).map(step).collect()
}

impl Step {
    /// What rules and policies made of it.
    pub(super) fn resolve(&mut self, terms: &Value) {
        self.action_class = text(terms, "action_class");
        self.registration = text(terms, "registration");
        self.level_min = number(terms, "level_min");
        self.effects = text(terms, "effects");
        self.attempts_max = number(terms, "attempts_max");
        self.timeout_seconds = number(terms, "timeout_seconds");
        self.approval_level = number(terms, "approval_level");
        self.rule = text(terms, "rule");
        self.roles = terms.get("roles").cloned();
        self.quorum = number(terms, "quorum");
        self.approval_seconds = number(terms, "approval_seconds");
        self.lock_action = text(terms, "lock_action");
        let target = |step: &Step| {
            let reference = step.target_ref.as_deref()?.replace('%', "%25").replace(':', "%3A");
            Some(format!("{}:{reference}", step.target_type.as_deref()?))
        };
        self.lock_target = text(terms, "lock_target").or_else(|| self.lock_action.as_ref().and_then(|_| target(self)));
        self.target_type = text(terms, "target_type").or(self.target_type.take());
        self.target_ref = text(terms, "target_ref").or(self.target_ref.take());
        self.executor = text(terms, "executor").or(self.executor.take());
        if let Some(hash) = text(terms, "payload_sha256") {
            (self.payload, self.payload_sha256) = (None, Some(hash));
        }
    }

    /// An operator's verdict about an unknown outcome.
    pub(super) fn judge(&mut self, event: &Event) {
        let data = &event.data;
        let verdict = text(data, "verdict").unwrap_or_default();
        self.verdict_by = event.actor.clone();
        self.verdict_reason = text(data, "reason");
        self.result_hash = text(data, "result_hash").or(self.result_hash.take());
        self.result_bytes = number(data, "result_bytes").or(self.result_bytes);
        let is_over = verdict != "retry";
        self.ended_at = time::later(Some(event.at.clone()), self.started_at.clone()).filter(|_| is_over);
        let (code, message) = (self.error_code.take(), self.error_message.take());
        match verdict.as_str() {
            "failed" => {
                self.error_code = code.or(Some("outcome_unknown".to_owned()));
                self.error_message = message.or(self.verdict_reason.clone().map(cut));
            }
            "retry" => self.job_id = None,
            _ => {}
        }
        self.state = if is_over { verdict } else { "waiting".to_owned() };
    }

    /// What its last run made of it; `first` is when its job was started first.
    pub(super) fn follow(&mut self, kind: &str, run: Attempt, first: Option<String>) {
        let becomes = match kind {
            "step_completed" => "succeeded",
            "step_retrying" => "running",
            kind => kind.trim_start_matches("step_"),
        };
        let is_over = !["running", "unknown"].contains(&becomes);
        let first = if run.attempt > Some(1) { first } else { run.started_at };
        self.attempt = self.attempt.max(run.attempt).filter(|attempt| *attempt > 0);
        self.worker = run.worker.or(self.worker.take());
        self.started_at = self.started_at.take().or(first);
        self.ended_at = run.ended_at.filter(|_| is_over);
        let outcome = run.outcome.filter(|_| ["failed", "running"].contains(&becomes));
        self.error_code = run.error_code.or(outcome);
        self.error_class = run.error_class;
        self.error_message = run.error_message;
        self.result_hash = run.result_hash;
        self.result_bytes = run.result_bytes;
        self.result_ref = run.result_ref;
        self.state = becomes.to_owned();
    }
}

impl Attempt {
    /// A run as a line tells it. What goes without saying is left out there.
    pub(super) fn read(data: &Value, event: &Event, step: &Step) -> Attempt {
        let run = number(data, "run");
        let started_at = text(data, "started_at");
        let leased_at = text(data, "leased_at").or_else(|| started_at.clone());
        let holder = text(data, "holder").or_else(|| event.actor.clone().filter(|_| leased_at.is_some()));
        let succeeded = (event.kind == "step_completed").then(|| "succeeded".to_owned());
        Attempt {
            step: step.step.clone(),
            job_id: step.job_id.clone(),
            run,
            attempt: number(data, "attempt").or(run),
            outcome: text(data, "outcome").or(succeeded),
            worker: text(data, "worker"),
            holder: holder.filter(|holder| !holder.is_empty()),
            leased_at,
            started_at,
            ended_at: text(data, "ended_at"),
            error_code: text(data, "error_code"),
            error_class: text(data, "error_class"),
            error_message: text(data, "error_message"),
            result_hash: text(data, "result_hash"),
            result_bytes: number(data, "result_bytes"),
            result_ref: text(data, "result_ref"),
        }
    }
}
