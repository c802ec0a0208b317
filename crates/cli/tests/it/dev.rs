//! `tenure dev`, started for real.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::workbench::{Answer, Workbench, check_refusal, eventually, tenure};

/// A data directory that the account of a server started by root can enter.
pub(crate) fn data_dir() -> TempDir {
    let dir = tempfile::Builder::new()
        .prefix("tenure-dev-")
        .tempdir()
        .expect("a directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).expect("permissions");
    dir
}

/// A running `tenure dev`; killed with this value.
pub(crate) struct Dev {
    child: Child,
    output: BufReader<ChildStdout>,
    /// All it said until it was ready.
    pub(crate) welcome: String,
    pub(crate) url: String,
}

impl Dev {
    pub(crate) fn start(mut command: Command) -> Dev {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut dev = Dev {
            child,
            output,
            welcome: String::new(),
            url: String::new(),
        };
        while dev.url.is_empty() {
            let mut line = String::new();
            if dev.output.read_line(&mut line).expect("its output") == 0 {
                let mut error = String::new();
                let _ = dev.child.stderr.take().expect("its errors").read_to_string(&mut error);
                panic!("dev ended early:\n{}{error}", dev.welcome);
            }
            match line.strip_prefix("ready: ") {
                Some(url) => dev.url = url.trim().to_owned(),
                None => dev.welcome.push_str(&line),
            }
        }
        dev
    }

    pub(crate) fn on(data_dir: &Path) -> Dev {
        let mut command = tenure();
        command.arg("dev").arg("--data-dir").arg(data_dir);
        Dev::start(command)
    }

    /// Where its API is.
    pub(crate) fn api(&self) -> String {
        let line = self.welcome.lines().find_map(|line| line.trim().strip_prefix("api "));
        let url = line.and_then(|rest| rest.trim().split(',').next());
        url.expect("the address of the API").to_owned()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")), signal).expect("signal");
    }

    /// Waits until it ends: its exit code, and the rest of what it said.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("its output");
        (self.child.wait().expect("wait").code(), rest)
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn in_dir(dir: &Path, args: &[&str]) -> Command {
    let mut command = tenure();
    command.arg("--data-dir").arg(dir).args(args);
    command
}

fn json(dir: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&Answer::of(in_dir(dir, args).arg("--json")).ok()).expect("JSON")
}

fn postmaster(dir: &Path) -> i32 {
    let running: Value =
        serde_json::from_slice(&fs::read(dir.join("running.json")).expect("running.json")).expect("JSON");
    i32::try_from(running["postmaster_pid"].as_i64().expect("a pid")).expect("a pid")
}

fn wait_until_gone(pid: i32) {
    eventually("the end of a process", || {
        kill(Pid::from_raw(pid), None).is_err().then_some(())
    });
}

#[test]
fn a_stranger_gets_from_dev_to_a_finished_job_in_another_terminal() {
    let dir = data_dir();
    let dev = Dev::on(dir.path());
    assert!(
        dev.welcome.contains("queue.job_substrate.enabled"),
        "it says that gates are open: {}",
        dev.welcome
    );
    assert!(
        dev.welcome.contains("open mode") && dev.welcome.contains("executions.actions.open"),
        "it says that actions need no registration: {}",
        dev.welcome
    );
    let open = json(dir.path(), &["config", "get", "executions.actions.open"]);
    assert_eq!(open["value"], true, "{open}");
    let job = json(dir.path(), &["job", "enqueue", "greet"]);
    let claimed = &json(dir.path(), &["job", "claim", "--kind", "greet", "--start"])["job"];
    assert_eq!(claimed["job_id"], job["job_id"]);
    let (id, token) = (claimed["job_id"].as_str().unwrap(), claimed["token"].as_str().unwrap());
    assert_eq!(json(dir.path(), &["job", "complete", id, token])["state"], "succeeded");

    check_refusal(|| in_dir(dir.path(), &["dev"]), "data_dir_in_use");
    check_refusal(|| in_dir(dir.path(), &["dev", "--reset", "--yes"]), "data_dir_in_use");

    let server = postmaster(dir.path());
    dev.signal(Signal::SIGTERM);
    let (code, rest) = dev.ended();
    assert_eq!(code, Some(0), "{rest}");
    assert!(
        rest.contains(dir.path().to_str().unwrap()),
        "it says where the data stays: {rest}"
    );
    wait_until_gone(server);

    // What was there is there again, until somebody asks for a new beginning.
    let dev = Dev::on(dir.path());
    assert_eq!(json(dir.path(), &["job", "show", id])["state"], "succeeded");
    dev.signal(Signal::SIGINT);
    assert_eq!(dev.ended().0, Some(0));
    check_refusal(|| in_dir(dir.path(), &["dev", "--reset"]), "usage");
    let mut command = in_dir(dir.path(), &["dev", "--reset", "--yes"]);
    command.stdin(Stdio::null());
    let dev = Dev::start(command);
    assert_eq!(Answer::of(&mut in_dir(dir.path(), &["job", "show", id])).exit, 4);
    drop(dev);
}

#[test]
fn what_dev_prints_to_try_works_when_copied() {
    let dir = data_dir();
    let dev = Dev::on(dir.path());
    let commands: Vec<&str> = dev
        .welcome
        .lines()
        .filter(|line| line.starts_with("     "))
        .map(str::trim)
        .collect();
    assert!(commands.len() >= 7, "{}", dev.welcome);
    // The last line opens a prompt: give it something to run and an end.
    let script = commands.join("\n");
    let mut shell = Command::new("sh");
    shell
        .arg("-eu")
        .arg("-c")
        .arg(&script)
        .stdin(Stdio::null())
        .env("TZ", "UTC")
        .env("PAGER", "cat");
    if let Some(path) = std::env::var_os("PATH") {
        shell.env("PATH", with_psql(&path));
    }
    let answer = Answer::of(&mut shell);
    assert_eq!(answer.exit, 0, "{script}\n{answer:?}");
    let events = || Answer::of(&mut in_dir(dir.path(), &["event", "list"])).ok();
    eventually("the end of the job", || {
        events().contains("job.succeeded").then_some(())
    });
    eventually("the one that SQL enqueued", || {
        (json(dir.path(), &["health"])["backlog"] == 0).then_some(())
    });
}

#[test]
fn the_first_job_of_a_new_user_finishes_before_their_eyes() {
    let dir = data_dir();
    let mut dev = Dev::on(dir.path());
    for gate in ["queue.worker.enabled", "queue.notify.enabled"] {
        assert!(dev.welcome.contains(gate), "{}", dev.welcome);
    }
    let done = json(
        dir.path(),
        &[
            "job",
            "enqueue",
            "hello",
            "--payload",
            r#"{"name": "Ann"}"#,
            "--wait",
            "60",
        ],
    );
    assert_eq!(done["state"], "succeeded", "{done}");
    assert_eq!(done["result"]["said"], "hello Ann", "{done}");
    let mut line = String::new();
    dev.output.read_line(&mut line).expect("its output");
    assert!(
        line.starts_with("hello Ann — job ") && line.contains(done["job_id"].as_str().unwrap()),
        "{line}"
    );
    let nameless = json(dir.path(), &["job", "enqueue", "hello", "--wait", "60"]);
    assert_eq!(nameless["result"]["said"], "hello world", "{nameless}");
}

#[test]
fn dev_without_a_worker_leaves_every_job_to_others() {
    let dir = data_dir();
    let dev = Dev::start(in_dir(dir.path(), &["dev", "--no-worker"]));
    assert!(dev.welcome.contains("--no-worker"), "{}", dev.welcome);
    assert!(!dev.welcome.contains("--wait"), "{}", dev.welcome);
    let job = json(dir.path(), &["job", "enqueue", "hello", "--wait", "0"]);
    assert_eq!(job["state"], "queued");
    let claimed = &json(dir.path(), &["job", "claim", "--kind", "hello"])["job"];
    assert_eq!(claimed["job_id"], job["job_id"], "nobody else has taken it");
}

/// PATH, and the directory of psql where it is not in it.
pub(crate) fn with_psql(path: &std::ffi::OsStr) -> std::ffi::OsString {
    let found = tenure_cluster::find(&tenure_cluster::Search::from_env()).expect("PostgreSQL");
    let dirs = std::env::split_paths(path).chain(found.into_iter().map(|installation| installation.bin_dir));
    std::env::join_paths(dirs).expect("a path")
}

#[test]
fn a_killed_dev_takes_its_server_along_and_starts_again() {
    let dir = data_dir();
    let dev = Dev::on(dir.path());
    let server = postmaster(dir.path());
    let job = json(dir.path(), &["job", "enqueue", "k"]);
    dev.signal(Signal::SIGKILL);
    drop(dev);
    wait_until_gone(server);
    check_refusal(|| in_dir(dir.path(), &["job", "list"]), "database_unreachable");
    let _dev = Dev::on(dir.path());
    assert_eq!(
        json(dir.path(), &["job", "show", job["job_id"].as_str().unwrap()])["state"],
        "queued"
    );
}

#[test]
fn dev_reaps_by_itself() {
    let dir = data_dir();
    let _dev = Dev::on(dir.path());
    json(dir.path(), &["job", "enqueue", "k"]);
    let claimed = &json(dir.path(), &["job", "claim", "--kind", "k", "--lease-seconds", "1"])["job"];
    let job = claimed["job_id"].as_str().unwrap();
    let state = || json(dir.path(), &["job", "show", job])["state"].clone();
    let state = eventually("the reaper", || Some(state()).filter(|state| state != "leased"));
    assert_eq!(state, "retry_waiting");
}

#[tokio::test]
async fn dev_uses_a_given_server_and_manages_nothing() {
    let bench = Workbench::empty().await;
    let mut command = tenure();
    command.arg("dev").env("DATABASE_URL", bench.database.url());
    let dev = Dev::start(command);
    assert!(dev.url.starts_with("postgres"), "{}", dev.url);
    bench.enqueue("k");
    bench.refused(&["dev", "--reset", "--yes"], "usage");
    bench.refused(&["dev", "--port", "5999"], "usage");
    dev.signal(Signal::SIGTERM);
    assert_eq!(dev.ended().0, Some(0));
    bench.enqueue("k");
}

#[test]
fn dev_listens_on_a_port_when_asked() {
    let dir = data_dir();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .expect("bind")
        .local_addr()
        .expect("address")
        .port();
    let mut command = in_dir(dir.path(), &["dev", "--json", "--port"]);
    command.arg(port.to_string()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("run");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output"))
        .read_line(&mut line)
        .expect("a line");
    let ready: Value = serde_json::from_str(&line).expect("JSON");
    let tcp = ready["tcp_url"].as_str().expect("a URL");
    assert!(tcp.contains(&format!("127.0.0.1:{port}")), "{ready}");
    let answer = Answer::of(tenure().args(["--database-url", tcp, "job", "list"]));
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert_eq!(answer.exit, 0, "{answer:?}");
}
