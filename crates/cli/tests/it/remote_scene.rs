//! A running server, the command that asks it, and what both ways have in common.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use crate::api::Api;
use crate::workbench::{Answer, Workbench, check_refusal, tenure};

/// All roles, so that a key does what the login of the tests may.
const ROLES: [&str; 10] = [
    "--role", "admin", "--role", "operator", "--role", "producer", "--role", "worker", "--role", "viewer",
];

pub(crate) struct Scene {
    pub(crate) bench: Workbench,
    pub(crate) api: Api,
    /// Of the installation, for the principal that the tests are over SQL.
    pub(crate) key: String,
    pub(crate) directory: tempfile::TempDir,
}

impl Scene {
    pub(crate) async fn open() -> Scene {
        Scene::with(&[]).await
    }

    /// With a server that has these options.
    pub(crate) async fn with(options: &[&str]) -> Scene {
        let bench = Workbench::open().await;
        let principal = bench.sql("select session_user::text").await;
        let key = make_key(
            &bench,
            &principal,
            &["--installation", "--payload-access", "restricted"],
        );
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("key"), format!("{key}\n")).expect("written");
        Scene {
            api: Api::start_with(&bench, options),
            bench,
            key,
            directory,
        }
    }

    pub(crate) fn key_file(&self) -> PathBuf {
        self.directory.path().join("key")
    }

    /// The command, asking the server.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = tenure();
        command
            .args(["--server", self.api.url(), "--key-file"])
            .arg(self.key_file());
        command.args(args);
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Answer {
        Answer::of(&mut self.command(args))
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(args.iter().chain(&["--json"])).ok()).expect("JSON")
    }

    pub(crate) fn refused(&self, args: &[&str], code: &str) -> Value {
        check_refusal(|| self.command(args), code)
    }
}

/// Makes a key with all roles, and answers it.
pub(crate) fn make_key(bench: &Workbench, principal: &str, options: &[&str]) -> String {
    let words = ["--quiet", "key", "create", principal];
    let made = bench.run(words.iter().chain(&ROLES).chain(options));
    made.ok().trim().to_owned()
}

/// What was answered, without what differs between two runs of the same: ids, times, keys.
pub(crate) fn alike(answer: &Answer) -> String {
    let text = format!("exit {}\n{}\n{}", answer.exit, answer.out, answer.err);
    let rules = [
        (r"tnr_[a-z2-7]+_[a-z2-7]+", "KEY"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
        (
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)?",
            "TIME",
        ),
        (r#"(oldest_queued_age_s"?:?) *[0-9.]+"#, "$1 AGE"),
        // Only the side with a server has services.
        (r"(?m)^(services_missing) .*$", "$1 SERVICES"),
        (r#"\{"is_running":(true|false),"last_run_at":("TIME"|null)\}"#, "RUNS"),
        (r"\b[a-z2-7]{13}\b", "PREFIX"),
        (r"--cursor [A-Za-z0-9_-]+", "--cursor CURSOR"),
        (r#""next":"[A-Za-z0-9_-]+""#, "\"next\":CURSOR"),
        (r" +", " "),
    ];
    rules.iter().fold(text, |text, (pattern, put)| {
        let pattern = Regex::new(pattern).expect("a pattern");
        pattern.replace_all(&text, *put).into_owned()
    })
}
