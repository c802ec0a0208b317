//! What a server keeps apart, even when its database or its clients misbehave.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::api::{Api, key};
use crate::workbench::{Workbench, eventually};

#[tokio::test]
async fn a_request_that_is_left_takes_its_connection_along() {
    let bench = Workbench::open().await;
    let api = Api::start_with(&bench, &["--connections", "1", "--no-services"]);
    let viewer = key(&bench, "eve", &["--role", "viewer"]);
    assert_eq!(api.get(&viewer, "/v1/kinds")["items"], json!([]));

    let client = bench.database.connect().await.expect("connect");
    client
        .batch_execute("begin; lock table tenure.kinds")
        .await
        .expect("locked");
    let address = api.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).expect("the server");
    write!(
        stream,
        "GET /v1/kinds HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {viewer}\r\n\r\n"
    )
    .expect("sent");
    let waiting = "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let pid: i32 = {
        let mut found = None;
        while found.is_none() {
            found = client
                .query_opt(waiting, &[])
                .await
                .expect("a look")
                .map(|row| row.get(0));
            tokio::task::yield_now().await;
        }
        found.expect("the request waits")
    };
    drop(stream);
    // There is one connection only. Whoever comes next does not wait for the one that nobody wants any more.
    assert_eq!(api.get(&viewer, "/v1/jobs")["items"], json!([]));
    client.batch_execute("rollback").await.expect("unlocked");
    let lives = format!("select count(*)::text from pg_stat_activity where pid = {pid}");
    loop {
        if bench.sql(&lives).await == "0" {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(api.get(&viewer, "/v1/kinds")["items"], json!([]));
}

#[tokio::test]
async fn the_use_of_a_key_is_written_down() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let (used, unused) = (
        key(&bench, "ann", &["--role", "viewer"]),
        key(&bench, "bob", &["--role", "viewer"]),
    );
    assert_eq!(api.send(&used, "GET", "/v1/jobs", None).0, 200);
    api.refused(
        api.send(&unused, "POST", "/v1/jobs", Some(&json!({"kind": "a"}))),
        403,
        "not_permitted",
    );
    // At the latest when the server ends.
    api.stop();
    let keys = bench.lines(&["key", "list"]);
    let last = |principal: &str| {
        let key = keys.iter().find(|key| key["principal"] == principal).expect("the key");
        key["last_used_at"].clone()
    };
    assert!(last("ann").is_string(), "{keys:?}");
    assert!(last("bob").is_null(), "what was refused is no use: {keys:?}");
}

#[tokio::test]
async fn who_brings_no_key_costs_the_database_nothing() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let good = key(&bench, "ann", &["--role", "producer"]);
    let client = bench.database.connect().await.expect("connect");
    // Whoever asks for a key has to wait now.
    client
        .batch_execute("begin; lock table tenure.keys")
        .await
        .expect("locked");
    for header in [
        None,
        Some("Bearer x"),
        Some("Basic eDp5"),
        Some("Bearer tnr_short_secret"),
    ] {
        let headers: Vec<(&str, &str)> = header.map(|value| ("authorization", value)).into_iter().collect();
        api.refused(
            api.raw("POST", "/v1/jobs", &headers, Some("{nonsense")),
            401,
            "unauthenticated",
        );
    }
    client.batch_execute("rollback").await.expect("unlocked");
    // A key that is known, but not to this database, is refused before anything else is looked at.
    let unknown = format!("tnr_{}_{}", "a".repeat(13), "b".repeat(52));
    let headers = [("authorization", format!("Bearer {unknown}"))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    api.refused(
        api.raw("POST", "/v1/jobs", &headers, Some("{nonsense")),
        401,
        "unauthenticated",
    );
    assert_eq!(api.send(&good, "POST", "/v1/jobs", Some(&json!({"kind": "a"}))).0, 201);
}

#[tokio::test]
async fn what_the_database_says_stays_with_whoever_runs_the_server() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let all = key(&bench, "ann", &["--role", "viewer", "--role", "admin"]);
    let client = bench.database.connect().await.expect("connect");
    client
        .batch_execute("alter table tenure.kinds rename to hidden_kinds")
        .await
        .expect("renamed");
    let (status, body) = api.send(&all, "GET", "/v1/kinds", None);
    assert_eq!((status, &body["code"]), (503, &json!("schema_missing")), "{body}");
    let text = body.to_string();
    for word in ["tenure.kinds", "relation", "select", "42P01", "PL/pgSQL"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    client
        .batch_execute("alter table tenure.hidden_kinds rename to kinds")
        .await
        .expect("renamed");
    eventually("the server to go on", || {
        (api.send(&all, "GET", "/v1/kinds", None).0 == 200).then_some(())
    });
}

#[tokio::test]
async fn the_clock_of_the_database_can_be_asked_for() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let viewer = key(&bench, "eve", &["--role", "viewer"]);
    bench.advance("10 years").await;
    let now = api.get(&viewer, "/v1/now")["now"].as_str().expect("a time").to_owned();
    let years = format!("select (('{now}'::timestamptz - clock_timestamp()) > interval '9 years')::text");
    assert_eq!(bench.sql(&years).await, "true", "{now}");
    let mut stream = TcpStream::connect(api.url().replace("http://", "")).expect("the server");
    write!(stream, "GET /v1/now HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert!(text.starts_with("HTTP/1.1 401"), "{text}");
}
