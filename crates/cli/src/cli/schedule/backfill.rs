//! `tenure schedule backfill`.

use clap::Args;
use serde_json::json;
use tenure::store::Timestamp;
use tenure_api::schedules::{BackfillMode, BackfillVerdict, ScheduleBackfill};

use super::moments;
use crate::cli::Behalf;
use crate::connect::Session;
use crate::dev::quoted;
use crate::errors::Outcome;
use crate::output::{Column, Format, json_of};
use crate::values::{Number, Seconds, short};

pub(super) const EXAMPLE: &str = "\
Example:
  tenure schedule backfill nightly --from 2026-11-01 --until 2026-11-15T12:00 --stagger 30s
shows what would run; with --apply it does.";

const LIST: &[Column] = &[
    Column("PLAN TIME", "plan_time_at"),
    Column("VERDICT", "told"),
    Column("STATE", "state"),
    Column("DUE", "due_at"),
];

#[derive(Debug, Args)]
pub(crate) struct Backfill {
    /// Its name
    name: String,
    /// Not before: RFC 3339, or a time in its zone such as 2026-11-16T03:00
    #[arg(long, value_name = "TIME")]
    from: String,
    /// Not after, and not in the future
    #[arg(long, value_name = "TIME")]
    until: String,
    /// Let so much lie between the starts of two of them
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    stagger: Option<Seconds>,
    /// Do it
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    behalf: Behalf,
}

impl Backfill {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let stagger_seconds = match Seconds::read_option(self.stagger.as_ref(), "stagger")? {
            // Refused as any other number that is too large.
            Some(seconds) => Number::from(seconds).read("stagger")?,
            None => 0,
        };
        let texts = [Some(self.from.as_str()), Some(self.until.as_str())];
        let (from, until) = match moments(&mut session, &self.name, texts).await? {
            [Some(from), Some(until)] => (from, until),
            _ => unreachable!("each text is a moment, or refused"),
        };
        let backfill = ScheduleBackfill {
            name: self.name.clone(),
            from,
            until,
            mode: match self.apply {
                true => BackfillMode::Apply,
                false => BackfillMode::DryRun,
            },
            stagger_seconds,
            on_behalf_of: self.behalf.on_behalf_of.clone(),
        };
        let slots = session.perform(&backfill).await?.0.items;
        let mut rows = slots.iter().map(json_of).collect::<Result<Vec<_>, _>>()?;
        let people = session.out.format == Format::People;
        if people {
            for row in &mut rows {
                row["told"] = match (row["verdict"].as_str(), self.apply) {
                    (Some("runs"), false) => json!("would run"),
                    (_, _) => row["verdict"].clone(),
                };
                row["plan_time_at"] = row["plan_time"].clone();
            }
        }
        let empty = "The rule has no slot in this range.";
        session.out.list(LIST, &rows, &["plan_time", "verdict"], empty)?;
        let count = slots
            .iter()
            .filter(|slot| slot.verdict == BackfillVerdict::Runs)
            .count();
        match people && !slots.is_empty() {
            true => session.out.text(&self.told(count, slots.len(), (from, until))),
            false => Ok(()),
        }
    }

    /// What was done, or how it is done.
    fn told(&self, runs: usize, all: usize, (from, until): (Timestamp, Timestamp)) -> String {
        if self.apply {
            return format!(
                "{runs} of {all} slots are planned; each starts when it is due, and none beside another that it may not overlap."
            );
        }
        if runs == 0 {
            return "Dry run: none of them would run, all stand.".to_owned();
        }
        let name = quoted(&self.name);
        let stagger = match self.stagger.as_ref().map(|stagger| stagger.read("stagger")) {
            Some(Ok(seconds)) => format!(" --stagger {}", short(seconds)),
            _ => String::new(),
        };
        format!(
            "Dry run, nothing was changed: {runs} of {all} slots would run. To run them:\n  tenure schedule backfill {name} --from {from} --until {until}{stagger} --apply"
        )
    }
}
