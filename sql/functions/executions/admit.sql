-- Admitting a frozen plan to its approval or to its start, and the transitions of an execution.

-- Requests the approval that the rules demand, or records that they demand none and starts the execution.
-- Refuses with busy_try_again when the rules or registrations changed since the plan was frozen.
create or replace function tenure.execution_admit(p_now timestamptz, p_actor text, p_execution_id uuid)
returns tenure.execution_rows
language plpgsql
as $$
declare
  v_row   tenure.execution_rows;
  v_terms record;
  v_plan  tenure.plans;
  v_resolved jsonb;
  v_asked tenure.approvals;
begin
  select e.* into strict v_row from tenure.execution_rows e where e.execution_id = p_execution_id;
  select p.* into strict v_plan from tenure.plans p where p.execution_id = p_execution_id;
  -- Read again: the transaction may have waited for another submission since the rules were read, and no
  -- execution may be judged partly by old rules and partly by new ones.
  v_resolved := tenure.plan_resolve(v_row.tenant_id, v_plan.plan_snapshot);
  v_terms := tenure.plan_terms(v_row.tenant_id, v_row.requesters, v_resolved);
  if (v_terms.level, v_terms.rule, v_terms.start_window)
       is distinct from (v_row.approval_level::integer, v_row.rule, v_row.start_window)
     or not tenure.is_resolved_so(p_execution_id, v_resolved)
     or not tenure.is_ruled_so(p_execution_id, v_row.tenant_id, v_row.requesters, v_resolved) then
    perform tenure.refuse('busy_try_again',
      'The rules of approval, or the registered actions, were changed just now.',
      'The plan was looked at by the old ones; nothing was submitted.',
      'Try again.');
  end if;
  perform tenure.check_actions(v_resolved);
  perform tenure.check_look_alikes(v_row.tenant_id, v_resolved);
  if v_row.approval_level = 0 then
    insert into tenure.approvals (approval_id, tenant_id, execution_id, plan_hash, plan_snapshot_hash, level,
      rule, auto_approved, state, created_at, decided_at, decided_by, reason)
    values (tenure.new_id(p_now), v_row.tenant_id, p_execution_id, v_plan.plan_hash,
      v_plan.plan_snapshot_hash, 0, v_row.rule, true, 'approved', p_now, p_now, 'policy',
      format('The rule %s asks for no approval.', v_row.rule))
    returning * into v_asked;
    perform tenure.execution_become(p_now, 'policy', p_execution_id, 'approved', null, null);
    perform tenure.chain_append(p_now, 'policy', array[
      (p_execution_id, 'approval_approved', null, jsonb_build_object(
        'approval_id', v_asked.approval_id,
        'level', 0,
        'rule', v_row.rule,
        'plan_hash', v_row.plan_hash,
        'auto_approved', true,
        'reason', v_asked.reason))::tenure.execution_told,
      (p_execution_id, 'execution_approved', null,
        jsonb_build_object('from', 'pending', 'to', 'approved'))::tenure.execution_told]);
    perform tenure.executions_begin(p_now, p_actor, array[p_execution_id]);
  else
    v_asked := tenure.approval_request(p_now, v_row, v_plan, null, v_row.approval_level, v_terms.roles,
      v_terms.quorum, v_terms.expires_seconds, v_row.rule);
    perform tenure.execution_become(p_now, p_actor, p_execution_id, 'awaiting_approval', null, null);
    perform tenure.chain_append(p_now, p_actor, array[
      (p_execution_id, 'approval_requested', null,
        tenure.approval_asked(v_asked.approval_id, v_row) || jsonb_build_object(
          'from', 'pending',
          'to', 'awaiting_approval',
          'level', v_row.approval_level,
          'roles', v_terms.roles,
          'quorum', v_terms.quorum,
          'rule', v_row.rule,
          'plan_hash', v_row.plan_hash,
          'created_at', v_asked.created_at,
          'expires_at', v_asked.expires_at))::tenure.execution_told]);
    perform tenure.executions_schedule(p_now, array[p_execution_id]);
  end if;
  select e.* into strict v_row from tenure.execution_rows e where e.execution_id = p_execution_id;
  return v_row;
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
