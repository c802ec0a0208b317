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
    let next = format!("Wait, or run it now: tenure job retry {job}.");
    assert!(bench.text(&["job", "explain", &job]).contains(&next));
    assert_eq!(bench.json(&["job", "explain", &job])["reasons"][0]["next"], next);
    let (_, told) = api.send(key, "GET", &format!("/v1/jobs/{job}/explain"), None);
    assert_eq!(
        told["reasons"][0]["next"],
        format!("Wait, or run it now: POST /v1/jobs/{job}/retry.")
    );
    let told = scene.run(["job", "explain", &job]).ok();
    assert!(told.contains(&next), "{told}");
}

#[tokio::test]
async fn a_tenant_that_is_not_there_is_told_in_the_words_of_the_surface() {
    let scene = Scene::open().await;
    let why = "No tenant of this installation has that name.";
    let args = ["--tenant", "nope", "job", "list"];
    for refusal in [
        scene.bench.refused(&args, "tenant_unknown"),
        scene.refused(&args, "tenant_unknown"),
    ] {
        assert_eq!(refusal["why"], why);
        assert_eq!(
            refusal["next"],
            "Name another, or create it: tenure tenant create nope."
        );
    }
    let bearer = format!("Bearer {}", scene.key);
    let headers = [
        ("authorization", bearer.as_str()),
        ("tenure-tenant", "nope"),
        ("content-type", "application/json"),
    ];
    let reply = scene.api.raw("POST", "/v1/jobs", &headers, Some("{\"kind\": \"k\"}"));
    let over_http = scene.api.refused(reply, 404, "tenant_unknown");
    assert_eq!(over_http["why"], why);
    assert_eq!(
        over_http["next"],
        "Name another, or create it: POST /v1/tenants with {\"name\": \"nope\"}."
    );
}

#[tokio::test]
async fn a_key_of_the_installation_that_is_revoked_in_a_tenant_is_named_as_such() {
    let scene = Scene::open().await;
    let prefix = scene.key.split('_').nth(1).expect("a prefix");
    let next = format!("Revoke it there: tenure key revoke {prefix} --installation.");
    for refusal in [
        scene.bench.refused(&["key", "revoke", prefix], "key_not_found"),
        scene.refused(&["key", "revoke", prefix], "key_not_found"),
    ] {
        assert_eq!(refusal["why"], "It is a key of the whole installation.");
        assert_eq!(refusal["next"], next);
    }
    // A key of one tenant learns nothing of those of the installation.
    let admin = crate::remote_scene::make_key(&scene.bench, "boss", &[]);
    let reply = scene.api.send(&admin, "DELETE", &format!("/v1/keys/{prefix}"), None);
    let refusal = scene.api.refused(reply, 404, "key_not_found");
    assert_eq!(refusal["next"], "See GET /v1/keys.");
    scene.bench.run(["key", "revoke", prefix, "--installation"]).ok();
}

#[tokio::test]
async fn a_next_step_names_the_job_the_lock_and_the_principal_that_were_asked_for() {
    let scene = Scene::open().await;
    let (bench, api, key) = (&scene.bench, &scene.api, &scene.key);
    let job = bench.enqueue("k");
    let refusal = bench.refused(&["job", "complete", &job, NO_JOB], "stale_lease");
    assert_eq!(refusal["next"], format!("Drop the result. See tenure job show {job}."));
    bench.text(&["lock", "acquire", "host:web 1", "--for", "60s"]);
    let body = json!({"parts": ["host:web 1"], "seconds": 60});
    let refusal = api.refused(
        api.send(key, "POST", "/v1/locks/acquire", Some(&body)),
        409,
        "lock_held",
    );
    assert_eq!(
        refusal["next"],
        "Wait, or have an operator break it: \
         POST /v1/locks/break with {\"part\": \"host:web 1\", \"reason\": \"{reason}\"}."
    );
    let refusal = scene.refused(&["lock", "acquire", "host:web 1", "--for", "60s"], "lock_held");
    assert_eq!(
        refusal["next"],
        "Wait, or have an operator break it: tenure lock break 'host:web 1' --reason REASON."
    );
    let body = json!({"principal": "eve", "roles": ["viewer"]});
    let refusal = api.refused(api.send(key, "POST", "/v1/keys", Some(&body)), 404, "principal_unknown");
    assert_eq!(
        refusal["next"],
        "Make it first: POST /v1/principals with {\"name\": \"eve\", \"kind\": \"{kind}\"}."
    );
}
