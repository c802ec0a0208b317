//! Signed checkpoints over the chains of executions, and proofs by them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::anchor::{Checkpoint, Proof};
use uuid::Uuid;

use crate::{Effect, Operation, Page, Route, Shape};

/// List signed checkpoints, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnchorList {
    /// Only checkpoints after this number; all if left out.
    #[schemars(range(min = 0))]
    pub after: Option<i64>,
    /// With the chain heads of the tenant that each covers.
    #[serde(default)]
    pub heads: bool,
    /// The last ones instead of the first, in the same order. There is no next page then.
    #[serde(default)]
    pub newest: bool,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of checkpoints.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Default for AnchorList {
    fn default() -> AnchorList {
        AnchorList {
            after: None,
            heads: false,
            newest: false,
            cursor: None,
            limit: limit_default(),
        }
    }
}

impl Operation for AnchorList {
    const NAME: &str = "anchor_list";
    const ROUTE: Route = Route::get("/v1/anchors", "evidence");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Values;
    const CURSOR: &[(&str, &str)] = &[("after", "number")];
    type Answer = Page<Checkpoint>;
}

/// Show a checkpoint, with the chain heads of the tenant that it covers
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnchorShow {
    /// The number of the checkpoint, from 1 on.
    #[schemars(range(min = 1))]
    pub number: i64,
}

impl Operation for AnchorShow {
    const NAME: &str = "anchor_show";
    const ROUTE: Route = Route::get("/v1/anchors/{number}", "evidence");
    const EFFECT: Effect = Effect::Reads;
    type Answer = Checkpoint;
}

/// Get the proof that a checkpoint covers an execution
///
/// `tenure evidence verify --anchor CHECKPOINTS --proof FILE` checks it against checkpoints that are kept elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnchorProof {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// The number of the checkpoint; the newest that covers the execution if left out.
    #[schemars(range(min = 1))]
    pub number: Option<i64>,
}

impl Operation for AnchorProof {
    const NAME: &str = "anchor_proof";
    const ROUTE: Route = Route::get("/v1/executions/{execution_id}/proof", "evidence");
    const EFFECT: Effect = Effect::Reads;
    type Answer = Proof;
}
