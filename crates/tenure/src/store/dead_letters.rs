//! Jobs that gave up: look, triage, replay.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A dead letter in a list.
    pub struct DeadLetter {
        /// Its id.
        pub dead_letter_id: Uuid,
        /// The job it was.
        pub job_id: Uuid,
        /// The job's kind.
        pub kind: String,
        /// The executor it was for.
        pub executor: String,
        /// Attempts that were made.
        pub attempts: i32,
        /// The code of the last error.
        pub error_code: Option<String>,
        /// The class of the last error.
        pub error_class: Option<String>,
        /// The last error.
        pub final_error: String,
        /// Groups errors that differ only in numbers, ids and quoted values.
        pub fingerprint: String,
        /// When it gave up.
        pub moved_at: Timestamp,
        /// Who moved it here.
        pub moved_by: String,
        /// What was decided about it.
        pub triage_status: String,
        /// Why.
        pub triage_note: Option<String>,
        /// By whom.
        pub triaged_by: Option<String>,
        /// The job a replay made of it.
        pub replayed_as: Option<Uuid>,
    }
}

/// Which dead letters to list; what is left out does not filter.
#[derive(Debug, Clone, Default)]
pub struct DeadLetterFilter {
    /// Only those of these triage statuses.
    pub triage_status: Option<Vec<String>>,
    /// Only those of this kind.
    pub kind: Option<String>,
    /// Only those of this error.
    pub fingerprint: Option<String>,
    /// Only those that gave up before: the time of the last one of the page before.
    pub before: Option<Timestamp>,
    /// With `before`, also those of that time that come after this one: the last one of the page before.
    pub before_id: Option<Uuid>,
    /// At most so many.
    pub limit: Option<i32>,
}

/// Dead letters, newest first (`tenure.dead_letter_list`).
pub async fn dead_letter_list(client: &impl GenericClient, filter: &DeadLetterFilter) -> Result<Vec<DeadLetter>> {
    Call::new("dead_letter_list")
        .maybe("p_triage_status", &filter.triage_status)
        .maybe("p_kind", &filter.kind)
        .maybe("p_fingerprint", &filter.fingerprint)
        .maybe("p_before", &filter.before)
        .maybe("p_before_id", &filter.before_id)
        .maybe("p_limit", &filter.limit)
        .rows(client)
        .await
}

/// Everything about one (`tenure.dead_letter_show`).
pub async fn dead_letter_show(client: &impl GenericClient, dead_letter_id: Uuid) -> Result<Value> {
    let call = Call::new("dead_letter_show").with("p_dead_letter_id", &dead_letter_id);
    call.value(client).await
}

/// Records a decision (`tenure.dead_letter_triage`).
pub async fn dead_letter_triage(
    client: &impl GenericClient,
    dead_letter_id: Uuid,
    status: &str,
    note: Option<&str>,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("dead_letter_triage")
        .with("p_dead_letter_id", &dead_letter_id)
        .with("p_status", &status)
        .maybe("p_note", &note)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// What a replay would do (`tenure.dead_letter_replay_preview`).
pub async fn dead_letter_replay_preview(client: &impl GenericClient, dead_letter_id: Uuid) -> Result<Value> {
    let call = Call::new("dead_letter_replay_preview").with("p_dead_letter_id", &dead_letter_id);
    call.value(client).await
}

/// Makes a new job of a dead letter, once (`tenure.dead_letter_replay`).
pub async fn dead_letter_replay(
    client: &impl GenericClient,
    dead_letter_id: Uuid,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("dead_letter_replay")
        .with("p_dead_letter_id", &dead_letter_id)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}
