-- Approvals are requested: of a plan, or of one of its steps.

-- Requests a decision about the plan of an execution, or about one step of it.
create or replace function tenure.approval_request(
  p_now timestamptz, p_execution tenure.execution_rows, p_plan tenure.plans, p_terms tenure.approval_terms)
returns tenure.approvals
language sql
as $$
  insert into tenure.approvals (approval_id, tenant_id, execution_id, step_number, plan_hash,
    plan_snapshot_hash, level, roles, quorum, rule, runbook_ref, state, created_at, escalate_at, expires_at)
  values (tenure.new_id(p_now), p_execution.tenant_id, p_execution.execution_id, p_terms.step_number,
    p_plan.plan_hash, p_plan.plan_snapshot_hash, p_terms.level, coalesce(p_terms.roles, '{}'),
    p_terms.quorum, p_terms.rule, p_execution.runbook_ref, 'pending', p_now,
    p_now + make_interval(secs => p_terms.expires_seconds
      * tenure.setting_integer(p_execution.tenant_id, 'approvals.escalate_percent') / 100.0),
    p_now + make_interval(secs => p_terms.expires_seconds))
  returning *
$$;

-- What the event of a request says: what it takes, and enough for a message to an approver, with a link.
create or replace function tenure.approval_request_data(
  p_approval tenure.approvals, p_execution tenure.execution_rows) returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'approval_id', p_approval.approval_id,
    'purpose', p_execution.purpose,
    'requested_by', p_execution.requested_by,
    'on_behalf_of', p_execution.on_behalf_of,
    'link', rtrim(tenure.setting(p_execution.tenant_id, 'server.public_url') #>> '{}', '/')
      || '/v1/approvals/' || p_approval.approval_id,
    'level', p_approval.level,
    'roles', p_approval.roles,
    'quorum', p_approval.quorum,
    'rule', p_approval.rule,
    'plan_hash', p_approval.plan_hash,
    'created_at', p_approval.created_at,
    'expires_at', p_approval.expires_at))
$$;
