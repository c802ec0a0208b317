//! `tenure action`: what an action is, and the least that every step with it must have.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tenure::store::actions;

use super::governance::changed;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, json_of};
use crate::remote;
use crate::values::Number;

const LIST: &[Column] = &[
    Column("ACTION", "name"),
    Column("CLASS", "action_class"),
    Column("LEVEL", "level_min"),
    Column("LOCK", "lock_scope"),
    Column("KINDS", "kinds"),
    Column("RESTRICTED", "payload_restricted"),
    Column("NOTE", "note"),
    Column("BY", "updated_by"),
];

const FIRST: &[&str] = &[
    "action",
    "registration",
    "action_class",
    "level_min",
    "lock_scope",
    "kinds",
    "payload_restricted",
];

const EXAMPLE_SET: &str = "\
Example:
  tenure action set 'service.*' --class modify --level 1
  tenure action set db.dump --class read --level 1 --kind backup --restricted";

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the registered actions
    #[command(visible_alias = "ls")]
    List,
    /// Show what applies to steps with an action, and which registration says so
    Show {
        /// The action, as a plan names it
        action: String,
        /// Carried by a job of this kind [default: the action]
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
    },
    /// Register an action, or replace its registration
    #[command(after_help = EXAMPLE_SET)]
    Set(Set),
    /// Remove a registration
    Delete {
        /// Its name or glob
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The name of the action, or a glob such as service.*
    name: String,
    /// read, modify or deploy
    #[arg(long, value_name = "CLASS")]
    class: String,
    /// The least approval level of a step, 0 to 3
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true)]
    level: Option<Number>,
    /// The least that a step locks: none, target_and_action or target [default: none for a read, else target]
    #[arg(long, value_name = "SCOPE")]
    lock: Option<String>,
    /// A kind of jobs that may carry it, with * for anything; may be given several times [default: the kind that has the
    /// name of the action]
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Its payload is restricted
    #[arg(long)]
    restricted: bool,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl Action {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Action::List => {
                let found = session
                    .call(remote::action_list(), async |tx| actions::action_list(tx).await)
                    .await?;
                let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
                if session.out.format == Format::People {
                    for row in &mut rows {
                        if row["kinds"].is_null() {
                            row["kinds"] = json!("its own");
                        }
                    }
                }
                let empty = "No action is registered. `tenure action set NAME --class CLASS` registers one.";
                session.out.list(LIST, &rows, &["name"], empty)
            }
            Action::Show { action, kind } => {
                let kind = kind.as_deref();
                let shown = session
                    .ask(remote::action_show(&action, kind), async |tx| {
                        actions::action_show(tx, &action, kind).await
                    })
                    .await?;
                session.out.object(&shown, FIRST, &["registration"])
            }
            Action::Set(set) => set.run(session).await,
            Action::Delete { name } => {
                let done = session
                    .ask(remote::action_delete(&name), async |tx| {
                        actions::action_delete(tx, &name).await
                    })
                    .await?;
                let sentence = format!("Deleted the registration {name}. What was submitted before keeps its terms.");
                changed(&session, &sentence, &done)
            }
        }
    }
}

impl Set {
    async fn run(self, mut session: Session) -> Outcome {
        let mut spec = Map::new();
        let mut put = |field: &str, value: Value| drop(spec.insert(field.to_owned(), value));
        put("action_class", json!(self.class));
        if let Some(level) = Number::read_option(self.level.as_ref(), "level")? {
            put("level_min", json!(level));
        }
        if let Some(lock) = &self.lock {
            put("lock_scope", json!(lock));
        }
        if !self.kinds.is_empty() {
            put("kinds", json!(self.kinds));
        }
        if self.restricted {
            put("payload_restricted", json!(true));
        }
        if let Some(note) = &self.note {
            put("note", json!(note));
        }
        let (name, spec) = (&self.name, Value::Object(spec));
        let set = session
            .ask(remote::action_set(name, &spec), async |tx| {
                actions::action_set(tx, name, &spec).await
            })
            .await?;
        let sentence =
            format!("The action {name} is registered. `tenure execution preview FILE` shows what it means for a plan.");
        changed(&session, &sentence, &set)
    }
}
