//! Executions whose chains grow, and checkpoints over them.

use serde_json::{Value, json};
use tenure::services::{AnchorFile, Settings, anchor};
use tenure_core::anchor::{Chain, Checkpoint, Finding, History, Proof};
use tenure_core::evidence::{Evidence, PublicKey, SecretKey, sign};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim_with, one, rows, until, verb};

/// A database whose key is there.
pub(crate) async fn open() -> (Db, Client) {
    let db = Db::open().await;
    let mut c = db.client().await;
    let transaction = c.transaction().await.expect("begin");
    tenure::evidence::ensure_key(&transaction).await.expect("a key");
    transaction.commit().await.expect("commit");
    // The walk over what was there before anything was anchored is over.
    anchored(&mut c).await;
    (db, c)
}

/// Submits a plan with one step that reads; it is approved at once.
pub(crate) async fn submitted(c: &Client, purpose: &str) -> Uuid {
    let plan = json!({"purpose": purpose, "sla_class": "long", "steps": [
        {"id": "look", "action": "shop.look", "action_class": "read", "target_type": "service", "target_ref": purpose}
    ]});
    let plan = tenure_core::Plan::read(&plan.to_string()).expect("a plan");
    let made = one(c, "select tenure.execution_submit($1)", &[&plan.canonical()]).await;
    let id = made["execution_id"].as_str().unwrap_or_else(|| panic!("{made}"));
    id.parse().expect("an id")
}

/// Runs the step that is next.
pub(crate) async fn step(c: &Client) {
    let claimed = claim_with(c, "w", ", p_mode => 'started'").await.remove(0);
    verb(c, "job_complete", &claimed, "").await;
}

/// An execution that has succeeded.
pub(crate) async fn succeeded(c: &Client, purpose: &str) -> Uuid {
    let id = submitted(c, purpose).await;
    step(c).await;
    id
}

/// Waits until the stream has all that was committed: open transactions of other tests hold it back.
pub(crate) async fn until_seen(c: &Client) {
    let sql = "select not exists (select from tenure.events e
                where e.epoch = tenure.current_epoch() and e.txid >= pg_snapshot_xmin(pg_current_snapshot()))";
    until(c, sql, &[], "the stream has everything").await;
}

/// One look of the service, with the key of the database and no file.
pub(crate) async fn anchored(c: &mut Client) -> anchor::Counts {
    until_seen(c).await;
    look(c).await
}

/// The same, however far the stream is.
pub(crate) async fn look(c: &mut Client) -> anchor::Counts {
    anchor::run_once(c, &Settings::default()).await.expect("a look")
}

/// One look of the service that writes this file.
pub(crate) async fn published(c: &mut Client, file: &AnchorFile) -> anchor::Counts {
    until_seen(c).await;
    let settings = Settings {
        anchor_file: Some(file.clone()),
        ..Settings::default()
    };
    anchor::run_once(c, &settings).await.expect("a look")
}

/// Every checkpoint with all its leaves, as the file has them.
pub(crate) async fn checkpoints(c: &mut Client) -> Vec<Checkpoint> {
    let transaction = c.transaction().await.expect("begin");
    tenure::store::for_every_tenant(&transaction)
        .await
        .expect("every tenant");
    let sql = "select checkpoint from tenure.anchor_list(p_heads => true, p_limit => 1000)";
    let found = rows(transaction.client(), sql, &[]).await;
    transaction.commit().await.expect("commit");
    let read = |row: &tokio_postgres::Row| serde_json::from_value(row.get::<_, Value>(0)).expect("a checkpoint");
    found.iter().map(read).collect()
}

/// The public key that signs now.
pub(crate) async fn public_key(c: &Client) -> PublicKey {
    let sql = "select encode(public_key, 'base64') from tenure.evidence_key_list() where signs";
    let text: String = crate::fixture::get(c, sql, &[]).await;
    PublicKey::parse(&text).expect("a key")
}

/// What an export says now.
pub(crate) async fn evidence(c: &Client, id: Uuid) -> Evidence {
    let lines = tenure::store::evidence::execution_evidence(c, id).await.expect("lines");
    let file = sign(&lines, &SecretKey::from_seed(&[7; 32]));
    Evidence::read(file.as_bytes()).unwrap_or_else(|findings| panic!("{findings:?}"))
}

/// The chain of these checkpoints, checked.
pub(crate) fn chain(checkpoints: &[Checkpoint], key: PublicKey) -> Chain {
    let text: String = checkpoints.iter().map(|one| one.line() + "\n").collect();
    tenure_core::anchor::check(text.as_bytes(), &[key]).unwrap_or_else(|findings| panic!("{findings:?}\n{text}"))
}

/// How many events of an execution the checkpoints cover, and by which.
pub(crate) fn covered(chain: &Chain, evidence: &Evidence, proof: Option<&Proof>) -> Result<(u64, u64), Vec<Finding>> {
    let covered = chain.covered(&History::from(evidence), proof)?;
    Ok((covered.checkpoint, covered.chain_length))
}
