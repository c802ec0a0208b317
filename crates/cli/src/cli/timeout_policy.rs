//! `tenure timeout-policy`: how long executions, steps and leases may take.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tenure::store::timeout_policies as policies;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, json_of};
use crate::remote;
use crate::values::{Number, Seconds, short};

const LIST: &[Column] = &[
    Column("SLA", "sla_class"),
    Column("ACTION", "action_class"),
    Column("EXECUTION", "execution"),
    Column("STEP", "step"),
    Column("LEASE", "lease"),
    Column("RENEWALS", "renewals_max"),
    Column("FROM", "origin"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum TimeoutPolicy {
    /// List all nine
    #[command(visible_alias = "ls")]
    List,
    /// Change what is named of one; it holds for what is submitted from now on
    Set(Set),
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// fast, medium or long
    sla_class: String,
    /// read, modify or deploy
    action_class: String,
    /// How long a whole execution may take
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    execution: Option<Seconds>,
    /// How long a step may take, unless its plan says otherwise
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    step: Option<Seconds>,
    /// How long a worker holds a step without renewing, at least: a kind's own lease may be longer, and its own limit holds
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    lease: Option<Seconds>,
    /// How often it renews at most
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    renewals_max: Option<Number>,
}

impl TimeoutPolicy {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            TimeoutPolicy::List => {
                let found = session
                    .call(remote::timeout_policy_list(), async |tx| {
                        policies::timeout_policy_list(tx).await
                    })
                    .await?;
                let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
                if session.out.format == Format::People {
                    rows.iter_mut().for_each(for_people);
                }
                session.out.list(LIST, &rows, &["sla_class", "action_class"], "")
            }
            TimeoutPolicy::Set(set) => set.run(session).await,
        }
    }
}

fn for_people(row: &mut Value) {
    for name in ["execution", "step", "lease"] {
        let field = if name == "lease" {
            "lease_ms".to_owned()
        } else {
            format!("{name}_timeout_ms")
        };
        row[name] = json!(row[field].as_i64().map(|ms| short(ms / 1000)));
    }
}

impl Set {
    async fn run(self, mut session: Session) -> Outcome {
        let mut spec = Map::new();
        let durations = [
            ("execution_timeout_ms", "execution", &self.execution),
            ("step_timeout_ms", "step", &self.step),
            ("lease_ms", "lease", &self.lease),
        ];
        for (field, option, given) in durations {
            if let Some(seconds) = Seconds::read_option(given.as_ref(), option)? {
                spec.insert(field.to_owned(), json!(seconds.saturating_mul(1000)));
            }
        }
        if let Some(renewals) = Number::read_option(self.renewals_max.as_ref(), "renewals-max")? {
            spec.insert("renewals_max".to_owned(), json!(renewals));
        }
        let (sla, action, spec) = (&self.sla_class, &self.action_class, Value::Object(spec));
        let mut set = session
            .ask(remote::timeout_policy_set(sla, action, &spec), async |tx| {
                policies::timeout_policy_set(tx, sla, action, &spec).await
            })
            .await?;
        match session.out.format {
            Format::People => {
                for_people(&mut set);
                session.out.list(LIST, &[set], &[], "")
            }
            _ => session.out.object(&set, &[], &["sla_class", "action_class"]),
        }
    }
}
