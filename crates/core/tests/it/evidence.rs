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

fn public() -> PublicKey {
    key().public_key()
}

/// What is found in a file that somebody signs who may sign: the lines as they are, but for one change.
fn found(name: &str, change: impl FnOnce(&mut Vec<String>)) -> Vec<Finding> {
    let mut lines = lines(name);
    change(&mut lines);
    verify(sign(&lines, &key()).as_bytes(), &public()).unwrap_err()
}

fn faults(findings: &[Finding]) -> Vec<(usize, Fault)> {
    findings.iter().map(|finding| (finding.line, finding.fault)).collect()
}

/// The number of the line that begins like this.
fn number_of(lines: &[String], start: &str) -> usize {
    lines.iter().position(|line| line.starts_with(start)).unwrap()
}

fn replace(lines: &mut [String], at: usize, from: &str, to: &str) {
    assert!(lines[at].contains(from), "{from} is not in {}", lines[at]);
    lines[at] = lines[at].replace(from, to);
}

/// Digests, chain and signature were worked out by another program.
#[test]
fn the_files_of_another_program_verify_and_ours_are_the_same() {
    for (name, events) in [("succeeded", 8), ("rejected", 4)] {
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
    assert_eq!(faults(&findings), [(18, Fault::OtherKey)]);
    assert!(findings[0].what.contains(&other.public_key().id()), "{}", findings[0]);
    assert!(findings[0].expected.contains(&public().id()), "{}", findings[0]);
    // The id of the right key beside the bytes of another.
    let claims = file.replace(&other.public_key().id(), &public().id());
    assert_eq!(
        faults(&verify(claims.as_bytes(), &public()).unwrap_err()),
        [(18, Fault::OtherKey)]
    );
    // Key and id of the right one, and a signature of another.
    let claims = claims.replace(&other.public_key().to_base64(), &public().to_base64());
    assert_eq!(
        faults(&verify(claims.as_bytes(), &public()).unwrap_err()),
        [(18, Fault::SignatureWrong)]
    );
}

#[test]
fn a_truncated_file_is_refused() {
    let file = vectors("evidence/succeeded.signed.jsonl");
    let last = file.trim_end().rfind('\n').unwrap() + 1;
    for (to, line) in [
        (0, 1),
        (last, 17),
        (last - 1, 17),
        (last + 1, 18),
        (last + 30, 18),
        (file.len() - 1, 18),
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
        [(19, Fault::Added)]
    );
    let spaced = file.replace(r#""algorithm":"#, r#""algorithm": "#);
    assert_eq!(
        faults(&verify(spaced.as_bytes(), &public()).unwrap_err()),
        [(18, Fault::Malformed)]
    );
    let further = file.replace(r#","signature":""#, r#","note":"","signature":""#);
    assert_eq!(
        faults(&verify(further.as_bytes(), &public()).unwrap_err()),
        [(18, Fault::Malformed)]
    );
    let other = file.replace("ed25519", "ed448");
    assert_eq!(
        faults(&verify(other.as_bytes(), &public()).unwrap_err()),
        [(18, Fault::SignatureWrong)]
    );
}

#[test]
fn a_version_that_is_not_known_is_all_that_is_told() {
    let version = |to: &str| found("succeeded", |lines| replace(lines, 0, "\"version\": 1", to));
    assert_eq!(faults(&version("\"version\": 2")), [(1, Fault::VersionUnknown)]);
    assert_eq!(faults(&version("\"version\": \"1\"")), [(1, Fault::VersionUnknown)]);
}

/// The digests may have been made anew: what was hashed before tells the line.
#[test]
fn without_a_signature_plan_and_chain_still_tell_the_line() {
    let mut lines = lines("succeeded");
    replace(&mut lines, 11, "grace", "mallory");
    replace(&mut lines, 1, "restart", "destroy");
    let findings = verify(sign(&lines, &SecretKey::from_seed(&[1; 32])).as_bytes(), &public()).unwrap_err();
    assert_eq!(
        faults(&findings),
        [
            (2, Fault::PlanHashWrong),
            (12, Fault::ChainBroken),
            (18, Fault::OtherKey)
        ]
    );
    assert!(findings[1].what.contains("event 3"), "{}", findings[1]);
}

#[test]
fn a_plan_that_is_not_the_one_of_the_hash_is_found() {
    let findings = found("succeeded", |lines| replace(lines, 1, "till", "safe"));
    assert_eq!(faults(&findings), [(2, Fault::PlanHashWrong)]);
    assert!(findings[0].expected.starts_with("20895a93"), "{}", findings[0]);
}

#[test]
fn a_broken_chain_is_found_at_its_event() {
    let findings = found("succeeded", |lines| {
        let at = number_of(lines, "{\"kind\": \"event\"") + 5;
        replace(lines, at, "till-1", "till-9");
    });
    assert_eq!(faults(&findings), [(15, Fault::ChainBroken)]);
    assert!(findings[0].what.contains("event 6"), "{}", findings[0]);
    // The chain of one execution is not that of another.
    let findings = found("succeeded", |lines| {
        let other = "019c1d2e-0000-7000-8000-000000000009";
        replace(lines, 0, "019c1d2e-0000-7000-8000-000000000001", other);
        replace(lines, 2, "019c1d2e-0000-7000-8000-000000000001", other);
    });
    assert_eq!(faults(&findings), [(10, Fault::ChainBroken)]);
    let findings = found("succeeded", |lines| {
        let at = lines.len() - 1;
        let hash = lines[at].split("\"hash\": ").nth(1).unwrap().to_owned();
        replace(lines, at, &hash, "\"zz\"}");
    });
    assert_eq!(faults(&findings), [(17, Fault::ChainBroken)]);
}

#[test]
fn an_event_that_was_left_out_is_found() {
    let findings = found("succeeded", |lines| drop(lines.remove(11)));
    assert_eq!(faults(&findings), [(1, Fault::EventMissing), (12, Fault::EventMissing)]);
    assert!(
        findings[1].what.contains("event 4") && findings[1].expected == "event 3",
        "{}",
        findings[1]
    );
    let findings = found("succeeded", |lines| {
        replace(lines, 9, "\\\"seq\\\": 1,", "\\\"seq\\\": 18446744073709551615,");
    });
    assert_eq!(findings[0].fault, Fault::EventMissing);
    let findings = found("succeeded", |lines| drop(lines.pop()));
    assert_eq!(
        faults(&findings),
        [
            (1, Fault::EventMissing),
            (1, Fault::StateOther),
            (16, Fault::ChainBroken)
        ]
    );
    // Whoever also corrects the first line does not know the hash that the execution keeps.
    let findings = found("rejected", |lines| {
        lines.pop();
        replace(lines, 0, "\"events\": 4", "\"events\": 3");
    });
    assert!(faults(&findings).contains(&(10, Fault::ChainBroken)), "{findings:?}");
}

#[test]
fn a_decision_about_another_plan_is_found() {
    let other = "0".repeat(64);
    let hash = "20895a9397e466a8877e4c2e306d45aa12ce2afaad711dd35960456ca0764fb5";
    let findings = found("succeeded", |lines| replace(lines, 6, hash, &other));
    assert_eq!(faults(&findings), [(7, Fault::OtherPlan)]);
    assert!(
        findings[0].what.contains(&other) && findings[0].expected.contains(hash),
        "{}",
        findings[0]
    );
    let findings = found("succeeded", |lines| replace(lines, 5, hash, &other));
    assert_eq!(faults(&findings), [(6, Fault::OtherPlan)]);
    let findings = found("rejected", |lines| replace(lines, 6, "00a1", "00a2"));
    assert_eq!(faults(&findings), [(7, Fault::Contradiction)]);
}

#[test]
fn a_start_without_a_used_approval_is_found() {
    for (at, from, to) in [
        (5, "\"consumed_at\": \"2026-01-31T09:05:00Z\"", "\"consumed_at\": null"),
        (5, "\"approved\"", "\"expired\""),
        (5, "\"step_id\": null", "\"step_id\": \"restart\""),
        (5, "\"quorum\": 1", "\"quorum\": 2"),
        (5, "\"level\": 1", "\"level\": 0"),
        (2, "\"approval_level\": 1", "\"approval_level\": 2"),
        (6, "\"approve\"", "\"reject\""),
        (6, "\"kind\": \"vote\"", "\"kind\": \"other\""),
    ] {
        let findings = found("succeeded", |lines| replace(lines, at, from, to));
        assert_eq!(faults(&findings), [(3, Fault::Unapproved)], "{to}");
    }
    // A rule that decides alone needs nobody.
    let mut lines = lines("succeeded");
    replace(&mut lines, 5, "\"auto_approved\": false", "\"auto_approved\": true");
    lines.remove(6);
    assert!(verify(sign(&lines, &key()).as_bytes(), &public()).is_ok());
}

#[test]
fn a_step_that_is_not_what_its_events_say_is_found() {
    for (from, to) in [
        ("\"state\": \"succeeded\"", "\"state\": \"failed\""),
        ("\"state\": \"succeeded\"", "\"state\": \"running\""),
        ("\"step_id\": \"restart\"", "\"step_id\": \"other\""),
    ] {
        let findings = found("succeeded", |lines| replace(lines, 3, from, to));
        assert_eq!(faults(&findings), [(4, Fault::Contradiction)], "{to}");
    }
}

#[test]
fn who_stands_behind_two_votes_counts_once() {
    let two = |own: &str| {
        let mut lines = lines("succeeded");
        replace(&mut lines, 5, "\"quorum\": 1", "\"quorum\": 2");
        let other = lines[6]
            .replace("\"grace\"", "\"bob\"")
            .replace("\"source\"", &format!("{own}\"source\""));
        lines.insert(7, other);
        match verify(sign(&lines, &key()).as_bytes(), &public()) {
            Ok(_) => Vec::new(),
            Err(findings) => faults(&findings),
        }
    };
    assert_eq!(two(""), []);
    assert_eq!(two("\"auth_makers\": [\"root\"], "), []);
    for own in ["\"auth_makers\": [\"grace\"], ", "\"on_behalf_of\": \"grace\", "] {
        assert_eq!(two(own), [(3, Fault::Unapproved)], "{own}");
    }
}

#[test]
fn a_step_of_level_three_needs_an_approval_of_its_own() {
    let level = ("\"approval_level\": 1", "\"approval_level\": 3");
    let findings = found("succeeded", |lines| replace(lines, 3, level.0, level.1));
    assert_eq!(faults(&findings), [(4, Fault::Unapproved)]);
    let mut lines = lines("succeeded");
    replace(&mut lines, 3, level.0, level.1);
    for line in [lines[5].clone(), lines[6].clone()] {
        let own = line
            .replace("00a1", "00a2")
            .replace("\"step_id\": null", "\"step_id\": \"restart\"");
        lines.insert(7, own);
    }
    assert!(verify(sign(&lines, &key()).as_bytes(), &public()).is_ok());
}

#[test]
fn who_approved_a_plan_of_their_own_is_found() {
    let findings = found("succeeded", |lines| replace(lines, 6, "\"grace\"", "\"ada\""));
    assert_eq!(faults(&findings), [(7, Fault::SelfApproved)]);
    let findings = found("succeeded", |lines| {
        replace(lines, 2, "\"rule\"", "\"on_behalf_of\": \"grace\", \"rule\"")
    });
    assert_eq!(faults(&findings), [(7, Fault::SelfApproved)]);
    // By a key of their making it could be they.
    let findings = found("succeeded", |lines| {
        replace(lines, 6, "\"source\"", "\"auth_makers\": [\"ada\"], \"source\"")
    });
    assert_eq!(faults(&findings), [(7, Fault::SelfApproved)]);
    // Also who had asked for what this one retries.
    let findings = found("succeeded", |lines| {
        replace(lines, 2, "\"rule\"", "\"requesters\": [\"ada\", \"grace\"], \"rule\"")
    });
    assert_eq!(faults(&findings), [(7, Fault::SelfApproved)]);
}

#[test]
fn a_state_that_the_events_do_not_say_is_found() {
    let findings = found("rejected", |lines| {
        replace(lines, 0, "\"rejected\"", "\"approved\"");
        replace(lines, 2, "\"rejected\"", "\"approved\"");
    });
    assert_eq!(faults(&findings), [(1, Fault::StateOther)]);
    assert!(findings[0].expected.contains("event 4 in line 11"), "{}", findings[0]);
    let findings = found("rejected", |lines| replace(lines, 2, "\"rejected\"", "\"approved\""));
    assert_eq!(faults(&findings), [(3, Fault::StateOther)]);
}

#[test]
fn a_line_that_cannot_be_read_is_found_by_its_number() {
    for (at, line) in [
        (0, "{}"),
        (0, r#"{"kind": "evidence", "version": 1}"#),
        (1, "not json"),
        (1, r#"{"kind": "plan", "plan": 7}"#),
        (2, r#"{"kind": "step"}"#),
        (5, "[1]"),
        (6, ""),
        (6, r#"{"kind": "plan", "plan": ""}"#),
        (12, r#"{"kind": "event", "body": "{}", "hash": ""}"#),
        (12, r#"{"kind": "vote"}"#),
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
    assert!(text.starts_with("line 7: It was changed: its SHA-256 is "), "{text}");
    assert!(text.contains("Expected: 07838f60e7bb4f93"), "{text}");
    assert_eq!(text.lines().count(), 1);
}
