//! The worker in Python that people copy does what its README says.

use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::api::{Api, key};
use crate::workbench::{Answer, Workbench, eventually};

/// The example, told where the server is.
fn worker(api: &Api, key: &str) -> Command {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python/worker.py");
    let mut command = Command::new("python3");
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
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "python", &["--role", "producer", "--role", "worker"]);
    let operator = key(&bench, "ann", &["--role", "operator"]);
    let enqueue = |to: &str| {
        let output = worker(&api, &both).args(["enqueue", to]).output();
        let output = output.expect("python3 runs; the example needs Python 3.8 or newer");
        Answer::from(output).ok().trim().to_owned()
    };
    let state = |job: &str| api.get(&operator, &format!("/v1/jobs/{job}"));
    let (short, none) = (enqueue("2"), enqueue("0"));
    let bad = api.post(&both, "/v1/jobs", json!({"kind": "count"}))["job_id"].clone();
    let bad = bad.as_str().expect("an id");
    let mut command = worker(&api, &both);
    let _running = Running(command.stdout(Stdio::null()).spawn().expect("python3 runs"));
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
    let moments = api.get(&operator, &format!("/v1/jobs/{long}/timeline"))["moments"].clone();
    let last = moments.as_array().and_then(|all| all.last()).cloned();
    assert_eq!(
        last.map(|moment| moment["actor"].clone()),
        Some(json!("python")),
        "it was the worker that ended it: {moments}"
    );
}
