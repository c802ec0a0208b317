//! `tenure execution export` and `tenure evidence key`: what the database tells is signed, and verifies.

use serde_json::Value;

use crate::evidence::written;
use crate::remote_scene::Scene;
use crate::workbench::{Answer, Workbench, tenure, text_of};

const PLAN: &str = r#"{"purpose": "look at the shop", "sla_class": "long", "steps": [
    {"id": "look", "action": "shop.look", "action_class": "read", "target_type": "service", "target_ref": "shop"},
    {"id": "look again", "action": "shop.look", "action_class": "read", "target_type": "service", "target_ref": "shop",
     "needs": ["look"]}]}"#;

/// An execution that has succeeded.
pub(crate) fn executed(bench: &Workbench, directory: &tempfile::TempDir) -> String {
    let plan = written(directory.path(), "plan.json", PLAN);
    let id = text_of(&bench.json(&["execution", "submit", &plan]), "execution_id");
    for _ in 0..2 {
        let (job, token) = bench.claim("shop.look");
        bench.json(&["job", "complete", &job, &token]);
    }
    assert_eq!(text_of(&bench.json(&["execution", "show", &id]), "state"), "succeeded");
    id
}

/// The key that signs now.
pub(crate) fn public_key(bench: &Workbench) -> String {
    let keys = bench.lines(&["evidence", "key", "list"]);
    let signs: Vec<&Value> = keys.iter().filter(|key| key["signs"] == true).collect();
    assert_eq!(signs.len(), 1, "{keys:?}");
    text_of(signs[0], "public_key")
}

pub(crate) fn verify(file: &str, key: &str) -> Answer {
    Answer::of(tenure().args(["evidence", "verify", file, "--public-key", key, "--json"]))
}

#[tokio::test]
async fn an_export_verifies_with_the_key_that_init_made() {
    let bench = Workbench::open().await;
    let directory = tempfile::tempdir().unwrap();
    let id = executed(&bench, &directory);
    let key = public_key(&bench);
    let path = directory.path().join("shop.evidence");
    let path = path.to_str().unwrap();
    let said = bench.run(["execution", "export", &id, "--out", path]).ok();
    assert!(said.contains(&id) && said.contains(path), "{said}");

    let verified: Value = serde_json::from_str(&verify(path, &key).ok()).unwrap();
    assert_eq!(
        (&verified["execution_id"], &verified["state"]),
        (&id.as_str().into(), &"succeeded".into())
    );
    let story = Answer::of(tenure().args(["evidence", "show", path, "--public-key", &key])).ok();
    for part in [
        "look at the shop",
        "look again",
        "submitted the plan",
        "approved by the rule alone",
    ] {
        assert!(story.contains(part), "{part} is not in\n{story}");
    }

    // Nothing is written over.
    bench.refused(&["execution", "export", &id, "--out", path], "usage");
    bench.refused(
        &["execution", "export", "01990000-0000-7000-8000-000000000001"],
        "execution_unknown",
    );
    let text = std::fs::read_to_string(path).unwrap();
    let changed = written(directory.path(), "changed", text.replacen("look again", "look away", 1));
    let refusal: Value = serde_json::from_str(&verify(&changed, &key).out).unwrap();
    assert_eq!(refusal["findings"][0]["line"], 2, "{refusal}");
}

#[tokio::test]
async fn a_new_key_signs_and_the_old_one_still_proves_what_it_signed() {
    let bench = Workbench::open().await;
    let directory = tempfile::tempdir().unwrap();
    let id = executed(&bench, &directory);
    let old = public_key(&bench);
    let first = written(directory.path(), "first", bench.run(["execution", "export", &id]).ok());
    let new = bench.run(["evidence", "key", "create"]).ok().trim().to_owned();
    assert_eq!((public_key(&bench), new != old), (new.clone(), true));
    let second = written(directory.path(), "second", bench.run(["execution", "export", &id]).ok());
    for (file, right, wrong) in [(&first, &old, &new), (&second, &new, &old)] {
        verify(file, right).ok();
        let refusal: Value = serde_json::from_str(&verify(file, wrong).out).unwrap();
        assert_eq!(refusal["findings"][0]["fault"], "other_key", "{refusal}");
    }
    assert_eq!(bench.lines(&["evidence", "key", "list"]).len(), 2);

    // One of somebody's own: the first key of RFC 8032.
    let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
    let pem = written(directory.path(), "own.pem", pem);
    let own = bench.json(&["evidence", "key", "create", "--secret-key", &pem]);
    assert_eq!(own["key_id"], "21fe31dfa154a261");
    assert_eq!(public_key(&bench), "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
    assert!(!own.to_string().contains("nWGxne"), "{own}");
    let note = written(directory.path(), "note", "no key");
    bench.refused(&["evidence", "key", "create", "--secret-key", &note], "usage");
}

/// Whoever owns the database can write what they want into it; the chain of an execution tells.
#[tokio::test]
async fn an_event_that_was_changed_in_the_database_is_named() {
    let bench = Workbench::open().await;
    let directory = tempfile::tempdir().unwrap();
    let id = executed(&bench, &directory);
    let client = bench.database.connect().await.unwrap();
    client
        .batch_execute(&format!(
            "alter table tenure.execution_events disable trigger user;
             update tenure.execution_events set body = replace(body, 'look at the shop', 'look elsewhere')
              where execution_id = '{id}' and seq = 1"
        ))
        .await
        .unwrap();
    let file = written(directory.path(), "file", bench.run(["execution", "export", &id]).ok());
    let refusal: Value = serde_json::from_str(&verify(&file, &public_key(&bench)).out).unwrap();
    let finding = &refusal["findings"][0];
    assert_eq!(finding["fault"], "chain_broken", "{refusal}");
    assert!(finding["what"].as_str().unwrap().contains("event 1"), "{refusal}");
}

#[tokio::test]
async fn a_server_signs_for_whoever_may_read() {
    let scene = Scene::open().await;
    let id = executed(&scene.bench, &scene.directory);
    let keys = scene.run(["evidence", "key", "list", "--json"]).ok();
    assert_eq!(keys, scene.bench.run(["evidence", "key", "list", "--json"]).ok());
    let path = scene.directory.path().join("file");
    let path = path.to_str().unwrap();
    scene.run(["execution", "export", &id, "--out", path]).ok();
    verify(path, &public_key(&scene.bench)).ok();
    scene.refused(
        &["execution", "export", "01990000-0000-7000-8000-000000000001"],
        "execution_unknown",
    );
    scene.refused(&["evidence", "key", "create"], "not_over_http");
}
