-- What people do to executions: cancel, withdraw, decide about unknown outcomes, retry, close, freeze.

-- Calls off an execution that has not started: cancelled, or rejected. Nothing of it was locked, no job was made. The caller holds it.
create or replace function tenure.execution_call_off(p_now timestamptz, p_actor text, p_execution_id uuid, p_reason_code text, p_reason text, p_on_behalf_of text default null) returns void
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_told tenure.execution_told[];
  v_from text;
  v_to   text := case p_reason_code when 'rejected' then 'rejected' else 'cancelled' end;
begin
  p_now := greatest(p_now, tenure.now());
  select e.state into v_from from tenure.executions e where e.execution_id = p_execution_id;
  update tenure.approvals a set state = 'withdrawn', decided_at = greatest(p_now, a.created_at), decided_by = p_actor, reason = p_reason
   where a.execution_id = p_execution_id and (a.state = 'pending' or (a.state = 'approved' and a.consumed_at is null));
  v_told := tenure.steps_skip(p_now, array(select s.execution_id from tenure.steps s where s.execution_id = p_execution_id order by s.step_number),
    array(select s.step_number from tenure.steps s where s.execution_id = p_execution_id order by s.step_number), p_reason);
  -- One line for all of its steps: none of them has a story.
  update tenure.executions e set steps_open = e.steps_open - cardinality(v_told), steps_skipped = e.steps_skipped + cardinality(v_told) where e.execution_id = p_execution_id;
  perform tenure.execution_move(p_now, p_actor, p_execution_id, v_to, p_reason_code, p_reason);
  perform tenure.chain_append(p_now, p_actor, array[(p_execution_id, 'execution_' || v_to, null,
    jsonb_build_object('from', v_from, 'to', v_to, 'reason_code', p_reason_code, 'reason', p_reason, 'skipped', cardinality(v_told)) || jsonb_strip_nulls(jsonb_build_object('on_behalf_of', p_on_behalf_of)))::tenure.execution_told]);
end
$$;

-- Stops an execution that runs: nothing more of it starts, what waits is skipped, what runs is asked to stop. It ends when the last of that has. The caller holds it.
create or replace function tenure.execution_stop(p_now timestamptz, p_actor text, p_execution_id uuid, p_stopping text, p_reason_code text, p_reason text, p_on_behalf_of text default null) returns void
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_told tenure.execution_told[];
begin
  p_now := greatest(p_now, tenure.now());
  update tenure.executions e set stopping = p_stopping, stopped_by = p_actor, reason_code = p_reason_code, reason = p_reason, next_at = p_now + interval '2 seconds' where e.execution_id = p_execution_id;
  v_told := array[(p_execution_id, case p_stopping when 'timed_out' then 'execution_timed_out' else 'execution_stopping' end, null,
    jsonb_strip_nulls(jsonb_build_object('reason_code', p_reason_code, 'reason', p_reason, 'on_behalf_of', p_on_behalf_of)))::tenure.execution_told];
  v_told := v_told || tenure.steps_skip(p_now, array(select s.execution_id from tenure.steps s where s.execution_id = p_execution_id and s.state in ('waiting', 'blocked', 'awaiting_approval') order by s.step_number),
    array(select s.step_number from tenure.steps s where s.execution_id = p_execution_id and s.state in ('waiting', 'blocked', 'awaiting_approval') order by s.step_number), p_reason);
  v_told := v_told || tenure.sections_leave(array[p_execution_id]);
  perform tenure.chain_append(p_now, p_actor, tenure.executions_finish(p_now, p_actor, tenure.chain_append(p_now, p_actor, v_told)));
  perform tenure.jobs_stop(p_now, p_actor, p_execution_id, p_reason);
end
$$;

-- Asks the jobs of an execution to stop: those that wait are cancelled at once and together, those that are held are asked. Who is in the way is not waited for: the next tick asks again.
create or replace function tenure.jobs_stop(p_now timestamptz, p_actor text, p_execution_id uuid, p_reason text) returns void
language plpgsql
as $$
begin
  perform tenure.jobs_take_back(p_now, p_actor, array[p_execution_id], coalesce(p_reason, 'Its execution stops.'));
  with asked as (
    update tenure.active a
       set cancel_requested_at = p_now, cancel_by = p_actor, cancel_reason = coalesce(p_reason, 'Its execution stops.')
     where a.cancel_requested_at is null and a.job_id in (
       select h.job_id from tenure.active h
        where h.job_id = any (array(select s.job_id from tenure.steps s where s.execution_id = p_execution_id and s.state = 'running')) order by h.job_id for no key update skip locked)
    returning a.job_id, a.run
  )
  insert into tenure.events (at, tenant_id, kind, actor, subject, data)
  select p_now, e.tenant_id, 'job.cancel_requested', p_actor, a.job_id::text, jsonb_build_object('reason', coalesce(p_reason, 'Its execution stops.'), 'run', a.run)
    from asked a cross join tenure.executions e where e.execution_id = p_execution_id;
end
$$;

-- Takes back jobs that nobody has begun yet, of executions that stop after a failure. What runs may end.
create or replace function tenure.jobs_withdraw(p_now timestamptz, p_actor text, p_ids uuid[]) returns void
language plpgsql
as $$
begin
  perform tenure.jobs_take_back(p_now, p_actor, p_ids, 'A step of its execution failed.');
end
$$;

-- Cancels the jobs of executions that have not begun, all in one: what follows from that is followed once. Those that somebody holds without having started them are taken away, and cannot be started any more.
-- One that somebody claims or starts just now runs.
create or replace function tenure.jobs_take_back(p_now timestamptz, p_actor text, p_ids uuid[], p_reason text) returns void
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
    select s.tenant_id, s.job_id from tenure.steps s
     where s.execution_id = any (p_ids) and s.state = 'running' and not exists (select from tenure.active a where a.job_id = s.job_id) order by s.job_id
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
             select h.ctid from tenure.active h
              where h.job_id = any (array(select s.job_id from tenure.steps s where s.execution_id = any (p_ids) and s.state = 'running')) and h.started_at is null order by h.job_id for update skip locked))
    returning a.job_id, a.lane, a.run, a.attempt, a.token, a.due
  )
  select coalesce(array_agg((t.job_id, n.tenant_id, t.lane, t.run, t.attempt, t.token, l.owner, coalesce(l.leased_at, p_now), null, t.due, p_now, p_actor, p_reason, 'cancelled', null, null, null, null, null, null,
           l.principal)::tenure.run_end order by t.job_id), '{}')
    into v_held
    from taken t join tenure.lanes n on n.lane = t.lane left join tenure.leases l on l.token = t.token and l.lane = t.lane;
  v_ends := v_ends || v_held;
  if cardinality(v_ends) > 0 then
    perform tenure.job_settle(p_now, p_actor, null, v_ends);
    perform tenure.lease_shrink(v_held);
  end if;
end
$$;

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

-- Refuses to run the job of a step beside its execution: no lock, no approval.
create or replace function tenure.refuse_step_job(p_job_id uuid) returns void
language plpgsql stable
as $$
declare
  v_step record;
begin
  select s.execution_id, s.step_id into v_step from tenure.steps s where s.job_id = p_job_id;
  if not found then
    select j.workflow_id as execution_id, null as step_id into v_step from tenure.jobs j where j.job_id = p_job_id and j.source_system = 'tenure.execution' and j.workflow_id is not null;
  end if;
  if found then
    perform tenure.refuse('not_permitted', format('Job %s is a step of execution %s.', p_job_id, v_step.execution_id), 'Beside its execution it would run without its approval and its lock.',
      format('Retry the execution: select tenure.execution_retry(%L).', v_step.execution_id));
  end if;
end
$$;

-- Refuses what is possible only from other states of an execution.
create or replace function tenure.refuse_execution_state(p_execution tenure.executions, p_wanted text, p_from text, p_next text) returns void
language sql
as $$
  select tenure.refuse('state_conflict', format('Execution %s is %s and cannot be %s.', p_execution.execution_id, p_execution.state, p_wanted), format('That is possible only from: %s.', p_from), p_next)
$$;

-- Cancels an execution. What has not started never does; what runs is asked to stop, and the execution is cancelled when the last step has ended. Cancelling twice is no error.
create or replace function tenure.execution_cancel(p_execution_id uuid, p_reason text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_exec   tenure.executions;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_name('reason', p_reason);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  v_now := tenure.now();
  if v_exec.ended_at is not null and v_exec.state <> 'cancelled' then
    perform tenure.refuse_execution_state(v_exec, 'cancelled', 'pending, awaiting_approval, approved, running', 'It is over; see its timeline.');
  elsif v_exec.state = 'running' and v_exec.stopping is distinct from 'cancelled' then
    perform tenure.execution_stop(v_now, v_caller.principal, p_execution_id, 'cancelled', 'cancelled', p_reason, nullif(p_on_behalf_of, ''));
  elsif v_exec.state in ('pending', 'awaiting_approval', 'approved') then
    perform tenure.execution_call_off(v_now, v_caller.principal, p_execution_id, 'cancelled', p_reason, nullif(p_on_behalf_of, ''));
  end if;
  return (select jsonb_build_object('execution_id', e.execution_id, 'state', e.state, 'stopping', e.stopping, 'steps_open', e.steps_open) from tenure.executions e where e.execution_id = p_execution_id);
end
$$;

-- Whoever requested an execution takes it back before it starts.
create or replace function tenure.execution_withdraw(p_execution_id uuid, p_reason text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_exec   tenure.executions;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_name('reason', p_reason);
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  v_now := tenure.now();
  if v_exec.requested_by <> v_caller.principal then
    perform tenure.refuse('not_permitted',
      format('Execution %s was requested by %s.', p_execution_id, v_exec.requested_by),
      'Only its requester withdraws it.',
      format('An operator cancels it: tenure.execution_cancel(%L, reason).', p_execution_id));
  end if;
  if v_exec.state not in ('pending', 'awaiting_approval', 'approved') then
    perform tenure.refuse_execution_state(v_exec, 'withdrawn', 'pending, awaiting_approval, approved', case when v_exec.ended_at is null then 'An operator cancels it.' else 'It is over; see its timeline.' end);
  end if;
  perform tenure.execution_call_off(v_now, v_caller.principal, p_execution_id, 'withdrawn', p_reason);
  return jsonb_build_object('execution_id', p_execution_id, 'state', 'cancelled', 'reason_code', 'withdrawn');
end
$$;

-- An operator's verdict about a step whose outcome nobody knows: it succeeded, it failed, or it may be run once more.
create or replace function tenure.execution_resolve(p_execution_id uuid, p_step_id text, p_verdict text, p_reason text, p_result jsonb default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_exec   tenure.executions;
  v_step   tenure.steps;
  v_told   tenure.execution_told;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_word('value_unknown', 'verdict', p_verdict, array['succeeded', 'failed', 'retry']);
  perform tenure.check_name('reason', p_reason);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  perform tenure.check_numbers('result', p_result);
  if octet_length(p_result::text) > tenure.limit_of('result_bytes_max') then
    perform tenure.refuse('result_too_large', format('The result has %s bytes.', octet_length(p_result::text)), format('It has at most %s, measured uncompressed (result_bytes_max).', tenure.limit_of('result_bytes_max')),
      'Store it elsewhere and pass a reference.');
  elsif tenure.is_unreadable(p_result) then
    perform tenure.refuse('result_too_large', 'Programs could not read the result.',
      format('It has at most %s levels of objects and lists (payload_depth_max), and no name that begins '
        'with $serde_json::private::.', tenure.limit_of('payload_depth_max')),
      'Store it elsewhere and pass a reference.');
  end if;
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  select s.* into v_step from tenure.steps s where s.execution_id = p_execution_id and s.step_id = p_step_id;
  if not found then
    perform tenure.refuse('step_unknown', format('Execution %s has no step %L.', p_execution_id, p_step_id),
      'A step is named by its id in the plan.', format('See tenure.step_list(%L).', p_execution_id));
  end if;
  perform tenure.check_verdict(v_caller, v_exec, p_verdict, p_on_behalf_of);
  if v_step.state <> 'unknown' then
    perform tenure.refuse('state_conflict', format('Step %L is %s.', p_step_id, v_step.state),
      'A verdict is for a step in the state unknown.', format('See tenure.step_list(%L).', p_execution_id));
  end if;
  if p_verdict = 'retry' and v_exec.stopping is not null then
    perform tenure.refuse('state_conflict', format('Execution %s stops (%s).', p_execution_id, v_exec.stopping), 'Nothing more of it starts.', 'Say whether the step succeeded or failed.');
  end if;
  -- The targets of what may follow, too.
  if p_verdict <> 'retry' and not tenure.executions_hold(array[p_execution_id], array[v_step.job_id]) then
    perform tenure.refuse('busy_try_again', 'Somebody is busy with a target of the step, or of one that follows it.', 'A transaction that takes or frees a lock there has not ended.', 'Try again.');
  end if;
  v_now := tenure.now();
  v_told := (p_execution_id, 'step_resolved', v_step.step_number, jsonb_strip_nulls(jsonb_build_object('verdict', p_verdict, 'reason', p_reason, 'on_behalf_of', nullif(p_on_behalf_of, ''),
    'auth_makers', nullif(tenure.auth_makers(v_caller), '{}'),
    'result_bytes', octet_length(p_result::text), 'result_hash', tenure.text_hash(p_result::text))))::tenure.execution_told;
  -- While nobody knew, its clock stood still; and a step that may run once more has the time for it.
  update tenure.executions e
     set steps_unknown = e.steps_unknown - 1,
         timeout_at = greatest(e.timeout_at + tenure.clock_stood(v_exec, coalesce((
           select max(v.at) from tenure.execution_events v where v.execution_id = p_execution_id and v.step_number = v_step.step_number and v.kind = 'step_unknown'), v_now), v_now, null),
           case p_verdict when 'retry' then v_now + make_interval(secs => v_step.timeout_seconds) end)
   where e.execution_id = p_execution_id;
  update tenure.steps s
     set state = case p_verdict when 'retry' then 'waiting' else p_verdict end, ended_at = case p_verdict when 'retry' then null else greatest(v_now, s.started_at) end,
         job_id = case p_verdict when 'retry' then null else s.job_id end,
         output_summary = coalesce(p_result, s.output_summary), output_size_bytes = coalesce(octet_length(p_result::text), s.output_size_bytes), verdict_by = v_caller.principal, verdict_reason = p_reason,
         error_code = case p_verdict when 'succeeded' then null when 'failed' then coalesce(s.error_code, 'outcome_unknown') end,
         error_message = case p_verdict when 'failed' then coalesce(s.error_message, p_reason) end
   where s.execution_id = p_execution_id and s.step_number = v_step.step_number;
  -- At the very moment up to which its clock stood still.
  perform tenure.chain_append(v_now, v_caller.principal, array[v_told]);
  if p_verdict = 'retry' then
    -- The lock was kept: nobody overtakes. It is taken anew, under a greater number; a section goes on with the one it has.
    delete from tenure.locks l where l.execution_id = p_execution_id and l.step_number = v_step.step_number and l.section is null;
    perform tenure.steps_go_on(v_now, v_caller.principal, p_execution_id, array[v_step.step_number], found or v_step.lock_target is null);
    -- It may wait for an approval now: then its target is for others.
    if v_step.lock_target is not null and not exists (select from tenure.locks l where l.execution_id = p_execution_id and l.step_number = v_step.step_number) then
      perform from tenure.lock_targets t where t.tenant_id = v_exec.tenant_id and t.target = v_step.lock_target for no key update;
      perform tenure.lock_freed(v_now, v_caller.principal, v_exec.tenant_id, v_step.lock_target);
    end if;
  else
    perform tenure.executions_advance(v_now, v_caller.principal, array[p_execution_id], array[v_step.step_number], array[p_verdict],
      array[(p_execution_id, case p_verdict when 'succeeded' then 'step_completed' else 'step_failed' end, v_step.step_number, jsonb_build_object('by_verdict', true))::tenure.execution_told]);
  end if;
  perform tenure.executions_schedule(v_now, array[p_execution_id]);
  return (select jsonb_build_object('execution_id', e.execution_id, 'state', e.state, 'step_id', p_step_id,
            'step_state', (select s.state from tenure.steps s where s.execution_id = e.execution_id and s.step_number = v_step.step_number))
            from tenure.executions e where e.execution_id = p_execution_id);
end
$$;

-- Runs the plan of an execution that is over and did not succeed once more: a new execution, with approvals of its own. 'resume' carries over what succeeded; 'restart' begins anew.
-- It takes over the key, if the old one had it still.
create or replace function tenure.execution_retry(p_execution_id uuid, p_mode text default 'resume', p_reason text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_old    tenure.executions;
  v_new    tenure.executions;
  v_plan   tenure.plans;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['resume', 'restart']);
  if p_reason is not null then
    perform tenure.check_name('reason', p_reason);
  end if;
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_old := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  perform tenure.check_retry(v_caller, v_old);
  v_now := tenure.now();
  if v_old.state not in ('failed', 'partially_failed', 'cancelled') then
    perform tenure.refuse_execution_state(v_old, 'retried', 'failed, partially_failed, cancelled', case v_old.state when 'succeeded' then 'Submit the plan again.' when 'rejected' then 'Change the plan, and submit it.' else 'Wait for its end, or cancel it.' end);
  end if;
  if v_old.retried_as is not null then
    perform tenure.refuse('already_replayed', format('Execution %s was retried as %s.', p_execution_id, v_old.retried_as), 'An execution is retried once; its story goes on there.', 'Look at that execution.');
  end if;
  if v_old.reason_code = 'superseded' then
    perform tenure.refuse('state_conflict', format('Execution %s gave way to %s.', p_execution_id,
        (select string_agg(e.execution_id::text, ', ') from tenure.executions e where e.tenant_id = v_caller.tenant_id and e.supersedes = p_execution_id)),
      'A new plan has taken its place; both at once is what nobody asked for.', 'Look at that execution; submit the old plan again if it is wanted after all.');
  end if;
  if v_old.start_before <= v_now then
    perform tenure.refuse('range_invalid', format('It had to start before %s.', v_old.start_before), 'A retry keeps to the window of what it retries.', 'Submit the plan again, with another window.');
  end if;
  update tenure.executions e set key_held = false where e.execution_id = p_execution_id;
  select p.* into v_plan from tenure.plans p where p.execution_id = p_execution_id;
  v_new := tenure.execution_freeze_plan(v_caller, v_now, v_plan.plan, v_plan.plan_snapshot, v_plan.plan_hash, v_old.idempotency_key, v_old.key_origin, v_old.start_after, v_old.start_before, v_old.metadata, p_on_behalf_of, null, p_execution_id);
  if v_new.chain_length > 0 then
    perform tenure.refuse('key_taken', format('The key of execution %s belongs to execution %s now.', p_execution_id, v_new.execution_id), 'Another was submitted with it after this one had ended.', 'Wait for that execution, or cancel it first.');
  end if;
  update tenure.executions e set retried_as = v_new.execution_id where e.execution_id = p_execution_id;
  update tenure.execution_dead_letters d set retried_as = v_new.execution_id, triage_status = 'closed', triaged_at = v_now, triaged_by = v_caller.principal, triage_note = coalesce(p_reason, d.triage_note)
   where d.execution_id = p_execution_id and d.tenant_id = v_caller.tenant_id;
  if p_mode = 'resume' then
    update tenure.steps s
       set state = 'succeeded', carried_from = p_execution_id, attempt = o.attempt, worker = o.worker, started_at = o.started_at, ended_at = o.ended_at, output_summary = o.output_summary,
           output_ref = o.output_ref, output_size_bytes = o.output_size_bytes, verdict_by = o.verdict_by, verdict_reason = o.verdict_reason
      from tenure.steps o
     where s.execution_id = v_new.execution_id and o.execution_id = p_execution_id and o.step_number = s.step_number and o.state = 'succeeded';
    update tenure.steps s set needs_left = (select count(*) from tenure.step_needs n join tenure.steps o on o.execution_id = n.execution_id and o.step_number = n.needs_number
                                             where n.execution_id = s.execution_id and n.step_number = s.step_number and o.state <> 'succeeded')
     where s.execution_id = v_new.execution_id;
    update tenure.executions e set steps_succeeded = c.carried, steps_open = e.step_count - c.carried
      from (select count(*)::integer as carried from tenure.steps s where s.execution_id = v_new.execution_id and s.state = 'succeeded') c
     where e.execution_id = v_new.execution_id;
    perform tenure.chain_append(v_now, v_caller.principal, array[(v_new.execution_id, 'execution_resumed', null, jsonb_build_object('from', p_execution_id, 'reason', p_reason, 'carried',
      (select coalesce(jsonb_agg(s.step_id order by s.step_number), '[]') from tenure.steps s where s.execution_id = v_new.execution_id and s.carried_from is not null)))::tenure.execution_told]);
  end if;
  perform tenure.chain_append(v_now, v_caller.principal, array[(p_execution_id, 'execution_retried', null, jsonb_build_object('as', v_new.execution_id, 'mode', p_mode, 'reason', p_reason))::tenure.execution_told]);
  v_new := tenure.execution_admit(v_now, v_caller.principal, v_new.execution_id);
  return tenure.submission_shown(v_new, false, false, null) || jsonb_build_object('retry_of', p_execution_id, 'carried', v_new.steps_succeeded);
end
$$;

-- Nobody will retry it: the key of a partially failed execution is free again. Closing twice is no error; by then somebody else may have the key, and the answer says who.
create or replace function tenure.execution_close(p_execution_id uuid, p_reason text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_exec   tenure.executions;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_name('reason', p_reason);
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  v_now := tenure.now();
  if v_exec.state <> 'partially_failed' then
    perform tenure.refuse_execution_state(v_exec, 'closed', 'partially_failed', 'Only the key of a partially failed execution stays taken for somebody to decide.');
  end if;
  if v_exec.retried_as is not null then
    perform tenure.refuse('already_replayed', format('Execution %s was retried as %s.', p_execution_id, v_exec.retried_as), 'Its story goes on there, and its key went with it.', 'Look at that execution.');
  end if;
  if v_exec.closed_at is null then
    update tenure.executions e set key_held = false, closed_at = v_now, closed_by = v_caller.principal where e.execution_id = p_execution_id;
    update tenure.execution_dead_letters d set triage_status = 'closed', triaged_at = v_now, triaged_by = v_caller.principal, triage_note = p_reason where d.execution_id = p_execution_id and d.tenant_id = v_caller.tenant_id;
    perform tenure.chain_append(v_now, v_caller.principal, array[(p_execution_id, 'execution_closed', null, jsonb_build_object('reason', p_reason))::tenure.execution_told]);
  end if;
  return jsonb_build_object('execution_id', p_execution_id, 'state', v_exec.state, 'closed', true,
    'key_held_by', (select e.execution_id from tenure.executions e where e.tenant_id = v_caller.tenant_id and e.idempotency_key = v_exec.idempotency_key and e.key_held));
end
$$;

-- Nobody waits any longer for an immediate execution: it goes on in the background, and says so.
create or replace function tenure.execution_background(p_execution_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_exec   tenure.executions;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  if v_exec.mode = 'immediate' and v_exec.ended_at is null then
    update tenure.executions e set mode = 'background' where e.execution_id = p_execution_id;
    perform tenure.chain_append(tenure.now(), v_caller.principal, array[(p_execution_id, 'execution_backgrounded', null, jsonb_build_object('from', 'immediate', 'to', 'background'))::tenure.execution_told]);
    v_exec.mode := 'background';
  end if;
  return jsonb_build_object('execution_id', p_execution_id, 'state', v_exec.state, 'mode', v_exec.mode);
end
$$;

-- Nothing of the tenant that was approved starts until somebody lifts the freeze, or its time is over. What runs goes on.
create or replace function tenure.execution_freeze(p_reason text, p_until timestamptz default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_id     integer;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_name('reason', p_reason);
  perform tenure.check_moment('The end of the freeze', p_until, v_now);
  if p_until <= v_now then
    perform tenure.refuse('range_invalid', format('The freeze ends at %s.', p_until), 'It ends in the future.', 'Give a later moment, or none.');
  end if;
  -- One after the other: only one is in force.
  perform from tenure.tenants t where t.tenant_id = v_caller.tenant_id for no key update;
  update tenure.freezes f set ended_at = greatest(v_now, f.frozen_at), ended_by = v_caller.principal, end_reason = 'Another takes its place.' where f.tenant_id = v_caller.tenant_id and f.ended_at is null;
  insert into tenure.freezes (tenant_id, reason, frozen_at, frozen_by, until) values (v_caller.tenant_id, p_reason, v_now, v_caller.principal, p_until) returning freeze_id into v_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'execution.frozen', v_caller.principal, null, null, jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'until', p_until)));
  return jsonb_build_object('frozen', true, 'reason', p_reason, 'until', p_until);
end
$$;

create or replace function tenure.execution_unfreeze(p_reason text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_was    boolean;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_name('reason', p_reason);
  -- One after the other: only one is in force.
  perform from tenure.tenants t where t.tenant_id = v_caller.tenant_id for no key update;
  -- One that was over by its time froze nothing any more.
  update tenure.freezes f set ended_at = greatest(least(v_now, f.until), f.frozen_at), ended_by = v_caller.principal, end_reason = p_reason where f.tenant_id = v_caller.tenant_id and f.ended_at is null
  returning f.until is null or f.until > v_now into v_was;
  v_was := coalesce(v_was, false);
  if v_was then
    perform tenure.emit(v_now, v_caller.tenant_id, 'execution.unfrozen', v_caller.principal, null, null, jsonb_build_object('reason', p_reason));
    -- Those whom somebody holds are about to look at the freeze themselves, or will be looked at when theirs ends.
    update tenure.executions e set next_at = v_now
     where e.execution_id in (select x.execution_id from tenure.executions x where x.tenant_id = v_caller.tenant_id and x.state = 'approved' and x.parked = 'freeze' for no key update skip locked);
  end if;
  return jsonb_build_object('frozen', false, 'was_frozen', v_was);
end
$$;
