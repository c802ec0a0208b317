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

/// What a stranger would try with them.
pub(crate) fn attempts(change: Uuid) -> Vec<(&'static str, String)> {
    vec![
        ("action_list", String::new()),
        ("action_show", "'alpha action'".into()),
        ("action_set", r#"'alpha action', '{"action_class": "read"}'"#.into()),
        ("action_delete", "'alpha action'".into()),
        ("target_type_list", String::new()),
        ("target_type_set", r#"'alpha type', '{"case_rule": "exact"}'"#.into()),
        ("target_type_delete", "'alpha type'".into()),
        ("governance_change_list", "null".into()),
        ("governance_change_decide", format!("'{change}', 'approve'")),
    ]
}
