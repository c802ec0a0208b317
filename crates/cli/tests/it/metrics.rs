//! `/metrics`, read as Prometheus reads it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::api::{Api, key};
use crate::workbench::{Workbench, eventually};

/// One line: name, labels, value.
type Sample = (String, BTreeMap<String, String>, f64);

/// What was scraped, by family.
#[derive(Debug, Default)]
struct Scrape {
    families: BTreeMap<String, Vec<Sample>>,
}

impl Scrape {
    /// Reads the text format strictly: every family has its help and its type before its samples, stands in one piece, and
    /// no series stands twice.
    fn read(text: &str) -> Scrape {
        let (mut helped, mut typed) = (BTreeSet::new(), BTreeMap::new());
        let (mut scrape, mut seen, mut last) = (Scrape::default(), BTreeSet::new(), String::new());
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(comment) = line.strip_prefix("# ") {
                let mut words = comment.splitn(3, ' ');
                let (word, name) = (
                    words.next().unwrap_or_default(),
                    words.next().unwrap_or_default().to_owned(),
                );
                let rest = words.next().unwrap_or_default();
                assert!(!rest.trim().is_empty(), "{line}");
                match word {
                    "HELP" => assert!(helped.insert(name), "helped twice: {line}"),
                    "TYPE" => assert!(typed.insert(name, rest.to_owned()).is_none(), "typed twice: {line}"),
                    _ => panic!("{line}"),
                }
                continue;
            }
            let (name, labels, value) = sample(line);
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .filter_map(|end| name.strip_suffix(end))
                .find(|base| typed.get(*base).is_some_and(|kind| kind == "histogram"))
                .unwrap_or(&name)
                .to_owned();
            assert!(
                helped.contains(&family) && typed.contains_key(&family),
                "no help or type: {line}"
            );
            if family != last {
                assert!(!scrape.families.contains_key(&family), "{family} is in pieces");
                last.clone_from(&family);
            }
            assert!(seen.insert((name.clone(), labels.clone())), "twice: {line}");
            scrape.families.entry(family).or_default().push((name, labels, value));
        }
        scrape
    }

    /// The sum of the samples of this name that have all these labels.
    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |given: &BTreeMap<String, String>| {
            labels
                .iter()
                .all(|(label, value)| given.get(*label).is_some_and(|it| it == value))
        };
        let samples = self.families.values().flatten();
        samples.filter(|it| it.0 == name && has(&it.1)).map(|it| it.2).sum()
    }
}

fn sample(line: &str) -> Sample {
    let Some((name, rest)) = line.split_once('{') else {
        let (name, value) = line.split_once(' ').expect("a name and a value");
        return (name.to_owned(), BTreeMap::new(), value.parse().expect("a number"));
    };
    let (mut labels, mut rest) = (BTreeMap::new(), rest);
    while !rest.starts_with('}') {
        let (label, value) = rest.trim_start_matches(',').split_once("=\"").expect("a label");
        let (mut text, mut chars) = (String::new(), value.char_indices());
        let end = loop {
            match chars.next().expect("a closing quote") {
                (_, '\\') => text.extend(
                    chars
                        .next()
                        .map(|(_, escaped)| if escaped == 'n' { '\n' } else { escaped }),
                ),
                (at, '"') => break at + 1,
                (_, other) => text.push(other),
            }
        };
        labels.insert(label.to_owned(), text);
        rest = &value[end..];
    }
    let value = rest.trim_start_matches('}').trim();
    (name.to_owned(), labels, value.parse().expect("a number"))
}

/// Reads from the listener that asks for no key.
fn scrape(api: &Api) -> (Scrape, String) {
    let url = api.told["metrics"].as_str().expect("an address");
    let text = crate::http::get(url).text().expect("text");
    (Scrape::read(&text), text)
}

/// A queue with some of everything: every rule of the alarms finds its numbers, and whoever did the work is counted.
#[tokio::test]
async fn everything_that_the_alarms_ask_for_is_told_and_counted() {
    let bench = Workbench::open().await;
    let api = Api::of(bench.command([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--metrics-listen",
        "127.0.0.1:0",
        "--json",
    ]));
    // Counting begins with the first look.
    scrape(&api);
    let all = key(&bench, "all", &["--role", "producer", "--role", "worker"]);
    let odd = "odd \"kind\\";
    api.post(&all, "/v1/jobs", json!({"kind": odd, "payload": {"word": "hush"}}));
    let job = api.post(&all, "/v1/jobs/claim", json!({"worker": "w"}))["jobs"][0].clone();
    let end = format!("/v1/jobs/{}/complete", job["job_id"].as_str().expect("an id"));
    api.post(&all, &end, json!({"token": job["token"]}));
    // By somebody who knows no server.
    bench.enqueue("dies");
    let (id, token) = bench.claim("dies");
    bench.text(&["job", "fail", &id, &token, "--message", "no", "--permanent"]);
    bench.enqueue("waits");
    bench.enqueue("runs");
    bench.claim("runs");
    let (told, text) = eventually("all of it to be counted", || {
        let (told, text) = scrape(&api);
        let counted =
            |kind: &str, event: &str| told.sum("tenure_job_events_total", &[("kind", kind), ("event", event)]);
        let done = counted(odd, "succeeded") == 1.0
            && counted("dies", "dead_lettered") == 1.0
            && counted("runs", "started") == 1.0;
        (done && told.sum("tenure_job_run_seconds_count", &[]) >= 2.0).then_some((told, text))
    });
    let labels = [("kind", "waits"), ("state", "queued"), ("tenant", "default")];
    assert_eq!(told.sum("tenure_jobs", &labels), 1.0);
    assert_eq!(
        told.sum("tenure_jobs", &[("kind", "runs"), ("state", "in_progress")]),
        1.0
    );
    assert_eq!(told.sum("tenure_dead_letters_open", &[("kind", "dies")]), 1.0);
    let claims = [("route", "/v1/jobs/claim"), ("method", "POST"), ("status", "200")];
    assert_eq!(told.sum("tenure_http_request_seconds_count", &claims), 1.0);
    let ended = [("route", "/v1/jobs/{job_id}/complete"), ("status", "200")];
    assert_eq!(told.sum("tenure_http_request_seconds_count", &ended), 1.0);
    assert_eq!(told.sum("tenure_database_up", &[]), 1.0);
    assert!(!text.contains("hush") && !text.contains(&all), "no payload, no key");

    let alarms = include_str!("../../../../docs/alarms.yml");
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words
            .filter(|word| word.starts_with("tenure_"))
            .map(str::to_owned)
            .collect()
    };
    let asked = words(alarms);
    assert!(asked.len() > 15, "{asked:?}");
    for name in asked {
        let base = name.strip_suffix("_count").unwrap_or(&name);
        assert!(
            told.families.contains_key(&name) || told.families.contains_key(base),
            "the alarms ask for {name}, and nobody tells it"
        );
    }
}

#[tokio::test]
async fn the_metrics_are_for_keys_of_the_installation_and_for_nobody_else() {
    let bench = Workbench::open().await;
    bench.text(&["tenant", "create", "beta"]);
    bench.text(&["--tenant", "beta", "gate", "close", "worker"]);
    let api = Api::start(&bench);
    assert!(api.told["metrics"].is_null(), "no other listener unless asked for");
    api.refused(api.raw("GET", "/metrics", &[], None), 401, "unauthenticated");
    let admin = key(&bench, "boss", &["--role", "admin"]);
    let body = api.refused(api.send(&admin, "GET", "/metrics", None), 403, "not_permitted");
    assert!(
        body["next"]
            .as_str()
            .is_some_and(|next| next.contains("a key of the installation")),
        "{body}"
    );
    let viewer = key(&bench, "prometheus", &["--role", "viewer", "--installation"]);
    let (status, text) = api.send(&viewer, "GET", "/metrics", None);
    assert_eq!(status, 200, "{text}");
    let told = Scrape::read(text.as_str().expect("no JSON"));
    let gate = |tenant: &str| {
        told.sum(
            "tenure_gate_open",
            &[("tenant", tenant), ("gate", "queue.worker.enabled")],
        )
    };
    assert_eq!((gate("default"), gate("beta")), (1.0, 0.0));
    bench.text(&[
        "key",
        "revoke",
        viewer.split('_').nth(1).expect("a prefix"),
        "--installation",
    ]);
    api.refused(api.send(&viewer, "GET", "/metrics", None), 401, "key_invalid");
}

/// Whoever monitors gets an answer above all when there is trouble.
#[tokio::test]
async fn a_server_without_its_database_still_tells_of_itself() {
    let bench = Workbench::open().await;
    let api = Api::of(bench.command([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--metrics-listen",
        "127.0.0.1:0",
        "--no-services",
        "--json",
    ]));
    let client = bench.database.connect().await.expect("connect");
    client
        .batch_execute("alter function tenure.metrics(text) rename to metrics_gone")
        .await
        .expect("take it away");
    let (told, _) = scrape(&api);
    assert_eq!(told.sum("tenure_database_up", &[]), 0.0);
    assert!(told.families.contains_key("tenure_pool_connections") && !told.families.contains_key("tenure_jobs"));
    client
        .batch_execute("alter function tenure.metrics_gone(text) rename to metrics")
        .await
        .expect("give it back");
    eventually("its return", || {
        (scrape(&api).0.sum("tenure_database_up", &[]) == 1.0).then_some(())
    });
}

#[tokio::test]
async fn a_worker_and_the_services_count_what_they_do() {
    let bench = Workbench::open().await;
    let api = Api::of(bench.command(["dev", "--listen", "127.0.0.1:0", "--json"]));
    let viewer = key(&bench, "prometheus", &["--role", "viewer", "--installation"]);
    let job = bench.enqueue("hello");
    eventually("its end", || (bench.state_of(&job) == "succeeded").then_some(()));
    let told = eventually("what the worker counted", || {
        let text = api.get(&viewer, "/metrics");
        let told = Scrape::read(text.as_str().expect("no JSON"));
        (told.sum("tenure_worker_jobs_finished_total", &[("outcome", "succeeded")]) == 1.0).then_some(told)
    });
    assert_eq!(told.sum("tenure_worker_jobs_claimed_total", &[]), 1.0);
    assert_eq!(told.sum("tenure_worker_run_seconds_count", &[("kind", "hello")]), 1.0);
    assert!(told.sum("tenure_worker_turns_total", &[]) >= 1.0);
    let reaped = |told: &Scrape| {
        told.sum(
            "tenure_service_runs_total",
            &[("service", "reaper"), ("outcome", "done")],
        )
    };
    assert!(reaped(&told) >= 1.0);
}
