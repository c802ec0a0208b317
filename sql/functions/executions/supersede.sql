-- Replacing an execution that has not started by a new plan.

-- Calls off the execution that a submission replaces, and returns how the plans differ. When nothing is left
-- to submit, because the submission or the plan is the same as before, it returns the answer instead. Refuses
-- a key that another execution has; then nothing is cancelled.
create or replace function tenure.execution_supersede(
  p_caller tenure.caller_identity, p_now timestamptz, p_submission tenure.submission,
  out answer jsonb, out difference jsonb)
language plpgsql
as $$
declare
  v_old  tenure.execution_rows;
  v_same tenure.execution_rows;
begin
  v_old := tenure.execution_locked(p_caller.tenant_id, p_submission.supersedes);
  -- Looked up after the lock: the same submission by another session counts as this one.
  select e.*
    into v_same
    from tenure.execution_rows e
    join tenure.execution_states s on s.execution_id = e.execution_id
   where s.tenant_id = p_caller.tenant_id
     and s.held_key = p_submission.key
     and e.plan_hash = p_submission.plan_hash
     and e.supersedes = p_submission.supersedes;
  if found then
    answer := tenure.submission_shown(v_same, true, false, null);
    return;
  end if;
  if v_old.plan_hash = p_submission.plan_hash and v_old.ended_at is null then
    answer := tenure.submission_shown(v_old, false, true, null);
    return;
  end if;
  perform tenure.check_supersedes(p_caller, v_old, p_submission.plan);
  perform tenure.check_superseding_key(p_caller.tenant_id, p_submission);
  -- A caller who may not read the old plan learns only that it was a different one.
  difference := case
    when tenure.is_plan_restricted(v_old.execution_id)
      and not tenure.may_read_plan(p_caller, v_old.execution_id) then null
    else tenure.plan_difference(
      (select p.plan_snapshot from tenure.plans p where p.execution_id = v_old.execution_id),
      p_submission.plan)
  end;
  perform tenure.execution_end_unstarted(p_now, p_caller.principal, v_old.execution_id, 'superseded',
    format('A new plan, %s, takes its place.', p_submission.plan_hash));
end
$$;

-- Refuses to replace an execution that has started, that has another purpose, or that belongs to another
-- requester when the caller is not an operator.
create or replace function tenure.check_supersedes(
  p_caller tenure.caller_identity, p_old tenure.execution_rows, p_plan jsonb) returns void
language plpgsql
as $$
begin
  if p_old.state not in ('pending', 'awaiting_approval', 'approved') then
    perform tenure.refuse('state_conflict',
      format('Execution %s is %s and cannot be superseded.', p_old.execution_id, p_old.state),
      'That is possible until it starts.',
      case
        when p_old.ended_at is null then 'Cancel it, or wait for its end.'
        else 'Submit the plan without superseding anything.'
      end);
  end if;
  if p_old.purpose <> p_plan ->> 'purpose' then
    perform tenure.refuse('state_conflict',
      format('Execution %s is for %L, the new plan for %L.',
        p_old.execution_id, p_old.purpose, p_plan ->> 'purpose'),
      'A plan takes the place of one for the same purpose.',
      'Submit it by itself, and withdraw the other.');
  end if;
  if p_old.requested_by <> p_caller.principal
     and not (tenure.acts_as('tenure_operator') or tenure.acts_as('tenure_admin') or tenure.is_trusted()) then
    perform tenure.refuse('not_permitted',
      format('Execution %s was requested by %s.', p_old.execution_id, p_old.requested_by),
      'Who requested it, or an operator, puts another in its place.',
      'Ask one of them.');
  end if;
end
$$;

-- Refuses a key that belongs to an execution other than the one to be replaced.
create or replace function tenure.check_superseding_key(p_tenant_id integer, p_submission tenure.submission)
returns void
language plpgsql
as $$
declare
  v_other record;
begin
  select s.execution_id, e.plan_hash
    into v_other
    from tenure.execution_states s
    join tenure.executions e on e.execution_id = s.execution_id
   where s.tenant_id = p_tenant_id
     and s.held_key = p_submission.key
     and s.execution_id <> p_submission.supersedes;
  if not found then
    return;
  end if;
  if v_other.plan_hash <> p_submission.plan_hash then
    perform tenure.refuse('plan_differs',
      format('The key names execution %s, whose plan has the hash %s; yours has %s.',
        v_other.execution_id, v_other.plan_hash, p_submission.plan_hash),
      'A key stands for one plan; nothing was cancelled.',
      'Use another key, or look at that execution.');
  end if;
  perform tenure.refuse('key_taken', format('The key belongs to execution %s.', v_other.execution_id),
    'What supersedes another is new; nothing was cancelled.',
    'Use another key.');
end
$$;
