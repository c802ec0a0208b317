//! `tenure schedule create`, `update` and `put`. Each tells at once what the rule means.

use clap::Args;
use serde_json::Value;
use tenure::store::schedules::schedule_show;
use tenure::{schedules, store};

use super::preview::{told_rule, told_slots};
use super::spec::SpecFlags;
use crate::cli::Behalf;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Format, shown};
use crate::remote;

pub(super) const EXAMPLE_CREATE: &str = "\
Example:
  tenure schedule create nightly --kind report --cron '0 3 * * MON-FRI' --zone Europe/Berlin";

pub(super) const EXAMPLE_UPDATE: &str = "\
Example:
  tenure schedule update nightly --cron '30 3 * * *' --default jitter";

/// As many slots are told after a change.
const SLOTS: u32 = 3;

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
        let spec = self.read(&mut session).await?;
        let (name, behalf) = (&self.name, self.behalf.on_behalf_of.as_deref());
        let made = session
            .ask(remote::schedule_create(name, &spec, behalf), async |tx| {
                schedules::create(tx, name, &spec, behalf).await
            })
            .await?;
        tell(session, name, &made).await
    }

    pub(super) async fn put(self, mut session: Session) -> Outcome {
        let spec = self.read(&mut session).await?;
        let (name, behalf) = (&self.name, self.behalf.on_behalf_of.as_deref());
        let declared = session
            .ask(remote::schedule_put(name, &spec, behalf), async |tx| {
                schedules::put(tx, name, &spec, behalf).await
            })
            .await?;
        tell(session, name, &declared).await
    }

    async fn read(&self, session: &mut Session) -> Outcome<Value> {
        let now = session.call(remote::now(), async |tx| store::now(tx).await).await?;
        let zone = self.spec.rule.zone.as_deref().unwrap_or("UTC");
        let mut spec = self.spec.read(zone, now)?;
        // The database says that a schedule names its kind; so does a server, but in the words of a body.
        spec.entry("kind").or_insert_with(|| Value::from(""));
        Ok(Value::Object(spec))
    }
}

impl Update {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let name = &self.name;
        let mut zone = self.spec.rule.zone.clone().unwrap_or_default();
        if zone.is_empty() && self.spec.has_times() {
            let stands = session
                .call(remote::schedule_show(name), async |tx| schedule_show(tx, name).await)
                .await?;
            zone = stands.zone;
        }
        let now = session.call(remote::now(), async |tx| store::now(tx).await).await?;
        let mut changes = self.spec.read(&zone, now)?;
        for field in &self.defaults {
            changes.insert(field_of(field), Value::Null);
        }
        let (changes, behalf) = (Value::Object(changes), self.behalf.on_behalf_of.as_deref());
        let changed = session
            .ask(remote::schedule_update(name, &changes, behalf), async |tx| {
                schedules::update(tx, name, &changes, behalf).await
            })
            .await?;
        tell(session, name, &changed).await
    }
}

/// The field that an option sets, by the name of either.
fn field_of(word: &str) -> String {
    match word.trim_start_matches("--").replace('-', "_").as_str() {
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
    .to_owned()
}

/// What was done, what the rule says, and the slots that come first: whoever meant something else sees it here.
async fn tell(mut session: Session, name: &str, written: &Value) -> Outcome {
    let out = session.out;
    let outcome = match written["outcome"].as_str() {
        Some("created") => "is made",
        Some("updated") => "is changed",
        _ => "is as it was",
    };
    let kind = shown("kind", &written["kind"]);
    out.done(
        &format!("{name} {outcome}: it starts jobs of kind {kind}."),
        written,
        &["name"],
    )?;
    if out.format != Format::People {
        return Ok(());
    }
    let preview = session
        .call(remote::schedule_preview(name, SLOTS), async |tx| {
            schedules::preview(tx, name, SLOTS as usize).await
        })
        .await?;
    out.text(&told_rule(&preview))?;
    out.text(&told_slots(&preview))
}
