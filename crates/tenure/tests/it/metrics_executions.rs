//! What is told about executions to whoever watches.

use serde_json::{Value, json};

use crate::approvals_scene::{ask, decide, people, plan, submit, tick, work};
use crate::fixture::{one, run, verb};

async fn of(c: &tokio_postgres::Client, name: &str) -> f64 {
    let told = one(c, "select tenure.metrics()", &[]).await;
    let series = told["series"].as_array().expect("series");
    let mine = series
        .iter()
        .find(|it| it[0] == name && it[1] == json!({"tenant": "default"}));
    mine.and_then(|it| it[2].as_f64())
        .unwrap_or_else(|| panic!("no {name}: {told}"))
}

async fn open(c: &tokio_postgres::Client) -> Vec<(String, f64)> {
    let told = one(c, "select tenure.metrics()", &[]).await;
    let series = told["series"].as_array().expect("series").iter();
    let state = |it: &Value| it[1]["state"].as_str().unwrap_or_default().to_owned();
    let told = series.filter(|it| it[0] == "tenure_executions");
    told.map(|it| (state(it), it[2].as_f64().unwrap_or_default()))
        .filter(|(_, count)| *count > 0.0)
        .collect()
}

#[tokio::test]
async fn what_is_open_and_what_waits_for_people_is_told() {
    let (db, c) = people().await;
    for name in [
        "tenure_executions_parked",
        "tenure_steps_unknown",
        "tenure_approvals_pending",
        "tenure_locks_held",
        "tenure_execution_dead_letters_pending",
        "tenure_execution_lag_seconds",
    ] {
        assert_eq!(of(&c, name).await, 0.0, "{name} is there before there is an execution");
    }
    let asked = ask(&c, &plan("change", &["a modify"])).await;
    assert_eq!(of(&c, "tenure_approvals_pending").await, 1.0);
    assert_eq!(open(&c).await, [("awaiting_approval".to_owned(), 1.0)]);
    decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(
        (of(&c, "tenure_locks_held").await, open(&c).await),
        (1.0, vec![("running".to_owned(), 1.0)])
    );
    work(&c).await;
    db.advance("10 minutes").await;
    one(&c, "select to_jsonb(count(*)) from tenure.job_reap()", &[]).await;
    assert_eq!(of(&c, "tenure_steps_unknown").await, 1.0, "its worker was lost");
    one(
        &c,
        "select tenure.execution_resolve($1, 'a', 'failed', 'looked')",
        &[&asked.execution],
    )
    .await;
    assert_eq!(of(&c, "tenure_execution_dead_letters_pending").await, 1.0);
    assert_eq!(
        (of(&c, "tenure_locks_held").await, of(&c, "tenure_steps_unknown").await),
        (0.0, 0.0)
    );

    run(&c, "select tenure.execution_freeze('holidays')").await;
    submit(&c, "eve", &plan("look", &["a read"]), "").await;
    assert_eq!(of(&c, "tenure_executions_parked").await, 1.0);
    run(&c, "select tenure.execution_unfreeze('over')").await;
    db.advance("30 seconds").await;
    assert_eq!(
        of(&c, "tenure_execution_lag_seconds").await.round(),
        30.0,
        "nobody ticks"
    );
    tick(&c).await;
    assert_eq!(of(&c, "tenure_execution_lag_seconds").await, 0.0);
    let held = work(&c).await;
    verb(&c, "job_complete", &held, "").await;
    assert_eq!(open(&c).await, []);
}
