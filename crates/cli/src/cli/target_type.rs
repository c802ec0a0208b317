//! `tenure target-type`: how references of a type of targets are compared.

use clap::Subcommand;
use serde_json::{Value, json};
use tenure::store::target_types;

use super::governance::changed;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, json_of};
use crate::remote;

const LIST: &[Column] = &[
    Column("TYPE", "name"),
    Column("CASE", "case_rule"),
    Column("NOTE", "note"),
    Column("BY", "updated_by"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum TargetType {
    /// List the registered types of targets
    #[command(visible_alias = "ls")]
    List,
    /// Register a type of targets, or change it
    Set {
        /// The type, such as host
        name: String,
        /// exact: upper and lower case name two targets; lower: one
        #[arg(long = "case", value_name = "RULE")]
        case_rule: String,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Remove a type of targets
    Delete {
        /// The type
        name: String,
    },
}

impl TargetType {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            TargetType::List => {
                let found = session
                    .call(remote::target_type_list(), async |tx| {
                        target_types::target_type_list(tx).await
                    })
                    .await?;
                let rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
                session
                    .out
                    .list(LIST, &rows, &["name"], "No type of targets is registered.")
            }
            TargetType::Set { name, case_rule, note } => {
                let mut spec = json!({"case_rule": case_rule});
                if let Some(note) = note {
                    spec["note"] = json!(note);
                }
                let set = session
                    .ask(remote::target_type_set(&name, &spec), async |tx| {
                        target_types::target_type_set(tx, &name, &spec).await
                    })
                    .await?;
                changed(&session, &format!("The target type {name} is registered."), &set)
            }
            TargetType::Delete { name } => {
                let done = session
                    .ask(remote::target_type_delete(&name), async |tx| {
                        target_types::target_type_delete(tx, &name).await
                    })
                    .await?;
                changed(&session, &format!("Deleted the target type {name}."), &done)
            }
        }
    }
}
