//! Events as they happen. One look at the database serves all who follow the same tenant's stream; each of them has a
//! place of its own, and whoever reads slowly, or comes back late, is served from the database.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tenure::store::as_tenant;
use tenure::store::events::StreamEnd;
use tenure::{Pool, Result, operations};
use tenure_api::events::{Event, EventList};
use tokio::sync::watch;

/// How soon a stream is looked at again where something happened, ...
const LOOK_SOON: Duration = Duration::from_millis(100);
/// ... and at the latest.
const LOOK_LATE: Duration = Duration::from_secs(1);
/// Events of one look.
const PAGE: i32 = 100;
/// How much of a stream is kept for those who follow it: so many events ...
const RECENT_MAX: usize = 1000;
/// ... with about so many bytes.
const RECENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// So many follow at most.
pub(super) const FOLLOWERS_MAX: usize = 10_000;

/// A place in a stream, as it compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u32, u64, u64);

impl Place {
    fn of(cursor: &str) -> Option<Place> {
        let mut parts = cursor.split('.');
        let place = Place(
            parts.next()?.parse().ok()?,
            parts.next()?.parse().ok()?,
            parts.next()?.parse().ok()?,
        );
        parts.next().is_none().then_some(place)
    }
}

/// An event, and what is sent of it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) event: Event,
    pub(super) frame: String,
}

impl Told {
    pub(super) fn new(event: Event) -> Told {
        let data = serde_json::to_string(&event).unwrap_or_default();
        let frame = format!("id: {}\nevent: {}\ndata: {data}\n\n", event.cursor, event.kind);
        Told { event, frame }
    }
}

/// All streams that somebody follows.
pub(super) struct Live {
    streams: Mutex<HashMap<i32, Weak<Stream>>>,
    followers: AtomicUsize,
    ended: watch::Sender<bool>,
}

impl Default for Live {
    fn default() -> Live {
        Live {
            streams: Mutex::default(),
            followers: AtomicUsize::new(0),
            ended: watch::Sender::new(false),
        }
    }
}

/// The newest events of a tenant.
struct Stream {
    recent: Mutex<Recent>,
    news: watch::Sender<()>,
}

struct Recent {
    /// All after this are here.
    from: String,
    events: VecDeque<Arc<Told>>,
    bytes: usize,
}

/// Somebody's place in a stream.
pub(super) struct Follower {
    live: Arc<Live>,
    stream: Arc<Stream>,
    news: watch::Receiver<()>,
    ended: watch::Receiver<bool>,
    pub(super) cursor: String,
}

/// What there is for a follower.
pub(super) enum Next {
    /// These, in order.
    Events(Vec<Arc<Told>>),
    /// Its place lies before all that is kept here; once it has read to the end of the stream, it may go on from there.
    Earlier(String),
    /// Nothing yet.
    Nothing,
}

impl Live {
    /// Follows a tenant's stream from this cursor on; none when too many do.
    pub(super) fn follow(self: &Arc<Live>, pool: &Pool, end: StreamEnd, cursor: Option<String>) -> Option<Follower> {
        if self.followers.fetch_add(1, Ordering::Relaxed) >= FOLLOWERS_MAX || *self.ended.borrow() {
            self.followers.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let mut streams = lock(&self.streams);
        let known = streams.get(&end.tenant_id).and_then(Weak::upgrade);
        let cursor = cursor.unwrap_or_else(|| end.cursor.clone());
        let stream = known.unwrap_or_else(|| {
            let stream = Arc::new(Stream::new(end.cursor.clone()));
            streams.retain(|_, stream| stream.strong_count() > 0);
            streams.insert(end.tenant_id, Arc::downgrade(&stream));
            tokio::spawn(look(Arc::downgrade(&stream), pool.clone(), end.tenant));
            stream
        });
        Some(Follower {
            live: self.clone(),
            news: stream.news.subscribe(),
            ended: self.ended.subscribe(),
            stream,
            cursor,
        })
    }

    /// Nobody follows any more.
    pub(super) fn close(&self) {
        self.ended.send_replace(true);
    }
}

impl Stream {
    fn new(from: String) -> Stream {
        Stream {
            recent: Mutex::new(Recent {
                from,
                events: VecDeque::new(),
                bytes: 0,
            }),
            news: watch::Sender::new(()),
        }
    }

    fn end(&self) -> String {
        let recent = lock(&self.recent);
        recent
            .events
            .back()
            .map_or_else(|| recent.from.clone(), |told| told.event.cursor.clone())
    }

    fn add(&self, events: Vec<Event>) {
        let mut recent = lock(&self.recent);
        for event in events {
            let told = Told::new(event);
            recent.bytes += told.frame.len();
            recent.events.push_back(Arc::new(told));
        }
        while recent.events.len() > RECENT_MAX || (recent.bytes > RECENT_BYTES_MAX && recent.events.len() > 1) {
            let Some(oldest) = recent.events.pop_front() else { break };
            recent.bytes -= oldest.frame.len();
            recent.from = oldest.event.cursor.clone();
        }
        drop(recent);
        self.news.send_replace(());
    }

    fn after(&self, cursor: &str) -> Next {
        let recent = lock(&self.recent);
        let (place, from) = (Place::of(cursor), Place::of(&recent.from));
        if place < from {
            return Next::Earlier(recent.from.clone());
        }
        let first = recent
            .events
            .partition_point(|told| Place::of(&told.event.cursor) <= place);
        let events: Vec<_> = recent.events.range(first..).take(PAGE as usize).cloned().collect();
        if events.is_empty() {
            Next::Nothing
        } else {
            Next::Events(events)
        }
    }
}

impl Follower {
    /// What comes after its place. The place moves when it has been told.
    pub(super) fn next(&mut self) -> Next {
        // What is added from here on is news.
        self.news.mark_unchanged();
        self.stream.after(&self.cursor)
    }

    /// Until something happened; false when the server ends.
    pub(super) async fn news(&mut self) -> bool {
        if *self.ended.borrow_and_update() {
            return false;
        }
        tokio::select! {
            changed = self.news.changed() => changed.is_ok(),
            _ = self.ended.changed() => false,
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.live.followers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Looks at a stream for as long as somebody follows it.
async fn look(stream: Weak<Stream>, pool: Pool, tenant: String) {
    let (mut pause, mut failing) = (LOOK_SOON, false);
    loop {
        let Some(followed) = stream.upgrade() else { return };
        let found = page(&pool, &tenant, followed.end()).await;
        let failed_before = std::mem::replace(&mut failing, found.is_err());
        pause = match found {
            Ok(events) if events.is_empty() => (pause * 3 / 2).min(LOOK_LATE),
            Ok(events) => {
                let full = events.len() == PAGE as usize;
                followed.add(events);
                if full { Duration::ZERO } else { LOOK_SOON }
            }
            Err(error) => {
                // Told once, not at every look.
                if !failed_before {
                    tracing::warn!(code = error.code(), "the event stream cannot be read: {error}");
                }
                LOOK_LATE
            }
        };
        drop(followed);
        tokio::time::sleep(pause).await;
        pause = pause.max(LOOK_SOON);
    }
}

async fn page(pool: &Pool, tenant: &str, after: String) -> Result<Vec<Event>> {
    let mut connection = pool.get().await?;
    let transaction = connection.transaction().await?;
    as_tenant(&transaction, tenant, None).await?;
    let list = EventList {
        after: Some(after),
        limit: PAGE,
        ..EventList::default()
    };
    let page = operations::call(&transaction, &list).await?;
    transaction.commit().await?;
    Ok(page.items)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> Event {
        serde_json::from_value(serde_json::json!({
            "cursor": format!("1.{seq}.{seq}"), "at": "2026-01-01T00:00:00Z", "kind": "job.enqueued", "actor": "me", "on_behalf_of": null,
            "subject": null, "job_kind": null, "executor": null, "job_ids": null, "runs": null, "data": {}, "via": null,
        }))
        .expect("an event")
    }

    fn seen(next: Next) -> Vec<String> {
        match next {
            Next::Events(events) => events.iter().map(|told| told.event.cursor.clone()).collect(),
            Next::Earlier(from) => vec![format!("earlier than {from}")],
            Next::Nothing => Vec::new(),
        }
    }

    #[test]
    fn a_place_is_compared_by_its_numbers() {
        assert!(Place::of("1.9.9") < Place::of("1.10.1"));
        assert!(Place::of("1.10.1") < Place::of("2.1.1"));
        assert_eq!(Place::of("1.2"), None);
        assert_eq!(Place::of("1.2.3.4"), None);
    }

    #[test]
    fn each_reads_from_its_own_place() {
        let stream = Stream::new("1.5.0".to_owned());
        assert!(seen(stream.after("1.5.0")).is_empty());
        stream.add(vec![event(9), event(10), event(11)]);
        assert_eq!(seen(stream.after("1.5.0")), ["1.9.9", "1.10.10", "1.11.11"]);
        assert_eq!(seen(stream.after("1.10.10")), ["1.11.11"]);
        assert!(seen(stream.after("1.11.11")).is_empty());
        assert_eq!(seen(stream.after("1.4.4")), ["earlier than 1.5.0"]);
        assert_eq!(stream.end(), "1.11.11");
    }

    #[test]
    fn who_falls_behind_what_is_kept_is_told_so() {
        let stream = Stream::new("1.0.0".to_owned());
        stream.add((1..=RECENT_MAX as u64 + 5).map(event).collect());
        assert_eq!(seen(stream.after("1.4.4")), ["earlier than 1.5.5"]);
        assert_eq!(seen(stream.after("1.5.5")).len(), PAGE as usize);
    }
}
