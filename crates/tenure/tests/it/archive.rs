//! Executions whose time is over: their evidence is signed and kept, their rows go, and nothing is lost between.

use serde_json::{Value, json};
use tenure::evidence::{current_key, ensure_key};
use tenure::services::archive::{self, Counts};
use tenure::store::evidence::{evidence_key_list, execution_archive_show};
use tenure_core::evidence::{PublicKey, verify};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, all, claim_with, get, one, raised, run, try_rows, verb};

fn plan(purpose: &str, class: &str) -> String {
    json!({"purpose": purpose, "sla_class": "long", "steps": [
        {"id": "look", "action": "shop.look", "action_class": class, "target_type": "service", "target_ref": purpose}
    ]})
    .to_string()
}

async fn submitted(c: &Client, purpose: &str, class: &str) -> (Uuid, String) {
    let text = tenure_core::Plan::read(&plan(purpose, class)).expect("a plan");
    let sql = "select tenure.execution_submit($1)";
    let made = one(c, sql, &[&text.canonical()]).await;
    let id = made["execution_id"].as_str().unwrap_or_else(|| panic!("{made}"));
    (id.parse().expect("an id"), text.hash())
}

/// An execution that has succeeded.
async fn succeeded(c: &Client, purpose: &str) -> Uuid {
    let (id, _) = submitted(c, purpose, "read").await;
    let held = claim_with(c, "w", ", p_mode => 'started'").await.remove(0);
    verb(c, "job_complete", &held, "").await;
    assert_eq!(state(c, id).await, "succeeded");
    id
}

/// An execution that grace has rejected.
async fn rejected(c: &Client, purpose: &str) -> Uuid {
    one(c, "select tenure.principal_create('grace', 'human')", &[]).await;
    one(
        c,
        r#"select tenure.principal_set('grace', '{"approver_level": 3}')"#,
        &[],
    )
    .await;
    let (id, hash) = submitted(c, purpose, "modify").await;
    run(c, "begin; set local tenure.principal = 'grace'").await;
    let sql = "select tenure.approval_decide(a.approval_id, 'reject', $2, 'not now') from tenure.approval_list($1) a";
    let decided = one(c, sql, &[&id, &hash]).await;
    run(c, "commit").await;
    assert_eq!(decided["execution_state"], "rejected", "{decided}");
    id
}

async fn state(c: &Client, id: Uuid) -> String {
    let shown: Value = one(c, "select tenure.execution_show($1)", &[&id]).await;
    shown["state"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned()
}

async fn rows_of(c: &Client, id: Uuid) -> i64 {
    let sql = "select (select count(*) from tenure.executions where execution_id = $1) + (select count(*) from tenure.plans where execution_id = $1)
             + (select count(*) from tenure.steps where execution_id = $1) + (select count(*) from tenure.approvals where execution_id = $1)
             + (select count(*) from tenure.execution_events where execution_id = $1)";
    get(c, sql, &[&id]).await
}

/// One look of the archive.
async fn archived(c: &mut Client) -> Counts {
    archive::run_once(c).await.expect("a look")
}

async fn public_key(c: &mut Client) -> PublicKey {
    let transaction = c.transaction().await.expect("begin");
    current_key(&transaction).await.expect("a key").public_key()
}

/// Proves: S228. Guards: D79, D100.
#[tokio::test]
async fn what_ended_ninety_days_ago_is_archived_with_all_that_proves_it_rejected_ones_too() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let (done, refused) = (succeeded(&c, "done").await, rejected(&c, "refused").await);
    db.advance("89 days").await;
    let young = succeeded(&c, "young").await;
    assert_eq!(archived(&mut c).await, Counts::default());

    db.advance("25 hours").await;
    let counts = archived(&mut c).await;
    assert_eq!((counts.archived, counts.doubtful), (2, 0));
    let key = public_key(&mut c).await;
    for (id, state) in [(done, "succeeded"), (refused, "rejected")] {
        assert_eq!(rows_of(&c, id).await, 0);
        let file = execution_archive_show(&c, id).await.expect("an archive");
        let verified = verify(file.as_bytes(), &key).expect("it verifies");
        assert_eq!(verified.evidence.head.execution_id, id.to_string());
        assert_eq!(verified.evidence.head.state, state);
        assert_eq!(verified.evidence.steps.len(), 1);
    }
    assert_eq!(state(&c, young).await, "succeeded");
    assert_eq!(archived(&mut c).await, Counts::default());
    let unknown = try_rows(&c, "select * from tenure.execution_evidence($1)", &[&done]).await;
    raised(unknown, "execution_unknown");
}

/// What was changed in the database is not put out of the way, and keeps nobody else waiting.
#[tokio::test]
async fn an_execution_whose_evidence_does_not_verify_keeps_its_rows() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let mut changed = Vec::new();
    for purpose in 0..12 {
        changed.push(succeeded(&c, &format!("changed {purpose}")).await);
    }
    let admin = db.direct().await;
    run(
        &admin,
        "alter table tenure.execution_events disable trigger user;
         update tenure.execution_events set body = replace(body, 'changed', 'another') where seq = 1",
    )
    .await;
    db.advance("1 minute").await;
    let sound = succeeded(&c, "sound").await;
    db.advance("91 days").await;
    let counts = archived(&mut c).await;
    assert_eq!((counts.archived, counts.doubtful), (1, 12));
    assert_eq!(rows_of(&c, sound).await, 0);
    for id in changed {
        assert!(rows_of(&c, id).await > 0);
    }
}

#[tokio::test]
async fn several_servers_archive_each_execution_once() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut ended = Vec::new();
    for purpose in 0..8 {
        ended.push(succeeded(&c, &format!("n {purpose}")).await);
    }
    db.advance("91 days").await;
    let servers = (0..4).map(|_| async {
        let mut server = db.client().await;
        archived(&mut server).await.archived
    });
    let count: usize = all(servers.collect()).await.into_iter().sum();
    assert_eq!(count, ended.len());
    let kept: i64 = get(&c, "select count(*) from tenure.execution_archives", &[]).await;
    assert_eq!(kept, ended.len() as i64);
}

#[tokio::test]
async fn of_servers_that_start_together_one_makes_the_key() {
    let db = Db::open().await;
    let servers = (0..6).map(|_| async {
        let mut server = db.client().await;
        let transaction = server.transaction().await.expect("begin");
        let made = ensure_key(&transaction).await.expect("a key");
        transaction.commit().await.expect("commit");
        made
    });
    let made: Vec<String> = all(servers.collect()).await.into_iter().flatten().collect();
    assert_eq!(made.len(), 1, "{made:?}");
    let mut c = db.client().await;
    assert_eq!(public_key(&mut c).await.id(), made[0]);
    let keys = evidence_key_list(&c).await.expect("the keys");
    assert_eq!(
        (keys.len(), keys[0].key_id.as_str(), keys[0].signs),
        (1, made[0].as_str(), true)
    );
}
