//! A shell script as producer and worker.

use serde_json::json;

use crate::workbench::{Workbench, text_of};

#[tokio::test]
async fn a_job_goes_from_enqueue_to_done() {
    let bench = Workbench::open().await;
    let made = bench.json(&["job", "enqueue", "mail.send", "--payload", r#"{"to": "ann"}"#]);
    assert_eq!(made["duplicate"], false);
    assert_eq!(made["state"], "queued");
    let job = text_of(&made, "job_id");

    let claimed = &bench.json(&["job", "claim", "--kind", "mail.send", "--worker", "w1"])["job"];
    assert_eq!(claimed["job_id"], made["job_id"]);
    assert_eq!(claimed["state"], "leased");
    assert_eq!(claimed["payload"], json!({"to": "ann"}));
    assert_eq!(claimed["attempt"], 1);
    let token = text_of(claimed, "token");

    let started = bench.json(&["job", "start", &job, &token]);
    assert_eq!(started["state"], "in_progress");
    let beaten = bench.json(&["job", "heartbeat", &job, &token, "--lease-seconds", "600"]);
    assert_eq!(beaten["status"], "ok");
    let told = bench.json(&["job", "progress", &job, &token, r#"{"percent": 40}"#]);
    assert_eq!(told["cancel_requested"], false);
    assert_eq!(bench.json(&["job", "show", &job])["progress"], json!({"percent": 40}));

    let ended = bench.json(&["job", "complete", &job, &token, "--result", r#"{"sent": 1}"#]);
    assert_eq!(ended["state"], "succeeded");
    let shown = bench.json(&["job", "show", &job]);
    assert_eq!(shown["state"], "succeeded");
    assert_eq!(shown["result"], json!({"sent": 1}));
}

#[tokio::test]
async fn an_empty_queue_is_an_answer_and_no_failure() {
    let bench = Workbench::open().await;
    assert_eq!(bench.json(&["job", "claim", "--kind", "nothing"]), json!({"job": null}));
    assert!(bench.text(&["job", "claim", "--kind", "nothing"]).contains("no job"));
    assert_eq!(bench.text(&["--quiet", "job", "claim", "--kind", "nothing"]), "");
}

#[tokio::test]
async fn a_waiting_claim_gets_the_job_that_comes_and_ends_when_none_does() {
    let bench = Workbench::open().await;
    let mut waiting = bench.command(["job", "claim", "--kind", "late", "--wait", "60", "--json"]);
    let waiting = waiting.stdout(std::process::Stdio::piped()).spawn().expect("run");
    let job = bench.enqueue("late");
    let output = waiting.wait_with_output().expect("it ends");
    let claimed: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(claimed["job"]["job_id"], job.as_str());

    assert_eq!(
        bench.json(&["job", "claim", "--kind", "late", "--wait", "1"]),
        json!({"job": null})
    );
}

#[tokio::test]
async fn a_script_reads_job_token_and_payload_from_one_line() {
    let bench = Workbench::open().await;
    let id = bench.text(&[
        "--quiet",
        "job",
        "enqueue",
        "mail",
        "--payload",
        r#"{"text": "a b\nc"}"#,
    ]);
    let line = bench.text(&["--quiet", "job", "claim", "--kind", "mail", "--start"]);
    assert_eq!(line.lines().count(), 1);
    let mut words = line.trim().splitn(3, ' ');
    assert_eq!(words.next(), Some(id.trim()));
    let token = words.next().expect("a token").to_owned();
    let payload: serde_json::Value = serde_json::from_str(words.next().expect("a payload")).expect("JSON");
    assert_eq!(payload, json!({"text": "a b\nc"}));
    assert_eq!(
        bench.json(&["job", "complete", id.trim(), &token])["state"],
        "succeeded"
    );
}

#[tokio::test]
async fn every_option_of_enqueue_arrives() {
    let bench = Workbench::open().await;
    let parent = bench.enqueue("parent");
    let made = bench.json(&[
        "job",
        "enqueue",
        "k",
        "--payload",
        r#"{"a": 1}"#,
        "--key",
        "order-7",
        "--executor",
        "Agent",
        "--priority",
        "urgent",
        "--due",
        "+1h",
        "--deadline",
        "+2h",
        "--source-ref",
        "s",
        "--target-ref",
        "t",
        "--payload-ref",
        "p",
        "--classification",
        "restricted",
        "--max-attempts",
        "2",
        "--correlation-id",
        "c",
        "--parent",
        &parent,
        "--affinity-key",
        "f",
        "--domain",
        "agent",
        "--source-system",
        "shop",
        "--on-behalf-of",
        "ann",
    ]);
    let job = bench.json(&["job", "show", &text_of(&made, "job_id")]);
    for (field, value) in [
        ("kind", json!("k")),
        ("idempotency_key", json!("order-7")),
        ("executor", json!("Agent")),
        ("priority", json!(100)),
        ("source_ref", json!("s")),
        ("target_ref", json!("t")),
        ("payload_ref", json!("p")),
        ("payload_classification", json!("restricted")),
        ("attempts_max", json!(2)),
        ("correlation_id", json!("c")),
        ("parent_job_id", json!(parent)),
        ("affinity_key", json!("f")),
        ("event_domain", json!("agent")),
        ("source_system", json!("shop")),
        ("on_behalf_of", json!("ann")),
    ] {
        assert_eq!(job[field], value, "{field} of {job}");
    }
    let seconds = |field: &str| {
        job[field]
            .as_str()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .unwrap()
            .as_second()
    };
    assert_eq!(seconds("deadline_at") - seconds("due"), 3600);

    let again = bench.json(&["job", "enqueue", "k", "--key", "order-7"]);
    assert_eq!(again["duplicate"], true);
    assert_eq!(again["job_id"], made["job_id"]);
}

#[tokio::test]
async fn a_payload_comes_in_place_from_a_file_or_from_standard_input() {
    let bench = Workbench::open().await;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("payload.json");
    std::fs::write(&file, r#"{"from": "file"}"#).expect("write");
    let at = format!("@{}", file.display());
    let made = bench.json(&["job", "enqueue", "k", "--payload", &at]);
    assert_eq!(
        bench.json(&["job", "show", &text_of(&made, "job_id")])["payload"],
        json!({"from": "file"})
    );

    let made = bench
        .run_with_input(
            &["--quiet", "job", "enqueue", "k", "--payload", "-"],
            br#"{"from": "input"}"#,
        )
        .ok();
    assert_eq!(
        bench.json(&["job", "show", made.trim()])["payload"],
        json!({"from": "input"})
    );

    let refusal = bench.refused(&["job", "enqueue", "k", "--payload", "@/nonexistent.json"], "usage");
    assert!(refusal["what"].as_str().unwrap().contains("/nonexistent.json"));
}

#[tokio::test]
async fn a_claim_takes_the_most_urgent_job_of_the_kinds_it_names() {
    let bench = Workbench::open().await;
    bench.enqueue("other");
    bench.json(&["job", "enqueue", "a", "--priority", "bulk"]);
    let urgent = bench.json(&["job", "enqueue", "b", "--priority", "urgent"]);
    bench.json(&["job", "enqueue", "a", "--priority", "7"]);
    let claimed = bench.json(&["job", "claim", "--kind", "a", "--kind", "b", "--lease-seconds", "60"]);
    assert_eq!(claimed["job"]["job_id"], urgent["job_id"]);
    let people = bench.text(&["job", "claim", "--kind", "a"]);
    assert!(people.contains("token"), "{people}");
}

#[tokio::test]
async fn a_payload_keeps_its_numbers_digit_by_digit() {
    let bench = Workbench::open().await;
    let payload = r#"{"big":123456789012345678901234567890,"exact":0.1000000000000000000001}"#;
    bench.text(&["job", "enqueue", "k", "--payload", payload]);
    let line = bench.text(&["--quiet", "job", "claim", "--kind", "k"]);
    assert_eq!(line.trim().splitn(3, ' ').nth(2), Some(payload));
}
