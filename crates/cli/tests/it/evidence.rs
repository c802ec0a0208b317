//! `tenure evidence verify` and `show`, without a database.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::workbench::{Answer, check_refusal, tenure};

/// The public half of the key with which the vectors of the core are signed.
const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const KEY_PEM: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
";
/// Of another key.
const OTHER: &str = "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";

fn command(args: &[&str]) -> Command {
    let mut command = tenure();
    command.args(args);
    command
}

fn vector(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../core/testdata/evidence/{name}.signed.jsonl"));
    path.to_str().unwrap().to_owned()
}

/// A new file with this text.
pub(crate) fn written(directory: &Path, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn piped(args: &[&str], input: &[u8]) -> Answer {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn a_genuine_file_verifies_with_the_key_in_every_form() {
    let directory = tempfile::tempdir().unwrap();
    let file = vector("succeeded");
    let base64 = written(directory.path(), "key.txt", format!("{KEY}\n"));
    let pem = written(directory.path(), "key.pem", KEY_PEM);
    for key in [KEY, KEY_PEM, &base64, &pem] {
        let said = Answer::of(&mut command(&["evidence", "verify", &file, "--public-key", key])).ok();
        for part in [
            "verifies: execution 019c1d2e-0000-7000-8000-000000000001 of the tenant default, succeeded.",
            "signature  Ed25519 by the key 21fe31dfa154a261",
            "events     13 events, numbered without a gap",
            "rows       every field of 9 lines follows from the plan and the events",
            "start      allowed: 1 approval used up",
        ] {
            assert!(said.contains(part), "{part} is not in\n{said}");
        }
    }
    let verify = ["evidence", "verify", "-", "--public-key", KEY];
    let text = std::fs::read(&file).unwrap();
    assert!(piped(&verify, &text).ok().starts_with("The evidence verifies: "));
    assert_eq!(piped(&[&verify[..], &["--quiet"]].concat(), &text).ok(), "verified\n");
    let answer: Value = serde_json::from_str(&piped(&[&verify[..], &["--json"]].concat(), &text).ok()).unwrap();
    assert_eq!((&answer["verified"], &answer["lines"]), (&true.into(), &24.into()));
    assert_eq!(answer["key_id"], "21fe31dfa154a261");
    assert_eq!(answer["checks"].as_array().unwrap().len(), 9);
}

#[test]
fn what_was_tampered_with_is_refused_and_each_line_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(vector("rejected")).unwrap();
    // In the vote and in its event.
    let changed = text.replace("\"comment\": \"not on a Saturday", "\"comment\": \"not on a Sunday");
    let changed = changed.replace(
        "\\\"comment\\\": \\\"not on a Saturday",
        "\\\"comment\\\": \\\"not on a Sunday",
    );
    let tampered = written(directory.path(), "tampered", changed);
    let verify = |file: &str, key: &str| command(&["evidence", "verify", file, "--public-key", key]);

    let people = Answer::of(&mut verify(&tampered, KEY));
    assert_eq!((people.exit, people.out.as_str()), (3, ""), "{people:?}");
    let lines: Vec<&str> = people.err.lines().collect();
    assert!(lines[0].starts_with("evidence_invalid: ") && lines[0].ends_with("does not verify: 2 findings."));
    assert!(lines[1].starts_with("  why:  line 7: It was changed"), "{people:?}");
    assert!(lines[2].starts_with("        line 10: It was changed"), "{people:?}");
    assert!(lines[3].starts_with("  next: ") && lines.len() == 4, "{people:?}");

    let program = Answer::of(verify(&tampered, KEY).arg("--json"));
    let refusal: Value = serde_json::from_str(&program.out).unwrap();
    assert_eq!((program.exit, &refusal["code"]), (3, &"evidence_invalid".into()));
    let finding = &refusal["findings"][0];
    assert_eq!((&finding["line"], &finding["fault"]), (&7.into(), &"tampered".into()));

    for (name, text, line) in [
        (
            "deleted",
            text.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>(),
            "line 1: ",
        ),
        (
            "cut",
            text[..text.len() - 20].to_owned(),
            "line 13: The file is cut off",
        ),
        ("empty", String::new(), "line 1: The file is empty."),
        ("other", "[database]\nurl = 1\n".to_owned(), "line 1: Cannot be read"),
    ] {
        let file = written(directory.path(), name, text);
        let refusal = check_refusal_of_file(&file, KEY);
        assert!(refusal["why"].as_str().unwrap().contains(line), "{refusal}");
    }
    let refusal = check_refusal_of_file(&vector("rejected"), OTHER);
    assert!(
        refusal["why"].as_str().unwrap().contains("21fe31dfa154a261"),
        "{refusal}"
    );
}

/// As any other refusal, but that `why` may have several lines.
fn check_refusal_of_file(file: &str, key: &str) -> Value {
    let args = ["evidence", "verify", file, "--public-key", key, "--json"];
    let answer = Answer::of(&mut command(&args));
    assert_eq!(answer.exit, 3, "{answer:?}");
    let refusal: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(refusal["code"], "evidence_invalid", "{refusal}");
    let told = refusal["why"].as_str().unwrap().lines().count();
    assert_eq!(told, refusal["findings"].as_array().unwrap().len(), "{refusal}");
    refusal
}

#[test]
fn bytes_that_are_no_text_are_refused_by_their_line() {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(vector("rejected")).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 20;
    bytes[second] = 0xff;
    let file = written(directory.path(), "binary", bytes);
    let refusal = check_refusal_of_file(&file, KEY);
    assert_eq!(refusal["findings"][0]["line"], 2);
}

#[test]
fn what_is_no_key_or_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = vector("succeeded");
    let verify = |file: &str, key: &str| {
        let (file, key) = (file.to_owned(), key.to_owned());
        move || command(&["evidence", "verify", &file, "--public-key", &key])
    };
    let secret = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
    let (secret, note) = (
        written(directory.path(), "secret.pem", secret),
        written(directory.path(), "note", "not a key"),
    );
    for key in ["nonsense", "", &secret, &note, &file] {
        check_refusal(verify(&file, key), "usage");
    }
    let refusal = check_refusal(verify(&file, &secret), "usage");
    assert!(refusal["why"].as_str().unwrap().contains("secret key"), "{refusal}");
    assert!(!refusal.to_string().contains("nWGxne"), "{refusal}");
    check_refusal(verify("/nonexistent", KEY), "usage");
    check_refusal(|| command(&["evidence", "verify", &file]), "usage");
}

#[test]
fn the_story_is_told_and_it_is_said_whether_it_was_checked() {
    let file = vector("rejected");
    let told = Answer::of(&mut command(&["evidence", "show", &file])).ok();
    assert!(told.starts_with("NOT VERIFIED: "), "{told}");
    assert!(told.contains("grace rejected it under the rule “changes”."), "{told}");
    let told = Answer::of(&mut command(&["evidence", "show", &file, "--public-key", KEY])).ok();
    assert!(
        told.starts_with("Verified: signed with the key 21fe31dfa154a261"),
        "{told}"
    );

    let story = |more: &[&str]| -> Value {
        let args = [&["evidence", "show", &file, "--json"], more].concat();
        serde_json::from_str(&Answer::of(&mut command(&args)).ok()).unwrap()
    };
    let unchecked = story(&[]);
    assert_eq!(
        (&unchecked["verified"], &unchecked["key_id"]),
        (&false.into(), &Value::Null)
    );
    assert_eq!(unchecked["votes"][0]["decision"], "reject");
    assert_eq!(unchecked["events"].as_array().unwrap().len(), 5);
    assert_eq!(unchecked["rules"]["changes"]["updated_by"], "root");
    assert_eq!(story(&["--public-key", KEY])["verified"], true);

    let changed = std::fs::read_to_string(&file).unwrap().replace("Saturday", "Sunday");
    let shown = piped(&["evidence", "show", "-", "--public-key", KEY], changed.as_bytes());
    assert!(
        shown.exit == 3 && shown.out.is_empty() && shown.err.contains("line 3"),
        "{shown:?}"
    );
    assert!(
        piped(&["evidence", "show", "-"], b"nonsense\n")
            .err
            .starts_with("evidence_invalid: ")
    );
}

/// What an auditor reads, to the letter.
#[test]
fn an_auditor_is_told_who_asked_who_allowed_it_under_which_rule_and_what_came_of_it() {
    for name in ["succeeded", "rejected"] {
        let told = Answer::of(&mut command(&["evidence", "show", &vector(name), "--public-key", KEY])).ok();
        insta::assert_snapshot!(format!("evidence_show_{name}"), told);
    }
}

/// One page, without a script and without anything that is fetched, in which nothing of the file is markup.
#[test]
fn the_page_for_an_auditor_is_self_contained_and_escaped() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("page.html");
    let out = out.to_str().unwrap();
    let show = |file: &str, out: &str| Answer::of(&mut command(&["evidence", "show", file, "--html", out]));
    let said = show(&vector("succeeded"), out).ok();
    assert!(said.contains(out), "{said}");
    let page = std::fs::read_to_string(out).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for part in [
        "restart the café&#39;s till",
        "API key tnr_7hq2",
        "Set by",
        "no route to the till",
        "NOT VERIFIED",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    for part in ["<script", "http-equiv=\"refresh", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(part), "{part} is in\n{page}");
    }
    // Nothing is written over.
    assert!(show(&vector("succeeded"), out).err.starts_with("usage: "));

    let text = std::fs::read_to_string(vector("rejected")).unwrap();
    let text = text.replace("not on a Saturday", "<img src=x onerror=alert(1)> & ");
    let file = written(directory.path(), "marked", text);
    let page = show(&file, "-").ok();
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt; &amp; "), "{page}");
    assert!(!page.contains("<img"), "{page}");
}
