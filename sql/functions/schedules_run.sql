-- The scheduler's work: schedules that are due are taken, their rule is computed by the program that took them, and what becomes of each slot is decided here.
-- Whoever plans, starts or gives up slots of a schedule holds its row. Ends of runs hold none: they write their own slot and leave a mark (owes_next) for the next look.

-- Locks schedules that somebody has to look at: those that are due, and those of which a run has ended that another slot may wait for. Schedules that another holds are left to it.
-- tenure.schedule_advance follows in the same transaction, with what was computed of each rule.
create or replace function tenure.schedule_take(p_limit integer default 500)
returns table (schedule_id integer, tenant text, name text, cron text, every_seconds integer, zone text, start_at timestamptz, end_at timestamptz, after timestamptz, now timestamptz,
  list_from timestamptz, list_max integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_now timestamptz := tenure.now();
  v_ids integer[];
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('schedule_rows_max'));
  v_ids := array(select s.schedule_id from tenure.schedules s where s.next_at <= v_now order by s.next_at limit p_limit for no key update skip locked);
  if cardinality(v_ids) < p_limit then
    v_ids := v_ids || array(
      select s.schedule_id from tenure.schedules s
       where s.schedule_id = any (array(select distinct o.schedule_id from (select p.schedule_id from tenure.planned_slots p where p.owes_next limit p_limit) o))
         and s.schedule_id <> all (v_ids) and s.deleted_at is null
       limit p_limit - cardinality(v_ids) for no key update skip locked);
  end if;
  return query
    select s.schedule_id, t.name, s.name, s.cron, s.every_seconds, s.zone, s.start_at, s.end_at, coalesce(s.planned_to, s.plan_from), v_now,
           case when s.catch_up = 'every_plan' and s.paused_at is null then v_now - make_interval(secs => s.catch_up_window_seconds) end,
           case when s.overlap = 'queue' then least(s.catch_up_slots_max, tenure.slots_room(s.schedule_id, v_now)) else s.catch_up_slots_max end
      from tenure.schedules s
      join tenure.tenants t on t.tenant_id = s.tenant_id
     where s.schedule_id = any (v_ids)
     order by s.next_at, s.schedule_id;
end
$$;

-- How many more slots of a schedule may wait for their turn, beside those that are due already.
create or replace function tenure.slots_room(p_schedule_id integer, p_now timestamptz) returns integer
language sql stable
as $$
  select greatest(0, tenure.limit_of('slots_waiting_max') - count(*))::integer
    from tenure.planned_slots w where w.schedule_id = p_schedule_id and w.state = 'planned' and w.due_at <= p_now and w.origin <> 'backfill'
$$;

-- What was computed of schedules that were taken: one object each, with first, latest, passed, passed_until, listed, next, next_gap_seconds, or error_code and error_message.
-- If something goes wrong, each is tried for itself: one that cannot go on is failing, and keeps nobody else from it.
create or replace function tenure.schedule_advance(p_plans jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_plan   jsonb;
  v_done   jsonb;
  v_sum    jsonb := '{"planned": 0, "started": 0, "skipped": 0, "waiting": 0, "missed": 0, "failing": 0}';
  v_what   text;
begin
  begin
    return tenure.schedules_advance(v_caller, v_now, p_plans);
  exception when others then
    get stacked diagnostics v_what = message_text;
  end;
  for v_plan in select x.plan from jsonb_array_elements(p_plans) x (plan) loop
    begin
      v_done := tenure.schedules_advance(v_caller, v_now, jsonb_build_array(v_plan));
    exception
    when lock_not_available or deadlock_detected then
      -- Somebody is in its way: it is looked at again soon.
      update tenure.schedules s set next_at = v_now + interval '5 seconds' where s.schedule_id = (v_plan ->> 'schedule_id')::integer;
      continue;
    when others then
      get stacked diagnostics v_what = message_text;
      v_done := tenure.schedules_advance(v_caller, v_now, jsonb_build_array(jsonb_build_object('schedule_id', v_plan -> 'schedule_id', 'error_code', 'database_error', 'error_message', v_what)));
    end;
    v_sum := (select jsonb_object_agg(d.key, d.value::bigint + (v_sum ->> d.key)::bigint) from jsonb_each_text(v_done) d);
  end loop;
  return v_sum;
end
$$;

-- Late slots are caught up as each schedule says, the next slot is planned, and what is due runs, waits or is skipped.
create or replace function tenure.schedules_advance(p_caller tenure.caller_identity, p_now timestamptz, p_plans jsonb) returns jsonb
language plpgsql
as $$
declare
  v_taken   integer[] := array(select (x.plan ->> 'schedule_id')::integer from jsonb_array_elements(p_plans) x (plan));
  -- Where the rule alone is wrong, what was planned before or asked for by hand still runs.
  v_ids     integer[] := array(select (x.plan ->> 'schedule_id')::integer from jsonb_array_elements(p_plans) x (plan) where x.plan ->> 'error_code' is distinct from 'database_error');
  v_late    record;
  v_missed  bigint := 0;
  v_planned bigint;
  v_failing bigint;
  v_fired   record;
begin
  -- 1. What nobody saw in time: rare, and so one by one.
  for v_late in
    select s as schedule, p.slot, x.first, x.latest, x.passed, x.passed_until, x.listed, x.next
      from jsonb_to_recordset(p_plans) x (schedule_id integer, first timestamptz, latest timestamptz, passed integer, passed_until timestamptz, listed timestamptz[], next timestamptz)
      join tenure.schedules s on s.schedule_id = x.schedule_id
      left join lateral (select q as slot, q.due_at, q.plan_time from tenure.planned_slots q
                          where q.schedule_id = s.schedule_id and q.state = 'planned' and q.origin = 'rule' and q.waiting_since is null and q.due_at <= p_now
                          order by q.due_at limit 1) p on true
     where (x.first is not null and not (s.paused_at is null and s.catch_up = 'every_plan' and s.overlap = 'queue' and tenure.slots_room(s.schedule_id, p_now) = 0))
        or (s.paused_at is null and s.catch_up = 'none' and p.due_at < p_now - make_interval(secs => tenure.setting_integer(s.tenant_id, 'schedules.grace_seconds')))
        or (s.paused_at is null and s.catch_up = 'every_plan' and p.plan_time < p_now - make_interval(secs => s.catch_up_window_seconds))
  loop
    v_missed := v_missed + tenure.slots_catch_up(v_late.schedule, v_late.slot, p_now, v_late.first, v_late.latest, v_late.passed, v_late.passed_until, v_late.listed, v_late.next);
  end loop;

  -- 2. The next slot of each, unless one is planned or there is something to catch up before it.
  with ahead as materialized (
    select s.schedule_id, s.tenant_id, s.scope_kind, s.scope_id, tenure.schedule_rule(s) as expression, s.zone, x.next,
           x.next + make_interval(secs => tenure.slot_jitter(s.schedule_id, x.next, least(s.jitter_seconds, x.next_gap_seconds - 1))) as due_at
      from jsonb_to_recordset(p_plans) x (schedule_id integer, latest timestamptz, next timestamptz, next_gap_seconds bigint)
      join tenure.schedules s on s.schedule_id = x.schedule_id
     where x.next is not null and (x.latest is null or coalesce(s.planned_to, s.plan_from) >= x.latest) and (s.planned_to is null or s.planned_to <= p_now)
  ), made as (
    insert into tenure.planned_slots as p (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, expression, zone, due_at, planned_at, planned_by, updated_at)
    select a.tenant_id, a.schedule_id, a.scope_kind, a.scope_id, a.next, 'rule', 'planned', a.expression, a.zone, a.due_at, p_now, 'scheduler', p_now from ahead a
    -- The same moment under another rule: what was given up for the sake of a change comes back.
    on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do update
       set origin = 'rule', state = 'planned', skip_reason = null, error_message = null, ended_at = null, expression = excluded.expression, zone = excluded.zone,
           due_at = excluded.due_at, planned_at = excluded.planned_at, planned_by = excluded.planned_by
     where p.state = 'skipped' and p.skip_reason = 'superseded'
    returning p.slot_id
  ), moved as (
    update tenure.schedules s set planned_to = a.next from ahead a where s.schedule_id = a.schedule_id
  )
  select count(*) into v_planned from made;

  -- 3. What is due. The marks go first: an end that comes after this leaves another.
  update tenure.planned_slots p set owes_next = false where p.schedule_id = any (v_taken) and p.owes_next;
  v_fired := tenure.slots_fire(p_caller, p_now, v_ids, 'scheduler');

  -- 4. When to look again: at the first slot that is planned and waits for nobody, at once where there is more to catch up, or never.
  with plans as materialized (
    select x.schedule_id, x.latest, x.next, x.error_code, x.error_message
      from jsonb_to_recordset(p_plans) x (schedule_id integer, latest timestamptz, next timestamptz, error_code text, error_message text)
  ), looked as (
    update tenure.schedules s
       set next_at = case
             when x.error_code is not null then p_now + interval '5 minutes'
             when coalesce(s.planned_to, s.plan_from) < x.latest then case when s.overlap = 'queue' and tenure.slots_room(s.schedule_id, p_now) = 0 then p_now + interval '30 seconds' else p_now end
             -- Who waits is woken by an end; should that go amiss, it is looked for now and then. Where nothing runs, it waits no longer.
             -- The next moment may have a row already that is not planned, made by hand: then the rule goes on from there.
             else (select least(min(case
                             when p.waiting_since is null then p.due_at
                             when (select true from tenure.planned_slots r where r.schedule_id = s.schedule_id and r.state = 'running' limit 1)
                               then p_now + case s.overlap when 'cancel_other' then interval '5 seconds' else interval '30 seconds' end
                             else p_now end),
                                case when x.next is not null and s.planned_to > p_now and not coalesce(bool_or(p.plan_time = s.planned_to), false) then s.planned_to end)
                     from tenure.planned_slots p where p.schedule_id = s.schedule_id and p.state = 'planned') end,
           ended_at = case when x.error_code is null and x.next is null and coalesce(s.planned_to, s.plan_from) between coalesce(x.latest, '-infinity') and p_now then coalesce(s.ended_at, p_now) end,
           error_code = x.error_code, error_message = tenure.cut_text(x.error_message, tenure.limit_of('error_message_bytes_max')::integer)
      from plans x
      join tenure.schedules o on o.schedule_id = x.schedule_id
     where s.schedule_id = x.schedule_id
    returning s.tenant_id, s.name, s.planned_to, s.error_code, s.error_message, s.ended_at is not null and o.ended_at is null as has_ended, s.error_code is not null and o.error_code is null as is_new
  ), told as (
    insert into tenure.events (at, tenant_id, kind, actor, subject, data)
    select p_now, l.tenant_id, 'schedule.ended', 'scheduler', l.name, jsonb_strip_nulls(jsonb_build_object('last_slot', l.planned_to)) from looked l where l.has_ended
    union all
    select p_now, l.tenant_id, 'schedule.failing', 'scheduler', l.name, jsonb_build_object('code', l.error_code, 'message', l.error_message) from looked l where l.is_new
  )
  select count(*) filter (where l.error_code is not null) into v_failing from looked l;
  return jsonb_build_object('planned', v_planned, 'started', v_fired.started, 'skipped', v_fired.skipped, 'waiting', v_fired.waiting, 'missed', v_missed, 'failing', v_failing);
end
$$;

-- What becomes of slots that were due while nobody looked. p_slot: the one that had been planned, if any; p_first to p_latest: those that had not. Answers how many were missed.
-- latest_only runs the latest; every_plan runs what lies within its window, so many at a time; none runs what is not yet late. All others are missed: one row stands for all of them.
create or replace function tenure.slots_catch_up(
  p_schedule tenure.schedules, p_slot tenure.planned_slots, p_now timestamptz, p_first timestamptz, p_latest timestamptz, p_passed integer, p_passed_until timestamptz, p_listed timestamptz[],
  p_next timestamptz)
returns integer
language plpgsql
as $$
declare
  v_in_time timestamptz := p_now - make_interval(secs => tenure.setting_integer(p_schedule.tenant_id, 'schedules.grace_seconds'));
  -- One that is due this moment is not late because the next has come.
  v_just    timestamptz := p_now - interval '5 seconds';
  v_run     timestamptz[];
  v_gone    boolean := false;
  v_passed  integer := coalesce(p_passed, 0);
  v_until   timestamptz := p_passed_until;
  v_reason  text := 'missed_window';
  v_why     text := format('No scheduler looked at it until %s; its catch-up is %s.', p_now, p_schedule.catch_up);
begin
  if p_schedule.paused_at is not null then
    -- Whatever it catches up: nobody was to run these. The slot that was planned is skipped as one of those that come.
    v_reason := 'paused';
    v_why := tenure.pause_words(p_schedule);
    v_passed := v_passed + 1;
    v_until := p_latest;
  elsif p_schedule.catch_up = 'latest_only' then
    v_gone := p_slot.slot_id is not null and p_slot.due_at < v_just;
    v_run := array[p_latest];
  elsif p_schedule.catch_up = 'every_plan' then
    v_gone := coalesce(p_slot.plan_time < p_now - make_interval(secs => p_schedule.catch_up_window_seconds), false);
    v_run := p_listed;
  else
    v_gone := coalesce(p_slot.due_at < v_in_time, false);
    if p_latest >= v_in_time then
      v_gone := coalesce(p_slot.due_at < v_just, false);
      v_run := array[p_latest];
    elsif p_latest is not null then
      v_passed := v_passed + 1;
      v_until := p_latest;
    end if;
  end if;

  if v_gone then
    update tenure.planned_slots p
       set state = 'skipped', skip_reason = 'missed_window', ended_at = p_now, missed = 1 + v_passed, missed_until = coalesce(v_until, p.plan_time), error_message = v_why
     where p.slot_id = p_slot.slot_id;
    perform tenure.slots_told('skipped', p_now, 'scheduler', array[p_slot.slot_id]);
  elsif v_passed > 0 then
    insert into tenure.planned_slots (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, skip_reason, expression, zone, due_at, missed, missed_until, ended_at,
      error_message, planned_at, planned_by, updated_at)
    values (p_schedule.tenant_id, p_schedule.schedule_id, p_schedule.scope_kind, p_schedule.scope_id, p_first, 'rule', 'skipped', v_reason, tenure.schedule_rule(p_schedule), p_schedule.zone,
      p_first, v_passed, v_until, p_now, v_why, p_now, 'scheduler', p_now)
    on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do nothing
    returning slot_id into p_slot.slot_id;
    if found then
      perform tenure.slots_told('skipped', p_now, 'scheduler', array[p_slot.slot_id]);
    end if;
  end if;
  -- The latest has its jitter like any other, so that not all start together; what is older starts as it comes.
  perform tenure.slot_plan(p_schedule, p_now, r.at,
            r.at + make_interval(secs => case when r.at = p_latest
              then tenure.slot_jitter(p_schedule.schedule_id, r.at, least(p_schedule.jitter_seconds, extract(epoch from p_next - r.at)::bigint - 1)) else 0 end), 'rule', 'scheduler')
     from unnest(v_run) r (at);
  update tenure.schedules s
     set planned_to = case
           when p_schedule.paused_at is not null or p_schedule.catch_up <> 'every_plan' then coalesce(p_latest, s.planned_to)
           -- Nothing listed, though there is something within the window: there was no room for it yet.
           else coalesce(v_run[cardinality(v_run)], case when p_latest < p_now - make_interval(secs => p_schedule.catch_up_window_seconds) then p_latest end, s.planned_to) end
   where s.schedule_id = p_schedule.schedule_id;
  return case when v_reason = 'paused' then 0 else v_gone::integer + v_passed end;
end
$$;

-- Plans one slot; null when the moment has a row already. What was given up for the sake of a change, or skipped and is now filled in, comes back.
create or replace function tenure.slot_plan(p_schedule tenure.schedules, p_now timestamptz, p_plan_time timestamptz, p_due_at timestamptz, p_origin text, p_by text) returns bigint
language sql
as $$
  insert into tenure.planned_slots as p (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, expression, zone, due_at, planned_at, planned_by, updated_at)
  values (p_schedule.tenant_id, p_schedule.schedule_id, p_schedule.scope_kind, p_schedule.scope_id, p_plan_time, p_origin, 'planned', tenure.schedule_rule(p_schedule), p_schedule.zone,
    p_due_at, p_now, p_by, p_now)
  on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do update
     set origin = excluded.origin, state = 'planned', skip_reason = null, error_code = null, error_message = null, ended_at = null, expression = excluded.expression, zone = excluded.zone,
         due_at = excluded.due_at, planned_at = excluded.planned_at, planned_by = excluded.planned_by
   where p.state = 'skipped' and (p.skip_reason = 'superseded' or p_origin = 'backfill')
  returning p.slot_id
$$;

-- How much later than planned a slot starts: the same for whoever computes it, and below the bound.
create or replace function tenure.slot_jitter(p_schedule_id integer, p_plan_time timestamptz, p_seconds bigint) returns bigint
language sql immutable
as $$
  select case when p_seconds > 0 then (hashtextextended(p_schedule_id || ' ' || extract(epoch from p_plan_time)::bigint, 0) & 9223372036854775807) % (p_seconds + 1) else 0 end
$$;
