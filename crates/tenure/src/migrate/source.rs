//! The SQL of Tenure, carried in the binary.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

static SQL: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/sql");

/// Run last: they grant what functions and views have made.
const GRANTS: [&str; 2] = ["functions/grants.sql", "functions/grants_tables.sql"];

/// Functions that tables name in triggers, policies, defaults and generated columns: made before the migrations.
const STRUCTURE: &str = "functions/structure/";

/// One file of `sql/`.
#[derive(Debug, Clone, Copy)]
pub(super) struct SqlFile {
    /// Its path below `sql/`.
    pub(super) path: &'static str,
    /// Its text.
    pub(super) text: &'static str,
}

/// A numbered migration.
#[derive(Debug, Clone)]
pub(super) struct Migration {
    pub(super) version: i32,
    pub(super) name: String,
    pub(super) file: SqlFile,
    pub(super) checksum: String,
}

/// Everything, in the order in which it is applied.
pub(super) struct Source {
    pub(super) roles: SqlFile,
    pub(super) bootstrap: SqlFile,
    pub(super) migrations: Vec<Migration>,
    /// Functions, then views.
    pub(super) objects: Vec<SqlFile>,
    /// Those of `objects` that migrations need, so they are applied before them too.
    pub(super) structure: Vec<SqlFile>,
    pub(super) grants: [SqlFile; 2],
    /// Names of the functions that `objects` make.
    pub(super) functions: BTreeSet<&'static str>,
    /// Names of the views that `objects` make.
    pub(super) views: BTreeSet<&'static str>,
    /// Names of the functions of `structure`, and of functions and views that migrations make. Tables depend on them,
    /// so they are replaced but never dropped: a migration drops one together with what uses it.
    pub(super) structural: BTreeSet<&'static str>,
    /// The hash of functions, views and grants.
    pub(super) functions_hash: String,
    /// The hash of all of it.
    pub(super) hash: String,
}

pub(super) static SOURCE: LazyLock<Source> = LazyLock::new(read);

fn read() -> Source {
    let roles = file("roles.sql");
    let bootstrap = file("bootstrap.sql");
    let grants = GRANTS.map(file);
    let migrations: Vec<Migration> = files("migrations").into_iter().map(migration).collect();
    let mut objects = files("functions");
    objects.retain(|file| !GRANTS.contains(&file.path));
    objects.extend(files("views"));
    let functions_hash = hash(objects.iter().chain(&grants));
    let structure: Vec<SqlFile> = objects
        .iter()
        .filter(|file| file.path.starts_with(STRUCTURE))
        .copied()
        .collect();
    let numbered: Vec<SqlFile> = migrations.iter().map(|migration| migration.file).collect();
    let first = [roles, bootstrap];
    Source {
        functions: objects.iter().flat_map(|file| made(file.text, "function")).collect(),
        views: objects.iter().flat_map(|file| made(file.text, "view")).collect(),
        structural: numbered
            .iter()
            .chain(&structure)
            .flat_map(|file| made(file.text, "function").chain(made(file.text, "view")))
            .collect(),
        hash: hash(first.iter().chain(&grants).chain(&numbered).chain(&objects)),
        structure,
        functions_hash,
        roles,
        bootstrap,
        migrations,
        objects,
        grants,
    }
}

fn file(path: &'static str) -> SqlFile {
    let text = SQL.get_file(path).and_then(|file| file.contents_utf8());
    SqlFile {
        path,
        text: text.expect("sql/ is embedded when the crate is built"),
    }
}

/// The SQL files of a directory and of those in it, by path.
fn files(dir: &'static str) -> Vec<SqlFile> {
    let dir = SQL.get_dir(dir).expect("sql/ is embedded when the crate is built");
    let mut files = Vec::new();
    let mut open = vec![dir];
    while let Some(dir) = open.pop() {
        open.extend(dir.dirs());
        files.extend(
            dir.files()
                .filter(|file| file.path().extension().is_some_and(|extension| extension == "sql"))
                .map(|entry| file(entry.path().to_str().expect("names in sql/ are plain"))),
        );
    }
    files.sort_by_key(|file| file.path);
    files
}

/// `migrations/0006_jobs.sql` is number 6, jobs.
fn migration(file: SqlFile) -> Migration {
    let stem = file.path.trim_start_matches("migrations/").trim_end_matches(".sql");
    let (number, name) = stem.split_once('_').expect("a migration is named NNNN_noun.sql");
    Migration {
        version: number.parse().expect("a migration begins with its number"),
        name: name.to_owned(),
        checksum: hash([&file]),
        file,
    }
}

/// The names behind `create function tenure.` or `create or replace function tenure.` at the start of a line.
fn made(text: &'static str, what: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter_map(move |line| {
        let rest = line.strip_prefix("create ")?;
        let rest = rest.strip_prefix("or replace ").unwrap_or(rest);
        let rest = rest.strip_prefix(what)?.strip_prefix(" tenure.")?;
        rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
    })
}

fn hash<'a>(files: impl IntoIterator<Item = &'a SqlFile>) -> String {
    let mut hasher = Sha256::new();
    for file in files {
        // With its length, or text could move from one file to the next unseen.
        hasher.update((file.text.len() as u64).to_be_bytes());
        hasher.update(file.text);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
