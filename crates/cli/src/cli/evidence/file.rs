//! A file of evidence and the key to check it with, as the command line names them.

use serde_json::json;
use tenure_core::evidence::{BYTES_MAX, Finding, KeyError, PublicKey};
use tenure_core::{Refusal, codes};

use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Format, Output};
use crate::values::{document, document_bytes};

/// Bytes of a file with a public key at the most.
const KEY_BYTES_MAX: usize = 64 * 1024;
/// Findings that people are shown; programs have them all.
const FINDINGS_SHOWN: usize = 50;

/// The bytes of the file: what is no UTF-8 is for the check to tell, by its line.
pub(super) fn bytes(place: &str) -> Outcome<Vec<u8>> {
    let read = document_bytes("evidence", place, BYTES_MAX, || {
        Refusal::new(
            codes::EVIDENCE_INVALID,
            format!("{} has more than {BYTES_MAX} bytes.", named(place)),
            "No file of evidence is that long.",
            "Check which file it is.",
        )
    });
    Ok(read?)
}

/// A public key, or the file that holds one.
pub(super) fn public_key(given: &str) -> Outcome<PublicKey> {
    let unusable = |error: KeyError| {
        refuse(
            codes::USAGE,
            "The public key cannot be used.",
            error.to_string(),
            "Give the key as `tenure evidence key list` shows it, or a file that holds it.",
        )
    };
    match PublicKey::parse(given) {
        Ok(key) => Ok(key),
        // It is not a key, so it is the name of a file.
        Err(KeyError::NoPublicKey) => {
            let too_large = || {
                Refusal::new(
                    codes::USAGE,
                    "The public key cannot be used.",
                    format!("{given} has more than {KEY_BYTES_MAX} bytes, and holds more than a key."),
                    "Name the file with the key.",
                )
            };
            let text = document("public key", given, KEY_BYTES_MAX, too_large)?;
            PublicKey::parse(&text).map_err(unusable)
        }
        Err(error) => Err(unusable(error)),
    }
}

/// How the file is called in a sentence.
pub(super) fn named(place: &str) -> &str {
    if place == "-" { "The evidence" } else { place }
}

/// The refusal of a file: a line for each finding.
pub(super) fn refused(place: &str, findings: &[Finding], out: Output) -> Failure {
    let count = match findings.len() {
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let mut lines: Vec<String> = findings.iter().take(FINDINGS_SHOWN).map(Finding::to_string).collect();
    if findings.len() > FINDINGS_SHOWN {
        lines.push(format!("and {} more, with --json", findings.len() - FINDINGS_SHOWN));
    }
    let refusal = Refusal::new(
        codes::EVIDENCE_INVALID,
        format!("{} does not verify: {count}.", named(place)),
        lines.join("\n"),
        "Get it again from where it was written, and keep both if that does not verify either.",
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
