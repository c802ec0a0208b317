//! The operations of governance, locks and checkpoints, carried out: a debug build refuses an answer whose type lacks a field.

use serde_json::{Value, json};
use tenure::operations::Perform;
use tenure_api::actions::{ActionDelete, ActionList, ActionSet, ActionShow};
use tenure_api::anchors::{AnchorList, AnchorProof, AnchorShow};
use tenure_api::approval_rules::{ApprovalRuleDelete, ApprovalRuleList, ApprovalRuleSet};
use tenure_api::evidence::{EvidenceKeyList, KeyPlace};
use tenure_api::governance_changes::{GovernanceChangeDecide, GovernanceChangeList};
use tenure_api::governed::{ChangeState, Governed};
use tenure_api::locks::{HeldLock, LockAcquire, LockBreak, LockList, LockRelease, LockRenew, LockWaiters};
use tenure_api::target_types::{TargetTypeDelete, TargetTypeList, TargetTypeSet};
use tenure_api::timeout_policies::{PolicyOrigin, TimeoutPolicyList, TimeoutPolicySet};
use tokio_postgres::Client;

use crate::anchors_scene;
use crate::approvals_scene::{act, people};
use crate::fixture::one;
use crate::locks::start;

/// Carries out the operation with these fields.
async fn done<O: Perform>(c: &Client, fields: Value) -> O::Answer {
    let operation: O = serde_json::from_value(fields).expect("the fields of an operation");
    operation
        .perform(c)
        .await
        .unwrap_or_else(|error| panic!("{}: {error:?}", O::NAME))
}

#[track_caller]
fn in_force<T>(answer: Governed<T>) -> T {
    match answer {
        Governed::Done(answer) => answer,
        Governed::Pending(change) => panic!("proposed: {change:?}"),
    }
}

#[track_caller]
fn proposed<T>(answer: Governed<T>) -> uuid::Uuid {
    assert_eq!(answer.status(), 202);
    match answer {
        Governed::Pending(change) => change.change_id,
        Governed::Done(_) => panic!("in force at once"),
    }
}

#[tokio::test]
async fn actions_rules_and_target_types_are_set_read_and_removed() {
    let (_db, c) = people().await;
    act(&c, "eve").await;
    let open = done::<ActionShow>(&c, json!({"name": "host.restart"})).await;
    assert!(!open.registered);
    let spec = json!({"action_class": "modify", "kinds": ["ssh.*"], "note": "of hosts"});
    let set = in_force(done::<ActionSet>(&c, json!({"name": "host.*", "spec": spec})).await);
    assert_eq!(done::<ActionList>(&c, json!({})).await.items, [set]);
    let shown = done::<ActionShow>(&c, json!({"name": "host.restart", "kind": "ssh.run"})).await;
    assert_eq!(
        (shown.registration.as_deref(), shown.kind_allowed),
        (Some("host.*"), true)
    );
    assert!(in_force(done::<ActionDelete>(&c, json!({"name": "host.*"})).await).deleted);

    let window = json!({"days": [6, 7], "from": "22:00", "to": "04:00", "zone": "Europe/Berlin"});
    let spec = json!({"level": 2, "action_classes": ["deploy"], "requester_kinds": ["agent"], "window": window});
    let first = in_force(done::<ApprovalRuleSet>(&c, json!({"name": "first", "spec": spec})).await);
    assert_eq!(json!(first.start_window), window);
    let second = in_force(done::<ApprovalRuleSet>(&c, json!({"name": "second", "spec": {"level": 1}})).await);
    assert_eq!(done::<ApprovalRuleList>(&c, json!({})).await.items, [first, second]);
    assert!(in_force(done::<ApprovalRuleDelete>(&c, json!({"name": "first"})).await).deleted);

    let set = in_force(done::<TargetTypeSet>(&c, json!({"name": "host", "spec": {"case_rule": "lower"}})).await);
    assert_eq!(done::<TargetTypeList>(&c, json!({})).await.items, [set]);
    assert!(in_force(done::<TargetTypeDelete>(&c, json!({"name": "host"})).await).deleted);

    let fields = json!({"sla_class": "long", "action_class": "read", "spec": {"renewals_max": 7}});
    assert_eq!(done::<TimeoutPolicySet>(&c, fields).await.renewals_max, 7);
    let policies = done::<TimeoutPolicyList>(&c, json!({})).await.items;
    let own = policies.iter().filter(|policy| policy.origin == PolicyOrigin::Tenant);
    assert_eq!((policies.len(), own.count()), (9, 1));
}

#[tokio::test]
async fn proposed_changes_are_listed_page_by_page_and_by_several_states() {
    let (_db, c) = people().await;
    act(&c, "eve").await;
    let need = "select tenure.config_set('governance.changes.need_approval', 'true')";
    one(&c, need, &[]).await;
    let spec = json!({"action_class": "read"});
    let mut changes = Vec::new();
    for name in ["a", "b", "c"] {
        changes.push(proposed(
            done::<ActionSet>(&c, json!({"name": name, "spec": spec})).await,
        ));
    }
    changes.push(proposed(
        done::<ApprovalRuleSet>(&c, json!({"name": "d", "spec": {"level": 1}})).await,
    ));
    let spec = json!({"case_rule": "lower"});
    changes.push(proposed(
        done::<TargetTypeSet>(&c, json!({"name": "e", "spec": spec})).await,
    ));
    act(&c, "pam").await;
    let fields = json!({"change_id": changes[0], "decision": "approve"});
    assert_eq!(
        done::<GovernanceChangeDecide>(&c, fields).await.state,
        ChangeState::Approved
    );
    let fields = json!({"change_id": changes[1], "decision": "reject", "comment": "no"});
    assert_eq!(
        done::<GovernanceChangeDecide>(&c, fields).await.comment.as_deref(),
        Some("no")
    );
    let pending = done::<GovernanceChangeList>(&c, json!({})).await;
    assert_eq!((pending.items.len(), pending.next), (3, None));
    let decided = done::<GovernanceChangeList>(&c, json!({"state": ["approved", "rejected"]})).await;
    let decided: Vec<_> = decided.items.iter().map(|change| change.change_id).collect();
    assert_eq!(decided, [changes[1], changes[0]], "newest first");
    proposed(done::<ActionDelete>(&c, json!({"name": "a"})).await);

    let mut found = Vec::new();
    let mut cursor = None;
    for _ in 0..4 {
        let state = json!(["pending", "approved", "rejected"]);
        let page = done::<GovernanceChangeList>(&c, json!({"state": state, "limit": 2, "cursor": cursor})).await;
        found.extend(page.items.into_iter().map(|change| change.change_id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    found.reverse();
    assert_eq!((found.len(), &found[..5]), (6, &changes[..]));
}

#[tokio::test]
async fn locks_and_those_who_wait_are_listed_page_by_page() {
    let (_db, c) = people().await;
    act(&c, "ada").await;
    let fields = json!({"parts": ["host:b", "host:a:restart", "host:c"], "seconds": 60, "reason": "by hand"});
    let taken = done::<LockAcquire>(&c, fields).await.locks;
    let held = |place: usize| HeldLock {
        part: taken[place].part.clone(),
        fence: taken[place].fence,
    };
    let fields = json!({"locks": [held(0), held(1)], "seconds": 120});
    assert_eq!(done::<LockRenew>(&c, fields).await.renewed, 2);
    assert_eq!(done::<LockRelease>(&c, json!({"locks": [held(0)]})).await.released, 1);
    for (purpose, target) in [("1", "d"), ("2", "d"), ("3", "d"), ("4", "d")] {
        start(&c, target, purpose, json!({})).await;
    }

    let first = done::<LockList>(&c, json!({"limit": 2})).await;
    let rest = done::<LockList>(&c, json!({"limit": 2, "cursor": first.next})).await;
    let parts: Vec<&str> = first
        .items
        .iter()
        .chain(&rest.items)
        .map(|lock| lock.part.as_str())
        .collect();
    assert_eq!(
        (parts.as_slice(), rest.next),
        (&["host:b", "host:c", "host:d"][..], None)
    );
    assert_eq!(rest.items[0].waiters, 3);

    let first = done::<LockWaiters>(&c, json!({"part": "host:d", "limit": 2})).await;
    let rest = done::<LockWaiters>(&c, json!({"part": "host:d", "limit": 2, "cursor": first.next})).await;
    let waiters = first.items.iter().chain(&rest.items);
    let waiters: Vec<(i64, &str)> = waiters.map(|one| (one.place, one.purpose.as_str())).collect();
    assert_eq!(
        (waiters.as_slice(), rest.next),
        (&[(1, "2"), (2, "3"), (3, "4")][..], None)
    );
    assert!(
        done::<LockBreak>(&c, json!({"part": "host:b", "reason": "stuck"}))
            .await
            .broken
    );
}

#[tokio::test]
async fn checkpoints_and_proofs_are_read_as_they_are_published() {
    let (_db, mut c) = anchors_scene::open().await;
    let execution_id = anchors_scene::succeeded(&c, "a").await;
    anchors_scene::anchored(&mut c).await;
    anchors_scene::submitted(&c, "b").await;
    anchors_scene::anchored(&mut c).await;
    let all = anchors_scene::checkpoints(&mut c).await;

    let mut found = Vec::new();
    let mut cursor = None;
    for _ in 0..=all.len() {
        let page = done::<AnchorList>(&c, json!({"heads": true, "limit": 1, "cursor": cursor})).await;
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, all);
    let newest = done::<AnchorList>(&c, json!({"newest": true, "limit": 1})).await;
    assert_eq!((newest.items[0].number, newest.next), (all[all.len() - 1].number, None));
    assert!(newest.items[0].heads.is_none());
    assert_eq!(done::<AnchorShow>(&c, json!({"number": all[0].number})).await, all[0]);
    let proof = done::<AnchorProof>(&c, json!({"execution_id": execution_id})).await;
    assert_eq!(proof.execution_id, execution_id.to_string());
    let keys = done::<EvidenceKeyList>(&c, json!({})).await.items;
    assert_eq!((keys[0].signs, &keys[0].kept), (true, &KeyPlace::Database));
    assert_eq!(keys[0].public_key, all[0].public_key);
}
