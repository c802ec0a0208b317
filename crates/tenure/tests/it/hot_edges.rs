//! Edges of the hot path: what a sweep, a faulty row, an odd array, a full kind or an old snapshot must not do to others.

use serde_json::{Value, json};
use tenure_cluster::testing::TestCluster;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, check_invariants, claim, claim_with, connect, enqueue, enqueue_with, get, one, raised, refused, rows,
    run, state, told, try_rows, until, until_blocked, verb,
};

/// The one held job of a kind, started.
async fn held(c: &Client, kind: &str) -> Claimed {
    enqueue(c, kind).await;
    claim_with(c, "w", &format!(", p_kinds => array['{kind}'], p_mode => 'started'"))
        .await
        .remove(0)
}

/// Ends in one batch; the statuses, in order.
async fn end_many(
    c: &Client,
    ends: &[(Uuid, Uuid, Option<&str>)],
    results: Option<Vec<Option<Value>>>,
) -> Vec<(String, Option<String>)> {
    let jobs: Vec<Uuid> = ends.iter().map(|it| it.0).collect();
    let tokens: Vec<Uuid> = ends.iter().map(|it| it.1).collect();
    let outcomes: Vec<Option<&str>> = ends.iter().map(|it| it.2).collect();
    let results = results.unwrap_or_else(|| vec![None; ends.len()]);
    let sql = "select status, state from tenure.job_end_many($1, $2, $3, $4)";
    let answers = rows(c, sql, &[&jobs, &tokens, &outcomes, &results]).await;
    assert_eq!(answers.len(), ends.len(), "each row is answered");
    answers.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The enqueue that found the key standing makes its job, whether the sweep had only locked the key or deleted it.
/// Rule: 1, 2.
#[tokio::test]
async fn an_enqueue_that_waited_for_a_sweep_of_its_key_makes_its_job() {
    let single = "select job_id, duplicate from tenure.job_enqueue_many(array['a'], p_keys => array['k'])";
    let batch = "select job_id, duplicate from tenure.job_enqueue_many(array['a', 'a'], p_keys => array['k', 'other'])";
    for (sql, deleted_before) in [(single, false), (single, true), (batch, false), (batch, true)] {
        let db = Db::open().await;
        let (sweep, c, watch) = (db.client().await, db.client().await, db.client().await);
        let old = enqueue_with(&c, "a", ", p_key => 'k'").await;
        let done = claim(&c, "w").await;
        verb(&c, "job_complete", &done, "").await;

        let delete = format!("delete from tenure.idempotency where job_id = '{old}'");
        run(&sweep, "begin").await;
        let lock = "select job_id from tenure.idempotency where job_id = $1 for update";
        assert_eq!(rows(&sweep, lock, &[&old]).await.len(), 1);
        if deleted_before {
            run(&sweep, &delete).await;
        }
        let (made, ()) = tokio::join!(rows(&c, sql, &[]), async {
            until_blocked(&watch, "job_enqueue_many").await;
            if !deleted_before {
                run(&sweep, &delete).await;
            }
            run(&sweep, "commit").await;
        });
        for row in &made {
            let (job, duplicate): (Uuid, bool) = (row.get(0), row.get(1));
            assert!(!duplicate && job != old, "{sql}");
            assert_eq!(state(&watch, job).await, "queued", "{sql}");
        }
        let named: Uuid = get(
            &watch,
            "select i.job_id from tenure.idempotency i join tenure.jobs j using (job_id) where j.idempotency_key = 'k'",
            &[],
        )
        .await;
        assert_eq!(named, made[0].get::<_, Uuid>(0), "the key names the new job");
        check_invariants(&watch).await;
    }
}

#[tokio::test]
async fn a_faulty_end_hides_no_good_one_of_the_same_run() {
    let db = Db::open().await;
    let c = db.client().await;
    let large = json!({"a": "x".repeat(1 << 20)});
    let faults = [
        ("no outcome", None, None),
        ("unknown outcome", Some("bogus"), None),
        ("oversized result", Some("succeeded"), Some(large)),
    ];
    for (fault, outcome, result) in faults {
        for fault_first in [true, false] {
            let job = held(&c, "e").await;
            let bystander = held(&c, "e").await;
            let mut ends = vec![
                (job.job_id, job.token, outcome),
                (job.job_id, job.token, Some("succeeded")),
            ];
            let mut results = vec![result.clone(), Some(json!({"n": 1}))];
            if !fault_first {
                ends.reverse();
                results.reverse();
            }
            ends.push((bystander.job_id, bystander.token, Some("succeeded")));
            results.push(None);
            let answers = end_many(&c, &ends, Some(results)).await;
            let ended = ("ended".to_owned(), Some("succeeded".to_owned()));
            assert_eq!(answers[usize::from(fault_first)], ended, "{fault}: {answers:?}");
            assert_eq!(answers[2], ended, "{fault}: {answers:?}");
            assert_eq!(state(&c, job.job_id).await, "succeeded", "{fault}");
            assert_eq!(state(&c, bystander.job_id).await, "succeeded", "{fault}");
            let sql = "select result from tenure.attempts where job_id = $1";
            assert_eq!(
                one(&c, sql, &[&job.job_id]).await,
                json!({"n": 1}),
                "{fault}: the good one's"
            );
            check_invariants(&c).await;
        }
    }
}

#[tokio::test]
async fn a_faulty_end_alone_leaves_its_run_held() {
    let db = Db::open().await;
    let c = db.client().await;
    for outcome in [None, Some("bogus")] {
        let job = held(&c, "e").await;
        let pair = (job.job_id, job.token, outcome);
        for (status, _) in end_many(&c, &[pair, pair], None).await {
            assert_eq!(status, "outcome_unknown");
        }
        assert_eq!(state(&c, job.job_id).await, "in_progress");
        let good = end_many(&c, &[(job.job_id, job.token, Some("succeeded"))], None).await;
        assert_eq!(good[0].0, "ended");
    }
}

#[tokio::test]
async fn a_cancel_or_snooze_of_a_lost_lease_blocks_no_end_of_the_living_one() {
    let db = Db::open().await;
    let c = db.client().await;
    for stale in ["cancelled", "snoozed"] {
        for stale_first in [true, false] {
            let lost = held(&c, "m").await;
            verb(&c, "job_release", &lost, "").await;
            let live = claim(&c, "w").await;
            assert_eq!(live.job_id, lost.job_id);
            let mut ends = vec![
                (lost.job_id, lost.token, Some(stale)),
                (live.job_id, live.token, Some("succeeded")),
            ];
            if !stale_first {
                ends.reverse();
            }
            let answers = end_many(&c, &ends, None).await;
            assert_eq!(answers[usize::from(stale_first)].0, "ended", "{stale}: {answers:?}");
            assert_eq!(state(&c, live.job_id).await, "succeeded", "{stale}");
            check_invariants(&c).await;
        }
    }
}

#[tokio::test]
async fn an_affinity_that_nobody_has_is_looked_for_once_a_lane() {
    let db = Db::open().await;
    let (claiming, watch) = (db.direct().await, db.direct().await);
    for _ in 0..3 {
        let kinds = vec!["many"; 1000];
        rows(&watch, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    }
    for _ in 0..3 {
        enqueue_with(&watch, "few", ", p_priority => 'urgent'").await;
    }
    run(&claiming, "set track_functions = 'all'").await;
    let got = claim_with(&claiming, "w", ", p_limit => 10, p_affinity_key => 'nobody has it'").await;
    assert_eq!(got.len(), 10, "three of one lane and the rest of the other");
    // A session that ends tells its counts.
    drop(claiming);
    let counted =
        "select calls from pg_stat_user_functions where schemaname = 'tenure' and funcname = 'lane_preferred'";
    until(
        &watch,
        &format!("select coalesce(({counted}), 0) > 0"),
        &[],
        "the counts",
    )
    .await;
    assert_eq!(get::<i64>(&watch, counted, &[]).await, 2);
}

#[tokio::test]
async fn a_claim_with_an_old_snapshot_is_refused_whatever_it_asks_for() {
    let db = Db::open().await;
    let c = db.client().await;
    let policy = json!({"concurrency_max": 1});
    one(&c, "select tenure.kind_set('limited', $1)", &[&policy]).await;
    let jobs = [enqueue(&c, "limited").await, enqueue(&c, "free").await];
    for level in ["repeatable read", "serializable"] {
        for kinds in ["array['limited']", "array['free']", "null"] {
            run(&c, &format!("begin isolation level {level}")).await;
            let sql = format!("select job_id from tenure.job_claim_many('w', p_kinds => {kinds})");
            let why = raised(try_rows(&c, &sql, &[]).await, "state_conflict");
            assert!(why.contains(level), "{why}");
            run(&c, "rollback").await;
        }
    }
    for job in jobs {
        assert_eq!(state(&c, job).await, "queued");
    }
    run(&c, "begin isolation level read committed").await;
    assert_eq!(claim_with(&c, "w", ", p_limit => 10").await.len(), 2);
    run(&c, "commit").await;
}

#[tokio::test]
async fn full_kinds_starve_no_other() {
    let db = Db::open().await;
    let c = db.client().await;
    let full: Vec<String> = (0..64).map(|n| format!("full {n:02}")).collect();
    let all: Vec<String> = full.iter().cloned().chain(["room".to_owned()]).collect();
    // The full ones first: their lanes come before the other's.
    for _ in 0..2 {
        rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&all]).await;
    }
    let policy = json!({"concurrency_max": 1});
    for kind in &full {
        one(&c, "select tenure.kind_set($1, $2)", &[kind, &policy]).await;
    }
    let sql = "select job_id from tenure.job_claim_many('w', p_kinds => $1, p_limit => 1000)";
    assert_eq!(rows(&c, sql, &[&full]).await.len(), full.len());
    assert_eq!(rows(&c, sql, &[&all]).await.len(), 2, "both of the kind that has room");
}

/// In Turkish the small letter of I has no dot.
#[tokio::test]
async fn a_forbidden_key_in_capitals_is_refused_in_any_locale() {
    let cluster = TestCluster::shared().await.expect("a server");
    let admin = connect(&cluster.url("postgres").parse().expect("its URL")).await;
    let name = format!("tenure_test_{}", Uuid::new_v4().simple());
    let create = format!(
        "create database {name} template template0 encoding 'UTF8' locale_provider icu icu_locale 'tr-TR' locale 'C'"
    );
    if let Err(error) = admin.batch_execute(&create).await {
        assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED), "{}", told(&error));
        println!("not tried, the server is built without ICU: {}", told(&error));
        return;
    }
    // Nothing in between may panic: the database goes, whatever the answers are.
    let answers = turkish_answers(&cluster.url(&name)).await;
    run(&admin, &format!("drop database {name} with (force)")).await;
    let (lower, fine, answers) = answers.expect("the database can be used");
    assert_eq!(lower, "\u{131}", "the locale is the one asked for");
    assert!(fine["job_id"].is_string(), "{fine}");
    for answer in answers {
        refused(&answer, "payload_forbidden_key");
    }
}

/// What `lower('I')` is there, the answer to a good payload, and the answers to forbidden ones.
async fn turkish_answers(url: &str) -> Result<(String, Value, Vec<Value>), String> {
    let mut c = connect(&url.parse().map_err(|error| format!("{error:?}"))?).await;
    tenure::migrate(&mut c, &tenure::migrate::Options::default())
        .await
        .map_err(|error| format!("{error:?}"))?;
    let open = "begin;
         set local tenure.tenant = '*';
         do $$ begin perform tenure.gate_set(k.key, 'open') from tenure.config_keys k where k.is_gate; end $$;
         commit";
    c.batch_execute(open).await.map_err(|error| told(&error))?;
    let told = |error| told(&error);
    let lower = try_rows(&c, "select lower('I')", &[]).await.map_err(told)?[0].get(0);
    let sql = "select tenure.try_job_enqueue('a', $1)";
    let fine = try_rows(&c, sql, &[&json!({"LIMIT": 1})]).await.map_err(told)?[0].get(0);
    let mut answers = Vec::new();
    for payload in [
        json!({"EMBEDDING": 1}),
        json!({"a": [{"Embeddİng": 1, "EMBEDDING": 1}]}),
        json!({"TOKEN": 1}),
    ] {
        answers.push(try_rows(&c, sql, &[&payload]).await.map_err(told)?[0].get(0));
    }
    Ok((lower, fine, answers))
}

/// An array may begin anywhere and have two dimensions. Such a one is honoured or refused, never read as null.
#[tokio::test]
async fn an_odd_array_loses_neither_payload_nor_key() {
    let db = Db::open().await;
    let c = db.client().await;
    let forms = |value: &str, kind: &str| {
        let quoted = value.replace('"', "\\\"");
        [
            format!("array['{value}']::{kind}[]"),
            format!("'[0:0]={{\"{quoted}\"}}'::{kind}[]"),
            format!("'[2:2]={{\"{quoted}\"}}'::{kind}[]"),
            format!("array[array['{value}']]::{kind}[]"),
            format!("'[0:0][5:5]={{{{\"{quoted}\"}}}}'::{kind}[]"),
        ]
    };
    let mut lost = Vec::new();
    for kinds in forms("odd", "text") {
        for payloads in forms(r#"{"n": 1}"#, "json") {
            for keys in forms("k", "text") {
                let sql = format!("select job_id from tenure.job_enqueue_many({kinds}, {payloads}, {keys})");
                let made = match try_rows(&c, &sql, &[]).await {
                    Ok(made) => made,
                    Err(error) if error.code().is_some_and(|code| code.code().starts_with("TN")) => continue,
                    Err(error) => panic!("{sql}\n{}", told(&error)),
                };
                assert_eq!(made.len(), 1, "{sql}");
                let job: Uuid = made[0].get(0);
                let stored =
                    "select jsonb_build_array(kind, payload, idempotency_key) from tenure.jobs where job_id = $1";
                let stored = one(&c, stored, &[&job]).await;
                if stored != json!(["odd", {"n": 1}, "k"]) {
                    lost.push(format!("{sql}: {stored}"));
                }
                one(&c, "select tenure.job_cancel($1, 'seen')", &[&job]).await;
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_change_of_the_configuration_with_an_old_snapshot_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    let before = one(
        &c,
        "select to_jsonb(t) from tenure.tunings t where t.tenant_id = 0",
        &[],
    )
    .await;
    for level in ["repeatable read", "serializable"] {
        run(&c, &format!("begin isolation level {level}")).await;
        let answer = one(&c, "select tenure.config_set('queue.lease.duration_sec', '7')", &[]).await;
        run(&c, "commit").await;
        refused(&answer, "state_conflict");
        assert!(
            answer["what"].as_str().is_some_and(|what| what.contains(level)),
            "{answer}"
        );
    }
    let after = one(
        &c,
        "select to_jsonb(t) from tenure.tunings t where t.tenant_id = 0",
        &[],
    )
    .await;
    assert_eq!(before, after);
    let answer = one(&c, "select tenure.config_set('queue.lease.duration_sec', '7')", &[]).await;
    assert_eq!(answer["refused"], Value::Null, "{answer}");
}

/// Both lock held jobs in the order of their ids, though the table has them in another.
#[tokio::test]
async fn a_first_limit_and_a_batch_of_ends_never_deadlock() {
    let db = Db::open().await;
    let (cancelling, ending, limiting) = (db.client().await, db.client().await, db.client().await);
    let watch = db.client().await;
    enqueue(&watch, "d").await;
    enqueue(&watch, "d").await;
    let urgent = enqueue_with(&watch, "d", ", p_priority => 'urgent'").await;
    let mut mine = Vec::new();
    for _ in 0..3 {
        mine.push(claim_with(&watch, "w", ", p_mode => 'started'").await.remove(0));
    }
    assert_eq!(mine[0].job_id, urgent, "the last of the ids is the first of the table");
    mine.sort_by_key(|it| it.job_id);
    assert_eq!(mine[2].job_id, urgent);
    let ends: Vec<_> = mine.iter().map(|it| (it.job_id, it.token, Some("succeeded"))).collect();

    // Somebody has the second; the ends have the first and wait for the second; the limit wants all.
    run(&cancelling, "begin").await;
    one(
        &cancelling,
        "select tenure.job_cancel($1, 'enough')",
        &[&mine[1].job_id],
    )
    .await;
    let set = async {
        until_blocked(&watch, "job_end_many").await;
        one(
            &limiting,
            r#"select tenure.kind_set('d', '{"concurrency_max": 5}')"#,
            &[],
        )
        .await
    };
    let free = async {
        let waits = "select exists (select from pg_stat_activity where datname = current_database()
                      and pid <> pg_backend_pid() and strpos(query, $1) > 0
                      and (wait_event_type = 'Lock' or state = 'idle'))";
        until(&watch, waits, &[&"tenure.kind_set"], "the limit to wait or to be set").await;
        run(&cancelling, "commit").await;
    };
    let (answers, set, ()) = tokio::join!(end_many(&ending, &ends, None), set, free);
    assert!(answers.iter().all(|it| it.0 == "ended"), "{answers:?}");
    assert_eq!(set["concurrency_max"], 5, "{set}");
    check_invariants(&watch).await;
}
