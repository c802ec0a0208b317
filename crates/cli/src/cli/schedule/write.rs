//! `tenure schedule create`, `update` and `put`. Each tells at once what the rule means.

use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tenure_api::fields::describe;
use tenure_api::schedules::{
    ScheduleCreate, ScheduleOutcome, SchedulePreview, SchedulePut, ScheduleShow, ScheduleSpec, ScheduleUpdate,
    ScheduleWritten,
};
use tenure_core::names::nearest;
use tenure_core::{Refusal, codes};

use super::now;
use super::preview::{told_rule, told_slots};
use super::spec::SpecFlags;
use crate::cli::Behalf;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::Format;

pub(super) const EXAMPLE_CREATE: &str = "\
Example:
  tenure schedule create nightly --kind report --cron '0 3 * * MON-FRI' --zone Europe/Berlin";

pub(super) const EXAMPLE_UPDATE: &str = "\
Example:
  tenure schedule update nightly --cron '30 3 * * *' --default jitter";

/// The number of slots that are shown after a change.
const SLOTS: i32 = 3;

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Its name
    name: String,
    #[command(flatten)]
    spec: SpecFlags,
    #[command(flatten)]
    behalf: Behalf,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Its name
    name: String,
    #[command(flatten)]
    spec: SpecFlags,
    /// Take this field back, such as jitter: its default holds again
    #[arg(long = "default", value_name = "FIELD")]
    defaults: Vec<String>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Create {
    pub(super) async fn create(self, mut session: Session) -> Outcome {
        let create = ScheduleCreate {
            spec: self.read(&mut session).await?,
            name: self.name,
            on_behalf_of: self.behalf.on_behalf_of,
        };
        let (created, whole) = session.perform(&create).await?;
        tell(session, &created, &whole).await
    }

    pub(super) async fn put(self, mut session: Session) -> Outcome {
        let put = SchedulePut {
            spec: self.read(&mut session).await?,
            name: self.name,
            on_behalf_of: self.behalf.on_behalf_of,
        };
        let (declared, whole) = session.perform(&put).await?;
        tell(session, &declared, &whole).await
    }

    async fn read(&self, session: &mut Session) -> Outcome<ScheduleSpec> {
        let now = now(session).await?;
        let zone = self.spec.rule.zone.as_deref().unwrap_or("UTC");
        let mut spec = self.spec.read(zone, now)?;
        // The database says that a schedule names its kind; so does a server, but in the words of a body.
        spec.entry("kind").or_insert_with(|| Value::from(""));
        typed(spec)
    }
}

impl Update {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let mut zone = self.spec.rule.zone.clone().unwrap_or_default();
        if zone.is_empty() && self.spec.has_times() {
            let name = self.name.clone();
            zone = session.perform(&ScheduleShow { name }).await?.0.zone;
        }
        let now = now(&mut session).await?;
        let mut changes = self.spec.read(&zone, now)?;
        for word in &self.defaults {
            changes.insert(field_of(word)?, Value::Null);
        }
        let update = ScheduleUpdate {
            name: self.name,
            changes: typed(changes)?,
            on_behalf_of: self.behalf.on_behalf_of,
        };
        let (updated, whole) = session.perform(&update).await?;
        tell(session, &updated, &whole).await
    }
}

/// The members of a specification as its type.
fn typed<T: DeserializeOwned>(members: Map<String, Value>) -> Outcome<T> {
    let read = serde_json::from_value(Value::Object(members)).map_err(|error| {
        Refusal::new(
            codes::USAGE,
            "The command line cannot be understood.",
            error.to_string(),
            "See tenure help schedule.",
        )
    });
    Ok(read?)
}

/// The field that an option sets, by the name of either.
fn field_of(word: &str) -> Result<String, Refusal> {
    let field = match word.trim_start_matches("--").replace('-', "_").as_str() {
        "every" => "every_seconds",
        "jitter" => "jitter_seconds",
        "start" => "start_at",
        "end" => "end_at",
        "catch_up_window" => "catch_up_window_seconds",
        "catch_up_max" => "catch_up_slots_max",
        "run_timeout" => "run_timeout_seconds",
        "attempts" => "attempts_max",
        "backoff" => "backoff_base_seconds",
        other => other,
    }
    .to_owned();
    let fields = describe::<ScheduleUpdate>().fields.iter();
    let known: Vec<&str> = fields.filter(|it| it.is_in_spec).map(|it| it.name.as_str()).collect();
    if known.contains(&field.as_str()) {
        return Ok(field);
    }
    let next = match nearest(&field, known.iter().copied()) {
        Some(near) => format!("Did you mean {near}?"),
        None => "Name one of these.".to_owned(),
    };
    Err(Refusal::new(
        codes::VALUE_UNKNOWN,
        format!("A schedule has no field '{}'.", field.escape_debug()),
        format!("Its fields are {}.", known.join(", ")),
        next,
    ))
}

/// What was done, what the rule says, and the next slots, so that a mistake in the rule shows at once.
async fn tell(mut session: Session, written: &ScheduleWritten, whole: &Value) -> Outcome {
    let (out, schedule) = (session.out, &written.schedule);
    let name = &schedule.name;
    let outcome = match written.outcome {
        ScheduleOutcome::Created => format!("Created schedule {name}"),
        ScheduleOutcome::Updated => format!("Changed schedule {name}"),
        _ => format!("Schedule {name} is unchanged"),
    };
    let sentence = format!("{outcome}: it starts jobs of kind {}.", schedule.kind);
    out.done(&sentence, whole, &["name"])?;
    if out.format != Format::People {
        return Ok(());
    }
    let preview = SchedulePreview {
        name: name.clone(),
        count: SLOTS,
    };
    let (preview, _) = session.perform(&preview).await?;
    out.text(&told_rule(&preview))?;
    out.text(&told_slots(&preview))
}
