//! People who submit, approve and run plans, on a database and over HTTP.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::remote_scene::Scene;
use crate::workbench::{Answer, Workbench, tenure, text_of};

/// Submits; and may approve, as everybody's admin, but not what is her own.
pub(crate) const ANN: &str = "ann";
/// Approves.
pub(crate) const BOB: &str = "bob";
/// Never approves.
pub(crate) const ROBOT: &str = "robot";

/// A name, and how somebody runs a command.
pub(crate) type Way<'a> = (&'a str, &'a dyn Fn(&str, &[&str]) -> Answer);

pub(crate) struct Floor {
    pub(crate) scene: Scene,
}

impl Floor {
    pub(crate) async fn open() -> Floor {
        Floor::with(&["--no-services"]).await
    }

    /// With a server that has these options.
    pub(crate) async fn with(options: &[&str]) -> Floor {
        let floor = Floor {
            scene: Scene::with(options).await,
        };
        let everything = [
            "--role", "admin", "--role", "operator", "--role", "producer", "--role", "worker",
        ];
        let approver = ["--role", "approver", "--approver-level", "3"];
        floor.key(ANN, "human", &[&everything[..], &approver].concat());
        floor.key(BOB, "human", &[&["--role", "viewer"][..], &approver].concat());
        floor.key(ROBOT, "agent", &everything);
        for name in [ANN, BOB] {
            let level = ["principal", "set", name, "--approver-level", "3"];
            floor.scene.bench.run(level).ok();
        }
        floor
    }

    pub(crate) fn bench(&self) -> &Workbench {
        &self.scene.bench
    }

    pub(crate) fn key(&self, name: &str, kind: &str, options: &[&str]) {
        let words = ["--quiet", "key", "create", name, "--kind", kind];
        let made = self.scene.bench.run(words.iter().chain(options)).ok();
        std::fs::write(self.path(name), made).expect("written");
    }

    /// The key of this person.
    pub(crate) fn key_of(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.path(name)).expect("a key");
        text.trim().to_owned()
    }

    /// A file of the floor's own.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scene.directory.path().join(name)
    }

    /// This person's command, on the database.
    pub(crate) fn sql(&self, who: &str, args: &[&str]) -> Answer {
        self.scene.bench.run(["--as", who].iter().chain(args))
    }

    /// This person's command, over HTTP.
    pub(crate) fn http(&self, who: &str, args: &[&str]) -> Answer {
        let mut command = tenure();
        command
            .args(["--server", self.scene.api.url(), "--key-file"])
            .arg(self.path(who))
            .args(args);
        Answer::of(&mut command)
    }

    /// Writes a plan down, and answers the file and its hash.
    pub(crate) fn plan(&self, name: &str, plan: &Value) -> (String, String) {
        let file = self.path(name).to_string_lossy().into_owned();
        std::fs::write(&file, plan.to_string()).expect("written");
        let hash = Answer::of(tenure().args(["plan", "hash", &file])).ok();
        (file, hash.trim().to_owned())
    }

    /// Submits a plan as Ann: the execution.
    pub(crate) fn submitted(&self, name: &str, plan: &Value) -> (String, String) {
        let (file, hash) = self.plan(name, plan);
        let made = self.sql(ANN, &["execution", "submit", &file, "--json"]).ok();
        let made: Value = serde_json::from_str(&made).expect("JSON");
        (text_of(&made, "execution_id"), hash)
    }

    /// Claims and starts the job of a step, by its kind: its id and token.
    pub(crate) fn claim(&self, kind: &str) -> (String, String) {
        self.scene.bench.claim(kind)
    }

    pub(crate) fn complete(&self, kind: &str) {
        let (job, token) = self.claim(kind);
        self.scene.bench.run(["job", "complete", &job, &token]).ok();
    }

    pub(crate) fn state_of(&self, execution: &str) -> String {
        text_of(&self.scene.bench.json(&["execution", "show", execution]), "state")
    }
}

/// A step by its id, of this class, on a target of the same name as the plan.
pub(crate) fn step(id: &str, class: &str, kind: &str, target: &str, needs: &[&str]) -> Value {
    json!({"id": id, "action": format!("{id}.it"), "action_class": class, "target_type": "host", "target_ref": target,
           "kind": kind, "needs": needs})
}

pub(crate) fn plan_of(purpose: &str, steps: Vec<Value>) -> Value {
    json!({"purpose": purpose, "sla_class": "long", "steps": steps})
}

/// A look, then a change of the same host.
pub(crate) fn look_and_change(purpose: &str, kind: &str, target: &str) -> Value {
    let steps = vec![
        step("look", "read", kind, target, &[]),
        step("change", "modify", kind, target, &["look"]),
    ];
    plan_of(purpose, steps)
}

pub(crate) fn json_of(answer: Answer) -> Value {
    serde_json::from_str(&answer.ok()).expect("JSON")
}

pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// A refusal of this code, told in three lines.
pub(crate) fn refused(answer: &Answer, code: &str) {
    let exit = tenure_core::codes::by_name(code).map(|code| i32::from(code.exit));
    assert_eq!(Some(answer.exit), exit, "{code}: {answer:?}");
    let lines: Vec<&str> = answer
        .err
        .lines()
        .filter(|line| !line.starts_with("going to "))
        .collect();
    assert!(lines[0].starts_with(&format!("{code}: ")), "{answer:?}");
    assert!(
        lines[1].starts_with("  why:  ") && lines[2].starts_with("  next: "),
        "{answer:?}"
    );
}
