//! Processes die without warning; nothing is left behind and nothing stands in the way.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tenure_cluster::{reset, running};

use crate::private_fixture::{
    Owner, fill, is_alive, is_root, kill_9, names_with, notes, open_dir, owner, postmaster_pid, query, server_dir,
    start, until,
};

#[tokio::test]
async fn a_killed_owner_takes_its_server_along() {
    let dir = open_dir();
    let mut owner = Owner::of_cluster(dir.path());
    let url = owner.url();
    assert_eq!(query(&url, "select 'alive'").await, "alive");
    assert_eq!(running(dir.path()).await.expect("running").pid, owner.pid());
    let postmaster = postmaster_pid(dir.path()).expect("a server");
    owner.kill_9();
    assert_eq!(running(dir.path()).await, None, "nobody manages it any more");
    until("the server is gone", || !is_alive(postmaster)).await;
    reset(dir.path()).await.expect("nothing stands in the way");
}

#[tokio::test]
async fn a_server_that_dies_is_reported_and_can_be_started_again() {
    let dir = open_dir();
    let mut cluster = start(dir.path()).await.expect("start");
    kill_9(postmaster_pid(dir.path()).expect("a server"));
    assert_eq!(cluster.failed().await.code, "database_unreachable");
    drop(cluster);
    let cluster = start(dir.path()).await.expect("start again");
    assert_eq!(query(&cluster.url("postgres"), "select 'answers'").await, "answers");
}

#[tokio::test]
async fn a_killed_owner_can_be_followed_at_once() {
    let dir = open_dir();
    let mut owner = Owner::of_cluster(dir.path());
    let url = owner.url();
    query(&url, "select lo_from_bytea(1, 'committed')::text").await;
    owner.kill_9();
    let cluster = start(dir.path()).await.expect("start while the old server is ending");
    let kept = query(&cluster.url("postgres"), "select convert_from(lo_get(1), 'UTF8')").await;
    assert_eq!(kept, "committed");
}

#[tokio::test]
async fn files_that_a_killed_server_left_are_not_believed() {
    let dir = open_dir();
    let mut owner = Owner::of_cluster(dir.path());
    owner.url();
    let postmaster = postmaster_pid(dir.path()).expect("a server");
    let recorded = fs::read(dir.path().join("running.json")).expect("recorded");
    kill_9(postmaster);
    owner.kill_9();
    until("the server is gone", || !is_alive(postmaster)).await;
    let pid_file = server_dir(dir.path()).expect("made").join("postmaster.pid");
    assert!(
        fs::read_to_string(&pid_file).expect("stale").contains("ready"),
        "it still says ready"
    );
    assert_eq!(fs::read(dir.path().join("running.json")).expect("stale"), recorded);
    assert_eq!(running(dir.path()).await, None);

    let cluster = start(dir.path()).await.expect("start over the stale files");
    assert_ne!(
        cluster.running().postmaster_pid,
        i32::try_from(postmaster).expect("a pid")
    );
    cluster.stop().await.expect("stop");

    // The number may belong to somebody else by now: here, to this test.
    let stale = format!(
        "{}\n{}\n1\n5432\n/tmp\n\n1 1\nready\n",
        std::process::id(),
        pid_file.parent().expect("a directory").display()
    );
    fs::write(&pid_file, stale).expect("write");
    let cluster = start(dir.path()).await.expect("start over another process's number");
    assert_eq!(query(&cluster.url("postgres"), "select 'answers'").await, "answers");
}

#[tokio::test]
async fn an_orphaned_server_is_stopped_before_a_new_one_starts() {
    let dir = open_dir();
    let cluster = start(dir.path()).await.expect("start");
    let bin_dir = cluster.installation().bin_dir.clone();
    cluster.stop().await.expect("stop");
    let files = server_dir(dir.path()).expect("made");
    let mut orphan = spawn_by_hand(&bin_dir, &files);
    until("the orphan runs", || postmaster_pid(dir.path()) == Some(orphan.id())).await;

    let cluster = start(dir.path()).await;
    let ended = orphan.try_wait().expect("wait");
    let _ = orphan.kill();
    let _ = orphan.wait();
    let cluster = cluster.expect("start");
    assert!(ended.is_some(), "the orphan was stopped first");
    assert_eq!(query(&cluster.url("postgres"), "select 'answers'").await, "answers");
}

/// A server that no Tenure process manages, run by the owner of its files.
fn spawn_by_hand(bin_dir: &Path, files: &Path) -> std::process::Child {
    let metadata = fs::metadata(files).expect("there");
    let mut command = Command::new(bin_dir.join("postgres"));
    command
        .arg("-D")
        .arg(files)
        .args(["-c", "listen_addresses=", "-c", "unix_socket_directories="]);
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if is_root() {
        command.uid(metadata.uid()).gid(metadata.gid());
    }
    command.spawn().expect("run postgres")
}

#[tokio::test]
async fn a_killed_initdb_leaves_nothing_half_made() {
    // It may be done before the signal comes: then it was not killed in the middle, and another is.
    for _ in 0..20 {
        let dir = open_dir();
        let mut owner = Owner::of_cluster(dir.path());
        until("initdb is at work", || {
            names_with(dir.path(), "pg")
                .iter()
                .any(|name| !name.contains(".new-") || dir.path().join(name).join("base").exists())
        })
        .await;
        owner.kill_9();
        if server_dir(dir.path()).is_some_and(|dir| !dir.to_string_lossy().contains(".new-")) {
            continue;
        }
        let cluster = start(dir.path()).await.expect("start after it");
        assert_eq!(query(&cluster.url("postgres"), "select 'whole'").await, "whole");
        // By the start itself: the watcher of the killed process may not remove entries of a directory that root owns.
        assert!(
            names_with(dir.path(), ".new-").is_empty(),
            "something half made is left"
        );
        return;
    }
    panic!("initdb was never killed in the middle");
}

#[tokio::test]
async fn a_killed_test_run_leaves_no_server_and_no_directory() {
    let binary = std::env::current_exe().expect("this binary");
    let mut run = Owner::spawn(owner(&binary, "test-cluster"));
    let url = run.url();
    let data_dir = query(&url, "show data_directory").await;
    let data_dir = Path::new(&data_dir)
        .parent()
        .expect("above the server's files")
        .to_owned();
    let socket_dir = query(&url, "show unix_socket_directories").await;
    let socket_dir = socket_dir.trim_matches('"').to_owned();
    assert!(data_dir.exists() && Path::new(&socket_dir).exists());
    run.kill_9();
    until("its directories are gone", || {
        !data_dir.exists() && !Path::new(&socket_dir).exists()
    })
    .await;
}

#[tokio::test]
async fn a_template_that_a_killed_run_left_half_made_is_made_anew() {
    let server = tenure_cluster::testing::TestDatabase::empty()
        .await
        .expect("a database");
    let template = tenure_cluster::testing::Template::new("private_it_half", [uuid::Uuid::new_v4().to_string()]);
    let admin = server.connect().await.expect("connect");
    admin
        .batch_execute(&format!("create database {}", template.name()))
        .await
        .expect("half made");
    let made = tenure_cluster::testing::TestDatabase::new(&template, async |url| fill(&url).await)
        .await
        .expect("made anew");
    assert_eq!(query(made.url(), "select text from note").await, "prepared");
    assert_ne!(template, notes());
}
