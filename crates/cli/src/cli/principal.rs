//! `tenure principal`: who acts, and up to which level they approve.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tenure::store::principals;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, shown};
use crate::remote;
use crate::values::Number;

const LIST: &[Column] = &[
    Column("PRINCIPAL", "name"),
    Column("KIND", "kind"),
    Column("EMAIL", "email"),
    Column("APPROVES", "approver_level"),
    Column("ROLES", "approval_roles"),
    Column("KEYS", "keys"),
    Column("MADE", "created_at"),
    Column("BY", "created_by"),
    Column("MAKERS", "makers"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Principal {
    /// List them
    #[command(visible_alias = "ls")]
    List,
    /// Register one: a person, an agent or a service
    Create {
        /// Its name, the actor of its events
        name: String,
        /// What it is: human, agent or service
        #[arg(long, value_name = "KIND")]
        kind: String,
        /// Where to write to it
        #[arg(long, value_name = "ADDRESS")]
        email: Option<String>,
    },
    /// Say up to which level it approves, and in which roles
    Set(Set),
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Its name
    name: String,
    /// Up to which level it approves when it comes by a database login; a key has a level of its own
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    approver_level: Option<Number>,
    /// It approves nothing any more when it comes by a database login
    #[arg(long, conflicts_with = "approver_level")]
    no_approver: bool,
    /// A role in which it approves; may be given several times, and takes the place of those it had
    #[arg(long = "approval-role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Vouch for it as it is then, in place of those who registered or changed it: they can have their plans approved by it
    #[arg(long)]
    confirm: bool,
}

impl Principal {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Principal::List => {
                let rows = session
                    .call(remote::principal_list(), async |tx| {
                        principals::principal_list(tx).await
                    })
                    .await?;
                session.out.list(LIST, &rows, &["name"], "Nobody is registered.")
            }
            Principal::Create { name, kind, email } => {
                let email = email.as_deref();
                let made = session
                    .ask(remote::principal_create(&name, &kind, email), async |tx| {
                        principals::principal_create(tx, &name, &kind, email).await
                    })
                    .await?;
                session
                    .out
                    .done(&format!("{name} is registered as {kind}."), &made, &["name"])
            }
            Principal::Set(set) => set.run(session).await,
        }
    }
}

impl Set {
    async fn run(self, mut session: Session) -> Outcome {
        let mut spec = Map::new();
        if let Some(level) = Number::read_option(self.approver_level.as_ref(), "approver-level")? {
            spec.insert("approver_level".to_owned(), json!(level));
        }
        if self.no_approver {
            spec.insert("approver_level".to_owned(), Value::Null);
        }
        if !self.roles.is_empty() {
            spec.insert("approval_roles".to_owned(), json!(self.roles));
        }
        if self.confirm {
            spec.insert("confirm".to_owned(), json!(true));
        }
        let (name, spec) = (&self.name, Value::Object(spec));
        let set = session
            .ask(remote::principal_set(name, &spec), async |tx| {
                principals::principal_set(tx, name, &spec).await
            })
            .await?;
        let level = match &set["approver_level"] {
            Value::Null => "approves nothing by a database login".to_owned(),
            level => format!("approves up to level {level}"),
        };
        let roles = match shown("", &set["approval_roles"]) {
            roles if roles.is_empty() => String::new(),
            roles => format!(", as {roles}"),
        };
        let sentence = match shown("", &set["makers"]) {
            makers if self.confirm && makers.is_empty() => format!("{name} is confirmed, and {level}{roles}."),
            makers if self.confirm => format!("{name} is confirmed by {makers}, and {level}{roles}."),
            _ => format!("{name} {level}{roles}."),
        };
        session.out.done(&sentence, &set, &["name"])
    }
}
