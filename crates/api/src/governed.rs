//! Changes of what governs plans: in force at once, or waiting for a second admin.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{Json, Timestamp, words};

words! {
    /// What a governance change is about.
    pub enum ChangeSubject {
        /// A registered action.
        Action = "action",
        /// An approval rule.
        ApprovalRule = "approval_rule",
        /// A type of targets.
        TargetType = "target_type",
        /// The policy of a kind.
        Kind = "kind",
        /// A setting.
        Config = "config",
    }
}

words! {
    /// What a governance change does to its subject.
    pub enum ChangeOperation {
        /// It is made or replaced.
        Set = "set",
        /// It is removed.
        Delete = "delete",
    }
}

words! {
    /// The state of a governance change.
    pub enum ChangeState {
        /// It waits for a second admin.
        Pending = "pending",
        /// It is in force.
        Approved = "approved",
        /// It was refused.
        Rejected = "rejected",
    }
}

/// The HTTP statuses of a governed change.
pub const GOVERNED_STATUSES: &[(u16, &str)] = &[
    (200, "Done"),
    (202, "Proposed: it takes effect when a second admin approves it"),
];

/// The result of a change, or the change that waits for a second admin.
///
/// It is read by its member `pending`, not by trial of each variant: serde would buffer the numbers for that, and lose their digits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Governed{T}")]
pub enum Governed<T> {
    /// It waits for a second admin.
    Pending(Box<PendingChange>),
    /// It is in force.
    Done(T),
}

impl<T> Governed<T> {
    /// The HTTP status: 200 if the change is in force, 202 if it waits.
    pub fn status(&self) -> u16 {
        match self {
            Governed::Done(_) => 200,
            Governed::Pending(_) => 202,
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Governed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Governed<T>, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value["pending"] == true {
            true => PendingChange::deserialize(value).map(|change| Governed::Pending(Box::new(change))),
            false => T::deserialize(value).map(Governed::Done),
        }
        .map_err(D::Error::custom)
    }
}

/// A change that waits for a second admin. Nothing of it is in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingChange {
    /// True.
    pub pending: bool,
    /// Its id, by which a second admin approves or rejects it.
    pub change_id: Uuid,
    /// What it is about.
    pub subject: ChangeSubject,
    /// The name of what it is about.
    pub name: String,
    /// What it does.
    pub operation: ChangeOperation,
    /// What is in force; null if there is nothing.
    pub old: Option<Json>,
    /// What is to be in force; null if it is to be removed.
    pub new: Option<Json>,
    /// Its state: `pending`.
    pub state: ChangeState,
    /// When it was proposed.
    pub proposed_at: Timestamp,
    /// The principal that proposed it.
    pub proposed_by: String,
    /// The principal for whom it was proposed, which cannot approve it either; null if there is none.
    pub on_behalf_of: Option<String>,
}

/// An action, a rule or a type that was removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// The name it had.
    pub name: String,
    /// Always true.
    pub deleted: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Size {
        bytes: i64,
    }

    #[test]
    fn a_governed_change_is_done_or_pending() {
        let done: Governed<Size> = serde_json::from_value(json!({"bytes": 7})).expect("done");
        assert_eq!((done.status(), done), (200, Governed::Done(Size { bytes: 7 })));
        let pending = json!({
            "pending": true, "change_id": "01990000-0000-7000-8000-000000000001", "subject": "kind", "name": "deploy",
            "operation": "set", "old": null, "new": {"only_by_plan": true}, "state": "pending",
            "proposed_at": "2026-01-02T03:04:05Z", "proposed_by": "anna",
        });
        let pending: Governed<Size> = serde_json::from_value(pending).expect("pending");
        assert_eq!(pending.status(), 202);
    }
}
