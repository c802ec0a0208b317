//! The contract of the agent queue, kept by the one substrate. Its `running` is our `leased` and `in_progress`; its
//! `attempt`, which begins at 1, is the attempt that a claim returns; its `failed` after the last attempt is a dead
//! letter, or `failed` at rest where the kind says so.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, claim, claim_with, enqueue, enqueue_with, get, one, raised, reap, refused, rows, state, try_rows, verb,
};

/// What the agent queue calls the state of a job.
async fn agent_status(client: &Client, job: Uuid) -> &'static str {
    match state(client, job).await.as_str() {
        "queued" | "retry_waiting" => "queued",
        "leased" | "in_progress" => "running",
        "succeeded" => "succeeded",
        "failed" | "dead_letter" => "failed",
        "cancelled" => "cancelled",
        other => panic!("{other} has no name in the agent queue"),
    }
}

/// A kind of the agent queue: three attempts, then failed for good.
async fn agent_kind(client: &Client, kind: &str) {
    let policy = json!({"executor": "Agent", "attempts_max": 3, "on_exhausted": "fail", "event_domain": "agent"});
    one(client, "select tenure.kind_set($1, $2)", &[&kind, &policy]).await;
}

/// Proves: S137, S138. Guards: D73.
#[tokio::test]
async fn an_agent_job_has_all_the_fields_of_the_contract_and_any_type() {
    let db = Db::open().await;
    let c = db.client().await;
    for kind in ["codex_exec", "codex_skill", "report", "a type nobody thought of"] {
        agent_kind(&c, kind).await;
        let answer = one(
            &c,
            "select tenure.job_enqueue($1, '{\"goal\": \"tidy\"}', p_priority => '3', p_affinity_key => 'repo', p_on_behalf_of => 'user 7')",
            &[&kind],
        )
        .await;
        let job = crate::fixture::id_of(&answer);
        let held = claim_with(&c, "codex-1", ", p_mode => 'started'").await.remove(0);
        verb(
            &c,
            "job_complete",
            &held,
            ", '{\"summary\": \"done\"}', 's3://artifacts/7'",
        )
        .await;
        let seen = one(&c, "select tenure.job_show($1)", &[&job]).await;
        // id, type, status, priority, payload; created_by, requested_by, affinity_key; claimed_by and lease end while
        // held; result summary and artifacts path; started, finished; attempt, max_attempts; created, updated.
        assert_eq!(seen["job_id"], json!(job));
        assert_eq!(seen["kind"], kind);
        assert_eq!(seen["priority"], 3);
        assert_eq!(seen["payload"], json!({"goal": "tidy"}));
        assert_eq!(seen["on_behalf_of"], "user 7");
        assert_eq!(seen["affinity_key"], "repo");
        assert_eq!(seen["result"], json!({"summary": "done"}));
        assert_eq!(seen["result_ref"], "s3://artifacts/7");
        assert_eq!((&seen["attempts"], &seen["attempts_max"]), (&json!(1), &json!(3)));
        for field in ["enqueued_by", "started_at", "finished_at", "created_at"] {
            assert!(seen[field].is_string(), "{field}: {seen}");
        }
        let updated: bool = get(
            &c,
            "select updated_at is not null from tenure.job_queue where job_id = $1",
            &[&job],
        )
        .await;
        assert!(updated);
    }
}

/// Proves: S139, S142, S143, S144, S145, S146, S147. Guards: D68, D69.
#[tokio::test]
async fn an_agent_job_runs_from_queued_to_one_of_three_ends_and_stays_there() {
    let db = Db::open().await;
    let c = db.client().await;
    agent_kind(&c, "report").await;
    for (end, status) in [
        (("job_complete", ""), "succeeded"),
        (("job_fail", ", 'no such repo', 'permanent'"), "failed"),
        (("job_acknowledge_cancel", ""), "cancelled"),
    ] {
        let job = enqueue(&c, "report").await;
        assert_eq!(agent_status(&c, job).await, "queued");
        let held = claim(&c, "w").await;
        assert_eq!(agent_status(&c, job).await, "running");
        for step in ["job_heartbeat", "job_start", "job_heartbeat"] {
            verb(&c, step, &held, "").await;
            assert_eq!(agent_status(&c, job).await, "running", "{step}");
        }
        if status == "cancelled" {
            one(&c, "select tenure.job_cancel($1, 'superseded')", &[&job]).await;
        }
        verb(&c, end.0, &held, end.1).await;
        assert_eq!(agent_status(&c, job).await, status);
        for (call, arguments) in [
            ("job_heartbeat", ""),
            ("job_start", ""),
            ("job_complete", ""),
            ("job_fail", ", 'x'"),
            ("job_release", ""),
        ] {
            verb(&c, call, &held, arguments).await;
            assert_eq!(
                agent_status(&c, job).await,
                status,
                "{call} changed a job that has ended"
            );
        }
        let again = one(&c, "select tenure.job_dead_letter($1, 'x')", &[&job]).await;
        refused(&again, "state_conflict");
    }
    let waiting = enqueue(&c, "report").await;
    one(&c, "select tenure.job_cancel($1, 'no need')", &[&waiting]).await;
    assert_eq!(agent_status(&c, waiting).await, "cancelled");
    raised(
        try_rows(&c, "select job_id from tenure.job_list('{running}')", &[]).await,
        "state_unknown",
    );
}

/// Proves: S140. Guards: D1, D75.
#[tokio::test]
async fn a_higher_number_is_claimed_first_and_equal_ones_in_their_order() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut made = Vec::new();
    for priority in [0, 5, -2, 5, 10] {
        made.push(enqueue_with(&c, "report", &format!(", p_priority => '{priority}'")).await);
    }
    let order: Vec<Uuid> = claim_with(&c, "w", ", p_limit => 9")
        .await
        .iter()
        .map(|it| it.job_id)
        .collect();
    assert_eq!(order, [made[4], made[1], made[3], made[0], made[2]]);
}

/// Proves: S141, S148, S154, S155. Guards: D70, D76.
#[tokio::test]
async fn a_claim_names_its_worker_its_lease_and_the_types_it_takes() {
    let db = Db::open().await;
    let c = db.client().await;
    let report = enqueue(&c, "report").await;
    let exec = enqueue(&c, "codex_exec").await;
    refused(&one(&c, "select tenure.job_claim('')", &[]).await, "name_blank");
    refused(&one(&c, "select tenure.job_claim(null)", &[]).await, "name_blank");
    for seconds in [0, -3, 100_000] {
        let answer = one(&c, "select tenure.job_claim('w', p_lease_seconds => $1)", &[&seconds]).await;
        refused(&answer, "lease_seconds_out_of_range");
    }
    let none = one(&c, "select tenure.job_claim('w', p_kinds => '{}')", &[]).await;
    assert_eq!(none["job"], Value::Null, "no types are no types");
    let got = one(
        &c,
        "select tenure.job_claim('w', p_kinds => array['codex_exec'], p_lease_seconds => 30)",
        &[],
    )
    .await;
    assert_eq!(got["job"]["job_id"], json!(exec));
    let got = one(&c, "select tenure.job_claim('w')", &[]).await;
    assert_eq!(got["job"]["job_id"], json!(report));
}

/// Proves: S149. Guards: D67.
#[tokio::test]
async fn an_expired_run_is_given_out_again_before_new_work() {
    let db = Db::open().await;
    let c = db.client().await;
    agent_kind(&c, "report").await;
    let old = enqueue(&c, "report").await;
    claim(&c, "w1").await;
    let new = enqueue(&c, "report").await;
    db.advance("6 minutes").await;
    // The reaper runs on its own timer in every server; a claim never waits for it.
    assert_eq!(reap(&c).await.len(), 1);
    assert_eq!(agent_status(&c, old).await, "queued");
    let order: Vec<Uuid> = claim_with(&c, "w2", ", p_limit => 9")
        .await
        .iter()
        .map(|it| it.job_id)
        .collect();
    assert_eq!(order.len(), 2);
    assert!(order.contains(&old) && order.contains(&new), "{order:?}");
}

/// Proves: S150, S158. Guards: D8, D71.
#[tokio::test]
async fn only_the_holder_may_renew_or_end_a_job() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "report").await;
    let held = claim(&c, "w1").await;
    let foreign = Claimed {
        token: Uuid::new_v4(),
        ..held.clone()
    };
    for (call, arguments) in [("job_heartbeat", ""), ("job_complete", ""), ("job_fail", ", 'x'")] {
        refused(&verb(&c, call, &foreign, arguments).await, "stale_lease");
        let nobodys = Claimed {
            job_id: Uuid::now_v7(),
            ..held.clone()
        };
        refused(&verb(&c, call, &nobodys, arguments).await, "stale_lease");
    }
    refused(
        &one(&c, "select tenure.job_cancel($1, 'x')", &[&Uuid::now_v7()]).await,
        "job_not_found",
    );
    raised(
        try_rows(&c, "select tenure.job_show($1)", &[&Uuid::now_v7()]).await,
        "job_not_found",
    );
    assert_eq!(agent_status(&c, held.job_id).await, "running");
}

/// Proves: S151, S152, S153. Guards: D77.
#[tokio::test]
async fn every_step_refreshes_updated_at_and_the_first_start_is_kept() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "report").await;
    let updated = async || -> jiff::Timestamp {
        get(&c, "select updated_at from tenure.job_queue where job_id = $1", &[&job]).await
    };
    let mut before = updated().await;
    db.advance("1 second").await;
    let held = claim(&c, "w").await;
    for step in ["", "job_start", "job_progress", "job_complete"] {
        if !step.is_empty() {
            db.advance("1 second").await;
            verb(&c, step, &held, "").await;
        }
        let now = updated().await;
        assert!(now > before, "{step}: {now:?} after {before:?}");
        before = now;
    }
    let runs = rows(
        &c,
        "select started_at is not null, ended_at is not null from tenure.attempts where job_id = $1",
        &[&job],
    )
    .await;
    assert!(runs[0].get::<_, bool>(0) && runs[0].get::<_, bool>(1));
}

/// Proves: S156, S157. Guards: D4, D5, D6.
#[tokio::test]
async fn the_first_attempt_is_one_and_the_third_is_the_last() {
    let db = Db::open().await;
    let c = db.client().await;
    agent_kind(&c, "report").await;
    let job = enqueue(&c, "report").await;
    for attempt in 1..=3_i16 {
        let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
        assert_eq!(held.attempt, attempt);
        verb(&c, "job_fail", &held, ", 'broken', p_retry_seconds => 0").await;
    }
    assert_eq!(agent_status(&c, job).await, "failed");
    assert!(claim_with(&c, "w", "").await.is_empty());
}

/// Proves: S158.
#[tokio::test]
async fn jobs_are_listed_by_status_and_type_in_one_order() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut made = Vec::new();
    for kind in ["report", "codex_exec", "report", "report"] {
        made.push(enqueue(&c, kind).await);
    }
    claim_with(&c, "w", ", p_kinds => array['codex_exec']").await;
    let list = async |sql: &str| -> Vec<Uuid> { rows(&c, sql, &[]).await.iter().map(|row| row.get(0)).collect() };
    let newest_first = [made[3], made[2], made[0]];
    assert_eq!(
        list("select job_id from tenure.job_list('{queued}', 'report')").await,
        newest_first
    );
    assert_eq!(list("select job_id from tenure.job_list('{leased}')").await, [made[1]]);
    assert_eq!(
        list("select job_id from tenure.job_list(p_limit => 2)").await,
        [made[3], made[2]]
    );
    let next = format!(
        "select job_id from tenure.job_list(p_before => '{}', p_limit => 2)",
        made[2]
    );
    assert_eq!(list(&next).await, [made[1], made[0]]);
    raised(
        try_rows(&c, "select job_id from tenure.job_list(p_limit => 0)", &[]).await,
        "number_out_of_range",
    );
}
