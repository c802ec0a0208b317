//! Places that stand offered: a job may come by itself, held and started, without a claim.

use std::time::{Duration, Instant};

use uuid::Uuid;

use super::handed::{Handed, name_of};
use crate::store::Timestamp;
use crate::store::jobs::{ClaimedJob, Offer};

/// How long an offer stands.
pub(super) const OFFER_SECONDS: i32 = 30;
/// Offers are taken back after this time, and made anew: before they run out.
const OFFER_AGAIN: Duration = Duration::from_secs(OFFER_SECONDS as u64 / 2);
/// How many places are offered at most.
const OFFERS_MAX: usize = 8;
/// What could be neither taken back nor found to be taken is looked for again: somebody's transaction has it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// A hand-over that is not heard after this time, by a worker that hears, says that it does not.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// A job that was handed to us.
#[derive(Debug, PartialEq)]
pub(super) struct Taken {
    pub(super) job: ClaimedJob,
    /// Since when it is ours.
    pub(super) asked: Instant,
    /// A place was kept for it.
    pub(super) place: bool,
}

/// An offer that was sent.
struct Standing {
    token: Uuid,
    name: String,
    sent: Instant,
    /// When the database made it; none: perhaps it never did.
    at: Option<Timestamp>,
    lease: Duration,
    /// It keeps a place. One that could not be settled keeps none, and is remembered: a job may come of it yet.
    place: bool,
    /// When to find out what came of it, apart from hearing.
    look_at: Option<Instant>,
    /// We know that we may not hear of it.
    unheard: bool,
}

impl Standing {
    fn made(offer: &Offer, sent: Instant) -> Standing {
        Standing {
            at: Some(offer.at),
            lease: Duration::from_secs(u64::try_from(offer.lease_seconds).unwrap_or_default()),
            look_at: None,
            unheard: false,
            ..Standing::unsure(offer.token, sent, sent)
        }
    }

    /// Nobody knows whether it was made.
    fn unsure(token: Uuid, sent: Instant, look_at: Instant) -> Standing {
        Standing {
            token,
            name: name_of(token),
            sent,
            at: None,
            lease: OFFER_AGAIN,
            place: true,
            look_at: Some(look_at),
            unheard: true,
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

    fn taken(self, job: ClaimedJob, now: Instant) -> Taken {
        Taken {
            asked: self.asked(&job, now),
            place: self.place,
            job,
        }
    }

    /// Whatever came of it, its lease has run out.
    fn is_over(&self, now: Instant) -> bool {
        now >= self.sent + Duration::from_secs(OFFER_SECONDS as u64) + self.lease
    }
}

/// The offers of a worker.
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
}

impl Offers {
    /// We hear this channel from now on.
    pub(super) fn open(&mut self, channel: String) {
        self.channel = Some(channel);
    }

    /// We hear no more: what is handed to us has to be looked for.
    pub(super) fn close(&mut self, now: Instant) {
        self.channel = None;
        for it in &mut self.standing {
            it.unheard = true;
            it.look_at.get_or_insert(now);
        }
    }

    /// How many of the free places to offer, and where. They are about to be sent. One place stays for what
    /// has to be claimed.
    pub(super) fn make(&mut self, free: usize, lanes: usize, now: Instant) -> Option<(usize, String)> {
        let room = self
            .room
            .filter(|(_, until)| *until > now)
            .map_or(OFFERS_MAX, |(room, _)| room);
        let wanted = room.min(lanes).min(OFFERS_MAX).saturating_sub(self.kept());
        let places = wanted.min(free.saturating_sub(1));
        if self.under_way || places == 0 {
            return None;
        }
        let channel = self.channel.clone()?;
        self.under_way = true;
        Some((places, channel))
    }

    /// Of so many that were sent then, for this channel, these stand; answers what was handed to us meanwhile.
    pub(super) fn made(&mut self, places: usize, channel: &str, offers: &[Offer], sent: Instant) -> Vec<Handed> {
        self.under_way = false;
        let heard = self.channel.as_deref() == Some(channel);
        self.standing.extend(offers.iter().map(|offer| Standing {
            unheard: !heard,
            look_at: (!heard).then_some(sent),
            ..Standing::made(offer, sent)
        }));
        if offers.len() < places {
            self.room = Some((self.kept(), sent + OFFER_AGAIN));
        }
        std::mem::take(&mut self.early)
    }

    /// They were not made.
    pub(super) fn refused(&mut self, now: Instant) {
        self.under_way = false;
        self.early.clear();
        self.room = Some((self.kept(), now + OFFER_AGAIN));
    }

    /// Nobody knows whether these were made: they have to be taken back.
    pub(super) fn failed(&mut self, tokens: Vec<Uuid>, sent: Instant, now: Instant) {
        self.refused(now);
        let unsure = |token| Standing::unsure(token, sent, now + LOOK_AGAIN);
        self.standing.extend(tokens.into_iter().map(unsure));
    }

    /// How many places they keep.
    pub(super) fn kept(&self) -> usize {
        self.standing.iter().filter(|it| it.place).count()
    }

    /// What to take back now: all of it when the places are needed (`all`) or one stands for long, and what has to be
    /// looked after.
    pub(super) fn withdraw(&mut self, all: bool, now: Instant) -> Vec<Uuid> {
        if self.under_way {
            return Vec::new();
        }
        self.standing.retain(|it| it.place || !it.is_over(now));
        let all = all || self.standing.iter().any(|it| it.place && now >= it.sent + OFFER_AGAIN);
        let is_due = |it: &&Standing| it.look_at.map_or(all, |at| at <= now);
        let tokens: Vec<Uuid> = self.standing.iter().filter(is_due).map(|it| it.token).collect();
        self.under_way = !tokens.is_empty();
        tokens
    }

    /// Of these that were asked for, those brought nothing. An offer that was perhaps made may yet turn up.
    pub(super) fn withdrawn(&mut self, asked: &[Uuid], back: &[Uuid], now: Instant) -> usize {
        let mut free = 0;
        for it in self.standing.iter_mut().filter(|it| asked.contains(&it.token)) {
            it.look_at = Some(now + LOOK_AGAIN);
            if back.contains(&it.token) {
                free += usize::from(std::mem::take(&mut it.place));
            }
        }
        self.standing.retain(|it| it.at.is_none() || !back.contains(&it.token));
        free
    }

    /// That is all there is to be known about these for now. Those of which nothing was found keep no place any longer;
    /// answers how many.
    pub(super) fn settled(&mut self, asked: &[Uuid]) -> usize {
        self.under_way = false;
        let left = self.standing.iter_mut().filter(|it| asked.contains(&it.token));
        left.map(|it| usize::from(std::mem::take(&mut it.place))).sum()
    }

    /// Something was handed to us: the job; none if it is not known here, or has to be looked for.
    pub(super) fn take(&mut self, handed: Handed, now: Instant) -> Option<Taken> {
        let Some(at) = self.standing.iter().position(|it| it.name == handed.offer) else {
            if self.under_way {
                self.early.push(handed);
            }
            return None;
        };
        let Some(told) = handed.told else {
            // It is too large for a notification.
            self.standing[at].look_at = Some(now);
            self.standing[at].unheard = true;
            return None;
        };
        let offer = self.standing.swap_remove(at);
        let job = told.job(offer.token);
        Some(offer.taken(job, now))
    }

    /// The job of an offer was found, if it is still to be run; and whether we should have heard of it long ago.
    pub(super) fn found(&mut self, job: ClaimedJob, now: Instant) -> Option<(Taken, bool)> {
        let at = self.standing.iter().position(|it| it.token == job.token)?;
        let offer = self.standing.swap_remove(at);
        let expected = !offer.unheard;
        let taken = offer.taken(job, now);
        let deaf = expected && now >= taken.asked + HEARD_WITHIN;
        Some((taken, deaf))
    }

    /// When there is something to do about them, if nothing else happens.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.under_way {
            return None;
        }
        let back = self
            .standing
            .iter()
            .map(|it| it.look_at.unwrap_or(it.sent + OFFER_AGAIN))
            .min();
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
        serde_json::from_value(serde_json::json!({"token": token(n), "lane": 1, "at": AT, "lease_seconds": 60}))
            .expect("an offer")
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
        assert!(offers.made(numbers.len(), "c", &made, now).is_empty());
        offers
    }

    fn job(n: u128) -> ClaimedJob {
        handed(n).told.expect("all of it").job(token(n))
    }

    #[test]
    fn one_place_is_never_offered_and_nothing_while_nobody_hears() {
        let now = Instant::now();
        let mut offers = Offers::default();
        assert_eq!(offers.make(10, 3, now), None);
        offers.open("c".to_owned());
        assert_eq!(offers.make(1, 3, now), None);
        assert_eq!(offers.make(3, 3, now), Some((2, "c".to_owned())));
        assert_eq!(offers.make(10, 3, now), None, "an offer is on the wire");
        offers.made(2, "c", &[offer(1), offer(2)], now);
        assert_eq!(offers.make(10, 3, now), Some((1, "c".to_owned())), "the rest");
        offers.made(1, "c", &[], now);
        assert_eq!(offers.make(10, 3, now), None, "the database takes no more");
        assert_eq!(offers.make(10, 3, now + OFFER_AGAIN), Some((1, "c".to_owned())));
        offers.refused(now);
        assert_eq!(offers.make(10, 3, now), None);
    }

    #[test]
    fn what_is_handed_over_before_the_offer_is_answered_is_not_lost_and_comes_once() {
        let now = Instant::now();
        let mut offers = Offers::default();
        offers.open("c".to_owned());
        offers.make(10, 2, now);
        assert!(offers.take(handed(7), now).is_none());
        let early = offers.made(2, "c", &[offer(7), offer(8)], now);
        assert_eq!(early, [handed(7)]);
        let taken = offers.take(handed(7), now).expect("a job");
        assert_eq!((taken.job.token, taken.job.payload.as_str()), (token(7), "{ }"));
        assert!(taken.place);
        assert!(offers.take(handed(7), now).is_none(), "once");
        assert!(offers.take(handed(9), now).is_none(), "no offer of ours");
        assert_eq!(offers.kept(), 1);
    }

    #[test]
    fn a_lease_is_measured_from_the_offer_and_never_from_later_than_now() {
        let now = Instant::now();
        let mut offers = standing(&[7, 8], now);
        let late = now + Duration::from_secs(60);
        let asked = offers.take(handed(7), late).expect("a job").asked;
        assert_eq!(
            asked,
            now + Duration::from_secs(3),
            "it began three seconds after the offer"
        );
        let asked = offers.take(handed(8), now).expect("a job").asked;
        assert_eq!(asked, now, "whatever the clocks say");
    }

    #[test]
    fn an_offer_that_cannot_be_settled_keeps_no_place_and_is_remembered() {
        let now = Instant::now();
        let mut offers = standing(&[7, 8, 9], now);
        assert!(offers.withdraw(false, now).is_empty(), "no kind needs the places");
        let asked = offers.withdraw(true, now);
        assert_eq!(asked, [token(7), token(8), token(9)]);
        assert!(offers.withdraw(true, now).is_empty(), "it is under way");
        assert_eq!(offers.withdrawn(&asked, &[token(8)], now), 1);
        let (taken, _) = offers.found(job(9), now).expect("it was taken");
        assert!(taken.place);
        assert_eq!(offers.settled(&asked), 1);
        assert_eq!(offers.kept(), 0);
        assert!(offers.withdraw(true, now).is_empty(), "not at once");
        assert_eq!(offers.withdraw(false, now + LOOK_AGAIN), [token(7)]);
        offers.withdrawn(&[token(7)], &[], now);
        assert_eq!(offers.settled(&[token(7)]), 0);
        let taken = offers.take(handed(7), now).expect("it was committed at last");
        assert!(!taken.place, "its place was given to another");
        assert!(
            offers.found(job(9), now).is_none() && offers.take(handed(9), now).is_none(),
            "once"
        );
    }

    #[test]
    fn what_is_remembered_is_forgotten_when_its_lease_must_have_run_out() {
        let now = Instant::now();
        let mut offers = standing(&[7], now);
        let asked = offers.withdraw(true, now);
        offers.withdrawn(&asked, &[], now);
        offers.settled(&asked);
        let end = now + Duration::from_secs(OFFER_SECONDS as u64 + 60);
        assert_eq!(offers.withdraw(false, end - LOOK_AGAIN), [token(7)]);
        offers.settled(&asked);
        assert!(offers.withdraw(false, end).is_empty());
        assert!(offers.take(handed(7), end).is_none());
    }

    #[test]
    fn what_was_not_heard_is_looked_for_at_once() {
        let now = Instant::now();
        let mut offers = standing(&[7, 8], now);
        assert!(offers.take(too_large(8), now).is_none());
        assert_eq!(offers.due(now), Some(now));
        assert_eq!(offers.withdraw(false, now), [token(8)]);
        offers.withdrawn(&[token(8)], &[], now);
        let (_, deaf) = offers.found(job(8), now + OFFER_AGAIN).expect("a job");
        assert!(!deaf, "that was to be expected");
        offers.settled(&[token(8)]);
        offers.close(now);
        offers.open("other".to_owned());
        assert_eq!(offers.withdraw(false, now), [token(7)], "nobody hears its channel");
        offers.withdrawn(&[token(7)], &[], now);
        offers.settled(&[token(7)]);
        offers.make(10, 1, now);
        offers.made(1, "c", &[offer(9)], now);
        assert_eq!(
            offers.withdraw(false, now),
            [token(9)],
            "made for a channel that nobody hears any more"
        );
    }

    #[test]
    fn a_worker_that_finds_what_it_should_have_heard_of_is_deaf() {
        let now = Instant::now();
        let mut offers = standing(&[7, 8], now);
        let soon = now + Duration::from_secs(4);
        assert!(
            !offers.found(job(7), soon).expect("a job").1,
            "it may still be on its way"
        );
        assert!(offers.found(job(8), now + OFFER_AGAIN).expect("a job").1);
    }

    #[test]
    fn an_offer_that_was_perhaps_made_is_taken_back_and_remembered() {
        let now = Instant::now();
        let mut offers = Offers::default();
        offers.open("c".to_owned());
        offers.make(10, 1, now);
        offers.failed(vec![token(7)], now, now);
        assert_eq!(offers.due(now), Some(now + LOOK_AGAIN));
        let asked = offers.withdraw(false, now + LOOK_AGAIN);
        assert_eq!(offers.withdrawn(&asked, &asked, now), 1);
        assert_eq!(offers.settled(&asked), 0);
        let taken = offers.take(handed(7), now + LOOK_AGAIN).expect("it was made after all");
        assert_eq!((taken.asked, taken.place), (now, false));
    }
}
