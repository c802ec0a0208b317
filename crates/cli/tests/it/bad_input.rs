//! Bad input, one refusal each; nothing is half written.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::odd_requests::texts_within_texts;
use crate::workbench::Workbench;

/// Every refused enqueue leaves nothing behind.
async fn jobs(bench: &Workbench) -> String {
    bench.sql("select count(*)::text from tenure.jobs").await
}

#[tokio::test]
async fn blank_names_are_refused() {
    let bench = Workbench::open().await;
    for blank in ["", " ", "\t", "\n \t", "\u{a0}\u{200b}"] {
        bench.refused(&["job", "enqueue", blank], "name_blank");
        bench.refused(&["job", "claim", "--worker", blank], "name_blank");
        bench.refused(&["job", "enqueue", "k", "--key", blank], "name_blank");
        bench.refused(&["tenant", "create", blank], "name_blank");
        bench.refused(&["--tenant", blank, "job", "list"], "name_blank");
        bench.refused(&["kind", "set", blank], "name_blank");
    }
    bench.refused(&["job", "enqueue", "a\tb"], "name_invalid");
    bench.refused(&["job", "enqueue", &"k".repeat(201)], "name_invalid");
    assert_eq!(jobs(&bench).await, "0");
}

#[tokio::test]
async fn a_forbidden_key_is_refused_at_any_depth_and_in_any_case_with_its_path() {
    let bench = Workbench::open().await;
    let refusal = bench.refused(
        &[
            "job",
            "enqueue",
            "k",
            "--payload",
            r#"{"a": {"b": [1, {"PassWord": "x"}]}}"#,
        ],
        "payload_forbidden_key",
    );
    let told = refusal.to_string();
    assert!(told.contains("a.b[1].PassWord"), "{told}");
    assert_eq!(jobs(&bench).await, "0");
}

#[tokio::test]
async fn texts_of_json_within_texts_are_refused() {
    let bench = Workbench::open().await;
    let nested = format!(r#"{{"a": {}}}"#, texts_within_texts(20));
    let refusal = bench.refused(&["job", "enqueue", "k", "--payload", &nested], "payload_not_object");
    assert!(refusal.to_string().contains("$serde_json::private::"), "{refusal}");
    assert_eq!(jobs(&bench).await, "0");
}

#[tokio::test]
async fn a_payload_that_is_too_large_or_no_object_is_refused() {
    let bench = Workbench::open().await;
    let large = format!(r#"{{"a": "{}"}}"#, "x".repeat(9000));
    bench.refused(&["job", "enqueue", "k", "--payload", &large], "payload_too_large");
    bench.refused(&["job", "enqueue", "k", "--payload", "[1]"], "payload_not_object");
    bench.refused(
        &["job", "enqueue", "k", "--payload", "{order: 7}"],
        "payload_not_object",
    );
    assert_eq!(jobs(&bench).await, "0");
}

#[tokio::test]
async fn nul_and_invalid_utf8_are_refused() {
    let bench = Workbench::open().await;
    let refusal = bench.refused(
        &["job", "enqueue", "k", "--payload", r#"{"a": "x\u0000"}"#],
        "text_invalid",
    );
    assert!(refusal["what"].as_str().unwrap().contains("$.a"), "{refusal}");

    let invalid = OsString::from_vec(vec![b'k', 0xff, 0xfe]);
    let word = |text: &str| OsString::from(text);
    bench.refused(&[word("job"), word("enqueue"), invalid.clone()], "text_invalid");
    bench.refused(
        &[word("job"), word("enqueue"), word("k"), word("--key"), invalid],
        "text_invalid",
    );

    let answer = bench.run_with_input(&["job", "enqueue", "k", "--payload", "-"], b"{\"a\": \"\xff\"}");
    assert_eq!(
        (answer.exit, answer.err.starts_with("text_invalid: ")),
        (3, true),
        "{answer:?}"
    );
    assert_eq!(jobs(&bench).await, "0");
}

#[tokio::test]
async fn negative_and_absurd_numbers_are_refused() {
    let bench = Workbench::open().await;
    bench.refused(&["job", "enqueue", "k", "--max-attempts", "0"], "number_out_of_range");
    bench.refused(&["job", "enqueue", "k", "--max-attempts", "-3"], "number_out_of_range");
    bench.refused(
        &["job", "enqueue", "k", "--max-attempts", "99999999999999"],
        "number_out_of_range",
    );
    bench.refused(&["job", "enqueue", "k", "--priority", "40000"], "number_out_of_range");
    bench.refused(&["job", "list", "--limit", "0"], "number_out_of_range");
    bench.refused(&["job", "list", "--limit", "100000"], "number_out_of_range");
    bench.refused(&["job", "list", "--limit", "many"], "usage");
    bench.refused(&["job", "claim", "--wait", "-1"], "number_out_of_range");
    bench.refused(&["reap", "--limit", "-1"], "number_out_of_range");
    bench.refused(&["sweep", "--limit", "-1"], "number_out_of_range");
    bench.enqueue("k");
    bench.refused(
        &["job", "claim", "--kind", "k", "--lease-seconds", "0"],
        "lease_seconds_out_of_range",
    );
    bench.refused(
        &["job", "claim", "--kind", "k", "--lease-seconds", "999999"],
        "lease_seconds_out_of_range",
    );
}

#[tokio::test]
async fn unknown_words_are_refused_and_the_nearest_is_named() {
    let bench = Workbench::open().await;
    let refusal = bench.refused(&["job", "list", "--state", "qeued"], "state_unknown");
    assert!(refusal.to_string().contains("queued"), "{refusal}");
    let refusal = bench.refused(&["job", "enqueue", "k", "--priority", "urgnt"], "priority_unknown");
    assert!(refusal["next"].as_str().unwrap().contains("urgent"), "{refusal}");
    bench.refused(&["job", "enqueue", "k", "--executor", "Robot"], "executor_unknown");
    bench.refused(&["job", "enqueue", "k", "--classification", "secret"], "value_unknown");
    bench.refused(&["job", "enqueue", "k", "--domain", "nonsense"], "value_unknown");
    bench.refused(&["job", "enqueue", "k", "--due", "tomorrow"], "usage");
    bench.refused(&["job", "show", "7"], "usage");
    assert_eq!(jobs(&bench).await, "0");
}

#[tokio::test]
async fn times_that_cannot_be_kept_are_refused() {
    let bench = Workbench::open().await;
    bench.refused(&["job", "enqueue", "k", "--due", "+90d"], "schedule_too_far");
    bench.refused(
        &["job", "enqueue", "k", "--due", "+2h", "--deadline", "+1h"],
        "deadline_invalid",
    );
    bench.refused(
        &["job", "enqueue", "k", "--deadline", "2020-01-01T00:00:00Z"],
        "deadline_invalid",
    );
    assert_eq!(jobs(&bench).await, "0");
}

#[tokio::test]
async fn a_generator_never_holds_work() {
    let bench = Workbench::open().await;
    bench.refused(&["job", "enqueue", "k", "--executor", "MOT"], "executor_cannot_claim");
    bench.refused(&["job", "claim", "--executor", "MOT"], "executor_cannot_claim");
    bench.refused(&["kind", "set", "k", "--executor", "MOT"], "executor_cannot_claim");
    assert_eq!(jobs(&bench).await, "0");
}

#[tokio::test]
async fn a_closed_gate_comes_before_everything_else() {
    let bench = Workbench::closed().await;
    let refusal = bench.refused(
        &["job", "enqueue", "", "--payload", r#"{"password": 1}"#],
        "gate_closed",
    );
    assert!(refusal["next"].as_str().unwrap().contains("open"), "{refusal}");
    bench.refused(&["job", "claim"], "gate_closed");
    bench.text(&["gate", "open", "jobs"]);
    bench.enqueue("k");
}

#[tokio::test]
async fn a_kind_without_policy_is_refused_in_strict_mode_and_the_nearest_is_named() {
    let bench = Workbench::open().await;
    bench.json(&["kind", "set", "mail.send"]);
    bench.json(&["config", "set", "queue.kind.strict", "true"]);
    let refusal = bench.refused(&["job", "enqueue", "mail.sned"], "kind_unknown");
    assert!(refusal.to_string().contains("mail.send"), "{refusal}");
    bench.enqueue("mail.send");
}

#[tokio::test]
async fn a_foreign_tenant_s_job_is_not_found() {
    let bench = Workbench::open().await;
    bench.json(&["tenant", "create", "acme"]);
    let job = bench.enqueue("k");
    bench.refused(&["--tenant", "acme", "job", "show", &job], "job_not_found");
    bench.refused(&["--tenant", "nobody", "job", "show", &job], "tenant_unknown");
}
