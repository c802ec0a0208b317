//! `tenure context`: servers under names, and which of them may be the default.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure_core::api_key::ApiKey;
use tenure_core::{codes, limits, names};

use crate::connect::{Choice, Context as Saved, Contexts, Named, Place, guarded};
use crate::errors::{Outcome, refuse};
use crate::output::{Column, Output};
use crate::settings::masked;

const LIST: &[Column] = &[
    Column("CONTEXT", "context"),
    Column("SERVER", "server"),
    Column("TENANT", "tenant"),
    Column("KEY", "key_prefix"),
    Column("GUARDED", "guarded"),
    Column("DEFAULT", "default"),
];

const FIRST: &[&str] = &[
    "context",
    "server",
    "database",
    "tenant",
    "key_prefix",
    "guarded",
    "default",
];

#[derive(Debug, Subcommand)]
pub(crate) enum Context {
    /// List what is saved; keys are not shown
    #[command(visible_alias = "ls")]
    List,
    /// Save a server under a name: --server, and perhaps --key, --key-file, --tenant, --ca-file
    Add(Add),
    /// Make a context for development the default
    Use(Use),
    /// Show a context, or where commands go now
    Show {
        /// The context [default: where commands go now]
        name: Option<String>,
    },
    /// Forget a context
    Remove {
        /// The context
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its name, such as prod
    name: String,
    /// The key to save with it; - is the first line of standard input
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Nobody is hurt by a mistake there: it may be the default. Without it the context is guarded, and used only where
    /// it is named
    #[arg(long)]
    development: bool,
    /// Take the place of the context of this name
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Use {
    /// The context
    #[arg(required_unless_present = "none", conflicts_with = "none")]
    name: Option<String>,
    /// Have no default
    #[arg(long)]
    none: bool,
}

impl Context {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        match self {
            Context::List => list(out),
            Context::Add(add) => add.run(&place, out),
            Context::Use(choice) => choice.run(out),
            Context::Show { name: Some(name) } => {
                let saved = Contexts::read()?;
                out.object(&shown(&saved, &name, saved.get(&name)?), FIRST, &["server"])
            }
            Context::Show { name: None } => out.object(&here(&place)?, FIRST, &["server", "database"]),
            Context::Remove { name } => remove(&name, out),
        }
    }
}

fn list(out: Output) -> Outcome {
    let saved = Contexts::read()?;
    let rows: Vec<Value> = saved
        .contexts
        .iter()
        .map(|(name, context)| shown(&saved, name, context))
        .collect();
    out.list(
        LIST,
        &rows,
        &["context"],
        "No server is saved. `tenure context add NAME --server URL --key -` saves one.",
    )
}

impl Add {
    fn run(self, place: &Place, out: Output) -> Outcome {
        names::check("context", &self.name, limits::NAME_CHARS_MAX)?;
        let mut saved = Contexts::read()?;
        if saved.contexts.contains_key(&self.name) && !self.replace {
            return Err(refuse(
                codes::USAGE,
                format!("There is already a context {:?}.", self.name),
                "Commands of others may name it.",
                "Choose another name, or say --replace.",
            ));
        }
        let context = place.to_save(self.key.as_deref(), self.development)?;
        // What was the default is not, once it is guarded.
        if !context.development && saved.current.as_ref() == Some(&self.name) {
            saved.current = None;
        }
        saved.contexts.insert(self.name.clone(), context);
        saved.write()?;
        let row = shown(&saved, &self.name, saved.get(&self.name)?);
        let mut sentence = format!("{} is saved. Use it with --context {}", self.name, self.name);
        sentence.push_str(match self.development {
            true => ", or make it the default: tenure context use ",
            false => ", or for a shell: export TENURE_CONTEXT=",
        });
        sentence.push_str(&self.name);
        if row["key_prefix"].is_null() {
            sentence.push_str("\nIt has no key: give one with --key-file or TENURE_KEY, or save one with --key -");
        }
        out.done(&sentence, &row, &["context"])
    }
}

impl Use {
    fn run(self, out: Output) -> Outcome {
        let mut saved = Contexts::read()?;
        if let Some(name) = &self.name
            && !saved.get(name)?.development
        {
            return Err(guarded(name));
        }
        saved.current = self.name;
        saved.write()?;
        let sentence = match &saved.current {
            Some(name) => format!("{name} is the default: commands go there unless something else is named."),
            None => "There is no default context.".to_owned(),
        };
        out.done(&sentence, &json!({"default": saved.current}), &["default"])
    }
}

fn remove(name: &str, out: Output) -> Outcome {
    let mut saved = Contexts::read()?;
    let row = shown(&saved, name, saved.get(name)?);
    saved.contexts.remove(name);
    saved.current = saved.current.filter(|current| current != name);
    saved.write()?;
    let sentence = format!("{name} is forgotten. Its key is still valid: `tenure key revoke PREFIX` ends it.");
    out.done(&sentence, &row, &["context"])
}

/// Everything about a context but its key.
fn shown(saved: &Contexts, name: &str, context: &Saved) -> Value {
    let key = context.key.as_deref().and_then(ApiKey::parse);
    json!({
        "context": name,
        "server": context.server,
        "tenant": context.tenant,
        "key_prefix": key.as_ref().map(ApiKey::prefix),
        "guarded": !context.development,
        "default": saved.current.as_deref() == Some(name),
        "ca_file": context.ca_file,
        "allow_plaintext": context.allow_plaintext,
    })
}

/// Where commands go now, and what says so.
fn here(place: &Place) -> Outcome<Value> {
    let (mut row, by) = match place.server()? {
        Some((Named::Url(url), by)) => (json!({"server": url}), by),
        Some((Named::Context(name), by)) => {
            let saved = Contexts::read()?;
            (shown(&saved, &name, saved.get(&name)?), by)
        }
        None => match place.choice()? {
            Choice::Given { url, by } => (json!({"database": masked(&url)}), by),
            Choice::Private { data_dir, default } => (
                json!({"database": format!("that of `tenure dev` on {}", data_dir.display())}),
                if default { "nothing else" } else { "--data-dir" },
            ),
        },
    };
    row["named_by"] = json!(by);
    Ok(row)
}
