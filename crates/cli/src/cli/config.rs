//! `tenure config`: settings of a tenant, or of the installation, which are in the database; and those of a server, which
//! are not.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure::store::{config, for_every_tenant};
use tenure_core::{Refusal, codes};
use tokio_postgres::Transaction;

use super::Behalf;
use crate::connect::{Place, Session};
use crate::errors::Outcome;
use crate::output::{Column, Format, Output, shown};
use crate::remote;
use crate::settings::{Flags, Settings};

const LIST: &[Column] = &[
    Column("KEY", "key"),
    Column("VALUE", "value"),
    Column("ORIGIN", "origin"),
    Column("DEFAULT", "default_value"),
    Column("MIN", "value_min"),
    Column("MAX", "value_max"),
    Column("MEANING", "description"),
];

/// Whether a plan's own word counts for actions without a registration.
const ACTIONS_OPEN: &str = "executions.actions.open";

const EXPLAIN: &[Column] = &[
    Column("KEY", "key"),
    Column("VALUE", "value"),
    Column("ORIGIN", "origin"),
    Column("SOURCE", "source"),
    Column("MEANING", "meaning"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print the value in force
    Get {
        /// The key, such as queue.lease.duration_sec
        key: String,
    },
    /// Set a value; the change is an event
    Set(Set),
    /// List every key with its value and bounds
    #[command(visible_alias = "ls")]
    List,
    /// Show the settings of `tenure serve`, and where each value comes from
    ///
    /// A flag goes before the environment, that before the file, that before the default. Give the flags that the server
    /// gets, to see what they change. The settings in the database are listed by `tenure config list`.
    Explain(Flags),
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The key, such as queue.lease.duration_sec
    key: String,
    /// true, false or a whole number
    #[arg(
        required_unless_present = "default",
        conflicts_with = "default",
        allow_negative_numbers = true
    )]
    value: Option<String>,
    /// Take the setting back
    #[arg(long)]
    default: bool,
    /// For the installation, so for every tenant without a setting of its own
    #[arg(long)]
    installation: bool,
    #[command(flatten)]
    behalf: Behalf,
}

impl Config {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        if let Config::Explain(flags) = &self {
            return explain(flags, &place, out);
        }
        let mut session = place.session(out).await?;
        match self {
            Config::Explain(_) => unreachable!("it needs no database"),
            Config::Get { key } => {
                let value = session
                    .call(remote::config_get(&key), async |tx| config::config_get(tx, &key).await)
                    .await?;
                let answer = json!({"key": key, "value": value});
                session.out.done(&shown("", &answer["value"]), &answer, &["value"])
            }
            Config::Set(set) => set.run(session).await,
            Config::List => {
                let rows = session
                    .call(remote::config_list(), async |tx| config::config_list(tx).await)
                    .await?;
                session.out.list(LIST, &rows, &["key"], "There are no keys.")
            }
        }
    }
}

fn explain(flags: &Flags, place: &Place, out: Output) -> Outcome {
    let settings = Settings::find(flags, place)?;
    for warning in settings.warnings() {
        out.warn(&warning);
    }
    out.list(
        EXPLAIN,
        &settings.explained(),
        &["key", "value"],
        "There are no settings.",
    )?;
    out.note("\nThese are the settings of a server. Those in the database, for all servers: tenure config list");
    Ok(())
}

impl Set {
    async fn run(self, mut session: Session) -> Outcome {
        // What is neither a number nor true or false goes as text: the database says what it wants instead.
        let value = self.value.map(|text| match tenure_core::json::parse(&text) {
            Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
            _ => Value::String(text),
        });
        let behalf = self.behalf.on_behalf_of.as_deref();
        let request = remote::config_set(&self.key, value.as_ref(), behalf).for_installation(self.installation);
        let answer = session
            .together(request, async |tx| {
                if self.installation {
                    for_every_tenant(tx).await?;
                }
                let answer = config::config_set(tx, &self.key, value.as_ref(), behalf).await?;
                if self.installation && value.is_some() && answer["pending"] != true {
                    check_installation(tx, std::slice::from_ref(&self.key)).await?;
                }
                Ok(answer)
            })
            .await?;
        let part = |field: &str| shown("", &answer[field]);
        let sentence = format!("{} is {} (was {}).", part("key"), part("value"), part("old"));
        if answer["pending"] == true {
            return super::governance::changed(&session, &sentence, &answer);
        }
        match session.out.format {
            Format::Quiet => Ok(()),
            _ => session.out.done(&sentence, &answer, &[]),
        }
    }
}

/// Open mode, for databases to try things in: an action without a registration is what the plan says it is.
pub(crate) async fn open_actions(session: &mut Session) -> Outcome {
    session
        .transaction(async |tx| {
            for_every_tenant(tx).await?;
            // One that is open stays as it is: a change is an event, and this is none.
            if config::config_get(tx, ACTIONS_OPEN).await? != true {
                config::config_set(tx, ACTIONS_OPEN, Some(&json!(true)), None).await?;
            }
            Ok(())
        })
        .await
}

/// A login that is not trusted with the installation stays in its own tenant, silently: it learns so, and nothing changes.
pub(super) async fn check_installation(tx: &Transaction<'_>, keys: &[String]) -> tenure::Result<()> {
    let entries = config::config_list(tx).await?;
    let strayed = entries
        .iter()
        .any(|entry| keys.contains(&entry.key) && entry.origin != "installation");
    if !strayed {
        return Ok(());
    }
    Err(tenure::Error::from(Refusal::new(
        codes::NOT_PERMITTED,
        "This login cannot change settings of the installation.",
        "Only members of tenure_server reach beyond their own tenant.",
        "Leave --installation out, or use a login of the installation.",
    )))
}
