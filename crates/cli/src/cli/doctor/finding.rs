//! What the doctor found.

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// It works, and somebody should look.
    Warn,
    /// It does not work as promised.
    Fail,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was checked, in one word.
    pub(super) check: &'static str,
    pub(super) verdict: Verdict,
    /// What was found.
    pub(super) what: String,
    /// What to do about it.
    pub(super) next: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Finding {
        Finding {
            check,
            verdict: Verdict::Ok,
            what: what.into(),
            next: None,
        }
    }

    pub(super) fn warn(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding {
            check,
            verdict: Verdict::Warn,
            what: what.into(),
            next: Some(next.into()),
        }
    }

    pub(super) fn fail(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding {
            check,
            verdict: Verdict::Fail,
            what: what.into(),
            next: Some(next.into()),
        }
    }
}
