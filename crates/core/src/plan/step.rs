//! One step of a plan.

use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::{Field, Fields};
use super::node::Node;
use super::path::{Path, quoted};
use super::refusals::{invalid, wrong_type};
use super::words::{ActionClass, Effects, LockScope};
use crate::codes;
use crate::limits::{
    ATTEMPTS_MAX, COMPENSATION_NOTE_CHARS_MAX, LOCK_TARGET_CHARS_MAX, NAME_CHARS_MAX, NEEDS_MAX, PAYLOAD_BYTES_MAX,
    REF_CHARS_MAX, STEP_TIMEOUT_SECONDS_MAX,
};
use crate::payload::text_bytes;
use crate::refusal::Refusal;

/// What a step may say.
pub const STEP_FIELDS: &[&str] = &[
    "id",
    "action",
    "action_class",
    "target_type",
    "target_ref",
    "executor",
    "kind",
    "payload",
    "payload_ref",
    "needs",
    "timeout_seconds",
    "attempts_max",
    "effects",
    "lock_scope",
    "compensation_note",
];

/// What joins the parts of a lock's key.
const SEPARATOR: char = ':';

/// One thing to do, to one target, by one job; with what goes without saying filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Its name within the plan.
    pub id: String,
    /// What is done, such as `service.restart`.
    pub action: String,
    /// How deep that reaches; none leaves it to the registered action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_class: Option<ActionClass>,
    /// What kind of thing it is done to, such as `host`.
    pub target_type: String,
    /// Which one.
    pub target_ref: String,
    /// Who runs the job; none leaves it to the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The kind of the job. The action, unless the plan says otherwise.
    pub kind: String,
    /// Signals for the job; none, unless the plan says otherwise.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub payload: Map<String, Value>,
    /// The address of what the job needs besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_ref: Option<String>,
    /// The steps that must have succeeded before, as positions in the plan.
    #[serde(skip)]
    pub needs: Vec<usize>,
    /// How long a run may take; none leaves it to the timeout policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i64>,
    /// How often it is tried. Once for `once`; none leaves it to the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<i64>,
    /// Whether it may be tried again. A `read` may, anything else may not, unless the plan says otherwise; without a class
    /// the registered action decides, and this is the safe choice.
    pub effects: Effects,
    /// What it has for itself meanwhile. For a `read` nothing, else the target, unless the plan says otherwise; in a
    /// section the target. The registered action may demand more.
    pub lock_scope: LockScope,
    /// How it is undone, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compensation_note: Option<String>,
}

impl Step {
    /// Reads a step, and beside it the ids of those it needs: where these stand only the whole plan knows.
    pub(super) fn read(node: &Node, path: &Path<'_>) -> Result<(Step, Vec<String>), Refusal> {
        let fields = Fields::read(node, path, STEP_FIELDS)?;
        let named = |name| {
            fields
                .optional(name)
                .map(|field| field.name(NAME_CHARS_MAX))
                .transpose()
        };
        let referred = |name| fields.optional(name).map(|field| field.name(REF_CHARS_MAX)).transpose();

        let id = fields.required("id")?.name(NAME_CHARS_MAX)?;
        let action = part_of_key(&fields.required("action")?)?;
        let action_class = fields.optional("action_class").map(|field| field.word()).transpose()?;
        let effects = match fields.optional("effects") {
            Some(field) => field.word()?,
            None if action_class == Some(ActionClass::Read) => Effects::Idempotent,
            None => Effects::Once,
        };
        let lock_scope = match fields.optional("lock_scope") {
            Some(field) => field.word()?,
            None if action_class == Some(ActionClass::Read) => LockScope::None,
            None => LockScope::Target,
        };
        let timeout_seconds = match fields.optional("timeout_seconds") {
            Some(field) => Some(field.integer(1, STEP_TIMEOUT_SECONDS_MAX)?),
            None => None,
        };
        let needs = match fields.optional("needs") {
            Some(field) => needs(&field)?,
            None => Vec::new(),
        };
        let note = fields.optional("compensation_note");
        let step = Step {
            id,
            kind: named("kind")?.unwrap_or_else(|| action.clone()),
            action,
            action_class,
            target_type: part_of_key(&fields.required("target_type")?)?,
            target_ref: without_edges(&fields.required("target_ref")?, REF_CHARS_MAX)?,
            executor: named("executor")?,
            payload: payload(fields.optional("payload"))?,
            payload_ref: referred("payload_ref")?,
            needs: Vec::new(),
            timeout_seconds,
            attempts_max: attempts_max(fields.optional("attempts_max"), effects)?,
            effects,
            lock_scope,
            compensation_note: note.map(|note| note.lines(COMPENSATION_NOTE_CHARS_MAX)).transpose()?,
        };
        match step.lock_target() {
            Some(key) if key.chars().count() > LOCK_TARGET_CHARS_MAX => Err(Refusal::new(
                codes::NAME_INVALID,
                format!("{} makes the key of a lock too long.", path.field("target_ref")),
                format!(
                    "Type, reference and action have {} characters in it; at most {LOCK_TARGET_CHARS_MAX} are allowed.",
                    key.chars().count()
                ),
                "Shorten the reference, or lock nothing with \"lock_scope\": \"none\".",
            )),
            _ => Ok((step, needs)),
        }
    }

    /// What the step holds while it runs, the same for steps that exclude each other: `type:reference`, or with the action
    /// `type:reference:action`. Within the reference `%` is written `%25` and `:` is written `%3A`, so that no two targets
    /// share a key. The key of the lock is this behind `lock:v1:` and the tenant. None if it locks nothing.
    ///
    /// ```
    /// use tenure_core::plan::Plan;
    ///
    /// let plan = Plan::read(
    ///     r#"{"purpose": "restart", "sla_class": "fast", "steps": [{"id": "a", "action": "restart",
    ///         "action_class": "modify", "target_type": "service", "target_ref": "web:80"}]}"#,
    /// );
    /// assert_eq!(plan.unwrap().steps()[0].lock_target().unwrap(), "service:web%3A80");
    /// ```
    pub fn lock_target(&self) -> Option<String> {
        match self.lock_scope {
            LockScope::Target => Some(self.target()),
            LockScope::TargetAndAction => Some(format!("{}:{}", self.target(), self.action)),
            LockScope::None => None,
        }
    }

    /// Its target as the key of a lock writes it.
    pub(super) fn target(&self) -> String {
        let reference = self.target_ref.replace('%', "%25").replace(SEPARATOR, "%3A");
        format!("{}:{reference}", self.target_type)
    }
}

/// A word that becomes part of a lock's key.
fn part_of_key(field: &Field<'_>) -> Result<String, Refusal> {
    let name = without_edges(field, NAME_CHARS_MAX)?;
    match name.contains(SEPARATOR) {
        false => Ok(name),
        true => Err(Refusal::new(
            codes::NAME_INVALID,
            format!("{} holds the separator {SEPARATOR:?}.", field.path),
            "It becomes part of the key of a lock, whose parts are joined by it.",
            "Use a dot or a dash.",
        )),
    }
}

/// A name that neither begins nor ends with white space: with some it would look like another one.
fn without_edges(field: &Field<'_>, chars_max: usize) -> Result<String, Refusal> {
    let name = field.name(chars_max)?;
    match name.trim() == name {
        true => Ok(name),
        false => Err(Refusal::new(
            codes::NAME_INVALID,
            format!("{} is {}.", field.path, quoted(&name)),
            "White space at its beginning or end makes a name that looks like another one.",
            "Remove it.",
        )),
    }
}

fn needs(field: &Field<'_>) -> Result<Vec<String>, Refusal> {
    let items = field.items(NEEDS_MAX, "needs")?;
    items.map(|item| item.text().map(str::to_owned)).collect()
}

fn payload(field: Option<Field<'_>>) -> Result<Map<String, Value>, Refusal> {
    let Some(field) = field else {
        return Ok(Map::new());
    };
    let value = Value::from(field.node);
    let bytes = text_bytes(&value);
    match value {
        Value::Object(_) if bytes > PAYLOAD_BYTES_MAX => Err(Refusal::new(
            codes::PAYLOAD_TOO_LARGE,
            format!("{} has {bytes} bytes.", field.path),
            format!("At most {PAYLOAD_BYTES_MAX} bytes are allowed: a job carries signals, not data."),
            "Store the data elsewhere and pass its address as payload_ref.",
        )),
        Value::Object(entries) => Ok(entries),
        _ => Err(wrong_type(&field.path, field.node.kind(), "an object")),
    }
}

fn attempts_max(field: Option<Field<'_>>, effects: Effects) -> Result<Option<i64>, Refusal> {
    let said = field
        .as_ref()
        .map(|field| field.integer(1, ATTEMPTS_MAX.into()))
        .transpose()?;
    match (field, said, effects) {
        (Some(field), Some(2..), Effects::Once) => Err(invalid(
            format!("{} asks to try a step again whose effects come once.", field.path),
            "A second try could do it a second time. Without \"effects\", a step that is no read counts as \"once\".",
            "Take attempts_max out, or say \"effects\": \"idempotent\" if running it twice is like running it once.",
        )),
        (_, _, Effects::Once) => Ok(Some(1)),
        (_, said, Effects::Idempotent) => Ok(said),
    }
}
