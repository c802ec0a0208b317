//! Two ways to the same work, each over one connection.

use reqwest::Client;
use serde_json::{Value, json};
use tenure::store::jobs::{self, Claim, End, NewJob};
use tenure_core::codes;

use super::served::Served;
use crate::cli::bench::load::KIND;
use crate::errors::{Outcome, refuse};

/// One connection.
pub(super) enum Way {
    /// To the database.
    Sql(Box<tokio_postgres::Client>),
    /// To the server.
    Http { client: Client, url: String, key: String },
}

/// Jobs, ready to be sent.
pub(super) enum Parcel {
    Sql(Vec<NewJob>),
    Http(String),
}

pub(super) async fn sql(url: &str, connections: usize) -> Outcome<Vec<Way>> {
    let mut ways = Vec::new();
    for _ in 0..connections {
        ways.push(Way::Sql(Box::new(tenure::pool::connect(url).await?)));
    }
    Ok(ways)
}

pub(super) fn http(served: &Served, connections: usize) -> Outcome<Vec<Way>> {
    let way = |_| {
        Ok(Way::Http {
            // Each has a pool of its own, and so a connection of its own.
            client: client()?,
            url: served.url.clone(),
            key: served.key.clone(),
        })
    };
    (0..connections).map(way).collect()
}

/// Speaks plain HTTP to this machine.
pub(super) fn client() -> Outcome<Client> {
    let tls = crate::webhooks::tls_config().map_err(|error| failed("a client", &error))?;
    let built = Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .tcp_nodelay(true)
        .build();
    built.map_err(|error| failed("a client", &error))
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> crate::errors::Failure {
    refuse(
        codes::USAGE,
        format!("The benchmark got no answer: {what}."),
        error.to_string(),
        "Look at what the server says above.",
    )
}

impl Way {
    pub(super) fn parcel(&self, jobs: Vec<NewJob>) -> Outcome<Parcel> {
        Ok(match self {
            Way::Sql(_) => Parcel::Sql(jobs),
            Way::Http { .. } => {
                let jobs: Vec<Value> = jobs
                    .into_iter()
                    .map(|job| json!({"kind": job.kind, "payload": job.payload, "key": job.key}))
                    .collect();
                Parcel::Http(json!({ "jobs": jobs }).to_string())
            }
        })
    }

    /// Enqueues all of these, call by call.
    pub(super) async fn enqueue(&self, parcels: Vec<Parcel>) -> Outcome {
        for parcel in parcels {
            match (self, parcel) {
                (Way::Sql(client), Parcel::Sql(jobs)) => {
                    jobs::enqueue_many(client.as_ref(), &jobs, None).await?;
                }
                (Way::Http { .. }, Parcel::Http(body)) => {
                    self.post("/v1/jobs/batch", body).await?;
                }
                _ => unreachable!("a parcel goes the way it was made for"),
            }
        }
        Ok(())
    }

    /// Claims and completes until nothing is left; how many it were.
    pub(super) async fn work_off(&self, batch: usize) -> Outcome<usize> {
        let mut done = 0;
        loop {
            let ended = match self {
                Way::Sql(client) => {
                    let mut claim = Claim::new("bench").started().kinds([KIND]);
                    claim.limit = i32::try_from(batch).ok();
                    let jobs = jobs::claim_many(client.as_ref(), &claim).await?;
                    let ends: Vec<End> = jobs.iter().map(|job| End::succeeded(job.job_id, job.token)).collect();
                    if !ends.is_empty() {
                        jobs::end_many(client.as_ref(), &ends).await?;
                    }
                    ends.len()
                }
                Way::Http { .. } => {
                    let claim = json!({"worker": "bench", "kinds": [KIND], "limit": batch});
                    let answer = self.post("/v1/jobs/claim", claim.to_string()).await?;
                    let answer: Value = serde_json::from_str(&answer).map_err(|error| failed("a claim", &error))?;
                    let jobs = answer["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
                    let ends: Vec<Value> = jobs
                        .iter()
                        .map(|job| json!({"job_id": job["job_id"], "token": job["token"], "outcome": "succeeded"}))
                        .collect();
                    if !ends.is_empty() {
                        self.post("/v1/jobs/end", json!({ "ends": ends }).to_string()).await?;
                    }
                    ends.len()
                }
            };
            if ended == 0 {
                return Ok(done);
            }
            done += ended;
        }
    }

    async fn post(&self, path: &str, body: String) -> Outcome<String> {
        let Way::Http { client, url, key } = self else {
            unreachable!("only a server is posted to")
        };
        let sent = client
            .post(format!("{url}{path}"))
            .bearer_auth(key)
            .header("content-type", "application/json")
            .body(body)
            .send();
        let answer = sent.await.map_err(|error| failed(path, &error))?;
        let status = answer.status();
        let text = answer.text().await.map_err(|error| failed(path, &error))?;
        if status.is_success() {
            Ok(text)
        } else {
            Err(failed(path, &text))
        }
    }
}
