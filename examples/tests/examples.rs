//! Every example does what it says, on a database of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tenure::{Client, NewJob, Pool};
use tenure_cluster::testing::{Template, TestDatabase};

/// Migrated, its gates open, as `tenure init` leaves it.
async fn database() -> TestDatabase {
    let template = Template::new("examples", [tenure::migrate::source_hash()]);
    TestDatabase::new(&template, async |url| prepare(&url).await)
        .await
        .expect("a database")
}

async fn prepare(url: &str) -> anyhow::Result<()> {
    let mut client = tenure::pool::connect(url).await?;
    tenure::migrate(&mut client, &Default::default()).await?;
    let open = "begin; set local tenure.tenant = '*';
        do $$ begin perform tenure.gate_set(k.key, 'open') from tenure.config_keys k where k.is_gate; end $$; commit";
    Ok(client.batch_execute(open).await?)
}

/// What an example prints.
async fn printed(example: &str) -> String {
    let database = database().await;
    let mut command = Command::new(example);
    command.env("DATABASE_URL", database.url());
    let output = tokio::task::spawn_blocking(move || command.output().expect("run"))
        .await
        .expect("no panic");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn hello_runs_jobs_until_it_is_told_to_stop() {
    let database = database().await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_hello"));
    command.env("DATABASE_URL", database.url()).stdout(Stdio::piped());
    let mut hello = command.spawn().expect("run");
    let mut output = BufReader::new(hello.stdout.take().expect("its output"));
    let mut first = String::new();
    output.read_line(&mut first).expect("its output");
    assert!(first.starts_with("Waiting for guests"), "{first}");

    let client = Client::new(Pool::new(database.url(), &Default::default()).expect("a pool"));
    let job = NewJob::of("welcome", &json!({"name": "Ann"})).expect("a payload");
    let id = client.enqueue(&job).await.expect("a job").job_id;
    let said: String = client.wait_for(id, Duration::from_secs(60)).await.expect("a result");
    assert_eq!(said, "Welcome, Ann!");

    kill(Pid::from_raw(hello.id().try_into().expect("a pid")), Signal::SIGTERM).expect("signal");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("its output");
    assert_eq!(rest, "Welcome, Ann!\nGuests today: 1.\n");
    assert!(hello.wait().expect("wait").success());
}

#[tokio::test]
async fn transactional_shows_that_a_job_exists_exactly_if_its_order_does() {
    let printed = printed(env!("CARGO_BIN_EXE_transactional")).await;
    for promise in [
        "the job is unknown (job_not_found)",
        "which is queued",
        "duplicate = true, the same job = true",
    ] {
        assert!(printed.contains(promise), "{promise:?} is missing in:\n{printed}");
    }
}

#[tokio::test]
async fn limits_shows_that_three_workers_keep_to_two_at_once() {
    let printed = printed(env!("CARGO_BIN_EXE_limits")).await;
    assert!(printed.contains("since: no paper"), "{printed}");
    assert!(
        printed.contains("12 pages printed, never more than 2 at once."),
        "{printed}"
    );
}

#[tokio::test]
async fn cancellation_shows_a_handler_that_stops() {
    let printed = printed(env!("CARGO_BIN_EXE_cancellation")).await;
    assert!(printed.contains(r#"Requested, "enough""#), "{printed}");
    assert!(printed.contains(r#"The job is cancelled: "enough"."#), "{printed}");
}

#[tokio::test]
async fn executions_runs_a_plan_that_another_allowed() {
    let printed = printed(env!("CARGO_BIN_EXE_executions")).await;
    let expected = [
        "It is awaiting_approval.",
        "Ann cannot: self_approval.",
        "check before: service.check shop",
        "restart: service.restart shop, fenced",
        "check after: service.check shop",
        "It succeeded: 3 steps.",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn schedules_shows_a_declared_schedule_and_its_run() {
    let printed = printed(env!("CARGO_BIN_EXE_schedules")).await;
    for promise in [
        "3 slots ahead.",
        "(manual).",
        "It ran and succeeded",
        "succeeded, 42 rows",
    ] {
        assert!(printed.contains(promise), "{promise:?} is missing in:\n{printed}");
    }
}

#[tokio::test]
async fn embedded_fires_its_schedule_without_a_server() {
    let database = database().await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_embedded"));
    command.env("DATABASE_URL", database.url()).stdout(Stdio::piped());
    let mut embedded = command.spawn().expect("run");
    let mut output = BufReader::new(embedded.stdout.take().expect("its output"));
    for expected in ["Waiting for the clock", "Tick of "] {
        let mut line = String::new();
        output.read_line(&mut line).expect("its output");
        assert!(line.starts_with(expected), "{line}");
    }
    kill(Pid::from_raw(embedded.id().try_into().expect("a pid")), Signal::SIGTERM).expect("signal");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("its output");
    assert!(rest.contains("Ticks: "), "{rest}");
    assert!(embedded.wait().expect("wait").success());
}

#[tokio::test]
async fn testing_shows_what_was_enqueued_and_runs_it() {
    let printed = printed(env!("CARGO_BIN_EXE_testing")).await;
    for promise in [
        r#"Enqueued: {"to":"ann"} under the key "ann"."#,
        "Rolled back: nothing was enqueued.",
        "Sent to bob and cleo; 1 failed.",
        "is retry_waiting",
    ] {
        assert!(printed.contains(promise), "{promise:?} is missing in:\n{printed}");
    }
}

#[test]
fn the_readme_shows_hello_as_it_is() {
    let (_, program) = include_str!("../hello.rs")
        .split_once("\n\n")
        .expect("a comment, then the program");
    assert!(include_str!("../../README.md").contains(&format!("```rust\n{program}```")));
}

#[test]
fn every_example_is_told_of_and_tested() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let told = std::fs::read_to_string(folder.join("README.md")).expect("the README");
    let tests = include_str!("examples.rs");
    for entry in std::fs::read_dir(folder).expect("the examples") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        if let Some(example) = name.strip_suffix(".rs") {
            assert!(
                told.contains(&format!("[{example}]({name})")),
                "{name} is not in the README"
            );
            assert!(
                tests.contains(&format!("CARGO_BIN_EXE_{example}")),
                "{name} is not tested"
            );
        }
    }
}
