//! The story of one job: where it came from, and every transition with who and why.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim_with, enqueue, get, id_of, one, raised, reap, refused, rows, try_rows, verb};

/// One line per transition: verb, state, run and attempt, actor, detail.
async fn story(c: &Client, job: Uuid) -> Vec<String> {
    rows(
        c,
        "select concat_ws(' ', verb, state, run || '/' || attempt, case when verb in ('start', 'complete', 'cancel', 'clean', 'retried', 'cancel_requested') then actor end,
                          case when verb in ('fail', 'cancel', 'cancel_requested', 'retried', 'retry_now') then detail end)
           from tenure.job_timeline($1)",
        &[&job],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect()
}

/// Proves: S91, S92, S105, S153.
/// Guards: D42, D77.
/// Rule: 21.
#[tokio::test]
async fn the_timeline_tells_every_run_of_a_job_in_order() {
    let db = Db::open().await;
    let c = db.client().await;
    let (name, worker) = db.login(&["tenure_worker"], "default", None).await;
    let job = enqueue(&c, "report").await;
    let hold = async || claim_with(&worker, "w1", ", p_mode => 'started'").await.remove(0);
    let held = hold().await;
    verb(&worker, "job_fail", &held, ", 'no luck', p_code => 'net'").await;
    db.advance("1 minute").await;
    let held = hold().await;
    verb(&worker, "job_snooze", &held, ", 5").await;
    db.advance("1 minute").await;
    let held = hold().await;
    verb(&worker, "job_release", &held, "").await;
    hold().await;
    db.advance("1 hour").await;
    reap(&c).await;
    db.advance("1 hour").await;
    let held = hold().await;
    verb(&worker, "job_complete", &held, "").await;
    assert_eq!(
        story(&c, job).await,
        [
            "enqueue queued 0/0".to_owned(),
            "claim leased 1/1".to_owned(),
            format!("start in_progress 1/1 {name}"),
            "fail failed 1/1 net: no luck".to_owned(),
            "schedule_retry retry_waiting 1/1".to_owned(),
            "claim leased 2/2".to_owned(),
            format!("start in_progress 2/2 {name}"),
            "snooze retry_waiting 2/2".to_owned(),
            "claim leased 3/2".to_owned(),
            format!("start in_progress 3/2 {name}"),
            "release queued 3/2".to_owned(),
            "claim leased 4/2".to_owned(),
            format!("start in_progress 4/2 {name}"),
            "expire failed 4/2".to_owned(),
            "schedule_retry retry_waiting 4/2".to_owned(),
            "claim leased 5/3".to_owned(),
            format!("start in_progress 5/3 {name}"),
            format!("complete succeeded 5/3 {name}"),
        ]
    );
    db.advance("8 days").await;
    one(&c, "select tenure.job_sweep()", &[]).await;
    let told = story(&c, job).await;
    assert_eq!(
        (told.len(), told[18].as_str()),
        (19, "clean cleaned retention"),
        "a cleaned job still tells its story"
    );
    let ordered: bool = get(&c, "select bool_and(at >= before) from (select at, lag(at, 1, at) over () as before from tenure.job_timeline($1)) t", &[&job]).await;
    assert!(ordered);
}

/// Proves: S107, S116.
#[tokio::test]
async fn what_operators_did_is_told_with_their_reasons() {
    let db = Db::open().await;
    let c = db.client().await;
    let (name, operator) = db.login(&["tenure_operator"], "default", None).await;
    let job = enqueue(&c, "report").await;
    one(&operator, "select tenure.job_retry($1, 'hurry')", &[&job]).await;
    let held = claim_with(&c, "w1", ", p_mode => 'started'").await.remove(0);
    one(&operator, "select tenure.job_cancel($1, 'superseded')", &[&job]).await;
    let me = verb(&c, "job_acknowledge_cancel", &held, "").await;
    assert_eq!(me["state"], "cancelled");
    let told = story(&c, job).await;
    assert_eq!(told[1], "retry_now queued 1/0 hurry");
    assert!(
        told.contains(&format!("cancel_requested {name} superseded")),
        "{told:?}"
    );
    assert!(
        told.last()
            .is_some_and(|it| it.starts_with("cancel cancelled 2/1") && it.ends_with("superseded")),
        "{told:?}"
    );

    one(
        &c,
        r#"select tenure.kind_set('rests', '{"on_exhausted": "fail"}')"#,
        &[],
    )
    .await;
    let rests = enqueue(&c, "rests").await;
    let held = claim_with(&c, "w1", ", p_kinds => array['rests']").await.remove(0);
    verb(&c, "job_fail", &held, ", 'no', 'permanent'").await;
    one(&operator, "select tenure.job_retry($1, 'the disk is back')", &[&rests]).await;
    let told = story(&c, rests).await;
    assert!(told.contains(&format!("retried {name} the disk is back")), "{told:?}");
}

/// Rule: 21.
#[tokio::test]
async fn a_timeline_is_read_without_searching_the_stream() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "report").await;
    let source: String = get(
        &c,
        "select prosrc from pg_proc where oid = 'tenure.job_timeline'::regproc",
        &[],
    )
    .await;
    assert!(!source.contains("job_ids"), "no event is searched by its array");
    let plan: Vec<String> = rows(
        &c,
        "explain select * from tenure.events e where e.tenant_id = 1 and e.subject = $1 and e.kind in ('job.cancel_requested', 'job.retried')",
        &[&job.to_string()],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    let plan = plan.join("\n");
    assert!(!plan.contains("Seq Scan") && plan.contains("subject"), "{plan}");
}

#[tokio::test]
async fn a_job_that_never_was_has_no_story() {
    let db = Db::open().await;
    let c = db.client().await;
    for function in ["job_timeline", "job_show", "job_explain"] {
        let sql = format!("select * from tenure.{function}($1)");
        raised(try_rows(&c, &sql, &[&Uuid::new_v4()]).await, "job_not_found");
        raised(try_rows(&c, &sql, &[&None::<Uuid>]).await, "job_not_found");
    }
}

/// Proves: S85, S86, S87, S88, S93.
/// Guards: D48, D58.
#[tokio::test]
async fn a_job_names_where_it_came_from() {
    let db = Db::open().await;
    let c = db.client().await;
    let parent = enqueue(&c, "report").await;
    let workflow = Uuid::new_v4();
    let child = one(
        &c,
        "select tenure.job_enqueue('report', p_parent_job_id => $1, p_workflow_id => $2, p_causation_event => 42, p_correlation_id => 'order 7', p_source_system => 'crm')",
        &[&parent, &workflow],
    )
    .await;
    let row: Value = get(
        &c,
        "select to_jsonb(q) from tenure.job_queue q where job_id = $1",
        &[&id_of(&child)],
    )
    .await;
    for (field, value) in [
        ("parent_job_id", json!(parent)),
        ("workflow_id", json!(workflow)),
        ("causation_event_id", json!(42)),
        ("correlation_id", json!("order 7")),
        ("source_system", json!("crm")),
    ] {
        assert_eq!(row[field], value, "{field}");
    }
    let found: i64 = get(
        &c,
        "select count(*) from tenure.job_list(p_correlation_id => 'order 7')",
        &[],
    )
    .await;
    assert_eq!(found, 1);
    let orphan = one(
        &c,
        "select tenure.job_enqueue('report', p_parent_job_id => $1)",
        &[&Uuid::new_v4()],
    )
    .await;
    refused(&orphan, "job_not_found");
    for blank in ["", " ", "\t\n", "\u{a0}"] {
        let answer = one(
            &c,
            "select tenure.job_enqueue('report', p_source_system => $1)",
            &[&blank],
        )
        .await;
        refused(&answer, "name_blank");
        let answer = one(
            &c,
            "select tenure.job_enqueue('report', p_correlation_id => $1)",
            &[&blank],
        )
        .await;
        refused(&answer, "name_blank");
    }
    let default: String = get(
        &c,
        "select source_system from tenure.jobs where job_id = $1",
        &[&parent],
    )
    .await;
    assert_eq!(default, "tenure");
}
