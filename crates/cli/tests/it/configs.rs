//! Settings.

use serde_json::json;

use crate::workbench::Workbench;

#[tokio::test]
async fn a_setting_is_read_set_listed_and_taken_back() {
    let bench = Workbench::open().await;
    let key = "queue.lease.duration_sec";
    assert_eq!(bench.json(&["config", "get", key])["value"], 300);
    let set = bench.json(&["config", "set", key, "120"]);
    assert_eq!((&set["old"], &set["value"]), (&json!(300), &json!(120)));
    assert_eq!(bench.text(&["config", "get", key]).trim(), "120");
    let rows = bench.lines(&["config", "list"]);
    let row = rows.iter().find(|row| row["key"] == key).expect("listed");
    assert_eq!((&row["value"], &row["origin"]), (&json!(120), &json!("tenant")));
    assert_eq!(bench.json(&["config", "set", key, "--default"])["value"], 300);
}

#[tokio::test]
async fn a_setting_of_the_installation_holds_for_every_tenant_without_its_own() {
    let bench = Workbench::open().await;
    bench.json(&["tenant", "create", "acme"]);
    let key = "queue.lease.duration_sec";
    bench.json(&["config", "set", key, "60", "--installation"]);
    bench.json(&["--tenant", "acme", "config", "set", key, "90"]);
    assert_eq!(bench.text(&["config", "get", key]).trim(), "60");
    assert_eq!(bench.text(&["--tenant", "acme", "config", "get", key]).trim(), "90");
    bench.json(&["config", "set", key, "--default", "--installation"]);
    assert_eq!(bench.text(&["config", "get", key]).trim(), "300");
}

#[tokio::test]
async fn what_does_not_fit_a_setting_is_refused() {
    let bench = Workbench::open().await;
    bench.refused(&["config", "get", "queue.leese"], "config_unknown");
    bench.refused(&["config", "set", "queue.leese", "1"], "config_unknown");
    bench.refused(&["config", "set", "queue.lease.duration_sec", "-1"], "config_invalid");
    bench.refused(&["config", "set", "queue.lease.duration_sec", "soon"], "config_invalid");
    bench.refused(&["config", "set", "queue.kind.strict", "7"], "config_invalid");
    bench.refused(&["config", "set", "queue.kind.strict"], "usage");
}
