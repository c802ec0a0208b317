//! One fencing number over HTTP and at the command line, and the section that holds a lock, wherever it is shown.

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::workbench::{Workbench, text_of};

/// Two steps at one host that hold its lock together; they read, so nobody has to allow them.
fn plan() -> Value {
    let step = |id: &str, needs: &[&str]| {
        json!({"id": id, "action": "look", "action_class": "read", "attempts_max": 5, "needs": needs,
               "target_type": "host", "target_ref": "web-1"})
    };
    json!({"purpose": "look twice", "sla_class": "long", "steps": [step("one", &[]), step("two", &["one"])],
           "sections": [{"id": "host-work", "steps": ["one", "two"]}]})
}

#[tokio::test]
async fn the_fence_and_the_section_are_the_same_over_http_and_at_the_command_line() {
    let bench = Workbench::open().await;
    let api = Api::start_with(&bench, &["--no-services"]);
    let roles = [
        "--role", "operator", "--role", "producer", "--role", "worker", "--kind", "human",
    ];
    let ann = key(&bench, "ann", &roles);
    let file = std::env::temp_dir().join(format!("sections-{}.json", bench.tenant_id()));
    std::fs::write(&file, plan().to_string()).expect("written");
    let file = file.to_str().expect("a path").to_owned();
    let shown = bench.text(&["plan", "show", &file]);
    assert!(
        shown.contains("host-work") && shown.contains("FROM FIRST TO LAST"),
        "{shown}"
    );
    let preview = bench.text(&["execution", "preview", &file]);
    assert!(
        preview.contains("host-work") && preview.contains("host:web-1"),
        "{preview}"
    );

    let made = api.post(&ann, "/v1/executions", json!({"plan": plan()}));
    let execution = text_of(&made, "execution_id");
    let mut before = 0;
    for end in ["fail", "complete"] {
        let claim = json!({"worker": "w", "kinds": ["look"], "mode": "started"});
        let claimed = api.post(&ann, "/v1/jobs/claim", claim);
        let job = &claimed["jobs"][0];
        let fence = job["fence"].as_i64().unwrap_or_else(|| panic!("{claimed}"));
        assert!(fence > before, "{fence} after {before}");
        before = fence;
        let id = text_of(job, "job_id");
        let running = |steps: &Value| {
            let steps = steps["steps"].as_array().cloned().unwrap_or_default();
            steps
                .into_iter()
                .find(|step| step["state"] == "running")
                .unwrap_or_default()
        };
        let lock = api.get(&ann, "/v1/locks")["items"][0].clone();
        let listed = bench.json(&["--json", "lock", "list"]);
        let step = running(&api.get(&ann, &format!("/v1/executions/{execution}")));
        for found in [
            &api.get(&ann, &format!("/v1/jobs/{id}"))["fence"],
            &bench.json(&["--json", "job", "show", &id])["fence"],
            &api.get(&ann, &format!("/v1/jobs/{id}"))["step"]["fence"],
            &job["step"]["fence"],
            &lock["fence"],
            &listed["fence"],
            &step["fence"],
            &bench.json(&["--json", "execution", "show", &execution])["sections"][0]["fence"],
        ] {
            assert_eq!(*found, json!(fence), "{lock} {listed} {step}");
        }
        assert_eq!(
            (&lock["section"], &step["section"]),
            (&json!("host-work"), &json!("host-work"))
        );
        let events = api.get(&ann, &format!("/v1/executions/{execution}/timeline"));
        let events = events["items"].as_array().cloned().unwrap_or_default();
        let started = events.iter().rev().find(|event| event["kind"] == "step_started");
        assert_eq!(
            started.map(|event| &event["data"]["fence"]),
            Some(&json!(fence)),
            "{events:?}"
        );
        assert_eq!(started.map(|event| &event["data"]["worker"]), Some(&json!("w")));
        let mut body = json!({"token": job["token"]});
        if end == "fail" {
            body["message"] = json!("again");
            body["retry_seconds"] = json!(0);
        }
        api.post(&ann, &format!("/v1/jobs/{id}/{end}"), body);
    }
    let shown = bench.text(&["execution", "show", &execution]);
    assert!(shown.contains("host-work") && shown.contains("held"), "{shown}");
    let shown = bench.text(&["lock", "list"]);
    assert!(shown.contains("host-work"), "{shown}");
    let broken = api.post(&ann, "/v1/locks/break", json!({"part": "host:web-1", "reason": "r"}));
    assert!(broken["fence"].as_i64() > Some(before), "{broken}");
    std::fs::remove_file(file).expect("removed");
}
