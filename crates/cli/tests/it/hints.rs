//! A next step is a command at the prompt and a request over HTTP, wherever its refusal comes from.

use serde_json::json;

use crate::remote_scene::Scene;
use crate::workbench::{check_refusal, text_of};

const NO_JOB: &str = "01990000-0000-7000-8000-000000000001";

#[tokio::test]
async fn a_next_step_is_a_command_at_the_prompt_and_a_request_over_http() {
    let scene = Scene::open().await;
    let (bench, api, key) = (&scene.bench, &scene.api, &scene.key);
    let at_prompt = bench.refused(&["job", "show", NO_JOB], "job_not_found");
    assert_eq!(at_prompt["next"], "Check the id, or look through tenure job list.");
    let reply = api.send(key, "GET", &format!("/v1/jobs/{NO_JOB}"), None);
    let over_http = api.refused(reply, 404, "job_not_found");
    assert_eq!(over_http["next"], "Check the id, or look through GET /v1/jobs.");
    let through_a_server = check_refusal(|| scene.command(["job", "show", NO_JOB]), "job_not_found");
    assert_eq!(through_a_server["next"], at_prompt["next"]);

    bench.text(&["gate", "close", "queue.job_substrate.enabled"]);
    let at_prompt = bench.refused(&["job", "enqueue", "k"], "gate_closed");
    assert_eq!(
        at_prompt["next"],
        "An operator opens it: tenure gate open queue.job_substrate.enabled."
    );
    let reply = api.send(key, "POST", "/v1/jobs", Some(&json!({"kind": "k"})));
    let over_http = api.refused(reply, 503, "gate_closed");
    assert_eq!(
        over_http["next"],
        "An operator opens it: PUT /v1/gates/queue.job_substrate.enabled with {\"position\": \"open\"}."
    );
    let through_a_server = check_refusal(|| scene.command(["job", "enqueue", "k"]), "gate_closed");
    assert_eq!(through_a_server["next"], at_prompt["next"]);
}

#[tokio::test]
async fn why_a_job_does_not_run_is_told_with_a_command_at_the_prompt_and_a_request_over_http() {
    let scene = Scene::open().await;
    let (bench, api, key) = (&scene.bench, &scene.api, &scene.key);
    let job = text_of(&bench.json(&["job", "enqueue", "late", "--due", "+1h"]), "job_id");
    let next = "Wait, or run it now: tenure job retry JOB.";
    assert!(bench.text(&["job", "explain", &job]).contains(next));
    assert_eq!(bench.json(&["job", "explain", &job])["reasons"][0]["next"], next);
    let (_, told) = api.send(key, "GET", &format!("/v1/jobs/{job}/explain"), None);
    assert_eq!(
        told["reasons"][0]["next"],
        "Wait, or run it now: POST /v1/jobs/{job}/retry."
    );
    let told = scene.run(["job", "explain", &job]).ok();
    assert!(told.contains(next), "{told}");
}
