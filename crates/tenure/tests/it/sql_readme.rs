//! `sql/README.md` says of every function, view and code what is true, and leaves none out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::catalogue::names;
use crate::fixture::{Db, rows, try_rows};

const ROLES: [&str; 8] = [
    "tenure_server",
    "tenure_admin",
    "tenure_operator",
    "tenure_approver",
    "tenure_requester",
    "tenure_producer",
    "tenure_worker",
    "tenure_viewer",
];

/// What `sql/README.md` says of one function.
struct Documented {
    parameters: Vec<String>,
    granted: String,
    refuses: String,
    example: String,
}

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/README.md");
    fs::read_to_string(path).expect("sql/README.md")
}

fn documented(readme: &str) -> BTreeMap<String, Documented> {
    let mut found = BTreeMap::new();
    for section in readme.split("\n#### `").skip(1) {
        let (name, rest) = section.split_once('`').expect("a name in backticks");
        let rest = rest.split("\n##").next().expect("a section");
        let flat = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        let part = |from: &str, to: &str| {
            let (_, after) = flat.split_once(from).unwrap_or_else(|| panic!("{name} has no {from}"));
            after.split(to).next().expect("a part").trim().to_owned()
        };
        let signature = part("- Signature: `", ") returns ");
        let parameters = signature
            .split([' ', '(', ','])
            .filter(|word| word.starts_with("p_"))
            .map(str::to_owned)
            .collect();
        let documented = Documented {
            parameters,
            granted: part("- Granted to: ", " - Refuses:"),
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

#[tokio::test]
async fn every_function_somebody_may_call_is_documented_as_it_is() {
    let db = Db::open().await;
    let c = db.client().await;
    let documented = documented(&readme());
    let functions = rows(
        &c,
        "select p.proname::text, coalesce(p.proargnames[1:p.pronargs], '{}')::text[],
                array(select r.name from unnest($1) r (name) where has_function_privilege(r.name, p.oid, 'execute'))
           from pg_proc p where p.pronamespace = 'tenure'::regnamespace",
        &[&ROLES.to_vec()],
    )
    .await;
    let mut granted_names = BTreeSet::new();
    for row in &functions {
        let (name, parameters, granted): (String, Vec<String>, Vec<String>) = (row.get(0), row.get(1), row.get(2));
        if granted.is_empty() {
            continue;
        }
        let told = documented
            .get(&name)
            .unwrap_or_else(|| panic!("{name} is not in sql/README.md"));
        assert_eq!(told.parameters, parameters, "parameters of {name}");
        let granted = if granted.len() == ROLES.len() {
            "everybody".to_owned()
        } else {
            let short: Vec<&str> = granted.iter().map(|it| it.trim_start_matches("tenure_")).collect();
            short.join(", ")
        };
        assert_eq!(told.granted, granted, "grants of {name}");
        granted_names.insert(name);
    }
    let unknown: Vec<_> = documented
        .keys()
        .filter(|name| !granted_names.contains(*name))
        .collect();
    assert!(
        unknown.is_empty(),
        "documented, but nobody may call it or it is not there: {unknown:?}"
    );
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
    let told: BTreeSet<String> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | TN"))
        .map(|(code, rest)| format!("{code} TN{}", rest.split(' ').next().expect("a number")))
        .collect();
    assert_eq!(told, codes);
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
    let mut told: Vec<&str> = section
        .split("\n## ")
        .next()
        .expect("a section")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    told.sort_unstable();
    assert_eq!(told, views);
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
