//! A first tenant's rows, of every sort and with the names that the tests of a second one use too.

use crate::workbench::{Answer, SECOND, open_mode, tenure};

/// Kinds that the tests work with.
const KINDS: &[&str] = &["a", "b", "c", "pack", "count", "codex_exec", "report"];

/// Migrates, opens the gates, fills the first tenant, and makes the second.
pub(crate) fn prepare(url: &str) -> Result<(), String> {
    let run = |args: &[&str]| {
        let answer = Answer::of(tenure().args(["--database-url", url, "--quiet"]).args(args));
        match answer.exit {
            0 => Ok(answer.out),
            _ => Err(format!("{args:?}: {answer:?}")),
        }
    };
    run(&["init"])?;
    open_mode(url)?;
    for kind in KINDS {
        run(&["kind", "set", kind, "--attempts-max", "7"])?;
        let claim = |verb: &[&str]| {
            run(&["job", "enqueue", kind])?;
            let held = run(&["job", "claim", "--kind", kind, "--worker", "neighbour", "--start"])?;
            let held: Vec<&str> = held.split_whitespace().take(2).collect();
            run(&[&["job", verb[0]], &held[..], &verb[1..]].concat())
        };
        claim(&["complete"])?;
        claim(&["fail", "--message", "no", "--permanent"])?;
        for key in ["k", "o7"] {
            run(&[
                "job",
                "enqueue",
                kind,
                "--key",
                key,
                "--correlation-id",
                "c 1",
                "--priority",
                "urgent",
            ])?;
        }
    }
    run(&["config", "set", "queue.lease.duration_sec", "77"])?;
    for principal in ["shop", "ann", "root", "all", "both"] {
        run(&["key", "create", principal, "--role", "viewer"])?;
    }
    for name in ["ledger", "repair", "hook"] {
        run(&["subscription", "create", name, "*", "--from", "start"])?;
    }
    for name in ["nightly", "hourly", "preview"] {
        run(&[
            "schedule",
            "create",
            name,
            "--kind",
            "report",
            "--every",
            "1h",
            "--start",
            "2099-01-01",
        ])?;
    }
    run(&["schedule", "run", "nightly"])?;
    run(&["tenant", "create", SECOND])?;
    run(&["--tenant", SECOND, "gate", "open", "--all"])?;
    Ok(())
}
