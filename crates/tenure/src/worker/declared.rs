//! Schedules that a worker declares: made, or made equal, before its first claim.

use super::builder::Settings;
use super::trouble::{Log, Trouble};
use crate::client::Client;
use crate::error::Result;
use crate::pool::Pool;
use crate::schedules::{NewSchedule, ScheduleOutcome};

/// Declares them all. A database that is away or busy is waited for; what is refused is an error.
pub(super) async fn declare(pool: &Pool, settings: &Settings, schedules: &[(String, NewSchedule)]) -> Result<()> {
    let (client, log) = (Client::new(pool.clone()), Log::default());
    for (name, schedule) in schedules {
        let outcome = loop {
            match client.schedule(name).put(schedule).await {
                Ok(outcome) => break outcome,
                Err(error) if matches!(Trouble::of(&error), Trouble::Connection | Trouble::Busy) => {
                    tokio::time::sleep(log.trouble(&settings.name, &error)).await;
                }
                Err(error) => return Err(error.while_doing(&format!("Declaring the schedule {name}"))),
            }
        };
        log.fine(&settings.name);
        if outcome != ScheduleOutcome::Unchanged {
            tracing::info!(
                worker = &*settings.name,
                schedule = name,
                ?outcome,
                "declared a schedule"
            );
        }
    }
    Ok(())
}
