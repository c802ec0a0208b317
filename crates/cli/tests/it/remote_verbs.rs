//! Every command says over HTTP what it says over SQL.

use serde_json::Value;

use crate::remote_scene::{Scene, alike, make_key};
use crate::workbench::{Answer, Workbench, text_of};

/// Runs commands one way, and keeps what they said.
struct Course<'a> {
    run: &'a dyn Fn(&[&str]) -> Answer,
    said: Vec<String>,
}

impl Course<'_> {
    fn step(&mut self, args: &[&str]) -> Answer {
        let answer = (self.run)(args);
        let words = Answer {
            exit: answer.exit,
            out: args.join(" "),
            err: String::new(),
        };
        self.said.push(format!("{}\n{}", alike(&words), alike(&answer)));
        answer
    }

    /// For people, for programs and for scripts.
    fn look(&mut self, args: &[&str]) {
        for format in [&[][..], &["--json"], &["--quiet"]] {
            let answer = self.step(&[args, format].concat());
            assert_eq!(answer.exit, 0, "{args:?}: {answer:?}");
        }
    }

    fn json(&mut self, args: &[&str]) -> Value {
        let text = self.step(&[args, &["--json"]].concat()).ok();
        serde_json::from_str(text.lines().next().unwrap_or_default()).expect("JSON")
    }

    fn enqueue(&mut self, kind: &str) -> String {
        text_of(
            &self.json(&["job", "enqueue", kind, "--payload", r#"{"n": 1.10}"#]),
            "job_id",
        )
    }

    fn claim(&mut self, kind: &str) -> (String, String) {
        let job = self.json(&["job", "claim", "--kind", kind, "--start", "--worker", "w"])["job"].clone();
        (text_of(&job, "job_id"), text_of(&job, "token"))
    }

    fn claimed(&mut self, kind: &str) -> (String, String) {
        self.enqueue(kind);
        self.claim(kind)
    }

    fn refused(&mut self, exit: i32, args: &[&str]) {
        for format in [&[][..], &["--json"]] {
            let answer = self.step(&[args, format].concat());
            assert_eq!(answer.exit, exit, "{args:?}: {answer:?}");
        }
    }
}

fn jobs(course: &mut Course<'_>) {
    let made = course.json(&[
        "job",
        "enqueue",
        "a",
        "--key",
        "k",
        "--payload",
        r#"{"big": 123456789012345678901234567890}"#,
        "--priority",
        "urgent",
        "--due",
        "2026-01-01T00:00:00Z",
        "--deadline",
        "+1h",
        "--correlation-id",
        "c",
        "--source-ref",
        "s",
        "--target-ref",
        "t",
        "--payload-ref",
        "p",
        "--classification",
        "restricted",
        "--max-attempts",
        "2",
        "--affinity-key",
        "x",
        "--source-system",
        "test",
    ]);
    let job = text_of(&made, "job_id");
    course.step(&["job", "enqueue", "a", "--key", "k"]).ok();
    for args in [
        &["job", "list"][..],
        &[
            "job",
            "list",
            "--kind",
            "a",
            "--state",
            "queued",
            "--executor",
            "external_worker",
            "--correlation-id",
            "c",
            "-n",
            "1",
        ],
        &["job", "list", "--kind", "nothing"],
        &["job", "show", &job],
        &["job", "timeline", &job],
        &["job", "explain", &job],
        &["health"],
    ] {
        course.look(args);
    }
    course.step(&["--quiet", "job", "claim", "--kind", "a"]).ok();
    course.step(&["job", "claim", "--kind", "a"]).ok();
    course
        .step(&["job", "enqueue", "a", "--wait", "0", "--due", "+1h"])
        .ok();
    let waiting = course.json(&["job", "enqueue", "a", "--due", "+1h"]);
    course
        .step(&["job", "dead-letter", &text_of(&waiting, "job_id"), "--reason", "r"])
        .ok();
}

fn work(course: &mut Course<'_>) {
    let (job, token) = course.claimed("b");
    course
        .step(&["job", "heartbeat", &job, &token, "--lease-seconds", "600"])
        .ok();
    course
        .step(&["job", "progress", &job, &token, r#"{"percent": 40}"#])
        .ok();
    course.look(&["job", "show", &job]);
    course.refused(6, &["job", "complete", &job, "01890000-0000-4000-8000-000000000000"]);
    course
        .step(&[
            "job",
            "complete",
            &job,
            &token,
            "--result",
            r#"{"pages": 3.50}"#,
            "--result-ref",
            "r",
        ])
        .ok();
    course
        .step(&[
            "job",
            "complete",
            &job,
            &token,
            "--result",
            r#"{"pages": 3.50}"#,
            "--result-ref",
            "r",
        ])
        .ok();
    let (job, token) = course.claimed("b");
    course.step(&["job", "snooze", &job, &token, "3600"]).ok();
    course
        .step(&["job", "retry", &job, "--reason", "now", "--on-behalf-of", "ann"])
        .ok();
    let (job, token) = course.claim("b");
    course.step(&["job", "release", &job, &token]).ok();
    let (job, token) = course.claim("b");
    course
        .step(&[
            "job",
            "fail",
            &job,
            &token,
            "-m",
            "no",
            "--code",
            "c",
            "--class",
            "d",
            "--retry-seconds",
            "3600",
        ])
        .ok();
    let (job, token) = course.claimed("b");
    course.step(&["job", "cancel", &job, "--reason", "stop"]).ok();
    course.step(&["job", "heartbeat", &job, &token]).ok();
    course.step(&["job", "acknowledge-cancel", &job, &token]).ok();
    let (job, _) = course.claimed("b");
    course
        .step(&["job", "cancel", &job, "--reason", "stop", "--force"])
        .ok();
    course.look(&["job", "timeline", &job]);
    course.enqueue("b");
    let claimed = course.json(&["job", "claim", "--kind", "b", "--lease-seconds", "60", "--wait", "1"]);
    let (job, token) = (text_of(&claimed["job"], "job_id"), text_of(&claimed["job"], "token"));
    course.step(&["job", "start", &job, &token]).ok();
    course.refused(3, &["job", "acknowledge-cancel", &job, &token]);
    course
        .step(&["job", "fail", &job, &token, "-m", "password=hunter2", "--permanent"])
        .ok();
    course.step(&["job", "claim", "--kind", "b", "--wait", "1"]).ok();
}

fn dead_letters(course: &mut Course<'_>) {
    for args in [
        &["dead-letter", "list"][..],
        &["dead-letter", "list", "--kind", "b", "-n", "1", "--status", "pending"],
    ] {
        course.look(args);
    }
    let letter = course.json(&["dead-letter", "list", "--kind", "b"]);
    let letter = text_of(&letter, "dead_letter_id");
    course.look(&["dead-letter", "show", &letter]);
    course.refused(3, &["dead-letter", "replay", &letter]);
    course
        .step(&[
            "dead-letter",
            "triage",
            &letter,
            "manual_replay",
            "--note",
            "n",
            "--on-behalf-of",
            "ann",
        ])
        .ok();
    course.look(&["dead-letter", "replay", &letter, "--preview"]);
    course.step(&["dead-letter", "replay", &letter]).ok();
    course.refused(3, &["dead-letter", "replay", &letter]);
    course.look(&["dead-letter", "list", "--before", "+1h"]);
}

fn settings(course: &mut Course<'_>) {
    course
        .step(&["kind", "set", "a", "--attempts-max", "3", "--description", "d"])
        .ok();
    course
        .step(&["kind", "set", "a", "--default", "attempts_max", "--json"])
        .ok();
    course.step(&["kind", "set", "a/b c?", "--attempts-max", "2"]).ok();
    course.step(&["kind", "pause", "a/b c?", "--note", "n"]).ok();
    course.step(&["kind", "resume", "a/b c?"]).ok();
    course
        .step(&[
            "executor",
            "beat",
            "w7",
            "--executor",
            "Agent",
            "--metadata",
            r#"{"v": 1}"#,
        ])
        .ok();
    course.step(&["config", "set", "queue.lease.duration_sec", "120"]).ok();
    course
        .step(&["config", "set", "queue.lease.duration_sec", "--default"])
        .ok();
    course
        .step(&[
            "config",
            "set",
            "queue.lease.duration_sec",
            "90",
            "--installation",
            "--json",
        ])
        .ok();
    course.step(&["gate", "close", "heartbeat", "notify"]).ok();
    course.step(&["gate", "open", "--all", "--json"]).ok();
    course.step(&["gate", "close", "notify", "--installation"]).ok();
    course.step(&["tenant", "create", "acme"]).ok();
    course.step(&["--tenant", "acme", "job", "list"]).ok();
    course
        .step(&["--tenant", "acme", "config", "set", "queue.lease.duration_sec", "70"])
        .ok();
    course
        .step(&[
            "key",
            "create",
            "shop",
            "--role",
            "producer",
            "--job-kind",
            "a",
            "--expires",
            "+90d",
            "--json",
        ])
        .ok();
    course
        .step(&["key", "create", "shop", "--role", "viewer", "--note", "n"])
        .ok();
    let made = course.json(&[
        "key",
        "create",
        "ops",
        "--kind",
        "human",
        "--role",
        "admin",
        "--installation",
    ]);
    for args in [
        &["kind", "list"][..],
        &["kind", "show", "a"],
        &["executor", "list"],
        &["config", "list"],
        &["config", "get", "queue.lease.duration_sec"],
        &["gate", "list"],
        &["tenant", "list"],
        &["--quiet", "key", "list"],
        // When it was last used is written down by a server alone, and in its own time.
        &["--quiet", "key", "list", "--installation"],
    ] {
        course.look(args);
    }
    course
        .step(&["key", "revoke", &text_of(&made, "prefix"), "--installation"])
        .ok();
}

fn services(course: &mut Course<'_>) {
    for args in [
        &[
            "job",
            "list",
            "--created-after",
            "2026-01-01T00:00:00Z",
            "--created-before",
            "+1h",
            "--error-code",
            "c",
        ][..],
        &["job", "claim", "--kind", "a", "--priority-min", "urgent"],
        &["reap", "--dry-run"],
        &["reap"],
        &["reap", "--every-tenant"],
        &["sweep"],
        &["sweep", "--every-tenant"],
    ] {
        course.look(args);
    }
    course
        .step(&[
            "login",
            "bind",
            "robot",
            "--principal",
            "Robot 7",
            "--kind",
            "a",
            "--json",
        ])
        .ok();
    course.step(&["login", "unbind", "robot"]).ok();
    course.refused(3, &["login", "unbind", "robot"]);
    course.refused(3, &["reap", "-n", "0"]);
}

fn refusals(course: &mut Course<'_>) {
    let nothing = "01890000-0000-7000-8000-000000000000";
    for (exit, args) in [
        (4, &["job", "show", nothing][..]),
        (4, &["job", "cancel", nothing, "--reason", "r"]),
        (6, &["job", "heartbeat", nothing, nothing]),
        (3, &["job", "enqueue", "a", "--payload", r#"{"password": 1}"#]),
        (3, &["job", "enqueue", "a", "--payload", "[1]"]),
        (3, &["job", "enqueue", " "]),
        (3, &["job", "enqueue", "a", "--priority", "urgnt"]),
        (3, &["job", "enqueue", "a", "--max-attempts", "0"]),
        (3, &["job", "enqueue", "a", "--executor", "nobody"]),
        (3, &["job", "list", "--state", "nonsense"]),
        (3, &["job", "list", "-n", "100000"]),
        (3, &["job", "claim", "--lease-seconds", "999999"]),
        (3, &["event", "list", "--after", "nonsense"]),
        (4, &["dead-letter", "show", nothing]),
        (3, &["dead-letter", "list", "--status", "nonsense"]),
        (4, &["config", "get", "nonsense"]),
        (3, &["config", "set", "queue.lease.duration_sec", "x"]),
        (4, &["gate", "close", "heartbeat", "jbos"]),
        (3, &["kind", "set", "a", "--attempts-max", "0"]),
        (3, &["tenant", "create", "acme"]),
        (3, &["key", "create", "x", "--role", "king"]),
        (4, &["key", "revoke", "nonsense"]),
    ] {
        course.refused(exit, args);
    }
    course.step(&["gate", "close", "jobs"]).ok();
    course.refused(5, &["job", "enqueue", "a"]);
    course.step(&["gate", "open", "jobs"]).ok();
}

#[tokio::test]
async fn every_command_says_over_http_what_it_says_over_sql() {
    let over_sql = Workbench::open().await;
    let principal = over_sql.sql("select session_user::text").await;
    make_key(
        &over_sql,
        &principal,
        &["--installation", "--payload-access", "restricted"],
    );
    let scene = Scene::open().await;
    let all =
        |course: &mut Course<'_>| [jobs, work, dead_letters, settings, services, refusals].map(|part| part(course));
    let (sql, http) = std::thread::scope(|scope| {
        let sql = scope.spawn(|| {
            let mut course = Course {
                run: &|args| over_sql.run(args),
                said: Vec::new(),
            };
            all(&mut course);
            course.said
        });
        let mut course = Course {
            run: &|args| scene.run(args),
            said: Vec::new(),
        };
        all(&mut course);
        (sql.join().expect("the course over SQL"), course.said)
    });
    // Over SQL a trusted login makes the keys, which is nobody.
    let made_by = format!("\"makers\":[\"{principal}\"]");
    for (sql, http) in sql.iter().zip(&http) {
        assert_eq!(&http.replace(&made_by, "\"makers\":[]"), sql);
    }
    assert_eq!(http.len(), sql.len());

    // A server tells all that the database tells, but for its schema and partitions.
    let checks = |answer: Answer| -> Vec<String> { answer.ok().lines().map(str::to_owned).collect() };
    let told = checks(scene.run(["--quiet", "doctor"]));
    let mut all = checks(scene.bench.run(["--quiet", "doctor"]));
    all.retain(|line| !line.ends_with("schema") && !line.ends_with("partitions"));
    assert_eq!(told, all);

    // The same data, read both ways.
    for args in [
        &["event", "list", "-n", "1000"][..],
        &["event", "list", "--kind", "job.leased", "-n", "2"],
    ] {
        for format in [&[][..], &["--json"], &["--quiet"]] {
            let args = [args, format].concat();
            let (http, sql) = (scene.run(&args), scene.bench.run(&args));
            assert_eq!((http.exit, http.out), (sql.exit, sql.out), "{args:?}");
        }
    }
}

#[tokio::test]
async fn what_has_no_way_over_http_says_so_and_does_nothing() {
    let scene = Scene::open().await;
    scene.refused(&["sweep", "--partitions"], "not_over_http");
    for (args, next) in [
        (&["migrate"][..], "--database-url"),
        (&["init"], "--database-url"),
        (&["psql"], "--database-url"),
        (&["serve"], "--database-url"),
        (&["dev"], "Leave --server out."),
        (&["bench", "drain"], "Leave --server out."),
    ] {
        let refusal = scene.refused(args, "not_over_http");
        assert!(text_of(&refusal, "next").contains(next), "{refusal}");
    }
    let private = scene.run(["private", "exec", "--", "true"]);
    assert!(
        private.exit == 3 && private.err.starts_with("not_over_http"),
        "{private:?}"
    );
    assert_eq!(scene.run(["--quiet", "job", "list"]).ok(), "");
    // What asks nobody does not mind.
    assert!(
        scene
            .run(["errors", "not_over_http"])
            .ok()
            .starts_with("# not_over_http")
    );
}

#[tokio::test]
async fn whoever_follows_events_over_http_sees_what_happens() {
    use std::io::{BufRead, BufReader};
    let scene = Scene::open().await;
    let mut command = scene.command(["event", "list", "--follow", "--kind", "job.enqueued", "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("run");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    for _ in 0..2 {
        let job = text_of(&scene.json(&["job", "enqueue", "a"]), "job_id");
        let line = lines.next().expect("it stays").expect("a line");
        assert!(line.contains(&job), "{line}");
    }
    child.kill().expect("it lives");
    child.wait().expect("it ends");
}
