-- Deciding about due slots: each runs, waits or is skipped. The caller holds the lock on the schedules.

-- The reason of a skip during a pause.
create or replace function tenure.pause_words(p_schedule tenure.schedules) returns text
language sql immutable
as $$
  select format('Paused by %s%s.', p_schedule.paused_by, coalesce(': ' || p_schedule.pause_note, ''))
$$;

-- The due slots of these schedules, each with a verdict: run, wait, or skip as 'paused' or 'overlap'.
-- A backfilled slot waits where another would be skipped; a slot of the rule waits for it and neither is
-- skipped because of it nor cancels it. With cancel_other only the latest slot counts.
create or replace function tenure.slots_judged(
  p_now timestamptz, p_schedule_ids integer[], p_slot_id bigint)
returns table (
  slot_id bigint, schedule_id integer, tenant_id integer, origin text, waiting_since timestamptz,
  overlap text, verdict text)
language sql stable
as $$
  with due as materialized (
    select p.slot_id, s.schedule_id, s.tenant_id, p.plan_time, p.origin, p.waiting_since, s.overlap,
           s.paused_at is not null and p.origin = 'rule' as is_paused,
           -- Scalar subqueries, one lookup per schedule: exists would read every running slot.
           (select true
              from tenure.planned_slots r
             where r.schedule_id = s.schedule_id and r.state = 'running'
             limit 1) is not null as is_busy,
           (select true
              from tenure.planned_slots r
             where r.schedule_id = s.schedule_id and r.state = 'running' and r.origin <> 'backfill'
             limit 1) is null as is_yielding,
           (select count(*)
              from tenure.planned_slots w
             where w.schedule_id = s.schedule_id and w.state = 'planned'
               and w.waiting_since is not null and w.origin <> 'backfill') as held
      from tenure.schedules s
      cross join lateral (
        -- Of the waiting slots only the first can run, unless they may overlap by now.
        (select q.slot_id, q.plan_time, q.origin, q.waiting_since
           from tenure.planned_slots q
          where q.schedule_id = s.schedule_id and q.state = 'planned'
            and q.waiting_since is not null and q.due_at <= p_now
          order by q.origin = 'backfill', q.plan_time
          limit case s.overlap when 'allow' then tenure.limit_of('slots_per_schedule_max') else 1 end)
        union all
        (select q.slot_id, q.plan_time, q.origin, q.waiting_since
           from tenure.planned_slots q
          where q.schedule_id = s.schedule_id and q.state = 'planned'
            and q.waiting_since is null and q.due_at <= p_now
            and (p_slot_id is null or q.slot_id = p_slot_id)
          order by q.due_at
          limit tenure.limit_of('slots_per_schedule_max'))) p
     where s.schedule_id = any (p_schedule_ids)
  ), ranked as (
    select d.*,
           row_number() over (
             partition by d.schedule_id, d.is_paused
             order by d.origin = 'backfill', d.plan_time) as place,
           count(*) filter (where d.origin <> 'backfill') over (
             partition by d.schedule_id, d.is_paused) as own
      from due d
  )
  select r.slot_id, r.schedule_id, r.tenant_id, r.origin, r.waiting_since, r.overlap,
         case
           when r.is_paused then 'paused'
           when r.overlap = 'allow' then 'run'
           when r.overlap = 'cancel_other' and r.origin <> 'backfill' and r.place < r.own then 'overlap'
           when not r.is_busy
                and r.place = case when r.overlap = 'cancel_other' then greatest(r.own, 1) else 1 end
             then 'run'
           when r.origin = 'backfill' then 'wait'
           -- Only a backfill runs: the slot of the rule is next.
           when r.overlap = 'skip' and r.is_busy and r.is_yielding and r.place = 1 then 'wait'
           when r.overlap = 'skip'
                or r.place - (not r.is_busy)::integer + greatest(r.held - 1, 0)
                  > tenure.limit_of('slots_waiting_max')
             then 'overlap'
           else 'wait'
         end
    from ranked r
$$;

-- Runs, skips or holds back the due slots of these schedules, as tenure.slots_judged says. The caller holds
-- the lock on the schedules.
-- With p_slot_id, only that slot and those that wait before it are considered: the scheduler decides about
-- other due slots, because it knows how late they are.
create or replace function tenure.slots_fire(
  p_caller tenure.caller_identity, p_now timestamptz, p_schedule_ids integer[], p_actor text,
  p_slot_id bigint default null, out started integer, out skipped integer, out waiting integer)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_due    record;
  v_other  record;
  v_tenant integer;
begin
  select coalesce(array_agg(j.slot_id order by j.slot_id) filter (where j.verdict = 'run'), '{}') as run,
         coalesce(array_agg(j.slot_id) filter (where j.verdict = 'paused'), '{}') as paused,
         coalesce(array_agg(j.slot_id) filter (where j.verdict = 'overlap'), '{}') as overlap,
         coalesce(array_agg(j.slot_id) filter (
           where j.verdict = 'wait' and j.waiting_since is null), '{}') as wait,
         coalesce(array_agg(j.schedule_id) filter (
           where j.verdict = 'wait' and j.overlap = 'cancel_other' and j.origin <> 'backfill'),
           '{}') as cancel,
         coalesce(array_agg(distinct j.tenant_id) filter (where j.verdict = 'run'), '{}') as tenants
    into v_due
    from tenure.slots_judged(p_now, p_schedule_ids, p_slot_id) j;

  update tenure.planned_slots p
     set state = 'skipped',
         skip_reason = case when p.slot_id = any (v_due.paused) then 'paused' else 'overlap' end,
         ended_at = p_now,
         waiting_since = null,
         error_message = case
           when p.slot_id = any (v_due.paused) then tenure.pause_words(s)
           else coalesce((
             select format('Job %s, for %s, was still under way.', r.job_id, r.plan_time)
               from tenure.planned_slots r
              where r.schedule_id = p.schedule_id and r.state = 'running'
              order by r.plan_time
              limit 1), 'Another slot came before it.')
         end
    from tenure.schedules s
   where s.schedule_id = p.schedule_id
     and p.slot_id = any (v_due.paused || v_due.overlap);
  perform tenure.slots_emit('skipped', p_now, p_actor, v_due.paused || v_due.overlap);
  update tenure.planned_slots p set waiting_since = p_now where p.slot_id = any (v_due.wait);
  skipped := cardinality(v_due.paused) + cardinality(v_due.overlap);
  waiting := cardinality(v_due.wait);
  started := 0;

  foreach v_tenant in array v_due.tenants loop
    started := started + tenure.slots_start(p_caller, v_tenant, p_now,
      array(
        select p.slot_id
          from tenure.planned_slots p
         where p.slot_id = any (v_due.run) and p.tenant_id = v_tenant
         order by p.slot_id),
      p_actor);
  end loop;
  skipped := skipped + (
    select count(*)
      from tenure.planned_slots p
     where p.slot_id = any (v_due.run) and p.state = 'skipped');

  for v_other in
    select p.tenant_id, p.job_id
      from tenure.planned_slots p
     where p.schedule_id = any (v_due.cancel) and p.state = 'running' and p.origin <> 'backfill'
     order by p.job_id
  loop
    perform tenure.slot_give_way(p_caller, p_now, v_other.tenant_id, v_other.job_id, p_actor);
  end loop;
end
$$;

-- Requests the cancellation of a slot's run, to make room for another slot. Does not wait long for a lock:
-- the next look at the schedule tries again.
create or replace function tenure.slot_give_way(
  p_caller tenure.caller_identity, p_now timestamptz, p_tenant_id integer, p_job_id uuid, p_actor text)
returns void
language plpgsql
set lock_timeout = '500ms'
as $$
begin
  p_caller.tenant_id := p_tenant_id;
  p_caller.principal := p_actor;
  perform tenure.job_stop(p_caller, p_now, p_job_id, 'Another slot of its schedule is due.', 'cooperative',
    null);
exception
  -- The job has ended meanwhile, or another transaction has it locked: the next look decides.
  when sqlstate 'TN014' or sqlstate 'TN023' or lock_not_available then null;
end
$$;
