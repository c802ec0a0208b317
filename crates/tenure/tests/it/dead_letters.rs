//! Dead letters: what they keep, who decides about them, and how one becomes a job again.

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim, enqueue_with, get, id_of, one, raised, refused, rows, run, state, try_rows, verb};

/// A job that has died of this error, and its dead letter.
async fn dead(c: &Client, arguments: &str, error: &str) -> (Uuid, Uuid) {
    let job = enqueue_with(c, "report", arguments).await;
    let held = claim(c, "w").await;
    assert_eq!(held.job_id, job);
    let sql = "select tenure.job_fail($1, $2, $3, 'permanent', 'boom', 'data')";
    let ended = one(c, sql, &[&held.job_id, &held.token, &error]).await;
    assert_eq!(ended["state"], "dead_letter", "{ended}");
    (
        job,
        get(
            c,
            "select dead_letter_id from tenure.dead_letters where job_id = $1",
            &[&job],
        )
        .await,
    )
}

async fn triage(c: &Client, letter: Uuid, status: &str) -> Value {
    one(
        c,
        "select tenure.dead_letter_triage($1, $2, 'looked at it')",
        &[&letter, &status],
    )
    .await
}

/// Proves: S28, S29, S30, S31, S32, S104, S124.
/// Guards: D34.
#[tokio::test]
async fn a_dead_letter_copies_all_that_a_replay_needs() {
    let db = Db::open().await;
    let c = db.client().await;
    let (run_id, workflow) = (Uuid::new_v4(), Uuid::new_v4());
    let more = format!(
        r#", '{{"n": 1}}', 'key-1', p_priority => 'urgent', p_source_ref => 's', p_target_ref => 't', p_payload_ref => 'p', p_correlation_id => 'c',
            p_run_id => '{run_id}', p_workflow_id => '{workflow}', p_affinity_key => 'a', p_source_system => 'crm', p_event_domain => 'agent', p_attempts_max => 3"#
    );
    let (job, letter) = dead(&c, &more, "it broke").await;
    let kept: Value = get(
        &c,
        "select to_jsonb(d) from tenure.dead_letters d where dead_letter_id = $1",
        &[&letter],
    )
    .await;
    let by: String = get(&c, "select enqueued_by from tenure.jobs where job_id = $1", &[&job]).await;
    for (field, value) in [
        ("job_id", json!(job)),
        ("kind", json!("report")),
        ("source_ref", json!("s")),
        ("target_ref", json!("t")),
        ("payload_ref", json!("p")),
        ("payload", json!({"n": 1})),
        ("actor", json!(by)),
        ("run_id", json!(run_id)),
        ("workflow_id", json!(workflow)),
        ("idempotency_key", json!("key-1")),
        ("affinity_key", json!("a")),
        ("correlation_id", json!("c")),
        ("source_system", json!("crm")),
        ("event_domain", json!("agent")),
        ("priority", json!(100)),
        ("attempts", json!(1)),
        ("attempts_max", json!(3)),
        ("final_error", json!("it broke")),
        ("error_code", json!("boom")),
        ("error_class", json!("data")),
        ("triage_status", json!("pending")),
        ("triaged_at", Value::Null),
        ("moved_by", json!(by)),
        ("replayed_as", Value::Null),
    ] {
        assert_eq!(kept[field], value, "{field}");
    }
    assert!(kept["moved_at"].is_string());
    let again = try_rows(
        &c,
        "insert into tenure.dead_letters select (d).* from (select d from tenure.dead_letters d) x",
        &[],
    )
    .await;
    assert!(again.is_err(), "one dead letter per job and run");
}

/// Proves: S30, S32, S33.
/// Guards: D35.
#[tokio::test]
async fn what_a_dead_letter_says_is_never_blank_and_its_triage_is_complete() {
    let db = Db::open().await;
    let c = db.client().await;
    let (_, letter) = dead(&c, "", " \t ").await;
    let error: String = get(
        &c,
        "select final_error from tenure.dead_letters where dead_letter_id = $1",
        &[&letter],
    )
    .await;
    assert_eq!(error, "boom", "a blank message falls back to the code");
    for (broken, why) in [
        ("set final_error = ' '", "a blank error"),
        ("set attempts = -1", "negative attempts"),
        ("set moved_by = ''", "moved by nobody"),
        ("set triage_status = 'lost'", "an unknown status"),
        ("set triage_status = 'closed'", "closed by nobody"),
        ("set replayed_as = gen_random_uuid()", "replayed at no time"),
        ("set payload = '[]'", "a payload that is no object"),
    ] {
        let error = try_rows(&c, &format!("update tenure.dead_letters {broken}"), &[])
            .await
            .expect_err(why);
        assert_eq!(error.as_db_error().map(|it| it.code().code()), Some("23514"), "{why}");
    }
}

/// Proves: S32, S33, S133.
/// Guards: D35, D66.
#[tokio::test]
async fn triage_records_who_decided_what_and_when() {
    let db = Db::open().await;
    let c = db.client().await;
    let (job, letter) = dead(&c, "", "it broke").await;
    let (name, operator) = db.login(&["tenure_operator"], "default", None).await;
    for status in ["acknowledged", "escalated", "manual_replay", "closed"] {
        let answer = triage(&operator, letter, status).await;
        assert_eq!(
            (&answer["triage_status"], &answer["triaged_by"]),
            (&json!(status), &json!(name)),
            "{answer}"
        );
        let open: i64 = get(&c, "select count(*) from tenure.dead_letters_open", &[]).await;
        assert_eq!(open, i64::from(status != "closed"), "open is every status but closed");
    }
    let row = rows(
        &c,
        "select triage_note, triaged_by, triaged_at is not null from tenure.dead_letters",
        &[],
    )
    .await;
    assert_eq!(
        (
            row[0].get::<_, &str>(0),
            row[0].get::<_, &str>(1),
            row[0].get::<_, bool>(2)
        ),
        ("looked at it", name.as_str(), true)
    );
    let told: Vec<Value> = rows(
        &c,
        "select data from tenure.events where kind = 'dead_letter.triaged' order by seq",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(told.len(), 4);
    assert_eq!(
        told[0],
        json!({"job_id": job, "from": "pending", "to": "acknowledged", "note": "looked at it"})
    );
    refused(&triage(&c, letter, "pending").await, "value_unknown");
    refused(&triage(&c, letter, "done").await, "value_unknown");
    refused(&triage(&c, Uuid::new_v4(), "closed").await, "dead_letter_not_found");
    raised(
        try_rows(&c, "select tenure.dead_letter_show($1)", &[&Uuid::new_v4()]).await,
        "dead_letter_not_found",
    );
}

/// Proves: S29, S133.
#[tokio::test]
async fn a_replay_needs_a_decision_makes_a_fresh_job_and_happens_once() {
    let db = Db::open().await;
    let c = db.client().await;
    let (job, letter) = dead(&c, r#", '{"n": 1}', 'key-1', p_correlation_id => 'c'"#, "it broke").await;
    let replay = async || one(&c, "select tenure.dead_letter_replay($1, 'the customer')", &[&letter]).await;
    let preview = async || one(&c, "select tenure.dead_letter_replay_preview($1)", &[&letter]).await;
    for status in ["", "acknowledged", "escalated", "closed"] {
        if !status.is_empty() {
            triage(&c, letter, status).await;
        }
        assert_eq!(preview().await["may_replay"], false, "{status}");
        refused(&replay().await, "replay_needs_triage");
    }
    triage(&c, letter, "manual_replay").await;
    let before: String = get(&c, "select md5(string_agg(d::text, '')) || (select count(*) from tenure.jobs) || (select count(*) from tenure.events) from tenure.dead_letters d", &[]).await;
    let shown = preview().await;
    assert_eq!(
        (
            &shown["may_replay"],
            &shown["job"]["payload"],
            &shown["job"]["replay_of"]
        ),
        (&json!(true), &json!({"n": 1}), &json!(job))
    );
    let after: String = get(&c, "select md5(string_agg(d::text, '')) || (select count(*) from tenure.jobs) || (select count(*) from tenure.events) from tenure.dead_letters d", &[]).await;
    assert_eq!(before, after, "a preview changes nothing");

    let made = replay().await;
    let fresh = id_of(&made);
    assert_ne!(fresh, job);
    assert_eq!(state(&c, fresh).await, "queued");
    assert_eq!(state(&c, job).await, "dead_letter", "the old job stays where it ended");
    let row = rows(&c, "select replay_of, idempotency_key, correlation_id, payload, on_behalf_of, attempts_max from tenure.jobs where job_id = $1", &[&fresh]).await;
    assert_eq!(row[0].get::<_, Uuid>(0), job);
    assert_eq!(
        row[0].get::<_, String>(1),
        format!("replay:{letter}:{fresh}"),
        "a key of its own, which nobody can take beforehand: the old one may be in use again"
    );
    assert_eq!(
        (
            row[0].get::<_, &str>(2),
            row[0].get::<_, Value>(3),
            row[0].get::<_, &str>(4)
        ),
        ("c", json!({"n": 1}), "the customer")
    );
    refused(&replay().await, "already_replayed");
    refused(&triage(&c, letter, "manual_replay").await, "already_replayed");
    let closed = one(&c, "select tenure.dead_letter_show($1)", &[&letter]).await;
    assert_eq!(
        (&closed["triage_status"], &closed["replayed_as"]),
        (&json!("closed"), &json!(fresh))
    );
    refused(
        &one(&c, "select tenure.dead_letter_replay($1)", &[&Uuid::new_v4()]).await,
        "dead_letter_not_found",
    );

    let held = claim(&c, "w").await;
    assert_eq!((held.job_id, held.attempt), (fresh, 1), "all its attempts again");
    verb(&c, "job_fail", &held, ", 'again', 'permanent'").await;
    let letters: i64 = get(&c, "select count(*) from tenure.dead_letters", &[]).await;
    assert_eq!(letters, 2, "a replay that dies has a dead letter of its own");
}

#[tokio::test]
async fn two_operators_replay_one_dead_letter_once() {
    let db = Db::open().await;
    let c = db.client().await;
    let (job, letter) = dead(&c, "", "it broke").await;
    triage(&c, letter, "manual_replay").await;
    let mut tries = JoinSet::new();
    for _ in 0..8 {
        let own = db.client().await;
        tries.spawn(async move { one(&own, "select tenure.dead_letter_replay($1)", &[&letter]).await });
    }
    let mut made = 0;
    for answer in tries.join_all().await {
        if answer["refused"] == true {
            refused(&answer, "already_replayed");
        } else {
            made += 1;
        }
    }
    assert_eq!(made, 1);
    let replays: i64 = get(&c, "select count(*) from tenure.jobs where replay_of = $1", &[&job]).await;
    assert_eq!(replays, 1);
}

/// Proves: S45.
#[tokio::test]
async fn equal_errors_share_a_fingerprint_and_the_summary_counts_them() {
    let db = Db::open().await;
    let c = db.client().await;
    let errors = [
        "timeout after 30 s on host 'a1' for 0199aaaa-0000-7000-8000-000000000001",
        "timeout after 9 s on host 'b2' for 0199bbbb-0000-7000-8000-000000000002",
        "disk full",
    ];
    let mut letters = Vec::new();
    for error in errors {
        letters.push(dead(&c, "", error).await.1);
    }
    let prints: Vec<String> = rows(&c, "select fingerprint from tenure.dead_letters order by moved_at", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(
        prints[0], prints[1],
        "numbers, ids and quoted values make no difference"
    );
    assert_ne!(prints[0], prints[2]);
    let alike: i64 = get(
        &c,
        "select count(*) from tenure.dead_letter_list(p_fingerprint => $1)",
        &[&prints[0]],
    )
    .await;
    assert_eq!(alike, 2);
    triage(&c, letters[2], "closed").await;
    let summary = rows(&c, "select job_kind, triage_status, row_count, fingerprints from tenure.dead_letter_summary order by triage_status desc", &[]).await;
    let summary: Vec<(String, String, i64, i64)> = summary
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2), row.get(3)))
        .collect();
    assert_eq!(
        summary,
        [
            ("report".into(), "pending".into(), 2, 1),
            ("report".into(), "closed".into(), 1, 1)
        ]
    );
    let newest_first: Vec<Uuid> = rows(&c, "select dead_letter_id from tenure.dead_letter_list()", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    letters.reverse();
    assert_eq!(newest_first, letters);
    raised(
        try_rows(&c, "select * from tenure.dead_letter_list('{lost}')", &[]).await,
        "value_unknown",
    );
    raised(
        try_rows(&c, "select * from tenure.dead_letter_list(p_limit => 0)", &[]).await,
        "number_out_of_range",
    );
}

/// Proves: S34, S72, S76.
#[tokio::test]
async fn what_looks_like_a_secret_reaches_no_dead_letter() {
    let db = Db::open().await;
    let c = db.client().await;
    let (job, letter) = dead(
        &c,
        "",
        "cannot reach postgres://app:hunter2@db/x with password=hunter2 and Authorization: Bearer abc.def.ghi",
    )
    .await;
    for sql in [
        "select final_error from tenure.dead_letters where job_id = $1",
        "select error_message from tenure.attempts where job_id = $1",
        "select last_error from tenure.job_queue where job_id = $1",
    ] {
        let text: String = get(&c, sql, &[&job]).await;
        assert!(
            !text.contains("hunter2") && !text.contains("abc.def") && text.contains("cannot reach"),
            "{text}"
        );
    }
    refused(
        &one(
            &c,
            r#"select tenure.job_enqueue('report', '{"a": [{"Password": 1}]}')"#,
            &[],
        )
        .await,
        "payload_forbidden_key",
    );
    let bad: i64 = get(
        &c,
        "select count(*) from tenure.dead_letters d where tenure.forbidden_path(d.payload) is not null",
        &[],
    )
    .await;
    assert_eq!(bad, 0, "only a checked payload is ever copied: {letter}");
}

/// Proves: S28, S108.
/// Guards: D10.
#[tokio::test]
async fn a_dead_letter_outlives_the_cleaning_of_its_job_and_its_partition() {
    let db = Db::open().await;
    let c = db.direct().await;
    let (job, letter) = dead(&c, r#", '{"n": 1}'"#, "it broke").await;
    let sweep = async || one(&c, "select tenure.job_sweep()", &[]).await;
    db.advance("31 days").await;
    assert_eq!(sweep().await["cleaned"], 0, "an open dead letter keeps its job");
    triage(&c, letter, "closed").await;
    db.advance("2 days").await;
    sweep().await;
    sweep().await;
    assert_eq!(state(&c, job).await, "cleaned");
    let payload: Value = get(
        &c,
        "select payload from tenure.dead_letters where dead_letter_id = $1",
        &[&letter],
    )
    .await;
    assert_eq!(payload, json!({"n": 1}), "the dead letter keeps what the job has lost");
    run(&c, "select tenure.config_set('retention.dead_letters_days', '400')").await;
    db.advance("70 days").await;
    let upkeep = one(&c, "select tenure.partition_upkeep()", &[]).await;
    assert!(
        upkeep["dropped"].as_array().is_some_and(|it| !it.is_empty()),
        "{upkeep}"
    );
    let jobs: i64 = get(&c, "select count(*) from tenure.jobs where job_id = $1", &[&job]).await;
    assert_eq!(jobs, 0, "the job is gone");
    let shown = one(&c, "select tenure.dead_letter_show($1)", &[&letter]).await;
    assert_eq!(
        (&shown["payload"], &shown["final_error"]),
        (&json!({"n": 1}), &json!("it broke"))
    );

    run(&c, "select tenure.config_set('retention.dead_letters_days', '90')").await;
    let swept = sweep().await;
    assert_eq!(swept["dead_letters_removed"], 0, "closed 72 days ago");
    db.advance("30 days").await;
    assert_eq!(
        sweep().await["dead_letters_removed"],
        1,
        "and goes by its own retention"
    );
}

/// Jobs that end in one batch die at one moment. No page may lose those that did not fit on the page before.
#[tokio::test]
async fn dead_letters_of_one_moment_are_all_on_some_page() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..5 {
        dead(&c, "", "it broke").await;
    }
    run(&c, "update tenure.dead_letters set moved_at = '2026-01-02T03:04:05Z'").await;
    let page = "select dead_letter_id, moved_at::text
                  from tenure.dead_letter_list(p_limit => 2, p_before => $1::text::timestamptz, p_before_id => $2::text::uuid)";
    let (mut before, mut before_id) = (None::<String>, None::<String>);
    let mut seen = Vec::new();
    for expected in [2, 2, 1, 0] {
        let found = rows(&c, page, &[&before.as_deref(), &before_id.as_deref()]).await;
        assert_eq!(found.len(), expected);
        seen.extend(found.iter().map(|row| row.get::<_, Uuid>(0)));
        if let Some(last) = found.last() {
            (before_id, before) = (Some(last.get::<_, Uuid>(0).to_string()), Some(last.get(1)));
        }
    }
    seen.dedup();
    assert_eq!(seen.len(), 5, "each of them once");
}
