//! `tenure schedule`: planned runs, each of which is a row.

mod backfill;
mod preview;
mod read;
mod slots;
mod spec;
mod write;

use clap::Subcommand;
use serde_json::json;
use tenure::schedules::{moment, rhythm_of};
use tenure::store::Timestamp;
use tenure_api::health::Now;
use tenure_api::schedules::{
    ScheduleDelete, SchedulePause, ScheduleRan, ScheduleResume, ScheduleRun, ScheduleShow, SlotState,
};

use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::{Place, Session};
use crate::dev::quoted;
use crate::errors::Outcome;
use crate::output::{Output, shown};

#[derive(Debug, Subcommand)]
pub(crate) enum Schedule {
    #[command(flatten)]
    Plain(Chosen<Verbs>),
    /// Show when it runs next; or what a rule means, without a schedule
    Preview(Box<preview::Preview>),
    /// Create one
    #[command(after_help = write::EXAMPLE_CREATE)]
    Create(Box<write::Create>),
    /// Change what is named of one; the rest stays
    #[command(after_help = write::EXAMPLE_UPDATE)]
    Update(Box<write::Update>),
    /// Declare one: create it, make it equal to this, or leave it unchanged
    Put(Box<write::Create>),
    /// Run slots of the past that have not run: a dry run first
    #[command(after_help = backfill::EXAMPLE)]
    Backfill(backfill::Backfill),
    /// List its slots, newest first: what was planned, and what became of it
    Slots(slots::Slots),
    /// Explain why it did, or did not, run at a moment
    #[command(after_help = slots::EXAMPLE)]
    Explain(slots::Explain),
}

/// The verbs of `tenure schedule` that are one operation each.
pub(crate) struct Verbs;

impl Noun for Verbs {
    const VERBS: &'static [&'static dyn Command] = &[&read::LIST, &read::SHOW, &PAUSE, &RESUME, &RUN, &DELETE];
}

const PAUSE: Verb<SchedulePause> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<SchedulePause>::sentence("pause", |_, paused| {
        format!(
            "{} is paused since {} by {}: its slots are skipped until `tenure schedule resume {}`.",
            paused.name,
            shown("paused_at", &json!(paused.paused_at)),
            paused.paused_by.as_deref().unwrap_or_default(),
            quoted(&paused.name)
        )
    })
};

const RESUME: Verb<ScheduleResume> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<ScheduleResume>::sentence("resume", |_, resumed| {
        format!(
            "{} goes on with its next slot. Slots that were skipped stay skipped; a backfill runs them.",
            resumed.name
        )
    })
};

const RUN: Verb<ScheduleRun> = Verb {
    places: &["name"],
    quiet: &["job_id"],
    ..Verb::<ScheduleRun>::sentence("run", |_, ran| told(ran))
};

const DELETE: Verb<ScheduleDelete> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<ScheduleDelete>::sentence("delete", |_, deleted| {
        format!(
            "Deleted schedule {}; the record of its runs stays for its retention.",
            deleted.name
        )
    })
};

impl Schedule {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        let session = match &self {
            // A rule is understood without a database.
            Schedule::Preview(preview) if preview.name.is_none() => return preview.of_rule(out),
            _ => place.session(out).await?,
        };
        match self {
            Schedule::Plain(verb) => verb.run(session).await,
            Schedule::Preview(preview) => preview.run(session).await,
            Schedule::Create(create) => create.create(session).await,
            Schedule::Update(update) => update.run(session).await,
            Schedule::Put(put) => put.put(session).await,
            Schedule::Backfill(backfill) => backfill.run(session).await,
            Schedule::Slots(slots) => slots.run(session).await,
            Schedule::Explain(explain) => explain.run(session).await,
        }
    }
}

/// What became of a run by hand.
fn told(ran: &ScheduleRan) -> String {
    let (name, slot) = (&ran.schedule, &ran.slot);
    let plan_time = shown("at", &json!(slot.plan_time));
    match (&slot.state, slot.job_id) {
        (_, Some(job)) => format!("{name} runs: slot {plan_time}, job {job}."),
        (SlotState::Planned, None) => format!("{name} waits for its other run to end: slot {plan_time}."),
        (SlotState::Skipped, None) => {
            let reason = slot.skip_reason.as_ref().map(|reason| reason.as_str());
            let words = [reason, slot.error_code.as_deref(), slot.error_message.as_deref()];
            let words: Vec<&str> = words.into_iter().flatten().collect();
            format!(
                "{name} does not run, slot {plan_time} was skipped: {}",
                words.join(": ")
            )
        }
        (state, None) => format!("{name}: slot {plan_time} is {state}."),
    }
}

/// The time by the clock of the database.
async fn now(session: &mut Session) -> Outcome<Timestamp> {
    Ok(session.perform(&Now {}).await?.0.now)
}

/// The moment of each text: RFC 3339, or a time in the zone of the schedule.
async fn moments<const N: usize>(
    session: &mut Session,
    name: &str,
    texts: [Option<&str>; N],
) -> Outcome<[Option<Timestamp>; N]> {
    // A text with an offset needs no schedule.
    let read = texts.map(|text| text.and_then(|text| text.trim().parse().ok()));
    if texts.iter().zip(&read).all(|(text, at)| text.is_none() || at.is_some()) {
        return Ok(read);
    }
    let name = name.to_owned();
    let (schedule, _) = session.perform(&ScheduleShow { name }).await?;
    let now = now(session).await?;
    let rule = rhythm_of(&schedule).ok();
    let mut found = [None; N];
    for (place, text) in found.iter_mut().zip(texts) {
        if let Some(text) = text {
            *place = Some(moment(text, &schedule.zone, rule.as_ref(), now)?);
        }
    }
    Ok(found)
}
