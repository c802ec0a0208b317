//! What a server writes down about its requests, and what it does not.

use serde_json::Value;

use crate::api::key;
use crate::served::Served;
use crate::workbench::{Workbench, eventually};

#[tokio::test]
async fn no_secret_reaches_the_log_wherever_it_was_put() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "admin"]);
    let secret = key.rsplit('_').next().expect("a secret");
    // Everything that anybody here can say, the libraries too.
    let server = Served::start(&bench, &["--log", "trace,tenure=trace", "--log-format", "json"]);
    let talk = |request: String| {
        let mut wire = server.connect();
        wire.send(request.as_bytes());
        wire.reply()
    };
    let bearer = format!("Authorization: Bearer {key}");
    let post = |path: &str, headers: &str, body: &str| {
        talk(format!(
            "POST {path} HTTP/1.1\r\nHost: here\r\n{headers}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    let get = |path: &str, headers: &str| talk(format!("GET {path} HTTP/1.1\r\nHost: here\r\n{headers}\r\n\r\n"));
    assert_eq!(get("/v1/jobs", &bearer).status, 200);
    get(&format!("/v1/jobs?key={key}"), &bearer);
    get(&format!("/v1/jobs?{key}={key}"), "x: 1");
    get(&format!("/v1/jobs/{key}"), &bearer);
    get(&format!("/v1/kinds/{key}"), &bearer);
    get(&format!("/{key}"), "x: 1");
    get("/v1/jobs", &format!("Authorization: {key}"));
    get("/v1/jobs", &format!("Authorization: Bearer {key}x"));
    get("/v1/jobs", &format!("Authorization: Basic {key}"));
    get(
        "/v1/jobs",
        &format!("X-Api-Key: {key}\r\nCookie: key={key}\r\nX-Request-Id: {key}"),
    );
    get("/v1/jobs", &format!("{bearer}\r\ntenure-tenant: {key}"));
    post("/v1/jobs", &bearer, &format!("{{\"kind\": \"{key}\"}}"));
    post("/v1/jobs", &bearer, &format!("{{\"{key}\": 1}}"));
    post("/v1/jobs", &bearer, &key);
    post(
        "/v1/jobs",
        &bearer,
        &format!("{{\"kind\": \"a\", \"payload\": {{\"x\": \"{key}\"}}}}"),
    );
    post(
        "/v1/jobs",
        &format!("{bearer}\r\nIdempotency-Key: {key}"),
        "{\"kind\": \"a\"}",
    );
    talk(format!("{key} / HTTP/1.1\r\nHost: here\r\n\r\n"));
    let made = post(
        "/v1/keys",
        &bearer,
        "{\"principal\": \"shop\", \"roles\": [\"viewer\"]}",
    );
    let made = made.body["key"].as_str().expect("a new key").to_owned();
    get(
        "/v1/nothing",
        &format!("Authorization: Bearer {made}\r\nX-Request-Id: the-last"),
    );

    let log = eventually("the last line", || {
        Some(server.log()).filter(|log| log.contains("the-last"))
    });
    assert!(
        log.contains("tnr_***"),
        "what got as far as the log is masked there: {log}"
    );
    let made_secret = made.rsplit('_').next().expect("a secret");
    for line in log.lines() {
        let told: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(told["timestamp"].is_string() && told["level"].is_string(), "{line}");
        for secret in [secret, made_secret] {
            assert!(!line.contains(secret), "{line}");
        }
    }
}

#[tokio::test]
async fn every_request_has_a_name_and_a_line() {
    let bench = Workbench::open().await;
    let key = key(&bench, "shop", &["--role", "viewer"]);
    let prefix = key.split('_').nth(1).expect("a prefix");
    let server = Served::start(&bench, &["--log", "debug", "--log-format", "json"]);
    let mut wire = server.connect();
    wire.send(
        format!(
            "GET /v1/jobs?limit=5 HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\nX-Request-Id: mine-1\r\n\r\n"
        )
        .as_bytes(),
    );
    let reply = wire.reply();
    assert!(
        reply.status == 200 && reply.head.contains("x-request-id: mine-1"),
        "{reply:?}"
    );
    let reply = wire.get("/v1/nothing");
    let made = reply.head.lines().find_map(|line| line.strip_prefix("x-request-id: "));
    let made = made.expect("one is made").to_owned();
    let line = |id: &str| {
        eventually("its line", || {
            let log = server.log();
            let line = log.lines().find(|line| line.contains(id))?;
            serde_json::from_str::<Value>(line).ok()
        })
    };
    let told = line("mine-1");
    assert_eq!(
        (
            &told["method"],
            &told["route"],
            &told["status"],
            &told["key"],
            &told["level"]
        ),
        (
            &Value::from("GET"),
            &Value::from("/v1/jobs"),
            &Value::from(200),
            &Value::from(prefix),
            &Value::from("DEBUG")
        ),
        "{told}"
    );
    assert!(
        told["ms"].is_number() && told["span"]["request_id"] == "mine-1",
        "{told}"
    );
    let told = line(&made);
    assert_eq!(
        (&told["status"], &told["level"]),
        (&Value::from(404), &Value::from("INFO")),
        "{told}"
    );
}

#[tokio::test]
async fn by_default_only_what_was_refused_is_told() {
    let bench = Workbench::open().await;
    let server = Served::start(&bench, &[]);
    let mut wire = server.connect();
    assert_eq!(wire.get("/healthz").status, 200);
    assert_eq!(wire.get("/v1/jobs").status, 401);
    let log = eventually("a line", || Some(server.log()).filter(|log| log.contains("status=401")));
    assert!(!log.contains("status=200"), "{log}");
}
