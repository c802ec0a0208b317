//! People who ask and people who decide, plans for them, and what must hold of every execution whatever happened.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, Param, claim_with, get, one, rows, run, verb};

/// Who is registered: eve asks; ada, bob and cyd approve, up to these levels and in these roles.
const PEOPLE: [(&str, &str, &str); 6] = [
    (
        "eve",
        "human",
        r#"{"approver_level": 3, "approval_roles": ["dba", "release"]}"#,
    ),
    ("ada", "human", r#"{"approver_level": 3, "approval_roles": ["dba"]}"#),
    (
        "bob",
        "human",
        r#"{"approver_level": 2, "approval_roles": ["release"]}"#,
    ),
    ("cyd", "service", r#"{"approver_level": 1}"#),
    ("bot", "agent", "{}"),
    ("pam", "human", "{}"),
];

/// A database with these people. The session acts as whoever a call names: it is trusted.
pub(crate) async fn people() -> (Db, Client) {
    let db = Db::open().await;
    let c = db.direct().await;
    for (name, kind, spec) in PEOPLE {
        one(&c, "select tenure.principal_create($1, $2)", &[&name, &kind]).await;
        let spec: Value = serde_json::from_str(spec).expect("JSON");
        let set = one(&c, "select tenure.principal_set($1, $2)", &[&name, &spec]).await;
        assert_eq!(set["name"], name, "{set}");
    }
    (db, c)
}

/// A plan of steps `id action_class [needs…]`, each at a target of its own.
pub(crate) fn plan(purpose: &str, steps: &[&str]) -> Value {
    let steps: Vec<Value> = steps
        .iter()
        .map(|step| {
            let words: Vec<&str> = step.split(' ').collect();
            json!({"id": words[0], "action": "touch", "action_class": words[1], "needs": words[2..],
                   "target_type": "host", "target_ref": format!("{purpose} {}", words[0])})
        })
        .collect();
    json!({"purpose": purpose, "sla_class": "long", "runbook_ref": "https://example.org/runbook", "steps": steps})
}

/// The session acts as this principal from now on.
pub(crate) async fn act(c: &Client, who: &str) {
    rows(c, "select set_config('tenure.principal', $1, false)", &[&who]).await;
}

/// Submits a plan as somebody, with further arguments such as `", p_key => 'a'"`.
pub(crate) async fn submit(c: &Client, who: &str, plan: &Value, more: &str) -> Value {
    act(c, who).await;
    let sql = format!("select tenure.execution_submit($1{more})");
    one(c, &sql, &[&plan.to_string()]).await
}

/// What is submitted and waits for a decision.
pub(crate) struct Asked {
    pub(crate) execution: Uuid,
    pub(crate) approval: Uuid,
    pub(crate) hash: String,
}

/// The id in a field of an answer.
#[track_caller]
pub(crate) fn id(answer: &Value, field: &str) -> Uuid {
    let text = answer[field].as_str().unwrap_or_else(|| panic!("no {field}: {answer}"));
    text.parse().expect("an id")
}

impl Asked {
    #[track_caller]
    pub(crate) fn of(answer: &Value) -> Asked {
        Asked {
            execution: id(answer, "execution_id"),
            approval: id(answer, "approval_id"),
            hash: answer["plan_hash"].as_str().expect("a hash").to_owned(),
        }
    }
}

/// Eve asks for a plan that needs an approval.
pub(crate) async fn ask(c: &Client, plan: &Value) -> Asked {
    Asked::of(&submit(c, "eve", plan, "").await)
}

/// Eve asks for a change of one thing: level 1, one vote.
pub(crate) async fn ask_change(c: &Client) -> Asked {
    ask(c, &plan("change", &["a modify"])).await
}

/// Decides as somebody, with further arguments such as `", 'a comment'"`.
pub(crate) async fn decide(c: &Client, who: &str, asked: &Asked, decision: &str, more: &str) -> Value {
    act(c, who).await;
    let sql = format!("select tenure.approval_decide($1, $2, $3{more})");
    one(c, &sql, &[&asked.approval, &decision, &asked.hash.as_str()]).await
}

pub(crate) async fn rule(c: &Client, name: &str, spec: Value) {
    act(c, "pam").await;
    let set = one(c, "select tenure.approval_rule_set($1, $2)", &[&name, &spec]).await;
    assert_eq!(set["name"], name, "{set}");
}

pub(crate) async fn state_of(c: &Client, execution: Uuid) -> String {
    let sql = "select state from tenure.execution_rows where execution_id = $1";
    get(c, sql, &[&execution]).await
}

/// The state of the latest approval of the execution itself.
pub(crate) async fn approval_of(c: &Client, execution: Uuid) -> String {
    let sql = "select state from tenure.approvals where execution_id = $1 and step_number is null";
    get(c, sql, &[&execution]).await
}

/// Claims and starts a job of a step, which must be there.
pub(crate) async fn work(c: &Client) -> Claimed {
    let mut claimed = claim_with(c, "w", ", p_mode => 'started'").await;
    assert_eq!(claimed.len(), 1, "one step is claimable");
    claimed.remove(0)
}

/// Runs every job there is, and what follows it, to a good end.
pub(crate) async fn work_all(c: &Client) {
    loop {
        let claimed = claim_with(c, "w", ", p_limit => 50, p_mode => 'started'").await;
        if claimed.is_empty() {
            return;
        }
        for held in claimed {
            verb(c, "job_complete", &held, "").await;
        }
    }
}

pub(crate) async fn tick(c: &Client) -> Value {
    one(c, "select tenure.execution_tick()", &[]).await
}

/// The kinds of an execution's events, in order.
pub(crate) async fn story(c: &Client, execution: Uuid) -> Vec<String> {
    let sql = "select kind from tenure.execution_timeline($1)";
    rows(c, sql, &[&execution]).await.iter().map(|row| row.get(0)).collect()
}

/// How often something of this kind is in the story.
pub(crate) async fn told(c: &Client, execution: Uuid, kind: &str) -> usize {
    story(c, execution).await.iter().filter(|it| *it == kind).count()
}

/// Everything of executions, as one hash: what a refusal must leave as it was.
pub(crate) async fn snapshot(c: &Client) -> String {
    get(
        c,
        "select md5(coalesce(string_agg(t.line, '|' order by t.line), '')) from (
           select 'e' || x::text from tenure.execution_rows x union all select 's' || x::text from tenure.step_rows x
           union all select 'a' || x::text from tenure.approvals x union all select 'v' || x::text from tenure.approval_votes x
           union all select 'c' || x::text from tenure.execution_events x union all select 'l' || x::text from tenure.locks x
           union all select 'j' || x::text from tenure.jobs x union all select 't' || x::text from tenure.events x where x.kind !~ '^principal') t (line)",
        &[],
    )
    .await
}

/// Asserts that a query for violations finds none.
async fn none(c: &Client, what: &str, sql: &str) {
    let params: &[&dyn Param] = &[];
    let found: Vec<String> = rows(c, sql, params).await.iter().map(|row| row.get(0)).collect();
    assert!(found.is_empty(), "{what}: {found:?}");
}

/// Asserts what must hold of every execution, whatever happened and whoever was faster.
pub(crate) async fn check_executions(c: &Client) {
    for (what, sql) in [
        (
            "a chain that does not verify",
            "select e.execution_id::text from tenure.execution_rows e
              where e.chain_length <> (select count(*) from tenure.execution_events v where v.execution_id = e.execution_id)
                 or e.chain_hash <> (select v.hash from tenure.execution_events v where v.execution_id = e.execution_id order by v.seq desc limit 1)
                 or exists (
                       select from (select v.*, lag(v.hash, 1, sha256(convert_to('tenure/execution/' || v.execution_id, 'UTF8'))) over (order by v.seq) as before,
                                           row_number() over (order by v.seq) as place
                                      from tenure.execution_events v where v.execution_id = e.execution_id) v
                        where v.hash <> sha256(v.before || convert_to(v.body, 'UTF8')) or v.seq <> v.place
                           or (v.body::jsonb ->> 'seq')::integer <> v.seq or v.body::jsonb ->> 'kind' <> v.kind)",
        ),
        (
            "a line of a story that is older than the one before it",
            "select v.execution_id || '/' || v.seq from (
               select v.*, lag(v.at) over (partition by v.execution_id order by v.seq) as before from tenure.execution_events v) v
              where v.at < v.before",
        ),
        (
            // After a break nobody knows when the one before was over; what was carried ran elsewhere.
            "a hold of a whole target that began, as it is recorded, before the one before it was over",
            "select s.execution_id || '/' || s.step_id from (
               select s.*, lag(s.ended_at) over (partition by s.tenant_id, s.lock_target order by s.fence) as before
                 from tenure.step_rows s where s.lock_action = '' and s.fence is not null and s.verdict_by is null) s
              where least(s.queued_at, s.started_at) < s.before",
        ),
        (
            "a step that began before it could",
            "select s.execution_id || '/' || s.step_id from tenure.step_rows s where s.carried_from is null and s.started_at < s.queued_at and s.attempt = 1 and s.dispatches = 1",
        ),
        (
            "counters that are not those of the steps",
            "select e.execution_id::text from tenure.execution_rows e
               cross join lateral (
                 select count(*) filter (where s.ended_at is null) as open, count(*) filter (where s.state = 'succeeded') as succeeded,
                        count(*) filter (where s.state = 'failed') as failed, count(*) filter (where s.state = 'cancelled') as cancelled,
                        count(*) filter (where s.state = 'skipped') as skipped, count(*) filter (where s.state = 'unknown') as unknown, count(*) as steps
                   from tenure.step_rows s where s.execution_id = e.execution_id) n
              where (e.steps_open, e.steps_succeeded, e.steps_failed, e.steps_cancelled, e.steps_skipped, e.steps_unknown, e.step_count)
                    is distinct from (n.open, n.succeeded, n.failed, n.cancelled, n.skipped, n.unknown, n.steps)",
        ),
        (
            "a story whose moves do not lead from pending to where it is",
            "select e.execution_id::text from tenure.execution_rows e
               cross join lateral (
                 select array_agg(v.body::jsonb -> 'data' ->> 'from' order by v.seq) as froms, array_agg(v.body::jsonb -> 'data' ->> 'to' order by v.seq) as tos
                   from tenure.execution_events v
                  where v.execution_id = e.execution_id and v.step_number is null and v.body::jsonb -> 'data' ->> 'to' in (select m.to_state from tenure.execution_moves() m)) m
              where array['pending'] || m.tos is distinct from m.froms || e.state",
        ),
        (
            "an execution that ran without a used approval of its plan",
            "select e.execution_id::text from tenure.execution_rows e
              where e.started_at is not null
                and (select count(*) from tenure.approvals a
                      where a.execution_id = e.execution_id and a.step_number is null and a.state = 'approved' and a.plan_hash = e.plan_hash and a.consumed_at = e.started_at) <> 1",
        ),
        (
            "an approval that waits although its execution is over",
            "select a.approval_id::text from tenure.approvals a join tenure.execution_rows e on e.execution_id = a.execution_id
              where e.ended_at is not null and (a.state = 'pending' or (a.state = 'approved' and a.consumed_at is null))",
        ),
        (
            "an approval whose count is not that of its votes",
            "select a.approval_id::text from tenure.approvals a
              where a.given <> (select count(*) from tenure.approval_votes v where v.approval_id = a.approval_id and v.decision = 'approve')",
        ),
        (
            "a lock of a step that is over",
            "select l.lock_key from tenure.locks l join tenure.step_rows s on s.execution_id = l.execution_id and s.step_number = l.step_number
              where s.state not in ('running', 'unknown')",
        ),
        (
            "a job of an execution that did not start, or one that runs on after its end",
            "select j.job_id::text from tenure.jobs j join tenure.execution_rows e on e.execution_id = j.workflow_id
              where j.source_system = 'tenure.execution'
                and (e.started_at is null or (e.ended_at is not null and not exists (select from tenure.attempts t where t.job_id = j.job_id and t.final)))",
        ),
        (
            "a step that is blocked without a place in the queue of its target, or has one and is not",
            "select s.execution_id || '/' || s.step_id from tenure.step_rows s
              where (s.state = 'blocked') <> exists (
                      select from tenure.lock_queue q
                       where (q.execution_id, q.step_number, q.tenant_id, q.target) = (s.execution_id, s.step_number, s.tenant_id, s.lock_target))",
        ),
        (
            "a step that runs without a job that does",
            "select s.execution_id || '/' || s.step_id from tenure.step_rows s
              where s.state = 'running' and (s.job_id is null or exists (select from tenure.attempts t where t.job_id = s.job_id and t.final))
                and not exists (select from tenure.follow_ups f where f.task = 'step_end' and f.subject = s.job_id::text)",
        ),
    ] {
        none(c, what, sql).await;
    }
}

/// Runs statements as the owner of the tables, who passes every grant, and answers what they were refused with.
pub(crate) async fn as_owner(c: &Client, sql: &str) -> String {
    run(c, "begin; set local tenure.tenant = '*'; set local role tenure_owner").await;
    let outcome = c.batch_execute(sql).await;
    run(c, "rollback").await;
    let error = outcome.expect_err(sql);
    let db = error.as_db_error().unwrap_or_else(|| panic!("{error:?}"));
    format!("{} {}", db.code().code(), db.message())
}
