//! Chains that were made anew: their hashes are right, and what they tell was not allowed, or is not what the rows say.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tenure_core::evidence::{Fault, Finding, sign, verify};

use crate::evidence::{found, key, lines, public, replace};

/// The file in which these events were written, with all hashes made anew: what only the owner of a database can do.
/// Rows that follow from the events are not corrected.
fn forged(name: &str, change: impl FnOnce(&mut Vec<Value>)) -> Vec<Finding> {
    let mut rows = Vec::new();
    let mut events = Vec::new();
    for line in lines(name) {
        let line: Value = serde_json::from_str(&line).unwrap();
        match line["body"].as_str() {
            Some(body) => events.push(serde_json::from_str::<Value>(body).unwrap()),
            None => rows.push(line),
        }
    }
    change(&mut events);
    let mut hash = Sha256::digest(format!(
        "tenure/execution/{}",
        rows[0]["execution_id"].as_str().unwrap()
    ));
    let mut chained = Vec::new();
    for event in &events {
        let body = event.to_string();
        hash = Sha256::new().chain_update(hash).chain_update(&body).finalize();
        chained.push(json!({"kind": "event", "body": body, "hash": hex(&hash)}));
    }
    rows[0]["events"] = json!(events.len());
    rows[2]["chain_hash"] = json!(hex(&hash));
    let lines: Vec<String> = rows.iter().chain(&chained).map(Value::to_string).collect();
    match verify(sign(&lines, &key()).as_bytes(), &public()) {
        Ok(_) => Vec::new(),
        Err(findings) => findings,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[track_caller]
fn has(findings: &[Finding], expected: Fault) {
    assert!(findings.iter().any(|it| it.fault == expected), "{findings:#?}");
}

#[test]
fn hashes_that_are_made_anew_without_a_change_still_verify() {
    assert_eq!(forged("succeeded", |_| ()), []);
    assert_eq!(forged("rejected", |_| ()), []);
}

#[test]
fn a_plan_that_is_not_the_one_of_the_hash_is_found() {
    let findings = found("succeeded", |lines| replace(lines, 1, "till", "safe"));
    assert_eq!(findings[0].fault, Fault::PlanHashWrong);
    assert_eq!((findings[0].line, findings[0].row.as_deref()), (2, Some("plan")));
    has(
        &forged("succeeded", |events| events[0]["data"]["plan_hash"] = json!("0")),
        Fault::PlanHashWrong,
    );
}

#[test]
fn a_decision_about_another_plan_is_found() {
    for at in [1, 2] {
        has(
            &forged("succeeded", |events| events[at]["data"]["plan_hash"] = json!("0")),
            Fault::OtherPlan,
        );
    }
    has(
        &forged("rejected", |events| events[2]["data"]["approval_id"] = json!("another")),
        Fault::Contradiction,
    );
}

#[test]
fn a_start_without_a_used_approval_is_found() {
    let changes: [fn(&mut Vec<Value>); 6] = [
        |events| events[5]["data"]["approval_id"] = json!("another"),
        |events| events[1]["data"]["quorum"] = json!(2),
        |events| events[1]["data"]["level"] = json!(0),
        |events| events[0]["data"]["approval_level"] = json!(2),
        |events| events[2]["data"]["decision"] = json!("reject"),
        |events| events[3]["kind"] = json!("approval_expired"),
    ];
    for change in changes {
        let findings = forged("succeeded", change);
        assert!(
            findings.iter().any(|it| (it.line, it.fault) == (16, Fault::Unapproved)),
            "{findings:#?}"
        );
    }
}

#[test]
fn who_stands_behind_two_votes_counts_once() {
    let two = |change: fn(&mut Value)| {
        forged("succeeded", |events| {
            events[1]["data"]["quorum"] = json!(2);
            let mut other = events[2].clone();
            other["actor"] = json!("bob");
            change(&mut other);
            events.insert(3, other);
            for (event, seq) in events.iter_mut().zip(1..) {
                event["seq"] = json!(seq);
            }
        })
    };
    let is_unapproved = |findings: Vec<Finding>| findings.iter().any(|it| it.fault == Fault::Unapproved);
    assert!(!is_unapproved(two(|_| ())));
    assert!(!is_unapproved(
        two(|vote| vote["data"]["auth_makers"] = json!(["root"]))
    ));
    assert!(is_unapproved(
        two(|vote| vote["data"]["auth_makers"] = json!(["grace"]))
    ));
    assert!(is_unapproved(two(|vote| vote["data"]["on_behalf_of"] = json!("grace"))));
}

#[test]
fn a_step_of_level_three_needs_an_approval_of_its_own() {
    let findings = forged("succeeded", |events| {
        events[0]["data"]["record"]["steps"][0]["approval_level"] = json!(3);
    });
    assert!(
        findings.iter().any(|it| (it.line, it.fault) == (18, Fault::Unapproved)),
        "{findings:#?}"
    );
}

#[test]
fn who_approved_a_plan_of_their_own_is_found() {
    let changes: [fn(&mut Vec<Value>); 4] = [
        |events| events[2]["actor"] = json!("ada"),
        |events| events[2]["data"]["on_behalf_of"] = json!("ada"),
        |events| events[2]["data"]["auth_makers"] = json!(["ada"]),
        // Also who had asked for what this one retries.
        |events| events[0]["data"]["record"]["requesters"] = json!(["ada", "grace"]),
    ];
    for change in changes {
        let findings = forged("succeeded", change);
        assert!(
            findings
                .iter()
                .any(|it| (it.line, it.fault) == (13, Fault::SelfApproved)),
            "{findings:#?}"
        );
    }
}

/// The list of requesters is one thing that the first event says; who submitted the plan is another.
#[test]
fn who_submitted_a_plan_is_a_requester_whatever_the_list_says() {
    let changes: [fn(&mut Vec<Value>); 2] = [
        |events| events[2]["actor"] = json!("ada"),
        |events| {
            events[0]["data"]["on_behalf_of"] = json!("grace");
        },
    ];
    for change in changes {
        let findings = forged("succeeded", |events| {
            events[0]["data"]["record"]["requesters"] = json!(["somebody"]);
            change(events);
        });
        has(&findings, Fault::Contradiction);
        assert!(
            findings
                .iter()
                .any(|it| (it.line, it.fault) == (13, Fault::SelfApproved)),
            "{findings:#?}"
        );
    }
}

#[test]
fn an_approval_after_the_start_does_not_allow_it() {
    let moved = |from: std::ops::Range<usize>, to: usize| {
        forged("succeeded", |events| {
            let late: Vec<Value> = events.drain(from.clone()).collect();
            events.splice(to - late.len()..to - late.len(), late);
            for (event, seq) in events.iter_mut().zip(1..) {
                event["seq"] = json!(seq);
            }
        })
    };
    // Vote and decision behind the completed step; the vote alone; the decision alone.
    for (from, to) in [(2..4, 9), (2..3, 9), (3..4, 9)] {
        has(&moved(from, to), Fault::Unapproved);
    }
}

#[test]
fn an_approval_by_fewer_than_the_rules_ask_for_does_not_allow_a_start() {
    let findings = forged("succeeded", |events| {
        events[0]["data"]["record"]["steps"][0]["quorum"] = json!(2);
    });
    has(&findings, Fault::Unapproved);
}

#[test]
fn a_state_that_does_not_follow_from_the_one_before_is_found() {
    has(
        &forged("succeeded", |events| events[4]["data"]["from"] = json!("running")),
        Fault::StateOther,
    );
}

/// Checkpoints are compared with the time of the file: one from before its own events says nothing.
#[test]
fn a_file_that_says_it_is_older_than_its_events_is_found() {
    for time in ["1970-01-01T00:00:00Z", "2026-01-31T09:05:08Z", "yesterday"] {
        let findings = found("succeeded", |lines| replace(lines, 0, "2026-02-01T12:00:00Z", time));
        let finding = &findings[0];
        assert_eq!(
            (finding.line, finding.fault),
            (1, Fault::Contradiction),
            "{findings:#?}"
        );
        assert_eq!(finding.field.as_deref(), Some("exported_at"), "{time}");
    }
}

/// Without the record of the first event nothing could be compared.
#[test]
fn a_chain_without_the_record_of_its_submission_is_refused() {
    let findings = forged("succeeded", |events| events[0]["data"]["record"] = Value::Null);
    has(&findings, Fault::EventMissing);
}

#[test]
fn a_restricted_payload_is_shown_by_its_hash() {
    let hash = hex(&Sha256::digest("{\"grace_seconds\": 30}"));
    let shown = |events: &mut Vec<Value>, plan: &str| {
        let record = &mut events[0]["data"]["record"];
        record["steps"][0]["payload_sha256"] = json!(hash);
        record["plan_shown_hash"] = json!(hex(&Sha256::digest(plan)));
    };
    let plan: Value = serde_json::from_str(&lines("succeeded")[1]).unwrap();
    let mut plan: Value = serde_json::from_str(plan["plan"].as_str().unwrap()).unwrap();
    let step = plan["steps"][0].as_object_mut().unwrap();
    step.remove("payload");
    step.insert("payload_sha256".to_owned(), json!(hash));
    let plan = plan.to_string();
    // The rows show the payload still, and so does the plan.
    let findings = forged("succeeded", |events| shown(events, &plan));
    has(&findings, Fault::PlanHashWrong);
    let fields: Vec<_> = findings.iter().filter_map(|it| it.field.as_deref()).collect();
    assert!(
        fields.contains(&"payload") && fields.contains(&"payload_sha256"),
        "{findings:#?}"
    );
}
