//! Edges that a review found: each was reproduced before it was mended.

use serde_json::json;

use crate::fixture::{Db, check_invariants, claim_with, enqueue, get, one, refused, rows, run, until_blocked, verb};

/// A whole number may be written 300.0, and is kept as 300: everything that reads it goes on.
#[tokio::test]
async fn a_whole_number_with_a_point_is_kept_as_a_whole_number() {
    let db = Db::open().await;
    let c = db.client().await;
    let set = one(&c, "select tenure.config_set('queue.lease.duration_sec', '120.0')", &[]).await;
    assert_eq!(set["value"], json!(120));
    let kind = one(&c, "select tenure.kind_set('k', '{\"attempts_max\": 3.0}')", &[]).await;
    assert_eq!(kind["attempts_max"], json!(3));
    enqueue(&c, "k").await;
    assert_eq!(claim_with(&c, "w", "").await.len(), 1);
}

/// Strict mode that is switched off while an enqueue waits for a lane must not send it round for ever.
#[tokio::test]
async fn an_enqueue_ends_when_strict_mode_changes_while_it_waits() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    one(&watch, "select tenure.kind_set('aa', '{}')", &[]).await;
    one(&watch, "select tenure.config_set('queue.kind.strict', 'true')", &[]).await;
    // An enqueue waits for no other enqueue that makes a lane, but it does for a lock on the table.
    run(&a, "begin; lock table tenure.lanes in share mode").await;
    let enqueued = async {
        run(&b, "begin; set local statement_timeout = '30s'").await;
        let made = rows(
            &b,
            "select job_id from tenure.job_enqueue_many(array['aa', 'unknown'])",
            &[],
        )
        .await;
        run(&b, "commit").await;
        made.len()
    };
    let (made, ()) = tokio::join!(enqueued, async {
        until_blocked(&watch, "job_enqueue_many").await;
        one(&watch, "select tenure.config_set('queue.kind.strict', 'false')", &[]).await;
        run(&a, "commit").await;
    });
    assert_eq!(made, 2);
}

/// Rule: 3. The sweep deletes the key of another, finished job while a retry waits for it: the retry puts its own key back.
#[tokio::test]
async fn a_retry_whose_key_row_is_swept_away_meanwhile_still_has_its_key() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    one(
        &a,
        "select tenure.kind_set('rest', '{\"on_exhausted\": \"fail\"}')",
        &[],
    )
    .await;
    let keyed = "select tenure.job_enqueue('rest', p_key => 'k')";
    let first = one(&a, keyed, &[]).await;
    let held = claim_with(&a, "w", "").await.remove(0);
    verb(&a, "job_fail", &held, ", 'broken', 'permanent'").await;
    one(&a, keyed, &[]).await;
    let held = claim_with(&a, "w", "").await.remove(0);
    verb(&a, "job_complete", &held, "").await;

    run(&a, "begin; select from tenure.idempotency for update").await;
    let job = first["job_id"].as_str().expect("an id").to_owned();
    let retry = format!("select tenure.job_retry('{job}')");
    let (retried, ()) = tokio::join!(one(&b, &retry, &[]), async {
        until_blocked(&watch, "job_retry").await;
        run(&a, "delete from tenure.idempotency; commit").await;
    });
    assert_eq!(retried["state"], "queued", "{retried}");
    let again = one(&watch, keyed, &[]).await;
    assert_eq!(
        (&again["duplicate"], again["job_id"].as_str()),
        (&json!(true), Some(job.as_str()))
    );
    check_invariants(&watch).await;
}

/// A binding with an empty place allows nothing by accident.
#[tokio::test]
async fn an_empty_place_in_a_binding_is_refused_and_opens_nothing() {
    let db = Db::open().await;
    let c = db.client().await;
    let (login, worker) = db.login(&["tenure_worker"], "default", Some(&["Agent"])).await;
    for list in [
        "p_executors => array[null]::text[]",
        "p_executors => array['Agent', null]",
        "p_kinds => array[null]::text[]",
    ] {
        let bind = format!("select tenure.login_bind($1, 'default', {list})");
        refused(&one(&c, &bind, &[&login]).await, "name_blank");
    }
    run(
        &c,
        &format!("update tenure.logins set executors = array['Agent', null] where login = '{login}'"),
    )
    .await;
    refused(
        &one(&worker, "select tenure.job_enqueue('k', p_executor => 'Codex')", &[]).await,
        "executor_not_driven",
    );
}

/// A binding names executors that exist, so that a misspelt one is found at once.
#[tokio::test]
async fn a_login_is_bound_to_executors_that_exist() {
    let db = Db::open().await;
    let c = db.client().await;
    let bind = "select tenure.login_bind('somebody', p_executors => array['Agent', $1])";
    refused(&one(&c, bind, &[&"Agnet"]).await, "executor_unknown");
    refused(&one(&c, bind, &[&"MOT"]).await, "executor_cannot_claim");
}

/// Who cancelled a job is told after it has ended, also when its worker acknowledged it.
#[tokio::test]
async fn a_cancelled_job_says_who_cancelled_it() {
    let db = Db::open().await;
    let (name, operator) = db.login(&["tenure_operator"], "default", None).await;
    let c = db.client().await;
    let show = "select tenure.job_show($1)";
    let waiting = enqueue(&c, "k").await;
    one(&operator, "select tenure.job_cancel($1, 'no need')", &[&waiting]).await;
    assert_eq!(one(&c, show, &[&waiting]).await["cancel_by"], json!(name));
    let held = enqueue(&c, "k").await;
    let lease = claim_with(&c, "w", "").await.remove(0);
    one(&operator, "select tenure.job_cancel($1, 'no need')", &[&held]).await;
    verb(&c, "job_acknowledge_cancel", &lease, "").await;
    assert_eq!(one(&c, show, &[&held]).await["cancel_by"], json!(name));
}

/// Nobody can take the key of a replay beforehand.
#[tokio::test]
async fn a_replay_cannot_be_blocked_by_its_key() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "k").await;
    let buried = one(&c, "select tenure.job_dead_letter($1, 'over')", &[&job]).await;
    let letter = buried["dead_letter_id"].as_str().expect("an id").to_owned();
    one(
        &c,
        &format!("select tenure.job_enqueue('k', p_key => 'replay:{letter}')"),
        &[],
    )
    .await;
    one(
        &c,
        &format!("select tenure.dead_letter_triage('{letter}', 'manual_replay')"),
        &[],
    )
    .await;
    let replayed = one(&c, &format!("select tenure.dead_letter_replay('{letter}')"), &[]).await;
    assert_eq!(replayed["state"], "queued", "{replayed}");
}

/// Looking at a dead letter takes no lock and writes nothing.
#[tokio::test]
async fn a_dead_letter_can_be_looked_at_in_a_read_only_transaction() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "k").await;
    let buried = one(&c, "select tenure.job_dead_letter($1, 'over')", &[&job]).await;
    let letter = buried["dead_letter_id"].as_str().expect("an id").to_owned();
    run(&c, "begin read only").await;
    assert_eq!(
        one(&c, &format!("select tenure.dead_letter_show('{letter}')"), &[]).await["kind"],
        "k"
    );
    let preview = one(
        &c,
        &format!("select tenure.dead_letter_replay_preview('{letter}')"),
        &[],
    )
    .await;
    assert_eq!(preview["may_replay"], json!(false));
    run(&c, "commit").await;
}

/// A claim waits for nobody, not even for the open heartbeat of its own worker.
#[tokio::test]
async fn a_claim_passes_by_an_open_beat_of_its_worker() {
    let db = Db::open().await;
    let (a, b) = (db.client().await, db.client().await);
    enqueue(&b, "k").await;
    run(&a, "begin; select tenure.executor_beat('w', 'external_worker')").await;
    run(&b, "begin; set local lock_timeout = '10s'").await;
    assert_eq!(claim_with(&b, "w", "").await.len(), 1);
    run(&b, "commit").await;
    run(&a, "commit").await;
}

/// Partitions are cut at midnight UTC, whatever the zone of the session and its summer time.
#[tokio::test]
async fn partitions_are_made_across_a_change_to_summer_time() {
    let db = Db::open().await;
    let c = db.client().await;
    run(
        &c,
        "begin; set local tenure.tenant = '*'; select tenure.config_set('retention.partition_days', '1'); commit",
    )
    .await;
    let days = "select (date '2027-03-25' - current_date)::integer";
    let ahead: i32 = get(&c, days, &[]).await;
    for day in ahead..ahead + 4 {
        db.advance(&format!("{} days", if day == ahead { ahead } else { 1 }))
            .await;
        run(
            &c,
            "begin; set local timezone = 'Europe/Berlin'; select tenure.partition_upkeep(); commit",
        )
        .await;
    }
}

/// Statistics of tables that are often empty lie, so the reaper asks for a hashed join of leases and held jobs. That is
/// a setting of its own: whoever calls it finds theirs as it was.
#[tokio::test]
async fn the_reaper_asks_for_a_hashed_join_and_leaves_no_setting_behind() {
    let db = Db::open().await;
    let c = db.client().await;
    for part in ["tenure.reap_expired", "tenure.reap_overdue"] {
        let hashed = "select 'enable_nestloop=off' = any (proconfig) from pg_proc where oid = $1::text::regproc";
        assert!(get::<bool>(&c, hashed, &[&part]).await, "{part}");
    }
    for own in ["on", "off"] {
        run(
            &c,
            &format!("begin; set local enable_nestloop = {own}; select from tenure.job_reap()"),
        )
        .await;
        let after: String = get(&c, "select current_setting('enable_nestloop')", &[]).await;
        run(&c, "commit").await;
        assert_eq!(after, own);
    }
}
