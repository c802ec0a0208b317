//! A database of its own for each test, and the program to run on it.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_cluster::testing::{Template, TestDatabase};

/// Migrated and every gate open, as `tenure init` leaves it, and in open mode.
static OPEN: LazyLock<Template> = LazyLock::new(|| Template::new("cli_open", [tenure::migrate::source_hash()]));
/// Migrated only: inert.
static CLOSED: LazyLock<Template> = LazyLock::new(|| Template::new("cli_closed", [tenure::migrate::source_hash()]));

/// As `OPEN`, and a tenant [`SECOND`] beside the rows of the first.
static SHARED: LazyLock<Template> = LazyLock::new(|| Template::new("cli_shared", [tenure::migrate::source_hash()]));

/// The tenant of a second run of the suite; see `api_tenants`.
pub(crate) const SECOND: &str = "second";
/// Set to let `Workbench::open` be the bench of the second tenant.
pub(crate) const AS_SECOND: &str = "TENURE_TEST_AS_SECOND";

/// The program under test, with nothing of the caller's environment that could name a database or a server.
pub(crate) fn tenure() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    for variable in [
        "DATABASE_URL",
        "TENURE_TEST_DATABASE_URL",
        "TENURE_CONFIG",
        "TENURE_LOG",
        "TENURE_TENANT",
        "TENURE_SERVER",
        "TENURE_CONTEXT",
        "TENURE_KEY",
        "RUST_LOG",
        "PGOPTIONS",
        "TENURE_ZONEINFO",
        "TZDIR",
        "ALL_PROXY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "all_proxy",
        "https_proxy",
        "http_proxy",
        "no_proxy",
    ] {
        command.env_remove(variable);
    }
    command.env("TZ", "UTC").stdin(Stdio::null());
    // Whoever runs the tests may have saved contexts.
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// What a finished command left.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Answer {
    fn from(output: Output) -> Answer {
        Answer {
            exit: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("answers are UTF-8"),
            err: String::from_utf8(output.stderr).expect("refusals are UTF-8"),
        }
    }
}

impl Answer {
    pub(crate) fn of(command: &mut Command) -> Answer {
        command.output().expect("the program runs").into()
    }

    pub(crate) fn ok(self) -> String {
        assert_eq!(self.exit, 0, "{self:?}");
        self.out
    }
}

/// Open mode: plans of tests have actions without a registration. Those of `actions.rs` close it again.
pub(crate) fn open_mode(url: &str) -> Result<(), String> {
    let words = ["config", "set", "executions.actions.open", "true", "--installation"];
    let answer = Answer::of(tenure().args(["--database-url", url]).args(words));
    match answer.exit {
        0 => Ok(()),
        _ => Err(format!("{answer:?}")),
    }
}

pub(crate) struct Workbench {
    pub(crate) database: TestDatabase,
    /// Whose bench it is.
    pub(crate) tenant: &'static str,
}

impl Workbench {
    /// Gates open.
    pub(crate) async fn open() -> Workbench {
        match std::env::var_os(AS_SECOND) {
            Some(_) => Workbench::shared().await,
            None => Workbench::copy_of(&OPEN, "init").await,
        }
    }

    /// The bench of a second tenant, in a database where the rows of a first lie around.
    pub(crate) async fn shared() -> Workbench {
        let database = TestDatabase::new(&SHARED, async |url| crate::neighbour::prepare(&url));
        Workbench {
            database: database.await.expect("a database from the template"),
            tenant: SECOND,
        }
    }

    /// Gates closed.
    pub(crate) async fn closed() -> Workbench {
        Workbench::copy_of(&CLOSED, "migrate").await
    }

    /// A database that knows nothing of Tenure.
    pub(crate) async fn empty() -> Workbench {
        let database = TestDatabase::empty().await.expect("an empty database");
        let tenant = "default";
        Workbench { database, tenant }
    }

    async fn copy_of(template: &Template, command: &str) -> Workbench {
        let database = TestDatabase::new(template, async |url| {
            let answer = Answer::of(tenure().args([command, "--database-url", &url]));
            match answer.exit {
                0 if command == "init" => open_mode(&url),
                0 => Ok(()),
                _ => Err(format!("{answer:?}")),
            }
        });
        Workbench {
            database: database.await.expect("a database from the template"),
            tenant: "default",
        }
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = tenure();
        if self.tenant == SECOND {
            command.env("TENURE_TENANT", SECOND);
        }
        command.args(["--database-url", self.database.url()]).args(args);
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Answer {
        Answer::of(&mut self.command(args))
    }

    /// Runs with this on its standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Answer {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        child
            .stdin
            .take()
            .expect("its input")
            .write_all(input)
            .expect("it reads");
        child.wait_with_output().expect("it ends").into()
    }

    /// What people read.
    pub(crate) fn text(&self, args: &[&str]) -> String {
        self.run(args).ok()
    }

    /// The one document that programs read.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.run(args.iter().chain(&["--json"])).ok();
        assert_eq!(text.lines().count(), 1, "one answer is one line: {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The documents of a list.
    pub(crate) fn lines(&self, args: &[&str]) -> Vec<Value> {
        let text = self.run(args.iter().chain(&["--json"])).ok();
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// Checks a refusal in both its forms, and answers its JSON.
    pub(crate) fn refused<S: AsRef<OsStr> + Clone>(&self, args: &[S], code: &str) -> Value {
        check_refusal(|| self.command(args), code)
    }

    /// For a statement: the number of the bench's tenant.
    pub(crate) fn tenant_id(&self) -> String {
        format!(
            "(select t.tenant_id from tenure.tenants t where t.name = '{}')",
            self.tenant
        )
    }

    /// The one statement's first column, as text.
    pub(crate) async fn sql(&self, statement: &str) -> String {
        let client = self.database.connect().await.expect("connect");
        let row = client.query_one(statement, &[]).await.expect("query");
        row.get(0)
    }

    /// Lets the database's clock run ahead.
    pub(crate) async fn advance(&self, interval: &str) {
        let client = self.database.connect().await.expect("connect");
        let body = format!("select clock_timestamp() + interval '{interval}'");
        client
            .batch_execute(&format!(
                "create or replace function tenure.now() returns timestamptz language sql volatile parallel safe
                   set search_path = pg_catalog, pg_temp as $$ {body} $$"
            ))
            .await
            .expect("replace the clock");
    }

    /// Enqueues a job of this kind and answers its id.
    pub(crate) fn enqueue(&self, kind: &str) -> String {
        text_of(&self.json(&["job", "enqueue", kind]), "job_id")
    }

    /// Claims and starts the next job of this kind: its id and token.
    pub(crate) fn claim(&self, kind: &str) -> (String, String) {
        let job = &self.json(&["job", "claim", "--kind", kind, "--start"])["job"];
        (text_of(job, "job_id"), text_of(job, "token"))
    }

    pub(crate) fn state_of(&self, job: &str) -> String {
        text_of(&self.json(&["job", "show", job]), "state")
    }
}

/// A refusal is one JSON document on standard output with `--json`, else three lines on standard error; the exit code
/// is the one of the table.
pub(crate) fn check_refusal(command: impl Fn() -> Command, code: &str) -> Value {
    let exit = i32::from(tenure_core::codes::by_name(code).expect("a known code").exit);
    let people = Answer::of(&mut command());
    assert_eq!(people.exit, exit, "{people:?}");
    assert_eq!(
        people.out, "",
        "a refusal for people is not on standard output: {people:?}"
    );
    let lines: Vec<&str> = people
        .err
        .lines()
        .filter(|line| !line.starts_with("warning") && !line.starts_with("… "))
        .collect();
    assert!(lines[0].starts_with(&format!("{code}: ")), "{people:?}");
    assert!(lines[1].starts_with("  why:  ") && lines[1].len() > 8, "{people:?}");
    assert!(lines[2].starts_with("  next: ") && lines[2].len() > 8, "{people:?}");
    assert_eq!(lines.len(), 3, "{people:?}");

    let program = Answer::of(command().arg("--json"));
    assert_eq!(program.exit, exit, "{program:?}");
    let refusal: Value = serde_json::from_str(&program.out).expect("one JSON document");
    assert_eq!(refusal["refused"], true);
    assert_eq!(refusal["code"], code, "{refusal}");
    for part in ["what", "why", "next"] {
        assert!(
            refusal[part].as_str().is_some_and(|text| !text.is_empty()),
            "{part}: {refusal}"
        );
    }
    refusal
}

pub(crate) fn text_of(value: &Value, field: &str) -> String {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no {field} in {value}"))
        .to_owned()
}

const PATIENCE: Duration = Duration::from_secs(60);

/// Asks until there is an answer. Events wait for every transaction that is open on the server, other tests' included.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
