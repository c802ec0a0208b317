-- The frozen plan of an execution: reading it, who may read it, and how two of them differ.

-- True when a payload in the plan is restricted.
create or replace function tenure.is_plan_restricted(p_execution_id uuid) returns boolean
language sql stable
as $$
  select exists (
    select
      from tenure.steps s
     where s.execution_id = p_execution_id
       and s.payload_classification = 'restricted'
       and s.payload <> '{}')
$$;

-- True when the caller may read a plan with a restricted payload. Requesters and approvers may, because they
-- requested it or decide on it; others need restricted payload access.
create or replace function tenure.may_read_plan(p_caller tenure.caller_identity, p_execution_id uuid)
returns boolean
language plpgsql stable
as $$
begin
  return tenure.may_see('restricted')
    or tenure.acts_as('tenure_approver')
    or exists (
      select
        from tenure.executions e
       where e.execution_id = p_execution_id
         and p_caller.principal = any (e.requesters))
    -- A dead letter outlives its execution.
    or exists (
      select
        from tenure.execution_archives a
       where a.execution_id = p_execution_id
         and p_caller.principal = any (a.requesters));
end
$$;

-- The frozen text of a plan. Refuses with not_permitted if a payload is restricted and the caller may not
-- read it.
-- granted to: all
create or replace function tenure.execution_plan(p_execution_id uuid) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_plan   text;
begin
  select p.plan into v_plan
    from tenure.plans p
   where p.execution_id = p_execution_id
     and p.tenant_id = v_caller.tenant_id;
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  if tenure.is_plan_restricted(p_execution_id) and not tenure.may_read_plan(v_caller, p_execution_id) then
    perform tenure.refuse('not_permitted',
      format('The plan of execution %s has a restricted payload.', p_execution_id),
      'An action of it is registered with payload_restricted; its requesters, approvers and admins read the '
        'plan.',
      'Use a key with restricted payload access.');
  end if;
  return v_plan;
end
$$;

-- The difference between the plans of two executions. The caller must be allowed to read both.
-- granted to: all
create or replace function tenure.execution_difference(p_execution_id uuid, p_other_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return tenure.plan_difference(
    tenure.execution_plan(p_execution_id)::jsonb,
    tenure.execution_plan(p_other_id)::jsonb);
end
$$;
