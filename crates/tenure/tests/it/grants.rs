//! Who may call what: read from the line `granted to:` beside each SQL function. `sql/functions/grants.sql` is generated from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tenure_api::registry::ENTRIES;

use crate::generated::{compare_or_write, in_tree, wrapped};
use crate::tidy::files;

/// Every role, without `tenure_`, in the order in which a grant names them.
pub(crate) const ROLES: [&str; 8] = [
    "server",
    "admin",
    "operator",
    "approver",
    "requester",
    "producer",
    "worker",
    "viewer",
];

/// Columns that a line of the matrix has at the most.
const COLUMNS_MAX: usize = 110;

/// What is generated.
const MATRIX: &str = "sql/functions/grants.sql";

/// A function that a role may call.
#[derive(Debug)]
pub(crate) struct Granted {
    /// Its name.
    pub(crate) name: String,
    /// The file or folder of `sql/functions` that it is in.
    pub(crate) noun: String,
    /// What the comment above it says.
    pub(crate) comment: String,
    /// Its name, arguments and result, in one line.
    pub(crate) signature: String,
    /// The roles that may call it, in the order of [`ROLES`].
    pub(crate) roles: Vec<&'static str>,
}

impl Granted {
    /// Its roles as the comment beside it names them. The server may call every function that is granted, so it is named only
    /// where it is alone.
    pub(crate) fn roles_named(&self) -> String {
        match self.roles.as_slice() {
            all if all.len() == ROLES.len() => "all".to_owned(),
            ["server"] => "server".to_owned(),
            roles => roles[1..].join(", "),
        }
    }

    /// The first sentence of its comment.
    pub(crate) fn sentence(&self) -> &str {
        let end = self.comment.match_indices(". ").map(|(at, _)| at + 1).next();
        &self.comment[..end.unwrap_or(self.comment.len())]
    }
}

/// The roles that a line `granted to:` names.
fn roles_of(named: &str) -> Result<Vec<&'static str>, String> {
    match named {
        "all" => return Ok(ROLES.to_vec()),
        "server" => return Ok(vec!["server"]),
        _ => {}
    }
    let names: Vec<&str> = named.split(", ").collect();
    if let Some(unknown) = names.iter().find(|name| !ROLES[1..].contains(name)) {
        return Err(format!(
            "{unknown:?} is not a role to grant to; those are {:?}",
            &ROLES[1..]
        ));
    }
    let roles: Vec<&str> = ROLES.into_iter().filter(|role| names.contains(role)).collect();
    if roles.len() != names.len() || roles.len() + 1 == ROLES.len() {
        return Err(format!("{named:?} is written differently: each role once, or all"));
    }
    Ok([&["server"], roles.as_slice()].concat())
}

/// The granted functions of one file.
fn read(text: &str, noun: &str) -> Result<Vec<Granted>, String> {
    let mut found = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut roles = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(named) = line.strip_prefix("-- granted to: ") {
            roles = Some(roles_of(named)?);
        } else if line
            .to_lowercase()
            .trim_start_matches(['-', ' '])
            .starts_with("granted to")
        {
            return Err(format!("{line:?} is written differently: -- granted to: ROLE, ROLE"));
        } else if let Some(roles) = roles.take() {
            let Some(head) = line.strip_prefix("create or replace function tenure.") else {
                return Err(format!("a line granted to: is above {line:?}, not above a function"));
            };
            if comment.is_empty() {
                return Err(format!("no comment says what {head:?} does"));
            }
            let rest = lines.by_ref().take_while(|line| !line.starts_with("language "));
            let signature: Vec<&str> = std::iter::once(head)
                .chain(rest)
                .flat_map(str::split_whitespace)
                .collect();
            found.push(Granted {
                name: head.split('(').next().unwrap_or_default().to_owned(),
                noun: noun.to_owned(),
                comment: comment.join(" "),
                signature: signature.join(" ").replace("( ", "("),
                roles,
            });
            comment.clear();
        } else if let Some(text) = line.strip_prefix("--") {
            comment.push(text.trim());
        } else {
            comment.clear();
        }
    }
    match roles {
        Some(_) => Err("a line granted to: is the last of the file".to_owned()),
        None => Ok(found),
    }
}

/// The file or folder of `sql/functions` that a path is in; of the folder `structure`, the file.
fn noun_of(path: &Path) -> String {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let noun = match parts.as_slice() {
        ["structure", file, ..] => file,
        [first, ..] => first,
        [] => "",
    };
    noun.trim_end_matches(".sql").to_owned()
}

/// Every function that a role may call, by name.
pub(crate) fn granted() -> BTreeMap<String, Granted> {
    let below = in_tree("sql/functions");
    let mut found = BTreeMap::new();
    for path in files(&below).iter().filter(|path| !path.ends_with(MATRIX)) {
        let text = fs::read_to_string(path).expect("a file of sql/functions");
        let noun = noun_of(path.strip_prefix(&below).expect("it is below"));
        let functions = read(&text, &noun).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for function in functions {
            let name = function.name.clone();
            assert!(found.insert(name.clone(), function).is_none(), "{name} is made twice");
        }
    }
    found
}

/// The text of the matrix.
fn matrix(granted: &BTreeMap<String, Granted>) -> String {
    let mut text = "\
-- Who may call what: generated; TENURE_WRITE=1 cargo test -p tenure --test it grants:: writes it again.
-- Each function names its roles in the line \"granted to:\" above it. The server may call all of them.
-- A function that is not granted cannot be called. One that is has one signature only: its name is enough.

revoke all on all functions in schema tenure from public;
revoke all on all functions in schema tenure from
"
    .to_owned();
    let list = |roles: &[&str]| -> Vec<String> {
        let last = roles.len() - 1;
        let ending = |at: usize| if at == last { ";" } else { "," };
        (0..)
            .zip(roles)
            .map(|(at, role)| format!("tenure_{role}{}", ending(at)))
            .collect()
    };
    let set = |words: &[String]| wrapped(words.iter().map(String::as_str), "  ", COLUMNS_MAX);
    text.push_str(&set(&list(&ROLES)));
    let mut groups: Vec<(&[&str], Vec<&Granted>)> = Vec::new();
    for function in granted.values() {
        match groups.iter_mut().find(|(roles, _)| *roles == function.roles) {
            Some((_, functions)) => functions.push(function),
            None => groups.push((&function.roles, vec![function])),
        }
    }
    // From what every role may do to what only the server may.
    groups.sort_by_key(|(roles, functions)| (ROLES.len() - roles.len(), functions[0].roles_named()));
    for (roles, functions) in groups {
        let named = functions[0].roles_named();
        let last = functions.len() - 1;
        let ending = |at: usize| if at == last { "" } else { "," };
        let names: Vec<String> = (0..)
            .zip(&functions)
            .map(|(at, it)| format!("tenure.{}{}", it.name, ending(at)))
            .collect();
        text.push_str(&format!(
            "\n\n-- granted to: {named}\ngrant execute on function\n{}\nto\n{}",
            set(&names),
            set(&list(roles))
        ));
    }
    text.push('\n');
    text
}

#[test]
fn grants_sql_is_what_the_functions_say() {
    compare_or_write(MATRIX, &matrix(&granted()), "grants::");
}

#[test]
fn a_grant_to_an_unknown_role_or_beside_no_function_is_refused() {
    let function = "create or replace function tenure.job_show(p_job_id uuid) returns jsonb";
    let with = |comment: &str| read(&format!("{comment}\n{function}\nlanguage sql\n"), "jobs");
    let good = with("-- Shows a job. And more.\n-- granted to: operator, admin").expect("a good comment");
    assert_eq!(good[0].name, "job_show");
    assert_eq!(good[0].roles, ["server", "admin", "operator"]);
    assert_eq!(good[0].roles_named(), "admin, operator");
    assert_eq!(good[0].sentence(), "Shows a job.");
    assert_eq!(good[0].signature, "job_show(p_job_id uuid) returns jsonb");
    for (comment, why) in [
        ("-- Shows a job.\n-- granted to: operators", "is not a role"),
        ("-- Shows a job.\n-- granted to: server, admin", "is not a role"),
        ("-- Shows a job.\n-- granted to: admin, admin", "each role once"),
        ("-- Shows a job.\n-- Granted to: admin", "is written differently"),
        ("-- Shows a job.\n-- granted to: admin\n", "not above a function"),
        (
            "-- Shows a job.\n-- granted to: admin\n-- It also shows more.",
            "not above a function",
        ),
        ("-- granted to: admin", "no comment"),
    ] {
        let error = with(comment).expect_err(comment);
        assert!(error.contains(why), "{comment}: {error}");
    }
    let error = read("-- granted to: admin", "jobs").expect_err("the file ends");
    assert!(error.contains("last of the file"), "{error}");
}

/// What a viewer may call changes nothing, whatever the comment beside a function says.
#[test]
fn every_operation_is_granted_and_a_viewer_only_reads() {
    let granted = granted();
    for entry in ENTRIES {
        let Some(function) = granted.get(entry.function) else {
            panic!("tenure.{} of {} has no line granted to:", entry.function, entry.name);
        };
        assert!(
            function.roles.len() > 1,
            "{} is an operation, so that a role other than the server's may call it",
            entry.name
        );
        assert!(
            entry.effect == tenure_api::Effect::Reads || !function.roles.contains(&"viewer"),
            "{} changes something, and viewers may call tenure.{}",
            entry.name,
            entry.function
        );
    }
}
