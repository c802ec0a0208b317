//! What the tests of the private cluster share: temporary places, and a process of its own that can be killed.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tenure_cluster::testing::{Template, TestCluster, TestDatabase};
use tenure_cluster::{Cluster, ClusterOptions, PrivateError};

/// Tells this test binary, run again, to be an owner: `cluster DIR`, `test-cluster` or `test-database`.
const OWNER: &str = "TENURE_TEST_OWNER";
const PATIENCE: Duration = Duration::from_secs(60);

/// A temporary directory that the account of a server started by root can enter.
pub(crate) fn open_dir() -> TempDir {
    let dir = tempfile::Builder::new()
        .prefix("tenure-it-")
        .tempdir()
        .expect("temporary directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).expect("permissions");
    dir
}

/// Options for a cluster that need not survive the machine.
pub(crate) fn options(data_dir: impl Into<PathBuf>) -> ClusterOptions {
    let mut options = ClusterOptions::new(data_dir);
    options.fsync = false;
    options
}

pub(crate) async fn start(data_dir: impl Into<PathBuf>) -> Result<Cluster, PrivateError> {
    Cluster::start(options(data_dir)).await
}

/// The first column of the first row, as text.
pub(crate) async fn query(url: &str, sql: &str) -> String {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .expect("connect");
    tokio::spawn(connection);
    client.query_one(sql, &[]).await.expect("query").get(0)
}

/// Waits until the condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).expect("a pid");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok()
}

pub(crate) fn kill_9(pid: u32) {
    let pid = i32::try_from(pid).expect("a pid");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).expect("kill");
}

pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The server's directory below a data directory.
pub(crate) fn server_dir(data_dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(data_dir).expect("read the data directory").flatten();
    entries
        .map(|entry| entry.path())
        .find(|path| path.join("PG_VERSION").exists())
}

pub(crate) fn postmaster_pid(data_dir: &Path) -> Option<u32> {
    let text = fs::read_to_string(server_dir(data_dir)?.join("postmaster.pid")).ok()?;
    text.lines().next()?.parse().ok()
}

/// Names in a directory with this part in them.
pub(crate) fn names_with(dir: &Path, part: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(part))
        .collect()
}

/// The command for another process of this test binary that owns something.
pub(crate) fn owner(binary: &Path, mode: &str) -> Command {
    let mut command = Command::new(binary);
    command.args([
        "--exact",
        "private_fixture::an_owner_keeps_what_it_owns_until_told_to_stop",
        "--nocapture",
    ]);
    command
        .env(OWNER, mode)
        .env_remove("DATABASE_URL")
        .env_remove("TENURE_TEST_DATABASE_URL");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// A started owner and what it said about itself.
pub(crate) struct Owner {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Owner {
    pub(crate) fn spawn(mut command: Command) -> Owner {
        let mut child = command.spawn().expect("run the test binary again");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Owner { child, output }
    }

    pub(crate) fn of_cluster(data_dir: &Path) -> Owner {
        let binary = std::env::current_exe().expect("this binary");
        Owner::spawn(owner(&binary, &format!("cluster {}", data_dir.display())))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it owns what it should, and returns the URL it reports.
    pub(crate) fn url(&mut self) -> String {
        let mut seen = String::new();
        for line in self.output.by_ref().lines() {
            let line = line.expect("its output");
            if let Some((_, url)) = line.split_once("OWNS ") {
                return url.to_owned();
            }
            seen += &format!("{line}\n");
        }
        panic!("the owner ended early:\n{seen}");
    }

    pub(crate) fn kill_9(&mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
    }

    /// Lets it stop in order.
    pub(crate) fn finish(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("wait").success());
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does nothing in an ordinary run; as another process of this binary it is the owner that other tests kill.
#[tokio::test]
async fn an_owner_keeps_what_it_owns_until_told_to_stop() {
    let Ok(mode) = std::env::var(OWNER) else { return };
    match mode.split_once(' ') {
        Some(("cluster", dir)) => {
            let cluster = start(dir).await.expect("start");
            report_and_wait(&cluster.url("postgres"));
            cluster.stop().await.expect("stop");
        }
        None if mode == "test-cluster" => {
            let cluster = TestCluster::open().await.expect("open");
            report_and_wait(&cluster.url("postgres"));
        }
        None if mode == "test-database" => {
            let database = TestDatabase::new(&notes(), async |url| fill(&url).await)
                .await
                .expect("test database");
            report_and_wait(database.url());
        }
        _ => panic!("unknown mode {mode}"),
    }
}

fn report_and_wait(url: &str) {
    println!("OWNS {url}");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

pub(crate) fn notes() -> Template {
    Template::new("private_it", [NOTES])
}

const NOTES: &str = "create table note (text text); insert into note values ('prepared')";

pub(crate) async fn fill(url: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    let driving = tokio::spawn(connection);
    client.batch_execute(NOTES).await?;
    drop(client);
    let _ = driving.await;
    Ok(())
}
