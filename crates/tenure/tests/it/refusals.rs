//! A refusal is raised: a transaction whose job was refused cannot commit. The `try_` functions answer it as a value instead.

use serde_json::json;

use crate::catalogue::names;
use crate::fixture::{Db, enqueue, get, one, raised, refused, run, try_rows};

/// The functions that may answer a refusal as a value: the `try_` forms, and what a refusal has to commit.
const BY_VALUE: [&str; 1] = ["refusal_deadline"];

/// Inserts an order and enqueues its mail in one transaction, which ends with `commit`. Answers the order's fate.
async fn order_with_mail(db: &Db, enqueue: &str) -> (Result<(), tokio_postgres::Error>, i64) {
    let c = db.direct().await;
    run(&c, "create table if not exists public.orders (order_id integer)").await;
    run(&c, "begin; insert into public.orders values (1)").await;
    let outcome = try_rows(&c, enqueue, &[]).await.map(|_| ());
    run(&c, "commit").await;
    (outcome, get(&c, "select count(*) from public.orders", &[]).await)
}

/// Proves: S129.
#[tokio::test]
async fn a_transaction_whose_job_is_refused_cannot_commit() {
    let db = Db::open().await;
    let forbidden = "select tenure.job_enqueue('mail.send', '{\"body\": \"x\"}')";
    let (outcome, orders) = order_with_mail(&db, forbidden).await;
    raised(outcome, "payload_forbidden_key");
    assert_eq!(orders, 0, "the order was committed without its job");

    let c = db.client().await;
    one(
        &c,
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        &[],
    )
    .await;
    let (outcome, orders) = order_with_mail(&db, "select tenure.job_enqueue('mail.send')").await;
    raised(outcome, "gate_closed");
    assert_eq!(orders, 0, "the order was committed without its job");
}

/// Proves: S46.
#[tokio::test]
async fn the_try_form_answers_the_refusal_and_the_transaction_goes_on() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "create table public.orders (order_id integer)").await;
    run(&c, "begin; insert into public.orders values (1)").await;
    let answer = one(
        &c,
        "select tenure.try_job_enqueue('mail.send', '{\"body\": \"x\"}')",
        &[],
    )
    .await;
    refused(&answer, "payload_forbidden_key");
    let made = one(&c, "select tenure.try_job_enqueue('mail.send', '{\"to\": \"a\"}')", &[]).await;
    assert_eq!((&made["state"], &made["duplicate"]), (&json!("queued"), &json!(false)));
    run(&c, "commit").await;
    assert_eq!(get::<i64>(&c, "select count(*) from public.orders", &[]).await, 1);
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.jobs", &[]).await, 1);
}

/// Proves: S46.
#[tokio::test]
async fn every_try_form_answers_what_its_function_raises() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "report").await;
    let stale = format!("'{job}', '00000000-0000-4000-8000-000000000001'");
    let calls = [
        ("job_enqueue", "' '".to_owned(), "name_blank"),
        ("job_claim", "'w', 'MOT'".to_owned(), "executor_cannot_claim"),
        ("job_start", stale.clone(), "stale_lease"),
        ("job_progress", stale.clone(), "stale_lease"),
        ("job_heartbeat", stale.clone(), "stale_lease"),
        ("job_complete", stale.clone(), "stale_lease"),
        ("job_fail", format!("{stale}, 'no'"), "stale_lease"),
        ("job_cancel", format!("'{job}', ' '"), "name_blank"),
        ("job_dead_letter", format!("'{job}', ' '"), "name_blank"),
        ("job_sweep", "0".to_owned(), "number_out_of_range"),
        ("executor_beat", "'w', 'nothing'".to_owned(), "executor_unknown"),
    ];
    for (function, arguments, code) in &calls {
        let plain = try_rows(&c, &format!("select tenure.{function}({arguments})"), &[]).await;
        let said = raised(plain, code);
        let answer = one(&c, &format!("select tenure.try_{function}({arguments})"), &[]).await;
        refused(&answer, code);
        let parts = ["what", "why", "next"].map(|part| answer[part].as_str().unwrap_or_default());
        assert_eq!(parts.join(" "), said, "{function}");
    }
    let mut tried: Vec<&str> = calls.iter().map(|it| it.0).collect();
    tried.sort_unstable();
    let known = names(
        &c,
        "select substr(p.proname, 5) from pg_proc p
          where p.pronamespace = 'tenure'::regnamespace and p.proname like 'try\\_%' order by 1",
    )
    .await;
    assert_eq!(tried, known, "a try_ function that this test does not call");
}

#[tokio::test]
async fn a_try_form_raises_an_error_that_is_no_refusal() {
    let db = Db::open().await;
    let c = db.client().await;
    run(
        &c,
        "create function fixture.broken() returns trigger language plpgsql as $$ begin raise 'the disk is on fire'; end $$;
         create trigger broken before insert on tenure.jobs for each row execute function fixture.broken()",
    )
    .await;
    let outcome = try_rows(&c, "select tenure.try_job_enqueue('report')", &[]).await;
    let error = outcome.expect_err("not a refusal, so it is raised");
    assert_eq!(error.code().map(tokio_postgres::error::SqlState::code), Some("P0001"));
}

/// A `try_` form takes what its function takes, and the same roles may call both.
#[tokio::test]
async fn a_try_form_has_the_arguments_and_the_callers_of_its_function() {
    let db = Db::open().await;
    let c = db.client().await;
    let different = names(
        &c,
        "select t.proname::text from pg_proc t
           left join pg_proc p on p.pronamespace = t.pronamespace and p.proname = substr(t.proname, 5)
          where t.pronamespace = 'tenure'::regnamespace and t.proname like 'try\\_%'
            and (p.oid is null
              or pg_get_function_arguments(t.oid) <> pg_get_function_arguments(p.oid)
              or array(select a.grantee from aclexplode(t.proacl) a order by 1)
                 <> array(select a.grantee from aclexplode(p.proacl) a order by 1))",
    )
    .await;
    assert!(different.is_empty(), "{different:?}");
}

/// Every refusal is raised, also by functions yet to come.
#[tokio::test]
async fn no_function_but_the_try_forms_returns_a_refusal() {
    let db = Db::open().await;
    let c = db.client().await;
    let by_value = names(
        &c,
        "select p.proname::text from pg_proc p
          where p.pronamespace = 'tenure'::regnamespace and p.proname not like 'try\\_%'
            and p.prosrc ~ '(return|select)\\s+tenure\\.refusal\\(' order by 1",
    )
    .await;
    assert_eq!(by_value, BY_VALUE);
}
