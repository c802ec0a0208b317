//! `tenure init` and the first admin key.

use std::os::unix::fs::PermissionsExt;

use crate::api::Api;
use crate::workbench::{Workbench, text_of};

#[tokio::test]
async fn init_makes_the_first_admin_key_once_and_says_how_to_get_another() {
    let bench = Workbench::empty().await;
    let made = bench.json(&["init"])["first_key"].clone();
    let key = text_of(&made, "key");
    assert!(key.contains(&text_of(&made, "prefix")), "{made}");
    let api = Api::start(&bench);
    assert_eq!(api.send(&key, "GET", "/v1/keys", None).0, 200);
    assert_eq!(
        api.send(&key, "POST", "/v1/tenants", Some(&serde_json::json!({"name": "x"})))
            .0,
        201
    );

    let again = bench.json(&["init"])["first_key"].clone();
    assert_eq!(
        (&again["made"], &again["key"]),
        (&false.into(), &serde_json::Value::Null)
    );
    let told = bench.text(&["init"]);
    assert!(told.contains("tenure key create") && !told.contains(&key), "{told}");
    let keys = bench.lines(&["key", "list", "--installation"]);
    assert_eq!(keys.len(), 1, "{keys:?}");
    assert_eq!(
        bench.lines(&["key", "list"]),
        keys,
        "and it is in the list without a question"
    );
    assert_eq!(keys[0]["of"], "installation");
    // Only a keyed hash of it is kept.
    let kept = bench
        .sql("select coalesce(string_agg(k::text, ' '), '') from tenure.keys k")
        .await;
    assert!(!kept.contains(key.rsplit('_').next().expect("a secret")));

    // What a principal is, nobody changes by asking for a key.
    let other = [
        "key",
        "create",
        "admin",
        "--kind",
        "agent",
        "--role",
        "viewer",
        "--installation",
    ];
    bench.refused(&other, "principal_exists");

    // The documented way back: the old one is revoked, a new one made, on the database.
    bench.text(&["key", "revoke", &text_of(&made, "prefix"), "--installation"]);
    let args = [
        "--quiet",
        "key",
        "create",
        "admin",
        "--kind",
        "human",
        "--role",
        "admin",
        "--installation",
    ];
    let new = bench.run(args).ok();
    assert_eq!(api.send(&key, "GET", "/v1/keys", None).0, 401);
    assert_eq!(api.send(new.trim(), "GET", "/v1/keys", None).0, 200);
}

#[tokio::test]
async fn the_first_key_goes_into_a_file_of_its_owner_or_nowhere() {
    let bench = Workbench::empty().await;
    let unseen = bench.run(["init"]);
    assert!(unseen.ok().contains("--key-file"), "nobody sees a pipe");
    bench.run(["--quiet", "init"]).ok();
    bench.run(["init", "--json", "--no-key"]).ok();
    assert_eq!(
        bench.lines(&["key", "list", "--installation"]).len(),
        0,
        "so none was made"
    );

    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("admin.key");
    let shown = path.to_str().expect("a plain path");
    let taken = directory.path().join("taken");
    std::fs::write(&taken, "mine").expect("written");
    let taken_shown = taken.to_str().expect("a plain path");
    let refusal = bench.refused(&["init", "--key-file", taken_shown], "usage");
    assert_eq!(
        refusal["what"],
        format!("The file {taken_shown} exists and is never overwritten.")
    );
    assert_eq!(refusal["next"], "Name a new file, or remove it. No key was made.");
    assert_eq!(std::fs::read_to_string(&taken).expect("read"), "mine");
    bench.refused(&["init", "--key-file", "/nonexistent/key"], "usage");
    let valid = |rows: &[serde_json::Value]| rows.iter().filter(|row| row["state"] == "valid").count();
    assert_eq!(valid(&bench.lines(&["key", "list", "--installation"])), 0);

    let told = bench.text(&["init", "--key-file", shown]);
    let key = std::fs::read_to_string(&path).expect("the key");
    assert_eq!(
        std::fs::metadata(&path).expect("the file").permissions().mode() & 0o777,
        0o600
    );
    assert!(told.contains(shown) && !told.contains(key.trim()), "{told}");
    let api = Api::start(&bench);
    assert_eq!(api.send(key.trim(), "GET", "/v1/jobs", None).0, 200);

    // Again: the key is there, so the file is of no concern.
    let again = bench.text(&["init", "--key-file", shown]);
    assert!(
        again.contains("No admin key was made: there is one already."),
        "{again}"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("read"), key);
}
