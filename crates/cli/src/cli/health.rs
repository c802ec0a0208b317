//! `tenure health`: how it is, in one look.

use clap::Args;
use tenure::store::health;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Format, shown};
use crate::remote;

#[derive(Debug, Args)]
pub(crate) struct Health {}

impl Health {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let mut health = session
            .ask(remote::health(), async |tx| health::health(tx).await)
            .await?;
        // A server says which time zones it computes with; on a database it is this program that does.
        if let Some(object) = health.as_object_mut() {
            object.entry("zones").or_insert_with(|| zones_shown().into());
        }
        if session.out.format != Format::People {
            return session.out.object(&health, &[], &["backlog"]);
        }
        let mut flat = health.clone();
        if let Some(object) = flat.as_object_mut()
            && let Some(services) = object.remove("services")
        {
            let missing = services.as_object().into_iter().flatten();
            let missing = missing.filter(|(_, service)| service["is_running"] != true);
            let names: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
            let shown = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            object.insert("services_missing".to_owned(), shown.into());
        }
        if let Some(object) = flat.as_object_mut()
            && let Some(gates) = object.remove("gates")
        {
            for (gate, open) in gates.as_object().into_iter().flatten() {
                let position = if *open == true { "open" } else { "closed" };
                object.insert(gate.clone(), position.into());
            }
            let age = shown("", &object["oldest_queued_age_s"]);
            let seconds = age.split('.').next().unwrap_or_default().to_owned();
            object.insert("oldest_queued_age_s".to_owned(), seconds.into());
        }
        session.out.object(
            &flat,
            &[
                "at",
                "backlog",
                "retry_waiting",
                "in_progress",
                "dead_letter_open",
                "oldest_queued_age_s",
                "lease_active",
                "lease_expired",
                "executors_alive",
                "services_missing",
                "zones",
            ],
            &[],
        )
    }
}

/// The time zone data of this program: version and source.
pub(crate) fn zones_shown() -> String {
    tenure::zones::current().to_string()
}
