//! `sql/README.md` says of every function, view and code what is true, and leaves none out. What the SQL files say already is
//! generated: the list of functions, and in the part about one its signature, its roles and its route.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tenure_api::registry::ENTRIES;

use crate::catalogue::names;
use crate::fixture::{Db, try_rows};
use crate::generated::{compare_or_write, in_tree, wrapped};
use crate::grants::{Granted, granted};

const README: &str = "sql/README.md";
const LIST_BEGINS: &str = "<!-- generated: functions -->\n";
const LIST_ENDS: &str = "<!-- end of generated -->\n";
/// Columns that a line of the document has at the most.
const COLUMNS_MAX: usize = 116;

/// What `sql/README.md` says of one function by hand.
struct Documented {
    refuses: String,
    example: String,
}

fn readme() -> String {
    fs::read_to_string(in_tree(README)).expect("sql/README.md")
}

/// The parts about one function: its name, and the text behind it.
fn parts(readme: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = readme.split("\n#### `").skip(1);
    parts.map(|part| part.split_once('`').expect("a name in backticks"))
}

fn documented(readme: &str) -> BTreeMap<String, Documented> {
    let mut found = BTreeMap::new();
    for (name, rest) in parts(readme) {
        let rest = rest.split("\n##").next().expect("a section");
        let flat = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        let part = |from: &str, to: &str| {
            let (_, after) = flat.split_once(from).unwrap_or_else(|| panic!("{name} has no {from}"));
            after.split(to).next().expect("a part").trim().to_owned()
        };
        let documented = Documented {
            refuses: part("- Refuses: ", " - Example:"),
            example: part("- Example: `", "`"),
        };
        assert!(
            found.insert(name.to_owned(), documented).is_none(),
            "{name} is documented twice"
        );
    }
    found
}

/// The routes of the operations that call a function.
fn routes(function: &str) -> Vec<String> {
    let entries = ENTRIES.iter().filter(|entry| entry.function == function);
    entries
        .map(|entry| format!("`{} {}`", entry.route.method, entry.route.path))
        .collect()
}

/// A table for each file or folder of `sql/functions`.
fn list(granted: &BTreeMap<String, Granted>, documented: &BTreeMap<String, Documented>) -> String {
    let mut nouns: BTreeMap<&str, Vec<&Granted>> = BTreeMap::new();
    for function in granted.values() {
        nouns.entry(&function.noun).or_default().push(function);
    }
    let mut text = String::new();
    for (noun, functions) in nouns {
        text.push_str(&format!(
            "\n**{noun}**\n\n| function | does | granted to | HTTP |\n|---|---|---|---|\n"
        ));
        for function in functions {
            let name = &function.name;
            let name = match documented.contains_key(name) {
                true => format!("[`{name}`](#{name})"),
                false => format!("`{}`", function.signature),
            };
            let (does, roles, routes) = (
                function.sentence(),
                function.roles_named(),
                routes(&function.name).join(", "),
            );
            text.push_str(&format!(
                "| {name} | {} | {roles} | {routes} |\n",
                does.replace('|', "\\|")
            ));
        }
    }
    text.push('\n');
    text
}

/// What is generated in the part about a function.
fn facts(function: &Granted) -> String {
    let signature = format!("- Signature: `{}`", function.signature);
    let lines = wrapped(signature.split(' '), "  ", COLUMNS_MAX);
    let mut text = format!("{}\n- Granted to: {}\n", lines.trim_start(), function.roles_named());
    let routes = routes(&function.name);
    if !routes.is_empty() {
        text.push_str(&format!("- HTTP: {}\n", routes.join(", ")));
    }
    text
}

/// The document with its generated parts made anew.
fn generated(readme: &str, granted: &BTreeMap<String, Granted>) -> String {
    let (before, rest) = readme.split_once(LIST_BEGINS).expect("the list begins");
    let (_, after) = rest.split_once(LIST_ENDS).expect("the list ends");
    let list = list(granted, &documented(readme));
    let mut parts = after.split("\n#### `");
    let mut text = format!(
        "{before}{LIST_BEGINS}{list}{LIST_ENDS}{}",
        parts.next().unwrap_or_default()
    );
    for part in parts {
        let (name, rest) = part.split_once('`').expect("a name in backticks");
        let function = granted.get(name);
        let function = function.unwrap_or_else(|| panic!("{name} is documented, but it is not granted or not there"));
        let (head, rest) = rest.split_once("\n- Signature: ").unwrap_or_else(|| {
            rest.split_once("\n- Refuses: ")
                .unwrap_or_else(|| panic!("{name} has no - Refuses:"))
        });
        let rest = rest.split_once("\n- Refuses: ").map_or(rest, |(_, rest)| rest);
        text.push_str(&format!("\n#### `{name}`{head}\n{}- Refuses: {rest}", facts(function)));
    }
    text
}

#[test]
fn every_function_that_a_role_may_call_is_documented_as_it_is() {
    compare_or_write(README, &generated(&readme(), &granted()), "sql_readme::every_function");
}

#[tokio::test]
async fn every_code_and_view_of_the_readme_exists_and_none_is_left_out() {
    let db = Db::open().await;
    let c = db.client().await;
    let readme = readme();
    let codes: BTreeSet<String> = names(&c, "select code || ' ' || sqlstate from tenure.refusal_codes()")
        .await
        .into_iter()
        .collect();
    let listed: BTreeSet<String> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | TN"))
        .map(|(code, rest)| format!("{code} TN{}", rest.split(' ').next().expect("a number")))
        .collect();
    assert_eq!(listed, codes);
    for (name, it) in documented(&readme) {
        for code in it.refuses.split('`').skip(1).step_by(2) {
            let known = codes.iter().any(|line| line.split(' ').next() == Some(code)) || code.starts_with("job_");
            assert!(known, "{name} names the code {code}, which does not exist");
        }
    }
    // Views that a role may read; the others are for functions.
    let views = names(
        &c,
        "select c.relname::text from pg_class c
          where c.relnamespace = 'tenure'::regnamespace and c.relkind = 'v' and c.relacl is not null
            and exists (select from aclexplode(c.relacl) a where a.grantee <> c.relowner) order by 1",
    )
    .await;
    let (_, section) = readme.split_once("\n## Views\n").expect("a section about views");
    let mut listed: Vec<&str> = section
        .split("\n## ")
        .next()
        .expect("a section")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    listed.sort_unstable();
    assert_eq!(listed, views);
}

#[tokio::test]
async fn every_example_of_the_readme_runs_or_is_refused_properly() {
    let db = Db::open().await;
    let c = db.client().await;
    for (name, it) in documented(&readme()) {
        assert!(
            it.example.contains(&format!("tenure.{name}(")) || it.example.contains("tenure."),
            "{name}: {}",
            it.example
        );
        if let Err(error) = try_rows(&c, it.example.trim_end_matches(';'), &[]).await {
            let code = error
                .as_db_error()
                .map(|it| it.code().code().to_owned())
                .unwrap_or_default();
            assert!(code.starts_with("TN"), "{name}: {} gives {error:?}", it.example);
        }
    }
}
