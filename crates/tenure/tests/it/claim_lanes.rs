//! Claims over more lanes than one claim looks at: the best priority comes first wherever it waits, no lane starves,
//! and the work of a claim does not grow with the number of lanes.

use std::collections::BTreeSet;

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, all, check_invariants, claim, claim_with, enqueue_with, get, one, reap, rows, run, verb,
};

/// One job of each kind, enqueued in batches.
async fn one_of_each(c: &Client, kinds: usize, priority: i32) {
    for batch in (0..kinds).collect::<Vec<_>>().chunks(1000) {
        let names: Vec<String> = batch.iter().map(|n| format!("kind {n:05}")).collect();
        let sql =
            "select job_id from tenure.job_enqueue_many($1, p_priorities => array_fill($2, array[cardinality($1)]))";
        rows(c, sql, &[&names, &priority]).await;
    }
}

/// The rows that this session has read of every table since its counts were last reported.
async fn rows_read(c: &Client) -> i64 {
    let sql = "select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint from pg_stat_xact_user_tables
                where schemaname = 'tenure'";
    get(c, sql, &[]).await
}

async fn marks(c: &Client) -> i64 {
    get(c, "select count(*) from tenure.ready_marks", &[]).await
}

/// As often as it takes for a mark to be retired, numbered and deleted.
async fn tidy(c: &Client) {
    for _ in 0..4 {
        rows(c, "select tenure.ready_marks_tidy(array[1], 1000)", &[]).await;
    }
}

/// Rule: 13.
#[tokio::test]
async fn an_urgent_job_of_the_last_of_many_kinds_is_claimed_first() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..60 {
        one_of_each(&c, 70, -100).await;
    }
    let urgent = enqueue_with(&c, "kind 00069", ", p_priority => 'urgent'").await;
    let first = one(&c, "select tenure.job_claim('w')", &[]).await;
    assert_eq!(first["job"]["job_id"], urgent.to_string());
    let urgent = enqueue_with(&c, "kind 00068", ", p_priority => 'urgent'").await;
    let batch = claim_with(&c, "w", ", p_limit => 100").await;
    assert_eq!((batch.len(), batch[0].job_id), (100, urgent));
    // Named one by one it is the same.
    let urgent = enqueue_with(&c, "kind 00069", ", p_priority => 'urgent'").await;
    let kinds = ", p_kinds => array(select 'kind ' || lpad(n::text, 5, '0') from generate_series(0, 69) n)";
    assert_eq!(claim_with(&c, "w", kinds).await[0].job_id, urgent);
    check_invariants(&c).await;
}

/// Rule: 13.
#[tokio::test]
async fn the_work_of_a_claim_does_not_grow_with_the_number_of_lanes() {
    let db = Db::open().await;
    let c = db.direct().await;
    one_of_each(&c, 10_000, 0).await;
    claim(&c, "w").await;
    for (what, arguments) in [
        ("every kind", ""),
        ("every kind of one executor", ", p_executor => 'external_worker'"),
        ("one kind", ", p_kinds => array['kind 07000']"),
    ] {
        let urgent = enqueue_with(&c, "kind 09999", ", p_priority => 'urgent'").await;
        run(&c, "begin").await;
        let before = rows_read(&c).await;
        let got = claim_with(&c, "w", arguments).await;
        let read = rows_read(&c).await - before;
        run(&c, "commit").await;
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].job_id == urgent, what != "one kind", "{what}");
        assert!(read < 2000, "{what}: {read} rows were read for one job of 10000 lanes");
    }
    // Nor when what comes due waits in lanes where nothing else does.
    run(&c, "delete from tenure.ready; delete from tenure.jobs j where not exists (select from tenure.active a where a.job_id = j.job_id)").await;
    // The marks of what was taken are passed over once, and then no more.
    assert!(claim_with(&c, "w", "").await.is_empty());
    let due = enqueue_with(&c, "kind 05000", ", p_due => tenure.now() + interval '1 minute'").await;
    db.advance("2 minutes").await;
    run(&c, "begin").await;
    let before = rows_read(&c).await;
    let got = claim(&c, "w").await;
    let read = rows_read(&c).await - before;
    run(&c, "commit").await;
    assert_eq!(got.job_id, due);
    assert!(
        read < 5000,
        "{read} rows were read for what came due in one of 10000 lanes"
    );
}

/// Rule: 13.
#[tokio::test]
async fn among_lanes_of_one_priority_every_lane_is_reached() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..3 {
        one_of_each(&c, 200, 0).await;
    }
    let mut lanes = BTreeSet::new();
    for taken in 0..600 {
        let got = claim_with(&c, "w", "").await;
        assert_eq!(got.len(), 1, "{taken} of 600 were taken");
        lanes.insert(got[0].lane);
    }
    assert_eq!(lanes.len(), 200);
    assert!(claim_with(&c, "w", "").await.is_empty());
    check_invariants(&c).await;
}

/// Rule: 13.
#[tokio::test]
async fn lanes_that_may_not_be_claimed_hide_no_other() {
    let db = Db::open().await;
    let c = db.client().await;
    one_of_each(&c, 100, 100).await;
    let sql = "select tenure.kind_pause('kind ' || lpad(n::text, 5, '0'), 'a while') from generate_series(0, 99) n";
    rows(&c, sql, &[]).await;
    let agents = enqueue_with(&c, "kind 00100", ", p_executor => 'Agent', p_priority => '7'").await;
    let plain = enqueue_with(&c, "kind 00100", "").await;
    let ids = async |arguments: &str| -> Vec<Uuid> {
        let got = claim_with(&c, "w", arguments).await;
        got.iter().map(|it| it.job_id).collect()
    };
    assert_eq!(ids(", p_executor => 'external_worker', p_limit => 9").await, [plain]);
    assert_eq!(ids(", p_priority_min => 8").await, [] as [Uuid; 0]);
    assert_eq!(ids(", p_limit => 9").await, [agents]);
    rows(&c, "select tenure.kind_resume('kind 00077')", &[]).await;
    assert_eq!(ids(", p_limit => 9").await.len(), 1);
    check_invariants(&c).await;
}

/// Rule: 13.
#[tokio::test]
async fn what_comes_due_is_found_in_any_of_many_lanes() {
    let db = Db::open().await;
    let c = db.client().await;
    one_of_each(&c, 90, 0).await;
    let mut held: Vec<Claimed> = Vec::new();
    while held.len() < 90 {
        held.extend(claim_with(&c, "w", ", p_limit => 50, p_mode => 'started'").await);
    }
    for it in &held {
        verb(&c, "job_fail", it, ", 'x', p_retry_seconds => 60").await;
    }
    let urgent = enqueue_with(
        &c,
        "kind 00089",
        ", p_priority => 'urgent', p_due => tenure.now() + interval '30 seconds'",
    )
    .await;
    tidy(&db.direct().await).await;
    assert!(claim_with(&c, "w", "").await.is_empty(), "nothing is due");
    db.advance("2 minutes").await;
    assert_eq!(claim(&c, "w").await.job_id, urgent);
    let mut taken = 0;
    while taken < 90 {
        let got = claim_with(&c, "w", ", p_limit => 7").await.len();
        assert!(got > 0, "{taken} of 90 were taken");
        taken += got;
    }
    check_invariants(&c).await;
}

/// A mark is what leads a claim to a lane. It stays for as long as a transaction that relies on it may commit a job.
#[tokio::test]
async fn a_mark_stays_while_an_enqueue_that_relies_on_it_is_under_way() {
    let db = Db::open().await;
    let c = db.direct().await;
    one_of_each(&c, 80, 0).await;
    let under_way = db.client().await;
    run(&under_way, "begin").await;
    let late = enqueue_with(&under_way, "kind 00042", "").await;
    assert_eq!(marks(&c).await, 80, "it relies on the mark that stands");
    while !claim_with(&c, "w", ", p_limit => 100").await.is_empty() {}
    tidy(&c).await;
    let left: i64 = get(
        &c,
        "select count(*) from tenure.ready_marks m join tenure.lanes l on l.lane = m.lane where l.kind = 'kind 00042'",
        &[],
    )
    .await;
    assert_eq!(left, 1, "retired, and kept");
    run(&under_way, "commit").await;
    assert_eq!(claim(&c, "w").await.job_id, late);
    // Nothing waits, and hardly anything stays marked. Other transactions of this server hold the marks for a while.
    while marks(&c).await > 8 {
        tidy(&c).await;
    }
    // One that sees the past makes a mark of its own: what it sees may be gone.
    let past = db.client().await;
    one_of_each(&c, 80, 0).await;
    run(&past, "begin isolation level repeatable read").await;
    assert!(marks(&past).await >= 80);
    while !claim_with(&c, "w", ", p_limit => 100").await.is_empty() {}
    // Whatever else is open on this server holds them for a while.
    while marks(&c).await > 8 {
        tidy(&c).await;
    }
    let late = enqueue_with(&past, "kind 00042", "").await;
    run(&past, "commit").await;
    assert_eq!(claim(&c, "w").await.job_id, late);
    check_invariants(&c).await;
}

/// The number of a mark lies above that of every transaction under way, also of one that began after the last that ended.
#[tokio::test]
async fn a_mark_is_kept_for_an_enqueue_that_began_after_the_claim_that_retires_it() {
    let db = Db::open().await;
    let c = db.direct().await;
    one_of_each(&c, 70, 0).await;
    while !claim_with(
        &c,
        "w",
        ", p_kinds => array(select kind from tenure.lanes), p_limit => 100",
    )
    .await
    .is_empty()
    {}
    let (retiring, enqueuing) = (db.direct().await, db.direct().await);
    run(&retiring, "begin").await;
    assert!(claim_with(&retiring, "w", "").await.is_empty());
    run(&enqueuing, "begin").await;
    let late = enqueue_with(&enqueuing, "kind 00005", "").await;
    run(&retiring, "commit").await;
    for _ in 0..3 {
        assert!(claim_with(&c, "w", "").await.is_empty());
    }
    run(&enqueuing, "commit").await;
    assert_eq!(claim(&c, "w").await.job_id, late);
    check_invariants(&c).await;
}

/// Rule: 13.
#[tokio::test]
async fn an_open_claim_hides_nothing_else_that_came_due() {
    let db = Db::open().await;
    let c = db.direct().await;
    let names: Vec<String> = (0..300).map(|n| format!("kind {n:05}")).collect();
    let sql = "select job_id from tenure.job_enqueue_many($1, p_due => array_fill(tenure.now() + interval '1 minute', array[300]))";
    rows(&c, sql, &[&names]).await;
    db.advance("2 minutes").await;
    let open = db.direct().await;
    run(&open, "begin").await;
    assert_eq!(claim_with(&open, "w", "").await.len(), 1);
    assert_eq!(claim_with(&c, "w", "").await.len(), 1, "beside a claim that stays open");
    run(&open, "rollback").await;
    check_invariants(&c).await;
}

/// Rule: 17.
#[tokio::test]
async fn a_claim_moves_a_bounded_number_of_due_jobs_however_many_lanes_they_wait_in() {
    let db = Db::open().await;
    let c = db.direct().await;
    let names: Vec<String> = (0..1000).map(|n| format!("kind {:05}", n % 100)).collect();
    let sql = "select job_id from tenure.job_enqueue_many($1, p_due => array_fill(tenure.now() + interval '1 minute', array[1000]))";
    for _ in 0..3 {
        rows(&c, sql, &[&names]).await;
    }
    db.advance("2 minutes").await;
    assert_eq!(claim_with(&c, "w", "").await.len(), 1);
    let waiting: i64 = get(&c, "select count(*) from tenure.delayed", &[]).await;
    assert_eq!(waiting, 2900, "a hundred were moved for a claim of one");
}

/// Producers with an old snapshot make a mark for each job; the upkeep retires all but one of a pair.
#[tokio::test]
async fn marks_that_stand_twice_go_also_where_claims_name_their_kinds() {
    let db = Db::open().await;
    let c = db.direct().await;
    for _ in 0..20 {
        run(&c, "begin isolation level repeatable read").await;
        enqueue_with(&c, "kind 00001", "").await;
        run(&c, "commit").await;
    }
    assert_eq!(marks(&c).await, 20);
    assert_eq!(
        claim_with(&c, "w", ", p_kinds => array['kind 00001'], p_limit => 15")
            .await
            .len(),
        15
    );
    while marks(&c).await > 1 {
        rows(&c, "select tenure.ready_marks_mend()", &[]).await;
        tidy(&c).await;
    }
    assert_eq!(claim_with(&c, "w", ", p_limit => 100").await.len(), 5);
    check_invariants(&c).await;
}

/// Marks that wait for an open transaction are looked at, and not written to.
#[tokio::test]
async fn an_idle_claim_writes_nothing_while_an_older_transaction_is_open() {
    let db = Db::open().await;
    let c = db.direct().await;
    one_of_each(&c, 200, 0).await;
    let open = db.direct().await;
    run(&open, "begin; select pg_current_xact_id()").await;
    while !claim_with(&c, "w", ", p_limit => 100").await.is_empty() {}
    tidy(&c).await;
    assert!(marks(&c).await >= 190, "they wait for the open transaction");
    for _ in 0..3 {
        run(&c, "begin").await;
        assert!(claim_with(&c, "w", "").await.is_empty());
        let written: Option<String> = get(&c, "select pg_current_xact_id_if_assigned()::text", &[]).await;
        run(&c, "commit").await;
        assert_eq!(written, None, "a transaction that has written has a number");
    }
    run(&open, "commit").await;
}

/// Many who enqueue, some of whom give up, and many who claim over every kind: no job is left without a mark.
#[tokio::test]
async fn claims_over_many_lanes_beside_enqueues_leave_nothing_behind() {
    let db = Db::open().await;
    let c = db.direct().await;
    one_of_each(&c, 120, 0).await;
    while !claim_with(&c, "w", ", p_limit => 100").await.is_empty() {}
    let enqueues = async |seed: usize| {
        let own = db.client().await;
        for n in 0..60 {
            let kind = format!("kind {:05}", (seed * 37 + n * 11) % 120);
            let priority = [-100, 0, 0, 100][(seed + n) % 4];
            run(&own, "begin").await;
            let sql = format!("select tenure.job_enqueue('{kind}', p_priority => '{priority}')");
            run(&own, &sql).await;
            run(&own, if n % 5 == 0 { "rollback" } else { "commit" }).await;
        }
        0
    };
    let claims = async |worker: &str| {
        let own = db.client().await;
        let mut got = 0;
        for _ in 0..120 {
            let jobs = claim_with(&own, worker, ", p_mode => 'started'").await;
            for (n, it) in jobs.iter().enumerate() {
                if (got + n) % 4 == 0 {
                    verb(&own, "job_release", it, "").await;
                } else {
                    verb(&own, "job_complete", it, "").await;
                }
            }
            got += jobs.len();
            reap(&own).await;
        }
        got
    };
    let mut tasks: Vec<std::pin::Pin<Box<dyn Future<Output = usize>>>> = Vec::new();
    for seed in 0..4 {
        tasks.push(Box::pin(enqueues(seed)));
    }
    for worker in ["x", "y", "z"] {
        tasks.push(Box::pin(claims(worker)));
    }
    all(tasks).await;
    check_invariants(&c).await;
    while !claim_with(&c, "w", ", p_limit => 100").await.is_empty() {}
    let left: i64 = get(&c, "select count(*) from tenure.ready", &[]).await;
    assert_eq!(left, 0, "jobs that no claim over every kind finds");
    let ended: i64 = get(
        &c,
        "select count(*) from tenure.attempts where outcome = 'succeeded'",
        &[],
    )
    .await;
    assert!(ended > 0);
}

/// What puts a job into `ready` marks its lane: every function that does the one does the other.
#[tokio::test]
async fn every_function_that_makes_a_job_ready_marks_its_lane() {
    let db = Db::open().await;
    let c = db.client().await;
    let sql = "select proname::text from pg_proc where pronamespace = 'tenure'::regnamespace
                and prosrc ~ 'insert into tenure\\.ready ' and prosrc !~ 'tenure\\.ready_mark'";
    let unmarked: Vec<String> = rows(&c, sql, &[]).await.iter().map(|row| row.get(0)).collect();
    assert!(unmarked.is_empty(), "{unmarked:?}");
}
