//! Rows of the stream that stand for many entries of chains: what counts them and what shows them.

use serde_json::json;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{people, plan, rule, submit};
use crate::fixture::{Db, claim_with, get, rows, run, until};
use crate::locks_order::measured;

/// What `stream_lag` counts at most, in rows (`counted_rows_max`).
const COUNTED_ROWS_MAX: i64 = tenure_core::limits::COUNTED_ROWS_MAX;

/// Executions whose steps move together, so that their entries share rows.
const TOGETHER: usize = 20;

/// Starts and ends the first steps of many executions, each in one batch.
async fn move_together(c: &Client) {
    for n in 0..TOGETHER {
        let made = submit(c, "eve", &plan(&format!("together {n}"), &["a read", "b read a"]), "").await;
        assert_eq!(made["state"], "running", "{made}");
    }
    let held = claim_with(c, "w", ", p_limit => 100, p_mode => 'started'").await;
    assert_eq!(held.len(), TOGETHER);
    let jobs: Vec<Uuid> = held.iter().map(|it| it.job_id).collect();
    let tokens: Vec<Uuid> = held.iter().map(|it| it.token).collect();
    let ended = rows(
        c,
        "select state from tenure.job_end_many($1, $2, array_fill('succeeded'::text, array[cardinality($1)]))",
        &[&jobs, &tokens],
    )
    .await;
    assert!(ended.iter().all(|row| row.get::<_, &str>(0) == "succeeded"));
}

async fn moved() -> (Db, Client) {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    (db, c)
}

/// How often the session has looked up values that are stored outside the rows of the stream, of late.
const UNPACKED: &str = "select sum(pg_stat_get_xact_numscans(x.indexrelid))::bigint
   from pg_inherits p join pg_class e on e.oid = p.inhrelid join pg_index x on x.indrelid = e.reltoastrelid
  where p.inhparent = 'tenure.events'::regclass";

/// Rule: 22.
#[tokio::test]
async fn the_lag_of_the_stream_is_counted_without_reading_entries_and_in_bounds() {
    let (db, _) = moved().await;
    let c = db.direct().await;
    let blocker = db.direct().await;
    let before: i64 = get(&c, "select count(*) from tenure.event_stream", &[]).await;
    run(&blocker, "begin; select pg_current_xact_id()").await;
    move_together(&c).await;
    let waiting: i64 = get(&c, "select count(*) - $1 from tenure.event_stream", &[&before]).await;

    // One transaction: the session reports what it did only between two of them.
    run(&c, "begin").await;
    let earlier: i64 = get(&c, UNPACKED, &[]).await;
    let counted: i64 = get(&c, "select waiting_events from tenure.stream_lag()", &[]).await;
    let unpacked: i64 = get(&c, UNPACKED, &[]).await;
    let all: i64 = get(&c, "select sum(cardinality(entries))::bigint from tenure.events", &[]).await;
    let after: i64 = get(&c, UNPACKED, &[]).await;
    run(&c, "commit").await;
    assert_eq!(counted, waiting, "each entry is an event that waits");
    assert!(all > 0 && after > unpacked, "entries are stored outside their rows");
    assert_eq!(unpacked, earlier, "and were not fetched to be counted");

    let many = format!(
        "insert into tenure.events (at, tenant_id, kind, actor, subject)
         select tenure.now(), 1, 'kind.changed', 'many', 'touch' from generate_series(1, {COUNTED_ROWS_MAX} + 500)"
    );
    run(&c, &many).await;
    let sql = "select waiting_events from tenure.stream_lag()";
    let (counted, touched) = measured(&c, async || get::<i64>(&c, sql, &[]).await).await;
    let shared: i64 = get(&c, "select sum(entry_count - 1)::bigint from tenure.events", &[]).await;
    assert_eq!(counted, COUNTED_ROWS_MAX + shared);
    let read: i64 = touched
        .iter()
        .filter(|(table, _)| table.starts_with("events"))
        .map(|(_, it)| it.0)
        .sum();
    assert!(read <= COUNTED_ROWS_MAX + 100, "it read {read} rows");
    run(&blocker, "commit").await;
}

/// Rule: 21, 26.
#[tokio::test]
async fn a_view_shows_each_event_of_a_shared_row_as_the_stream_does_and_only_to_its_tenant() {
    let (db, c) = moved().await;
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    move_together(&c).await;
    let shared: i64 = get(&c, "select count(*) from tenure.events where kind = 'entries'", &[]).await;
    assert!(shared > 0);
    until(
        &c,
        "select waiting_events = 0 from tenure.stream_lag()",
        &[],
        "the stream has come to its end",
    )
    .await;
    let columns = "at, kind, actor, on_behalf_of, subject, job_kind, executor, job_ids, runs, data, via";
    let compared = format!(
        "select (select count(*) from tenure.event_list(p_limit => 1000)),
                (select count(*) from tenure.event_stream),
                (select count(*) from (
                   select cursor, {columns} from tenure.event_list(p_limit => 1000)
                   except all
                   select concat_ws('.', epoch, txid, seq), {columns} from tenure.event_stream) x)"
    );
    let row = rows(&viewer, &compared, &[]).await.remove(0);
    let (listed, shown, differing): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert!(listed < 1000, "one page has them all");
    assert_eq!((shown, differing), (listed, 0));

    get::<String>(&c, "select tenure.tenant_create('other')::text", &[]).await;
    let (_, stranger) = db.login(&["tenure_viewer"], "other", None).await;
    let seen: i64 = get(
        &stranger,
        "select count(*) from tenure.event_stream where kind like 'step.%'",
        &[],
    )
    .await;
    assert_eq!(seen, 0);
}

/// Events that have a row of their own are found by their subject as in the table.
#[tokio::test]
async fn the_view_of_events_finds_a_subject_by_its_index() {
    let (_db, c) = moved().await;
    move_together(&c).await;
    run(&c, "set enable_seqscan = off; set enable_bitmapscan = off").await;
    let plan: Vec<String> = rows(
        &c,
        "explain select kind from tenure.event_stream where tenant_id = 1 and subject = 'touch'",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    let text = plan.join("\n");
    assert!(
        text.contains("(subject = 'touch'::text)") && text.contains("_subject"),
        "{text}"
    );
}
