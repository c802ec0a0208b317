//! `docs/PROTOCOL.md` and the tests name each other: each of the 27 rules has its proof. With `TENURE_WRITE=1` the names are
//! written from the tests' doc comments instead.

use std::collections::BTreeSet;
use std::fs;

use crate::requirements::{Promise, in_backticks, promises, root, tests_in, writing};

#[test]
fn each_of_the_27_rules_is_told_and_proven() {
    let path = root().join("docs/PROTOCOL.md");
    let mut text = fs::read_to_string(&path).expect("docs/PROTOCOL.md");
    let promises = promises();
    if writing() {
        text = written(&text, &promises);
        fs::write(&path, &text).expect("write docs/PROTOCOL.md");
    }
    let mut faults = Vec::new();
    for rule in 1..=27 {
        let heading = format!("\n### {rule}. ");
        let Some((_, after)) = text.split_once(&heading) else {
            faults.push(format!("rule {rule} is not in docs/PROTOCOL.md"));
            continue;
        };
        let section = after.split("\n#").next().expect("a section");
        let proof = section.rsplit("Proven by").next().expect("its proof");
        let told = tests_in(proof);
        let proving: BTreeSet<String> = promises
            .iter()
            .filter(|it| it.rules.contains(&rule))
            .map(|it| it.test.clone())
            .collect();
        if proving.is_empty() {
            faults.push(format!("no test proves rule {rule}"));
        }
        for test in proving.difference(&told) {
            faults.push(format!("{test} proves rule {rule}, which does not name it"));
        }
        for test in told.difference(&proving) {
            faults.push(format!("rule {rule} names {test}, which does not prove it"));
        }
    }
    for it in &promises {
        for rule in it.rules.iter().filter(|rule| !(1..=27).contains(*rule)) {
            faults.push(format!("{} names rule {rule}, which does not exist", it.test));
        }
    }
    let hint = "TENURE_WRITE=1 cargo test -p tenure protocol_rules:: writes the names from the tests";
    assert!(faults.is_empty(), "{}\n{hint}", faults.join("\n"));
}

/// The text with the tests that name each rule in its last paragraph.
fn written(text: &str, promises: &[Promise]) -> String {
    let mut sections = text.split("\n### ");
    let mut all = sections.next().expect("the beginning").to_owned();
    for section in sections {
        let rule: u32 = section
            .split('.')
            .next()
            .and_then(|it| it.parse().ok())
            .expect("a rule's number");
        let (told, rest) = section.split_once("\n\nProven by ").expect("a rule's proof");
        let after = rest.split_once("\n\n").map_or("\n", |(_, after)| after);
        let naming = promises.iter().filter(|it| it.rules.contains(&rule));
        let tests = in_backticks(naming.map(|it| it.test.as_str()));
        let after = if after == "\n" {
            after.to_owned()
        } else {
            format!("\n\n{after}")
        };
        all.push_str(&format!("\n### {told}\n\nProven by {tests}.{after}"));
    }
    all
}
