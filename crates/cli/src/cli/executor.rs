//! `tenure executor`: who may hold work, and who is alive.

use clap::{Args, Subcommand};
use tenure::store::executors::{self, ExecutorBeat};
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, shown};
use crate::remote;
use crate::values::json_object;

const LIST: &[Column] = &[
    Column("EXECUTOR", "executor"),
    Column("ROLE", "role"),
    Column("ALIVE", "alive"),
    Column("LAST TICK", "last_tick_at"),
    Column("NOTE", "note"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Executor {
    /// List the whitelist, and how many of each are alive
    #[command(visible_alias = "ls")]
    List,
    /// Say that an instance is alive
    Beat(BeatArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BeatArgs {
    /// The instance, such as agent-7
    name: String,
    /// What it is, one of the whitelist
    #[arg(long, value_name = "NAME", default_value = "external_worker")]
    executor: String,
    /// How it is: ok, warn or error
    #[arg(long, value_name = "STATUS", default_value = "ok")]
    status: String,
    /// The job it works on
    #[arg(long, value_name = "JOB")]
    job: Option<Uuid>,
    /// What else should be known, a small JSON object: JSON, @FILE, or -
    #[arg(long, value_name = "JSON|@FILE|-")]
    metadata: Option<String>,
    /// Tells two processes of one name apart
    #[arg(long, value_name = "UUID")]
    instance: Option<Uuid>,
}

impl Executor {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Executor::List => {
                let rows = session
                    .call(remote::executor_list(), async |tx| executors::executor_list(tx).await)
                    .await?;
                session.out.list(LIST, &rows, &["executor"], "There are no executors.")
            }
            Executor::Beat(args) => {
                let metadata = args
                    .metadata
                    .as_deref()
                    .map(|given| json_object("metadata", given))
                    .transpose()?;
                let beat = ExecutorBeat {
                    name: args.name.clone(),
                    executor: args.executor,
                    status: Some(args.status),
                    current_job_id: args.job,
                    metadata,
                    instance: args.instance,
                };
                let answer = session
                    .ask(remote::executor_beat(&beat), async |tx| {
                        executors::executor_beat(tx, &beat).await
                    })
                    .await?;
                if answer["name_shared"] == true {
                    session
                        .out
                        .warn(&format!("another process beats under the name {:?}.", args.name));
                }
                let sentence = format!("{} is alive ({}).", args.name, shown("", &answer["last_tick_status"]));
                session.out.done(&sentence, &answer, &["executor_name"])
            }
        }
    }
}
