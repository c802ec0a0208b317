//! Operations of executions that read a plan before the call, or give the answer of their function a name.

use tenure_api::Json;
use tenure_api::executions::{
    ExecutionPlan, ExecutionPreview, ExecutionShow, ExecutionSubmit, ExecutionSubmitted, FrozenPlan, PlanPreview,
};
use tenure_core::json;
use tenure_core::plan::Plan;
use tokio_postgres::GenericClient;

use super::{Perform, call};
use crate::error::Result;
use crate::store;

/// The plan as a field of an operation.
pub fn plan_document(plan: &Plan) -> Json {
    Json(json::parse(plan.canonical()).unwrap_or_default())
}

impl Perform for ExecutionPlan {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<FrozenPlan> {
        let canonical = store::executions::execution_plan(client, self.execution_id).await?;
        Ok(FrozenPlan { canonical })
    }
}

impl Perform for ExecutionPreview {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<PlanPreview> {
        Plan::read(&self.plan.0.to_string())?;
        call(client, self).await
    }
}

/// One look, whatever `wait_seconds` says: waiting takes more than a connection.
impl Perform for ExecutionShow {}

/// Submits without waiting, whatever `wait_seconds` says. The hash that this program computes goes along, so that the database refuses
/// a plan that it reads in another way.
impl Perform for ExecutionSubmit {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<ExecutionSubmitted> {
        let plan = Plan::read(&self.plan.0.to_string())?;
        let mut submission = self.clone();
        submission.plan_hash.get_or_insert_with(|| plan.hash());
        call(client, &submission).await
    }
}
