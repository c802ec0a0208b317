//! Checkpoints and proofs.

use tenure::store::anchors::AnchorQuery;
use uuid::Uuid;

use super::Request;

pub(crate) fn anchor_list(query: &AnchorQuery) -> Request {
    Request::get(&["anchors"])
        .with("after", query.after)
        .with("limit", query.limit)
        .with("heads", query.heads.then_some(true))
        .with("newest", query.newest.then_some(true))
        .part("/anchors")
}

pub(crate) fn anchor_show(number: i64) -> Request {
    Request::get(&["anchors", &number.to_string()])
}

pub(crate) fn anchor_proof(execution_id: Uuid, number: Option<i64>) -> Request {
    Request::get(&["executions", &execution_id.to_string(), "proof"]).with("number", number)
}
