//! Claiming: the order, the lanes, what is not yet or no longer claimable, and what it costs.

use std::collections::BTreeSet;

use serde_json::Value;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, check_invariants, claim, claim_with, enqueue, enqueue_with, get, one, raised, reap, refused, rows,
    run, state, try_rows, verb,
};

fn ids(claimed: &[Claimed]) -> Vec<Uuid> {
    claimed.iter().map(|it| it.job_id).collect()
}

/// Proves: S12, S84, S111, S140. Guards: D1, D30, D55, D75. Rule: 13.
#[tokio::test]
async fn within_a_lane_the_order_is_priority_then_due_then_id() {
    let db = Db::open().await;
    let c = db.client().await;
    let later = enqueue(&c, "a").await;
    let bulk = enqueue_with(&c, "a", ", p_priority => 'bulk'").await;
    let urgent_later = enqueue_with(
        &c,
        "a",
        ", p_priority => 'urgent', p_due => tenure.now() + interval '30 seconds'",
    )
    .await;
    let normal_due = enqueue_with(&c, "a", ", p_due => tenure.now() + interval '10 seconds'").await;
    let high = enqueue_with(&c, "a", ", p_priority => '7'").await;
    let low = enqueue_with(&c, "a", ", p_priority => '-7'").await;
    db.advance("1 minute").await;
    let urgent_now = enqueue_with(&c, "a", ", p_priority => 'urgent'").await;
    let claimed = claim_with(&c, "w", ", p_limit => 10").await;
    let expected = [urgent_later, urgent_now, high, later, normal_due, low, bulk];
    assert_eq!(ids(&claimed), expected, "higher is sooner; then the earlier due time");

    // Equal in priority and due time: the id decides, which is the order of enqueuing.
    let kinds = vec!["b"; 20];
    let made = rows(
        &c,
        "select job_id from tenure.job_enqueue_many($1) order by ordinal",
        &[&kinds],
    )
    .await;
    let made: Vec<Uuid> = made.iter().map(|row| row.get(0)).collect();
    let mut claimed = Vec::new();
    for _ in 0..4 {
        claimed.extend(ids(&claim_with(&c, "w", ", p_limit => 5").await));
    }
    assert_eq!(claimed, made);
}

/// Rule: 13.
#[tokio::test]
async fn across_lanes_the_best_head_comes_first() {
    let db = Db::open().await;
    let c = db.client().await;
    let normal = enqueue(&c, "a").await;
    let bulk = enqueue_with(&c, "b", ", p_priority => 'bulk'").await;
    let urgent = enqueue_with(&c, "c", ", p_priority => 'urgent'").await;
    let agent = enqueue_with(&c, "c", ", p_executor => 'Agent', p_priority => '50'").await;
    let mut order = Vec::new();
    for _ in 0..4 {
        order.push(claim(&c, "w").await.job_id);
    }
    assert_eq!(order, [urgent, agent, normal, bulk]);
    assert!(claim_with(&c, "w", "").await.is_empty());
}

/// Proves: S141. Guards: D40, D76.
#[tokio::test]
async fn a_claim_takes_only_the_kinds_and_the_executor_it_asks_for() {
    let db = Db::open().await;
    let c = db.client().await;
    let first = enqueue(&c, "a").await;
    let second = enqueue(&c, "b").await;
    let agents = enqueue_with(&c, "a", ", p_executor => 'Agent'").await;
    assert!(
        claim_with(&c, "w", ", p_kinds => '{}'").await.is_empty(),
        "an empty list is no kind, not every kind"
    );
    assert!(claim_with(&c, "w", ", p_kinds => array['c']").await.is_empty());
    assert!(claim_with(&c, "w", ", p_executor => 'Codex'").await.is_empty());
    assert_eq!(
        ids(&claim_with(&c, "w", ", p_kinds => array['b', 'c'], p_limit => 9").await),
        [second]
    );
    assert_eq!(
        ids(&claim_with(&c, "w", ", p_executor => 'Agent', p_limit => 9").await),
        [agents]
    );
    assert_eq!(
        ids(&claim_with(&c, "w", ", p_kinds => null, p_limit => 9").await),
        [first],
        "null is every kind"
    );
    let none = one(&c, "select tenure.job_claim('w')", &[]).await;
    assert_eq!(
        none,
        serde_json::json!({"job": null}),
        "nothing to do is an answer, not a refusal"
    );
}

/// Proves: S37, S78, S97, S112. Guards: D65.
#[tokio::test]
async fn a_generator_and_an_unknown_executor_cannot_claim() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    refused(
        &one(&c, "select tenure.job_claim('w', 'MOT')", &[]).await,
        "executor_cannot_claim",
    );
    refused(
        &one(&c, "select tenure.job_claim('w', 'nobody')", &[]).await,
        "executor_unknown",
    );
    refused(
        &one(&c, "select tenure.job_enqueue('a', p_executor => 'MOT')", &[]).await,
        "executor_cannot_claim",
    );
    refused(
        &one(&c, "select tenure.job_enqueue('a', p_executor => 'nobody')", &[]).await,
        "executor_unknown",
    );
    for worker in ["", " ", "\n", "a\tb"] {
        let answer = one(&c, "select tenure.job_claim($1)", &[&worker]).await;
        refused(&answer, if worker == "a\tb" { "name_invalid" } else { "name_blank" });
    }
    for (limit, mode) in [(0, "leased"), (1001, "leased"), (-5, "leased")] {
        let sql = "select job_id from tenure.job_claim_many('w', p_limit => $1, p_mode => $2)";
        raised(try_rows(&c, sql, &[&limit, &mode]).await, "number_out_of_range");
    }
    let sql = "select job_id from tenure.job_claim_many('w', p_mode => 'running')";
    raised(try_rows(&c, sql, &[]).await, "value_unknown");
    let waiting: i64 = get(&c, "select count(*) from tenure.ready", &[]).await;
    assert_eq!(waiting, 1);
}

/// Proves: S49, S69, S82. Guards: D46, D74. Rule: 17.
#[tokio::test]
async fn promotion_keeps_the_state_and_takes_the_oldest_first() {
    let db = Db::open().await;
    let c = db.client().await;
    let retried = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => 10").await;
    let scheduled = enqueue_with(&c, "a", ", p_due => tenure.now() + interval '20 seconds'").await;
    assert!(claim_with(&c, "w", "").await.is_empty(), "nothing is due");
    db.advance("1 minute").await;
    // Promoted by a claim that takes none of them.
    let lane: i32 = get(&c, "select lane from tenure.lanes", &[]).await;
    let moved: i32 = get(&c, "select tenure.lane_promote(array[$1], tenure.now(), 1)", &[&lane]).await;
    assert_eq!(moved, 1, "bounded");
    let ready = rows(&c, "select job_id, state from tenure.ready", &[]).await;
    assert_eq!(
        (ready[0].get::<_, Uuid>(0), ready[0].get::<_, &str>(1)),
        (retried, "retry_waiting")
    );
    assert_eq!(state(&c, retried).await, "retry_waiting");
    assert_eq!(state(&c, scheduled).await, "queued");
    assert_eq!(ids(&claim_with(&c, "w", ", p_limit => 5").await), [retried, scheduled]);
    check_invariants(&c).await;
}

/// Promotion is bounded by a hundred rows a lane and claim; nothing is left behind for good. Rule: 17.
#[tokio::test]
async fn a_large_wave_of_due_jobs_is_promoted_in_bounded_steps() {
    let db = Db::open().await;
    let c = db.client().await;
    let kinds = vec!["a"; 350];
    let sql = "select job_id from tenure.job_enqueue_many($1, p_due => array_fill(tenure.now() + interval '1 minute', array[350]))";
    rows(&c, sql, &[&kinds]).await;
    db.advance("2 minutes").await;
    assert_eq!(claim_with(&c, "w", "").await.len(), 1);
    let left: i64 = get(&c, "select count(*) from tenure.delayed", &[]).await;
    assert_eq!(left, 250);
    let mut taken = 1;
    while taken < 350 {
        let got = claim_with(&c, "w", ", p_limit => 20").await.len();
        assert!(got > 0, "{taken} of 350 were taken");
        taken += got;
    }
    check_invariants(&c).await;
}

/// Proves: S83. Guards: D57. Rule: 17.
#[tokio::test]
async fn a_job_never_starts_past_its_deadline() {
    let db = Db::open().await;
    let c = db.client().await;
    let soon = ", p_deadline => tenure.now() + interval '1 minute'";
    let code = async |job: Uuid| -> String {
        get(
            &c,
            "select error_code from tenure.dead_letters where job_id = $1",
            &[&job],
        )
        .await
    };

    // Found by the claim itself, which then returns fewer.
    let late = enqueue_with(&c, "a", soon).await;
    let fine = enqueue(&c, "a").await;
    db.advance("2 minutes").await;
    assert_eq!(ids(&claim_with(&c, "w", ", p_limit => 5").await), [fine]);
    assert_eq!(
        (state(&c, late).await, code(late).await),
        ("dead_letter".to_owned(), "deadline_passed".to_owned())
    );

    // Claimed in time, started too late.
    let late = enqueue_with(&c, "b", soon).await;
    let held = claim(&c, "w").await;
    db.advance("2 minutes").await;
    refused(&verb(&c, "job_start", &held, "").await, "deadline_passed");
    assert_eq!(
        (state(&c, late).await, code(late).await),
        ("dead_letter".to_owned(), "deadline_passed".to_owned())
    );
    let late = enqueue_with(&c, "b", soon).await;
    let held = claim(&c, "w").await;
    db.advance("2 minutes").await;
    refused(&verb(&c, "job_progress", &held, "").await, "deadline_passed");
    assert_eq!(state(&c, late).await, "dead_letter");

    // Started in time: the deadline is about the start.
    enqueue_with(&c, "c", soon).await;
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    db.advance("2 minutes").await;
    assert_eq!(verb(&c, "job_complete", &held, "").await["state"], "succeeded");

    // It holds for retries too, and the sweep finds what nobody claims, waiting or delayed.
    let retried = enqueue_with(&c, "d", soon).await;
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => 3600").await;
    let waiting = enqueue_with(&c, "d", soon).await;
    db.advance("2 minutes").await;
    let found = reap(&c)
        .await
        .into_iter()
        .filter(|it| it.1 == "deadline_passed")
        .map(|it| it.0);
    assert_eq!(found.collect::<BTreeSet<Uuid>>(), BTreeSet::from([retried, waiting]));
    assert_eq!(state(&c, retried).await, "dead_letter");
    assert_eq!(state(&c, waiting).await, "dead_letter");
    check_invariants(&c).await;
}

/// A whole claim that finds only late jobs returns nothing and leaves no lease. Rule: 17.
#[tokio::test]
async fn a_claim_of_only_late_jobs_returns_nothing_and_holds_nothing() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..5 {
        enqueue_with(&c, "a", ", p_deadline => tenure.now() + interval '1 minute'").await;
    }
    db.advance("2 minutes").await;
    assert!(claim_with(&c, "w", ", p_limit => 5").await.is_empty());
    let leases: i64 = get(&c, "select count(*) from tenure.leases", &[]).await;
    let letters: i64 = get(
        &c,
        "select count(*) from tenure.dead_letters where error_code = 'deadline_passed'",
        &[],
    )
    .await;
    assert_eq!((leases, letters), (0, 5));
    check_invariants(&c).await;
}

/// Proves: S137. Guards: D73. Rule: 15.
#[tokio::test]
async fn affinity_is_preferred_within_its_window_and_hides_nothing() {
    let db = Db::open().await;
    let c = db.client().await;
    let plain = enqueue(&c, "a").await;
    let mine = enqueue_with(&c, "a", ", p_affinity_key => 'repo-1'").await;
    let other = enqueue_with(&c, "a", ", p_affinity_key => 'repo-2'").await;
    assert_eq!(ids(&claim_with(&c, "w", ", p_affinity_key => 'repo-1'").await), [mine]);
    assert_eq!(
        ids(&claim_with(&c, "w", ", p_affinity_key => 'repo-1', p_limit => 5").await),
        [plain, other],
        "nothing preferred is left: then by order"
    );
    // Beyond the window the order wins: the lane is not read to its end.
    let kinds = vec!["b"; 200];
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    let far = enqueue_with(&c, "b", ", p_affinity_key => 'repo-1'").await;
    let first = claim_with(&c, "w", ", p_affinity_key => 'repo-1'").await;
    assert_ne!(ids(&first), [far]);
    let second = claim_with(&c, "w", ", p_affinity_key => 'repo-1'").await;
    assert_eq!(ids(&second), [far], "now it lies within the window");
}

/// Rule: 13.
#[tokio::test]
async fn a_claim_looks_at_a_bounded_number_of_lanes_and_the_cursor_reaches_the_others() {
    let db = Db::open().await;
    let c = db.client().await;
    let kinds: Vec<String> = (0..150).map(|n| format!("kind {n:03}")).collect();
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    let mut seen = BTreeSet::new();
    let mut after: Option<i32> = None;
    for expected in [64, 64, 22] {
        let sql = "select lane from tenure.job_claim_many('w', p_limit => 1000, p_lane_after => $1)";
        let lanes: Vec<i32> = rows(&c, sql, &[&after]).await.iter().map(|row| row.get(0)).collect();
        assert_eq!(lanes.len(), expected, "claim_lanes_max");
        after = lanes.iter().max().copied();
        seen.extend(lanes);
    }
    assert_eq!(seen.len(), 150);
    // The cursor turns: behind the last lane it begins again, so that no lane starves.
    enqueue(&c, "kind 000").await;
    enqueue(&c, "kind 149").await;
    let sql = "select kind from tenure.job_claim_many('w', p_limit => 10, p_lane_after => $1) order by kind";
    let got: Vec<String> = rows(&c, sql, &[&Some(100)])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(got, ["kind 000", "kind 149"]);
}

/// The pick as the claim runs it, over one lane. The function's own text is compared, so that this cannot drift.
const PICK: &str = "select r.ctid, r.job_id, r.rank, r.due, r.run + 1 as run, (r.attempts + 1)::smallint as attempt from tenure.ready r
           where r.lane = p_pick.lane and (r.rank, r.due) >= (p_pick.rank_from, p_pick.due_from) and (r.rank, r.due) <= (p_pick.rank_to, p_pick.due_to)
             and (p_pick.wanted is null or r.job_id = any (p_pick.wanted)) and (r.deadline <= p_now) is not true
           order by r.rank, r.due, r.job_id limit p_room for update skip locked";

/// Proves: S24, S122. Guards: D30, D55. Rule: 13.
#[tokio::test]
async fn the_pick_walks_the_primary_key_without_a_sort_on_an_empty_a_full_and_a_bloated_table() {
    let db = Db::open().await;
    let c = db.direct().await;
    let source: String = get(
        &c,
        "select prosrc from pg_proc where oid = 'tenure.lane_take'::regproc",
        &[],
    )
    .await;
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        folded(&source).contains(&folded(PICK)),
        "the claim picks by another statement: change PICK with it"
    );
    enqueue(&c, "a").await;
    enqueue(&c, "b").await;
    let lane: i32 = get(&c, "select min(lane) from tenure.lanes", &[]).await;
    let explain = async |state: &str| {
        let pick = PICK
            .replace("p_pick.lane", &lane.to_string())
            .replace("p_pick.rank_from", "'-32768'::smallint")
            .replace("p_pick.due_from", "'-infinity'::timestamptz")
            .replace("p_pick.rank_to", "32767::smallint")
            .replace("p_pick.due_to", "'infinity'::timestamptz")
            .replace("p_pick.wanted", "null::uuid[]")
            .replace("p_now", "now()")
            .replace("p_room", "100");
        run(&c, "begin").await;
        let settings = "select set_config(split_part(s, '=', 1), split_part(s, '=', 2), true)
                          from pg_proc p, unnest(p.proconfig) s where p.oid = 'tenure.job_turn'::regproc and s not like 'search_path%'";
        rows(&c, settings, &[]).await;
        let plan: Value = get(&c, &format!("explain (format json) {pick}"), &[]).await;
        run(&c, "rollback").await;
        let text = plan.to_string();
        assert!(
            text.contains("ready_pkey") && !text.contains("\"Sort\""),
            "{state}: {plan}"
        );
        assert!(text.contains("Index Scan"), "{state}: {plan}");
    };
    run(&c, "truncate tenure.ready; analyze tenure.ready").await;
    explain("empty").await;
    run(
        &c,
        "insert into tenure.ready (lane, rank, due, job_id, state, run, attempts)
         select 1 + n % 2, 0, now() - n * interval '1 second', gen_random_uuid(), 'queued', 0, 0 from generate_series(1, 100000) n",
    )
    .await;
    explain("full, never analysed").await;
    run(&c, "analyze tenure.ready").await;
    explain("full").await;
    run(
        &c,
        "delete from tenure.ready where ctid in (select ctid from tenure.ready limit 99900)",
    )
    .await;
    explain("bloated").await;
    run(&c, "analyze tenure.ready").await;
    explain("bloated, analysed").await;
}

/// The statements inside the functions, as the server really plans them: no scan of a whole hot table, on an empty, a
/// full and a bloated database. Proves: S127. Rule: 12, 13, 18.
#[tokio::test]
async fn no_hot_statement_reads_a_whole_table() {
    let db = Db::open().await;
    let c = db.direct().await;
    let kinds = vec!["a"; 1000];
    for _ in 0..10 {
        rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    }
    let turn = "select count(*) from (
        select tenure.job_complete(c.job_id, c.token) from tenure.job_claim_many('w', p_limit => 50, p_mode => 'started') c) x";
    rows(&c, turn, &[]).await;
    let scans = "select coalesce(sum(seq_tup_read), 0)::bigint from pg_stat_xact_user_tables
                  where schemaname = 'tenure' and relname in ('ready', 'delayed', 'active', 'attempts_p0', 'jobs_p0', 'idempotency')";
    for analysed in [false, true] {
        if analysed {
            run(&c, "analyze").await;
        }
        // Counted within one transaction: each statement's own reads.
        run(&c, "begin").await;
        enqueue_with(&c, "a", ", p_key => 'k'").await;
        let held = claim_with(&c, "w", ", p_limit => 10, p_mode => 'started'").await;
        for it in &held[..5] {
            verb(&c, "job_complete", it, "").await;
        }
        verb(&c, "job_fail", &held[5], ", 'x'").await;
        one(&c, "select tenure.job_cancel($1, 'no need')", &[&held[5].job_id]).await;
        one(&c, "select tenure.job_show($1)", &[&held[6].job_id]).await;
        let read: i64 = get(&c, scans, &[]).await;
        run(&c, "commit").await;
        assert!(
            read < 1000,
            "analysed {analysed}: {read} rows were read by scans of whole tables"
        );
    }
}
