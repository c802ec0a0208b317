-- Advancing executions from steps that have ended: what stops, what is skipped, what is dispatched next. Lock
-- order and join order: see end.sql.

-- Goes on from steps that have ended or are unknown: stops or skips what cannot follow, dispatches what can,
-- hands their locks over, and ends executions with no open step. The caller has locked the executions and the
-- targets, has written the states of these steps, and passes one chain entry for each.
-- p_freed: 'hand_over' gives freed targets to the next in their queues; 'leave_to_tick' leaves that to the
-- tick.
create or replace function tenure.executions_advance(
  p_now timestamptz, p_actor text, p_execs uuid[], p_numbers integer[], p_states text[],
  p_entries tenure.chain_entry[], p_freed text default 'hand_over') returns void
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
  v_states  text[] := p_states;
  v_entries tenure.chain_entry[] := coalesce(p_entries, '{}');
  v_freed   record;
  v_ready   record;
  v_hand    record;
  v_back    record;
  v_turns   integer := 0;
begin
  while cardinality(v_execs) > 0 loop
    v_ready := tenure.steps_find_next(p_now, v_execs, v_numbers, v_states, v_entries);
    v_entries := v_ready.entries;
    -- The locks of ended steps are freed. Steps that wait for one come before those that follow here.
    with gone as (
      delete from tenure.locks l
       where l.ctid = any (array(
         select l.ctid
           from unnest(v_execs, v_numbers, v_states) t (execution_id, step_number, state)
           cross join lateral (
             select l.ctid, l.section
               from tenure.locks l
              where l.execution_id = t.execution_id and l.step_number = t.step_number
             offset 0) l
          where t.state <> 'unknown'
            and (l.section is null or tenure.section_is_over(t.execution_id, l.section))))
      returning l.tenant_id, l.target, l.execution_id, l.section
    )
    select array_agg(g.tenant_id order by g.tenant_id, g.target) as tenants,
           array_agg(g.target order by g.tenant_id, g.target) as targets,
           (select array_agg((
                     g.execution_id, 'section_left', null,
                     jsonb_build_object('section', g.section, 'target', g.target))::tenure.chain_entry
                     order by g.execution_id, g.section)
              from gone g
             where g.section is not null) as entries
      into v_freed
      from (select distinct g.tenant_id, g.target from gone g) g
     -- One probe for a waiting step, never a join with all of them.
     where (
       select true
         from tenure.lock_queue w
        where w.tenant_id = g.tenant_id
          and w.target = g.target
        limit 1);
    v_entries := v_entries || v_freed.entries;
    if 'failed' = any (v_states) or 'cancelled' = any (v_states) then
      -- Sections whose last steps were skipped or never approved, with none of them running.
      v_entries := v_entries || tenure.sections_release(v_execs);
    end if;
    v_execs := '{}'; v_numbers := '{}';
    -- Where one waiting step after the other is refused, the rest is left to the next tick.
    v_turns := v_turns + 1;
    if v_turns > tenure.limit_of('hand_over_steps_max') or p_freed = 'leave_to_tick' then
      perform tenure.lock_queue_go_on(v_freed.tenants, v_freed.targets);
      v_freed.targets := null;
    end if;
    for v_at in 1 .. coalesce(cardinality(v_freed.targets), 0) loop
      v_hand := tenure.lock_hand_over(
        p_now, p_actor, v_freed.tenants[v_at], v_freed.targets[v_at], v_entries);
      v_entries := v_hand.entries;
      v_execs := v_execs || v_hand.refused_execs;
      v_numbers := v_numbers || v_hand.refused_numbers;
    end loop;
    if cardinality(v_ready.execs) > 0 then
      v_hand := tenure.steps_dispatch(p_now, p_actor, v_ready.execs, v_ready.numbers, false, true, v_entries);
      v_entries := v_hand.entries;
      v_execs := v_execs || v_hand.refused_execs;
      v_numbers := v_numbers || v_hand.refused_numbers;
    end if;
    v_states := array_fill('failed'::text, array[cardinality(v_execs)]);
    if cardinality(v_ready.stopped) > 0 then
      -- One direction: the steps whose jobs are taken back end in the next turn of this loop, not by a
      -- follow-up of their jobs, which would call this function again.
      v_back := tenure.step_jobs_take_back(
        p_now, p_actor, v_ready.stopped, 'A step of its execution failed.');
      v_execs := v_execs || v_back.execs;
      v_numbers := v_numbers || v_back.numbers;
      v_states := v_states || v_back.states;
      v_entries := v_entries || v_back.entries;
      p_now := coalesce(v_back.at, p_now);
    end if;
  end loop;
  -- An execution that was handed a target was locked after p_now was read and may have newer entries: no
  -- entry of a chain is older than the one before it.
  p_now := greatest(p_now, tenure.now());
  perform tenure.chain_append(p_now, p_actor,
    tenure.executions_finish(p_now, p_actor, tenure.chain_append(p_now, p_actor, v_entries)));
end
$$;

-- Finds the steps that may follow ended ones: those whose last need was among them. The function that
-- dispatches them sets their needs_left. After a failure the execution stops (the answer names it in
-- stopped), or goes on without the steps that need the failed one.
create or replace function tenure.steps_find_next(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], p_states text[],
  inout entries tenure.chain_entry[], out execs uuid[], out numbers integer[], out stopped uuid[])
language plpgsql
as $$
declare
  v_skipped record;
  v_met     record;
begin
  stopped := '{}';
  if 'failed' = any (p_states) or 'cancelled' = any (p_states) then
    with hit as (
      select distinct t.execution_id
        from unnest(p_execs, p_states) t (execution_id, state)
       where t.state in ('failed', 'cancelled')
    ), halted as (
      update tenure.execution_states e
         set stopping = 'step_failed',
             next_at = least(
               e.next_at,
               p_now + make_interval(secs => tenure.limit_of('execution_stop_recheck_seconds')))
        from hit h
       where e.execution_id = h.execution_id
         and e.stopping is null
         and (select x.on_step_failure
                from tenure.executions x
               where x.execution_id = h.execution_id) = 'stop'
      returning e.execution_id
    )
    select coalesce(array_agg(h.execution_id), '{}') into stopped from halted h;
    -- The steps that may not start any more: every waiting step of an execution that stops; otherwise those
    -- that need the failed step, directly or through others.
    with recursive lost (execution_id, step_number) as (
      select t.execution_id, n.step_number
        from unnest(p_execs, p_numbers, p_states) t (execution_id, step_number, state)
        cross join lateral (
          select e.on_step_failure
            from tenure.executions e
           where e.execution_id = t.execution_id
          offset 0) e
        cross join lateral (
          select n.step_number
            from tenure.step_needs n
           where n.execution_id = t.execution_id and n.needs_number = t.step_number
          offset 0) n
       where t.state in ('failed', 'cancelled', 'skipped')
         and e.on_step_failure = 'continue'
      union
      select l.execution_id, n.step_number
        from lost l
        cross join lateral (
          select n.step_number
            from tenure.step_needs n
           where n.execution_id = l.execution_id and n.needs_number = l.step_number
          offset 0) n
    )
    select array_agg(x.execution_id) as execs, array_agg(x.step_number) as numbers
      into v_skipped
      from (select l.execution_id, l.step_number from lost l
            union
            select s.execution_id, s.step_number
              from tenure.step_states s
             where s.execution_id = any (stopped)
               and s.state in ('waiting', 'blocked', 'awaiting_approval')) x;
    entries := entries
      || tenure.steps_skip(p_now, v_skipped.execs, v_skipped.numbers, 'A step before it failed.');
  end if;

  select coalesce(array_agg(m.execution_id) filter (where m.needs_left = m.needs), '{}') as execs,
         coalesce(array_agg(m.step_number) filter (where m.needs_left = m.needs), '{}') as numbers,
         array_agg(m.place) filter (where m.needs_left > m.needs) as later_places,
         array_agg(m.needs) filter (where m.needs_left > m.needs) as later_needs
    into v_met
    from (select n.execution_id, n.step_number, s.place, s.needs_left, n.needs
            from (select t.execution_id, n.step_number, count(*)::integer as needs
                    from unnest(p_execs, p_numbers, p_states) t (execution_id, step_number, state)
                    cross join lateral (
                      select n.step_number
                        from tenure.step_needs n
                       where n.execution_id = t.execution_id and n.needs_number = t.step_number
                      offset 0) n
                   where t.state = 'succeeded'
                   group by t.execution_id, n.step_number) n
            cross join lateral (
              select s.ctid as place, s.needs_left, s.state
                from tenure.step_states s
               where s.execution_id = n.execution_id and s.step_number = n.step_number
              offset 0) s
            cross join lateral (
              select e.stopping, e.state
                from tenure.execution_states e
               where e.execution_id = n.execution_id
              offset 0) e
           where s.state = 'waiting'
             and e.stopping is null
             and e.state = 'running'
           order by n.execution_id, n.step_number) m;
  execs := v_met.execs;
  numbers := v_met.numbers;
  if v_met.later_places is not null then
    update tenure.step_states s
       set needs_left = s.needs_left - m.needs
      from unnest(v_met.later_places, v_met.later_needs) m (place, needs)
     where s.ctid = m.place;
  end if;
end
$$;

-- Skips steps that have not begun, and withdraws their approvals. Answers the chain entries for the caller to
-- append; appending them counts the steps.
create or replace function tenure.steps_skip(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], p_reason text) returns tenure.chain_entry[]
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_entries tenure.chain_entry[];
begin
  perform tenure.lock_queue_leave(p_execs, p_numbers);
  with gone as (
    update tenure.step_states s
       set state = 'skipped',
           ended_at = greatest(p_now, s.started_at),
           error_message = p_reason
      from (select distinct s.place
              from unnest(p_execs, p_numbers) t (execution_id, step_number)
              cross join lateral (
                select s.ctid as place
                  from tenure.step_states s
                 where s.execution_id = t.execution_id and s.step_number = t.step_number
                offset 0) s) t
     where s.ctid = t.place
       and s.state in ('waiting', 'blocked', 'awaiting_approval')
    returning s.execution_id, s.step_number, s.ended_at
  ), withdrawn as (
    update tenure.approvals a
       set state = 'withdrawn',
           decided_at = greatest(p_now, a.created_at),
           decided_by = 'policy',
           reason = p_reason
     where a.ctid = any (array(
             select a.ctid
               from gone g
               cross join lateral (
                 select a.ctid
                   from tenure.approvals a
                  where a.execution_id = g.execution_id and a.step_number = g.step_number
                 offset 0) a))
       and (a.state = 'pending' or (a.state = 'approved' and a.consumed_at is null))
  )
  select coalesce(
           array_agg((
             g.execution_id, 'step_skipped', g.step_number,
             jsonb_build_object('reason', p_reason, 'ended_at', g.ended_at))::tenure.chain_entry
             order by g.execution_id, g.step_number),
           '{}')
    into v_entries
    from gone g;
  return v_entries;
end
$$;
