//! Services, the loops that act without a caller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// A service, and whether any process runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Service {
    /// Its name.
    pub service: String,
    /// Whether it completed a run lately.
    pub is_running: bool,
    /// When it last completed a run; null if it never did.
    pub last_run_at: Option<Timestamp>,
    /// The number of processes that run it.
    pub instances: i64,
    /// The versions of these processes.
    pub versions: Vec<String>,
    /// The versions of the time zone data that they compute with.
    pub zones: Vec<String>,
    /// What does not happen while it does not run.
    pub effect: String,
}
