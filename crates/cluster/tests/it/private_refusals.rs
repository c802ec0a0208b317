//! Bad input and bad luck: each a refusal with code, what, why and next, and nothing half made.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tenure_cluster::{Cluster, Search, explain_log};

use crate::private_fixture::{Owner, is_root, names_with, open_dir, options, start};

#[tokio::test]
async fn a_second_start_on_the_same_directory_says_who_has_it_and_how_to_connect() {
    let dir = open_dir();
    let mut owner = Owner::of_cluster(dir.path());
    let url = owner.url();
    let refusal = start(dir.path()).await.expect_err("in use");
    assert_eq!(refusal.code, "data_dir_in_use");
    assert!(refusal.why.contains(&owner.pid().to_string()), "{refusal}");
    assert!(refusal.next.contains(&url), "{refusal}");
    assert_eq!(
        tenure_cluster::reset(dir.path()).await.expect_err("in use").code,
        "data_dir_in_use"
    );
    owner.finish();
    start(dir.path()).await.expect("free again");
}

#[tokio::test]
async fn a_directory_of_another_major_version_is_refused_and_untouched() {
    let dir = open_dir();
    fs::create_dir(dir.path().join("pg14")).expect("create");
    fs::write(dir.path().join("pg14/PG_VERSION"), "14\n").expect("write");
    let refusal = start(dir.path()).await.expect_err("another version");
    assert_eq!(refusal.code, "data_dir_version");
    assert!(refusal.what.contains("PostgreSQL 14"), "{refusal}");
    let installed = tenure_cluster::find(&Search::from_env()).expect("installed");
    assert!(refusal.why.contains(&installed[0].version), "{refusal}");
    assert_eq!(names_with(dir.path(), "pg"), ["pg14"]);
}

#[tokio::test]
async fn a_data_directory_of_a_foreign_server_is_refused() {
    let dir = open_dir();
    fs::write(dir.path().join("PG_VERSION"), "15\n").expect("write");
    assert_eq!(start(dir.path()).await.expect_err("foreign").code, "usage");
    assert_eq!(names_with(dir.path(), ""), ["PG_VERSION"]);
}

#[tokio::test]
async fn a_file_in_place_of_the_data_directory_is_refused() {
    let dir = open_dir();
    let file = dir.path().join("file");
    fs::write(&file, "").expect("write");
    assert_eq!(start(&file).await.expect_err("a file").code, "usage");
}

/// An ordinary user meets a directory that is not writable; root, a parent closed to the account the server runs as.
#[tokio::test]
async fn a_directory_without_permission_is_refused_by_name() {
    let dir = open_dir();
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).expect("create");
    let mode = if is_root() { 0o700 } else { 0o500 };
    fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).expect("permissions");
    let refusal = start(closed.join("data")).await.expect_err("closed");
    assert_eq!(refusal.code, "permission_denied");
    assert!(refusal.to_string().contains(&*closed.to_string_lossy()), "{refusal}");
    assert!(refusal.next.contains("--data-dir"), "{refusal}");
}

#[tokio::test]
async fn no_postgresql_is_refused_before_anything_is_made() {
    let dir = open_dir();
    let mut nowhere = options(dir.path().join("data"));
    nowhere.search = Search::default();
    let refusal = Cluster::start(nowhere).await.expect_err("nothing installed there");
    assert_eq!(refusal.code, "postgres_not_found");
    assert!(!dir.path().join("data").exists());
}

#[tokio::test]
async fn a_setting_the_server_refuses_is_shown_with_the_log() {
    let dir = open_dir();
    let cluster = start(dir.path()).await.expect("start");
    let files = dir.path().join(format!("pg{}", cluster.installation().major));
    cluster.stop().await.expect("stop");
    fs::write(files.join("postgresql.auto.conf"), "no_such_setting = 1\n").expect("write");
    let refusal = start(dir.path()).await.expect_err("does not start");
    assert_eq!(refusal.code, "database_start_failed");
    assert!(refusal.why.contains("no_such_setting"), "{refusal}");
}

#[test]
fn the_log_tells_which_refusal_it_is() {
    let log = Path::new("/data/postgres.log");
    for (line, code) in [
        (
            "FATAL:  could not write to file \"pg_wal/xlogtemp.1\": No space left on device",
            "disk_full",
        ),
        (
            "initdb: error: could not create directory: Disk quota exceeded",
            "disk_full",
        ),
        (
            "FATAL:  could not open file \"PG_VERSION\": Permission denied",
            "permission_denied",
        ),
        (
            "FATAL:  could not create lock file: Read-only file system",
            "permission_denied",
        ),
        (
            "FATAL:  data directory \"/d\" has invalid permissions",
            "permission_denied",
        ),
        (
            "FATAL:  database files are incompatible with server",
            "data_dir_version",
        ),
        (
            "LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use",
            "database_start_failed",
        ),
        (
            "PANIC:  could not locate a valid checkpoint record",
            "database_start_failed",
        ),
    ] {
        let refusal = explain_log("The database did not start.", line, log);
        assert_eq!(refusal.code, code, "{line}");
        assert_eq!(refusal.why, line);
        assert!(!refusal.next.is_empty());
    }
}

/// A tiny file system, where this account may mount one; what the log means is tested above for everybody.
struct TinyDisk<'a>(&'a Path);

impl TinyDisk<'_> {
    fn mount(dir: &Path) -> Option<TinyDisk<'_>> {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=12m,mode=0755", "tmpfs"])
            .arg(dir);
        mount
            .output()
            .is_ok_and(|output| output.status.success())
            .then_some(TinyDisk(dir))
    }
}

impl Drop for TinyDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).output();
    }
}

#[tokio::test]
async fn a_full_disk_is_refused_and_leaves_nothing_half_made() {
    let dir = open_dir();
    let Some(_disk) = TinyDisk::mount(dir.path()) else {
        return;
    };
    let refusal = start(dir.path()).await.expect_err("too small for a database");
    assert_eq!(refusal.code, "disk_full", "{refusal}");
    assert_eq!(names_with(dir.path(), "pg"), Vec::<String>::new());
}
