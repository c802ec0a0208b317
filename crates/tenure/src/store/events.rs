//! The event stream.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// Something that happened, to one subject or to many jobs at once.
    pub struct Event {
        /// Where to go on reading.
        pub cursor: String,
        /// When.
        pub at: Timestamp,
        /// What, such as `job.succeeded`.
        pub kind: String,
        /// Who did it.
        pub actor: String,
        /// For whom.
        pub on_behalf_of: Option<String>,
        /// What it is about, if not jobs.
        pub subject: Option<String>,
        /// The kind of the jobs.
        pub job_kind: Option<String>,
        /// The executor of the jobs.
        pub executor: Option<String>,
        /// The jobs.
        pub job_ids: Option<Vec<Uuid>>,
        /// The run of each job.
        pub runs: Option<Vec<i32>>,
        /// More about it.
        pub data: Value,
        /// The request that caused it; none: by SQL.
        pub via: Option<String>,
    }
}

row! {
    /// How far the stream is held back, and by whom.
    pub struct StreamLag {
        /// The age of the oldest open transaction.
        pub held_seconds: Option<f64>,
        /// Its server process.
        pub pid: Option<i32>,
        /// Its login.
        pub login: Option<String>,
        /// Its application.
        pub application: Option<String>,
        /// Events that wait for it.
        pub waiting_events: Option<i64>,
    }
}

row! {
    /// Where a tenant's stream is now.
    pub struct StreamEnd {
        /// The tenant.
        pub tenant_id: i32,
        /// Its name.
        pub tenant: String,
        /// All that is listed so far lies before this cursor.
        pub cursor: String,
    }
}

/// Which events to list; what is left out does not filter.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Only those after this cursor.
    pub after: Option<String>,
    /// At most so many.
    pub limit: Option<i32>,
    /// Only those of this kind, or of this domain (`job.*`).
    pub kind: Option<String>,
    /// Only those about this subject.
    pub subject: Option<String>,
    /// The last of them instead of the first, still oldest first.
    pub newest: bool,
}

/// Events, oldest first (`tenure.event_list`).
pub async fn event_list(client: &impl GenericClient, filter: &EventFilter) -> Result<Vec<Event>> {
    Call::new("event_list")
        .maybe("p_after", &filter.after)
        .maybe("p_limit", &filter.limit)
        .maybe("p_kind", &filter.kind)
        .maybe("p_subject", &filter.subject)
        .maybe("p_newest", &filter.newest.then_some(true))
        .rows(client)
        .await
}

/// Where the stream is now (`tenure.event_end`).
pub async fn event_end(client: &impl GenericClient) -> Result<Option<StreamEnd>> {
    Ok(Call::new("event_end").rows(client).await?.into_iter().next())
}

/// Who holds the stream back (`tenure.stream_lag`).
pub async fn stream_lag(client: &impl GenericClient) -> Result<Vec<StreamLag>> {
    Call::new("stream_lag").rows(client).await
}
