//! Slots that stand offered: a job may come by itself, held and started, without a claim.

use std::time::{Duration, Instant};

use serde::Deserialize;
use uuid::Uuid;

use crate::store::jobs::{ClaimedJob, Offer};
use crate::store::{Payload, Timestamp};

/// How long an offer stands.
pub(super) const OFFER_SECONDS: i32 = 30;
/// An offer is taken back after this time, and made anew: before it runs out.
const OFFER_AGAIN: Duration = Duration::from_secs(OFFER_SECONDS as u64 / 2);
/// How many slots are offered at most.
const OFFERS_MAX: usize = 8;
/// An offer that could be neither taken back nor found to be taken: somebody's transaction has it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The lane of an offer that was perhaps never made.
const UNKNOWN: i32 = -1;

/// What a hand-over tells: all about the job, or that there is one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Handed {
    pub(super) lane: i32,
    #[serde(flatten)]
    told: Option<Told>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Told {
    job_id: Uuid,
    kind: String,
    executor: String,
    due: Timestamp,
    attempts_max: i16,
    leased_at: Timestamp,
    leased_until: Timestamp,
    run_until: Option<Timestamp>,
    payload: Payload,
    idempotency_key: Option<String>,
    enqueued_by: String,
}

impl Handed {
    /// The job, held under the token of the offer; none when it did not fit into a notification.
    pub(super) fn job(self, token: Uuid) -> Option<ClaimedJob> {
        let told = self.told?;
        Some(ClaimedJob {
            job_id: told.job_id,
            token,
            lane: self.lane,
            rank: 0,
            due: told.due,
            kind: told.kind,
            executor: told.executor,
            state: "in_progress".to_owned(),
            run: 1,
            attempt: 1,
            attempts_max: told.attempts_max,
            leased_at: told.leased_at,
            leased_until: told.leased_until,
            started_at: Some(told.leased_at),
            run_until: told.run_until,
            deadline_at: None,
            payload: told.payload,
            payload_classification: "safe_metadata".to_owned(),
            source_ref: None,
            target_ref: None,
            payload_ref: None,
            idempotency_key: told.idempotency_key,
            affinity_key: None,
            correlation_id: None,
            parent_job_id: None,
            workflow_id: None,
            run_id: None,
            enqueued_by: told.enqueued_by,
            created_at: told.leased_at,
        })
    }
}

/// An offer, and since when it stands.
struct Standing {
    offer: Offer,
    since: Instant,
}

/// The offers of a worker. Each keeps a slot.
#[derive(Default)]
pub(super) struct Offers {
    /// Where we hear of what is handed to us; none: nothing is offered.
    channel: Option<String>,
    standing: Vec<Standing>,
    /// An offer or a withdrawal is on the wire.
    under_way: bool,
    /// What was handed to us before we knew that our offer stands.
    early: Vec<Handed>,
    not_before: Option<Instant>,
}

impl Offers {
    /// We hear this channel from now on.
    pub(super) fn open(&mut self, channel: String) {
        self.channel = Some(channel);
    }

    /// We hear no more: what is handed to us has to be looked for.
    pub(super) fn close(&mut self) {
        self.channel = None;
        self.not_before = None;
    }

    /// How many slots to offer now, of so many that are free. One stays for what has to be claimed.
    pub(super) fn wanted(&self, free: usize, lanes: usize, now: Instant) -> usize {
        let quiet = self.standing.is_empty() && !self.under_way && self.not_before.is_none_or(|at| at <= now);
        if quiet && self.channel.is_some() {
            free.saturating_sub(1).min(lanes).min(OFFERS_MAX)
        } else {
            0
        }
    }

    /// The channel for an offer that is about to be made.
    pub(super) fn make(&mut self) -> Option<String> {
        self.under_way = self.channel.is_some();
        self.channel.clone()
    }

    /// These stand; answers what was handed to us meanwhile.
    pub(super) fn made(&mut self, offers: Vec<Offer>, now: Instant) -> Vec<Handed> {
        self.under_way = false;
        self.not_before = offers.is_empty().then_some(now + OFFER_AGAIN);
        self.standing
            .extend(offers.into_iter().map(|offer| Standing { offer, since: now }));
        std::mem::take(&mut self.early)
    }

    /// Nobody knows whether these were made: they have to be taken back.
    pub(super) fn failed(&mut self, tokens: Vec<Uuid>, now: Instant) {
        self.under_way = false;
        self.early.clear();
        self.not_before = Some(now + LOOK_AGAIN);
        let offers = tokens.into_iter().map(|token| Offer { token, lane: UNKNOWN });
        self.standing.extend(offers.map(|offer| Standing { offer, since: now }));
    }

    /// How many slots they keep.
    pub(super) fn kept(&self) -> usize {
        self.standing.len()
    }

    /// What to take back now: all of it when the slots are needed (`all`), or what stands for long.
    pub(super) fn withdraw(&mut self, all: bool, now: Instant) -> Vec<Uuid> {
        let is_due = |it: &Standing| it.offer.lane == UNKNOWN || now >= it.since + OFFER_AGAIN;
        let due = all || self.channel.is_none() || self.standing.iter().any(is_due);
        if self.under_way || self.standing.is_empty() || !due || self.not_before.is_some_and(|at| at > now) {
            return Vec::new();
        }
        self.under_way = true;
        self.standing.iter().map(|it| it.offer.token).collect()
    }

    /// These were taken back; the others have been handed to us, or soon will be. Answers how many slots are free again.
    pub(super) fn withdrawn(&mut self, tokens: &[Uuid], now: Instant) -> usize {
        self.under_way = false;
        let before = self.standing.len();
        self.standing.retain(|it| !tokens.contains(&it.offer.token));
        if !self.standing.is_empty() {
            self.not_before = Some(now + LOOK_AGAIN);
        }
        before - self.standing.len()
    }

    /// Something was handed to us: the token of its offer, if we know of it.
    pub(super) fn take(&mut self, handed: &Handed) -> Option<Uuid> {
        let Some(at) = self.standing.iter().position(|it| it.offer.lane == handed.lane) else {
            if self.under_way {
                self.early.push(handed.clone());
            }
            return None;
        };
        Some(self.standing.remove(at).offer.token)
    }

    /// The job of this offer was found. Says whether it is still to be run.
    pub(super) fn found(&mut self, token: Uuid) -> bool {
        let before = self.standing.len();
        self.standing.retain(|it| it.offer.token != token);
        before > self.standing.len()
    }

    /// When to take them back, if nothing else happens.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let oldest = self.standing.iter().map(|it| it.since + OFFER_AGAIN).min()?;
        let unsure = self.channel.is_none() || self.standing.iter().any(|it| it.offer.lane == UNKNOWN);
        let due = if unsure { now } else { oldest };
        (!self.under_way).then(|| self.not_before.map_or(due, |at| at.max(due)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(lane: i32) -> Offer {
        serde_json::from_value(serde_json::json!({"token": Uuid::from_u128(lane as u128), "lane": lane}))
            .expect("an offer")
    }

    fn handed(lane: i32) -> Handed {
        serde_json::from_value(serde_json::json!({"lane": lane})).expect("a hand-over")
    }

    #[test]
    fn one_slot_is_never_offered_and_nothing_while_nobody_hears() {
        let now = Instant::now();
        let mut offers = Offers::default();
        assert_eq!(offers.wanted(10, 3, now), 0);
        offers.open("c".to_owned());
        assert_eq!(offers.wanted(10, 3, now), 3);
        assert_eq!(offers.wanted(3, 3, now), 2);
        assert_eq!(offers.wanted(1, 3, now), 0);
        assert_eq!(offers.make().as_deref(), Some("c"));
        assert_eq!(offers.wanted(10, 3, now), 0, "an offer is on the wire");
    }

    #[test]
    fn what_is_handed_over_before_the_offer_is_answered_is_not_lost() {
        let now = Instant::now();
        let mut offers = Offers::default();
        offers.open("c".to_owned());
        offers.make();
        assert_eq!(offers.take(&handed(7)), None);
        let early = offers.made(vec![offer(7), offer(8)], now);
        assert_eq!(early, [handed(7)]);
        assert_eq!(offers.take(&early[0]), Some(Uuid::from_u128(7)));
        assert_eq!(offers.take(&early[0]), None, "once");
    }

    #[test]
    fn an_offer_that_cannot_be_taken_back_is_looked_for_again() {
        let now = Instant::now();
        let mut offers = Offers::default();
        offers.open("c".to_owned());
        offers.make();
        offers.made(vec![offer(7), offer(8)], now);
        assert!(offers.withdraw(false, now).is_empty(), "nobody needs the slots");
        let tokens = offers.withdraw(true, now);
        assert_eq!(tokens.len(), 2);
        assert!(offers.withdraw(true, now).is_empty(), "it is under way");
        assert_eq!(offers.withdrawn(&[Uuid::from_u128(8)], now), 1);
        assert!(offers.withdraw(true, now).is_empty(), "not at once");
        assert_eq!(offers.withdraw(true, now + LOOK_AGAIN), [Uuid::from_u128(7)]);
        assert!(offers.found(Uuid::from_u128(7)));
        assert!(!offers.found(Uuid::from_u128(7)));
    }
}
