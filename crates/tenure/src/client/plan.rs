//! Plans written in Rust.

use std::time::Duration;

use serde_json::{Map, Value};
use tenure_core::plan::{ActionClass, Effects, LockScope, Mode, OnStepFailure, Plan, SlaClass};

use crate::error::Result;

/// A plan to be. [`build`](NewPlan::build) checks it; [`Client::submit`](crate::Client::submit) submits it.
///
/// ```
/// use tenure::executions::{ActionClass, NewPlan, NewStep, SlaClass};
///
/// let plan = NewPlan::new("restart the shop", SlaClass::Medium)
///     .step(NewStep::new("drain", "service.drain").class(ActionClass::Modify).target("service", "shop"))
///     .step(
///         NewStep::new("restart", "service.restart")
///             .class(ActionClass::Modify)
///             .target("service", "shop")
///             .needs(["drain"])
///             .payload(serde_json::json!({"graceful": true})),
///     )
///     .section("shop", ["drain", "restart"])
///     .build()?;
/// assert_eq!(plan.steps()[1].kind, "service.restart");
///
/// let refused = NewPlan::new("nothing", SlaClass::Fast).build().unwrap_err();
/// assert_eq!(refused.refusal().what, "steps has no step.");
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct NewPlan {
    fields: Map<String, Value>,
    steps: Vec<Value>,
    sections: Vec<Value>,
}

impl NewPlan {
    /// A plan for this purpose, which takes about so long.
    pub fn new(purpose: impl Into<String>, sla_class: SlaClass) -> NewPlan {
        let plan = NewPlan {
            fields: Map::new(),
            steps: Vec::new(),
            sections: Vec::new(),
        };
        plan.with("purpose", purpose.into())
            .with("sla_class", sla_class.as_str())
    }

    /// With this step. Needs decide what comes first; the order of the steps does not.
    pub fn step(mut self, step: NewStep) -> NewPlan {
        self.steps.push(Value::Object(step.fields));
        self
    }

    /// These steps, one after the other, hold the lock of their target together.
    pub fn section(mut self, id: impl Into<String>, steps: impl IntoIterator<Item = impl Into<String>>) -> NewPlan {
        let section = [("id".to_owned(), id.into().into()), ("steps".to_owned(), texts(steps))];
        self.sections.push(Value::Object(section.into_iter().collect()));
        self
    }

    /// Whether the submitter waits for the end. By default it does not.
    pub fn mode(self, mode: Mode) -> NewPlan {
        self.with("mode", mode.as_str())
    }

    /// Higher goes first; 0 is normal.
    pub fn priority(self, priority: i16) -> NewPlan {
        self.with("priority", priority)
    }

    /// What becomes of the other steps when one has failed. By default no further step starts.
    pub fn on_step_failure(self, on_step_failure: OnStepFailure) -> NewPlan {
        self.with("on_step_failure", on_step_failure.as_str())
    }

    /// The least approval that is asked for, 0 to 3; a policy may ask for more.
    pub fn approval_level(self, level: u8) -> NewPlan {
        self.with("approval_level", level)
    }

    /// The roles of its approvers.
    pub fn approval_roles(self, roles: impl IntoIterator<Item = impl Into<String>>) -> NewPlan {
        self.with("approval_roles", texts(roles))
    }

    /// Where it is written what to do when it goes wrong; required from level 2 on.
    pub fn runbook_ref(self, reference: impl Into<String>) -> NewPlan {
        self.with("runbook_ref", reference.into())
    }

    /// Together with everything that has the same correlation.
    pub fn correlation(self, correlation: impl Into<String>) -> NewPlan {
        self.with("correlation_id", correlation.into())
    }

    /// The program that wrote it.
    pub fn generator(self, generator: impl Into<String>) -> NewPlan {
        self.with("generator", generator.into())
    }

    /// How long its execution may take, in whole seconds, rounded up.
    pub fn timeout(self, timeout: Duration) -> NewPlan {
        self.with("timeout_seconds", seconds(timeout))
    }

    /// The plan, checked. A refusal names the place: `steps[3].needs[0]`.
    pub fn build(mut self) -> Result<Plan> {
        self.fields.insert("steps".to_owned(), self.steps.into());
        if !self.sections.is_empty() {
            self.fields.insert("sections".to_owned(), self.sections.into());
        }
        Ok(Plan::read(&Value::Object(self.fields).to_string())?)
    }

    fn with(mut self, field: &str, value: impl Into<Value>) -> NewPlan {
        self.fields.insert(field.to_owned(), value.into());
        self
    }
}

/// A step of a [`NewPlan`]. What is left out goes without saying: see [`plan`](tenure_core::plan).
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct NewStep {
    fields: Map<String, Value>,
}

impl NewStep {
    /// A step of this name, unique in its plan, that does this. It needs a [`target`](NewStep::target) too.
    pub fn new(id: impl Into<String>, action: impl Into<String>) -> NewStep {
        let step = NewStep { fields: Map::new() };
        step.with("id", id.into()).with("action", action.into())
    }

    /// What it is done to: a type such as `host`, and which one.
    pub fn target(self, target_type: impl Into<String>, target_ref: impl Into<String>) -> NewStep {
        self.with("target_type", target_type.into())
            .with("target_ref", target_ref.into())
    }

    /// How deep it reaches. By default what the action is registered as.
    pub fn class(self, class: ActionClass) -> NewStep {
        self.with("action_class", class.as_str())
    }

    /// The kind of its job. By default the action.
    pub fn kind(self, kind: impl Into<String>) -> NewStep {
        self.with("kind", kind.into())
    }

    /// The executor of its job. By default the one of the kind.
    pub fn executor(self, executor: impl Into<String>) -> NewStep {
        self.with("executor", executor.into())
    }

    /// Signals for its job: a JSON object.
    pub fn payload(self, payload: Value) -> NewStep {
        self.with("payload", payload)
    }

    /// Where a larger payload is.
    pub fn payload_ref(self, reference: impl Into<String>) -> NewStep {
        self.with("payload_ref", reference.into())
    }

    /// The steps that must have succeeded before.
    pub fn needs(self, steps: impl IntoIterator<Item = impl Into<String>>) -> NewStep {
        self.with("needs", texts(steps))
    }

    /// How long a run may take, in whole seconds, rounded up.
    pub fn timeout(self, timeout: Duration) -> NewStep {
        self.with("timeout_seconds", seconds(timeout))
    }

    /// What it means to run it twice. By default a read may be tried again, anything else may not.
    pub fn effects(self, effects: Effects) -> NewStep {
        self.with("effects", effects.as_str())
    }

    /// The number of attempts; only 1 for effects that come once.
    pub fn attempts_max(self, attempts: u16) -> NewStep {
        self.with("attempts_max", attempts)
    }

    /// What it has for itself while it runs. By default nothing for a read, else the target.
    pub fn lock_scope(self, scope: LockScope) -> NewStep {
        self.with("lock_scope", scope.as_str())
    }

    /// How it is undone, for people.
    pub fn compensation_note(self, note: impl Into<String>) -> NewStep {
        self.with("compensation_note", note.into())
    }

    fn with(mut self, field: &str, value: impl Into<Value>) -> NewStep {
        self.fields.insert(field.to_owned(), value.into());
        self
    }
}

fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Value {
    texts.into_iter().map(Into::into).collect::<Vec<String>>().into()
}

fn seconds(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_add(u64::from(duration.subsec_nanos() > 0))
}

#[cfg(test)]
mod tests {
    use tenure_core::plan::{PLAN_FIELDS, SECTION_FIELDS, STEP_FIELDS};

    use super::*;

    /// A plan that says everything a plan can say.
    fn everything() -> NewPlan {
        let restart = NewStep::new("restart", "service.restart")
            .target("service", "shop")
            .class(ActionClass::Modify)
            .kind("restart")
            .executor("DOT")
            .payload(serde_json::json!({"graceful": true}))
            .payload_ref("s3://more")
            .needs(["drain"])
            .timeout(Duration::from_millis(29_001))
            .effects(Effects::Idempotent)
            .attempts_max(3)
            .lock_scope(LockScope::Target)
            .compensation_note("Start it again.");
        let drain = NewStep::new("drain", "service.drain").target("service", "shop");
        NewPlan::new("restart the shop", SlaClass::Long)
            .step(drain)
            .step(restart)
            .section("shop", ["drain", "restart"])
            .mode(Mode::Immediate)
            .priority(-3)
            .on_step_failure(OnStepFailure::Continue)
            .approval_level(2)
            .approval_roles(["release manager"])
            .runbook_ref("https://example.invalid/runbook")
            .correlation("release-7")
            .generator("deploy 1.2")
            .timeout(Duration::from_secs(60))
    }

    /// A field that a plan gets needs a method here.
    #[test]
    fn every_field_of_a_plan_can_be_said() {
        let plan = everything();
        let names = |fields: &Map<String, Value>| {
            let mut names: Vec<String> = fields.keys().cloned().collect();
            names.sort();
            names
        };
        let sorted = |known: &[&str], left_out: &[&str]| {
            let mut known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            known.retain(|name| !left_out.contains(&name.as_str()));
            known.sort();
            known
        };
        assert_eq!(names(&plan.fields), sorted(PLAN_FIELDS, &["steps", "sections"]));
        let object = |value: &Value| names(value.as_object().expect("an object"));
        assert_eq!(object(&plan.steps[1]), sorted(STEP_FIELDS, &[]));
        assert_eq!(object(&plan.sections[0]), sorted(SECTION_FIELDS, &[]));
    }

    #[test]
    fn what_was_said_is_what_the_plan_holds() {
        let plan = everything().build().expect("a plan");
        assert_eq!((plan.priority(), plan.approval_level()), (-3, 2));
        assert_eq!((plan.mode(), plan.timeout_seconds()), (Mode::Immediate, Some(60)));
        let restart = &plan.steps()[1];
        assert_eq!((restart.timeout_seconds, restart.attempts_max), (Some(30), Some(3)));
        assert_eq!(
            (restart.needs.as_slice(), restart.kind.as_str()),
            ([0].as_slice(), "restart")
        );
        assert_eq!(plan.sections()[0].steps, [0, 1]);
    }

    #[test]
    fn a_refusal_names_the_place() {
        let homeless = NewPlan::new("p", SlaClass::Fast).step(NewStep::new("a", "look"));
        let refused = homeless.build().expect_err("no target");
        assert!(refused.refusal().what.contains("steps[0].target_type"), "{refused}");
    }
}
