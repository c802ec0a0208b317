-- Approvals of single steps, and steps that go on after a decision.

-- Requests the approval of single steps where it is missing. Returns the steps that need none any more, and
-- the events to append.
create or replace function tenure.step_approvals_request(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], inout entries tenure.chain_entry[],
  out execs uuid[], out numbers integer[])
language plpgsql
as $$
declare
  v_step  record;
  v_row   tenure.execution_rows;
  v_plan  tenure.plans;
  v_terms tenure.approval_terms;
  v_asked tenure.approvals;
begin
  execs := '{}';
  numbers := '{}';
  entries := tenure.step_approvals_withdraw(p_now, p_execs, p_numbers, entries);
  for v_step in
    select s.execution_id, s.step_number, s.rule, s.approval_roles, s.approval_quorum, s.approval_seconds,
           s.approval_level < 3 or exists (
             select
               from tenure.approvals a
              where a.execution_id = s.execution_id
                and a.step_number = s.step_number
                and a.state = 'approved'
                and a.consumed_at is null) as allowed
      from unnest(p_execs, p_numbers) t (e, n)
      join tenure.steps s on s.execution_id = t.e and s.step_number = t.n
     order by s.execution_id, s.step_number
  loop
    if v_step.allowed then
      execs := execs || v_step.execution_id;
      numbers := numbers || v_step.step_number;
      continue;
    end if;
    select e.* into v_row from tenure.execution_rows e where e.execution_id = v_step.execution_id;
    select p.* into v_plan from tenure.plans p where p.execution_id = v_step.execution_id;
    v_terms.step_number := v_step.step_number;
    v_terms.level := 3;
    v_terms.rule := v_step.rule;
    v_terms.roles := v_step.approval_roles;
    v_terms.quorum := v_step.approval_quorum;
    v_terms.expires_seconds := v_step.approval_seconds;
    v_asked := tenure.approval_request(p_now, v_row, v_plan, v_terms);
    update tenure.step_states s
       set state = 'awaiting_approval',
           needs_left = 0
     where s.execution_id = v_step.execution_id
       and s.step_number = v_step.step_number;
    perform tenure.executions_set_due(p_now, array[v_step.execution_id]);
    entries := entries || (v_step.execution_id, 'approval_requested', v_step.step_number,
      tenure.approval_request_data(v_asked, v_row))::tenure.chain_entry;
  end loop;
end
$$;

-- Dispatches steps of one execution that may go now: after an approval of their own, or after a verdict. The
-- caller holds the execution.
create or replace function tenure.steps_dispatch_held(
  p_now timestamptz, p_actor text, p_execution_id uuid, p_numbers integer[], p_granted boolean) returns void
language plpgsql
as $$
declare
  v_exec tenure.execution_rows;
  v_done record;
begin
  select e.* into v_exec from tenure.execution_rows e where e.execution_id = p_execution_id;
  if v_exec.state = 'approved' then
    perform tenure.executions_try_start(p_now, p_actor, array[p_execution_id]);
    return;
  end if;
  perform
     from tenure.lock_targets t
     join tenure.steps s
       on s.tenant_id = t.tenant_id
      and s.lock_target = t.target
      and s.execution_id = p_execution_id
      and s.step_number = any (p_numbers)
    order by t.tenant_id, t.target
      for no key update of t;
  p_now := greatest(p_now, tenure.now());
  v_done := tenure.steps_dispatch(p_now, p_actor, array_fill(p_execution_id, array[cardinality(p_numbers)]),
    p_numbers, p_granted, false, '{}');
  perform tenure.executions_advance(p_now, p_actor, v_done.refused_execs, v_done.refused_numbers,
    array_fill('failed'::text, array[cardinality(v_done.refused_execs)]), v_done.entries);
end
$$;
