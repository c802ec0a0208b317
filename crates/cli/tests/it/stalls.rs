//! One open transaction of a client holds up the requests that need what it holds, and nothing else.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::api::{Api, key};
use crate::served::{Reply, Served};
use crate::workbench::{Workbench, eventually};

/// Clients that repeat a request which is held up.
const CROWD: usize = 12;

/// Sends a request on a connection of its own, and reads the answer with its headers.
fn send(server: &Served, key: &str, method: &str, path: &str, body: &Value) -> Reply {
    let body = body.to_string();
    let mut wire = server.connect();
    wire.send(
        format!(
            "{method} {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
    wire.reply()
}

/// Runs `meanwhile` while a crowd sends requests that wait for locks of `holder`. `meanwhile` gets the number of the
/// crowd's requests that were answered so far.
fn while_held_up(
    server: &Served,
    blocked: impl Fn() -> bool,
    request: impl Fn(usize) -> (String, Value) + Sync,
    key: &str,
    meanwhile: impl FnOnce(&dyn Fn() -> usize),
) -> Vec<Reply> {
    let (answered, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let crowd: Vec<_> = (0..CROWD)
            .map(|at| {
                let (answered, over, request) = (&answered, &over, &request);
                scope.spawn(move || {
                    let mut replies = Vec::new();
                    while !over.load(Ordering::SeqCst) {
                        let (path, body) = request(at);
                        replies.push(send(server, key, "POST", &path, &body));
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                    replies
                })
            })
            .collect();
        eventually("a request that waits for a lock", || blocked().then_some(()));
        // Were it to panic, the crowd would go on for ever.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            meanwhile(&|| answered.load(Ordering::SeqCst));
        }));
        over.store(true, Ordering::SeqCst);
        let replies = crowd
            .into_iter()
            .flat_map(|one| one.join().expect("its replies"))
            .collect();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        replies
    })
}

/// Whether a backend of this database waits for a lock.
fn is_blocked(bench: &Workbench) -> impl Fn() -> bool + '_ {
    move || {
        let sql = "select count(*)::text from pg_stat_activity
                    where datname = current_database() and wait_event_type = 'Lock' and query like '%enqueue%'";
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(bench.sql(sql))) != "0"
    }
}

async fn holder(bench: &Workbench, statements: &str) -> Client {
    let client = bench.database.connect().await.expect("connect");
    client
        .batch_execute(&format!("begin; {statements}"))
        .await
        .expect("an open transaction");
    client
}

/// Sends it while the crowd is held up: it is answered before the crowd's requests have all had a turn.
fn passes(answered: &dyn Fn() -> usize, what: &str, request: impl FnOnce() -> u16) {
    let before = answered();
    let status = request();
    let since = answered() - before;
    assert!((200..300).contains(&status), "{what}: {status}");
    assert!(since < CROWD, "{what} was answered after {since} requests of the crowd");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_key_stalls_no_other_request_no_service_and_no_health_check() {
    let bench = Workbench::open().await;
    let server = Served::start(&bench, &["--connections", "4"]);
    let shop = key(&bench, "shop", &["--role", "producer"]);
    bench.enqueue("known");
    bench.text(&["schedule", "create", "tick", "--every", "60s", "--kind", "ticked"]);
    let holder = holder(&bench, "select tenure.job_enqueue('known', '{}', p_key => 'held')").await;
    let held = |_| ("/v1/jobs".to_owned(), json!({"kind": "known", "key": "held"}));
    let replies = while_held_up(&server, is_blocked(&bench), held, &shop, |answered| {
        passes(answered, "readiness", || server.connect().get("/readyz").status);
        let other = json!({"kind": "known", "key": "free"});
        passes(answered, "the same key's other request", || {
            send(&server, &shop, "POST", "/v1/jobs", &other).status
        });
        passes(answered, "a read", || {
            send(&server, &shop, "GET", "/v1/jobs", &json!(null)).status
        });
        let handle = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| handle.block_on(bench.advance("5 minutes")));
        let before = answered();
        eventually("a planned run", || {
            let sql = "select count(*)::text from tenure.jobs where kind = 'ticked'";
            let found = tokio::task::block_in_place(|| handle.block_on(bench.sql(sql)));
            (found != "0").then_some(())
        });
        let since = answered() - before;
        assert!(
            since < 2 * CROWD,
            "the scheduler came after {since} requests of the crowd"
        );
    });
    // They were answered while the transaction was open: each wait has an end.
    for reply in replies {
        reply.refused(503, "busy_try_again");
        assert!(reply.head.contains("retry-after: "), "{reply:?}");
    }
    holder.batch_execute("commit").await.expect("its end");
    let (_, body) = held(0);
    let reply = send(&server, &shop, "POST", "/v1/jobs", &body);
    assert_eq!(
        (reply.status, &reply.body["duplicate"]),
        (200, &json!(true)),
        "{reply:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_kind_and_no_tenant_takes_all_connections_of_a_server() {
    let bench = Workbench::open().await;
    let server = Served::start(&bench, &["--connections", "4"]);
    let ours = key(&bench, "shop", &["--role", "producer"]);
    bench.text(&["tenant", "create", "other"]);
    bench.text(&["--tenant", "other", "gate", "open", "--all"]);
    let create = [
        "--quiet", "--tenant", "other", "key", "create", "shop", "--role", "producer",
    ];
    let theirs = bench.run(create).ok().trim().to_owned();
    let enqueued = |key: &str, kind: &str| send(&server, key, "POST", "/v1/jobs", &json!({"kind": kind})).status;
    for kind in ["a", "b", "c", "d", "free"] {
        assert_eq!(enqueued(&ours, kind), 201);
    }
    assert_eq!(enqueued(&theirs, "a"), 201);
    // Every key of one kind is held: another kind passes.
    let hold = "select tenure.job_enqueue(k, p_key => 'k' || n) from unnest(array['a', 'b', 'c', 'd']) k, generate_series(0, 11) n";
    let holder = holder(&bench, hold).await;
    let of_one_kind = |at| ("/v1/jobs".to_owned(), json!({"kind": "a", "key": format!("k{at}")}));
    while_held_up(&server, is_blocked(&bench), of_one_kind, &ours, |answered| {
        passes(answered, "another kind", || enqueued(&ours, "free"));
    });
    // Keys of all these kinds are held: another tenant passes.
    let of_any = |at: usize| {
        let kind = ["a", "b", "c", "d"][at % 4];
        ("/v1/jobs".to_owned(), json!({"kind": kind, "key": format!("k{at}")}))
    };
    while_held_up(&server, is_blocked(&bench), of_any, &ours, |answered| {
        passes(answered, "another tenant", || enqueued(&theirs, "a"));
    });
    holder.batch_execute("rollback").await.expect("its end");
}

/// A client that goes away leaves a request behind that waits for a lock. It keeps its share until the database has ended it:
/// clients that come and go do not add up to more backends than the server has connections.
#[tokio::test(flavor = "multi_thread")]
async fn clients_that_go_away_leave_no_waiting_backend_behind() {
    let bench = Workbench::open().await;
    let server = Served::start(&bench, &["--connections", "4"]);
    let shop = key(&bench, "shop", &["--role", "producer"]);
    bench.enqueue("known");
    let holder = holder(&bench, "select tenure.job_enqueue('known', '{}', p_key => 'held')").await;
    let body = json!({"kind": "known", "key": "held"}).to_string();
    let request = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {shop}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let ask = |sql: &str| tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(bench.sql(sql)));
    for _ in 0..12 {
        let since = ask("select clock_timestamp()::text");
        let mut wire = server.connect();
        wire.send(request.as_bytes());
        let waiting = format!(
            "select count(*) || ' ' || count(*) filter (where query_start > '{since}') from pg_stat_activity
              where datname = current_database() and wait_event_type = 'Lock' and query like '%enqueue%'"
        );
        // Its share, a quarter of four, is free only when the request before it has ended in the database.
        let found = eventually("this request waits for the lock", || {
            let found = ask(&waiting);
            (!found.ends_with(" 0")).then_some(found)
        });
        assert_eq!(found, "1 1", "one waits, and it is the last");
    }
    holder.batch_execute("commit").await.expect("its end");
    let (_, reply) = Api::start(&bench).send(
        &shop,
        "POST",
        "/v1/jobs",
        Some(&json!({"kind": "known", "key": "held"})),
    );
    assert_eq!(reply["duplicate"], true, "{reply}");
}

#[tokio::test]
async fn twenty_declarations_of_one_schedule_at_once_are_all_answered_well() {
    const WRITERS: usize = 20;
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let ops = key(&bench, "ops", &["--role", "operator", "--role", "producer"]);
    for round in 0..3 {
        let path = format!("/v1/schedules/nightly-{round}");
        let barrier = std::sync::Barrier::new(WRITERS);
        let mut statuses: Vec<(u16, Value)> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|at| {
                    let (api, ops, path, barrier) = (&api, &ops, &path, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let spec = json!({"cron": format!("{at} 3 * * *"), "kind": "report"});
                        api.send(ops, "PUT", path, Some(&spec))
                    })
                })
                .collect();
            writers.into_iter().map(|one| one.join().expect("an answer")).collect()
        });
        statuses.sort_by_key(|(status, _)| *status);
        let (made, rest) = statuses.split_last().expect("some");
        assert_eq!(made.0, 201, "one made it: {}", made.1);
        for (status, body) in rest {
            assert_eq!((*status, body["outcome"].as_str()), (200, Some("updated")), "{body}");
        }
    }
}
