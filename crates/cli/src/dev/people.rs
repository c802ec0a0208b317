//! Two people for `tenure dev`: one who asks and one who allows, so that a single person can try a plan with four eyes kept.

use serde_json::json;
use tenure::store::principals::{principal_create, principal_list, principal_set};

use crate::connect::Session;
use crate::errors::Outcome;

/// Who submits plans.
pub(super) const REQUESTER: &str = "ann";
/// Who approves them.
pub(super) const APPROVER: &str = "bob";
/// Up to which level: the highest there is.
const APPROVER_LEVEL: i32 = 3;

/// Registers those who are not there yet; whoever has changed them meant it.
pub(super) async fn register(session: &mut Session) -> Outcome {
    let work = session.transaction(async |tx| {
        let known = principal_list(tx).await?;
        let is_known = |name: &str| known.iter().any(|principal| principal.name == name);
        if !is_known(REQUESTER) {
            principal_create(tx, REQUESTER, "human", None).await?;
        }
        if !is_known(APPROVER) {
            principal_create(tx, APPROVER, "human", None).await?;
            principal_set(tx, APPROVER, &json!({"approver_level": APPROVER_LEVEL})).await?;
        }
        Ok(())
    });
    work.await
}
