//! Kinds of which only plans make jobs, and the right to submit plans.

use serde_json::{Value, json};
use tenure::{NewJob, enqueue_in, enqueue_many_in};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::approvals_scene::{act, id, people, plan, submit, work_all};
use crate::fixture::{
    Db, check_invariants, claim, enqueue, enqueue_with, get, one, raised, refused, rows, try_rows, until, verb,
};
use crate::schedules_scene::{look, look_after, on_the_hour, schedule, slots};
use crate::subscriptions::{subscribe, told};
use crate::worker_scene::pool;

const CODE: &str = "kind_only_by_plan";

/// Sets or clears the policy.
pub(crate) async fn govern(c: &Client, kind: &str, only_by_plan: bool) -> Value {
    let policy = json!({"only_by_plan": only_by_plan});
    let set = one(c, "select tenure.kind_set($1, $2)", &[&kind, &policy]).await;
    assert_eq!(set["only_by_plan"], only_by_plan, "{set}");
    set
}

/// A plan of one step of this kind that reads.
pub(crate) fn reading(purpose: &str, kind: &str) -> Value {
    let mut plan = plan(purpose, &["a read"]);
    plan["steps"][0]["kind"] = kind.into();
    plan
}

/// Asserts that the database itself refuses: the login has no right to call that.
async fn no_right(client: &Client, sql: &str) {
    let error = try_rows(client, sql, &[]).await.expect_err(sql);
    assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}: {error}");
}

async fn jobs(c: &Client) -> i64 {
    get(c, "select count(*) from tenure.jobs", &[]).await
}

/// Every function that enqueues, in every shape that takes another way through it.
fn enqueues() -> Vec<String> {
    let own = Uuid::now_v7();
    let one = [
        "",
        ", p_key => 'k'",
        ", p_executor => 'DOT'",
        ", p_due => now() + interval '1 day'",
    ];
    let many = [
        "array['deploy']".to_owned(),
        "array['deploy', 'deploy'], array['{}', '{}']::json[], array['k', 'l']".to_owned(),
        "array['free', 'deploy']".to_owned(),
        "array['deploy', 'free'], p_executors => array['DOT', null]".to_owned(),
        "array['deploy', 'deploy'], p_priorities => array[1, 2]".to_owned(),
        format!("array['deploy'], p_job_ids => array['{own}'::uuid]"),
    ];
    let one = one.iter().flat_map(|more| {
        ["job_enqueue", "try_job_enqueue"].map(|name| format!("select tenure.{name}('deploy'{more})"))
    });
    let plain = [
        "select * from tenure.job_enqueue_plain('deploy', '{}', null)".to_owned(),
        "select * from tenure.job_enqueue_plain('deploy', null, 'k', true)".to_owned(),
    ];
    let many = many.map(|arguments| format!("select * from tenure.job_enqueue_many({arguments})"));
    one.chain(plain).chain(many).collect()
}

#[tokio::test]
async fn no_form_of_enqueue_makes_a_job_of_a_governed_kind() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "free").await;
    let (_, producer) = db.login(&["tenure_producer"], "default", None).await;
    let (_, worker) = db
        .login(&["tenure_worker"], "default", Some(&["DOT", "external_worker"]))
        .await;
    let (_, operator) = db.login(&["tenure_operator"], "default", None).await;
    let (_, admin) = db.login(&["tenure_admin"], "default", None).await;
    let (_, both) = db
        .login(&["tenure_requester", "tenure_producer"], "default", None)
        .await;
    let everyone = [&c, &producer, &worker, &operator, &admin, &both];
    // Before its lane is there, and after.
    for lane in [false, true] {
        if lane {
            govern(&c, "deploy", false).await;
            let job = enqueue_with(&c, "deploy", ", p_executor => 'DOT'").await;
            let other = enqueue(&c, "deploy").await;
            for job in [job, other] {
                one(&c, "select tenure.job_cancel($1, 'only for its lane')", &[&job]).await;
            }
        }
        govern(&c, "deploy", true).await;
        let before = jobs(&c).await;
        for client in everyone {
            for sql in enqueues() {
                let outcome = try_rows(client, &sql, &[]).await;
                if sql.contains("try_") {
                    let answer: Value = outcome.expect("an answer")[0].get(0);
                    refused(&answer, CODE);
                } else {
                    let said = raised(outcome, CODE);
                    assert!(said.contains("deploy") && said.contains("execution_submit"), "{said}");
                }
            }
        }
        assert_eq!(jobs(&c).await, before);
    }
    let (_, requester) = db.login(&["tenure_requester"], "default", None).await;
    for sql in enqueues() {
        no_right(&requester, &sql).await;
    }
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_program_enqueues_no_governed_kind_alone_in_a_batch_or_in_its_transaction() {
    let db = Db::open().await;
    let mut c = db.client().await;
    govern(&c, "deploy", true).await;
    let program = tenure::Client::new(pool(&db));
    let job = || NewJob::new("deploy");
    let code = tenure_core::codes::KIND_ONLY_BY_PLAN;
    assert!(program.enqueue(&job()).await.expect_err("refused").is(code));
    assert!(
        program
            .enqueue_many(&[job(), job()])
            .await
            .expect_err("refused")
            .is(code)
    );
    for many in [false, true] {
        let transaction = c.transaction().await.expect("a transaction");
        let said = if many {
            enqueue_many_in(&transaction, &[job()])
                .await
                .map(|_| ())
                .expect_err("refused")
        } else {
            enqueue_in(&transaction, &job()).await.map(|_| ()).expect_err("refused")
        };
        assert!(said.is(code), "{said}");
    }
    assert_eq!(jobs(&c).await, 0);
}

#[tokio::test]
async fn schedules_and_subscriptions_make_no_job_of_a_governed_kind() {
    let (db, mut c) = on_the_hour().await;
    schedule(&c, "old", json!({"cron": "*/10 * * * *", "kind": "deploy"})).await;
    subscribe(&c, "old", "'kind.governed'", "job", ", p_job_kind => 'deploy'").await;
    look(&mut c).await;
    govern(&c, "deploy", true).await;
    let before = jobs(&c).await;
    look_after(&db, &mut c, "10 minutes").await;
    assert_eq!(slots(&c, "old").await[0], format!("10 skipped refused {CODE}"));
    until(
        &c,
        "select tenure.subscription_run() is not null and exists (
           select from tenure.subscription_list() where name = 'old' and state = 'failing')",
        &[],
        "the subscription to say why",
    )
    .await;
    assert_eq!(told(&c, "old", "error_code").await.as_deref(), Some(CODE));
    for sql in [
        r#"schedule_create('new', '{"every_seconds": 60, "kind": "deploy"}')"#,
        r#"schedule_put('new', '{"every_seconds": 60, "kind": "deploy"}')"#,
        r#"schedule_update('old', '{"description": "x"}')"#,
        "schedule_run('old')",
        "subscription_create('new', array['job.*'], 'job', p_job_kind => 'deploy')",
    ] {
        refused(&one(&c, &format!("select tenure.{sql}"), &[]).await, CODE);
    }
    let backfill = "select * from tenure.schedule_backfill('old', array[date_trunc('hour', tenure.now())], 'apply')";
    raised(try_rows(&c, backfill, &[]).await, CODE);
    assert_eq!(jobs(&c).await, before);
    // Both can be taken away.
    one(&c, "select tenure.schedule_delete('old')", &[]).await;
    one(&c, "select tenure.subscription_delete('old')", &[]).await;
    check_invariants(&c).await;
}

#[tokio::test]
async fn what_was_enqueued_before_stays_and_is_not_repeated_by_hand() {
    let (_db, c) = people().await;
    one(
        &c,
        r#"select tenure.kind_set('deploy', '{"on_exhausted": "fail"}')"#,
        &[],
    )
    .await;
    let failed = enqueue(&c, "deploy").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_fail", &held, ", 'boom', 'permanent'").await;
    one(&c, r#"select tenure.kind_set('deploy', '{"on_exhausted": null}')"#, &[]).await;
    enqueue(&c, "deploy").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_fail", &held, ", 'boom', 'permanent'").await;
    let letter: Uuid = get(&c, "select dead_letter_id from tenure.dead_letters", &[]).await;
    one(&c, "select tenure.dead_letter_triage($1, 'manual_replay')", &[&letter]).await;
    let later = enqueue_with(&c, "deploy", ", p_due => tenure.now() + interval '1 day'").await;
    let waiting = enqueue(&c, "deploy").await;

    govern(&c, "deploy", true).await;
    let shown = one(&c, "select tenure.kind_show('deploy')", &[]).await;
    assert_eq!(shown["waiting_without_plan"], 2, "{shown}");
    for job in [failed, later, waiting] {
        refused(&one(&c, "select tenure.job_retry($1)", &[&job]).await, CODE);
    }
    let preview = one(&c, "select tenure.dead_letter_replay_preview($1)", &[&letter]).await;
    assert_eq!(preview["may_replay"], false, "{preview}");
    refused(&one(&c, "select tenure.dead_letter_replay($1)", &[&letter]).await, CODE);
    // It runs, and is tried again by itself.
    let held = claim(&c, "w").await;
    assert_eq!(held.job_id, waiting);
    let ended = verb(&c, "job_fail", &held, ", 'boom'").await;
    assert_eq!(ended["state"], "retry_waiting", "{ended}");

    // The step of a plan that waits is moved up as any waiting job.
    submit(&c, "eve", &reading("look", "deploy"), "").await;
    let step: Uuid = get(&c, "select job_id from tenure.step_rows", &[]).await;
    let moved = one(&c, "select tenure.job_retry($1)", &[&step]).await;
    assert_eq!(moved["state"], "queued", "{moved}");
    let shown = one(&c, "select tenure.kind_show('deploy')", &[]).await;
    assert_eq!(shown["waiting_without_plan"], 2, "a step comes from a plan: {shown}");

    govern(&c, "deploy", false).await;
    let replayed = one(&c, "select tenure.dead_letter_replay($1)", &[&letter]).await;
    assert_eq!(replayed["state"], "queued", "{replayed}");
    let retried = one(&c, "select tenure.job_retry($1)", &[&failed]).await;
    assert_eq!(retried["state"], "queued", "{retried}");
    check_invariants(&c).await;
}

#[tokio::test]
async fn governing_a_kind_is_an_admins_act_with_an_event() {
    let (db, c) = people().await;
    let (_, operator) = db
        .login(&["tenure_operator", "tenure_requester"], "default", None)
        .await;
    no_right(
        &operator,
        r#"select tenure.kind_set('deploy', '{"only_by_plan": true}')"#,
    )
    .await;
    let set = async |who: &str, value: &str| {
        act(&c, who).await;
        let sql = format!(r#"select tenure.kind_set('deploy', '{{"only_by_plan": {value}}}')"#);
        one(&c, &sql, &[]).await
    };
    refused(&set("bot", "true").await, "not_permitted");
    for wrong in ["1", "\"yes\"", "[]"] {
        refused(&set("pam", wrong).await, "value_unknown");
    }
    assert_eq!(set("pam", "true").await["only_by_plan"], true);
    for clearing in ["false", "null"] {
        refused(&set("bot", clearing).await, "not_permitted");
    }
    // Other fields are an agent's to set, and nothing else changes this one.
    act(&c, "bot").await;
    let other = one(&c, r#"select tenure.kind_set('deploy', '{"attempts_max": 2}')"#, &[]).await;
    assert_eq!(other["only_by_plan"], true, "{other}");
    assert_eq!(set("pam", "true").await["only_by_plan"], true);
    assert_eq!(set("ada", "null").await["only_by_plan"], false);
    let events: Vec<(String, String, Value)> = rows(
        &c,
        "select kind, actor, data from tenure.events where kind in ('kind.governed', 'kind.ungoverned') order by seq",
        &[],
    )
    .await
    .iter()
    .map(|row| (row.get(0), row.get(1), row.get(2)))
    .collect();
    let data = |only: bool| json!({"kind": "deploy", "only_by_plan": only});
    assert_eq!(
        events,
        [
            ("kind.governed".to_owned(), "pam".to_owned(), data(true)),
            ("kind.ungoverned".to_owned(), "ada".to_owned(), data(false)),
        ]
    );
    let listed: bool = get(
        &c,
        "select only_by_plan from tenure.kind_list() where kind = 'deploy'",
        &[],
    )
    .await;
    assert!(!listed);
}

#[tokio::test]
async fn submitting_is_a_right_of_its_own() {
    let db = Db::open().await;
    let c = db.client().await;
    govern(&c, "deploy", true).await;
    let text = |purpose: &str| reading(purpose, "deploy").to_string().replace('\'', "''");
    for roles in [
        &["tenure_producer"][..],
        &["tenure_worker"],
        &["tenure_producer", "tenure_worker"],
        &["tenure_viewer"],
    ] {
        let (_, client) = db.login(roles, "default", Some(&["external_worker"])).await;
        no_right(&client, &format!("select tenure.execution_submit('{}')", text("no"))).await;
    }
    let mut made = 0;
    for role in ["tenure_requester", "tenure_operator", "tenure_admin"] {
        // What a login drives does not matter for a plan.
        let (_, client) = db.login(&[role], "default", Some(&["DOT"])).await;
        let preview = one(&client, "select tenure.execution_preview($1)", &[&text(role)]).await;
        assert_eq!(preview["approval_level"], 0, "{preview}");
        let answer = one(&client, "select tenure.execution_submit($1)", &[&text(role)]).await;
        assert_eq!(answer["state"], "running", "{role}: {answer}");
        made += 1;
    }
    assert_eq!(jobs(&c).await, made);
    work_all(&c).await;
    // A binding to kinds narrows plans too.
    let (login, bound) = db.login(&["tenure_requester"], "default", None).await;
    one(&c, "select tenure.login_bind($1, p_kinds => array['look'])", &[&login]).await;
    for call in ["execution_preview", "execution_submit"] {
        let said = one(&bound, &format!("select tenure.{call}($1)"), &[&text("bound")]).await;
        refused(&said, "kind_not_allowed");
    }
    let look = reading("look", "look").to_string();
    let answer = one(&bound, "select tenure.execution_submit($1)", &[&look]).await;
    assert_eq!(answer["state"], "running", "{answer}");
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_requester_retries_and_withdraws_only_their_own() {
    let db = Db::open().await;
    let (_, ann) = db.login(&["tenure_requester"], "default", None).await;
    let (_, bob) = db.login(&["tenure_requester"], "default", None).await;
    let asked = plan("change", &["a modify"]);
    let made = one(&ann, "select tenure.execution_submit($1)", &[&asked.to_string()]).await;
    assert_eq!(made["state"], "awaiting_approval", "{made}");
    let waiting = id(&made, "execution_id");
    let withdraw = "select tenure.execution_withdraw($1, 'no')";
    refused(&one(&bob, withdraw, &[&waiting]).await, "not_permitted");
    assert_eq!(one(&ann, withdraw, &[&waiting]).await["state"], "cancelled");
    refused(
        &one(&bob, "select tenure.execution_retry($1)", &[&waiting]).await,
        "not_permitted",
    );
    let again = one(&ann, "select tenure.execution_retry($1)", &[&waiting]).await;
    assert_eq!(
        again["state"], "awaiting_approval",
        "under an approval of its own: {again}"
    );
    no_right(&ann, &format!("select tenure.execution_cancel('{waiting}', 'no')")).await;
}
