//! Events make jobs, once each.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::fixture::{
    Db, claim, enqueue, enqueue_with, get, one, raised, refused, rows, run, state, try_rows, until, verb,
};

/// Subscribes, from the start of the stream.
pub(crate) async fn subscribe(c: &Client, name: &str, kinds: &str, target: &str, more: &str) -> Value {
    let sql = format!("select tenure.subscription_create($1, array[{kinds}], $2, p_from => 'start'{more})");
    let made = one(c, &sql, &[&name, &target]).await;
    assert_eq!(made["name"], name, "{made}");
    made
}

/// One column of a subscription, as text.
pub(crate) async fn told(c: &Client, name: &str, column: &str) -> Option<String> {
    let sql = format!("select {column}::text from tenure.subscription_list() where name = $1");
    get(c, &sql, &[&name]).await
}

/// Lets subscriptions work until there are so many jobs of this kind: open transactions of other tests hold the stream back.
async fn until_made(c: &Client, kind: &str, jobs: i64) {
    let sql =
        "select tenure.subscription_run() is not null and (select count(*) = $2 from tenure.jobs where kind = $1)";
    until(c, sql, &[&kind, &jobs], &format!("{jobs} jobs of kind {kind}")).await;
}

/// Lets subscriptions work until this one has looked at all there is.
async fn until_caught_up(c: &Client, name: &str) {
    let sql = "select tenure.subscription_run() is not null
                  and not exists (select from tenure.events e, tenure.subscriptions s
                                   where s.name = $1 and e.tenant_id = s.tenant_id and (e.epoch, e.txid, e.seq) > (s.epoch, s.txid, s.seq)
                                     and tenure.is_kind_of(e.kind, '{*}'))";
    until(c, sql, &[&name], &format!("{name} has seen everything")).await;
}

/// Proves: S136.
#[tokio::test]
async fn an_event_makes_one_job_that_names_its_cause() {
    let db = Db::open().await;
    let c = db.client().await;
    let more = ", p_job_kind => 'repair', p_priority => 50, p_filter => '{\"job_kind\": \"report\"}'";
    subscribe(&c, "after failures", "'job.dead_lettered'", "job", more).await;
    enqueue(&c, "other").await;
    let (other, failed) = (claim(&c, "w").await, enqueue(&c, "report").await);
    verb(&c, "job_fail", &other, ", 'boom', 'permanent'").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_fail", &held, ", 'boom', 'permanent'").await;
    assert_eq!((held.job_id, state(&c, failed).await.as_str()), (failed, "dead_letter"));
    until_caught_up(&c, "after failures").await;
    let made = rows(&c, "select payload::text, parent_job_id, causation_event, priority, source_system, enqueued_by, on_behalf_of from tenure.jobs where kind = 'repair'", &[]).await;
    assert_eq!(made.len(), 1);
    let payload: Value = serde_json::from_str(made[0].get(0)).expect("JSON");
    assert_eq!(payload["subscription"], "after failures");
    let about = &payload["event"];
    assert_eq!(about["kind"], "job.dead_lettered");
    assert_eq!(about["job_id"], failed.to_string());
    assert_eq!((&about["job_kind"], &about["run"]), (&json!("report"), &json!(1)));
    assert_eq!(made[0].get::<_, Option<uuid::Uuid>>(1), Some(failed));
    let cause: i64 = get(
        &c,
        "select seq from tenure.events where kind = 'job.dead_lettered' and job_ids[1] = $1",
        &[&failed],
    )
    .await;
    assert_eq!(made[0].get::<_, Option<i64>>(2), Some(cause));
    assert_eq!(made[0].get::<_, i16>(3), 50);
    assert_eq!(made[0].get::<_, String>(4), "tenure.subscription");
    assert_eq!(made[0].get::<_, String>(5), "subscription after failures");
    assert_eq!(
        made[0].get::<_, Option<String>>(6),
        told(&c, "after failures", "created_by").await
    );
    assert_eq!(told(&c, "after failures", "matched").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn racing_servers_and_undone_transactions_make_each_job_once() {
    let db = Db::open().await;
    let c = db.client().await;
    subscribe(
        &c,
        "echo",
        "'job.enqueued'",
        "job",
        ", p_job_kind => 'echo', p_filter => '{\"job_kind\": \"word\"}'",
    )
    .await;
    get::<i32>(&c, "select tenure.lane_open('word')", &[]).await;
    // It begins first, and ends last: whoever reads by bare sequence would pass it over.
    let late = db.direct().await;
    run(&late, "begin; select tenure.job_enqueue('word')").await;
    let undone = db.direct().await;
    enqueue(&c, "word").await;
    run(&undone, "begin; select tenure.subscription_run(); rollback").await;
    let mut racers = Vec::new();
    for _ in 0..4 {
        let (racer, writer) = (db.direct().await, db.direct().await);
        racers.push(tokio::spawn(async move {
            for _ in 0..20 {
                rows(
                    &writer,
                    "select tenure.job_enqueue_many(array['word', 'word', 'word'])",
                    &[],
                )
                .await;
                rows(&racer, "select tenure.subscription_run()", &[]).await;
            }
        }));
    }
    for racer in racers {
        racer.await.expect("no panic");
    }
    run(&late, "commit").await;
    until_made(&c, "echo", 242).await;
    until_caught_up(&c, "echo").await;
    let each = "select count(*) = 242 and count(distinct payload ->> 'event') = 242 and count(distinct parent_job_id) = 242 from tenure.jobs where kind = 'echo'";
    assert!(get::<bool>(&c, each, &[]).await, "one for each");
}

#[tokio::test]
async fn a_loop_of_subscriptions_ends_at_its_depth() {
    let db = Db::open().await;
    let c = db.client().await;
    subscribe(
        &c,
        "loop",
        "'job.enqueued'",
        "job",
        ", p_job_kind => 'again', p_depth_max => 3",
    )
    .await;
    enqueue(&c, "first").await;
    until_made(&c, "again", 3).await;
    until_caught_up(&c, "loop").await;
    assert_eq!(told(&c, "loop", "skipped").await.as_deref(), Some("1"));
    assert_eq!(told(&c, "loop", "matched").await.as_deref(), Some("4"));
    assert_eq!(
        get::<i64>(&c, "select count(*) from tenure.jobs where kind = 'again'", &[]).await,
        3
    );
    let event = "select data from tenure.events where kind = 'subscription.skipped' and subject = 'loop'";
    let data: Value = get(&c, event, &[]).await;
    assert_eq!((&data["why"], &data["count"]), (&json!("depth"), &json!(1)));
}

/// A handler that makes a job by itself is a step of the same loop.
#[tokio::test]
async fn a_loop_through_a_handler_ends_at_its_depth() {
    let db = Db::open().await;
    let c = db.client().await;
    let more = ", p_job_kind => 'a', p_depth_max => 2, p_filter => '{\"job_kind\": \"b\"}'";
    subscribe(&c, "loop", "'job.enqueued'", "job", more).await;
    let mut parent = enqueue(&c, "b").await;
    for jobs in 1..=2 {
        until_made(&c, "a", jobs).await;
        let newest = "select job_id from tenure.jobs where kind = 'a' order by job_id desc limit 1";
        parent = get(&c, newest, &[]).await;
        parent = enqueue_with(&c, "b", &format!(", p_parent_job_id => '{parent}'")).await;
    }
    until_caught_up(&c, "loop").await;
    assert_eq!(told(&c, "loop", "skipped").await.as_deref(), Some("1"), "{parent}");
    assert_eq!(
        get::<i64>(&c, "select count(*) from tenure.jobs where kind = 'a'", &[]).await,
        2
    );
}

/// Going back makes nothing twice that is not finished yet.
#[tokio::test]
async fn who_goes_back_meets_what_is_not_finished_yet() {
    let db = Db::open().await;
    let c = db.client().await;
    let more = ", p_job_kind => 'echo', p_filter => '{\"job_kind\": \"word\"}'";
    subscribe(&c, "echo", "'job.enqueued'", "job", more).await;
    enqueue(&c, "word").await;
    until_made(&c, "echo", 1).await;
    one(&c, "select tenure.subscription_resume('echo', 'start')", &[]).await;
    until(
        &c,
        "select coalesce(tenure.subscription_run() ->> 'made' = '0', false)",
        &[],
        "the second time",
    )
    .await;
    until_caught_up(&c, "echo").await;
    assert_eq!(
        get::<i64>(&c, "select count(*) from tenure.jobs where kind = 'echo'", &[]).await,
        1
    );
}

#[tokio::test]
async fn a_paused_subscription_stands_and_goes_on_where_it_stood() {
    let db = Db::open().await;
    let c = db.client().await;
    subscribe(
        &c,
        "echo",
        "'job.enqueued'",
        "job",
        ", p_job_kind => 'echo', p_filter => '{\"job_kind\": \"word\"}'",
    )
    .await;
    one(&c, "select tenure.subscription_pause('echo', 'for a while')", &[]).await;
    enqueue(&c, "word").await;
    assert_eq!(one(&c, "select tenure.subscription_run()", &[]).await, json!({}));
    assert_eq!(told(&c, "echo", "pause_note").await.as_deref(), Some("for a while"));
    assert_eq!(told(&c, "echo", "state").await.as_deref(), Some("paused"));
    one(&c, "select tenure.subscription_resume('echo')", &[]).await;
    until_made(&c, "echo", 1).await;
    // Moved on by hand: what lies between is passed over.
    one(&c, "select tenure.subscription_pause('echo')", &[]).await;
    enqueue(&c, "word").await;
    until(
        &c,
        "select count(*) = 2 from tenure.event_list(p_kind => 'job.enqueued') where job_kind = 'word'",
        &[],
        "the stream",
    )
    .await;
    one(&c, "select tenure.subscription_resume('echo', 'now')", &[]).await;
    enqueue(&c, "word").await;
    until_made(&c, "echo", 2).await;
    until_caught_up(&c, "echo").await;
    assert_eq!(told(&c, "echo", "matched").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn work_that_is_refused_is_tried_again_and_nothing_is_passed_over() {
    let db = Db::open().await;
    let c = db.client().await;
    let good = ", p_job_kind => 'good', p_filter => '{\"job_kind\": \"word\"}'";
    subscribe(
        &c,
        "bad",
        "'job.enqueued'",
        "job",
        ", p_job_kind => 'bad', p_filter => '{\"job_kind\": \"word\"}'",
    )
    .await;
    subscribe(&c, "good", "'job.enqueued'", "job", good).await;
    enqueue(&c, "word").await;
    for kind in ["word", "good"] {
        one(&c, "select tenure.kind_set($1, '{}')", &[&kind]).await;
    }
    one(&c, "select tenure.config_set('queue.kind.strict', 'true')", &[]).await;
    until_made(&c, "good", 1).await;
    let failing = "select tenure.subscription_run() is not null and exists (select from tenure.subscription_list() where name = 'bad' and state = 'failing' and error_code = 'kind_unknown')";
    until(&c, failing, &[], "its trouble").await;
    assert_eq!(told(&c, "bad", "matched").await.as_deref(), Some("0"));
    until(
        &c,
        "select count(*) = 1 from tenure.events where kind = 'subscription.failing' and subject = 'bad'",
        &[],
        "its event",
    )
    .await;
    one(&c, "select tenure.kind_set('bad', '{}')", &[]).await;
    db.advance("10 minutes").await;
    until_made(&c, "bad", 1).await;
    assert_eq!(told(&c, "bad", "state").await.as_deref(), Some("active"));
}

#[tokio::test]
async fn a_closed_gate_holds_subscriptions_back() {
    let db = Db::open().await;
    let c = db.client().await;
    subscribe(
        &c,
        "echo",
        "'job.enqueued'",
        "job",
        ", p_job_kind => 'echo', p_filter => '{\"job_kind\": \"word\"}'",
    )
    .await;
    enqueue(&c, "word").await;
    one(
        &c,
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        &[],
    )
    .await;
    assert_eq!(one(&c, "select tenure.subscription_run()", &[]).await, json!({}));
    one(&c, "select tenure.gate_set('queue.job_substrate.enabled', 'open')", &[]).await;
    until_made(&c, "echo", 1).await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    let create = async |arguments: &str| one(&c, &format!("select tenure.subscription_create({arguments})"), &[]).await;
    for (arguments, code) in [
        ("' ', array['job.*'], 'reader'", "name_blank"),
        ("'x', array['job.*'], 'letter'", "value_unknown"),
        ("'x', array[]::text[], 'reader'", "number_out_of_range"),
        ("'x', array['job'], 'reader'", "value_unknown"),
        ("'x', array['job.*', null], 'reader'", "value_unknown"),
        ("'x', array['subscription.*'], 'reader'", "value_unknown"),
        ("'x', array['delivery.dead'], 'reader'", "value_unknown"),
        ("'x', array['*'], 'reader', '[]'", "payload_not_object"),
        ("'x', array['*'], 'reader', '{\"colour\": \"red\"}'", "value_unknown"),
        ("'x', array['*'], 'reader', '{\"actor\": 7}'", "text_invalid"),
        ("'x', array['*'], 'reader', '{\"data\": \"x\"}'", "text_invalid"),
        ("'x', array['*'], 'reader', p_from => 'yesterday'", "cursor_invalid"),
        ("'x', array['*'], 'job'", "arguments_mismatched"),
        ("'x', array['*'], 'reader', p_job_kind => 'y'", "arguments_mismatched"),
        ("'x', array['*'], 'reader', p_priority => 1", "arguments_mismatched"),
        ("'x', array['*'], 'webhook'", "arguments_mismatched"),
        ("'x', array['*'], 'job', p_job_kind => ' '", "name_blank"),
        (
            "'x', array['*'], 'job', p_job_kind => 'y', p_executor => 'nobody'",
            "executor_unknown",
        ),
        (
            "'x', array['*'], 'job', p_job_kind => 'y', p_depth_max => 65",
            "number_out_of_range",
        ),
        (
            "'x', array['*'], 'job', p_job_kind => 'y', p_priority => 40000",
            "number_out_of_range",
        ),
        (
            "'x', array['*'], 'webhook', p_url => 'ftp://example.org'",
            "text_invalid",
        ),
        (
            "'x', array['*'], 'webhook', p_url => 'https://me:word@example.org/'",
            "text_invalid",
        ),
        ("'x', array['*'], 'webhook', p_url => 'https:///path'", "text_invalid"),
        (
            "'x', array['*'], 'webhook', p_url => 'https://example.org/ a'",
            "text_invalid",
        ),
    ] {
        refused(&create(arguments).await, code);
    }
    for url in ["https://bücher.example/in", "https://example.org/a b"] {
        let answer = create(&format!("'x', array['*'], 'webhook', p_url => '{url}'")).await;
        let next = answer["next"].as_str().unwrap_or_default();
        assert!(next.contains("punycode") && next.contains("%20"), "{answer}");
    }
    subscribe(&c, "x", "'*'", "reader", "").await;
    refused(&create("'x', array['*'], 'reader'").await, "subscription_exists");
    subscribe(&c, "y", "'*'", "job", ", p_job_kind => 'z'").await;
    refused(
        &one(&c, "select tenure.subscription_ack('y', '1.1.1')", &[]).await,
        "state_conflict",
    );
    raised(
        try_rows(&c, "select tenure.subscription_read('y')", &[]).await,
        "state_conflict",
    );
    for verb in ["pause", "resume", "rotate", "delete"] {
        let answer = one(&c, &format!("select tenure.subscription_{verb}('nothing')"), &[]).await;
        refused(&answer, "subscription_unknown");
    }
    refused(
        &one(&c, "select tenure.subscription_rotate('x')", &[]).await,
        "state_conflict",
    );
    one(&c, "select tenure.subscription_delete('x')", &[]).await;
    raised(
        try_rows(&c, "select tenure.subscription_read('x')", &[]).await,
        "subscription_unknown",
    );
}

#[tokio::test]
async fn who_subscribes_must_be_allowed_to_enqueue_just_that() {
    let db = Db::open().await;
    let c = db.client().await;
    let (_, bound) = db
        .login(&["tenure_operator"], "default", Some(&["external_worker"]))
        .await;
    let job = |executor: &str| {
        format!(
            "select tenure.subscription_create('to {executor}', array['*'], 'job', p_job_kind => 'x', p_executor => '{executor}')"
        )
    };
    refused(&one(&bound, &job("Agent"), &[]).await, "executor_not_driven");
    assert_eq!(
        one(&bound, &job("external_worker"), &[]).await["name"],
        "to external_worker"
    );
    let (_, producer) = db.login(&["tenure_producer"], "default", None).await;
    assert!(try_rows(&producer, &job("external_worker"), &[]).await.is_err());
    enqueue_with(&c, "x", "").await;
}
