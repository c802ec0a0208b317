//! Clients that are slow, too many or too large take from nobody else.

use std::io::{ErrorKind, Write};

use serde_json::json;

use crate::api::key;
use crate::served::Served;
use crate::workbench::{Workbench, eventually};

/// In seconds: soon over, and long enough for whoever is not slow on purpose.
const SHORT: &str = "3";

fn post(key: &str, length: usize) -> String {
    format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

#[tokio::test]
async fn who_does_not_finish_a_request_is_cut_off() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "producer"]);
    let server = Served::start(&bench, &["--head-seconds", SHORT, "--body-seconds", SHORT]);
    let silent = server.connect();
    let mut halting = server.connect();
    halting.send(b"GET /healthz HTTP/1.1\r\nHost: he");
    let mut once = server.connect();
    assert_eq!(once.get("/healthz").status, 200);
    let mut slow = server.connect();
    slow.send(post(&key, 1000).as_bytes());
    slow.send(b"{\"kind\":");
    assert_eq!(silent.rest(), "", "nothing was asked");
    assert_eq!(halting.rest(), "", "no whole head came");
    assert_eq!(once.rest(), "", "it asked once, and then no more");
    slow.reply().refused(408, "request_timeout");
    assert_eq!(slow.rest(), "", "what comes now would belong to the old body");
    let mut quick = server.connect();
    quick.send(format!("{}{}", post(&key, 13), "{\"kind\": \"a\"}").as_bytes());
    assert_eq!(quick.reply().status, 201);
}

#[tokio::test]
async fn who_does_not_read_the_answer_is_cut_off() {
    let bench = Workbench::open().await;
    let server = Served::start(&bench, &["--write-seconds", "1"]);
    let mut wire = server.connect();
    let error = loop {
        // Answers pile up until the server cannot write any more; then it does not read either, until it gives up.
        let asked = wire
            .0
            .get_mut()
            .write_all(b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n");
        if let Err(error) = asked {
            break error;
        }
    };
    assert!(
        matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        "{error}"
    );
    assert_eq!(server.connect().get("/healthz").status, 200);
}

#[tokio::test]
async fn more_clients_than_there_is_room_for_are_told_so() {
    let bench = Workbench::open().await;
    let server = Served::start(&bench, &["--clients-max", "2"]);
    let mut inside = [server.connect(), server.connect()];
    for wire in &mut inside {
        assert_eq!(wire.get("/healthz").status, 200);
    }
    let mut outside = server.connect();
    let reply = outside.get("/healthz");
    reply.refused(503, "server_busy");
    assert!(reply.head.contains("retry-after: 1") && reply.head.contains("connection: close"));
    assert_eq!(outside.rest(), "");
    assert!(server.log().contains("clients are refused"), "{}", server.log());
    for wire in &mut inside {
        assert_eq!(wire.get("/healthz").status, 200, "those who were there first stay");
    }
    drop(inside);
    eventually("room", || {
        (server.connect().get("/healthz").status == 200).then_some(())
    });
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "producer"]);
    let server = Served::start(&bench, &["--body-bytes-max", "4096"]);
    let long = "a".repeat(40 * 1024);
    let many: String = (0..200).map(|n| format!("x-{n}: 1\r\n")).collect();
    for head in [
        format!("GET /healthz HTTP/1.1\r\nHost: here\r\nx-long: {long}\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nHost: here\r\n{many}\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: here\r\n\r\n"),
    ] {
        let answer = server.talk(head.as_bytes());
        assert!(
            answer.starts_with("HTTP/1.1 431 ") || answer.starts_with("HTTP/1.1 414 "),
            "{answer}"
        );
    }
    let mut wire = server.connect();
    wire.send(post(&key, 5000).as_bytes());
    wire.send(&[b' '; 5000]);
    wire.reply().refused(413, "request_too_large");
    // Without a length in advance, too.
    let chunked = post(&key, 0).replace("Content-Length: 0", "Transfer-Encoding: chunked");
    let mut wire = server.connect();
    wire.send(chunked.as_bytes());
    wire.send(format!("1388\r\n{}\r\n0\r\n\r\n", " ".repeat(5000)).as_bytes());
    wire.reply().refused(413, "request_too_large");
}

#[tokio::test]
async fn a_body_of_many_or_deep_values_fills_neither_memory_nor_stack() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "producer"]);
    let server = Served::start(&bench, &[]);
    let deep = format!("{{\"kind\": \"a\", \"payload\": {}", "[".repeat(1_000_000));
    let many = format!("{{\"kind\": \"a\", \"payload\": [{}0]}}", "0,".repeat(1_000_000));
    let unknown = format!("{{\"kind\": \"a\", \"x\": {}", "{\"x\":".repeat(100_000));
    for (body, status, code) in [
        (&deep, 413, "request_too_large"),
        (&many, 413, "request_too_large"),
        (&unknown, 400, "request_invalid"),
        (
            &format!("{{\"kind\": \"a\", \"payload\": {}", "[".repeat(10_000)),
            400,
            "request_invalid",
        ),
    ] {
        let mut wire = server.connect();
        wire.send(post(&key, body.len()).as_bytes());
        wire.send(body.as_bytes());
        wire.reply().refused(status, code);
    }
    assert_eq!(server.connect().get("/healthz").body, json!({"status": "ok"}));
}

#[tokio::test]
async fn bodies_wait_for_each_other_and_all_come_through() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "producer"]);
    // Room for one at a time.
    let server = Served::start(&bench, &["--bodies-bytes-max", "65536", "--body-bytes-max", "65536"]);
    let body = format!("{{\"kind\": \"a\"{}}}", " ".repeat(60_000));
    let mut first = server.connect();
    first.send(
        post(&key, body.len())
            .replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n")
            .as_bytes(),
    );
    assert_eq!(first.reply().status, 100, "the first has its room");
    let mut second = server.connect();
    second.send(post(&key, body.len()).as_bytes());
    second.send(body.as_bytes());
    first.send(body.as_bytes());
    assert_eq!((first.reply().status, second.reply().status), (201, 201));
}
