//! A worker's turn: the ends of one batch and the claim of the next in one statement.

use tokio_postgres::{GenericClient, Row};

use super::claim::{Claim, ClaimedJob};
use super::end::{End, EndAnswer, Ends};
use crate::error::Result;
use crate::store::call::{Call, FromRow};

/// What a turn brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The ends that did not simply succeed.
    pub ends: Vec<EndAnswer>,
    /// New work.
    pub jobs: Vec<ClaimedJob>,
}

/// A row of either part.
enum Part {
    End(EndAnswer),
    Job(Box<ClaimedJob>),
}

impl FromRow for Part {
    const COLUMNS: &'static [&'static str] = &[
        "part",
        "status",
        "job_id",
        "token",
        "lane",
        "rank",
        "due",
        "kind",
        "executor",
        "state",
        "run",
        "attempt",
        "attempts_max",
        "leased_at",
        "leased_until",
        "started_at",
        "run_until",
        "deadline_at",
        "payload",
        "payload_classification",
        "source_ref",
        "target_ref",
        "payload_ref",
        "idempotency_key",
        "affinity_key",
        "correlation_id",
        "parent_job_id",
        "workflow_id",
        "run_id",
        "enqueued_by",
        "created_at",
    ];

    fn from_row(row: &Row) -> Result<Part, tokio_postgres::Error> {
        let part: &str = row.try_get("part")?;
        Ok(match part {
            "claim" => Part::Job(Box::new(ClaimedJob::from_row(row)?)),
            _ => Part::End(EndAnswer {
                job_id: row.try_get("job_id")?,
                status: row.try_get("status")?,
                state: row.try_get("state")?,
                next_due: row.try_get("due")?,
            }),
        })
    }
}

/// First ends, then claims; a limit of 0 claims nothing (`tenure.job_turn`). `affinity_key` belongs to a claim alone.
pub async fn turn(client: &impl GenericClient, ends: &[End], claim: &Claim) -> Result<Turn> {
    let ends = Ends::new(ends);
    let parts: Vec<Part> = ends
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
        .rows(client)
        .await?;
    let (mut ends, mut jobs) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::End(end) => ends.push(end),
            Part::Job(job) => jobs.push(*job),
        }
    }
    Ok(Turn { ends, jobs })
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
