//! The SQL core through PgBouncer in transaction mode: no session state, no named statements.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use tenure_cluster::testing::{TestCluster, TestDatabase};
use tokio_postgres::config::Host;
use tokio_postgres::{Config, NoTls};

/// Names the pool that [`crate::fixture`] connects through: a connection string without a database.
const THROUGH: &str = "TENURE_TEST_THROUGH";
/// How long PgBouncer may take to answer.
const START_MAX: Duration = Duration::from_secs(30);
/// The modules of the SQL suite, as filters of the test binary: all that reach the database by the fixture.
pub(crate) fn suite() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut modules: Vec<String> = fs::read_dir(folder)
        .expect("the folder of these tests")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("use crate::fixture::")))
        .filter_map(|path| Some(format!("{}::", path.file_stem()?.to_str()?)))
        .collect();
    modules.sort();
    modules
}

/// The connection string of a database through the pool that the environment names, if it names one.
pub(crate) fn through(dbname: &str) -> Option<String> {
    let pool = env::var(THROUGH).ok().filter(|it| !it.trim().is_empty())?;
    Some(format!("{pool} dbname={dbname}"))
}

/// Rule: 27. The client's half: nothing depends on a session, so a pool that hands out transactions will do.
#[tokio::test]
async fn the_sql_suite_passes_through_pgbouncer() {
    if env::var_os(THROUGH).is_some() {
        return; // This is the process that runs through it.
    }
    let Some(program) = find() else {
        println!("PgBouncer is not installed: the SQL suite was not run through it.");
        return;
    };
    let server = TestCluster::shared().await.expect("a server").url("postgres");
    let pool = PgBouncer::start(&program, &server).await;
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command
        .args(suite())
        .env("TENURE_TEST_DATABASE_URL", &server)
        .env(THROUGH, &pool.address);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .expect("no panic")
        .expect("the suite runs");
    let told = String::from_utf8_lossy(&output.stdout);
    // What failed comes last: readers of a long log see its end.
    assert!(
        output.status.success(),
        "{}\n{}\n{}",
        last_lines(&pool.log(), 20),
        last_lines(&String::from_utf8_lossy(&output.stderr), 40),
        failures(&told)
    );
    let passed = told.lines().rfind(|line| line.starts_with("test result:"));
    println!("through PgBouncer: {}", passed.unwrap_or("no result line"));
    assert!(!told.contains(" 0 passed"), "the filter found nothing:\n{told}");
}

/// The outputs and names of the tests that failed, or all of it when the run ended without naming them.
fn failures(told: &str) -> &str {
    told.find("\nfailures:\n").map_or(told, |at| &told[at..])
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

fn find() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    folders.push("/usr/sbin".into());
    folders
        .into_iter()
        .map(|folder| folder.join("pgbouncer"))
        .find(|path| path.is_file())
}

/// A PgBouncer that ends with this value, or with this process.
struct PgBouncer {
    child: Child,
    dir: tempfile::TempDir,
    address: String,
}

impl PgBouncer {
    async fn start(program: &Path, server: &str) -> PgBouncer {
        let server: Config = server.parse().expect("the server's URL");
        let dir = tempfile::Builder::new()
            .prefix("tenure-pool-")
            .tempdir_in("/tmp")
            .expect("a directory");
        // As root it runs as another account, which makes its socket here.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("permissions");
        let ini = dir.path().join("pgbouncer.ini");
        fs::write(&ini, settings(&server, dir.path())).expect("its settings");
        // The shell waits for the end of its input, which comes with the end of this process, however it ends.
        let script = r#""$@" >"$LOG" 2>&1 & pid=$!; read -r _; kill "$pid"; wait "$pid""#;
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(program);
        if fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0) {
            let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
            let has_postgres = accounts.lines().any(|line| line.starts_with("postgres:"));
            command.args(["-u", if has_postgres { "postgres" } else { "nobody" }]);
        }
        command
            .arg(&ini)
            .env("LOG", dir.path().join("log"))
            .stdin(Stdio::piped());
        let child = command.spawn().expect("a shell");
        let user = server.get_user().unwrap_or("postgres");
        let address = format!("host={} port=6432 user={user}", dir.path().display());
        let pool = PgBouncer { child, dir, address };
        pool.ready().await;
        pool
    }

    async fn ready(&self) {
        let database = TestDatabase::empty().await.expect("a database");
        let config: Config = format!("{} dbname={}", self.address, database.name())
            .parse()
            .expect("an address");
        let began = Instant::now();
        while let Err(error) = config.connect(NoTls).await {
            assert!(
                began.elapsed() < START_MAX,
                "PgBouncer does not answer: {error:?}\n{}",
                self.log()
            );
            tokio::task::yield_now().await;
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn settings(server: &Config, dir: &Path) -> String {
    let host = match server.get_hosts().first() {
        Some(Host::Unix(path)) => path.display().to_string(),
        Some(Host::Tcp(name)) => name.clone(),
        None => "127.0.0.1".to_owned(),
    };
    let port = server.get_ports().first().copied().unwrap_or(5432);
    let user = server.get_user().unwrap_or("postgres");
    let password = server.get_password().map_or_else(String::new, |it| {
        format!(" password='{}'", String::from_utf8_lossy(it).replace('\'', "''"))
    });
    format!(
        "[databases]\n* = host={host} port={port} user={user}{password}\n\
         [pgbouncer]\npool_mode = transaction\nauth_type = any\nlisten_addr =\nlisten_port = 6432\n\
         unix_socket_dir = {}\ndefault_pool_size = 40\nmax_client_conn = 1000\nserver_idle_timeout = 5\n\
         ignore_startup_parameters = extra_float_digits\n",
        dir.display()
    )
}
