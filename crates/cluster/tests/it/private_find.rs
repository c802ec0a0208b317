//! Finding PostgreSQL on the machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tenure_cluster::{Search, find};

use crate::private_fixture::open_dir;

/// A directory with two programs that say they are this version.
fn fake(bin_dir: &Path, version: &str) -> PathBuf {
    fs::create_dir_all(bin_dir).expect("create");
    for name in ["initdb", "postgres"] {
        let path = bin_dir.join(name);
        // Written by another process: a handle that a fork of another test inherits would make the program "busy".
        let script = format!("#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n");
        let mut write = Command::new("sh");
        write
            .args(["-c", "printf %s \"$1\" >\"$2\" && chmod 755 \"$2\"", "sh", &script])
            .arg(path);
        assert!(write.status().expect("run sh").success());
    }
    bin_dir.to_owned()
}

#[test]
fn this_machine_has_one_that_runs() {
    let found = find(&Search::from_env()).expect("the tests need PostgreSQL 15 or newer");
    assert!(found[0].major >= 15, "{found:?}");
    assert!(found.windows(2).all(|pair| pair[0].major >= pair[1].major), "{found:?}");
}

#[test]
fn the_newest_usable_comes_first_and_each_counts_once() {
    let dir = open_dir();
    let root = dir.path();
    for version in ["9.6.24", "15.2", "15.14", "17.1 (Debian 17.1-1)", "18beta1"] {
        fake(
            &root
                .join("lib")
                .join(version.split(' ').next().expect("a word"))
                .join("bin"),
            version,
        );
    }
    let path = root.join("path");
    fs::create_dir(&path).expect("create");
    symlink(root.join("lib/15.14/bin/postgres"), path.join("postgres")).expect("link");
    let cached = fake(&root.join("cache/16/usr/lib/postgresql/16/bin"), "16.3");
    let search = Search {
        explicit: None,
        path: vec![path],
        patterns: vec![root.join("lib/*/bin")],
        cache: Some(root.join("cache")),
    };
    let found = find(&search).expect("found");
    let versions: Vec<&str> = found.iter().map(|installation| installation.version.as_str()).collect();
    assert_eq!(versions, ["18beta1", "17.1", "16.3", "15.14", "15.2"]);
    assert_eq!(found[2].bin_dir, fs::canonicalize(cached).expect("there"));
}

#[test]
fn the_environment_variable_wins() {
    let dir = open_dir();
    let chosen = fake(&dir.path().join("chosen"), "15.1");
    fake(&dir.path().join("lib/17/bin"), "17.0");
    let search = Search {
        explicit: Some(chosen),
        patterns: vec![dir.path().join("lib/*/bin")],
        ..Search::default()
    };
    let found = find(&search).expect("found");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].version, "15.1");
}

#[test]
fn one_that_does_not_run_or_is_too_old_is_refused_with_the_reason_and_a_command() {
    let dir = open_dir();
    let broken = fake(&dir.path().join("lib/17/bin"), "17.0");
    fs::write(broken.join("postgres"), "not a program").expect("write");
    fake(&dir.path().join("lib/14/bin"), "14.9");
    let search = Search {
        patterns: vec![dir.path().join("lib/*/bin")],
        ..Search::default()
    };
    let refusal = find(&search).expect_err("nothing usable");
    assert_eq!(refusal.code, "postgres_not_found");
    assert!(refusal.why.contains("is version 14.9"), "{refusal}");
    assert!(refusal.why.contains("lib/17/bin"), "{refusal}");
    assert!(
        refusal.next.contains("Run: ") || refusal.next.contains("TENURE_POSTGRES_BIN"),
        "{refusal}"
    );
}
