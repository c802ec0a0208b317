//! A private cluster starts, answers and stops.

use std::fs;
use std::path::Path;
use std::process::Command;

use tenure_cluster::{Cluster, reset, running};

use crate::private_fixture::{Owner, is_alive, is_root, open_dir, options, owner, query, start};

#[tokio::test]
async fn it_starts_answers_stops_and_keeps_what_was_committed() {
    let dir = open_dir();
    let mut durable = options(dir.path());
    durable.fsync = true;
    let cluster = Cluster::start(durable).await.expect("start");
    let url = cluster.url("postgres");
    query(
        &url,
        "with made as (select set_config('x.y', '1', false)) select 'done' from made",
    )
    .await;
    assert_eq!(query(&url, "show fsync").await, "on");
    assert_eq!(query(&url, "show data_checksums").await, "on");
    assert_eq!(query(&url, "show listen_addresses").await, "");
    assert_eq!(query(&url, "show server_encoding").await, "UTF8");
    assert_eq!(query(&url, "show max_connections").await, "200");
    query(&url, "select lo_from_bytea(4711, 'kept')::text").await;
    let seen = running(dir.path()).await.expect("running");
    assert_eq!(seen, cluster.running());
    let postmaster = u32::try_from(seen.postmaster_pid).expect("a pid");
    assert!(is_alive(postmaster));
    cluster.stop().await.expect("stop");
    assert!(!is_alive(postmaster));
    assert_eq!(running(dir.path()).await, None);

    let cluster = start(dir.path()).await.expect("start again");
    assert_eq!(
        query(&cluster.url("postgres"), "select convert_from(lo_get(4711), 'UTF8')").await,
        "kept"
    );
    drop(cluster);
    assert_eq!(running(dir.path()).await, None);

    reset(dir.path()).await.expect("reset");
    let cluster = start(dir.path()).await.expect("start anew");
    assert_eq!(
        query(
            &cluster.url("postgres"),
            "select count(*)::text from pg_largeobject_metadata"
        )
        .await,
        "0"
    );
}

#[tokio::test]
async fn a_long_data_directory_works_and_psql_understands_its_url() {
    let dir = open_dir();
    let long = dir
        .path()
        .join("a".repeat(120))
        .join("it's ünusual, really")
        .join("b".repeat(80));
    let cluster = start(&long).await.expect("start");
    let psql = cluster.installation().bin_dir.join("psql");
    let psql = if psql.exists() {
        psql
    } else {
        Path::new("psql").to_owned()
    };
    let output = Command::new(psql)
        .args([&cluster.url("postgres"), "-Atc", "select 'hello'"])
        .env("PGPORT", "1")
        .output()
        .expect("run psql");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "hello\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let config = cluster.config("postgres");
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.expect("connect");
    tokio::spawn(connection);
    client.simple_query("select 1").await.expect("query");
}

#[tokio::test]
async fn a_port_is_opened_only_when_asked_and_only_with_the_password() {
    let dir = open_dir();
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .expect("bind")
        .local_addr()
        .expect("address")
        .port();
    let mut wanted = options(dir.path());
    wanted.tcp_port = Some(free);
    let cluster = Cluster::start(wanted).await.expect("start");
    let url = cluster.tcp_url("postgres").expect("a port was asked for");
    assert_eq!(query(&url, "select 'over tcp'").await, "over tcp");
    assert_eq!(
        query(&cluster.url("postgres"), "select 'over the socket'").await,
        "over the socket"
    );
    let guess = format!("postgresql://tenure:guess@127.0.0.1:{free}/postgres");
    tokio_postgres::connect(&guess, tokio_postgres::NoTls)
        .await
        .err()
        .expect("a wrong password is refused");
    cluster.stop().await.expect("stop");

    let cluster = start(dir.path()).await.expect("start");
    assert_eq!(cluster.tcp_url("postgres"), None);
}

/// The whole way as an ordinary user, then the same files as root; for an ordinary user every other test is that way.
#[tokio::test]
async fn root_and_an_ordinary_user_can_both_run_it() {
    use std::os::unix::fs::{MetadataExt, chown};
    use std::os::unix::process::CommandExt;
    if !is_root() {
        return;
    }
    let nobody = nix::unistd::User::from_name("nobody")
        .expect("lookup")
        .expect("every system has nobody");
    let (uid, gid) = (nobody.uid.as_raw(), nobody.gid.as_raw());
    let dir = open_dir();
    let binary = dir.path().join("it");
    // Copied by another process: a handle that a fork of another test inherits would make the copy "busy".
    let this = std::env::current_exe().expect("this binary");
    assert!(
        Command::new("install")
            .args(["-m", "755"])
            .args([&this, &binary])
            .status()
            .expect("copy")
            .success()
    );
    let home = dir.path().join("home");
    fs::create_dir(&home).expect("create");
    chown(&home, Some(uid), Some(gid)).expect("chown");
    let data_dir = home.join("data");

    let mut command = owner(&binary, &format!("cluster {}", data_dir.display()));
    command.uid(uid).gid(gid).env("HOME", &home).current_dir("/");
    let mut ordinary = Owner::spawn(command);
    let url = ordinary.url();
    assert_eq!(query(&url, "select 'as nobody'").await, "as nobody");
    ordinary.finish();

    let cluster = start(&data_dir).await.expect("root opens what an ordinary user made");
    let owner = fs::metadata(data_dir.join(format!("pg{}", cluster.installation().major)))
        .expect("there")
        .uid();
    assert_eq!(owner, uid);
    assert_eq!(query(&cluster.url("postgres"), "select 'as root'").await, "as root");
}
