//! Time zone data that is newer than the program: slots follow it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::api::Api;
use crate::workbench::{Answer, Workbench, check_refusal, eventually, tenure};

/// Nine o'clock in Havana on a day in December: the clock there is five hours behind UTC, in the data below four.
const RULE: [&str; 6] = ["--cron", "0 9 15 12 *", "--zone", "America/Havana", "-n", "1"];
const CHANGED: &str = "T13:00:00Z";

/// A directory whose Havana is always four hours behind UTC, with or without a version.
fn zoneinfo(version: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("America")).expect("a folder");
    std::fs::write(folder.path().join("America/Havana"), tzif(-4 * 3600, "CDT", "CDT4")).expect("a file");
    if let Some(version) = version {
        let text = format!("# version {version}\n# This zic input file is in the public domain.\n");
        std::fs::write(folder.path().join("tzdata.zi"), text).expect("a file");
    }
    folder
}

/// A compiled zone (RFC 9636, version 2) of one offset.
fn tzif(offset: i32, name: &str, rule: &str) -> Vec<u8> {
    let chars = u32::try_from(name.len() + 1).expect("a short name");
    let mut block = b"TZif2".to_vec();
    block.extend([0; 15]);
    // UT and standard indicators, leap seconds, changes, kinds of local time, bytes of names.
    for count in [0, 0, 0, 0, 1, chars] {
        block.extend(count.to_be_bytes());
    }
    block.extend(offset.to_be_bytes());
    block.extend([0, 0]);
    block.extend(name.as_bytes());
    block.push(0);
    [&block[..], &block[..], format!("\n{rule}\n").as_bytes()].concat()
}

fn with(zones: &Path, args: &[&str]) -> Command {
    let mut command = tenure();
    command.env("TENURE_ZONEINFO", zones).args(args);
    command
}

/// When the rule has its next slot.
fn slot(command: &mut Command) -> String {
    Answer::of(command.args(["schedule", "preview", "--quiet"]).args(RULE)).ok()
}

#[test]
fn slots_follow_newer_time_zones_and_not_older_ones() {
    let bundled = slot(&mut tenure());
    for version in [None, Some("2999a")] {
        let newer = zoneinfo(version);
        let found = slot(&mut with(newer.path(), &[]));
        assert!(found.contains(CHANGED), "{version:?}: {found}");
        // A zone that the directory lacks comes from the program.
        let berlin = [
            "schedule",
            "preview",
            "--cron",
            "0 0 * * *",
            "--zone",
            "Europe/Berlin",
            "-n",
            "1",
        ];
        Answer::of(&mut with(newer.path(), &berlin)).ok();
    }
    let older = zoneinfo(Some("1999a"));
    assert_eq!(slot(&mut with(older.path(), &[])), bundled);
}

#[test]
fn the_long_version_says_which_time_zones_are_in_use() {
    let newer = zoneinfo(Some("2999a"));
    let said = Answer::of(&mut with(newer.path(), &["--version"])).ok();
    let place = newer.path().display().to_string();
    assert!(said.contains("time zones 2999a") && said.contains(&place), "{said}");
    let said = Answer::of(tenure().arg("--version")).ok();
    assert!(said.contains("time zones 20"), "{said}");
    assert_eq!(Answer::of(tenure().arg("-V")).ok().lines().count(), 1);
}

#[tokio::test]
async fn a_server_plans_its_slots_with_the_time_zones_it_was_given() {
    let bench = Workbench::open().await;
    let newer = zoneinfo(Some("2999a"));
    let folder = newer.path().to_str().expect("a path");
    let _server = Api::start_with(&bench, &["--zoneinfo", folder]);
    let spec = r#"{"cron": "0 9 15 12 *", "zone": "America/Havana", "kind": "report"}"#;
    bench
        .sql(&format!(
            "select tenure.schedule_create('havana', '{spec}') ->> 'state'"
        ))
        .await;
    let client = bench.database.connect().await.expect("connect");
    let planned = "select to_char(plan_time at time zone 'UTC', 'HH24:MI') from tenure.planned_slots";
    let slot = loop {
        if let Some(row) = client.query_opt(planned, &[]).await.expect("query") {
            break row.get::<_, String>(0);
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(slot, "13:00");
    let zones = || -> Option<Value> {
        let findings = bench.lines(&["doctor"]);
        findings.into_iter().find(|finding| finding["check"] == "zones")
    };
    eventually("the zones of the scheduler", || {
        let what = zones().expect("a finding")["what"].to_string();
        what.contains("schedulers 2999a").then_some(())
    });
}

#[tokio::test]
async fn a_directory_without_time_zones_is_refused() {
    let bench = Workbench::open().await;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a path");
    let serve = || bench.command(["serve", "--listen", "127.0.0.1:0", "--zoneinfo", folder]);
    let refusal = check_refusal(serve, "usage");
    assert!(
        refusal["what"].as_str().is_some_and(|what| what.contains(folder)),
        "{refusal}"
    );
}
