//! The examples in `docs/errors/` of what this program refuses are what it really says. Those of the database are compared by the
//! module of the same name in the crate `tenure`.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use serde_json::{Value, json};
use tenure_core::{Refusal, codes};

use crate::remote_scene::Scene;
use crate::workbench::{Answer, Workbench, tenure};

/// Codes that are about the machine or about time, and would need a broken one or a long wait to be brought about here. Their
/// own tests provoke them one by one.
const NOT_HERE: [&str; 20] = [
    "context_guarded",
    "context_unknown",
    "data_dir_in_use",
    "data_dir_version",
    "database_error",
    "database_start_failed",
    "database_tls",
    "disk_full",
    "evidence_invalid",
    "file_exposed",
    "job_not_succeeded",
    "permission_denied",
    "postgres_not_found",
    "request_timeout",
    "request_too_large",
    "schema_too_new",
    "schema_too_old",
    "server_busy",
    "server_not_tenure",
    "server_tls",
];

/// As above, where what is said depends on a clock.
const TIMED: [&str; 3] = ["answer_not_kept", "too_many_attempts", "wait_timeout"];

/// The refusal that a command ends with.
fn at_prompt(answer: &Answer) -> Value {
    serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{answer:?}"))
}

/// Ports and addresses as the pages show them.
fn settled(text: &str, server: &str) -> String {
    let usual = "http://127.0.0.1:7373";
    text.replace(server, usual)
        .replace("http://127.0.0.1:1 ", &format!("{usual} "))
}

/// With `TENURE_WRITE=1` the examples are written.
#[tokio::test]
async fn every_example_of_a_page_is_what_the_program_says() {
    let scene = Scene::open().await;
    let empty = Workbench::empty().await;
    let (api, key) = (&scene.api, &scene.key);
    let of = |args: &[&str]| at_prompt(&Answer::of(tenure().args(args).arg("--json")));
    let authorization = format!("Bearer {key}");
    let keyed = [("authorization", authorization.as_str())];
    let refusals = [
        of(&["job", "enqueue", "mail.send", "--prioritty", "urgent"]),
        of(&["--database-url", "postgres://127.0.0.1:1/app", "job", "list"]),
        of(&["--server", "http://127.0.0.1:1", "--key", key, "job", "list"]),
        at_prompt(&empty.run(["--json", "job", "list"])),
        at_prompt(&scene.run(["--json", "migrate"])),
        api.raw("GET", "/v1/jobs", &[], None).1,
        api.send(key, "GET", "/v1/job", None).1,
        api.send(key, "DELETE", "/v1/jobs", None).1,
        api.raw("POST", "/v1/jobs", &keyed, Some("{}")).1,
        api.send(key, "POST", "/v1/jobs", Some(&json!({"knd": "mail.send"}))).1,
    ];
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for refusal in refusals {
        let refusal: Refusal = serde_json::from_value(refusal).expect("a refusal");
        let code = refusal.code.clone().into_owned();
        let shown = settled(&refusal.to_string(), api.url());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/errors/{code}.md"));
        let page = fs::read_to_string(&path).expect("a page");
        let start = page.find("```text\n").expect("an example") + "```text\n".len();
        let end = start + page[start..].find("\n```").expect("its end");
        if page[start..end] != shown {
            if env::var_os("TENURE_WRITE").is_some() {
                fs::write(path, format!("{}{shown}{}", &page[..start], &page[end..])).expect("written");
            } else {
                wrong.push(format!(
                    "docs/errors/{code}.md shows\n{}\nand it says\n{shown}",
                    &page[start..end]
                ));
            }
        }
        assert!(seen.insert(code.clone()), "{code} comes twice");
    }
    assert!(
        wrong.is_empty(),
        "{}\nIf the change is meant: TENURE_WRITE=1 cargo test -p tenure-cli --test it error_pages",
        wrong.join("\n\n")
    );
    seen.extend(NOT_HERE.iter().chain(&TIMED).map(|it| (*it).to_owned()));
    let known: BTreeSet<String> = codes::ALL
        .iter()
        .filter(|code| code.sqlstate.is_none())
        .map(|code| code.name.to_owned())
        .collect();
    assert_eq!(
        seen, known,
        "every code of this program is compared, or named as one that is not"
    );
}
