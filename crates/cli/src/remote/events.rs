//! What happened, and how it is.

use tenure::store::events::EventFilter;

use super::Request;

pub(crate) fn event_list(filter: &EventFilter) -> Request {
    Request::get(&["events"])
        .with("after", filter.after.as_deref())
        .with("limit", filter.limit)
        .with("kind", filter.kind.as_deref())
        .with("subject", filter.subject.as_deref())
        .part("/events")
}

pub(crate) fn health() -> Request {
    Request::get(&["health"])
}

/// What time it is by the database's clock.
pub(crate) fn now() -> Request {
    Request::get(&["now"]).part("/now")
}
