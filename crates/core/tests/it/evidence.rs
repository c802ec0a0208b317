use serde_json::{Value, json};
use tenure_core::evidence::{Evidence, Fault, Finding, PublicKey, SecretKey, sign, verify};

use crate::vectors;

/// The first key of RFC 8032, with which the vectors are signed.
pub(crate) fn key() -> SecretKey {
    SecretKey::from_pem(
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----",
    )
    .unwrap()
}

pub(crate) fn lines(name: &str) -> Vec<String> {
    vectors(&format!("evidence/{name}.jsonl"))
        .lines()
        .map(str::to_owned)
        .collect()
}

pub(crate) fn public() -> PublicKey {
    key().public_key()
}

/// What is found in a file that somebody signs who may sign: the lines as they are, but for one change.
pub(crate) fn found(name: &str, change: impl FnOnce(&mut Vec<String>)) -> Vec<Finding> {
    let mut lines = lines(name);
    change(&mut lines);
    verify(sign(&lines, &key()).as_bytes(), &public()).unwrap_err()
}

fn faults(findings: &[Finding]) -> Vec<(usize, Fault)> {
    findings.iter().map(|finding| (finding.line, finding.fault)).collect()
}

pub(crate) fn replace(lines: &mut [String], at: usize, from: &str, to: &str) {
    assert!(lines[at].contains(from), "{from} is not in {}", lines[at]);
    lines[at] = lines[at].replace(from, to);
}

/// Digests, chain and signature were worked out by another program.
#[test]
fn the_files_of_another_program_verify_and_ours_are_the_same() {
    for (name, events) in [("succeeded", 13), ("rejected", 5)] {
        let file = vectors(&format!("evidence/{name}.signed.jsonl"));
        let verified = verify(file.as_bytes(), &public()).unwrap();
        assert_eq!(verified.key_id, "21fe31dfa154a261");
        assert_eq!(verified.lines, file.lines().count());
        let evidence = &verified.evidence;
        assert_eq!((evidence.head.state.as_str(), evidence.events.len()), (name, events));
        assert_eq!(evidence.votes[0].text("principal"), Some("grace"));
        assert_eq!(sign(&lines(name), &key()), file);
        assert_eq!(&Evidence::read(file.as_bytes()).unwrap(), evidence);
    }
}

#[test]
fn a_file_by_another_key_is_refused_and_both_keys_are_named() {
    let other = SecretKey::from_seed(&[1; 32]);
    let file = sign(&lines("succeeded"), &other);
    let findings = verify(file.as_bytes(), &public()).unwrap_err();
    assert_eq!(faults(&findings), [(24, Fault::OtherKey)]);
    assert!(findings[0].what.contains(&other.public_key().id()), "{}", findings[0]);
    assert!(findings[0].expected.contains(&public().id()), "{}", findings[0]);
    // The id of the right key beside the bytes of another.
    let claims = file.replace(&other.public_key().id(), &public().id());
    assert_eq!(
        faults(&verify(claims.as_bytes(), &public()).unwrap_err()),
        [(24, Fault::OtherKey)]
    );
    // Key and id of the right one, and a signature of another.
    let claims = claims.replace(&other.public_key().to_base64(), &public().to_base64());
    assert_eq!(
        faults(&verify(claims.as_bytes(), &public()).unwrap_err()),
        [(24, Fault::SignatureWrong)]
    );
}

#[test]
fn a_truncated_file_is_refused() {
    let file = vectors("evidence/succeeded.signed.jsonl");
    let last = file.trim_end().rfind('\n').unwrap() + 1;
    for (to, line) in [
        (0, 1),
        (last, 23),
        (last - 1, 23),
        (last + 1, 24),
        (last + 30, 24),
        (file.len() - 1, 24),
    ] {
        let findings = verify(&file.as_bytes()[..to], &public()).unwrap_err();
        assert!(
            findings
                .iter()
                .any(|finding| (finding.line, finding.fault) == (line, Fault::Truncated)),
            "{to}: {findings:?}"
        );
        assert!(
            findings
                .iter()
                .all(|finding| finding.fault != Fault::Malformed || to == 0),
            "{findings:?}"
        );
    }
}

#[test]
fn a_file_that_was_converted_or_goes_on_is_refused() {
    let file = vectors("evidence/succeeded.signed.jsonl");
    let windows = file.replace('\n', "\r\n");
    assert_eq!(
        faults(&verify(windows.as_bytes(), &public()).unwrap_err()),
        [(1, Fault::Tampered)]
    );
    let longer = format!("{file}{}\n", r#"{"kind":"vote"}"#);
    assert_eq!(
        faults(&verify(longer.as_bytes(), &public()).unwrap_err()),
        [(25, Fault::Added)]
    );
    let spaced = file.replace(r#""algorithm":"#, r#""algorithm": "#);
    assert_eq!(
        faults(&verify(spaced.as_bytes(), &public()).unwrap_err()),
        [(24, Fault::Malformed)]
    );
    let further = file.replace(r#","signature":""#, r#","note":"","signature":""#);
    assert_eq!(
        faults(&verify(further.as_bytes(), &public()).unwrap_err()),
        [(24, Fault::Malformed)]
    );
    let other = file.replace("ed25519", "ed448");
    assert_eq!(
        faults(&verify(other.as_bytes(), &public()).unwrap_err()),
        [(24, Fault::SignatureWrong)]
    );
}

#[test]
fn a_version_that_is_not_known_is_all_that_is_told() {
    let version = |to: &str| found("succeeded", |lines| replace(lines, 0, "\"version\": 2", to));
    for other in ["3", "\"2\""] {
        assert_eq!(
            faults(&version(&format!("\"version\": {other}"))),
            [(1, Fault::VersionUnknown)]
        );
    }
    let older = version("\"version\": 1");
    assert_eq!(faults(&older), [(1, Fault::VersionUnknown)]);
    assert!(older[0].what.contains("do not follow from its events"), "{}", older[0]);
}

/// The digests may have been made anew: what was hashed before tells the line.
#[test]
fn without_a_signature_plan_and_chain_still_tell_the_line() {
    let mut lines = lines("succeeded");
    replace(&mut lines, 12, "grace", "mallory");
    replace(&mut lines, 1, "restart", "destroy");
    let findings = verify(sign(&lines, &SecretKey::from_seed(&[1; 32])).as_bytes(), &public()).unwrap_err();
    let faults = faults(&findings);
    for expected in [
        (2, Fault::PlanHashWrong),
        (13, Fault::ChainBroken),
        (24, Fault::OtherKey),
    ] {
        assert!(faults.contains(&expected), "{findings:#?}");
    }
}

#[test]
fn a_broken_chain_is_found_at_its_event() {
    let findings = found("succeeded", |lines| replace(lines, 18, "till-1", "till-9"));
    assert!(faults(&findings).contains(&(19, Fault::ChainBroken)), "{findings:#?}");
    assert!(findings.iter().any(|it| it.row.as_deref() == Some("event 9")));
    // The chain of one execution is not that of another.
    let findings = found("succeeded", |lines| {
        let other = "019c1d2e-0000-7000-8000-000000000009";
        replace(lines, 0, "019c1d2e-0000-7000-8000-000000000001", other);
        replace(lines, 2, "019c1d2e-0000-7000-8000-000000000001", other);
    });
    assert_eq!(faults(&findings), [(11, Fault::ChainBroken)]);
    let findings = found("succeeded", |lines| {
        let at = lines.len() - 1;
        let hash = lines[at].split("\"hash\": ").nth(1).unwrap().to_owned();
        replace(lines, at, &hash, "\"zz\"}");
    });
    assert_eq!(faults(&findings), [(23, Fault::ChainBroken)]);
    let findings = found("succeeded", |lines| {
        let at = lines[2].rfind("chain_hash").unwrap() + 14;
        lines[2].replace_range(at..at + 2, "zz");
    });
    assert_eq!(faults(&findings), [(23, Fault::ChainBroken)]);
    assert_eq!(findings[0].field.as_deref(), Some("chain_hash"));
}

#[test]
fn an_event_that_was_left_out_is_found() {
    let findings = found("succeeded", |lines| drop(lines.remove(12)));
    for expected in [(1, Fault::EventMissing), (13, Fault::EventMissing)] {
        assert!(faults(&findings).contains(&expected), "{findings:#?}");
    }
    let findings = found("succeeded", |lines| {
        replace(lines, 10, "\\\"seq\\\": 1,", "\\\"seq\\\": 18446744073709551615,");
    });
    assert!(faults(&findings).contains(&(11, Fault::EventMissing)), "{findings:#?}");
    // The number of events can be corrected in the first line, the hash that the execution keeps cannot.
    let findings = found("rejected", |lines| {
        lines.pop();
        replace(lines, 0, "\"events\": 5", "\"events\": 4");
    });
    assert!(faults(&findings).contains(&(11, Fault::ChainBroken)), "{findings:#?}");
}

/// Every statement follows from the plan and the events: whatever field of whatever line is changed, taken away or
/// added, the finding names the row and the field.
#[test]
fn every_field_of_every_line_is_compared_with_the_events() {
    for name in ["succeeded", "rejected"] {
        let lines = lines(name);
        let rows = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.starts_with("{\"kind\": \"event\""));
        for (at, line) in rows.filter(|(at, _)| *at != 1) {
            let row: Value = serde_json::from_str(line).unwrap();
            let fields: Vec<String> = row.as_object().unwrap().keys().cloned().collect();
            let own = ["kind", "version", "exported_at"];
            for field in fields.iter().filter(|field| !own.contains(&field.as_str())) {
                for changed in changes(&row, field) {
                    let findings = found(name, |lines| lines[at] = changed.to_string());
                    let named = |it: &Finding| it.field.as_deref() == Some(field) || it.fault == Fault::ChainBroken;
                    assert!(
                        findings.iter().any(named),
                        "{name}, line {}, {field}: {findings:#?}",
                        at + 1
                    );
                }
            }
            let mut more = row.clone();
            more["note"] = json!("new");
            let findings = found(name, |lines| lines[at] = more.to_string());
            let told =
                |it: &Finding| it.line == at + 1 && (it.field.as_deref() == Some("note") || it.what.contains("note"));
            assert!(findings.iter().any(told), "{name}, line {}: {findings:#?}", at + 1);
        }
    }
}

/// The row with another value in this field, and without it. The first line cannot be without one of its fields.
fn changes(row: &Value, field: &str) -> Vec<Value> {
    let mut other = row.clone();
    other[field] = match &row[field] {
        Value::Bool(is) => json!(!is),
        Value::Number(_) => json!(4711),
        Value::Array(_) => json!(["mallory"]),
        Value::Object(_) => json!({"other": 1}),
        _ if field.ends_with("_at") || field == "at" => json!("2026-01-31T09:00:00.000001Z"),
        _ => json!("019c1d2e-0000-7000-8000-0000000000ff"),
    };
    let mut without = row.clone();
    without.as_object_mut().unwrap().remove(field);
    match row["kind"].as_str() {
        Some("evidence") => vec![other],
        _ => vec![other, without],
    }
}

#[test]
fn a_time_may_be_written_with_another_offset() {
    let mut lines = lines("succeeded");
    replace(
        &mut lines,
        5,
        "2026-01-31T09:05:00Z",
        "2026-01-31T10:05:00.000000+01:00",
    );
    assert!(verify(sign(&lines, &key()).as_bytes(), &public()).is_ok());
}

#[test]
fn a_row_that_no_event_tells_and_one_that_is_left_out_are_found() {
    for (at, kind) in [(3, "step"), (5, "approval"), (6, "vote"), (8, "attempt")] {
        let findings = found("succeeded", |lines| drop(lines.remove(at)));
        assert!(
            findings.iter().any(|it| it.fault == Fault::RowMissing),
            "{kind}: {findings:#?}"
        );
        let findings = found("succeeded", |lines| lines.insert(at, lines[at].clone()));
        assert_eq!(faults(&findings), [(at + 2, Fault::RowUnknown)], "{kind}");
    }
    let findings = found("succeeded", |lines| replace(lines, 6, "\"grace\"", "\"mallory\""));
    assert_eq!(faults(&findings), [(7, Fault::RowDiffers)]);
    let shown = findings[0].to_string();
    assert!(shown.contains("\"mallory\"") && shown.contains("\"grace\""), "{shown}");
    assert_eq!(findings[0].field.as_deref(), Some("principal"));
}

#[test]
fn a_line_that_cannot_be_read_is_found_by_its_number() {
    for (at, line) in [
        (0, "{}"),
        (0, r#"{"kind": "evidence", "version": 2}"#),
        (1, "not json"),
        (1, r#"{"kind": "plan", "plan": 7}"#),
        (1, r#"{"kind": "plan", "plan": "{}", "note": ""}"#),
        (2, r#"{"kind": "step"}"#),
        (5, "[1]"),
        (5, r#"{"kind": "other"}"#),
        (6, ""),
        (6, r#"{"kind": "plan", "plan": ""}"#),
        (13, r#"{"kind": "event", "body": "{}", "hash": ""}"#),
        (13, r#"{"kind": "vote"}"#),
    ] {
        let findings = found("succeeded", |lines| lines[at] = line.to_owned());
        let expected = (at + 1, Fault::Malformed);
        assert!(faults(&findings).contains(&expected), "{line}: {findings:?}");
    }
    let deep = format!("{{\"kind\": {}1{}}}", "[".repeat(9999), "]".repeat(9999));
    let findings = found("succeeded", |lines| lines[4] = deep);
    assert!(faults(&findings).contains(&(5, Fault::Malformed)), "{findings:?}");
}

#[test]
fn a_finding_tells_line_and_expectation_in_one_line() {
    let file = vectors("evidence/rejected.signed.jsonl").replacen("Saturday", "Sunday", 1);
    let findings = verify(file.as_bytes(), &public()).unwrap_err();
    let text = findings[0].to_string();
    assert!(text.contains(": It was changed: its SHA-256 is "), "{text}");
    assert!(text.contains("Expected: "), "{text}");
    assert_eq!(text.lines().count(), 1);
}
