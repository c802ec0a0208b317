//! What is on its way to a webhook: at least once, in order per subject, dead after the last attempt.

use serde_json::Value;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, enqueue, get, one, raised, refused, rows, try_rows, until};

/// Subscribes a webhook to all that happens to jobs, from the start.
async fn hook(c: &Client) -> Value {
    let sql = "select tenure.subscription_create('hook', array['job.*'], 'webhook', p_from => 'start', p_url => 'https://example.org/in')";
    one(c, sql, &[]).await
}

/// Lets the subscription work until so many deliveries were put in line.
async fn until_lined_up(c: &Client, deliveries: i64) {
    let sql = "select tenure.subscription_run() is not null and (select count(*) = $1 from tenure.deliveries)";
    until(c, sql, &[&deliveries], "deliveries").await;
}

/// What is due now: id, attempt and subject of each.
async fn due(c: &Client) -> Vec<(Uuid, i32, String)> {
    let sql = "select x.delivery_id, x.attempt, d.subject || ' ' || d.event_kind from tenure.delivery_claim() x join tenure.deliveries d using (delivery_id) order by d.place";
    rows(c, sql, &[])
        .await
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

/// Says how an attempt went.
async fn end(c: &Client, id: Uuid, attempt: i32, status: Option<i32>) -> i32 {
    let sql =
        "select tenure.delivery_end(array[$1], array[$2], array[$3], array[case when $3 is null then 'no route' end])";
    get(c, sql, &[&id, &attempt, &status]).await
}

#[tokio::test]
async fn what_is_about_one_subject_goes_out_in_order_and_subjects_do_not_wait_for_each_other() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    let (a, b) = (enqueue(&c, "a").await, enqueue(&c, "b").await);
    for job in [a, b] {
        one(&c, "select tenure.job_cancel($1, 'never mind')", &[&job]).await;
    }
    until_lined_up(&c, 4).await;
    let first = due(&c).await;
    let named = |list: &[(Uuid, i32, String)]| list.iter().map(|it| it.2.clone()).collect::<Vec<_>>();
    assert_eq!(
        named(&first),
        [format!("{a} job.enqueued"), format!("{b} job.enqueued")]
    );
    assert!(due(&c).await.is_empty(), "somebody has them");
    assert_eq!(end(&c, first[1].0, 1, Some(204)).await, 1);
    assert_eq!(end(&c, first[0].0, 1, Some(503)).await, 1);
    let second = due(&c).await;
    assert_eq!(
        named(&second),
        [format!("{b} job.cancelled")],
        "the other waits for its turn"
    );
    db.advance("10 seconds").await;
    let again = due(&c).await;
    assert_eq!((again[0].0, again[0].1), (first[0].0, 2));
    assert_eq!(again.len(), 1);
    assert_eq!(end(&c, again[0].0, 1, Some(200)).await, 0, "that attempt is over");
    assert_eq!(end(&c, again[0].0, 2, Some(200)).await, 1);
    assert_eq!(named(&due(&c).await), [format!("{a} job.cancelled")]);
}

#[tokio::test]
async fn who_adds_to_a_line_while_its_head_ends_leaves_nobody_behind() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    let job = enqueue(&c, "a").await;
    until_lined_up(&c, 1).await;
    let head = due(&c).await;
    one(&c, "select tenure.job_cancel($1, 'never mind')", &[&job]).await;
    until(
        &c,
        "select count(*) = 2 from tenure.event_list(p_kind => 'job.*')",
        &[],
        "the stream",
    )
    .await;
    let other = db.direct().await;
    rows(&other, "begin", &[]).await;
    assert_eq!(one(&other, "select tenure.subscription_run()", &[]).await["made"], 1);
    let ending = tokio::spawn({
        let (ender, id) = (db.direct().await, head[0].0);
        async move { end(&ender, id, 1, Some(200)).await }
    });
    crate::fixture::until_blocked(&c, "delivery_end").await;
    rows(&other, "commit", &[]).await;
    assert_eq!(ending.await.expect("no panic"), 1);
    assert_eq!(due(&c).await.len(), 1, "the one that was added is the next");
}

/// Each receiver has one under way before any has two, and one that takes nothing has no more than one.
#[tokio::test]
async fn slow_receivers_keep_nobody_else_waiting() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    for _ in 0..20 {
        enqueue(&c, "a").await;
    }
    until_lined_up(&c, 20).await;
    one(
        &c,
        "select tenure.subscription_create('quick', array['job.*'], 'webhook', p_url => 'https://example.com/in')",
        &[],
    )
    .await;
    enqueue(&c, "a").await;
    until_lined_up(&c, 22).await;
    let two = "select string_agg(subscription, ', ' order by subscription) from tenure.delivery_claim(2)";
    assert_eq!(get::<String>(&c, two, &[]).await, "hook, quick");
    let (left, right) = (db.direct().await, db.direct().await);
    let claim = "select count(*) from tenure.delivery_claim(100) where subscription = 'hook'";
    let (some, others) = tokio::join!(get::<i64>(&left, claim, &[]), get::<i64>(&right, claim, &[]));
    assert_eq!(some + others, 7, "eight at once, whoever sends them");
    let sent = "select tenure.delivery_end(array_agg(delivery_id), array_agg(attempts::integer), array_agg(null::integer), array_agg('no route'::text))
                  from tenure.deliveries where leased_until is not null and subscription_id = 1";
    assert_eq!(get::<i32>(&c, sent, &[]).await, 8);
    assert_eq!(get::<i64>(&c, claim, &[]).await, 1, "it takes nothing: one at a time");
    let state = "select state || ' ' || failures from tenure.subscription_list() where name = 'hook'";
    assert_eq!(get::<String>(&c, state, &[]).await, "failing 8");
}

#[tokio::test]
async fn what_a_url_hides_is_for_those_who_operate() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    let url = "select url from tenure.subscription_list()";
    assert_eq!(get::<String>(&viewer, url, &[]).await, "https://example.org");
    assert_eq!(get::<String>(&c, url, &[]).await, "https://example.org/in");
}

#[tokio::test]
async fn a_server_that_dies_while_sending_is_followed_by_another() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    enqueue(&c, "a").await;
    until_lined_up(&c, 1).await;
    let first = due(&c).await;
    db.advance("61 seconds").await;
    let second = due(&c).await;
    assert_eq!(
        (second[0].0, second[0].1),
        (first[0].0, 2),
        "the same delivery, another attempt"
    );
    assert_eq!(
        end(&c, first[0].0, 1, Some(200)).await,
        0,
        "whoever was late says nothing any more"
    );
    assert_eq!(end(&c, second[0].0, 2, Some(200)).await, 1);
}

#[tokio::test]
async fn a_delivery_dies_after_its_last_attempt_and_can_be_sent_once_more() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    let job = enqueue(&c, "a").await;
    one(&c, "select tenure.job_cancel($1, 'never mind')", &[&job]).await;
    until_lined_up(&c, 2).await;
    let mut id = Uuid::nil();
    for attempt in 1..=10 {
        let now = due(&c).await;
        assert_eq!((now.len(), now[0].1), (1, attempt));
        id = now[0].0;
        end(&c, id, attempt, None).await;
        db.advance("27 hours").await;
    }
    let listed = rows(
        &c,
        "select state, attempts, error, delivery_id from tenure.delivery_list('hook', '{dead}')",
        &[],
    )
    .await;
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (
            listed[0].get::<_, String>(0).as_str(),
            listed[0].get::<_, i32>(1),
            listed[0].get::<_, String>(2).as_str()
        ),
        ("dead", 10, "no route")
    );
    let event = "select subject from tenure.events where kind = 'delivery.dead'";
    assert_eq!(get::<String>(&c, event, &[]).await, id.to_string());
    let next = due(&c).await;
    assert_eq!(next.len(), 1, "the line goes on without it");
    refused(
        &one(&c, "select tenure.delivery_retry($1)", &[&next[0].0]).await,
        "state_conflict",
    );
    refused(
        &one(&c, "select tenure.delivery_retry($1)", &[&job]).await,
        "delivery_unknown",
    );
    end(&c, next[0].0, 1, Some(200)).await;
    one(&c, "select tenure.delivery_retry($1)", &[&id]).await;
    let again = due(&c).await;
    assert_eq!((again[0].0, again[0].1), (id, 1));
    end(&c, id, 1, Some(200)).await;
    assert_eq!(
        get::<i64>(
            &c,
            "select count(*) from tenure.delivery_list('hook', '{delivered}')",
            &[]
        )
        .await,
        2
    );
    db.advance("8 days").await;
    assert_eq!(get::<i32>(&c, "select tenure.delivery_sweep()", &[]).await, 2);
    raised(
        try_rows(&c, "select tenure.delivery_list('nothing')", &[]).await,
        "subscription_unknown",
    );
    raised(
        try_rows(&c, "select tenure.delivery_list('hook', '{lost}')", &[]).await,
        "state_unknown",
    );
}

#[tokio::test]
async fn a_receiver_that_is_gone_pauses_its_subscription() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    enqueue(&c, "a").await;
    until_lined_up(&c, 1).await;
    let now = due(&c).await;
    end(&c, now[0].0, 1, Some(410)).await;
    let state = "select state || ' ' || paused_by || ' ' || waiting from tenure.subscription_list()";
    assert_eq!(get::<String>(&c, state, &[]).await, "paused relay 1");
    db.advance("1 hour").await;
    assert!(due(&c).await.is_empty(), "nothing is sent meanwhile");
    one(&c, "select tenure.subscription_resume('hook')", &[]).await;
    assert_eq!(due(&c).await.len(), 1);
}

#[tokio::test]
async fn a_new_signing_key_is_shown_once_and_the_old_one_holds_for_a_day() {
    let db = Db::open().await;
    let c = db.direct().await;
    let made = hook(&c).await;
    let first = made["signing_key"].as_str().expect("a key").to_owned();
    assert!(first.starts_with("whsec_"), "{first}");
    let second = one(&c, "select tenure.subscription_rotate('hook')", &[]).await;
    assert_ne!(second["signing_key"], Value::from(first.as_str()));
    enqueue(&c, "a").await;
    until_lined_up(&c, 1).await;
    let keys = "select tenure.secret_text(secret), tenure.secret_text(secret_before) from tenure.delivery_claim()";
    let now = rows(&c, keys, &[]).await;
    assert_eq!(Value::from(now[0].get::<_, String>(0)), second["signing_key"]);
    assert_eq!(now[0].get::<_, Option<String>>(1), Some(first));
    db.advance("25 hours").await;
    let later = rows(&c, keys, &[]).await;
    assert_eq!(later[0].get::<_, Option<String>>(1), None);
    let all: String = get(
        &c,
        "select string_agg(s::text, ' ') from tenure.subscription_list() s",
        &[],
    )
    .await;
    let kept: String = get(&c, "select string_agg(e.data::text, ' ') from tenure.events e", &[]).await;
    for secret in [made["signing_key"].as_str(), second["signing_key"].as_str()] {
        let secret = secret.expect("a key").trim_start_matches("whsec_");
        assert!(!all.contains(secret) && !kept.contains(secret));
    }
}

#[tokio::test]
async fn a_resume_after_refusals_of_the_receiver_is_an_event() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    enqueue(&c, "a").await;
    until_lined_up(&c, 1).await;
    let now = due(&c).await;
    end(&c, now[0].0, 1, Some(503)).await;
    let resumed = "select count(*) from tenure.events where kind = 'subscription.resumed'";
    one(&c, "select tenure.subscription_resume('hook')", &[]).await;
    assert_eq!(get::<i64>(&c, resumed, &[]).await, 1);
    one(&c, "select tenure.subscription_resume('hook')", &[]).await;
    assert_eq!(get::<i64>(&c, resumed, &[]).await, 1, "there was nothing to resume");
}

/// The lease of the one behind is over when the dead one is sent again: its late result must not make both due.
#[tokio::test]
async fn a_delivery_sent_again_is_alone_at_the_head_of_its_line() {
    let db = Db::open().await;
    let c = db.direct().await;
    hook(&c).await;
    let job = enqueue(&c, "a").await;
    one(&c, "select tenure.job_cancel($1, 'never mind')", &[&job]).await;
    until_lined_up(&c, 2).await;
    let mut first = Uuid::nil();
    for attempt in 1..=10 {
        first = due(&c).await[0].0;
        end(&c, first, attempt, None).await;
        db.advance("27 hours").await;
    }
    let second = due(&c).await[0].0;
    assert_ne!(first, second, "the first one is dead");
    db.advance("61 seconds").await;
    one(&c, "select tenure.delivery_retry($1)", &[&first]).await;
    assert_eq!(end(&c, second, 1, Some(503)).await, 0, "that attempt is over");
    let now = due(&c).await;
    assert_eq!((now.len(), now[0].0), (1, first));
    db.advance("30 seconds").await;
    assert!(due(&c).await.is_empty(), "the second waits for the first");
    end(&c, first, 1, Some(200)).await;
    assert_eq!(due(&c).await[0].0, second);
}
