//! Places, and whether there is work to be had for them.
//!
//! Kinds without a limit of their own share one group; each other kind has its own. A claim is made for one group, so
//! that it can never bring more of a kind than may run.

use std::time::{Duration, Instant};

use crate::store::jobs::{ClaimHint, ClaimedJob};

/// What came in out of order is seen by a look at the whole lane. There is one at least this often, ...
const WHOLE_LOOK_EVERY: Duration = Duration::from_secs(1);
/// ... unless that takes long, because what was taken cannot be cleaned up: then it may take one part in so many of the time.
const WHOLE_LOOK_PART: u32 = 20;

/// Whether a claim is worth it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Somebody should look.
    Asked,
    /// Somebody is looking.
    Probing,
    /// The last claim brought all it asked for: everybody may claim.
    Flowing,
    /// The last claim brought nothing.
    Dry,
}

/// Kinds that share their places.
pub(super) struct Group {
    pub(super) kinds: Vec<String>,
    /// Free places of its own; none: only the worker's as a whole count.
    pub(super) room: Option<usize>,
    /// Free places of its own that a claim needs: a batch is claimed when there is room for a whole one.
    room_min: usize,
    pub(super) flow: Flow,
    /// Counts what was said to be there; a look that began before does not count as having seen it.
    wakes: u64,
    lane_after: Option<i32>,
    hint: Option<ClaimHint>,
    whole_look_at: Instant,
    /// The last look began where a claim had ended, so something may lie before.
    owes_whole_look: bool,
}

/// A claim under way.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) group: usize,
    pub(super) limit: usize,
    pub(super) lane_after: Option<i32>,
    /// Begin here, and leave what lies before it to a look at the whole lane.
    pub(super) hint: Option<ClaimHint>,
    /// For the buffer instead of free places.
    pub(super) to_buffer: bool,
    wakes: u64,
    asked: Instant,
}

impl Group {
    pub(super) fn new(kinds: Vec<String>, room: Option<usize>, now: Instant) -> Group {
        Group {
            kinds,
            room,
            room_min: 1,
            flow: Flow::Asked,
            wakes: 0,
            lane_after: None,
            hint: None,
            whole_look_at: now,
            owes_whole_look: false,
        }
    }

    /// The same, which claims only when it has so much room of its own, or all it ever has.
    pub(super) fn claims_at_least(mut self, room_min: usize) -> Group {
        self.room_min = self.room.map_or(1, |room| room.min(room_min));
        self
    }

    /// Whether it has too little room of its own for a claim.
    pub(super) fn is_full(&self) -> bool {
        self.room.is_some_and(|room| room < self.room_min)
    }

    /// When to look at the whole lane, if nothing was found and that was not the whole.
    pub(super) fn whole_look_owed(&self) -> Option<Instant> {
        (self.owes_whole_look && self.flow == Flow::Dry).then_some(self.whole_look_at)
    }

    /// Looks at the whole lane if it is time.
    pub(super) fn look_whole(&mut self, now: Instant) {
        if self.whole_look_owed().is_some_and(|at| at <= now) {
            self.wake();
        }
    }

    /// There may be work.
    pub(super) fn wake(&mut self) {
        self.wakes += 1;
        if self.flow == Flow::Dry {
            self.flow = Flow::Asked;
        }
    }

    /// A claim of so many, of the group with this number.
    pub(super) fn ask(&mut self, group: usize, limit: usize, to_buffer: bool, now: Instant) -> Ask {
        if self.flow != Flow::Flowing {
            self.flow = Flow::Probing;
        }
        let hint = self.hint.filter(|_| now < self.whole_look_at);
        if hint.is_none() {
            // One of the loops looks; the others need not.
            self.whole_look_at = now + WHOLE_LOOK_EVERY;
        }
        self.owes_whole_look = hint.is_some();
        Ask {
            group,
            limit,
            lane_after: self.lane_after,
            hint,
            to_buffer,
            wakes: self.wakes,
            asked: now,
        }
    }

    /// The next claim is to look at the whole lane.
    pub(super) fn forget_hint(&mut self) {
        self.hint = None;
    }

    /// The claim brought this.
    pub(super) fn answered(&mut self, ask: &Ask, jobs: &[ClaimedJob], now: Instant) {
        if ask.hint.is_none() {
            let took = now.saturating_duration_since(ask.asked);
            self.whole_look_at = now + WHOLE_LOOK_EVERY.max(took * WHOLE_LOOK_PART);
        }
        let Some(last) = jobs.last() else {
            self.flow = if self.wakes == ask.wakes {
                Flow::Dry
            } else {
                Flow::Asked
            };
            return;
        };
        // A batch that is not full is probably all there was: one look more, not one by every loop.
        let full = jobs.len() >= ask.limit;
        self.flow = if full { Flow::Flowing } else { Flow::Asked };
        self.lane_after = Some(last.lane);
        self.hint = Some(ClaimHint {
            lane: last.lane,
            rank: last.rank,
            due: last.due,
            at: last.leased_at,
        });
    }

    /// The claim came to nothing: it has to be made again.
    pub(super) fn failed(&mut self) {
        self.flow = Flow::Asked;
        self.hint = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_during_a_look_is_looked_for_again() {
        let mut group = Group::new(vec!["a".to_owned()], None, Instant::now());
        let ask = group.ask(0, 10, false, Instant::now());
        assert_eq!(group.flow, Flow::Probing);
        group.wake();
        group.answered(&ask, &[], Instant::now());
        assert_eq!(group.flow, Flow::Asked);
        let ask = group.ask(0, 10, false, Instant::now());
        group.answered(&ask, &[], Instant::now());
        assert_eq!(group.flow, Flow::Dry);
        group.wake();
        assert_eq!(group.flow, Flow::Asked);
    }
    fn job(due: i64) -> ClaimedJob {
        serde_json::from_value(serde_json::json!({
            "job_id": uuid::Uuid::nil(), "token": uuid::Uuid::nil(), "lane": 1, "rank": 0, "due": format!("2026-01-01T00:00:{due:02}Z"),
            "kind": "a", "executor": "e", "state": "in_progress", "run": 1, "attempt": 1, "attempts_max": 1, "leased_at": "2026-01-01T00:00:00Z",
            "leased_until": "2026-01-01T00:01:00Z", "started_at": null, "run_until": null, "deadline_at": null, "payload": {},
            "payload_classification": "safe_metadata", "source_ref": null, "target_ref": null, "payload_ref": null, "idempotency_key": null,
            "affinity_key": null, "correlation_id": null, "parent_job_id": null, "workflow_id": null, "run_id": null, "enqueued_by": "me",
            "created_at": "2026-01-01T00:00:00Z",
        }))
        .expect("a job")
    }

    #[test]
    fn a_claim_begins_where_the_last_one_ended_until_the_whole_lane_is_due() {
        let start = Instant::now();
        let mut group = Group::new(vec!["a".to_owned()], None, start);
        let first = group.ask(0, 10, false, start);
        assert!(first.hint.is_none(), "nothing is known yet");
        group.answered(&first, &[job(7)], start);
        let second = group.ask(0, 10, false, start + WHOLE_LOOK_EVERY / 2);
        assert_eq!(second.hint.map(|hint| hint.due), Some(job(7).due));
        group.answered(&second, &[], start + WHOLE_LOOK_EVERY / 2);
        assert_eq!(group.flow, Flow::Dry);
        assert_eq!(
            group.whole_look_owed(),
            Some(start + WHOLE_LOOK_EVERY),
            "something may lie before"
        );
        group.look_whole(start + WHOLE_LOOK_EVERY / 2);
        assert_eq!(group.flow, Flow::Dry);
        group.look_whole(start + WHOLE_LOOK_EVERY);
        assert_eq!(group.flow, Flow::Asked);
        let whole = group.ask(0, 10, false, start + WHOLE_LOOK_EVERY);
        assert!(whole.hint.is_none(), "an empty answer keeps the hint, but not for ever");
        assert_eq!(group.whole_look_owed(), None);
        let other = group.ask(0, 10, false, start + WHOLE_LOOK_EVERY);
        assert!(other.hint.is_some(), "one loop looks at the whole lane, not every loop");

        // It took a second: there is much that cannot be cleaned up.
        group.answered(&whole, &[job(8)], start + WHOLE_LOOK_EVERY + Duration::from_secs(1));
        let later = start + WHOLE_LOOK_EVERY + Duration::from_secs(u64::from(WHOLE_LOOK_PART));
        assert!(group.ask(0, 10, false, later).hint.is_some());
        assert!(group.ask(0, 10, false, later + Duration::from_secs(1)).hint.is_none());
        group.forget_hint();
        assert!(group.ask(0, 10, false, later + Duration::from_secs(1)).hint.is_none());
    }
}
