//! The last line: the digests of all others, and the signature over these.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use super::align::{Change, compare};
use super::finding::{Fault, Finding};
use super::keys::{PublicKey, SecretKey};
use super::lines::Line;

/// What the signed text begins with: a signature for anything else is none for this.
const SIGNED_START: &str = "tenure/evidence/v1";
const ALGORITHM: &str = "ed25519";

/// What is expected of the last line.
const LAST_LINE: &str = "the line of kind signature that ends a file, as it was written";

/// Its fields, in the order in which they are written.
#[derive(Debug, Serialize, Deserialize)]
struct Signature {
    kind: String,
    algorithm: String,
    key_id: String,
    public_key: String,
    digests: Vec<String>,
    signature: String,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

/// What the signature says about a file.
pub(super) struct Seal {
    /// The number of the line that signs, if there is one.
    pub(super) line: Option<usize>,
    /// Whether it is by the key that was given: then its digests are what was signed, and lines that differ are wrong.
    pub(super) is_genuine: bool,
    pub(super) findings: Vec<Finding>,
}

/// The line that signs these.
pub(super) fn write(lines: &[Line<'_>], key: &SecretKey) -> String {
    let public = key.public_key();
    let digests: Vec<String> = lines.iter().map(Line::digest).collect();
    Signature {
        kind: "signature".to_owned(),
        algorithm: ALGORITHM.to_owned(),
        key_id: public.id(),
        public_key: public.to_base64(),
        signature: BASE64_STANDARD.encode(key.sign(&signed(&digests))),
        digests,
    }
    .line()
}

/// Checks signature and digests.
pub(super) fn check(lines: &[Line<'_>], key: &PublicKey) -> Seal {
    let mut findings = cut(lines);
    let found = lines.iter().rev().find(|line| says_signature(line));
    if is_converted(lines) {
        // One cause, and not a finding for every line.
        let what = "This line and all others end with a carriage return: the file was converted on its way.";
        let expected = "lines that end with a line feed alone";
        findings.insert(0, Finding::new(1, Fault::Tampered, what, expected));
        return Seal {
            line: found.map(|line| line.number),
            is_genuine: false,
            findings,
        };
    }
    let Some(line) = found else {
        if findings.is_empty() {
            findings.push(unsigned(lines));
        }
        return Seal {
            line: None,
            is_genuine: false,
            findings,
        };
    };
    let signature = match line.parse::<Signature>(LAST_LINE) {
        Ok(signature) => signature,
        Err(finding) => {
            // Of a line that is cut off it was said why it cannot be read.
            findings.extend(line.is_whole.then_some(finding));
            return Seal {
                line: Some(line.number),
                is_genuine: false,
                findings,
            };
        }
    };
    let wrong = signature.check(line, key);
    let is_genuine = wrong.is_empty();
    findings.extend(wrong);
    findings.extend(differences(&signature.digests, lines, line.number, is_genuine));
    findings.sort_by_key(|finding| finding.line);
    Seal {
        line: Some(line.number),
        is_genuine,
        findings,
    }
}

fn is_converted(lines: &[Line<'_>]) -> bool {
    let mut whole = lines.iter().filter(|line| line.is_whole).peekable();
    whole.peek().is_some() && whole.all(|line| line.bytes.ends_with(b"\r"))
}

/// A last line without an end was longer once, or had another behind it.
fn cut(lines: &[Line<'_>]) -> Vec<Finding> {
    let expected = "a line break at the end of every line, the last included";
    match lines.last() {
        None => vec![Finding::new(1, Fault::Truncated, "The file is empty.", LAST_LINE)],
        Some(line) if !line.is_whole => {
            let what = "The file is cut off in this line.";
            vec![Finding::new(line.number, Fault::Truncated, what, expected)]
        }
        Some(_) => Vec::new(),
    }
}

fn unsigned(lines: &[Line<'_>]) -> Finding {
    let last = lines.len();
    match lines.last().map(|line| line.parse::<Kind>(LAST_LINE)) {
        Some(Err(finding)) => finding,
        _ => Finding::new(
            last,
            Fault::Truncated,
            "The file ends here, without a signature.",
            LAST_LINE,
        ),
    }
}

/// Whether it is meant as one, even if not all of it can be read.
fn says_signature(line: &Line<'_>) -> bool {
    line.bytes.starts_with(br#"{"kind":"signature""#)
        || line.parse::<Kind>(LAST_LINE).is_ok_and(|line| line.kind == "signature")
}

impl Signature {
    fn line(&self) -> String {
        // Text and lists of text: nothing that cannot be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn check(&self, line: &Line<'_>, key: &PublicKey) -> Vec<Finding> {
        let wrong = |fault, what: String, expected: String| vec![Finding::new(line.number, fault, what, expected)];
        // It cannot sign itself, so there is one way to write it: nothing hides in white space, escapes or further fields.
        if self.line().as_bytes() != line.bytes {
            let what = "The signature is not written as signatures are.".to_owned();
            return wrong(Fault::Malformed, what, LAST_LINE.to_owned());
        }
        if self.algorithm != ALGORITHM {
            let what = format!("The signature is made by {:?}.", self.algorithm);
            return wrong(Fault::SignatureWrong, what, ALGORITHM.to_owned());
        }
        let id = key.id();
        if self.key_id != id || self.public_key != key.to_base64() {
            let what = format!("It is signed with the key {:?}.", self.key_id);
            let what = if self.key_id == id {
                format!("It names the key {id}, and holds another.")
            } else {
                what
            };
            return wrong(Fault::OtherKey, what, format!("the key {id}, which was given"));
        }
        let signature = BASE64_STANDARD.decode(&self.signature).unwrap_or_default();
        if !key.verifies(&signed(&self.digests), &signature) {
            let what = "The signature does not belong to these digests.".to_owned();
            return wrong(
                Fault::SignatureWrong,
                what,
                format!("a signature of them by the key {id}"),
            );
        }
        Vec::new()
    }
}

/// Lines that are not those of the digests.
///
/// Where the signature is not genuine, nobody knows which of the two was changed.
fn differences(digests: &[String], lines: &[Line<'_>], signature: usize, is_genuine: bool) -> Vec<Finding> {
    let changed = match is_genuine {
        true => "It was changed".to_owned(),
        false => format!("It is not the one of the digest in line {signature}"),
    };
    let (before, after) = lines.split_at(signature - 1);
    let found: Vec<String> = before.iter().map(Line::digest).collect();
    // Of equal lines the first counts.
    let numbered = digests.iter().enumerate().rev();
    let places: BTreeMap<&String, usize> = numbered.map(|(place, digest)| (digest, place)).collect();
    let finding = |change: Change| match change {
        Change::Tampered { signed, found: at } => {
            let what = match signed == at {
                true => format!("{changed}: its SHA-256 is {}.", found[at]),
                false => format!("{changed}: it was line {}, its SHA-256 is {}.", signed + 1, found[at]),
            };
            Finding::new(at + 1, Fault::Tampered, what, digests[signed].clone())
        }
        Change::Missing { signed } => {
            let what = "The line that was signed here is missing.";
            let expected = format!("a line with the SHA-256 {}", digests[signed]);
            Finding::new(signed + 1, Fault::Missing, what, expected)
        }
        Change::Added { found: at } => {
            let what = match places.get(&found[at]) {
                Some(place) => format!("It was added: the same as line {} of what was signed.", place + 1),
                None => "It was added: nobody has signed it.".to_owned(),
            };
            Finding::new(at + 1, Fault::Added, what, "only lines that were signed")
        }
        Change::Moved { signed, found: at } => {
            let what = format!("It was moved here: it was line {}.", signed + 1);
            Finding::new(
                at + 1,
                Fault::Moved,
                what,
                "the lines in the order in which they were signed",
            )
        }
    };
    let changes = compare(digests, &found).into_iter().map(finding);
    let behind = after.iter().skip(1).map(|line| {
        let what = "It was added behind the signature.";
        Finding::new(line.number, Fault::Added, what, "the end of the file")
    });
    changes.chain(behind).collect()
}

fn signed(digests: &[String]) -> Vec<u8> {
    let digests = digests.iter().flat_map(|digest| ["\n", digest]);
    [SIGNED_START]
        .into_iter()
        .chain(digests)
        .collect::<String>()
        .into_bytes()
}
