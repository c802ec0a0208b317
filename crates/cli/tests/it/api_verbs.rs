//! What can be done over HTTP beside enqueueing and working.

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::workbench::{Answer, Workbench, tenure};

/// A claim that waits is answered by the notification of the enqueue, long before its time is over.
#[tokio::test]
async fn a_claim_waits_for_work_and_one_job_wakes_one_of_those_who_wait() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "both", &["--role", "producer", "--role", "worker"]);
    let none = api.post(
        &both,
        "/v1/jobs/claim",
        json!({"worker": "w", "kinds": ["a"], "wait_seconds": 1}),
    );
    assert_eq!(none, json!({"jobs": []}), "nothing came");
    let (jobs, waited) = std::thread::scope(|scope| {
        let claims: Vec<_> = (0..4)
            .map(|n| {
                let (api, both) = (&api, &both);
                let body = json!({"worker": format!("w{n}"), "kinds": ["a"], "wait_seconds": 8});
                scope.spawn(move || api.post(both, "/v1/jobs/claim", body))
            })
            .collect();
        let job = api.post(&both, "/v1/jobs", json!({"kind": "a"}));
        let answers: Vec<Value> = claims
            .into_iter()
            .map(|claim| claim.join().expect("an answer"))
            .collect();
        let got = answers
            .iter()
            .filter(|answer| answer["jobs"][0]["job_id"] == job["job_id"])
            .count();
        (got, answers.len())
    });
    assert_eq!((jobs, waited), (1, 4));
    let long = api.send(
        &both,
        "POST",
        "/v1/jobs/claim",
        Some(&json!({"worker": "w", "wait_seconds": 41})),
    );
    api.refused(long, 422, "number_out_of_range");
}

#[tokio::test]
async fn what_else_can_be_done_can_be_done_over_http() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let all = key(
        &bench,
        "all",
        &[
            "--role", "admin", "--role", "operator", "--role", "producer", "--role", "worker",
        ],
    );
    let put = |path: &str, body: Value| {
        let (status, answer) = api.send(&all, "PUT", path, Some(&body));
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    };
    put("/v1/kinds/a", json!({"policy": {"attempts_max": 1}}));
    assert_eq!(api.get(&all, "/v1/kinds")["items"][0]["kind"], "a");
    assert_eq!(api.get(&all, "/v1/kinds/a")["attempts_max"], 1);
    api.post(&all, "/v1/kinds/a/pause", json!({"note": "a while"}));
    api.post(&all, "/v1/jobs", json!({"kind": "a"}));
    assert_eq!(
        api.post(&all, "/v1/jobs/claim", json!({"worker": "w"})),
        json!({"jobs": []})
    );
    api.post(&all, "/v1/kinds/a/resume", json!({}));
    let job = api.post(&all, "/v1/jobs/claim", json!({"worker": "w"}))["jobs"][0].clone();
    let id = job["job_id"].as_str().expect("an id");
    let why = api.get(&all, &format!("/v1/jobs/{id}/explain"));
    assert_eq!(why["job_id"], id, "{why}");
    api.post(
        &all,
        &format!("/v1/jobs/{id}/fail"),
        json!({"token": job["token"], "message": "no", "permanent": true}),
    );
    let dead = api.get(&all, "/v1/dead-letters?kind=a")["items"][0].clone();
    let letter = format!("/v1/dead-letters/{}", dead["dead_letter_id"].as_str().expect("an id"));
    assert_eq!(api.get(&all, &letter)["job_id"], id);
    let early = api.send(&all, "POST", &format!("{letter}/replay"), Some(&json!({})));
    api.refused(early, 409, "replay_needs_triage");
    api.post(
        &all,
        &format!("{letter}/triage"),
        json!({"status": "manual_replay", "note": "again"}),
    );
    api.get(&all, &format!("{letter}/replay"));
    let replayed = api.post(&all, &format!("{letter}/replay"), json!({}));
    assert_ne!(replayed["job_id"], id, "{replayed}");

    put("/v1/config/queue.lease.duration_sec", json!({"value": 120}));
    assert_eq!(
        api.get(&all, "/v1/config/queue.lease.duration_sec"),
        json!({"key": "queue.lease.duration_sec", "value": 120})
    );
    assert!(
        api.get(&all, "/v1/config")["items"]
            .as_array()
            .is_some_and(|all| all.len() > 10)
    );
    let nothing = api.send(&all, "PUT", "/v1/config/queue.lease.duration_sec", Some(&json!({})));
    api.refused(nothing, 400, "request_invalid");
    put("/v1/gates/queue.notify.enabled", json!({"position": "closed"}));
    api.post(&all, "/v1/executors/external_worker/beat", json!({"name": "w"}));
    let executors = api.get(&all, "/v1/executors");
    assert!(
        executors["items"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["alive"] == 1))
    );

    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = api.get(&all, &format!("/v1/events?limit=3{after}"));
        let events = page["items"].as_array().expect("events");
        let Some(last) = events.last() else { break };
        seen.extend(
            events
                .iter()
                .map(|event| event["kind"].as_str().expect("a kind").to_owned()),
        );
        after = format!("&after={}", last["cursor"].as_str().expect("where to go on"));
    }
    for kind in [
        "job.enqueued",
        "job.dead_lettered",
        "dead_letter.replayed",
        "config.changed",
        "key.created",
    ] {
        assert!(seen.iter().any(|it| it == kind), "{kind}: {seen:?}");
    }
    api.refused(api.send(&all, "GET", "/v1/events?after=x", None), 422, "cursor_invalid");
    assert!(api.get(&all, "/v1/health").is_object());
}

/// What programs are written against: it changes only when somebody means it.
#[test]
fn the_description_of_the_api_is_the_one_that_is_kept() {
    let printed = Answer::of(tenure().args(["serve", "--openapi"])).ok();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    if std::env::var_os("TENURE_WRITE").is_some() {
        std::fs::write(&path, &printed).expect("written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == printed,
        "docs/openapi.json is another one. If the change is meant: TENURE_WRITE=1 cargo test -p tenure-cli --test it api::"
    );
}
