//! What Rust and SQL decide alike: one set of vectors binds both.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tenure_core::{codes, limits};

use crate::fixture::{Db, claim, enqueue, get, one, refused, rows, state};

pub(crate) fn vectors(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../core/testdata")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn json_lines(name: &str) -> Vec<Value> {
    let text = vectors(name);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// Proves: S67, S68. Guards: D31.
#[tokio::test]
async fn the_delay_before_a_retry_is_as_the_vectors_say() {
    let db = Db::inert().await;
    let c = db.client().await;
    for line in vectors("backoff.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |n: usize| fields[n].parse::<i32>().expect("a whole number");
        let (base, attempt, percent) = (number(0), number(1), number(2));
        let fraction: f64 = fields[3].parse().expect("a fraction");
        let sql = "select tenure.backoff_seconds($1, $2, $3, $4)";
        let seconds: f64 = get(&c, sql, &[&base, &attempt, &percent, &fraction]).await;
        let expected: f64 = fields[4].parse::<f64>().expect("milliseconds") / 1000.0;
        assert!((seconds - expected).abs() < 0.0005, "{line}: {seconds}");
    }
}

/// Guards: D31.
#[tokio::test]
async fn jitter_only_adds_and_stays_within_its_bound() {
    let db = Db::open().await;
    let c = db.client().await;
    let drawn = rows(
        &c,
        "select tenure.backoff_seconds(10, 2, 50) from generate_series(1, 500)",
        &[],
    )
    .await;
    let drawn: Vec<f64> = drawn.iter().map(|row| row.get(0)).collect();
    assert!(drawn.iter().all(|it| (20.0..=30.0).contains(it)));
    assert!(
        drawn.iter().any(|it| *it > 21.0) && drawn.iter().any(|it| *it < 29.0),
        "they are spread"
    );
    // By configuration, and by kind.
    one(&c, "select tenure.config_set('queue.retry.jitter_percent', '30')", &[]).await;
    one(
        &c,
        "select tenure.kind_set('b', '{\"backoff_jitter_percent\": 0}')",
        &[],
    )
    .await;
    for (kind, percent) in [("a", 30), ("b", 0)] {
        let job = enqueue(&c, kind).await;
        let stored: i16 = get(
            &c,
            "select backoff_jitter_percent from tenure.jobs where job_id = $1",
            &[&job],
        )
        .await;
        assert_eq!(stored, percent, "{kind}");
    }
}

/// Guards: D27.
#[tokio::test]
async fn a_name_is_accepted_or_refused_as_the_vectors_say() {
    let db = Db::open().await;
    let c = db.client().await;
    for vector in json_lines("names.jsonl") {
        let name = vector["in"].as_str().expect("a name");
        // The kind, the actor in whose name a server acts, and the reason of a cancel follow the same rule.
        let answer = one(&c, "select tenure.job_enqueue($1)", &[&name]).await;
        assert_eq!(answer["code"], vector["refused"], "{name:?}: {answer}");
        let answer = one(&c, "select tenure.job_claim($1)", &[&name]).await;
        assert_eq!(answer["code"], vector["refused"], "{name:?}: {answer}");
        let answer = one(&c, "select tenure.job_enqueue('a', p_source_system => $1)", &[&name]).await;
        assert_eq!(answer["code"], vector["refused"], "{name:?}: {answer}");
        let answer = one(&c, "select tenure.job_enqueue('a', p_correlation_id => $1)", &[&name]).await;
        assert_eq!(answer["code"], vector["refused"], "{name:?}: {answer}");
    }
}

/// Proves: S10, S34, S76. Guards: D26.
#[tokio::test]
async fn a_payload_is_accepted_or_refused_as_the_vectors_say() {
    let db = Db::open().await;
    let c = db.client().await;
    for vector in json_lines("payload.jsonl") {
        let (payload, name) = (&vector["payload"], &vector["name"]);
        let answer = one(&c, "select tenure.job_enqueue('a', $1)", &[payload]).await;
        assert_eq!(answer["code"], vector["refused"]["code"], "{name}: {answer}");
        if let Some(path) = vector["refused"]["path"].as_str() {
            let what = answer["what"].as_str().unwrap_or_default();
            assert!(what.contains(&format!("{path}.")), "{name}: {what}");
        }
    }
    let wrong: i64 = get(
        &c,
        "select count(*) from tenure.jobs where tenure.forbidden_path(payload) is not null",
        &[],
    )
    .await;
    assert_eq!(wrong, 0);
}

/// Proves: S231.
#[tokio::test]
async fn secrets_are_masked_as_the_vectors_say() {
    let db = Db::inert().await;
    let c = db.client().await;
    let mut wrong = Vec::new();
    for vector in json_lines("masking.jsonl") {
        let text = vector["in"].as_str().expect("a text");
        let masked: String = get(&c, "select tenure.mask_text($1)", &[&text]).await;
        if vector["out"] != masked.as_str() {
            wrong.push(format!("{text:?}\n  wanted {}\n  got    {masked:?}", vector["out"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn every_limit_has_one_value_in_both_languages() {
    let db = Db::inert().await;
    let c = db.client().await;
    for (name, value) in limits::ALL {
        let there: Option<i64> = get(&c, "select tenure.limit_of($1)", &[name]).await;
        assert_eq!(there, Some(*value), "{name}");
    }
    // And the other way: SQL names no limit that Rust does not know.
    let source: String = get(
        &c,
        "select prosrc from pg_proc where oid = 'tenure.limit_of'::regproc",
        &[],
    )
    .await;
    let known: BTreeMap<&str, i64> = limits::ALL.iter().copied().collect();
    for name in source.split('\'').skip(1).step_by(2) {
        assert!(known.contains_key(name), "{name} is a limit of SQL only");
    }
    let unknown: Option<i64> = get(&c, "select tenure.limit_of('no_such_limit')", &[]).await;
    assert_eq!(unknown, None);
}

#[tokio::test]
async fn every_refusal_code_has_one_sqlstate_in_both_languages() {
    let db = Db::inert().await;
    let c = db.client().await;
    let there = rows(&c, "select code, sqlstate from tenure.refusal_codes()", &[]).await;
    let there: BTreeMap<String, String> = there.iter().map(|row| (row.get(0), row.get(1))).collect();
    let here: BTreeMap<String, String> = codes::ALL
        .iter()
        .filter_map(|code| Some((code.name.to_owned(), code.sqlstate?.to_owned())))
        .collect();
    assert_eq!(there, here);
    // Every code that a function refuses with is one of them.
    let used = rows(
        &c,
        "select distinct m[1] from pg_proc p join pg_namespace n on n.oid = p.pronamespace and n.nspname = 'tenure',
                lateral regexp_matches(p.prosrc, 'tenure\\.(?:refuse|check_word)\\(''([a-z_]+)''', 'g') m",
        &[],
    )
    .await;
    assert!(used.len() > 20);
    for row in &used {
        let code: &str = row.get(0);
        assert!(here.contains_key(code), "{code}");
    }
}

/// Everything has a limit: what people write beside a job, and the names they act for.
#[tokio::test]
async fn a_reason_and_a_name_acted_for_have_a_limit() {
    let db = Db::open().await;
    let c = db.client().await;
    let (job, long) = (enqueue(&c, "a").await, "x".repeat(201));
    for call in [
        "job_cancel($1, $2)",
        "job_cancel($1, 'x', p_on_behalf_of => $2)",
        "job_retry($1, $2)",
        "job_retry($1, p_on_behalf_of => $2)",
        "job_dead_letter($1, $2)",
        "job_dead_letter($1, 'x', $2)",
    ] {
        let answer = one(&c, &format!("select tenure.{call}"), &[&job, &long]).await;
        assert_eq!(answer["code"], "name_invalid", "{call}: {answer}");
    }
    let answer = one(&c, "select tenure.job_enqueue('a', p_on_behalf_of => $1)", &[&long]).await;
    refused(&answer, "name_invalid");
    assert_eq!(state(&c, job).await, "queued");
    let held = claim(&c, "w").await;
    let code = "c".repeat(5000);
    one(
        &c,
        "select tenure.job_fail($1, $2, 'x', 'permanent', $3, $3)",
        &[&held.job_id, &held.token, &code],
    )
    .await;
    let kept = "select greatest(length(error_code), length(error_class)) from tenure.attempts where job_id = $1";
    let kept: i32 = get(&c, kept, &[&job]).await;
    assert!(kept <= 200, "{kept}");
}
