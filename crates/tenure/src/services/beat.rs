//! The trace that a service leaves when it has run: workers, `tenure doctor`, health and metrics read it.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tokio_postgres::Client;
use uuid::Uuid;

use crate::store::services::service_beat;
use crate::zones;

/// A service writes its trace no more often.
const EVERY: Duration = Duration::from_secs(10);

/// Tells the processes apart.
static INSTANCE: LazyLock<Uuid> = LazyLock::new(Uuid::new_v4);

/// When a service last wrote its trace.
#[derive(Default)]
pub(super) struct Beat {
    written: Option<Instant>,
}

impl Beat {
    /// The service has run to its end. A trace that cannot be written is no failure of the service.
    pub(super) async fn ran(&mut self, service: &'static str, client: &Client) {
        if self.written.is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        let zones = zones::current().version.as_deref();
        match service_beat(client, service, *INSTANCE, env!("CARGO_PKG_VERSION"), zones).await {
            Ok(()) => self.written = Some(Instant::now()),
            Err(error) => tracing::debug!(service, code = error.code(), "no trace of its run: {error}"),
        }
    }
}
