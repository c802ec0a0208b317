//! Enqueuing: what is taken, what is refused and in which words, and that a batch is all or nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{
    Db, check_invariants, claim, enqueue, enqueue_with, get, id_of, one, raised, refused, rows, run, state, try_rows,
};

/// Proves: S5, S6, S8, S9, S20, S46, S75, S77, S85, S86, S87, S88, S89, S90, S93, S98, S110. Guards: D48.
#[tokio::test]
async fn a_job_keeps_everything_it_was_enqueued_with() {
    let db = Db::open().await;
    let c = db.client().await;
    let parent = enqueue(&c, "parent").await;
    let (workflow, run_id) = (Uuid::new_v4(), Uuid::new_v4());
    run(&c, "begin; set local tenure.principal = 'anna'").await;
    let answer = one(
        &c,
        "select tenure.job_enqueue('report', '{\"month\": \"2026-10\"}', p_key => 'k', p_executor => 'Codex', p_priority => 'urgent',
           p_due => tenure.now() + interval '1 hour', p_deadline => tenure.now() + interval '2 hours', p_source_ref => 's', p_target_ref => 't',
           p_payload_ref => 'p', p_classification => 'restricted', p_attempts_max => 7, p_correlation_id => 'corr', p_causation_event => 5,
           p_parent_job_id => $1, p_workflow_id => $2, p_run_id => $3, p_affinity_key => 'repo', p_event_domain => 'agent',
           p_source_system => 'erp', p_on_behalf_of => 'bob')",
        &[&parent, &workflow, &run_id],
    )
    .await;
    run(&c, "commit").await;
    let job = id_of(&answer);
    assert_eq!(
        (&answer["duplicate"], &answer["state"]),
        (&json!(false), &json!("queued")),
        "{answer}"
    );
    let seen: Value = get(
        &c,
        "select to_jsonb(q) from tenure.job_queue q where job_id = $1",
        &[&job],
    )
    .await;
    for (column, value) in [
        ("job_kind", json!("report")),
        ("state", json!("queued")),
        ("event_domain", json!("agent")),
        ("source_ref", json!("s")),
        ("target_ref", json!("t")),
        ("payload_ref", json!("p")),
        ("payload_json", json!({"month": "2026-10"})),
        ("payload_classification", json!("restricted")),
        ("executor", json!("Codex")),
        ("priority", json!(100)),
        ("attempts", json!(0)),
        ("max_attempts", json!(7)),
        ("idempotency_key", json!("k")),
        ("affinity_key", json!("repo")),
        ("actor", json!("anna")),
        ("on_behalf_of", json!("bob")),
        ("source_system", json!("erp")),
        ("correlation_id", json!("corr")),
        ("causation_event_id", json!(5)),
        ("parent_job_id", json!(parent)),
        ("workflow_id", json!(workflow)),
        ("run_id", json!(run_id)),
        ("picked_at", Value::Null),
        ("finished_at", Value::Null),
        ("lease_owner", Value::Null),
        ("last_error", Value::Null),
    ] {
        assert_eq!(seen[column], value, "{column}");
    }
    assert_eq!(job.get_version_num(), 7);
}

/// Proves: S9, S11, S12, S16, S17, S18, S21, S84. Guards: D1, D4, D6, D32, D47.
#[tokio::test]
async fn a_job_with_nothing_but_a_kind_has_documented_defaults() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "a").await;
    let seen: Value = get(
        &c,
        "select to_jsonb(q) from tenure.job_queue q where job_id = $1",
        &[&job],
    )
    .await;
    for (column, value) in [
        ("state", json!("queued")),
        ("payload_json", json!({})),
        ("priority", json!(0)),
        ("attempts", json!(0)),
        ("max_attempts", json!(5)),
        ("executor", json!("external_worker")),
        ("event_domain", json!("job")),
        ("payload_classification", json!("safe_metadata")),
        ("source_system", json!("tenure")),
        ("idempotency_key", json!(job)),
    ] {
        assert_eq!(seen[column], value, "{column}");
    }
    assert_eq!(seen["scheduled_at"], seen["created_at"]);
}

/// Proves: S10. Guards: D26. All ten, at the top, nested, in an array, in capitals; in every place that takes JSON.
#[tokio::test]
async fn the_ten_forbidden_keys_are_refused_anywhere_with_their_path() {
    let db = Db::open().await;
    let c = db.client().await;
    let keys = tenure_core::payload::FORBIDDEN_KEYS;
    assert_eq!(keys.len(), 10);
    enqueue(&c, "held").await;
    let held = claim(&c, "w").await;
    for key in keys {
        let capital = key.to_uppercase();
        for (payload, path) in [
            (json!({key: null}), format!("$.{key}")),
            (json!({"a": {capital.as_str(): 1}}), format!("$.a.{capital}")),
            (json!({"a": [0, {"b": {key: {}}}]}), format!("$.a[1].b.{key}")),
        ] {
            for call in ["job_enqueue('a', $1)", "executor_beat('w', 'Agent', p_metadata => $1)"] {
                let answer = one(&c, &format!("select tenure.{call}"), &[&payload]).await;
                refused(&answer, "payload_forbidden_key");
                assert!(answer["what"].as_str().is_some_and(|it| it.contains(&path)), "{answer}");
            }
            let answer = one(
                &c,
                "select tenure.job_progress($1, $2, $3)",
                &[&held.job_id, &held.token, &payload],
            )
            .await;
            refused(&answer, "payload_forbidden_key");
        }
        // The word as a value, or as a part of a key, is harmless.
        let fine = json!({"field": key, "list": [key], format!("{key}_count"): 1});
        let answer = one(&c, "select tenure.job_enqueue('a', $1)", &[&fine]).await;
        assert_eq!(answer["duplicate"], false, "{answer}");
    }
}

/// Proves: S6, S19, S89, S93. Guards: D27, D60.
#[tokio::test]
async fn what_is_wrong_with_a_job_is_refused_by_its_own_code() {
    let db = Db::open().await;
    let c = db.client().await;
    let (name, reference) = ("n".repeat(201), "r".repeat(501));
    for (arguments, code) in [
        ("''".to_owned(), "name_blank"),
        ("null".to_owned(), "name_blank"),
        (format!("'{name}'"), "name_invalid"),
        ("'a', p_priority => '40000'".to_owned(), "number_out_of_range"),
        ("'a', p_priority => 'soon'".to_owned(), "priority_unknown"),
        ("'a', p_priority => ''".to_owned(), "priority_unknown"),
        ("'a', p_attempts_max => 0".to_owned(), "number_out_of_range"),
        ("'a', p_attempts_max => 1001".to_owned(), "number_out_of_range"),
        ("'a', p_due => 'infinity'".to_owned(), "schedule_too_far"),
        ("'a', p_due => '-infinity'".to_owned(), "schedule_too_far"),
        (
            "'a', p_due => tenure.now() + interval '31 days'".to_owned(),
            "schedule_too_far",
        ),
        (
            "'a', p_deadline => tenure.now() - interval '1 second'".to_owned(),
            "deadline_invalid",
        ),
        ("'a', p_deadline => 'infinity'".to_owned(), "deadline_invalid"),
        (
            "'a', p_due => tenure.now() + interval '2 hours', p_deadline => tenure.now() + interval '1 hour'"
                .to_owned(),
            "deadline_invalid",
        ),
        ("'a', p_classification => 'secret'".to_owned(), "value_unknown"),
        ("'a', p_event_domain => 'weather'".to_owned(), "value_unknown"),
        ("'a', p_source_system => E'\\t'".to_owned(), "name_blank"),
        ("'a', p_correlation_id => ' '".to_owned(), "name_blank"),
        ("'a', p_affinity_key => E'a\\nb'".to_owned(), "name_invalid"),
        (format!("'a', p_source_ref => '{reference}'"), "name_invalid"),
        (format!("'a', p_target_ref => '{reference}'"), "name_invalid"),
        (format!("'a', p_payload_ref => '{reference}'"), "name_invalid"),
        ("'a', p_executor => 'nobody'".to_owned(), "executor_unknown"),
        ("'a', p_executor => 'MOT'".to_owned(), "executor_cannot_claim"),
        ("'a', p_payload => '[]'".to_owned(), "payload_not_object"),
        ("'a', p_payload => 'null'".to_owned(), "payload_not_object"),
        (format!("'a', p_job_id => '{}'", Uuid::new_v4()), "id_invalid"),
        (
            "'a', p_job_id => '01890000-0000-7000-8000-000000000001'".to_owned(),
            "id_invalid",
        ),
        (format!("'a', p_parent_job_id => '{}'", Uuid::now_v7()), "job_not_found"),
    ] {
        let answer = one(&c, &format!("select tenure.job_enqueue({arguments})"), &[]).await;
        assert_eq!(answer["code"], code, "{arguments}: {answer}");
        refused(&answer, code);
    }
    let written: i64 = get(
        &c,
        "select (select count(*) from tenure.jobs) + (select count(*) from tenure.events where kind like 'job.%')",
        &[],
    )
    .await;
    assert_eq!(written, 0);
    // The bounds themselves are inside.
    for arguments in [
        "'a', p_priority => '32767'",
        "'a', p_priority => '-32767'",
        "'a', p_attempts_max => 1000",
        "'a', p_due => tenure.now() + interval '29 days'",
        "'a', p_due => tenure.now() - interval '10 years'",
    ] {
        let answer = one(&c, &format!("select tenure.job_enqueue({arguments})"), &[]).await;
        assert_eq!(answer["duplicate"], false, "{arguments}: {answer}");
    }
}

/// Proves: S47.
#[tokio::test]
async fn a_batch_is_all_or_nothing_and_its_refusal_names_the_job() {
    let db = Db::open().await;
    let c = db.client().await;
    let payloads: Vec<Value> = vec![json!({}), json!({"a": {"Token": 1}}), json!({})];
    let sql = "select job_id from tenure.job_enqueue_many(array['a', 'b', 'a'], $1::json[])";
    let told = raised(try_rows(&c, sql, &[&payloads]).await, "payload_forbidden_key");
    assert!(told.contains("of job 2") && told.contains("$.a.Token"), "{told}");
    let written: i64 = get(&c, "select count(*) from tenure.jobs", &[]).await;
    assert_eq!(written, 0);

    for (kinds, code) in [(Vec::new(), "batch_too_large"), (vec!["a"; 1001], "batch_too_large")] {
        raised(
            try_rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await,
            code,
        );
    }
    let made = rows(
        &c,
        "select job_id from tenure.job_enqueue_many($1)",
        &[&vec!["a"; 1000]],
    )
    .await;
    assert_eq!(made.len(), 1000);
    let ordered: BTreeSet<Uuid> = made.iter().map(|row| row.get(0)).collect();
    assert_eq!(ordered.len(), 1000);
}

#[tokio::test]
async fn arrays_of_different_lengths_are_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    for argument in [
        "p_payloads => array['{}']::json[]",
        "p_keys => array['k']",
        "p_executors => array['Agent', 'Agent', 'Agent']",
        "p_priorities => array[1]",
        "p_due => array[now()]",
        "p_deadlines => array[now()]",
        "p_source_refs => array['x']",
        "p_target_refs => array['x']",
        "p_payload_refs => array['x']",
        "p_classifications => array['restricted']",
        "p_attempts_max => array[1]",
        "p_correlation_ids => array['x']",
        "p_causation_events => array[1]::bigint[]",
        "p_parent_job_ids => array[gen_random_uuid()]",
        "p_workflow_ids => array[gen_random_uuid()]",
        "p_run_ids => array[gen_random_uuid()]",
        "p_affinity_keys => array['x']",
        "p_event_domains => array['job']",
        "p_source_systems => array['x']",
        "p_job_ids => array[gen_random_uuid()]",
    ] {
        let sql = format!("select job_id from tenure.job_enqueue_many(array['a', 'b'], {argument})");
        raised(try_rows(&c, &sql, &[]).await, "arguments_mismatched");
    }
}

/// Proves: S5. Rule: 23. Ids are the database's, or a client's own of version 7 within a day of its clock.
#[tokio::test]
async fn an_id_of_the_callers_names_one_job_for_ever() {
    let db = Db::open().await;
    let c = db.client().await;
    let mine = Uuid::now_v7();
    let answer = one(&c, "select tenure.job_enqueue('a', p_job_id => $1)", &[&mine]).await;
    assert_eq!(id_of(&answer), mine);
    refused(
        &one(&c, "select tenure.job_enqueue('b', p_job_id => $1)", &[&mine]).await,
        "id_taken",
    );
    // With a key, the repetition of a lost answer is safe.
    let keyed = Uuid::now_v7();
    let sql = "select tenure.job_enqueue('a', p_job_id => $1, p_key => 'k')";
    assert_eq!(one(&c, sql, &[&keyed]).await["duplicate"], false);
    let again = one(&c, sql, &[&keyed]).await;
    assert_eq!((id_of(&again), &again["duplicate"]), (keyed, &json!(true)), "{again}");
    let twice: Vec<Uuid> = vec![Uuid::now_v7(); 2];
    let sql = "select job_id from tenure.job_enqueue_many(array['a', 'a'], p_job_ids => $1)";
    raised(try_rows(&c, sql, &[&twice]).await, "id_taken");
    check_invariants(&c).await;
}

/// Two sessions that use one id at once: one job, one refusal. Rule: 23.
#[tokio::test]
async fn one_id_used_by_two_sessions_at_once_is_refused_to_one() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    enqueue(&a, "a").await;
    let mine = Uuid::now_v7();
    let sql = "select tenure.job_enqueue('a', p_job_id => $1)";
    run(&a, "begin").await;
    one(&a, sql, &[&mine]).await;
    let (second, ()) = tokio::join!(async { one(&b, sql, &[&mine]).await }, async {
        crate::fixture::until_blocked(&watch, "job_enqueue").await;
        run(&a, "commit").await;
    });
    refused(&second, "id_taken");
    assert_eq!(state(&watch, mine).await, "queued");
}

/// Ids grow with time, so that jobs are found and dropped by time. Proves: S27, S90. Rule: 23.
#[tokio::test]
async fn ids_of_the_database_are_of_version_seven_and_grow() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut made: Vec<Uuid> = Vec::new();
    for _ in 0..5 {
        let batch = rows(
            &c,
            "select job_id from tenure.job_enqueue_many($1) order by ordinal",
            &[&vec!["a"; 50]],
        )
        .await;
        made.extend(batch.iter().map(|row| row.get::<_, Uuid>(0)));
    }
    assert!(made.iter().all(|id| id.get_version_num() == 7));
    assert!(made.is_sorted(), "within a batch and from batch to batch");
    let near: bool = get(
        &c,
        "select bool_and(abs(extract(epoch from tenure.id_time(job_id) - created_at)) < 1) from tenure.jobs",
        &[],
    )
    .await;
    assert!(near);
}

/// Proves: S66. A misspelt kind is caught where the installation says so, and the nearest is named.
#[tokio::test]
async fn strict_mode_refuses_a_kind_without_a_policy_and_names_the_nearest() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "mail.sned").await;
    one(&c, "select tenure.config_set('queue.kind.strict', 'true')", &[]).await;
    one(&c, "select tenure.kind_set('mail.send')", &[]).await;
    let answer = one(&c, "select tenure.job_enqueue('mail.sned')", &[]).await;
    refused(&answer, "kind_unknown");
    assert!(
        answer["why"].as_str().is_some_and(|it| it.contains("mail.send")),
        "{answer}"
    );
    enqueue_with(&c, "mail.send", "").await;
}

/// A new lane made by an open transaction holds others of that lane until it commits, and nobody else. Rule: 14.
#[tokio::test]
async fn a_lane_opened_before_lets_enqueues_pass_each_other() {
    let db = Db::open().await;
    let (a, b) = (db.client().await, db.client().await);
    let lane: i32 = get(&a, "select tenure.lane_open('a')", &[]).await;
    let again: i32 = get(&a, "select tenure.lane_open('a')", &[]).await;
    assert_eq!(lane, again);
    run(&a, "begin").await;
    enqueue(&a, "a").await;
    run(&b, "begin; set local lock_timeout = '2s'").await;
    enqueue(&b, "a").await;
    run(&b, "commit").await;
    run(&a, "commit").await;
    let waiting: i64 = get(&a, "select count(*) from tenure.ready", &[]).await;
    assert_eq!(waiting, 2);
}

/// An id that comes twice, in one batch or from two sessions, is refused by its code and never by an error of an index.
/// Rule: 23.
#[tokio::test]
async fn an_id_given_twice_is_refused_by_its_code_on_every_way() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    enqueue(&a, "a").await;
    let mine = Uuid::now_v7();
    for twice in [
        "select job_id from tenure.job_enqueue_many(array['a', 'a'], p_job_ids => array[$1, $1]::uuid[])",
        "select job_id from tenure.job_enqueue_many(array['a', 'b'], p_job_ids => array[$1, $1]::uuid[])",
        "select job_id from tenure.job_enqueue_many(array['a', 'a'], p_keys => array['k', 'k'], p_job_ids => array[$1, $1]::uuid[])",
    ] {
        raised(try_rows(&a, twice, &[&mine]).await, "id_taken");
    }
    for (n, sql) in [
        "select job_id from tenure.job_enqueue_many(array['a'], p_job_ids => array[$1]::uuid[])",
        "select job_id from tenure.job_enqueue_many(array['a', 'b'], p_job_ids => array[null, $1]::uuid[])",
    ]
    .iter()
    .enumerate()
    {
        let mine = Uuid::now_v7();
        run(&a, "begin").await;
        rows(&a, sql, &[&mine]).await;
        let (second, ()) = tokio::join!(async { try_rows(&b, sql, &[&mine]).await }, async {
            crate::fixture::until_blocked(&watch, "job_enqueue_many").await;
            run(&a, "commit").await;
        });
        raised(second, "id_taken");
        assert_eq!(state(&watch, mine).await, "queued", "{n}");
    }
}

/// A job that is its own parent, alone or by way of others of its batch, has no beginning.
#[tokio::test]
async fn a_job_is_never_its_own_ancestor() {
    let db = Db::open().await;
    let c = db.client().await;
    let (one_id, other, third) = (Uuid::now_v7(), Uuid::now_v7(), Uuid::now_v7());
    let sql =
        "select job_id from tenure.job_enqueue_many(array['a', 'a', 'a'], p_job_ids => $1, p_parent_job_ids => $2)";
    let ids = vec![one_id, other, third];
    for parents in [
        vec![one_id, one_id, one_id],
        vec![other, one_id, one_id],
        vec![third, one_id, other],
    ] {
        let why = raised(try_rows(&c, sql, &[&ids, &parents]).await, "parent_cycle");
        assert!(ids.iter().any(|id| why.contains(&id.to_string())), "{why}");
    }
    let own = one(
        &c,
        "select tenure.job_enqueue('a', p_job_id => $1, p_parent_job_id => $1)",
        &[&one_id],
    )
    .await;
    refused(&own, "parent_cycle");
    let root = enqueue(&c, "a").await;
    rows(&c, sql, &[&ids, &vec![root, one_id, other]]).await;
    let stored: i64 = get(
        &c,
        "select count(*) from tenure.jobs where parent_job_id is not null",
        &[],
    )
    .await;
    assert_eq!(stored, 3, "a line of parents within a batch is none");
}
