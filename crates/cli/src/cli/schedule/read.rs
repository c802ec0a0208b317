//! `tenure schedule list`, `show`, `preview`, `slots` and `explain`.

use clap::Args;
use serde_json::{Value, json};
use tenure::schedules::{self, Explanation, Preview as Previewed, Rule, moment, preview_rule, rhythm_of};
use tenure::store::Timestamp;
use tenure::store::schedules::{Schedule, Slot, SlotFilter, schedule_list, schedule_show, schedule_slots};
use tenure_core::limits::PREVIEW_SLOTS_MAX;

use super::moments;
use super::spec::RuleFlags;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, Output, json_of, shown};
use crate::remote;
use crate::values::{Number, Seconds, short};

pub(super) const EXAMPLE_EXPLAIN: &str = "\
Example:
  tenure schedule explain nightly --at 03:00";

const LIST: &[Column] = &[
    Column("NAME", "name"),
    Column("STATE", "state"),
    Column("KIND", "kind"),
    Column("RULE", "rule"),
    Column("NEXT", "next_at"),
    Column("LAST", "last_at"),
    Column("WENT", "went"),
    Column("RUNNING", "running"),
    Column("TROUBLE", "error_code"),
];

const SLOTS: &[Column] = &[
    Column("PLAN TIME", "plan_time_at"),
    Column("STATE", "state"),
    Column("WHY", "why"),
    Column("ATTEMPTS", "attempts"),
    Column("STARTED", "started_at"),
    Column("TOOK", "took"),
    Column("JOB", "job_id"),
];

const PREVIEW: &[Column] = &[Column("PLAN TIME", "plan_time"), Column("LOCAL TIME", "local")];

#[derive(Debug, Args)]
pub(crate) struct List {
    /// The next page: schedules after this name
    #[arg(long, value_name = "NAME")]
    after: Option<String>,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "100",
        allow_negative_numbers = true
    )]
    limit: Number,
}

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

#[derive(Debug, Args)]
pub(crate) struct Slots {
    /// Its name
    name: String,
    /// Only those planned, running, succeeded, failed, cancelled or skipped
    #[arg(long, short, value_name = "STATE")]
    state: Option<String>,
    /// Not before: RFC 3339, or a time in its zone such as 2026-11-16T03:00
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Not after
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The next page: slots earlier than this one
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
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

impl List {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (limit, after) = (self.limit.read("limit")?, self.after.as_deref());
        let found = session
            .call(remote::schedule_list(limit, after), async |tx| {
                schedule_list(tx, Some(limit), after).await
            })
            .await?;
        let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
        if session.out.format == Format::People {
            for (row, schedule) in rows.iter_mut().zip(&found) {
                row["rule"] = json!(rule(schedule));
                row["next_at"] = row["next_slot"].clone();
                row["last_at"] = row["last_slot"].clone();
                row["went"] = json!(went(schedule));
            }
        }
        let empty = "There are no schedules. `tenure schedule create NAME` makes one.";
        session.out.list(LIST, &rows, &["name"], empty)?;
        if let Some(last) = found
            .last()
            .filter(|_| usize::try_from(limit).is_ok_and(|limit| found.len() >= limit))
        {
            session.out.note(&format!("There may be more: --after {}", last.name));
        }
        Ok(())
    }
}

/// The rule in as few words as it can be written with.
fn rule(schedule: &Schedule) -> String {
    match (&schedule.cron, schedule.every_seconds) {
        (Some(cron), _) => format!("{cron} ({})", schedule.zone),
        (None, seconds) => format!("every {}", short(seconds.unwrap_or_default().into())),
    }
}

/// How the newest slot went: `skipped (overlap)`.
fn went(schedule: &Schedule) -> Option<String> {
    let state = schedule.last_state.as_deref()?;
    Some(match &schedule.last_reason {
        Some(reason) => format!("{state} ({reason})"),
        None => state.to_owned(),
    })
}

pub(super) async fn show(mut session: Session, name: &str) -> Outcome {
    let schedule: Schedule = session
        .call(remote::schedule_show(name), async |tx| schedule_show(tx, name).await)
        .await?;
    match session.out.format {
        Format::People => session.out.object(&told(&schedule)?, FIRST, &[]),
        _ => session.out.object(&schedule, &[], &["name"]),
    }
}

const FIRST: &[&str] = &[
    "name",
    "description",
    "state",
    "trouble",
    "paused",
    "rule",
    "starts",
    "for",
    "next",
    "last",
    "last success",
    "running",
    "waiting",
    "overlap",
    "catch_up",
];

/// What people ask of a schedule, in their words; then the rest of what it is.
fn told(schedule: &Schedule) -> Outcome<Value> {
    let time = |at: Timestamp| shown("at", &json!(at));
    let rhythm = rhythm_of(schedule);
    let there = |at: Timestamp| match &rhythm {
        Ok(rhythm) => local(&rhythm.local(at.micros().div_euclid(1_000_000))),
        Err(_) => time(at),
    };
    let mut told = json_of(schedule)?;
    // What is said in words, or was never set.
    for field in [
        "cron",
        "every_seconds",
        "zone",
        "kind",
        "scope_kind",
        "scope_id",
        "next_slot",
        "next_due",
        "last_slot",
        "last_state",
        "last_reason",
        "succeeded_slot",
        "succeeded_at",
        "planned_to",
        "plan_from",
        "paused_at",
        "paused_by",
        "pause_note",
        "error_code",
        "error_message",
    ] {
        told.as_object_mut().map(|fields| fields.remove(field));
    }
    if schedule.description.is_empty() {
        told["description"] = Value::Null;
    }
    if (schedule.scope_kind.as_str(), schedule.scope_id.as_str()) != ("global", "global") {
        told["for"] = json!(format!("{}/{}", schedule.scope_kind, schedule.scope_id));
    }
    if schedule.catch_up != "every_plan" {
        told["catch_up_window_seconds"] = Value::Null;
        told["catch_up_slots_max"] = Value::Null;
    }
    told["rule"] = match &rhythm {
        Ok(rhythm) => json!(rhythm.describe()),
        Err(_) => json!(rule(schedule)),
    };
    told["starts"] = json!(format!("jobs of kind {}", schedule.kind));
    told["next"] = json!(match (schedule.next_slot, schedule.state.as_str()) {
        (Some(slot), _) => match schedule.next_due.filter(|due| *due != slot) {
            Some(due) => format!("{}, starting at {}", there(slot), time(due)),
            None => there(slot),
        },
        (None, "ended") => "none: it has ended".to_owned(),
        (None, _) => "not planned yet: a server does it".to_owned(),
    });
    told["last"] = json!(match (schedule.last_slot, went(schedule)) {
        (Some(slot), Some(went)) => format!("{}: {went}", there(slot)),
        _ => "none yet".to_owned(),
    });
    told["last success"] = json!(match (schedule.succeeded_slot, schedule.succeeded_at) {
        (Some(slot), Some(at)) => format!("{}, done at {}", there(slot), time(at)),
        (Some(slot), None) => there(slot),
        _ => "none yet".to_owned(),
    });
    if let Some(at) = schedule.paused_at {
        let by = schedule.paused_by.as_deref().unwrap_or("somebody");
        let note = schedule.pause_note.as_ref().map(|note| format!(": {note}"));
        told["paused"] = json!(format!("since {} by {by}{}", time(at), note.unwrap_or_default()));
    }
    if let Some(code) = &schedule.error_code {
        let message = schedule.error_message.as_deref().unwrap_or_default();
        told["trouble"] = json!(format!("{code}: {message}"));
    }
    Ok(told)
}

impl Preview {
    fn count(&self) -> Outcome<u32> {
        Ok(self.count.within("count", 1..=PREVIEW_SLOTS_MAX as u32)?)
    }

    /// Of a schedule.
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (name, count) = (self.name.as_deref().unwrap_or_default(), self.count()?);
        let preview = session
            .call(remote::schedule_preview(name, count), async |tx| {
                schedules::preview(tx, name, count as usize).await
            })
            .await?;
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
        let mut rule = Rule::default();
        rule.cron = flags.cron.clone();
        rule.every_seconds = Seconds::read_option(flags.every.as_ref(), "every")?;
        rule.zone = flags.zone.clone();
        rule.start_at = time(&flags.start)?;
        rule.end_at = time(&flags.end)?;
        print(out, &preview_rule(&rule, now, self.count()? as usize)?)
    }
}

fn print(out: Output, preview: &Previewed) -> Outcome {
    match out.format {
        Format::People => {
            out.text(&told_rule(preview))?;
            out.text(&told_slots(preview))
        }
        Format::Json => out.json(&json_of(preview)?),
        Format::Quiet => out.list(PREVIEW, &preview.slots, &["plan_time"], ""),
    }
}

/// The rule in words, and what is in its way.
pub(super) fn told_rule(preview: &Previewed) -> String {
    match &preview.note {
        Some(note) => format!("Rule: {}. {note}", preview.rule),
        None => format!("Rule: {}.", preview.rule),
    }
}

/// The slots that will come, each as the clock there and as UTC.
pub(super) fn told_slots(preview: &Previewed) -> String {
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

/// `Mon 2026-11-16 03:00:00+01:00` of `2026-11-16T03:00:00+01:00[Europe/Berlin]`: nobody knows weekdays by heart.
fn local(text: &str) -> String {
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

impl Slots {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (name, limit) = (&self.name, self.limit.read("limit")?);
        let texts = [self.from.as_deref(), self.until.as_deref(), self.before.as_deref()];
        let [from, until, before] = moments(&mut session, name, texts).await?;
        let filter = SlotFilter {
            state: self.state,
            from,
            until,
            limit: Some(limit),
            before,
        };
        let found = session
            .call(remote::schedule_slots(name, &filter), async |tx| {
                schedule_slots(tx, name, &filter).await
            })
            .await?;
        let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
        if session.out.format == Format::People {
            for (row, slot) in rows.iter_mut().zip(&found) {
                row["plan_time_at"] = row["plan_time"].clone();
                row["why"] = json!(why(slot));
                row["took"] = json!(slot.duration_ms.map(took));
            }
        }
        let empty = "No slots. The next are planned by a server; `tenure schedule preview` tells them.";
        session.out.list(SLOTS, &rows, &["plan_time", "state"], empty)?;
        if let Some(last) = found
            .last()
            .filter(|_| usize::try_from(limit).is_ok_and(|limit| found.len() >= limit))
        {
            session
                .out
                .note(&format!("There may be more: --before {}", last.plan_time));
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
            None => reason.clone(),
        }),
        (None, Some(code)) => Some(code.clone()),
        (None, None) if slot.waiting_since.is_some() => Some("waits for another run".to_owned()),
        (None, None) => (slot.origin != "rule").then(|| slot.origin.clone()),
    }
}

/// `0.8s`, `1m12s`.
fn took(ms: i64) -> String {
    match ms {
        ..60_000 => format!("{:.1}s", ms as f64 / 1000.0),
        _ => short(ms / 1000),
    }
}

impl Explain {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let name = &self.name;
        let [at] = moments(&mut session, name, [Some(self.at.as_str())]).await?;
        let at = at.unwrap_or_else(Timestamp::now);
        let told = session
            .call(remote::schedule_explain(name, at), async |tx| {
                schedules::explain(tx, name, at).await
            })
            .await?;
        match session.out.format {
            Format::People => session.out.text(&facts(&told)),
            _ => session.out.object(&told, &[], &["verdict"]),
        }
    }
}

/// The answer, what it rests upon, and what to do.
fn facts(told: &Explanation) -> String {
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
    crate::output::printable(&lines.join("\n"))
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

    #[test]
    fn a_duration_is_short() {
        assert_eq!(took(840), "0.8s");
        assert_eq!(took(72_000), "1m12s");
    }
}
