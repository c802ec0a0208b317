//! What it costs to keep many waiting: claims without work, and followers of the events.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::served::{APPLICATION, Served};
use super::way::Caller;
use crate::cli::bench::ground::Ground;
use crate::cli::bench::report::{Report, thousands};
use crate::cli::bench::server::Server;
use crate::errors::Outcome;

/// How long it takes until all wait: a connection, a claim that finds nothing, a park.
const SETTLED: Duration = Duration::from_secs(5);

/// Lets so many wait, of both sorts, and tells what each costs the server.
pub(super) async fn measure(
    ground: &Ground,
    server: &Server,
    count: usize,
    connections: usize,
    report: &mut Report,
) -> Outcome {
    let mut found = serde_json::Map::new();
    for (name, follows) in [("long_polls", false), ("followers", true)] {
        // A new server for each sort: memory that one has left behind would be used by the other.
        let served = Served::start(ground, connections).await?;
        let before = served.memory();
        let mut waiting = JoinSet::new();
        for at in 0..count {
            // Each has a connection of its own, as clients on other machines would have.
            let caller = Caller::new();
            let (url, key) = (served.url.clone(), served.key.clone());
            waiting.spawn(async move {
                let (to, header, body) = match follows {
                    true => {
                        let to = (Method::GET, format!("{url}/v1/events"));
                        (to, ("accept", "text/event-stream"), String::new())
                    }
                    false => {
                        let to = (Method::POST, format!("{url}/v1/jobs/claim"));
                        let claim =
                            json!({"worker": format!("idle {at}"), "kinds": ["bench.nothing"], "wait_seconds": 40});
                        (to, ("content-type", "application/json"), claim.to_string())
                    }
                };
                let mut answer = caller.call(to, &key, header, body).await?.into_body();
                while answer.frame().await.is_some_and(|frame| frame.is_ok()) {}
                Ok::<_, crate::errors::Failure>(())
            });
        }
        tokio::time::sleep(SETTLED).await;
        let (after, used) = (served.memory(), server.connections(APPLICATION).await?);
        let alive = waiting.len();
        waiting.abort_all();
        served.stop().await;
        let each = before
            .zip(after)
            .map(|(before, after)| after.saturating_sub(before) / count as u64);
        found.insert(
            name.to_owned(),
            json!({"count": alive, "bytes_each": each, "database_connections": used}),
        );
        let told = format!(
            "{alive} cost {} bytes each, and {used} connections to the database (of {connections} and one to listen)",
            each.map_or_else(|| "?".to_owned(), |each| thousands(each as f64)),
        );
        report.facts.add(name.replace('_', " "), told);
    }
    report.put("idle", &found)
}
