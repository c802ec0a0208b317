//! Being idle and hearing of new work. A park is good for one notification: who is awake is not woken again.
//!
//! An enqueue looks for parks just before it commits. One that looked too early, and commits after our own look for work,
//! tells nobody. So a park remembers which transactions were open when it began to stand, and looks again as they end.

use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long the database notifies us after a park.
pub(super) const PARK_SECONDS: i32 = 60;
/// A park is renewed after this time.
const PARK_AGAIN: Duration = Duration::from_secs(PARK_SECONDS as u64 / 2);
/// A park that does not stand on all our lanes is tried again after this time.
const PARK_REST: Duration = Duration::from_secs(1);
/// Open transactions are asked after first in this time, then in ever longer ones, ...
const ASK_AFTER: Duration = Duration::from_millis(2);
/// ... up to this: some stay open for hours and have nothing to do with us.
const ASK_AFTER_MAX: Duration = Duration::from_secs(1);

/// Whether, and where, we are told of new work.
#[derive(Default)]
pub(super) struct Parking {
    /// Somebody hears notifications.
    listening: bool,
    /// Until when a park stands well.
    until: Option<Instant>,
    /// A park is on the wire; how many notifications had been heard before.
    under_way: Option<u64>,
    heard: u64,
    /// All lanes we ever parked on.
    lanes: HashSet<i32>,
    open: Option<Open>,
}

/// Transactions that may have enqueued without telling us.
struct Open {
    ids: Vec<u64>,
    ask_at: Instant,
    delay: Duration,
    /// Somebody is asking after them.
    asking: bool,
}

impl Parking {
    /// Notifications are heard from now on.
    pub(super) fn listen(&mut self) {
        self.listening = true;
    }

    /// Nobody will tell us; a new listener has to park anew.
    pub(super) fn close(&mut self) {
        self.listening = false;
        self.until = None;
        self.open = None;
    }

    /// Whether it is time to park, for a worker that is idle.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.listening && self.under_way.is_none() && self.until.is_none_or(|until| until <= now)
    }

    /// Whether a park stands.
    pub(super) fn is_parked(&self) -> bool {
        self.until.is_some()
    }

    /// A park goes out.
    pub(super) fn begin(&mut self) {
        self.under_way = Some(self.heard);
    }

    /// It stands: whatever is begun from now on is told, unless it was told before we knew the lanes. These transactions
    /// were open just after. A lane that is missing has a row in use: somebody enqueues there for the first time, or
    /// has not committed yet what will wake us.
    pub(super) fn stands(&mut self, lanes: Vec<i32>, open: Vec<u64>, now: Instant) {
        let unheard = self.under_way.take() == Some(self.heard);
        let parked: HashSet<i32> = lanes.into_iter().collect();
        let all = self.lanes.is_subset(&parked);
        self.until = unheard.then(|| now + if all { PARK_AGAIN } else { PARK_REST });
        self.lanes.extend(parked);
        self.open = (unheard && !open.is_empty()).then(|| Open {
            ids: open,
            ask_at: now + ASK_AFTER,
            delay: ASK_AFTER,
            asking: false,
        });
    }

    /// It failed.
    pub(super) fn failed(&mut self) {
        self.under_way = None;
    }

    /// There is work in this lane. Says whether it is one of ours.
    pub(super) fn hear(&mut self, lane: i32) -> bool {
        self.heard += 1;
        let ours = self.lanes.contains(&lane);
        if ours {
            self.until = None;
            self.open = None;
        }
        ours
    }

    /// Whether to ask now which transactions are still open. Who is told so asks.
    pub(super) fn ask(&mut self, now: Instant) -> bool {
        match &mut self.open {
            Some(open) if !open.asking && open.ask_at <= now => {
                open.asking = true;
                true
            }
            _ => false,
        }
    }

    /// Learns which are open. Says whether one of those that matter has ended, and so may have brought something.
    pub(super) fn answered(&mut self, is_open: impl Fn(u64) -> bool, now: Instant) -> bool {
        let Some(open) = &mut self.open else { return false };
        let before = open.ids.len();
        open.ids.retain(|id| is_open(*id));
        let ended = open.ids.len() < before;
        if open.ids.is_empty() {
            self.open = None;
        } else {
            open.again(now);
        }
        ended
    }

    /// Nobody knows which are open.
    pub(super) fn unanswered(&mut self, now: Instant) {
        if let Some(open) = &mut self.open {
            open.again(now);
        }
    }

    /// When an idle worker has something to do about it.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let ask_at = self.open.as_ref().filter(|open| !open.asking).map(|open| open.ask_at);
        let park_at = (self.listening && self.under_way.is_none()).then(|| self.until.unwrap_or(now));
        ask_at.into_iter().chain(park_at).min()
    }
}

impl Open {
    fn again(&mut self, now: Instant) {
        self.asking = false;
        self.delay = (self.delay * 2).min(ASK_AFTER_MAX);
        self.ask_at = now + self.delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parked(open: Vec<u64>, now: Instant) -> Parking {
        let mut parking = Parking::default();
        parking.listen();
        assert!(parking.is_due(now));
        parking.begin();
        assert!(!parking.is_due(now), "it is on the wire");
        parking.stands(vec![7], open, now);
        parking
    }

    #[test]
    fn a_park_is_good_for_one_notification_of_its_lanes_and_for_some_time() {
        let now = Instant::now();
        let mut parking = parked(Vec::new(), now);
        assert!(!parking.is_due(now));
        assert!(!parking.hear(8), "not ours");
        assert!(!parking.is_due(now));
        assert!(parking.is_due(now + PARK_AGAIN));
        assert!(parking.hear(7));
        assert!(parking.is_due(now));
    }

    #[test]
    fn a_park_that_misses_a_lane_is_tried_again_soon() {
        let now = Instant::now();
        let mut parking = parked(Vec::new(), now);
        parking.begin();
        parking.stands(Vec::new(), Vec::new(), now);
        assert!(!parking.is_due(now));
        assert!(parking.is_due(now + PARK_REST));
        assert!(parking.hear(7), "it is ours all the same");
    }

    #[test]
    fn what_is_heard_while_a_park_is_on_the_wire_may_have_used_it_up() {
        let now = Instant::now();
        let mut parking = Parking::default();
        parking.listen();
        parking.begin();
        assert!(!parking.hear(7), "the lanes are not known yet");
        parking.stands(vec![7], vec![1], now);
        assert!(parking.is_due(now));
        assert!(!parking.ask(now + ASK_AFTER_MAX), "the next park knows better");
    }

    #[test]
    fn transactions_that_were_open_are_asked_after_until_they_have_ended() {
        let now = Instant::now();
        let mut parking = parked(vec![1, 2], now);
        assert_eq!(parking.next(now), Some(now + ASK_AFTER));
        assert!(!parking.ask(now));
        let later = now + ASK_AFTER;
        assert!(parking.ask(later));
        assert!(!parking.ask(later), "one asks");
        assert!(!parking.answered(|_| true, later), "nothing has ended");
        assert!(!parking.ask(later + ASK_AFTER), "ever less often");
        assert!(parking.ask(later + ASK_AFTER * 2));
        assert!(parking.answered(|id| id == 2, later));
        let much_later = later + ASK_AFTER_MAX;
        assert!(parking.ask(much_later));
        assert!(parking.answered(|_| false, much_later));
        assert!(!parking.ask(much_later + ASK_AFTER_MAX), "all have ended");
    }
}
