//! Why a schedule did, or did not, run at a moment.

use serde_json::Map;
use tenure_api::schedules::{CatchUp, ScheduleExplain};
use tokio_postgres::GenericClient;

use super::{
    Bounds, ExplainVerdict, Schedule, ScheduleExplanation, ScheduleState, SkipReason, Slot, SlotOrigin, SlotState,
    rhythm_of, seconds, show, timestamp,
};
use crate::error::Result;
use crate::operations::rows;
use crate::store::{self, Timestamp};

/// Says what became of a moment: which slot stands for it, or why none does.
#[doc(hidden)]
pub async fn explain(client: &(impl GenericClient + Sync), question: &ScheduleExplain) -> Result<ScheduleExplanation> {
    let at = question.at;
    let schedule = show(client, &question.name).await?;
    // First the slot of just that plan time, then one that covers it because no scheduler saw it in time.
    let slots: Vec<Slot> = rows(client, question, Map::new()).await?;
    let found = slots.into_iter().next();
    let now = store::now(client).await?;
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
    Ok(ScheduleExplanation {
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
    verdict: ExplainVerdict,
    answer: String,
    next_step: Option<String>,
}

impl Told {
    fn new(verdict: ExplainVerdict, answer: impl Into<String>) -> Told {
        Told {
            verdict,
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
    if let Some(slot) = slot.filter(|slot| slot.plan_time == at || slot.origin == SlotOrigin::Manual) {
        return of_slot(name, slot, now);
    }
    if let Some(slot) = slot.filter(|slot| slot.skip_reason == Some(SkipReason::Paused)) {
        return of_slot(name, slot, now);
    }
    if let Some(slot) = slot {
        let over = slot.ended_at.filter(|_| slot.state == SlotState::Skipped);
        let seen = over.map(|at| format!(" until {at}")).unwrap_or_default();
        let answer = format!(
            "Nobody was there to start it: no scheduler looked at {name} from {}{seen}, and {} slots were missed. Its catch-up is {}.",
            slot.plan_time,
            slot.missed.unwrap_or(1),
            schedule.catch_up
        );
        return Told::new(ExplainVerdict::Missed, answer).next(format!(
            "Run what was missed: tenure schedule backfill {} --from {} --until {}.",
            typed(name),
            slot.plan_time,
            slot.missed_until.unwrap_or(slot.plan_time)
        ));
    }
    if at < schedule.created_at {
        let answer = format!("{name} was made later, at {}.", schedule.created_at);
        return Told::new(ExplainVerdict::BeforeSchedule, answer);
    }
    if schedule.end_at.is_some_and(|end| at > end) {
        return Told::new(
            ExplainVerdict::AfterEnd,
            format!("{name} has ended: no slot after its end_at."),
        );
    }
    if schedule.state == ScheduleState::Failing {
        let why = schedule
            .error_message
            .as_deref()
            .unwrap_or("its rule cannot be computed");
        return Told::new(ExplainVerdict::Unplanned, format!("{name} fails: {why}"));
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
        return Told::new(ExplainVerdict::NoSlot, answer).next(format!(
            "See the moments it names: tenure schedule preview {}.",
            typed(name)
        ));
    }
    if at > now {
        return Told::new(
            ExplainVerdict::Unplanned,
            "It is still to come; the slots before it are first.",
        );
    }
    if at <= schedule.plan_from {
        let answer = format!(
            "The rule is as it is since {}; what stood before had no slot then, it was not yet planned when the rule was changed, or its record is past its retention.",
            schedule.plan_from
        );
        return Told::new(ExplainVerdict::Unplanned, answer);
    }
    if schedule.catch_up == CatchUp::EveryPlan && schedule.planned_to.is_some_and(|to| at > to) {
        let answer = format!(
            "It is late, and is caught up in its turn: {name} has come to {}.",
            told_to(schedule)
        );
        return Told::new(ExplainVerdict::Unplanned, answer);
    }
    if schedule.planned_to.is_some_and(|to| at < to) {
        return Told::new(ExplainVerdict::Unplanned, "Its record is past its retention.");
    }
    Told::new(
        ExplainVerdict::Unplanned,
        format!("No scheduler has looked at {name} since."),
    )
    .next("See whether a server runs, and whether it can reach the database: tenure health, tenure doctor.")
}

fn of_slot(name: &str, slot: &Slot, now: Timestamp) -> Told {
    let code = slot.error_code.as_deref().unwrap_or("no code");
    let message = slot.error_message.as_deref().unwrap_or("");
    let job = slot.job_id.map(|id| id.to_string()).unwrap_or_default();
    match (&slot.state, &slot.skip_reason) {
        (SlotState::Planned, _) => match slot.waiting_since {
            Some(since) => Told::new(
                ExplainVerdict::Planned,
                format!("It is due and waits since {since} for another run of {name} to end."),
            )
            .next(format!(
                "See that run: tenure schedule slots {} --state running.",
                typed(name)
            )),
            None if slot.due_at > now => Told::new(
                ExplainVerdict::Planned,
                format!("It is planned and starts at {}.", slot.due_at),
            ),
            None => Told::new(
                ExplainVerdict::Planned,
                format!("It was due at {} and no scheduler has started it yet.", slot.due_at),
            )
            .next("See whether a server runs: tenure health, tenure doctor."),
        },
        (SlotState::Running, _) => {
            let state = slot.job_state.as_ref().map_or("queued", |state| state.as_str());
            Told::new(ExplainVerdict::Running, format!("It runs: job {job} is {state}."))
                .next(format!("See why it does not end: tenure job explain {job}."))
        }
        (SlotState::Succeeded, _) => Told::new(
            ExplainVerdict::Succeeded,
            format!("It ran and succeeded: job {job}{}.", took(slot)),
        ),
        (SlotState::Failed, _) => Told::new(ExplainVerdict::Failed, format!("It ran and failed: {code}. {message}"))
            .next(format!("See its attempts: tenure job timeline {job}.")),
        (SlotState::Cancelled, _) => Told::new(ExplainVerdict::Cancelled, format!("Its run was cancelled. {message}")),
        (_, Some(SkipReason::Overlap)) => Told::new(
            ExplainVerdict::Skipped,
            format!("It was skipped: another run of {name} was under way. {message}"),
        )
        .next("Let slots wait with the overlap queue, or make the run faster."),
        (_, Some(SkipReason::Paused)) => Told::new(
            ExplainVerdict::Skipped,
            format!("It was skipped: {name} was paused. {message}"),
        ),
        (_, Some(SkipReason::MissedWindow)) => {
            let answer = format!("It was skipped: nobody was there to start it in time. {message}");
            Told::new(ExplainVerdict::Missed, answer).next(format!(
                "Run it after all: tenure schedule backfill {} --from {1} --until {1}.",
                typed(name),
                slot.plan_time
            ))
        }
        (_, Some(SkipReason::Superseded)) => Told::new(
            ExplainVerdict::Skipped,
            format!("It was planned and then given up. {message}"),
        ),
        (_, Some(SkipReason::Refused)) => Told::new(
            ExplainVerdict::Skipped,
            format!("Its job was refused: {code}. {message}"),
        )
        .next(format!("See what it means: tenure errors {code}.")),
        (state, _) => Told::new(state.as_str().into(), format!("Its state is {state}.")),
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
