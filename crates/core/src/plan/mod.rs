//! A plan: steps with targets, needs and limits, written down before anything happens, so that people approve exactly that.
//!
//! [`Plan::read`] takes the JSON text of a plan or refuses it, and names the place: `steps[3].needs[0]`. What is kept is its
//! canonical text (RFC 8785): order of fields, white space, escapes and spellings of numbers make no difference, everything else
//! does. [`Plan::hash`] is the SHA-256 of that text; who approves a plan names it.
//!
//! # What a plan says
//!
//! `docs/plan.schema.json` describes it for programs. Fields marked `*` are required; what goes without saying is filled in when a
//! plan is read, and never written into its text: what is hashed is what the submitter said. Null is refused, since
//! leaving a field out says the same and would have another hash.
//!
//! | field | is | without it |
//! |---|---|---|
//! | `purpose`* | what it is for, one line only when its submitter says which execution it supersedes | |
//! | `steps`* | 1 to 1000 steps | |
//! | `sla_class`* | `fast`, `medium`, `long`: how long it may take | |
//! | `mode` | `immediate`, `background` | `background` |
//! | `priority` | `urgent`, `normal`, `bulk`, or a number from -32768 to 32767 | `normal` |
//! | `on_step_failure` | `stop`, `continue` | `stop` |
//! | `approval_level` | 0 to 3, the least that the submitter asks for; a policy may ask for more | 0 |
//! | `approval_roles` | up to 10 roles of approvers, none twice | what the policy asks for |
//! | `runbook_ref` | where it is written what to do when it goes wrong; required from level 2 on | |
//! | `correlation_id` | what it belongs to | |
//! | `generator` | which program wrote it | |
//! | `timeout_seconds` | 1 to 604800, how long its execution may take; the tenant may allow less | by `sla_class` and `action_class` |
//! | `sections` | up to 100 sections: steps that hold the lock of their target together | none |
//!
//! | field of a step | is | without it |
//! |---|---|---|
//! | `id`* | its name, unique in the plan | |
//! | `action`* | what is done, a word without `:` | |
//! | `action_class` | `read`, `modify`, `deploy`; less than the action is registered as is refused | what the action is registered as |
//! | `target_type`* | what it is done to, a word without `:` | |
//! | `target_ref`* | which one | |
//! | `kind` | the kind of its job | the action |
//! | `executor` | who runs the job | the kind's |
//! | `payload` | signals for the job, an object of at most 8192 bytes without a member `step`: there the job finds which step it runs for | `{}` |
//! | `payload_ref` | the address of what the job needs besides | |
//! | `needs` | up to 100 ids of steps that must have succeeded before, none twice | none |
//! | `timeout_seconds` | 1 to 86400 | by `sla_class` and `action_class` |
//! | `effects` | `idempotent`, `once` | `idempotent` for a `read`, else `once` |
//! | `attempts_max` | 1 to 1000; only 1 for effects that come once | 1 for `once`, else the kind's |
//! | `lock_scope` | `target`, `target_and_action`, `none` | `none` for a `read`, else `target` |
//! | `compensation_note` | how it is undone, for people, in up to 2000 characters | |
//!
//! A section is `{"id": "host-work", "steps": ["drain", "restart", "check"]}`: 2 to 100 steps at one target, each of which needs
//! the one before it. It holds the lock of the whole target from the start of the first to the end of the last. A step belongs
//! to one section at most. What a section has to wait for is needed by its first step: a later one needs only steps of the
//! section, so nothing that holds a lock waits for another, and no two sections can wait for each other.
//!
//! # Names
//!
//! A step becomes a job, so what both have goes by the job's name: `kind`, `executor`, `payload`, `payload_ref`, `correlation_id`, and
//! `attempts_max`, which counts the first try too ("retries" would be one less). An address of something kept elsewhere is a
//! `_ref`, hence `target_ref` and `runbook_ref`: a runbook may lie in a repository as well as under a URL. Parameters go by
//! `payload_ref`; the `payload` has room for signals only and obeys the rules of any payload. What the safe
//! choice is depends on the class: what changes something counts as not repeatable and locks its target unless its author says
//! otherwise.

mod fields;
mod graph;
mod node;
mod path;
mod read;
mod refusals;
mod sections;
mod step;
mod words;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

pub use read::PLAN_FIELDS;
pub use sections::{SECTION_FIELDS, Section};
pub use step::{STEP_FIELDS, Step};
pub use words::{ActionClass, Effects, LockScope, Mode, OnStepFailure, SlaClass};

use read::Head;

use crate::refusal::Refusal;

/// A plan that was read and found in order. It cannot be changed: its text is what counts.
///
/// ```
/// use tenure_core::plan::Plan;
///
/// let plan = Plan::read(
///     r#"{
///         "purpose": "restart the shop",
///         "sla_class": "medium",
///         "steps": [
///             {"id": "restart", "action": "service.restart", "action_class": "modify",
///              "target_type": "service", "target_ref": "shop", "timeout_seconds": 3e1},
///             {"id": "check", "action": "service.check", "action_class": "read",
///              "target_type": "service", "target_ref": "shop", "needs": ["restart"]}
///         ]
///     }"#,
/// )
/// .unwrap();
/// assert!(plan.canonical().starts_with(r#"{"purpose":"restart the shop","sla_class":"medium","steps":[{"action":"#));
/// assert_eq!(plan.hash().len(), 64);
/// assert_eq!(plan.level(1), 1);
/// assert_eq!(Plan::read(plan.canonical()).unwrap().hash(), plan.hash());
///
/// let refusal = Plan::read(r#"{"purpose": "nothing", "sla_class": "fast", "steps": []}"#).unwrap_err();
/// assert_eq!(refusal.what, "steps has no step.");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    head: Head,
    steps: Vec<Step>,
    sections: Vec<Section>,
    levels: Vec<usize>,
    canonical: String,
}

/// Steps of a path that a warning names; of a longer one the middle is left out.
const WARNING_STEPS_SHOWN: usize = 5;

/// The chain of needs that holds a plan up longest, if every step takes all its time, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    /// Its steps, as positions in the plan, the first first.
    pub steps: Vec<usize>,
    /// The timeouts of those that name one, together.
    pub timeout_seconds: i64,
    /// How many of them leave theirs to the policy.
    pub policy_steps: usize,
}

impl Plan {
    /// Reads a plan.
    ///
    /// Refuses, in this order, a text that is too long (`plan_too_large`), is no JSON, or says a name twice
    /// (`plan_invalid`); keys that say secrets, at any depth (`payload_forbidden_key`); numbers that a double would round
    /// (`number_out_of_range`); what is not a plan by form or by values, by the codes of what is wrong; needs that name no step
    /// (`plan_invalid`); and cycles of needs (`plan_cycle`).
    pub fn read(text: &str) -> Result<Plan, Refusal> {
        read::plan(text)
    }

    /// The canonical text, which is what is stored.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// SHA-256 of the canonical text, in 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        let digest = Sha256::digest(self.canonical.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What it is for.
    pub fn purpose(&self) -> &str {
        &self.head.purpose
    }

    /// How long it may take.
    pub fn sla_class(&self) -> SlaClass {
        self.head.sla_class
    }

    /// Whether the submitter waits.
    pub fn mode(&self) -> Mode {
        self.head.mode
    }

    /// Which work is sooner; higher is.
    pub fn priority(&self) -> i16 {
        self.head.priority
    }

    /// What becomes of the others when a step fails.
    pub fn on_step_failure(&self) -> OnStepFailure {
        self.head.on_step_failure
    }

    /// The least approval that the submitter asks for, 0 to 3.
    pub fn approval_level(&self) -> u8 {
        self.head.approval_level
    }

    /// The roles of approvers that the submitter asks for.
    pub fn approval_roles(&self) -> &[String] {
        &self.head.approval_roles
    }

    /// What to do when it goes wrong; from level 2 on it is there.
    pub fn runbook_ref(&self) -> Option<&str> {
        self.head.runbook_ref.as_deref()
    }

    /// What it belongs to.
    pub fn correlation_id(&self) -> Option<&str> {
        self.head.correlation_id.as_deref()
    }

    /// Which program wrote it.
    pub fn generator(&self) -> Option<&str> {
        self.head.generator.as_deref()
    }

    /// How long its execution may take; none leaves it to the timeout policy.
    pub fn timeout_seconds(&self) -> Option<i64> {
        self.head.timeout_seconds
    }

    /// Why its steps cannot all take their time, if the plan names enough to know that: the steps of the critical path that
    /// name a timeout may together take longer than the execution. What the policy says is known only to a database.
    ///
    /// ```
    /// use tenure_core::plan::Plan;
    ///
    /// let plan = Plan::read(
    ///     r#"{"purpose": "restart", "sla_class": "long", "timeout_seconds": 60, "steps": [
    ///         {"id": "a", "action": "restart", "action_class": "modify", "target_type": "host", "target_ref": "web-1",
    ///          "timeout_seconds": 90}]}"#,
    /// );
    /// let warning = plan.unwrap().time_warning().unwrap();
    /// assert_eq!(warning, "Its steps do not fit: a may take 90 seconds, the execution 60.");
    /// ```
    pub fn time_warning(&self) -> Option<String> {
        let path = self.critical_path();
        let allowed = self
            .timeout_seconds()
            .filter(|allowed| *allowed < path.timeout_seconds)?;
        let mut ids: Vec<&str> = path.steps.iter().map(|at| self.steps[*at].id.as_str()).collect();
        if ids.len() > WARNING_STEPS_SHOWN {
            ids.splice(2..ids.len() - 2, ["…"]);
        }
        Some(format!(
            "Its steps do not fit: {} may take {} seconds, the execution {allowed}.",
            ids.join(" → "),
            path.timeout_seconds
        ))
    }

    /// The steps, as the plan has them.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The sections, as the plan has them.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section of a step.
    pub fn section_of(&self, step: usize) -> Option<&Section> {
        self.sections.iter().find(|section| section.steps.contains(&step))
    }

    /// How deep a step lies: 0 needs nothing, any other lies one deeper than the deepest that it needs.
    pub fn level(&self, step: usize) -> usize {
        self.levels[step]
    }

    /// The positions of all steps, by level and within it as the plan has them: needs come first.
    pub fn order(&self) -> Vec<usize> {
        graph::order(&self.levels)
    }

    /// The deepest reaching class of its steps; one that leaves its class to the registered action may be a deploy.
    pub fn action_class(&self) -> ActionClass {
        let classes = self
            .steps
            .iter()
            .map(|step| step.action_class.unwrap_or(ActionClass::Deploy));
        classes.max().unwrap_or(ActionClass::Read)
    }

    /// How many steps say that they have this class.
    pub fn class_count(&self, class: ActionClass) -> usize {
        self.steps
            .iter()
            .filter(|step| step.action_class == Some(class))
            .count()
    }

    /// Every target, by type and reference, with the positions of the steps that are about it.
    pub fn targets(&self) -> BTreeMap<(&str, &str), Vec<usize>> {
        let mut targets = BTreeMap::<_, Vec<usize>>::new();
        for (at, step) in self.steps.iter().enumerate() {
            let target = (step.target_type.as_str(), step.target_ref.as_str());
            targets.entry(target).or_default().push(at);
        }
        targets
    }

    /// What holds the plan up longest, by the timeouts it names.
    pub fn critical_path(&self) -> CriticalPath {
        let needs: Vec<_> = self.steps.iter().map(|step| step.needs.clone()).collect();
        let timeout = |at: usize| self.steps[at].timeout_seconds;
        let steps = graph::longest(&needs, &self.order(), |at| timeout(at).unwrap_or_default());
        CriticalPath {
            timeout_seconds: steps.iter().filter_map(|at| timeout(*at)).sum(),
            policy_steps: steps.iter().filter(|at| timeout(**at).is_none()).count(),
            steps,
        }
    }
}
