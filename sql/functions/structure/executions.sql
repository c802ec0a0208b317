-- The guards of executions: how one moves, and what goes with each state.

-- The legal moves of an execution.
-- granted to: all
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

-- Whole milliseconds from one time to the other.
create or replace function tenure.milliseconds(p_from timestamptz, p_to timestamptz) returns bigint
language sql immutable parallel safe
as $$ select round(date_part('epoch', p_to - p_from) * 1000000)::bigint / 1000 $$;

-- Refuses an illegal move, and a start that uses up no approval of this very plan.
create or replace function tenure.execution_states_move() returns trigger
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
       select
         from tenure.executions e
         join tenure.approvals a on a.execution_id = e.execution_id and a.plan_hash = e.plan_hash
        where e.execution_id = new.execution_id
          and a.step_number is null
          and a.state = 'approved'
          and a.consumed_at = new.started_at
          and a.level >= e.approval_level)
  then
    raise exception using
      errcode = 'TN014',
      message = format('Execution %s cannot start without its approval.', old.execution_id),
      detail = 'No approval of its plan is used up by this start.',
      hint = 'Have it approved: tenure.approval_list().';
  end if;
  return new;
end
$$;

-- Refuses values that do not go with the state. As in a check, an unknown result is not an error.
create or replace function tenure.execution_states_values() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_wrong text := case
    when new.state not in ('pending', 'awaiting_approval', 'approved', 'running', 'succeeded',
                           'partially_failed', 'failed', 'cancelled', 'rejected') then 'state'
    when new.mode not in ('immediate', 'background') then 'mode'
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
      table = 'execution_states',
      column = v_wrong,
      constraint = 'execution_states_values',
      message = format('Invalid %s for execution %s, which is %s.', v_wrong, new.execution_id, new.state),
      detail = 'It is not one of the values allowed in this state.',
      hint = 'Change executions only through the functions of schema tenure.';
  end if;
  return new;
end
$$;
