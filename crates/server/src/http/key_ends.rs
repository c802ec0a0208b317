//! Keys that end while they are in use. A stream of events and a long poll outlast the check of their key, so the keys
//! behind them are watched: a revocation is notified on a channel, and one look a second finds what was not heard, and
//! keys whose time is over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tenure::store::principals::keys_ended;
use tenure::{Pool, Result};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

/// The channel that a revocation notifies on.
pub(super) const CHANNEL: &str = "tenure_key";
/// How often it is looked, while a key is watched.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The keys that streams and long polls use.
#[derive(Default)]
pub(super) struct KeyEnds {
    watched: Mutex<HashMap<Uuid, Weak<watch::Sender<bool>>>>,
    /// There is a reason to look now.
    look: Notify,
    /// A key is watched.
    busy: Notify,
}

/// Watches one key for as long as this lives.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    // The last one of a key takes it off the list.
    _sender: Arc<watch::Sender<bool>>,
    ended: watch::Receiver<bool>,
}

impl Watched {
    /// Whether the key has ended.
    pub(super) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Ready when the key has ended.
    pub(super) async fn ended(&mut self) {
        // It cannot fail: the sender is held here.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}

impl KeyEnds {
    fn watched(&self) -> MutexGuard<'_, HashMap<Uuid, Weak<watch::Sender<bool>>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a key. The caller checks it once more after this: an end before that is not reported.
    pub(super) fn watch(&self, key_id: Uuid) -> Watched {
        let mut watched = self.watched();
        let sender = watched.get(&key_id).and_then(Weak::upgrade).unwrap_or_else(|| {
            let sender = Arc::new(watch::Sender::new(false));
            watched.insert(key_id, Arc::downgrade(&sender));
            sender
        });
        drop(watched);
        self.busy.notify_one();
        Watched {
            ended: sender.subscribe(),
            _sender: sender,
        }
    }

    /// Something was said about a key. It is only a hint: what holds is what the database says.
    pub(super) fn hint(&self) {
        self.look.notify_one();
    }

    /// Looks for ended keys while any is watched, for as long as the server lives.
    pub(super) async fn look(self: Arc<KeyEnds>, pool: Pool) {
        let mut failing = false;
        loop {
            let keys = {
                let mut watched = self.watched();
                watched.retain(|_, sender| sender.strong_count() > 0);
                watched.keys().copied().collect::<Vec<_>>()
            };
            if keys.is_empty() {
                self.busy.notified().await;
                continue;
            }
            match ended(&pool, &keys).await {
                Ok(ended) => {
                    failing = false;
                    self.end(&ended);
                }
                // Logged once, not at every look.
                Err(error) if !failing => {
                    failing = true;
                    tracing::warn!(code = error.code(), "keys that end are not seen: {error}");
                }
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = self.look.notified() => {}
            }
        }
    }

    fn end(&self, keys: &[Uuid]) {
        let watched = self.watched();
        for sender in keys.iter().filter_map(|key| watched.get(key)?.upgrade()) {
            sender.send_replace(true);
        }
    }
}

async fn ended(pool: &Pool, keys: &[Uuid]) -> Result<Vec<Uuid>> {
    keys_ended(&*pool.get().await?, keys).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_ended_key_is_reported_to_all_who_watch_it_and_to_no_other() {
        let ends = KeyEnds::default();
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let (mut first, mut second, third) = (ends.watch(one), ends.watch(one), ends.watch(other));
        ends.end(&[one]);
        first.ended().await;
        second.ended().await;
        assert!(!third.has_ended());
        drop((first, second));
        assert!(ends.watched()[&one].upgrade().is_none(), "it is not watched any more");
    }
}
