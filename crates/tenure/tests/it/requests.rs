//! Requests with an `Idempotency-Key`, as the database keeps them.

use serde_json::{Value, json};
use tenure::services::retention;
use tokio_postgres::{Client, Error, Row};
use uuid::Uuid;

use crate::fixture::{Db, get, one, raised, rows, run, try_rows};

/// A server, and the key of a principal `ann` with these roles.
async fn scene(db: &Db, prefixes: &[(&str, &str)]) -> (Client, Vec<Uuid>) {
    let c = db.direct().await;
    one(&c, "select tenure.principal_create('ann', 'service')", &[]).await;
    let mut keys = Vec::new();
    for (prefix, rights) in prefixes {
        let sql = format!("select tenure.key_create('ann', '{prefix}', sha256('s'), {rights})");
        assert_eq!(one(&c, &sql, &[]).await["prefix"], *prefix);
        keys.push(get(&c, &format!("select tenure.key_check('{prefix}', sha256('s'))"), &[]).await);
    }
    (db.login(&["tenure_server"], "default", None).await.1, keys)
}

async fn act(server: &Client, key: Uuid) {
    run(server, "begin").await;
    let sql = "select tenure.act_for_key($1, 'job_list', null, 'POST /v1/jobs 10.0.0.9')";
    rows(server, sql, &[&key]).await;
}

fn asked(payload: &str) -> Value {
    json!({"method": "POST", "path": "/v1/jobs", "members": {"kind": "1", "payload": payload}})
}

async fn begin(server: &Client, asked: &Value) -> Result<Vec<Row>, Error> {
    let sql = "select status, answer from tenure.request_begin('r', $1)";
    try_rows(server, sql, &[asked]).await
}

async fn end(server: &Client, key: &str, answer: Option<&str>) {
    let sql = "select tenure.request_end($1, $2, 201, $3)";
    rows(server, sql, &[&key, &asked("1"), &answer.map(str::to_owned)]).await;
}

#[tokio::test]
async fn an_answer_goes_with_the_change_and_only_to_the_same_rights() {
    let db = Db::open().await;
    let rights = "array['viewer', 'worker']";
    let keys = [
        ("first111", rights),
        ("spare111", rights),
        (
            "secret11",
            "array['viewer', 'worker'], p_payload_access => 'restricted'",
        ),
        ("narrow11", "array['viewer', 'worker'], p_kinds => array['a']"),
    ];
    let (server, keys) = scene(&db, &keys).await;
    // What is rolled back was not done.
    for (finish, found) in [("rollback", 0), ("commit", 0), ("commit", 1)] {
        act(&server, keys[0]).await;
        assert_eq!(
            begin(&server, &asked("1")).await.expect("begun").len(),
            found,
            "{finish}"
        );
        end(&server, "r", Some("{}")).await;
        run(&server, finish).await;
    }
    for (key, answer) in keys.iter().zip([Some("{}"), Some("{}"), None, None]) {
        act(&server, *key).await;
        let kept = begin(&server, &asked("1")).await.expect("kept");
        assert_eq!((kept[0].get(0), kept[0].get(1)), (201, answer));
        run(&server, "rollback").await;
    }
    act(&server, keys[0]).await;
    let why = raised(begin(&server, &asked("2")).await, "request_key_reused");
    assert!(why.contains("payload") && !why.contains("kind"), "{why}");
    run(&server, "rollback").await;
    // One that is too long, or holds a secret, leaves only that it was given.
    act(&server, keys[0]).await;
    let long = "x".repeat(1_048_577);
    for answer in [Some(long.as_str()), None] {
        end(&server, "r", answer).await;
        let kept = begin(&server, &asked("1")).await.expect("kept");
        assert_eq!(
            (kept[0].get::<_, i32>(0), kept[0].get::<_, Option<String>>(1)),
            (201, None)
        );
    }
    run(&server, "rollback").await;
    raised(begin(&server, &asked("1")).await, "key_invalid");
}

#[tokio::test]
async fn a_key_in_use_is_refused_at_once_and_waits_for_nothing() {
    let db = Db::open().await;
    let (server, keys) = scene(&db, &[("first111", "array['viewer']")]).await;
    let other = db.login(&["tenure_server"], "default", None).await.1;
    act(&server, keys[0]).await;
    assert!(begin(&server, &asked("1")).await.expect("begun").is_empty());
    act(&other, keys[0]).await;
    // A wait of any length would end in another error.
    run(
        &other,
        "set local statement_timeout = '10s'; set local lock_timeout = '1ms'",
    )
    .await;
    raised(begin(&other, &asked("1")).await, "request_under_way");
    run(&other, "rollback").await;
    end(&server, "r", Some("{}")).await;
    run(&server, "commit").await;
    act(&other, keys[0]).await;
    assert_eq!(begin(&other, &asked("1")).await.expect("kept").len(), 1);
}

#[tokio::test]
async fn an_answer_is_repeated_to_many_at_once() {
    let db = Db::open().await;
    let (server, keys) = scene(&db, &[("first111", "array['viewer']")]).await;
    let other = db.login(&["tenure_server"], "default", None).await.1;
    act(&server, keys[0]).await;
    assert!(begin(&server, &asked("1")).await.expect("begun").is_empty());
    end(&server, "r", Some("{}")).await;
    run(&server, "commit").await;
    // Both transactions are open at the same time.
    for repeats in [&server, &other] {
        act(repeats, keys[0]).await;
        let kept = begin(repeats, &asked("1")).await.expect("kept");
        assert_eq!((kept.len(), kept[0].get(1)), (1, Some("{}")));
    }
    raised(begin(&other, &asked("2")).await, "request_key_reused");
}

#[tokio::test]
async fn answers_past_their_period_are_removed_in_bounded_batches() {
    let db = Db::open().await;
    let mut c = db.direct().await;
    let (server, keys) = scene(&db, &[("first111", "array['viewer']")]).await;
    act(&server, keys[0]).await;
    for n in 0..5 {
        end(&server, &format!("r{n}"), Some("{}")).await;
    }
    run(&server, "commit").await;
    let left = "select count(*) from tenure.requests";
    assert_eq!(get::<i32>(&c, "select tenure.request_sweep()", &[]).await, 0);
    db.advance("23 hours 59 minutes").await;
    assert_eq!(get::<i32>(&c, "select tenure.request_sweep()", &[]).await, 0);
    db.advance("1 minute").await;
    assert_eq!(get::<i32>(&c, "select tenure.request_sweep(2)", &[]).await, 2);
    assert_eq!(get::<i64>(&c, left, &[]).await, 3);
    raised(
        try_rows(&c, "select tenure.request_sweep(10001)", &[]).await,
        "number_out_of_range",
    );
    // Expired, and not swept yet: the key is free.
    act(&server, keys[0]).await;
    let sql = "select * from tenure.request_begin('r4', $1)";
    assert!(rows(&server, sql, &[&asked("other")]).await.is_empty());
    run(&server, "rollback").await;
    let counts = retention::run_once(&mut c).await.expect("a sweep");
    assert_eq!((counts.requests_removed, get::<i64>(&c, left, &[]).await), (3, 0));
}
