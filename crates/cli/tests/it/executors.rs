//! Executors.

use crate::workbench::Workbench;

#[tokio::test]
async fn whoever_beats_is_alive() {
    let bench = Workbench::open().await;
    let alive = |bench: &Workbench| {
        let rows = bench.lines(&["executor", "list"]);
        assert_eq!(rows.len(), 8);
        rows.iter().find(|row| row["executor"] == "Agent").unwrap()["alive"]
            .as_i64()
            .unwrap()
    };
    assert_eq!(alive(&bench), 0);
    let beat = bench.json(&[
        "executor",
        "beat",
        "agent-1",
        "--executor",
        "Agent",
        "--metadata",
        r#"{"host": "a"}"#,
    ]);
    assert_eq!(
        (&beat["ticks_total"], &beat["last_tick_status"]),
        (&1.into(), &"ok".into())
    );
    assert_eq!(alive(&bench), 1);
    assert!(bench.text(&["executor", "list"]).contains("MOT"));
}

#[tokio::test]
async fn a_beat_that_says_nothing_true_is_refused() {
    let bench = Workbench::open().await;
    bench.refused(&["executor", "beat", "x", "--executor", "Robot"], "executor_unknown");
    bench.refused(&["executor", "beat", "x", "--executor", "MOT"], "executor_cannot_claim");
    bench.refused(
        &["executor", "beat", "x", "--executor", "Agent", "--status", "fine"],
        "value_unknown",
    );
    bench.refused(&["executor", "beat", " ", "--executor", "Agent"], "name_blank");
}
