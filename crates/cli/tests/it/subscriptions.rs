//! `tenure subscription`, on a database and over HTTP.

use serde_json::Value;

use crate::remote_scene::Scene;
use crate::workbench::{Answer, eventually, text_of};

/// The first document; null where there is none.
fn json(answer: Answer) -> Value {
    let text = answer.ok();
    text.lines()
        .next()
        .map_or(Value::Null, |line| serde_json::from_str(line).expect("JSON"))
}

/// A name, and how a command is run.
type Way<'a> = (&'a str, &'a dyn Fn(&[&str]) -> Answer);

#[tokio::test]
async fn a_person_subscribes_reads_and_looks_after_deliveries_on_both_ways() {
    let scene = Scene::with(&["--webhook-allow", "127.0.0.0/8"]).await;
    let ways: [Way; 2] = [
        ("sql", &|args| scene.bench.run(args)),
        ("http", &|args| scene.run(args)),
    ];
    for (way, run) in ways {
        let named = |what: &str| format!("{what}-{way}");
        let (ledger, hook, echo) = (named("ledger"), named("hook"), named("echo"));
        run(&["subscription", "create", &ledger, "job.enqueued", "--from", "start"]).ok();
        let url = "https://127.0.0.1:1/in";
        let made = json(run(&[
            "subscription",
            "create",
            &hook,
            "job.*",
            "--webhook",
            url,
            "--json",
        ]));
        assert!(text_of(&made, "signing_key").starts_with("whsec_"));
        let shown = run(&[
            "subscription",
            "create",
            &echo,
            "job.cancelled",
            "--job",
            "tidy",
            "--filter",
            r#"{"job_kind": "a"}"#,
        ]);
        assert!(shown.ok().contains("tidy"));
        let job = scene.bench.enqueue("a");
        scene.bench.run(["job", "cancel", &job, "--reason", "never mind"]).ok();

        let unread = eventually("something to read", || {
            let answer = json(run(&["subscription", "read", &ledger, "--limit", "1", "--json"]));
            answer.get("cursor").map(|_| answer.clone())
        });
        let said = run(&["subscription", "ack", &ledger, &text_of(&unread, "cursor")]).ok();
        assert!(said.contains("has come to"), "{said}");
        eventually("a delivery that was refused", || {
            let list = run(&["subscription", "deliveries", &hook, "--json"]).ok();
            list.contains("refused").then_some(())
        });
        let waiting = json(run(&[
            "subscription",
            "deliveries",
            &hook,
            "--state",
            "waiting",
            "--json",
        ]));
        let early = run(&["subscription", "retry", &text_of(&waiting, "delivery_id")]);
        assert!(early.err.contains("state_conflict"), "{early:?}");
        eventually("the job that a match became", || {
            let jobs = scene.bench.run(["job", "list", "--kind", "tidy", "--json"]).ok();
            jobs.contains(r#""kind":"tidy""#).then_some(())
        });

        let rotated = json(run(&["subscription", "rotate", &hook, "--json"]));
        assert_ne!(rotated["signing_key"], made["signing_key"]);
        run(&["subscription", "pause", &hook, "--note", "holiday"]).ok();
        let list = run(&["subscription", "list"]).ok();
        for part in [&ledger, &hook, &echo, "paused", "a job of kind tidy", url] {
            assert!(list.contains(part), "{part}: {list}");
        }
        assert!(
            run(&["subscription", "resume", &hook, "--from", "now"])
                .ok()
                .contains("goes on")
        );
        for name in [&ledger, &hook, &echo] {
            assert!(
                run(&["subscription", "delete", name])
                    .ok()
                    .contains("Deleted subscription")
            );
        }
        let gone = run(&["subscription", "delete", &hook]);
        assert!(gone.err.contains("subscription_unknown"), "{gone:?}");
        scene.bench.run(["reap"]).ok();
    }
    assert!(
        scene
            .bench
            .run(["subscription", "list"])
            .ok()
            .contains("No subscriptions.")
    );
}

#[tokio::test]
async fn a_misspelt_event_kind_is_refused_with_the_nearest_on_every_way() {
    let scene = Scene::open().await;
    for (args, what, next) in [
        (
            &["subscription", "create", "bad", "job.dead_leterd"][..],
            "There is no event kind 'job.dead_leterd'.",
            "Did you mean job.dead_lettered?",
        ),
        (
            &["event", "list", "--kind", "job.enqueud"],
            "There is no event kind 'job.enqueud'.",
            "Did you mean job.enqueued?",
        ),
        (
            &["event", "list", "--kind", "jobs.*"],
            "There is no event kind 'jobs.*'.",
            "Did you mean job.*?",
        ),
    ] {
        for refusal in [
            scene.bench.refused(args, "value_unknown"),
            scene.refused(args, "value_unknown"),
        ] {
            assert_eq!((&refusal["what"], &refusal["next"]), (&what.into(), &next.into()));
        }
    }
    let bearer = format!("Bearer {}", scene.key);
    let headers = [("authorization", bearer.as_str()), ("accept", "text/event-stream")];
    let reply = scene.api.raw("GET", "/v1/events?kind=job.enqueud", &headers, None);
    scene.api.refused(reply, 422, "value_unknown");
    assert_eq!(scene.run(["--quiet", "subscription", "list"]).ok(), "");
    scene.run(["event", "list", "--kind", "*"]).ok();
}
