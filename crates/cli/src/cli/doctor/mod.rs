//! `tenure doctor`: is the installation sound, and what to do where it is not.

mod anchors;
mod database;
mod finding;
mod schema;

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;
use tenure::migrate;
use tenure::store::{health, retention};
use tenure_api::health::DoctorShow;
use tenure_api::settings::ConfigList;
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
    // Told as a finding, it need not be told again as a warning.
    let quiet = Output { format: Format::Quiet };
    let mut findings = Vec::new();
    let mut session = if place.server()?.is_some() {
        // A server that answers has looked at the schema itself.
        findings.push(Finding::ok("connection", "The server answers."));
        place.session(quiet).await?
    } else {
        let url = place.url().await?;
        let client = tenure::pool::connect(&url).await?;
        let status = migrate::check(&client).await?;
        findings.push(Finding::ok("connection", "The database answers."));
        let (schema, usable) = schema::schema(&status);
        findings.push(schema);
        if !usable {
            return Ok(findings);
        }
        place.session_at(&url, quiet).await?
    };
    let before = Timestamp::now();
    // As JSON, not by its type: an answer that lacks something is a finding too.
    let doctor: Value = match session.remote() {
        Some(remote) => remote.perform_json(&DoctorShow {}).await?,
        None => session.sql(async |tx| health::doctor(tx).await).await?,
    };
    let after = Timestamp::now();
    let keys = session.perform(&ConfigList {}).await?.0.items;

    findings.push(schema::roles(&doctor));
    findings.push(schema::gates(&keys));
    findings.push(database::version(&doctor));
    findings.push(database::clock(&doctor, before, after));
    findings.push(database::bloat(&doctor));
    findings.push(database::transactions(&doctor));
    findings.push(database::stream(&doctor));
    findings.push(database::services(&doctor));
    findings.push(database::zones(&doctor, tenure::zones::current()));
    findings.push(database::schedules(&doctor));
    findings.push(database::executions(&doctor));
    findings.push(anchors::key(&doctor));
    findings.push(anchors::checkpoints(&doctor));
    // Partitions are told about by the database alone.
    if session.remote().is_none() {
        let jobs = session
            .sql(async |tx| retention::partition_list(tx, "jobs").await)
            .await?;
        findings.push(database::partitions(&jobs, &keys, after));
    }
    findings.push(database::wal(&doctor));
    findings.push(database::durability(&doctor));
    Ok(findings)
}
