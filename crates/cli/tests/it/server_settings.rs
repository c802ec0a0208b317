//! Settings of the server: where they come from, and what is shown of them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::served::Served;
use crate::workbench::{Answer, Workbench, check_refusal, tenure};

/// A file of settings in a directory of its own.
fn settings(text: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("tenure.toml");
    std::fs::write(&path, text).expect("write");
    (directory, path)
}

fn explain(within: &Path) -> Command {
    let mut command = tenure();
    command.args(["config", "explain"]).current_dir(within);
    command
}

fn rows(command: &mut Command) -> Vec<Value> {
    let text = Answer::of(command.arg("--json")).ok();
    let row = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(row).collect()
}

fn row<'a>(rows: &'a [Value], key: &str) -> &'a Value {
    rows.iter().find(|row| row["key"] == key).expect("every key is listed")
}

#[test]
fn explain_shows_each_value_with_its_origin_and_no_secret() {
    let (directory, path) = settings(
        "database_url = 'postgres://me:s3cret@db/app?password=s3cret'\nconnections = 20\nclients_max = 30\ndrain_seconds = 40\n\
         no_services = true\n",
    );
    let mut command = explain(directory.path());
    command
        .env("TENURE_CLIENTS_MAX", "31")
        .env("TENURE_DRAIN_SECONDS", "41")
        .env("TENURE_LISTEN_URL", "host=db password=s3cret")
        .env("TENURE_LOG", " ")
        .args(["--drain-seconds", "42"]);
    let rows = rows(&mut command);
    let origin = |key: &str| {
        let row = row(&rows, key);
        (row["value"].clone(), row["origin"].clone(), row["source"].clone())
    };
    let file = json!(path.display().to_string());
    assert_eq!(
        origin("body_bytes_max"),
        (json!(16 * 1024 * 1024), json!("default"), Value::Null)
    );
    assert_eq!(
        origin("log"),
        (json!("info"), json!("default"), Value::Null),
        "blank is not set"
    );
    assert_eq!(origin("tls_cert"), (Value::Null, json!("default"), Value::Null));
    assert_eq!(origin("connections"), (json!(20), json!("file"), file.clone()));
    assert_eq!(origin("no_services"), (json!(true), json!("file"), file.clone()));
    assert_eq!(
        origin("clients_max"),
        (json!(31), json!("environment"), json!("TENURE_CLIENTS_MAX"))
    );
    assert_eq!(
        origin("drain_seconds"),
        (json!(42), json!("flag"), json!("--drain-seconds"))
    );
    let url = json!("postgres://me:***@db/app?password=***");
    assert_eq!(origin("database_url"), (url, json!("file"), file));
    assert_eq!(origin("listen_url").0, json!("host=db password=***"));

    let mut command = explain(directory.path());
    command.args(["--database-url", "postgres://you:s3cret@db/app"]);
    let answer = Answer::of(&mut command);
    assert!(
        answer.out.contains("flag") && answer.out.contains("postgres://you:***@db/app"),
        "{answer:?}"
    );
    assert!(answer.err.contains("tenure config list"), "{answer:?}");
    assert!(
        !answer.out.contains("s3cret") && !answer.err.contains("s3cret"),
        "{answer:?}"
    );
}

#[test]
fn a_file_is_named_by_flag_or_variable_or_lies_here() {
    let (named, path) = settings("clients_max = 1");
    let (here, _) = settings("clients_max = 2");
    let nowhere = tempfile::tempdir().expect("a directory");
    let clients = |command: &mut Command| row(&rows(command), "clients_max")["value"].clone();
    assert_eq!(clients(&mut explain(nowhere.path())), 10_000);
    assert_eq!(clients(&mut explain(here.path())), 2);
    assert_eq!(clients(explain(here.path()).env("TENURE_CONFIG", &path)), 1);
    let missing = named.path().join("missing.toml");
    assert_eq!(
        clients(
            explain(here.path())
                .env("TENURE_CONFIG", &missing)
                .arg("--config")
                .arg(&path)
        ),
        1
    );
    check_refusal(
        || {
            let mut command = explain(here.path());
            command.arg("--config").arg(&missing);
            command
        },
        "config_invalid",
    );
}

#[test]
fn a_setting_that_cannot_be_is_refused_with_its_origin_and_without_its_secret() {
    let refusal = |text: &str, code: &str| {
        let (directory, _) = settings(text);
        check_refusal(|| explain(directory.path()), code)
    };
    let unknown = refusal("conections = 5", "config_unknown");
    assert_eq!(unknown["next"], "Did you mean connections?");
    refusal("[server]\nlisten = '127.0.0.1:1'", "config_unknown");
    for text in [
        "connections = 'many'",
        "connections = 0",
        "connections = -1",
        "connections = 1.5",
        "listen = 'here'",
        "log_format = 'xml'",
        "log = 'tenure=loud'",
        "no_services = 'perhaps'",
        "head_seconds = 0",
        "tls_cert = 'a.pem'",
    ] {
        let refused = refusal(text, "config_invalid");
        assert!(
            refused["why"].as_str().is_some_and(|why| why.contains("tenure.toml")),
            "{refused}"
        );
    }
    let broken = refusal(
        "connections = 5\ndatabase_url = 'postgres://me:s3cret@db/app",
        "config_invalid",
    );
    assert!(
        broken["what"]
            .as_str()
            .is_some_and(|what| what.starts_with("Line 2 of")),
        "{broken}"
    );
    assert!(!broken.to_string().contains("s3cret"), "{broken}");
}

#[test]
fn a_password_in_a_file_that_everybody_can_read_is_warned_of() {
    let (directory, path) = settings("database_url = 'postgres://me:s3cret@db/app'");
    let err = |mode: u32| {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("chmod");
        Answer::of(&mut explain(directory.path())).err
    };
    assert!(err(0o644).contains("warning: "));
    assert!(!err(0o640).contains("warning: "));
    std::fs::write(&path, "database_url = 'postgres://me@db/app'").expect("write");
    assert!(!err(0o644).contains("warning: "), "there is no secret in it");
}

#[tokio::test]
async fn a_server_does_what_its_file_says() {
    let bench = Workbench::open().await;
    let (_directory, path) = settings(&format!(
        "database_url = \"{}\"\nclients_max = 1\n",
        bench.database.url()
    ));
    let path = path.display().to_string();
    let server = Served::start_bare(&["--config", &path]);
    let mut inside = server.connect();
    assert_eq!(inside.get("/readyz").status, 200);
    server.connect().get("/healthz").refused(503, "server_busy");
}
