//! Claims that wait for work. One connection hears of new work for all of them, and wakes one of those who ask for the
//! same: a thousand that ran for one job would be a thousand claims.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::pool::listen;
use tokio::sync::Notify;

/// The channel an enqueue notifies on, with the number of the lane.
const CHANNEL: &str = "tenure_lane";
/// One of those who wait for the same looks this often, whatever was heard: for what becomes due, and for what nobody told.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// More do not wait: they are answered at once.
const WAITERS_MAX: usize = 10_000;
/// How long to wait before listening again.
const LISTEN_AGAIN: Duration = Duration::from_secs(2);

/// All who wait.
#[derive(Default)]
pub(super) struct Waiting {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    tickets: VecDeque<Ticket>,
    next: u64,
    closed: bool,
}

struct Ticket {
    number: u64,
    group: String,
    lanes: Vec<i32>,
    woken: Arc<Notify>,
}

/// A place in the queue. Whoever leaves it without having looked lets the next one look.
pub(super) struct Place {
    waiting: Arc<Waiting>,
    number: u64,
    group: String,
    woken: Arc<Notify>,
    looked: bool,
}

impl Waiting {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits in line for these lanes, with all who ask for the same (`group`); none when the server is about to end, or
    /// too many wait already.
    pub(super) fn join(self: &Arc<Waiting>, group: String, lanes: Vec<i32>) -> Option<Place> {
        let mut queue = self.queue();
        if queue.closed || queue.tickets.len() >= WAITERS_MAX {
            return None;
        }
        let woken = Arc::new(Notify::new());
        let number = queue.next;
        queue.next += 1;
        queue.tickets.push_back(Ticket {
            number,
            group: group.clone(),
            lanes,
            woken: woken.clone(),
        });
        Some(Place {
            waiting: self.clone(),
            number,
            group,
            woken,
            looked: false,
        })
    }

    /// There is work in this lane: of those who wait for it one of each group looks.
    pub(super) fn wake(&self, lane: i32) {
        self.wake_one_of_each(|ticket| ticket.lanes.contains(&lane));
    }

    fn wake_one_of_each(&self, of: impl Fn(&Ticket) -> bool) {
        let mut seen = HashSet::new();
        self.queue().tickets.retain(|ticket| {
            let first = of(ticket) && seen.insert(ticket.group.clone());
            if first {
                ticket.woken.notify_one();
            }
            !first
        });
    }

    /// Nobody waits any more.
    pub(super) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        for ticket in queue.tickets.drain(..) {
            ticket.woken.notify_one();
        }
    }

    /// Hears of new work for as long as the server lives.
    pub(super) async fn hear(self: Arc<Waiting>, url: String) {
        let ticking = self.clone();
        let ticks = async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                ticking.wake_one_of_each(|_| true);
            }
        };
        let hearing = async {
            loop {
                match listen(&url, CHANNEL).await {
                    Ok(mut listener) => {
                        while let Some(told) = listener.next().await {
                            if let Ok(lane) = told.payload.parse() {
                                self.wake(lane);
                            }
                        }
                    }
                    Err(error) => tracing::warn!(code = error.code(), "new work is not heard of: {error}"),
                }
                tokio::time::sleep(LISTEN_AGAIN).await;
            }
        };
        tokio::join!(ticks, hearing);
    }
}

impl Place {
    /// Until it is worth looking.
    pub(super) async fn woken(mut self) {
        self.woken.notified().await;
        self.looked = true;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.looked {
            return;
        }
        let mut queue = self.waiting.queue();
        let before = queue.tickets.len();
        queue.tickets.retain(|ticket| ticket.number != self.number);
        let was_woken = queue.tickets.len() == before;
        drop(queue);
        if was_woken {
            self.waiting.wake_one_of_each(|ticket| ticket.group == self.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_woken(place: &Place) -> bool {
        !place
            .waiting
            .queue()
            .tickets
            .iter()
            .any(|ticket| ticket.number == place.number)
    }

    #[test]
    fn one_is_woken_at_a_time_and_who_leaves_lets_the_next_look() {
        let waiting = Arc::new(Waiting::default());
        let place = |group: &str, lanes: &[i32]| waiting.join(group.to_owned(), lanes.to_vec()).expect("it is open");
        let (first, second, other) = (place("a", &[1]), place("a", &[1]), place("b", &[3]));
        waiting.wake(1);
        assert!(is_woken(&first) && !is_woken(&second) && !is_woken(&other));
        drop(first);
        assert!(is_woken(&second) && !is_woken(&other));
        waiting.wake(7);
        assert!(!is_woken(&other));
        let (third, apart) = (place("b", &[3]), place("c", &[3]));
        waiting.wake(3);
        assert!(
            is_woken(&other) && !is_woken(&third) && is_woken(&apart),
            "one of each group"
        );
        waiting.close();
        assert!(is_woken(&third));
        assert!(waiting.join(String::new(), vec![1]).is_none());
    }
}
