-- What follows from a decision about a plan or a step, or from its expiry.

-- Carries out a decision about a plan or a step, or its expiry. The caller holds the execution.
create or replace function tenure.approval_apply(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_reason text) returns void
language plpgsql
as $$
declare
  v_exec tenure.execution_rows;
begin
  if p_approval.state = 'pending' then
    return;
  end if;
  p_approval.reason := coalesce(p_reason, p_approval.reason);
  select e.* into v_exec from tenure.execution_rows e where e.execution_id = p_approval.execution_id;
  if p_approval.step_number is null then
    perform tenure.approval_apply_to_plan(p_now, p_actor, p_approval, v_exec);
  else
    perform tenure.approval_apply_to_step(p_now, p_actor, p_approval, v_exec);
  end if;
end
$$;

-- The event of a decision.
create or replace function tenure.approval_event(p_approval tenure.approvals) returns tenure.chain_entry
language sql stable
as $$
  select (
    p_approval.execution_id, 'approval_' || p_approval.state, p_approval.step_number,
    jsonb_strip_nulls(jsonb_build_object(
      'approval_id', p_approval.approval_id,
      'plan_hash', p_approval.plan_hash,
      'reason', p_approval.reason)))::tenure.chain_entry
$$;

-- Begins an execution whose plan was approved, and calls off one whose plan was not.
create or replace function tenure.approval_apply_to_plan(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows)
returns void
language plpgsql
as $$
declare
  v_lapses timestamptz;
begin
  if p_approval.state <> 'approved' then
    perform tenure.chain_append(p_now, p_actor, array[tenure.approval_event(p_approval)]);
    perform tenure.execution_end_unstarted(p_now, p_actor, p_execution.execution_id,
      case p_approval.state when 'rejected' then 'rejected' else 'approval_expired' end,
      p_approval.reason);
    return;
  end if;
  perform tenure.execution_become(p_now, p_actor, p_execution.execution_id, 'approved', null, null);
  update tenure.execution_states e
     set lapses_at = tenure.execution_lapses_at(p_now, p_execution)
   where e.execution_id = p_execution.execution_id
  returning e.lapses_at into v_lapses;
  perform tenure.chain_append(p_now, p_actor, array[
    tenure.approval_event(p_approval),
    (p_execution.execution_id, 'execution_approved', null, jsonb_strip_nulls(jsonb_build_object(
      'from', p_execution.state,
      'to', 'approved',
      'lapses_at', v_lapses)))::tenure.chain_entry]);
  perform tenure.executions_try_start(p_now, p_actor, array[p_execution.execution_id]);
end
$$;

-- Goes on with a step that was approved, and fails one that was not.
create or replace function tenure.approval_apply_to_step(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows)
returns void
language plpgsql
as $$
begin
  perform tenure.chain_append(p_now, p_actor, array[tenure.approval_event(p_approval)]);
  -- The clock of the execution stands still while the decision is pending.
  update tenure.execution_states e
     set timeout_at = e.timeout_at + tenure.clock_stood(p_execution, p_approval.created_at,
           p_approval.decided_at, p_approval.approval_id)
   where e.execution_id = p_execution.execution_id
     and e.timeout_at is not null;
  if p_approval.state = 'approved' then
    update tenure.step_states s
       set state = 'waiting'
     where s.execution_id = p_execution.execution_id
       and s.step_number = p_approval.step_number
       and s.state = 'awaiting_approval';
    if p_execution.stopping is null then
      perform tenure.steps_dispatch_held(p_now, p_actor, p_execution.execution_id,
        array[p_approval.step_number],
        false);
    end if;
  else
    perform tenure.step_fail_unapproved(p_now, p_actor, p_approval, p_execution);
  end if;
  perform tenure.executions_set_due(p_now, array[p_execution.execution_id]);
end
$$;

-- Fails a step that was rejected, or not decided about in time. An execution that has not begun cannot fail:
-- it is called off.
create or replace function tenure.step_fail_unapproved(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows)
returns void
language plpgsql
as $$
declare
  v_begun boolean := p_execution.state <> 'approved';
  v_step  tenure.step_states;
begin
  update tenure.step_states s
     set state = case when v_begun then 'failed' else s.state end,
         ended_at = case when v_begun then greatest(p_now, s.started_at) end,
         error_code = case p_approval.state when 'rejected' then 'rejected' else 'approval_expired' end,
         error_class = 'approval',
         error_message = p_approval.reason
   where s.execution_id = p_execution.execution_id
     and s.step_number = p_approval.step_number
     and s.state = 'awaiting_approval'
  returning s.* into v_step;
  if not v_begun then
    perform tenure.execution_end_unstarted(p_now, p_actor, p_execution.execution_id,
      case p_approval.state when 'rejected' then 'step_rejected' else 'approval_expired' end,
      p_approval.reason);
    return;
  end if;
  perform tenure.executions_advance(p_now, p_actor, array[p_execution.execution_id],
    array[p_approval.step_number], array['failed'], array[(
      p_execution.execution_id, 'step_failed', p_approval.step_number, jsonb_strip_nulls(jsonb_build_object(
        'error_code', v_step.error_code,
        'error_class', v_step.error_class,
        'error_message', left(v_step.error_message, 500),
        'ended_at', v_step.ended_at)))::tenure.chain_entry]);
end
$$;
