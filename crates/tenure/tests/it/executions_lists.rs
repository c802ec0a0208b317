//! Lists of executions: by their target, page by page, and none of another tenant.

use serde_json::{Value, json};
use tenure_core::limits::LIST_ROWS_MAX;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{act, ask, ask_change, decide, id, people, plan, submit, work_all};
use crate::fixture::{get, one, raised, rows, run, try_rows};
use crate::locks_order::measured;

/// So many executions of the past, each at a target of its own.
const PAST: i32 = 600;
/// What one target is found by reads no more rows of a table than this, however long the past is.
const ROWS_MAX: i64 = 50;

async fn listed(c: &Client, arguments: &str) -> Vec<Uuid> {
    let sql = format!("select execution_id from tenure.execution_list({arguments})");
    rows(c, &sql, &[]).await.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn executions_are_found_by_what_they_touch_over_or_not_however_it_is_written() {
    let (_db, c) = people().await;
    let at = |purpose: &str, target: &str| {
        let mut text = plan(purpose, &["a read", "b read a"]);
        text["steps"][1]["target_ref"] = json!(target);
        text["steps"][1]["action"] = json!("mend");
        text
    };
    let over = id(&submit(&c, "eve", &at("over", "a:b%3A"), "").await, "execution_id");
    work_all(&c).await;
    let open = id(&submit(&c, "eve", &at("open", "a:b%3A"), "").await, "execution_id");
    submit(&c, "eve", &at("other", "a:b"), "").await;
    for target in ["host:a%3Ab%253A", "host:a%3Ab%253A:mend"] {
        assert_eq!(
            listed(&c, &format!("p_target => '{target}'")).await,
            [open, over],
            "{target}"
        );
    }
    for target in ["host:a%3Ab%253A:touch", "thing:a%3Ab%253A", "host:none"] {
        assert!(
            listed(&c, &format!("p_target => '{target}'")).await.is_empty(),
            "{target}"
        );
    }
    assert_eq!(listed(&c, "'{succeeded}', p_target => 'host:a%3Ab%253A'").await, [over]);
    let page = format!("p_target => 'host:a%3Ab%253A', p_before => '{open}'");
    assert_eq!(listed(&c, &page).await, [over]);
}

#[tokio::test]
async fn one_target_is_found_among_many_executions_without_reading_them_all() {
    let (_db, c) = people().await;
    act(&c, "eve").await;
    let past = format!(
        "do $$
         begin
           for i in 1 .. {PAST} loop
             perform tenure.execution_cancel((tenure.execution_submit(format('{{\"purpose\": \"p%1$s\", \"sla_class\": \"long\", \"steps\": [
               {{\"id\": \"a\", \"action\": \"touch\", \"action_class\": \"modify\", \"target_type\": \"host\", \"target_ref\": \"t%1$s\"}}]}}', i)) ->> 'execution_id')::uuid, 'no');
             commit;
           end loop;
         end $$"
    );
    run(&c, &past).await;
    let open = ask(&c, &plan("t7", &["a modify"])).await.execution;
    run(&c, "analyze tenure.executions, tenure.steps").await;
    let (found, touched) = measured(&c, async || listed(&c, "p_target => 'host:t7'").await).await;
    assert_eq!(found.len(), 1);
    let (other, _) = measured(&c, async || listed(&c, "p_target => 'host:t7 a'").await).await;
    assert_eq!(other, [open]);
    for table in ["executions", "steps"] {
        let (read, _) = touched.get(table).copied().unwrap_or_default();
        assert!(read <= ROWS_MAX, "{read} rows of {table}");
    }
}

/// Of a target with a long history the newest are found without going through all of it.
#[tokio::test]
async fn executions_at_a_busy_target_are_listed_newest_first_and_page_by_page() {
    let (_db, c) = people().await;
    let busy = |purpose: &str| {
        let steps: Vec<_> = (0..LIST_ROWS_MAX / 2 + 1)
            .map(|n| json!({"id": format!("s{n}"), "action": "touch", "action_class": "read", "target_type": "host", "target_ref": "busy"}))
            .collect();
        json!({"purpose": purpose, "sla_class": "long", "steps": steps})
    };
    let first = id(&submit(&c, "eve", &busy("first"), "").await, "execution_id");
    let second = id(&submit(&c, "eve", &busy("second"), "").await, "execution_id");
    submit(&c, "eve", &plan("other", &["a read"]), "").await;
    for target in ["host:busy", "host:busy:touch"] {
        assert_eq!(listed(&c, &format!("p_target => '{target}'")).await, [second, first]);
        let page = format!("p_target => '{target}', p_before => '{second}'");
        assert_eq!(listed(&c, &page).await, [first]);
    }
    assert!(listed(&c, "p_target => 'host:busy:mend'").await.is_empty());
    let (_, touched) = measured(&c, async || listed(&c, "p_target => 'host:busy', p_limit => 1").await).await;
    let (read, _) = touched["steps"];
    assert!(read <= LIST_ROWS_MAX as i64 + ROWS_MAX, "{read} rows of steps");
}

/// What comes before another tenant's execution is nobody's business, nor whether there is one.
#[tokio::test]
async fn a_page_begins_only_at_an_execution_of_ones_own() {
    let (db, c) = people().await;
    let first = ask(&c, &plan("first", &["a modify"])).await.execution;
    let second = ask(&c, &plan("second", &["a modify"])).await.execution;
    assert_eq!(listed(&c, "").await, [second, first]);
    assert_eq!(listed(&c, &format!("p_before => '{second}'")).await, [first]);
    assert!(listed(&c, &format!("p_before => '{first}'")).await.is_empty());

    run(&c, "select tenure.tenant_create('beta')").await;
    let (_, beta) = db.login(&["tenure_requester"], "beta", None).await;
    run(&c, "begin; set local tenure.tenant = 'beta'; select tenure.gate_set('queue.job_substrate.enabled', 'open'); commit").await;
    let text = plan("theirs", &["a modify"]).to_string();
    let made: bool = get(&beta, "select tenure.execution_submit($1) ? 'execution_id'", &[&text]).await;
    assert!(made);
    let page = "select execution_id from tenure.execution_list(p_before => $1)";
    for foreign in [second, Uuid::nil()] {
        raised(try_rows(&beta, page, &[&foreign]).await, "execution_unknown");
    }
}

/// An answer said "running" and settled at once, made of two looks between which the last step ended.
#[tokio::test]
async fn whether_an_execution_is_settled_is_of_the_same_moment_as_its_state() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    let seen = async || -> (String, bool, bool) {
        let shown: Value = one(&c, "select tenure.execution_show($1)", &[&asked.execution]).await;
        let ended = rows(
            &c,
            "select from tenure.execution_ended(array[$1::uuid])",
            &[&asked.execution],
        )
        .await;
        let settled = shown["settled"].as_bool().expect("yes or no");
        (
            shown["state"].as_str().expect("a state").to_owned(),
            settled,
            !ended.is_empty(),
        )
    };
    assert_eq!(seen().await, ("awaiting_approval".to_owned(), true, true));
    decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(seen().await, ("running".to_owned(), false, false));
    work_all(&c).await;
    assert_eq!(seen().await, ("succeeded".to_owned(), true, true));
}
