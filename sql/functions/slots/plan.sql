-- Planning slots: making their rows, catching up those that no scheduler saw in time, and giving them up.
-- The caller holds the lock on the schedule.

-- How many more slots of a schedule may wait for their turn, besides those that are due already.
create or replace function tenure.slots_room(p_schedule_id integer, p_now timestamptz) returns integer
language sql stable
as $$
  select greatest(0, tenure.limit_of('slots_waiting_max') - count(*))::integer
    from tenure.planned_slots w
   where w.schedule_id = p_schedule_id and w.state = 'planned'
     and w.due_at <= p_now and w.origin <> 'backfill'
$$;

-- Decides about slots that were due while no scheduler looked, and answers how many were missed. p_slot is
-- the one that had been planned, if any; first to latest of p_plan are those that had not.
-- latest_only runs the latest; every_plan runs those within its window, in batches; none runs one that is not
-- yet late. All others are missed: one row stands for all of them.
create or replace function tenure.slots_catch_up(
  p_schedule tenure.schedules, p_slot tenure.planned_slots, p_now timestamptz, p_plan tenure.rule_plan)
returns integer
language plpgsql
as $$
declare
  v_in_time timestamptz := p_now - make_interval(secs =>
    tenure.setting_integer(p_schedule.tenant_id, 'schedules.grace_seconds'));
  -- A slot that has just become due is not late because the next one is due too.
  v_just    timestamptz := p_now - make_interval(secs => tenure.limit_of('slot_just_due_seconds'));
  v_run     timestamptz[];
  v_gone    boolean := false;
  v_passed  integer := coalesce(p_plan.passed, 0);
  v_until   timestamptz := p_plan.passed_until;
  v_reason  text := 'missed_window';
  v_why     text := format('No scheduler looked at it until %s; its catch-up is %s.',
    p_now, p_schedule.catch_up);
begin
  if p_schedule.paused_at is not null then
    -- Whatever its catch-up, none of these was to run. tenure.slots_fire skips the slot that was planned.
    v_reason := 'paused';
    v_why := tenure.pause_words(p_schedule);
    v_passed := v_passed + 1;
    v_until := p_plan.latest;
  elsif p_schedule.catch_up = 'latest_only' then
    v_gone := p_slot.slot_id is not null and p_slot.due_at < v_just;
    v_run := array[p_plan.latest];
  elsif p_schedule.catch_up = 'every_plan' then
    v_gone := coalesce(
      p_slot.plan_time < p_now - make_interval(secs => p_schedule.catch_up_window_seconds), false);
    v_run := p_plan.listed;
  else
    v_gone := coalesce(p_slot.due_at < v_in_time, false);
    if p_plan.latest >= v_in_time then
      v_gone := coalesce(p_slot.due_at < v_just, false);
      v_run := array[p_plan.latest];
    elsif p_plan.latest is not null then
      v_passed := v_passed + 1;
      v_until := p_plan.latest;
    end if;
  end if;

  if v_gone then
    update tenure.planned_slots p
       set state = 'skipped',
           skip_reason = 'missed_window',
           ended_at = p_now,
           missed = 1 + v_passed,
           missed_until = coalesce(v_until, p.plan_time),
           error_message = v_why
     where p.slot_id = p_slot.slot_id;
    perform tenure.slots_emit('skipped', p_now, 'scheduler', array[p_slot.slot_id]);
  elsif v_passed > 0 then
    insert into tenure.planned_slots (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state,
      skip_reason, expression, zone, due_at, missed, missed_until, ended_at, error_message, planned_at,
      planned_by, updated_at)
    values (p_schedule.tenant_id, p_schedule.schedule_id, p_schedule.scope_kind, p_schedule.scope_id,
      p_plan.first, 'rule', 'skipped', v_reason, tenure.schedule_rule(p_schedule), p_schedule.zone,
      p_plan.first, v_passed, v_until, p_now, v_why, p_now, 'scheduler', p_now)
    on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do nothing
    returning slot_id into p_slot.slot_id;
    if found then
      perform tenure.slots_emit('skipped', p_now, 'scheduler', array[p_slot.slot_id]);
    end if;
  end if;
  -- The latest has its jitter like any other slot, so that not all schedules start together; older ones start
  -- at once.
  perform tenure.slot_plan(p_schedule, p_now, r.at,
            r.at + make_interval(secs => case
              when r.at = p_plan.latest then
                tenure.slot_jitter(p_schedule.schedule_id, r.at,
                  least(p_schedule.jitter_seconds, extract(epoch from p_plan.next - r.at)::bigint - 1))
              else 0
            end),
            'rule', 'scheduler')
     from unnest(v_run) r (at);
  update tenure.schedules s
     set planned_to = case
           when p_schedule.paused_at is not null or p_schedule.catch_up <> 'every_plan'
             then coalesce(p_plan.latest, s.planned_to)
           -- If nothing is listed although slots lie within the window, there was no room for them yet.
           else coalesce(
             v_run[cardinality(v_run)],
             case
               when p_plan.latest < p_now - make_interval(secs => p_schedule.catch_up_window_seconds)
                 then p_plan.latest
             end,
             s.planned_to)
         end
   where s.schedule_id = p_schedule.schedule_id;
  return case when v_reason = 'paused' then 0 else v_gone::integer + v_passed end;
end
$$;

-- Plans the next slot of each schedule, unless one is planned or earlier slots are still to be caught up, and
-- answers how many were planned.
create or replace function tenure.slots_plan_next(
  p_now timestamptz, p_plans tenure.rule_plan[]) returns bigint
language plpgsql
as $$
declare
  v_planned bigint;
begin
  with ahead as materialized (
    select s.schedule_id, s.tenant_id, s.scope_kind, s.scope_id, tenure.schedule_rule(s) as expression,
           s.zone, x.next,
           x.next + make_interval(secs => tenure.slot_jitter(
             s.schedule_id, x.next, least(s.jitter_seconds, x.next_gap_seconds - 1))) as due_at
      from unnest(p_plans) x
      join tenure.schedules s on s.schedule_id = x.schedule_id
     where x.next is not null
       and (x.latest is null or coalesce(s.planned_to, s.plan_from) >= x.latest)
       and (s.planned_to is null or s.planned_to <= p_now)
  ), made as (
    insert into tenure.planned_slots as p (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin,
      state, expression, zone, due_at, planned_at, planned_by, updated_at)
    select a.tenant_id, a.schedule_id, a.scope_kind, a.scope_id, a.next, 'rule',
           'planned', a.expression, a.zone, a.due_at, p_now, 'scheduler', p_now
      from ahead a
    -- The same plan time under a new rule: a slot that was superseded is planned again.
    on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do update
       set origin = 'rule',
           state = 'planned',
           skip_reason = null,
           error_message = null,
           ended_at = null,
           expression = excluded.expression,
           zone = excluded.zone,
           due_at = excluded.due_at,
           planned_at = excluded.planned_at,
           planned_by = excluded.planned_by
     where p.state = 'skipped' and p.skip_reason = 'superseded'
    returning p.slot_id
  ), moved as (
    update tenure.schedules s set planned_to = a.next
      from ahead a
     where s.schedule_id = a.schedule_id
  )
  select count(*) into v_planned from made;
  return v_planned;
end
$$;

-- Plans one slot; null when the plan time has a row already. A slot that was superseded, or was skipped and
-- is now backfilled, is planned again.
create or replace function tenure.slot_plan(
  p_schedule tenure.schedules, p_now timestamptz, p_plan_time timestamptz, p_due_at timestamptz,
  p_origin text, p_by text) returns bigint
language sql
as $$
  insert into tenure.planned_slots as p (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin,
    state, expression, zone, due_at, planned_at, planned_by, updated_at)
  values (p_schedule.tenant_id, p_schedule.schedule_id, p_schedule.scope_kind, p_schedule.scope_id,
    p_plan_time, p_origin, 'planned', tenure.schedule_rule(p_schedule), p_schedule.zone, p_due_at, p_now,
    p_by, p_now)
  on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do update
     set origin = excluded.origin,
         state = 'planned',
         skip_reason = null,
         error_code = null,
         error_message = null,
         ended_at = null,
         expression = excluded.expression,
         zone = excluded.zone,
         due_at = excluded.due_at,
         planned_at = excluded.planned_at,
         planned_by = excluded.planned_by
   where p.state = 'skipped' and (p.skip_reason = 'superseded' or p_origin = 'backfill')
  returning p.slot_id
$$;

-- How many seconds after its plan time a slot starts: always the same for one slot, from 0 to p_seconds.
create or replace function tenure.slot_jitter(
  p_schedule_id integer, p_plan_time timestamptz, p_seconds bigint) returns bigint
language sql immutable
as $$
  select case
    when p_seconds > 0 then
      (hashtextextended(p_schedule_id || ' ' || extract(epoch from p_plan_time)::bigint, 0)
        & 9223372036854775807) % (p_seconds + 1)
    else 0
  end
$$;

-- Gives up planned slots. Slots that are due, wait for another run, or were made by hand or by a backfill
-- stay, unless p_all is true.
create or replace function tenure.slots_supersede(
  p_schedule_id integer, p_now timestamptz, p_actor text, p_why text, p_all boolean default false)
returns void
language sql
as $$
  with gone as (
    update tenure.planned_slots p
       set state = 'skipped',
           skip_reason = 'superseded',
           error_message = p_why,
           ended_at = p_now,
           waiting_since = null
     where p.schedule_id = p_schedule_id and p.state = 'planned'
       and (p_all or (p.origin = 'rule' and p.waiting_since is null and p.plan_time > p_now))
    returning p.tenant_id, p.plan_time, p.origin, p.scope_kind, p.scope_id
  )
  insert into tenure.events (at, tenant_id, kind, actor, subject, data)
  select p_now, g.tenant_id, 'schedule.slot_skipped', p_actor, s.name,
         jsonb_build_object(
           'plan_time', g.plan_time,
           'origin', g.origin,
           'scope_kind', g.scope_kind,
           'scope_id', g.scope_id,
           'reason', 'superseded')
    from gone g
    join tenure.schedules s on s.schedule_id = p_schedule_id
   order by g.plan_time
$$;
