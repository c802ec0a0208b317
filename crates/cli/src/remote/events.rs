//! What happened, and how it is.

use tenure::store::events::EventFilter;

use super::Request;

pub(crate) fn event_list(filter: &EventFilter) -> Request {
    let EventFilter {
        after,
        limit,
        kind,
        subject,
        newest,
    } = filter;
    Request::get(&["events"])
        .with("after", after.as_ref())
        .with("limit", limit.as_ref())
        .with("kind", kind.as_ref())
        .with("subject", subject.as_ref())
        .with("newest", newest.then_some("true"))
        .part("/events")
}

pub(crate) fn health() -> Request {
    Request::get(&["health"])
}

/// What time it is by the database's clock.
pub(crate) fn now() -> Request {
    Request::get(&["now"]).part("/now")
}
