//! Executions of a program: a plan is submitted, waited for and looked after.

use std::future::IntoFuture;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use tenure_api::Json;
use tenure_api::approvals::{
    Approval, ApprovalDecide, ApprovalDecided, ApprovalFilter, ApprovalList, ApprovalState, Decision,
};
use tenure_api::executions::{
    ExecutionCancel, ExecutionCancelled, ExecutionDetails, ExecutionEvent, ExecutionPlan, ExecutionPreview,
    ExecutionResolve, ExecutionResolved, ExecutionRetried, ExecutionRetry, ExecutionShow, ExecutionSubmit,
    ExecutionSubmitted, ExecutionTimeline, ExecutionWithdraw, ExecutionWithdrawn, PlanPreview, Verdict,
};
use tenure_core::plan::{Mode, Plan};
use tenure_core::{Refusal, codes};
use tokio::time::Instant;
use uuid::Uuid;

use super::Client;
use crate::error::Result;
use crate::operations::{Perform, call, plan_document};
use crate::store::Timestamp;
use crate::store::executions::execution_background;

/// How often to ask: often at first, when the end may be near, then less.
const POLL_FIRST: Duration = Duration::from_millis(10);
const POLL_LAST: Duration = Duration::from_secs(1);
/// Events of a timeline that are read at once.
const EVENTS_MAX: i32 = 1000;
/// No wait is meant to be longer: one year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Client {
    /// Submits a plan: it is frozen, and runs as soon as it may. The same plan of the same requester is not submitted twice
    /// while it is under way.
    ///
    /// ```no_run
    /// # async fn run(client: tenure::Client) -> anyhow::Result<()> {
    /// use std::time::Duration;
    /// use tenure::executions::{NewPlan, NewStep, SlaClass};
    ///
    /// let restart = NewStep::new("restart", "service.restart").target("service", "shop");
    /// let plan = NewPlan::new("restart the shop", SlaClass::Medium).step(restart).build()?;
    /// let submitted = client.submit(&plan).key("release-4.2").wait(Duration::from_secs(45)).await?;
    /// let execution = client.execution(submitted.execution_id).show().await?;
    /// println!("{}: {:?}", execution.state, execution.waiting_for);
    /// # Ok(())
    /// # }
    /// ```
    pub fn submit<'a>(&'a self, plan: &'a Plan) -> Submit<'a> {
        Submit {
            client: self,
            plan,
            submission: ExecutionSubmit {
                plan: plan_document(plan),
                key: None,
                plan_hash: Some(plan.hash()),
                supersedes: None,
                start_after: None,
                start_before: None,
                metadata: None,
                on_behalf_of: self.on_behalf_of.as_deref().map(str::to_owned),
                wait_seconds: None,
            },
            wait: None,
        }
    }

    /// The execution of this id, whether there is one or not.
    pub fn execution(&self, execution_id: Uuid) -> KnownExecution {
        KnownExecution {
            client: self.clone(),
            execution_id,
        }
    }

    /// What is to be approved, oldest first.
    pub async fn approvals(&self) -> Result<Vec<Approval>> {
        Ok(call(&*self.pool.get().await?, &ApprovalList::default()).await?.items)
    }

    /// What would become of a plan: which approvals, locks and timeouts. Nothing is written.
    pub async fn preview(&self, plan: &Plan) -> Result<PlanPreview> {
        let preview = ExecutionPreview {
            plan: plan_document(plan),
            on_behalf_of: self.on_behalf_of.as_deref().map(str::to_owned),
        };
        call(&*self.pool.get().await?, &preview).await
    }
}

/// A plan that is about to be submitted: `await` it. See [`Client::submit`].
#[derive(Debug, Clone)]
#[must_use = "nothing is submitted until it is awaited"]
pub struct Submit<'a> {
    client: &'a Client,
    plan: &'a Plan,
    submission: ExecutionSubmit,
    wait: Option<Duration>,
}

impl<'a> Submit<'a> {
    /// The same key and plan is the same execution; another plan under this key is refused as `plan_differs`.
    pub fn key(mut self, key: impl Into<String>) -> Submit<'a> {
        self.submission.key = Some(key.into());
        self
    }

    /// Waits until it is over, or waits for somebody, for at most so long. An immediate one goes on in the background then.
    pub fn wait(mut self, timeout: Duration) -> Submit<'a> {
        self.wait = Some(timeout);
        self
    }

    /// Takes the place of one that has not started. Its approvals stay if the plans are equal.
    pub fn supersedes(mut self, execution_id: Uuid) -> Submit<'a> {
        self.submission.supersedes = Some(execution_id);
        self
    }

    /// Does not start before this moment.
    pub fn start_after(mut self, at: impl Into<Timestamp>) -> Submit<'a> {
        self.submission.start_after = Some(at.into());
        self
    }

    /// Does not start after this moment.
    pub fn start_before(mut self, at: impl Into<Timestamp>) -> Submit<'a> {
        self.submission.start_before = Some(at.into());
        self
    }

    /// What the caller wants to find again beside the plan: a JSON object.
    pub fn metadata(mut self, metadata: Value) -> Submit<'a> {
        self.submission.metadata = Some(Json(metadata));
        self
    }

    async fn send(self) -> Result<ExecutionSubmitted> {
        let mut submitted = {
            let connection = self.client.pool.get().await?;
            call(&*connection, &self.submission).await?
        };
        let Some(timeout) = self.wait else {
            return Ok(submitted);
        };
        let execution = self.client.execution(submitted.execution_id);
        let shown = execution.settled_within(timeout).await?;
        if !shown.settled && self.plan.mode() == Mode::Immediate {
            let connection = self.client.pool.get().await?;
            execution_background(&*connection, submitted.execution_id).await?;
        }
        submitted.state = shown.state;
        Ok(submitted)
    }
}

impl<'a> IntoFuture for Submit<'a> {
    type Output = Result<ExecutionSubmitted>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<ExecutionSubmitted>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// An execution by its id; see [`Client::execution`].
#[derive(Debug, Clone)]
pub struct KnownExecution {
    client: Client,
    execution_id: Uuid,
}

impl KnownExecution {
    /// Its id.
    pub fn id(&self) -> Uuid {
        self.execution_id
    }

    /// What it is, how far, and what it waits for.
    pub async fn show(&self) -> Result<ExecutionDetails> {
        let show = ExecutionShow {
            execution_id: self.execution_id,
            wait_seconds: None,
        };
        call(&*self.client.pool.get().await?, &show).await
    }

    /// Its plan, as it was frozen.
    pub async fn plan(&self) -> Result<Plan> {
        let plan = ExecutionPlan {
            execution_id: self.execution_id,
        };
        let frozen = plan.perform(&*self.client.pool.get().await?).await?;
        Ok(Plan::read(&frozen.canonical)?)
    }

    /// What happened to it, oldest first, after this number.
    pub async fn timeline(&self, after: Option<i32>) -> Result<Vec<ExecutionEvent>> {
        let timeline = ExecutionTimeline {
            execution_id: self.execution_id,
            after,
            cursor: None,
            limit: EVENTS_MAX,
        };
        Ok(call(&*self.client.pool.get().await?, &timeline).await?.items)
    }

    /// Waits until it is over, or waits for somebody: for an approval, or for a verdict. One that does neither in this time is
    /// refused as `wait_timeout`, and goes on. The database is asked ever less often; no connection is kept meanwhile.
    pub async fn wait(&self, timeout: Duration) -> Result<ExecutionDetails> {
        let shown = self.settled_within(timeout).await?;
        if shown.settled {
            return Ok(shown);
        }
        Err(Refusal::new(
            codes::WAIT_TIMEOUT,
            format!("The execution {} is not over after {timeout:?}.", self.execution_id),
            format!("It is {}.", shown.state),
            "Wait again, or see what it waits for with tenure execution show.",
        )
        .into())
    }

    async fn settled_within(&self, timeout: Duration) -> Result<ExecutionDetails> {
        let until = Instant::now() + timeout.min(LONGEST);
        let mut pause = POLL_FIRST;
        loop {
            let shown = self.show().await?;
            let left = until.saturating_duration_since(Instant::now());
            if shown.settled || left.is_zero() {
                return Ok(shown);
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 3 / 2).min(POLL_LAST);
        }
    }

    /// Allows just the plan with this hash, as the caller's database login: never its own, and never as an agent. The open
    /// approval of the plan is meant; [`KnownExecution::decide`] names any other.
    pub async fn approve(&self, plan_hash: &str, comment: Option<&str>) -> Result<ApprovalDecided> {
        let open = self.open_approval().await?;
        self.decide(open, Decision::Approve, plan_hash, comment).await
    }

    /// Rejects it, and says why.
    pub async fn reject(&self, plan_hash: &str, comment: &str) -> Result<ApprovalDecided> {
        let open = self.open_approval().await?;
        self.decide(open, Decision::Reject, plan_hash, Some(comment)).await
    }

    /// Decides about one of its approvals.
    pub async fn decide(
        &self,
        approval_id: Uuid,
        decision: Decision,
        plan_hash: &str,
        comment: Option<&str>,
    ) -> Result<ApprovalDecided> {
        let decide = ApprovalDecide {
            approval_id,
            decision,
            plan_hash: plan_hash.to_owned(),
            comment: comment.map(str::to_owned),
            on_behalf_of: self.whom(),
        };
        call(&*self.client.pool.get().await?, &decide).await
    }

    /// Cancels it: no more of its steps start, and running ones are asked to stop.
    pub async fn cancel(&self, reason: &str) -> Result<ExecutionCancelled> {
        let cancel = ExecutionCancel {
            execution_id: self.execution_id,
            reason: reason.to_owned(),
            on_behalf_of: self.whom(),
        };
        call(&*self.client.pool.get().await?, &cancel).await
    }

    /// Withdraws the caller's own before it starts.
    pub async fn withdraw(&self, reason: &str) -> Result<ExecutionWithdrawn> {
        let withdraw = ExecutionWithdraw {
            execution_id: self.execution_id,
            reason: reason.to_owned(),
        };
        call(&*self.client.pool.get().await?, &withdraw).await
    }

    /// Decides about a step whose outcome is not known.
    pub async fn resolve(
        &self,
        step_id: &str,
        verdict: Verdict,
        reason: &str,
        result: Option<Value>,
    ) -> Result<ExecutionResolved> {
        let resolve = ExecutionResolve {
            execution_id: self.execution_id,
            step_id: step_id.to_owned(),
            verdict,
            reason: reason.to_owned(),
            result: result.map(Json),
            on_behalf_of: self.whom(),
        };
        call(&*self.client.pool.get().await?, &resolve).await
    }

    /// Runs what is left of one that failed, as a new execution with approvals of its own.
    pub async fn retry(&self, reason: &str) -> Result<ExecutionRetried> {
        let retry = ExecutionRetry {
            execution_id: self.execution_id,
            mode: None,
            reason: Some(reason.to_owned()),
            on_behalf_of: self.whom(),
        };
        call(&*self.client.pool.get().await?, &retry).await
    }

    /// The approval of the whole plan that is open, else the last there was: the database says what became of it.
    async fn open_approval(&self) -> Result<Uuid> {
        let list = ApprovalList {
            execution_id: Some(self.execution_id),
            state: vec![ApprovalFilter::Any],
            ..ApprovalList::default()
        };
        let all = call(&*self.client.pool.get().await?, &list).await?.items;
        let of_plan = || all.iter().filter(|approval| approval.step_id.is_none());
        let open = of_plan().find(|approval| approval.state == ApprovalState::Pending);
        match open.or_else(|| of_plan().next_back()) {
            Some(approval) => Ok(approval.approval_id),
            None => Err(Refusal::new(
                codes::APPROVAL_UNKNOWN,
                format!("Nothing of execution {} is to be approved.", self.execution_id),
                "There is no such execution in this tenant, or it needs nobody's approval.",
                "See what is open: tenure approval list.",
            )
            .into()),
        }
    }

    fn whom(&self) -> Option<String> {
        self.client.on_behalf_of.as_deref().map(str::to_owned)
    }
}
