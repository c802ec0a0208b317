//! The key that signs checkpoints, outside the database.

use tenure::services::{Settings, anchor};
use tenure_core::evidence::SecretKey;

use crate::anchors_scene::{checkpoints, open, public_key, submitted, until_seen};
use crate::fixture::{get, raised, run, try_rows};

/// Two servers with keys of their own: each signature names its key, and no secret is in any table.
#[tokio::test]
async fn a_key_outside_signs_and_leaves_no_secret_in_the_database() {
    let (db, mut c) = open().await;
    let inside = public_key(&c).await;
    let keys: Vec<SecretKey> = (1..=2).map(|n| SecretKey::from_seed(&[n; 32])).collect();
    let seeds: Vec<String> = keys
        .iter()
        .map(|key| key.reveal().iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    let public: Vec<_> = keys.iter().map(SecretKey::public_key).collect();
    let mut all_keys = vec![inside];
    for (n, key) in keys.into_iter().enumerate() {
        let source = tenure::evidence::KeySource::outside(key);
        let transaction = c.transaction().await.expect("begin");
        assert_eq!(source.ensure(&transaction).await.expect("known"), Some(public[n].id()));
        assert_eq!(
            source.ensure(&transaction).await.expect("known"),
            None,
            "the second time"
        );
        transaction.commit().await.expect("commit");
        submitted(&c, &format!("signed by {n}")).await;
        db.advance("10 minutes").await;
        until_seen(&c).await;
        let settings = Settings {
            key: source,
            ..Settings::default()
        };
        assert_eq!(anchor::run_once(&mut c, &settings).await.expect("a look").made, 1);
        all_keys.push(public[n]);
    }
    let all = checkpoints(&mut c).await;
    assert_eq!([&all[0].key_id, &all[1].key_id], [&public[0].id(), &public[1].id()]);
    let text: String = all.iter().map(|one| one.line() + "\n").collect();
    tenure_core::anchor::check(text.as_bytes(), &all_keys).expect("both keys are known");

    // Whoever has no key outside signs nothing.
    submitted(&c, "unsigned").await;
    db.advance("10 minutes").await;
    until_seen(&c).await;
    let error = anchor::run_once(&mut c, &Settings::default())
        .await
        .expect_err("no key");
    assert_eq!(error.code(), "evidence_key_missing");
    let secrets: Vec<String> = crate::catalogue::names(&c, "select name from tenure.secrets order by name").await;
    assert_eq!(secrets, ["keys"]);
    let tables = crate::catalogue::names(
        &c,
        "select c.oid::regclass::text from pg_class c where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p')",
    )
    .await;
    for table in tables {
        for seed in &seeds {
            let sql = format!("select count(*) from {table} t where t::text like '%{seed}%'");
            assert_eq!(get::<i64>(&c, &sql, &[]).await, 0, "{table}");
        }
    }
    let kept = crate::catalogue::names(&c, "select kept from tenure.evidence_key_list() order by created_at").await;
    assert_eq!(kept, ["removed", "outside", "outside"]);
    // A key that was inside does not become one outside.
    run(&c, "begin; set local tenure.tenant = '*'").await;
    let sql = "select tenure.evidence_key_register(k.key_id, k.public_key) from tenure.evidence_key_list() k where k.kept = 'removed'";
    raised(try_rows(&c, sql, &[]).await, "state_conflict");
    run(&c, "rollback").await;
}

/// Once a key outside signs, list, refusals and servers agree on it: none is made in the database beside it.
#[tokio::test]
async fn a_key_outside_stays_the_one_that_signs() {
    let (_db, mut c) = open().await;
    let outside = tenure::evidence::KeySource::outside(SecretKey::from_seed(&[1; 32]));
    let id = SecretKey::from_seed(&[1; 32]).public_key().id();
    let transaction = c.transaction().await.expect("begin");
    outside.ensure(&transaction).await.expect("known");
    transaction.commit().await.expect("commit");
    let signs = "select string_agg(key_id || ' ' || kept, ', ') from tenure.evidence_key_list() where signs";
    assert_eq!(get::<String>(&c, signs, &[]).await, format!("{id} outside"));

    let added = SecretKey::from_seed(&[2; 32]);
    let transaction = c.transaction().await.expect("begin");
    tenure::store::for_every_tenant(&transaction)
        .await
        .expect("every tenant");
    let refused =
        tenure::store::evidence::evidence_key_add(&transaction, &added, tenure::store::evidence::KeyTurn::Next)
            .await
            .expect_err("a key outside signs");
    assert_eq!(refused.code(), "state_conflict");
    transaction.rollback().await.expect("rollback");

    // One that an earlier version let in is removed by the next server, and the key outside signs again.
    let public = added.public_key();
    let insert = "insert into tenure.evidence_keys (key_id, public_key, created_at, created_by)
      select $1, $2, tenure.now() + interval '1 hour', 'eve'";
    c.execute(insert, &[&public.id(), &public.to_bytes().as_slice()])
        .await
        .expect("a key");
    let secret = "insert into tenure.secrets (name, value) values ('evidence:' || $1, $2)";
    c.execute(secret, &[&public.id(), &added.reveal().as_slice()])
        .await
        .expect("a secret");
    assert_eq!(get::<String>(&c, signs, &[]).await, format!("{} database", public.id()));
    let transaction = c.transaction().await.expect("begin");
    outside.ensure(&transaction).await.expect("known");
    let error = tenure::evidence::current_key(&transaction)
        .await
        .expect_err("it is outside");
    assert_eq!(error.code(), "evidence_key_missing");
    transaction.rollback().await.expect("rollback");
    let transaction = c.transaction().await.expect("begin");
    outside.ensure(&transaction).await.expect("known");
    transaction.commit().await.expect("commit");
    assert_eq!(get::<String>(&c, signs, &[]).await, format!("{id} outside"));
}
