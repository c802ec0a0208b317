//! What may happen to a job, and that nothing else can.

use std::collections::BTreeSet;

use tenure_core::transitions::JOB;

use crate::fixture::{Db, rows};

type Line = (Option<String>, String, String);

/// Proves: S7, S79. Guards: D13, D51.
#[tokio::test]
async fn the_view_of_transitions_and_the_constant_hold_the_same_rows() {
    let db = Db::inert().await;
    let client = db.client().await;
    let seen = rows(
        &client,
        "select from_state, verb, to_state from tenure.transitions",
        &[],
    )
    .await;
    let seen: Vec<Line> = seen.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let known: Vec<Line> = JOB
        .iter()
        .map(|row| {
            (
                row.from.map(|it| it.to_string()),
                row.verb.to_owned(),
                row.to.to_string(),
            )
        })
        .collect();
    assert_eq!(seen.len(), known.len());
    assert_eq!(
        seen.iter().collect::<BTreeSet<_>>(),
        known.iter().collect::<BTreeSet<_>>()
    );
}
