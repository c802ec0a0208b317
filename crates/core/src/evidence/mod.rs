//! Evidence: the whole story of one execution in one signed file, which anybody can check without a database.
//!
//! A file is JSON Lines: UTF-8, each line one object with a `kind`, each ended by `\n`.
//!
//! | line | kind | holds |
//! |---|---|---|
//! | 1 | `evidence` | version 2, execution, tenant, plan hash, state, when it was written, how many events |
//! | 2 | `plan` | the canonical text that was approved, as a string; its SHA-256 is the plan hash |
//! | 3 | `execution` | the execution as it was |
//! | … | `step`, `approval`, `vote`, `attempt` | what became of it, and who allowed it |
//! | … | `event` | `body`, the text that was hashed, and `hash`: SHA-256 of the hash before and the body |
//! | last | `signature` | the SHA-256 of each line before it, and an Ed25519 signature over these digests |
//!
//! The first event hangs on the SHA-256 of `tenure/execution/` and the execution's id. What is signed is `tenure/evidence/v1`
//! and the digests, each on a line of its own. So a file that does not verify tells which line is not the one that was signed.
//!
//! The events are chained; every other line states nothing that does not follow from them and the plan. [`Evidence::story`]
//! folds them into a [`Story`], and verifying compares each field of each line with it.
//!
//! [`sign`] makes a file of the lines before the last, [`verify`] checks one, [`Evidence::read`] only reads it.
//!
//! ```
//! use tenure_core::evidence::{Evidence, Fault, SecretKey, sign, verify};
//!
//! # let text = include_str!("../../testdata/evidence/rejected.jsonl");
//! let key = SecretKey::from_seed(&[7; 32]);
//! let lines: Vec<&str> = text.lines().collect();
//! let file = sign(&lines, &key);
//! let verified = verify(file.as_bytes(), &key.public_key()).unwrap();
//! assert_eq!(verified.evidence.head.state, "rejected");
//!
//! let tampered = file.replace("\"rejected\"", "\"approved\"");
//! let findings = verify(tampered.as_bytes(), &key.public_key()).unwrap_err();
//! assert_eq!((findings[0].line, findings[0].fault), (1, Fault::Tampered));
//! ```

mod align;
mod chain;
mod data;
mod decisions;
mod finding;
mod fold;
mod fold_steps;
mod keys;
mod lines;
mod read;
mod rows;
mod seal;
mod story;
mod time;
mod unique;

use serde::Serialize;
use sha2::{Digest, Sha256};

pub use finding::{Fault, Finding};
pub use keys::{KEY_BYTES, KeyError, PublicKey, SecretKey};
pub use read::{Event, Evidence, Head, Record};
pub use story::{Approval, Attempt, Execution, Step, Story, Vote};
pub(crate) use unique::Unique;

/// The form of files that this program writes, and the only one it reads.
pub const VERSION: u64 = 2;
/// Bytes of a file at the most: a plan of a thousand steps that were all tried often has a fraction of that.
pub const BYTES_MAX: usize = 256 * 1024 * 1024;

/// A file that is what was signed, and whose story holds together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verified {
    /// The key that signed it.
    pub key_id: String,
    /// Its lines, the signature included.
    pub lines: usize,
    /// What it says.
    #[serde(skip)]
    pub evidence: Evidence,
}

/// The whole file: these lines, and the one that signs them.
///
/// A line is one without a line break; what is broken counts as several.
pub fn sign<S: AsRef<str>>(lines: &[S], key: &SecretKey) -> String {
    let mut file = String::new();
    for line in lines {
        file.push_str(line.as_ref());
        file.push('\n');
    }
    let signature = seal::write(&lines::split(file.as_bytes()), key);
    file.push_str(&signature);
    file.push('\n');
    file
}

/// Checks a file, with the public key of whoever is said to have signed it. What is wrong is found by line.
///
/// Where the signature holds and lines are not those that were signed, that is all that is told: what such lines say is not
/// worth a look. Where it does not hold, hashes and chain may still show where the file was changed.
pub fn verify(file: &[u8], key: &PublicKey) -> Result<Verified, Vec<Finding>> {
    let lines = lines::split(file);
    let seal = seal::check(&lines, key);
    if lines.is_empty() || seal.is_genuine && !seal.findings.is_empty() {
        return Err(seal.findings);
    }
    let (evidence, mut findings) = read::read(&lines, seal.line);
    if findings.iter().any(|finding| finding.fault == Fault::VersionUnknown) {
        // Whatever else looks wrong may be right in that version.
        findings.retain(|finding| finding.fault == Fault::VersionUnknown);
        return Err(findings);
    }
    let told = evidence.as_ref().map(check).unwrap_or_default();
    findings.extend(told);
    findings.extend(seal.findings);
    findings.sort_by_key(|finding| finding.line);
    match evidence {
        Some(evidence) if findings.is_empty() => Ok(Verified {
            key_id: key.id(),
            lines: lines.len(),
            evidence,
        }),
        _ => Err(findings),
    }
}

/// Chain and plan first; then that every line follows from them, and that what they tell was allowed.
fn check(evidence: &Evidence) -> Vec<Finding> {
    let story = evidence.story();
    let mut findings = chain::check(evidence, &story);
    if !story.has_record {
        let line = evidence.events.first().map_or(1, |event| event.line);
        let what = "The first event does not say who asked under which terms.";
        let expected = "an event execution_submitted with a record, as version 2 has it";
        findings.push(Finding::new(line, Fault::EventMissing, what, expected));
        return findings;
    }
    findings.extend(rows::compare(evidence, &story));
    findings.extend(decisions::check(evidence, &story));
    findings
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
