//! A job as a notification brings it.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::store::jobs::ClaimedJob;
use crate::store::{Payload, Timestamp};

/// What a hand-over tells: all about the job, or only that there is one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Handed {
    /// The name of the offer.
    pub(super) offer: String,
    #[serde(flatten)]
    pub(super) told: Option<Told>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Told {
    lane: i32,
    job_id: Uuid,
    kind: String,
    executor: String,
    due: Timestamp,
    attempts_max: i16,
    leased_at: Timestamp,
    leased_until: Timestamp,
    run_until: Option<Timestamp>,
    payload: String,
    idempotency_key: Option<String>,
    enqueued_by: String,
    traceparent: Option<String>,
}

impl Told {
    /// The job, held under the token of its offer. What is not told has no value: only plain jobs are handed over.
    pub(super) fn job(self, token: Uuid) -> ClaimedJob {
        ClaimedJob {
            job_id: self.job_id,
            token,
            lane: self.lane,
            rank: 0,
            due: self.due,
            kind: self.kind,
            executor: self.executor,
            state: "in_progress".to_owned(),
            run: 1,
            attempt: 1,
            attempts_max: self.attempts_max,
            leased_at: self.leased_at,
            leased_until: self.leased_until,
            started_at: Some(self.leased_at),
            run_until: self.run_until,
            deadline_at: None,
            payload: Payload::of_text(self.payload),
            payload_classification: "safe_metadata".to_owned(),
            source_ref: None,
            target_ref: None,
            payload_ref: None,
            idempotency_key: self.idempotency_key,
            affinity_key: None,
            correlation_id: None,
            parent_job_id: None,
            workflow_id: None,
            run_id: None,
            enqueued_by: self.enqueued_by,
            created_at: self.due,
            traceparent: self.traceparent,
            step: None,
            slot: None,
            fence: None,
        }
    }
}

/// The name of an offer, which tells nothing of its token.
pub(super) fn name_of(token: Uuid) -> String {
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
