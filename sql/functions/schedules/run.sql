-- Running a schedule by hand: now, or for slots of the past (backfill).

-- The plan time of a run by hand: now, or one of the next microseconds if runs by hand have taken this one.
-- Never a whole second: those belong to the rule. The caller holds the lock on the schedule.
create or replace function tenure.slot_moment(p_schedule tenure.schedules, p_now timestamptz)
returns timestamptz
language sql stable
as $$
  select case when m.at = date_trunc('second', m.at) then m.at + interval '1 microsecond' else m.at end
    from (select coalesce(max(p.plan_time) + interval '1 microsecond', p_now) as at
            from tenure.planned_slots p
           where p.schedule_id = p_schedule.schedule_id and p.origin = 'manual'
             and p.plan_time >= p_now and p.plan_time < p_now + interval '1 second') m
$$;

-- Runs a schedule now, paused or not, in a slot of its own that takes none of the rule's. The overlap policy
-- decides whether it runs, waits or is skipped.
-- granted to: admin, operator
create or replace function tenure.schedule_run(p_name text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz := tenure.now();
  v_schedule tenure.schedules;
  v_moment   timestamptz;
  v_slot     bigint;
  v_lane     integer;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  v_lane := tenure.lane_ensure(v_caller, v_schedule.kind, v_schedule.executor);
  perform tenure.check_enqueue_rights(v_caller, array[v_lane]);
  v_moment := tenure.slot_moment(v_schedule, v_now);
  v_slot := tenure.slot_plan(v_schedule, v_now, v_moment, v_now, 'manual', v_caller.principal);
  if v_slot is null then
    -- Happens only after the clock was set back.
    perform tenure.refuse('busy_try_again',
      format('The schedule %L has a run by hand at %s already.', p_name, v_moment),
      'Each run by hand stands for a moment of its own.', 'Try again.');
  end if;
  perform tenure.slots_fire(v_caller, v_now, array[v_schedule.schedule_id], v_caller.principal, v_slot);
  -- If it could not start at once, the scheduler has to start it.
  update tenure.schedules s
     set next_at = least(s.next_at,
           case
             when p.waiting_since is null then p.due_at
             else v_now + make_interval(secs => tenure.limit_of('slot_recheck_seconds'))
           end)
    from tenure.planned_slots p
   where s.schedule_id = v_schedule.schedule_id and p.slot_id = v_slot and p.state = 'planned';
  perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.run_asked', v_caller.principal, p_on_behalf_of,
    p_name, jsonb_build_object('plan_time', v_moment));
  return (
    select to_jsonb(tenure.slot_shown(p)) || jsonb_build_object('schedule', p_name)
      from tenure.planned_slots p
     where p.slot_id = v_slot);
end
$$;

-- Runs slots of the past that have not run: those without a row, and those that were skipped. By default it
-- only shows what it would do; p_mode 'apply' does it. The n-th slot, counted from 0, is due n times
-- p_stagger_seconds from now; where runs may not overlap, one starts after the other.
-- granted to: admin, operator
create or replace function tenure.schedule_backfill(
  p_name text, p_times timestamptz[], p_mode text default 'dry_run', p_stagger_seconds integer default 0,
  p_on_behalf_of text default null)
returns table (plan_time timestamptz, verdict text, state text, due_at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz := tenure.now();
  v_schedule tenure.schedules;
  v_executor text;
  v_lanes    integer[];
  v_count    integer;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['dry_run', 'apply']);
  perform tenure.check_number('The stagger', p_stagger_seconds, 0, tenure.limit_of('jitter_seconds_max'));
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  if coalesce(cardinality(p_times), 0) not between 1 and tenure.limit_of('backfill_slots_max') then
    perform tenure.refuse('backfill_too_large',
      format('The backfill has %s slots.', coalesce(cardinality(p_times), 0)),
      format('It has 1 to %s (backfill_slots_max).', tenure.limit_of('backfill_slots_max')),
      'Take it in parts.');
  end if;
  if exists (
      select from unnest(p_times) t (at)
       where t.at is null or not isfinite(t.at) or t.at > v_now
          or extract(epoch from t.at) <> trunc(extract(epoch from t.at))) then
    perform tenure.refuse('range_invalid',
      'A moment of the backfill lies in the future, or is no whole second.',
      'Slots of the past are filled in; what comes is planned anyway.',
      'Name the moments of slots in the past.');
  end if;
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  if p_mode = 'apply' then
    v_lanes := array[tenure.lane_ensure(v_caller, v_schedule.kind, v_schedule.executor)];
  else
    -- A dry run makes no lane.
    v_executor := tenure.lane_check(v_caller, v_schedule.kind, v_schedule.executor);
    v_lanes := array(
      select l.lane
        from tenure.lanes l
       where l.tenant_id = v_caller.tenant_id and l.kind = v_schedule.kind and l.executor = v_executor);
  end if;
  perform tenure.check_enqueue_rights(v_caller, v_lanes);
  return query
    with asked as (
      select t.at, p.slot_id, p.state, p.due_at, p.slot_id is null or p.state = 'skipped' as is_free
        from (select distinct t.at from unnest(p_times) t (at)) t
        left join tenure.planned_slots p
          on p.tenant_id = v_schedule.tenant_id
         and p.schedule_id = v_schedule.schedule_id
         and p.plan_time = t.at
         and p.scope_kind = v_schedule.scope_kind
         and p.scope_id = v_schedule.scope_id
    ), placed as materialized (
      select a.at, a.is_free, a.state,
             case
               when a.is_free then
                 v_now + make_interval(secs => p_stagger_seconds
                   * (row_number() over (partition by a.is_free order by a.at) - 1))
               else a.due_at
             end as due_at
        from asked a
    ), made as materialized (
      select p.at,
             tenure.slot_plan(v_schedule, v_now, p.at, p.due_at, 'backfill', v_caller.principal) as slot_id
        from placed p
       where p_mode = 'apply' and p.is_free
    )
    select p.at,
           case when p.is_free then 'runs' else 'stands' end,
           case when m.slot_id is not null then 'planned' else p.state end,
           p.due_at
      from placed p
      left join made m on m.at = p.at
     order by p.at;
  if p_mode = 'apply' then
    update tenure.schedules s set next_at = least(s.next_at, v_now)
     where s.schedule_id = v_schedule.schedule_id;
    select count(*) into v_count
      from tenure.planned_slots p
     where p.schedule_id = v_schedule.schedule_id and p.planned_at = v_now and p.origin = 'backfill';
    perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.backfilled', v_caller.principal, p_on_behalf_of,
      p_name,
      jsonb_build_object(
        'slots', v_count,
        'from', (select min(t) from unnest(p_times) t),
        'until', (select max(t) from unnest(p_times) t)));
  end if;
end
$$;
