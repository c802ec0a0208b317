//! Who holds work proves it: claims, heartbeats and the reaper.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, all, check_invariants, claim, claim_with, enqueue, enqueue_with, get, one, raised, reap, refused,
    rows, run, state, try_rows, until_blocked, verb,
};

/// Every function that needs the lease, with arguments that are right but for the lease.
const HOLDER_VERBS: [(&str, &str); 8] = [
    ("job_start", ""),
    ("job_progress", ", '{\"percent\": 1}'"),
    ("job_heartbeat", ""),
    ("job_complete", ""),
    ("job_fail", ", 'broken'"),
    ("job_snooze", ", 60"),
    ("job_release", ""),
    ("job_acknowledge_cancel", ""),
];

pub(crate) async fn policy(client: &Client, kind: &str, policy: Value) {
    let set = one(client, "select tenure.kind_set($1, $2)", &[&kind, &policy]).await;
    assert_eq!(set["kind"], kind, "{set}");
}

pub(crate) async fn leases(client: &Client) -> i64 {
    get(client, "select count(*) from tenure.leases", &[]).await
}

/// What a heartbeat answers for each of them.
pub(crate) async fn beat(client: &Client, held: &[Claimed]) -> Vec<String> {
    let ids: Vec<Uuid> = held.iter().map(|it| it.job_id).collect();
    let tokens: Vec<Uuid> = held.iter().map(|it| it.token).collect();
    let sql = "select status from tenure.job_heartbeat_many($1, $2)";
    let answers = rows(client, sql, &[&ids, &tokens]).await;
    answers.iter().map(|row| row.get(0)).collect()
}

/// Proves: S99, S111, S120, S148. Guards: D46.
#[tokio::test]
async fn two_workers_never_claim_one_job() {
    let db = Db::open().await;
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(db.client().await);
    }
    for kind in ["a", "b", "c"] {
        let kinds = vec![kind; 100];
        rows(&clients[0], "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    }
    let takers = clients.iter().enumerate().map(|(n, client)| async move {
        let mut taken = Vec::new();
        loop {
            // Whole lanes and single ones, one job and many.
            let kinds = if n % 2 == 0 { "" } else { ", p_kinds => array['a', 'c']" };
            let got = claim_with(client, &format!("w{n}"), &format!(", p_limit => {}{kinds}", 1 + 3 * n)).await;
            if got.is_empty() {
                return taken;
            }
            taken.extend(got);
        }
    });
    let taken: Vec<Claimed> = all(takers.collect()).await.into_iter().flatten().collect();
    let left: i64 = get(&clients[0], "select count(*) from tenure.ready", &[]).await;
    assert_eq!(taken.len() as i64 + left, 300);
    assert_eq!(left, 0, "the workers of all kinds leave nothing");
    let jobs: BTreeSet<Uuid> = taken.iter().map(|it| it.job_id).collect();
    assert_eq!(jobs.len(), 300, "each job went to one worker");
    check_invariants(&clients[0]).await;
}

/// Whatever another transaction has open: its claims, its ends, its heartbeats, under any name. Proves: S148. Rule: 13.
#[tokio::test]
async fn a_claim_never_waits_for_anybody() {
    let db = Db::open().await;
    let (a, b) = (db.client().await, db.client().await);
    for _ in 0..6 {
        enqueue(&a, "a").await;
    }
    let ended = claim(&a, "other").await;
    run(&a, "begin").await;
    let first = claim(&a, "w").await;
    enqueue_with(&a, "a", ", p_priority => 'urgent'").await;
    verb(&a, "job_complete", &ended, "").await;
    verb(&a, "job_heartbeat", &first, "").await;
    for worker in ["another", "w"] {
        run(&b, "begin; set local lock_timeout = '2s'").await;
        let second = claim(&b, worker).await;
        assert_ne!(second.job_id, first.job_id);
        assert_eq!(verb(&b, "job_complete", &second, "").await["state"], "succeeded");
        run(&b, "commit").await;
    }
    run(&a, "commit").await;
    check_invariants(&a).await;
}

/// Proves: S113, S118, S150, S241. Guards: D8, D71.
#[tokio::test]
async fn a_lost_lease_cannot_complete_nor_do_anything_else() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    let lost = claim(&c, "w").await;
    verb(&c, "job_start", &lost, "").await;
    db.advance("6 minutes").await;
    assert_eq!(
        reap(&c).await,
        [(lost.job_id, "expired".to_owned(), "retry_waiting".to_owned())]
    );
    for (function, arguments) in HOLDER_VERBS {
        let answer = verb(&c, function, &lost, arguments).await;
        refused(&answer, "stale_lease");
        assert_eq!(state(&c, lost.job_id).await, "retry_waiting", "{function}");
    }
    // The same worker holds it again: its name is no proof, only the new token is.
    db.advance("1 minute").await;
    let again = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    assert_eq!(again.job_id, lost.job_id);
    assert_ne!(again.token, lost.token);
    for (function, arguments) in HOLDER_VERBS {
        refused(&verb(&c, function, &lost, arguments).await, "stale_lease");
        assert_eq!(state(&c, lost.job_id).await, "in_progress", "{function}");
    }
    assert_eq!(beat(&c, &[lost, again.clone()]).await, ["lost", "ok"]);
    let done = verb(&c, "job_complete", &again, "").await;
    assert_eq!(done["state"], "succeeded");
}

/// Proves: S113. Guards: D71.
#[tokio::test]
async fn an_expired_lease_is_refused_before_anybody_reaped_it() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    db.advance("6 minutes").await;
    for (function, arguments) in HOLDER_VERBS {
        let answer = verb(&c, function, &held, arguments).await;
        // A heartbeat says that it is too late, which is all that a worker needs to know.
        let code = if function == "job_heartbeat" {
            "stale_lease"
        } else {
            "lease_expired"
        };
        refused(&answer, code);
        assert_eq!(state(&c, held.job_id).await, "leased", "{function}");
    }
    assert_eq!(beat(&c, std::slice::from_ref(&held)).await, ["lost"]);
    let until: bool = get(&c, "select until <= tenure.now() from tenure.leases", &[]).await;
    assert!(until, "a heartbeat never revives a lease");
    let held_now = rows(&c, "select job_id from tenure.job_held($1)", &[&held.token]).await;
    assert!(held_now.is_empty(), "it holds nothing any more");
}

/// A wrong token, a token of another job, and a job that never was. Proves: S113.
#[tokio::test]
async fn only_the_token_of_the_lease_is_proof() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    enqueue(&c, "a").await;
    let (one, two) = (claim(&c, "w").await, claim(&c, "w").await);
    let wrong = [
        Claimed {
            token: two.token,
            ..one.clone()
        },
        Claimed {
            token: Uuid::new_v4(),
            ..one.clone()
        },
        Claimed {
            job_id: Uuid::now_v7(),
            ..one.clone()
        },
    ];
    for it in &wrong {
        for (function, arguments) in HOLDER_VERBS {
            refused(&verb(&c, function, it, arguments).await, "stale_lease");
        }
    }
    assert_eq!(beat(&c, &wrong).await, ["lost"; 3]);
    assert_eq!(state(&c, one.job_id).await, "leased");
}

/// Proves: S106, S143. Guards: D43, D50. Rule: 7.
#[tokio::test]
async fn one_heartbeat_renews_all_leases_and_answers_for_each_job() {
    let db = Db::open().await;
    let c = db.client().await;
    for kind in ["a", "a", "b", "a"] {
        enqueue(&c, kind).await;
    }
    let held = claim_with(&c, "w", ", p_limit => 10").await;
    assert_eq!(held.len(), 4);
    assert_eq!(leases(&c).await, 2, "one lease row per lane and claim");
    one(&c, "select tenure.job_cancel($1, 'superseded')", &[&held[1].job_id]).await;
    one(
        &c,
        "select tenure.job_cancel($1, 'at once', 'force')",
        &[&held[2].job_id],
    )
    .await;
    db.advance("4 minutes").await;
    assert_eq!(beat(&c, &held).await, ["ok", "cancel", "lost", "ok"]);
    // Twice as long as a lease, in steps shorter than one.
    for _ in 0..3 {
        db.advance("4 minutes").await;
        assert!(reap(&c).await.is_empty());
        assert_eq!(beat(&c, &held[..1]).await, ["ok"]);
    }
    assert_eq!(state(&c, held[0].job_id).await, "leased", "a renewal changes no state");
    let renewals: i32 = get(&c, "select max(renewals) from tenure.leases", &[]).await;
    assert_eq!(renewals, 4);
    let seen: String = get(
        &c,
        "select cancel_reason from tenure.job_heartbeat_many(array[$1], array[$2])",
        &[&held[1].job_id, &held[1].token],
    )
    .await;
    assert_eq!(seen, "superseded");
}

/// Rule: 7.
#[tokio::test]
async fn the_end_of_its_last_job_deletes_a_lease() {
    let db = Db::open().await;
    let c = db.client().await;
    for kind in ["a", "a", "b"] {
        enqueue(&c, kind).await;
    }
    let held = claim_with(&c, "w", ", p_limit => 3").await;
    assert_eq!(leases(&c).await, 2);
    verb(&c, "job_complete", &held[0], "").await;
    assert_eq!(leases(&c).await, 2);
    verb(&c, "job_release", &held[1], "").await;
    assert_eq!(leases(&c).await, 1);
    one(
        &c,
        "select tenure.job_cancel($1, 'at once', 'force')",
        &[&held[2].job_id],
    )
    .await;
    assert_eq!(leases(&c).await, 0);
    check_invariants(&c).await;
}

/// Proves: S65, S66, S154, S155. Guards: D9, D70.
#[tokio::test]
async fn a_lease_is_as_long_as_asked_within_the_bounds_of_policy() {
    let db = Db::open().await;
    let c = db.client().await;
    let length = async |arguments: &str| -> f64 {
        enqueue(&c, "a").await;
        let sql = format!(
            "select extract(epoch from leased_until - leased_at)::float8 from tenure.job_claim_many('w', p_kinds => array['a']{arguments})"
        );
        get(&c, &sql, &[]).await
    };
    assert_eq!(length("").await, 300.0);
    assert_eq!(length(", p_lease_seconds => 7").await, 7.0);
    assert_eq!(length(", p_lease_seconds => 3600").await, 3600.0);
    for seconds in [0, -1, 3601, i32::MAX] {
        let sql = "select job_id from tenure.job_claim_many('w', p_lease_seconds => $1)";
        raised(try_rows(&c, sql, &[&seconds]).await, "lease_seconds_out_of_range");
        refused(
            &one(&c, "select tenure.job_claim('w', p_lease_seconds => $1)", &[&seconds]).await,
            "lease_seconds_out_of_range",
        );
        let sql = "select status from tenure.job_heartbeat_many('{}', '{}', $1)";
        raised(try_rows(&c, sql, &[&seconds]).await, "lease_seconds_out_of_range");
    }
    policy(&c, "a", json!({"lease_seconds": 20, "lease_seconds_max": 40})).await;
    assert_eq!(length("").await, 20.0);
    assert_eq!(
        length(", p_lease_seconds => 3600").await,
        40.0,
        "the kind's own bound holds"
    );
    let held = claim_with(&c, "w", ", p_kinds => array['a']").await;
    assert!(held.is_empty(), "all are held");
    enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_heartbeat", &held, ", 3600").await;
    let longest: bool = get(
        &c,
        "select until <= tenure.now() + interval '40 seconds' from tenure.leases where token = $1",
        &[&held.token],
    )
    .await;
    assert!(longest, "and for a heartbeat too");
    policy(&c, "a", json!({"lease_seconds": null, "lease_seconds_max": null})).await;
    one(&c, "select tenure.config_set('queue.lease.duration_sec', '50')", &[]).await;
    assert_eq!(length("").await, 50.0, "a changed key holds at once");
}

/// Proves: S15. Guards: D24, D59. What the tables can hold: a waiting job has no lease, a held one has owner and end.
#[tokio::test]
async fn a_lease_has_owner_and_end_and_only_held_jobs_have_one() {
    let db = Db::open().await;
    let c = db.client().await;
    let waiting = enqueue_with(&c, "a", ", p_priority => 'bulk'").await;
    enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    let lease =
        "select lease_owner, lease_until is not null, picked_at is not null from tenure.job_queue where job_id = $1";
    let seen = rows(&c, lease, &[&held.job_id]).await;
    assert_eq!(seen[0].get::<_, Option<&str>>(0), Some("w"));
    assert!(seen[0].get::<_, bool>(1) && seen[0].get::<_, bool>(2));
    let seen = rows(&c, lease, &[&waiting]).await;
    assert_eq!(seen[0].get::<_, Option<&str>>(0), None);
    assert!(!seen[0].get::<_, bool>(1));
    verb(&c, "job_complete", &held, "").await;
    let seen = rows(&c, lease, &[&held.job_id]).await;
    assert_eq!(seen[0].get::<_, Option<&str>>(0), None);
    for broken in [
        "update tenure.leases set owner = ' '",
        "update tenure.leases set owner = null",
        "update tenure.leases set until = null",
        "update tenure.active set token = null",
        "update tenure.active set run_until = tenure.now()",
        "update tenure.active set cancel_requested_at = tenure.now()",
        "update tenure.ready set state = 'leased'",
        "update tenure.attempts set attempt = -1",
    ] {
        claim_with(&c, "w", "").await;
        enqueue(&c, "a").await;
        assert!(c.batch_execute(broken).await.is_err(), "the schema accepts: {broken}");
    }
}

/// Leases use the database's clock when the call is made, not when its transaction began. Rule: 12.
#[tokio::test]
async fn a_lease_taken_late_in_a_transaction_is_as_long_as_any() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    run(&c, "begin; select now()").await;
    db.advance("1 hour").await;
    let held = claim(&c, "w").await;
    run(&c, "commit").await;
    assert_eq!(beat(&c, std::slice::from_ref(&held)).await, ["ok"]);
}

/// Two may look at the machine's own clock: `doctor` compares it, and a migration is stamped with it. Rule: 12.
#[tokio::test]
async fn every_function_reads_the_clock_once_and_only_that_clock() {
    let db = Db::open().await;
    let c = db.client().await;
    let wrong = rows(
        &c,
        "select p.proname::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspname = 'tenure' and p.proname not in ('now', 'doctor', 'installation_stamp')
            and (regexp_count(p.prosrc, 'tenure\\.now\\(\\)') > 1
                 or p.prosrc ~ '(clock_timestamp|statement_timestamp|transaction_timestamp|[^.a-z_]now)\\(\\)|current_timestamp')",
        &[],
    )
    .await;
    let wrong: Vec<String> = wrong.iter().map(|row| row.get(0)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A claim whose answer was lost is found by its token, and a token serves one claim. Rule: 10.
#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_found_by_its_token() {
    let db = Db::open().await;
    let (c, other) = (db.client().await, db.client().await);
    for kind in ["a", "b", "a"] {
        enqueue(&c, kind).await;
    }
    let token = Uuid::new_v4();
    let held = "select * from tenure.job_held($1)";
    assert!(
        rows(&c, held, &[&token]).await.is_empty(),
        "nothing was committed: claim again"
    );
    let sql = "select * from tenure.job_claim_many('w', p_limit => 2, p_token => $1, p_mode => 'started')";
    let claimed: Vec<Claimed> = rows(&c, sql, &[&token]).await.iter().map(Claimed::of).collect();
    let found: Vec<Claimed> = rows(&other, held, &[&token]).await.iter().map(Claimed::of).collect();
    let jobs = |it: &[Claimed]| {
        it.iter()
            .map(|it| (it.job_id, it.run, it.state.clone()))
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(jobs(&found), jobs(&claimed));
    raised(try_rows(&c, sql, &[&token]).await, "token_reused");
    let ready: i64 = get(&c, "select count(*) from tenure.ready", &[]).await;
    assert_eq!(ready, 1, "the refused claim took nothing");
    verb(&c, "job_complete", &claimed[0], "").await;
    assert_eq!(rows(&c, held, &[&token]).await.len(), 1, "only what is still held");
}

/// Two starts of one job, and a start that meets a cancel request: the handler runs once, and knows. Rule: 8.
#[tokio::test]
async fn a_start_that_waited_for_a_cancel_request_is_confirmed_as_started() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    enqueue(&a, "a").await;
    let held = claim(&a, "w").await;
    run(&a, "begin").await;
    one(&a, "select tenure.job_cancel($1, 'superseded')", &[&held.job_id]).await;
    let (started, ()) = tokio::join!(verb(&b, "job_start", &held, ""), async {
        until_blocked(&watch, "job_start").await;
        run(&a, "commit").await;
    });
    assert_eq!(started["status"], "started", "{started}");
    assert!(started["started_at"].is_string(), "{started}");
    assert_eq!(state(&watch, held.job_id).await, "in_progress");
    assert_eq!(verb(&b, "job_start", &held, "").await["status"], "already_started");
    assert_eq!(beat(&b, std::slice::from_ref(&held)).await, ["cancel"]);
}
