//! Epochs of the event stream: a restored or failed-over server continues the stream where readers can follow.

use uuid::Uuid;

use crate::events::until_handed_out;
use crate::fixture::{Db, enqueue, get, one, raised, rows, run, try_rows};

/// A cursor may lie far beyond the last event: what a server hands out as its end counts all transactions.
///
/// Rule: 22.
#[tokio::test]
async fn on_another_server_a_new_epoch_begins_whatever_its_transaction_ids_are() {
    let db = Db::open().await;
    let c = db.client().await;
    rows(&c, "select * from tenure.installation_check()", &[]).await;
    let epoch: i32 = get(&c, "select tenure.current_epoch()", &[]).await;
    enqueue(&c, "before").await;
    // A reader at the end of the stream, on a server that was thousands of transactions ahead of this one.
    let ahead: String = get(
        &c,
        "select tenure.current_epoch() || '.' || (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 20000) || '.0'",
        &[],
    )
    .await;
    raised(
        try_rows(&c, "select * from tenure.event_list($1)", &[&ahead]).await,
        "cursor_invalid",
    );
    for other_server in [
        "update tenure.installation set lineage = '1.00000001.1'",
        "update tenure.installation set lineage = regexp_replace(lineage, '[.]0+', '.F')",
        "update tenure.installation set txid = '9000000000'",
    ] {
        let before: i32 = get(&c, "select tenure.current_epoch()", &[]).await;
        run(&c, other_server).await;
        let row = rows(&c, "select epoch, began from tenure.installation_check()", &[]).await;
        let (now, began): (i32, bool) = (row[0].get(0), row[0].get(1));
        assert!(began && now > before, "{other_server}");
        let row = rows(&c, "select epoch, began from tenure.installation_check()", &[]).await;
        assert_eq!((row[0].get(0), row[0].get(1)), (now, false), "once");
    }
    let job = enqueue(&c, "after").await;
    until_handed_out(&c, "job.enqueued", 2).await;
    let seen = rows(&c, "select job_ids[1] from tenure.event_list($1)", &[&ahead]).await;
    let seen: Vec<Uuid> = seen.iter().map(|row| row.get(0)).collect();
    assert_eq!(seen, [job], "the cursor of before goes on with all that comes");
    let clock: i32 = get(
        &c,
        "select floor(extract(epoch from tenure.now()) / 10)::integer - 100",
        &[],
    )
    .await;
    let latest: i32 = get(&c, "select tenure.current_epoch()", &[]).await;
    assert!(
        latest > clock && epoch >= 1,
        "two restores of one backup begin different epochs"
    );
    let said: i32 = get(&c, "select tenure.installation_stamp('hash', p_restored => true)", &[]).await;
    assert!(said > latest, "a copy of the files is said to be one");
}

/// Rule: 22.
#[tokio::test]
async fn a_new_epoch_waits_for_open_transactions_that_have_written_events() {
    let db = Db::open().await;
    let c = db.direct().await;
    rows(&c, "select * from tenure.installation_check()", &[]).await;
    let open = db.direct().await;
    run(&open, "begin").await;
    let late = enqueue(&open, "late").await;
    run(&c, "update tenure.installation set lineage = '1.00000001.1'").await;
    let check = async || -> bool { get(&c, "select began from tenure.installation_check()", &[]).await };
    assert!(!check().await, "its event would come behind readers of the new epoch");
    run(&open, "commit").await;
    assert!(check().await);
    until_handed_out(&c, "job.enqueued", 1).await;
    let seen = rows(
        &c,
        "select job_ids[1] from tenure.event_list() where kind = 'job.enqueued'",
        &[],
    )
    .await;
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].get::<_, Uuid>(0), late);
}

/// Rule: 22.
#[tokio::test]
async fn after_a_restore_the_stream_goes_on_in_a_new_epoch() {
    let db = Db::open().await;
    let c = db.client().await;
    // As after dump and restore: events of transactions whose ids lie far ahead of this server's.
    run(
        &c,
        "insert into tenure.events (at, tenant_id, kind, actor, txid, subject) values (tenure.now(), 1, 'job.rescheduled', 'before', '9000000000', 'before')",
    )
    .await;
    let epoch: i32 = get(&c, "select tenure.installation_stamp('hash')", &[]).await;
    assert!(epoch > 1, "migrating finds them and starts a new epoch");
    let again: i32 = get(&c, "select tenure.installation_stamp('hash')", &[]).await;
    assert_eq!(again, epoch, "once");
    let job = enqueue(&c, "report").await;
    one(&c, "select tenure.job_retry($1)", &[&job]).await;
    until_handed_out(&c, "job.rescheduled", 2).await;
    let order: Vec<String> = rows(
        &c,
        "select subject from tenure.event_list(p_kind => 'job.rescheduled')",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(
        order,
        ["before".to_owned(), job.to_string()],
        "what came before stays before"
    );
    let cursor: String = get(&c, "select cursor from tenure.event_list(p_subject => 'before')", &[]).await;
    let after: i64 = get(
        &c,
        "select count(*) from tenure.event_list($1, p_kind => 'job.rescheduled')",
        &[&cursor],
    )
    .await;
    assert_eq!(after, 1, "a cursor of the old epoch goes on in the new one");
}
