//! How long a request may ask to wait: one name and one limit for all operations.

use std::time::{Duration, Instant};

use tenure_api::request::WAIT_SECONDS_MAX;
use tenure_core::codes;

use super::problem::Problem;

/// Until when a request waits that asks for this many seconds; now, if it does not ask to wait.
pub(super) fn until(wait_seconds: Option<u64>) -> Result<Instant, Problem> {
    let seconds = wait_seconds.unwrap_or(0);
    if seconds > WAIT_SECONDS_MAX {
        return Err(Problem::new(
            codes::NUMBER_OUT_OF_RANGE,
            format!("wait_seconds is {seconds}; the maximum is {WAIT_SECONDS_MAX}."),
            "A proxy in between may cut a connection that is silent for longer.",
            "Ask for less and call again.",
        ));
    }
    Ok(Instant::now() + Duration::from_secs(seconds))
}
