//! What is wrong with a file of evidence, and where.

use std::fmt;

use serde::Serialize;

/// What kind of wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The line is not the one that was signed.
    Tampered,
    /// A line that was signed is not there.
    Missing,
    /// The line was not signed.
    Added,
    /// The line was signed at another place.
    Moved,
    /// The file ends before its end.
    Truncated,
    /// It cannot be read.
    Malformed,
    /// It is of a version that this program does not know.
    VersionUnknown,
    /// It is signed with another key than the one given.
    OtherKey,
    /// The signature does not belong to these digests and this key.
    SignatureWrong,
    /// The plan is not the one of the hash.
    PlanHashWrong,
    /// The hash of an event does not follow from the one before.
    ChainBroken,
    /// An event is missing, or too many are there.
    EventMissing,
    /// A decision was about another plan.
    OtherPlan,
    /// It ran without an approval that was used up for it.
    Unapproved,
    /// A requester decided about their own plan.
    SelfApproved,
    /// The state is not what the events say.
    StateOther,
    /// Two lines say different things.
    Contradiction,
    /// A field of a row is not what the events say.
    RowDiffers,
    /// The events tell of a row that the file does not have.
    RowMissing,
    /// No event tells of the row.
    RowUnknown,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line, counted from 1; that of a missing one is where it was when it was signed.
    pub line: usize,
    /// What kind of wrong.
    pub fault: Fault,
    /// What is wrong.
    pub what: String,
    /// What should be there instead.
    pub expected: String,
    /// The row that it is about, such as `step "restart"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The field of that row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Finding {
    pub(super) fn new(line: usize, fault: Fault, what: impl Into<String>, expected: impl Into<String>) -> Finding {
        Finding {
            line,
            fault,
            what: what.into(),
            expected: expected.into(),
            row: None,
            field: None,
        }
    }

    /// Names the row, and the field of it.
    pub(super) fn of(mut self, row: &str, field: Option<&str>) -> Finding {
        self.row = Some(row.to_owned());
        self.field = field.map(str::to_owned);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} Expected: {}.", self.line, self.what, self.expected)
    }
}
