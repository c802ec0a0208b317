//! What the lines say.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::VERSION;
use super::finding::{Fault, Finding};
use super::lines::{Line, split};
use super::story::Story;
use super::unique::Unique;
use crate::json;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    #[serde(skip_serializing)]
    kind: String,
    #[serde(skip_serializing)]
    version: u64,
    /// Which execution it is about.
    pub execution_id: String,
    /// Whose execution it is.
    pub tenant: String,
    /// The hash of its plan.
    pub plan_hash: String,
    /// Its state.
    pub state: String,
    /// When the file was written, by the database's clock.
    pub exported_at: String,
    /// How many events it had.
    pub events: u64,
}

/// A line with what the database kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Its number.
    #[serde(skip)]
    pub line: usize,
    /// What it holds.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its number, from 1 on.
    pub seq: u64,
    /// When.
    pub at: String,
    /// What.
    pub kind: String,
    /// Who did it.
    #[serde(default)]
    pub actor: Option<String>,
    /// The step that it is about.
    #[serde(default)]
    pub step: Value,
    /// What there is to say about it.
    #[serde(default)]
    pub data: Value,
    /// The number of its line.
    #[serde(skip)]
    pub line: usize,
    /// The text that was hashed.
    #[serde(skip)]
    pub body: String,
    /// Its hash, in hexadecimal digits.
    #[serde(skip)]
    pub hash: String,
}

/// What a file says, whether it is true or not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// What it is about.
    pub head: Head,
    /// The canonical text of the plan.
    pub plan: String,
    /// The execution.
    pub execution: Record,
    /// Its steps.
    pub steps: Vec<Record>,
    /// The decisions that were asked for.
    pub approvals: Vec<Record>,
    /// Who decided.
    pub votes: Vec<Record>,
    /// The runs of the steps.
    pub attempts: Vec<Record>,
    /// What happened, in order.
    pub events: Vec<Event>,
}

impl Record {
    /// A field, if it is text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    /// The texts of a field that is a list; none if it is not.
    pub fn texts(&self, field: &str) -> impl Iterator<Item = &str> {
        let list = self.fields.get(field).and_then(|value| value.as_array());
        list.into_iter().flatten().filter_map(|value| value.as_str())
    }

    /// Whether a field says something.
    pub fn has(&self, field: &str) -> bool {
        self.fields.get(field).is_some_and(|value| !value.is_null())
    }
}

impl Evidence {
    /// What happened, by the plan and the events alone.
    pub fn story(&self) -> Story {
        super::fold::fold(self)
    }

    /// Reads a file without checking that it is true; what cannot be read is found by line.
    pub fn read(file: &[u8]) -> Result<Evidence, Vec<Finding>> {
        let lines = split(file);
        let signature = lines
            .last()
            .filter(|line| line.parse::<Kind>("").is_ok_and(|line| line.kind == "signature"));
        match read(&lines, signature.map(|line| line.number)) {
            (Some(evidence), findings) if findings.is_empty() => Ok(evidence),
            (_, findings) => Err(findings),
        }
    }
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanLine {
    #[serde(rename = "kind")]
    _kind: String,
    plan: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    #[serde(rename = "kind")]
    _kind: String,
    body: String,
    hash: String,
}

const HEAD: &str =
    "a line of kind evidence, version 2, with execution_id, tenant, plan_hash, state, exported_at and events alone";
const PLAN: &str = "a line of kind plan, with the text of the plan alone";
const EXECUTION: &str = "a line of kind execution";
const EVENT: &str = "an event with body and hash, and in the body seq, at, kind, actor, step and data alone";
const OBJECT: &str = "a JSON object with a kind";

/// Reads all lines but the one that signs. Without any of the first three there is no evidence to judge.
pub(super) fn read(lines: &[Line<'_>], signature: Option<usize>) -> (Option<Evidence>, Vec<Finding>) {
    // What is cut off, or stands behind the signature, was found already.
    let last = signature.unwrap_or(usize::MAX);
    let lines: Vec<&Line<'_>> = lines
        .iter()
        .filter(|line| line.number < last && line.is_whole)
        .collect();
    if let Some(finding) = lines.first().and_then(|line| unknown_version(line)) {
        return (None, vec![finding]);
    }
    let head: Head = match first(&lines, 0, "evidence", HEAD) {
        Ok(head) => head,
        // It is no evidence: further findings would not help.
        Err(finding) => return (None, vec![finding]),
    };
    let mut findings = Vec::new();
    let mut note = |finding| findings.push(finding);
    let plan = kept(first::<PlanLine>(&lines, 1, "plan", PLAN), &mut note);
    if let Some(Err(error)) = plan.as_ref().map(|plan| json::parse::<Unique>(&plan.plan)) {
        note(lines[1].malformed(&error, PLAN));
    }
    let execution = kept(first(&lines, 2, "execution", EXECUTION), &mut note);
    let mut rest = Rest::default();
    for line in lines.iter().skip(3) {
        if let Err(finding) = rest.take(line) {
            note(finding);
        }
    }
    let (Some(plan), Some(execution)) = (plan, execution) else {
        return (None, findings);
    };
    let evidence = Evidence {
        head,
        plan: plan.plan,
        execution: Record {
            line: 3,
            fields: execution,
        },
        steps: rest.steps,
        approvals: rest.approvals,
        votes: rest.votes,
        attempts: rest.attempts,
        events: rest.events,
    };
    (Some(evidence), findings)
}

fn kept<T>(read: Result<T, Finding>, note: &mut impl FnMut(Finding)) -> Option<T> {
    read.map_err(note).ok()
}

/// Only what says so itself is of another version.
fn unknown_version(line: &Line<'_>) -> Option<Finding> {
    let fields: Map<String, Value> = line.parse(HEAD).ok()?;
    let version = fields
        .get("version")
        .filter(|_| fields.get("kind") == Some(&Value::from("evidence")))?;
    if version.as_u64() == Some(VERSION) {
        return None;
    }
    let (what, expected) = match version.as_u64() {
        // Its rows do not follow from its events: there is nothing to check them against.
        Some(older) if older < VERSION => (
            format!("The file is of version {older}, whose rows do not follow from its events."),
            format!("version {VERSION}; a program from before version {VERSION} checks the older one"),
        ),
        _ => (
            format!("The file is of version {version}, which this program does not know."),
            format!("version {VERSION}; or a newer program"),
        ),
    };
    Some(Finding::new(line.number, Fault::VersionUnknown, what, expected))
}

/// One of the lines that every file begins with.
fn first<T: serde::de::DeserializeOwned>(
    lines: &[&Line<'_>],
    at: usize,
    kind: &str,
    expected: &str,
) -> Result<T, Finding> {
    let Some(line) = lines.get(at) else {
        let what = format!("There is no line of kind {kind}.");
        return Err(Finding::new(at + 1, Fault::Malformed, what, expected).of(kind, None));
    };
    let found: Kind = line.parse(expected)?;
    if found.kind != kind {
        let what = format!("This is a line of kind {:?}.", found.kind);
        return Err(Finding::new(line.number, Fault::Malformed, what, expected).of(kind, None));
    }
    line.parse::<Unique>(expected)?;
    line.parse(expected)
}

/// The lines behind the first three.
#[derive(Default)]
struct Rest {
    steps: Vec<Record>,
    approvals: Vec<Record>,
    votes: Vec<Record>,
    attempts: Vec<Record>,
    events: Vec<Event>,
}

impl Rest {
    fn take(&mut self, line: &Line<'_>) -> Result<(), Finding> {
        let found: Kind = line.parse(OBJECT)?;
        line.parse::<Unique>(OBJECT)?;
        let misplaced = |expected: &str| {
            let what = format!("A line of kind {:?} does not stand here.", found.kind);
            Err(Finding::new(line.number, Fault::Malformed, what, expected))
        };
        if found.kind == "event" {
            self.events.push(event(line)?);
            return Ok(());
        }
        if !self.events.is_empty() {
            return misplaced("only events and the signature behind the first event");
        }
        let has_later = [&self.approvals, &self.votes, &self.attempts].map(|rows| !rows.is_empty());
        let kind = match found.kind.as_str() {
            "step" => &mut self.steps,
            "approval" => &mut self.approvals,
            "vote" => &mut self.votes,
            "attempt" => &mut self.attempts,
            "evidence" | "plan" | "execution" | "signature" => return misplaced("one such line in a file"),
            // What is not known cannot be checked.
            _ => return misplaced("a step, approval, vote, attempt or event"),
        };
        let later = match found.kind.as_str() {
            "step" => 3,
            "approval" => 2,
            "vote" => 1,
            _ => 0,
        };
        if has_later.iter().rev().take(later).any(|has| *has) {
            return misplaced("steps, approvals, votes, attempts and events in this order");
        }
        kind.push(Record {
            line: line.number,
            fields: line.parse(OBJECT)?,
        });
        Ok(())
    }
}

fn event(line: &Line<'_>) -> Result<Event, Finding> {
    let EventLine { body, hash, .. } = line.parse(EVENT)?;
    json::parse::<Unique>(&body).map_err(|error| line.malformed(&error, EVENT))?;
    let event: Event = json::parse(&body).map_err(|error| line.malformed(&error, EVENT))?;
    Ok(Event {
        line: line.number,
        body,
        hash,
        ..event
    })
}
