-- Stopping a running execution: its waiting jobs are taken back (step_jobs.sql), its running ones asked to
-- stop.

-- Stops a running execution: no further step starts, waiting steps are skipped, running ones are asked to
-- stop. It ends when the last of those has ended. The caller has locked it.
create or replace function tenure.execution_stop(
  p_now timestamptz, p_actor text, p_execution_id uuid, p_stopping text, p_reason_code text, p_reason text,
  p_on_behalf_of text default null) returns void
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_entries tenure.chain_entry[];
begin
  p_now := greatest(p_now, tenure.now());
  update tenure.execution_states e
     set stopping = p_stopping,
         stopped_by = p_actor,
         reason_code = p_reason_code,
         reason = p_reason,
         next_at = p_now + make_interval(secs => tenure.limit_of('execution_stop_recheck_seconds'))
   where e.execution_id = p_execution_id;
  v_entries := array[(
    p_execution_id,
    case p_stopping when 'timed_out' then 'execution_timed_out' else 'execution_stopping' end,
    null,
    jsonb_strip_nulls(jsonb_build_object(
      'reason_code', p_reason_code,
      'reason', p_reason,
      'on_behalf_of', p_on_behalf_of)))::tenure.chain_entry];
  v_entries := v_entries || tenure.steps_skip(p_now,
    array(
      select s.execution_id
        from tenure.step_states s
       where s.execution_id = p_execution_id
         and s.state in ('waiting', 'blocked', 'awaiting_approval')
       order by s.step_number),
    array(
      select s.step_number
        from tenure.step_states s
       where s.execution_id = p_execution_id
         and s.state in ('waiting', 'blocked', 'awaiting_approval')
       order by s.step_number),
    p_reason);
  v_entries := v_entries || tenure.sections_release(array[p_execution_id]);
  perform tenure.chain_append(p_now, p_actor,
    tenure.executions_finish(p_now, p_actor, tenure.chain_append(p_now, p_actor, v_entries)));
  perform tenure.step_jobs_stop(p_now, p_actor, p_execution_id, p_reason);
end
$$;

-- Stops the jobs of an execution: those that have not begun are taken back at once, running ones get a cancel
-- request. Rows locked by another transaction are skipped: the next tick tries again.
create or replace function tenure.step_jobs_stop(
  p_now timestamptz, p_actor text, p_execution_id uuid, p_reason text) returns void
language plpgsql
as $$
begin
  perform tenure.step_jobs_withdraw(p_now, p_actor, p_execution_id,
    coalesce(p_reason, 'Its execution stops.'));
  with asked as (
    update tenure.active a
       set cancel_requested_at = p_now,
           cancel_by = p_actor,
           cancel_reason = coalesce(p_reason, 'Its execution stops.')
     where a.cancel_requested_at is null
       and a.job_id in (
         select h.job_id
           from tenure.active h
          where h.job_id = any (array(
                  select s.job_id
                    from tenure.step_states s
                   where s.execution_id = p_execution_id and s.state = 'running'))
          order by h.job_id
            for no key update skip locked)
    returning a.job_id, a.run
  )
  insert into tenure.events (at, tenant_id, kind, actor, subject, data)
  select p_now, e.tenant_id, 'job.cancel_requested', p_actor, a.job_id::text,
         jsonb_build_object('reason', coalesce(p_reason, 'Its execution stops.'), 'run', a.run)
    from asked a
    cross join tenure.executions e
   where e.execution_id = p_execution_id;
end
$$;

-- Takes back the jobs of an execution that have not begun, and follows up their ends. A follow-up that fails
-- is left to the tick, so that an execution can be stopped whatever waits for its targets.
create or replace function tenure.step_jobs_withdraw(
  p_now timestamptz, p_actor text, p_execution_id uuid, p_reason text) returns void
language plpgsql
as $$
begin
  perform tenure.step_ends_follow(p_now, p_actor,
    tenure.step_jobs_cancel(p_now, p_actor, array[p_execution_id], p_reason));
end
$$;
