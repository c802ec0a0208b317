-- Admitting a frozen plan to its approval or to its start, and the transitions of an execution.

-- Requests the approval that the rules demand, or records that they demand none and starts the execution.
-- Refuses with busy_try_again when the rules or registrations changed since the plan was frozen.
create or replace function tenure.execution_admit(p_now timestamptz, p_actor text, p_execution_id uuid)
returns tenure.execution_rows
language plpgsql
as $$
declare
  v_row   tenure.execution_rows;
  v_plan  tenure.plans;
  v_terms tenure.approval_terms;
begin
  select e.* into strict v_row from tenure.execution_rows e where e.execution_id = p_execution_id;
  select p.* into strict v_plan from tenure.plans p where p.execution_id = p_execution_id;
  v_terms := tenure.execution_terms(v_row, v_plan.plan_snapshot);
  if v_row.approval_level = 0 then
    perform tenure.execution_approve_by_rule(p_now, p_actor, v_row, v_plan);
  else
    perform tenure.execution_request_approval(p_now, p_actor, v_row, v_plan, v_terms);
  end if;
  select e.* into strict v_row from tenure.execution_rows e where e.execution_id = p_execution_id;
  return v_row;
end
$$;

-- The terms of approval of a frozen plan. They are read again: the transaction may have waited for another
-- submission since the rules were read, and no execution may be judged partly by old rules and partly by new
-- ones. Refuses with busy_try_again when they differ.
create or replace function tenure.execution_terms(p_execution tenure.execution_rows, p_plan jsonb)
returns tenure.approval_terms
language plpgsql
as $$
declare
  v_resolved jsonb := tenure.plan_resolve(p_execution.tenant_id, p_plan);
  v_rules    record;
  v_terms    tenure.approval_terms;
begin
  v_rules := tenure.plan_terms(p_execution.tenant_id, p_execution.requesters, v_resolved);
  if (v_rules.level, v_rules.rule, v_rules.start_window)
       is distinct from (p_execution.approval_level::integer, p_execution.rule, p_execution.start_window)
     or not tenure.is_resolved_so(p_execution.execution_id, v_resolved)
     or not tenure.is_ruled_so(
       p_execution.execution_id, p_execution.tenant_id, p_execution.requesters, v_resolved) then
    perform tenure.refuse('busy_try_again',
      'The rules of approval, or the registered actions, were changed just now.',
      'The plan was looked at by the old ones; nothing was submitted.',
      'Try again.');
  end if;
  perform tenure.check_actions(v_resolved);
  perform tenure.check_look_alikes(p_execution.tenant_id, v_resolved);
  v_terms.level := v_rules.level;
  v_terms.rule := v_rules.rule;
  v_terms.roles := v_rules.roles;
  v_terms.quorum := v_rules.quorum;
  v_terms.expires_seconds := v_rules.expires_seconds;
  return v_terms;
end
$$;

-- Records that the rules demand no approval, and begins the execution.
create or replace function tenure.execution_approve_by_rule(
  p_now timestamptz, p_actor text, p_execution tenure.execution_rows, p_plan tenure.plans) returns void
language plpgsql
as $$
declare
  v_id       uuid := p_execution.execution_id;
  v_approval tenure.approvals;
begin
  insert into tenure.approvals (approval_id, tenant_id, execution_id, plan_hash, plan_snapshot_hash, level,
    rule, auto_approved, state, created_at, decided_at, decided_by, reason)
  values (tenure.new_id(p_now), p_execution.tenant_id, v_id, p_plan.plan_hash, p_plan.plan_snapshot_hash, 0,
    p_execution.rule, true, 'approved', p_now, p_now, 'policy',
    format('The rule %s asks for no approval.', p_execution.rule))
  returning * into v_approval;
  perform tenure.execution_become(p_now, 'policy', v_id, 'approved', null, null);
  perform tenure.chain_append(p_now, 'policy', array[
    (v_id, 'approval_approved', null, jsonb_build_object(
      'approval_id', v_approval.approval_id,
      'level', 0,
      'rule', p_execution.rule,
      'plan_hash', p_execution.plan_hash,
      'auto_approved', true,
      'reason', v_approval.reason))::tenure.chain_entry,
    (v_id, 'execution_approved', null,
      jsonb_build_object('from', 'pending', 'to', 'approved'))::tenure.chain_entry]);
  perform tenure.executions_try_start(p_now, p_actor, array[v_id]);
end
$$;

-- Requests the approval of a plan; the execution waits for it.
create or replace function tenure.execution_request_approval(
  p_now timestamptz, p_actor text, p_execution tenure.execution_rows, p_plan tenure.plans,
  p_terms tenure.approval_terms) returns void
language plpgsql
as $$
declare
  v_id       uuid := p_execution.execution_id;
  v_approval tenure.approvals;
begin
  v_approval := tenure.approval_request(p_now, p_execution, p_plan, p_terms);
  perform tenure.execution_become(p_now, p_actor, v_id, 'awaiting_approval', null, null);
  perform tenure.chain_append(p_now, p_actor, array[
    (v_id, 'approval_requested', null,
      tenure.approval_request_data(v_approval, p_execution)
        || jsonb_build_object('from', 'pending', 'to', 'awaiting_approval'))::tenure.chain_entry]);
  perform tenure.executions_set_due(p_now, array[v_id]);
end
$$;

-- One transition of an execution. With an end, the columns of an end are written too, and the key is freed
-- or stays taken.
create or replace function tenure.execution_become(
  p_now timestamptz, p_actor text, p_execution_id uuid, p_state text, p_reason_code text, p_reason text)
returns void
language plpgsql
as $$
begin
  update tenure.execution_states e
     set state = p_state,
         last_state = e.state,
         last_transition_at = p_now,
         last_transition_by = p_actor,
         approved_at = case p_state when 'approved' then p_now else e.approved_at end,
         ended_at = case
           when p_state in ('succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected')
             then greatest(p_now, e.started_at)
         end,
         cancelled_at = case p_state when 'cancelled' then greatest(p_now, e.started_at) end,
         cancelled_by = case p_state when 'cancelled' then p_actor end,
         reason_code = coalesce(p_reason_code, e.reason_code),
         reason = coalesce(p_reason, e.reason),
         parked = null,
         next_at = case
           when p_state in ('succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected') then null
           else e.next_at
         end,
         held_key = case when p_state not in ('failed', 'cancelled', 'rejected') then e.held_key end
   where e.execution_id = p_execution_id;
end
$$;
