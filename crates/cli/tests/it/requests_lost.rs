//! Requests with an `Idempotency-Key` whose server dies between the commit and the answer.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use serde_json::{Value, json};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::api::{Api, key};
use crate::executions_scene::look_and_change;
use crate::requests::{Keyed, try_send};
use crate::workbench::{Workbench, tenure, text_of};

/// A connection to the database, by either way.
trait Stream: Read + Write + Send + 'static {
    fn twin(&self) -> Box<dyn Stream>;
}

impl Stream for TcpStream {
    fn twin(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().expect("a clone"))
    }
}

impl Stream for UnixStream {
    fn twin(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().expect("a clone"))
    }
}

/// A way to the database. Once it is armed, the answer to the next commit is read to its end and not passed on.
struct Way {
    url: String,
    armed: Arc<AtomicBool>,
}

impl Way {
    fn open(bench: &Workbench, committed: Sender<()>) -> Way {
        let config: Config = bench.database.url().parse().expect("the database's URL");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let password = config.get_password().map(String::from_utf8_lossy).unwrap_or_default();
        let url = format!(
            "postgres://{}:{password}@{}/{}?sslmode=disable",
            config.get_user().expect("a login"),
            listener.local_addr().expect("an address"),
            config.get_dbname().expect("a database"),
        );
        let armed = Arc::new(AtomicBool::new(false));
        let arm = armed.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let port = config.get_ports().first().copied().unwrap_or(5432);
                let server: Box<dyn Stream> = match &config.get_hosts()[0] {
                    Host::Unix(folder) => {
                        let path = folder.join(format!(".s.PGSQL.{port}"));
                        Box::new(UnixStream::connect(path).expect("the server"))
                    }
                    Host::Tcp(host) => Box::new(TcpStream::connect((host.as_str(), port)).expect("the server")),
                };
                between(client, server, arm.clone(), committed.clone());
            }
        });
        Way { url, armed }
    }
}

fn between(client: TcpStream, mut server: Box<dyn Stream>, armed: Arc<AtomicBool>, committed: Sender<()>) {
    const COMMIT: &[u8] = b"commit\0";
    const READY: &[u8] = b"Z\0\0\0\x05I";
    let swallow = Arc::new(AtomicBool::new(false));
    let (mut from_client, mut to_client) = (client.try_clone().expect("a clone"), client);
    let (mut from_server, swallowed) = (server.twin(), swallow.clone());
    std::thread::spawn(move || {
        let mut bytes = vec![0; 65536];
        while let Ok(count @ 1..) = from_client.read(&mut bytes) {
            let commits = bytes[..count].windows(COMMIT.len()).any(|it| it == COMMIT);
            if commits && armed.swap(false, Ordering::SeqCst) {
                swallow.store(true, Ordering::SeqCst);
            }
            if server.write_all(&bytes[..count]).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let mut bytes = vec![0; 65536];
        while let Ok(count @ 1..) = from_server.read(&mut bytes) {
            if !swallowed.load(Ordering::SeqCst) {
                let _ = to_client.write_all(&bytes[..count]);
            } else if bytes[..count].ends_with(READY) {
                let _ = committed.send(());
            }
        }
    });
}

/// Sends a request to a server that is killed when the database has committed it; its answer is lost.
fn lost(bench: &Workbench, key: &str, to: (&str, &str), body: &Value) {
    let (committed, seen) = channel();
    let way = Way::open(bench, committed);
    let mut command = tenure();
    command.args(["--database-url", &way.url, "serve", "--listen", "127.0.0.1:0", "--json"]);
    let api = Api::of({
        command.stderr(Stdio::null());
        command
    });
    // The first request makes the server check the key, in a transaction of its own.
    api.get(key, "/v1/jobs");
    way.armed.store(true, Ordering::SeqCst);
    let (agent, url, key, body) = (
        api.agent().clone(),
        api.url().to_owned(),
        key.to_owned(),
        body.to_string(),
    );
    let to = (to.0.to_owned(), to.1.to_owned());
    let asked = std::thread::spawn(move || {
        let to = (to.0.as_str(), to.1.as_str());
        try_send((&agent, &url), &key, "lost", to, Some(&body))
    });
    seen.recv().expect("a commit");
    // SIGKILL.
    drop(api);
    assert_eq!(asked.join().expect("no panic"), None, "the answer was lost");
}

fn repeated(api: &Api, key: &str, to: (&str, &str), body: &Value) -> Keyed {
    let body = body.to_string();
    try_send((api.agent(), api.url()), key, "lost", to, Some(&body)).expect("an answer")
}

#[tokio::test]
async fn a_server_killed_between_commit_and_answer_has_its_answer_repeated() {
    let bench = Workbench::open().await;
    let roles = ["--role", "producer", "--role", "worker", "--role", "operator"];
    let ann = key(&bench, "ann", &roles);
    let (to, job) = (("POST", "/v1/jobs"), json!({"kind": "a", "payload": {"n": 1}}));
    lost(&bench, &ann, to, &job);
    let made = bench.sql("select string_agg(job_id::text, ' ') from tenure.jobs").await;
    let api = Api::start(&bench);
    let again = repeated(&api, &ann, to, &job);
    assert_eq!((again.status, again.replayed), (201, true), "{again:?}");
    assert_eq!(
        text_of(&again.body(), "job_id"),
        made,
        "the job that was committed, and only that"
    );
    assert_eq!(bench.lines(&["job", "list"]).len(), 1);
}

/// A submission that waits commits before it does: nothing could move while its own request held it.
#[tokio::test]
async fn a_submission_that_waited_on_a_killed_server_is_not_submitted_again() {
    let bench = Workbench::open().await;
    let ann = key(&bench, "ann", &["--role", "requester", "--kind", "human"]);
    let plan = look_and_change("mend it", "mend", "web-1");
    let (to, body) = (("POST", "/v1/executions?wait_seconds=30"), json!({"plan": plan}));
    lost(&bench, &ann, to, &body);
    let made = "select string_agg(execution_id::text, ' ') from tenure.execution_rows";
    let made = bench.sql(made).await;
    let api = Api::start_with(&bench, &["--no-services"]);
    let again = repeated(&api, &ann, to, &body);
    assert_eq!((again.status, again.replayed), (201, true), "{again:?}");
    assert_eq!(text_of(&again.body(), "execution_id"), made);
    // One that was answered is repeated with its last answer.
    let send = || try_send((api.agent(), api.url()), &ann, "second", to, Some(&body.to_string())).expect("an answer");
    let (first, again) = (send(), send());
    assert_eq!(first.body()["execution"]["settled"], true, "{first:?}");
    assert_eq!((&again.text, again.replayed), (&first.text, true));
}
