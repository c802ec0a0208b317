-- The work of the scheduler: it takes due schedules, the program computes their rules, and the database
-- decides what happens to each slot.
-- Planning, starting and giving up slots needs the lock on the schedule's row. The end of a run takes no such
-- lock: it writes its own slot and notes a follow-up, which the scheduler reads.

-- Locks the schedules to advance: those that are due, and those of which a run has ended that another slot
-- may wait for. Schedules locked by another transaction are left out.
-- Call tenure.schedule_advance in the same transaction, with what was computed from each rule.
-- granted to: server
create or replace function tenure.schedule_take(p_limit integer default 500)
returns table (
  schedule_id integer, tenant text, name text, cron text, every_seconds integer, zone text,
  start_at timestamptz, end_at timestamptz, after timestamptz, now timestamptz, list_from timestamptz,
  list_max integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set enable_seqscan = off
as $$
declare
  v_now timestamptz := tenure.now();
  v_ids integer[];
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('schedule_rows_max'));
  v_ids := array(
    select s.schedule_id
      from tenure.schedules s
     where s.next_at <= v_now
     order by s.next_at
     limit p_limit
       for no key update skip locked);
  if cardinality(v_ids) < p_limit then
    -- Notes of schedules that are gone would hide the others.
    perform tenure.slots_followed('{}');
    v_ids := v_ids || array(
      select s.schedule_id
        from tenure.schedules s
       where s.schedule_id = any (array(
               select distinct p.schedule_id
                 from (
                   select f.subject
                     from tenure.follow_ups f
                    where f.task = 'slot_next'
                    order by f.due_at
                    limit p_limit) f
                 cross join lateral (
                   select p.schedule_id
                     from tenure.planned_slots p
                    where p.slot_id = f.subject::bigint
                   offset 0) p))
         and s.schedule_id <> all (v_ids)
         and s.deleted_at is null
       limit p_limit - cardinality(v_ids)
         for no key update skip locked);
  end if;
  return query
    select s.schedule_id, t.name, s.name, s.cron, s.every_seconds, s.zone, s.start_at, s.end_at,
           coalesce(s.planned_to, s.plan_from), v_now,
           case
             when s.catch_up = 'every_plan' and s.paused_at is null
               then v_now - make_interval(secs => s.catch_up_window_seconds)
           end,
           case
             when s.overlap = 'queue'
               then least(s.catch_up_slots_max, tenure.slots_room(s.schedule_id, v_now))
             else s.catch_up_slots_max
           end
      from tenure.schedules s
      join tenure.tenants t on t.tenant_id = s.tenant_id
     where s.schedule_id = any (v_ids)
     order by s.next_at, s.schedule_id;
end
$$;

-- Advances schedules that were taken. p_plans has one object for each, with the fields of tenure.rule_plan.
-- If an error occurs, each schedule is advanced alone: one that fails is marked as failing and does not stop
-- the others.
-- granted to: server
create or replace function tenure.schedule_advance(p_plans jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
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
  -- Caught item by item: see refusals.sql.
  begin
    return tenure.schedule_advance_batch(v_caller, v_now, p_plans);
  exception when others then
    null;
  end;
  for v_plan in select x.plan from jsonb_array_elements(p_plans) x (plan) loop
    begin
      v_done := tenure.schedule_advance_batch(v_caller, v_now, jsonb_build_array(v_plan));
    exception
      when lock_not_available or deadlock_detected then
        -- Another transaction holds a lock: try again soon.
        update tenure.schedules s
           set next_at = v_now + make_interval(secs => tenure.limit_of('slot_retry_seconds'))
         where s.schedule_id = (v_plan ->> 'schedule_id')::integer;
        continue;
      when others then
        get stacked diagnostics v_what = message_text;
        v_done := tenure.schedule_advance_batch(v_caller, v_now, jsonb_build_array(jsonb_build_object(
          'schedule_id', v_plan -> 'schedule_id',
          'error_code', 'database_error',
          'error_message', v_what)));
    end;
    v_sum := (
      select jsonb_object_agg(d.key, d.value::bigint + (v_sum ->> d.key)::bigint)
        from jsonb_each_text(v_done) d);
  end loop;
  return v_sum;
end
$$;

-- Advances schedules together: catches up late slots as each schedule says, plans the next slot, runs, holds
-- back or skips due slots, and sets when to look again. Answers how many slots each of these was done to.
create or replace function tenure.schedule_advance_batch(
  p_caller tenure.caller_identity, p_now timestamptz, p_plans jsonb) returns jsonb
language plpgsql
as $$
declare
  v_plans   tenure.rule_plan[] := array(
    select x from jsonb_populate_recordset(null::tenure.rule_plan, p_plans) x);
  v_taken   integer[] := array(select x.schedule_id from unnest(v_plans) x);
  -- If only the rule is wrong, slots planned before or run by hand still start.
  v_ids     integer[] := array(
    select x.schedule_id from unnest(v_plans) x where x.error_code is distinct from 'database_error');
  v_missed  bigint;
  v_planned bigint;
  v_fired   record;
  v_failing bigint;
begin
  v_missed := tenure.schedules_catch_up(p_now, v_plans);
  v_planned := tenure.slots_plan_next(p_now, v_plans);
  -- Before the due slots are decided: a run that ends after this notes another.
  perform tenure.slots_followed(v_taken);
  v_fired := tenure.slots_fire(p_caller, p_now, v_ids, 'scheduler');
  v_failing := tenure.schedules_look_again(p_now, v_plans);
  return jsonb_build_object(
    'planned', v_planned,
    'started', v_fired.started,
    'skipped', v_fired.skipped,
    'waiting', v_fired.waiting,
    'missed', v_missed,
    'failing', v_failing);
end
$$;

-- Catches up slots that no scheduler saw in time, and answers how many were missed. They are rare, and so one
-- schedule is done at a time.
create or replace function tenure.schedules_catch_up(
  p_now timestamptz, p_plans tenure.rule_plan[]) returns bigint
language plpgsql
as $$
declare
  v_late   record;
  v_missed bigint := 0;
begin
  for v_late in
    select s as schedule, p.slot, x as plan
      from unnest(p_plans) x
      join tenure.schedules s on s.schedule_id = x.schedule_id
      left join lateral (
        select q as slot, q.due_at, q.plan_time
          from tenure.planned_slots q
         where q.schedule_id = s.schedule_id and q.state = 'planned' and q.origin = 'rule'
           and q.waiting_since is null and q.due_at <= p_now
         order by q.due_at
         limit 1) p on true
     where (x.first is not null
            and not (s.paused_at is null and s.catch_up = 'every_plan' and s.overlap = 'queue'
                     and tenure.slots_room(s.schedule_id, p_now) = 0))
        or (s.paused_at is null and s.catch_up = 'none'
            and p.due_at < p_now - make_interval(secs =>
              tenure.setting_integer(s.tenant_id, 'schedules.grace_seconds')))
        or (s.paused_at is null and s.catch_up = 'every_plan'
            and p.plan_time < p_now - make_interval(secs => s.catch_up_window_seconds))
  loop
    v_missed := v_missed + tenure.slots_catch_up(v_late.schedule, v_late.slot, p_now, v_late.plan);
  end loop;
  return v_missed;
end
$$;

-- Sets when to look at each schedule again, and whether it has ended or fails, with an event for either.
-- Answers how many fail. The next look is when the first planned slot that does not wait for a run is due, at
-- once if there is more to catch up, or never.
create or replace function tenure.schedules_look_again(
  p_now timestamptz, p_plans tenure.rule_plan[]) returns bigint
language plpgsql
as $$
declare
  v_soon    timestamptz := p_now + make_interval(secs => tenure.limit_of('slot_retry_seconds'));
  v_later   timestamptz := p_now + make_interval(secs => tenure.limit_of('slot_recheck_seconds'));
  v_error   timestamptz := p_now + make_interval(secs => tenure.limit_of('schedule_error_retry_seconds'));
  v_failing bigint;
begin
  with looked as (
    update tenure.schedules s
       set next_at = case
             when x.error_code is not null then v_error
             when coalesce(s.planned_to, s.plan_from) < x.latest then
               case
                 when s.overlap = 'queue' and tenure.slots_room(s.schedule_id, p_now) = 0 then v_later
                 else p_now
               end
             else (
               select least(
                        -- The end of a run wakes a waiting slot; in case that fails, the slot is looked at
                        -- periodically. Where nothing runs, it waits no longer.
                        min(case
                          when p.waiting_since is null then p.due_at
                          when (select true
                                  from tenure.planned_slots r
                                 where r.schedule_id = s.schedule_id and r.state = 'running'
                                 limit 1)
                            then case s.overlap when 'cancel_other' then v_soon else v_later end
                          else p_now
                        end),
                        -- The next plan time may have a row that is not planned, made by hand: then the rule
                        -- goes on from there.
                        case
                          when x.next is not null and s.planned_to > p_now
                               and not coalesce(bool_or(p.plan_time = s.planned_to), false)
                            then s.planned_to
                        end)
                 from tenure.planned_slots p
                where p.schedule_id = s.schedule_id and p.state = 'planned')
           end,
           ended_at = case
             when x.error_code is null and x.next is null
                  and coalesce(s.planned_to, s.plan_from)
                    between coalesce(x.latest, '-infinity') and p_now
               then coalesce(s.ended_at, p_now)
           end,
           error_code = x.error_code,
           error_message = tenure.cut_text(
             x.error_message, tenure.limit_of('error_message_bytes_max')::integer)
      from unnest(p_plans) x
      join tenure.schedules o on o.schedule_id = x.schedule_id
     where s.schedule_id = x.schedule_id
    returning s.tenant_id, s.name, s.planned_to, s.error_code, s.error_message,
              s.ended_at is not null and o.ended_at is null as has_ended,
              s.error_code is not null and o.error_code is null as is_new
  ), events as (
    insert into tenure.events (at, tenant_id, kind, actor, subject, data)
    select p_now, l.tenant_id, 'schedule.ended', 'scheduler', l.name,
           jsonb_strip_nulls(jsonb_build_object('last_slot', l.planned_to))
      from looked l
     where l.has_ended
    union all
    select p_now, l.tenant_id, 'schedule.failing', 'scheduler', l.name,
           jsonb_build_object('code', l.error_code, 'message', l.error_message)
      from looked l
     where l.is_new
  )
  select count(*) filter (where l.error_code is not null) into v_failing from looked l;
  return v_failing;
end
$$;
