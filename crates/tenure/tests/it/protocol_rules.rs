//! `docs/PROTOCOL.md` and the tests name each other: each of the 27 rules has its proof.

use std::collections::BTreeSet;
use std::fs;

use crate::requirements::{promises, root, tests_in};

#[test]
fn each_of_the_27_rules_is_told_and_proven() {
    let text = fs::read_to_string(root().join("docs/PROTOCOL.md")).expect("docs/PROTOCOL.md");
    let promises = promises();
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
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
