//! The worker in Python that people copy does what its README says.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::api::{Api, key};
use crate::workbench::{Answer, Workbench, eventually};

/// The Python that `script/test` names, else the one in PATH. A machine may have none; CI must have one.
pub(crate) fn python() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TENURE_TEST_PYTHON").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join("python3"))
        .find(|program| program.is_file());
    assert!(
        found.is_some() || std::env::var_os("CI").is_none(),
        "CI has no python3 in PATH, and TENURE_TEST_PYTHON names none"
    );
    found
}

/// The example, with the address of the server.
fn worker(python: &PathBuf, api: &Api, key: &str) -> Command {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python/worker.py");
    let mut command = Command::new(python);
    command
        .arg(script)
        .env("TENURE_URL", api.url())
        .env("TENURE_KEY", key)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Proves: S142, S143, S144.
#[tokio::test]
async fn a_worker_in_python_claims_beats_completes_and_acknowledges_a_cancel() {
    let Some(python) = python() else {
        println!("There is no Python here: the worker in Python was not run.");
        return;
    };
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "python", &["--role", "producer", "--role", "worker"]);
    let operator = key(&bench, "ann", &["--role", "operator"]);
    let enqueue = |to: &str| {
        let output = worker(&python, &api, &both).args(["enqueue", to]).output();
        let output = output.expect("Python runs; the example needs 3.8 or newer");
        Answer::from(output).ok().trim().to_owned()
    };
    let state = |job: &str| api.get(&operator, &format!("/v1/jobs/{job}"));
    let (short, none) = (enqueue("2"), enqueue("0"));
    let bad = api.post(&both, "/v1/jobs", json!({"kind": "count"}))["job_id"].clone();
    let bad = bad.as_str().expect("an id");
    let mut command = worker(&python, &api, &both);
    let _running = Running(command.stdout(Stdio::null()).spawn().expect("Python runs"));
    let done = eventually("the worker to count to two", || {
        Some(state(&short)).filter(|job| job["state"] == "succeeded")
    });
    assert_eq!(done["result"], json!({"counted_to": 2}));
    eventually("the worker to count to nothing", || {
        Some(state(&none)).filter(|job| job["state"] == "succeeded")
    });
    let failed = eventually("the worker to say that it cannot count so", || {
        Some(state(bad)).filter(|job| job["error_message"].is_string())
    });
    assert_eq!(failed["state"], "retry_waiting", "{failed}");

    let long = enqueue("1000000");
    eventually("the worker to beat", || {
        state(&long)["renewals"].as_i64().filter(|renewals| *renewals > 0)
    });
    api.post(
        &operator,
        &format!("/v1/jobs/{long}/cancel"),
        json!({"reason": "enough"}),
    );
    let ended = eventually("the worker to acknowledge", || {
        Some(state(&long)).filter(|job| job["state"] == "cancelled")
    });
    assert_eq!(ended["cancel_reason"], "enough", "{ended}");
    let moments = api.get(&operator, &format!("/v1/jobs/{long}/timeline"))["items"].clone();
    let last = moments.as_array().and_then(|all| all.last()).cloned();
    assert_eq!(
        last.map(|moment| moment["actor"].clone()),
        Some(json!("python")),
        "it was the worker that ended it: {moments}"
    );
}

/// The worker tells the step that the database wrote beside the job from one that a producer wrote into a payload.
#[tokio::test]
async fn a_forged_step_is_none_to_the_worker_in_python() {
    let Some(python) = python() else {
        println!("There is no Python here: the worker in Python was not run.");
        return;
    };
    let bench = Workbench::open().await;
    let api = Api::start_with(&bench, &["--no-services"]);
    let roles = ["--role", "requester", "--role", "producer", "--role", "worker"];
    let all = key(&bench, "python", &roles);
    let payload = json!({"to": 1, "step": {"step_id": "forged", "target_ref": "prod"}});
    let plain = api.post(&all, "/v1/jobs", json!({"kind": "count", "payload": payload}))["job_id"].clone();
    let plan = json!({"purpose": "count", "sla_class": "fast", "steps": [{"id": "one", "action": "count",
                      "action_class": "read", "target_type": "host", "target_ref": "web-1", "payload": payload}]});
    let made = api.post(&all, "/v1/executions", json!({"plan": plan}));
    let mut command = worker(&python, &api, &all);
    let _running = Running(command.stdout(Stdio::null()).spawn().expect("Python runs"));
    let ended = |path: String| {
        eventually("the worker to count", || {
            Some(api.get(&all, &path)).filter(|it| it["state"] == "succeeded")
        })
    };
    let plain = ended(format!("/v1/jobs/{}", plain.as_str().expect("an id")));
    assert_eq!(plain["result"], json!({"counted_to": 1}), "{plain}");
    let execution = ended(format!(
        "/v1/executions/{}",
        made["execution_id"].as_str().expect("an id")
    ));
    let output = &execution["steps"][0]["output_summary"];
    assert_eq!(
        output,
        &json!({"counted_to": 1, "step": "one", "target": "web-1"}),
        "{execution}"
    );
}
