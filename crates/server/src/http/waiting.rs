//! Claims that wait for work. One connection hears of new work for all of them, and wakes one of those who ask for the
//! same: a thousand that ran for one job would be a thousand claims.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::Result;
use tenure::pool::{Listener, listen};
use tokio::sync::Notify;

use super::key_ends::{self, KeyEnds};

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
    /// How many of each group were woken and have not looked yet.
    looking: HashMap<String, usize>,
    next: u64,
    closed: bool,
}

struct Ticket {
    number: u64,
    group: String,
    lanes: Vec<i32>,
    woken: Arc<Notify>,
}

/// One who was woken, until it has looked.
pub(super) struct Looking {
    waiting: Arc<Waiting>,
    group: String,
}

/// A place in the queue. One who leaves it without having looked lets the next one look.
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

    /// There are this many jobs in this lane: as many of those who wait for it look, and at least one of each group.
    pub(super) fn wake(&self, lane: i32, jobs: usize) {
        self.wake_some(|ticket| ticket.lanes.contains(&lane), jobs);
    }

    /// How many wait for this lane, without the groups of which some are looking: these go on when they have looked.
    pub(super) fn idle(&self, lane: i32) -> usize {
        let queue = self.queue();
        let idle = |ticket: &&Ticket| ticket.lanes.contains(&lane) && !queue.looking.contains_key(&ticket.group);
        queue.tickets.iter().filter(idle).count()
    }

    /// Wakes as many of these, and at least one of each group.
    fn wake_some(&self, of: impl Fn(&Ticket) -> bool, most: usize) {
        let (mut seen, mut woken) = (HashSet::new(), 0);
        let mut queue = self.queue();
        let Queue { tickets, looking, .. } = &mut *queue;
        tickets.retain(|ticket| {
            let wakes = of(ticket) && (seen.insert(ticket.group.clone()) || woken < most);
            if wakes {
                woken += 1;
                *looking.entry(ticket.group.clone()).or_default() += 1;
                ticket.woken.notify_one();
            }
            !wakes
        });
    }

    fn wake_one_of_each(&self, of: impl Fn(&Ticket) -> bool) {
        self.wake_some(of, 1);
    }

    /// Nobody waits any more.
    pub(super) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        for ticket in queue.tickets.drain(..) {
            ticket.woken.notify_one();
        }
    }

    /// Hears of new work, and of keys that were revoked, for as long as the server lives.
    pub(super) async fn hear(self: Arc<Waiting>, url: String, key_ends: Arc<KeyEnds>) {
        let ticking = self.clone();
        let ticks = async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                ticking.wake_one_of_each(|_| true);
            }
        };
        let hearing = async {
            loop {
                match heard_from(&url).await {
                    Ok(mut listener) => {
                        // What was said while nothing was heard is looked for.
                        key_ends.hint();
                        while let Some(heard) = listener.next().await {
                            if heard.channel == key_ends::CHANNEL {
                                key_ends.hint();
                            } else if let Ok(lane) = heard.payload.parse() {
                                self.wake(lane, 1);
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

async fn heard_from(url: &str) -> Result<Listener> {
    let listener = listen(url, CHANNEL).await?;
    listener.hear(key_ends::CHANNEL).await?;
    Ok(listener)
}

impl Place {
    /// Until it is worth looking.
    pub(super) async fn woken(mut self) -> Looking {
        self.woken.notified().await;
        self.looked = true;
        Looking {
            waiting: self.waiting.clone(),
            group: self.group.clone(),
        }
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        let mut queue = self.waiting.queue();
        if let Some(looking) = queue.looking.get_mut(&self.group) {
            *looking -= 1;
            if *looking == 0 {
                queue.looking.remove(&self.group);
            }
        }
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
            drop(Looking {
                waiting: self.waiting.clone(),
                group: self.group.clone(),
            });
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
        waiting.wake(1, 1);
        assert!(is_woken(&first) && !is_woken(&second) && !is_woken(&other));
        drop(first);
        assert!(is_woken(&second) && !is_woken(&other));
        waiting.wake(7, 1);
        assert!(!is_woken(&other));
        let (third, apart) = (place("b", &[3]), place("c", &[3]));
        waiting.wake(3, 1);
        assert!(
            is_woken(&other) && !is_woken(&third) && is_woken(&apart),
            "one of each group"
        );
        waiting.close();
        assert!(is_woken(&third));
        assert!(waiting.join(String::new(), vec![1]).is_none());
    }

    /// Two rounds for five hundred: the first who finds a job wakes as many as there are jobs left, and only the last of these
    /// asks again.
    #[tokio::test]
    async fn as_many_are_woken_as_there_are_jobs() {
        let waiting = Arc::new(Waiting::default());
        let places: VecDeque<Place> = (0..600)
            .map(|_| waiting.join("a".to_owned(), vec![1]).expect("it is open"))
            .collect();
        let (mut jobs, mut rounds, mut looks) = (500, 0, 0);
        let mut woken = places;
        let mut next = 1;
        while next > 0 {
            waiting.wake(1, next);
            rounds += 1;
            let idle = woken.split_off(next);
            let mut looking = VecDeque::new();
            for place in woken {
                assert!(is_woken(&place));
                looking.push_back(place.woken().await);
            }
            woken = idle;
            assert!(woken.iter().all(|place| !is_woken(place)));
            next = 0;
            while let Some(one) = looking.pop_front() {
                looks += 1;
                drop(one);
                if jobs > 0 {
                    jobs -= 1;
                    let idle = waiting.idle(1);
                    assert_eq!(idle > 0, looking.is_empty(), "only the last of a round asks");
                    next = if idle > 0 { jobs.min(idle).max(1) } else { 0 };
                }
            }
        }
        assert_eq!(
            (jobs, rounds, looks),
            (0, 3, 501),
            "one more than there are jobs finds nothing"
        );
    }
}
