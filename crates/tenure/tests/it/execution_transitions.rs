//! What may happen to an execution is said once in Rust and once in SQL, and both say the same.

use std::collections::BTreeSet;

use tenure_core::execution_transitions::EXECUTION;
use tenure_core::{ExecutionState, StepState};
use tokio_postgres::Client;

use crate::fixture::{Db, get, rows};

/// Proves: S212.
#[tokio::test]
async fn the_moves_of_an_execution_and_the_constant_are_the_same_pairs() {
    let db = Db::inert().await;
    let c = db.client().await;
    let seen = rows(&c, "select from_state, to_state from tenure.execution_moves()", &[]).await;
    let pairs: BTreeSet<(String, String)> = seen.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(pairs.len(), seen.len(), "no pair twice");
    let known = EXECUTION.iter().map(|row| (row.from.to_string(), row.to.to_string()));
    assert_eq!(pairs, known.collect());
}

/// The words in this text of the catalogue.
async fn words(c: &Client, text: &str) -> BTreeSet<String> {
    let sql = format!("select array(select m[1] from regexp_matches(({text}), '''([a-z_]+)''', 'g') m)");
    get::<Vec<String>>(c, &sql, &[]).await.into_iter().collect()
}

#[tokio::test]
async fn the_tables_take_the_states_of_the_constants_and_no_other() {
    let db = Db::inert().await;
    let c = db.client().await;
    let executions: BTreeSet<String> = ExecutionState::ALL.iter().map(|state| state.to_string()).collect();
    let asked = "select substring(prosrc from 'new.state not in \\(([^)]*)\\)') from pg_proc where oid = 'tenure.execution_states_values'::regproc";
    assert_eq!(words(&c, asked).await, executions);
    let steps: BTreeSet<String> = StepState::ALL.iter().map(|state| state.to_string()).collect();
    let asked = "select pg_get_constraintdef(oid) from pg_constraint where conname = 'step_states_moves'";
    assert_eq!(words(&c, asked).await, steps);
}
