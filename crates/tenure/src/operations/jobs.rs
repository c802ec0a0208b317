//! Operations on jobs that are more than a plain call.

use tenure_api::jobs::{Enqueued, JobEnqueue, JobShow, JobState};
use tenure_api::{Priority, jobs as api};
use tenure_core::{Refusal, priority};
use tokio_postgres::GenericClient;

use super::Perform;
use crate::error::Result;
use crate::store::jobs::{self, NewJob};

impl TryFrom<api::NewJob> for NewJob {
    type Error = Refusal;

    fn try_from(new: api::NewJob) -> Result<NewJob, Refusal> {
        let priority = match new.priority {
            None => None,
            Some(Priority::Number(number)) => Some(number),
            Some(Priority::Name(name)) => Some(i32::from(priority::parse(&name)?)),
        };
        Ok(NewJob {
            kind: new.kind,
            payload: new.payload.map(|payload| payload.0),
            key: new.key,
            executor: new.executor,
            priority,
            due: new.due,
            deadline: new.deadline,
            source_ref: new.source_ref,
            target_ref: new.target_ref,
            payload_ref: new.payload_ref,
            classification: new.classification.map(|word| word.as_str().to_owned()),
            attempts_max: new.attempts_max,
            correlation_id: new.correlation_id,
            causation_event: new.causation_event,
            parent_job_id: new.parent_job_id,
            workflow_id: new.workflow_id,
            run_id: new.run_id,
            affinity_key: new.affinity_key,
            event_domain: new.event_domain,
            source_system: new.source_system,
            job_id: new.job_id,
        })
    }
}

impl Perform for JobEnqueue {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<Enqueued> {
        let job = NewJob::try_from(api::NewJob::from(self.clone()))?;
        let made = jobs::enqueue(client, &job, self.on_behalf_of.as_deref()).await?;
        Ok(Enqueued {
            job_id: made.job_id,
            duplicate: made.duplicate,
            state: JobState::from(made.state.as_str()),
        })
    }
}

/// In the database there is no wait: the caller asks again.
impl Perform for JobShow {}
