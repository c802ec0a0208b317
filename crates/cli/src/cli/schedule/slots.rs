//! `tenure schedule slots` and `explain`: what became of slots, and why.

use clap::Args;
use serde_json::{Value, json};
use tenure::store::Timestamp;
use tenure_api::schedules::{ScheduleExplain, ScheduleExplanation, ScheduleSlots, Slot, SlotOrigin, SlotState};
use tenure_core::hints::{self, Surface};

use super::moments;
use super::preview::local;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, json_of, printable, shown};
use crate::values::{Number, short};

pub(super) const EXAMPLE: &str = "\
Example:
  tenure schedule explain nightly --at 03:00";

const SLOTS: &[Column] = &[
    Column("PLAN TIME", "plan_time_at"),
    Column("STATE", "state"),
    Column("WHY", "why"),
    Column("ATTEMPTS", "attempts"),
    Column("STARTED", "started_at"),
    Column("TOOK", "took"),
    Column("JOB", "job_id"),
];

#[derive(Debug, Args)]
pub(crate) struct Slots {
    /// Its name
    name: String,
    /// Only those planned, running, succeeded, failed, cancelled or skipped
    #[arg(long, short, value_name = "STATE")]
    state: Vec<String>,
    /// Not before: RFC 3339, or a time in its zone such as 2026-11-16T03:00
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Not after
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only slots earlier than this
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// The next page, as the page before named it
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "50",
        allow_negative_numbers = true
    )]
    limit: Number,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Its name
    name: String,
    /// RFC 3339, or a time in its zone: 2026-11-16T03:00, or 03:00 for the last one
    #[arg(long, value_name = "TIME")]
    at: String,
}

impl Slots {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let texts = [self.from.as_deref(), self.until.as_deref(), self.before.as_deref()];
        let [from, until, before] = moments(&mut session, &self.name, texts).await?;
        let states: Vec<SlotState> = self.state.iter().map(|state| state.as_str().into()).collect();
        let list = ScheduleSlots {
            name: self.name,
            state: (!states.is_empty()).then_some(states),
            from,
            until,
            before,
            cursor: self.cursor,
            limit: self.limit.read("limit")?,
        };
        let (found, _) = session.perform(&list).await?;
        let mut rows: Vec<Value> = found.items.iter().map(json_of).collect::<Result<_, _>>()?;
        if session.out.format == Format::People {
            for (row, slot) in rows.iter_mut().zip(&found.items) {
                row["plan_time_at"] = row["plan_time"].clone();
                row["why"] = json!(why(slot));
                row["took"] = json!(slot.duration_ms.map(took));
            }
        }
        let empty = "No slots. The next are planned by a server; `tenure schedule preview` tells them.";
        session.out.list(SLOTS, &rows, &["plan_time", "state"], empty)?;
        if let Some(next) = found.next {
            session.out.note(&format!("There may be more: --cursor {next}"));
        }
        Ok(())
    }
}

/// Why it is where it is, in a word or two.
fn why(slot: &Slot) -> Option<String> {
    let missed = slot.missed.filter(|missed| *missed > 1);
    match (&slot.skip_reason, &slot.error_code) {
        (Some(reason), Some(code)) => Some(format!("{reason}: {code}")),
        (Some(reason), None) => Some(match missed {
            Some(missed) => format!("{reason}, {missed} slots"),
            None => reason.to_string(),
        }),
        (None, Some(code)) => Some(code.clone()),
        (None, None) if slot.waiting_since.is_some() => Some("waits for another run".to_owned()),
        (None, None) => (slot.origin != SlotOrigin::Rule).then(|| slot.origin.to_string()),
    }
}

/// `0.8s`, `1m12s`.
fn took(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{:.1}s", ms as f64 / 1000.0),
        _ => short(ms / 1000),
    }
}

impl Explain {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let [at] = moments(&mut session, &self.name, [Some(self.at.as_str())]).await?;
        let at = at.unwrap_or_else(Timestamp::now);
        let name = self.name;
        let (mut told, _) = session.perform(&ScheduleExplain { name, at }).await?;
        told.next_step = told.next_step.map(|step| hints::on(Surface::Command, &step));
        match session.out.format {
            Format::People => session.out.text(&facts(&told)),
            _ => session.out.object(&told, &[], &["verdict"]),
        }
    }
}

/// The answer, what it rests upon, and what to do.
fn facts(told: &ScheduleExplanation) -> String {
    let time = |at: Timestamp| shown("at", &json!(at));
    let mut lines = vec![told.answer.trim_end().to_owned(), String::new()];
    let mut say = |what: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("  {what:<11}{value}")));
    };
    say("asked", Some(local(&told.local)));
    if let Some(slot) = &told.slot {
        say("slot", Some(format!("{} ({})", time(slot.plan_time), slot.state)));
        say("rule", Some(format!("{} ({})", slot.expression, slot.zone)));
        say("due", Some(time(slot.due_at)));
        say("started", slot.started_at.map(time));
        say("ended", slot.ended_at.map(time));
        say("job", slot.job_id.map(|job| job.to_string()));
        say("worker", slot.worker.clone());
    } else {
        say("before", told.previous.map(time));
        say("after", told.following.map(time));
    }
    say("next", told.next.map(time));
    if let Some(step) = &told.next_step {
        lines.extend([String::new(), step.clone()]);
    }
    printable(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_short() {
        assert_eq!(took(840), "840ms");
        assert_eq!(took(1_840), "1.8s");
        assert_eq!(took(72_000), "1m12s");
    }
}
