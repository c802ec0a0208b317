//! Slots that stand offered: a job may come by itself, held and started, without a claim.

use std::time::{Duration, Instant};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::store::jobs::{ClaimedJob, Offer};
use crate::store::{Payload, Timestamp};

/// How long an offer stands.
pub(super) const OFFER_SECONDS: i32 = 30;
/// Offers are taken back after this time, and made anew: before they run out.
const OFFER_AGAIN: Duration = Duration::from_secs(OFFER_SECONDS as u64 / 2);
/// How many slots are offered at most.
const OFFERS_MAX: usize = 8;
/// An offer that could be neither taken back nor found to be taken: somebody's transaction has it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a hand-over tells: all about the job, or only that there is one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Handed {
    offer: String,
    #[serde(flatten)]
    told: Option<Told>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Told {
    lane: i32,
    job_id: Uuid,
    kind: String,
    executor: String,
    due: Timestamp,
    attempts_max: i16,
    leased_at: Timestamp,
    leased_until: Timestamp,
    run_until: Option<Timestamp>,
    payload: String,
    idempotency_key: Option<String>,
    enqueued_by: String,
}

impl Told {
    /// The job, held under the token of its offer. What is not told has no value: only plain jobs are handed over.
    fn job(self, token: Uuid) -> ClaimedJob {
        ClaimedJob {
            job_id: self.job_id,
            token,
            lane: self.lane,
            rank: 0,
            due: self.due,
            kind: self.kind,
            executor: self.executor,
            state: "in_progress".to_owned(),
            run: 1,
            attempt: 1,
            attempts_max: self.attempts_max,
            leased_at: self.leased_at,
            leased_until: self.leased_until,
            started_at: Some(self.leased_at),
            run_until: self.run_until,
            deadline_at: None,
            payload: Payload::of_text(self.payload),
            payload_classification: "safe_metadata".to_owned(),
            source_ref: None,
            target_ref: None,
            payload_ref: None,
            idempotency_key: self.idempotency_key,
            affinity_key: None,
            correlation_id: None,
            parent_job_id: None,
            workflow_id: None,
            run_id: None,
            enqueued_by: self.enqueued_by,
            created_at: self.due,
        }
    }
}

/// The name of an offer, which tells nothing of its token.
fn name_of(token: Uuid) -> String {
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An offer that was sent.
struct Standing {
    token: Uuid,
    name: String,
    sent: Instant,
    /// When the database made it; none: perhaps it never did.
    at: Option<Timestamp>,
    /// Something may have come of it that we did not hear.
    look: bool,
}

impl Standing {
    fn new(token: Uuid, sent: Instant, at: Option<Timestamp>) -> Standing {
        Standing {
            token,
            name: name_of(token),
            sent,
            at,
            look: at.is_none(),
        }
    }

    /// Since when the job is ours, on our clock and not a moment too late: the database made the offer after it was
    /// sent, and says how much later the lease began.
    fn asked(&self, job: &ClaimedJob, now: Instant) -> Instant {
        let micros = self
            .at
            .map_or(0, |at| job.leased_at.micros().saturating_sub(at.micros()));
        let later = Duration::from_micros(u64::try_from(micros).unwrap_or_default());
        self.sent.checked_add(later).map_or(now, |asked| asked.min(now))
    }
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
    /// The database takes no more offers than these, until then.
    room: Option<(usize, Instant)>,
    /// Nothing is taken back before.
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
        self.standing.iter_mut().for_each(|it| it.look = true);
    }

    /// How many slots to offer, of so many that are free, and where. They are about to be sent. One slot stays for what
    /// has to be claimed.
    pub(super) fn make(&mut self, free: usize, lanes: usize, now: Instant) -> Option<(usize, String)> {
        let room = self
            .room
            .filter(|(_, until)| *until > now)
            .map_or(OFFERS_MAX, |(room, _)| room);
        let wanted = room.min(lanes).min(OFFERS_MAX).saturating_sub(self.standing.len());
        let slots = wanted.min(free.saturating_sub(1));
        if self.under_way || slots == 0 {
            return None;
        }
        let channel = self.channel.clone()?;
        self.under_way = true;
        Some((slots, channel))
    }

    /// Of so many that were sent then these stand; answers what was handed to us meanwhile.
    pub(super) fn made(&mut self, slots: usize, offers: &[Offer], sent: Instant) -> Vec<Handed> {
        self.under_way = false;
        let made = offers
            .iter()
            .map(|offer| Standing::new(offer.token, sent, Some(offer.at)));
        self.standing.extend(made);
        if offers.len() < slots {
            self.room = Some((self.standing.len(), sent + OFFER_AGAIN));
        }
        if self.channel.is_none() {
            self.close();
        }
        std::mem::take(&mut self.early)
    }

    /// Nobody knows whether these were made: they have to be taken back.
    pub(super) fn failed(&mut self, tokens: Vec<Uuid>, sent: Instant, now: Instant) {
        self.under_way = false;
        self.early.clear();
        self.not_before = Some(now + LOOK_AGAIN);
        self.room = Some((0, now + OFFER_AGAIN));
        self.standing
            .extend(tokens.into_iter().map(|token| Standing::new(token, sent, None)));
    }

    /// How many slots they keep.
    pub(super) fn kept(&self) -> usize {
        self.standing.len()
    }

    /// What to take back now: all of it when the slots are needed (`all`) or one stands for long, else what has to be
    /// looked after.
    pub(super) fn withdraw(&mut self, all: bool, now: Instant) -> Vec<Uuid> {
        if self.under_way || self.not_before.is_some_and(|at| at > now) {
            return Vec::new();
        }
        let all = all || self.standing.iter().any(|it| now >= it.sent + OFFER_AGAIN);
        let due = self.standing.iter().filter(|it| all || it.look);
        let tokens: Vec<Uuid> = due.map(|it| it.token).collect();
        self.under_way = !tokens.is_empty();
        tokens
    }

    /// Of these that were asked for, those were taken back; the others have been handed to us, or soon will be. Answers
    /// how many slots are free again.
    pub(super) fn withdrawn(&mut self, asked: &[Uuid], back: &[Uuid], now: Instant) -> usize {
        self.under_way = false;
        let before = self.standing.len();
        self.standing.retain(|it| !back.contains(&it.token));
        let left = self.standing.iter_mut().filter(|it| asked.contains(&it.token));
        let left = left.map(|it| it.look = true).count();
        self.not_before = (left > 0).then_some(now + LOOK_AGAIN);
        before - self.standing.len()
    }

    /// Something was handed to us: the job, and since when it is ours; none if it is not known here, or has to be
    /// looked for.
    pub(super) fn take(&mut self, handed: Handed, now: Instant) -> Option<(ClaimedJob, Instant)> {
        let Some(at) = self.standing.iter().position(|it| it.name == handed.offer) else {
            if self.under_way {
                self.early.push(handed);
            }
            return None;
        };
        let Some(told) = handed.told else {
            // It is too large for a notification.
            self.standing[at].look = true;
            self.not_before = None;
            return None;
        };
        let offer = self.standing.remove(at);
        let job = told.job(offer.token);
        let asked = offer.asked(&job, now);
        Some((job, asked))
    }

    /// The job of an offer was found: since when it is ours, if it is still to be run.
    pub(super) fn found(&mut self, job: &ClaimedJob, now: Instant) -> Option<Instant> {
        let at = self.standing.iter().position(|it| it.token == job.token)?;
        Some(self.standing.remove(at).asked(job, now))
    }

    /// When there is something to do about them, if nothing else happens.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.under_way {
            return None;
        }
        let due = |it: &Standing| if it.look { now } else { it.sent + OFFER_AGAIN };
        let back = self.standing.iter().map(due).min();
        let back = back.map(|at| self.not_before.map_or(at, |not_before| at.max(not_before)));
        let again = self.room.map(|(_, until)| until).filter(|until| *until > now);
        back.into_iter().chain(again).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "2026-01-01T00:00:10Z";

    fn token(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn offer(n: u128) -> Offer {
        serde_json::from_value(serde_json::json!({"token": token(n), "lane": 1, "at": AT})).expect("an offer")
    }

    fn handed(n: u128) -> Handed {
        serde_json::from_value(serde_json::json!({
            "offer": name_of(token(n)), "lane": 1, "job_id": Uuid::nil(), "kind": "a", "executor": "e", "due": AT, "attempts_max": 5,
            "leased_at": "2026-01-01T00:00:13Z", "leased_until": "2026-01-01T00:01:13Z", "run_until": null, "payload": "{ }",
            "idempotency_key": null, "enqueued_by": "me",
        }))
        .expect("a hand-over")
    }

    fn too_large(n: u128) -> Handed {
        serde_json::from_value(serde_json::json!({"offer": name_of(token(n))})).expect("a hand-over")
    }

    /// Offers that were made.
    fn standing(numbers: &[u128], now: Instant) -> Offers {
        let mut offers = Offers::default();
        offers.open("c".to_owned());
        assert!(offers.make(10, numbers.len(), now).is_some());
        let made: Vec<Offer> = numbers.iter().map(|n| offer(*n)).collect();
        assert!(offers.made(numbers.len(), &made, now).is_empty());
        offers
    }

    #[test]
    fn one_slot_is_never_offered_and_nothing_while_nobody_hears() {
        let now = Instant::now();
        let mut offers = Offers::default();
        assert_eq!(offers.make(10, 3, now), None);
        offers.open("c".to_owned());
        assert_eq!(offers.make(1, 3, now), None);
        assert_eq!(offers.make(3, 3, now), Some((2, "c".to_owned())));
        assert_eq!(offers.make(10, 3, now), None, "an offer is on the wire");
        offers.made(2, &[offer(1), offer(2)], now);
        assert_eq!(offers.make(10, 3, now), Some((1, "c".to_owned())), "the rest");
        offers.made(1, &[], now);
        assert_eq!(offers.make(10, 3, now), None, "the database takes no more");
        assert_eq!(offers.make(10, 3, now + OFFER_AGAIN), Some((1, "c".to_owned())));
    }

    #[test]
    fn what_is_handed_over_before_the_offer_is_answered_is_not_lost_and_comes_once() {
        let now = Instant::now();
        let mut offers = Offers::default();
        offers.open("c".to_owned());
        offers.make(10, 2, now);
        assert!(offers.take(handed(7), now).is_none());
        let early = offers.made(2, &[offer(7), offer(8)], now);
        assert_eq!(early, [handed(7)]);
        let (job, _) = offers.take(handed(7), now).expect("a job");
        assert_eq!((job.token, job.payload.as_str()), (token(7), "{ }"));
        assert!(offers.take(handed(7), now).is_none(), "once");
        assert!(offers.take(handed(9), now).is_none(), "no offer of ours");
        assert_eq!(offers.kept(), 1);
    }

    #[test]
    fn a_lease_is_measured_from_the_offer_and_never_from_later_than_now() {
        let now = Instant::now();
        let mut offers = standing(&[7, 8], now);
        let late = now + Duration::from_secs(60);
        let (_, asked) = offers.take(handed(7), late).expect("a job");
        assert_eq!(
            asked,
            now + Duration::from_secs(3),
            "it began three seconds after the offer"
        );
        let (_, asked) = offers.take(handed(8), now).expect("a job");
        assert_eq!(asked, now, "whatever the clocks say");
    }

    #[test]
    fn an_offer_that_cannot_be_taken_back_is_looked_for_again() {
        let now = Instant::now();
        let mut offers = standing(&[7, 8], now);
        assert!(offers.withdraw(false, now).is_empty(), "nobody needs the slots");
        let asked = offers.withdraw(true, now);
        assert_eq!(asked, [token(7), token(8)]);
        assert!(offers.withdraw(true, now).is_empty(), "it is under way");
        assert_eq!(offers.withdrawn(&asked, &[token(8)], now), 1);
        assert!(offers.withdraw(true, now).is_empty(), "not at once");
        assert_eq!(offers.withdraw(false, now + LOOK_AGAIN), [token(7)]);
        let (job, _) = standing(&[7], now).take(handed(7), now).expect("a job");
        assert!(offers.found(&job, now).is_some());
        assert!(offers.found(&job, now).is_none(), "once");
        assert!(offers.take(handed(7), now).is_none(), "its notification comes too late");
        assert_eq!(offers.withdrawn(&[token(7)], &[token(7)], now), 0, "its slot is in use");
    }

    #[test]
    fn what_was_not_heard_is_looked_for_at_once() {
        let now = Instant::now();
        let mut offers = standing(&[7, 8], now);
        assert!(offers.take(too_large(8), now).is_none());
        assert_eq!(offers.due(now), Some(now));
        assert_eq!(offers.withdraw(false, now), [token(8)]);
        offers.withdrawn(&[token(8)], &[], now);
        offers.close();
        offers.open("other".to_owned());
        assert_eq!(
            offers.withdraw(false, now + LOOK_AGAIN),
            [token(7), token(8)],
            "another channel"
        );
    }

    #[test]
    fn an_offer_that_was_perhaps_made_is_taken_back() {
        let now = Instant::now();
        let mut offers = Offers::default();
        offers.open("c".to_owned());
        offers.make(10, 1, now);
        offers.failed(vec![token(7)], now, now);
        assert_eq!(offers.due(now), Some(now + LOOK_AGAIN));
        let (_, asked) = offers
            .take(handed(7), now + LOOK_AGAIN)
            .expect("it was made, and taken");
        assert_eq!(asked, now);
    }
}
