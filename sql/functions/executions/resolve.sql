-- Deciding about a step whose outcome is unknown.

-- Records an operator's verdict about a step in the state unknown: it succeeded, it failed, or it may run
-- once more. Refuses with busy_try_again while another transaction has locked a target of the step or of one
-- that follows it.
-- granted to: admin, operator
create or replace function tenure.execution_resolve(
  p_execution_id uuid, p_step_id text, p_verdict text, p_reason text, p_result jsonb default null,
  p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_verdict tenure.verdict := (p_verdict, p_reason, p_result, nullif(p_on_behalf_of, ''))::tenure.verdict;
  v_now     timestamptz;
  v_exec    tenure.execution_rows;
  v_step    tenure.step_rows;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_word('value_unknown', 'verdict', p_verdict, array['succeeded', 'failed', 'retry']);
  perform tenure.check_name('reason', p_reason);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  perform tenure.check_verdict_result(p_result);
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  v_step := tenure.step_to_resolve(v_caller, v_exec, p_step_id, v_verdict);
  v_now := tenure.now();
  perform tenure.verdict_record(v_now, v_caller, v_exec, v_step, v_verdict);
  if p_verdict = 'retry' then
    perform tenure.step_run_again(v_now, v_caller.principal, v_step);
  else
    perform tenure.executions_advance(v_now, v_caller.principal,
      array[p_execution_id], array[v_step.step_number], array[p_verdict],
      array[(
        p_execution_id,
        case p_verdict when 'succeeded' then 'step_completed' else 'step_failed' end,
        v_step.step_number,
        jsonb_build_object('by_verdict', true))::tenure.chain_entry]);
  end if;
  perform tenure.executions_set_due(v_now, array[p_execution_id]);
  return (
    select jsonb_build_object(
             'execution_id', e.execution_id,
             'state', e.state,
             'step_id', p_step_id,
             'step_state', s.state)
      from tenure.execution_states e
      join tenure.step_states s on s.execution_id = e.execution_id
     where e.execution_id = p_execution_id
       and s.step_number = v_step.step_number);
end
$$;

-- Refuses a result that is too large, or that programs could not read.
create or replace function tenure.check_verdict_result(p_result jsonb) returns void
language plpgsql
as $$
begin
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
end
$$;

-- The step that a verdict is about, with its target and those of the steps after it locked. Refuses when
-- there is no such step, when the caller may not give the verdict, when the outcome is not unknown, and while
-- a target is busy.
create or replace function tenure.step_to_resolve(
  p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_step_id text,
  p_verdict tenure.verdict) returns tenure.step_rows
language plpgsql
as $$
declare
  v_id   uuid := p_execution.execution_id;
  v_step tenure.step_rows;
begin
  select s.*
    into v_step
    from tenure.step_rows s
   where s.execution_id = v_id and s.step_id = p_step_id;
  if not found then
    perform tenure.refuse('step_unknown', format('Execution %s has no step %L.', v_id, p_step_id),
      'A step is named by its id in the plan.',
      format('See tenure.step_list(%L).', v_id));
  end if;
  perform tenure.check_verdict(p_caller, p_execution, p_verdict.verdict, p_verdict.on_behalf_of);
  if v_step.state <> 'unknown' then
    perform tenure.refuse('state_conflict', format('Step %L is %s.', p_step_id, v_step.state),
      'A verdict is for a step in the state unknown.',
      format('See tenure.step_list(%L).', v_id));
  end if;
  if p_verdict.verdict = 'retry' and p_execution.stopping is not null then
    perform tenure.refuse('state_conflict',
      format('Execution %s stops (%s).', v_id, p_execution.stopping),
      'Nothing more of it starts.',
      'Say whether the step succeeded or failed.');
  end if;
  -- Locks the targets of the steps that may follow, too.
  if p_verdict.verdict <> 'retry' and not tenure.executions_lock_rows(array[v_id], array[v_step.job_id]) then
    perform tenure.refuse('busy_try_again',
      'Somebody is busy with a target of the step, or of one that follows it.',
      'A transaction that takes or frees a lock there has not ended.',
      'Try again.');
  end if;
  return v_step;
end
$$;

-- Writes a verdict to the step, the execution and its chain.
create or replace function tenure.verdict_record(
  p_now timestamptz, p_caller tenure.caller_identity, p_execution tenure.execution_rows,
  p_step tenure.step_rows, p_verdict tenure.verdict) returns void
language plpgsql
as $$
declare
  v_again boolean := p_verdict.verdict = 'retry';
begin
  -- The clock of the execution stood still while the outcome was unknown, and a step that may run once more
  -- gets the time for it.
  update tenure.execution_states e
     set steps_unknown = e.steps_unknown - 1,
         timeout_at = greatest(
           e.timeout_at + tenure.clock_stood(
             p_execution,
             coalesce((
               select max(v.at)
                 from tenure.execution_events v
                where v.execution_id = p_step.execution_id
                  and v.step_number = p_step.step_number
                  and v.kind = 'step_unknown'), p_now),
             p_now, null),
           case when v_again then p_now + make_interval(secs => p_step.timeout_seconds) end)
   where e.execution_id = p_step.execution_id;
  update tenure.step_states s
     set state = case when v_again then 'waiting' else p_verdict.verdict end,
         ended_at = case when not v_again then greatest(p_now, s.started_at) end,
         job_id = case when not v_again then s.job_id end,
         output_summary = coalesce(p_verdict.result, s.output_summary),
         output_size_bytes = coalesce(octet_length(p_verdict.result::text), s.output_size_bytes),
         verdict_by = p_caller.principal,
         verdict_reason = p_verdict.reason,
         error_code = case p_verdict.verdict
           when 'failed' then coalesce(s.error_code, 'outcome_unknown')
         end,
         error_message = case p_verdict.verdict
           when 'failed' then coalesce(s.error_message, p_verdict.reason)
         end
   where s.execution_id = p_step.execution_id and s.step_number = p_step.step_number;
  -- Appended with the same time up to which the clock stood still.
  perform tenure.chain_append(p_now, p_caller.principal, array[(
    p_step.execution_id, 'step_resolved', p_step.step_number,
    jsonb_strip_nulls(jsonb_build_object(
      'verdict', p_verdict.verdict,
      'reason', p_verdict.reason,
      'on_behalf_of', p_verdict.on_behalf_of,
      'auth_makers', nullif(tenure.auth_makers(p_caller), '{}'),
      'result_bytes', octet_length(p_verdict.result::text),
      'result_hash', tenure.text_hash(p_verdict.result::text))))::tenure.chain_entry]);
end
$$;

-- Dispatches a step once more. Its lock was kept, so no other step overtakes it: it is taken anew with a
-- greater fence; a section goes on with the lock it has.
create or replace function tenure.step_run_again(p_now timestamptz, p_actor text, p_step tenure.step_rows)
returns void
language plpgsql
as $$
begin
  delete from tenure.locks l
   where l.execution_id = p_step.execution_id
     and l.step_number = p_step.step_number
     and l.section is null;
  perform tenure.steps_dispatch_held(p_now, p_actor, p_step.execution_id, array[p_step.step_number],
    found or p_step.lock_target is null);
  -- The step may wait for an approval now: then its target is free for others.
  if p_step.lock_target is not null
     and not exists (
       select from tenure.locks l
        where l.execution_id = p_step.execution_id and l.step_number = p_step.step_number) then
    perform
       from tenure.lock_targets t
      where t.tenant_id = p_step.tenant_id and t.target = p_step.lock_target
        for no key update;
    perform tenure.lock_freed(p_now, p_actor, p_step.tenant_id, p_step.lock_target);
  end if;
end
$$;
