-- Cancelling an execution, and withdrawing it before it starts.

-- Cancels an execution. Steps that have not started never do; running ones are asked to stop, and the
-- execution is cancelled when the last of them has ended. Cancelling twice is not an error; an execution with
-- another end is refused with state_conflict.
-- granted to: admin, operator
create or replace function tenure.execution_cancel(
  p_execution_id uuid, p_reason text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_exec   tenure.execution_rows;
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
    perform tenure.refuse_execution_state(v_exec, 'cancelled',
      'pending, awaiting_approval, approved, running',
      'It is over; see its timeline.');
  elsif v_exec.state = 'running' and v_exec.stopping is distinct from 'cancelled' then
    perform tenure.execution_stop(v_now, v_caller.principal, p_execution_id, 'cancelled', 'cancelled',
      p_reason, nullif(p_on_behalf_of, ''));
  elsif v_exec.state in ('pending', 'awaiting_approval', 'approved') then
    perform tenure.execution_end_unstarted(v_now, v_caller.principal, p_execution_id, 'cancelled', p_reason,
      nullif(p_on_behalf_of, ''));
  end if;
  return (
    select jsonb_build_object(
             'execution_id', e.execution_id,
             'state', e.state,
             'stopping', e.stopping,
             'steps_open', e.steps_open)
      from tenure.execution_rows e
     where e.execution_id = p_execution_id);
end
$$;

-- Cancels an execution before it starts, for its requester; any other caller is refused with not_permitted.
-- granted to: admin, operator, requester
create or replace function tenure.execution_withdraw(p_execution_id uuid, p_reason text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_exec   tenure.execution_rows;
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
    perform tenure.refuse_execution_state(v_exec, 'withdrawn', 'pending, awaiting_approval, approved',
      case
        when v_exec.ended_at is null then 'An operator cancels it.'
        else 'It is over; see its timeline.'
      end);
  end if;
  perform tenure.execution_end_unstarted(v_now, v_caller.principal, p_execution_id, 'withdrawn', p_reason);
  return jsonb_build_object('execution_id', p_execution_id, 'state', 'cancelled', 'reason_code', 'withdrawn');
end
$$;

-- Ends an execution that has not started, as cancelled or rejected. It has no locks and no jobs yet. The
-- caller has locked it.
create or replace function tenure.execution_end_unstarted(
  p_now timestamptz, p_actor text, p_execution_id uuid, p_reason_code text, p_reason text,
  p_on_behalf_of text default null) returns void
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_entries tenure.chain_entry[];
  v_from text;
  v_to   text := case p_reason_code when 'rejected' then 'rejected' else 'cancelled' end;
begin
  p_now := greatest(p_now, tenure.now());
  select e.state into v_from from tenure.execution_states e where e.execution_id = p_execution_id;
  update tenure.approvals a
     set state = 'withdrawn',
         decided_at = greatest(p_now, a.created_at),
         decided_by = p_actor,
         reason = p_reason
   where a.execution_id = p_execution_id
     and (a.state = 'pending' or (a.state = 'approved' and a.consumed_at is null));
  v_entries := tenure.steps_skip(p_now,
    array(
      select s.execution_id
        from tenure.steps s
       where s.execution_id = p_execution_id
       order by s.step_number),
    array(
      select s.step_number
        from tenure.steps s
       where s.execution_id = p_execution_id
       order by s.step_number),
    p_reason);
  -- One chain entry for all of its steps: none of them has an entry of its own.
  update tenure.execution_states e
     set steps_open = e.steps_open - cardinality(v_entries),
         steps_skipped = e.steps_skipped + cardinality(v_entries)
   where e.execution_id = p_execution_id;
  perform tenure.execution_become(p_now, p_actor, p_execution_id, v_to, p_reason_code, p_reason);
  perform tenure.chain_append(p_now, p_actor, array[(
    p_execution_id, 'execution_' || v_to, null,
    jsonb_build_object(
      'from', v_from,
      'to', v_to,
      'reason_code', p_reason_code,
      'reason', p_reason,
      'skipped', cardinality(v_entries))
    || jsonb_strip_nulls(jsonb_build_object('on_behalf_of', p_on_behalf_of)))::tenure.chain_entry]);
end
$$;
