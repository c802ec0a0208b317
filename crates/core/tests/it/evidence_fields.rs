//! Every member of every line is compared: none can be added, repeated, emptied or moved, even by who can sign.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tenure_core::anchor;
use tenure_core::evidence::{Fault, Finding, sign, verify};

use crate::evidence::{key, lines, public};

/// The findings in the file with these lines, signed.
fn found(lines: &[String]) -> Vec<Finding> {
    verify(sign(lines, &key()).as_bytes(), &public())
        .err()
        .unwrap_or_default()
}

fn place(lines: &[String], kind: &str) -> usize {
    let is_it = |line: &String| serde_json::from_str::<Value>(line).expect("JSON")["kind"] == kind;
    lines.iter().position(is_it).expect("a line of this kind")
}

/// The findings after a change of the first line of a kind.
fn changed(kind: &str, change: impl FnOnce(&mut Value)) -> Vec<Finding> {
    let mut lines = lines("succeeded");
    let at = place(&lines, kind);
    let mut line: Value = serde_json::from_str(&lines[at]).expect("JSON");
    change(&mut line);
    lines[at] = line.to_string();
    found(&lines)
}

fn hex(text: &str) -> String {
    let bytes = Sha256::digest(text);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_result_is_text_and_its_hash_is_not_stated_beside_it() {
    let stated = |line: &mut Value| {
        let result = line["result"].as_str().expect("a result").to_owned();
        line["result_hash"] = json!(hex(&result));
        line["result_bytes"] = json!(result.len());
    };
    // One that has a result, after one without.
    let at = lines("succeeded")
        .iter()
        .position(|line| line.contains("\"result\""))
        .expect("a result");
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut lines = lines("succeeded");
        let mut line: Value = serde_json::from_str(&lines[at]).expect("JSON");
        change(&mut line);
        lines[at] = line.to_string();
        found(&lines)
    };
    let changes: [&dyn Fn(&mut Value); 4] = [
        &|line| line["result"] = json!({"lie": true}),
        &|line| {
            stated(line);
            line["result"] = json!({"lie": true});
        },
        &|line| {
            stated(line);
            line.as_object_mut().expect("an object").remove("result");
        },
        &stated,
    ];
    for (change, n) in changes.iter().zip(1..) {
        let findings = changed(change);
        assert!(
            findings.iter().any(|it| it.fault == Fault::RowDiffers),
            "{n}: {findings:?}"
        );
    }
}

#[test]
fn a_field_without_a_value_is_left_out() {
    for kind in ["execution", "step", "approval", "vote", "attempt"] {
        for field in ["bogus", "retry_of", "comment_of", "error_class"] {
            let findings = changed(kind, |line| line[field] = Value::Null);
            assert_eq!(findings.len(), 1, "{kind}.{field}: {findings:?}");
            assert_eq!(findings[0].fault, Fault::RowDiffers);
        }
    }
}

#[test]
fn a_member_that_is_there_twice_is_refused() {
    for (at, from, to) in [
        (0, "\"state\"", "\"state\": \"failed\", \"state\""),
        (1, "\"plan\": \"", "\"plan\": \"{}\", \"plan\": \""),
        (3, "\"state\"", "\"state\": \"failed\", \"state\""),
        (3, "\"payload\": {", "\"payload\": {\"a\": 1, \"a\": 2, "),
        (12, "\\\"data\\\"", "\\\"data\\\": {}, \\\"data\\\""),
    ] {
        let mut lines = lines("succeeded");
        assert!(lines[at].contains(from), "{from} is not in {}", lines[at]);
        lines[at] = lines[at].replacen(from, to, 1);
        let findings = found(&lines);
        let is_it = |it: &Finding| it.fault == Fault::Malformed && it.line == at + 1;
        assert!(findings.iter().any(is_it), "line {}: {findings:?}", at + 1);
    }
}

#[test]
fn an_event_has_no_other_members() {
    let mut lines = lines("succeeded");
    let at = place(&lines, "event");
    for member in ["extra", "line", "hash"] {
        lines[at] = lines[at].replacen("{\\\"seq\\\"", &format!("{{\\\"{member}\\\": 1, \\\"seq\\\""), 1);
        assert!(found(&lines).iter().any(|it| it.fault == Fault::Malformed), "{member}");
    }
}

#[test]
fn rows_stand_in_the_order_of_their_kinds() {
    for (one, other) in [
        ("step", "vote"),
        ("approval", "attempt"),
        ("vote", "attempt"),
        ("step", "approval"),
    ] {
        let mut lines = lines("succeeded");
        let (first, second) = (place(&lines, one), place(&lines, other));
        lines.swap(first, second);
        assert!(
            found(&lines).iter().any(|it| it.fault == Fault::Malformed),
            "{one} and {other}"
        );
    }
}

#[test]
fn a_checkpoint_has_no_other_members_and_none_twice_and_the_key_that_it_names() {
    let text = include_str!("../../testdata/anchors/checkpoints.jsonl");
    for (from, to, fault) in [
        ("{\"kind\"", "{\"extra\":1,\"kind\"", anchor::Fault::Malformed),
        ("{\"kind\"", "{\"number\":1,\"kind\"", anchor::Fault::Malformed),
        ("\"public_key\":\"11q", "\"public_key\":\"12q", anchor::Fault::OtherKey),
    ] {
        let changed = text.replacen(from, to, 1);
        let findings = anchor::check(changed.as_bytes(), &[public()]).expect_err(to);
        assert_eq!((findings[0].line, findings[0].fault), (1, fault), "{findings:?}");
    }
}
