-- The job of a step: what it shows of its step, and the refusal to run it outside its execution.

-- What the job of a step knows of it, stored beside the payload, where producers cannot write. The reference
-- of its target is the job's own (tenure.step_shown), so that the retention sweep empties it with the job.
-- The fence belongs to a run (tenure.fence_of) and is not part of this value, which is written once for all
-- runs.
create or replace function tenure.step_origin(
  p_execution_id uuid, p_number integer, p_step_id text, p_action text, p_action_class text,
  p_target_type text, p_plan_hash text) returns jsonb
language sql immutable
as $$
  select jsonb_build_object('step', jsonb_strip_nulls(jsonb_build_object(
    'execution_id', p_execution_id,
    'step_id', p_step_id,
    'step_number', p_number,
    'action', p_action,
    'action_class', p_action_class,
    'target_type', p_target_type,
    'plan_hash', p_plan_hash)))
$$;

-- The step of a job as every surface shows it, with the fence of its run; null for a job without a step.
create or replace function tenure.step_shown(p_origin jsonb, p_target_ref text, p_fence bigint default null)
returns jsonb
language sql immutable parallel safe
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
