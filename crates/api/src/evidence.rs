//! The keys that sign evidence. The evidence of an execution is a file of lines, not an answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// Where the secret half of a key is.
    pub enum KeyPlace {
        /// In the database.
        Database = "database",
        /// Outside of the database: servers have it in a file or in their environment.
        Outside = "outside",
        /// It was removed; the key signs nothing any more.
        Removed = "removed",
    }
}

/// List the keys that sign evidence and those that did, newest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceKeyList {}

impl Operation for EvidenceKeyList {
    const NAME: &str = "evidence_key_list";
    const ROUTE: Route = Route::get("/v1/evidence-keys", "evidence");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<EvidenceKey>;
}

/// A key that signs evidence, or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceKey {
    /// Its id, which signatures name.
    pub key_id: String,
    /// The public half, in Base64.
    pub public_key: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// The principal or service that made it.
    pub created_by: String,
    /// Whether it is the newest, which signs unless a server has another of its own.
    pub signs: bool,
    /// Where its secret half is.
    pub kept: KeyPlace,
}
