//! The examples in `docs/errors/` are what the database really says: each refusal is provoked and compared with its page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

use tenure_core::hints::{self, Surface};
use tenure_core::{Plan, Refusal, codes};
use tokio_postgres::Client;

use crate::fixture::{Db, get, one, run, told};

/// How each is provoked: the bodies of DO blocks, under their codes.
const SCENES: &str = include_str!("../../testdata/refusals.sql");

/// Codes that no call of SQL brings about, and why.
const ELSEWHERE: [(&str, &str); 5] = [
    ("busy_try_again", "another session has to hold what the call needs"),
    (
        "request_key_reused",
        "only a server that acts for an API key begins requests",
    ),
    (
        "request_under_way",
        "another session has to hold the key of the request",
    ),
    ("expression_never_fires", "the calendar is computed in tenure-core"),
    (
        "executor_name_shared",
        "a shared name is told in the answer of executor_beat, and refused by none",
    ),
];

const PLAN: &str = r#"{"purpose": "Restart the web servers", "sla_class": "fast", "steps": [{"id": "drain", "action": "drain",
  "action_class": "modify", "target_type": "host", "target_ref": "web-1", "needs": []}]}"#;

const SCENE: &str = "
    create function fixture.later(p interval) returns void language sql
    as $$ update fixture.clock set shift = shift + p $$;
    create function fixture.decide(v jsonb, who text, decision text, comment text) returns void language plpgsql
    as $$
    begin
      perform set_config('tenure.principal', who, true);
      perform tenure.approval_decide((v ->> 'approval_id')::uuid, decision, v ->> 'plan_hash', comment);
    end
    $$;";

fn page_of(code: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/errors/{code}.md"))
}

fn scenes() -> BTreeMap<&'static str, &'static str> {
    let parts = SCENES.split("\n-- code: ").skip(1);
    parts
        .map(|part| part.split_once('\n').expect("a body under each code"))
        .collect()
}

/// What the database raises in this scene, of which nothing stays.
async fn provoked(client: &Client, code: &str, body: &str) -> Refusal {
    run(client, "begin").await;
    let block = format!("do $do$ declare v jsonb; u uuid; plan text := '{PLAN}'; begin\n{body}\nend $do$");
    let error = client.batch_execute(&block).await.expect_err(code);
    run(client, "rollback").await;
    let words = told(&error);
    let refusal = Refusal::from(tenure::Error::from(error));
    assert_eq!(refusal.code, code, "{words}");
    refusal
}

/// What Rust says to the plan of this scene. Rust words what is wrong with a plan, SQL names it; the pages show the words.
fn worded(code: &str) -> Option<Refusal> {
    let needs = |id: &str| PLAN.replace(r#""needs": []"#, &format!(r#""needs": ["{id}"]"#));
    let plan = match code {
        "plan_invalid" => needs("drian"),
        "plan_cycle" => needs("drain"),
        "plan_too_large" => PLAN.replace(r#""purpose": ""#, &format!(r#""purpose": "{}"#, "x".repeat(2_000_000))),
        _ => return None,
    };
    let refusal = Plan::read(&plan).expect_err(code);
    assert_eq!(refusal.code, code);
    Some(refusal)
}

/// The same in every run: ids, times and hashes as the pages show them.
async fn settled(client: &Client, text: &str) -> String {
    let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
    let time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00";
    let sql = "select regexp_replace(regexp_replace(regexp_replace(regexp_replace($1,
                 $2, '01990000-0000-7000-8000-000000000001', 'g'), $3, '2026-11-16 14:30:00+00', 'g'),
                 '[0-9a-f]{64}', '9f2c…61a8'), '[0-9a-f]{64}', '41d0…7be3', 'g')";
    get(client, sql, &[&text, &uuid, &time]).await
}

/// The example of a page.
fn example(page: &str) -> Option<(usize, usize)> {
    let start = page.find("```text\n")? + "```text\n".len();
    let end = start + page[start..].find("\n```")?;
    Some((start, end))
}

/// With `TENURE_WRITE=1` the examples are written.
#[tokio::test]
async fn every_example_of_a_page_is_what_the_database_says() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, SCENE).await;
    run(&c, "set timezone = 'UTC'").await;
    one(&c, "select tenure.principal_create('maria', 'human')", &[]).await;
    one(
        &c,
        "select tenure.principal_set('maria', '{\"approver_level\": 3}')",
        &[],
    )
    .await;
    let mut wrong = Vec::new();
    for (code, body) in scenes() {
        let said = provoked(&c, code, body).await;
        let mut refusal = worded(code).unwrap_or(said);
        refusal.next = hints::on(Surface::Command, &refusal.next);
        let shown = settled(&c, &refusal.to_string()).await;
        let path = page_of(code);
        let page = fs::read_to_string(&path).expect("a page");
        let (start, end) = example(&page).unwrap_or_else(|| panic!("docs/errors/{code}.md has no example"));
        if page[start..end] == shown {
            continue;
        }
        if env::var_os("TENURE_WRITE").is_some() {
            fs::write(path, format!("{}{shown}{}", &page[..start], &page[end..])).expect("the page is written");
        } else {
            wrong.push(format!(
                "docs/errors/{code}.md shows\n{}\nand the database says\n{shown}",
                &page[start..end]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nIf the change is meant: TENURE_WRITE=1 cargo test -p tenure --test it error_pages",
        wrong.join("\n\n")
    );
}

#[test]
fn every_code_of_sql_is_provoked_or_says_why_not() {
    let tried: BTreeSet<&str> = scenes().into_keys().chain(ELSEWHERE.iter().map(|it| it.0)).collect();
    let known: BTreeSet<&str> = codes::ALL
        .iter()
        .filter(|it| it.sqlstate.is_some())
        .map(|it| it.name)
        .collect();
    assert_eq!(tried, known);
}
