//! The SQL core on every other PostgreSQL that is installed here: 15 is the oldest, newer ones must do as well.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::process::Command;

use tenure_cluster::testing::TestDatabase;
use tenure_cluster::{Search, find};

use crate::pgbouncer::suite;

/// Set for a process that runs the suite on another server, so that it does not look for further ones.
const ON_ANOTHER: &str = "TENURE_TEST_ON_ANOTHER";

/// Proves: S73.
#[tokio::test]
async fn the_sql_suite_passes_on_every_other_installed_postgres() {
    if env::var_os(ON_ANOTHER).is_some() {
        return;
    }
    let database = TestDatabase::empty().await.expect("a database");
    let client = database.connect().await.expect("connect");
    let row = client
        .query_typed_one("select current_setting('server_version_num')::integer / 10000", &[])
        .await
        .expect("its version");
    let in_use: i32 = row.get(0);
    let search = Search {
        explicit: None,
        ..Search::from_env()
    };
    let mut others: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for found in find(&search).unwrap_or_default() {
        if i64::from(found.major) != i64::from(in_use) {
            others.entry(found.major).or_insert(found.bin_dir);
        }
    }
    if others.is_empty() {
        println!("PostgreSQL {in_use} is the only version here: the SQL suite was not run on another.");
    }
    for (major, bin_dir) in others {
        let mut command = Command::new(env::current_exe().expect("this binary"));
        command
            .args(suite())
            .env(ON_ANOTHER, major.to_string())
            .env("TENURE_POSTGRES_BIN", &bin_dir)
            .env_remove("TENURE_TEST_DATABASE_URL")
            .env_remove("DATABASE_URL");
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .expect("no panic")
            .expect("the suite runs");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "on PostgreSQL {major}:\n{told}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let passed = told.lines().rfind(|line| line.starts_with("test result:"));
        println!("PostgreSQL {major}: {}", passed.unwrap_or("no result line"));
    }
}
