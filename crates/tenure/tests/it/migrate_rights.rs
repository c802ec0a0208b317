//! Who may migrate: on a server of its own, because roles belong to the whole server.

use tenure::core::codes;
use tenure::migrate::{Options, print, print_roles};
use tenure_cluster::testing::{TestCluster, TestDatabase};
use tenure_cluster::{Search, find};
use tokio_postgres::Client;

use crate::migrate::{CATALOGUE, migrate, migrated, run, same, text};

/// A server nobody has migrated on, with these databases.
async fn server(databases: &[&str]) -> (TestCluster, Client) {
    let cluster = TestCluster::private().await.expect("a server");
    let admin = connect(&cluster, "postgres", "tenure").await;
    for database in databases {
        run(&admin, &format!("create database {database}")).await;
    }
    (cluster, admin)
}

async fn connect(cluster: &TestCluster, database: &str, login: &str) -> Client {
    let mut config: tokio_postgres::Config = cluster.url(database).parse().expect("a URL");
    config.user(login);
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.expect("connects");
    tokio::spawn(connection);
    client
}

/// Rule: 27.
#[tokio::test]
async fn migrating_needs_no_superuser() {
    let (cluster, admin) = server(&["app"]).await;
    run(
        &admin,
        "create role maker login createrole;
         create role acting login;
         create role stranger login;
         grant create on database app to maker",
    )
    .await;
    let mut stranger = connect(&cluster, "app", "stranger").await;
    let error = tenure::migrate(&mut stranger, &Options::default())
        .await
        .expect_err("refused");
    assert!(
        error.is(codes::NOT_PERMITTED) && error.refusal().next.contains("--roles"),
        "{error}"
    );

    let mut maker = connect(&cluster, "app", "maker").await;
    let report = migrate(&mut maker).await;
    assert!(report.changed() && report.notes.is_empty(), "{report:?}");

    // Without CREATEROLE and without CREATE on the database, where roles and schema stand.
    run(&maker, "grant tenure_owner to acting").await;
    let mut acting = connect(&cluster, "app", "acting").await;
    let forced = Options {
        force: true,
        ..Options::default()
    };
    let report = tenure::migrate(&mut acting, &forced).await.expect("migrates");
    assert!(report.objects_applied, "{report:?}");
    let error = tenure::migrate(&mut stranger, &Options::default())
        .await
        .expect_err("refused");
    assert!(error.is(codes::NOT_PERMITTED), "{error}");
    let foreign = "select count(*)::text from pg_class c where c.relnamespace = 'tenure'::regnamespace and c.relowner <> 'tenure_owner'::regrole";
    assert_eq!(text(&admin, "select count(*)::text from pg_roles where rolname ~ '^tenure_' and (rolsuper or rolcanlogin or rolbypassrls)").await, "0");
    assert_eq!(text(&maker, foreign).await, "0");
}

/// Roles that somebody else has made are used as they are. Rule: 27.
#[tokio::test]
async fn roles_can_be_made_by_somebody_else() {
    let (cluster, admin) = server(&["app"]).await;
    run(&admin, &print_roles()).await;
    run(
        &admin,
        "create role plain login; grant tenure_owner to plain; grant create on database app to plain",
    )
    .await;
    let mut plain = connect(&cluster, "app", "plain").await;
    assert!(migrate(&mut plain).await.changed());
}

/// The lock belongs to a database, the roles to the server. Rule: 27.
#[tokio::test]
async fn databases_of_one_server_can_be_migrated_at_once() {
    let (cluster, admin) = server(&["one", "two", "three", "four"]).await;
    run(&admin, "create role maker login createrole").await;
    for database in ["one", "two", "three", "four"] {
        run(&admin, &format!("grant create on database {database} to maker")).await;
    }
    let migrated = async |database: &str| {
        let mut client = connect(&cluster, database, "maker").await;
        migrate(&mut client).await.changed()
    };
    let all = tokio::join!(migrated("one"), migrated("two"), migrated("three"), migrated("four"));
    assert_eq!(all, (true, true, true, true));
}

/// What `--print` shows is what migrating does, on an empty database, again, and on an older one. Rule: 27.
#[tokio::test]
async fn the_printed_script_gives_the_same_schema() {
    let (_by_program, client) = migrated().await;
    let expected = text(&client, CATALOGUE).await;
    let by_hand = TestDatabase::empty().await.expect("database");
    psql(by_hand.url(), &print());
    let mut client = by_hand.connect().await.expect("connect");
    same(&expected, &text(&client, CATALOGUE).await);
    psql(by_hand.url(), &print());
    same(&expected, &text(&client, CATALOGUE).await);
    run(
        &client,
        "set role tenure_owner;
         create function tenure.health(p_detail text) returns text language sql as 'select 1::text';
         drop view tenure.transitions;
         create view tenure.transitions as select 1 as one;
         update tenure.installation set functions_hash = 'older';
         reset role",
    )
    .await;
    psql(by_hand.url(), &print());
    same(&expected, &text(&client, CATALOGUE).await);
    assert!(!migrate(&mut client).await.changed());
}

fn psql(url: &str, script: &str) {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let found = find(&Search::from_env()).expect("PostgreSQL's programs");
    let program = found
        .iter()
        .map(|it| it.bin_dir.join("psql"))
        .find(|path| path.exists())
        .unwrap_or_else(|| "psql".into());
    let mut psql = Command::new(program)
        .args(["-X", "-q", "-d", url, "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql starts");
    let mut stdin = psql.stdin.take().expect("a pipe");
    let script = script.to_owned();
    let writing = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = psql.wait_with_output().expect("psql ends");
    writing.join().expect("no panic").expect("psql reads the script");
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.trim(), "", "the script is quiet");
}
