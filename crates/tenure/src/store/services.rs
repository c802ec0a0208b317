//! Services and their last runs.

use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A service, and whether any process runs it.
    pub struct Service {
        /// Its name.
        pub service: String,
        /// Whether it has run lately.
        pub is_running: bool,
        /// When it last ran to its end; none if it never did.
        pub last_run_at: Option<Timestamp>,
        /// Processes that run it.
        pub instances: i64,
        /// Their versions.
        pub versions: Vec<String>,
        /// The versions of the time zone data that they compute with.
        pub zones: Vec<String>,
        /// What does not happen while it does not run.
        pub effect: String,
    }
}

impl Service {
    /// What is wrong, in a sentence, if no process runs it.
    pub fn trouble(&self) -> Option<String> {
        let (service, effect) = (&self.service, &self.effect);
        // The others are named by what they look after.
        let doer = match service.as_str() {
            "reaper" | "scheduler" => service.clone(),
            _ => format!("{service} service"),
        };
        match self.last_run_at {
            _ if self.is_running => None,
            Some(at) => Some(format!("No {doer} has run since {at}: {effect}.")),
            None => Some(format!("No {doer} has ever run: {effect}.")),
        }
    }
}

/// Records that a service of this process has run (`tenure.service_beat`).
pub async fn service_beat(
    client: &impl GenericClient,
    service: &str,
    instance: Uuid,
    version: &str,
    zones: Option<&str>,
) -> Result<()> {
    Call::new("service_beat")
        .with("p_service", &service)
        .with("p_instance", &instance)
        .with("p_version", &version)
        .maybe("p_zones", &zones)
        .run(client, "answer")
        .await
        .map(drop)
}

/// Every service, and whether any process runs it (`tenure.service_list`).
pub async fn service_list(client: &impl GenericClient) -> Result<Vec<Service>> {
    Call::new("service_list").rows(client).await
}
