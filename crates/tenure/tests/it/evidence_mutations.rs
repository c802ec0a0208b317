//! Whatever is changed in a table of executions, with triggers off, verifying names the row and the field, or the file
//! does not state it. Columns are read from the catalogue: a new one that the file shows and verifying does not check
//! fails here.

use std::collections::BTreeSet;

use serde_json::json;
use tenure::services::archive;
use tenure::store::evidence::{execution_archive_show, execution_evidence};
use tenure_core::evidence::{Fault, Finding, SecretKey, sign, verify};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{act, ask, decide, id, people, plan, rule, submit, tick, work};
use crate::fixture::{Db, get, one, rows, run, verb};

/// The tables that feed a file, and how the rows of an execution are found in them; the kind of line that names them.
const TABLES: [(&str, &str, &[&str]); 10] = [
    ("executions", "t.execution_id = $1", &["execution", "evidence"]),
    ("execution_states", "t.execution_id = $1", &["execution", "evidence"]),
    ("plans", "t.execution_id = $1", &["plan"]),
    ("steps", "t.execution_id = $1", &["step", "plan", "approval", "run"]),
    (
        "step_states",
        "t.execution_id = $1",
        &["step", "plan", "approval", "run"],
    ),
    ("step_needs", "t.execution_id = $1", &["step"]),
    ("approvals", "t.execution_id = $1", &["approval"]),
    (
        "approval_votes",
        "t.approval_id in (select a.approval_id from tenure.approvals a where a.execution_id = $1)",
        &["vote"],
    ),
    ("execution_events", "t.execution_id = $1", &["event"]),
    (
        "attempts",
        "t.job_id in (select j.job_id from tenure.jobs j where j.workflow_id = $1)",
        &["run"],
    ),
];
const STEP_RUNS: (&str, &str, &[&str]) = ("step_runs", "t.execution_id = $1", &["run"]);

/// Columns that the file states under another name.
const NAMED: [(&str, &str, &str); 15] = [
    ("executions", "idempotency_key", "key"),
    ("execution_states", "chain_length", "events"),
    ("plans", "plan", "plan"),
    ("steps", "step_id", "step"),
    ("steps", "kind", "job_kind"),
    ("steps", "approval_roles", "roles"),
    ("steps", "approval_quorum", "quorum"),
    ("step_states", "output_summary", "result_hash"),
    ("step_states", "output_size_bytes", "result_bytes"),
    ("step_states", "output_ref", "result_ref"),
    ("steps", "payload_classification", "plan"),
    ("attempts", "owner", "worker"),
    ("attempts", "reason", "error_message"),
    ("step_runs", "owner", "worker"),
    ("step_runs", "reason", "error_message"),
];

/// Columns by which rows belong together: after a change the row is missing, or that of another.
const KEYS: [&str; 9] = [
    "execution_id",
    "step_number",
    "needs_number",
    "approval_id",
    "job_id",
    "run",
    "step_id",
    "principal",
    "tenant_id",
];

/// What an auditor reads must be named, not only be absent.
const STATED: [&str; 47] = [
    "approval_votes.at",
    "approval_votes.auth_makers",
    "approval_votes.auth_method",
    "approval_votes.comment",
    "approval_votes.decision",
    "approval_votes.level",
    "approval_votes.plan_hash",
    "approval_votes.principal",
    "approval_votes.roles",
    "approval_votes.source",
    "approvals.consumed_at",
    "approvals.decided_at",
    "approvals.decided_by",
    "approvals.expires_at",
    "approvals.level",
    "approvals.plan_hash",
    "approvals.quorum",
    "approvals.roles",
    "approvals.rule",
    "approvals.state",
    "attempts.ended_at",
    "attempts.error_message",
    "attempts.holder",
    "attempts.outcome",
    "attempts.owner",
    "attempts.result",
    "attempts.started_at",
    "execution_events.body",
    "execution_events.hash",
    "executions.approval_level",
    "execution_states.chain_hash",
    "executions.created_at",
    "executions.requested_by",
    "executions.requesters",
    "executions.rule",
    "execution_states.state",
    "plans.plan",
    "step_needs.needs_number",
    "steps.action",
    "steps.approval_level",
    "step_states.fence",
    "step_states.output_summary",
    "steps.payload",
    "steps.rule",
    "step_states.started_at",
    "steps.target_ref",
    "step_states.verdict_by",
];

fn key() -> SecretKey {
    SecretKey::from_seed(&[7; 32])
}

/// The file of an execution. When it was exported is taken out, so that two can be compared.
async fn file(c: &Client, id: Uuid) -> Option<String> {
    let mut lines = execution_evidence(c, id).await.ok()?;
    let mut head: serde_json::Value = serde_json::from_str(&lines[0]).expect("JSON");
    head["exported_at"] = json!("2100-01-01T00:00:00Z");
    lines[0] = head.to_string();
    Some(sign(&lines, &key()))
}

fn findings(file: &str) -> Vec<Finding> {
    verify(file.as_bytes(), &key().public_key()).err().unwrap_or_default()
}

/// Approves as somebody what is asked of an execution.
async fn approve(c: &Client, who: &str, execution: Uuid) {
    act(c, who).await;
    let sql = "select tenure.approval_decide(a.approval_id, 'approve', a.plan_hash, $2)
                 from tenure.approval_list($1) a";
    let comment = format!("seen by {who}");
    let answer = one(c, sql, &[&execution, &comment.as_str()]).await;
    assert!(answer["refused"].is_null() && answer["code"].is_null(), "{answer}");
}

/// An execution with two approvers, an approval of a step, a run that is tried again, a run that is put off, locks, a
/// result, an unknown outcome with a verdict, a failure, and a retry that carries over what succeeded.
async fn eventful(db: &Db, c: &Client) -> (Uuid, Uuid) {
    // Before the session acts as a person: whoever changes bob has no plan approved by him.
    let spec = json!({"approver_level": 3, "approval_roles": ["dba", "release"]});
    one(c, "select tenure.principal_set('bob', $1)", &[&spec]).await;
    rule(
        c,
        "changes",
        json!({"position": 1, "action_classes": ["modify"], "level": 2, "quorum": 2, "roles": ["dba"]}),
    )
    .await;
    rule(
        c,
        "steps",
        json!({"position": 2, "action_classes": ["deploy"], "level": 3, "roles": ["dba"]}),
    )
    .await;
    let mut text = plan("eventful", &["a modify", "b deploy a", "c read b", "d read b"]);
    text["steps"][0]["effects"] = json!("idempotent");
    text["steps"][0]["attempts_max"] = json!(3);
    text["steps"][0]["payload"] = json!({"size": 3, "none": null});
    text["steps"][0]["compensation_note"] = json!("turn it back");
    let more = r#", p_key => 'eventful', p_metadata => '{"ticket": 7}', p_on_behalf_of => 'pam'"#;
    let execution = id(&submit(c, "eve", &text, more).await, "execution_id");
    approve(c, "ada", execution).await;
    approve(c, "bob", execution).await;
    act(c, "w").await;
    let held = work(c).await;
    verb(c, "job_fail", &held, ", 'the disk is full', 'transient', 'disk_full'").await;
    db.advance("1 hour").await;
    let held = work(c).await;
    verb(c, "job_snooze", &held, ", 60").await;
    db.advance("1 hour").await;
    let held = work(c).await;
    verb(
        c,
        "job_complete",
        &held,
        r#", '{"rows": 5, "as": "expected"}', 'a reference'"#,
    )
    .await;
    approve(c, "ada", execution).await;
    act(c, "w").await;
    let held = work(c).await;
    verb(c, "job_fail", &held, ", 'gone', 'permanent', 'lost', 'lease'").await;
    act(c, "ada").await;
    let verdict = "select tenure.execution_resolve($1, 'b', 'retry', 'nothing was done')";
    one(c, verdict, &[&execution]).await;
    approve(c, "bob", execution).await;
    act(c, "w").await;
    let held = work(c).await;
    verb(c, "job_fail", &held, ", 'broken', 'permanent', 'broken', 'code'").await;
    act(c, "eve").await;
    let retried = one(c, "select tenure.execution_retry($1, 'resume', 'again')", &[&execution]).await;
    tick(c).await;
    (execution, id(&retried, "execution_id"))
}

/// One that was rejected, and one that was stopped while it ran.
async fn called_off(c: &Client) -> (Uuid, Uuid) {
    let asked = ask(c, &plan("rejected", &["a modify"])).await;
    decide(c, "ada", &asked, "reject", ", 'not on a Saturday'").await;
    let text = plan("stopped", &["a read", "b read a"]);
    let stopped = id(&submit(c, "eve", &text, "").await, "execution_id");
    let held = work(c).await;
    act(c, "pam").await;
    one(c, "select tenure.execution_cancel($1, 'enough')", &[&stopped]).await;
    verb(c, "job_complete", &held, "").await;
    (asked.execution, stopped)
}

/// The columns of a table that hold something of their own.
async fn columns(c: &Client, table: &str) -> Vec<(String, String)> {
    let sql = "select a.attname::text, format_type(a.atttypid, null) from pg_attribute a
                where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''";
    let table = format!("tenure.{table}");
    let rows = rows(c, sql, &[&table.as_str()]).await;
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Another value of a column.
fn other(column: &str, kind: &str) -> String {
    match kind {
        // These two are JSON.
        "text" if column == "plan" => "replace(t.plan, 'touch', 'torch')".to_owned(),
        "text" if column == "body" => r#"replace(t.body, '"actor":"', '"actor":"x')"#.to_owned(),
        "text" if column == "payload_classification" => "'restricted'".to_owned(),
        "text" => format!("coalesce(t.{column}, '') || ' x'"),
        "smallint" | "integer" | "bigint" => format!("coalesce(t.{column}, 0) + 1000"),
        "boolean" => format!("not t.{column}"),
        "uuid" => "gen_random_uuid()".to_owned(),
        "timestamp with time zone" => format!("coalesce(t.{column}, now()) + interval '1 second'"),
        "jsonb" => format!("coalesce(t.{column}, '{{}}') || '{{\"mutated\": true}}'"),
        "timestamp with time zone[]" => format!("t.{column} || now()"),
        "text[]" => format!("coalesce(t.{column}, '{{}}') || array['mallory']"),
        "bytea" => "sha256('x')".to_owned(),
        kind => panic!("say what another {kind} is, for {column}"),
    }
}

/// Constraints would refuse many changes; an attacker who owns the database removes them first.
async fn without_constraints(db: &Db) {
    let admin = db.direct().await;
    run(
        &admin,
        "do $$ declare v record; begin
           for v in select c.conrelid::regclass as place, c.conname from pg_constraint c
                     where c.contype = 'c' and c.coninhcount = 0 and c.conrelid in (select k.oid from pg_class k
                       where k.relnamespace = 'tenure'::regnamespace and k.relname = any (array['executions', 'execution_states', 'plans', 'steps', 'step_states',
                         'approvals', 'approval_votes', 'execution_events', 'attempts', 'step_runs', 'execution_archives'])) loop
             execute format('alter table %s drop constraint %I', v.place, v.conname);
           end loop;
         end $$;
         drop index tenure.execution_states_key, tenure.step_states_job, tenure.approvals_one_open",
    )
    .await;
}

/// Changes one column of one row after the other, and answers the columns that verifying named.
async fn mutated(
    c: &Client,
    execution: Uuid,
    (table, own, kinds): (&str, &str, &[&str]),
    unnamed: &mut Vec<String>,
) -> BTreeSet<String> {
    let sound = file(c, execution).await.expect("a file");
    assert_eq!(findings(&sound), [], "{sound}");
    let mut named = BTreeSet::new();
    for (column, kind) in columns(c, table).await {
        run(c, "begin; set local session_replication_role = replica").await;
        // The row in which the column says most.
        let own = own.replace("$1", &format!("'{execution}'"));
        let change = format!(
            "update tenure.{table} t set {column} = {value} where t.ctid = (select t.ctid from tenure.{table} t where {own}
              order by t.{column} is null, length(t.{column}::text) desc, t.ctid limit 1)",
            value = other(&column, &kind)
        );
        let changed = c.execute(change.as_str(), &[]).await;
        let changed = changed.unwrap_or_else(|error| panic!("{change}: {error:?}"));
        run(c, "set local session_replication_role = origin").await;
        let file = file(c, execution).await;
        run(c, "rollback").await;
        // Without a row there is nothing to change; an execution that is gone has no file.
        let Some(file) = file.filter(|file| changed > 0 && *file != sound) else {
            continue;
        };
        let findings = findings(&file);
        let field = NAMED
            .iter()
            .find(|(of, name, _)| (*of, *name) == (table, column.as_str()));
        let field = field.map_or(column.as_str(), |(_, _, field)| field);
        let is_key = KEYS.contains(&column.as_str());
        let names = |finding: &Finding| {
            let row = finding.row.as_deref().unwrap_or_default();
            let of_row = kinds.iter().any(|kind| row.starts_with(kind));
            of_row && (is_key || table == "execution_events" || finding.field.as_deref() == Some(field))
        };
        if !findings.iter().any(names) {
            unnamed.push(format!("{table}.{column}: {findings:#?}"));
        }
        named.insert(format!("{table}.{column}"));
    }
    named
}

#[tokio::test]
async fn verifying_names_every_column_that_was_changed_or_the_file_does_not_state_it() {
    let (db, c) = people().await;
    let (eventful, retried) = eventful(&db, &c).await;
    let (rejected, stopped) = called_off(&c).await;
    without_constraints(&db).await;
    let (mut named, mut unnamed) = (BTreeSet::new(), Vec::new());
    for execution in [eventful, retried] {
        for table in TABLES {
            named.extend(mutated(&c, execution, table, &mut unnamed).await);
        }
    }
    let ends = [
        "executions",
        "execution_states",
        "steps",
        "step_states",
        "approvals",
        "approval_votes",
    ];
    for execution in [rejected, stopped] {
        for table in TABLES.into_iter().filter(|(table, ..)| ends.contains(table)) {
            named.extend(mutated(&c, execution, table, &mut unnamed).await);
        }
    }
    // The same runs, as they are kept when their jobs are emptied.
    let keep = "select cardinality(tenure.step_runs_keep(array(select j.job_id from tenure.jobs j)))";
    assert_eq!(get::<i32>(&c, keep, &[]).await, 0);
    let kept = mutated(&c, eventful, STEP_RUNS, &mut unnamed).await;
    for column in [
        "owner",
        "holder",
        "result",
        "error_message",
        "started_at",
        "ended_at",
        "outcome",
    ] {
        assert!(kept.contains(&format!("step_runs.{column}")), "{kept:#?}");
    }
    assert!(
        unnamed.is_empty(),
        "these changes are in the file and are not named:\n{}",
        unnamed.join("\n")
    );
    let missing: Vec<&str> = STATED.into_iter().filter(|column| !named.contains(*column)).collect();
    assert!(missing.is_empty(), "not stated or not named: {missing:?}\n{named:#?}");
}

/// A row that is gone is named as well.
#[tokio::test]
async fn verifying_names_rows_that_were_removed() {
    let (db, c) = people().await;
    let (execution, _) = eventful(&db, &c).await;
    for (table, own, kinds) in TABLES
        .into_iter()
        .filter(|(table, ..)| !["executions", "execution_states", "plans"].contains(table))
    {
        run(&c, "begin; set local session_replication_role = replica").await;
        let own = own.replace("$1", &format!("'{execution}'"));
        let remove = format!(
            "delete from tenure.{table} t where t.ctid = (select t.ctid from tenure.{table} t where {own} limit 1)"
        );
        run(&c, &remove).await;
        run(&c, "set local session_replication_role = origin").await;
        let findings = findings(&file(&c, execution).await.expect("a file"));
        run(&c, "rollback").await;
        let of_row = |it: &Finding| {
            kinds
                .iter()
                .any(|kind| it.row.as_deref().unwrap_or_default().starts_with(kind))
        };
        assert!(findings.iter().any(of_row), "{table}: {findings:#?}");
    }
}

/// What is archived is the signed file: a change of it is found by its digests, and nothing else is in it.
#[tokio::test]
async fn a_change_of_archived_evidence_is_found_and_other_columns_are_not_in_it() {
    let (db, mut c) = people().await;
    let (rejected, _) = called_off(&c).await;
    db.advance("91 days").await;
    act(&c, "").await;
    assert_eq!(archive::run_once(&mut c).await.expect("a look").doubtful, 0);
    let sound = execution_archive_show(&c, rejected).await.expect("a file");
    let public = sound
        .rsplit("\"public_key\":\"")
        .next()
        .and_then(|rest| rest.split('"').next())
        .expect("a key");
    let public = tenure_core::evidence::PublicKey::parse(public).expect("a key");
    assert!(verify(sound.as_bytes(), &public).is_ok());
    without_constraints(&db).await;
    for (column, kind) in columns(&c, "execution_archives").await {
        run(&c, "begin; set local session_replication_role = replica").await;
        let value = match column.as_str() {
            "evidence" => "replace(t.evidence, 'Saturday', 'Sunday')".to_owned(),
            _ => other(&column, &kind),
        };
        run(
            &c,
            &format!("update tenure.execution_archives t set {column} = {value} where t.execution_id = '{rejected}'"),
        )
        .await;
        let shown = execution_archive_show(&c, rejected).await;
        run(&c, "rollback").await;
        match shown {
            Ok(file) if file == sound => assert_ne!(column, "evidence"),
            Ok(file) => {
                let findings = verify(file.as_bytes(), &public).expect_err("it was changed");
                assert!(
                    findings.iter().all(|it| it.fault == Fault::Tampered),
                    "{column}: {findings:#?}"
                );
            }
            Err(_) => assert!(["execution_id", "tenant_id"].contains(&column.as_str()), "{column}"),
        }
    }
}
