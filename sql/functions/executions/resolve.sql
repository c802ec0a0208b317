-- Deciding about a step whose outcome is unknown.

-- Records an operator's verdict about a step in the state unknown: it succeeded, it failed, or it may run
-- once more. Refuses with busy_try_again while another transaction has locked a target of the step or of one
-- that follows it.
create or replace function tenure.execution_resolve(
  p_execution_id uuid, p_step_id text, p_verdict text, p_reason text, p_result jsonb default null,
  p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_exec   tenure.execution_rows;
  v_step   tenure.step_rows;
  v_told   tenure.execution_told;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_word('value_unknown', 'verdict', p_verdict, array['succeeded', 'failed', 'retry']);
  perform tenure.check_name('reason', p_reason);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  perform tenure.check_json_numbers('result', p_result);
  if octet_length(p_result::text) > tenure.limit_of('result_bytes_max') then
    perform tenure.refuse('result_too_large',
      format('The result has %s bytes.', octet_length(p_result::text)),
      format('It has at most %s, measured uncompressed (result_bytes_max).',
        tenure.limit_of('result_bytes_max')),
      'Store it elsewhere and pass a reference.');
  elsif tenure.is_unreadable(p_result) then
    perform tenure.refuse('result_too_large', 'Programs could not read the result.',
      format('It has at most %s levels of objects and lists (payload_depth_max), and no name that begins '
        'with $serde_json::private::.', tenure.limit_of('payload_depth_max')),
      'Store it elsewhere and pass a reference.');
  end if;
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  select s.*
    into v_step
    from tenure.step_rows s
   where s.execution_id = p_execution_id and s.step_id = p_step_id;
  if not found then
    perform tenure.refuse('step_unknown', format('Execution %s has no step %L.', p_execution_id, p_step_id),
      'A step is named by its id in the plan.',
      format('See tenure.step_list(%L).', p_execution_id));
  end if;
  perform tenure.check_verdict(v_caller, v_exec, p_verdict, p_on_behalf_of);
  if v_step.state <> 'unknown' then
    perform tenure.refuse('state_conflict', format('Step %L is %s.', p_step_id, v_step.state),
      'A verdict is for a step in the state unknown.',
      format('See tenure.step_list(%L).', p_execution_id));
  end if;
  if p_verdict = 'retry' and v_exec.stopping is not null then
    perform tenure.refuse('state_conflict',
      format('Execution %s stops (%s).', p_execution_id, v_exec.stopping),
      'Nothing more of it starts.',
      'Say whether the step succeeded or failed.');
  end if;
  -- Locks the targets of the steps that may follow, too.
  if p_verdict <> 'retry' and not tenure.executions_hold(array[p_execution_id], array[v_step.job_id]) then
    perform tenure.refuse('busy_try_again',
      'Somebody is busy with a target of the step, or of one that follows it.',
      'A transaction that takes or frees a lock there has not ended.',
      'Try again.');
  end if;
  v_now := tenure.now();
  v_told := (
    p_execution_id, 'step_resolved', v_step.step_number,
    jsonb_strip_nulls(jsonb_build_object(
      'verdict', p_verdict,
      'reason', p_reason,
      'on_behalf_of', nullif(p_on_behalf_of, ''),
      'auth_makers', nullif(tenure.auth_makers(v_caller), '{}'),
      'result_bytes', octet_length(p_result::text),
      'result_hash', tenure.text_hash(p_result::text))))::tenure.execution_told;
  -- The clock of the execution stood still while the outcome was unknown, and a step that may run once more
  -- gets the time for it.
  update tenure.execution_states e
     set steps_unknown = e.steps_unknown - 1,
         timeout_at = greatest(
           e.timeout_at + tenure.clock_stood(
             v_exec,
             coalesce((
               select max(v.at)
                 from tenure.execution_events v
                where v.execution_id = p_execution_id
                  and v.step_number = v_step.step_number
                  and v.kind = 'step_unknown'), v_now),
             v_now, null),
           case p_verdict when 'retry' then v_now + make_interval(secs => v_step.timeout_seconds) end)
   where e.execution_id = p_execution_id;
  update tenure.step_states s
     set state = case p_verdict when 'retry' then 'waiting' else p_verdict end,
         ended_at = case p_verdict when 'retry' then null else greatest(v_now, s.started_at) end,
         job_id = case p_verdict when 'retry' then null else s.job_id end,
         output_summary = coalesce(p_result, s.output_summary),
         output_size_bytes = coalesce(octet_length(p_result::text), s.output_size_bytes),
         verdict_by = v_caller.principal,
         verdict_reason = p_reason,
         error_code = case p_verdict
           when 'succeeded' then null
           when 'failed' then coalesce(s.error_code, 'outcome_unknown')
         end,
         error_message = case p_verdict when 'failed' then coalesce(s.error_message, p_reason) end
   where s.execution_id = p_execution_id and s.step_number = v_step.step_number;
  -- Appended with the same time up to which the clock stood still.
  perform tenure.chain_append(v_now, v_caller.principal, array[v_told]);
  if p_verdict = 'retry' then
    -- The lock was kept, so no other step overtakes. It is taken anew with a greater fence; a section goes on
    -- with the lock it has.
    delete from tenure.locks l
     where l.execution_id = p_execution_id
       and l.step_number = v_step.step_number
       and l.section is null;
    perform tenure.steps_go_on(v_now, v_caller.principal, p_execution_id, array[v_step.step_number],
      found or v_step.lock_target is null);
    -- The step may wait for an approval now: then its target is free for others.
    if v_step.lock_target is not null
       and not exists (
         select from tenure.locks l
          where l.execution_id = p_execution_id and l.step_number = v_step.step_number) then
      perform from tenure.lock_targets t
        where t.tenant_id = v_exec.tenant_id and t.target = v_step.lock_target
          for no key update;
      perform tenure.lock_freed(v_now, v_caller.principal, v_exec.tenant_id, v_step.lock_target);
    end if;
  else
    perform tenure.executions_advance(v_now, v_caller.principal,
      array[p_execution_id], array[v_step.step_number], array[p_verdict],
      array[(
        p_execution_id,
        case p_verdict when 'succeeded' then 'step_completed' else 'step_failed' end,
        v_step.step_number,
        jsonb_build_object('by_verdict', true))::tenure.execution_told]);
  end if;
  perform tenure.executions_schedule(v_now, array[p_execution_id]);
  return (
    select jsonb_build_object(
             'execution_id', e.execution_id,
             'state', e.state,
             'step_id', p_step_id,
             'step_state', (
               select s.state
                 from tenure.step_rows s
                where s.execution_id = e.execution_id and s.step_number = v_step.step_number))
      from tenure.execution_rows e
     where e.execution_id = p_execution_id);
end
$$;
