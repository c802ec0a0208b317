//! The functions of the core call each other in one direction, and their waits have names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::tidy::files;

/// Functions that call each other because what they read is nested: a window may be a list of windows.
const NESTED: &[&str] = &["window_opens", "windows_open"];

/// Intervals that are no waits: steps of the calendar, of the clock, and none at all.
const INTERVALS: &[&str] = &["0", "1 microsecond", "1 second", "1 day"];

fn functions_of_sql() -> Vec<PathBuf> {
    let below = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/functions");
    files(&below)
}

/// SQL without its comments and without the content of its quoted texts.
fn bare(sql: &str) -> String {
    let lines: Vec<&str> = sql
        .lines()
        .map(|line| line.split("--").next().expect("a first part"))
        .collect();
    let text = lines.join("\n");
    text.split('\'')
        .enumerate()
        .map(|(place, part)| if place % 2 == 0 { part } else { "''" })
        .collect()
}

fn name_at(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Every function with those that it calls.
fn calls() -> BTreeMap<String, BTreeSet<String>> {
    let mut called = BTreeMap::new();
    for path in functions_of_sql() {
        let text = bare(&fs::read_to_string(&path).expect("a readable file"));
        for definition in text.split("create or replace function tenure.").skip(1) {
            let names = definition.split("tenure.").skip(1).filter_map(|rest| {
                let name = name_at(rest);
                rest[name.len()..]
                    .trim_start()
                    .starts_with('(')
                    .then(|| name.to_owned())
            });
            called.insert(name_at(definition).to_owned(), names.collect());
        }
    }
    called
}

/// The functions that are reached from one, other than by calling itself.
fn reached(from: &str, calls: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = calls[from]
        .iter()
        .map(String::as_str)
        .filter(|to| *to != from)
        .collect();
    while let Some(name) = open.pop() {
        if found.insert(name.to_owned()) {
            open.extend(calls.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

/// Submit, decide, dispatch, end, advance, finish: a function that comes back to itself through others runs inside
/// itself, with rows in a state that neither expects.
#[test]
fn no_function_of_sql_comes_back_to_itself_through_another() {
    let calls = calls();
    assert!(
        calls["step_ends_apply"].contains("executions_advance"),
        "calls are found"
    );
    let round: Vec<&String> = calls
        .keys()
        .filter(|name| !NESTED.contains(&name.as_str()) && reached(name, &calls).contains(*name))
        .collect();
    assert!(round.is_empty(), "these call each other in a circle: {round:?}");
}

/// A wait that is written as a number has no name to look for, and no place that says what it is for.
#[test]
fn every_wait_in_sql_is_a_named_limit() {
    let mut unnamed = Vec::new();
    for path in functions_of_sql() {
        let text = fs::read_to_string(&path).expect("a readable file");
        for (place, line) in text.lines().enumerate() {
            let code = line.split("--").next().expect("a first part");
            let literals = code
                .split("interval '")
                .skip(1)
                .map(|rest| rest.split('\'').next().expect("a first part"));
            let casts = code
                .match_indices("'::interval")
                .filter_map(|(at, _)| code[..at].rsplit('\'').next());
            let numbers = code.split("make_interval(").skip(1).filter_map(|rest| {
                let value = rest.split("=>").nth(1)?.trim_start();
                let number = value.split(')').next()?;
                number.parse::<f64>().is_ok().then_some(number)
            });
            let found = literals.chain(casts).chain(numbers);
            for wait in found.filter(|wait| !INTERVALS.contains(wait)) {
                unnamed.push(format!("{}:{}: {wait}", path.display(), place + 1));
            }
        }
    }
    assert!(
        unnamed.is_empty(),
        "name these in limits.sql and crates/core/src/limits.rs:\n{}",
        unnamed.join("\n")
    );
}
