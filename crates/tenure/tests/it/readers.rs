//! Readers of the stream: each keeps its place, and passes over nothing.

use crate::fixture::{Db, PATIENCE, enqueue, get, one, raised, refused, rows, run, try_rows, until};
use crate::subscriptions::{subscribe, told};

/// A cursor that nobody was handed would pass over what commits late.
#[tokio::test]
async fn nobody_goes_where_nobody_was_sent() {
    let db = Db::open().await;
    let c = db.client().await;
    subscribe(&c, "ledger", "'job.enqueued'", "reader", "").await;
    get::<i32>(&c, "select tenure.lane_open('word')", &[]).await;
    let late = db.direct().await;
    run(&late, "begin; select tenure.job_enqueue('word')").await;
    enqueue(&c, "word").await;
    let seen = "select epoch || '.' || txid || '.' || seq from tenure.events where kind = 'job.enqueued' order by txid desc limit 1";
    let early: String = get(&c, seen, &[]).await;
    refused(
        &one(&c, "select tenure.subscription_ack('ledger', $1)", &[&early]).await,
        "cursor_invalid",
    );
    refused(
        &one(&c, "select tenure.subscription_resume('ledger', $1)", &[&early]).await,
        "cursor_invalid",
    );
    raised(
        try_rows(&c, "select tenure.event_list($1)", &[&early]).await,
        "cursor_invalid",
    );
    let far = "select tenure.subscription_create('x', array['*'], 'reader', p_from => '999999999.0.0')";
    refused(&one(&c, far, &[]).await, "cursor_invalid");
    run(&late, "commit").await;
    until(
        &c,
        "select count(*) = 2 from tenure.subscription_read('ledger')",
        &[],
        "both",
    )
    .await;
    one(&c, "select tenure.subscription_ack('ledger', $1)", &[&early]).await;
}

/// What retention takes from a reader that has not come so far is told.
#[tokio::test]
async fn events_that_are_dropped_unread_are_told() {
    let db = Db::open().await;
    let c = db.direct().await;
    subscribe(&c, "ledger", "'job.enqueued'", "reader", "").await;
    subscribe(&c, "other", "'kind.changed'", "reader", "").await;
    enqueue(&c, "word").await;
    for _ in 0..12 {
        one(&c, "select tenure.partition_upkeep()", &[]).await;
        db.advance("7 days").await;
    }
    let lost = "select string_agg(distinct subject, ', ') from tenure.events where kind = 'subscription.lost'";
    assert_eq!(get::<Option<String>>(&c, lost, &[]).await.as_deref(), Some("ledger"));
}

#[tokio::test]
async fn a_reader_gets_its_events_until_it_says_that_they_were_dealt_with() {
    let db = Db::open().await;
    let c = db.client().await;
    subscribe(&c, "ledger", "'job.enqueued', 'kind.*'", "reader", "").await;
    for _ in 0..3 {
        enqueue(&c, "word").await;
    }
    one(&c, "select tenure.kind_set('word', '{}')", &[]).await;
    let read = "select cursor, kind from tenure.subscription_read('ledger', 10)";
    until(
        &c,
        "select count(*) = 4 from tenure.subscription_read('ledger', 10)",
        &[],
        "the stream",
    )
    .await;
    let first = rows(&c, read, &[]).await;
    assert_eq!(
        first.iter().map(|row| row.get(1)).collect::<Vec<String>>(),
        ["job.enqueued", "job.enqueued", "job.enqueued", "kind.changed"]
    );
    let (second, last): (String, String) = (first[1].get(0), first[3].get(0));
    one(&c, "select tenure.subscription_ack('ledger', $1)", &[&second]).await;
    let rest = rows(&c, read, &[]).await;
    assert_eq!(
        rest.iter().map(|row| row.get(0)).collect::<Vec<String>>(),
        [first[2].get::<_, String>(0), last.clone()]
    );
    one(&c, "select tenure.subscription_ack('ledger', $1)", &[&last]).await;
    let back = one(&c, "select tenure.subscription_ack('ledger', $1)", &[&second]).await;
    assert_eq!(back["cursor"], last, "it only goes forward");
    assert!(rows(&c, read, &[]).await.is_empty());
    assert_eq!(told(&c, "ledger", "matched").await.as_deref(), Some("4"));
    refused(
        &one(&c, "select tenure.subscription_ack('ledger', '1.99999999999.1')", &[]).await,
        "cursor_invalid",
    );
    refused(
        &one(&c, "select tenure.subscription_ack('ledger', 'tomorrow')", &[]).await,
        "cursor_invalid",
    );
}

#[tokio::test]
async fn a_reader_of_rare_events_passes_over_the_rest() {
    let db = Db::open().await;
    let c = db.client().await;
    subscribe(
        &c,
        "rare",
        "'kind.changed'",
        "reader",
        ", p_filter => '{\"data\": {\"kind\": \"word\"}}'",
    )
    .await;
    for _ in 0..30 {
        enqueue(&c, "noise").await;
    }
    one(&c, "select tenure.kind_set('noise', '{}')", &[]).await;
    one(&c, "select tenure.kind_set('word', '{}')", &[]).await;
    until(
        &c,
        "select count(*) = 1 from tenure.subscription_read('rare')",
        &[],
        "the stream",
    )
    .await;
    let subject: String = get(&c, "select subject from tenure.subscription_read('rare')", &[]).await;
    assert_eq!(subject, "word");
}

#[tokio::test]
async fn rare_events_among_many_are_read_once_each_while_they_come() {
    const RARE: usize = 60;
    let db = Db::open().await;
    let c = db.client().await;
    subscribe(&c, "rare", "'kind.changed'", "reader", "").await;
    let writer = db.direct().await;
    let writing = tokio::spawn(async move {
        for _ in 0..RARE {
            for _ in 0..3 {
                enqueue(&writer, "noise").await;
            }
            one(&writer, "select tenure.kind_set('word', '{}')", &[]).await;
        }
    });
    let mut seen = Vec::new();
    let began = std::time::Instant::now();
    while seen.len() < RARE {
        assert!(
            began.elapsed() < PATIENCE,
            "only {} of {RARE} were handed out",
            seen.len()
        );
        for row in rows(&c, "select cursor from tenure.subscription_read('rare', 2)", &[]).await {
            let cursor: String = row.get(0);
            one(&c, "select tenure.subscription_ack('rare', $1)", &[&cursor]).await;
            seen.push(cursor);
        }
    }
    writing.await.expect("no panic");
    seen.dedup();
    assert_eq!(seen.len(), RARE);
    assert_eq!(told(&c, "rare", "matched").await.as_deref(), Some("60"));
}
