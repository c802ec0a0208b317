//! Where a command goes: saved servers, the environment, and what keeps a hand from the wrong one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::remote_scene::Scene;
use crate::workbench::{Answer, check_refusal, tenure, text_of};

/// The command, with contexts saved in this directory.
fn saved(config: &Path, args: &[&str]) -> Command {
    let mut command = tenure();
    command.env("XDG_CONFIG_HOME", config).args(args);
    command
}

fn file(config: &Path) -> PathBuf {
    config.join("tenure/contexts.json")
}

fn add(scene: &Scene, name: &str, options: &[&str]) {
    let mut command = saved(
        scene.directory.path(),
        &["context", "add", name, "--server", scene.api.url()],
    );
    command.arg("--key-file").arg(scene.key_file()).args(options);
    Answer::of(&mut command).ok();
}

#[tokio::test]
async fn a_guarded_context_is_used_only_where_it_is_named() {
    let scene = Scene::open().await;
    let config = scene.directory.path();
    add(&scene, "prod", &[]);
    let refusal = check_refusal(|| saved(config, &["context", "use", "prod"]), "context_guarded");
    assert!(text_of(&refusal, "next").contains("TENURE_CONTEXT=prod"), "{refusal}");

    // Without a name the command does not go there.
    let nowhere = ["--data-dir", "/nonexistent", "job", "enqueue", "a"];
    assert_eq!(Answer::of(&mut saved(config, &nowhere)).exit, 7);
    let by_option = Answer::of(&mut saved(config, &["--context", "prod", "job", "enqueue", "a"]));
    assert_eq!(by_option.exit, 0, "{by_option:?}");
    let told = format!("going to {} (context prod)\n", scene.api.url());
    assert_eq!(by_option.err, told, "a change says where it goes");
    let by_shell = Answer::of(saved(config, &["--quiet", "job", "enqueue", "a"]).env("TENURE_CONTEXT", "prod"));
    assert_eq!(
        (by_shell.exit, by_shell.err),
        (0, told),
        "even to those who want to hear little"
    );
    let look = Answer::of(&mut saved(config, &["--context", "prod", "job", "list", "--json"]));
    assert_eq!(
        (look.out.lines().count(), look.err.as_str()),
        (2, ""),
        "a look changes nothing"
    );

    // Neither by a file that was edited by hand.
    let text = std::fs::read_to_string(file(config)).expect("the file");
    std::fs::write(file(config), text.replacen('{', r#"{"current": "prod","#, 1)).expect("written");
    check_refusal(|| saved(config, &["job", "enqueue", "a"]), "context_guarded");
    assert_eq!(
        Answer::of(&mut saved(config, &["--context", "prod", "--quiet", "job", "list"]))
            .ok()
            .lines()
            .count(),
        2
    );
}

#[tokio::test]
async fn a_context_for_development_may_be_the_default_until_another_is_named() {
    let scene = Scene::open().await;
    let config = scene.directory.path();
    add(&scene, "dev", &["--development"]);
    Answer::of(&mut saved(config, &["context", "use", "dev"])).ok();
    let made = Answer::of(&mut saved(config, &["job", "enqueue", "a"]));
    assert_eq!(
        (made.exit, made.err.as_str()),
        (0, ""),
        "nobody is hurt there, so nothing is said"
    );
    let here = Answer::of(&mut saved(config, &["context", "show"])).ok();
    assert!(here.contains("context use") && here.contains(scene.api.url()), "{here}");

    // A database that is named is meant, by whatever means.
    let url = scene.bench.database.url();
    scene.bench.enqueue("b");
    let named = Answer::of(saved(config, &["context", "show", "--json"]).env("DATABASE_URL", url)).ok();
    assert!(named.contains(r#""named_by":"DATABASE_URL""#), "{named}");
    Answer::of(&mut saved(config, &["--database-url", url, "doctor"])).ok();
    Answer::of(saved(config, &["migrate", "--check"]).env("DATABASE_URL", url)).ok();
    check_refusal(|| saved(config, &["migrate", "--check"]), "not_over_http");

    // Made guarded, it is the default no more.
    add(&scene, "dev", &["--replace"]);
    let list = Answer::of(&mut saved(config, &["context", "list", "--json"])).ok();
    assert!(
        list.contains(r#""default":false"#) && list.contains(r#""guarded":true"#),
        "{list}"
    );
    add(&scene, "dev", &["--replace", "--development"]);
    Answer::of(&mut saved(config, &["context", "use", "dev"])).ok();
    Answer::of(&mut saved(config, &["context", "use", "--none"])).ok();
    Answer::of(&mut saved(config, &["context", "use", "dev"])).ok();
    Answer::of(&mut saved(config, &["context", "remove", "dev"])).ok();
    assert_eq!(Answer::of(&mut saved(config, &["context", "list", "--quiet"])).ok(), "");
    assert!(!std::fs::read_to_string(file(config)).expect("the file").contains("dev"));
}

#[tokio::test]
async fn keys_are_saved_where_nobody_else_reads_and_shown_nowhere() {
    let scene = Scene::open().await;
    let config = scene.directory.path();
    add(&scene, "prod", &["--tenant", "default"]);
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&file(config)), mode(&config.join("tenure"))), (0o600, 0o700));
    let secret = scene.key.rsplit('_').next().expect("a secret");
    assert!(
        std::fs::read_to_string(file(config))
            .expect("the file")
            .contains(secret)
    );
    for args in [
        &["context", "list"][..],
        &["context", "list", "--json"],
        &["context", "show", "prod"],
        &["--context", "prod", "context", "show", "--json"],
        &["--context", "prod", "job", "list"],
        &[
            "--context",
            "prod",
            "job",
            "show",
            "01890000-0000-7000-8000-000000000000",
        ],
        &["--context", "prod", "key", "list", "--json"],
    ] {
        let mut command = saved(config, args);
        let answer = Answer::of(command.env("RUST_LOG", "trace"));
        assert!(!answer.out.contains(secret) && !answer.err.contains(secret), "{args:?}");
        // A dump of the wire would have it in pieces.
        assert!(
            !answer.err.contains("Bearer") && !answer.err.contains("earer.tnr"),
            "{}",
            answer.err
        );
    }
    for mode in [0o640, 0o604, 0o666] {
        std::fs::set_permissions(file(config), PermissionsExt::from_mode(mode)).expect("changed");
        let refusal = check_refusal(|| saved(config, &["--context", "prod", "job", "list"]), "file_exposed");
        assert!(text_of(&refusal, "next").contains("chmod 600"), "{refusal}");
        check_refusal(|| saved(config, &["context", "use", "prod"]), "file_exposed");
    }
    std::fs::set_permissions(file(config), PermissionsExt::from_mode(0o600)).expect("changed");
    std::fs::write(
        file(config),
        format!("{{\"contexts\": {{\"prod\": \"{}\"}}}}", scene.key),
    )
    .expect("written");
    let refusal = check_refusal(|| saved(config, &["--context", "prod", "job", "list"]), "usage");
    assert!(!refusal.to_string().contains(secret), "{refusal}");
}

#[tokio::test]
async fn two_places_that_contradict_each_other_are_refused() {
    let scene = Scene::open().await;
    let (config, url) = (scene.directory.path(), scene.bench.database.url());
    add(&scene, "dev", &["--development"]);
    let server = scene.api.url();
    for args in [
        &["--server", server, "--context", "dev", "job", "list"][..],
        &["--server", server, "--database-url", url, "job", "list"],
        &["--context", "dev", "--data-dir", "/tmp", "job", "list"],
    ] {
        check_refusal(|| saved(config, args), "usage");
    }
    let with = |variables: &[(&str, &str)]| {
        let mut command = saved(config, &["job", "list"]);
        command.envs(variables.iter().copied());
        command
    };
    check_refusal(|| with(&[("TENURE_SERVER", server), ("DATABASE_URL", url)]), "usage");
    check_refusal(
        || with(&[("TENURE_SERVER", server), ("TENURE_CONTEXT", "dev")]),
        "usage",
    );
    let refusal = check_refusal(|| with(&[("TENURE_CONTEXT", "dv")]), "context_unknown");
    assert!(text_of(&refusal, "next").contains("dev"), "{refusal}");
    // An option ends the doubt.
    let mut clear = with(&[("TENURE_SERVER", server), ("DATABASE_URL", url)]);
    Answer::of(clear.args(["--context", "dev"])).ok();
    // A key is for a server.
    for option in [["--key", &scene.key], ["--ca-file", "/x"]] {
        let refusal = check_refusal(
            || saved(config, &[&option[..], &["--database-url", url, "job", "list"]].concat()),
            "usage",
        );
        assert!(!refusal.to_string().contains(&scene.key), "{refusal}");
    }
}

#[tokio::test]
async fn a_key_comes_from_a_file_the_environment_or_standard_input() {
    let scene = Scene::open().await;
    let server = ["--server", scene.api.url()];
    let plain = |args: &[&str]| {
        let mut command = tenure();
        command.args(server).args(args);
        command
    };
    Answer::of(plain(&["job", "list"]).env("TENURE_KEY", &scene.key)).ok();
    let by_environment = Answer::of(
        tenure()
            .args(["job", "list"])
            .envs([("TENURE_SERVER", scene.api.url()), ("TENURE_KEY", &scene.key)]),
    );
    assert_eq!(by_environment.exit, 0, "{by_environment:?}");
    Answer::of(&mut plain(&["--key", &scene.key, "job", "list"])).ok();
    // The first line is the key, what follows is the payload.
    let input = format!("{}\n{{\"n\": 1}}", scene.key);
    let args = ["--key", "-", "job", "enqueue", "a", "--payload", "-", "--json"];
    let mut child = plain(&args)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("run");
    std::io::Write::write_all(&mut child.stdin.take().expect("its input"), input.as_bytes()).expect("it reads");
    let made: Answer = child.wait_with_output().expect("it ends").into();
    let job: serde_json::Value = serde_json::from_str(&made.ok()).expect("JSON");
    assert_eq!(
        scene.bench.json(&["job", "show", &text_of(&job, "job_id")])["payload"]["n"],
        1
    );

    let refusal = check_refusal(|| plain(&["job", "list"]), "unauthenticated");
    assert!(text_of(&refusal, "next").contains("--key-file"), "{refusal}");
    let wrong = format!("{}x", scene.key);
    for (name, value) in [("TENURE_KEY", wrong.as_str()), ("TENURE_KEY", "tnr_nonsense")] {
        let command = || {
            let mut command = plain(&["job", "list"]);
            command.env(name, value);
            command
        };
        let refusal = check_refusal(command, "unauthenticated");
        assert!(!refusal.to_string().contains(value), "{refusal}");
    }
    check_refusal(
        || plain(&["--key", &wrong, "--key-file", "/nonexistent", "job", "list"]),
        "usage",
    );
    check_refusal(|| plain(&["--key-file", "/nonexistent", "job", "list"]), "usage");

    // Behind the command --key is that of the job, and a secret is kept out of there.
    let refusal = scene.refused(&["job", "enqueue", "a", "--key", &scene.key], "usage");
    assert!(!refusal.to_string().contains(&scene.key), "{refusal}");
    assert_eq!(scene.bench.lines(&["job", "list"]).len(), 1);

    // A key that the server does not know is refused in words for the prompt.
    let unknown = format!("tnr_{}_{}", "a".repeat(13), "a".repeat(52));
    let refusal = check_refusal(|| plain(&["--key", &unknown, "job", "list"]), "unauthenticated");
    assert!(text_of(&refusal, "next").contains("tenure key create"), "{refusal}");
    scene
        .bench
        .run([
            "key",
            "revoke",
            scene.key.split('_').nth(1).expect("a prefix"),
            "--installation",
        ])
        .ok();
    scene.refused(&["job", "list"], "key_invalid");
}
