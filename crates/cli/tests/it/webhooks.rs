//! Webhooks, against a receiver that really listens.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::api::{Api, key};
use crate::workbench::{Workbench, eventually, text_of};

/// How long a test waits for something to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// What arrived.
struct Arrived {
    headers: HashMap<String, String>,
    body: String,
}

impl Arrived {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// Whether one of the signatures is that of this key.
    fn is_signed_with(&self, key: &str) -> bool {
        let secret = STANDARD.decode(key.trim_start_matches("whsec_")).expect("a key");
        let signed = format!(
            "{}.{}.{}",
            self.headers["webhook-id"], self.headers["webhook-timestamp"], self.body
        );
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret).expect("a key");
        mac.update(signed.as_bytes());
        let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.headers["webhook-signature"].split(' ').any(|it| it == expected)
    }
}

/// Listens, and answers each request with the next of these statuses, then with 204.
fn receiver(statuses: Vec<u16>) -> (String, Receiver<Arrived>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/in", listener.local_addr().expect("an address"));
    let (tell, told) = channel();
    let mut statuses = statuses.into_iter();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                continue;
            }
            let mut headers = HashMap::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a header");
                match line.trim_end().split_once(": ") {
                    Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
                    None => break,
                };
            }
            let mut body = vec![0; headers["content-length"].parse().expect("a length")];
            reader.read_exact(&mut body).expect("a body");
            let status = statuses.next().unwrap_or(204);
            let _ = write!(
                stream,
                "HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            let body = String::from_utf8(body).expect("text");
            if tell.send(Arrived { headers, body }).is_err() {
                return;
            }
        }
    });
    (url, told)
}

#[tokio::test]
async fn an_event_arrives_signed_once_more_after_a_failure_and_in_order() {
    let bench = Workbench::open().await;
    let api = Api::start_with(&bench, &["--webhook-allow", "127.0.0.0/8"]);
    let all = key(&bench, "all", &["--role", "operator", "--role", "producer"]);
    let (url, told) = receiver(vec![503]);
    let made = api.post(
        &all,
        "/v1/subscriptions",
        json!({"name": "hook", "event_kinds": ["job.*"], "target": "webhook", "url": url}),
    );
    let signing_key = made["signing_key"].as_str().expect("a key").to_owned();
    assert!(
        api.get(&all, "/v1/subscriptions")["items"][0]
            .get("signing_key")
            .is_none()
    );
    let job = api.post(&all, "/v1/jobs", json!({"kind": "a"}))["job_id"].clone();
    api.post(
        &all,
        &format!("/v1/jobs/{}/cancel", job.as_str().expect("an id")),
        json!({"reason": "never mind"}),
    );
    let arrived: Vec<Arrived> = (0..3)
        .map(|_| told.recv_timeout(PATIENCE).expect("an arrival"))
        .collect();
    for one in &arrived {
        assert!(one.is_signed_with(&signing_key), "{:?}", one.headers);
        assert_eq!(one.headers["content-type"], "application/json");
        assert_eq!(one.json()["data"]["job_id"], job);
    }
    let types: Vec<Value> = arrived.iter().map(|one| one.json()["type"].clone()).collect();
    assert_eq!(
        types,
        ["job.enqueued", "job.enqueued", "job.cancelled"],
        "what failed came again before the next"
    );
    assert_eq!(arrived[0].headers["webhook-id"], arrived[1].headers["webhook-id"]);
    assert_ne!(arrived[1].headers["webhook-id"], arrived[2].headers["webhook-id"]);

    let rotated = api.post(&all, "/v1/subscriptions/hook/rotate", json!({}));
    let new_key = rotated["signing_key"].as_str().expect("a key");
    api.post(&all, "/v1/jobs", json!({"kind": "a"}));
    let last = told.recv_timeout(PATIENCE).expect("an arrival");
    assert!(
        last.is_signed_with(new_key) && last.is_signed_with(&signing_key),
        "both, for a day"
    );
    eventually("all of it was delivered", || {
        let list = api.get(&all, "/v1/subscriptions/hook/deliveries?state=delivered");
        (list["items"].as_array()?.len() == 3).then_some(())
    });
    let rest = api.get(&all, "/v1/subscriptions/hook/deliveries?limit=2");
    let page = "/v1/subscriptions/hook/deliveries?limit=2";
    let next = api.get(&all, &format!("{page}&cursor={}", text_of(&rest, "next")));
    let before = format!("{page}&before={}", rest["items"][1]["place"]);
    assert_eq!(api.get(&all, &before), next);
    assert_eq!(
        (next["items"].as_array().map(Vec::len), &next["next"]),
        (Some(1), &Value::Null)
    );
}

#[tokio::test]
async fn a_private_address_is_not_called_unless_it_is_allowed() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let all = key(&bench, "all", &["--role", "operator", "--role", "producer"]);
    let (url, told) = receiver(Vec::new());
    let by_name = url.replace("127.0.0.1", "localhost");
    // Another server would not let them be made; what is there from before, or was made in the database, is not called.
    for (name, url) in [("address", &url), ("name", &by_name)] {
        bench
            .run(["subscription", "create", name, "job.*", "--webhook", url])
            .ok();
    }
    api.post(&all, "/v1/jobs", json!({"kind": "a"}));
    for name in ["address", "name"] {
        let path = format!("/v1/subscriptions/{name}/deliveries");
        eventually("an attempt was refused", || {
            let error = api.get(&all, &path)["items"][0]["error"].clone();
            error.as_str()?.contains("not public").then_some(())
        });
    }
    assert!(told.try_recv().is_err(), "nobody was called");
}

#[tokio::test]
async fn an_event_makes_a_job_and_a_reader_keeps_its_place_over_http() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let all = key(
        &bench,
        "all",
        &["--role", "operator", "--role", "producer", "--role", "worker"],
    );
    let subscribe = |body: Value| api.post(&all, "/v1/subscriptions", body);
    subscribe(
        json!({"name": "repair", "event_kinds": ["job.dead_lettered"], "target": "job", "job_kind": "repair", "filter": {"job_kind": "a"}}),
    );
    subscribe(json!({"name": "ledger", "event_kinds": ["job.enqueued"], "target": "reader"}));
    api.post(&all, "/v1/jobs", json!({"kind": "a"}));
    let job = api.post(&all, "/v1/jobs/claim", json!({"worker": "w", "kinds": ["a"]}))["jobs"][0].clone();
    let id = job["job_id"].as_str().expect("an id");
    api.post(
        &all,
        &format!("/v1/jobs/{id}/fail"),
        json!({"token": job["token"], "message": "no", "permanent": true}),
    );
    let made = api.post(
        &all,
        "/v1/jobs/claim",
        json!({"worker": "w", "kinds": ["repair"], "wait_seconds": 30}),
    )["jobs"][0]
        .clone();
    assert_eq!(made["payload"]["event"]["job_id"], id);
    assert_eq!(made["parent_job_id"], id);
    let path = "/v1/subscriptions/ledger/events";
    let unread = || api.get(&all, path)["items"].as_array().map_or(0, Vec::len);
    eventually("both enqueues", || (unread() == 2).then_some(()));
    let first = api.get(&all, &format!("{path}?limit=1"))["items"][0].clone();
    api.post(&all, "/v1/subscriptions/ledger/ack", json!({"cursor": first["cursor"]}));
    let rest = api.get(&all, path);
    assert_eq!(rest["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(rest["items"][0]["job_kind"], "repair");

    api.post(&all, "/v1/subscriptions/ledger/pause", json!({"note": "holiday"}));
    assert_eq!(api.get(&all, path)["items"], json!([]));
    api.post(&all, "/v1/subscriptions/ledger/resume", json!({"from": "start"}));
    eventually("all from the start", || (unread() == 2).then_some(()));
    let (status, ended) = api.send(&all, "DELETE", "/v1/subscriptions/ledger", None);
    assert_eq!((status, &ended["name"]), (200, &json!("ledger")));
    api.refused(api.send(&all, "GET", path, None), 404, "subscription_unknown");
    let bad = json!({"name": "x", "event_kinds": ["job.*"], "target": "job", "colour": "red"});
    api.refused(
        api.send(&all, "POST", "/v1/subscriptions", Some(&bad)),
        400,
        "request_invalid",
    );
    let nobody = format!("/v1/deliveries/{id}/retry");
    api.refused(
        api.send(&all, "POST", &nobody, Some(&json!({}))),
        404,
        "delivery_unknown",
    );
}
