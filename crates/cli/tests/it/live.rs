//! Events as they happen: server-sent events of a running server.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::http::Body;
use crate::workbench::Workbench;

/// A stream that somebody reads.
struct Stream(BufReader<Body>);

/// One event: its id, its kind, and what it says.
type Told = (String, String, Value);

impl Stream {
    fn open(api: &Api, key: &str, query: &str, last: Option<&str>) -> Stream {
        let (url, bearer) = (format!("{}/v1/events{query}", api.url()), format!("Bearer {key}"));
        let mut headers = vec![("authorization", bearer.as_str()), ("accept", "text/event-stream")];
        headers.extend(last.map(|last| ("last-event-id", last)));
        let answer = api.agent().send(("GET", &url), &headers, None).expect("an answer");
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        let mut stream = Stream(BufReader::new(answer.body));
        let beginning = stream.block().expect("a beginning");
        assert!(
            beginning[0].starts_with("id: ") && beginning[1] == "retry: 2000",
            "{beginning:?}"
        );
        stream
    }

    /// The lines up to the next blank one; none at the end.
    fn block(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).expect("a line");
            match (read, line.trim_end()) {
                (0, _) => return None,
                (_, "") => return Some(lines),
                (_, text) => lines.push(text.to_owned()),
            }
        }
    }

    /// The next event; none at the end.
    fn next(&mut self) -> Option<Told> {
        loop {
            let block = self.block()?;
            let field = |name: &str| block.iter().find_map(|line| line.strip_prefix(name).map(str::to_owned));
            if let (Some(id), Some(kind), Some(data)) = (field("id: "), field("event: "), field("data: ")) {
                return Some((id, kind, serde_json::from_str(&data).expect("JSON")));
            }
        }
    }
}

#[tokio::test]
async fn who_follows_is_told_as_it_happens_and_goes_on_where_it_was_cut_off() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let producer = key(&bench, "shop", &["--role", "producer"]);
    let mut now = Stream::open(&api, &producer, "?kind=job.*", None);
    let mut whole = Stream::open(&api, &producer, "?after=0.0.0", None);
    let jobs: Vec<Value> = (0..3)
        .map(|_| api.post(&producer, "/v1/jobs", json!({"kind": "a"}))["job_id"].clone())
        .collect();
    let mut told = Vec::new();
    for job in &jobs {
        let (id, kind, event) = now.next().expect("an event");
        assert_eq!((kind.as_str(), &event["job_ids"][0]), ("job.enqueued", job));
        assert_eq!(event["cursor"], Value::from(id.as_str()));
        told.push(id);
    }
    drop(now);
    let mut again = Stream::open(&api, &producer, "?kind=job.enqueued", Some(&told[0]));
    assert_eq!(again.next().expect("an event").0, told[1]);
    assert_eq!(again.next().expect("an event").0, told[2]);
    let mut kinds = Vec::new();
    while kinds.iter().filter(|kind| *kind == "job.enqueued").count() < 3 {
        kinds.push(whole.next().expect("an event").1);
    }
    assert!(
        kinds.iter().any(|kind| kind == "key.created"),
        "from the very start: {kinds:?}"
    );
}

/// What commits late stands late in the stream, for who reads pages and for who follows alike.
#[tokio::test]
async fn a_late_commit_is_not_passed_over() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let producer = key(&bench, "shop", &["--role", "producer"]);
    api.post(&producer, "/v1/jobs", json!({"kind": "a"}));
    let late = bench.database.connect().await.expect("connect");
    late.batch_execute("begin; select tenure.job_enqueue('a', p_correlation_id => 'late')")
        .await
        .expect("an open transaction");
    let mut stream = Stream::open(&api, &producer, "?kind=job.enqueued", None);
    let early = api.post(&producer, "/v1/jobs", json!({"kind": "a"}))["job_id"].clone();
    late.batch_execute("commit").await.expect("its end");
    let both = [stream.next().expect("an event"), stream.next().expect("an event")];
    assert_ne!(both[0].2["job_ids"][0], early, "it began first");
    assert_eq!(both[1].2["job_ids"][0], early);
}

#[tokio::test]
async fn who_reads_slowly_misses_nothing_and_nobody_waits_for_it() {
    const JOBS: usize = 1500;
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let producer = key(&bench, "shop", &["--role", "producer"]);
    let mut slow = Stream::open(&api, &producer, "?kind=job.enqueued", None);
    let mut quick = Stream::open(&api, &producer, "?kind=job.enqueued", None);
    let client = bench.database.connect().await.expect("connect");
    // Each of these is an event of its own, with text enough to fill every buffer between.
    let long = "x".repeat(190);
    let sql =
        format!("select tenure.job_enqueue('{long}', p_on_behalf_of => '{long}') from generate_series(1, {JOBS})");
    client.batch_execute(&sql).await.expect("jobs");
    let ids = |stream: &mut Stream| {
        (0..JOBS)
            .map(|_| stream.next().expect("an event").0)
            .collect::<Vec<_>>()
    };
    let seen = ids(&mut quick);
    assert_eq!(ids(&mut slow), seen);
    assert_eq!(seen.iter().collect::<std::collections::HashSet<_>>().len(), JOBS);
}

#[tokio::test]
async fn a_stream_ends_with_the_server_and_shows_only_the_own_tenant() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let (mine, theirs) = (key(&bench, "shop", &["--role", "producer"]), {
        bench.run(["tenant", "create", "beta"]).ok();
        let made = bench
            .run([
                "--quiet", "--tenant", "beta", "key", "create", "other", "--role", "producer",
            ])
            .ok();
        made.trim().to_owned()
    });
    let (mut here, mut there) = (
        Stream::open(&api, &mine, "", None),
        Stream::open(&api, &theirs, "", None),
    );
    api.post(&mine, "/v1/jobs", json!({"kind": "a"}));
    assert_eq!(here.next().expect("an event").1, "job.enqueued");
    api.refused(
        api.send(&mine, "GET", "/v1/events?after=x", None),
        422,
        "cursor_invalid",
    );
    api.ask_to_stop();
    assert_eq!(there.next(), None, "nothing of the other tenant, and then the end");
    while here.next().is_some() {}
    assert!(api.stop());
}

/// What follows until its end: how often it was said that nothing happens, and whether anything else came.
fn quiet_until_end(stream: &mut Stream) -> usize {
    let mut quiet = 0;
    while let Some(block) = stream.block() {
        quiet += usize::from(block.iter().any(|line| line == ": still here"));
    }
    quiet
}

#[tokio::test]
async fn a_key_that_is_revoked_on_another_server_ends_its_stream_and_its_waits_at_once() {
    let bench = Workbench::open().await;
    let (here, there) = (Api::start(&bench), Api::start(&bench));
    let roles = ["--role", "producer", "--role", "worker"];
    let (doomed, valid) = (key(&bench, "doomed", &roles), key(&bench, "valid", &roles));
    let admin = key(&bench, "boss", &["--role", "admin"]);
    let job = here.post(&valid, "/v1/jobs", json!({"kind": "a"}));
    let path = |seconds: u32| {
        format!(
            "/v1/jobs/{}?wait_seconds={seconds}",
            job["job_id"].as_str().expect("an id")
        )
    };
    let mut stream = Stream::open(&here, &doomed, "?kind=tenant.*", None);
    let mut other = Stream::open(&here, &valid, "?kind=key.revoked", None);
    let claim = json!({"worker": "w", "kinds": ["none"], "wait_seconds": 40});
    std::thread::scope(|scope| {
        // Begun first, and to be over first, were it not for the revocation.
        let stays = scope.spawn(|| here.send(&valid, "GET", &path(30), None));
        let waits = scope.spawn(|| here.send(&doomed, "GET", &path(40), None));
        let claims = scope.spawn(|| here.send(&doomed, "POST", "/v1/jobs/claim", Some(&claim)));
        let revoke = format!("/v1/keys/{}", doomed.split('_').nth(1).expect("a prefix"));
        assert_eq!(there.send(&admin, "DELETE", &revoke, None).0, 200);
        assert_eq!(
            quiet_until_end(&mut stream),
            0,
            "it ended before the next sign of life was due"
        );
        here.refused(waits.join().expect("an answer"), 401, "key_invalid");
        here.refused(claims.join().expect("an answer"), 401, "key_invalid");
        assert!(!stays.is_finished(), "a key that is valid goes on waiting");
        assert_eq!(
            other.next().expect("an event").1,
            "key.revoked",
            "and goes on following"
        );
        assert_eq!(stays.join().expect("an answer").0, 200);
    });
}

#[tokio::test]
async fn a_key_that_expires_ends_its_stream() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let short = key(&bench, "guest", &["--role", "producer", "--expires", "+1h"]);
    let mut stream = Stream::open(&api, &short, "?kind=tenant.*", None);
    bench.advance("2 hours").await;
    assert_eq!(
        quiet_until_end(&mut stream),
        0,
        "it ended before the next sign of life was due"
    );
}
