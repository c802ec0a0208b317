//! Which batch was committed when, so that a handler knows how long its job has waited since.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::percentiles::{Durations, Percentiles};

/// Batches on their way at the same time are far fewer; a power of two, and small enough for six hexadecimal digits.
const MARKS: u32 = 1 << 20;

/// The commits, and what was waited since.
pub(super) struct Marks {
    began: Instant,
    /// Microseconds since the beginning; 0 is not yet known.
    commits: Vec<AtomicU64>,
    waited: Mutex<Waited>,
}

struct Waited {
    segment: Durations,
    before: Durations,
}

impl Marks {
    pub(super) fn new() -> Marks {
        Marks {
            began: Instant::now(),
            commits: (0..MARKS).map(|_| AtomicU64::new(0)).collect(),
            waited: Mutex::new(Waited {
                segment: Durations::new(),
                before: Durations::new(),
            }),
        }
    }

    /// The mark of the next batch, about to be sent.
    pub(super) fn next(&self, mark: u32) -> u32 {
        let next = (mark + 1) % MARKS;
        self.commits[next as usize].store(0, Ordering::Relaxed);
        next
    }

    /// The batch of this mark is committed.
    pub(super) fn committed(&self, mark: u32) {
        self.commits[mark as usize].store(self.now(), Ordering::Relaxed);
    }

    /// A job of this mark is started.
    pub(super) fn started(&self, mark: u32) {
        let commit = self.commits[(mark % MARKS) as usize].load(Ordering::Relaxed);
        // A start before the producer has heard of its own commit has waited no time.
        let waited = if commit == 0 {
            0
        } else {
            self.now().saturating_sub(commit)
        };
        let mut all = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        all.segment.record(Duration::from_micros(waited));
    }

    /// What was waited since the last call.
    pub(super) fn segment(&self) -> Percentiles {
        let mut all = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.segment.percentiles();
        let Waited { segment, before } = &mut *all;
        before.absorb(segment);
        found
    }

    /// What was waited up to the last segment.
    pub(super) fn all(&self) -> Percentiles {
        let all = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        all.before.percentiles()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros())
            .unwrap_or(u64::MAX)
            .max(1)
    }
}
