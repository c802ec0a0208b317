//! Checkpoints outside the database: a server appends them to its file, and `tenure evidence verify --anchor` holds against them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::evidence::written;
use crate::evidence_export::{executed, public_key};
use crate::python::python;
use crate::workbench::{Answer, Workbench, check_refusal, eventually, tenure, text_of};

/// The first key of RFC 8032.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
const SEED: &str = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
const PUBLIC: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

/// A file that only its owner can read.
fn secret(directory: &Path, text: &str) -> String {
    let path = written(directory, "evidence.pem", text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// A command of the workbench with the key outside.
fn with_key(bench: &Workbench, key: &str, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.env("TENURE_EVIDENCE_KEY_FILE", key);
    command
}

fn verify(file: &str, more: &[&str]) -> Answer {
    let args = ["evidence", "verify", file, "--public-key", PUBLIC, "--json"];
    Answer::of(tenure().args(args.iter().chain(more)))
}

fn json_of(answer: &Answer) -> Value {
    serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{answer:?}"))
}

/// Changes who did the work as a superuser can: in lines and rows alike, without triggers, with all hashes computed again.
async fn rewrite(bench: &Workbench, id: &str) {
    let client = bench.database.connect().await.unwrap();
    client
        .batch_execute(&format!(
            "begin;
             set local session_replication_role = replica;
             update tenure.execution_events set body = jsonb_set(body::jsonb, '{{data,worker}}', '\"another\"')::text
              where execution_id = '{id}' and kind = 'step_completed';
             update tenure.step_states set worker = 'another' where execution_id = '{id}';
             update tenure.attempts set owner = 'another'
              where job_id in (select job_id from tenure.step_rows where execution_id = '{id}');
             do $$
             declare
               v_hash bytea := sha256(convert_to('tenure/execution/{id}', 'UTF8'));
               v_row  record;
             begin
               for v_row in select seq, body from tenure.execution_events where execution_id = '{id}' order by seq loop
                 v_hash := sha256(v_hash || convert_to(v_row.body, 'UTF8'));
                 update tenure.execution_events set hash = v_hash where execution_id = '{id}' and seq = v_row.seq;
               end loop;
               update tenure.execution_states set chain_hash = v_hash where execution_id = '{id}';
             end $$;
             commit"
        ))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_a_server_anchored_in_its_file_cannot_be_rewritten_in_the_database() {
    let bench = Workbench::open().await;
    let directory = tempfile::tempdir().unwrap();
    let id = executed(&bench, &directory);
    let pem = secret(directory.path(), PEM);
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let checkpoints = path("anchors.jsonl");
    let mut serve = bench.command(["serve", "--listen", "127.0.0.1:0", "--json", "--log", "error"]);
    serve.args(["--evidence-key-file", &pem, "--anchor-file", &checkpoints]);
    let api = Api::of(serve);
    let lines = || {
        std::fs::read_to_string(&checkpoints)
            .unwrap_or_default()
            .lines()
            .count()
    };
    eventually("a checkpoint in the file", || (lines() == 1).then_some(()));

    // The key is outside: with it an export is signed, without it there is none.
    assert_eq!(public_key(&bench), PUBLIC);
    let refusal = bench.refused(&["execution", "export", &id], "evidence_key_missing");
    assert!(
        text_of(&refusal, "next").contains("TENURE_EVIDENCE_KEY_FILE"),
        "{refusal}"
    );
    assert!(
        text_of(&refusal, "next").contains("tenure serve --evidence-key-file"),
        "{refusal}"
    );
    let refusal = bench.refused(&["evidence", "key", "create"], "state_conflict");
    assert!(text_of(&refusal, "why").contains("removed"), "{refusal}");
    let keys = bench.lines(&["evidence", "key", "list"]);
    assert_eq!(
        (&keys[0]["kept"], &keys[0]["signs"]),
        (&"outside".into(), &true.into()),
        "{keys:?}"
    );
    let before = path("before.evidence");
    Answer::of(&mut with_key(
        &bench,
        &pem,
        &["execution", "export", &id, "--out", &before],
    ))
    .ok();
    let anchor = ["--anchor", checkpoints.as_str()];
    let verified: Value = serde_json::from_str(&verify(&before, &anchor).ok()).unwrap();
    assert_eq!(verified["anchor"]["checkpoint"], 1, "{verified}");
    assert_eq!(
        verified["anchor"]["chain_length"], verified["anchor"]["events"],
        "{verified}"
    );

    // What the auditor is given by hand, and by a server.
    let (proof, list) = (path("proof"), path("list.jsonl"));
    bench.run(["evidence", "proof", &id, "--out", &proof]).ok();
    bench.run(["evidence", "anchor", "export", "--out", &list]).ok();
    verify(&before, &["--anchor", &list, "--proof", &proof]).ok();
    let viewer = key(&bench, "auditor", &["--role", "viewer"]);
    let listed = api.get(&viewer, "/v1/anchors?heads=true");
    assert_eq!(listed["items"][0]["number"], 1, "{listed}");
    assert_eq!(api.get(&viewer, "/v1/anchors/1")["heads"][0][1], json!(id));
    let got = api.get(&viewer, &format!("/v1/executions/{id}/proof"));
    assert_eq!(
        got,
        serde_json::from_str::<Value>(&std::fs::read_to_string(&proof).unwrap()).unwrap()
    );
    api.refused(api.send(&viewer, "GET", "/v1/anchors/9", None), 404, "anchor_unknown");
    api.refused(
        api.send(&viewer, "GET", "/v1/anchors/nine", None),
        400,
        "request_invalid",
    );
    assert_eq!(bench.lines(&["evidence", "anchor", "list"]).len(), 1);
    let doctor = bench.lines(&["doctor"]);
    let found = |check: &str| {
        doctor
            .iter()
            .find(|row| row["check"] == check)
            .cloned()
            .unwrap_or_default()
    };
    assert!(
        text_of(&found("evidence key"), "what").contains("outside the database"),
        "{doctor:?}"
    );
    assert!(
        text_of(&found("checkpoints"), "what").contains("the sink has all of them"),
        "{doctor:?}"
    );

    rewrite(&bench, &id).await;
    let after = path("after.evidence");
    Answer::of(&mut with_key(
        &bench,
        &pem,
        &["execution", "export", &id, "--out", &after],
    ))
    .ok();
    verify(&after, &[]).ok();
    let refused = verify(&after, &anchor);
    let refusal = json_of(&refused);
    assert_eq!((refused.exit, &refusal["code"]), (3, &"evidence_invalid".into()));
    assert_eq!(refusal["findings"][0]["fault"], "anchor_differs", "{refusal}");
    let head = &api.get(&viewer, "/v1/anchors/1")["heads"][0][3];
    assert!(text_of(&refusal, "why").contains(head.as_str().unwrap()), "{refusal}");
    assert_eq!(
        json_of(&verify(&after, &["--anchor", &list, "--proof", &proof]))["findings"][0]["fault"],
        "anchor_differs"
    );
    by_hand(&before, &after, &checkpoints, &proof);
}

/// The program for auditors says the same, with nothing of Tenure in it.
fn by_hand(before: &str, after: &str, checkpoints: &str, proof: &str) {
    let Some(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/testdata/anchors/verify.py");
    let run = |file: &str| {
        let mut command = Command::new(&python);
        command
            .arg("-B")
            .arg(&script)
            .args([file, checkpoints, PUBLIC, "--proof", proof]);
        Answer::of(&mut command)
    };
    assert!(run(before).ok().starts_with("checkpoint 1 of "));
    let said = run(after);
    assert!(said.exit != 0 && said.err.contains("another history"), "{said:?}");
}

/// The program for auditors refuses a history that was cut and continued otherwise, as the vectors have it.
#[test]
fn the_program_for_auditors_says_of_the_vectors_what_tenure_says() {
    let Some(python) = python() else { return };
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/testdata/anchors");
    let directory = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(vectors.join("rewritten_checkpoints.jsonl")).unwrap();
    let first = |count: usize| -> String { text.split_inclusive('\n').take(count).collect() };
    let run = |evidence: &str, checkpoints: &str, more: &[&str]| {
        let file = written(directory.path(), "checkpoints", checkpoints);
        let mut command = Command::new(&python);
        command
            .arg("-B")
            .arg(vectors.join("verify.py"))
            .arg(vectors.join(evidence));
        Answer::of(command.args([&file, PUBLIC]).args(more))
    };
    let said = run("rewritten.jsonl", &first(4), &[]);
    assert!(
        said.exit != 0 && said.err.contains("ask for a newer export"),
        "{said:?}"
    );
    let older = run("rewritten.jsonl", &first(4), &["--older-export"]).ok();
    assert!(
        older.contains("checkpoint 4 covers 13 events") && older.contains("covers 9 of 11"),
        "{older}"
    );
    let said = run("rewritten.jsonl", &first(5), &["--older-export"]);
    assert!(said.exit != 0 && said.err.contains("was rewritten"), "{said:?}");
    let whole = std::fs::read_to_string(vectors.join("checkpoints.jsonl")).unwrap();
    assert!(run("history.jsonl", &whole, &[]).ok().contains("covers 3 of 3"));
}

#[tokio::test]
async fn a_key_file_that_others_can_read_or_that_holds_no_key_stops_the_server() {
    let bench = Workbench::open().await;
    let directory = tempfile::tempdir().unwrap();
    let pem = secret(directory.path(), PEM);
    let serve = |pem: &str| {
        let mut command = bench.command(["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--evidence-key-file", pem]);
        command
    };
    let note = written(directory.path(), "note", "no key");
    std::fs::set_permissions(&note, std::fs::Permissions::from_mode(0o600)).unwrap();
    check_refusal(|| serve(&note), "config_invalid");
    check_refusal(|| serve("/nonexistent"), "config_invalid");
    check_refusal(
        || {
            let mut command = serve(&pem);
            command.env("TENURE_EVIDENCE_KEY", SEED);
            command
        },
        "config_invalid",
    );
    std::fs::set_permissions(&pem, std::fs::Permissions::from_mode(0o640)).unwrap();
    let refusal = check_refusal(|| serve(&pem), "file_exposed");
    assert!(text_of(&refusal, "why").contains("0640"), "{refusal}");
    assert!(!refusal.to_string().contains("nWGxne"), "{refusal}");
    // Nothing has changed: the key of the database signs.
    assert_eq!(
        text_of(&bench.lines(&["evidence", "key", "list"])[0], "kept"),
        "database"
    );

    // The same key from the environment, as its bare bytes.
    let mut command = bench.command([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--json",
        "--log",
        "error",
        "--no-services",
    ]);
    command.env("TENURE_EVIDENCE_KEY", SEED);
    let _api = Api::of(command);
    let keys = bench.lines(&["evidence", "key", "list"]);
    assert_eq!(
        (text_of(&keys[0], "public_key"), text_of(&keys[0], "kept")),
        (PUBLIC.to_owned(), "outside".to_owned())
    );
    assert_eq!(text_of(&keys[1], "kept"), "removed");
    assert_eq!(
        bench
            .sql("select count(*)::text from tenure.secrets where name ^@ 'evidence:'")
            .await,
        "0"
    );
}

#[test]
fn checkpoints_that_do_not_hold_are_refused_by_their_line() {
    let directory = tempfile::tempdir().unwrap();
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/testdata");
    let file = vectors
        .join("evidence/succeeded.signed.jsonl")
        .to_str()
        .unwrap()
        .to_owned();
    let text = std::fs::read_to_string(vectors.join("anchors/checkpoints.jsonl")).unwrap();
    let whole = written(directory.path(), "whole", &text);
    let refusal = json_of(&verify(&file, &["--anchor", &whole]));
    assert_eq!(refusal["findings"][0]["fault"], "not_anchored", "{refusal}");
    let changed = written(
        directory.path(),
        "changed",
        text.replacen("\"number\":2", "\"number\":7", 1),
    );
    let refusal = json_of(&verify(&file, &["--anchor", &changed]));
    assert_eq!(
        (&refusal["findings"][0]["line"], &refusal["findings"][0]["fault"]),
        (&2.into(), &"signature_wrong".into())
    );
    let people = Answer::of(tenure().args([
        "evidence",
        "verify",
        &file,
        "--public-key",
        PUBLIC,
        "--anchor",
        &changed,
    ]));
    assert!(
        people.exit == 3 && people.err.contains("line 2 of the checkpoints"),
        "{people:?}"
    );
    check_refusal(
        || {
            let mut command = tenure();
            command.args(["evidence", "verify", &file, "--public-key", PUBLIC, "--proof", &whole]);
            command
        },
        "usage",
    );
}

/// A file that can never be written is refused at the start, whether or not this server makes checkpoints.
#[tokio::test]
async fn an_anchor_file_in_no_directory_is_refused_at_the_start() {
    let bench = Workbench::open().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("missing/anchors.jsonl");
    for services in [&[][..], &["--no-services"]] {
        let args = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--anchor-file",
            file.to_str().unwrap(),
        ];
        let refusal = bench.refused(&[&args, services].concat(), "config_invalid");
        assert!(text_of(&refusal, "why").contains("There is no directory"), "{refusal}");
    }
}
