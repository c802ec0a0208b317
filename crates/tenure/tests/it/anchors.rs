//! Checkpoints: every chain that grew is in the next one, exactly one server makes it, and what it covers cannot be rewritten.

use std::sync::Arc;

use serde_json::{Value, json};
use tenure::operations;
use tenure::services::{Settings, anchor, archive};
use tenure_api::anchors::AnchorProof;
use tenure_core::anchor::{Fault, Proof, leaf_hash, merkle_root};
use tokio::sync::Barrier;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::anchors_scene::{
    anchored, chain, checkpoints, covered, evidence, look, open, public_key, step, submitted, succeeded, until_seen,
};
use crate::fixture::{Db, enqueue, get, one, raised, rows, run, try_rows};

async fn anchor_proof(c: &Client, execution_id: Uuid, number: Option<i64>) -> tenure::Result<Proof> {
    operations::call(c, &AnchorProof { execution_id, number }).await
}

async fn waiting(c: &Client) -> i64 {
    get(c, "select count(*) from tenure.anchor_pending", &[]).await
}

#[tokio::test]
async fn chains_that_grew_are_in_the_next_checkpoint_and_each_follows_the_one_before() {
    let (db, mut c) = open().await;
    let (first, second) = (succeeded(&c, "first").await, submitted(&c, "second").await);
    assert_eq!(anchored(&mut c).await.made, 1);
    step(&c).await;
    assert_eq!(anchored(&mut c).await.made, 0, "the interval is not over");
    db.advance("10 minutes").await;
    assert_eq!(anchored(&mut c).await.made, 1);
    db.advance("10 minutes").await;
    assert_eq!(anchored(&mut c).await.made, 0, "nothing has happened");
    let all = checkpoints(&mut c).await;
    assert_eq!(all.iter().map(|one| one.leaf_count).collect::<Vec<_>>(), [2, 1]);
    let chain = chain(&all, public_key(&c).await);
    let told = evidence(&c, first).await;
    assert_eq!(covered(&chain, &told, None), Ok((1, told.events.len() as u64)));
    let told = evidence(&c, second).await;
    assert_eq!(covered(&chain, &told, None), Ok((2, told.events.len() as u64)));
    let proof = anchor_proof(&c, second, Some(1)).await.expect("a proof by the first");
    assert!(
        proof.chain_length < told.events.len() as u64,
        "the first covers what there was then"
    );
    assert_eq!(covered(&chain, &told, Some(&proof)), Ok((2, told.events.len() as u64)));
}

#[tokio::test]
async fn there_is_a_checkpoint_a_day_even_if_nothing_happens_and_none_where_it_is_off() {
    let (db, mut c) = open().await;
    db.advance("25 hours").await;
    assert_eq!(
        anchored(&mut c).await.made,
        0,
        "there is nothing to say before the first"
    );
    succeeded(&c, "one").await;
    assert_eq!(anchored(&mut c).await.made, 1);
    db.advance("25 hours").await;
    assert_eq!(anchored(&mut c).await.made, 1);
    let all = checkpoints(&mut c).await;
    assert_eq!((all[1].leaf_count, all[1].heads.as_ref().map(Vec::len)), (0, Some(0)));
    chain(&all, public_key(&c).await);
    one(&c, "select tenure.execution_show($1)", &[&succeeded(&c, "two").await]).await;
    run(
        &c,
        "begin; set local tenure.tenant = '*'; select tenure.config_set('evidence.anchor_minutes', '0'); commit",
    )
    .await;
    db.advance("25 hours").await;
    assert_eq!(anchored(&mut c).await.made, 0);
    run(
        &c,
        "begin; set local tenure.tenant = '*'; select tenure.config_set('evidence.anchor_minutes', '1'); commit",
    )
    .await;
    assert_eq!(anchored(&mut c).await.made, 1);
    assert_eq!(checkpoints(&mut c).await[2].leaf_count, 1);
}

/// A transaction that began before a checkpoint and commits after it is in the next one.
#[tokio::test]
async fn what_commits_late_is_not_missed() {
    let (db, mut c) = open().await;
    let late = db.direct().await;
    run(&late, "begin").await;
    let id = submitted(&late, "late").await;
    succeeded(&c, "early").await;
    db.advance("10 minutes").await;
    look(&mut c).await;
    run(&late, "commit").await;
    db.advance("10 minutes").await;
    anchored(&mut c).await;
    let all = checkpoints(&mut c).await;
    let named = |id: Uuid| {
        let heads = all.iter().flat_map(|one| one.heads.iter().flatten());
        heads.filter(|head| head.execution_id == id.to_string()).count()
    };
    assert_eq!(named(id), 1, "{all:?}");
}

#[tokio::test]
async fn of_servers_that_look_at_once_one_makes_the_checkpoint() {
    let (db, mut c) = open().await;
    for round in 0..3 {
        for n in 0..3 {
            succeeded(&c, &format!("round {round}, {n}")).await;
        }
        db.advance("10 minutes").await;
        until_seen(&c).await;
        let barrier = Arc::new(Barrier::new(4));
        let servers: Vec<_> = (0..4)
            .map(|_| (db.url().to_owned(), barrier.clone()))
            .map(|(url, barrier)| {
                tokio::spawn(async move {
                    let mut server = tenure::pool::connect(&url).await.expect("a connection");
                    barrier.wait().await;
                    anchor::run_once(&mut server, &Settings::default())
                        .await
                        .expect("a look")
                        .made
                })
            })
            .collect();
        for server in servers {
            server.await.expect("no panic");
        }
        // Whoever gave way did so for a server that was at it.
        anchored(&mut c).await;
        let all = checkpoints(&mut c).await;
        assert_eq!(all.len(), round + 1);
        assert_eq!(all[round].leaf_count, 3);
        chain(&all, public_key(&c).await);
    }
}

/// Changes who did the work as a superuser can: in lines and rows alike, without triggers, with all hashes computed again.
pub(crate) async fn rewrite(c: &Client, id: Uuid) {
    run(
        c,
        &format!(
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
        ),
    )
    .await;
}

#[tokio::test]
async fn an_execution_that_was_rewritten_and_hashed_again_contradicts_its_checkpoint() {
    let (db, mut c) = open().await;
    let id = succeeded(&c, "rewritten").await;
    anchored(&mut c).await;
    let outside = checkpoints(&mut c).await;
    let before = evidence(&c, id).await;
    rewrite(&c, id).await;
    let after = evidence(&c, id).await;
    assert_ne!(before.events, after.events);
    let chain = chain(&outside, public_key(&c).await);
    covered(&chain, &before, None).expect("as it was");
    let findings = covered(&chain, &after, None).expect_err("rewritten");
    assert_eq!(findings[0].fault, Fault::AnchorDiffers);
    for part in [
        "Checkpoint 1",
        &before.events.last().expect("events").hash,
        &after.events.last().expect("events").hash,
    ] {
        assert!(findings[0].what.contains(part), "{part} is not in {findings:?}");
    }
    // The daily walk notices it too, and says so each time.
    db.advance("25 hours").await;
    assert_eq!(anchored(&mut c).await.rewritten, 1);
}

/// The superuser also forgets the checkpoint, and lets the service cover the new history: those outside still contradict.
#[tokio::test]
async fn a_rewritten_execution_that_is_anchored_again_contradicts_the_first_checkpoint() {
    let (db, mut c) = open().await;
    let id = succeeded(&c, "rewritten").await;
    anchored(&mut c).await;
    rewrite(&c, id).await;
    run(
        &c,
        "begin; set local session_replication_role = replica; delete from tenure.anchor_leaves; commit;
         update tenure.anchor_log set walk_began = null",
    )
    .await;
    let first = checkpoints(&mut c).await;
    db.advance("10 minutes").await;
    anchored(&mut c).await;
    let second = checkpoints(&mut c).await;
    assert_eq!((second.len(), second[1].leaf_count), (2, 1));
    let key = public_key(&c).await;
    // Without the leaves of the first, only the second is seen; with them, both are.
    let mut outside = second.clone();
    outside[0] = first[0].clone();
    let told = evidence(&c, id).await;
    assert_eq!(
        covered(&chain(&second, key), &told, None).map(|(number, _)| number),
        Ok(2)
    );
    let head = json!(["default", id, told.events.len(), "00".repeat(32)]);
    outside[0].heads = Some(vec![serde_json::from_value(head).expect("a head")]);
    let text: String = outside.iter().map(|one| one.line() + "\n").collect();
    let findings = tenure_core::anchor::check(text.as_bytes(), &[key]).expect_err("a head that was never signed");
    assert_eq!(findings[0].fault, Fault::RootWrong);
}

#[tokio::test]
async fn roots_and_paths_in_sql_are_those_of_the_vectors() {
    let (_db, c) = open().await;
    for row in include_str!("../../../core/testdata/anchors/merkle.tsv")
        .lines()
        .skip(1)
    {
        let fields: Vec<&str> = row.split('\t').collect();
        let count: usize = fields[0].parse().expect("a count");
        let leaves: Vec<[u8; 32]> = (0..count).map(|n| leaf_hash(format!("leaf {n}").as_bytes())).collect();
        let hashes: String = leaves.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        let sql = "select encode(tenure.merkle_root(decode($1, 'hex')), 'hex')";
        assert_eq!(get::<String>(&c, sql, &[&hashes]).await, fields[2], "{row}");
        let root: String = merkle_root(&leaves).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(root, fields[2]);
        let sql = "select coalesce(string_agg(encode(h, 'hex'), ' ' order by n), '')
                     from unnest(tenure.merkle_path(decode($1, 'hex'), $2)) with ordinality u (h, n)";
        let place: i32 = fields[1].parse().expect("a place");
        if place >= 0 {
            assert_eq!(get::<String>(&c, sql, &[&hashes, &place]).await, fields[3], "{row}");
        }
    }
}

#[tokio::test]
async fn an_execution_is_archived_when_its_last_event_is_anchored_and_keeps_its_proof() {
    let (db, mut c) = open().await;
    let first = succeeded(&c, "first").await;
    anchored(&mut c).await;
    db.advance("91 days").await;
    let second = succeeded(&c, "second").await;
    db.advance("91 days").await;
    // Neither service has looked at the second one: it waits.
    assert_eq!(archive::run_once(&mut c).await.expect("a look").archived, 1);
    anchored(&mut c).await;
    assert_eq!(archive::run_once(&mut c).await.expect("a look").archived, 1);
    let all = checkpoints(&mut c).await;
    let key = public_key(&c).await;
    db.advance("500 days").await;
    anchored(&mut c).await;
    assert_eq!(
        get::<i64>(&c, "select count(*) from tenure.anchor_leaves", &[]).await,
        0,
        "past their retention"
    );
    let chain = chain(&all, key);
    for (id, number) in [(first, 1), (second, 2)] {
        let proof = anchor_proof(&c, id, None).await.expect("kept with the archive");
        assert_eq!(proof.checkpoint.number, number);
        let file = tenure::store::evidence::execution_archive_show(&c, id)
            .await
            .expect("an archive");
        let told = tenure_core::evidence::Evidence::read(file.as_bytes()).expect("evidence");
        assert_eq!(
            covered(&chain, &told, Some(&proof)),
            Ok((number, told.events.len() as u64))
        );
    }
    let other = anchor_proof(&c, first, Some(2))
        .await
        .expect_err("the second does not cover it");
    assert_eq!(other.code(), "anchor_unknown");
}

/// Where more has changed than one tree has leaves for, several follow each other at once.
#[tokio::test]
async fn a_full_tree_does_not_wait_for_the_interval() {
    let (_db, mut c) = open().await;
    for n in 0..5 {
        submitted(&c, &format!("execution {n}")).await;
    }
    run(
        &c,
        "create or replace function tenure.limit_of(p_name text) returns bigint language sql immutable as $$
           select case p_name when 'anchor_leaves_max' then 2 else 1000 end $$",
    )
    .await;
    assert_eq!(anchored(&mut c).await.made, 2);
    let all = checkpoints(&mut c).await;
    assert_eq!(all.iter().map(|one| one.leaf_count).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(waiting(&c).await, 1);
    chain(&all, public_key(&c).await);
}

#[tokio::test]
async fn tenants_see_their_own_heads_and_are_told_of_their_own_alone() {
    let (db, mut c) = open().await;
    one(&c, "select tenure.tenant_create('acme')", &[]).await;
    run(
        &c,
        "begin; set local tenure.tenant = '*';
         do $$ begin perform tenure.gate_set(k.key, 'open') from tenure.config_keys k where k.is_gate; end $$; commit",
    )
    .await;
    let own = submitted(&c, "default's").await;
    run(&c, "begin; set local tenure.tenant = 'acme'").await;
    let other = submitted(&c, "acme's").await;
    run(&c, "commit").await;
    anchored(&mut c).await;
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    let shown = one(&viewer, "select tenure.anchor_show(1)", &[]).await;
    assert_eq!(shown["leaf_count"], 2);
    assert_eq!(shown["heads"].as_array().map(Vec::len), Some(1), "{shown}");
    assert_eq!(shown["heads"][0][1], json!(own));
    let proof = one(&viewer, "select tenure.anchor_proof($1)", &[&own]).await;
    assert_eq!(proof["path"].as_array().map(Vec::len), Some(1), "{proof}");
    raised(
        try_rows(&viewer, "select tenure.anchor_proof($1)", &[&other]).await,
        "execution_unknown",
    );
    raised(
        try_rows(&viewer, "select tenure.anchor_show(2)", &[]).await,
        "anchor_unknown",
    );
    let sql = "select data from tenure.events where kind = 'evidence.anchored' order by tenant_id";
    let told: Vec<Value> = rows(&c, sql, &[]).await.iter().map(|row| row.get(0)).collect();
    assert_eq!(told.len(), 2, "one for each tenant");
    for (event, (tenant, id)) in told.iter().zip([("default", own), ("acme", other)]) {
        let heads = event["heads"].as_array().expect("heads");
        assert_eq!(
            (heads.len(), &heads[0][0], &heads[0][1]),
            (1, &json!(tenant), &json!(id)),
            "{event}"
        );
    }
}

#[tokio::test]
async fn a_tenant_with_plain_jobs_alone_costs_no_reading_of_its_stream() {
    let (db, mut c) = open().await;
    for _ in 0..5 {
        enqueue(&c, "report").await;
    }
    db.advance("11 minutes").await;
    anchored(&mut c).await;
    let sql = "select count(*) from tenure.events e join tenure.anchor_cursors a using (tenant_id)
                where (e.epoch, e.txid, e.seq) > (a.epoch, a.txid, a.seq)";
    assert_eq!(get::<i64>(&c, sql, &[]).await, 0, "the place moved past them");
    succeeded(&c, "the first execution").await;
    anchored(&mut c).await;
    assert_eq!(checkpoints(&mut c).await.len(), 1);
}

#[tokio::test]
async fn what_was_there_before_checkpoints_were_made_is_covered_too() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let id = succeeded(&c, "from before").await;
    let transaction = c.transaction().await.expect("begin");
    tenure::evidence::ensure_key(&transaction).await.expect("a key");
    transaction.commit().await.expect("commit");
    anchored(&mut c).await;
    let all = checkpoints(&mut c).await;
    let told = evidence(&c, id).await;
    assert_eq!(
        covered(&chain(&all, public_key(&c).await), &told, None),
        Ok((1, told.events.len() as u64))
    );
}

#[tokio::test]
async fn a_checkpoint_is_whole_or_not_there_and_is_not_changed_or_removed() {
    let (_db, mut c) = open().await;
    submitted(&c, "one").await;
    let key_id: String = get(&c, "select key_id from tenure.evidence_key_list() where signs", &[]).await;
    // Begun, and not signed.
    until_seen(&c).await;
    run(
        &c,
        "begin; set local tenure.tenant = '*'; select tenure.anchor_collect()",
    )
    .await;
    rows(&c, "select number from tenure.anchor_begin($1)", &[&key_id]).await;
    let failed = c
        .batch_execute("commit")
        .await
        .expect_err("leaves without their checkpoint");
    assert_eq!(failed.code().map(|code| code.code()), Some("23503"));
    anchored(&mut c).await;
    for sql in [
        "update tenure.anchors set root = sha256('')",
        "update tenure.anchor_leaves set chain_length = 99",
        "delete from tenure.anchors",
    ] {
        let error = try_rows(&c, sql, &[]).await.expect_err(sql);
        assert_eq!(error.code().map(|code| code.code()), Some("TN014"), "{sql}");
    }
    let sql = "select tenure.anchor_add(7, tenure.now(), $1, sha256('') || sha256(''))";
    run(&c, "begin; set local tenure.tenant = '*'").await;
    raised(try_rows(&c, sql, &[&key_id]).await, "state_conflict");
    run(&c, "rollback").await;
    for sql in [
        "select tenure.anchor_collect()",
        "select number from tenure.anchor_begin('0000000000000000')",
        "select tenure.anchor_add(1, tenure.now(), '0000000000000000', sha256(''))",
        "select tenure.anchor_published('file:x', 1)",
        "select tenure.anchor_sweep()",
    ] {
        raised(try_rows(&c, sql, &[]).await, "not_permitted");
    }
}
