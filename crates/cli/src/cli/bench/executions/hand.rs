//! One hand at work: it submits plans, takes what is ready and ends it, each end timed.

use std::time::{Duration, Instant};

use tenure::operations::{call, plan_document};
use tenure::store::jobs::{self, Claim, End, NewJob};
use tenure_api::approval_rules::{ApprovalRuleDelete, ApprovalRuleList, ApprovalRuleSet, ApprovalRuleSpec};
use tenure_api::executions::{ExecutionCancel, ExecutionState, ExecutionSubmit};
use tenure_core::codes;
use tenure_core::plan::Plan;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::errors::{Outcome, refuse};

/// Who claims.
const WORKER: &str = "bench";

pub(super) struct Hand {
    client: Client,
    /// Random, so that nothing of an earlier run is met again. So are called the rule by which the plans need no approval, and the type of their targets: it
    /// holds for nothing else.
    name: String,
    submitted: u64,
    /// Those that may not be over.
    under_way: Vec<Uuid>,
}

impl Hand {
    /// With a rule that lets its plans run, until [`Hand::leave`].
    pub(super) async fn connect(url: &str) -> Outcome<Hand> {
        let client = tenure::pool::connect(url).await?;
        let name = format!("bench-{}", &Uuid::new_v4().simple().to_string()[..8]);
        let rules = call(&client, &ApprovalRuleList {}).await?.items;
        let first = rules.iter().map(|rule| rule.position).min().unwrap_or_default();
        let rule = ApprovalRuleSet {
            name: name.clone(),
            spec: ApprovalRuleSpec {
                position: Some(first - 1),
                target_types: Some(vec![name.clone()]),
                note: Some("For the plans of one run of tenure bench, which removes it.".to_owned()),
                ..ApprovalRuleSpec::at_level(0)
            },
        };
        call(&client, &rule).await?;
        Ok(Hand {
            client,
            name,
            submitted: 0,
            under_way: Vec::new(),
        })
    }

    /// What the targets of its plans are.
    pub(super) fn target_type(&self) -> &str {
        &self.name
    }

    /// A target that no plan had.
    pub(super) fn new_target(&self) -> String {
        format!("target-{:08}", self.submitted + 1)
    }

    /// Submits a plan, whose first steps are ready then.
    pub(super) async fn submit(&mut self, plan: &Plan) -> Outcome {
        self.submitted += 1;
        let submission = ExecutionSubmit {
            plan: plan_document(plan),
            key: Some(format!("{}-{:08}", self.name, self.submitted)),
            plan_hash: Some(plan.hash()),
            supersedes: None,
            start_after: None,
            start_before: None,
            metadata: None,
            on_behalf_of: None,
            wait_seconds: None,
        };
        let submitted = call(&self.client, &submission).await?;
        self.under_way.push(submitted.execution_id);
        if submitted.state != ExecutionState::Running {
            let why = match submitted.parked {
                Some(parked) => format!("It is {} and parked by a {parked}.", submitted.state),
                None => format!("It is {}, by the rule {}.", submitted.state, submitted.rule),
            };
            return Err(refuse(
                codes::STATE_CONFLICT,
                "A plan that bench submitted does not run.",
                why,
                "Lift what holds it up (tenure execution unfreeze), or leave the database out: then bench has a server of its own.",
            ));
        }
        Ok(())
    }

    /// All that was submitted is over.
    pub(super) fn done(&mut self) {
        self.under_way.clear();
    }

    /// Puts plain jobs in.
    pub(super) async fn enqueue(&self, jobs: &[NewJob]) -> Outcome {
        jobs::enqueue_many(&self.client, jobs, None).await?;
        Ok(())
    }

    /// Takes just so many jobs of this kind. Answers their ends, and how long it took.
    pub(super) async fn claim(&self, kind: &str, count: usize) -> Outcome<(Vec<End>, Duration)> {
        let claim = Claim::new(WORKER).kinds([kind]).limit(count as i32).started();
        let began = Instant::now();
        let claimed = jobs::claim_many(&self.client, &claim).await?;
        let took = began.elapsed();
        if claimed.len() < count {
            return Err(refuse(
                codes::STATE_CONFLICT,
                format!(
                    "{} of {count} jobs of the kind {kind} are there to be claimed.",
                    claimed.len()
                ),
                "Somebody else runs jobs of this kind here, it is paused or limited, or ends could not be followed up.",
                "End that, or leave the database out: then bench has a server of its own.",
            ));
        }
        let ends = claimed.iter().map(|job| End::succeeded(job.job_id, job.token));
        Ok((ends.collect(), took))
    }

    /// Ends jobs, and enqueues these, in one transaction. Answers how long it took.
    pub(super) async fn end(&mut self, ends: &[End], next: &[NewJob]) -> Outcome<Duration> {
        let began = Instant::now();
        let tx = self.client.transaction().await.map_err(tenure::Error::from)?;
        let answers = jobs::end_many(&tx, ends).await?;
        if !next.is_empty() {
            jobs::enqueue_many(&tx, next, None).await?;
        }
        tx.commit().await.map_err(tenure::Error::from)?;
        let took = began.elapsed();
        match answers.iter().find(|answer| !answer.is_ended()) {
            None => Ok(took),
            Some(answer) => Err(refuse(
                codes::STATE_CONFLICT,
                format!("The end of job {} was answered with {}.", answer.job_id, answer.status),
                "Somebody else has taken it away.",
                "End that, or leave the database out: then bench has a server of its own.",
            )),
        }
    }

    /// Takes back what a run that failed has left behind, and the rule.
    pub(super) async fn leave(mut self) -> Outcome {
        for execution_id in self.under_way.drain(..) {
            let cancel = ExecutionCancel {
                execution_id,
                reason: "the benchmark ended".to_owned(),
                on_behalf_of: None,
            };
            match call(&self.client, &cancel).await {
                // It was over.
                Err(tenure::Error::Refused(refusal)) if refusal.is(codes::STATE_CONFLICT) => {}
                other => drop(other?),
            }
        }
        let rule = ApprovalRuleDelete { name: self.name };
        call(&self.client, &rule).await?;
        Ok(())
    }
}
