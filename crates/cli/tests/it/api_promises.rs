//! What every call over HTTP promises, whatever it is about.

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::served::Served;
use crate::workbench::Workbench;

#[tokio::test]
async fn every_answer_forbids_guessing_its_type_and_keeping_it() {
    let bench = Workbench::open().await;
    let viewer = key(&bench, "eye", &["--role", "viewer"]);
    let server = Served::start(&bench, &["--body-bytes-max", "2048", "--metrics-listen", "127.0.0.1:0"]);
    let authorization = format!("Authorization: Bearer {viewer}\r\n");
    let large = format!(
        "Content-Type: application/json\r\nContent-Length: 4096\r\n\r\n{}",
        " ".repeat(4096)
    );
    for (line, rest, status) in [
        ("GET /v1/jobs", format!("{authorization}\r\n"), 200),
        ("GET /v1/jobs", "\r\n".to_owned(), 401),
        ("POST /v1/jobs", format!("{authorization}{large}"), 413),
        ("GET /v1/nothing", "\r\n".to_owned(), 404),
        ("DELETE /healthz", "\r\n".to_owned(), 405),
        ("GET /healthz", "\r\n".to_owned(), 200),
        ("GET /readyz", "\r\n".to_owned(), 200),
        ("GET /openapi.json", "\r\n".to_owned(), 200),
        ("GET /errors/gate_closed", "\r\n".to_owned(), 200),
        (
            "GET /v1/events",
            format!("{authorization}Accept: text/event-stream\r\n\r\n"),
            200,
        ),
    ] {
        let mut wire = server.connect();
        wire.send(format!("{line} HTTP/1.1\r\nHost: here\r\n{rest}").as_bytes());
        let reply = wire.reply();
        assert_eq!(reply.status, status, "{line}: {reply:?}");
        assert!(
            reply.head.contains("x-content-type-options: nosniff\r\n"),
            "{line}: {}",
            reply.head
        );
        assert!(
            reply.head.contains("cache-control: no-store\r\n"),
            "{line}: {}",
            reply.head
        );
        assert_eq!(reply.head.matches("cache-control").count(), 1, "{line}: {}", reply.head);
        assert!(
            !reply.head.contains("strict-transport-security"),
            "{line}: {}",
            reply.head
        );
    }
    let metrics = server.ready["metrics"].as_str().expect("an address");
    let answer = crate::http::get(metrics);
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn a_body_in_an_encoding_is_refused_and_the_connection_goes_on() {
    let bench = Workbench::open().await;
    let shop = key(&bench, "shop", &["--role", "producer"]);
    let server = Served::start(&bench, &[]);
    let mut wire = server.connect();
    let body = r#"{"kind": "a"}"#;
    for (encoding, status) in [("gzip", 415), ("br, identity", 415), ("identity", 201), ("", 201)] {
        wire.send(
            format!(
                "POST /v1/jobs HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {shop}\r\nContent-Type: application/json\r\n\
                 Content-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .as_bytes(),
        );
        let reply = wire.reply();
        assert_eq!(reply.status, status, "{encoding}: {reply:?}");
        if status == 415 {
            reply.refused(415, "media_type_unsupported");
            assert!(
                reply.body["what"].as_str().is_some_and(|what| what.contains(encoding)),
                "{reply:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_moment_that_is_none_is_refused_wherever_one_is_taken() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let roles = ["producer", "worker", "operator", "admin"];
    let roles: Vec<&str> = roles.iter().flat_map(|role| ["--role", role]).collect();
    let all = key(&bench, "all", &roles);
    api.post(
        &all,
        "/v1/schedules",
        json!({"name": "s", "every_seconds": 60, "kind": "a"}),
    );
    let moments = [
        "infinity",
        "-infinity",
        "-009999-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "+012026-01-01T00:00:00Z",
    ];
    let queries = [
        "/v1/jobs?created_after=",
        "/v1/jobs?created_before=",
        "/v1/dead-letters?before=",
        "/v1/schedules/s/slots?from=",
        "/v1/schedules/s/slots?until=",
        "/v1/schedules/s/slots?before=",
        "/v1/schedules/s/explain?at=",
    ];
    let bodies = |at: &str| -> Vec<(&'static str, Value)> {
        let plan = json!({"purpose": "p", "steps": [{"id": "a", "kind": "k"}]});
        vec![
            ("/v1/jobs", json!({"kind": "a", "due": at})),
            ("/v1/jobs", json!({"kind": "a", "deadline": at})),
            ("/v1/jobs/batch", json!({"jobs": [{"kind": "a", "due": at}]})),
            (
                "/v1/schedules",
                json!({"name": "t", "every_seconds": 60, "kind": "a", "start_at": at}),
            ),
            (
                "/v1/schedules",
                json!({"name": "t", "every_seconds": 60, "kind": "a", "end_at": at}),
            ),
            (
                "/v1/schedules/s/backfill",
                json!({"from": at, "until": "2026-01-01T00:00:00Z"}),
            ),
            (
                "/v1/schedules/s/backfill",
                json!({"from": "2026-01-01T00:00:00Z", "until": at}),
            ),
            (
                "/v1/keys",
                json!({"principal": "all", "roles": ["viewer"], "expires_at": at}),
            ),
            ("/v1/executions", json!({"plan": plan, "start_after": at})),
            ("/v1/executions", json!({"plan": plan, "start_before": at})),
            ("/v1/executions/freeze", json!({"reason": "r", "until": at})),
        ]
    };
    for at in moments {
        let encoded = at.replace('+', "%2B");
        for path in queries {
            let body = api.refused(
                api.send(&all, "GET", &format!("{path}{encoded}"), None),
                400,
                "request_invalid",
            );
            assert!(
                body["why"]
                    .as_str()
                    .is_some_and(|why| why.contains("2026-01-02T03:04:05Z")),
                "{path}{at}: {body}"
            );
        }
        for (path, body) in bodies(at) {
            let (status, answer) = api.send(&all, "POST", path, Some(&body));
            assert!(status == 400 || status == 422, "{path} {body}: {status} {answer}");
        }
    }
}

#[tokio::test]
async fn waiting_has_one_name_and_one_limit_on_every_operation() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let all = key(&bench, "all", &["--role", "producer", "--role", "worker"]);
    let unknown = "01990000-0000-7000-8000-000000000001";
    let plan = json!({"plan": {"purpose": "p", "steps": []}});
    let operations: [(&str, String, Option<&Value>); 3] = [
        ("GET", format!("/v1/jobs/{unknown}"), None),
        ("GET", format!("/v1/executions/{unknown}"), None),
        ("POST", "/v1/executions".to_owned(), Some(&plan)),
    ];
    for (method, path, body) in operations {
        let ask = |query: &str| api.send(&all, method, &format!("{path}?{query}"), body);
        let long = api.refused(ask("wait_seconds=41"), 422, "number_out_of_range");
        assert_eq!(long["what"], "wait_seconds is 41; the maximum is 40.", "{path}");
        let (_, within) = ask("wait_seconds=40");
        assert_ne!(within["code"], "number_out_of_range", "{path}: {within}");
        assert_ne!(within["code"], "request_invalid", "{path}: {within}");
        let old = api.refused(ask("wait=5"), 400, "request_invalid");
        assert!(
            old["next"].as_str().is_some_and(|next| next.contains("wait_seconds")),
            "{path}: {old}"
        );
    }
    let claim = |body: Value| api.send(&all, "POST", "/v1/jobs/claim", Some(&body));
    let long = api.refused(
        claim(json!({"worker": "w", "wait_seconds": 41})),
        422,
        "number_out_of_range",
    );
    assert_eq!(long["what"], "wait_seconds is 41; the maximum is 40.");
    let old = api.refused(claim(json!({"worker": "w", "wait": 5})), 400, "request_invalid");
    assert!(
        old["next"].as_str().is_some_and(|next| next.contains("wait_seconds")),
        "{old}"
    );
}

#[tokio::test]
async fn a_webhook_that_could_never_be_called_is_refused_when_it_is_made() {
    let bench = Workbench::open().await;
    let strict = Api::start(&bench);
    let lax = Api::start_with(&bench, &["--webhook-allow", "127.0.0.0/8,10.0.0.0/8"]);
    let all = key(&bench, "all", &["--role", "operator"]);
    let create = |api: &Api, name: &str, url: &str| {
        let body = json!({"name": name, "event_kinds": ["job.*"], "target": "webhook", "url": url});
        api.send(&all, "POST", "/v1/subscriptions", Some(&body))
    };
    for url in ["https://2130706433/in", "https://0x7f.1/in", "https://0177.0.0.1/in"] {
        strict.refused(create(&strict, "no", url), 422, "text_invalid");
    }
    for url in [
        "https://127.0.0.1/in",
        "https://10.1.2.3:8443/in",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/in",
        "https://[::ffff:10.0.0.1]/in",
        "https://localhost/in",
        "https://api.localhost/in",
        "http://example.com/in",
        "http://93.184.216.34/in",
    ] {
        let body = strict.refused(create(&strict, "no", url), 403, "not_permitted");
        assert!(
            body["what"].as_str().is_some_and(|what| what.contains("url")),
            "{url}: {body}"
        );
    }
    for url in [
        "ftp://example.com/in",
        "https://user@example.com/in",
        "https://user:word@example.com/in",
        "https://example.com:0/in",
        "https://example.com:65536/in",
        "https://example.com:99999/in",
        "https:///in",
        "https://1.2.3.4.5/in",
        "https://999.1.1.1/in",
        "https://[::g]/in",
        "https://example.com/in#part",
        "not a url",
    ] {
        let body = strict.refused(create(&strict, "no", url), 422, "text_invalid");
        assert!(
            body["what"].as_str().is_some_and(|what| what.contains("url")),
            "{url}: {body}"
        );
    }
    assert_eq!(create(&strict, "public", "https://example.com:8443/in?x=1").0, 201);
    assert_eq!(create(&lax, "near", "http://127.0.0.1:8080/in").0, 201);
    assert_eq!(
        create(&lax, "named", "http://hooks.example/in").0,
        201,
        "a name is looked up when it is called"
    );
    lax.refused(create(&lax, "no", "http://192.168.1.1/in"), 403, "not_permitted");
}
