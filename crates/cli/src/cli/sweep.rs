//! `tenure sweep`: clean what has passed its retention.

use clap::Args;
use serde_json::{Value, json};
use tenure::store::retention;
use tenure_api::jobs::JobSweep;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{json_of, shown};
use crate::remote;
use crate::values::Number;

#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// How many jobs to examine at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "1000",
        allow_negative_numbers = true
    )]
    limit: Number,
    /// Also make and drop partitions
    #[arg(long)]
    partitions: bool,
    /// In every tenant; needs a login that is trusted with it
    #[arg(long)]
    every_tenant: bool,
}

impl Sweep {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let limit = self.limit.read("limit")?;
        if self.partitions && session.remote().is_some() {
            let why = "Partitions are made and dropped by the services, or on the database.";
            return Err(remote::not_over_http("`tenure sweep --partitions`", why));
        }
        if self.every_tenant {
            session.for_every_tenant();
        }
        let (_, mut answer) = session.perform(&JobSweep { limit }).await?;
        if self.partitions {
            // A transaction for each table: its locks should be short.
            let mut kept = retention::Kept::default();
            for table in retention::PARTITIONED {
                let of_table = session
                    .sql(async |tx| retention::partition_upkeep(tx, Some(table)).await)
                    .await?;
                kept.made.extend(of_table.made);
                kept.dropped.extend(of_table.dropped);
                kept.waiting.extend(of_table.waiting);
                kept.gave_way |= of_table.gave_way;
            }
            answer["partitions"] = json_of(&kept)?;
        }
        let part = |field: &str| shown("", &answer[field]);
        let mut sentence = format!(
            "{} jobs examined, {} cleaned, {} dead letters removed.",
            part("examined"),
            part("cleaned"),
            part("dead_letters_removed")
        );
        if let Value::String(why) = &answer["why"] {
            sentence.push_str(&format!(" Reason: {why}."));
        }
        if let partitions @ Value::Object(_) = &answer["partitions"] {
            sentence.push_str(&format!(" Partitions: {}.", json!(partitions)));
        }
        session.out.done(&sentence, &answer, &["cleaned"])
    }
}
