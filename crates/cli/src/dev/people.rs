//! Two people for `tenure dev`: one who asks and one who allows, so that a single person can try a plan with four eyes kept.

use tenure::operations::Perform;
use tenure_api::principals::{PrincipalChanges, PrincipalCreate, PrincipalKind, PrincipalList, PrincipalSet};

use crate::connect::{ROWS_MAX, Scope, Session};
use crate::errors::Outcome;

/// Who submits plans.
pub(super) const REQUESTER: &str = "ann";
/// Who approves them.
pub(super) const APPROVER: &str = "bob";
/// Up to which level: the highest there is.
const APPROVER_LEVEL: i32 = 3;

/// Registers those that are not there yet; one that was changed stays as it is.
pub(super) async fn register(session: &mut Session) -> Outcome {
    let list = PrincipalList {
        cursor: None,
        limit: ROWS_MAX,
    };
    let known = session.all_in(Scope::Session, list).await?;
    let is_known = |name: &str| known.iter().any(|principal| principal.name == name);
    let human = |name: &str| PrincipalCreate {
        name: name.to_owned(),
        kind: PrincipalKind::Human,
        email: None,
    };
    let work = session.transaction(async |tx| {
        if !is_known(REQUESTER) {
            human(REQUESTER).perform(tx).await?;
        }
        if !is_known(APPROVER) {
            human(APPROVER).perform(tx).await?;
            let approver = PrincipalSet {
                name: APPROVER.to_owned(),
                spec: PrincipalChanges {
                    approver_level: Some(Some(APPROVER_LEVEL)),
                    ..PrincipalChanges::default()
                },
            };
            approver.perform(tx).await?;
        }
        Ok(())
    });
    work.await
}
