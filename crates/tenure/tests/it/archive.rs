//! Executions whose time is over: their evidence is signed and kept, their rows go, and nothing is lost between.

use serde_json::{Value, json};
use tenure::evidence::{current_key, ensure_key};
use tenure::services::archive::{self, Counts};
use tenure::services::retention;
use tenure::store::evidence::{evidence_key_list, execution_archive_show};
use tenure_core::evidence::{PublicKey, verify};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, all, claim_with, enqueue, get, one, raised, refused, rows, run, try_rows, verb};

fn plan(purpose: &str, class: &str) -> String {
    json!({"purpose": purpose, "sla_class": "long", "steps": [
        {"id": "look", "action": "shop.look", "action_class": class, "target_type": "service", "target_ref": purpose}
    ]})
    .to_string()
}

async fn submitted(c: &Client, purpose: &str, class: &str) -> (Uuid, String) {
    let text = tenure_core::Plan::read(&plan(purpose, class)).expect("a plan");
    let sql = "select tenure.execution_submit($1)";
    let made = one(c, sql, &[&text.canonical()]).await;
    let id = made["execution_id"].as_str().unwrap_or_else(|| panic!("{made}"));
    (id.parse().expect("an id"), text.hash())
}

/// Claims and starts what is next.
async fn begin(c: &Client) -> Claimed {
    claim_with(c, "w", ", p_mode => 'started'").await.remove(0)
}

/// An execution that has succeeded.
async fn succeeded(c: &Client, purpose: &str) -> Uuid {
    let (id, _) = submitted(c, purpose, "read").await;
    verb(c, "job_complete", &begin(c).await, "").await;
    assert_eq!(state(c, id).await, "succeeded");
    id
}

/// An execution that grace has rejected.
async fn rejected(c: &Client, purpose: &str) -> Uuid {
    one(c, "select tenure.principal_create('grace', 'human')", &[]).await;
    one(
        c,
        r#"select tenure.principal_set('grace', '{"approver_level": 3}')"#,
        &[],
    )
    .await;
    let (id, hash) = submitted(c, purpose, "modify").await;
    run(c, "begin; set local tenure.principal = 'grace'").await;
    let sql = "select tenure.approval_decide(a.approval_id, 'reject', $2, 'not now') from tenure.approval_list($1) a";
    let decided = one(c, sql, &[&id, &hash]).await;
    run(c, "commit").await;
    assert_eq!(decided["execution_state"], "rejected", "{decided}");
    id
}

async fn state(c: &Client, id: Uuid) -> String {
    let shown: Value = one(c, "select tenure.execution_show($1)", &[&id]).await;
    shown["state"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned()
}

async fn rows_of(c: &Client, id: Uuid) -> i64 {
    let sql = "select (select count(*) from tenure.execution_rows where execution_id = $1) + (select count(*) from tenure.plans where execution_id = $1)
             + (select count(*) from tenure.step_rows where execution_id = $1) + (select count(*) from tenure.approvals where execution_id = $1)
             + (select count(*) from tenure.execution_events where execution_id = $1) + (select count(*) from tenure.step_runs where execution_id = $1)";
    get(c, sql, &[&id]).await
}

/// One look of the archive.
async fn archived(c: &mut Client) -> Counts {
    archive::run_once(c).await.expect("a look")
}

/// What retention does by itself, with the settings as they come.
async fn swept(c: &mut Client) -> retention::Counts {
    retention::run_once(c).await.expect("a sweep")
}

/// The runs that the evidence of an execution tells of, line by line.
async fn runs(c: &Client, id: Uuid) -> Vec<String> {
    let sql = r#"select line from tenure.execution_evidence($1) where line like '%"kind": "attempt"%' order by n"#;
    rows(c, sql, &[&id]).await.iter().map(|row| row.get(0)).collect()
}

async fn public_key(c: &mut Client) -> PublicKey {
    let transaction = c.transaction().await.expect("begin");
    current_key(&transaction).await.expect("a key").public_key()
}

/// Proves: S228. Guards: D79, D100.
#[tokio::test]
async fn what_ended_ninety_days_ago_is_archived_with_all_that_proves_it_rejected_ones_too() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let (done, refused) = (succeeded(&c, "done").await, rejected(&c, "refused").await);
    // As it goes in between: jobs are emptied, then dropped.
    for days in ["31 days", "45 days", "13 days"] {
        db.advance(days).await;
        swept(&mut c).await;
    }
    let young = succeeded(&c, "young").await;
    assert_eq!(archived(&mut c).await, Counts::default());

    db.advance("25 hours").await;
    let counts = archived(&mut c).await;
    assert_eq!((counts.archived, counts.doubtful), (2, 0));
    let key = public_key(&mut c).await;
    for (id, state, runs) in [(done, "succeeded", 1), (refused, "rejected", 0)] {
        assert_eq!(rows_of(&c, id).await, 0);
        let file = execution_archive_show(&c, id).await.expect("an archive");
        let verified = verify(file.as_bytes(), &key).expect("it verifies");
        assert_eq!(verified.evidence.head.execution_id, id.to_string());
        assert_eq!(verified.evidence.head.state, state);
        assert_eq!(
            (verified.evidence.steps.len(), verified.evidence.attempts.len()),
            (1, runs)
        );
    }
    assert_eq!(state(&c, young).await, "succeeded");
    assert_eq!(archived(&mut c).await, Counts::default());
    let unknown = try_rows(&c, "select * from tenure.execution_evidence($1)", &[&done]).await;
    raised(unknown, "execution_unknown");
}

/// Jobs are emptied after a week or a month, and gone after two; evidence is made after three, and tells every run with what came of it.
/// Proves: S228. Guards: D100.
#[tokio::test]
async fn what_the_runs_of_steps_did_outlives_their_jobs() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let (id, _) = submitted(&c, "many runs", "read").await;
    verb(
        &c,
        "job_fail",
        &begin(&c).await,
        ", 'the disk is full', 'transient', 'disk_full'",
    )
    .await;
    db.advance("1 hour").await;
    verb(&c, "job_snooze", &begin(&c).await, ", 60").await;
    db.advance("1 hour").await;
    verb(
        &c,
        "job_complete",
        &begin(&c).await,
        r#", '{"rows": 5}', 'a reference'"#,
    )
    .await;
    let plain = enqueue(&c, "plain").await;
    verb(&c, "job_complete", &begin(&c).await, r#", '{"rows": 6}'"#).await;
    let told = runs(&c, id).await;
    let all = told.join("\n");
    assert_eq!(told.len(), 3, "{all}");
    for part in ["the disk is full", "snoozed", r#"\"rows\": 5"#, "a reference"] {
        assert!(all.contains(part), "{part}: {all}");
    }

    let emptied = "select count(*) from tenure.jobs where cleaned_at is not null";
    db.advance("8 days").await;
    assert_eq!(swept(&mut c).await.cleaned, 2);
    assert_eq!(get::<i64>(&c, emptied, &[]).await, 2);
    assert_eq!(runs(&c, id).await, told, "emptied");
    let kept: i64 = get(&c, "select count(*) from tenure.step_runs", &[]).await;
    assert_eq!(kept, 3, "of {plain}, which is no step, nothing is kept");
    db.advance("70 days").await;
    assert!(swept(&mut c).await.partitions_dropped > 0);
    let left = "select (select count(*) from tenure.jobs) + (select count(*) from tenure.attempts)";
    assert_eq!(get::<i64>(&c, left, &[]).await, 0);
    assert_eq!(runs(&c, id).await, told, "dropped");

    db.advance("13 days").await;
    assert_eq!(archived(&mut c).await.archived, 1);
    assert_eq!(rows_of(&c, id).await, 0);
    let file = execution_archive_show(&c, id).await.expect("an archive");
    assert!(file.contains(&all), "archived:\n{file}");
    verify(file.as_bytes(), &public_key(&mut c).await).expect("it verifies");
}

/// What was done under a verdict once more is another job of the same step, and told too.
#[tokio::test]
async fn the_runs_of_every_job_that_a_step_had_are_kept() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let text = plan("twice", "read").replace("\"id\"", "\"effects\":\"once\",\"id\"");
    let text = tenure_core::Plan::read(&text).expect("a plan");
    let made = one(&c, "select tenure.execution_submit($1)", &[&text.canonical()]).await;
    let id: Uuid = made["execution_id"].as_str().expect("an id").parse().expect("an id");
    let lost = begin(&c).await;
    verb(&c, "job_fail", &lost, ", 'gone', 'permanent', 'x', 'lease'").await;
    // Other eyes than those of the requester say that it may run again.
    one(&c, "select tenure.principal_create('olga', 'human')", &[]).await;
    run(&c, "begin; set local tenure.principal = 'olga'").await;
    let retry = "select tenure.execution_resolve($1, 'look', 'retry', 'nothing was done')";
    one(&c, retry, &[&id]).await;
    run(&c, "commit").await;
    // The first of them is emptied while the second waits.
    db.advance("31 days").await;
    swept(&mut c).await;
    let again = begin(&c).await;
    assert_ne!(lost.job_id, again.job_id);
    verb(&c, "job_complete", &again, "").await;
    let told = runs(&c, id).await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("gone"), "{told:?}");
    db.advance("70 days").await;
    swept(&mut c).await;
    assert_eq!(runs(&c, id).await, told);
}

/// Whoever archives an execution takes with it what its runs did: nobody adds to that meanwhile, and nothing is emptied that was not kept.
#[tokio::test]
async fn jobs_of_an_execution_that_is_being_archived_are_emptied_the_next_time() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let (held, free) = (succeeded(&c, "held").await, succeeded(&c, "free").await);
    let told = runs(&c, held).await;
    db.advance("8 days").await;
    let holder = db.direct().await;
    run(&holder, "begin").await;
    let hold = "select from tenure.executions where execution_id = $1 for update";
    assert_eq!(rows(&holder, hold, &[&held]).await.len(), 1);
    assert_eq!(swept(&mut c).await.cleaned, 1, "that of {free}");
    run(&holder, "rollback").await;
    assert_eq!(runs(&c, held).await, told);
    db.advance("25 hours").await;
    let again = [swept(&mut c).await.cleaned, swept(&mut c).await.cleaned];
    assert_eq!(again.iter().sum::<i64>(), 1);
    assert_eq!(runs(&c, held).await, told);
}

/// What was changed in the database is not put out of the way, and keeps nobody else waiting.
#[tokio::test]
async fn an_execution_whose_evidence_does_not_verify_keeps_its_rows() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let mut changed = Vec::new();
    for purpose in 0..12 {
        changed.push(succeeded(&c, &format!("changed {purpose}")).await);
    }
    let admin = db.direct().await;
    run(
        &admin,
        "alter table tenure.execution_events disable trigger user;
         update tenure.execution_events set body = replace(body, 'changed', 'another') where seq = 1",
    )
    .await;
    db.advance("1 minute").await;
    let sound = succeeded(&c, "sound").await;
    db.advance("91 days").await;
    let counts = archived(&mut c).await;
    assert_eq!((counts.archived, counts.doubtful), (1, 12));
    assert_eq!(rows_of(&c, sound).await, 0);
    for id in changed {
        assert!(rows_of(&c, id).await > 0);
    }
}

/// Whoever looks for what is archived, or would retry it, is told where it is; a foreign tenant learns nothing.
/// Proves: S201.
#[tokio::test]
async fn whoever_asks_for_an_archived_execution_is_led_to_its_evidence_and_its_plan() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let (failed, _) = submitted(&c, "failed", "read").await;
    verb(&c, "job_fail", &begin(&c).await, ", 'no', 'permanent'").await;
    let done = succeeded(&c, "done").await;
    db.advance("91 days").await;
    assert_eq!(archived(&mut c).await.archived, 2);
    let sql = "select archived_at::text from tenure.execution_archives where execution_id = $1";
    let when: String = get(&c, sql, &[&failed]).await;

    let show = "select tenure.execution_show($1)";
    for sql in [
        show,
        "select tenure.execution_retry($1)",
        "select tenure.execution_cancel($1, 'x')",
    ] {
        let refusal = one(&c, sql, &[&failed]).await;
        refused(&refusal, "execution_unknown");
        let text = refusal.to_string();
        for part in [
            when.as_str(),
            &format!("tenure.execution_evidence('{failed}')"),
            &format!("tenure.execution_dead_letter_show('{failed}')"),
        ] {
            assert!(text.contains(part), "{sql}: {part} is not in {refusal}");
        }
    }
    let timeline = try_rows(&c, "select * from tenure.execution_timeline($1)", &[&done]).await;
    let text = raised(timeline, "execution_unknown");
    assert!(
        text.contains(&format!("tenure.execution_evidence('{done}')")) && !text.contains("dead_letter"),
        "{text}"
    );
    // What the dead letter carries is accepted.
    let letter = one(&c, "select tenure.execution_dead_letter_show($1)", &[&failed]).await;
    let plan = letter["plan"].as_str().expect("a plan");
    assert_eq!(
        one(&c, "select tenure.execution_submit($1)", &[&plan]).await["state"],
        "running"
    );

    one(&c, "select tenure.tenant_create('other')", &[]).await;
    let (_, foreign) = db.login(&["tenure_viewer"], "other", None).await;
    let refusal = one(&foreign, show, &[&failed]).await;
    refused(&refusal, "execution_unknown");
    assert!(!refusal.to_string().contains("archived"), "{refusal}");
}

/// It is there, and comes next time.
#[tokio::test]
async fn an_execution_that_somebody_holds_is_busy_and_not_unknown() {
    let db = Db::open().await;
    let mut c = db.client().await;
    let done = succeeded(&c, "done").await;
    db.advance("91 days").await;
    let holder = db.direct().await;
    run(&holder, "begin").await;
    let hold = "select from tenure.execution_states where execution_id = $1 for no key update";
    assert_eq!(rows(&holder, hold, &[&done]).await.len(), 1);
    let archive = "select tenure.execution_archive($1, '')";
    refused(&one(&c, archive, &[&done]).await, "busy_try_again");
    refused(&one(&c, archive, &[&Uuid::nil()]).await, "execution_unknown");
    assert_eq!(archived(&mut c).await, Counts::default(), "nobody waits for it");
    run(&holder, "rollback").await;
    assert_eq!(archived(&mut c).await.archived, 1);
}

#[tokio::test]
async fn several_servers_archive_each_execution_once() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut ended = Vec::new();
    for purpose in 0..8 {
        ended.push(succeeded(&c, &format!("n {purpose}")).await);
    }
    db.advance("91 days").await;
    let servers = (0..4).map(|_| async {
        let mut server = db.client().await;
        archived(&mut server).await.archived
    });
    let count: usize = all(servers.collect()).await.into_iter().sum();
    assert_eq!(count, ended.len());
    let kept: i64 = get(&c, "select count(*) from tenure.execution_archives", &[]).await;
    assert_eq!(kept, ended.len() as i64);
}

#[tokio::test]
async fn of_servers_that_start_together_one_makes_the_key() {
    let db = Db::open().await;
    let servers = (0..6).map(|_| async {
        let mut server = db.client().await;
        let transaction = server.transaction().await.expect("begin");
        let made = ensure_key(&transaction).await.expect("a key");
        transaction.commit().await.expect("commit");
        made
    });
    let made: Vec<String> = all(servers.collect()).await.into_iter().flatten().collect();
    assert_eq!(made.len(), 1, "{made:?}");
    let mut c = db.client().await;
    assert_eq!(public_key(&mut c).await.id(), made[0]);
    let keys = evidence_key_list(&c).await.expect("the keys");
    assert_eq!(
        (keys.len(), keys[0].key_id.as_str(), keys[0].signs),
        (1, made[0].as_str(), true)
    );
}
