//! A refusal: what happened, why, and what to do next, the same on every surface.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::codes::{self, Code};

/// A call that was understood and not carried out. Match on `code`, never on the texts.
///
/// ```
/// use tenure_core::{Refusal, codes};
///
/// let refusal = Refusal::new(codes::JOB_NOT_FOUND, "There is no job 7.", "It was never enqueued.", "Check the id.");
/// assert_eq!(refusal.exit_code(), 4);
/// assert_eq!(refusal.to_string(), "job_not_found: There is no job 7.\n  why:  It was never enqueued.\n  next: Check the id.");
/// assert_eq!(serde_json::to_value(&refusal).unwrap()["refused"], true);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Refusal {
    /// The stable name. Text, so that a code of a newer schema still arrives.
    pub code: Cow<'static, str>,
    /// What happened.
    pub what: String,
    /// Why it happened.
    #[serde(default)]
    pub why: String,
    /// What to do now.
    #[serde(default)]
    pub next: String,
}

impl Refusal {
    /// A refusal with a code of the table.
    pub fn new(code: &Code, what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Self {
        Refusal {
            code: Cow::Borrowed(code.name),
            what: what.into(),
            why: why.into(),
            next: next.into(),
        }
    }

    /// The row of the table; none for a code that only a newer schema knows.
    pub fn known(&self) -> Option<&'static Code> {
        codes::by_name(&self.code)
    }

    /// Whether it carries exactly this code.
    ///
    /// ```
    /// use tenure_core::{codes, priority};
    ///
    /// assert!(priority::parse("urgnt").unwrap_err().is(codes::PRIORITY_UNKNOWN));
    /// ```
    pub fn is(&self, code: &Code) -> bool {
        self.code == code.name
    }

    /// The exit code of the command line; a code we do not know is an ordinary refusal.
    pub fn exit_code(&self) -> u8 {
        self.known().map_or(codes::EXIT_REFUSED, |code| code.exit)
    }

    /// The status of the HTTP answer; a code we do not know is a conflict.
    pub fn http_status(&self) -> u16 {
        self.known().map_or(409, |code| code.http)
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Refusal", 5)?;
        object.serialize_field("refused", &true)?;
        object.serialize_field("code", &self.code)?;
        object.serialize_field("what", &self.what)?;
        object.serialize_field("why", &self.why)?;
        object.serialize_field("next", &self.next)?;
        object.end()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}\n  why:  {}\n  next: {}",
            self.code, self.what, self.why, self.next
        )
    }
}

impl std::error::Error for Refusal {}
