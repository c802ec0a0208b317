//! Evidence.

use uuid::Uuid;

use super::Request;

/// The answer is the whole file.
pub(crate) fn execution_evidence(execution_id: Uuid) -> Request {
    Request::get(&["executions", &execution_id.to_string(), "evidence"])
}
