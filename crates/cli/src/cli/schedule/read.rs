//! `tenure schedule list` and `show`.

use serde_json::{Value, json};
use tenure::schedules::rhythm_of;
use tenure::store::Timestamp;
use tenure_api::schedules::{CatchUp, Schedule, ScheduleList, ScheduleShow, ScheduleState};

use super::preview::local;
use crate::cli::verb::Verb;
use crate::output::{Column, shown};
use crate::values::short;

pub(super) const LIST: Verb<ScheduleList> = Verb {
    shorts: &[("limit", 'n')],
    quiet: &["name"],
    row: Some(|row| {
        if let Ok(schedule) = serde_json::from_value::<Schedule>(row.clone()) {
            row["rule"] = json!(rule(&schedule));
            row["next_at"] = row["next_slot"].clone();
            row["last_at"] = row["last_slot"].clone();
            row["went"] = json!(went(&schedule));
        }
    }),
    ..Verb::table(
        "list",
        &[
            Column("NAME", "name"),
            Column("STATE", "state"),
            Column("KIND", "kind"),
            Column("RULE", "rule"),
            Column("NEXT", "next_at"),
            Column("LAST", "last_at"),
            Column("WENT", "went"),
            Column("RUNNING", "running"),
            Column("TROUBLE", "error_code"),
        ],
        "There are no schedules. `tenure schedule create NAME` creates one.",
    )
};

pub(super) const SHOW: Verb<ScheduleShow> = Verb {
    places: &["name"],
    quiet: &["name"],
    row: Some(|whole| {
        if let Ok(schedule) = serde_json::from_value(whole.clone()) {
            tell(&schedule, whole);
        }
    }),
    ..Verb::fields("show", FIRST)
};

/// The rule in as few words as it can be written with.
fn rule(schedule: &Schedule) -> String {
    match (&schedule.cron, schedule.every_seconds) {
        (Some(cron), _) => format!("{cron} ({})", schedule.zone),
        (None, seconds) => format!("every {}", short(seconds.unwrap_or_default().into())),
    }
}

/// How the newest slot went: `skipped (overlap)`.
fn went(schedule: &Schedule) -> Option<String> {
    let state = schedule.last_state.as_ref()?;
    Some(match &schedule.last_reason {
        Some(reason) => format!("{state} ({reason})"),
        None => state.to_string(),
    })
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

/// What people want to know of a schedule, in words, instead of the fields that say it.
fn tell(schedule: &Schedule, told: &mut Value) {
    let time = |at: Timestamp| shown("at", &json!(at));
    let rhythm = rhythm_of(schedule);
    let there = |at: Timestamp| match &rhythm {
        Ok(rhythm) => local(&rhythm.local(at.micros().div_euclid(1_000_000))),
        Err(_) => time(at),
    };
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
    if schedule.catch_up != CatchUp::EveryPlan {
        told["catch_up_window_seconds"] = Value::Null;
        told["catch_up_slots_max"] = Value::Null;
    }
    told["rule"] = json!(match (&rhythm, &schedule.cron) {
        (Ok(rhythm), Some(cron)) => format!("{cron}, {}", rhythm.describe()),
        (Ok(rhythm), None) => rhythm.describe(),
        (Err(_), _) => rule(schedule),
    });
    told["starts"] = json!(format!("jobs of kind {}", schedule.kind));
    told["next"] = json!(match (schedule.next_slot, &schedule.state) {
        (Some(slot), _) => match schedule.next_due.filter(|due| *due != slot) {
            Some(due) => format!("{}, starting at {}", there(slot), time(due)),
            None => there(slot),
        },
        (None, ScheduleState::Ended) => "none: it has ended".to_owned(),
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
        let by = schedule.paused_by.as_deref().unwrap_or_default();
        let note = schedule.pause_note.as_ref().map(|note| format!(": {note}"));
        told["paused"] = json!(format!("since {} by {by}{}", time(at), note.unwrap_or_default()));
    }
    if let Some(code) = &schedule.error_code {
        let message = schedule.error_message.as_deref().unwrap_or_default();
        told["trouble"] = json!(format!("{code}: {message}"));
    }
}
