//! Backup and restore as docs/operating.md writes them, into a server of its own.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tenure_cluster::testing::TestCluster;
use tokio_postgres::{Client, NoTls};

use crate::api::Api;
use crate::evidence_export::{executed, public_key, verify};
use crate::readme::blocks;
use crate::workbench::{Answer, Workbench, tenure, text_of};

const OPERATING: &str = include_str!("../../../../docs/operating.md");

/// Transactions that the old server is ahead of the new one: what a reader at its end has as its cursor.
const AHEAD: i32 = 20_000;

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connect");
    tokio::spawn(async move {
        let _ = connection.await;
    });
    client
}

async fn text(client: &Client, statement: &str) -> String {
    let row = client.query_one(statement, &[]).await.expect(statement);
    row.get(0)
}

/// Runs the commands of the document under this name, with the programs of the PostgreSQL that was found.
fn run_documented(name: &str, directory: &Path, old_url: &str, new_url: &str) {
    let found = tenure_cluster::find(&tenure_cluster::Search::from_env()).expect("PostgreSQL");
    let program = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().expect("a directory");
    let dirs = [
        found[0].bin_dir.clone(),
        program.to_owned(),
        "/usr/bin".into(),
        "/bin".into(),
    ];
    let wanted = format!("sh run {name}");
    let commands: Vec<_> = blocks(OPERATING)
        .into_iter()
        .filter(|block| block.info == wanted)
        .collect();
    assert_eq!(commands.len(), 1, "one block `{wanted}`");
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &commands[0].text]).current_dir(directory);
    shell
        .env("PATH", std::env::join_paths(dirs).expect("a path"))
        .env("DATABASE_URL", old_url)
        .env("RESTORED_URL", new_url)
        .env("XDG_CONFIG_HOME", "/nonexistent");
    let answer = Answer::of(&mut shell);
    assert_eq!(answer.exit, 0, "{}\n{answer:?}", commands[0].text);
    assert!(!answer.err.contains("ERROR"), "{answer:?}");
}

/// Reads what a subscription has for its reader, once it is handed out, and says that it was seen.
async fn read(client: &Client, events: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while seen.len() < events {
        assert!(std::time::Instant::now() < deadline, "waited too long: {seen:?}");
        let rows = client
            .query(
                "select cursor, kind || ' ' || job_ids[1]::text from tenure.subscription_read('audit')",
                &[],
            )
            .await
            .expect("reads");
        for row in &rows {
            let cursor: String = row.get(0);
            seen.push(row.get(1));
            client
                .query("select tenure.subscription_ack('audit', $1)", &[&cursor])
                .await
                .expect("acknowledges");
        }
    }
    seen
}

/// Proves that nothing is lost and nothing comes twice: keys, readers, subscriptions, evidence, leases, schedules.
///
/// Rule: 22.
#[tokio::test(flavor = "multi_thread")]
async fn the_documented_restore_brings_a_new_server_to_work_where_the_old_one_was() {
    let bench = Workbench::open().await;
    let directory = tempfile::tempdir().expect("a directory");
    let old = bench.database.connect().await.expect("connect");
    let make = [
        "key", "create", "ops", "--kind", "human", "--role", "operator", "--json",
    ];
    let key: Value = serde_json::from_str(&bench.run(make).ok()).expect("JSON");
    let execution = executed(&bench, &directory);
    let signed_by = public_key(&bench);
    text(
        &old,
        "select tenure.subscription_create('audit', array['job.enqueued'], 'reader')::text",
    )
    .await;
    text(
        &old,
        r#"select tenure.schedule_create('hourly', '{"kind": "tick", "every_seconds": 3600}')::text"#,
    )
    .await;
    let (held, waiting) = (bench.enqueue("held"), bench.enqueue("waiting"));
    bench.claim("held");
    let mut seen = read(&old, 2).await;
    assert_eq!(
        seen,
        [format!("job.enqueued {held}"), format!("job.enqueued {waiting}")]
    );
    let unread = bench.enqueue("unread");
    // The old server goes on with other things, so its readers are far ahead of what the new one counts.
    old.batch_execute(&format!(
        "do $$ begin for n in 1 .. {AHEAD} loop perform pg_current_xact_id(); commit; end loop; end $$"
    ))
    .await
    .expect("goes on");
    let at_end = text(&old, "select cursor from tenure.event_end()").await;

    let server = TestCluster::private().await.expect("a second server");
    let admin = connect(&server.url("postgres")).await;
    admin
        .batch_execute("create database restored")
        .await
        .expect("a database");
    let url = server.url("restored");
    run_documented("backup", directory.path(), bench.database.url(), &url);
    run_documented("restore", directory.path(), bench.database.url(), &url);

    let new = connect(&url).await;
    let (behind, before): (bool, bool) = {
        let row = new
            .query_one(
                "select pg_current_xact_id() < split_part($1, '.', 2)::xid8,
                        tenure.current_epoch() > split_part($1, '.', 1)::integer",
                &[&at_end],
            )
            .await
            .expect("compares");
        (row.get(0), row.get(1))
    };
    assert!(behind, "the new server is behind the cursors of the old one");
    assert!(before, "so it begins a new epoch");

    // Readers go on: the subscription with what it had not read, a cursor of the reader's own with all that comes.
    let on_new = |args: &[&str]| Answer::of(tenure().args(["--database-url", &url]).args(args).arg("--json")).ok();
    let fresh: Value = serde_json::from_str(&on_new(&["job", "enqueue", "fresh"])).expect("JSON");
    let fresh = text_of(&fresh, "job_id");
    seen.extend(read(&new, 2).await);
    let expected: Vec<String> = [&held, &waiting, &unread, &fresh]
        .map(|job| format!("job.enqueued {job}"))
        .to_vec();
    assert_eq!(seen, expected, "in order, each once");
    let rows = new
        .query(
            "select job_ids[1]::text from tenure.event_list($1, p_kind => 'job.enqueued')",
            &[&at_end],
        )
        .await
        .expect("a cursor of before is valid");
    let listed: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(listed, [fresh], "all that came after it, and nothing twice");

    // Evidence is exported and verifies with the key of before.
    let file = directory.path().join("restored.evidence");
    let file = file.to_str().expect("a path");
    Answer::of(tenure().args(["--database-url", &url, "execution", "export", &execution, "--out", file])).ok();
    let verified: Value = serde_json::from_str(&verify(file, &signed_by).ok()).expect("JSON");
    assert_eq!(verified["state"], "succeeded");

    // A key of before works, and the server's services take back what was held and run what is due.
    new.batch_execute(
        "create or replace function tenure.now() returns timestamptz language sql volatile parallel safe
           set search_path = pg_catalog, pg_temp as $$ select clock_timestamp() + interval '2 hours' $$",
    )
    .await
    .expect("replace the clock");
    let mut serve = tenure();
    serve.args(["--database-url", &url, "serve", "--listen", "127.0.0.1:0", "--json"]);
    let api = Api::of(serve);
    assert_eq!(api.send(&text_of(&key, "key"), "GET", "/v1/jobs", None).0, 200);
    let wanted: BTreeSet<String> = ["held", "tick"].map(str::to_owned).into();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let rows = new
            .query(
                "select distinct job_kind from tenure.job_queue where state in ('queued', 'retry_waiting')",
                &[],
            )
            .await
            .expect("lists");
        let found: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
        if wanted.is_subset(&found) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "waited too long: {found:?}");
        tokio::task::yield_now().await;
    }
}
