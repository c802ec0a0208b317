//! What the webhooks of one tenant deliver verifies by itself, whatever other tenants do.

use serde_json::Value;
use tenure_core::anchor::check;
use tokio_postgres::Client;

use crate::anchors_scene::{anchored, open, public_key, submitted};
use crate::fixture::{one, raised, rows, run, try_rows};

/// The checkpoints that a tenant was told of, as lines.
async fn told(c: &Client, tenant: &str) -> Vec<String> {
    let sql = "select data from tenure.events join tenure.tenants using (tenant_id)
                where kind = 'evidence.anchored' and name = $1 order by seq";
    let events = rows(c, sql, &[&tenant]).await;
    let line = |row: &tokio_postgres::Row| row.get::<_, Value>(0).to_string() + "\n";
    events.iter().map(line).collect()
}

#[tokio::test]
async fn checkpoints_of_each_of_two_tenants_follow_each_other() {
    let (db, mut c) = open().await;
    for tenant in ["acme", "idle"] {
        one(&c, "select tenure.tenant_create($1)", &[&tenant]).await;
    }
    run(
        &c,
        "begin; set local tenure.tenant = '*';
         do $$ begin perform tenure.gate_set(k.key, 'open') from tenure.config_keys k where k.is_gate; end $$; commit",
    )
    .await;
    for (tenant, n) in ["default", "acme", "default", "default", "acme"].into_iter().zip(1..) {
        run(&c, &format!("begin; set local tenure.tenant = '{tenant}'")).await;
        submitted(&c, &format!("{n} of {tenant}")).await;
        run(&c, "commit").await;
        db.advance("10 minutes").await;
        assert_eq!(anchored(&mut c).await.made, 1);
    }
    // The daily one has no leaves.
    db.advance("25 hours").await;
    assert_eq!(anchored(&mut c).await.made, 1);
    let key = public_key(&c).await;
    // Acme had its first execution before the second checkpoint.
    for (tenant, count) in [("default", 6), ("acme", 5), ("idle", 0)] {
        let lines = told(&c, tenant).await;
        let chain = check(lines.concat().as_bytes(), &[key]);
        let chain = chain.unwrap_or_else(|findings| panic!("{tenant}: {findings:?}"));
        assert_eq!((chain.len(), lines.len()), (count, count), "{tenant}");
    }
}

#[tokio::test]
async fn a_checkpoint_or_a_sink_without_a_name_is_refused_in_words() {
    let (_db, c) = open().await;
    run(&c, "begin; set local tenure.tenant = '*'; savepoint here").await;
    for (sql, code) in [
        ("select tenure.anchor_published(null, 1)", "name_invalid"),
        ("select tenure.anchor_published(' ', 1)", "name_invalid"),
        ("select tenure.anchor_published('file:x', null)", "number_out_of_range"),
        ("select tenure.anchor_show(null)", "anchor_unknown"),
        (
            "select tenure.anchor_add(null, tenure.now(), null, null)",
            "state_conflict",
        ),
    ] {
        raised(try_rows(&c, sql, &[]).await, code);
        run(&c, "rollback to here").await;
    }
}
