-- Runs of steps begin: the fence that each may act under, and the line of its start in the chain. Only claims
-- and starts of jobs in lanes with steps (lanes.stepped) come here, and none of them waits for an execution.

-- Which of these steps one claim takes, and its lease: as long as the longest of them needs, but no longer
-- than the kind allows; null if none says how long. A step that needs more than twice the lease of the first
-- is left for another claim: after the death of a worker, a short step would wait for the long lease.
create or replace function tenure.steps_lease(
  p_tenant_id integer, p_kind text, p_job_ids uuid[], out job_ids uuid[], out lease_seconds integer)
language plpgsql stable
as $$
begin
  select array_agg(j.id order by j.n),
         least(max(j.seconds), max(k.lease_seconds_max) filter (where j.seconds is not null))
    into job_ids, lease_seconds
    from (
      select t.id, t.n, j.seconds, first_value(j.seconds) over (order by t.n) as first
        from unnest(p_job_ids) with ordinality t (id, n)
        cross join lateral (
          select j.lease_seconds as seconds from tenure.jobs j where j.job_id = t.id limit 1) j) j
    left join tenure.kinds k on k.tenant_id = p_tenant_id and k.kind = p_kind
   where (j.seconds > 2 * j.first) is not true;
end
$$;

-- Gives runs of steps that were just claimed their fences, and returns them. The first run of a job has the
-- fence that its step took with the target; each later run takes a new one. The sequence is never behind:
-- every earlier holder of the target, also one by hand, had its fence before this run could be claimed.
create or replace function tenure.steps_claimed(p_job_ids uuid[], out job_ids uuid[], out fences bigint[])
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  with taken as materialized (
    select a.job_id, s.execution_id, s.step_number, s.tenant_id, s.fence as first,
           case when a.run > 1 then nextval('tenure.lock_fence') end as later
      from (
        select s.job_id, s.execution_id, s.step_number, s.tenant_id, s.fence
          from tenure.step_states s
         where s.job_id = any (p_job_ids)
           -- Only a step with a lock has a fence.
           and s.fence is not null
        offset 0) s
      cross join lateral (select a.job_id, a.run from tenure.active a where a.job_id = s.job_id offset 0) a
  ), numbered as (
    update tenure.active a
       set fence = t.later
      from taken t
     where a.job_id = t.job_id
       and t.later is not null
  ), kept as (
    -- The claim holds the job: no other transaction writes the row.
    insert into tenure.step_fences (execution_id, step_number, tenant_id, fence)
    select t.execution_id, t.step_number, t.tenant_id, t.later
      from taken t
     where t.later is not null
    on conflict (execution_id, step_number) do update
      set fence = excluded.fence
  )
  select array_agg(t.job_id), array_agg(coalesce(t.later, t.first))
    into job_ids, fences
    from taken t;
end
$$;

-- The fence of the run of a step's job that is held now, or was held last; null for a job without one. Every
-- surface shows this number.
create or replace function tenure.fence_of(p_job_id uuid) returns bigint
language sql stable
as $$
  select greatest(
           s.fence,
           (select f.fence
              from tenure.step_fences f
             where f.execution_id = s.execution_id
               and f.step_number = s.step_number))
    from tenure.step_states s
   where s.job_id = p_job_id
     and s.fence is not null
$$;

-- Appends that runs of steps have started, with worker, run, time and fence, in the transaction of the start.
-- Never waits and never fails: where another transaction holds the execution, a mark stays, and the line is
-- written by the end of the run or by the next tick.
create or replace function tenure.step_starts_record(p_now timestamptz, p_actor text, p_job_ids uuid[])
returns void
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_held  uuid[] := '{}';
  v_begun record;
  v_what  text;
begin
  -- An old snapshot cannot lock what has changed since.
  if current_setting('transaction_isolation') = 'read committed' then
    v_held := array(
      select e.execution_id
        from tenure.execution_states e
       where e.execution_id = any (array(
               select s.execution_id from tenure.step_states s where s.job_id = any (p_job_ids)))
       order by e.execution_id
         for no key update skip locked);
  end if;
  select array_agg(b.entries) filter (where b.is_held) as entries,
         bool_or(b.run > 1 and b.is_held) as again,
         bool_or(not b.is_held) as left_over
    into v_begun
    from (
      select b.run, b.entries, b.execution_id = any (v_held) and not b.owed as is_held
        from tenure.step_starts_read(p_job_ids) b) b;
  if v_begun.entries is not null then
    begin
      if v_begun.again then
        perform tenure.step_fenced(b.job_id, b.fence)
           from tenure.step_starts_read(p_job_ids) b
          where b.run > 1
            and b.execution_id = any (v_held)
            and not b.owed;
      end if;
      perform tenure.chain_append(greatest(p_now, tenure.now()), p_actor, v_begun.entries);
    exception when others then
      -- A start never fails because its line cannot be written.
      get stacked diagnostics v_what = message_text;
      raise warning 'starts of steps could not be written down: %', v_what;
      v_held := '{}';
      v_begun.left_over := true;
    end;
  end if;
  if v_begun.left_over then
    insert into tenure.follow_ups (task, subject, tenant_id, due_at, detail)
    select 'step_start', b.job_id || '/' || b.run, b.tenant_id, b.started_at,
           jsonb_build_object(
             'run', b.run,
             'worker', b.worker,
             'actor', p_actor,
             'fence', b.fence,
             'started_at', b.started_at)
      from tenure.step_starts_read(p_job_ids) b
     where b.owed
        or b.execution_id <> all (v_held)
    -- A subject of its own for each run: a start never waits for one that is being appended.
    on conflict do nothing;
  end if;
end
$$;

-- Runs of these jobs of steps that have begun, each with its line. `owed`: the end of an earlier run is not
-- in the chain yet, and comes first.
create or replace function tenure.step_starts_read(p_job_ids uuid[])
returns table (
  job_id uuid, execution_id uuid, tenant_id integer, run integer, worker text, fence bigint,
  started_at timestamptz, owed boolean, entries tenure.chain_entry)
language sql stable
as $$
  select s.job_id, s.execution_id, s.tenant_id, a.run, l.owner, coalesce(a.fence, s.fence), a.started_at,
         a.run > 1 and exists (
           select
             from tenure.follow_ups f
            where f.task = 'step_end'
              and f.subject = s.job_id::text
              and f.tenant_id = s.tenant_id),
         (s.execution_id, 'step_started', s.step_number,
           tenure.start_line(a.run, l.owner, a.started_at, coalesce(a.fence, s.fence))
         )::tenure.chain_entry
    from (
      select s.job_id, s.execution_id, s.step_number, s.tenant_id, s.fence
        from tenure.step_states s
       where s.job_id = any (p_job_ids)
         and s.state = 'running'
      offset 0) s
    cross join lateral (
      select a.run, a.token, a.lane, a.fence, a.started_at
        from tenure.active a
       where a.job_id = s.job_id
      offset 0) a
    cross join lateral (
      select l.owner from tenure.leases l where l.token = a.token and l.lane = a.lane offset 0) l
   where a.started_at is not null
   order by s.execution_id, s.step_number
$$;

-- The content of the line of a start.
create or replace function tenure.start_line(
  p_run integer, p_worker text, p_started_at timestamptz, p_fence bigint) returns jsonb
language sql stable
as $$
  select case
    when p_fence is null
      then jsonb_build_object('run', p_run, 'worker', p_worker, 'started_at', p_started_at)
    else jsonb_build_object('run', p_run, 'worker', p_worker, 'started_at', p_started_at, 'fence', p_fence)
  end
$$;

-- Makes the fence of a later run that of its step, from the start of the run on. The caller holds the
-- execution.
create or replace function tenure.step_fenced(p_job_id uuid, p_fence bigint) returns void
language plpgsql
as $$
begin
  update tenure.step_states s
     set fence = p_fence
   where s.job_id = p_job_id
     and s.fence < p_fence;
end
$$;

-- Appends starts that were left for later: those of runs that have ended, or with p_which 'all' every one of
-- these jobs. Returns how many. The caller holds the executions.
create or replace function tenure.starts_follow(p_now timestamptz, p_job_ids uuid[], p_which text)
returns integer
language plpgsql
set enable_seqscan = off
as $$
declare
  v_start record;
  v_entries  integer := 0;
begin
  for v_start in
    with gone as (
      delete from tenure.follow_ups f
       where f.ctid = any (array(
               select f.place
                 from tenure.starts_left(p_job_ids) f
                where p_which = 'all'
                   or f.run <= (select max(a.run) from tenure.attempts a where a.job_id = f.job_id)))
      returning f.subject, f.detail
    )
    select split_part(g.subject, '/', 1)::uuid as job_id, (g.detail ->> 'run')::integer as run,
           g.detail ->> 'worker' as worker, g.detail ->> 'actor' as actor,
           (g.detail ->> 'fence')::bigint as fence, (g.detail ->> 'started_at')::timestamptz as started_at
      from gone g
     order by 1, 2
  loop
    perform tenure.step_fenced(v_start.job_id, v_start.fence);
    perform tenure.chain_append(greatest(p_now, tenure.now()), v_start.actor, array(
      select (s.execution_id, 'step_started', s.step_number,
               tenure.start_line(v_start.run, v_start.worker, v_start.started_at, v_start.fence)
             )::tenure.chain_entry
        from tenure.step_states s
       where s.job_id = v_start.job_id));
    v_entries := v_entries + 1;
  end loop;
  return v_entries;
end
$$;

-- Starts of runs of these jobs that the chain lacks. Few ever do: with none at all it is one look.
create or replace function tenure.starts_left(p_job_ids uuid[])
returns table (place tid, job_id uuid, run integer)
language sql stable
as $$
  select f.place, t.id, f.run
    from unnest(p_job_ids) t (id)
    cross join lateral (
      select f.ctid as place, split_part(f.subject, '/', 2)::integer as run
        from tenure.follow_ups f
       where f.task = 'step_start'
         -- The character after the stroke.
         and f.subject >= t.id || '/'
         and f.subject < t.id || '0'
      offset 0) f
   where exists (select from tenure.follow_ups f where f.task = 'step_start')
$$;
