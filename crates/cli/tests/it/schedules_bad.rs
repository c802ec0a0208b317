//! Schedules that are wrong: each is refused with its reason, and nothing is left behind.

use serde_json::Value;

use crate::workbench::{Workbench, text_of};

fn create<'a>(options: &[&'a str]) -> Vec<&'a str> {
    [&["schedule", "create", "s", "--kind", "report"], options].concat()
}

/// What is wrong, its code, and a word that must be in its why or next.
const WRONG: &[(&[&str], &str, &str)] = &[
    (&[], "arguments_mismatched", "every_seconds"),
    (
        &["--cron", "0 3 * * *", "--zone", "Europe/Berln"],
        "zone_unknown",
        "Europe/Berlin",
    ),
    (
        &["--cron", "0 3 * * *", "--zone", "berlin"],
        "zone_unknown",
        "Europe/Berlin",
    ),
    (&["--cron", "0 0 30 2 *"], "expression_never_fires", "February 30"),
    (&["--cron", "0 0 3 * * *"], "expression_invalid", "6 fields"),
    (&["--cron", "61 3 * * *"], "expression_invalid", "minute"),
    (&["--cron", ""], "expression_invalid", "blank"),
    (&["--every", "0s"], "expression_too_frequent", "10 seconds"),
    (&["--every", "-15m"], "expression_too_frequent", "backwards"),
    (&["--every", "1s"], "expression_too_frequent", "10 seconds"),
    (&["--every", "9999d"], "number_out_of_range", "366 days"),
    (&["--every", "15m", "--jitter", "15m"], "number_out_of_range", "899"),
    (
        &["--cron", "*/5 * * * *", "--jitter", "6m"],
        "number_out_of_range",
        "299",
    ),
    (
        &["--every", "1h", "--jitter", "-1s"],
        "number_out_of_range",
        "before its slot",
    ),
    (
        &["--every", "1h", "--start", "2027-01-02", "--end", "2027-01-01"],
        "range_invalid",
        "after it starts",
    ),
    (&["--every", "1h", "--start", "tomorrow"], "usage", "2026-11-16T03:00"),
    (&["--every", "an hour"], "usage", "15m"),
    (
        &["--every", "1h", "--attempts", "0"],
        "number_out_of_range",
        "between 1",
    ),
    (&["--every", "1h", "--catch-up-max", "x"], "usage", "whole number"),
    (&["--every", "1h", "--overlap", "qeue"], "value_unknown", "queue"),
    (&["--every", "1h", "--catch-up", "all"], "value_unknown", "every_plan"),
    (&["--every", "1h", "--reentry", "maybe"], "value_unknown", "refused"),
    (&["--every", "1h", "--executor", "MOT"], "executor_cannot_claim", "MOT"),
    (&["--every", "1h", "--priority", "urgnt"], "priority_unknown", "urgent"),
    (&["--every", "1h", "--payload", "[1]"], "payload_not_object", "object"),
    (
        &["--every", "1h", "--payload", r#"{"password": 1}"#],
        "payload_forbidden_key",
        "password",
    ),
    (&["--every", "1h", "--scope", "customer"], "name_blank", "scope id"),
];

#[tokio::test]
async fn a_wrong_schedule_is_refused_with_the_reason_and_nothing_is_left() {
    let bench = Workbench::open().await;
    for (options, code, word) in WRONG {
        let refusal = bench.refused(&create(options), code);
        assert!(refusal.to_string().contains(word), "{options:?}: {word}: {refusal}");
    }
    bench.refused(
        &["schedule", "create", " ", "--kind", "report", "--every", "1h"],
        "name_blank",
    );
    bench.refused(&["schedule", "create", "s", "--every", "1h"], "name_blank");
    assert_eq!(bench.lines(&["schedule", "list"]), Vec::<Value>::new());
}

#[tokio::test]
async fn a_kind_that_nobody_knows_is_refused_in_strict_mode() {
    let bench = Workbench::open().await;
    bench.json(&["kind", "set", "report"]);
    bench.json(&["config", "set", "queue.kind.strict", "true"]);
    let wrong = ["schedule", "create", "s", "--kind", "reprot", "--every", "1h"];
    let refusal = bench.refused(&wrong, "kind_unknown");
    assert!(refusal.to_string().contains("report"), "{refusal}");
    bench.text(&create(&["--every", "1h"]));
}

#[tokio::test]
async fn a_wrong_change_leaves_the_schedule_as_it_is() {
    let bench = Workbench::open().await;
    bench.text(&create(&["--every", "1h", "--jitter", "10m", "--start", "2099-01-01"]));
    let before = bench.json(&["schedule", "show", "s"]);
    for (options, code) in [
        (&["--every", "10m"][..], "number_out_of_range"),
        (&["--cron", "0 0 31 4 *"], "expression_never_fires"),
        (&["--default", "every"], "arguments_mismatched"),
        (&["--default", "kind"], "name_blank"),
        (&["--default", "nonsense"], "value_unknown"),
        (&["--end", "2098-01-01"], "range_invalid"),
        (&["--zone", "Mars/Olympus"], "zone_unknown"),
    ] {
        bench.refused(&[&["schedule", "update", "s"], options].concat(), code);
    }
    assert_eq!(bench.json(&["schedule", "show", "s"]), before);
    for verb in ["show", "preview", "slots", "run", "pause", "resume", "delete", "update"] {
        let refusal = bench.refused(&["schedule", verb, "t"], "schedule_unknown");
        assert!(text_of(&refusal, "why").contains("nearest are: s"), "{refusal}");
    }
}

#[tokio::test]
async fn a_backfill_has_bounds() {
    let bench = Workbench::open().await;
    bench.text(&create(&["--every", "1m"]));
    let backfill = |from: &str, until: &str, code: &str| {
        bench.refused(&["schedule", "backfill", "s", "--from", from, "--until", until], code)
    };
    let refusal = backfill("2026-01-01", "2026-01-02T00:00", "backfill_too_large");
    assert!(text_of(&refusal, "next").contains("2026-01-01T16:39:00Z"), "{refusal}");
    backfill("2026-01-02", "2026-01-01", "range_invalid");
    backfill("2026-01-01", "2999-01-01", "range_invalid");
    backfill("2026-01-01", "soon", "usage");
    let absurd = [
        "--from",
        "2026-01-01",
        "--until",
        "2026-01-01",
        "--stagger",
        "99d",
        "--apply",
    ];
    let absurd = [&["schedule", "backfill", "s"][..], &absurd].concat();
    bench.refused(&absurd, "number_out_of_range");
    assert_eq!(bench.lines(&["schedule", "slots", "s"]), Vec::<Value>::new());
    let part = [
        "schedule",
        "backfill",
        "s",
        "--from",
        "2026-01-01",
        "--until",
        "2026-01-01T16:39",
    ];
    assert_eq!(bench.lines(&part).len(), 1000);
}

#[tokio::test]
async fn a_closed_gate_lets_nothing_run_by_hand() {
    let bench = Workbench::open().await;
    bench.text(&create(&["--every", "1h", "--start", "2099-01-01"]));
    bench.text(&["gate", "close", "jobs"]);
    bench.refused(&["schedule", "run", "s"], "gate_closed");
    assert_eq!(bench.lines(&["schedule", "slots", "s"]), Vec::<Value>::new());
}
