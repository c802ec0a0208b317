//! The walls, as the command over HTTP meets them.

use crate::remote_scene::{Scene, make_key};
use crate::workbench::{Answer, check_refusal, tenure, text_of};

#[tokio::test]
async fn the_key_of_a_tenant_reaches_its_own_tenant_only() {
    let scene = Scene::open().await;
    let bench = &scene.bench;
    bench.text(&["tenant", "create", "acme ü"]);
    let key = make_key(bench, "bob", &["--tenant", "acme ü"]);
    let bob = |args: &[&str]| {
        let mut command = tenure();
        command
            .args(["--server", scene.api.url()])
            .args(args)
            .env("TENURE_KEY", &key);
        command
    };
    let ours = bench.enqueue("a");
    let theirs = text_of(
        &serde_json::from_str(&Answer::of(&mut bob(&["job", "enqueue", "a", "--json"])).ok()).expect("JSON"),
        "job_id",
    );
    assert_eq!(Answer::of(&mut bob(&["--quiet", "job", "list"])).ok().trim(), theirs);
    check_refusal(|| bob(&["job", "show", &ours]), "job_not_found");
    check_refusal(|| bob(&["job", "cancel", &ours, "--reason", "r"]), "job_not_found");
    assert_eq!(
        Answer::of(&mut bob(&["--quiet", "tenant", "list"])).ok().trim(),
        "acme ü"
    );
    assert_eq!(
        Answer::of(&mut bob(&["--quiet", "key", "list"])).ok().lines().count(),
        1
    );
    Answer::of(&mut bob(&["--tenant", "acme ü", "job", "list"])).ok();
    for args in [
        &["--tenant", "default", "job", "list"][..],
        &["key", "list", "--installation"],
        &["key", "create", "x", "--role", "admin", "--installation"],
        &["config", "set", "queue.lease.duration_sec", "60", "--installation"],
        &["gate", "close", "jobs", "--installation"],
        &["tenant", "create", "other"],
    ] {
        check_refusal(|| bob(args), "not_permitted");
    }
    assert_eq!(bench.state_of(&ours), "queued");
    assert!(!bench.text(&["gate", "list"]).contains("closed"));

    // A key of the installation names the tenant.
    assert_eq!(scene.run(["--quiet", "job", "list"]).ok().trim(), ours);
    assert_eq!(
        scene.run(["--tenant", "acme ü", "--quiet", "job", "list"]).ok().trim(),
        theirs
    );
    let by_variable = Answer::of(scene.command(["--quiet", "job", "list"]).env("TENURE_TENANT", "acme ü"));
    assert_eq!(by_variable.ok().trim(), theirs);
    scene.refused(&["--tenant", "nobody", "job", "list"], "tenant_unknown");
}

#[tokio::test]
async fn a_key_without_the_role_is_told_which_it_takes() {
    let scene = Scene::open().await;
    let viewer = scene
        .bench
        .run(["--quiet", "key", "create", "eve", "--role", "viewer"])
        .ok();
    let eve = |args: &[&str]| {
        let mut command = tenure();
        command
            .args(["--server", scene.api.url()])
            .args(args)
            .env("TENURE_KEY", viewer.trim());
        command
    };
    Answer::of(&mut eve(&["job", "list"])).ok();
    let refusal = check_refusal(|| eve(&["job", "enqueue", "a"]), "not_permitted");
    assert!(text_of(&refusal, "why").contains("producer"), "{refusal}");
    check_refusal(|| eve(&["job", "claim"]), "not_permitted");
    check_refusal(|| eve(&["gate", "close", "--all"]), "not_permitted");
    assert!(!scene.bench.text(&["gate", "list"]).contains("closed"));
}
