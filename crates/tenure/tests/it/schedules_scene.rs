//! What the tests of schedules share: the clock on a whole hour, a scheduler that looks when told, and slots in short.

use serde_json::{Value, json};
use tenure::services::scheduler;
use tenure::store::schedules::Advanced;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, claim_with, get, one, rows, run};

/// A database whose clock stands one second past a whole hour, and a session.
pub(crate) async fn on_the_hour() -> (Db, Client) {
    let db = Db::open().await;
    let c = db.client().await;
    let forward = "date_trunc('hour', tenure.now()) + interval '1 hour 1 second' - tenure.now()";
    run(&c, &format!("update fixture.clock set shift = shift + ({forward})")).await;
    (db, c)
}

/// One look of a scheduler.
pub(crate) async fn look(client: &mut Client) -> Advanced {
    scheduler::run_once(client).await.expect("a look")
}

/// Moves the clock, and looks.
pub(crate) async fn look_after(db: &Db, client: &mut Client, interval: &str) -> Advanced {
    db.advance(interval).await;
    look(client).await
}

/// Makes a schedule of the kind `report`, with more than its rule where wanted; `kind` may be among it.
pub(crate) async fn schedule(c: &Client, name: &str, more: Value) -> Value {
    let mut spec = json!({"kind": "report"});
    for (field, value) in more.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    let made = one(c, "select tenure.schedule_create($1, $2)", &[&name, &spec]).await;
    assert_eq!(made["outcome"], "created", "{made}");
    made
}

/// The slots of a schedule in the order of their plan times: minutes since the hour of the first, state, and reason or code.
pub(crate) async fn slots(c: &Client, name: &str) -> Vec<String> {
    let sql = "select concat_ws(' ', (extract(epoch from p.plan_time - date_trunc('hour', s.created_at)) / 60)::int, p.state,
                                nullif(p.origin, 'rule'), p.skip_reason, p.error_code, case when p.waiting_since is not null then 'waits' end,
                                case when p.missed is not null then 'for ' || p.missed end)
                 from tenure.planned_slots p join tenure.schedules s on s.schedule_id = p.schedule_id
                where s.name = $1 order by p.plan_time, p.slot_id";
    rows(c, sql, &[&name]).await.iter().map(|row| row.get(0)).collect()
}

/// A column of the only slot in this state.
pub(crate) async fn slot<T>(c: &Client, state: &str, column: &str) -> T
where
    T: for<'a> tokio_postgres::types::FromSql<'a>,
{
    let sql = format!("select {column} from tenure.planned_slots where state = $1");
    get(c, &sql, &[&state]).await
}

/// The job of the slot at so many minutes after the hour in which the schedule was made.
pub(crate) async fn job_of(c: &Client, name: &str, minute: i32) -> Uuid {
    let sql = "select p.job_id from tenure.planned_slots p join tenure.schedules s on s.schedule_id = p.schedule_id
                where s.name = $1 and p.plan_time = date_trunc('hour', s.created_at) + make_interval(mins => $2)";
    get(c, sql, &[&name, &minute]).await
}

/// Claims and starts the next run, for longer than any of these tests lets time pass.
pub(crate) async fn begin(c: &Client) -> Claimed {
    let mut held = claim_with(c, "w", ", p_mode => 'started', p_lease_seconds => 3600").await;
    assert_eq!(held.len(), 1, "one run is claimable");
    held.remove(0)
}

/// How many jobs there are.
pub(crate) async fn jobs(c: &Client) -> i64 {
    get(c, "select count(*) from tenure.jobs", &[]).await
}

/// The events of this kind, oldest first: what each says of itself.
pub(crate) async fn events(c: &Client, kind: &str) -> Vec<Value> {
    let sql = "select data || jsonb_build_object('subject', subject, 'actor', actor) from tenure.events where kind = $1 order by seq";
    rows(c, sql, &[&kind]).await.iter().map(|row| row.get(0)).collect()
}
