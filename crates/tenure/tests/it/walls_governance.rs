//! Actions, target types and a proposed change of the tenant that a stranger must not reach.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{one, rows};

/// A registered action, a target type, and a change that waits for a second admin: its id.
pub(crate) async fn furnish(c: &Client) -> Uuid {
    rows(
        c,
        r#"select tenure.action_set('alpha action', '{"action_class": "deploy", "note": "alpha note"}'),
                  tenure.target_type_set('alpha type', '{"case_rule": "lower"}'),
                  tenure.config_set('governance.changes.need_approval', 'true')"#,
        &[],
    )
    .await;
    let asked = one(c, "select tenure.action_delete('alpha action')", &[]).await;
    let change = asked["change_id"].as_str().unwrap_or_else(|| panic!("{asked}"));
    change.parse().expect("an id")
}

/// What a stranger would give as an argument: see `walls_scene::values`.
pub(crate) fn values(change: Uuid) -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("change_id", vec![change.to_string()]),
        ("governance_changes/before_id", vec![change.to_string()]),
        ("actions/name", vec!["alpha action".to_owned()]),
        ("actions/spec", vec![r#"{"action_class": "read"}"#.to_owned()]),
        ("target_types/name", vec!["alpha type".to_owned()]),
        ("target_types/spec", vec![r#"{"case_rule": "exact"}"#.to_owned()]),
    ]
}
