//! Services in a program of one's own, and the trace that says whether any process runs them.

use std::fmt::Write;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::schedules::NewSchedule;
use tenure::services;
use tenure::store::services::{Service, service_beat, service_list};
use tenure::worker::Context;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use uuid::Uuid;

use crate::fixture::{Db, get, one, run, until};
use crate::processes::{Process, RUNS};
use crate::worker_scene::{AtWork, pool, worker};

/// How long a test waits for a line of the log: a worker looks seconds after its start, and again ten seconds later.
const PATIENCE: Duration = Duration::from_secs(120);

/// All services on a task of their own, until they are stopped.
struct Serving {
    stop: oneshot::Sender<()>,
    life: JoinHandle<()>,
}

impl Serving {
    fn start(db: &Db) -> Serving {
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            let _ = stopped.await;
        };
        Serving {
            stop,
            life: tokio::spawn(services::run(pool(db), shutdown)),
        }
    }

    async fn stop(self) {
        self.stop.send(()).expect("they still run");
        self.life.await.expect("no panic");
    }
}

/// What the workers of this process say about services. It is the subscriber of all threads: one of a single thread loses
/// lines whose place in the code another thread reaches first.
#[derive(Clone, Default)]
struct Lines(Arc<Log>);

static LINES: LazyLock<Lines> = LazyLock::new(|| {
    let lines = Lines::default();
    tracing::subscriber::set_global_default(lines.clone()).expect("no other subscriber");
    lines
});

#[derive(Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    written: Notify,
}

impl Lines {
    /// The lines of the worker `alone` with this part.
    fn with(&self, part: &str) -> Vec<String> {
        let lines = self.0.lines.lock().expect("no panic holds it");
        let own = lines.iter().filter(|line| line.contains("worker=\"alone\""));
        own.filter(|line| line.contains(part)).cloned().collect()
    }

    /// Waits for a line with this part.
    async fn until(&self, part: &str) -> String {
        let waiting = async {
            loop {
                let written = self.0.written.notified();
                if let Some(line) = self.with(part).pop() {
                    return line;
                }
                written.await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("waited too long for: {part}"))
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target() == "tenure::worker::services"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lines.lock().expect("no panic holds it").push(line.0);
        self.0.written.notify_one();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

async fn service(c: &Client, name: &str) -> Service {
    let all = service_list(c).await.expect("services");
    all.into_iter().find(|it| it.service == name).expect("it is known")
}

#[tokio::test]
async fn a_program_with_the_services_in_it_rescues_a_lease_and_fires_a_schedule() {
    let db = Db::open().await;
    let c = db.client().await;
    run(&c, RUNS).await;
    one(&c, "select tenure.job_enqueue('work', $1)", &[&json!({"n": 1})]).await;
    // Another process takes the job and is killed in the middle of it.
    let mut holder = Process::start(&db, "holder", "hangs");
    until(
        &c,
        "select count(*) = 1 from fixture.runs",
        &[],
        "the run of the holder",
    )
    .await;
    holder.kill_9();

    let schedule = NewSchedule::every(Duration::from_secs(3600), "tick");
    let at_work = AtWork::start(
        worker(&db)
            .schedule("hourly", schedule)
            .handler("work", async |_: Value, _: Context| Ok(()))
            .handler("tick", async |_: Value, _: Context| Ok(())),
    );
    let serving = Serving::start(&db);
    let planned = "select count(*) = 1 from tenure.planned_slots where state = 'planned'";
    until(&c, planned, &[], "the next slot").await;
    db.advance("1 hour").await;
    let rescued =
        "select count(*) = 1 from tenure.attempts where final and state = 'succeeded' and owner = 'w' and run = 2";
    until(&c, rescued, &[], "the end of the job that the dead process held").await;
    let fired = "select count(*) = 1 from tenure.planned_slots where state = 'succeeded'";
    until(&c, fired, &[], "the run of the schedule").await;
    at_work.stop().await;
    serving.stop().await;
    for known in service_list(&c).await.expect("services") {
        assert!(known.last_run_at.is_some(), "{known:?} has left a trace");
    }
}

#[tokio::test]
async fn a_worker_without_services_warns_once_and_says_when_they_run() {
    let lines = LINES.clone();
    let db = Db::open().await;
    let at_work = AtWork::start(
        worker(&db)
            .name("alone")
            .handler("work", async |_: Value, _: Context| Ok(())),
    );
    let warning = lines.until("No reaper has ever run").await;
    for part in [
        "WARN",
        "expired leases are not rescued",
        "No scheduler has ever run: schedules do not fire",
        "tenure serve",
        "tenure::services::run",
    ] {
        assert!(warning.contains(part), "{part} is missing in: {warning}");
    }
    let serving = Serving::start(&db);
    lines.until("a reaper and a scheduler run").await;
    at_work.stop().await;
    serving.stop().await;
    assert_eq!(lines.with("No reaper").len(), 1);
}

#[tokio::test]
async fn a_service_is_known_by_its_last_run_and_missing_after_a_minute() {
    let db = Db::open().await;
    let c = db.client().await;
    assert_eq!(
        service(&c, "scheduler").await.trouble().as_deref(),
        Some("No scheduler has ever run: schedules do not fire.")
    );
    let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
    service_beat(&c, "scheduler", first, "1", Some("2026e"))
        .await
        .expect("a trace");
    service_beat(&c, "scheduler", second, "2", Some("2026d"))
        .await
        .expect("a trace");
    let known = service(&c, "scheduler").await;
    assert_eq!((known.is_running, known.instances, known.trouble()), (true, 2, None));
    assert_eq!(
        (known.versions.join(" "), known.zones.join(" ")),
        ("1 2".into(), "2026d 2026e".into())
    );
    db.advance("2 minutes").await;
    let known = service(&c, "scheduler").await;
    assert_eq!((known.is_running, known.instances), (false, 0));
    let trouble = known.trouble().expect("a trouble");
    assert!(trouble.starts_with("No scheduler has run since 20"), "{trouble}");
    service_beat(&c, "scheduler", second, "2", None).await.expect("a trace");
    assert!(service(&c, "scheduler").await.is_running);
}

#[tokio::test]
async fn traces_of_processes_that_ended_a_day_ago_are_removed_but_for_the_last() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..3 {
        service_beat(&c, "reaper", Uuid::new_v4(), "1", None)
            .await
            .expect("a trace");
    }
    db.advance("2 days").await;
    assert!(
        service(&c, "reaper").await.last_run_at.is_some(),
        "however long ago it was"
    );
    service_beat(&c, "reaper", Uuid::new_v4(), "2", None)
        .await
        .expect("a trace");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.services", &[]).await, 1);
}

#[tokio::test]
async fn health_doctor_and_metrics_say_which_services_run() {
    let db = Db::open().await;
    let c = db.client().await;
    let running = async || {
        let health = one(&c, "select tenure.health()", &[]).await;
        let doctor = one(&c, "select tenure.doctor()", &[]).await;
        let metrics = one(&c, "select tenure.metrics()", &[]).await;
        let series = metrics["series"].as_array().expect("series").clone();
        let reaper = json!(["tenure_service_running", {"service": "reaper"}]);
        let of_reaper = series
            .iter()
            .find(|it| json!([it[0], it[1]]) == reaper)
            .expect("a series");
        (
            health["services"]["reaper"]["is_running"].clone(),
            doctor["services"][0]["is_running"].clone(),
            of_reaper[2].as_f64(),
        )
    };
    assert_eq!(running().await, (json!(false), json!(false), Some(0.0)));
    service_beat(&c, "reaper", Uuid::new_v4(), "1", None)
        .await
        .expect("a trace");
    assert_eq!(running().await, (json!(true), json!(true), Some(1.0)));
}
