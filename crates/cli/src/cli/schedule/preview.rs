//! `tenure schedule preview`: when it runs next, and what a rule means.

use clap::Args;
use tenure::schedules::{moment, preview_rule};
use tenure::store::Timestamp;
use tenure_api::schedules::{RulePreview, SchedulePreview, ScheduleRule};
use tenure_core::limits::PREVIEW_SLOTS_MAX;

use super::spec::RuleFlags;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Format, Output, json_of};
use crate::values::{Number, Seconds};

#[derive(Debug, Args)]
pub(crate) struct Preview {
    /// Its name; without one, say the rule
    #[arg(required_unless_present_any = ["cron", "every"], conflicts_with_all = ["cron", "every", "zone", "start", "end"])]
    pub(super) name: Option<String>,
    #[command(flatten)]
    rule: RuleFlags,
    /// How many slots
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "10",
        allow_negative_numbers = true
    )]
    count: Number,
}

impl Preview {
    fn count(&self) -> Outcome<i32> {
        Ok(self.count.within("count", 1..=PREVIEW_SLOTS_MAX as u32)? as i32)
    }

    /// Of a schedule.
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let count = self.count()?;
        let name = self.name.unwrap_or_default();
        let (preview, _) = session.perform(&SchedulePreview { name, count }).await?;
        print(session.out, &preview)
    }

    /// Of a rule, by the clock of this machine.
    pub(super) fn of_rule(&self, out: Output) -> Outcome {
        let (flags, now) = (&self.rule, Timestamp::now());
        let zone = flags.zone.as_deref().unwrap_or("UTC");
        let time = |text: &Option<String>| {
            let at = text.as_deref().map(|text| moment(text, zone, None, now));
            at.transpose()
        };
        let rule = ScheduleRule {
            cron: flags.cron.clone(),
            every_seconds: Seconds::read_option(flags.every.as_ref(), "every")?,
            zone: flags.zone.clone(),
            start_at: time(&flags.start)?,
            end_at: time(&flags.end)?,
        };
        print(out, &preview_rule(&rule, now, self.count()?)?)
    }
}

fn print(out: Output, preview: &RulePreview) -> Outcome {
    match out.format {
        Format::People => {
            out.text(&told_rule(preview))?;
            out.text(&told_slots(preview))
        }
        Format::Json => out.json(&json_of(preview)?),
        Format::Quiet => out.list(&[], &preview.slots, &["plan_time"], ""),
    }
}

/// The rule in words, and what is in its way.
pub(super) fn told_rule(preview: &RulePreview) -> String {
    match &preview.note {
        Some(note) => format!("Rule: {}. {note}", preview.rule),
        None => format!("Rule: {}.", preview.rule),
    }
}

/// The slots that will come, each as the clock there and as UTC.
pub(super) fn told_slots(preview: &RulePreview) -> String {
    if preview.slots.is_empty() {
        return "No slot will come.".to_owned();
    }
    let mut text = "Next slots:".to_owned();
    for slot in &preview.slots {
        let there = local(&slot.local);
        let utc = slot.plan_time.to_string();
        let at = if there.ends_with('Z') {
            String::new()
        } else {
            format!("  ({utc})")
        };
        text.push_str(&format!("\n  {there}{at}"));
    }
    text
}

/// `Mon 2026-11-16 03:00:00+01:00` of `2026-11-16T03:00:00+01:00[Europe/Berlin]`: with its weekday.
pub(super) fn local(text: &str) -> String {
    let text = text.split('[').next().unwrap_or(text);
    let text = text
        .strip_suffix("+00:00")
        .map_or(text.to_owned(), |utc| format!("{utc}Z"));
    let weekday = text
        .get(..10)
        .and_then(|date| date.parse::<jiff::civil::Date>().ok())
        .map(|date| date.strftime("%a ").to_string());
    format!("{}{}", weekday.unwrap_or_default(), text.replacen('T', " ", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_time_has_its_weekday() {
        assert_eq!(
            local("2026-11-16T03:00:00+01:00[Europe/Berlin]"),
            "Mon 2026-11-16 03:00:00+01:00"
        );
        assert_eq!(local("2026-11-17T00:00:00+00:00[UTC]"), "Tue 2026-11-17 00:00:00Z");
        assert_eq!(local("nonsense"), "nonsense");
    }
}
