//! The command line itself.

use std::process::Command;

use crate::workbench::{Answer, Workbench, check_refusal, tenure};

fn run(args: &[&str]) -> Answer {
    Answer::of(tenure().args(args))
}

fn command(args: &[&str]) -> Command {
    let mut command = tenure();
    command.args(args);
    command
}

#[test]
fn a_misspelt_command_or_option_is_answered_with_the_right_one() {
    let refusal = check_refusal(|| command(&["job", "enque", "k"]), "usage");
    assert!(refusal["next"].as_str().unwrap().contains("enqueue"), "{refusal}");
    let refusal = check_refusal(|| command(&["jbo"]), "usage");
    assert!(refusal["next"].as_str().unwrap().contains("job"), "{refusal}");
    let refusal = check_refusal(|| command(&["job", "enqueue", "k", "--prioritty", "urgent"]), "usage");
    assert!(refusal["next"].as_str().unwrap().contains("--priority"), "{refusal}");
    for args in [["job", "show", "7"], ["dead-letter", "show", "seven"]] {
        let refusal = check_refusal(|| command(&args), "usage");
        assert!(refusal["why"].as_str().unwrap().contains("an id"), "{refusal}");
        assert!(refusal["next"].as_str().unwrap().contains(args[0]), "{refusal}");
    }
    let refusal = check_refusal(|| command(&["--tenant", "a"]), "usage");
    let next = refusal["next"].as_str().unwrap();
    assert!(next.contains("doctor") && !next.contains("private"), "{refusal}");
    let refusal = check_refusal(|| command(&["job", "complete"]), "usage");
    assert!(refusal["what"].as_str().unwrap().contains("<JOB>"), "{refusal}");
    let contradiction = run(&["--quiet", "--json", "job", "list"]);
    assert!(
        contradiction.exit == 2 && contradiction.out.contains("--quiet"),
        "{contradiction:?}"
    );
    check_refusal(
        || command(&["--data-dir", "/tmp", "--database-url", "x", "job", "list"]),
        "usage",
    );
}

#[test]
fn a_misspelt_option_is_answered_only_with_options_of_its_command() {
    for (args, meant) in [
        (&["job", "enqueue", "k", "--delay", "5m"][..], "Did you mean --due? "),
        (&["job", "enqueue", "k", "--run-at", "+5m"], "Did you mean --due? "),
        (&["job", "enqueue", "k", "--dleay", "5m"], "Did you mean --due? "),
        (
            &["job", "enqueue", "k", "--prioritty", "urgent"],
            "Did you mean --priority? ",
        ),
        (&["job", "enqueue", "k", "--tenent", "a"], "Did you mean --tenant? "),
        (&["job", "list", "--keyy", "x"], ""),
        (&["job", "list", "--payload", "x"], ""),
        (
            &["schedule", "create", "s", "--every-seconds", "900"],
            "Did you mean --every 15m? ",
        ),
        (&["schedule", "backfill", "s", "--to", "x"], "Did you mean --until? "),
        (&["schedule", "pause", "s", "--reason", "x"], "Did you mean --note? "),
    ] {
        let refusal = check_refusal(|| command(args), "usage");
        let words = format!("tenure {} {}", args[0], args[1]);
        assert_eq!(refusal["next"], format!("{meant}Run `{words} --help`."), "{args:?}");
        let usage = format!("The usage is: {words} [OPTIONS]");
        assert!(refusal["why"].as_str().unwrap().starts_with(&usage), "{refusal}");
    }
}

#[test]
fn help_shows_every_noun_and_the_exit_codes() {
    let help = run(&["--help"]).ok();
    for word in [
        "dev",
        "job",
        "kind",
        "tenant",
        "event",
        "dead-letter",
        "schedule",
        "executor",
        "config",
        "context",
        "gate",
        "doctor",
        "Exit codes",
    ] {
        assert!(help.contains(word), "{word} is not in the help");
    }
    assert!(!help.contains("\n  private "), "for scripts only");
    assert!(run(&["--version"]).ok().contains(env!("CARGO_PKG_VERSION")));
    let nothing = run(&[]);
    assert_eq!(nothing.exit, 2);
    assert!(nothing.err.contains("Usage"), "{nothing:?}");
}

#[test]
fn every_exit_code_of_the_table_is_in_the_help() {
    let help = run(&["--help"]).ok();
    for (code, _) in tenure_core::codes::EXITS {
        assert!(help.contains(&format!(" {code} ")), "{code}");
    }
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).ok();
        assert!(
            script.contains("dead-letter") && script.contains("allow-plaintext") && script.len() > 1000,
            "{shell}"
        );
    }
    check_refusal(|| command(&["completions", "bsh"]), "usage");
}

#[test]
fn every_refusal_code_has_its_page_in_the_program() {
    let all = run(&["errors", "--json"]).ok();
    assert_eq!(all.lines().count(), tenure_core::codes::ALL.len());
    for code in tenure_core::codes::ALL {
        let page = run(&["errors", code.name]).ok();
        assert!(page.starts_with(&format!("# {}", code.name)), "{page}");
    }
    assert!(run(&["errors", "TN015"]).ok().starts_with("# stale_lease"));
    let refusal = check_refusal(|| command(&["errors", "stale_leese"]), "value_unknown");
    assert!(refusal["next"].as_str().unwrap().contains("stale_lease"), "{refusal}");
}

#[test]
fn without_a_database_the_refusal_says_how_to_get_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().to_str().expect("a plain path");
    let refusal = check_refusal(|| command(&["--data-dir", path, "job", "list"]), "database_unreachable");
    assert!(
        refusal["next"]
            .as_str()
            .unwrap()
            .contains(&format!("tenure dev --data-dir '{path}'")),
        "{refusal}"
    );
    let unreachable = format!("postgresql:///postgres?host={path}");
    check_refusal(
        || command(&["--database-url", &unreachable, "job", "list"]),
        "database_unreachable",
    );
    check_refusal(|| command(&["--database-url", "nonsense", "job", "list"]), "usage");
}

#[tokio::test]
async fn the_environment_names_the_database_and_an_empty_variable_does_not() {
    let bench = Workbench::open().await;
    let answer = Answer::of(command(&["job", "list"]).env("DATABASE_URL", bench.database.url()));
    assert_eq!(answer.exit, 0, "{answer:?}");
    let dir = tempfile::tempdir().expect("a directory");
    let home = |command: &mut Command| {
        command
            .env("DATABASE_URL", " ")
            .args(["--data-dir", dir.path().to_str().unwrap()]);
        Answer::of(command)
    };
    assert_eq!(home(&mut command(&["job", "list"])).exit, 7);
}

#[tokio::test]
async fn psql_opens_on_the_database_in_use_and_in_the_tenant_named() {
    let bench = Workbench::open().await;
    bench.json(&["tenant", "create", "a b"]);
    let answer = bench.run([
        "--tenant",
        "a b",
        "psql",
        "--",
        "-XAtc",
        "select current_database() || ' ' || current_setting('tenure.tenant')",
    ]);
    assert_eq!(answer.ok().trim(), format!("{} a b", bench.database.name()));
    assert_eq!(bench.run(["psql", "--", "-Xc", "select nonsense"]).exit, 1);
}

#[tokio::test]
async fn psql_shows_a_refusal_without_the_functions_that_it_came_through() {
    let bench = Workbench::open().await;
    let statement = "select tenure.job_show('01990000-0000-7000-8000-000000000001')";
    let answer = bench.run(["psql", "--", "-Xc", statement]);
    assert_eq!(answer.exit, 1, "{answer:?}");
    assert!(
        answer.err.contains("HINT:") && !answer.err.contains("CONTEXT"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn an_address_that_is_taken_is_named_with_the_reason() {
    let bench = Workbench::open().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    // Its log stands before the refusal.
    let answer = bench.run(["serve", "--listen", &address]);
    let what = format!("usage: Cannot listen on {address}: address in use.");
    assert!(answer.exit == 2 && answer.err.contains(&what), "{answer:?}");
}
