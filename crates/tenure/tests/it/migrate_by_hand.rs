//! The steps that `sql/README.md` gives for those who have no program, followed word by word.

use std::env;
use std::path::Path;
use std::process::Command;

use tenure_cluster::testing::TestDatabase;
use tenure_cluster::{Search, find};

use crate::migrate::{CATALOGUE, migrate, migrated, same, text};

const README: &str = include_str!("../../../../sql/README.md");

#[tokio::test]
async fn a_schema_that_was_applied_by_hand_is_accepted_by_migrate() {
    let (_by_program, client) = migrated().await;
    let expected = text(&client, CATALOGUE).await;
    let by_hand = TestDatabase::empty().await.expect("a database");
    let (_, block) = README.split_once("```sh by hand\n").expect("the steps");
    let (steps, _) = block.split_once("```").expect("their end");
    follow(steps, by_hand.url());

    let mut client = by_hand.connect().await.expect("connect");
    // The hash of functions and views is what migrate adds.
    let but_hash = |text: &str| -> String {
        text.lines()
            .filter(|it| !it.starts_with("hash "))
            .map(|it| it.to_owned() + "\n")
            .collect()
    };
    same(&but_hash(&expected), &but_hash(&text(&client, CATALOGUE).await));
    let report = migrate(&mut client).await;
    assert_eq!(report.applied, Vec::<String>::new(), "the book has every migration");
    assert!(report.objects_applied && report.dropped.is_empty(), "{report:?}");
    assert!(!migrate(&mut client).await.changed(), "and then there is nothing to do");
    same(&expected, &text(&client, CATALOGUE).await);
}

/// In a shell, in the folder of the SQL, with the `psql` of the PostgreSQL that is found here.
fn follow(steps: &str, url: &str) {
    let found = find(&Search::from_env()).expect("PostgreSQL's programs");
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(found.into_iter().map(|it| it.bin_dir));
    let output = Command::new("sh")
        .args(["-e", "-c", steps])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql"))
        .env("PATH", env::join_paths(folders).expect("a path"))
        .env("DATABASE_URL", url)
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}
