//! Operations on held jobs that are more than a plain call.

use serde_json::{Value, json};
use tenure_api::jobs::JobState;
use tenure_api::work::{self as api, Claimed, EndAnswer, EndStatus, JobClaim, JobFail, RunEnd};
use tenure_core::Refusal;
use tokio_postgres::GenericClient;

use super::{Perform, unreadable, word_unknown};
use crate::error::Result;
use crate::store::jobs::{self, Claim, ClaimMode, End, Hold, Outcome};

impl TryFrom<JobClaim> for Claim {
    type Error = Refusal;

    fn try_from(claim: JobClaim) -> Result<Claim, Refusal> {
        Ok(Claim {
            worker: claim.worker,
            executor: claim.executor,
            kinds: claim.kinds,
            limit: Some(claim.limit),
            lease_seconds: claim.lease_seconds,
            mode: match &claim.mode {
                api::ClaimMode::Leased => ClaimMode::Leased,
                api::ClaimMode::Started => ClaimMode::Started,
                other => return Err(word_unknown("mode", other.as_str(), api::ClaimMode::WORDS)),
            },
            token: claim.token,
            affinity_key: claim.affinity_key,
            priority_min: claim.priority_min,
            lane_after: None,
            hint: None,
            hint_alone: false,
        })
    }
}

/// In the database there is no wait: the caller asks again.
impl Perform for JobClaim {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<Claimed> {
        let claim = Claim::try_from(self.clone())?;
        let jobs = jobs::claim_many(client, &claim).await?;
        let jobs: Value = json!({"jobs": jobs});
        Ok(serde_json::from_value(jobs).map_err(|error| unreadable("job_claim_many", &error.to_string()))?)
    }
}

impl From<api::Hold> for Hold {
    fn from(hold: api::Hold) -> Hold {
        Hold::new(hold.job_id, hold.token)
    }
}

impl TryFrom<RunEnd> for End {
    type Error = Refusal;

    fn try_from(end: RunEnd) -> Result<End, Refusal> {
        let outcome = match &end.outcome {
            api::Outcome::Succeeded => Outcome::Succeeded,
            api::Outcome::Failed => Outcome::Failed,
            api::Outcome::FailedPermanently => Outcome::FailedPermanently,
            api::Outcome::Cancelled => Outcome::Cancelled,
            api::Outcome::Snoozed => Outcome::Snoozed,
            api::Outcome::Released => Outcome::Released,
            other => return Err(word_unknown("outcome", other.as_str(), api::Outcome::WORDS)),
        };
        Ok(End {
            hold: Hold::new(end.job_id, end.token),
            outcome,
            result: end.result.map(|result| result.0),
            result_ref: end.result_ref,
            error_code: end.error_code,
            error_class: end.error_class,
            error_message: end.error_message,
            delay_seconds: end.delay_seconds,
        })
    }
}

impl Perform for JobFail {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<EndAnswer> {
        let outcome = match self.permanent {
            true => Outcome::FailedPermanently,
            false => Outcome::Failed,
        };
        let mut end = End::new(self.job_id, self.token, outcome);
        end.error_message = Some(self.message.clone());
        end.error_code = self.code.clone();
        end.error_class = self.class.clone();
        end.delay_seconds = self.retry_seconds;
        let answer = jobs::fail(client, &end).await?;
        Ok(EndAnswer {
            job_id: answer.job_id,
            status: EndStatus::from(answer.status.as_str()),
            state: answer.state.as_deref().map(JobState::from),
            next_due: answer.next_due,
        })
    }
}
