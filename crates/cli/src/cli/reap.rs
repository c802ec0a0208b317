//! `tenure reap`: end what nobody holds any more, or holds for too long.

use clap::Args;
use tenure_api::jobs::{JobReap, ReapMode};

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::Column;
use crate::values::Number;

const LIST: &[Column] = &[
    Column("JOB", "job_id"),
    Column("TENANT", "tenant"),
    Column("KIND", "kind"),
    Column("FINDING", "finding"),
    Column("WORKER", "worker"),
    Column("STATE", "state"),
];

#[derive(Debug, Args)]
pub(crate) struct Reap {
    /// Only show what would be ended
    #[arg(long)]
    dry_run: bool,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "500",
        allow_negative_numbers = true
    )]
    limit: Number,
    /// In every tenant; needs a login that is trusted with it
    #[arg(long)]
    every_tenant: bool,
}

impl Reap {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let limit = self.limit.read("limit")?;
        let mode = if self.dry_run {
            ReapMode::DryRun
        } else {
            ReapMode::Apply
        };
        if self.every_tenant {
            session.for_every_tenant();
        }
        let (reaped, _) = session.perform(&JobReap { mode, limit }).await?;
        session.out.list(
            LIST,
            &reaped.items,
            &["job_id"],
            "Nothing to reap: every held job has a living lease.",
        )
    }
}
