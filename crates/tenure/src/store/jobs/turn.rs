//! A worker's turn: the ends of one batch and the claim of the next in one statement.

use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::claim::{Claim, ClaimedJob};
use super::end::{End, EndAnswer, Ends};
use crate::error::Result;
use crate::store::Timestamp;
use crate::store::call::Call;

/// What a turn brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The ends that did not simply succeed.
    pub ends: Vec<EndAnswer>,
    /// New work.
    pub jobs: Vec<ClaimedJob>,
    /// The gate whose closing kept the turn from claiming. Its ends stand all the same.
    pub gate: Option<String>,
}

/// What is read of a turn, in the order in which it is read.
const COLUMNS: &str = "part, job_id, status, lane, due, state, token, kind, executor, leased_at, leased_until, started_at, rank, run, \
    attempt, attempts_max, run_until, deadline_at, payload, payload_classification, source_ref, target_ref, payload_ref, idempotency_key, \
    affinity_key, correlation_id, parent_job_id, workflow_id, run_id, enqueued_by, created_at";

/// What the jobs of one lane have in common. Leases come before the jobs under them.
struct Lease {
    lane: i32,
    token: Uuid,
    kind: String,
    executor: String,
    state: String,
    leased_at: Timestamp,
    leased_until: Timestamp,
    started_at: Option<Timestamp>,
}

impl Lease {
    fn read(row: &Row) -> Result<Lease, tokio_postgres::Error> {
        Ok(Lease {
            lane: row.try_get(3)?,
            state: row.try_get(5)?,
            token: row.try_get(6)?,
            kind: row.try_get(7)?,
            executor: row.try_get(8)?,
            leased_at: row.try_get(9)?,
            leased_until: row.try_get(10)?,
            started_at: row.try_get(11)?,
        })
    }

    fn job(&self, row: &Row) -> Result<ClaimedJob, tokio_postgres::Error> {
        Ok(ClaimedJob {
            job_id: row.try_get(1)?,
            token: self.token,
            lane: self.lane,
            rank: row.try_get(12)?,
            due: row.try_get(4)?,
            kind: self.kind.clone(),
            executor: self.executor.clone(),
            state: self.state.clone(),
            run: row.try_get(13)?,
            attempt: row.try_get(14)?,
            attempts_max: row.try_get(15)?,
            leased_at: self.leased_at,
            leased_until: self.leased_until,
            started_at: self.started_at,
            run_until: row.try_get(16)?,
            deadline_at: row.try_get(17)?,
            payload: row.try_get(18)?,
            payload_classification: row.try_get(19)?,
            source_ref: row.try_get(20)?,
            target_ref: row.try_get(21)?,
            payload_ref: row.try_get(22)?,
            idempotency_key: row.try_get(23)?,
            affinity_key: row.try_get(24)?,
            correlation_id: row.try_get(25)?,
            parent_job_id: row.try_get(26)?,
            workflow_id: row.try_get(27)?,
            run_id: row.try_get(28)?,
            enqueued_by: row.try_get(29)?,
            created_at: row.try_get(30)?,
        })
    }
}

/// First ends, then claims; a limit of 0 claims nothing (`tenure.job_turn`). The ends stand even if a closed gate keeps the turn from claiming.
pub async fn turn(client: &impl GenericClient, ends: &[End], claim: &Claim) -> Result<Turn> {
    let arrays = Ends::new(ends);
    let rows = arrays
        .call("job_turn")
        .with("p_worker", &claim.worker)
        .nullable("p_executor", &claim.executor)
        .nullable("p_kinds", &claim.kinds)
        .with("p_limit", &claim.limit.unwrap_or(1))
        .nullable("p_lease_seconds", &claim.lease_seconds)
        .with("p_mode", &claim.mode.name())
        .nullable("p_token", &claim.token)
        .maybe("p_lane_after", &claim.lane_after)
        .maybe("p_hint_lane", &claim.hint.map(|hint| hint.lane))
        .maybe("p_hint_rank", &claim.hint.map(|hint| hint.rank))
        .maybe("p_hint_due", &claim.hint.map(|hint| hint.due))
        .maybe("p_hint_at", &claim.hint.map(|hint| hint.at))
        .maybe("p_affinity_key", &claim.affinity_key)
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
        let mut leases: Vec<Lease> = Vec::new();
        let mut latest = 0;
        for row in rows {
            match row.try_get(0)? {
                "claim" => {
                    let lane: i32 = row.try_get(3)?;
                    if leases.get(latest).is_none_or(|lease| lease.lane != lane) {
                        latest = leases
                            .iter()
                            .position(|lease| lease.lane == lane)
                            .unwrap_or(leases.len());
                    }
                    if let Some(lease) = leases.get(latest) {
                        turn.jobs.push(lease.job(row)?);
                    }
                }
                "lease" => leases.push(Lease::read(row)?),
                "gate" => turn.gate = row.try_get(2)?,
                _ => turn.ends.push(EndAnswer {
                    job_id: row.try_get(1)?,
                    status: row.try_get(2)?,
                    state: row.try_get(5)?,
                    next_due: row.try_get(4)?,
                }),
            }
        }
        Ok(turn)
    }
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
