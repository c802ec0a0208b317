-- Pausing, resuming and deleting schedules.

-- Pauses a schedule. A run in progress continues; each slot that comes due is skipped and keeps a row.
-- Pausing a paused schedule keeps the first pause and its author.
-- granted to: admin, operator
create or replace function tenure.schedule_pause(
  p_name text, p_note text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz := tenure.now();
  v_schedule tenure.schedules;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  if p_note <> '' then
    perform tenure.check_name('note', p_note);
  end if;
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  if v_schedule.paused_at is null then
    update tenure.schedules s
       set paused_at = v_now,
           paused_by = v_caller.principal,
           pause_note = nullif(p_note, '')
     where s.schedule_id = v_schedule.schedule_id;
    perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.paused', v_caller.principal, p_on_behalf_of,
      p_name, jsonb_strip_nulls(jsonb_build_object('note', nullif(p_note, ''))));
  end if;
  return tenure.schedule_answer(v_caller.tenant_id, p_name);
end
$$;

-- Resumes a schedule with its next slot. Slots skipped during the pause stay skipped; a backfill runs them.
-- granted to: admin, operator
create or replace function tenure.schedule_resume(p_name text, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_schedule tenure.schedules;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  if v_schedule.paused_at is not null then
    update tenure.schedules s
       set paused_at = null,
           paused_by = null,
           pause_note = null
     where s.schedule_id = v_schedule.schedule_id;
    perform tenure.emit(tenure.now(), v_caller.tenant_id, 'schedule.resumed', v_caller.principal,
      p_on_behalf_of, p_name, '{}');
  end if;
  return tenure.schedule_answer(v_caller.tenant_id, p_name);
end
$$;

-- Deletes a schedule. Its planned slots are given up; slots that have run keep their rows.
-- Refuses while a run is in progress, because the end of that run would have no schedule.
-- granted to: admin, operator
create or replace function tenure.schedule_delete(p_name text, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz := tenure.now();
  v_schedule tenure.schedules;
  v_running  record;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  select p.plan_time, p.job_id into v_running
    from tenure.planned_slots p
   where p.schedule_id = v_schedule.schedule_id and p.state = 'running'
   order by p.plan_time
   limit 1;
  if found then
    perform tenure.refuse('state_conflict',
      format('A run of the schedule %L is under way: job %s, for %s.',
        p_name, v_running.job_id, v_running.plan_time),
      'Who deletes a schedule would leave it to itself.',
      'Wait for its end, or cancel it with tenure.job_cancel(job, reason); pause the schedule, so that no '
        'other comes.');
  end if;
  perform tenure.slots_supersede(v_schedule.schedule_id, v_now, v_caller.principal,
    'The schedule was deleted.', true);
  perform tenure.slots_followed(array[v_schedule.schedule_id]);
  update tenure.schedules s set deleted_at = v_now, next_at = null
   where s.schedule_id = v_schedule.schedule_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.deleted', v_caller.principal, p_on_behalf_of,
    p_name, '{}');
  return jsonb_build_object('name', p_name, 'deleted_at', v_now);
end
$$;
