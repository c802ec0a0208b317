//! `tenure plan`, without a database.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::workbench::{Answer, check_refusal, tenure};

fn command(args: &[&str]) -> Command {
    let mut command = tenure();
    command.args(args);
    command
}

fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/plans/{name}.json"));
    path.to_str().unwrap().to_owned()
}

fn json(args: &[&str]) -> Value {
    let text = Answer::of(command(args).arg("--json")).ok();
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// A file with this text, and its path.
fn file(text: &[u8]) -> (tempfile::NamedTempFile, String) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let path = file.path().to_str().unwrap().to_owned();
    (file, path)
}

fn piped(args: &[&str], input: &str) -> Answer {
    let mut command = command(args);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn a_valid_plan_is_called_valid_with_its_counts() {
    let path = example("deploy-shop");
    let said = Answer::of(&mut command(&["plan", "check", &path])).ok();
    assert!(
        said.contains("is valid: 6 steps (2 read, 1 modify, 3 deploy) on 5 targets, 5 levels deep"),
        "{said}"
    );
    let checked = json(&["plan", "check", &path]);
    assert_eq!((&checked["valid"], &checked["step_count"]), (&true.into(), &6.into()));
    assert_eq!(checked["action_classes"]["deploy"], 3);
    let word = Answer::of(&mut command(&["plan", "check", &path, "--quiet"])).ok();
    assert_eq!(word, "valid\n");
}

#[test]
fn the_hash_is_that_of_the_canonical_text_however_it_is_written() {
    use sha2::{Digest, Sha256};

    let path = example("restart-web-tier");
    let said = Answer::of(&mut command(&["plan", "hash", &path])).ok();
    let answer = json(&["plan", "hash", &path]);
    assert_eq!(answer["plan_hash"], said.trim());
    let canonical = answer["canonical"].as_str().unwrap();
    let digest = Sha256::digest(canonical.as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(said.trim(), digits);
    assert_eq!(piped(&["plan", "hash", "-"], canonical).ok(), said);
}

#[test]
fn a_plan_is_shown_by_level_with_what_goes_without_saying() {
    let path = example("restart-web-tier");
    let shown = Answer::of(&mut command(&["plan", "show", &path])).ok();
    let place = |part: &str| shown.find(part).unwrap_or_else(|| panic!("{part} is not in\n{shown}"));
    assert!(shown.contains("\nDEPTH  STEP"), "{shown}");
    assert!(place("\n0      drain web-1") < place("\n1      restart web-1") && place("\n7      admit web-2") > 0);
    assert!(shown.contains("6 modify") && shown.contains("15m"), "{shown}");
    assert!(
        shown.contains("host:web-1  drain web-1, restart web-1, admit web-1"),
        "{shown}"
    );

    let deploy = Answer::of(&mut command(&["plan", "show", &example("deploy-shop")])).ok();
    for part in [
        "deploy.container",
        "registry.example/shop:4.2",
        "Restore the backup",
        "git:shop@4.2",
    ] {
        assert!(deploy.contains(part), "{part} is not in\n{deploy}");
    }

    let told = json(&["plan", "show", &path]);
    assert_eq!(
        (&told["mode"], &told["priority"]),
        (&"background".into(), &"normal".into())
    );
    let restart = &told["steps"][1];
    assert_eq!(
        (&restart["effects"], &restart["attempts_max"]),
        (&"once".into(), &1.into())
    );
    assert_eq!(
        (&restart["kind"], &restart["needs"][0]),
        (&"host.restart".into(), &"drain web-1".into())
    );
    assert_eq!(told["critical_path"]["timeout_seconds"], 900);
    let names = Answer::of(&mut command(&["plan", "show", &path, "--quiet"])).ok();
    assert_eq!(names.lines().next_back(), Some("admit web-2"));
}

#[test]
fn a_wrong_plan_is_refused_with_the_place() {
    let whole = std::fs::read_to_string(example("restart-web-tier")).unwrap();
    for (from, to, code, place) in [
        (
            "\"drain web-1\"]",
            "\"drian web-1\"]",
            "plan_invalid",
            "steps[1].needs[0]",
        ),
        ("\"purpose\"", "\"purpos\"", "plan_invalid", "purpos "),
        (
            "\"/health\"",
            "\"/health\", \"Token\": 1",
            "payload_forbidden_key",
            "steps[2].payload.Token",
        ),
        ("300", "0", "number_out_of_range", "steps[1].timeout_seconds"),
        (
            "300",
            "9007199254740993",
            "number_out_of_range",
            "steps[1].timeout_seconds",
        ),
        ("\"stop\"", "\"halt\"", "value_unknown", "on_step_failure"),
        (
            "[\"drain web-1\"]",
            "[\"admit web-2\"]",
            "plan_cycle",
            "steps[1].needs[0]",
        ),
    ] {
        let (_file, path) = file(whole.replacen(from, to, 1).as_bytes());
        for verb in ["check", "hash", "show"] {
            let refusal = check_refusal(|| command(&["plan", verb, &path]), code);
            assert!(refusal["what"].as_str().unwrap().starts_with(place), "{refusal}");
        }
    }
    let cycle = whole.replacen("[\"drain web-1\"]", "[\"admit web-1\"]", 1);
    let refused = piped(&["plan", "check", "-"], &cycle);
    assert!(
        refused
            .err
            .contains("restart web-1 → admit web-1 → check web-1 → restart web-1"),
        "{refused:?}"
    );
}

#[test]
fn what_is_no_text_or_no_file_is_refused() {
    check_refusal(|| command(&["plan", "check", "/nonexistent/plan.json"]), "usage");
    check_refusal(|| command(&["plan", "check", "/"]), "usage");
    check_refusal(|| command(&["plan", "check"]), "usage");
    let (_binary, path) = file(b"{\"purpose\": \"\xff\"}");
    check_refusal(|| command(&["plan", "check", &path]), "text_invalid");
    let (_huge, path) = file(&vec![b' '; 2_000_000]);
    check_refusal(|| command(&["plan", "check", &path]), "plan_too_large");
    let (_empty, path) = file(b"");
    check_refusal(|| command(&["plan", "check", &path]), "plan_invalid");
}

#[test]
fn a_plan_that_lacks_a_field_leads_to_the_schema() {
    let (_kept, path) = file(b"{\"purpose\": \"p\"}");
    let refusal = check_refusal(|| command(&["plan", "check", &path]), "plan_invalid");
    assert_eq!(refusal["next"], "Add it; tenure plan schema describes every field.");
    let printed: Value = serde_json::from_str(&Answer::of(&mut command(&["plan", "schema"])).ok()).unwrap();
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.schema.json");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    assert_eq!(printed, kept);
}
