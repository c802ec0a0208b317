//! `tenure schedule`: planned runs, each of which is a row.

mod backfill;
mod preview;
mod read;
mod slots;
mod spec;
mod write;

use clap::{Args, Subcommand};
use serde_json::Value;
use tenure::schedules::{moment, rhythm_of};
use tenure::store::schedules::{self, Schedule as Stored};
use tenure::store::{self, Timestamp};

use super::Behalf;
use crate::connect::{Place, Session};
use crate::dev::quoted;
use crate::errors::Outcome;
use crate::output::{Output, shown};
use crate::remote;

#[derive(Debug, Subcommand)]
pub(crate) enum Schedule {
    /// List schedules, and where each stands
    #[command(visible_alias = "ls")]
    List(read::List),
    /// Show one: its rule in words, when it runs next, and how it went last
    Show {
        /// Its name
        name: String,
    },
    /// Say when it runs next; or what a rule means, without a schedule
    Preview(Box<preview::Preview>),
    /// Make one
    #[command(after_help = write::EXAMPLE_CREATE)]
    Create(Box<write::Create>),
    /// Change what is named of one; the rest stays
    #[command(after_help = write::EXAMPLE_UPDATE)]
    Update(Box<write::Update>),
    /// Declare one: it is made, made equal to this, or left alone
    Put(Box<write::Create>),
    /// Skip its slots as they come, until it is resumed; what runs goes on
    Pause {
        /// Its name
        name: String,
        /// Why, for whoever wonders
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        #[command(flatten)]
        behalf: Behalf,
    },
    /// Let one go on with its next slot
    Resume(Named),
    /// Run one now, paused or not: a slot of its own
    Run(Named),
    /// Run slots of the past that nobody ran: a dry run first
    #[command(after_help = backfill::EXAMPLE)]
    Backfill(backfill::Backfill),
    /// End one; its slots stay until their retention is over
    Delete {
        /// Its name
        name: String,
    },
    /// List its slots, newest first: what was planned, and what became of it
    Slots(slots::Slots),
    /// Say why it did, or did not, run at a moment
    #[command(after_help = slots::EXAMPLE)]
    Explain(slots::Explain),
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Its name
    name: String,
    #[command(flatten)]
    behalf: Behalf,
}

impl Schedule {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        let mut session = match &self {
            // A rule needs nobody to be understood.
            Schedule::Preview(preview) if preview.name.is_none() => return preview.of_rule(out),
            _ => place.session(out).await?,
        };
        match self {
            Schedule::List(list) => list.run(session).await,
            Schedule::Show { name } => read::show(session, &name).await,
            Schedule::Preview(preview) => preview.run(session).await,
            Schedule::Create(create) => create.create(session).await,
            Schedule::Update(update) => update.run(session).await,
            Schedule::Put(put) => put.put(session).await,
            Schedule::Pause { name, note, behalf } => {
                let (note, behalf) = (note.as_deref(), behalf.on_behalf_of.as_deref());
                let paused = session
                    .ask(remote::schedule_pause(&name, note, behalf), async |tx| {
                        schedules::schedule_pause(tx, &name, note, behalf).await
                    })
                    .await?;
                let part = |field: &str| shown(field, &paused[field]);
                let sentence = format!(
                    "{name} is paused since {} by {}: its slots are skipped until `tenure schedule resume {}`.",
                    part("paused_at"),
                    part("paused_by"),
                    quoted(&name)
                );
                session.out.done(&sentence, &paused, &["name"])
            }
            Schedule::Resume(Named { name, behalf }) => {
                let behalf = behalf.on_behalf_of.as_deref();
                let resumed = session
                    .ask(remote::schedule_resume(&name, behalf), async |tx| {
                        schedules::schedule_resume(tx, &name, behalf).await
                    })
                    .await?;
                let sentence =
                    format!("{name} goes on with its next slot; what was skipped stays so, unless it is backfilled.");
                session.out.done(&sentence, &resumed, &["name"])
            }
            Schedule::Run(Named { name, behalf }) => {
                let behalf = behalf.on_behalf_of.as_deref();
                let slot = session
                    .ask(remote::schedule_run(&name, behalf), async |tx| {
                        schedules::schedule_run(tx, &name, behalf).await
                    })
                    .await?;
                session.out.done(&ran(&name, &slot), &slot, &["job_id"])
            }
            Schedule::Backfill(backfill) => backfill.run(session).await,
            Schedule::Delete { name } => {
                let ended = session
                    .ask(remote::schedule_delete(&name), async |tx| {
                        schedules::schedule_delete(tx, &name, None).await
                    })
                    .await?;
                let sentence = format!("{name} is no more; what it ran stays on record.");
                session.out.done(&sentence, &ended, &["name"])
            }
            Schedule::Slots(slots) => slots.run(session).await,
            Schedule::Explain(explain) => explain.run(session).await,
        }
    }
}

/// What became of a run that was asked for.
fn ran(name: &str, slot: &Value) -> String {
    let part = |field: &str| shown(field, &slot[field]);
    let plan_time = shown("at", &slot["plan_time"]);
    match (slot["state"].as_str(), &slot["job_id"]) {
        (_, Value::String(job)) => format!("{name} runs: slot {plan_time}, job {job}."),
        (Some("planned"), _) => format!("{name} waits for its other run to end: slot {plan_time}."),
        (Some("skipped"), _) => {
            let words = [part("skip_reason"), part("error_code"), part("error_message")];
            let words: Vec<&str> = words
                .iter()
                .map(String::as_str)
                .filter(|word| !word.is_empty())
                .collect();
            format!(
                "{name} does not run, slot {plan_time} was skipped: {}",
                words.join(": ")
            )
        }
        _ => format!("{name}: slot {plan_time} is {}.", part("state")),
    }
}

/// The moment of each text: RFC 3339, or a time in the zone of the schedule.
async fn moments<const N: usize>(
    session: &mut Session,
    name: &str,
    texts: [Option<&str>; N],
) -> Outcome<[Option<Timestamp>; N]> {
    // Nobody is asked about what stands in the text.
    let read = texts.map(|text| text.and_then(|text| text.trim().parse().ok()));
    if texts.iter().zip(&read).all(|(text, at)| text.is_none() || at.is_some()) {
        return Ok(read);
    }
    let schedule: Stored = session
        .call(remote::schedule_show(name), async |tx| {
            schedules::schedule_show(tx, name).await
        })
        .await?;
    let now = session.call(remote::now(), async |tx| store::now(tx).await).await?;
    let rule = rhythm_of(&schedule).ok();
    let mut found = [None; N];
    for (place, text) in found.iter_mut().zip(texts) {
        if let Some(text) = text {
            *place = Some(moment(text, &schedule.zone, rule.as_ref(), now)?);
        }
    }
    Ok(found)
}
