//! Reads and checks a file of checkpoints: one a line, as the server writes them or as a webhook received them.

use serde::Deserialize;

use super::chain::Chain;
use super::checkpoint::{Checkpoint, Proof, VERSION};
use super::finding::{Fault, Finding};
use crate::evidence::{PublicKey, Unique};
use crate::json;

const CHECKPOINT: &str =
    "a checkpoint of version 1, or the body of an evidence.anchored event, as one JSON object a line";
const PROOF: &str = "a proof of version 1, as the command `evidence proof` writes it";

/// The body of a webhook: the event is within.
#[derive(Deserialize)]
struct Delivered {
    data: Event,
}

#[derive(Deserialize)]
struct Event {
    data: Checkpoint,
}

/// Checks a file of checkpoints with the public keys that may have signed them: every signature, every tree whose leaves are
/// named, and that each follows the one before. It may begin at any number. A checkpoint that comes once more counts once.
pub fn check(file: &[u8], keys: &[PublicKey]) -> Result<Chain, Vec<Finding>> {
    let (mut chain, mut findings) = (Chain::default(), Vec::new());
    for (number, piece) in (1..).zip(file.split_inclusive(|byte| *byte == b'\n')) {
        let finding = |fault, what: String, expected: &str| Finding {
            checkpoint: None,
            line: number,
            fault,
            what,
            expected: expected.to_owned(),
        };
        let Some(line) = piece.strip_suffix(b"\n") else {
            let what = "The file is cut off in this line.".to_owned();
            findings.push(finding(Fault::Truncated, what, "a line break at the end of every line"));
            continue;
        };
        let checkpoint = match parse(line) {
            Ok(checkpoint) => checkpoint,
            Err(why) => {
                findings.push(finding(Fault::Malformed, format!("Cannot be read: {why}."), CHECKPOINT));
                continue;
            }
        };
        findings.extend(wrong(&checkpoint, number, keys));
        match follows(&chain, &checkpoint) {
            Follows::Next => chain.push(number, checkpoint),
            Follows::Repeated => findings.extend(chain.merge(checkpoint).and_then(|merged| leaves(merged, number))),
            Follows::Not(fault, what, expected) => {
                findings.push(Finding {
                    checkpoint: Some(checkpoint.number),
                    line: number,
                    fault,
                    what,
                    expected,
                });
                chain.push(number, checkpoint);
            }
        }
    }
    match findings.is_empty() {
        true => Ok(chain),
        false => Err(findings),
    }
}

fn parse(line: &[u8]) -> Result<Checkpoint, String> {
    json::parse_bytes::<Unique>(line).map_err(|error| error.to_string())?;
    let error = match json::parse_bytes::<Checkpoint>(line) {
        Ok(checkpoint) => return Ok(checkpoint),
        Err(error) => error,
    };
    match json::parse_bytes::<Delivered>(line) {
        Ok(delivered) => Ok(delivered.data.data),
        Err(_) => Err(error.to_string()),
    }
}

/// What is wrong with one checkpoint by itself.
fn wrong(checkpoint: &Checkpoint, line: usize, keys: &[PublicKey]) -> Option<Finding> {
    let number = checkpoint.number;
    let finding = |fault, what: String, expected: String| {
        Some(Finding {
            checkpoint: Some(number),
            line,
            fault,
            what,
            expected,
        })
    };
    if checkpoint.kind != "checkpoint" || checkpoint.version != VERSION {
        let what = format!("This is a {:?} of version {}.", checkpoint.kind, checkpoint.version);
        return finding(Fault::VersionUnknown, what, CHECKPOINT.to_owned());
    }
    let Some(key) = keys.iter().find(|key| key.id() == checkpoint.key_id) else {
        let what = format!("Checkpoint {number} is signed with the key {:?}.", checkpoint.key_id);
        let given: Vec<String> = keys.iter().map(PublicKey::id).collect();
        return finding(
            Fault::OtherKey,
            what,
            format!("one of the keys given: {}", given.join(", ")),
        );
    };
    if !checkpoint.is_signed_by(key) {
        let what = format!("The signature of checkpoint {number} does not belong to it.");
        return finding(
            Fault::SignatureWrong,
            what,
            format!("a signature by the key {}", key.id()),
        );
    }
    if checkpoint.public_key != key.to_base64() {
        let what = format!("Checkpoint {number} names the key {}, and holds another.", key.id());
        return finding(Fault::OtherKey, what, key.to_base64());
    }
    leaves(checkpoint, line)
}

/// Whether a checkpoint names leaves that are not those of its tree.
fn leaves(checkpoint: &Checkpoint, line: usize) -> Option<Finding> {
    let number = checkpoint.number;
    let finding = |what: String, expected: String| Finding {
        checkpoint: Some(number),
        line,
        fault: Fault::RootWrong,
        what,
        expected,
    };
    let (named, leaf_count) = (checkpoint.named(), checkpoint.leaf_count);
    if named > leaf_count {
        let what = format!("Checkpoint {number} names {named} leaves.");
        return Some(finding(what, format!("at most its {leaf_count}")));
    }
    if !checkpoint.has_all_heads() {
        return None;
    }
    let root = checkpoint.root_of_heads();
    let what = format!("The leaves of checkpoint {number} lead to the root {root}.");
    (root != checkpoint.root).then(|| finding(what, checkpoint.root.clone()))
}

enum Follows {
    Next,
    /// One that is there already: webhooks deliver at least once, and some late.
    Repeated,
    Not(Fault, String, String),
}

fn follows(chain: &Chain, checkpoint: &Checkpoint) -> Follows {
    let Some(last) = chain.last() else { return Follows::Next };
    let number = checkpoint.number;
    if checkpoint.installation != last.installation {
        let what = format!(
            "Checkpoint {number} is of the installation {}.",
            checkpoint.installation
        );
        return Follows::Not(Fault::OtherInstallation, what, last.installation.clone());
    }
    if let Some(known) = chain.known(number) {
        let (hash, found) = (known.hash(), checkpoint.hash());
        if hash == found {
            return Follows::Repeated;
        }
        let what = format!("There is another checkpoint {number}, with the hash {hash}; this one has {found}.");
        return Follows::Not(Fault::ChainBroken, what, "one checkpoint of each number".to_owned());
    }
    if last.number.checked_add(1) != Some(number) {
        let what = format!("Checkpoint {number} follows checkpoint {}.", last.number);
        let expected = format!("checkpoint {}", last.number.saturating_add(1));
        return Follows::Not(Fault::ChainBroken, what, expected);
    }
    if checkpoint.previous != last.hash() {
        let what = format!("Checkpoint {number} follows one with the hash {}.", checkpoint.previous);
        return Follows::Not(Fault::ChainBroken, what, last.hash());
    }
    Follows::Next
}

/// Reads a proof, without checking where it leads.
pub fn read_proof(file: &[u8]) -> Result<Proof, Vec<Finding>> {
    let wrong = |fault, what: String| {
        vec![Finding {
            checkpoint: None,
            line: 0,
            fault,
            what,
            expected: PROOF.to_owned(),
        }]
    };
    let proof: Proof = json::parse_bytes::<Unique>(file)
        .and_then(|_| json::parse_bytes(file))
        .map_err(|error| wrong(Fault::Malformed, format!("The proof cannot be read: {error}.")))?;
    if proof.kind != "proof" || proof.version != VERSION {
        let what = format!("The proof is a {:?} of version {}.", proof.kind, proof.version);
        return Err(wrong(Fault::VersionUnknown, what));
    }
    Ok(proof)
}
