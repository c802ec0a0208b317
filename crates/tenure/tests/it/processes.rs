//! Workers in processes of their own, killed without warning: nothing is lost, nothing is done twice, no limit is exceeded.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure::Pool;
use tenure::worker::{Context, Failure, Worker};
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::fixture::{Db, check_invariants, get, one, reap, rows, run, until};
use crate::worker_scene::enqueue_many;

/// Tells this test binary, run again, to be a worker on the database with this URL.
const WORKER: &str = "TENURE_TEST_WORKER";
/// How the worker runs its jobs, and under which name.
const MANNER: &str = "TENURE_TEST_WORKER_MANNER";
const NAME: &str = "TENURE_TEST_WORKER_NAME";
/// What a crash costs.
const LEASE: Duration = Duration::from_secs(2);
/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where handlers say that they have begun, each by a statement of its own.
pub(crate) const RUNS: &str =
    "create table fixture.runs (job_id uuid not null, run int not null, begun timestamptz not null default clock_timestamp(),
                      primary key (job_id, run))";

/// A worker in a process of its own; killed with this value.
pub(crate) struct Process {
    child: Child,
    name: String,
}

impl Process {
    pub(crate) fn start(db: &Db, name: &str, manner: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        command.args([
            "--exact",
            "processes::a_worker_process_works_until_its_parent_is_gone",
            "--nocapture",
        ]);
        command.env(WORKER, db.url()).env(NAME, name).env(MANNER, manner);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        Process {
            child: child.expect("run the test binary again"),
            name: name.to_owned(),
        }
    }

    /// SIGKILL: it cannot say another word. Returns when it is gone.
    pub(crate) fn kill_9(&mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does nothing in an ordinary run; as another process of this binary it is the worker that other tests kill.
#[tokio::test]
async fn a_worker_process_works_until_its_parent_is_gone() {
    let Ok(url) = std::env::var(WORKER) else { return };
    let manner = std::env::var(MANNER).expect("a manner");
    let pool = Pool::new(&url, &Default::default()).expect("a pool");
    let own = pool.clone();
    let worker = Worker::builder(pool)
        .name(std::env::var(NAME).expect("a name"))
        .concurrency(20)
        .lease(LEASE)
        .poll_interval(Duration::from_millis(20))
        .drain(Duration::ZERO)
        .grace(Duration::ZERO)
        .handler("work", move |payload: Value, context: Context| {
            let (pool, manner) = (own.clone(), manner.clone());
            async move { work(&pool, &manner, &payload, &context).await }
        });
    let parent_is_gone = async {
        let _ = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await;
    };
    let worker = worker.build().expect("a worker");
    worker.run_until(parent_is_gone).await.expect("a report");
}

/// Says that it has begun, works for a moment, and in the manner `hangs` never ends where the number is odd.
async fn work(pool: &Pool, manner: &str, payload: &Value, context: &Context) -> Result<(), Failure> {
    let job = context.job();
    let values: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
        [(&job.job_id, Type::UUID), (&job.run, Type::INT4)];
    let begun = "insert into fixture.runs (job_id, run) values ($1, $2)";
    pool.get().await?.query_typed(begun, &values).await?;
    if manner == "hangs" && payload["n"].as_i64().is_some_and(|n| n % 2 == 1) {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(())
}

/// Reaps until every job has ended.
async fn until_done(c: &Client, jobs: i64) {
    let began = Instant::now();
    loop {
        reap(c).await;
        let done: i64 = get(c, "select count(*) from tenure.attempts where final", &[]).await;
        if done == jobs {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{done} of {jobs} jobs have ended");
        tokio::task::yield_now().await;
    }
}

/// One of the living processes that holds something; what the dead held is reaped meanwhile.
async fn holder(c: &Client, processes: &[Process]) -> usize {
    let began = Instant::now();
    loop {
        let sql = "select distinct l.owner from tenure.leases l join tenure.active a on a.token = l.token and a.lane = l.lane";
        let owners: Vec<String> = rows(c, sql, &[]).await.iter().map(|row| row.get(0)).collect();
        if let Some(at) = processes.iter().position(|process| owners.contains(&process.name)) {
            return at;
        }
        reap(c).await;
        assert!(began.elapsed() < PATIENCE, "nobody holds anything");
        tokio::task::yield_now().await;
    }
}

/// Every job has succeeded once, each run of it has one record, and each run that was recorded as begun was begun.
async fn check_records(c: &Client, jobs: i64) {
    let states = rows(c, "select state, count(*) from tenure.job_queue group by state", &[]).await;
    let states: Vec<(String, i64)> = states.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(states, [("succeeded".to_owned(), jobs)], "none is lost");
    let wrong = "select job_id from tenure.attempts group by job_id
                 having count(*) filter (where outcome = 'succeeded') <> 1 or (array_agg(outcome order by run desc))[1] <> 'succeeded'
                     or min(run) <> 1 or max(run) <> count(*) or max(attempt) > count(*)";
    let wrong: Vec<Uuid> = rows(c, wrong, &[]).await.iter().map(|row| row.get(0)).collect();
    assert!(wrong.is_empty(), "done twice, or badly recorded: {wrong:?}");
    let unrecorded = "select count(*) from fixture.runs r
                       where not exists (select from tenure.attempts a where a.job_id = r.job_id and a.run = r.run)";
    assert_eq!(get::<i64>(c, unrecorded, &[]).await, 0);
    let unbegun = "select count(*) from tenure.attempts a where a.outcome = 'succeeded'
                    and not exists (select from fixture.runs r where r.job_id = a.job_id and r.run = a.run)";
    assert_eq!(get::<i64>(c, unbegun, &[]).await, 0);
    check_invariants(c).await;
}

async fn set_policy(c: &Client, policy: Value) {
    let set = one(c, "select tenure.kind_set('work', $1)", &[&policy]).await;
    assert_eq!(set["known"], true, "{set}");
}

#[tokio::test]
async fn a_worker_killed_in_the_middle_of_a_batch_loses_nothing_and_nothing_is_done_twice() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, RUNS).await;
    set_policy(&c, json!({"backoff_base_seconds": 1})).await;
    let numbers: Vec<Value> = (0..60).map(|n| json!({"n": n})).collect();
    let enqueued = "select job_id from tenure.job_enqueue_many(array_fill('work'::text, array[60]), $1::json[])";
    rows(&c, enqueued, &[&numbers]).await;

    let mut doomed = Process::start(&db, "doomed", "hangs");
    let halfway = "select count(*) = 20 and (select count(*) from tenure.attempts where final) >= 10
                     from tenure.active a
                     join fixture.runs r on r.job_id = a.job_id and r.run = a.run
                     join tenure.jobs j on j.job_id = a.job_id
                    where (j.payload ->> 'n')::int % 2 = 1";
    let what = "every slot taken by what hangs, and some batches done";
    until(&c, halfway, &[], what).await;
    doomed.kill_9();
    let killed = Instant::now();
    let held: Vec<Uuid> = rows(&c, "select job_id from tenure.active", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(held.len(), 20);

    let _heir = Process::start(&db, "heir", "works");
    until_done(&c, 60).await;
    // The lease and the delay of the retry, and whatever a busy machine adds: far less than the five minutes of a usual lease.
    assert!(killed.elapsed() < Duration::from_secs(60), "{:?}", killed.elapsed());
    check_records(&c, 60).await;
    let again = "select array_agg(outcome || ' ' || attempt || ' ' || owner order by run) from tenure.attempts where job_id = any ($1) group by job_id";
    for row in rows(&c, again, &[&held]).await {
        assert_eq!(row.get::<_, Vec<String>>(0), ["expired 1 doomed", "succeeded 2 heir"]);
    }
    let once =
        "select count(*) from tenure.attempts where job_id <> all ($1) and (outcome <> 'succeeded' or attempt <> 1)";
    assert_eq!(
        get::<i64>(&c, once, &[&held]).await,
        0,
        "what was done before is not done again"
    );
    let soon =
        "select bool_and(next_due < leased_at + interval '30 seconds') from tenure.attempts where outcome = 'expired'";
    assert!(get::<bool>(&c, soon, &[]).await);
}

/// What is held is looked at by the database itself, in every statement that claims; and the runs, from what a handler
/// saw first to what the database recorded last, are laid over each other afterwards.
#[tokio::test]
async fn a_limit_over_several_processes_is_never_exceeded_while_holders_are_killed() {
    const LIMIT: i64 = 3;
    const JOBS: i64 = 120;
    const KILLS: usize = 4;
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, RUNS).await;
    run(
        &c,
        "create table fixture.crowds (held bigint not null);
         create function fixture.crowd() returns trigger language plpgsql security definer as
           $$ begin insert into fixture.crowds select count(*) from tenure.active; return null; end $$;
         create trigger crowd after insert on tenure.active for each statement execute function fixture.crowd()",
    )
    .await;
    set_policy(
        &c,
        json!({"concurrency_max": LIMIT, "backoff_base_seconds": 1, "attempts_max": 100}),
    )
    .await;
    enqueue_many(&c, "work", usize::try_from(JOBS).expect("a number")).await;

    let mut processes: Vec<Process> = (0..3)
        .map(|n| Process::start(&db, &format!("first-{n}"), "works"))
        .collect();
    for kill in 0..KILLS {
        let holder = holder(&c, &processes).await;
        processes.remove(holder).kill_9();
        processes.push(Process::start(&db, &format!("next-{kill}"), "works"));
    }
    until_done(&c, JOBS).await;

    check_records(&c, JOBS).await;
    let crowd: i64 = get(&c, "select max(held) from fixture.crowds", &[]).await;
    assert_eq!(crowd, LIMIT, "held at once at the most");
    let together = "with moments as (
                      select r.begun as at, 1 as change from fixture.runs r
                      union all
                      select a.ended_at, -1 from fixture.runs r join tenure.attempts a on a.job_id = r.job_id and a.run = r.run)
                    select max(sum) from (select sum(change) over (order by at, change) from moments) m";
    let together: i64 = get(&c, together, &[]).await;
    assert!(together <= LIMIT, "{together} ran at once");
    let died: i64 = get(
        &c,
        "select count(*) from tenure.attempts where outcome = 'expired'",
        &[],
    )
    .await;
    assert!(
        died >= i64::try_from(KILLS).expect("a number"),
        "each of the killed held something: {died}"
    );
}
