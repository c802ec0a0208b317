//! `tenure evidence verify --anchor`: do checkpoints outside the database cover what the file says?

use clap::Args;
use serde_json::{Value, json};
use tenure_core::anchor::{self, Covered, Finding, History};
use tenure_core::evidence::{Evidence, PublicKey};
use tenure_core::{Refusal, codes};

use super::file;
use crate::errors::{Failure, Outcome};
use crate::output::{Format, Output};
use crate::values::document_bytes;

/// Findings that people are shown; programs have them all.
const FINDINGS_SHOWN: usize = 50;

/// What to check a file against.
#[derive(Debug, Args)]
pub(super) struct Against {
    /// Checkpoints that are kept outside the database: one of them must cover the execution, and none may contradict it
    #[arg(long, value_name = "CHECKPOINTS_FILE")]
    anchor: Option<String>,
    /// The proof by one of them (tenure evidence proof), where they do not name all that they cover
    #[arg(long, value_name = "FILE", requires = "anchor")]
    proof: Option<String>,
    /// Another key that may have signed checkpoints, such as the one before; can be repeated
    #[arg(long, value_name = "KEY_OR_FILE", requires = "anchor", allow_hyphen_values = true)]
    anchor_key: Vec<String>,
    /// Accept a file that was exported before a checkpoint which covers more events than the file has
    #[arg(long, requires = "anchor")]
    older_export: bool,
}

impl Against {
    /// What the checkpoints cover of this evidence; none where no checkpoints were named.
    pub(super) fn covered(&self, evidence: &Evidence, key: PublicKey, out: Output) -> Outcome<Option<Covered>> {
        let Some(place) = &self.anchor else { return Ok(None) };
        let mut keys = vec![key];
        for given in &self.anchor_key {
            keys.push(file::public_key(given)?);
        }
        let checkpoints = read("checkpoints", place, anchor::BYTES_MAX)?;
        let proof = match &self.proof {
            Some(place) => Some(read("proof", place, anchor::PROOF_BYTES_MAX)?),
            None => None,
        };
        let check = || {
            let chain = anchor::check(&checkpoints, &keys)?;
            let proof = proof.as_deref().map(anchor::read_proof).transpose()?;
            let history = History {
                is_older: self.older_export,
                ..History::from(evidence)
            };
            chain.covered(&history, proof.as_ref())
        };
        check().map(Some).map_err(|findings| refused(place, &findings, out))
    }
}

/// What was found, as a line of the table and as part of the answer.
pub(super) fn check_row(covered: &Covered) -> Value {
    let Covered {
        checkpoint,
        at,
        chain_length,
        events,
        event_at,
        agreeing,
        longer,
        incomplete,
        range: (first, last),
    } = covered;
    let whole = if chain_length == events { "all " } else { "the first " };
    let names = if *agreeing == 1 { "names" } else { "name" };
    let mut finding = format!(
        "checkpoint {checkpoint} of {at} covers {whole}{chain_length} of {events} events, the last of {event_at}; \
         checkpoints {first} to {last} follow each other, and {agreeing} {names} this execution"
    );
    match longer {
        None => finding.push_str(", all with this history"),
        Some((number, length)) => finding.push_str(&format!(
            " with this history; checkpoint {number} covers {length} events, this file has {events}: ask for a newer export"
        )),
    }
    if let [number, rest @ ..] = incomplete.as_slice() {
        let (noun, more) = match rest.len() {
            0 => (
                "does not name all that it covers and contradicts nothing that it does not name",
                String::new(),
            ),
            more => (
                "do not name all that they cover and contradict nothing that they do not name",
                format!(" and {more} others"),
            ),
        };
        finding.push_str(&format!("; checkpoint {number}{more} {noun}"));
    }
    json!({"check": "anchor", "finding": finding})
}

fn read(noun: &str, place: &str, bytes_max: usize) -> Outcome<Vec<u8>> {
    let read = document_bytes(noun, place, bytes_max, || {
        Refusal::new(
            codes::EVIDENCE_INVALID,
            format!("{place} has more than {bytes_max} bytes."),
            format!("No file with {noun} is that long."),
            "Check which file it is; split a file of checkpoints by lines.",
        )
    });
    Ok(read?)
}

/// The refusal: a line for each finding.
fn refused(place: &str, findings: &[Finding], out: Output) -> Failure {
    let mut lines: Vec<String> = findings.iter().take(FINDINGS_SHOWN).map(Finding::to_string).collect();
    if findings.len() > FINDINGS_SHOWN {
        lines.push(format!("and {} more, with --json", findings.len() - FINDINGS_SHOWN));
    }
    let refusal = Refusal::new(
        codes::EVIDENCE_INVALID,
        format!("The evidence does not stand up to the checkpoints in {place}."),
        lines.join("\n"),
        "Compare both with other copies: files and webhooks that were sent elsewhere. Keep all of them.",
    );
    if out.format != Format::Json {
        return refusal.into();
    }
    let mut answer = json!(refusal);
    answer["findings"] = json!(findings);
    match out.json(&answer) {
        Ok(()) => Failure::Told(codes::EXIT_REFUSED),
        Err(failure) => failure,
    }
}
