//! The end of a server.

use std::net::TcpStream;

use nix::sys::signal::Signal;

use crate::api::key;
use crate::served::{Served, Wire};
use crate::workbench::{Workbench, eventually};

const BODY: &[u8] = b"{\"kind\": \"a\"}";

/// A request whose body is being waited for.
fn begun(server: &Served, key: &str) -> Wire<TcpStream> {
    let mut wire = server.connect();
    let head = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        BODY.len()
    );
    wire.send(head.as_bytes());
    assert_eq!(wire.reply().status, 100, "the server waits for the body");
    wire
}

#[tokio::test]
async fn a_server_that_is_stopped_finishes_what_has_begun() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "producer", "--role", "worker"]);
    let mut server = Served::start(&bench, &[]);
    let (mut idle, fresh) = (server.connect(), server.connect());
    assert_eq!(idle.get("/healthz").status, 200);
    let mut under_way = begun(&server, &key);
    let mut waiting = server.connect();
    let claim = "{\"worker\": \"w\", \"wait_seconds\": 40}";
    let head = format!(
        "POST /v1/jobs/claim HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        claim.len()
    );
    waiting.send(head.as_bytes());
    assert_eq!(waiting.reply().status, 100);
    waiting.send(claim.as_bytes());

    server.signal(Signal::SIGTERM);
    assert_eq!(
        (idle.rest(), fresh.rest()),
        (String::new(), String::new()),
        "who asks nothing is sent away"
    );
    eventually("a closed door", || {
        TcpStream::connect(server.address).is_err().then_some(())
    });
    let reply = waiting.reply();
    assert_eq!(
        (reply.status, reply.body["jobs"].as_array().map(Vec::len)),
        (200, Some(0))
    );
    under_way.send(BODY);
    assert_eq!(under_way.reply().status, 201);
    assert_eq!(under_way.rest(), "");
    assert!(server.ended().success());
    let count: String = bench.sql("select count(*)::text from tenure.jobs").await;
    assert_eq!(count, "1");
    let used: String = bench
        .sql("select count(*)::text from tenure.keys where last_used_at is not null")
        .await;
    assert_eq!(used, "1", "that the key was used is written down at the end");
}

#[tokio::test]
async fn a_server_that_is_stopped_waits_for_nobody_for_ever() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "producer"]);
    let mut server = Served::start(&bench, &["--drain-seconds", "1"]);
    let under_way = begun(&server, &key);
    server.signal(Signal::SIGTERM);
    assert_eq!(under_way.rest(), "");
    assert!(server.ended().success());
    assert!(server.log().contains("cut off at the end"), "{}", server.log());
}

#[tokio::test]
async fn whoever_asks_twice_does_not_wait() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "producer"]);
    let mut server = Served::start(&bench, &["--drain-seconds", "3600"]);
    let idle = server.connect();
    let _under_way = begun(&server, &key);
    server.signal(Signal::SIGTERM);
    assert_eq!(idle.rest(), "", "it was heard");
    server.signal(Signal::SIGTERM);
    assert!(server.ended().success());
}
