//! Slots, and whether there is work to be had for them.
//!
//! Kinds without a limit of their own share one group; each other kind has its own. A claim is made for one group, so
//! that it can never bring more of a kind than may run.

use crate::store::jobs::{ClaimHint, ClaimedJob};

/// One claim in so many goes without a hint: what lies before it is seen then, if nothing else brings it up.
const HINTS_IN_A_ROW: u32 = 63;

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

/// Kinds that share their slots.
pub(super) struct Group {
    pub(super) kinds: Vec<String>,
    /// Free slots of its own; none: only the worker's as a whole count.
    pub(super) room: Option<usize>,
    pub(super) flow: Flow,
    /// Counts what was said to be there; a look that began before does not count as having seen it.
    wakes: u64,
    lane_after: Option<i32>,
    hint: Option<ClaimHint>,
    hinted: u32,
}

/// A claim under way.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) group: usize,
    pub(super) limit: usize,
    pub(super) lane_after: Option<i32>,
    pub(super) hint: Option<ClaimHint>,
    /// For the buffer instead of free slots.
    pub(super) to_buffer: bool,
    wakes: u64,
}

impl Group {
    pub(super) fn new(kinds: Vec<String>, room: Option<usize>) -> Group {
        Group {
            kinds,
            room,
            flow: Flow::Asked,
            wakes: 0,
            lane_after: None,
            hint: None,
            hinted: 0,
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
    pub(super) fn ask(&mut self, group: usize, limit: usize, to_buffer: bool) -> Ask {
        if self.flow != Flow::Flowing {
            self.flow = Flow::Probing;
        }
        let hint = self.hint.filter(|_| self.hinted < HINTS_IN_A_ROW);
        self.hinted = if hint.is_some() { self.hinted + 1 } else { 0 };
        Ask {
            group,
            limit,
            lane_after: self.lane_after,
            hint,
            to_buffer,
            wakes: self.wakes,
        }
    }

    /// The claim brought this.
    pub(super) fn answered(&mut self, ask: &Ask, jobs: &[ClaimedJob]) {
        let Some(last) = jobs.last() else {
            self.flow = if self.wakes == ask.wakes {
                Flow::Dry
            } else {
                Flow::Asked
            };
            self.hint = None;
            return;
        };
        // A batch that is not full is probably all there was: one look more, not one by every loop.
        let full = jobs.len() >= ask.limit;
        self.flow = if full { Flow::Flowing } else { Flow::Asked };
        self.lane_after = Some(last.lane);
        // Only a full batch says that there is nothing left before its end.
        self.hint = full.then_some(ClaimHint {
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
        let mut group = Group::new(vec!["a".to_owned()], None);
        let ask = group.ask(0, 10, false);
        assert_eq!(group.flow, Flow::Probing);
        group.wake();
        group.answered(&ask, &[]);
        assert_eq!(group.flow, Flow::Asked);
        let ask = group.ask(0, 10, false);
        group.answered(&ask, &[]);
        assert_eq!(group.flow, Flow::Dry);
        group.wake();
        assert_eq!(group.flow, Flow::Asked);
    }
}
