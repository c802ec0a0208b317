//! The house keeps its shape: small files, true links, one place for each thing.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines a source file has at the most; a longer one answers more than one question.
const FILE_LINES_MAX: usize = 500;
/// Columns that a line of SQL has at the most.
const SQL_COLUMNS_MAX: usize = 110;
/// Lines of an SQL function, from its name to its end.
const SQL_FUNCTION_LINES_MAX: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is two levels up")
}

/// Every file of the tree that is ours: no build output, no hidden directories, no second way through a symbolic link.
pub(crate) fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![below.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory of the tree") {
            let entry = entry.expect("an entry of the tree");
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().expect("the kind of an entry");
            if name.starts_with('.') || name == "target" || kind.is_symlink() {
                continue;
            }
            if kind.is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn with_ending(endings: &[&str]) -> Vec<PathBuf> {
    files(&root())
        .into_iter()
        .filter(|path| {
            path.extension()
                .is_some_and(|found| endings.iter().any(|ending| found == *ending))
        })
        .collect()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[test]
fn no_source_file_is_longer_than_a_reader_can_hold() {
    let long: Vec<String> = with_ending(&["rs", "sql"])
        .iter()
        .filter(|path| !path.ends_with("sql/schema.sql"))
        .filter_map(|path| {
            let lines = fs::read_to_string(path).expect("a source file").lines().count();
            (lines > FILE_LINES_MAX).then(|| format!("{} has {lines} lines", shown(path)))
        })
        .collect();
    assert!(long.is_empty(), "split by what it answers: {long:#?}");
}

#[test]
fn no_file_name_says_nothing() {
    let empty_words = ["util", "utils", "common", "helper", "helpers", "misc", "manager"];
    let vague: Vec<String> = with_ending(&["rs", "sql", "sh"])
        .iter()
        .filter(|path| {
            path.file_stem()
                .is_some_and(|stem| empty_words.iter().any(|word| stem == *word))
        })
        .map(|path| shown(path))
        .collect();
    assert!(vague.is_empty(), "name these by what they do: {vague:?}");
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut broken = Vec::new();
    for document in with_ending(&["md"]) {
        let text = fs::read_to_string(&document).expect("a document");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = target.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            if !document
                .parent()
                .expect("a document lies in a directory")
                .join(target)
                .exists()
            {
                broken.push(format!("{}: {target}", shown(&document)));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Two files fit beside each other on a screen. The dump is generated.
#[test]
fn no_line_of_sql_is_wider_than_a_reader_takes_in() {
    let mut wide = Vec::new();
    for path in files(&root().join("sql")) {
        let is_sql = path.extension().is_some_and(|ending| ending == "sql");
        if !is_sql || path.ends_with("sql/schema.sql") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("an SQL file");
        for (line, number) in text.lines().zip(1..) {
            if line.chars().count() > SQL_COLUMNS_MAX {
                wide.push(format!("{}:{number}", shown(&path)));
            }
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

/// A function fits on a screen or two.
#[test]
fn no_function_of_sql_is_longer_than_a_reader_takes_in() {
    let mut long = Vec::new();
    for path in files(&root().join("sql")) {
        let is_sql = path.extension().is_some_and(|ending| ending == "sql");
        if !is_sql || path.ends_with("sql/schema.sql") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("an SQL file");
        let mut begun = None;
        for (line, number) in text.lines().zip(1..) {
            if let Some(rest) = line.strip_prefix("create or replace function ") {
                begun = Some((number, rest.split('(').next().unwrap_or(rest)));
            } else if line.ends_with("$$;") {
                let (first, name) = begun.take().unwrap_or((number, "a body"));
                if number - first + 1 > SQL_FUNCTION_LINES_MAX {
                    long.push(format!("{}: {name} has {} lines", shown(&path), number - first + 1));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// The later of two files would win, and the reader of the other would not know.
#[test]
fn no_function_of_sql_is_defined_twice() {
    let mut names = Vec::new();
    for path in files(&root().join("sql/functions")) {
        let text = fs::read_to_string(&path).expect("an SQL file");
        let made = text
            .lines()
            .filter_map(|line| line.strip_prefix("create or replace function "));
        names.extend(made.map(|rest| rest.split('(').next().unwrap_or(rest).to_owned()));
    }
    names.sort();
    let twice: Vec<&[String]> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn migrations_are_numbered_without_a_gap() {
    let mut names: Vec<String> = files(&root().join("sql/migrations"))
        .iter()
        .filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    for (index, name) in names.iter().enumerate() {
        assert!(
            name.starts_with(&format!("{:04}_", index + 1)),
            "{name} is not number {}",
            index + 1
        );
    }
}

/// A function in a migration could only be changed by another migration. Those that tables need are in
/// `sql/functions/structure/`, which is applied first.
#[test]
fn migrations_define_no_functions() {
    let mut found = Vec::new();
    for path in files(&root().join("sql/migrations")) {
        let text = fs::read_to_string(&path).expect("a migration");
        let makes = |line: &&str| {
            ["create function", "create or replace function"]
                .iter()
                .any(|it| line.starts_with(it))
        };
        found.extend(
            text.lines()
                .filter(makes)
                .map(|line| format!("{}: {line}", shown(&path))),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn sql_is_dynamic_only_where_partitions_and_roles_are_made() {
    let mut found = Vec::new();
    for path in files(&root().join("sql")) {
        if ["functions/partitions.sql", "roles.sql", "schema.sql", "README.md"]
            .iter()
            .any(|allowed| path.ends_with(allowed))
        {
            continue;
        }
        for (number, line) in fs::read_to_string(&path).expect("an SQL file").lines().enumerate() {
            let code = line.trim_start();
            if code.starts_with("execute ") && !code.starts_with("execute function ") {
                found.push(format!("{}:{}", shown(&path), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn sql_names_its_columns() {
    let mut found = Vec::new();
    for path in files(&root().join("sql"))
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "sql"))
    {
        for (number, line) in fs::read_to_string(path).expect("an SQL file").lines().enumerate() {
            let code = line.split("--").next().unwrap_or_default();
            let quoted = |at: usize| code[..at].matches('\'').count() % 2 == 1;
            if code.find("select * ").is_some_and(|at| !quoted(at)) {
                found.push(format!("{}:{}", shown(path), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

/// serde_json reads some member names as something else than names, and overflows the stack where those nest: see
/// `tenure_core::json`.
#[test]
fn json_from_outside_is_read_by_one_function() {
    let readers = [
        "serde_json::from_str",
        "serde_json::from_slice",
        "serde_json::from_reader",
        "serde_json::Deserializer::from",
    ];
    // What they read was checked before, or is read piece by piece.
    let allowed = [
        "core/src/hints/mod.rs",
        "core/src/json.rs",
        "core/src/plan/node.rs",
        "server/src/http/body.rs",
        "server/src/http/requests.rs",
        "tenure/src/store/payload.rs",
        "tenure/src/worker/handler.rs",
    ];
    let mut found = Vec::new();
    for path in with_ending(&["rs"]) {
        let name = shown(&path);
        let is_ours = name.starts_with("crates/") && name.contains("/src/");
        if !is_ours || allowed.iter().any(|allowed| path.ends_with(allowed)) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source file");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"));
        let direct = lines.filter(|(_, line)| readers.iter().any(|reader| line.contains(reader)));
        found.extend(direct.map(|(number, _)| format!("{name}:{}", number + 1)));
    }
    assert!(found.is_empty(), "use tenure_core::json::parse: {found:#?}");
}

/// The picture of the states is drawn from the table of transitions, not by hand.
#[test]
fn the_diagram_of_the_states_is_the_table() {
    let path = root().join("docs/ARCHITECTURE.md");
    let text = fs::read_to_string(&path).expect("the architecture");
    let drawn = format!("```mermaid\n{}\n```", tenure_core::transitions::mermaid().trim_end());
    if text.contains(&drawn) {
        return;
    }
    let (before, rest) = text.split_once("```mermaid\n").expect("a diagram");
    let (_, after) = rest.split_once("\n```").expect("the end of the diagram");
    if std::env::var_os("TENURE_WRITE").is_some() {
        fs::write(&path, format!("{before}{drawn}{after}")).expect("the architecture is writable");
    } else {
        panic!("docs/ARCHITECTURE.md shows another machine; TENURE_WRITE=1 draws it again:\n{drawn}");
    }
}
