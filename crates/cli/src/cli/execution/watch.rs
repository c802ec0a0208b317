//! `tenure execution watch`: the steps as they go. A terminal is redrawn; on a pipe each event is a line.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tenure_api::executions::ExecutionTimeline;
use tenure_core::codes;
use uuid::Uuid;

use super::lists::{lock_of, took};
use super::wait::look;
use crate::connect::Session;
use crate::errors::{Failure, Outcome};
use crate::output::{Column, Format, printable, shown, table_of};

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Steps that are drawn one by one; of more, those that are over or have not begun are counted.
const STEPS_DRAWN_MAX: usize = 20;
/// Events that are asked for at once.
const EVENTS_MAX: i32 = 1000;
/// The states that nothing changes.
const OVER: &[&str] = &["succeeded", "partially_failed", "failed", "cancelled", "rejected"];

const COLUMNS: &[Column] = &[
    Column("", "mark"),
    Column("LEVEL", "level"),
    Column("STEP", "step_id"),
    Column("STATE", "state"),
    Column("WORKER", "worker"),
    Column("TRY", "try"),
    Column("ELAPSED", "elapsed"),
    Column("WAITS FOR", "wait_note"),
];

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The execution
    execution: Uuid,
}

impl Watch {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match session.out.format == Format::People && io::stdout().is_terminal() {
            true => draw(session, self.execution).await,
            false => tell(session, self.execution).await,
        }
    }
}

/// Redraws the table until it is over.
async fn draw(mut session: Session, execution: Uuid) -> Outcome {
    let (began, clock) = (Instant::now(), session.now().await?);
    let style = ProgressStyle::with_template("{msg}").expect("a valid template");
    let screen = ProgressBar::new_spinner().with_style(style);
    let last = loop {
        let shown = look(&mut session, execution).await;
        let shown = match shown {
            Ok(shown) => shown,
            Err(failure) => {
                screen.finish();
                return Err(failure);
            }
        };
        let now = clock.as_microsecond() + i64::try_from(began.elapsed().as_micros()).unwrap_or_default();
        screen.set_message(frame(&shown, now));
        screen.tick();
        if is_over(&shown) {
            break shown;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    screen.finish();
    ended(&session, &last)
}

/// Prints each event as it comes, until it is over.
async fn tell(mut session: Session, execution: Uuid) -> Outcome {
    let mut after = 0;
    loop {
        // Before the events: what has happened by then is among them.
        let shown = look(&mut session, execution).await?;
        loop {
            let timeline = ExecutionTimeline {
                execution_id: execution,
                after: Some(after),
                cursor: None,
                limit: EVENTS_MAX,
            };
            let (page, whole) = session.perform(&timeline).await?;
            for event in whole["items"].as_array().into_iter().flatten() {
                match session.out.format {
                    Format::People => session.out.text(&line(event))?,
                    _ => session.out.list(&[], &[event], &["seq", "kind"], "")?,
                }
            }
            after = page.items.last().map_or(after, |last| last.seq);
            if page.next.is_none() {
                break;
            }
        }
        if is_over(&shown) {
            return ended(&session, &shown);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn is_over(shown: &Value) -> bool {
    shown["state"].as_str().is_some_and(|state| OVER.contains(&state))
}

/// The result, for people and for scripts: anything but success is an exit code of its own.
fn ended(session: &Session, shown: &Value) -> Outcome {
    if session.out.format == Format::People {
        session.out.text(&result(shown))?;
    }
    match shown["state"] == "succeeded" {
        true => Ok(()),
        false => Err(Failure::Told(codes::EXIT_REFUSED)),
    }
}

/// `Succeeded in 1m12s: 6 of 6 steps.`
fn result(shown: &Value) -> String {
    let part = |field: &str| shown_text(&shown[field]);
    let succeeded = shown_text(&shown["counts"]["succeeded"]);
    let took = shown["duration_ms"].as_i64().map(|ms| format!(" in {}", took(ms)));
    let mut text = format!(
        "{}{}: {succeeded} of {} steps succeeded.",
        part("state"),
        took.unwrap_or_default(),
        part("step_count")
    );
    for field in ["reason", "error_message"] {
        if !shown[field].is_null() {
            text.push_str(&format!("\n{}", part(field)));
        }
    }
    let id = part("execution_id");
    match shown["state"].as_str() {
        Some("failed" | "partially_failed") => text.push_str(&format!(
            "\nWhat happened: tenure execution timeline {id}\nTo run what is left: tenure execution retry {id} --reason TEXT"
        )),
        Some("cancelled" | "rejected") => text.push_str(&format!("\nWhat happened: tenure execution timeline {id}")),
        _ => {}
    }
    text
}

/// One event on a line.
fn line(event: &Value) -> String {
    let part = |field: &str| shown(field, &event[field]);
    let step = match event["step_id"].as_str() {
        Some(step) => format!("  step {}", printable(step)),
        None => String::new(),
    };
    let data = match &event["data"] {
        Value::Object(data) if !data.is_empty() => format!("  {}", printable(&event["data"].to_string())),
        _ => String::new(),
    };
    format!("{}  {}  {}{step}{data}", part("at"), part("kind"), part("actor"))
}

/// All that is drawn: a head, the steps, and what it waits for.
fn frame(shown: &Value, now: i64) -> String {
    let part = |field: &str| shown_text(&shown[field]);
    let elapsed = elapsed(&shown["started_at"], &shown["ended_at"], now);
    let mut lines = vec![
        format!(
            "{}  {}{}",
            part("purpose"),
            part("state"),
            elapsed.map(|elapsed| format!("  {elapsed}")).unwrap_or_default()
        ),
        String::new(),
    ];
    let steps: Vec<&Value> = shown["steps"].as_array().into_iter().flatten().collect();
    let levels = levels(&steps);
    let drawn = drawn(&steps, &levels);
    let level = |step: &Value| levels.get(id_of(step)).copied().unwrap_or_default();
    let rows: Vec<Value> = drawn.iter().map(|step| row(step, level(step), now)).collect();
    lines.push(table_of(COLUMNS, &rows));
    if drawn.len() < steps.len() {
        lines.push(format!("  … and {}", left_out(&steps, &drawn)));
    }
    let sections = shown["sections"].as_array().into_iter().flatten();
    let held = sections.filter(|section| section["state"] == "held").map(|section| {
        let part = |field: &str| shown_text(&section[field]);
        format!(
            "Section {} holds {} (fence {}).",
            part("section"),
            part("target"),
            part("fence")
        )
    });
    let held: Vec<String> = held.collect();
    if !held.is_empty() {
        lines.push(String::new());
        lines.extend(held);
    }
    let waits = shown["waiting_for"].as_array().into_iter().flatten();
    let waits: Vec<String> = waits.map(|reason| format!("· {}", shown_text(reason))).collect();
    if !waits.is_empty() {
        lines.push(String::new());
        lines.extend(waits);
    }
    lines.join("\n")
}

/// Those that are drawn: all of a small plan; of a large one what is going on first, then what went wrong, then the rest.
fn drawn<'a>(steps: &[&'a Value], levels: &HashMap<&str, usize>) -> Vec<&'a Value> {
    let mut chosen: Vec<(usize, &Value)> = steps.iter().copied().enumerate().collect();
    if chosen.len() > STEPS_DRAWN_MAX {
        chosen.sort_by_key(|(at, step)| (urgency(step), *at));
        chosen.truncate(STEPS_DRAWN_MAX);
    }
    let level = |step: &Value| levels.get(id_of(step)).copied().unwrap_or_default();
    chosen.sort_by_key(|(at, step)| (level(step), *at));
    chosen.into_iter().map(|(_, step)| step).collect()
}

fn id_of(step: &Value) -> &str {
    step["step_id"].as_str().unwrap_or_default()
}

/// How deep each step lies: a step needs only steps of lower levels.
fn levels<'a>(steps: &[&'a Value]) -> HashMap<&'a str, usize> {
    let needs = |step: &'a Value| step["needs"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut levels = HashMap::new();
    // Every round settles at least the next level; a plan has no cycles.
    while levels.len() < steps.len() {
        let before = levels.len();
        for step in steps
            .iter()
            .filter(|step| !levels.contains_key(id_of(step)))
            .collect::<Vec<_>>()
        {
            let below: Option<Vec<usize>> = needs(step).map(|need| levels.get(need).copied()).collect();
            if let Some(below) = below {
                levels.insert(id_of(step), below.into_iter().max().map_or(0, |level| level + 1));
            }
        }
        if levels.len() == before {
            break;
        }
    }
    levels
}

fn urgency(step: &Value) -> u8 {
    match step["state"].as_str() {
        Some("unknown" | "awaiting_approval") => 0,
        Some("running") => 1,
        Some("blocked" | "failed") => 2,
        Some("waiting") => 3,
        _ => 4,
    }
}

/// `12 succeeded, 170 waiting`.
fn left_out(steps: &[&Value], drawn: &[&Value]) -> String {
    let mut counts = BTreeMap::new();
    let is_drawn = |step: &&&Value| drawn.iter().any(|other| other["step_id"] == step["step_id"]);
    for step in steps.iter().filter(|step| !is_drawn(step)) {
        *counts.entry(shown_text(&step["state"])).or_insert(0) += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    counts.join(", ")
}

fn row(step: &Value, level: usize, now: i64) -> Value {
    let state = step["state"].as_str().unwrap_or_default();
    let mark = match state {
        "succeeded" => "✓",
        "failed" => "✗",
        "running" => "▸",
        "unknown" => "?",
        "blocked" | "awaiting_approval" => "‖",
        "skipped" | "cancelled" => "–",
        _ => "·",
    };
    let tries = step["attempt"].as_i64().filter(|attempt| *attempt > 0);
    json!({
        "mark": mark,
        "level": level,
        "step_id": step["step_id"],
        "state": state,
        "worker": step["worker"],
        "try": tries,
        "elapsed": elapsed(&step["started_at"], &step["ended_at"], now),
        "wait_note": waits_for(step),
    })
}

fn waits_for(step: &Value) -> Option<String> {
    let text = |field: &str| shown_text(&step[field]);
    match step["state"].as_str()? {
        "blocked" => {
            let place = step["waiting_place"].as_i64().map(|place| format!(", place {place}"));
            Some(format!("lock {}{}", lock_of(step), place.unwrap_or_default()))
        }
        "awaiting_approval" => Some("an approval".to_owned()),
        "unknown" => Some("a verdict".to_owned()),
        "failed" if !step["error_code"].is_null() => Some(text("error_code")),
        _ => None,
    }
}

/// From its start to its end, or until now.
fn elapsed(started: &Value, ended: &Value, now: i64) -> Option<String> {
    let micros = |at: &Value| {
        let at: jiff::Timestamp = at.as_str()?.parse().ok()?;
        Some(at.as_microsecond())
    };
    let started = micros(started)?;
    let until = micros(ended).unwrap_or(now);
    Some(took((until - started).max(0) / 1000))
}

fn shown_text(value: &Value) -> String {
    shown("", value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: usize, state: &str, needs: &[&str]) -> Value {
        json!({"step_id": format!("s{id}"), "state": state, "needs": needs, "worker": "w1", "attempt": 1,
               "started_at": "2026-01-01T00:00:00Z", "lock_key": "lock:v1:1:host:web-1", "waiting_place": 3})
    }

    #[test]
    fn a_frame_tells_who_runs_what_and_what_is_waited_for() {
        let shown = json!({"purpose": "restart", "state": "running", "started_at": "2026-01-01T00:00:00Z",
            "steps": [step(1, "running", &[]), step(2, "blocked", &["s1"])], "waiting_for": ["a lock"]});
        let at: jiff::Timestamp = "2026-01-01T00:00:02.5Z".parse().expect("a time");
        let frame = frame(&shown, at.as_microsecond());
        for part in [
            "restart  running  2.5s",
            "▸",
            "w1",
            "lock host:web-1, place 3",
            "· a lock",
        ] {
            assert!(frame.contains(part), "{part}: {frame}");
        }
    }

    #[test]
    fn of_a_large_plan_what_goes_on_is_drawn_and_the_rest_counted() {
        let mut steps: Vec<Value> = (0..200).map(|id| step(id, "succeeded", &[])).collect();
        steps[150]["state"] = json!("unknown");
        steps[199]["state"] = json!("running");
        let shown = json!({"purpose": "p", "state": "running", "steps": steps});
        let frame = frame(&shown, 0);
        assert!(frame.contains("s150") && frame.contains("s199"), "{frame}");
        assert!(frame.contains("… and 180 succeeded"), "{frame}");
    }
}
