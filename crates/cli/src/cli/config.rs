//! `tenure config`: settings of a tenant, or of the installation, which are in the database; and those of a server, which
//! are not.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure_api::Json;
use tenure_api::governed::Governed;
use tenure_api::settings::{ConfigGet, ConfigList, ConfigSet};

use super::Behalf;
use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::{Place, Scope, Session};
use crate::errors::Outcome;
use crate::output::{Column, Format, Output, shown};
use crate::settings::{Flags, Settings};

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
    #[command(flatten)]
    Plain(Chosen<Verbs>),
    /// Set a value; the change is an event
    Set(Set),
    /// Show the settings of `tenure serve`, and where each value comes from
    ///
    /// A flag goes before the environment, that before the file, that before the default. Give the flags that the server
    /// gets, to see what they change. The settings in the database are listed by `tenure config list`.
    Explain(Flags),
}

/// The verbs of `tenure config` that are one operation each.
pub(crate) struct Verbs;

impl Noun for Verbs {
    const VERBS: &'static [&'static dyn Command] = &[&GET, &LIST];
}

const GET: Verb<ConfigGet> = Verb {
    places: &["key"],
    quiet: &["value"],
    ..Verb::<ConfigGet>::sentence("get", |_, setting| shown("", &setting.value.0))
};

const LIST: Verb<ConfigList> = Verb {
    quiet: &["key"],
    ..Verb::table(
        "list",
        &[
            Column("KEY", "key"),
            Column("VALUE", "value"),
            Column("ORIGIN", "origin"),
            Column("DEFAULT", "default_value"),
            Column("MIN", "value_min"),
            Column("MAX", "value_max"),
            Column("MEANING", "description"),
        ],
        "There are no keys.",
    )
};

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
        match self {
            Config::Explain(flags) => explain(&flags, &place, out),
            Config::Plain(verb) => verb.run(place.session(out).await?).await,
            Config::Set(set) => set.run(place.session(out).await?).await,
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
        let set = ConfigSet {
            key: self.key,
            value: Json(value.unwrap_or_default()),
            on_behalf_of: self.behalf.on_behalf_of,
        };
        let (set, whole) = session.perform_in(Scope::of(self.installation), &set).await?;
        let part = |value: &Json| shown("", &value.0);
        match set {
            Governed::Pending(_) => super::governance::changed(&session, "", &whole),
            Governed::Done(_) if session.out.format == Format::Quiet => Ok(()),
            Governed::Done(set) => {
                let sentence = format!("{} is {} (was {}).", set.key, part(&set.value), part(&set.old));
                session.out.done(&sentence, &whole, &[])
            }
        }
    }
}

/// Open mode, for databases to try things in: an action without a registration is what the plan says it is.
pub(crate) async fn open_actions(session: &mut Session) -> Outcome {
    let key = ACTIONS_OPEN.to_owned();
    let (now, _) = session
        .perform_in(Scope::Installation, &ConfigGet { key: key.clone() })
        .await?;
    // One that is open stays as it is: a change is an event, and this is none.
    if now.value.0 != true {
        let open = ConfigSet {
            key,
            value: Json(json!(true)),
            on_behalf_of: None,
        };
        session.perform_in(Scope::Installation, &open).await?;
    }
    Ok(())
}
