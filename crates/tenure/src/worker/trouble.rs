//! When the database does not do what it was asked for.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use tenure_core::codes;

use crate::error::Error;

const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// What an error means for the one who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection is gone, or never was; what was asked may have been done.
    Connection,
    /// Nothing was done; the same may work in a moment.
    Busy,
    /// Nothing was done, and nothing will be until somebody opens the gate.
    Gate,
    /// The claim was made before; its answer was lost.
    TokenReused,
    /// Nothing was done, and something is wrong with what was asked.
    Other,
}

impl Trouble {
    pub(super) fn of(error: &Error) -> Trouble {
        let is = |code| error.is(code);
        if is(codes::DATABASE_UNREACHABLE) || is(codes::DATABASE_TLS) {
            Trouble::Connection
        } else if is(codes::BUSY_TRY_AGAIN) || is(codes::DISK_FULL) {
            Trouble::Busy
        } else if is(codes::GATE_CLOSED) {
            Trouble::Gate
        } else if is(codes::TOKEN_REUSED) {
            Trouble::TokenReused
        } else {
            Trouble::Other
        }
    }
}

/// Tells a trouble once, when it begins, and once when it is over; and how long to leave the database alone.
#[derive(Default)]
pub(super) struct Log {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    code: Option<String>,
    in_a_row: u32,
}

impl Log {
    /// It went wrong again, or for the first time.
    pub(super) fn trouble(&self, worker: &str, error: &Error) -> Duration {
        self.told(worker, error.code(), &error.to_string())
    }

    /// The same, of something that is no error by itself.
    pub(super) fn told(&self, worker: &str, code: &str, text: &str) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.code.as_deref() != Some(code) {
            tracing::warn!(worker, code, "{text}");
            state.code = Some(code.to_owned());
        }
        let delay = BACKOFF_MIN.saturating_mul(1 << state.in_a_row.min(10)).min(BACKOFF_MAX);
        state.in_a_row += 1;
        jittered(delay)
    }

    /// It works.
    pub(super) fn fine(&self, worker: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = state.code.take() {
            state.in_a_row = 0;
            tracing::info!(worker, code, "works again");
        }
    }
}

/// Up to a tenth more, at random, so that workers started together drift apart.
pub(super) fn jittered(duration: Duration) -> Duration {
    // A random UUID is randomness enough, and already here.
    let random = u32::from(uuid::Uuid::new_v4().as_bytes()[0]);
    duration.saturating_add(duration.saturating_mul(random) / 2560)
}

/// The error of a statement that nobody answers.
pub(super) fn unanswered(after: Duration) -> Error {
    Error::Refused(tenure_core::Refusal::new(
        codes::DATABASE_UNREACHABLE,
        "The database does not answer.",
        format!("A statement had no answer for {} seconds.", after.as_secs()),
        "Check the network and the server; the worker tries again by itself.",
    ))
}
