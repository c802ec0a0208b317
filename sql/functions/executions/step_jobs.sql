-- The job of a step: what it shows of its step, the refusal to run it outside its execution, and taking it
-- back before it has begun.

-- What the job of a step knows of it, stored beside the payload, where producers cannot write. The reference
-- of its target is the job's own (tenure.step_shown), so that the retention sweep empties it with the job.
-- The fence belongs to a run (tenure.fence_of) and is not part of this value, which is written once for all
-- runs. Stable, as jsonb_build_object is: otherwise it would be called, not inlined.
create or replace function tenure.step_origin(
  p_execution_id uuid, p_number integer, p_step_id text, p_action text, p_action_class text,
  p_target_type text, p_plan_hash text) returns jsonb
language sql stable
as $$
  select jsonb_build_object('step', jsonb_build_object(
    'execution_id', p_execution_id,
    'step_id', p_step_id,
    'step_number', p_number,
    'action', p_action,
    'action_class', p_action_class,
    'target_type', p_target_type,
    'plan_hash', p_plan_hash))
$$;

-- The step of a job as every surface shows it, with the fence of its run; null for a job without a step.
-- Stable, to be inlined.
create or replace function tenure.step_shown(p_origin jsonb, p_target_ref text, p_fence bigint default null)
returns jsonb
language sql stable parallel safe
as $$
  select (p_origin -> 'step')
    || jsonb_strip_nulls(jsonb_build_object('target_ref', p_target_ref, 'fence', p_fence))
$$;

-- Refuses to run the job of a step outside its execution, where it would have neither lock nor approval.
create or replace function tenure.refuse_step_job(p_job_id uuid) returns void
language plpgsql stable
as $$
declare
  v_step record;
begin
  select s.execution_id, s.step_id into v_step from tenure.step_rows s where s.job_id = p_job_id;
  if not found then
    select j.workflow_id as execution_id, null as step_id
      into v_step
      from tenure.jobs j
     where j.job_id = p_job_id
       and j.source_system = 'tenure.execution'
       and j.workflow_id is not null;
  end if;
  if found then
    perform tenure.refuse('not_permitted',
      format('Job %s is a step of execution %s.', p_job_id, v_step.execution_id),
      'Beside its execution it would run without its approval and its lock.',
      format('Retry the execution: select tenure.execution_retry(%L).', v_step.execution_id));
  end if;
end
$$;

-- Cancels the jobs of executions that have not begun. Jobs that a worker holds without having started them
-- are taken away and can no longer be started. A job that is being claimed or started at this moment runs.
-- Answers the jobs; the caller follows up their ends.
create or replace function tenure.step_jobs_cancel(
  p_now timestamptz, p_actor text, p_ids uuid[], p_reason text) returns uuid[]
language plpgsql
set enable_seqscan = off
as $$
declare
  v_job  record;
  v_end  tenure.run_end;
  v_ends tenure.run_end[] := '{}';
  v_held tenure.run_end[];
begin
  -- A job may have been leased since the caller read the clock, and ends after that.
  p_now := greatest(p_now, tenure.now());
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
  if cardinality(v_ends) = 0 then
    return '{}';
  end if;
  perform tenure.runs_settle(p_now, p_actor, null, v_ends);
  perform tenure.lease_shrink(v_held);
  return array(select e.job_id from unnest(v_ends) e);
end
$$;

-- Cancels the jobs of executions that have not begun, and writes that to their steps. Answers the ended
-- steps, and the time at which their targets were locked; the caller has locked the executions and advances
-- them. Steps whose targets another transaction has locked are left to the tick.
create or replace function tenure.step_jobs_take_back(
  p_now timestamptz, p_actor text, p_ids uuid[], p_reason text, out at timestamptz,
  out execs uuid[], out numbers integer[], out states text[], out entries tenure.chain_entry[])
language plpgsql
as $$
declare
  v_jobs uuid[];
  v_over record;
  v_what text;
begin
  v_jobs := tenure.step_jobs_cancel(p_now, p_actor, p_ids, p_reason);
  if cardinality(v_jobs) = 0 then
    return;
  end if;
  if tenure.executions_lock_rows(p_ids, v_jobs) then
    at := greatest(p_now, tenure.now());
    begin
      v_over := tenure.step_ends_write(at, p_actor, v_jobs);
      execs := v_over.execs;
      numbers := v_over.numbers;
      states := v_over.states;
      entries := v_over.entries;
      return;
    exception when others then
      get stacked diagnostics v_what = message_text;
      raise warning 'steps could not be followed up: %', v_what;
    end;
  end if;
  perform tenure.step_ends_note(p_now, v_jobs, v_what);
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
