//! Checkpoints that were checked, and an execution among them.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::checkpoint::{Checkpoint, Head, Proof, hex};
use super::finding::{Fault, Finding};
use crate::evidence::Evidence;

/// Checkpoints in their order, each with its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    checkpoints: Vec<(usize, Checkpoint)>,
    /// The place of each number.
    places: BTreeMap<u64, usize>,
}

/// Which part of an execution's history a checkpoint covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// The checkpoint.
    pub checkpoint: u64,
    /// When it was made.
    pub at: String,
    /// How many events it covers.
    pub chain_length: u64,
    /// How many there are in the file.
    pub events: u64,
    /// When the last of those that it covers happened.
    pub event_at: String,
    /// How many checkpoints name this execution with the history of the file.
    pub agreeing: usize,
    /// The checkpoint that covers more events than the file has, made after the file was written, and how many.
    pub longer: Option<(u64, u64)>,
    /// Checkpoints that do not name all that they cover: they contradict nothing that they do not name.
    pub incomplete: Vec<u64>,
    /// The first and the last checkpoint of the file.
    pub range: (u64, u64),
}

impl Chain {
    pub(super) fn push(&mut self, line: usize, checkpoint: Checkpoint) {
        self.places.insert(checkpoint.number, self.checkpoints.len());
        self.checkpoints.push((line, checkpoint));
    }

    /// The checkpoint of this number.
    pub(super) fn known(&self, number: u64) -> Option<&Checkpoint> {
        let place = *self.places.get(&number)?;
        self.checkpoints.get(place).map(|(_, checkpoint)| checkpoint)
    }

    /// Takes over what a repetition of a checkpoint names, and answers what it names then.
    pub(super) fn merge(&mut self, copy: Checkpoint) -> Option<&Checkpoint> {
        let place = *self.places.get(&copy.number)?;
        let (_, checkpoint) = self.checkpoints.get_mut(place)?;
        checkpoint.merge(copy);
        Some(checkpoint)
    }

    pub(super) fn last(&self) -> Option<&Checkpoint> {
        self.checkpoints.last().map(|(_, checkpoint)| checkpoint)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.checkpoints.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.checkpoints.is_empty()
    }

    /// Finds an execution among the checkpoints. Every checkpoint that names it must agree with the file of evidence, and one
    /// that names all its leaves, or the proof, must cover it.
    pub fn covered(&self, history: &History<'_>, proof: Option<&Proof>) -> Result<Covered, Vec<Finding>> {
        let story = Story::of(history);
        let (mut findings, mut found): (Vec<Finding>, Vec<(&Checkpoint, u64)>) = Default::default();
        let mut named = self.named(story.execution_id);
        let (mut agreeing, mut longer) = (0, None);
        for (line, checkpoint, head) in &named {
            match story.compare(head, checkpoint, *line) {
                Ok(true) => {
                    agreeing += 1;
                    if checkpoint.has_all_heads() {
                        found.push((checkpoint, head.chain_length));
                    }
                }
                Ok(false) => longer = longer.max(Some((head.chain_length, checkpoint.number))),
                Err(finding) => findings.push(finding),
            }
        }
        let proved = proof.map(|proof| (proof.head(), self.proved(&story, proof)));
        match &proved {
            Some((head, Ok((line, checkpoint)))) => {
                agreeing = agreeing.max(1);
                found.push((checkpoint, head.chain_length));
                named.push((*line, checkpoint, head));
            }
            Some((_, Err(finding))) => findings.push(finding.clone()),
            None => {}
        }
        findings.extend(shorter(named));
        // What covers most; of equals the earliest.
        let best = found.iter().rev().max_by_key(|(_, length)| *length);
        match best {
            Some((checkpoint, length)) if findings.is_empty() => Ok(Covered {
                checkpoint: checkpoint.number,
                at: checkpoint.at.clone(),
                chain_length: *length,
                events: story.hashes.len() as u64,
                event_at: story.time(*length),
                agreeing,
                longer: longer.map(|(length, number)| (number, length)),
                incomplete: self.incomplete(),
                range: self.range(),
            }),
            _ => {
                if findings.is_empty() {
                    findings.push(self.not_anchored(&story));
                }
                Err(findings)
            }
        }
    }

    /// The heads of an execution, each with its checkpoint and the line of that.
    fn named(&self, execution_id: &str) -> Vec<(usize, &Checkpoint, &Head)> {
        let mut named = Vec::new();
        for (line, checkpoint) in &self.checkpoints {
            let heads = checkpoint.heads.iter().flatten();
            let own = heads.filter(|head| head.execution_id == execution_id);
            named.extend(own.map(|head| (*line, checkpoint, head)));
        }
        named
    }

    fn incomplete(&self) -> Vec<u64> {
        let all = self.checkpoints.iter().map(|(_, checkpoint)| checkpoint);
        let some = all.filter(|checkpoint| checkpoint.named() != checkpoint.leaf_count);
        some.map(|checkpoint| checkpoint.number).collect()
    }

    fn range(&self) -> (u64, u64) {
        let number = |entry: Option<&(usize, Checkpoint)>| entry.map_or(0, |(_, checkpoint)| checkpoint.number);
        (number(self.checkpoints.first()), number(self.checkpoints.last()))
    }

    fn not_anchored(&self, story: &Story<'_>) -> Finding {
        let (first, last) = self.range();
        Finding {
            checkpoint: None,
            line: 0,
            fault: Fault::NotAnchored,
            what: match self.is_empty() {
                true => "The file has no checkpoint.".to_owned(),
                false => format!(
                    "None of the checkpoints {first} to {last} covers execution {}.",
                    story.execution_id
                ),
            },
            expected: "a checkpoint that names it with all its leaves, or a proof (--proof)".to_owned(),
        }
    }

    /// The checkpoint of the file that the proof leads to, with its line.
    fn proved(&self, story: &Story<'_>, proof: &Proof) -> Result<(usize, &Checkpoint), Finding> {
        let number = proof.checkpoint.number;
        let wrong = |line, fault, what: String, expected: String| Finding {
            checkpoint: Some(number),
            line,
            fault,
            what,
            expected,
        };
        if proof.execution_id != story.execution_id {
            let what = format!("The proof is of execution {}.", proof.execution_id);
            return Err(wrong(0, Fault::ProofWrong, what, story.execution_id.to_owned()));
        }
        let Some((line, checkpoint)) = self.checkpoints.iter().find(|(_, it)| it.number == number) else {
            let (first, last) = self.range();
            let what = format!("The proof is by checkpoint {number}, which is not in the file.");
            let expected = format!("a proof by one of the checkpoints {first} to {last}");
            return Err(wrong(0, Fault::CheckpointMissing, what, expected));
        };
        let root = proof.root(checkpoint.leaf_count);
        if root.as_deref() != Some(checkpoint.root.as_str()) {
            let led = root.unwrap_or_else(|| "none".to_owned());
            let what = format!("The proof leads to the root {led}, and not to that of checkpoint {number}.");
            return Err(wrong(*line, Fault::ProofWrong, what, checkpoint.root.clone()));
        }
        match story.compare(&proof.head(), checkpoint, *line)? {
            true => Ok((*line, checkpoint)),
            false => {
                let what = format!("The proof covers {} events.", proof.chain_length);
                let expected = format!("at most the {} events of this earlier export", story.hashes.len());
                Err(wrong(*line, Fault::EventsMissing, what, expected))
            }
        }
    }
}

/// What a file of evidence says happened to an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History<'a> {
    /// The tenant's name.
    pub tenant: &'a str,
    /// The execution.
    pub execution_id: &'a str,
    /// When the file was written.
    pub exported_at: &'a str,
    /// Whether it may be an older export: then checkpoints from after `exported_at` may cover more events.
    pub is_older: bool,
    /// Its events in their order: when each happened, and the text that was hashed.
    pub events: Vec<(&'a str, &'a str)>,
}

impl<'a> From<&'a Evidence> for History<'a> {
    fn from(evidence: &'a Evidence) -> History<'a> {
        let events = evidence.events.iter();
        History {
            tenant: &evidence.head.tenant,
            execution_id: &evidence.head.execution_id,
            exported_at: &evidence.head.exported_at,
            is_older: false,
            events: events.map(|event| (event.at.as_str(), event.body.as_str())).collect(),
        }
    }
}

/// A history, hashed anew.
struct Story<'a> {
    tenant: &'a str,
    execution_id: &'a str,
    exported_at: &'a str,
    is_older: bool,
    /// When each event happened.
    times: Vec<&'a str>,
    /// The hash of the chain after each event.
    hashes: Vec<String>,
}

impl<'a> Story<'a> {
    fn of(history: &History<'a>) -> Story<'a> {
        let mut hash = Sha256::digest(format!("tenure/execution/{}", history.execution_id));
        let mut hashes = Vec::with_capacity(history.events.len());
        for (_, body) in &history.events {
            hash = Sha256::new().chain_update(hash).chain_update(body).finalize();
            hashes.push(hex(&hash));
        }
        Story {
            tenant: history.tenant,
            execution_id: history.execution_id,
            exported_at: history.exported_at,
            is_older: history.is_older,
            times: history.events.iter().map(|(at, _)| *at).collect(),
            hashes,
        }
    }

    /// When the event happened that is the last of so many.
    fn time(&self, chain_length: u64) -> String {
        let place = usize::try_from(chain_length)
            .ok()
            .and_then(|length| length.checked_sub(1));
        let at = place.and_then(|place| self.times.get(place));
        at.map(|at| (*at).to_owned()).unwrap_or_default()
    }

    /// Whether the head is one that this history had; false if it is longer and the file may be an older export.
    fn compare(&self, head: &Head, checkpoint: &Checkpoint, line: usize) -> Result<bool, Finding> {
        let Head { chain_length, .. } = head;
        let (number, at) = (checkpoint.number, &checkpoint.at);
        let wrong = |fault, what: String, expected: String| Finding {
            checkpoint: Some(number),
            line,
            fault,
            what,
            expected,
        };
        let place = usize::try_from(*chain_length).unwrap_or(usize::MAX);
        let found = place.checked_sub(1).and_then(|place| self.hashes.get(place));
        let Some(found) = found else {
            let is_earlier = is_before(self.exported_at, at);
            if is_earlier && self.is_older {
                return Ok(false);
            }
            let what = format!(
                "Checkpoint {number} of {at} covers {chain_length} events of execution {}, and the file of evidence has {}.",
                self.execution_id,
                self.hashes.len()
            );
            let expected = format!("at least {chain_length} events");
            return Err(match is_earlier {
                true => wrong(Fault::OlderExport, what, format!("{expected}: ask for a newer export")),
                false => wrong(Fault::EventsMissing, what, expected),
            });
        };
        if *found != head.chain_hash || self.tenant != head.tenant {
            let what = format!(
                "Checkpoint {number} of {at} covers another history of execution {} of the tenant {}: its first \
                 {chain_length} events have the chain hash {} there, and {found} in the file of evidence.",
                self.execution_id, head.tenant, head.chain_hash
            );
            let expected = format!("the history that was anchored, with the chain hash {}", head.chain_hash);
            return Err(wrong(Fault::AnchorDiffers, what, expected));
        }
        Ok(true)
    }
}

/// Chains only grow: a head with fewer events than one in a checkpoint before it is of another history.
fn shorter(mut named: Vec<(usize, &Checkpoint, &Head)>) -> Vec<Finding> {
    named.sort_by_key(|(_, checkpoint, head)| (checkpoint.number, std::cmp::Reverse(head.chain_length)));
    let (mut findings, mut longest): (Vec<Finding>, Option<(u64, u64)>) = Default::default();
    for (line, checkpoint, head) in named {
        let (number, length) = (checkpoint.number, head.chain_length);
        match longest {
            Some((most, earlier)) if most > length => findings.push(Finding {
                checkpoint: Some(number),
                line,
                fault: Fault::AnchorDiffers,
                what: format!(
                    "Checkpoint {number} of {} covers {length} events of execution {}, and checkpoint {earlier} before it {most}: \
                     the execution was rewritten in the database.",
                    checkpoint.at, head.execution_id
                ),
                expected: format!("at least the {most} events of checkpoint {earlier}"),
            }),
            _ => longest = Some((length, number)),
        }
    }
    findings
}

/// Whether the first time is before the second; what is no time is not.
fn is_before(first: &str, second: &str) -> bool {
    match (first.parse::<jiff::Timestamp>(), second.parse::<jiff::Timestamp>()) {
        (Ok(first), Ok(second)) => first < second,
        _ => false,
    }
}
