//! The body of a refusal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of a refusal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Where the code is explained.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the code means, in one line.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// The stable name of what went wrong. Match on it, never on the texts.
    pub code: String,
    /// What happened.
    pub what: String,
    /// Why it happened.
    pub why: String,
    /// What to do now.
    pub next: String,
}
