//! Operations of kinds, executors, settings, principals, keys, logins, tenants and services: their types hold what SQL answers.
//! Programs that are built for tests refuse an answer whose type lacks a member.

use serde_json::json;
use tenure::operations::Perform;
use tenure_api::events::StreamLagShow;
use tenure_api::executors::{BeatStatus, ExecutorBeat, ExecutorList, StaleCheck};
use tenure_api::governed::Governed;
use tenure_api::health::{DoctorShow, HealthShow, Now};
use tenure_api::jobs::{JobReap, JobSweep};
use tenure_api::keys::{KeyCreate, KeyList, KeyRevoke, KeyState, Role};
use tenure_api::kinds::{KindList, KindPause, KindResume, KindSet, KindShow};
use tenure_api::logins::{LoginBind, LoginUnbind};
use tenure_api::principals::{PrincipalCreate, PrincipalList, PrincipalSet};
use tenure_api::request::{Brought, read};
use tenure_api::settings::{ConfigGet, ConfigList, ConfigSet, GateSet};
use tenure_api::tenants::{TenantCreate, TenantList};
use tenure_api::{Json, Operation, request};
use tokio_postgres::Client;

use crate::fixture::Db;

/// The operation with these members, written as a request and read again as a server does.
fn operation<O: Operation>(members: serde_json::Value) -> O {
    let operation: O = serde_json::from_value(members).expect("an operation");
    let request = request::write(&operation);
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let names = O::ROUTE.path.split('/').zip(path.split('/'));
    let path = names.filter_map(|(name, word)| {
        let name = name.strip_prefix('{')?.strip_suffix('}')?;
        Some((name.to_owned(), word.to_owned()))
    });
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    let brought = Brought {
        path: path.collect(),
        query: query.map(|(name, word)| (name.to_owned(), word.to_owned())).collect(),
        body: request
            .body
            .and_then(|body| body.as_object().cloned())
            .unwrap_or_default(),
    };
    read(brought).expect("it is read as it was written")
}

async fn perform<O: Perform>(client: &Client, members: serde_json::Value) -> O::Answer {
    let operation: O = operation(members);
    let answer = operation.perform(client).await;
    answer.unwrap_or_else(|error| panic!("{}: {error}", O::NAME))
}

#[tokio::test]
async fn kinds_and_executors_answer_as_their_types_say() {
    let db = Db::open().await;
    let c = db.client().await;
    let policy = json!({"attempts_max": 3, "catch_up": "none", "on_exhausted": "fail", "lease_seconds": 60});
    let set = perform::<KindSet>(&c, json!({"kind": "report", "policy": policy})).await;
    let Governed::Done(set) = set else { panic!("{set:?}") };
    assert_eq!((set.attempts_max, set.lease_seconds), (3, 60));
    let back = perform::<KindSet>(&c, json!({"kind": "report", "policy": {"lease_seconds": null}})).await;
    let Governed::Done(back) = back else { panic!("{back:?}") };
    assert_eq!(back.attempts_max, 3, "what is left out stays");
    assert_ne!(back.lease_seconds, 60, "null takes a value back");
    let kinds = perform::<KindList>(&c, json!({})).await;
    assert_eq!(kinds.items[0].attempts_max, Some(3));
    let paused = perform::<KindPause>(&c, json!({"kind": "report", "note": "repairs"})).await;
    assert_eq!(paused.pause_note.as_deref(), Some("repairs"));
    let resumed = perform::<KindResume>(&c, json!({"kind": "report"})).await;
    assert_eq!(resumed, perform::<KindShow>(&c, json!({"kind": "report"})).await);

    perform::<GateSet>(&c, json!({"key": "queue.heartbeat.enabled", "position": "open"})).await;
    let beat = json!({"executor": "external_worker", "name": "w1", "metadata": {"cpu": 1}});
    let beat = perform::<ExecutorBeat>(&c, beat).await;
    assert_eq!(
        (beat.last_tick_status, beat.ticks_total, beat.name_shared),
        (BeatStatus::Ok, 1, false)
    );
    let executors = perform::<ExecutorList>(&c, json!({})).await.items;
    assert!(executors.iter().any(|executor| executor.alive == 1), "{executors:?}");
    db.advance("2 seconds").await;
    let stale = perform::<StaleCheck>(&c, json!({"threshold_seconds": 1})).await;
    assert_eq!((stale.stale_count, stale.stale.len()), (1, 1));
}

#[tokio::test]
async fn a_setting_is_set_and_null_takes_it_back() {
    let db = Db::open().await;
    let c = db.client().await;
    let key = "queue.lease.duration_sec";
    let before = perform::<ConfigGet>(&c, json!({"key": key})).await.value;
    let set = perform::<ConfigSet>(&c, json!({"key": key, "value": 77})).await;
    let Governed::Done(set) = set else { panic!("{set:?}") };
    assert_eq!((set.old, set.value), (before.clone(), Json(json!(77))));
    let back = perform::<ConfigSet>(&c, json!({"key": key, "value": null})).await;
    let Governed::Done(back) = back else { panic!("{back:?}") };
    assert_eq!(back.value, before);
    let missing = serde_json::from_value::<ConfigSet>(json!({"key": key}));
    missing.expect_err("a value that is left out takes nothing back");
    let settings = perform::<ConfigList>(&c, json!({})).await.items;
    assert!(settings.iter().any(|setting| setting.is_gate), "{settings:?}");

    perform::<ConfigSet>(&c, json!({"key": "governance.changes.need_approval", "value": true})).await;
    let open = json!({"key": "executions.actions.open", "value": true});
    let proposed = perform::<ConfigSet>(&c, open).await;
    assert_eq!(ConfigSet::status(&proposed), 202, "{proposed:?}");
    let governed = json!({"kind": "deploy", "policy": {"only_by_plan": true}});
    let proposed = perform::<KindSet>(&c, governed).await;
    assert!(matches!(proposed, Governed::Pending(_)), "{proposed:?}");
}

#[tokio::test]
async fn principals_and_keys_answer_as_their_types_say() {
    let db = Db::open().await;
    let c = db.client().await;
    for name in ["carl", "anna", "bob"] {
        perform::<PrincipalCreate>(&c, json!({"name": name, "kind": "human", "email": "a@example.org"})).await;
    }
    let first = perform::<PrincipalList>(&c, json!({"limit": 2})).await;
    let rest = perform::<PrincipalList>(&c, json!({"limit": 2, "cursor": first.next})).await;
    let names: Vec<_> = first.items.iter().chain(&rest.items).map(|who| &who.name).collect();
    assert_eq!(names, ["anna", "bob", "carl"]);
    assert_eq!(rest.next, None);
    let set = json!({"name": "anna", "spec": {"approver_level": 2, "approval_roles": ["release manager"]}});
    assert_eq!(perform::<PrincipalSet>(&c, set).await.approver_level, Some(2));
    let kept = perform::<PrincipalSet>(&c, json!({"name": "anna", "spec": {"confirm": true}})).await;
    assert_eq!(kept.approver_level, Some(2), "what is left out stays");
    let cleared = perform::<PrincipalSet>(&c, json!({"name": "anna", "spec": {"approver_level": null}})).await;
    assert_eq!(cleared.approver_level, None, "null clears");

    let mut made = Vec::new();
    for expires_at in [None, Some("2100-01-01T00:00:00Z"), None] {
        let key = json!({"principal": "anna", "roles": ["viewer", "approver"], "approver_level": 1, "expires_at": expires_at});
        made.push(perform::<KeyCreate>(&c, key).await);
    }
    assert_eq!(made[0].roles, [Role::Viewer, Role::Approver]);
    let key = tenure_core::api_key::ApiKey::parse(&made[0].key).expect("a key");
    assert_eq!(key.prefix(), made[0].prefix);
    assert!(!format!("{:?}", made[0]).contains(&made[0].key), "no log shows the key");
    perform::<KeyRevoke>(&c, json!({"prefix": made[0].prefix})).await;
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = perform::<KeyList>(&c, json!({"limit": 1, "cursor": cursor})).await;
        seen.extend(page.items.into_iter().map(|key| key.prefix));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let expected = [&made[1].prefix, &made[2].prefix, &made[0].prefix];
    assert_eq!(
        seen.iter().collect::<Vec<_>>(),
        expected,
        "valid ones first, then by age"
    );
    let valid = perform::<KeyList>(&c, json!({"state": ["valid", "expired"]}))
        .await
        .items;
    assert_eq!(valid.len(), 2);
    assert!(valid.iter().all(|key| key.state == KeyState::Valid), "{valid:?}");
}

#[tokio::test]
async fn tenants_and_logins_answer_as_their_types_say() {
    let db = Db::open().await;
    let c = db.client().await;
    perform::<TenantCreate>(&c, json!({"name": "zeta"})).await;
    perform::<TenantCreate>(&c, json!({"name": "acme"})).await;
    let mut names = Vec::new();
    let mut cursor = None;
    loop {
        let page = perform::<TenantList>(&c, json!({"limit": 1, "cursor": cursor})).await;
        names.extend(page.items.into_iter().map(|tenant| tenant.name));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert!(names.ends_with(&["zeta".to_owned(), "acme".to_owned()]), "{names:?}");
    let bound = json!({"login": "app", "tenant": "acme", "kinds": ["report"], "executors": ["external_worker"]});
    let bound = perform::<LoginBind>(&c, bound).await;
    assert_eq!((bound.tenant.as_str(), bound.principal.as_str()), ("acme", "app"));
    assert!(perform::<LoginUnbind>(&c, json!({"login": "app"})).await.unbound);
}

#[tokio::test]
async fn health_and_services_answer_as_their_types_say() {
    let db = Db::open().await;
    let c = db.client().await;
    let health = perform::<HealthShow>(&c, json!({})).await;
    assert!(
        health.zones.is_some() && health.services.contains_key("reaper"),
        "{health:?}"
    );
    let doctor = perform::<DoctorShow>(&c, json!({})).await;
    assert!(doctor.roles.values().all(|exists| *exists), "{doctor:?}");
    assert!(perform::<Now>(&c, json!({})).await.now >= health.at);
    assert_eq!(perform::<StreamLagShow>(&c, json!({})).await.waiting_events, 0);
    perform::<GateSet>(&c, json!({"key": "queue.job_substrate.enabled", "position": "open"})).await;
    assert_eq!(
        perform::<JobReap>(&c, json!({"mode": "dry_run", "limit": 10}))
            .await
            .items,
        []
    );
    assert_eq!(perform::<JobSweep>(&c, json!({})).await.cleaned, 0);
}
