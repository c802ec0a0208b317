//! `tenure evidence verify`: is the file what was signed, and does its story hold together?

use clap::Args;
use serde_json::{Value, json};
use tenure_core::evidence::{Evidence, VERSION, Verified, verify};

use super::anchored::{Against, check_row};
use super::file;
use crate::errors::Outcome;
use crate::output::{Column, Format, Output, printable};

const CHECKS: &[Column] = &[Column("CHECK", "check"), Column("FOUND", "finding")];

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The file; - for standard input
    file: String,
    /// The key of whoever is said to have signed it: Base64, PEM, or a file with either
    #[arg(long, value_name = "KEY_OR_FILE", allow_hyphen_values = true)]
    public_key: String,
    #[command(flatten)]
    against: Against,
}

impl Verify {
    pub(super) fn run(self, out: Output) -> Outcome {
        let key = file::public_key(&self.public_key)?;
        let bytes = file::bytes(&self.file)?;
        let verified = verify(&bytes, &key).map_err(|findings| file::refused(&self.file, &findings, out))?;
        let covered = self.against.covered(&verified.evidence, key, out)?;
        let mut checks = checks(&verified);
        checks.extend(covered.as_ref().map(check_row));
        match out.format {
            Format::Quiet => out.text("verified"),
            Format::Json => {
                let mut answer = answer(&verified, checks);
                answer["anchor"] = json!(covered);
                out.json(&answer)
            }
            Format::People => {
                let head = &verified.evidence.head;
                let sentence = format!(
                    "{} verifies: execution {} of the tenant {}, {}.",
                    file::named(&self.file),
                    head.execution_id,
                    head.tenant,
                    head.state
                );
                out.text(&printable(&sentence))?;
                out.text("")?;
                out.list(CHECKS, &checks, &[], "")
            }
        }
    }
}

fn answer(verified: &Verified, checks: Vec<Value>) -> Value {
    let mut answer = json!(verified.evidence.head);
    answer["verified"] = json!(true);
    answer["key_id"] = json!(verified.key_id);
    answer["lines"] = json!(verified.lines);
    answer["checks"] = Value::from(checks);
    answer
}

/// What was checked, and what was found there.
fn checks(verified: &Verified) -> Vec<Value> {
    let evidence = &verified.evidence;
    let head = &evidence.head;
    let used = evidence
        .approvals
        .iter()
        .filter(|approval| approval.has("consumed_at"))
        .count();
    let rows = [
        (
            "form",
            format!("{}, version {VERSION}", counted(verified.lines, "line")),
        ),
        (
            "signature",
            format!("Ed25519 by the key {}, which was given", verified.key_id),
        ),
        (
            "lines",
            format!(
                "{}, each as it was signed, in that order",
                counted(verified.lines - 1, "line")
            ),
        ),
        ("plan", format!("its SHA-256 is the plan hash {}", head.plan_hash)),
        (
            "events",
            format!(
                "{}, numbered without a gap, each hash follows from the one before",
                counted(evidence.events.len(), "event")
            ),
        ),
        (
            "decisions",
            format!(
                "{} and {}, all about this plan, no approval by the requester",
                counted(evidence.approvals.len(), "approval"),
                counted(evidence.votes.len(), "vote")
            ),
        ),
        (
            "start",
            match evidence.execution.has("started_at") {
                true => format!("allowed: {} used up", counted(used, "approval")),
                false => "never started".to_owned(),
            },
        ),
        (
            "rows",
            format!(
                "every field of {} follows from the plan and the events",
                counted(rows(evidence), "line")
            ),
        ),
        ("state", format!("{}, as the events say", head.state)),
    ];
    rows.into_iter()
        .map(|(check, finding)| json!({"check": check, "finding": finding}))
        .collect()
}

/// Lines that state something beside the plan and the events.
fn rows(evidence: &Evidence) -> usize {
    2 + evidence.steps.len() + evidence.approvals.len() + evidence.votes.len() + evidence.attempts.len()
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
