//! Two ways to the same work, each over one connection.

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tenure::store::jobs::{self, Claim, End, NewJob};
use tenure_core::codes;

use super::served::Served;
use crate::cli::bench::load::KIND;
use crate::errors::{Outcome, refuse};

/// Speaks plain HTTP to this machine.
#[derive(Clone)]
pub(super) struct Caller(Client<HttpConnector, Full<Bytes>>);

impl Caller {
    /// With a pool of its own, and so with a connection of its own.
    pub(super) fn new() -> Caller {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Caller(Client::builder(TokioExecutor::new()).build(connector))
    }

    pub(super) async fn call(
        &self,
        (method, url): (Method, String),
        key: &str,
        (header, value): (&str, &str),
        body: String,
    ) -> Outcome<Response<Incoming>> {
        let request = Request::builder()
            .method(method)
            .uri(&url)
            .header("authorization", format!("Bearer {key}"))
            .header(header, value)
            .body(Full::from(body.into_bytes()));
        let request = request.map_err(|error| failed(&url, &error))?;
        self.0.request(request).await.map_err(|error| failed(&url, &error))
    }
}

/// One connection.
pub(super) enum Way {
    /// To the database.
    Sql(Box<tokio_postgres::Client>),
    /// To the server.
    Http { caller: Caller, url: String, key: String },
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
            caller: Caller::new(),
            url: served.url.clone(),
            key: served.key.clone(),
        })
    };
    (0..connections).map(way).collect()
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
                    let answer: Value = tenure_core::json::parse(&answer).map_err(|error| failed("a claim", &error))?;
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
        let Way::Http { caller, url, key } = self else {
            unreachable!("only a server is posted to")
        };
        let to = (Method::POST, format!("{url}{path}"));
        let answer = caller.call(to, key, ("content-type", "application/json"), body).await?;
        let status = answer.status();
        let bytes = answer
            .into_body()
            .collect()
            .await
            .map_err(|error| failed(path, &error))?;
        let text = String::from_utf8_lossy(&bytes.to_bytes()).into_owned();
        if status.is_success() {
            Ok(text)
        } else {
            Err(failed(path, &text))
        }
    }
}
