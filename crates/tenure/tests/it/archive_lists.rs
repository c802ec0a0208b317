//! Archived executions are found by what they were: state, requester, target, correlation and time, page by page.

use serde_json::json;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{act, id, people, plan, submit, work_all};
use crate::fixture::{Db, get, one, raised, rows, run, try_rows};
use crate::locks_order::measured;

/// Archived executions beside those that are looked for.
const PAST: i32 = 600;
/// One is found without reading more rows of a table than this, however many there are.
const ROWS_MAX: i64 = 50;

async fn listed(c: &Client, arguments: &str) -> Vec<Uuid> {
    let sql = format!("select execution_id from tenure.execution_archive_list({arguments})");
    rows(c, &sql, &[]).await.iter().map(|row| row.get(0)).collect()
}

/// Runs a plan to its end, and archives it: 91 days later.
pub(crate) async fn archive(db: &Db, c: &Client, execution: Uuid) {
    db.advance("91 days").await;
    run(c, "set tenure.tenant = '*'").await;
    let sql = "select tenure.execution_archive($1, (select string_agg(line, E'\\n' order by n) from tenure.execution_evidence($1)))";
    let kept = one(c, sql, &[&execution]).await;
    assert_eq!(kept["archived"], true, "{kept}");
    run(c, "reset tenure.tenant").await;
}

async fn past(db: &Db, c: &Client, who: &str, purpose: &str, target: &str, more: &str) -> Uuid {
    let mut text = plan(purpose, &["a read", "b read a"]);
    text["correlation_id"] = json!(format!("change {purpose}"));
    text["steps"][1]["target_ref"] = json!(target);
    text["steps"][1]["action"] = json!("mend");
    let execution = id(&submit(c, who, &text, more).await, "execution_id");
    if purpose == "cancelled" {
        run(c, &format!("select tenure.execution_cancel('{execution}', 'no')")).await;
    }
    work_all(c).await;
    archive(db, c, execution).await;
    execution
}

#[tokio::test]
async fn archived_executions_are_found_by_state_requester_target_correlation_and_time() {
    let (db, c) = people().await;
    let first = past(&db, &c, "eve", "first", "a:b%", "").await;
    let second = past(&db, &c, "pam", "cancelled", "other", ", p_on_behalf_of => 'eve'").await;
    let third = past(&db, &c, "cyd", "third", "a:b%", "").await;
    submit(&c, "eve", &plan("open", &["a read"]), "").await;
    assert_eq!(
        listed(&c, "").await,
        [third, second, first],
        "those that ended last first"
    );
    assert_eq!(listed(&c, "'{cancelled}'").await, [second]);
    assert_eq!(
        listed(&c, "p_requested_by => 'eve'").await,
        [second, first],
        "also on her behalf"
    );
    assert_eq!(listed(&c, "p_requested_by => 'pam'").await, [second]);
    assert_eq!(listed(&c, "p_correlation_id => 'change third'").await, [third]);
    for target in ["host:a%3Ab%25", "host:a%3Ab%25:mend"] {
        assert_eq!(
            listed(&c, &format!("p_target => '{target}'")).await,
            [third, first],
            "{target}"
        );
    }
    for nothing in [
        "p_target => 'host:a%3Ab%25:touch'",
        "p_target => 'thing:other'",
        "'{failed}'",
        "p_requested_by => 'bob'",
        "'{cancelled}', p_requested_by => 'cyd'",
        "p_correlation_id => 'change third', p_target => 'host:other'",
    ] {
        assert!(listed(&c, nothing).await.is_empty(), "{nothing}");
    }
    let ended = |of: Uuid| format!("(select ended_at from tenure.execution_archives where execution_id = '{of}')");
    assert_eq!(
        listed(&c, &format!("p_ended_after => {}", ended(first))).await,
        [third, second]
    );
    assert_eq!(
        listed(&c, &format!("p_ended_before => {}", ended(third))).await,
        [second, first]
    );
    assert_eq!(listed(&c, &format!("p_before => '{second}'")).await, [first]);
    assert_eq!(
        listed(
            &c,
            &format!("p_before => '{third}', p_ended_before => {}", ended(second))
        )
        .await,
        [first]
    );
    assert_eq!(listed(&c, "p_limit => 1").await, [third]);
    assert_eq!(
        listed(&c, &format!("p_requested_by => 'eve', p_before => '{second}'")).await,
        [first]
    );

    let row = one(
        &c,
        "select to_jsonb(a) from tenure.execution_archive_list(p_limit => 1) a",
        &[],
    )
    .await;
    assert_eq!(row["requesters"], json!(["cyd"]));
    assert_eq!(
        row["targets"],
        json!([
            "host:a%3Ab%25",
            "host:a%3Ab%25:mend",
            "host:third a",
            "host:third a:touch"
        ])
    );
    assert!(
        row["evidence_bytes"].as_i64().is_some_and(|bytes| bytes > 1000),
        "{row}"
    );

    for (wrong, code) in [
        ("'{running}'", "state_unknown"),
        ("p_target => 'nothing'", "name_invalid"),
        ("p_limit => 0", "number_out_of_range"),
        ("p_limit => 1001", "number_out_of_range"),
        ("p_before => gen_random_uuid()", "execution_unknown"),
        ("p_ended_after => now(), p_ended_before => now()", "range_invalid"),
    ] {
        let sql = format!("select * from tenure.execution_archive_list({wrong})");
        raised(try_rows(&c, &sql, &[]).await, code);
    }
    // Another tenant finds nothing, nor a page of it.
    run(&c, "select tenure.tenant_create('beta')").await;
    let (_, beta) = db.login(&["tenure_viewer"], "beta", None).await;
    assert!(listed(&beta, "").await.is_empty());
    let page = format!("select * from tenure.execution_archive_list(p_before => '{first}')");
    raised(try_rows(&beta, &page, &[]).await, "execution_unknown");
}

#[tokio::test]
async fn one_archived_execution_is_found_among_many_without_reading_them_all() {
    let (db, c) = people().await;
    let wanted = past(&db, &c, "eve", "wanted", "needle", "").await;
    let many = format!(
        "begin; set local role tenure_owner; set local tenure.tenant = '*';
         insert into tenure.execution_archives (execution_id, tenant_id, purpose, plan_hash, state, requested_by, created_at, ended_at, archived_at, evidence, correlation_id, targets, requesters)
         select gen_random_uuid(), 1, 'p', repeat('0', 64), 'succeeded', 'r' || i, now(), now() + i * interval '1 s', now(), 'e', 'c' || i, array['host:t' || i], array['r' || i]
           from generate_series(1, {PAST}) i;
         insert into tenure.execution_archive_terms (tenant_id, term, value, ended_at, execution_id)
         select a.tenant_id, t.term, t.value, a.ended_at, a.execution_id from tenure.execution_archives a
          cross join lateral (values ('target', a.targets[1]), ('requester', a.requested_by), ('correlation', a.correlation_id)) t (term, value)
          where a.purpose = 'p';
         commit;
         analyze tenure.execution_archives, tenure.execution_archive_terms"
    );
    run(&c, &many).await;
    act(&c, "pam").await;
    for by in [
        "p_target => 'host:needle'",
        "p_requested_by => 'eve'",
        "p_correlation_id => 'change wanted'",
        "'{succeeded}', p_target => 'host:needle:mend', p_requested_by => 'eve'",
    ] {
        let (found, touched) = measured(&c, async || listed(&c, by).await).await;
        assert_eq!(found, [wanted], "{by}");
        for table in ["execution_archives", "execution_archive_terms"] {
            let (read, _) = touched.get(table).copied().unwrap_or_default();
            assert!(read <= ROWS_MAX, "{by}: {read} rows of {table}");
        }
    }
    let (page, touched) = measured(&c, async || listed(&c, "p_limit => 10").await).await;
    assert_eq!(page.len(), 10);
    let (read, _) = touched.get("execution_archives").copied().unwrap_or_default();
    assert!(read <= ROWS_MAX, "{read} rows of execution_archives for a page");
    let total: i64 = get(&c, "select count(*) from tenure.execution_archives", &[]).await;
    assert_eq!(total, i64::from(PAST) + 1);
}
