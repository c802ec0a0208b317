//! `docs/requirements.md` and the tests name each other: every requirement has its proof, and every proof its requirement.
//! With `TENURE_WRITE=1` the names are written from the tests' doc comments instead.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{env, fs};

/// A test, and what it says in its doc comment that it proves.
pub(crate) struct Promise {
    /// `module::name`.
    pub(crate) test: String,
    pub(crate) proves: Vec<u32>,
    pub(crate) guards: Vec<u32>,
    pub(crate) rules: Vec<u32>,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every test of every crate.
pub(crate) fn promises() -> Vec<Promise> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates/") {
        collect(&entry.expect("an entry").path().join("tests"), &mut files);
    }
    files.sort();
    files.iter().flat_map(|path| promises_of(path)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}

fn promises_of(path: &Path) -> Vec<Promise> {
    let module = path
        .file_stem()
        .and_then(|it| it.to_str())
        .expect("a module")
        .to_owned();
    let text = fs::read_to_string(path).expect("a test file");
    let (mut doc, mut is_test, mut found) = (String::new(), false, Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            doc.push(' ');
            doc.push_str(comment.trim());
        } else if line.starts_with("#[") {
            is_test |= line.starts_with("#[test") || line.starts_with("#[tokio::test");
        } else {
            let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            if let (true, Some(name)) = (is_test, name) {
                let name = name.split('(').next().expect("a name");
                found.push(Promise {
                    test: format!("{module}::{name}"),
                    proves: numbers(&doc, "Proves:", "S"),
                    guards: numbers(&doc, "Guards:", "D"),
                    rules: numbers(&doc, "Rule:", ""),
                });
            }
            (doc, is_test) = (String::new(), false);
        }
    }
    found
}

/// The numbers of a list such as `Proves: S1, S2.`
fn numbers(doc: &str, tag: &str, letter: &str) -> Vec<u32> {
    doc.split(tag)
        .skip(1)
        .flat_map(|rest| rest.split('.').next().expect("a list").split(','))
        .map(|item| {
            let number = item.trim().strip_prefix(letter).and_then(|it| it.parse().ok());
            number.unwrap_or_else(|| panic!("{item:?} is no number of {tag} in:{doc}"))
        })
        .collect()
}

/// The tests that a text names in backticks.
pub(crate) fn tests_in(text: &str) -> BTreeSet<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|it| it.contains("::"))
        .map(str::to_owned)
        .collect()
}

/// These tests in backticks, in order.
pub(crate) fn in_backticks<'a>(tests: impl Iterator<Item = &'a str>) -> String {
    let sorted: BTreeSet<&str> = tests.collect();
    let quoted: Vec<String> = sorted.iter().map(|it| format!("`{it}`")).collect();
    quoted.join(", ")
}

/// True when the documents are to be written instead of compared.
pub(crate) fn writing() -> bool {
    env::var_os("TENURE_WRITE").is_some()
}

fn document() -> PathBuf {
    root().join("docs/requirements.md")
}

/// The cells of a row whose first cell is this letter and a number.
fn row(line: &str, letter: &str) -> Option<(u32, Vec<String>)> {
    let cells: Vec<String> = line.split('|').map(|it| it.trim().to_owned()).collect();
    let number = cells.get(1)?.strip_prefix(letter)?.parse().ok()?;
    assert_eq!(cells.len(), 6, "four cells: {line}");
    Some((number, cells[1..5].to_vec()))
}

fn rows(letter: &str) -> BTreeMap<u32, Vec<String>> {
    let text = fs::read_to_string(document()).expect("docs/requirements.md");
    let mut found = BTreeMap::new();
    for (number, cells) in text.lines().filter_map(|line| row(line, letter)) {
        assert!(found.insert(number, cells).is_none(), "{letter}{number} stands twice");
    }
    found
}

/// Writes the tests that name each number into its row; the decision after them stays.
fn write(letter: &str, named: impl Fn(&Promise) -> &[u32]) {
    // Two tests write the same file.
    static WRITING: Mutex<()> = Mutex::new(());
    let _alone = WRITING.lock().expect("no panic holds it");
    let promises = promises();
    let mut text = String::new();
    for line in fs::read_to_string(document()).expect("docs/requirements.md").lines() {
        if let Some((number, cells)) = row(line, letter) {
            let decision = cells[3]
                .rsplit("`; ")
                .next()
                .filter(|it| !it.contains("::"))
                .unwrap_or_default();
            let naming = promises.iter().filter(|it| named(it).contains(&number));
            let tests = in_backticks(naming.map(|it| it.test.as_str()));
            let proof: Vec<&str> = [tests.as_str(), decision]
                .into_iter()
                .filter(|it| !it.is_empty())
                .collect();
            let line = format!(
                "| {} | {} | {} | {} |\n",
                cells[0],
                cells[1],
                cells[2],
                proof.join("; ")
            );
            text.push_str(&line.replace("|  |", "| |"));
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    fs::write(document(), text).expect("write docs/requirements.md");
}

/// What is covered so far: jobs, planned runs, and executions.
fn covered() -> impl Iterator<Item = u32> {
    (1..=135).chain(137..=157).chain(159..=250)
}

/// Compares one list of numbers in both directions.
fn compare(letter: &str, rows: &BTreeMap<u32, Vec<String>>, named: impl Fn(&Promise) -> &[u32]) {
    let promises = promises();
    let exist: BTreeSet<&str> = promises.iter().map(|it| it.test.as_str()).collect();
    let mut faults = Vec::new();
    let told: BTreeSet<(u32, String)> = rows
        .iter()
        .flat_map(|(number, cells)| tests_in(&cells[3]).into_iter().map(|test| (*number, test)))
        .collect();
    for (number, test) in &told {
        if !exist.contains(test.as_str()) {
            faults.push(format!("{letter}{number} names {test}, which does not exist"));
        }
    }
    for promise in &promises {
        for number in named(promise) {
            if !told.contains(&(*number, promise.test.clone())) {
                faults.push(format!(
                    "{} names {letter}{number}, whose row does not name it",
                    promise.test
                ));
            }
        }
        for (number, _) in told.iter().filter(|(_, test)| *test == promise.test) {
            if !named(promise).contains(number) {
                faults.push(format!(
                    "{letter}{number} names {}, which does not name it",
                    promise.test
                ));
            }
        }
    }
    let hint = "TENURE_WRITE=1 cargo test -p tenure requirements:: writes the names from the tests";
    assert!(faults.is_empty(), "{}\n{hint}", faults.join("\n"));
}

#[test]
fn every_requirement_that_is_covered_has_a_proof_and_every_proof_a_requirement() {
    if writing() {
        write("S", |it| &it.proves);
    }
    let rows = rows("S");
    let numbers: Vec<u32> = rows.keys().copied().collect();
    assert_eq!(numbers, (1..=250).collect::<Vec<_>>(), "one row per number");
    let unproven: Vec<u32> = covered()
        .filter(|number| tests_in(&rows[number][3]).is_empty())
        .collect();
    assert!(unproven.is_empty(), "without a test: {unproven:?}");
    compare("S", &rows, |it| &it.proves);
}

#[test]
fn every_defect_that_was_shown_to_happen_is_guarded_against() {
    if writing() {
        write("D", |it| &it.guards);
    }
    let rows = rows("D");
    let missing: Vec<u32> = (1..=123).filter(|number| !rows.contains_key(number)).collect();
    assert!(missing.is_empty(), "no row for: {missing:?}");
    let ran: Vec<u32> = rows
        .iter()
        .filter(|(_, cells)| cells[2] == "ran")
        .map(|(number, _)| *number)
        .collect();
    for shown in [
        3, 10, 24, 25, 26, 27, 28, 31, 78, 80, 81, 82, 83, 84, 85, 86, 88, 89, 91, 93, 95, 97, 100, 101, 102, 103, 104,
        108, 110, 111, 112, 113, 115, 116, 122,
    ] {
        assert!(ran.contains(&shown), "D{shown} was shown to happen");
    }
    let open: Vec<u32> = ran
        .into_iter()
        .filter(|number| tests_in(&rows[number][3]).is_empty())
        .collect();
    assert!(open.is_empty(), "shown to happen, and not guarded: {open:?}");
    compare("D", &rows, |it| &it.guards);
}

#[test]
fn every_place_that_the_table_names_exists() {
    let mut lost = Vec::new();
    for (number, cells) in rows("S") {
        for place in cells[2].split('`').skip(1).step_by(2) {
            if !root().join(place).exists() {
                lost.push(format!("S{number}: {place}"));
            }
        }
        assert!(!cells[2].is_empty(), "S{number} has no place");
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

/// The page for auditors names tests, and each of them exists.
#[test]
fn every_test_on_the_page_for_auditors_exists() {
    let text = fs::read_to_string(root().join("docs/executions-safety.md")).expect("the page");
    let tests: BTreeSet<String> = promises().into_iter().map(|it| it.test).collect();
    let missing: Vec<String> = tests_in(&text).into_iter().filter(|it| !tests.contains(it)).collect();
    assert!(
        missing.is_empty(),
        "docs/executions-safety.md names tests that do not exist: {missing:?}"
    );
}
