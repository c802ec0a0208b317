-- The guard of what a step is. As in a check, an unknown result is not an error.
create or replace function tenure.steps_shape() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_wrong text := case
    when new.step_number < 1 then 'step_number'
    when new.step_id !~ '\S' then 'step_id'
    when new.action !~ '\S' then 'action'
    when new.action_class not in ('read', 'modify', 'deploy') then 'action_class'
    when new.target_type !~ '\S' then 'target_type'
    when new.target_ref !~ '\S' then 'target_ref'
    when jsonb_typeof(new.payload) <> 'object' then 'payload'
    when new.effects not in ('idempotent', 'once') then 'effects'
    when new.attempts_max < 1 then 'attempts_max'
    when new.timeout_seconds < 1 then 'timeout_seconds'
    when new.renewals_max < 0 then 'renewals_max'
    when new.lease_seconds not between 1 and 86400 then 'lease_seconds'
    when new.approval_level not between 0 and 3 then 'approval_level'
    when new.rule !~ '\S' then 'rule'
    when new.approval_quorum not between 1 and 10 then 'approval_quorum'
    when new.approval_seconds < 1 then 'approval_seconds'
    when new.lock_target is null and new.lock_action is not null then 'lock_action'
  end;
begin
  if v_wrong is not null then
    raise exception using
      errcode = 'check_violation',
      schema = 'tenure',
      table = 'steps',
      column = v_wrong,
      constraint = 'steps_shape',
      message = format('The %s of step %s of execution %s cannot be so.', v_wrong, new.step_number,
        new.execution_id),
      detail = 'It is not among the values it may have.',
      hint = 'Steps are made of plans: tenure.execution_submit(plan).';
  end if;
  return new;
end
$$;
