//! What the webhooks of one tenant deliver verifies by itself, whatever other tenants do.

use serde_json::Value;
use tenure_core::anchor::check;
use tokio_postgres::Client;

use crate::anchors_scene::{anchored, open, public_key, submitted};
use crate::fixture::{one, rows, run};

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
