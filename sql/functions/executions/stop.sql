-- Stopping a running execution, and taking back the jobs of its steps.

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
         next_at = p_now + interval '2 seconds'
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

-- Stops the jobs of an execution: waiting ones are cancelled at once and together, held ones get a cancel
-- request. Rows locked by another transaction are skipped: the next tick tries again.
create or replace function tenure.step_jobs_stop(
  p_now timestamptz, p_actor text, p_execution_id uuid, p_reason text) returns void
language plpgsql
as $$
begin
  perform tenure.step_jobs_take_back(p_now, p_actor, array[p_execution_id],
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

-- Takes back jobs that have not begun, of executions that stop after a failure. Running jobs may end.
create or replace function tenure.step_jobs_withdraw(p_now timestamptz, p_actor text, p_ids uuid[])
returns void
language plpgsql
as $$
begin
  perform tenure.step_jobs_take_back(p_now, p_actor, p_ids, 'A step of its execution failed.');
end
$$;

-- Cancels the jobs of executions that have not begun, all in one call, so that the follow-up runs once. Jobs
-- that a worker holds without having started them are taken away and can no longer be started. A job that is
-- being claimed or started at this moment runs.
create or replace function tenure.step_jobs_take_back(
  p_now timestamptz, p_actor text, p_ids uuid[], p_reason text) returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_job  record;
  v_end  tenure.run_end;
  v_ends tenure.run_end[] := '{}';
  v_held tenure.run_end[];
begin
  for v_job in
    select s.tenant_id, s.job_id
      from tenure.step_states s
     where s.execution_id = any (p_ids)
       and s.state = 'running'
       and not exists (select from tenure.active a where a.job_id = s.job_id)
     order by s.job_id
  loop
    v_end := tenure.step_job_take(v_job.tenant_id, v_job.job_id);
    if v_end.lane is not null then
      v_end.run := v_end.run + 1;
      v_end.outcome := 'cancelled';
      v_end.cancel_reason := p_reason;
      v_ends := v_ends || v_end;
    end if;
  end loop;
  with taken as (
    delete from tenure.active a
     where a.ctid = any (array(
             select h.ctid
               from tenure.active h
              where h.job_id = any (array(
                      select s.job_id
                        from tenure.step_states s
                       where s.execution_id = any (p_ids) and s.state = 'running'))
                and h.started_at is null
              order by h.job_id
                for update skip locked))
    returning a.job_id, a.lane, a.run, a.attempt, a.token, a.due
  )
  select coalesce(
           array_agg((
             t.job_id, n.tenant_id, t.lane, t.run, t.attempt, t.token, l.owner,
             coalesce(l.leased_at, p_now), null, t.due, p_now, p_actor, p_reason, 'cancelled',
             null, null, null, null, null, null, l.principal)::tenure.run_end order by t.job_id),
           '{}')
    into v_held
    from taken t
    join tenure.lanes n on n.lane = t.lane
    left join tenure.leases l on l.token = t.token and l.lane = t.lane;
  v_ends := v_ends || v_held;
  if cardinality(v_ends) > 0 then
    perform tenure.job_settle(p_now, p_actor, null, v_ends);
    perform tenure.lease_shrink(v_held);
  end if;
end
$$;

-- Takes a waiting job out of its lane; answers null when another transaction keeps it longer than the lock
-- timeout.
create or replace function tenure.step_job_take(p_tenant_id integer, p_job_id uuid) returns tenure.run_end
language plpgsql
set lock_timeout = '100ms'
as $$
begin
  return tenure.waiting_take(p_job_id, p_tenant_id);
exception when lock_not_available or deadlock_detected then
  return null;
end
$$;
