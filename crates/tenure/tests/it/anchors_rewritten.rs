//! What was rewritten in the database after a checkpoint covered it is reported when it is covered again, and not archived.

use tenure::services::archive;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::anchors::rewrite;
use crate::anchors_scene::{anchored, checkpoints, open, step, submitted, succeeded};
use crate::fixture::{get, run};

/// Cuts the chain after some events as a superuser can, and lets the next checkpoint cover it.
async fn cut(c: &Client, id: Uuid, length: i32) {
    run(
        c,
        &format!(
            "begin;
             set local session_replication_role = replica;
             delete from tenure.execution_events where execution_id = '{id}' and seq > {length};
             update tenure.execution_states x set chain_length = v.seq, chain_hash = v.hash
               from tenure.execution_events v
              where v.execution_id = x.execution_id and v.seq = {length} and x.execution_id = '{id}';
             insert into tenure.anchor_pending (execution_id, tenant_id, seen_at)
             select execution_id, tenant_id, now() from tenure.execution_rows where execution_id = '{id}';
             commit"
        ),
    )
    .await;
}

#[tokio::test]
async fn a_checkpoint_over_a_chain_that_was_cut_or_rewritten_reports_it() {
    let (db, mut c) = open().await;
    let (short, other) = (submitted(&c, "cut").await, succeeded(&c, "rewritten").await);
    assert_eq!(anchored(&mut c).await.rewritten, 0);
    step(&c).await;
    db.advance("10 minutes").await;
    assert_eq!(anchored(&mut c).await.rewritten, 0, "it has only grown");
    let sql = "select chain_length from tenure.execution_rows where execution_id = $1";
    let length: i32 = get(&c, sql, &[&short]).await;
    cut(&c, short, length - 1).await;
    rewrite(&c, other).await;
    let length: i32 = get(&c, sql, &[&other]).await;
    cut(&c, other, length).await;
    db.advance("10 minutes").await;
    let counts = anchored(&mut c).await;
    assert_eq!((counts.made, counts.rewritten), (1, 2));
    assert_eq!(
        checkpoints(&mut c).await[2].leaf_count,
        2,
        "they are covered as they are"
    );
    // Each day once more: the newest checkpoint agrees, and the ones before do not.
    db.advance("25 hours").await;
    assert_eq!(anchored(&mut c).await.rewritten, 2);
}

#[tokio::test]
async fn an_execution_whose_last_event_is_not_the_one_that_was_anchored_is_not_archived() {
    let (db, mut c) = open().await;
    let (kept, _) = (succeeded(&c, "rewritten").await, succeeded(&c, "as it was").await);
    anchored(&mut c).await;
    rewrite(&c, kept).await;
    db.advance("91 days").await;
    assert_eq!(archive::run_once(&mut c).await.expect("a look").archived, 1);
    let sql = "select execution_id from tenure.execution_rows";
    assert_eq!(get::<Uuid>(&c, sql, &[]).await, kept);
}
