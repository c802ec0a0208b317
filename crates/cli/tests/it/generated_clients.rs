//! Clients that generators make of `docs/openapi.json` enqueue, claim, heartbeat, complete and show against a real server, and their
//! compilers accept the programs in `examples/clients/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::workbench::{Answer, Workbench};

/// The place in the repository.
fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// What `script/test` names by this variable. A machine without a network may have none; CI must have it.
fn named(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).filter(|named| !named.is_empty());
    assert!(
        found.is_some() || std::env::var_os("CI").is_none(),
        "{variable} is not set: CI must run the tests by script/test, which sets it"
    );
    if found.is_none() {
        println!("{variable} is not set (script/test sets it): no client was generated.");
    }
    found.map(PathBuf::from)
}

/// A directory with the files of an example, so that nothing is generated into the tree.
fn copy_of(example: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for file in std::fs::read_dir(in_repository(example)).expect("the example") {
        let file = file.expect("a file");
        if file.file_type().is_ok_and(|kind| kind.is_file()) {
            std::fs::copy(file.path(), place.path().join(file.file_name())).expect("a copy");
        }
    }
    place
}

/// Runs a program in a directory, and fails with all that it printed.
fn run(place: &Path, program: &Path, arguments: &[&str], api: Option<(&Api, &str)>) -> String {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(place)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    if let Some((api, key)) = api {
        command.env("TENURE_URL", api.url()).env("TENURE_KEY", key);
    }
    let answer = Answer::of(&mut command);
    assert_eq!(
        answer.exit, 0,
        "{program:?} {arguments:?}\n{}\n{}",
        answer.out, answer.err
    );
    answer.out
}

/// What the program printed about its job is what the server knows about it.
fn check_report(api: &Api, key: &str, printed: &str, result: &Value) {
    let report: Value = serde_json::from_str(printed).expect("one line of JSON");
    let job = api.get(key, &format!("/v1/jobs/{}", report["job_id"].as_str().expect("an id")));
    let expected = json!({
        "job_id": job["job_id"], "state": "succeeded", "attempts": 1, "priority": job["priority"], "result": result,
    });
    assert_eq!(report, expected);
    assert_eq!((&job["state"], &job["result"]), (&json!("succeeded"), result), "{job}");
}

#[tokio::test]
async fn a_generated_client_in_python_enqueues_claims_beats_completes_and_shows() {
    let Some(python) = named("TENURE_TEST_PYTHON") else {
        return;
    };
    let place = copy_of("examples/clients/python");
    let document = in_repository("docs/openapi.json");
    let document = document.to_str().expect("a path in UTF-8");
    let generate = [
        "-m",
        "openapi_python_client",
        "generate",
        "--path",
        document,
        "--meta",
        "none",
        "--output-path",
        "tenure_client",
        "--config",
        "generator.yaml",
        "--fail-on-warning",
    ];
    run(place.path(), &python, &generate, None);
    run(
        place.path(),
        &python,
        &["-m", "mypy", "--strict", "--cache-dir=/dev/null", "report.py"],
        None,
    );
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "python", &["--role", "producer", "--role", "worker"]);
    let printed = run(place.path(), &python, &["report.py"], Some((&api, &both)));
    check_report(&api, &both, &printed, &json!({"month": "2026-01", "pages": 3}));
}

#[tokio::test]
async fn a_generated_client_in_typescript_enqueues_claims_beats_completes_and_shows() {
    let (Some(node), Some(modules)) = (named("TENURE_TEST_NODE"), named("TENURE_TEST_NODE_MODULES")) else {
        return;
    };
    let place = copy_of("examples/clients/typescript");
    std::os::unix::fs::symlink(&modules, place.path().join("node_modules")).expect("a link");
    let document = in_repository("docs/openapi.json");
    let document = document.to_str().expect("a path in UTF-8");
    let generate = [
        "node_modules/openapi-typescript/bin/cli.js",
        document,
        "--default-non-nullable=false",
        "--output",
        "openapi.d.ts",
    ];
    run(place.path(), &node, &generate, None);
    run(place.path(), &node, &["node_modules/typescript/bin/tsc"], None);
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "typescript", &["--role", "producer", "--role", "worker"]);
    let printed = run(place.path(), &node, &["report.js"], Some((&api, &both)));
    check_report(&api, &both, &printed, &json!({"month": "2026-02", "pages": 2}));
}
