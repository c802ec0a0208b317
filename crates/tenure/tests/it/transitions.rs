//! What may happen to a job, and that nothing else can: every state meets every verb.

use std::collections::BTreeSet;

use serde_json::Value;
use tenure_core::JobState;
use tenure_core::JobState::{
    Cancelled, Cleaned, DeadLetter, Failed, InProgress, Leased, Queued, RetryWaiting, Succeeded,
};
use tenure_core::transitions::{JOB, allowed, legal_pair};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, check_invariants, claim_with, enqueue_with, get, one, reap, rows, state, verb};

type Line = (Option<String>, String, String);

/// Proves: S7, S79. Guards: D13, D51.
#[tokio::test]
async fn the_view_of_transitions_and_the_constant_hold_the_same_rows() {
    let db = Db::inert().await;
    let client = db.client().await;
    let seen = rows(
        &client,
        "select from_state, verb, to_state from tenure.transitions",
        &[],
    )
    .await;
    let seen: Vec<Line> = seen.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let known: Vec<Line> = JOB
        .iter()
        .map(|row| {
            (
                row.from.map(|it| it.to_string()),
                row.verb.to_owned(),
                row.to.to_string(),
            )
        })
        .collect();
    assert_eq!(seen.len(), known.len());
    assert_eq!(
        seen.iter().collect::<BTreeSet<_>>(),
        known.iter().collect::<BTreeSet<_>>()
    );
}

/// The verbs of people and workers, and the call of each. `retry_now` is no transition: the state stays.
#[rustfmt::skip] // A table is read by column.
const CALLS: &[(&str, &str)] = &[
    ("start",               "job_start($1, $2)"),
    ("release",             "job_release($1, $2)"),
    ("complete",            "job_complete($1, $2)"),
    ("fail",                "job_fail($1, $2, 'broken')"),
    ("snooze",              "job_snooze($1, $2, 60)"),
    ("acknowledge_cancel",  "job_acknowledge_cancel($1, $2)"),
    ("cancel",              "job_cancel($1, 'no need')"),
    ("force_cancel",        "job_cancel($1, 'no need', 'force')"),
    ("move_to_dead_letter", "job_dead_letter($1, 'given up')"),
    ("operator_retry",      "job_retry($1)"),
];

/// What happens by itself, by the service that brings it about. `settle_cancel` is any of them on a job that somebody
/// asked to cancel.
#[rustfmt::skip] // A table is read by column.
const SERVICES: &[&str] = &["claim", "expire", "time_out", "pass_deadline", "clean", "settle_cancel"];

struct Stage<'a> {
    db: &'a Db,
    c: &'a Client,
    kind: String,
}

impl Stage<'_> {
    /// A job in this state, and what its last holder had. `late`: with a deadline that is near.
    async fn job(&self, wanted: JobState, late: bool) -> (Uuid, Claimed) {
        let resting = if wanted == Failed { "fail" } else { "dead_letter" };
        let policy = serde_json::json!({"on_exhausted": resting, "run_timeout_seconds": 3600, "retention_seconds": 60});
        one(self.c, "select tenure.kind_set($1, $2)", &[&self.kind, &policy]).await;
        let arguments = if late {
            ", p_deadline => tenure.now() + interval '30 minutes'"
        } else {
            ""
        };
        let job = enqueue_with(self.c, &self.kind, arguments).await;
        let nobody = Claimed {
            job_id: job,
            token: Uuid::new_v4(),
            state: String::new(),
            run: 0,
            attempt: 0,
            lane: 0,
        };
        if wanted == Queued {
            return (job, nobody);
        }
        let mode = if wanted == Leased { "leased" } else { "started" };
        let held = self.claim(mode).await;
        match wanted {
            Leased | InProgress => {}
            Succeeded | Cleaned => drop(verb(self.c, "job_complete", &held, "").await),
            RetryWaiting => drop(verb(self.c, "job_fail", &held, ", 'broken', p_retry_seconds => 1200").await),
            Failed | DeadLetter => drop(verb(self.c, "job_fail", &held, ", 'broken', 'permanent'").await),
            Cancelled => {
                one(self.c, "select tenure.job_cancel($1, 'no need')", &[&job]).await;
                verb(self.c, "job_acknowledge_cancel", &held, "").await;
            }
            Queued => unreachable!("returned above"),
        }
        if wanted == Cleaned {
            self.clean(job).await;
        }
        assert_eq!(state(self.c, job).await, wanted.as_str());
        (job, held)
    }

    async fn claim(&self, mode: &str) -> Claimed {
        let arguments = format!(
            ", p_kinds => array['{}'], p_mode => '{mode}', p_lease_seconds => 3600",
            self.kind
        );
        claim_with(self.c, "w", &arguments).await.remove(0)
    }

    /// Sweeps when everything of it is past its retention, its dead letter closed.
    async fn clean(&self, job: Uuid) {
        let letters = "select tenure.dead_letter_triage(dead_letter_id, 'closed', 'seen') from tenure.dead_letters where job_id = $1";
        rows(self.c, letters, &[&job]).await;
        self.db.advance("2 minutes").await;
        // The sweep walks on from where it stood; from the front it begins once a day.
        rows(self.c, "update tenure.sweep_cursors set job_id = null", &[]).await;
        one(self.c, "select tenure.job_sweep()", &[]).await;
    }

    /// Brings the service's verb about, as far as the state lets it.
    async fn serve(&self, service: &str, from: JobState, job: Uuid) {
        match service {
            "claim" => {
                self.db.advance("25 minutes").await;
                claim_with(self.c, "w2", &format!(", p_kinds => array['{}']", self.kind)).await;
            }
            "expire" => {
                let gone = "update tenure.leases set until = tenure.now() - interval '1 second'";
                rows(self.c, gone, &[]).await;
                reap(self.c).await;
            }
            "time_out" => {
                rows(
                    self.c,
                    "update tenure.leases set until = tenure.now() + interval '1 day'",
                    &[],
                )
                .await;
                self.db.advance("61 minutes").await;
                reap(self.c).await;
            }
            "pass_deadline" => {
                self.db.advance("31 minutes").await;
                if from == Leased {
                    let token: Uuid = get(self.c, "select token from tenure.active where job_id = $1", &[&job]).await;
                    one(self.c, "select tenure.job_start($1, $2)", &[&job, &token]).await;
                }
                reap(self.c).await;
            }
            "clean" => self.clean(job).await,
            _ => {
                one(self.c, "select tenure.job_cancel($1, 'no need')", &[&job]).await;
                rows(
                    self.c,
                    "update tenure.leases set until = tenure.now() - interval '1 second'",
                    &[],
                )
                .await;
                reap(self.c).await;
            }
        }
    }
}

/// Where a run that failed goes on in the same transaction: `failed` is seen in the events only.
fn after_failure(to: JobState, resting: bool) -> Vec<JobState> {
    match to {
        Failed if resting => vec![Failed],
        Failed => vec![RetryWaiting, DeadLetter],
        other => vec![other],
    }
}

/// Proves: S98, S99, S100, S101, S102, S103, S105, S107, S108, S109, S142, S144, S145, S147. Guards: D2, D22, D52, D53.
#[tokio::test]
async fn every_verb_is_possible_exactly_where_the_table_has_it() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut reached = BTreeSet::new();
    let mut number = 0;
    for from in JobState::ALL {
        for (name, call) in CALLS {
            number += 1;
            let stage = Stage {
                db: &db,
                c: &c,
                kind: format!("kind {number}"),
            };
            let (job, held) = stage.job(from, false).await;
            // A cancel request must be there to be acknowledged.
            if *name == "acknowledge_cancel" && from.is_held() {
                one(&c, "select tenure.job_cancel($1, 'no need')", &[&job]).await;
            }
            let answer: Value = if call.contains("$2") {
                one(&c, &format!("select tenure.{call}"), &[&held.job_id, &held.token]).await
            } else {
                one(&c, &format!("select tenure.{call}"), &[&job]).await
            };
            let now: JobState = state(&c, job).await.parse().expect("one of the nine");
            // A waiting job is cancelled the same way by force; a held one by request is only asked.
            let to = match (*name, from) {
                ("force_cancel", Queued | RetryWaiting) => allowed(from, "cancel"),
                _ => allowed(from, name),
            };
            let line = format!("{from} {name}: {answer}");
            if let Some(to) = to {
                assert!(answer["refused"].is_null(), "legal, but refused: {line}");
                assert!(after_failure(to, false).contains(&now), "{line}: now {now}");
                reached.insert((from, *name));
                continue;
            }
            assert_eq!(now, from, "not legal, but the state changed: {line}");
            let no_op = match (*name, from) {
                ("start", InProgress) => answer["status"] == "already_started",
                // The request is recorded, the state stays.
                ("cancel", Leased | InProgress) => answer["cancel_requested"] == true,
                ("cancel" | "force_cancel", Cancelled) => answer["state"] == "cancelled",
                // "Retry now": due at once, the state stays.
                ("operator_retry", Queued | RetryWaiting) => answer["state"] == from.as_str(),
                // The holder repeats an end: it is told what was recorded, and nothing changes.
                _ => answer["status"] == "already_ended" && (!from.is_active() || from == RetryWaiting),
            };
            if !no_op {
                assert_eq!(answer["refused"], true, "not legal, but not refused: {line}");
                let code = answer["code"].as_str().unwrap_or_default();
                assert!(["stale_lease", "state_conflict"].contains(&code), "{line}");
            }
        }
    }
    check_invariants(&c).await;
    for (name, _) in CALLS {
        for row in JOB.iter().filter(|row| row.verb == *name) {
            let from = row.from.expect("a verb of people has a state before it");
            assert!(reached.contains(&(from, *name)), "{from} {name} was never reached");
        }
    }
}

/// Proves: S99, S103, S105, S108, S109, S117, S118. Guards: D23, D46, D53, D57, D67.
#[tokio::test]
async fn every_service_moves_exactly_what_the_table_says() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut number = 0;
    for from in JobState::ALL {
        for service in SERVICES {
            number += 1;
            let stage = Stage {
                db: &db,
                c: &c,
                kind: format!("kind {number}"),
            };
            let (job, _) = stage.job(from, *service == "pass_deadline").await;
            stage.serve(service, from, job).await;
            let now: JobState = state(&c, job).await.parse().expect("one of the nine");
            let to = match (*service, from) {
                // A waiting job that somebody cancels is cancelled at once.
                ("settle_cancel", Queued | RetryWaiting) => Some(Cancelled),
                _ => allowed(from, service),
            };
            match to {
                Some(to) => assert!(
                    after_failure(to, false).contains(&now),
                    "{from} {service}: legal, but now {now}"
                ),
                None => assert_eq!(now, from, "{service}: not legal, but the state changed"),
            }
        }
    }
    check_invariants(&c).await;
}

/// Proves: S102, S103. The events show `failed` between the two states of one transaction.
#[tokio::test]
async fn failed_is_an_event_of_every_bad_end_and_a_state_only_at_rest() {
    let db = Db::open().await;
    let c = db.client().await;
    let stage = Stage {
        db: &db,
        c: &c,
        kind: "a".to_owned(),
    };
    for (wanted, last) in [
        (RetryWaiting, "job.retry_scheduled"),
        (DeadLetter, "job.dead_lettered"),
        (Failed, "job.failed"),
    ] {
        let (job, _) = stage.job(wanted, false).await;
        let sql = "select kind from tenure.events where $1 = any (job_ids) order by seq";
        let told = rows(&c, sql, &[&job]).await;
        let told: Vec<&str> = told.iter().map(|row| row.get(0)).collect();
        assert!(told.contains(&"job.failed"), "{told:?}");
        assert_eq!(told.last(), Some(&last));
        one(&c, "select tenure.job_cancel($1, 'next')", &[&job]).await;
    }
}

/// Proves: S7, S109. The shape of the schema refuses what the functions never do.
#[tokio::test]
async fn no_direct_write_moves_a_job_against_the_table() {
    let db = Db::open().await;
    let c = db.client().await;
    let stage = Stage {
        db: &db,
        c: &c,
        kind: "a".to_owned(),
    };
    stage.job(Succeeded, false).await;
    stage.job(Queued, false).await;
    for write in [
        "update tenure.attempts set state = 'queued', final = false, next_due = now()",
        "update tenure.attempts set outcome = 'failed'",
        "update tenure.attempts set final = false",
        "update tenure.ready set state = 'in_progress'",
        "update tenure.ready set state = 'finished'",
        "update tenure.jobs set kind = 'b'",
        "update tenure.jobs set payload = '{\"n\": 1}'",
        "update tenure.jobs set cleaned_at = now(), kind = 'b'",
        "update tenure.events set kind = 'job.other'",
        "delete from tenure.events",
    ] {
        assert!(c.batch_execute(write).await.is_err(), "the schema accepts: {write}");
    }
}

/// Every pair of states that no row joins stays unjoined: what the tests above reach is all there is.
#[test]
fn terminal_states_lead_only_to_cleaned() {
    for from in [Succeeded, DeadLetter, Cancelled] {
        for to in JobState::ALL {
            assert_eq!(legal_pair(from, to), to == Cleaned, "{from} to {to}");
        }
    }
    assert!(JobState::ALL.into_iter().all(|to| !legal_pair(Cleaned, to)));
}
