-- The end of slots: writing the end of their jobs, reopening them, and their events. The end of a run takes
-- no lock on the schedule.

-- Writes one event for each slot: schedule.slot_ with p_what.
create or replace function tenure.slots_emit(
  p_what text, p_now timestamptz, p_actor text, p_slot_ids bigint[]) returns void
language sql
as $$
  insert into tenure.events (at, tenant_id, kind, actor, subject, data)
  select p_now, p.tenant_id, 'schedule.slot_' || p_what, p_actor, s.name,
         jsonb_strip_nulls(jsonb_build_object(
           'plan_time', p.plan_time,
           'origin', p.origin,
           'scope_kind', p.scope_kind,
           'scope_id', p.scope_id,
           'job_id', p.job_id,
           'reason', p.skip_reason,
           'missed', p.missed,
           'missed_until', p.missed_until,
           'error_code', p.error_code,
           'duration_ms', p.duration_ms))
    from tenure.planned_slots p
    join tenure.schedules s on s.schedule_id = p.schedule_id
   where p.slot_id = any (p_slot_ids)
   order by p.slot_id
$$;

-- Writes the end of jobs to their slots, in the transaction of the end. Jobs that are not over or have no
-- slot are ignored. Functions that end jobs call it where lanes.planned is true.
create or replace function tenure.slots_end(p_now timestamptz, p_actor text, p_job_ids uuid[]) returns void
language plpgsql
-- pinned order: see sql/README.md
set enable_seqscan = off
as $$
declare
  v_ended bigint[];
begin
  with over as (
    update tenure.planned_slots p
       set state = case a.state
             when 'succeeded' then 'succeeded'
             when 'cancelled' then 'cancelled'
             else 'failed'
           end,
           attempts = a.attempt,
           worker = a.owner,
           started_at = b.started_at,
           ended_at = a.ended_at,
           duration_ms = floor(extract(epoch from a.ended_at - b.started_at) * 1000)::bigint,
           rows_affected = case
             when jsonb_typeof(a.result -> 'rows_affected') = 'number'
                  and (a.result ->> 'rows_affected') ~ '^[0-9]{1,18}$'
               then (a.result ->> 'rows_affected')::bigint
           end,
           result = a.result,
           result_ref = a.result_ref,
           error_code = coalesce(a.error_code, case
             when a.state = 'cancelled' then 'cancelled'
             when a.state <> 'succeeded' then a.outcome
           end),
           error_message = coalesce(a.error_message, a.reason)
      from tenure.attempts a
      cross join lateral (
        select min(x.started_at) as started_at from tenure.attempts x where x.job_id = a.job_id) b
     where p.job_id = any (p_job_ids) and p.state = 'running'
       and a.job_id = p.job_id and a.final
    returning p.slot_id, p.tenant_id, p.schedule_id, p.origin
  ), noted as (
    -- Depends on the schedule's overlap, not on the waiting slots: one that begins to wait at the same time
    -- is not visible here. One note for each slot: ends of one schedule never wait for each other.
    insert into tenure.follow_ups (task, subject, tenant_id, due_at)
    select 'slot_next', o.slot_id::text, o.tenant_id, p_now
      from over o
      join tenure.schedules s on s.schedule_id = o.schedule_id
     where s.deleted_at is null
       and (s.overlap in ('queue', 'cancel_other')
         or o.origin = 'backfill'
         or exists (
           select from tenure.planned_slots w
            where w.schedule_id = o.schedule_id and w.state = 'planned' and w.origin = 'backfill'))
    on conflict (task, subject, tenant_id) do update set due_at = excluded.due_at
  )
  select array_agg(o.slot_id) into v_ended from over o;
  if v_ended is not null then
    perform tenure.slots_emit(o.state, p_now, p_actor, array_agg(o.slot_id))
       from tenure.planned_slots o
      where o.slot_id = any (v_ended)
      group by o.state;
  end if;
end
$$;

-- Sets a failed or cancelled slot back to running: its job is retried, or another job (p_by_job_id) repeats
-- it.
create or replace function tenure.slot_reopen(p_job_id uuid, p_by_job_id uuid) returns void
language plpgsql
as $$
declare
  v_slot record;
begin
  update tenure.planned_slots p
     set state = 'running',
         job_id = p_by_job_id,
         ended_at = null,
         duration_ms = null,
         rows_affected = null,
         result = null,
         result_ref = null,
         error_code = null,
         error_message = null
   where p.job_id = p_job_id and p.state in ('failed', 'cancelled')
  returning p.tenant_id, p.slot_id into v_slot;
  if found then
    perform tenure.follow_up_take('slot_next', v_slot.tenant_id, v_slot.slot_id::text);
    update tenure.lanes l set planned = true
     where not l.planned
       and l.lane = (select j.lane from tenure.jobs j where j.job_id = p_by_job_id);
  end if;
end
$$;

-- Removes the follow-ups of slots whose schedules are about to be looked at or deleted, and of slots that are
-- gone. The caller holds the schedules.
create or replace function tenure.slots_followed(p_schedule_ids integer[]) returns void
language sql
as $$
  delete from tenure.follow_ups f
   where f.ctid = any (array(
           select o.place
             from (
               select f.ctid as place, f.subject
                 from tenure.follow_ups f
                where f.task = 'slot_next'
                order by f.due_at
                limit tenure.limit_of('schedule_rows_max')
                  for update skip locked) o
             left join lateral (
               select p.schedule_id
                 from tenure.planned_slots p
                where p.slot_id = o.subject::bigint
               offset 0) p on true
             left join lateral (
               select s.schedule_id, s.deleted_at
                 from tenure.schedules s
                where s.schedule_id = p.schedule_id
               offset 0) s on true
            where s.schedule_id is null
               or s.deleted_at is not null
               or s.schedule_id = any (p_schedule_ids)))
$$;
