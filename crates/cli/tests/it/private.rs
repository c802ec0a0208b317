//! The throw-away database for scripts.

use crate::workbench::{Answer, tenure};

#[test]
fn a_command_gets_a_database_of_its_own_and_its_exit_code_comes_back() {
    for fsync in ["off", "on"] {
        let script = r#""$0" --database-url "$TENURE_TEST_DATABASE_URL" init --quiet && "$0" --database-url "$TENURE_TEST_DATABASE_URL" psql -- -XAtc 'show fsync' && echo "$TENURE_TEST_DATABASE_URL" && exit 9"#;
        let answer = Answer::of(tenure().args([
            "private",
            "exec",
            "--fsync",
            fsync,
            "--",
            "sh",
            "-c",
            script,
            env!("CARGO_BIN_EXE_tenure"),
        ]));
        assert_eq!(answer.exit, 9, "{answer:?}");
        let mut lines = answer.out.lines();
        assert_eq!(lines.next(), Some(fsync));
        let url = lines.next().expect("the URL").to_owned();
        let gone = Answer::of(tenure().args(["--database-url", &url, "job", "list"]));
        assert_eq!(gone.exit, 7, "the server is gone: {gone:?}");
    }
}

#[test]
fn the_server_gets_the_settings_that_were_asked_for() {
    let script = r#"echo "$TENURE_TEST_DATABASE_URL" && "$0" --database-url "$TENURE_TEST_DATABASE_URL" psql -- -XAtc "select current_setting('work_mem'), current_setting('fsync')""#;
    let answer = Answer::of(tenure().args([
        "private",
        "exec",
        "--set",
        "work_mem=7MB",
        "--",
        "sh",
        "-c",
        script,
        env!("CARGO_BIN_EXE_tenure"),
    ]));
    assert_eq!(answer.exit, 0, "{answer:?}");
    assert_eq!(answer.out.lines().nth(1), Some("7MB|off"), "{answer:?}");
    let refused = Answer::of(tenure().args(["private", "exec", "--set", "work_mem", "--", "true"]));
    assert!(refused.exit == 2 && refused.err.contains("NAME=VALUE"), "{refused:?}");
    let refused = Answer::of(tenure().args(["private", "exec", "--set", "no_such_setting=1", "--", "true"]));
    assert!(
        refused.exit != 0 && refused.err.contains("no_such_setting"),
        "{refused:?}"
    );
}

#[test]
fn a_command_that_does_not_exist_is_refused() {
    let people = Answer::of(tenure().args(["private", "exec", "--", "/nonexistent/command", "--json"]));
    assert_eq!((people.exit, people.out.as_str()), (2, ""), "{people:?}");
    assert!(
        people.err.starts_with("usage: /nonexistent/command cannot be run."),
        "{people:?}"
    );
    let program = Answer::of(tenure().args(["--json", "private", "exec", "--", "/nonexistent/command"]));
    assert_eq!((program.exit, program.err.as_str()), (2, ""), "{program:?}");
}

#[test]
fn a_killed_command_answers_like_a_shell() {
    let answer = Answer::of(tenure().args(["private", "exec", "--", "sh", "-c", "kill -KILL $$"]));
    assert_eq!(answer.exit, 128 + 9, "{answer:?}");
}
