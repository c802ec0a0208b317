//! Payloads are kept as they came, whatever form of JSON that is.

use serde_json::Value;
use tenure::operations::call;
use tenure_api::subscriptions::SubscriptionList;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Db, check_invariants, claim_with, enqueue_with, get, one, raised, refused, rows, run, try_rows, verb,
};

/// The three ways in that take JSON as a text: one job, a batch of one kind, a batch of several.
const WAYS: [&str; 3] = [
    "select job_id from tenure.job_enqueue_plain('a', $1::json, null)",
    "select job_id from tenure.job_enqueue_many(array['a', 'a'], array['{}', $1]::json[])",
    "select job_id from tenure.job_enqueue_many(array['b', 'a'], array['{}', $1]::json[])",
];

async fn jobs(c: &Client) -> i64 {
    get(c, "select count(*) from tenure.jobs", &[]).await
}

/// Proves: S9.
#[tokio::test]
async fn a_payload_is_kept_character_by_character() {
    let db = Db::open().await;
    let c = db.client().await;
    let text = r#"{ "b" : 1.50,"a":[ 1e3 ] , "ä\/": "x", "b": 2 }"#;
    for way in WAYS {
        rows(&c, way, &[&text]).await;
        let claimed = "select payload::text from tenure.job_claim_many('w', p_kinds => array['a'], p_limit => 10) where payload::text <> '{}'";
        assert_eq!(get::<String>(&c, claimed, &[]).await, text, "{way}");
    }
    check_invariants(&c).await;
}

/// Proves: S10. Guards: D26. JSON has many spellings of a key; jsonb would have made them one.
#[tokio::test]
async fn a_forbidden_key_is_found_however_it_is_written() {
    let db = Db::open().await;
    let c = db.client().await;
    for (text, path) in [
        (r#"{"pass\u0077ord": 1}"#, "$.password"),
        ("{\"a\": {\"Token\" \n : 1}}", "$.a.Token"),
        (r#"{"a": "\"", "secret":1}"#, "$.secret"),
        (r#"{"a": [{"\u0053SN": null}]}"#, "$.a[0].SSN"),
        ("{\"to\u{212a}en\": 1}", "$[\"to\u{212a}en\"]"),
        // Of two equal keys jsonb would keep the last, and forget what is in the first.
        (r#"{"a": {"token": "s"}, "a": 1}"#, "$.a.token"),
        (r#"{"a": {"\u0074oken": "s"}, "a": "\u00e4"}"#, "$.a.token"),
    ] {
        for way in WAYS {
            let told = raised(try_rows(&c, way, &[&text]).await, "payload_forbidden_key");
            assert!(told.contains(path), "{text}: {told}");
        }
    }
    assert_eq!(jobs(&c).await, 0, "nothing was written");
    for text in [
        r#"{"field": "token"}"#,
        r#"{"a": "\u0041", "secret_count": 1}"#,
        r#"{"a": "\"body\":"}"#,
    ] {
        for way in WAYS {
            rows(&c, way, &[&text]).await;
        }
    }
    assert_eq!(jobs(&c).await, 15, "words that are no keys are harmless");
}

/// What PostgreSQL cannot read as a text is refused before anything is written.
/// Programs in Rust read such a name as JSON within a text, without a bound on how deep texts nest.
#[tokio::test]
async fn a_name_that_serde_json_uses_itself_is_refused_wherever_it_comes_in() {
    let db = Db::open().await;
    let c = db.client().await;
    for text in [
        r#"{"$serde_json::private::RawValue": "[]"}"#,
        r#"{"a": [{"b": 1, "$serde_json::private::Number": "5"}]}"#,
        r#"{"\u0024serde_json\u003a:private::RawValue": "1"}"#,
        r#"{"a": {"$serde_json::private::a\"b" : 1}, "a": 2}"#,
    ] {
        for way in WAYS {
            let refusal = raised(try_rows(&c, way, &[&text]).await, "payload_forbidden_key");
            assert!(refusal.contains("[\"$serde_json::private::"), "{text}: {refusal}");
        }
    }
    assert_eq!(jobs(&c).await, 0, "nothing was written");
    for text in [
        r#"{"a": "$serde_json::private::RawValue"}"#,
        r#"{"a": "{\"$serde_json::private::RawValue\": 1}"}"#,
        r#"{"a$serde_json::private::RawValue": "\u0024"}"#,
    ] {
        for way in WAYS {
            rows(&c, way, &[&text]).await;
        }
    }
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    for odd in [
        r#"{"body": {"$serde_json::private::RawValue": "[]"}}"#,
        r#"[{"a": 1, "$serde_json::private::a\"b": 2}]"#,
    ] {
        let answer = verb(&c, "job_complete", &held, &format!(", '{odd}'")).await;
        refused(&answer, "result_too_large");
    }
    refused(
        &verb(
            &c,
            "job_progress",
            &held,
            r#", '{"$serde_json::private::Number": "5"}'"#,
        )
        .await,
        "payload_forbidden_key",
    );
    let value = r#", '{"body": "$serde_json::private::", "b": "{\"$serde_json::private::\": 1}"}'"#;
    assert_eq!(verb(&c, "job_complete", &held, value).await["status"], "ended");
}

/// A row that was written past the functions: the call fails, the program goes on.
#[tokio::test]
async fn a_stored_name_that_serde_json_uses_itself_is_an_error_and_not_a_number() {
    let db = Db::open().await;
    let (c, owner) = (db.client().await, db.direct().await);
    one(&c, "select tenure.subscription_create('s', array['*'], 'reader')", &[]).await;
    let odd = r#"update tenure.subscriptions set filter = '{"data": {"$serde_json::private::Number": "5"}}'"#;
    run(&owner, odd).await;
    let error = call(&c, &SubscriptionList {}).await.expect_err("it cannot be read");
    assert!(error.is(tenure_core::codes::DATABASE_ERROR), "{error}");
    assert!(error.to_string().contains("subscription_list"), "{error}");
}

/// Readers of JSON have a bound, often of 128, and an answer is read as a whole: one deep payload would cost a claim its batch.
#[tokio::test]
async fn a_payload_that_is_too_deep_is_refused_wherever_it_comes_in() {
    let db = Db::open().await;
    let c = db.client().await;
    let deep = |levels: usize| {
        let lists = levels - 1;
        format!(r#"{{"a[": {}"]\"{{[", 1{}}}"#, "[".repeat(lists), "]".repeat(lists))
    };
    for way in WAYS {
        rows(&c, way, &[&deep(100)]).await;
        let refusal = raised(try_rows(&c, way, &[&deep(101)]).await, "payload_too_large");
        assert!(
            refusal.contains("101") && refusal.contains("payload_depth_max"),
            "{refusal}"
        );
    }
    // Brackets in texts and side by side are not deep.
    for flat in [
        format!(r#"{{"a": "{}"}}"#, "[{".repeat(300)),
        format!(r#"{{"a": [1{}]}}"#, ",[{}]".repeat(300)),
    ] {
        for way in WAYS {
            rows(&c, way, &[&flat]).await;
        }
    }
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    let nested = |levels: usize| format!(", '{}{}'", "[".repeat(levels), "]".repeat(levels));
    refused(&verb(&c, "job_complete", &held, &nested(101)).await, "result_too_large");
    assert_eq!(verb(&c, "job_complete", &held, &nested(100)).await["status"], "ended");
}

#[tokio::test]
async fn a_payload_with_a_character_that_no_text_has_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    let urgent = "select job_id from tenure.job_enqueue_many(array['a'], array[$1]::json[], p_priorities => array[9])";
    for text in [r#"{"a": "\u0000"}"#, r#"{"a": "\ud800"}"#, "{\"a\": }", "[1]", "3"] {
        for way in WAYS.into_iter().chain([urgent]) {
            let error = try_rows(&c, way, &[&text]).await.expect_err(text);
            let code = error
                .as_db_error()
                .map(|it| it.code().code().to_owned())
                .unwrap_or_default();
            assert!(["22P05", "22P02", "TN007"].contains(&code.as_str()), "{text}: {code}");
        }
    }
    assert_eq!(jobs(&c).await, 0);
}

/// A number takes as many bytes as it has digits when it is shown: 8 KB of them were 118 MB.
#[tokio::test]
async fn a_number_with_a_huge_exponent_is_refused_wherever_it_comes_in() {
    let db = Db::open().await;
    let c = db.client().await;
    for (text, path) in [
        (r#"{"n": 1e309}"#, "$.n"),
        (r#"{"n":-1.5E+0400}"#, "$.n"),
        (r#"{"n": 0e-16383}"#, "$.n"),
        ("{\"a\": [1, {\"b c\":\t1e131071}]}", r#"$.a[1]["b c"]"#),
        (r#"{"n": 1e99999999999999999999}"#, "$.n"),
    ] {
        for way in WAYS {
            let why = raised(try_rows(&c, way, &[&text]).await, "number_out_of_range");
            assert!(why.contains(path) && why.contains("308"), "{text}: {why}");
        }
    }
    assert_eq!(jobs(&c).await, 0, "nothing was written");
    for text in [r#"{"n": 1e308, "m": 12.5E-308}"#, r#"{"n": "1e309", "m": ": 1e309"}"#] {
        for way in WAYS {
            rows(&c, way, &[&text]).await;
        }
    }

    // What comes as jsonb is never written out in order to be measured.
    let many = "(select jsonb_object_agg('k' || n, '1e131071'::numeric) from generate_series(1, 50) n)";
    let enqueued = one(&c, &format!("select tenure.job_enqueue('a', {many})"), &[]).await;
    refused(&enqueued, "number_out_of_range");
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    refused(
        &verb(&c, "job_progress", &held, &format!(", {many}")).await,
        "number_out_of_range",
    );
    refused(
        &verb(&c, "job_complete", &held, &format!(", {many}")).await,
        "result_too_large",
    );
    // Nor is one that takes a few bytes as jsonb.
    for few in ["1e400", "1e-5000", "1e131071"] {
        let few = format!("'{{\"n\": {few}}}'::jsonb");
        let enqueued = one(&c, &format!("select tenure.job_enqueue('a', {few})"), &[]).await;
        refused(&enqueued, "number_out_of_range");
        refused(
            &verb(&c, "job_progress", &held, &format!(", {few}")).await,
            "number_out_of_range",
        );
    }
    let schedule = format!(
        "select tenure.schedule_create('s', jsonb_build_object('kind', 'a', 'every_seconds', 60, 'payload', {many}))"
    );
    refused(&one(&c, &schedule, &[]).await, "number_out_of_range");
}

/// A job with such a number that is there from before runs, can be looked at, dies and is cleaned like any other.
#[tokio::test]
async fn a_huge_number_of_old_is_shown_as_it_was_written() {
    let db = Db::open().await;
    let (c, owner) = (db.client().await, db.direct().await);
    let text = r#"{"n": 1e131071}"#;
    let check: String = get(
        &owner,
        "select pg_get_functiondef('tenure.may_have_long_number'::regproc)",
        &[],
    )
    .await;
    run(
        &owner,
        "create or replace function tenure.may_have_long_number(p_text text) returns boolean
         language sql immutable parallel safe as 'select false'",
    )
    .await;
    for way in WAYS {
        rows(&owner, way, &[&text]).await;
    }
    run(&owner, &check).await;
    let found = "select j.job_id from tenure.jobs j where j.payload::text <> '{}' order by j.job_id limit 1";
    let id: Uuid = get(&owner, found, &[]).await;
    let shown = one(&c, "select tenure.job_show($1)", &[&id]).await;
    assert_eq!(shown["payload"], text, "shown as the text it is");
    let claimed = one(&c, "select tenure.job_claim('w', p_kinds => array['a'])", &[]).await;
    let claimed = if claimed["job"]["payload"] == text {
        claimed
    } else {
        one(&c, "select tenure.job_claim('w', p_kinds => array['a'])", &[]).await
    };
    let job: Value = claimed["job"].clone();
    assert_eq!(job["payload"], text);
    let failed = format!(
        "select tenure.job_fail({}, {}, 'no', 'permanent')",
        quoted(&job["job_id"]),
        quoted(&job["token"])
    );
    assert_eq!(one(&c, &failed, &[]).await["state"], "dead_letter");
    let letter: Uuid = get(&owner, "select dead_letter_id from tenure.dead_letters", &[]).await;
    let letter = one(&c, "select tenure.dead_letter_show($1)", &[&letter]).await;
    assert_eq!(letter["payload"], text);
    let cleaned = "with it as (update tenure.jobs set payload = '{}', cleaned_at = tenure.now() where job_id = $1 returning 1) select count(*) from it";
    assert_eq!(get::<i64>(&owner, cleaned, &[&id]).await, 1, "cleaning empties it");
    let changed =
        "update tenure.jobs set payload = '{\"a\": 1}', cleaned_at = tenure.now() where payload::text <> '{}'";
    raised(try_rows(&owner, changed, &[]).await, "state_conflict");
}

/// Proves: S77.
/// Guards: D61.
#[tokio::test]
async fn a_restricted_payload_is_shown_only_to_its_claimer_and_to_those_with_the_right() {
    let db = Db::open().await;
    let c = db.direct().await;
    let restricted = r#", '{"iban": "alpha"}', p_classification => 'restricted'"#;
    let waiting = enqueue_with(&c, "waits", restricted).await;
    let buried = enqueue_with(&c, "dies", restricted).await;
    one(&c, "select tenure.job_dead_letter($1, 'no use')", &[&buried]).await;
    let letter: Uuid = get(
        &c,
        "select dead_letter_id from tenure.dead_letters where job_id = $1",
        &[&buried],
    )
    .await;
    let (login, reader) = db.login(&["tenure_operator", "tenure_worker"], "default", None).await;

    let looks = async |client: &Client| -> Vec<Value> {
        vec![
            get::<Option<Value>>(
                client,
                "select payload_json from tenure.job_queue where job_id = $1",
                &[&waiting],
            )
            .await
            .unwrap_or(Value::Null),
            one(client, "select tenure.job_show($1)", &[&waiting]).await["payload"].clone(),
            one(client, "select tenure.dead_letter_show($1)", &[&letter]).await["payload"].clone(),
            one(client, "select tenure.dead_letter_replay_preview($1)", &[&letter]).await["job"]["payload"].clone(),
            get::<Option<Value>>(client, "select tenure.job_payload($1)", &[&waiting])
                .await
                .unwrap_or(Value::Null),
        ]
    };
    for (place, seen) in looks(&reader).await.iter().enumerate() {
        assert!(seen.is_null(), "place {place} shows {seen}");
    }
    let safe = enqueue_with(&c, "plain", r#", '{"iban": "alpha"}'"#).await;
    let shown = one(&reader, "select tenure.job_show($1)", &[&safe]).await;
    assert_eq!(
        shown["payload"]["iban"], "alpha",
        "a safe payload is for everybody of the tenant"
    );

    one(
        &c,
        "select tenure.login_bind($1, p_payload_access => 'restricted')",
        &[&login],
    )
    .await;
    for (place, seen) in looks(&reader).await.iter().enumerate() {
        assert_eq!(seen["iban"], "alpha", "place {place}");
    }
    one(&c, "select tenure.login_bind($1)", &[&login]).await;
    let claimed = one(&reader, "select tenure.job_claim('w', p_kinds => array['waits'])", &[]).await;
    assert_eq!(
        claimed["job"]["payload"]["iban"], "alpha",
        "whoever holds the job needs its payload"
    );
}

fn quoted(value: &Value) -> String {
    format!("'{}'", value.as_str().unwrap_or_default())
}

/// Each number of five characters takes 309 when PostgreSQL writes it out.
#[tokio::test]
async fn a_payload_that_is_too_long_with_its_numbers_written_out_is_shown_as_its_text() {
    let db = Db::open().await;
    let c = db.client().await;
    for (numbers, shown) in [(10, "object"), (1000, "string")] {
        let text = format!(r#"{{"n": [{}]}}"#, vec!["1e308"; numbers].join(","));
        let enqueued = rows(
            &c,
            "select job_id from tenure.job_enqueue_plain('a', $1::text::json, null)",
            &[&text],
        )
        .await;
        let job: Uuid = enqueued[0].get(0);
        let found = one(&c, "select tenure.job_show($1)", &[&job]).await;
        let payload = &found["payload"];
        assert_eq!(
            if payload.is_object() { "object" } else { "string" },
            shown,
            "{numbers} numbers"
        );
        assert!(
            payload.to_string().len() <= 65_536,
            "{} bytes",
            payload.to_string().len()
        );
    }
}
