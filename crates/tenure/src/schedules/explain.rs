//! Why a schedule did, or did not, run at a moment.

use tokio_postgres::GenericClient;

use super::{Bounds, rhythm_of, seconds, timestamp};
use crate::error::Result;
use crate::store::Timestamp;
use crate::store::schedules::{Schedule, Slot, schedule_at, schedule_show};

/// What became of a moment in the life of a schedule.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Explanation {
    /// The schedule.
    pub schedule: String,
    /// The moment that was asked about.
    pub at: Timestamp,
    /// What the clock on the wall said then, where the rule is at home.
    pub local: String,
    /// In one word: the state of the slot, or `missed`, `unplanned`, `no_slot`, `before_schedule`, `after_end`.
    pub verdict: String,
    /// The answer in a sentence.
    pub answer: String,
    /// What to do about it, if there is something.
    pub next_step: Option<String>,
    /// The slot that stands for the moment.
    pub slot: Option<Slot>,
    /// The last moment before, by the rule as it is now.
    pub previous: Option<Timestamp>,
    /// The first moment after, by the rule as it is now.
    pub following: Option<Timestamp>,
    /// When it runs next, seen from now.
    pub next: Option<Timestamp>,
}

/// Says what became of a moment: which slot stands for it, or why none does.
pub async fn explain(client: &impl GenericClient, name: &str, at: Timestamp) -> Result<Explanation> {
    let schedule = schedule_show(client, name).await?;
    let found = schedule_at(client, name, at).await?.into_iter().next();
    let now = crate::store::now(client).await?;
    // Of a rule that cannot be computed, what stands is told all the same.
    let rhythm = rhythm_of(&schedule).ok();
    let bounds = Bounds::of(schedule.start_at, schedule.end_at);
    let moment = seconds(at);
    let within = |found: Option<i64>| found.filter(|at| bounds.has(*at)).map(timestamp);
    let rule = rhythm.as_ref();
    let is_slot = rule.is_some_and(|it| it.is_slot(moment)) && bounds.has(moment);
    let previous = within(rule.and_then(|it| it.latest(moment - 1)));
    let following = within(rule.and_then(|it| it.next(moment)));
    let told = tell(&schedule, found.as_ref(), at, now, is_slot, (previous, following));
    Ok(Explanation {
        schedule: schedule.name.clone(),
        at,
        local: rule.map_or_else(|| at.to_string(), |it| it.local(moment)),
        verdict: told.verdict,
        answer: told.answer,
        next_step: told.next_step,
        slot: found,
        previous,
        following,
        next: schedule
            .next_slot
            .or_else(|| within(rule.and_then(|it| it.next(seconds(now))))),
    })
}

struct Told {
    verdict: String,
    answer: String,
    next_step: Option<String>,
}

impl Told {
    fn new(verdict: &str, answer: impl Into<String>) -> Told {
        Told {
            verdict: verdict.to_owned(),
            answer: answer.into(),
            next_step: None,
        }
    }

    fn next(mut self, step: impl Into<String>) -> Told {
        self.next_step = Some(step.into());
        self
    }
}

fn tell(
    schedule: &Schedule,
    slot: Option<&Slot>,
    at: Timestamp,
    now: Timestamp,
    is_slot: bool,
    (previous, following): (Option<Timestamp>, Option<Timestamp>),
) -> Told {
    let name = &schedule.name;
    // A run by hand answers for the second it was asked for in.
    if let Some(slot) = slot.filter(|slot| slot.plan_time == at || slot.origin == "manual") {
        return of_slot(name, slot, now);
    }
    if let Some(slot) = slot.filter(|slot| slot.skip_reason.as_deref() == Some("paused")) {
        return of_slot(name, slot, now);
    }
    if let Some(slot) = slot {
        let over = slot.ended_at.filter(|_| slot.state == "skipped");
        let seen = over.map(|at| format!(" until {at}")).unwrap_or_default();
        let answer = format!(
            "Nobody was there to start it: no scheduler looked at {name} from {}{seen}, and {} slots were missed. Its catch-up is {}.",
            slot.plan_time,
            slot.missed.unwrap_or(1),
            schedule.catch_up
        );
        return Told::new("missed", answer).next(format!(
            "Run what was missed: tenure schedule backfill {} --from {} --until {}.",
            typed(name),
            slot.plan_time,
            slot.missed_until.unwrap_or(slot.plan_time)
        ));
    }
    if at < schedule.created_at {
        let answer = format!("{name} was made later, at {}.", schedule.created_at);
        return Told::new("before_schedule", answer);
    }
    if schedule.end_at.is_some_and(|end| at > end) {
        return Told::new("after_end", format!("{name} has ended: no slot after its end_at."));
    }
    if schedule.state == "failing" {
        let why = schedule
            .error_message
            .as_deref()
            .unwrap_or("its rule cannot be computed");
        return Told::new("unplanned", format!("{name} fails: {why}"));
    }
    if !is_slot {
        let near = [("before", previous), ("after", following)];
        let near: Vec<String> = near
            .iter()
            .filter_map(|(side, at)| at.map(|at| format!("the nearest {side} is {at}")))
            .collect();
        let changed = if at < schedule.plan_from {
            format!(
                " The rule was changed at {}; before, it may have been another.",
                schedule.plan_from
            )
        } else {
            String::new()
        };
        let answer = format!("The rule of {name} has no slot then: {}.{changed}", near.join(", "));
        return Told::new("no_slot", answer).next(format!(
            "See the moments it names: tenure schedule preview {}.",
            typed(name)
        ));
    }
    if at > now {
        return Told::new("unplanned", "It is still to come; the slots before it are first.");
    }
    if at <= schedule.plan_from {
        let answer = format!(
            "The rule is as it is since {}; what stood before had no slot then, it was not yet planned when the rule was changed, or its record is past its retention.",
            schedule.plan_from
        );
        return Told::new("unplanned", answer);
    }
    if schedule.catch_up == "every_plan" && schedule.planned_to.is_some_and(|to| at > to) {
        let answer = format!(
            "It is late, and is caught up in its turn: {name} has come to {}.",
            told_to(schedule)
        );
        return Told::new("unplanned", answer);
    }
    if schedule.planned_to.is_some_and(|to| at < to) {
        return Told::new("unplanned", "Its record is past its retention.");
    }
    Told::new("unplanned", format!("No scheduler has looked at {name} since."))
        .next("See whether a server runs, and whether it can reach the database: tenure health, tenure doctor.")
}

fn of_slot(name: &str, slot: &Slot, now: Timestamp) -> Told {
    let code = slot.error_code.as_deref().unwrap_or("no code");
    let message = slot.error_message.as_deref().unwrap_or("");
    let job = slot.job_id.map(|id| id.to_string()).unwrap_or_default();
    match (slot.state.as_str(), slot.skip_reason.as_deref()) {
        ("planned", _) => match slot.waiting_since {
            Some(since) => Told::new(
                "planned",
                format!("It is due and waits since {since} for another run of {name} to end."),
            )
            .next(format!(
                "See that run: tenure schedule slots {} --state running.",
                typed(name)
            )),
            None if slot.due_at > now => Told::new("planned", format!("It is planned and starts at {}.", slot.due_at)),
            None => Told::new(
                "planned",
                format!("It was due at {} and no scheduler has started it yet.", slot.due_at),
            )
            .next("See whether a server runs: tenure health, tenure doctor."),
        },
        ("running", _) => {
            let state = slot.job_state.as_deref().unwrap_or("queued");
            Told::new("running", format!("It runs: job {job} is {state}."))
                .next(format!("See why it does not end: tenure job explain {job}."))
        }
        ("succeeded", _) => Told::new("succeeded", format!("It ran and succeeded: job {job}{}.", took(slot))),
        ("failed", _) => Told::new("failed", format!("It ran and failed: {code}. {message}"))
            .next(format!("See its attempts: tenure job timeline {job}.")),
        ("cancelled", _) => Told::new("cancelled", format!("Its run was cancelled. {message}")),
        (_, Some("overlap")) => Told::new(
            "skipped",
            format!("It was skipped: another run of {name} was under way. {message}"),
        )
        .next("Let slots wait with the overlap queue, or make the run faster."),
        (_, Some("paused")) => Told::new("skipped", format!("It was skipped: {name} was paused. {message}")),
        (_, Some("missed_window")) => {
            let answer = format!("It was skipped: nobody was there to start it in time. {message}");
            Told::new("missed", answer).next(format!(
                "Run it after all: tenure schedule backfill {} --from {1} --until {1}.",
                typed(name),
                slot.plan_time
            ))
        }
        (_, Some("superseded")) => Told::new("skipped", format!("It was planned and then given up. {message}")),
        (_, Some("refused")) => Told::new("skipped", format!("Its job was refused: {code}. {message}"))
            .next(format!("See what it means: tenure errors {code}.")),
        (state, _) => Told::new(state, format!("Its state is {state}.")),
    }
}

fn took(slot: &Slot) -> String {
    match slot.duration_ms {
        Some(ms) => format!(", in {:.1} s", ms as f64 / 1000.0),
        None => String::new(),
    }
}

/// A name as it is typed into a shell.
fn typed(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@".contains(letter);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

fn told_to(schedule: &Schedule) -> String {
    schedule.planned_to.unwrap_or(schedule.plan_from).to_string()
}
