//! Types of targets, and how their references are compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::governed::{GOVERNED_STATUSES, Governed, Removed};
use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// How references to targets of a type are compared.
    pub enum CaseRule {
        /// Upper and lower case name two targets.
        Exact = "exact",
        /// Upper and lower case (A to Z) name one target.
        Lower = "lower",
    }
}

/// List the registered types of targets, by name
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetTypeList {}

impl Operation for TargetTypeList {
    const NAME: &str = "target_type_list";
    const ROUTE: Route = Route::get("/v1/target-types", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<TargetType>;
}

/// A type of targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetType {
    /// The type, such as `host`.
    pub name: String,
    /// How its references are compared.
    pub case_rule: CaseRule,
    /// What it is for.
    pub note: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The principal that changed it.
    pub updated_by: String,
}

/// Register a type of targets, or change it
///
/// The case rule cannot change while unfinished steps or locks use it. Where the tenant requires it
/// (`governance.changes.need_approval`) the answer is 202, with a change that waits for a second admin.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetTypeSet {
    /// The type, such as `host`. It has no colon.
    pub name: String,
    /// How its references are compared.
    pub spec: TargetTypeSpec,
}

impl Operation for TargetTypeSet {
    const NAME: &str = "target_type_set";
    const ROUTE: Route = Route::put("/v1/target-types/{name}", "executions")
        .spec("spec")
        .answers(GOVERNED_STATUSES);
    // Each call may make a proposal of its own.
    const EFFECT: Effect = Effect::Changes;
    type Answer = Governed<TargetType>;

    fn status(answer: &Self::Answer) -> u16 {
        answer.status()
    }
}

/// How references to targets of a type are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetTypeSpec {
    /// `exact`: upper and lower case name two targets; `lower`: one.
    pub case_rule: CaseRule,
    /// What it is for, in at most 2000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub note: Option<String>,
}

/// Remove a type of targets
///
/// Its references are compared exactly from then on. Where the tenant requires it (`governance.changes.need_approval`) the answer
/// is 202, with a change that waits for a second admin.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetTypeDelete {
    /// The type.
    pub name: String,
}

impl Operation for TargetTypeDelete {
    const NAME: &str = "target_type_delete";
    const ROUTE: Route = Route::delete("/v1/target-types/{name}", "executions").answers(GOVERNED_STATUSES);
    const EFFECT: Effect = Effect::Destroys;
    type Answer = Governed<Removed>;

    fn status(answer: &Self::Answer) -> u16 {
        answer.status()
    }
}
