//! The file of checkpoints has all of them, in order and once, whatever happened on the way.

use std::path::Path;

use serde_json::Value;
use tenure::services::AnchorFile;
use tenure_core::anchor::Checkpoint;
use tokio_postgres::Client;

use crate::anchors_scene::{anchored, chain, checkpoints, public_key, published, submitted};
use crate::fixture::{Db, one, run};

struct Scene {
    db: Db,
    client: Client,
    directory: tempfile::TempDir,
}

impl Scene {
    async fn open() -> Scene {
        let db = Db::open().await;
        let mut client = db.client().await;
        let transaction = client.transaction().await.expect("begin");
        tenure::evidence::ensure_key(&transaction).await.expect("a key");
        transaction.commit().await.expect("commit");
        Scene {
            db,
            client,
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    fn file(&self, name: &str) -> AnchorFile {
        AnchorFile::new(self.directory.path().join(name), None)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(name)).unwrap_or_default()
    }

    /// A chain grows, and the interval passes.
    async fn grow(&self, purpose: &str) {
        submitted(&self.client, purpose).await;
        self.db.advance("10 minutes").await;
    }

    async fn sinks(&self) -> Vec<Value> {
        let status = one(&self.client, "select tenure.anchor_status()", &[]).await;
        status["sinks"].as_array().cloned().unwrap_or_default()
    }
}

fn lines(text: &str) -> Vec<Checkpoint> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a checkpoint"))
        .collect()
}

#[tokio::test]
async fn what_was_committed_and_not_appended_is_appended_later_in_order() {
    let mut scene = Scene::open().await;
    let file = scene.file("anchors.jsonl");
    scene.grow("one").await;
    assert_eq!(published(&mut scene.client, &file).await.published, 1);
    // The process dies between the commit and the append: twice, and the second time in the middle of a line.
    for n in ["two", "three"] {
        scene.grow(n).await;
        assert_eq!(anchored(&mut scene.client).await.made, 1);
    }
    let all = checkpoints(&mut scene.client).await;
    let path = scene.directory.path().join("anchors.jsonl");
    let cut = format!("{}{}", scene.text("anchors.jsonl"), &all[1].line()[..40]);
    std::fs::write(&path, cut).expect("a torn file");
    let counts = published(&mut scene.client, &file).await;
    assert_eq!((counts.made, counts.published), (0, 2));
    assert_eq!(lines(&scene.text("anchors.jsonl")), all);
    chain(&all, public_key(&scene.client).await);
    // Nothing is written twice.
    let before = scene.text("anchors.jsonl");
    assert_eq!(published(&mut scene.client, &file).await.published, 0);
    assert_eq!(scene.text("anchors.jsonl"), before);
    let sinks = scene.sinks().await;
    assert_eq!(
        (&sinks[0]["number"], &sinks[0]["behind"], &sinks[0]["error"]),
        (&3.into(), &0.into(), &Value::Null)
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_behind_and_catches_up() {
    let mut scene = Scene::open().await;
    let file = AnchorFile::new(scene.directory.path().join("share/anchors.jsonl"), Some("here"));
    for n in ["one", "two"] {
        scene.grow(n).await;
        assert_eq!(
            published(&mut scene.client, &file).await.published,
            0,
            "there is no such directory"
        );
    }
    let sinks = scene.sinks().await;
    assert_eq!(
        (&sinks[0]["number"], &sinks[0]["behind"]),
        (&0.into(), &2.into()),
        "{sinks:?}"
    );
    assert!(
        sinks[0]["error"]
            .as_str()
            .is_some_and(|error| error.contains("No such file")),
        "{sinks:?}"
    );
    std::fs::create_dir(scene.directory.path().join("share")).expect("a directory");
    assert_eq!(published(&mut scene.client, &file).await.published, 2);
    assert_eq!(scene.sinks().await[0]["error"], Value::Null);
}

#[tokio::test]
async fn two_servers_on_one_file_write_each_checkpoint_once() {
    let mut scene = Scene::open().await;
    let file = scene.file("anchors.jsonl");
    for round in 0..3 {
        scene.grow(&format!("round {round}")).await;
        let servers: Vec<_> = (0..3)
            .map(|_| (scene.db.url().to_owned(), file.clone()))
            .map(|(url, file)| {
                tokio::spawn(async move {
                    let mut server = tenure::pool::connect(&url).await.expect("a connection");
                    published(&mut server, &file).await
                })
            })
            .collect();
        for server in servers {
            server.await.expect("no panic");
        }
    }
    published(&mut scene.client, &file).await;
    let all = checkpoints(&mut scene.client).await;
    assert_eq!(all.len(), 3);
    assert_eq!(lines(&scene.text("anchors.jsonl")), all);
}

#[tokio::test]
async fn a_database_that_was_set_back_does_not_touch_the_file() {
    let mut scene = Scene::open().await;
    let file = scene.file("anchors.jsonl");
    for n in ["one", "two"] {
        scene.grow(n).await;
        published(&mut scene.client, &file).await;
    }
    let before = scene.text("anchors.jsonl");
    run(
        &scene.client,
        "begin; set local session_replication_role = replica;
         delete from tenure.anchor_leaves where number = 2; delete from tenure.anchors where number = 2; commit",
    )
    .await;
    assert_eq!(
        published(&mut scene.client, &file).await.published,
        0,
        "the file is ahead"
    );
    scene.grow("another two").await;
    assert_eq!(
        published(&mut scene.client, &file).await.published,
        0,
        "the file has another second"
    );
    scene.grow("three").await;
    assert_eq!(published(&mut scene.client, &file).await.published, 0);
    assert_eq!(scene.text("anchors.jsonl"), before);
    let sinks = scene.sinks().await;
    assert!(
        sinks[0]["error"]
            .as_str()
            .is_some_and(|error| error.contains("name a new one")),
        "{sinks:?}"
    );
    let new = scene.file("new.jsonl");
    // A new file has the whole chain as it is now.
    assert_eq!(published(&mut scene.client, &new).await.published, 3);
    chain(&lines(&scene.text("new.jsonl")), public_key(&scene.client).await);
    assert!(Path::new(&scene.directory.path().join("anchors.jsonl")).exists());
}
