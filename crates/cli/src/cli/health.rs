//! `tenure health`: what waits, runs, failed and is late.

use clap::Args;
use serde_json::{Value, json};
use tenure_api::health::HealthShow;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct Health {}

impl Health {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (health, mut whole) = session.perform(&HealthShow {}).await?;
        if session.out.format != Format::People {
            return session.out.object(&whole, &[], &["backlog"]);
        }
        let missing = health.services.iter().filter(|(_, service)| !service.is_running);
        let missing: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        let missing = match missing.is_empty() {
            true => "none".to_owned(),
            false => missing.join(", "),
        };
        if let Value::Object(fields) = &mut whole {
            fields.remove("services");
            fields.remove("gates");
            fields.insert("services_missing".to_owned(), missing.into());
            let seconds = health.oldest_queued_age_s.trunc() as i64;
            fields.insert("oldest_queued_age_s".to_owned(), json!(seconds));
            for (gate, open) in health.gates {
                fields.insert(gate, if open { "open" } else { "closed" }.into());
            }
        }
        session.out.object(
            &whole,
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
