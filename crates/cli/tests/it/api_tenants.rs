//! Two tenants over HTTP: neither sees, changes or guesses what is the other's.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::workbench::{AS_SECOND, Answer, SECOND, Workbench, text_of};

/// Every test of the API holds in a database where the rows of another tenant lie around, under the same names. Each
/// looks at all that it made, and finds nothing else.
#[test]
fn the_suite_of_the_api_holds_for_a_second_tenant_and_sees_nothing_of_the_first() {
    let tests = std::env::current_exe().expect("this program");
    let mut command = Command::new(tests);
    command
        .args([
            "api::",
            "api_keys::",
            "api_verbs::",
            "api_reads::",
            "api_schedules::",
            "api_executions::",
            "agent_queue::",
            "python::",
            "webhooks::",
            "live::who_follows",
        ])
        .args(["--test-threads", "2"])
        .env(AS_SECOND, "1");
    let answer = Answer::of(&mut command);
    assert_eq!(answer.exit, 0, "{}\n{}", answer.out, answer.err);
    let summary = answer.out.lines().find(|line| line.starts_with("test result: ok. "));
    let passed = summary.and_then(|line| line.split(' ').nth(3)?.parse::<u32>().ok());
    assert!(passed.is_some_and(|passed| passed >= 20), "{}", answer.out);
}

/// The first tenant's things, by the name of the parameter in a path.
struct Theirs {
    job: String,
    token: String,
    letter: String,
    prefix: String,
    execution: String,
    approval: String,
}

impl Theirs {
    fn make(bench: &Workbench) -> Theirs {
        let first = |args: &[&str]| bench.run(["--tenant", "default", "--json"].iter().chain(args)).ok();
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        first(&["job", "enqueue", "secret_kind", "--payload", "{\"word\": \"xyzzy\"}"]);
        let held = read(&first(&["job", "claim", "--kind", "secret_kind", "--start"]))["job"].clone();
        first(&["action", "set", "secret_action", "--class", "deploy", "--level", "3"]);
        first(&["subscription", "create", "secret_subscription", "job.*"]);
        first(&[
            "schedule",
            "create",
            "secret_schedule",
            "--kind",
            "secret_kind",
            "--every",
            "1h",
        ]);
        first(&["schedule", "run", "secret_schedule"]);
        let plan = json!({"purpose": "secret xyzzy", "sla_class": "fast", "steps": [{"id": "a", "action": "a",
            "action_class": "modify", "target_type": "host", "target_ref": "xyzzy"}]});
        let submit = ["--tenant", "default", "--json", "execution", "submit", "-"];
        let made = read(&bench.run_with_input(&submit, plan.to_string().as_bytes()).ok());
        first(&["lock", "acquire", "host:xyzzy", "--for", "1h"]);
        let letters = first(&["dead-letter", "list", "--limit", "1"]);
        let keys = first(&["key", "list"]);
        Theirs {
            job: text_of(&held, "job_id"),
            token: text_of(&held, "token"),
            letter: text_of(&read(letters.lines().next().expect("a line")), "dead_letter_id"),
            prefix: text_of(&read(keys.lines().next().expect("a line")), "prefix"),
            execution: text_of(&made, "execution_id"),
            approval: text_of(&made, "approval_id"),
        }
    }

    /// This path with what is theirs, or with what is nobody's.
    fn fill(&self, path: &str, theirs: bool) -> String {
        let nobody = "01990000-0000-7000-8000-000000000001";
        let pick = |own: &str, other: &str| if theirs { own.to_owned() } else { other.to_owned() };
        let noun = path.split('/').nth(2).unwrap_or_default().trim_end_matches('s');
        let asked = match path.contains("/schedules/") && path.ends_with("/explain") {
            true => "?at=2026-01-01T00:00:00Z",
            false if path.ends_with("/difference") => "?other_id={execution_id}",
            false => "",
        };
        (path.to_owned() + asked)
            .replace("{job_id}", &pick(&self.job, nobody))
            .replace("{dead_letter_id}", &pick(&self.letter, nobody))
            .replace("{execution_id}", &pick(&self.execution, nobody))
            .replace("{approval_id}", &pick(&self.approval, nobody))
            .replace("{kind}", &pick("secret_kind", "nobodys_kind"))
            .replace("{prefix}", &pick(&self.prefix, "nobodys0"))
            .replace("{name}", &pick(&format!("secret_{noun}"), &format!("nobodys_{noun}")))
            .replace("{login}", "nobodys_login")
            .replace("{executor}", "Agent")
    }
}

/// What a call takes: enough to get past the reading of it.
fn body(method: &str, path: &str, token: &str) -> Option<Value> {
    let verb = path.rsplit('/').next().unwrap_or_default();
    Some(match verb {
        "{name}" if path.starts_with("/v1/principals/") => json!({"approver_level": 1}),
        "{name}" if method == "PATCH" => json!({"description": "x"}),
        "backfill" => json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}),
        "start" | "release" | "complete" | "acknowledge-cancel" | "heartbeat" => json!({"token": token}),
        "progress" => json!({"token": token, "progress": {}}),
        "fail" => json!({"token": token, "message": "x"}),
        "snooze" => json!({"token": token, "seconds": 1}),
        "cancel" | "dead-letter" | "withdraw" | "close" => json!({"reason": "x"}),
        "resolve" => json!({"step_id": "a", "verdict": "failed", "reason": "x"}),
        "decide" => json!({"decision": "reject", "plan_hash": "0".repeat(64), "comment": "x"}),
        "triage" => json!({"status": "closed"}),
        "retry" | "replay" | "pause" | "resume" | "rotate" | "run" => json!({}),
        "ack" => json!({"cursor": "0.0.0"}),
        _ => return None,
    })
}

/// For every call that names something: what is another tenant's is answered as if it were not there.
#[tokio::test]
async fn no_answer_tells_what_is_another_tenants_from_what_nobody_has() {
    let bench = Workbench::shared().await;
    // What a service does to the rows of the first tenant is no leak.
    let api = Api::start_with(&bench, &["--no-services"]);
    let theirs = Theirs::make(&bench);
    let roles = [
        "--role",
        "admin",
        "--role",
        "operator",
        "--role",
        "producer",
        "--role",
        "worker",
        "--role",
        "approver",
        "--approver-level",
        "3",
    ];
    let ours = key(
        &bench,
        "spy",
        &[&roles[..], &["--payload-access", "restricted"]].concat(),
    );
    let before = rows_of_the_first(&bench).await;
    let mut asked = 0;
    let (_, document) = api.raw("GET", "/openapi.json", &[], None);
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let named = [
            "{job_id}",
            "{dead_letter_id}",
            "{kind}",
            "{prefix}",
            "{name}",
            "{execution_id}",
            "{approval_id}",
        ]
        .iter()
        .any(|name| path.contains(name));
        for method in methods.as_object().expect("methods").keys().filter(|_| named) {
            let method = method.to_uppercase();
            let body = body(&method, path, &theirs.token);
            if body.is_none() && method != "GET" && method != "DELETE" {
                continue;
            }
            let ask = |path: &str| {
                let (status, answer) = api.send(&ours, &method, path, body.as_ref());
                (status, answer["code"].clone(), answer)
            };
            let (status, code, answer) = ask(&theirs.fill(path, true));
            let (nobody_status, nobody_code, nobody) = ask(&theirs.fill(path, false));
            assert_eq!(
                (status, &code),
                (nobody_status, &nobody_code),
                "{method} {path}: {answer} {nobody}"
            );
            // What applies to an action is answered of any name: the same, whether or not another tenant registered it.
            let (theirs_shown, none_shown) = (answer.to_string().replace("secret", "nobodys"), nobody.to_string());
            let any_name = method == "GET" && path == "/v1/actions/{name}" && theirs_shown == none_shown;
            assert!(any_name || matches!(status, 404 | 409), "{method} {path}: {answer}");
            assert!(!answer.to_string().contains("xyzzy"));
            asked += 1;
        }
    }
    assert!(asked >= 20, "{asked} calls were tried");

    for (path, field) in [
        ("/v1/jobs", "items"),
        ("/v1/jobs?kind=a", "items"),
        ("/v1/jobs?state=queued", "items"),
        ("/v1/jobs?correlation_id=c+1", "items"),
        ("/v1/dead-letters", "items"),
        ("/v1/kinds", "items"),
        ("/v1/subscriptions", "items"),
        ("/v1/schedules", "items"),
        ("/v1/executions", "items"),
        ("/v1/executions?target=host:xyzzy", "items"),
        ("/v1/approvals?state=any", "items"),
        ("/v1/approval-rules", "items"),
        ("/v1/locks", "items"),
        ("/v1/locks/waiters?part=host:xyzzy", "items"),
        ("/v1/execution-dead-letters", "items"),
    ] {
        assert_eq!(api.get(&ours, path)[field], json!([]), "{path}");
    }
    assert_eq!(
        api.post(&ours, "/v1/jobs/claim", json!({"worker": "w", "limit": 100})),
        json!({"jobs": []})
    );
    assert_eq!(
        api.post(&ours, "/v1/jobs/held", json!({"token": theirs.token})),
        json!({"jobs": []})
    );
    for (path, field) in [("/v1/principals", "name"), ("/v1/keys", "principal")] {
        let listed = api.get(&ours, path);
        let listed = listed["items"].as_array().expect("a list").clone();
        assert_eq!(
            listed.iter().map(|one| &one[field]).collect::<Vec<_>>(),
            ["spy"],
            "{path}"
        );
    }
    assert_eq!(api.get(&ours, "/v1/tenants")["items"][0]["name"], SECOND);
    let health = api.get(&ours, "/v1/health");
    assert_eq!(
        (&health["backlog"], &health["in_progress"]),
        (&json!(0), &json!(0)),
        "{health}"
    );
    let held = json!({"job_id": theirs.job, "token": theirs.token});
    let beats = api.post(&ours, "/v1/jobs/heartbeat", json!({"jobs": [held]}));
    assert_eq!(beats["jobs"][0]["status"], "lost");
    let mut end = held.clone();
    end["outcome"] = json!("succeeded");
    let ended = api.post(&ours, "/v1/jobs/end", json!({"ends": [end]}));
    assert_eq!(ended["ends"][0]["status"], "stale_lease");
    let child = json!({"kind": "a", "parent_job_id": theirs.job});
    api.refused(api.send(&ours, "POST", "/v1/jobs", Some(&child)), 404, "job_not_found");
    let page = api.get(&ours, "/v1/events?limit=1000").to_string();
    assert!(!page.contains(&theirs.job) && !page.contains("neighbour"), "{page}");
    assert_eq!(rows_of_the_first(&bench).await, before, "nothing of theirs has changed");
}

/// How many rows the first tenant has in each table, and the sum of what is in them.
async fn rows_of_the_first(bench: &Workbench) -> BTreeMap<String, String> {
    let tables = [
        "jobs",
        "attempts",
        "leases",
        "dead_letters",
        "kinds",
        "config",
        "principals",
        "keys",
        "events",
        "schedules",
        "planned_slots",
        "executions",
        "steps",
        "approvals",
        "locks",
    ];
    let mut found = BTreeMap::new();
    for table in tables {
        let sum = format!(
            "select count(*) || ' ' || coalesce(md5(string_agg(r::text, '|' order by r::text)), '') from tenure.{table} r where tenant_id = 1"
        );
        found.insert(table.to_owned(), bench.sql(&sum).await);
    }
    found
}
