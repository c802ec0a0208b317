-- The progress of a step in the chain of its execution.

-- Appends the progress of a job to the chain of its execution. Progress is not a transition: when another
-- transaction has locked the execution, or the step has step_progress_lines_max such entries, nothing is
-- appended and only the job has it.
create or replace function tenure.step_progress(
  p_now timestamptz, p_actor text, p_job_id uuid, p_progress jsonb) returns void
language plpgsql
as $$
declare
  v_step record;
  v_entries bigint;
begin
  select s.execution_id, s.step_number into v_step from tenure.step_states s where s.job_id = p_job_id;
  if not found then
    return;
  end if;
  select count(*)
    into v_entries
    from (select from tenure.execution_events v
           where v.execution_id = v_step.execution_id
             and v.step_number = v_step.step_number
             and v.kind = 'step_progress'
           limit tenure.limit_of('step_progress_lines_max')) v;
  if v_entries >= tenure.limit_of('step_progress_lines_max') then
    return;
  end if;
  perform from tenure.execution_states e
    where e.execution_id = v_step.execution_id
      for no key update skip locked;
  if found then
    perform tenure.starts_follow(p_now, array[p_job_id], 'all');
    perform tenure.chain_append(greatest(p_now, tenure.now()), p_actor, array[(
      v_step.execution_id, 'step_progress', v_step.step_number, p_progress)::tenure.chain_entry]);
  end if;
end
$$;
