//! A worker's turn: the ends of one batch and the claim of the next in one statement.

use tokio_postgres::types::Json;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::claim::{Claim, ClaimedJob};
use super::end::{End, EndAnswer, Ends};
use crate::error::Result;
use crate::executions::StepInfo;
use crate::schedules::SlotInfo;
use crate::store::Timestamp;
use crate::store::call::Call;

/// What a turn brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The ends that did not simply succeed, each with the token it was given with.
    pub ends: Vec<TurnEnd>,
    /// New work.
    pub jobs: Vec<ClaimedJob>,
    /// The gate whose closing kept the turn from claiming. Its ends stand all the same.
    pub gate: Option<String>,
}

/// What became of an end. A job may come with two tokens in one turn, so the job alone does not name it.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The token it was given with.
    pub token: Uuid,
    /// What became of it.
    pub answer: EndAnswer,
}

impl TurnEnd {
    /// Job and token. A run that lost its lease may end in the same turn as the job's next run.
    pub(crate) fn pair(&self) -> (Uuid, Uuid) {
        (self.answer.job_id, self.token)
    }
}

/// What is read of a turn, in the order in which it is read.
const COLUMNS: &str = "part, job_id, lane, rank, due, run, attempt, attempts_max, payload, idempotency_key, enqueued_by, created_at, more";

/// What the jobs of one lane have in common.
#[derive(serde::Deserialize)]
struct Lease {
    token: Uuid,
    kind: String,
    executor: String,
    state: String,
    leased_at: Timestamp,
    leased_until: Timestamp,
    started_at: Option<Timestamp>,
}

/// What few jobs have.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Rare {
    run_until: Option<Timestamp>,
    deadline_at: Option<Timestamp>,
    payload_classification: Option<String>,
    source_ref: Option<String>,
    target_ref: Option<String>,
    payload_ref: Option<String>,
    affinity_key: Option<String>,
    correlation_id: Option<String>,
    parent_job_id: Option<Uuid>,
    workflow_id: Option<Uuid>,
    run_id: Option<Uuid>,
    traceparent: Option<String>,
    step: Option<StepInfo>,
    slot: Option<SlotInfo>,
}

#[derive(serde::Deserialize)]
struct EndTold {
    token: Uuid,
    status: String,
    state: Option<String>,
    next_due: Option<Timestamp>,
}

#[derive(serde::Deserialize)]
struct FenceTold {
    fence: i64,
}

#[derive(serde::Deserialize)]
struct GateTold {
    gate: String,
}

impl Lease {
    fn job(&self, row: &Row) -> Result<ClaimedJob, tokio_postgres::Error> {
        let rare = row
            .try_get::<_, Option<Json<Rare>>>(12)?
            .map_or_else(Rare::default, |Json(rare)| rare);
        Ok(ClaimedJob {
            job_id: row.try_get(1)?,
            token: self.token,
            lane: row.try_get(2)?,
            rank: row.try_get(3)?,
            due: row.try_get(4)?,
            kind: self.kind.clone(),
            executor: self.executor.clone(),
            state: self.state.clone(),
            run: row.try_get(5)?,
            attempt: row.try_get(6)?,
            attempts_max: row.try_get(7)?,
            leased_at: self.leased_at,
            leased_until: self.leased_until,
            started_at: self.started_at,
            run_until: rare.run_until,
            deadline_at: rare.deadline_at,
            payload: row.try_get(8)?,
            payload_classification: rare
                .payload_classification
                .unwrap_or_else(|| "safe_metadata".to_owned()),
            source_ref: rare.source_ref,
            target_ref: rare.target_ref,
            payload_ref: rare.payload_ref,
            idempotency_key: row.try_get(9)?,
            affinity_key: rare.affinity_key,
            correlation_id: rare.correlation_id,
            parent_job_id: rare.parent_job_id,
            workflow_id: rare.workflow_id,
            run_id: rare.run_id,
            enqueued_by: row.try_get(10)?,
            created_at: row.try_get(11)?,
            traceparent: rare.traceparent,
            step: rare.step,
            slot: rare.slot,
            fence: None,
        })
    }
}

/// First ends, then claims; a limit of 0 claims nothing (`tenure.job_turn`). The ends stand even if a closed gate keeps the turn from claiming.
pub async fn turn(client: &impl GenericClient, ends: &[End], claim: &Claim) -> Result<Turn> {
    let arrays = Ends::new(ends);
    // Every argument is sent: for one that is left out, the server would read its default anew at each call.
    let rows = arrays
        .call("job_turn")
        .with("p_worker", &claim.worker)
        .nullable("p_executor", &claim.executor)
        .nullable("p_kinds", &claim.kinds)
        .with("p_limit", &claim.limit.unwrap_or(1))
        .nullable("p_lease_seconds", &claim.lease_seconds)
        .with("p_mode", &claim.mode.name())
        .nullable("p_token", &claim.token)
        .nullable("p_lane_after", &claim.lane_after)
        .nullable("p_hint_lane", &claim.hint.map(|hint| hint.lane))
        .nullable("p_hint_rank", &claim.hint.map(|hint| hint.rank))
        .nullable("p_hint_due", &claim.hint.map(|hint| hint.due))
        .nullable("p_hint_at", &claim.hint.map(|hint| hint.at))
        .nullable("p_affinity_key", &claim.affinity_key)
        .with("p_gated", &true)
        .with("p_hint_alone", &claim.hint_alone)
        .nullable("p_priority_min", &claim.priority_min)
        .run(client, COLUMNS)
        .await?;
    Ok(Turn::read(&rows)?)
}

impl Turn {
    fn read(rows: &[Row]) -> Result<Turn, tokio_postgres::Error> {
        let mut turn = Turn {
            ends: Vec::new(),
            jobs: Vec::with_capacity(rows.len()),
            gate: None,
        };
        // The claims of a lane come before what they have in common.
        let mut claims = 0..0;
        for (at, row) in rows.iter().enumerate() {
            match row.try_get(0)? {
                "claim" => claims.end = at + 1,
                "lease" => {
                    let Json(lease): Json<Lease> = row.try_get(12)?;
                    for row in &rows[claims.clone()] {
                        turn.jobs.push(lease.job(row)?);
                    }
                    claims = at + 1..at + 1;
                }
                // After the jobs of its lane.
                "fence" => {
                    let Json(FenceTold { fence }) = row.try_get(12)?;
                    let job_id: Uuid = row.try_get(1)?;
                    if let Some(job) = turn.jobs.iter_mut().rev().find(|job| job.job_id == job_id) {
                        job.fence = Some(fence);
                        if let Some(step) = &mut job.step {
                            step.fence = Some(fence);
                        }
                    }
                    claims = at + 1..at + 1;
                }
                "gate" => {
                    let Json(GateTold { gate }) = row.try_get(12)?;
                    turn.gate = Some(gate);
                }
                _ => {
                    let Json(told): Json<EndTold> = row.try_get(12)?;
                    turn.ends.push(TurnEnd {
                        token: told.token,
                        answer: EndAnswer {
                            job_id: row.try_get(1)?,
                            status: told.status,
                            state: told.state,
                            next_due: told.next_due,
                        },
                    });
                    claims = at + 1..at + 1;
                }
            }
        }
        Ok(turn)
    }
}

/// How many jobs of these lanes can be claimed now, counted no further than the limit (`tenure.lane_ready`).
pub async fn lane_ready(client: &impl GenericClient, lanes: &[i32], limit: i32) -> Result<i32> {
    let ready: Option<i32> = Call::new("lane_ready")
        .with("p_lanes", &lanes.to_vec())
        .with("p_limit", &limit)
        .scalar(client)
        .await?;
    Ok(ready.unwrap_or_default())
}

/// Says that an idle worker listens, and answers the lanes to listen for (`tenure.worker_park`).
pub async fn park(
    client: &impl GenericClient,
    executor: Option<&str>,
    kinds: Option<&[String]>,
    seconds: Option<i32>,
) -> Result<Vec<i32>> {
    let kinds: Option<Vec<String>> = kinds.map(<[String]>::to_vec);
    let lanes: Option<Vec<i32>> = Call::new("worker_park")
        .maybe("p_executor", &executor)
        .maybe("p_kinds", &kinds)
        .maybe("p_seconds", &seconds)
        .scalar(client)
        .await?;
    Ok(lanes.unwrap_or_default())
}
