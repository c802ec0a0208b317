//! Many schedulers at once, some of them killed, and everybody else who touches a schedule meanwhile.

use std::cell::Cell;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure::services::scheduler;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, all, check_invariants, claim_with, connect, get, rows, run, told, try_rows, until, verb};
use crate::schedules_scene::{look, on_the_hour, schedule};

/// Tells this test binary, run again, to be a scheduler on the database with this URL.
const SCHEDULER: &str = "TENURE_TEST_SCHEDULER";
/// What a scheduler that is to be killed calls itself in the database.
const DOOMED: &str = "doomed";
/// A slot every so many seconds.
const EVERY: i64 = 10;
const SLOTS: i64 = 1000;
/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(180);

/// Slots that come at once, so that several looks are needed for them.
const AT_ONCE: i64 = 10;

/// Everybody looks at the same time, over and over, while the clock goes on; until there were enough slots and `goes_on` is false.
async fn race(c: &Client, racers: &mut [Client], goes_on: &Cell<bool>) {
    let began = Instant::now();
    let mut passed = 0;
    let enough = "select count(*) >= $1 from tenure.planned_slots where state = 'running'";
    while passed < SLOTS || goes_on.get() || !get::<bool>(c, enough, &[&SLOTS]).await {
        if passed < SLOTS || goes_on.get() {
            let forward = AT_ONCE * EVERY;
            run(
                c,
                &format!("update fixture.clock set shift = shift + interval '{forward} s'"),
            )
            .await;
            passed += AT_ONCE;
        }
        all(racers.iter_mut().map(look).collect()).await;
        assert!(began.elapsed() < PATIENCE, "slots without a job");
    }
}

/// Each moment of the rule has one row and one job, and no job is of any other.
async fn check_slots(c: &Client) {
    let sql = "with moments as (
                 select to_timestamp(n) as at from tenure.schedules s
                   cross join lateral generate_series(floor(extract(epoch from s.plan_from) / $1)::bigint * $1 + $1, floor(extract(epoch from s.planned_to))::bigint, $1) n)
               select (select count(*) from moments),
                      (select count(*) from moments m where (select count(*) from tenure.planned_slots p where p.plan_time = m.at) <> 1),
                      (select count(*) from tenure.planned_slots p where p.plan_time not in (select m.at from moments m)),
                      (select count(*) from tenure.planned_slots p where p.state not in ('planned', 'running')),
                      (select count(*) from tenure.planned_slots p join tenure.jobs j on j.job_id = p.job_id and (j.origin -> 'slot' ->> 'plan_time')::timestamptz = p.plan_time),
                      (select count(*) from tenure.planned_slots p where p.state = 'running'),
                      (select count(*) from tenure.jobs),
                      (select count(distinct j.origin -> 'slot' ->> 'plan_time') from tenure.jobs j)";
    let row = rows(c, sql, &[&EVERY]).await.remove(0);
    let found: Vec<i64> = (0..8).map(|at| row.get(at)).collect();
    assert!(found[0] >= SLOTS, "{found:?}");
    assert_eq!(
        found[1..4],
        [0, 0, 0],
        "one row per moment, and no other row: {found:?}"
    );
    assert!(
        found[4..].iter().all(|count| *count == found[4]),
        "one job per slot: {found:?}"
    );
    check_invariants(c).await;
}

async fn scene() -> (Db, Client) {
    let (db, c) = on_the_hour().await;
    let more = json!({"every_seconds": EVERY, "overlap": "allow", "catch_up": "every_plan", "catch_up_slots_max": AT_ONCE - 2});
    schedule(&c, "a", more).await;
    (db, c)
}

/// Proves: S237, S238.
#[tokio::test]
async fn eight_schedulers_racing_for_a_thousand_slots_make_one_row_and_one_job_each() {
    let (db, c) = scene().await;
    let mut racers = Vec::new();
    for _ in 0..8 {
        racers.push(db.client().await);
    }
    race(&c, &mut racers, &Cell::new(false)).await;
    check_slots(&c).await;
}

/// A scheduler in a process of its own; killed with this value.
struct Process(Child);

impl Process {
    fn start(db: &Db) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        command.args([
            "--exact",
            "schedules_race::a_scheduler_process_looks_until_its_parent_is_gone",
            "--nocapture",
        ]);
        command
            .env(SCHEDULER, db.url())
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        Process(command.spawn().expect("run the test binary again"))
    }
}

impl Drop for Process {
    /// SIGKILL: it cannot say another word.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Does nothing in an ordinary run; as another process of this binary it is the scheduler that another test kills.
#[tokio::test]
async fn a_scheduler_process_looks_until_its_parent_is_gone() {
    let Ok(url) = std::env::var(SCHEDULER) else { return };
    let mut config: tokio_postgres::Config = url.parse().expect("an address");
    let mut client = connect(config.application_name(DOOMED)).await;
    let mut parent = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    loop {
        tokio::select! {
            _ = &mut parent => return,
            looked = scheduler::run_once(&mut client) => looked.expect("a look"),
        };
    }
}

/// Proves: S237, S241.
#[tokio::test]
async fn schedulers_killed_at_random_points_lose_no_slot_and_run_none_twice() {
    const KILLS: usize = 8;
    let (db, c) = scene().await;
    let watch = db.direct().await;
    let mut racers = vec![db.client().await, db.client().await];
    let goes_on = Cell::new(true);
    let killed = async {
        for _ in 0..KILLS {
            let process = Process::start(&db);
            let looks = "select exists (select from pg_stat_activity where datname = current_database() and application_name = $1 and query ~ 'schedule_(take|advance)')";
            until(&watch, looks, &[&DOOMED], "a scheduler at work").await;
            // Anywhere in its work: after so many of its answers to us, which come as fast as the server goes.
            for _ in 0..Uuid::new_v4().as_bytes()[0] / 4 {
                get::<i32>(&watch, "select 1", &[]).await;
            }
            drop(process);
        }
        goes_on.set(false);
    };
    tokio::join!(race(&c, &mut racers, &goes_on), killed);
    check_slots(&c).await;
}

/// Calls these one after the other, and counts those that were not refused. A refusal is an answer, an error is none.
async fn operate(c: &Client, calls: &[&str]) -> usize {
    let mut done = 0;
    for call in calls {
        match try_rows(c, &format!("select to_jsonb(x) from {call} x"), &[]).await {
            Ok(_) => done += 1,
            Err(error) if error.code().is_some_and(|code| code.code().starts_with("TN")) => {}
            Err(error) => panic!("{call}: {}", told(&error)),
        }
    }
    done
}

/// Claims and completes what there is.
async fn work(c: &Client) {
    for held in claim_with(c, "w", ", p_limit => 20, p_mode => 'started'").await {
        verb(c, "job_complete", &held, "").await;
    }
}

/// Pauses, edits, runs by hand, backfills and deletes go on while three schedulers look and workers end runs: nobody waits for
/// ever, no moment has two rows, and every moment of a rule that stayed has its row or one that stands for it.
#[tokio::test]
async fn whatever_operators_do_meanwhile_no_slot_is_lost_and_none_comes_twice() {
    let (db, c) = on_the_hour().await;
    let every = json!({"every_seconds": EVERY, "catch_up": "every_plan", "catch_up_slots_max": 5});
    for (name, overlap) in [
        ("allow", "allow"),
        ("queue", "queue"),
        ("cancel", "cancel_other"),
        ("skip", "skip"),
    ] {
        let mut more = every.clone();
        more["overlap"] = json!(overlap);
        schedule(&c, name, more).await;
    }
    let past = "array(select to_timestamp(floor(extract(epoch from tenure.now()) / 10) * 10 - n * 10) from generate_series(0, 9) n)";
    let backfill = format!("tenure.schedule_backfill('skip', {past}, 'apply')");
    let calls = [
        vec![
            "tenure.schedule_pause('allow', 'x')",
            "tenure.schedule_resume('allow')",
            "tenure.schedule_pause('queue')",
            "tenure.schedule_resume('queue')",
        ],
        vec![
            "tenure.schedule_run('queue')",
            "tenure.schedule_run('cancel')",
            "tenure.schedule_run('allow')",
        ],
        vec![
            "tenure.schedule_update('queue', jsonb_build_object('payload', jsonb_build_object('a', random())))",
            backfill.as_str(),
        ],
        vec![
            "tenure.schedule_put('flux', '{\"kind\": \"report\", \"every_seconds\": 10}')",
            "tenure.schedule_put('flux', '{\"kind\": \"report\", \"every_seconds\": 11}')",
            "tenure.schedule_delete('flux')",
        ],
    ];
    let (mut racers, mut workers, mut operators) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        racers.push(db.client().await);
        workers.push(db.client().await);
    }
    for _ in &calls {
        operators.push(db.client().await);
    }
    let mut done = vec![0; calls.len()];
    for _ in 0..60 {
        run(
            &c,
            &format!("update fixture.clock set shift = shift + interval '{EVERY} s'"),
        )
        .await;
        let looks = racers.iter_mut().map(async |client| {
            look(client).await;
            look(client).await;
        });
        let acts = operators
            .iter()
            .zip(&calls)
            .map(async |(client, calls)| operate(client, calls).await);
        let (_, _, acted) = tokio::join!(
            all(looks.collect()),
            all(workers.iter().map(work).collect()),
            all(acts.collect())
        );
        done.iter_mut().zip(acted).for_each(|(sum, acted)| *sum += acted);
    }
    assert!(
        done.iter().all(|calls| *calls > 60),
        "each of them did something: {done:?}"
    );

    // What waits gets its turn once the operators have gone.
    let mut s = db.client().await;
    let began = Instant::now();
    let waits = "select exists (select from tenure.planned_slots where waiting_since is not null or state = 'running' or (state = 'planned' and due_at <= tenure.now()))";
    while get::<bool>(&c, waits, &[]).await {
        look(&mut s).await;
        work(&c).await;
        assert!(began.elapsed() < PATIENCE, "something waits for ever");
    }
    let lost = "select s.name || ' ' || to_timestamp(n) from tenure.schedules s
                  cross join lateral generate_series(floor(extract(epoch from s.plan_from) / $1)::bigint * $1 + $1, floor(extract(epoch from s.planned_to))::bigint, $1) n
                 where s.name <> 'flux'
                   and not exists (select from tenure.planned_slots p where p.schedule_id = s.schedule_id and p.plan_time <= to_timestamp(n)
                                    and coalesce(p.missed_until, p.plan_time) >= to_timestamp(n))";
    let lost: Vec<String> = rows(&c, lost, &[&EVERY]).await.iter().map(|row| row.get(0)).collect();
    assert!(lost.is_empty(), "moments without a row: {lost:?}");
    let odd = "select (select count(*) from tenure.jobs) - (select count(*) from tenure.planned_slots where job_id is not null)";
    assert_eq!(get::<i64>(&c, odd, &[]).await, 0, "one job per slot that ran");
    let failing: i64 = get(
        &c,
        "select count(*) from tenure.schedules where error_code is not null",
        &[],
    )
    .await;
    assert_eq!(failing, 0);
    check_invariants(&c).await;
}

/// What a look costs when nothing is due: the pages it touches.
async fn idle_cost(c: &Client) -> i64 {
    run(c, "begin; set local tenure.tenant = '*'").await;
    let taking = "explain (analyze, buffers, timing off, format json) select * from tenure.schedule_take(500)";
    get::<Value>(c, taking, &[]).await;
    let plan: Value = get(c, taking, &[]).await;
    run(c, "rollback").await;
    assert_eq!(
        plan[0]["Plan"]["Actual Rows"].as_f64(),
        Some(0.0),
        "nothing is due: {plan}"
    );
    let pages = |kind: &str| plan[0]["Plan"][kind].as_i64().unwrap_or_default();
    pages("Shared Hit Blocks") + pages("Shared Read Blocks")
}

#[tokio::test]
async fn the_cost_of_an_idle_look_does_not_grow_with_the_schedules_that_are_not_due() {
    let (db, _) = on_the_hour().await;
    let c = db.direct().await;
    let fill = "insert into tenure.schedules (tenant_id, name, every_seconds, zone, jitter_seconds, scope_kind, scope_id, kind, priority, payload, classification, overlap, catch_up,
                  catch_up_window_seconds, catch_up_slots_max, reentry, description, plan_from, planned_to, next_at, created_at, created_by, updated_at, updated_by)
                select 1, 's' || n, 3600, 'UTC', 0, 'global', 'global', 'report', 0, '{}', 'safe_metadata', 'skip', 'latest_only', 86400, 10, 'allowed', '', tenure.now(),
                       tenure.now() + interval '1 hour', tenure.now() + n * interval '1 s' + interval '1 hour', tenure.now(), 'x', tenure.now(), 'x'
                  from generate_series($1::int, $2::int) n";
    let slots = "insert into tenure.planned_slots (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, expression, zone, due_at, planned_at, planned_by, updated_at)
                 select 1, s.schedule_id, 'global', 'global', date_trunc('hour', s.next_at), 'rule', 'planned', 'every 3600', 'UTC', s.next_at, tenure.now(), 'x', tenure.now()
                   from tenure.schedules s where s.name > '' on conflict do nothing";
    let mut costs = Vec::new();
    for (from, to) in [(1, 100), (101, 20_000)] {
        rows(&c, fill, &[&from, &to]).await;
        rows(&c, slots, &[]).await;
        for state in ["never analysed", "analysed"] {
            costs.push((to, state, idle_cost(&c).await));
            run(&c, "analyze tenure.schedules; analyze tenure.planned_slots").await;
        }
    }
    let pages: i32 = get(
        &c,
        "select relpages from pg_class where oid = 'tenure.schedules'::regclass",
        &[],
    )
    .await;
    assert!(pages > 500, "there is much that could be read: {pages}");
    assert!(costs.iter().all(|cost| cost.2 < 100), "{costs:?}");
}
