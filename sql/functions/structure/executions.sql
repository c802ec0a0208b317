-- The guards of executions: how one moves, what it is, and how it stands.

-- The legal moves of an execution.
create or replace function tenure.execution_moves() returns table (from_state text, to_state text)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  values ('pending', 'awaiting_approval'),
         ('pending', 'approved'),
         ('pending', 'cancelled'),
         ('awaiting_approval', 'approved'),
         ('awaiting_approval', 'rejected'),
         ('awaiting_approval', 'cancelled'),
         ('approved', 'running'),
         ('approved', 'cancelled'),
         ('running', 'succeeded'),
         ('running', 'partially_failed'),
         ('running', 'failed'),
         ('running', 'cancelled')
$$;

-- Refuses an illegal move, a change of what was frozen, and a start that uses up no approval of this very
-- plan.
create or replace function tenure.executions_move() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'INSERT' then
    raise exception using
      errcode = 'TN014',
      message = format('Execution %s cannot begin as %s.', new.execution_id, new.state),
      detail = 'Every execution begins as pending.',
      hint = 'Submit it: tenure.execution_submit(plan).';
  end if;
  if (old.execution_id, old.tenant_id, old.purpose, old.plan_hash, old.idempotency_key, old.requested_by,
      old.requesters, old.approval_level, old.step_count, old.created_at, old.rule)
     is distinct from (new.execution_id, new.tenant_id, new.purpose, new.plan_hash, new.idempotency_key,
       new.requested_by, new.requesters, new.approval_level, new.step_count, new.created_at, new.rule)
  then
    raise exception using
      errcode = 'TN014',
      message = format('What execution %s is cannot be changed.', old.execution_id),
      detail = 'Its plan was frozen when it was submitted.',
      hint = 'Submit another plan that supersedes it.';
  end if;
  if not exists (select from tenure.execution_moves() m
                  where m.from_state = old.state and m.to_state = new.state)
  then
    raise exception using
      errcode = 'TN014',
      message = format('Execution %s is %s and cannot become %s.', old.execution_id, old.state, new.state),
      detail = format('From %s it goes to: %s.', old.state,
        coalesce((select string_agg(m.to_state, ', ')
                    from tenure.execution_moves() m
                   where m.from_state = old.state), 'nothing, it is over')),
      hint = 'See its timeline: tenure.execution_timeline(execution).';
  end if;
  if new.state = 'running' and not exists (
       select from tenure.approvals a
        where a.execution_id = new.execution_id
          and a.step_number is null
          and a.plan_hash = new.plan_hash
          and a.state = 'approved'
          and a.consumed_at = new.started_at
          and a.level >= new.approval_level)
  then
    raise exception using
      errcode = 'TN014',
      message = format('Execution %s cannot start without its approval.', old.execution_id),
      detail = format('No approval of its plan %s is used up by this start.', new.plan_hash),
      hint = 'Have it approved: tenure.approval_list().';
  end if;
  return new;
end
$$;

-- What it is. As in a check, an unknown result is not an error.
create or replace function tenure.executions_shape() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_wrong text := case
    when new.purpose !~ '\S' then 'purpose'
    when new.plan_hash !~ '^[0-9a-f]{64}$' then 'plan_hash'
    when new.idempotency_key !~ '\S' or length(new.idempotency_key) > 255 then 'idempotency_key'
    when new.key_origin not in ('given', 'derived') then 'key_origin'
    when new.sla_class not in ('fast', 'medium', 'long') then 'sla_class'
    when new.action_class not in ('read', 'modify', 'deploy') then 'action_class'
    when new.mode not in ('immediate', 'background') then 'mode'
    when new.on_step_failure not in ('stop', 'continue') then 'on_step_failure'
    when new.approval_level not between 0 and 3 then 'approval_level'
    when new.rule !~ '\S' then 'rule'
    when new.runbook_ref !~ '\S' or (new.approval_level >= 2 and new.runbook_ref is null) then 'runbook_ref'
    when new.requested_by !~ '\S' then 'requested_by'
    when not array_remove(array[new.requested_by, new.on_behalf_of], null) <@ new.requesters then 'requesters'
    when not isfinite(new.start_after) then 'start_after'
    when not isfinite(new.start_before) or new.start_before <= new.start_after then 'start_before'
    when new.plan_size_bytes < 1 then 'plan_size_bytes'
    when new.target_count < 1 then 'target_count'
    when new.timeout_ms < 1 then 'timeout_ms'
    when jsonb_typeof(new.metadata) <> 'object' then 'metadata'
  end;
begin
  if v_wrong is not null then
    raise exception using
      errcode = 'check_violation',
      schema = 'tenure',
      table = 'executions',
      column = v_wrong,
      constraint = 'executions_shape',
      message = format('The %s of execution %s cannot be so.', v_wrong, new.execution_id),
      detail = 'It is not among the values it may have.',
      hint = 'Submit a plan: tenure.execution_submit(plan).';
  end if;
  return new;
end
$$;

-- How it stands.
create or replace function tenure.executions_stand() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_wrong text := case
    when new.state not in ('pending', 'awaiting_approval', 'approved', 'running', 'succeeded',
                           'partially_failed', 'failed', 'cancelled', 'rejected') then 'state'
    when new.parked not in ('window', 'freeze') or (new.parked is not null and new.state <> 'approved')
      then 'parked'
    when new.stopping not in ('step_failed', 'cancelled', 'timed_out') then 'stopping'
    when new.stopped_by !~ '\S' then 'stopped_by'
    when new.reason_code !~ '\S' then 'reason_code'
    when new.last_transition_by !~ '\S' then 'last_transition_by'
    when length(new.error_class) > 200 then 'error_class'
    when octet_length(new.error_message) > 4000 then 'error_message'
    when octet_length(new.result_summary::text) > 10240 then 'result_summary'
    when new.started_at < new.created_at
      or (new.started_at is null) = (new.state in ('running', 'succeeded', 'partially_failed', 'failed'))
      and new.state <> 'cancelled' then 'started_at'
    when new.ended_at < coalesce(new.started_at, new.created_at)
      or (new.ended_at is null)
         = (new.state in ('succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected')) then 'ended_at'
    when (new.cancelled_at is null) = (new.state = 'cancelled')
      or (new.cancelled_at is null) <> (new.cancelled_by is null) then 'cancelled_at'
  end;
begin
  if v_wrong is not null then
    raise exception using
      errcode = 'check_violation',
      schema = 'tenure',
      table = 'executions',
      column = v_wrong,
      constraint = 'executions_stand',
      message = format('The %s of execution %s cannot be so while it is %s.', v_wrong,
        new.execution_id, new.state),
      detail = 'It is not among the values it may have, or does not go with the state.',
      hint = 'Executions change by the functions of the schema.';
  end if;
  return new;
end
$$;
