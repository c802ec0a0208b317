//! Kind policies.

use serde_json::json;

use crate::workbench::{Workbench, text_of};

#[tokio::test]
async fn a_policy_is_set_shown_listed_and_taken_back_field_by_field() {
    let bench = Workbench::open().await;
    let set = bench.json(&[
        "kind",
        "set",
        "mail",
        "--executor",
        "Agent",
        "--attempts-max",
        "3",
        "--lease-seconds",
        "30",
        "--run-timeout-seconds",
        "60",
        "--on-exhausted",
        "fail",
        "--description",
        "sends mail",
    ]);
    assert_eq!(set["attempts_max"], 3);
    let shown = bench.json(&["kind", "show", "mail"]);
    assert_eq!(
        (&shown["executor"], &shown["lease_seconds"], &shown["known"]),
        (&json!("Agent"), &json!(30), &json!(true))
    );
    let rows = bench.lines(&["kind", "list"]);
    assert_eq!(
        (rows.len(), &rows[0]["kind"], &rows[0]["on_exhausted"]),
        (1, &json!("mail"), &json!("fail"))
    );
    let back = bench.json(&["kind", "set", "mail", "--default", "attempts_max"]);
    assert_eq!((&back["attempts_max"], &back["lease_seconds"]), (&json!(5), &json!(30)));
    assert!(bench.text(&["kind", "list"]).contains("sends mail"));
}

#[tokio::test]
async fn a_policy_that_cannot_be_kept_is_refused() {
    let bench = Workbench::open().await;
    bench.refused(&["kind", "show", "nothing"], "kind_not_found");
    bench.refused(&["kind", "set", "k", "--attempts-max", "0"], "number_out_of_range");
    bench.refused(
        &["kind", "set", "k", "--lease-seconds", "60", "--lease-seconds-max", "30"],
        "lease_seconds_out_of_range",
    );
    bench.refused(&["kind", "set", "k", "--executor", "Nobody"], "executor_unknown");
    bench.refused(&["kind", "set", "k", "--on-exhausted", "shrug"], "value_unknown");
    bench.refused(&["kind", "set", "k", "--default", "colour"], "value_unknown");
    assert_eq!(bench.lines(&["kind", "list"]).len(), 0);
    assert!(bench.text(&["kind", "list"]).contains("No kind"));
}

/// The reason that `explain` gives for a job, by its code.
fn reasons(bench: &Workbench, job: &str) -> Vec<String> {
    let told = bench.json(&["job", "explain", job]);
    let reasons = told["reasons"].as_array().expect("reasons").iter();
    reasons.map(|reason| text_of(reason, "code")).collect()
}

#[tokio::test]
async fn a_paused_kind_keeps_its_jobs_and_says_so_until_it_is_resumed() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("mail");
    let told = bench.text(&["kind", "pause", "mail", "--note", "the relay is down"]);
    assert!(
        told.contains("mail is paused") && told.contains("kind resume mail"),
        "{told}"
    );
    assert!(bench.json(&["job", "claim", "--kind", "mail"])["job"].is_null());
    assert!(reasons(&bench, &job).contains(&"paused".to_owned()));
    assert!(bench.text(&["job", "explain", &job]).contains("the relay is down"));

    let again = bench.json(&["kind", "pause", "mail", "--note", "another reason"]);
    assert_eq!(again["pause_note"], "the relay is down", "who was first is kept");
    let listed = &bench.lines(&["kind", "list"])[0];
    assert!(
        listed["paused_at"].is_string() && listed["paused_by"].is_string(),
        "{listed}"
    );
    assert!(bench.text(&["kind", "show", "mail"]).contains("the relay is down"));

    assert!(bench.text(&["kind", "resume", "mail"]).contains("not paused"));
    assert_eq!(bench.claim("mail").0, job);
    bench.refused(&["kind", "pause", "nothing"], "kind_not_found");
    bench.refused(&["kind", "resume", "nothing"], "kind_not_found");
}

#[tokio::test]
async fn a_limit_holds_at_the_prompt_and_can_be_taken_back() {
    let bench = Workbench::open().await;
    let set = bench.json(&["kind", "set", "mail", "--concurrency-max", "1"]);
    assert_eq!(set["concurrency_max"], 1);
    assert_eq!(bench.lines(&["kind", "list"])[0]["concurrency_max"], 1);
    bench.enqueue("mail");
    let second = bench.enqueue("mail");
    bench.claim("mail");
    assert!(bench.json(&["job", "claim", "--kind", "mail"])["job"].is_null());
    assert!(reasons(&bench, &second).contains(&"limit".to_owned()));
    bench.refused(
        &["kind", "set", "mail", "--concurrency-max", "0"],
        "number_out_of_range",
    );
    let back = bench.json(&["kind", "set", "mail", "--default", "concurrency_max"]);
    assert!(back["concurrency_max"].is_null(), "{back}");
    assert_eq!(bench.claim("mail").0, second);
}

#[tokio::test]
async fn a_kind_says_what_its_schedules_catch_up_and_agents_catch_up_nothing() {
    let bench = Workbench::open().await;
    let policy = |arguments: &[&str]| bench.json(&[&["kind", "set", "mail"], arguments].concat())["catch_up"].clone();
    assert_eq!(policy(&[]), "latest_only");
    assert_eq!(policy(&["--executor", "Hermes"]), "none");
    assert_eq!(policy(&["--catch-up", "every_plan"]), "every_plan");
    bench.refused(&["kind", "set", "mail", "--catch-up", "all"], "value_unknown");
    assert_eq!(policy(&["--default", "catch_up"]), "none");
}

#[tokio::test]
async fn a_misspelt_kind_is_answered_with_the_nearest() {
    let bench = Workbench::open().await;
    bench.enqueue("hello");
    bench.json(&["kind", "set", "mail"]);
    let refusal = bench.refused(&["kind", "show", "helo"], "kind_not_found");
    assert_eq!(
        refusal["next"],
        "Did you mean hello? See tenure kind list, or set a policy with tenure kind set helo."
    );
    let refusal = bench.refused(&["kind", "pause", "zzzz"], "kind_not_found");
    assert_eq!(
        refusal["next"],
        "See tenure kind list, or set a policy with tenure kind set zzzz."
    );
}
