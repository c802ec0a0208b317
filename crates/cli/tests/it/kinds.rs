//! Kind policies.

use serde_json::json;

use crate::workbench::Workbench;

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
