//! Requests that are no requests, and paths that are tricks.

use crate::api::key;
use crate::served::Served;
use crate::workbench::Workbench;

#[tokio::test]
async fn what_is_no_http_is_refused_and_the_connection_closed() {
    let bench = Workbench::open().await;
    let server = Served::start(&bench, &[]);
    for bytes in [
        &b"\x00\x01\x02\x03\r\n\r\n"[..],
        b"hello\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nHost: here\r\n\r\n",
        b"GET /heal\x00thz HTTP/1.1\r\nHost: here\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: here\r\nbad header: 1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: here\r\nx: a\x00b\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: here\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: here\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    ] {
        let answer = server.talk(bytes);
        assert!(
            answer.starts_with("HTTP/1.1 400 "),
            "{:?}: {answer}",
            String::from_utf8_lossy(bytes)
        );
    }
    assert_eq!(server.talk(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "", "HTTP/2 takes TLS");
    assert_eq!(server.connect().get("/healthz").status, 200);
}

#[tokio::test]
async fn a_request_with_two_lengths_leaves_nothing_behind_for_the_next() {
    let bench = Workbench::open().await;
    let server = Served::start(&bench, &[]);
    let answer = server.talk(
        b"POST /healthz HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
          0\r\n\r\nGET /openapi.json HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
    );
    assert!(
        !answer.contains("\"openapi\""),
        "the hidden request was answered: {answer}"
    );
}

#[tokio::test]
async fn tricks_with_paths_lead_nowhere() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "viewer"]);
    let server = Served::start(&bench, &[]);
    let long = format!("/v1/jobs/{}", "a".repeat(8000));
    for (path, codes) in [
        ("/v1/../v1/jobs", &["path_unknown"][..]),
        ("/v1/./jobs", &["path_unknown"]),
        ("/v1/%2e%2e/v1/jobs", &["path_unknown"]),
        ("/v1/jobs/%2e%2e", &["request_invalid"]),
        ("/v1/jobs/..%2f..%2fhealthz", &["request_invalid"]),
        ("//v1/jobs", &["path_unknown"]),
        ("/v1//jobs", &["path_unknown"]),
        ("/v1/jobs/", &["path_unknown", "request_invalid"]),
        ("/V1/JOBS", &["path_unknown"]),
        ("/v1/jobs%00", &["path_unknown"]),
        ("/v1/jobs/%00", &["request_invalid"]),
        ("/v1/kinds/%00", &["text_invalid", "request_invalid"]),
        ("/v1/kinds/%ff", &["request_invalid"]),
        ("/errors/..%2f..%2fREADME", &["path_unknown"]),
        ("/v1/jobs;x=1", &["path_unknown"]),
        ("/v1/jobs?limit=%00", &["request_invalid"]),
        (&long, &["request_invalid"]),
        ("*", &["path_unknown"]),
    ] {
        let mut wire = server.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\n\r\n");
        wire.send(request.as_bytes());
        let reply = wire.reply();
        let code = reply.body["code"].as_str().unwrap_or_default();
        assert!(codes.contains(&code), "{path}: {reply:?}");
        assert!((400..500).contains(&reply.status), "{path}: {reply:?}");
    }
}

/// Texts of JSON within texts of JSON, each with 100 lists, under the name by which serde_json knows such texts.
pub(crate) fn texts_within_texts(levels: usize) -> String {
    let mut text = "[]".to_owned();
    for _ in 0..levels {
        let quoted = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        let (open, close) = ("[".repeat(100), "]".repeat(100));
        text = format!(r#"{open}{{"$serde_json::private::RawValue":"{quoted}"}}{close}"#);
    }
    text
}

#[tokio::test]
async fn texts_of_json_within_texts_do_not_end_the_server() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "viewer", "--role", "producer"]);
    let server = Served::start(&bench, &[]);
    let nested = texts_within_texts(20);
    for (path, body) in [
        ("/v1/jobs/claim", format!(r#"{{"worker": {nested}}}"#)),
        ("/v1/jobs", format!(r#"{{"kind": "a", "payload": {{"a": {nested}}}}}"#)),
        (
            "/v1/jobs",
            r#"{"kind": "a", "payload": {"n": {"\u0024serde_json::private::Number": "5"}}}"#.to_owned(),
        ),
    ] {
        for header in ["", "Idempotency-Key: x\r\n"] {
            let mut wire = server.connect();
            let length = body.len();
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
                 {header}Content-Length: {length}\r\n\r\n{body}"
            );
            wire.send(request.as_bytes());
            wire.reply().refused(400, "request_invalid");
        }
    }
    assert_eq!(server.connect().get("/healthz").status, 200);
}
