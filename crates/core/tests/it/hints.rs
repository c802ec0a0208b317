//! Hints name their next step in the words of the surface on which they are read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tenure_core::hints::verbs::{NO_REQUEST, VERBS};
use tenure_core::hints::{Surface, in_answer, on};

use crate::in_repository;

/// Rust whose hints are read at a prompt only: they are about the machine, not about what a server was asked.
const PROMPT_ONLY: [&str; 10] = [
    "worker/",
    "private/",
    "migrate/",
    "pool/",
    "testing/",
    "client/",
    "tls.rs",
    "error.rs",
    "store/call.rs",
    "http/listen/",
];

/// Texts of SQL that no other surface shows: the refusal of a row that was deleted by hand.
const SQL_ONLY: [&str; 1] = ["Rows go with tenure.execution_archive(execution, evidence)."];

fn files(under: &Path, kind: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(under).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, kind));
        } else if path.extension().is_some_and(|it| it == kind) {
            found.push(path);
        }
    }
    found
}

/// The texts of SQL, without its comments and those of the catalogue.
fn texts_of_sql(source: &str) -> Vec<String> {
    let mut in_comment = false;
    let lines: Vec<&str> = source
        .lines()
        .filter(|line| {
            let is_comment = in_comment || line.starts_with("comment on ");
            in_comment = is_comment && !line.ends_with(';');
            !is_comment && !line.trim_start().starts_with("--")
        })
        .collect();
    let source = lines.join("\n").replace("''", "\u{1}");
    source
        .split('\'')
        .skip(1)
        .step_by(2)
        .map(|text| text.replace('\u{1}', "'"))
        .collect()
}

/// The texts of Rust, without its comments, its tests and its attributes.
fn texts_of_rust(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = source.lines().filter(|line| {
        !["//", "#[", "description"]
            .iter()
            .any(|it| line.trim_start().starts_with(it))
    });
    lines
        .flat_map(|line| {
            let line = line.replace("\\\"", "\u{1}");
            let texts: Vec<String> = line
                .split('"')
                .skip(1)
                .step_by(2)
                .map(|it| it.replace('\u{1}', "\""))
                .collect();
            texts
        })
        .collect()
}

/// The functions of the schema.
fn functions(sql: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files(sql, "sql") {
        let source = std::fs::read_to_string(file).expect("a file");
        for rest in source.split("create or replace function tenure.").skip(1) {
            names.insert(rest.split('(').next().unwrap_or_default().trim().to_owned());
        }
    }
    names
}

/// The functions that a text names, also without arguments.
fn named<'a>(text: &'a str, functions: &BTreeSet<String>) -> Vec<&'a str> {
    let words = text.split("tenure.").skip(1);
    let names = words.map(|rest| {
        rest.split(|it: char| !it.is_ascii_lowercase() && it != '_')
            .next()
            .unwrap_or_default()
    });
    names.filter(|name| functions.contains(*name)).collect()
}

/// Whether a text names a command: the program with a word that is one.
fn names_a_command(text: &str) -> bool {
    let commands: BTreeSet<&str> = VERBS
        .iter()
        .filter_map(|verb| verb.command.strip_prefix("tenure ")?.split(' ').next())
        .chain([
            "migrate", "init", "serve", "dev", "psql", "login", "config", "context", "sweep", "bench",
        ])
        .collect();
    text.split("tenure ").skip(1).any(|rest| {
        let word = rest
            .split(|it: char| !it.is_ascii_alphanumeric() && it != '-')
            .next()
            .unwrap_or_default();
        commands.contains(word)
    })
}

/// Asserts that a hint has no SQL at the prompt, and neither SQL nor commands over HTTP.
fn assert_rendered(place: &str, text: &str, functions: &BTreeSet<String>) {
    let [prompt, http] = [Surface::Command, Surface::Request].map(|surface| on(surface, text));
    for shown in [&prompt, &http] {
        let left = named(shown, functions);
        assert!(
            left.is_empty(),
            "{place}: {left:?} have no row in hints::verbs: {shown}"
        );
        assert!(!shown.contains("select "), "{place}: SQL is left: {shown}");
        assert!(!shown.contains('$'), "{place}: an argument is missing: {shown}");
    }
    assert!(!names_a_command(&http), "{place}: a command over HTTP: {http}");
    assert!(!http.contains(" --"), "{place}: an option over HTTP: {http}");
    if !http.contains(NO_REQUEST) {
        assert_eq!(on(Surface::Command, &http), prompt, "{place}: told by a server");
    }
}

#[test]
fn every_hint_of_sql_has_a_form_for_the_prompt_and_one_for_http() {
    let Some(sql) = in_repository("sql") else {
        return;
    };
    let functions = functions(&sql.join("functions"));
    let mut seen = 0;
    // Migrations make functions and triggers whose refusals are shown as well.
    let hinting = ["functions", "migrations"].map(|under| files(&sql.join(under), "sql"));
    for file in hinting.into_iter().flatten() {
        let source = std::fs::read_to_string(&file).expect("a file");
        let place = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for text in texts_of_sql(&source) {
            let is_hint = (text.contains(' ') || text.ends_with(')')) && !SQL_ONLY.contains(&text.as_str());
            if is_hint && (!named(&text, &functions).is_empty() || names_a_command(&text)) && !text.contains("%I") {
                assert_rendered(&place, &text, &functions);
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "only {seen} hints were found: the walk no longer sees them");
}

#[test]
fn every_hint_of_rust_that_http_shows_names_no_command_there() {
    let mut seen = 0;
    for under in [
        "crates/tenure/src",
        "crates/core/src",
        "crates/client/src",
        "crates/server/src",
    ] {
        let Some(source) = in_repository(under) else { return };
        for file in files(&source, "rs") {
            let place = file.to_string_lossy().into_owned();
            if PROMPT_ONLY.iter().any(|it| place.contains(it)) || place.contains("core/src/hints") {
                continue;
            }
            for text in texts_of_rust(&std::fs::read_to_string(&file).expect("a file")) {
                if names_a_command(&text) {
                    assert!(!names_a_command(&on(Surface::Request, &text)), "{place}: {text}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 5, "only {seen} hints were found: the walk no longer sees them");
}

#[test]
fn every_request_that_a_hint_names_is_in_the_api() {
    let Some(api) = in_repository("docs/openapi.json") else {
        return;
    };
    let api: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(api).unwrap()).unwrap();
    let known: BTreeSet<String> = api["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let shape: Vec<&str> = path
                .split('/')
                .map(|it| if it.starts_with('{') { "$1" } else { it })
                .collect();
            let methods: Vec<String> = methods
                .as_object()
                .unwrap()
                .keys()
                .map(|it| it.to_uppercase())
                .collect();
            methods
                .into_iter()
                .map(move |method| format!("{method} {}", shape.join("/")))
                .collect::<Vec<_>>()
        })
        .collect();
    let mut seen = BTreeSet::new();
    for verb in VERBS.iter().filter(|verb| !verb.request.is_empty()) {
        let request = verb.request.split(" with ").next().unwrap_or_default();
        let request = request.split('?').next().unwrap_or_default();
        assert!(known.contains(request), "{request} is not in docs/openapi.json");
        assert!(seen.insert(request), "two steps are the request {request}");
    }
}

#[test]
fn a_step_is_called_the_same_on_the_way_through_a_server() {
    for (hint, prompt, http) in [
        (
            "See tenure.job_show(job).",
            "See tenure job show JOB.",
            "See GET /v1/jobs/{job}.",
        ),
        (
            "Close it: tenure.execution_close('7f', reason).",
            "Close it: tenure execution close 7f --reason REASON.",
            "Close it: POST /v1/executions/7f/close.",
        ),
        (
            "Run what was missed: tenure schedule backfill 'a b' --from 2026-11-01T00:00:00Z --until 2026-11-02T00:00:00Z.",
            "Run what was missed: tenure schedule backfill 'a b' --from 2026-11-01T00:00:00Z --until 2026-11-02T00:00:00Z.",
            "Run what was missed: POST /v1/schedules/a%20b/backfill with {\"from\": \"2026-11-01T00:00:00Z\", \"until\": \"2026-11-02T00:00:00Z\"}.",
        ),
        (
            "Wait, or run it now: select tenure.job_retry(job).",
            "Wait, or run it now: tenure job retry JOB.",
            "Wait, or run it now: POST /v1/jobs/{job}/retry.",
        ),
        (
            "See whether a server runs: tenure health, tenure doctor.",
            "See whether a server runs: tenure health, tenure doctor.",
            "See whether a server runs: GET /v1/health, GET /v1/doctor.",
        ),
        (
            "Have an operator break it: tenure.lock_break('host:a/b%3A \"c', reason). See tenure.lock_waiters('host:a/b c').",
            "Have an operator break it: tenure lock break 'host:a/b%3A \"c' --reason REASON. See tenure lock waiters 'host:a/b c'.",
            "Have an operator break it: POST /v1/locks/break with {\"part\": \"host:a/b%3A \\\"c\", \"reason\": \"{reason}\"}. \
             See GET /v1/locks/waiters?part=host:a%2Fb%20c.",
        ),
        (
            "Name another, or create it: tenure.tenant_create('nope').",
            "Name another, or create it: tenure tenant create nope.",
            "Name another, or create it: POST /v1/tenants with {\"name\": \"nope\"}.",
        ),
        ("Split it.", "Split it.", "Split it."),
    ] {
        assert_eq!(on(Surface::Command, hint), prompt);
        assert_eq!(on(Surface::Request, hint), http);
        assert_eq!(on(Surface::Command, http), prompt, "told by a server");
    }
    let mut answer = serde_json::json!({"reasons": [{"next": "See tenure.job_list().", "what": "tenure.job_list()"}]});
    in_answer(Surface::Command, &mut answer);
    assert_eq!(answer["reasons"][0]["next"], "See tenure job list.");
    assert_eq!(answer["reasons"][0]["what"], "tenure.job_list()");
}
