//! `tenure doctor`: is the installation sound, and what to do where it is not.

mod database;
mod finding;
mod schema;

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;
use tenure::migrate;
use tenure::store::{config, health, retention};
use tenure_core::codes;

use crate::connect::Place;
use crate::errors::{Failure, Outcome};
use crate::output::{Column, Format, Output};

use self::finding::{Finding, Verdict};

const LIST: &[Column] = &[
    Column("", "verdict"),
    Column("CHECK", "check"),
    Column("FINDING", "what"),
    Column("NEXT", "next"),
];

#[derive(Debug, Args)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        let findings = examine(&place).await?;
        out.list(LIST, &findings, &["verdict", "check"], "Nothing was checked.")?;
        match findings.iter().any(|finding| finding.verdict == Verdict::Fail) {
            true => Err(Failure::Told(codes::EXIT_UNEXPECTED)),
            false => Ok(()),
        }
    }
}

async fn examine(place: &Place) -> Outcome<Vec<Finding>> {
    let url = place.url().await?;
    let client = tenure::pool::connect(&url).await?;
    let status = migrate::check(&client).await?;
    let mut findings = vec![Finding::ok("connection", "The database answers.")];
    let (schema, usable) = schema::schema(&status);
    findings.push(schema);
    if !usable {
        return Ok(findings);
    }
    // Told as a finding, it need not be told again as a warning.
    let quiet = Output { format: Format::Quiet };
    let mut session = place.session_at(&url, quiet).await?;
    let before = Timestamp::now();
    let doctor: Value = session.sql(async |tx| health::doctor(tx).await).await?;
    let after = Timestamp::now();
    let keys = session.sql(async |tx| config::config_list(tx).await).await?;
    let jobs = session
        .sql(async |tx| retention::partition_list(tx, "jobs").await)
        .await?;

    findings.push(schema::roles(&doctor));
    findings.push(schema::gates(&keys));
    findings.push(database::version(&doctor));
    findings.push(database::clock(&doctor, before, after));
    findings.push(database::bloat(&doctor));
    findings.push(database::transactions(&doctor));
    findings.push(database::stream(&doctor));
    findings.push(database::partitions(&jobs, &keys, after));
    findings.push(database::wal(&doctor));
    findings.push(database::durability(&doctor));
    Ok(findings)
}
