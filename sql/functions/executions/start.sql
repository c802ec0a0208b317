-- Approved executions begin: which of them may start now, and when the others are looked at again. Their
-- steps go on in dispatch.sql.

-- Parks an approved execution that must not start now, because of a freeze or its window, and returns whether
-- it did. Steps of it that stood in the line of a target leave it. The caller holds the execution.
create or replace function tenure.execution_park(p_now timestamptz, p_execution tenure.execution_rows)
returns boolean
language plpgsql
as $$
declare
  v_why   text;
  v_line  integer[];
  v_opens timestamptz := greatest(
    tenure.window_opens(p_execution.start_window, p_now), p_execution.start_after);
begin
  if exists (
       select
         from tenure.freezes f
        where f.tenant_id = p_execution.tenant_id
          and f.ended_at is null
          and (f.until is null or f.until > p_now)) then
    v_why := 'freeze';
  elsif v_opens > p_now then
    v_why := 'window';
  end if;
  if v_why is null then
    return false;
  end if;
  if p_execution.parked is distinct from v_why then
    update tenure.execution_states e set parked = v_why where e.execution_id = p_execution.execution_id;
    perform tenure.chain_append(greatest(p_now, tenure.now()), 'policy', array[(
      p_execution.execution_id, 'execution_parked', null,
      jsonb_strip_nulls(jsonb_build_object('because', v_why, 'opens_at', v_opens)))::tenure.chain_entry]);
  end if;
  -- Its blocked steps ask for their locks again when it starts.
  with unblocked as (
    update tenure.step_states s
       set state = 'waiting'
     where s.execution_id = p_execution.execution_id
       and s.state = 'blocked'
    returning s.step_number
  )
  select array_agg(u.step_number) into v_line from unblocked u;
  if v_line is not null then
    perform tenure.lock_queue_leave(
      array_fill(p_execution.execution_id, array[cardinality(v_line)]), v_line);
  end if;
  perform tenure.executions_set_due(p_now, array[p_execution.execution_id]);
  return true;
end
$$;

-- The targets of steps that may begin now.
create or replace function tenure.targets_wanted(p_ids uuid[])
returns table (tenant_id integer, target text)
language sql stable
as $$
  select distinct p.tenant_id, p.lock_target
    from (
      select s.execution_id, s.step_number
        from tenure.step_states s
       where s.execution_id = any (p_ids)
         and s.state = 'waiting'
         and s.needs_left = 0
      offset 0) s
    cross join lateral (
      select p.tenant_id, p.lock_target
        from tenure.steps p
       where p.execution_id = s.execution_id and p.step_number = s.step_number
      offset 0) p
   where p.lock_target is not null
$$;

-- Locks the target rows of steps that may begin. With p_patience 'wait' it waits for transactions that hold
-- one of them and returns true; otherwise it skips those rows, and returns whether it got all.
create or replace function tenure.targets_lock_rows(p_ids uuid[], p_patience text) returns boolean
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_wanted bigint;
  v_held   bigint;
begin
  if p_patience = 'wait' then
    perform
       from tenure.targets_wanted(p_ids) w
       join tenure.lock_targets t on t.tenant_id = w.tenant_id and t.target = w.target
      order by t.tenant_id, t.target
        for no key update of t;
    return true;
  end if;
  select count(*) into v_wanted from tenure.targets_wanted(p_ids);
  select count(*)
    into v_held
    from (
      select
        from tenure.targets_wanted(p_ids) w
        join tenure.lock_targets t on t.tenant_id = w.tenant_id and t.target = w.target
         for no key update of t skip locked) x;
  return v_held = v_wanted;
end
$$;

-- Which of these approved executions may start now. One that is too late is called off, one that may not
-- start yet is parked. The caller holds them.
create or replace function tenure.executions_may_start(p_now timestamptz, p_ids uuid[]) returns uuid[]
language plpgsql
as $$
declare
  v_exec    tenure.execution_rows;
  v_go      uuid[] := '{}';
  v_allowed text;
begin
  for v_exec in
    select e.*
      from unnest(p_ids) t (id)
      cross join lateral (select e.* from tenure.execution_rows e where e.execution_id = t.id offset 0) e
     where e.state = 'approved'
     order by e.execution_id
  loop
    if v_exec.start_before <= p_now then
      perform tenure.execution_end_unstarted(p_now, 'policy', v_exec.execution_id, 'window_passed',
        format('It had to start before %s.', v_exec.start_before));
      continue;
    end if;
    v_allowed := tenure.execution_approval_stands(p_now, v_exec);
    continue when v_allowed = 'gone' or tenure.execution_park(p_now, v_exec);
    if v_allowed = 'stands' then
      v_go := v_go || v_exec.execution_id;
    else
      update tenure.execution_states e
         set parked = null,
             next_at = p_now + interval '500 milliseconds'
       where e.execution_id = v_exec.execution_id;
    end if;
  end loop;
  return v_go;
end
$$;

-- Begins those of these approved executions that may start now. The caller holds them.
create or replace function tenure.executions_try_start(
  p_now timestamptz, p_actor text, p_ids uuid[], p_patience text default 'wait') returns void
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_go    uuid[] := tenure.executions_may_start(p_now, p_ids);
  v_ready record;
  v_done  record;
begin
  if cardinality(v_go) = 0 then
    return;
  end if;
  update tenure.execution_states e
     set parked = null
   where e.execution_id = any (v_go)
     and e.parked is not null;
  if not tenure.targets_lock_rows(v_go, p_patience) then
    -- Another transaction holds one of the targets: try again soon.
    update tenure.execution_states e
       set next_at = p_now + interval '500 milliseconds'
     where e.execution_id = any (v_go);
    return;
  end if;
  -- Checked again, as of now: the wait for the targets may have been long, and what was allowed before it may
  -- not be allowed any more.
  p_now := greatest(p_now, tenure.now());
  v_go := tenure.executions_may_start(p_now, v_go);
  if cardinality(v_go) = 0 then
    return;
  end if;
  select coalesce(array_agg(s.execution_id order by s.execution_id, s.step_number), '{}') as execs,
         coalesce(array_agg(s.step_number order by s.execution_id, s.step_number), '{}') as numbers
    into v_ready
    from tenure.step_states s
   where s.execution_id = any (v_go)
     and s.state = 'waiting'
     and s.needs_left = 0;
  v_done := tenure.steps_dispatch(p_now, p_actor, v_ready.execs, v_ready.numbers, false, false, '{}');
  perform tenure.executions_advance(p_now, p_actor, v_done.refused_execs, v_done.refused_numbers,
    array_fill('failed'::text, array[cardinality(v_done.refused_execs)]), v_done.entries);
  perform tenure.executions_set_due(p_now, v_go);
end
$$;
