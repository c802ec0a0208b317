-- Retention in two steps: after its retention period a job is cleaned, that is, emptied to a tombstone that
-- can still be shown; after the tombstone period its partition is dropped (partitions.sql).

-- Walks through the jobs in the order of their ids, at most p_limit rows a call, and cleans those past
-- their retention. It stops at the shortest retention, and starts again from the front once in
-- sweep_pass_seconds for the jobs it had to leave. A tenant whose gate is closed is skipped.
-- granted to: admin, operator
create or replace function tenure.job_sweep(p_limit integer default 1000) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_every   boolean := v_caller.scope = 'every';
  v_now     timestamptz := tenure.now();
  v_name    text := case when v_every then 'jobs' else 'jobs:' || v_caller.tenant_id end;
  v_cursor  tenure.sweep_cursors;
  v_tenants integer[];
  v_found   record;
  v_cleaned integer;
  v_letters integer;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('sweep_rows_max'));
  if not v_every then
    perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  end if;
  v_tenants := tenure.open_tenants(v_caller);
  -- Looks first: an insert would wait for a sweep in progress even though it then does nothing.
  insert into tenure.sweep_cursors (name)
  select v_name
   where not exists (select from tenure.sweep_cursors c where c.name = v_name)
  on conflict (name) do nothing;
  select c.* into v_cursor from tenure.sweep_cursors c where c.name = v_name for update skip locked;
  if not found then
    return jsonb_build_object(
      'examined', 0, 'cleaned', 0, 'dead_letters_removed', 0, 'why', 'another sweep is at work');
  end if;

  v_found := tenure.sweep_find(v_tenants, v_now, v_cursor.job_id, p_limit);
  v_cleaned := tenure.jobs_clean(v_now, v_found.job_ids, v_found.step_job_ids);
  v_letters := tenure.dead_letters_sweep(v_tenants, v_now, p_limit);
  if v_found.examined < p_limit
     and coalesce(v_cursor.pass_began, '-infinity')
       < v_now - make_interval(secs => tenure.limit_of('sweep_pass_seconds')) then
    update tenure.sweep_cursors c set job_id = null, pass_began = v_now where c.name = v_name;
  elsif v_found.examined > 0 then
    update tenure.sweep_cursors c set job_id = v_found.last_id where c.name = v_name;
  end if;
  return jsonb_build_object(
    'examined', v_found.examined,
    'cleaned', v_cleaned,
    'dead_letters_removed', v_letters,
    'end_of_pass', v_found.examined < p_limit);
end
$$;

-- The next p_limit jobs after p_after that are past the shortest retention: how many there are, the last of
-- them, and which are past their own; of these, the jobs of steps once more.
create or replace function tenure.sweep_find(
  p_tenants integer[], p_now timestamptz, p_after uuid, p_limit integer,
  out examined integer, out last_id uuid, out job_ids uuid[], out step_job_ids uuid[])
language plpgsql
as $$
declare
  v_shortest integer;
begin
  select least(
           min(k.retention_seconds),
           min(tenure.setting_integer(t.tenant_id, 'retention.succeeded_seconds')),
           min(tenure.setting_integer(t.tenant_id, 'retention.failed_seconds')))
    into v_shortest
    from tenure.tenants t
    left join tenure.kinds k on k.tenant_id = t.tenant_id
   where t.tenant_id = any (p_tenants);

  with examined as materialized (
    select j.job_id, j.tenant_id, j.kind, j.cleaned_at, j.source_system = 'tenure.execution' as of_step
      from tenure.jobs j
     where j.job_id > coalesce(p_after, '00000000-0000-0000-0000-000000000000'::uuid)
       and j.job_id < tenure.id_floor(p_now - make_interval(secs => v_shortest))
       and j.tenant_id = any (p_tenants)
     order by j.job_id
     limit p_limit
  ), due as (
    select x.job_id, x.of_step
      from examined x
      join tenure.attempts a on a.job_id = x.job_id and a.final
      left join tenure.kinds k on k.tenant_id = x.tenant_id and k.kind = x.kind
     where x.cleaned_at is null
       and a.ended_at < p_now - make_interval(secs => coalesce(k.retention_seconds,
         tenure.setting_integer(x.tenant_id, case
           when a.state in ('succeeded', 'cancelled') then 'retention.succeeded_seconds'
           else 'retention.failed_seconds'
         end)))
       and (a.state <> 'dead_letter' or not exists (
         select from tenure.dead_letters d where d.job_id = x.job_id and d.triage_status <> 'closed'))
  )
  select (select count(*) from examined),
         (select max(e.job_id::text)::uuid from examined e),
         (select array_agg(d.job_id order by d.job_id) from due d),
         (select array_agg(d.job_id) from due d where d.of_step)
    into examined, last_id, job_ids, step_job_ids;
end
$$;

-- Empties these jobs and their runs, and returns how many. The key is deleted first, then the data; before
-- that, the runs of steps are copied to where their execution keeps them. A job that was retried in the
-- meantime, or whose execution is locked, is left for a later pass.
create or replace function tenure.jobs_clean(p_now timestamptz, p_job_ids uuid[], p_step_job_ids uuid[])
returns integer
language plpgsql
as $$
declare
  v_ids    uuid[];
  v_busy   uuid[];
  v_hashes uuid[];
  v_count  integer;
begin
  if p_job_ids is null then
    return 0;
  end if;
  -- An operator's retry locks the key, then the final record, and takes it back: lock both in that order, and
  -- look again.
  select array_agg(k.key_hash) into v_hashes
    from (select i.key_hash
            from tenure.idempotency i
           where i.key_hash = any (array(
             select tenure.idempotency_hash(
                      tenure.idempotency_scope(j.tenant_id, j.kind), j.idempotency_key)
               from tenure.jobs j
              where j.job_id = any (p_job_ids) and j.idempotency_key is not null))
             and i.job_id = any (p_job_ids)
           order by i.key_hash
             for update) k;
  select array_agg(f.job_id) into v_ids
    from (select a.job_id
            from tenure.attempts a
           where a.job_id = any (p_job_ids) and a.final
           order by a.job_id
             for update) f;
  if p_step_job_ids is not null then
    v_busy := tenure.step_runs_keep(array(
      select x.job_id from unnest(p_step_job_ids) x (job_id) where x.job_id = any (v_ids)));
    v_ids := array(select x.job_id from unnest(v_ids) x (job_id) where x.job_id <> all (v_busy));
  end if;
  delete from tenure.idempotency i where i.key_hash = any (v_hashes) and i.job_id = any (v_ids);
  update tenure.attempts a
     set result = null,
         result_ref = null,
         error_message = null
   where a.job_id = any (v_ids)
     and (a.result is not null or a.result_ref is not null or a.error_message is not null);
  with emptied as (
    update tenure.jobs j
       set payload = '{}',
           source_ref = null,
           target_ref = null,
           payload_ref = null,
           cleaned_at = p_now
     where j.job_id = any (v_ids) and j.cleaned_at is null
    returning j.job_id, j.tenant_id, j.lane
  ), numbered as (
    select e.job_id, e.tenant_id, e.lane,
           (row_number() over (partition by e.tenant_id, e.lane order by e.job_id) - 1)
             / tenure.limit_of('batch_rows_max') as page
      from emptied e
  ), recorded as (
    insert into tenure.events (at, tenant_id, lane, kind, actor, job_ids)
    select p_now, n.tenant_id, n.lane, 'job.cleaned', 'retention', array_agg(n.job_id)
      from numbered n
     group by n.tenant_id, n.lane, n.page
  )
  select count(*) into v_count from emptied;
  return v_count;
end
$$;

-- Removes closed dead letters of jobs and of executions past their retention, at most p_limit of each, and
-- returns how many.
create or replace function tenure.dead_letters_sweep(p_tenants integer[], p_now timestamptz, p_limit integer)
returns integer
language plpgsql
as $$
declare
  v_jobs       integer;
  v_executions integer;
begin
  delete from tenure.dead_letters d
   where d.ctid = any (array(
     select x.ctid
       from tenure.dead_letters x
      where x.triage_status = 'closed'
        and x.tenant_id = any (p_tenants)
        and x.triaged_at < p_now - make_interval(days =>
          tenure.setting_integer(x.tenant_id, 'retention.dead_letters_days'))
      limit p_limit));
  get diagnostics v_jobs = row_count;
  delete from tenure.execution_dead_letters d
   where d.execution_id = any (array(
     select x.execution_id
       -- pinned order: see sql/README.md
       from (select t.tenant_id,
                    p_now - make_interval(days =>
                      tenure.setting_integer(t.tenant_id, 'retention.dead_letters_days')) as until
               from unnest(p_tenants) t (tenant_id)
             offset 0) t
       cross join lateral (
         select x.execution_id
           from tenure.execution_dead_letters x
          where x.tenant_id = t.tenant_id and x.triage_status = 'closed' and x.triaged_at < t.until
          limit p_limit) x
      limit p_limit));
  get diagnostics v_executions = row_count;
  return v_jobs + v_executions;
end
$$;

-- The number of the step a job belongs to, read from its key ('step', the execution, the
-- number). Null for any other key.
create or replace function tenure.step_of_key(p_key text) returns integer
language sql immutable
as $$ select substring(p_key from '^step [-0-9a-f]{36} ([0-9]{1,9})$')::integer $$;

-- Copies the runs of these jobs to step_runs, where they stay as long as the execution whose steps
-- they are. Returns the jobs that must not be cleaned yet: another transaction has locked their
-- execution, most likely to archive it.
create or replace function tenure.step_runs_keep(p_job_ids uuid[]) returns uuid[]
language plpgsql
as $$
declare
  v_held uuid[];
begin
  -- Keeps a transaction from deleting the execution with its rows. It does not conflict with one that only
  -- changes the execution, and waits for none.
  v_held := array(
    select e.execution_id
      from tenure.executions e
     where e.execution_id in (select j.workflow_id from tenure.jobs j where j.job_id = any (p_job_ids))
     order by e.execution_id
       for key share skip locked);
  insert into tenure.step_runs (execution_id, step_number, job_id, run, tenant_id, attempt, outcome, state,
    owner, holder, leased_at, started_at, ended_at, actor, reason, error_code, error_class, error_message,
    result, result_ref)
  select s.execution_id, s.step_number, r.job_id, r.run, r.tenant_id, r.attempt, r.outcome, r.state,
         r.owner, r.holder, r.leased_at, r.started_at, r.ended_at, r.actor, r.reason, r.error_code,
         r.error_class, r.error_message, r.result, r.result_ref
    from unnest(v_held) h (execution_id)
    join tenure.jobs j on j.workflow_id = h.execution_id and j.job_id = any (p_job_ids)
    join tenure.steps s
      on s.execution_id = h.execution_id
     and s.step_number = tenure.step_of_key(j.idempotency_key)
     and s.tenant_id = j.tenant_id
    join tenure.attempts r on r.job_id = j.job_id
   where j.enqueued_by = 'execution'
  on conflict (execution_id, step_number, job_id, run) do nothing;
  return array(
    select j.job_id
      from tenure.jobs j
      join tenure.executions e on e.execution_id = j.workflow_id
     where j.job_id = any (p_job_ids)
       and not exists (
         select from unnest(v_held) h (execution_id) where h.execution_id = e.execution_id));
end
$$;
