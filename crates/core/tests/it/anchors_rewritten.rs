//! A history that was cut and continued otherwise, in a file that says it was written in between: checkpoints contradict it.

use serde_json::Value;
use tenure_core::anchor::{Chain, Fault, History, check};

use crate::anchors::{faults, key};

const CHECKPOINTS: &str = include_str!("../../testdata/anchors/rewritten_checkpoints.jsonl");
const REWRITTEN: &str = include_str!("../../testdata/anchors/rewritten.jsonl");

/// The first of the checkpoints.
fn chain(count: usize) -> Chain {
    let text: String = CHECKPOINTS.split_inclusive('\n').take(count).collect();
    check(text.as_bytes(), &[key()]).expect("each is signed and follows the one before")
}

/// The events of the rewritten execution, each with its time.
fn events() -> Vec<(String, String)> {
    let body = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line["body"].as_str().expect("a body").to_owned()
    };
    let bodies = REWRITTEN.lines().skip(1).map(body);
    let timed = bodies.map(|body| {
        let event: Value = serde_json::from_str(&body).expect("JSON");
        (event["at"].as_str().expect("a time").to_owned(), body)
    });
    timed.collect()
}

/// The file as it was written between the third and the fourth checkpoint.
fn history(events: &[(String, String)], is_older: bool) -> History<'_> {
    History {
        tenant: "default",
        execution_id: "019c1d2e-0000-7000-8000-00000000000a",
        exported_at: "2026-01-05T10:35:00Z",
        is_older,
        events: events.iter().map(|(at, body)| (at.as_str(), body.as_str())).collect(),
    }
}

#[test]
fn a_file_with_fewer_events_than_a_checkpoint_covers_is_refused_unless_it_may_be_older() {
    let events = events();
    for (count, number, length) in [(4, 4, 13), (5, 4, 13)] {
        let findings = chain(count)
            .covered(&history(&events, false), None)
            .expect_err("checkpoint 4 covers more");
        let finding = &findings[0];
        assert_eq!((finding.checkpoint, finding.line), (Some(number), 4), "{findings:?}");
        for part in [format!("covers {length} events"), "has 11".to_owned()] {
            assert!(finding.what.contains(&part), "{part} is not in {findings:?}");
        }
    }
    let findings = chain(4).covered(&history(&events, false), None).expect_err("refused");
    assert_eq!(faults(&findings), [(4, Fault::OlderExport)]);
    // The reader says that it is an older one: then the answer tells what it lacks.
    let covered = chain(4).covered(&history(&events, true), None).expect("it may be");
    assert_eq!((covered.checkpoint, covered.chain_length, covered.events), (3, 9, 11));
    assert_eq!((covered.agreeing, covered.longer), (2, Some((4, 13))));
    let covered = chain(3)
        .covered(&history(&events, false), None)
        .expect("none covers more");
    assert_eq!(covered.longer, None);
}

/// Whoever rewrote the rows lets the server cover them once more: the chain has become shorter then.
#[test]
fn a_chain_that_becomes_shorter_from_one_checkpoint_to_the_next_is_a_contradiction_whenever_it_was_exported() {
    let events = events();
    for is_older in [false, true] {
        let findings = chain(5)
            .covered(&history(&events, is_older), None)
            .expect_err("the fourth covers more than the fifth");
        assert!(
            findings
                .iter()
                .any(|it| (it.line, it.fault) == (5, Fault::AnchorDiffers)),
            "{findings:?}"
        );
    }
    // Also where the file ends before both.
    let findings = chain(5)
        .covered(&history(&events[..9], true), None)
        .expect_err("the fourth covers more than the fifth");
    assert_eq!(faults(&findings), [(5, Fault::AnchorDiffers)]);
}
