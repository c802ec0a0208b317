//! Migrating, and what commands say when nobody did.

use crate::workbench::{Answer, Workbench, tenure};

#[tokio::test]
async fn a_database_without_the_schema_is_refused_with_the_command_to_run() {
    let bench = Workbench::empty().await;
    for args in [
        vec!["job", "list"],
        vec!["health"],
        vec!["gate", "open", "jobs"],
        vec!["event", "list"],
        vec!["migrate", "--check"],
    ] {
        let refusal = bench.refused(&args, "schema_missing");
        assert!(
            refusal["next"].as_str().unwrap().contains("tenure migrate"),
            "{refusal}"
        );
    }
}

#[tokio::test]
async fn migrate_says_what_it_did_and_does_it_once() {
    let bench = Workbench::empty().await;
    let report = bench.json(&["migrate"]);
    assert_eq!(report["version"], tenure::migrate::SCHEMA_VERSION);
    assert_eq!(report["version_before"], serde_json::Value::Null);
    let again = bench.json(&["migrate"]);
    assert_eq!(again["applied"], serde_json::json!([]));
    assert!(bench.text(&["migrate"]).contains("up to date"));
    assert_eq!(
        bench.json(&["migrate", "--check"])["version"],
        tenure::migrate::SCHEMA_VERSION
    );
}

#[tokio::test]
async fn migrate_says_that_a_restored_database_begins_a_new_epoch() {
    let bench = Workbench::empty().await;
    let first = bench.json(&["migrate"]);
    assert_eq!(first["epoch_before"], serde_json::Value::Null);
    let again = bench.json(&["migrate"]);
    assert_eq!(again["epoch_before"], first["epoch"]);
    assert_eq!(again["epoch"], first["epoch"]);
    assert!(!bench.text(&["migrate"]).contains("epoch"));
    let restored = bench.json(&["migrate", "--restored"]);
    assert_eq!(restored["epoch_before"], first["epoch"]);
    let said = bench.text(&["migrate", "--restored"]);
    let epoch = bench.sql("select epoch::text from tenure.installation").await;
    assert!(
        said.ends_with(&format!(
            "The database was restored: the event stream begins epoch {epoch}. Old cursors stay valid.\n"
        )),
        "{said}"
    );
    assert!(epoch.parse::<i64>().unwrap() > restored["epoch"].as_i64().unwrap());
    assert!(restored["epoch"].as_i64() > first["epoch"].as_i64());
}

#[tokio::test]
async fn a_schema_of_another_age_is_refused() {
    let bench = Workbench::open().await;
    let client = bench.database.connect().await.expect("connect");
    client
        .batch_execute("insert into tenure.migrations (version, name, checksum) values (9999, 'future', 'x')")
        .await
        .expect("insert");
    bench.refused(&["job", "list"], "schema_too_new");
    client
        .batch_execute("delete from tenure.migrations where version > 1")
        .await
        .expect("delete");
    bench.refused(&["job", "list"], "schema_too_old");
}

#[tokio::test]
async fn differing_functions_warn_and_work() {
    let bench = Workbench::open().await;
    let client = bench.database.connect().await.expect("connect");
    client
        .batch_execute("update tenure.installation set functions_hash = 'other'")
        .await
        .expect("update");
    let answer = bench.run(["job", "list", "--json"]);
    assert_eq!((answer.exit, answer.out.as_str()), (0, ""), "{answer:?}");
    assert!(
        answer.err.contains("warning: ") && answer.err.contains("tenure migrate"),
        "{answer:?}"
    );
    assert_eq!(bench.run(["--quiet", "job", "list"]).err, "");
}

/// All for an empty database, nothing for one that is up to date, and only what is missing for an older one.
#[tokio::test]
async fn print_shows_what_would_change_in_the_database_it_is_connected_to() {
    let bench = Workbench::empty().await;
    let all = bench.text(&["migrate", "--print"]);
    assert!(all.contains("create table tenure.jobs") && all.contains("create or replace function tenure.job_claim"));
    bench.text(&["migrate"]);
    let answer = bench.run(["migrate", "--print"]);
    assert_eq!((answer.exit, answer.out.as_str()), (0, ""), "{}", answer.out.len());
    assert!(answer.err.contains("would change nothing"), "{answer:?}");

    let client = bench.database.connect().await.expect("connect");
    let older = "update tenure.installation set functions_hash = 'older'";
    client.batch_execute(older).await.expect("other functions");
    let functions = bench.text(&["migrate", "--print"]);
    assert!(
        functions.contains("create or replace function tenure.job_claim"),
        "no functions"
    );
    assert!(
        !functions.contains("create table tenure.jobs"),
        "a migration that is there already"
    );
}

#[test]
fn the_sql_is_printed_for_those_who_apply_it_themselves() {
    let sql = Answer::of(tenure().args(["migrate", "--print", "--all"])).ok();
    assert!(
        sql.contains("create table tenure.jobs") && sql.contains("grant execute"),
        "no schema"
    );
    let roles = Answer::of(tenure().args(["migrate", "--roles"])).ok();
    assert!(roles.contains("tenure_owner"), "{roles}");
}

#[tokio::test]
async fn init_migrates_opens_the_gates_and_says_so() {
    let bench = Workbench::empty().await;
    let done = bench.json(&["init"]);
    assert_eq!(done["migrated"]["version"], tenure::migrate::SCHEMA_VERSION);
    assert_eq!(done["gates_open"].as_array().map(Vec::len), Some(4));
    bench.enqueue("k");
    let again = bench.text(&["init"]);
    assert!(
        again.contains("up to date") && again.contains("queue.worker.enabled"),
        "{again}"
    );
}
