//! Requests with an `Idempotency-Key` of which a part fails: what is answered is what was done.

use serde_json::json;

use crate::api::{Api, key};
use crate::requests::{Keyed, try_send};
use crate::workbench::{Workbench, eventually};

fn send(api: &Api, key: &str, idempotency_key: &str, path: &str, body: &str) -> Keyed {
    let to = ("POST", path);
    try_send((api.agent(), api.url()), key, idempotency_key, to, Some(body)).expect("an answer")
}

/// A claim wakes others who wait on its lane, after it was committed.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_answered_with_jobs_that_it_holds_though_others_cannot_be_woken() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let ann = key(&bench, "ann", &["--role", "producer", "--role", "worker"]);
    let ask = |sql: &str| tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(bench.sql(sql)));
    let inject = "create or replace function tenure.lane_ready(p_lanes integer[], p_limit integer default 1000)
        returns integer language plpgsql as $$ begin raise 'injected'; end $$";
    let owner = bench.database.connect().await.expect("connect");
    owner.batch_execute(inject).await.expect("injected");
    // Its lane is there before anyone waits on it.
    bench.enqueue("a");
    bench.claim("a");
    std::thread::scope(|scope| {
        // Waits on the lane for what is more urgent.
        let waits = scope.spawn(|| {
            let claim = json!({"worker": "idle", "kinds": ["a"], "priority_min": 50, "wait_seconds": 40});
            api.post(&ann, "/v1/jobs/claim", claim)
        });
        eventually("it waits", || {
            let parked = "select count(*)::text from tenure.lanes where parked_until > tenure.now()";
            (ask(parked) != "0").then_some(())
        });
        for round in 0..10 {
            let job = bench.enqueue("a");
            let claim = json!({"worker": "w", "kinds": ["a"]}).to_string();
            let claimed = send(&api, &ann, &format!("c{round}"), "/v1/jobs/claim", &claim);
            assert_eq!(
                (claimed.status, &claimed.body()["jobs"][0]["job_id"]),
                (200, &json!(job))
            );
            assert_eq!(bench.state_of(&job), "in_progress", "what was answered was done");
            let again = send(&api, &ann, &format!("c{round}"), "/v1/jobs/claim", &claim);
            assert_eq!((&again.text, again.replayed), (&claimed.text, true));
        }
        let urgent = api.post(&ann, "/v1/jobs", json!({"kind": "a", "priority": 60}));
        assert_eq!(waits.join().expect("an answer")["jobs"][0]["job_id"], urgent["job_id"]);
    });
}

/// The answer of the database cannot be read: the request fails, and so nothing of it is done.
#[tokio::test]
async fn a_request_that_is_answered_with_an_error_has_changed_nothing() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let ann = key(&bench, "ann", &["--role", "operator", "--role", "producer"]);
    let inject = "alter function tenure.schedule_create(text, jsonb, text) rename to schedule_create_true;
        create function tenure.schedule_create(p_name text, p_spec jsonb, p_on_behalf_of text default null)
        returns jsonb language sql security definer
        as $$ select tenure.schedule_create_true(p_name, p_spec, p_on_behalf_of) - 'name' $$";
    bench
        .database
        .connect()
        .await
        .expect("connect")
        .batch_execute(inject)
        .await
        .expect("injected");
    let schedule = json!({"name": "n", "kind": "a", "every_seconds": 60}).to_string();
    let failed = send(&api, &ann, "s", "/v1/schedules", &schedule);
    assert_eq!(failed.body()["code"], "database_error", "{failed:?}");
    assert_eq!(bench.sql("select count(*)::text from tenure.schedules").await, "0");
    // With its part mended, the same request is carried out.
    let mend = "drop function tenure.schedule_create(text, jsonb, text);
        alter function tenure.schedule_create_true(text, jsonb, text) rename to schedule_create";
    bench
        .database
        .connect()
        .await
        .expect("connect")
        .batch_execute(mend)
        .await
        .expect("mended");
    let made = send(&api, &ann, "s", "/v1/schedules", &schedule);
    assert_eq!((made.status, made.replayed), (201, false), "{made:?}");
}

/// A payload that is deeper than Tenure takes, from before there was a bound: its batch is claimed.
#[tokio::test]
async fn a_deep_payload_of_old_costs_a_claim_nothing() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let ann = key(&bench, "ann", &["--role", "producer", "--role", "worker"]);
    let owner = bench.database.connect().await.expect("connect");
    let definition = "select pg_get_functiondef('tenure.may_be_deep'::regproc)";
    let check = bench.sql(definition).await;
    let never = "create or replace function tenure.may_be_deep(p_text text) returns boolean
        language sql immutable parallel safe as 'select false'";
    owner.batch_execute(never).await.expect("no bound");
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    let enqueue = format!(r#"select tenure.job_enqueue('a', '{{"a": {deep}}}')"#);
    owner.batch_execute(&enqueue).await.expect("enqueued");
    owner.batch_execute(&check).await.expect("the bound");
    bench.enqueue("a");
    let claim = json!({"worker": "w", "limit": 2}).to_string();
    let claimed = send(&api, &ann, "c", "/v1/jobs/claim", &claim);
    assert_eq!(claimed.status, 200, "{claimed:?}");
    assert!(claimed.text.contains(&deep), "as it was written: {claimed:?}");
    assert_eq!(claimed.text.matches("\"job_id\"").count(), 2);
    let held = "select count(*)::text from tenure.active";
    assert_eq!(bench.sql(held).await, "2");
}
