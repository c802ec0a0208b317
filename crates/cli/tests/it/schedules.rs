//! `tenure schedule`, on a database and over HTTP.

use serde_json::Value;
use tenure::services::scheduler;

use crate::remote_scene::Scene;
use crate::workbench::{Answer, Workbench, check_refusal, tenure, text_of};

/// A name, and how a command is run.
type Way<'a> = (&'a str, &'a dyn Fn(&[&str]) -> Answer);

fn json(answer: Answer) -> Value {
    serde_json::from_str(&answer.ok()).expect("JSON")
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// Lets a scheduler look, as every server does.
async fn look(bench: &Workbench) {
    let mut client = bench.database.connect().await.expect("connect");
    scheduler::run_once(&mut client).await.expect("a look");
}

#[tokio::test]
async fn a_person_plans_runs_and_looks_after_them_on_both_ways() {
    let scene = Scene::with(&["--no-services"]).await;
    let ways: [Way; 2] = [
        ("sql", &|args| scene.bench.run(args)),
        ("http", &|args| scene.run(args)),
    ];
    for (way, run) in ways {
        let name = format!("nightly {way}");
        let name = name.as_str();
        let on = |verb: &str, options: &[&str]| run(&[&["schedule", verb, name], options].concat());
        let rule = ["--kind", "report", "--cron", "0 3 * * *", "--zone", "Europe/Berlin"];
        let said = on(
            "create",
            &[&rule[..], &["--start", "2099-01-01T12:00", "--jitter", "5m"]].concat(),
        )
        .ok();
        has(
            &said,
            &["Created schedule", "kind report", "Rule: at 03:00 (Europe/Berlin)."],
        );
        has(
            &said,
            &[
                "Fri 2099-01-02 03:00:00+01:00  (2099-01-02T02:00:00Z)",
                "Sun 2099-01-04",
            ],
        );
        assert_eq!(on("create", &rule).exit, 3, "there is one of that name");

        let changed = json(on(
            "update",
            &["--cron", "30 3 * * MON", "--default", "jitter", "--json"],
        ));
        assert_eq!(
            (&changed["outcome"], &changed["jitter_seconds"]),
            (&"updated".into(), &0.into())
        );
        has(&on("update", &["--overlap", "skip"]).ok(), &["is unchanged", "Monday"]);
        has(&on("preview", &["-n", "2"]).ok(), &["Mon 2099-01-05 03:30:00+01:00"]);
        assert_eq!(on("preview", &["-n", "2", "--quiet"]).ok().lines().count(), 2);
        let declared = on(
            "put",
            &[
                "--kind",
                "report",
                "--every",
                "90m",
                "--start",
                "2099-01-01",
                "--scope",
                "shop/7",
            ],
        );
        has(
            &declared.ok(),
            &["Changed schedule", "every 90 minutes", "Thu 2099-01-01 01:30:00Z"],
        );

        look(&scene.bench).await;
        let shown = on("show", &[]).ok();
        has(&shown, &["active", "every 90 minutes", "jobs of kind report", "shop/7"]);
        has(&shown, &["Thu 2099-01-01 00:00:00Z", "none yet"]);
        has(
            &run(&["schedule", "list"]).ok(),
            &[name, "every 1h30m", "2099-01-01 00:00:00Z"],
        );

        let told = on("pause", &["--note", "stock-taking", "--on-behalf-of", "ann"]).ok();
        has(&told, &["is paused since", &format!("tenure schedule resume '{name}'")]);
        has(&on("show", &[]).ok(), &["paused", "stock-taking"]);
        has(&on("preview", &[]).ok(), &["It is paused"]);
        on("resume", &[]).ok();

        let slot = json(on("run", &["--json"]));
        let job = text_of(&slot, "job_id");
        has(&on("run", &[]).ok(), &["does not run", "overlap", &job]);
        let slots = on("slots", &[]).ok();
        has(&slots, &["PLAN TIME", "running", "skipped", "overlap", "planned", &job]);
        let lines = on("slots", &["--state", "running", "--json"]).ok();
        assert_eq!(lines.lines().count(), 1, "{lines}");
        let plan_time = text_of(&slot, "plan_time").replace("+00:00", "Z");
        let why = on("explain", &["--at", &plan_time]).ok();
        has(&why, &["It runs: job", &format!("tenure job explain {job}")]);
        let early = on("delete", &[]);
        assert!(early.exit == 3 && early.err.starts_with("state_conflict"), "{early:?}");
        scene.bench.run(["job", "cancel", &job, "--reason", "never mind"]).ok();
        has(&on("explain", &["--at", &plan_time]).ok(), &["Its run was cancelled"]);
        has(&on("delete", &[]).ok(), &["Deleted schedule"]);
        let gone = on("show", &[]);
        assert!(gone.exit == 4 && gone.err.starts_with("schedule_unknown"), "{gone:?}");
    }
    has(&scene.bench.text(&["schedule", "list"]), &["There are no schedules"]);
}

#[tokio::test]
async fn schedules_read_over_http_as_over_sql() {
    let scene = Scene::with(&["--no-services"]).await;
    for (name, every) in [("a", "1h"), ("b/c d?", "1d")] {
        let words = ["schedule", "create", name, "--kind", "k", "--start", "2099-01-01T09:00"];
        scene
            .bench
            .run(words.iter().chain(&["--every", every, "--zone", "Asia/Tokyo"]))
            .ok();
    }
    scene.bench.run(["schedule", "run", "b/c d?"]).ok();
    scene.bench.run(["schedule", "run", "b/c d?"]).ok();
    look(&scene.bench).await;
    for args in [
        &["list"][..],
        &["list", "-n", "1"],
        &["list", "--after", "a"],
        &["show", "b/c d?"],
        &["preview", "b/c d?", "-n", "3"],
        &["slots", "b/c d?"],
        &["slots", "b/c d?", "-n", "1", "--state", "skipped"],
        &[
            "slots",
            "b/c d?",
            "--from",
            "2099-01-01T09:00",
            "--until",
            "2099-01-01T09:00",
        ],
        &["slots", "b/c d?", "--before", "2020-01-01T00:00:00Z"],
        &["explain", "b/c d?", "--at", "2099-01-01T09:00"],
        &["explain", "b/c d?", "--at", "2099-01-01T00:00:01Z"],
        &["show", "c"],
        &["slots", "a", "--state", "nonsense"],
        &["explain", "a", "--at", "nonsense"],
        &["backfill", "a", "--from", "2026-01-01", "--until", "2025-01-01"],
    ] {
        for format in [&[][..], &["--json"], &["--quiet"]] {
            let args = [&["schedule"], args, format].concat();
            let (http, sql) = (scene.run(&args), scene.bench.run(&args));
            assert_eq!(
                (http.exit, http.out, http.err),
                (sql.exit, sql.out, sql.err),
                "{args:?}"
            );
        }
    }
}

#[tokio::test]
async fn why_it_did_not_run_at_three_is_one_command() {
    let bench = Workbench::open().await;
    let rule = ["--kind", "report", "--cron", "0 3 * * *", "--zone", "Europe/Berlin"];
    bench.run(["schedule", "create", "nightly"].iter().chain(&rule)).ok();
    let explain = || bench.text(&["schedule", "explain", "nightly", "--at", "03:00"]);
    has(&explain(), &["nightly was made later"]);
    look(&bench).await;
    bench.text(&["schedule", "pause", "nightly", "--note", "stock-taking"]);
    bench.advance("1 day").await;
    look(&bench).await;
    has(
        &explain(),
        &["It was skipped: nightly was paused", "stock-taking", "asked"],
    );
    bench.text(&["schedule", "resume", "nightly"]);
    let told = bench.json(&["schedule", "explain", "nightly", "--at", "03:00"]);
    assert_eq!(told["verdict"], "skipped", "{told}");
    let at = text_of(&told["slot"], "plan_time");

    // What was skipped can be run after all: a dry run first.
    let backfill = [
        "schedule",
        "backfill",
        "nightly",
        "--from",
        &at,
        "--until",
        &at,
        "--stagger",
        "90s",
    ];
    let said = bench.text(&backfill);
    let command = format!("tenure {} --apply", backfill.join(" ").replace("90s", "1m30s"));
    has(&said, &["would run", "Dry run, nothing was changed: 1 of 1", &command]);
    has(&explain(), &["nightly was paused"]);
    let said = bench.run(backfill.iter().chain(&["--apply"])).ok();
    has(&said, &["runs", "planned", "1 of 1 slots are planned"]);
    look(&bench).await;
    has(&explain(), &["It runs: job", "is queued"]);
    has(&bench.text(&backfill), &["stands", "none of them would run"]);
    let (job, token) = bench.claim("report");
    bench.text(&["job", "complete", &job, &token, "--result", r#"{"rows_affected": 7}"#]);
    has(&explain(), &["It ran and succeeded", &job, "started", "ended"]);
    let shown = bench.text(&["schedule", "show", "nightly"]);
    has(
        &shown,
        &["at 03:00 (Europe/Berlin)", "last success", ": succeeded", "done at"],
    );
    let noon = bench.text(&["schedule", "explain", "nightly", "--at", "2099-06-01T12:00"]);
    has(&noon, &["has no slot then", "tenure schedule preview nightly"]);
}

#[test]
fn what_a_rule_means_is_told_without_a_database() {
    let run = |args: &[&str]| Answer::of(tenure().args(["schedule", "preview"]).args(args));
    let start = ["--zone", "Europe/Berlin", "--start", "2027-03-27T12:00"];
    let said = run(&[&["--cron", "30 2 * * *", "-n", "3"][..], &start].concat()).ok();
    has(
        &said,
        &[
            "Rule: at 02:30 (Europe/Berlin).",
            "Sun 2027-03-28 03:00:00+02:00",
            "Mon 2027-03-29 02:30:00+02:00",
        ],
    );
    let told = json(run(&[
        "--every",
        "1d",
        "--start",
        "2099-01-01T00:00:00Z",
        "--end",
        "2099-01-02T00:00:00Z",
        "--json",
    ]));
    assert_eq!(told["slots"].as_array().map(Vec::len), Some(2), "{told}");
    let ended = run(&["--every", "1d", "--end", "2020-01-01T00:00:00Z"]).ok();
    has(&ended, &["No slot will come."]);
    for (args, code) in [
        (&["--cron", "30 2 * *"][..], "expression_invalid"),
        (&["--every", "5s"], "expression_too_frequent"),
        (&["--cron", "@daily", "--zone", "Berlin"], "zone_unknown"),
        (&["--cron", "@daily", "-n", "0"], "number_out_of_range"),
        (&["--cron", "@daily", "--every", "1h"], "usage"),
        (&[], "usage"),
    ] {
        let command = || {
            let mut command = tenure();
            command.args(["schedule", "preview"]).args(args);
            command
        };
        check_refusal(command, code);
    }
}
