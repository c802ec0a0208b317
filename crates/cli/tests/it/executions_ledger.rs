//! The outside world of a plan: targets that refuse whoever comes with a smaller number than the greatest they have seen,
//! and a ledger of what began and ended there. It lies beside Tenure's schema and is written in transactions of its own.

use tenure::Pool;
use tenure::worker::{Context, Failure};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

const WORLD: &str = "
    create schema world;
    create table world.targets (target text primary key, fence bigint not null);
    create table world.lines (
      line bigint generated always as identity, at timestamptz not null default clock_timestamp(), what text not null, step text not null,
      key text not null, job_id uuid not null, run integer not null, target text, fence bigint, worker text not null);

    -- An effect begins, at a target that has seen no such number yet, or without a target.
    create function world.begin_effect(p_step text, p_key text, p_job uuid, p_run integer, p_target text, p_fence bigint, p_worker text) returns boolean
    language plpgsql as $$
    declare v_allowed boolean := p_fence is null;
    begin
      if p_fence is not null then
        insert into world.targets as t values (p_target, p_fence)
        on conflict (target) do update set fence = excluded.fence where t.fence < excluded.fence returning true into v_allowed;
      end if;
      insert into world.lines (what, step, key, job_id, run, target, fence, worker)
      values (case when v_allowed then 'began' else 'refused' end, p_step, p_key, p_job, p_run, p_target, p_fence, p_worker);
      return coalesce(v_allowed, false);
    end $$;

    -- It ends, unless somebody with a greater number came meanwhile.
    create function world.end_effect(p_step text, p_key text, p_job uuid, p_run integer, p_target text, p_fence bigint, p_worker text) returns boolean
    language plpgsql as $$
    declare v_allowed boolean := p_fence is null;
    begin
      if p_fence is not null then
        select t.fence = p_fence into v_allowed from world.targets t where t.target = p_target for update;
      end if;
      insert into world.lines (what, step, key, job_id, run, target, fence, worker)
      values (case when v_allowed then 'ended' else 'refused' end, p_step, p_key, p_job, p_run, p_target, p_fence, p_worker);
      return v_allowed;
    end $$;

    -- What an operator sees: how far a step came. Where it never began, whoever held the target until now is kept from beginning it after this look.
    create function world.look(p_step text, p_target text, p_fence bigint) returns text
    language plpgsql as $$
    begin
      insert into world.targets values (p_target, 0) on conflict do nothing;
      perform from world.targets t where t.target = p_target for update;
      if exists (select from world.lines l where l.step = p_step and l.what = 'ended') then return 'ended'; end if;
      if exists (select from world.lines l where l.step = p_step and l.what = 'began') then return 'began'; end if;
      update world.targets t set fence = greatest(t.fence, p_fence) where t.target = p_target;
      return 'never';
    end $$;";

pub(crate) async fn make_world(client: &Client) {
    client.batch_execute(WORLD).await.expect("the world");
}

/// Says to the target of the step that its effect begins, or has ended. False: the target refused.
async fn tell(pool: &Pool, function: &str, context: &Context) -> Result<bool, Failure> {
    let step = context.step().ok_or_else(|| Failure::permanent("no step"))?;
    let job = context.job();
    let (key, fence) = (job.idempotency_key.clone().unwrap_or_default(), step.fence());
    let values: [(&(dyn ToSql + Sync), Type); 7] = [
        (&step.step_id, Type::TEXT),
        (&key, Type::TEXT),
        (&job.job_id, Type::UUID),
        (&job.run, Type::INT4),
        (&step.target_ref, Type::TEXT),
        (&fence, Type::INT8),
        (&context.worker(), Type::TEXT),
    ];
    let sql = format!("select world.{function}($1, $2, $3, $4, $5, $6, $7)");
    Ok(pool.get().await?.query_typed(&sql, &values).await?[0].get(0))
}

/// The effect of a step, which takes so long.
pub(crate) async fn effect(pool: &Pool, context: &Context, lasts: std::time::Duration) -> Result<(), Failure> {
    if !tell(pool, "begin_effect", context).await? {
        return Err(Failure::permanent("the target has seen a greater number"));
    }
    tokio::time::sleep(lasts).await;
    match tell(pool, "end_effect", context).await? {
        true => Ok(()),
        false => Err(Failure::permanent("the target has seen a greater number meanwhile")),
    }
}

/// How far a step came, as the ledger has it: `ended`, `began` or `never`. After `never` it does not begin any more under
/// the number of its last run.
pub(crate) async fn look(client: &Client, step: &str, target: &str, fence: i64) -> String {
    let sql = "select world.look($1, $2, $3)";
    let row = client.query_one(sql, &[&step, &target, &fence]).await;
    row.expect("a look").get(0)
}

/// What must hold of every ledger, whatever was killed; `once` are the steps that may not come twice.
pub(crate) async fn check_ledger(client: &Client, once: &[String]) {
    let none = async |what: &str, sql: &str| {
        let found = client.query(sql, &[]).await.expect(what);
        let found: Vec<String> = found.iter().map(|row| row.get(0)).collect();
        assert!(found.is_empty(), "{what}: {found:?}");
    };
    let twice =
        "select step from world.lines where what = 'began' and step = any ($1) group by step having count(*) > 1";
    let twice = client.query(twice, &[&once]).await.expect("a query");
    let twice: Vec<String> = twice.iter().map(|row| row.get(0)).collect();
    assert!(twice.is_empty(), "these came twice: {twice:?}");
    for (what, sql) in [
        (
            "a step under two keys",
            "select step from world.lines group by step having count(distinct key) > 1",
        ),
        (
            "two steps under one key",
            "select key from world.lines group by key having count(distinct step) > 1",
        ),
        (
            "a target that let a smaller number in",
            "select target || ' ' || fence from (
               select l.*, max(l.fence) over (partition by l.target order by l.line rows between unbounded preceding and 1 preceding) as greatest
                 from world.lines l where l.what = 'began' and l.fence is not null) l where l.fence <= l.greatest",
        ),
        // Where a run began before the one before it had ended, that one had lost its lease: it was dead, or was told so.
        (
            "two living effects at one target",
            "select l.target || ': ' || l.step || ' run ' || l.run from (
               select l.*, lead(l.what || l.fence) over (partition by l.target order by l.line) as next
                 from world.lines l where l.what in ('began', 'ended') and l.fence is not null) l
               join tenure.attempts a on a.job_id = l.job_id and a.run = l.run
              where l.what = 'began' and l.next <> 'ended' || l.fence and (a.state = 'succeeded' or a.outcome not in ('expired', 'timed_out', 'failed_permanently'))",
        ),
        (
            "a refused run that counted",
            "select l.step from world.lines l join tenure.attempts a on a.job_id = l.job_id and a.run = l.run
              where l.what = 'refused' and a.state = 'succeeded'",
        ),
        (
            "a run that counted, and did nothing",
            "select a.job_id || ' ' || a.run from tenure.attempts a
              where a.state = 'succeeded' and not exists (select from world.lines l where l.job_id = a.job_id and l.run = a.run and l.what = 'ended')",
        ),
    ] {
        none(what, sql).await;
    }
}
