-- Approved executions start, and steps become jobs: which executions may start now, and what a step needs
-- before it has a job. The parts are in steps/ask.sql (approvals of single steps), steps/lock.sql,
-- steps/section.sql and steps/enqueue.sql.

-- Parks an approved execution that must not start now, because of a freeze or its window, and returns whether
-- it did. Steps of it that wait in the queue of a target leave it. The caller has locked the execution.
create or replace function tenure.execution_park(p_now timestamptz, p_execution tenure.execution_rows)
returns boolean
language plpgsql
as $$
declare
  v_why   text;
  v_left  integer[];
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
  select array_agg(u.step_number) into v_left from unblocked u;
  if v_left is not null then
    perform tenure.lock_queue_leave(
      array_fill(p_execution.execution_id, array[cardinality(v_left)]), v_left);
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

-- Which of these approved executions may start now. One that is too late is ended, one that may not
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
             next_at = p_now + make_interval(secs => tenure.limit_of('execution_start_retry_ms') / 1000.0)
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
       set next_at = p_now + make_interval(secs => tenure.limit_of('execution_start_retry_ms') / 1000.0)
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

-- Starts steps whose needs are met: requests missing approvals, takes locks or queues for them, and makes
-- jobs of the rest. Returns the events to append, and the steps whose job was refused: they have failed. The
-- caller holds the executions and the targets.
-- p_granted: the lock may be taken at once. p_begun: the executions are already running.
create or replace function tenure.steps_dispatch(
  p_now timestamptz, p_actor text, p_execs uuid[], p_numbers integer[], p_granted boolean, p_begun boolean,
  inout entries tenure.chain_entry[], out refused_execs uuid[], out refused_numbers integer[])
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_execs   uuid[] := p_execs;
  v_numbers integer[] := p_numbers;
  v_is      record;
  v_in      record;
  v_inner   uuid[] := '{}';
  v_inner_n integer[] := '{}';
  v_go      record;
  v_made    record;
begin
  refused_execs := '{}';
  refused_numbers := '{}';
  select bool_or(s.approval_level = 3) as ask,
         bool_or(s.lock_target is not null) as lock,
         bool_or(s.section is not null) as section,
         min(s.tenant_id) as tenant_id,
         min(s.tenant_id) = max(s.tenant_id) as of_one_tenant
    into v_is
    from unnest(p_execs, p_numbers) t (e, n)
    cross join lateral (
      select s.approval_level, s.lock_target, s.section, s.tenant_id
        from tenure.steps s
       where s.execution_id = t.e and s.step_number = t.n
      offset 0) s;
  -- Steps that need an approval of their own and have none yet.
  if v_is.ask then
    v_go := tenure.step_approvals_request(p_now, p_execs, p_numbers, entries);
    entries := v_go.entries;
    v_execs := v_go.execs;
    v_numbers := v_go.numbers;
  end if;
  if cardinality(v_execs) = 0 then
    return;
  end if;

  if v_is.section and not p_granted then
    v_in := tenure.sections_continue(p_now, v_execs, v_numbers, entries);
    entries := v_in.entries;
    v_execs := v_in.execs;
    v_numbers := v_in.numbers;
    v_inner := v_in.inner_execs;
    v_inner_n := v_in.inner_numbers;
    refused_execs := v_in.lost_execs;
    refused_numbers := v_in.lost_numbers;
  end if;
  if v_is.lock and cardinality(v_execs) > 0 then
    v_go := tenure.steps_lock(p_now, v_execs, v_numbers, p_granted, entries);
    entries := v_go.entries;
    v_execs := v_go.execs;
    v_numbers := v_go.numbers;
  end if;
  if not p_begun and cardinality(v_execs) > 0 then
    entries := entries || tenure.executions_start(p_now, p_actor, v_execs);
  end if;
  if v_is.section then
    entries := entries || tenure.section_enter_entries(v_execs, v_numbers);
    v_execs := v_execs || v_inner;
    v_numbers := v_numbers || v_inner_n;
  end if;
  if cardinality(v_execs) = 0 then
    return;
  end if;

  if v_is.ask then
    entries := entries || tenure.step_approvals_consume(p_now, v_execs, v_numbers);
  end if;
  if v_is.of_one_tenant then
    v_made := tenure.steps_enqueue(p_now, v_is.tenant_id, v_execs, v_numbers);
  else
    v_made := tenure.steps_enqueue_by_tenant(p_now, v_execs, v_numbers);
  end if;
  entries := entries || v_made.entries;
  refused_execs := refused_execs || v_made.refused_execs;
  refused_numbers := refused_numbers || v_made.refused_numbers;
end
$$;

-- Starts approved executions and consumes their approvals in the same transaction. Returns the events to
-- append. An execution without an approval to consume is refused by the trigger of its table.
create or replace function tenure.executions_start(p_now timestamptz, p_actor text, p_execs uuid[])
returns tenure.chain_entry[]
language plpgsql
as $$
declare
  -- Found by id, never by state: many executions may be approved.
  v_ids  uuid[] := array(
    select e.execution_id
      from (select e.execution_id, e.state
              from tenure.execution_states e
             where e.execution_id = any (p_execs)
            offset 0) e
     where e.state = 'approved');
  v_used record;
begin
  if cardinality(v_ids) = 0 then
    return '{}';
  end if;
  with used as (
    -- No join: statistics from when a table was small make a full read of it look cheapest.
    update tenure.approvals a
       set consumed_at = greatest(p_now, a.decided_at)
     where a.execution_id = any (v_ids)
       and a.step_number is null
       and a.state = 'approved'
       and a.consumed_at is null
       and a.plan_hash = (select e.plan_hash from tenure.executions e where e.execution_id = a.execution_id)
    returning a.execution_id, a.approval_id, a.consumed_at
  )
  select array_agg(u.consumed_at order by u.execution_id) as times,
         array_agg(u.execution_id order by u.execution_id) as ids,
         array_agg(x.entries order by u.execution_id, x.place) as entries
    into v_used
    from used u
    cross join lateral (values
      (1, (u.execution_id, 'execution_started', null, jsonb_build_object(
        'approval_id', u.approval_id,
        'started_at', u.consumed_at))::tenure.chain_entry),
      (2, (u.execution_id, 'execution_running', null, jsonb_build_object(
        'from', 'approved',
        'to', 'running'))::tenure.chain_entry)) x (place, entries);
  update tenure.execution_states e
     set state = 'running',
         last_state = e.state,
         last_transition_at = p_now,
         last_transition_by = p_actor,
         started_at = t.at,
         parked = null,
         timeout_at = t.at + t.allowed,
         next_at = t.at + t.allowed
    from (
      select x.ctid as place, coalesce(u.at, p_now) as at,
             make_interval(secs => e.timeout_ms / 1000.0) as allowed
        from tenure.execution_states x
        cross join lateral (
          select e.timeout_ms from tenure.executions e where e.execution_id = x.execution_id offset 0) e
        left join unnest(v_used.ids, v_used.times) u (id, at) on u.id = x.execution_id
       where x.execution_id = any (v_ids)) t
   where e.ctid = t.place;
  return v_used.entries;
end
$$;

-- Consumes the approvals of single steps that are dispatched. Returns the events to append.
create or replace function tenure.step_approvals_consume(
  p_now timestamptz, p_execs uuid[], p_numbers integer[]) returns tenure.chain_entry[]
language plpgsql
as $$
declare
  v_entries tenure.chain_entry[];
begin
  with used as (
    update tenure.approvals a
       set consumed_at = greatest(p_now, a.decided_at)
     where a.ctid = any (array(
             select a.ctid
               from unnest(p_execs, p_numbers) t (e, n)
               cross join lateral (
                 select a.ctid
                   from tenure.approvals a
                  where a.execution_id = t.e and a.step_number = t.n
                 offset 0) a))
       and a.state = 'approved'
       and a.consumed_at is null
    returning a.execution_id, a.step_number, a.approval_id, a.consumed_at
  )
  select coalesce(array_agg((u.execution_id, 'approval_consumed', u.step_number,
           jsonb_build_object('approval_id', u.approval_id, 'consumed_at', u.consumed_at)
           )::tenure.chain_entry order by u.execution_id, u.step_number), '{}')
    into v_entries
    from used u;
  return v_entries;
end
$$;
