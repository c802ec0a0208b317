//! Limits of a kind: exact over all sessions, and a place is nothing but a held job.

use std::time::Instant;

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, all, check_invariants, claim_with, enqueue, enqueue_with, get, one, reap, refused, rows, run,
    until_blocked, verb,
};
use crate::locks_order::measured;

/// The kind under test.
const KIND: &str = "print";

async fn limit(c: &Client, concurrency_max: Option<i32>) -> Value {
    let policy = json!({"concurrency_max": concurrency_max});
    let set = one(c, "select tenure.kind_set($1, $2)", &[&KIND, &policy]).await;
    assert_eq!(set["concurrency_max"], json!(concurrency_max), "{set}");
    set
}

async fn enqueue_some(c: &Client, count: usize) -> Vec<Uuid> {
    let kinds = vec![KIND; count];
    let made = rows(c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    made.iter().map(|row| row.get(0)).collect()
}

/// Claims as many as it can get.
async fn claim_all(c: &Client) -> Vec<Claimed> {
    claim_with(c, "w", ", p_limit => 100, p_mode => 'started'").await
}

async fn held(c: &Client) -> i64 {
    get(c, "select count(*) from tenure.active", &[]).await
}

#[tokio::test]
async fn a_claim_under_way_counts_for_every_other() {
    let db = Db::open().await;
    let (a, b, c) = (db.direct().await, db.direct().await, db.client().await);
    limit(&c, Some(2)).await;
    enqueue_some(&c, 6).await;

    run(&a, "begin").await;
    let first = claim_all(&a).await;
    assert_eq!(first.len(), 2, "no more than the limit, whatever is asked for");
    let waiting = tokio::spawn(async move {
        let got = claim_all(&b).await;
        (b, got)
    });
    until_blocked(&c, "tenure.job_claim_many").await;
    run(&a, "commit").await;
    let (b, got) = waiting.await.expect("the second claim goes on");
    assert!(
        got.is_empty(),
        "whether it waited or gave up, it counts what the first holds"
    );

    verb(&c, "job_complete", &first[0], "").await;
    assert_eq!(claim_all(&b).await.len(), 1, "one has ended, one may begin");
    run(&a, "begin").await;
    verb(&a, "job_complete", &first[1], "").await;
    assert!(
        claim_all(&b).await.is_empty(),
        "an end that is not committed frees nothing"
    );
    run(&a, "rollback").await;
    assert!(claim_all(&b).await.is_empty());
    assert_eq!(held(&c).await, 2);
    check_invariants(&c).await;
}

#[tokio::test]
async fn many_sessions_at_once_never_hold_more_than_the_limit() {
    let db = Db::open().await;
    let c = db.client().await;
    limit(&c, Some(3)).await;
    let jobs = enqueue_some(&c, 40).await;
    let mut sessions = Vec::new();
    for _ in 0..8 {
        sessions.push(db.client().await);
    }
    let mut done = 0;
    while done < jobs.len() {
        let claims = all(sessions.iter().map(claim_all).collect()).await;
        let claimed: Vec<&Claimed> = claims.iter().flatten().collect();
        assert!(held(&c).await <= 3, "{claimed:?}");
        assert!(!claimed.is_empty(), "somebody always gets on");
        // Ends and the next claims overlap, too.
        let ends = claimed.iter().zip(sessions.iter().cycle());
        all(ends
            .map(|(job, session)| verb(session, "job_complete", job, ""))
            .collect())
        .await;
        done += claimed.len();
    }
    assert_eq!(done, jobs.len());
}

#[tokio::test]
async fn what_is_held_when_a_limit_is_set_counts() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_some(&c, 6).await;
    let before = claim_with(&c, "w", ", p_limit => 3").await;
    limit(&c, Some(4)).await;
    assert_eq!(claim_all(&c).await.len(), 1);
    assert!(claim_all(&c).await.is_empty());
    verb(&c, "job_release", &before[0], "").await;
    assert_eq!(claim_all(&c).await.len(), 1);
    // Long after the limit was set, what was held before it counts as ever.
    db.advance("2 minutes").await;
    for _ in 0..4 {
        assert!(claim_all(&c).await.is_empty());
    }
}

/// The claim read the policy when there was no limit yet, so its jobs have no mark; they count all the same.
#[tokio::test]
async fn a_claim_under_way_when_a_limit_is_set_counts_once_it_commits() {
    for order in ["claim first", "limit first"] {
        let db = Db::open().await;
        let (claiming, setting, c) = (db.direct().await, db.direct().await, db.client().await);
        enqueue_some(&c, 6).await;
        run(&claiming, "begin").await;
        run(&setting, "begin").await;
        if order == "limit first" {
            limit(&setting, Some(2)).await;
        }
        let mine = claim_with(&claiming, "w", ", p_limit => 2").await;
        assert_eq!(mine.len(), 2, "{order}");
        if order == "claim first" {
            limit(&setting, Some(2)).await;
        }
        run(&setting, "commit").await;
        run(&claiming, "commit").await;
        for minutes in 0..5 {
            assert!(claim_all(&c).await.is_empty(), "{order}, after {minutes} minutes");
            assert_eq!(held(&c).await, 2, "{order}");
            // The leases are renewed: only time passes, nothing else changes.
            run(&c, "update tenure.leases set until = until + interval '1 minute'").await;
            db.advance("1 minute").await;
        }
        // They count until they end, and each end frees one place.
        for job in &mine {
            verb(&c, "job_complete", job, "").await;
            assert_eq!(claim_all(&c).await.len(), 1, "{order}");
            assert!(claim_all(&c).await.is_empty(), "{order}");
        }
        let marked: i64 = get(&c, "select count(*) from tenure.active where limited", &[]).await;
        assert_eq!(marked, 2, "{order}");
    }
}

/// A transaction that claimed before the limit stays open for long: the count waits for it, however long.
#[tokio::test]
async fn a_claim_that_stays_open_after_a_limit_was_set_is_waited_for() {
    let db = Db::open().await;
    let (claiming, c) = (db.direct().await, db.client().await);
    enqueue_some(&c, 6).await;
    run(&claiming, "begin").await;
    assert_eq!(claim_with(&claiming, "w", ", p_limit => 1").await.len(), 1);
    limit(&c, Some(2)).await;
    let mut mine = Vec::new();
    for _ in 0..4 {
        mine.extend(claim_with(&c, "w", ", p_limit => 1").await);
        run(&c, "update tenure.leases set until = until + interval '1 minute'").await;
        db.advance("1 minute").await;
    }
    assert_eq!(mine.len(), 2, "what is not committed is not there");
    run(&claiming, "commit").await;
    verb(&c, "job_complete", &mine[0], "").await;
    assert!(
        claim_all(&c).await.is_empty(),
        "two are held: one of mine, and the one that came late"
    );
    verb(&c, "job_complete", &mine[1], "").await;
    assert_eq!(claim_all(&c).await.len(), 1);
}

#[tokio::test]
async fn a_limit_below_what_is_held_lets_nobody_in_until_there_is_room() {
    let db = Db::open().await;
    let c = db.client().await;
    limit(&c, Some(4)).await;
    enqueue_some(&c, 6).await;
    let mut mine = claim_all(&c).await;
    assert_eq!(mine.len(), 4);
    limit(&c, Some(2)).await;
    while mine.len() > 2 {
        assert!(claim_all(&c).await.is_empty());
        verb(&c, "job_complete", &mine.remove(0), "").await;
    }
    assert!(claim_all(&c).await.is_empty());
    verb(&c, "job_complete", &mine.remove(0), "").await;
    assert_eq!(claim_all(&c).await.len(), 1);
}

#[tokio::test]
async fn a_limit_can_be_raised_and_taken_back() {
    let db = Db::open().await;
    let c = db.client().await;
    limit(&c, Some(1)).await;
    enqueue_some(&c, 9).await;
    assert_eq!(claim_all(&c).await.len(), 1);
    limit(&c, Some(3)).await;
    assert_eq!(claim_all(&c).await.len(), 2);
    limit(&c, None).await;
    assert_eq!(claim_with(&c, "w", ", p_limit => 4").await.len(), 4);
    limit(&c, Some(8)).await;
    assert_eq!(
        claim_all(&c).await.len(),
        1,
        "all seven count, with a limit and without"
    );
    // Another field of the policy leaves the limit alone.
    one(&c, r#"select tenure.kind_set('print', '{"description": "slow"}')"#, &[]).await;
    assert!(claim_all(&c).await.is_empty());
}

/// There is no counter beside the held job, so nothing can leak.
#[tokio::test]
async fn every_way_to_end_frees_the_place() {
    let db = Db::open().await;
    let c = db.client().await;
    limit(&c, Some(1)).await;
    let ends = [
        ("job_complete", ""),
        ("job_fail", ", 'no'"),
        ("job_fail", ", 'never', 'permanent'"),
        ("job_snooze", ", 60"),
        ("job_release", ""),
    ];
    enqueue_some(&c, 2 * (ends.len() + 1)).await;
    for (end, arguments) in ends {
        let mine = claim_all(&c).await;
        assert_eq!(mine.len(), 1, "before {end}");
        assert!(claim_all(&c).await.is_empty());
        let ended = verb(&c, end, &mine[0], arguments).await;
        assert_eq!(ended["status"], "ended", "{end}: {ended}");
    }
    let mine = claim_all(&c).await;
    one(
        &c,
        "select tenure.job_cancel($1, 'enough', 'force')",
        &[&mine[0].job_id],
    )
    .await;
    assert_eq!(claim_all(&c).await.len(), 1, "taken away by an operator");
}

#[tokio::test]
async fn the_place_of_a_dead_holder_is_free_again_with_its_lease() {
    let db = Db::open().await;
    let c = db.client().await;
    limit(&c, Some(1)).await;
    enqueue_some(&c, 2).await;
    let dead = claim_with(&c, "dead", ", p_lease_seconds => 5").await.remove(0);
    db.advance("6 seconds").await;
    assert!(
        claim_all(&c).await.is_empty(),
        "nobody has taken it from its holder yet"
    );
    assert_eq!(reap(&c).await.len(), 1);
    let next = claim_all(&c).await;
    assert_eq!(next.len(), 1);
    let late = verb(&c, "job_complete", &dead, "").await;
    refused(&late, "stale_lease");
    assert!(claim_all(&c).await.is_empty(), "a late end frees nobody else's place");
}

#[tokio::test]
async fn a_limit_holds_over_all_executors_of_a_kind() {
    let db = Db::open().await;
    let c = db.client().await;
    limit(&c, Some(2)).await;
    for executor in ["DOT", "Codex", "DOT", "Codex"] {
        enqueue_with(&c, KIND, &format!(", p_executor => '{executor}'")).await;
    }
    assert_eq!(
        claim_with(&c, "w", ", p_executor => 'DOT', p_limit => 1").await.len(),
        1
    );
    let both = claim_all(&c).await;
    assert_eq!(
        both.len(),
        1,
        "one claim over both lanes counts what it took from the first"
    );
    assert!(claim_with(&c, "w", ", p_executor => 'Codex'").await.is_empty());
}

#[tokio::test]
async fn a_limit_is_no_business_of_another_tenant() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.tenant_create('acme')", &[]).await;
    let (_, theirs) = db.login(&["tenure_worker", "tenure_producer"], "acme", None).await;
    limit(&c, Some(1)).await;
    enqueue_some(&c, 3).await;
    enqueue_some(&theirs, 3).await;
    assert_eq!(claim_all(&theirs).await.len(), 3, "they have no limit");
    assert_eq!(claim_all(&c).await.len(), 1, "and theirs do not count here");
}

#[tokio::test]
async fn a_limited_kind_that_somebody_keeps_locked_holds_up_no_other() {
    let db = Db::open().await;
    let (a, c) = (db.direct().await, db.client().await);
    limit(&c, Some(5)).await;
    enqueue_some(&c, 3).await;
    enqueue(&c, "free").await;
    run(&a, "begin").await;
    assert_eq!(claim_with(&a, "w", ", p_kinds => array['print']").await.len(), 1);
    let began = Instant::now();
    let got = claim_with(&c, "w", ", p_limit => 10").await;
    assert_eq!(got.len(), 1, "the free one, while the other kind is locked");
    assert!(
        began.elapsed().as_secs() < 30,
        "it waits a tenth of a second, not for the end"
    );
    run(&a, "commit").await;
    assert_eq!(claim_all(&c).await.len(), 2);
}

#[tokio::test]
async fn explain_says_that_a_limit_is_in_the_way() {
    let db = Db::open().await;
    let c = db.client().await;
    limit(&c, Some(1)).await;
    let jobs = enqueue_some(&c, 2).await;
    let mine = claim_all(&c).await;
    let waiting = jobs.iter().find(|job| **job != mine[0].job_id).expect("the other");
    let told = one(&c, "select tenure.job_explain($1)", &[waiting]).await;
    let reason = &told["reasons"][0];
    assert_eq!(reason["code"], "limit", "{told}");
    for part in ["what", "why", "next"] {
        assert!(reason[part].as_str().is_some_and(|text| !text.is_empty()), "{told}");
    }
    verb(&c, "job_complete", &mine[0], "").await;
    let told = one(&c, "select tenure.job_explain($1)", &[waiting]).await;
    assert_eq!(told["reasons"][0]["code"], "waiting_turn", "{told}");
}

#[tokio::test]
async fn a_limit_is_a_whole_number_of_at_least_one() {
    let db = Db::open().await;
    let c = db.client().await;
    for wrong in [json!(0), json!(-1), json!(1.5), json!("2"), json!(100_001), json!(true)] {
        let policy = json!({"concurrency_max": wrong});
        let answer = one(&c, "select tenure.kind_set('print', $1)", &[&policy]).await;
        refused(&answer, "number_out_of_range");
    }
}

/// Jobs that others hold, in many lanes, under many leases.
async fn crowd(c: &Client) {
    let fill = "select tenure.lane_open('other' || g) from generate_series(1, 100) g;
         insert into tenure.leases (token, lane, tenant_id, owner, executor, principal, leased_at, until, lease_seconds, held)
         select gen_random_uuid(), n.lane, 1, 'w', 'external_worker', 'p', tenure.now(), tenure.now() + interval '1 hour', 3600, 5
           from tenure.lanes n cross join generate_series(1, 10) where n.kind like 'other%';
         insert into tenure.active (job_id, token, lane, run, attempt, due)
         select gen_random_uuid(), l.token, l.lane, 1, 1, tenure.now() from tenure.leases l cross join generate_series(1, 5)
          where l.held = 5;
         analyze tenure.leases; analyze tenure.active";
    run(c, fill).await;
}

/// What a claim of a limited kind reads does not grow with what others hold, nor with a lease that counts too many.
#[tokio::test]
async fn the_room_of_a_kind_is_counted_without_reading_what_others_hold() {
    let db = Db::open().await;
    let c = db.direct().await;
    limit(&c, Some(10)).await;
    enqueue_some(&c, 20).await;
    let first = claim_with(&c, "w", ", p_limit => 4, p_mode => 'started'").await;
    crowd(&c).await;
    let other = db.direct().await;
    run(&other, "begin; select from tenure.leases for update").await;
    verb(&c, "job_complete", &first[0], "").await;
    run(&other, "commit").await;
    let counted: i64 = get(
        &c,
        "select held::bigint from tenure.leases where token = $1",
        &[&first[0].token],
    )
    .await;
    assert_eq!(counted, 4, "the lease counts one too many");

    let more = ", p_kinds => array['print'], p_limit => 2, p_mode => 'started'";
    let (got, touched) = measured(&c, async || claim_with(&c, "w", more).await).await;
    assert_eq!(got.len(), 2);
    for table in ["active", "leases"] {
        let read = touched.get(table).map_or(0, |it| it.0);
        assert!(read <= 20, "it reads {read} rows of {table}");
    }
    assert_eq!(
        claim_with(&c, "w", ", p_kinds => array['print'], p_limit => 100")
            .await
            .len(),
        5
    );
}
