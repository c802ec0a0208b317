//! A migrated database for each test of the SQL core, a clock that tests move, and short ways to ask it things.
//!
//! Statements go out unnamed, so that the whole suite also runs through PgBouncer in transaction mode
//! (`TENURE_TEST_THROUGH`, see `pgbouncer.rs`). What needs more than one statement uses a transaction.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_cluster::testing::{Template, TestCluster, TestDatabase};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Row};
use uuid::Uuid;

use crate::pgbouncer;

/// How long a test waits for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The clock of a test's database: the real one plus a shift that [`Db::advance`] grows.
const CLOCK: &str = "
    create schema fixture;
    create table fixture.clock (shift interval not null);
    insert into fixture.clock values ('0');
    grant usage on schema fixture to public;
    grant select on fixture.clock to public;
    create or replace function tenure.now() returns timestamptz
    language sql volatile
    set search_path = pg_catalog, pg_temp
    as $$ select clock_timestamp() + c.shift from fixture.clock c $$;";

/// A database of the test's own, dropped with this value, and with it the logins it made.
pub(crate) struct Db {
    // In this order: a role goes only after the sessions of the database have gone.
    database: TestDatabase,
    logins: Logins,
}

struct Logins {
    names: Mutex<Vec<String>>,
    admin_url: String,
}

impl Db {
    /// Migrated, all gates open, and open mode: actions need no registration.
    pub(crate) async fn open() -> Db {
        let db = Db::inert().await;
        let client = db.direct().await;
        run(
            &client,
            "begin;
             set local tenure.tenant = '*';
             do $$ begin perform tenure.gate_set(k.key, 'open') from tenure.config_keys k where k.is_gate; end $$;
             select tenure.config_set('executions.actions.open', 'true');
             commit",
        )
        .await;
        db
    }

    /// Just migrated: every gate closed.
    pub(crate) async fn inert() -> Db {
        let template = Template::new("sql", [tenure::migrate::source_hash(), CLOCK]);
        let database = TestDatabase::new(&template, async |url| migrate(&url).await)
            .await
            .expect("a database");
        let admin_url = TestCluster::shared().await.expect("a server").url("postgres");
        Db {
            database,
            logins: Logins {
                names: Mutex::default(),
                admin_url,
            },
        }
    }

    /// A connection of the superuser, through PgBouncer when the suite runs so.
    pub(crate) async fn client(&self) -> Client {
        match pgbouncer::through(self.database.name()) {
            Some(url) => connect(&url.parse().expect("an address")).await,
            None => self.direct().await,
        }
    }

    /// A connection of the superuser with a session of its own, whatever stands between: for what a pool cannot do.
    pub(crate) async fn direct(&self) -> Client {
        connect(&self.config()).await
    }

    /// A new login with these roles, bound to the tenant and, if given, to executors. Returns its name and a session.
    pub(crate) async fn login(&self, roles: &[&str], tenant: &str, executors: Option<&[&str]>) -> (String, Client) {
        let name = format!("tenure_test_login_{}", Uuid::new_v4().simple());
        let admin = self.direct().await;
        run(&admin, &format!("create role {name} login password '{name}'")).await;
        self.logins.names.lock().expect("no panic holds it").push(name.clone());
        for role in roles {
            run(&admin, &format!("grant {role} to {name}")).await;
        }
        let executors: Option<Vec<String>> = executors.map(|names| names.iter().map(|it| (*it).to_owned()).collect());
        let bound = one(
            &admin,
            "select tenure.login_bind($1, $2, p_executors => $3)",
            &[&name, &tenant, &executors],
        )
        .await;
        assert_eq!(bound["login"], Value::from(name.as_str()), "{bound}");
        let mut config = self.config();
        config.user(&name).password(&name);
        (name, connect(&config).await)
    }

    /// Moves the database's clock forward, for every session.
    pub(crate) async fn advance(&self, interval: &str) {
        let client = self.direct().await;
        run(
            &client,
            &format!("update fixture.clock set shift = shift + interval '{interval}'"),
        )
        .await;
    }

    /// Its URL, without any pool between.
    pub(crate) fn url(&self) -> &str {
        self.database.url()
    }

    fn config(&self) -> Config {
        self.database.url().parse().expect("the database's URL")
    }
}

impl Drop for Logins {
    /// Roles belong to the whole server: best effort, on a thread of its own, like the database.
    fn drop(&mut self) {
        let names = std::mem::take(self.names.get_mut().expect("no panic holds it"));
        if names.is_empty() {
            return;
        }
        let url = self.admin_url.clone();
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .ok()?;
            runtime.block_on(async {
                let admin = connect(&url.parse().ok()?).await;
                admin
                    .batch_execute(&format!("drop role if exists {}", names.join(", ")))
                    .await
                    .ok()
            })
        });
        let _ = dropping.join();
    }
}

/// A connection whose other half runs until it is dropped.
pub(crate) async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.expect("connect");
    tokio::spawn(async move {
        // Its end is the client's business: the next call says what happened.
        let _ = connection.await;
    });
    client
}

/// Migrates as every installation does, and puts the test's clock in.
async fn migrate(url: &str) -> Result<(), String> {
    let mut client = connect(&url.parse().expect("the template's URL")).await;
    tenure::migrate(&mut client, &tenure::migrate::Options::default())
        .await
        .map_err(|error| format!("{error:?}"))?;
    client.batch_execute(CLOCK).await.map_err(|error| told(&error))
}

/// A parameter that knows its type, so that a statement needs no preparing.
pub(crate) trait Param: ToSql + Sync {
    /// The type it is sent as.
    fn sent_as(&self) -> Type;
}

macro_rules! params {
    ($($rust:ty => $sql:ident,)*) => {
        $(impl Param for $rust { fn sent_as(&self) -> Type { Type::$sql } })*
    };
}

params! {
    &str => TEXT, String => TEXT, Option<&str> => TEXT, Option<String> => TEXT,
    Vec<String> => TEXT_ARRAY, Vec<&str> => TEXT_ARRAY, &[&str] => TEXT_ARRAY, Option<Vec<String>> => TEXT_ARRAY,
    Vec<Option<String>> => TEXT_ARRAY, Vec<Option<&str>> => TEXT_ARRAY,
    bool => BOOL, i16 => INT2, i32 => INT4, i64 => INT8, Option<i16> => INT2, Option<i32> => INT4, Option<i64> => INT8,
    Vec<i32> => INT4_ARRAY, Vec<i64> => INT8_ARRAY, Vec<Option<i32>> => INT4_ARRAY, f64 => FLOAT8,
    Uuid => UUID, Option<Uuid> => UUID, Vec<Uuid> => UUID_ARRAY,
    Value => JSONB, Option<Value> => JSONB, Vec<Value> => JSONB_ARRAY, Vec<Option<Value>> => JSONB_ARRAY,
    jiff::Timestamp => TIMESTAMPTZ, Option<jiff::Timestamp> => TIMESTAMPTZ, Vec<jiff::Timestamp> => TIMESTAMPTZ_ARRAY,
}

/// The rows of a statement, or its error.
pub(crate) async fn try_rows(
    client: &Client,
    sql: &str,
    params: &[&dyn Param],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let typed: Vec<(&(dyn ToSql + Sync), Type)> = params
        .iter()
        .map(|param| (*param as &(dyn ToSql + Sync), param.sent_as()))
        .collect();
    client.query_typed(sql, &typed).await
}

/// The rows of a statement that must succeed.
pub(crate) async fn rows(client: &Client, sql: &str, params: &[&dyn Param]) -> Vec<Row> {
    match try_rows(client, sql, params).await {
        Ok(rows) => rows,
        Err(error) => panic!("{sql}\n{}", told(&error)),
    }
}

/// The first column of the one row of a statement.
pub(crate) async fn get<T>(client: &Client, sql: &str, params: &[&dyn Param]) -> T
where
    T: for<'a> tokio_postgres::types::FromSql<'a>,
{
    let rows = rows(client, sql, params).await;
    assert_eq!(rows.len(), 1, "{sql}: one row is expected");
    rows[0].get(0)
}

/// The answer of a function that returns one JSON value, or what it raised as the value that the `try_` functions answer:
/// so that [`refused`] reads both. Like any error, a refusal ends the transaction it is raised in.
pub(crate) async fn one(client: &Client, sql: &str, params: &[&dyn Param]) -> Value {
    match try_rows(client, sql, params).await {
        Ok(rows) => {
            assert_eq!(rows.len(), 1, "{sql}: one row is expected");
            rows[0].get(0)
        }
        Err(error) if error.code().is_some_and(|it| it.code().starts_with("TN")) => {
            let refusal = tenure_core::Refusal::from(tenure::Error::from(error));
            serde_json::to_value(refusal).expect("a refusal is JSON")
        }
        Err(error) => panic!("{sql}\n{}", told(&error)),
    }
}

/// The same within an open transaction, which a refusal leaves as it was before the call.
pub(crate) async fn one_within(client: &Client, sql: &str, params: &[&dyn Param]) -> Value {
    run(client, "savepoint before_the_call").await;
    let answer = one(client, sql, params).await;
    if answer["refused"] == true {
        run(client, "rollback to before_the_call").await;
    }
    answer
}

/// Statements without an answer, as one simple query: outside `begin` they are one transaction.
pub(crate) async fn run(client: &Client, sql: &str) {
    if let Err(error) = client.batch_execute(sql).await {
        panic!("{sql}\n{}", told(&error));
    }
}

/// What an error says, in one text.
pub(crate) fn told(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(
        || format!("{error:?}"),
        |it| {
            format!(
                "{}: {} / {:?} / {:?} / {:?}",
                it.code().code(),
                it.message(),
                it.detail(),
                it.hint(),
                it.where_()
            )
        },
    )
}

/// Asserts that the answer is the refusal of this code, and says what, why and what next.
#[track_caller]
pub(crate) fn refused(answer: &Value, code: &str) {
    assert_eq!(answer["refused"], Value::Bool(true), "not refused: {answer}");
    assert_eq!(answer["code"], Value::from(code), "{answer}");
    for part in ["what", "why", "next"] {
        let text = answer[part].as_str().unwrap_or_default();
        assert!(!text.trim().is_empty(), "{part} is missing: {answer}");
    }
}

/// Asserts that the statement raised the refusal of this code, with message, detail and hint.
#[track_caller]
pub(crate) fn raised<T: std::fmt::Debug>(outcome: Result<T, tokio_postgres::Error>, code: &str) -> String {
    let error = outcome.expect_err("a refusal");
    let known = tenure_core::codes::by_name(code).expect("a known code");
    let db = error.as_db_error().unwrap_or_else(|| panic!("{error:?}"));
    assert_eq!(Some(db.code().code()), known.sqlstate, "{}", told(&error));
    for part in [Some(db.message()), db.detail(), db.hint()] {
        assert!(part.is_some_and(|it| !it.trim().is_empty()), "{}", told(&error));
    }
    format!(
        "{} {} {}",
        db.message(),
        db.detail().unwrap_or_default(),
        db.hint().unwrap_or_default()
    )
}

/// Enqueues a job of this kind with nothing else, and returns its id.
pub(crate) async fn enqueue(client: &Client, kind: &str) -> Uuid {
    enqueue_with(client, kind, "").await
}

/// Enqueues a job with further arguments of `tenure.job_enqueue`, as in `", p_key => 'a'"`.
pub(crate) async fn enqueue_with(client: &Client, kind: &str, arguments: &str) -> Uuid {
    let answer = one(client, &format!("select tenure.job_enqueue($1{arguments})"), &[&kind]).await;
    id_of(&answer)
}

/// The job an answer names.
#[track_caller]
pub(crate) fn id_of(answer: &Value) -> Uuid {
    let id = answer["job_id"].as_str().unwrap_or_else(|| panic!("no job: {answer}"));
    id.parse().expect("a job id")
}

/// What a claim brings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claimed {
    pub(crate) job_id: Uuid,
    pub(crate) token: Uuid,
    pub(crate) state: String,
    pub(crate) run: i32,
    pub(crate) attempt: i16,
    pub(crate) lane: i32,
}

impl Claimed {
    pub(crate) fn of(row: &Row) -> Claimed {
        Claimed {
            job_id: row.get("job_id"),
            token: row.get("token"),
            state: row.get("state"),
            run: row.get("run"),
            attempt: row.get("attempt"),
            lane: row.get("lane"),
        }
    }
}

/// Claims one job of any kind, which must be there.
pub(crate) async fn claim(client: &Client, worker: &str) -> Claimed {
    let mut claimed = claim_with(client, worker, "").await;
    assert_eq!(claimed.len(), 1, "one job is claimable");
    claimed.remove(0)
}

/// Claims with further arguments of `tenure.job_claim_many`, as in `", p_limit => 10, p_mode => 'started'"`.
pub(crate) async fn claim_with(client: &Client, worker: &str, arguments: &str) -> Vec<Claimed> {
    let sql = format!("select * from tenure.job_claim_many($1{arguments})");
    rows(client, &sql, &[&worker]).await.iter().map(Claimed::of).collect()
}

/// The state of a job.
pub(crate) async fn state(client: &Client, job_id: Uuid) -> String {
    get::<Option<String>>(client, "select tenure.job_state($1)", &[&job_id])
        .await
        .unwrap_or_else(|| "no such job".to_owned())
}

/// Calls one of the functions that take a job and its token: `verb(&c, "job_complete", &job, "")`.
pub(crate) async fn verb(client: &Client, function: &str, held: &Claimed, arguments: &str) -> Value {
    let sql = format!("select tenure.{function}($1, $2{arguments})");
    one(client, &sql, &[&held.job_id, &held.token]).await
}

/// Runs the reaper and returns what it found, by job.
pub(crate) async fn reap(client: &Client) -> Vec<(Uuid, String, String)> {
    rows(client, "select job_id, finding, state from tenure.job_reap()", &[])
        .await
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

/// The backend behind a client; inside a transaction it stays the same.
pub(crate) async fn backend(client: &Client) -> i32 {
    get(client, "select pg_backend_pid()", &[]).await
}

/// Waits until a session of this database waits for a lock in a statement that contains this text.
pub(crate) async fn until_blocked(client: &Client, text: &str) {
    let sql = "select exists (select from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'
                  and strpos(query, $1) > 0)";
    until(client, sql, &[&text], text).await;
}

/// Waits until a query answers true.
pub(crate) async fn until(client: &Client, sql: &str, params: &[&dyn Param], what: &str) {
    let began = Instant::now();
    while !get::<bool>(client, sql, params).await {
        assert!(began.elapsed() < PATIENCE, "waited too long for: {what}");
        tokio::task::yield_now().await;
    }
}

/// Waits for all of them at once.
pub(crate) async fn all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut open = false;
        for (future, slot) in pending.iter_mut().zip(&mut done) {
            if slot.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(output) => *slot = Some(output),
                    std::task::Poll::Pending => open = true,
                }
            }
        }
        if open {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    done.into_iter().map(|slot| slot.expect("polled to its end")).collect()
}

/// Asserts what must hold whatever happened: each job is in exactly one place, each waiting job is found at its
/// address, and no lease counts fewer jobs than it holds.
pub(crate) async fn check_invariants(client: &Client) {
    let misplaced = rows(
        client,
        "select j.job_id, places.*
           from tenure.jobs j
           cross join lateral (
             select (select count(*) from tenure.ready r where r.job_id = j.job_id) as ready,
                    (select count(*) from tenure.delayed d where d.job_id = j.job_id) as delayed,
                    (select count(*) from tenure.active a where a.job_id = j.job_id) as active,
                    (select count(*) from tenure.attempts t where t.job_id = j.job_id and t.final) as final) places
          where ready + delayed + active + final <> 1",
        &[],
    )
    .await;
    let misplaced: Vec<Uuid> = misplaced.iter().map(|row| row.get(0)).collect();
    assert!(misplaced.is_empty(), "not in exactly one place: {misplaced:?}");
    let lost: i64 = get(
        client,
        "select count(*) from tenure.jobs j where tenure.job_state(j.job_id) = 'moving'",
        &[],
    )
    .await;
    assert_eq!(lost, 0, "jobs that are not at their address");
    let uncounted: i64 = get(
        client,
        "select count(*) from tenure.leases l
          where l.held < (select count(*) from tenure.active a where a.token = l.token and a.lane = l.lane)",
        &[],
    )
    .await;
    assert_eq!(uncounted, 0, "leases that count fewer jobs than they hold");
    let unmarked: i64 = get(
        client,
        "select count(*) from tenure.ready r
          where not exists (select from tenure.ready_marks m where m.lane = r.lane and m.rank = r.rank)",
        &[],
    )
    .await;
    assert_eq!(unmarked, 0, "ready jobs that no mark leads to");
}
