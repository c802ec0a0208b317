-- The resolved plan: every step with the class, level and lock that its registered action demands, or
-- stricter ones where the plan has them. The frozen text does not change; every submission, retry and
-- preview works with the resolved plan.

-- The plan with each step resolved. Never refuses and never lowers: the stricter of the plan and the
-- registration counts. tenure.check_actions refuses a plan that states less.
create or replace function tenure.plan_resolve(p_tenant_id integer, p_plan jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_default record := tenure.action_default(p_tenant_id);
begin
  return jsonb_set(p_plan, '{steps}', (
    with steps as materialized (
      select t.n, t.s, t.s ->> 'action' as action, coalesce(t.s ->> 'kind', t.s ->> 'action') as kind
        from jsonb_array_elements(p_plan -> 'steps') with ordinality t (s, n)
    ), demands as materialized (
      select u.action, u.kind, m.registration, m.kinds,
             coalesce(m.action_class, v_default.action_class) as action_class,
             coalesce(m.level_min, v_default.level_min) as level_min,
             coalesce(m.lock_scope, v_default.lock_scope) as lock_scope,
             coalesce(m.payload_restricted, false) as restricted,
             coalesce(m.kind_allowed, true) as kind_allowed,
             coalesce((select k.executor from tenure.kinds k
                        where k.tenant_id = p_tenant_id and k.kind = u.kind), 'external_worker') as executor
        from (select distinct s.action, s.kind from steps s) u
        left join lateral tenure.action_match(p_tenant_id, u.action, u.kind) m on true
    ), folds as materialized (
      select y.target_type,
             exists (
               select
                 from tenure.target_types t
                where t.tenant_id = p_tenant_id
                  and t.name = y.target_type
                  and t.case_rule = 'lower') as fold
        from (select distinct s.s ->> 'target_type' as target_type from steps s) y
    )
    select jsonb_agg(s.s || jsonb_build_object(
             'action_class', c.class,
             'lock_scope', tenure.stricter_lock(
               coalesce(s.s ->> 'lock_scope', case c.class when 'read' then 'none' else 'target' end),
               d.lock_scope),
             'resolved', jsonb_build_object(
               'registration', d.registration,
               'class', d.action_class,
               'level_min', d.level_min,
               'lock_scope', d.lock_scope,
               'restricted', d.restricted,
               'kind_allowed', d.kind_allowed,
               'kinds', d.kinds,
               'fold', f.fold,
               'executor', coalesce(s.s ->> 'executor', d.executor),
               'said_class', s.s ->> 'action_class',
               'said_lock', s.s ->> 'lock_scope')) order by s.n)
      from steps s
      join demands d on d.action = s.action and d.kind = s.kind
      join folds f on f.target_type = s.s ->> 'target_type'
      cross join lateral (
        select tenure.stricter_class(s.s ->> 'action_class', d.action_class) as class) c));
end
$$;

-- The stricter of two action classes; deploy, the strictest, when neither is known.
create or replace function tenure.stricter_class(p_said text, p_demanded text) returns text
language sql immutable parallel safe
as $$
  select case
    when p_said is null and p_demanded is null then 'deploy'
    when p_demanded is null or tenure.class_reach(p_said) >= tenure.class_reach(p_demanded) then p_said
    else p_demanded
  end
$$;

-- The lock scope that covers more.
create or replace function tenure.stricter_lock(p_said text, p_demanded text) returns text
language sql immutable parallel safe
as $$
  select case when tenure.lock_reach(p_said) >= tenure.lock_reach(p_demanded) then p_said else p_demanded end
$$;

-- What the registry demands of each step of a resolved plan. A plan that was not resolved has no rows, so
-- nothing is demanded of it.
create or replace function tenure.plan_demands(p_plan jsonb)
returns table (step_number integer, registration text, level_min integer, fold boolean, classification text)
language sql immutable
as $$
  select t.n::integer,
         t.s #>> '{resolved,registration}',
         (t.s #>> '{resolved,level_min}')::integer,
         (t.s #>> '{resolved,fold}')::boolean,
         case when (t.s #>> '{resolved,restricted}')::boolean then 'restricted' else 'safe_metadata' end
    from jsonb_array_elements(p_plan -> 'steps') with ordinality t (s, n)
   where t.s ? 'resolved'
$$;

-- Refuses a resolved plan that states less than its actions demand, or uses a kind of job that may not
-- carry the action. The refusal names both values and the registration.
create or replace function tenure.check_actions(p_plan jsonb) returns void
language plpgsql
as $$
declare
  v_step  record;
  v_place text;
  v_what  text;
begin
  select t.n,
         t.s ->> 'action' as action,
         coalesce(t.s ->> 'kind', t.s ->> 'action') as kind,
         t.s -> 'resolved' as r,
         tenure.class_reach(t.s #>> '{resolved,said_class}')
           < tenure.class_reach(t.s #>> '{resolved,class}') as class,
         tenure.lock_reach(t.s #>> '{resolved,said_lock}')
           < tenure.lock_reach(t.s #>> '{resolved,lock_scope}') as lock
    into v_step
    from jsonb_array_elements(p_plan -> 'steps') with ordinality t (s, n)
   where not (t.s #>> '{resolved,kind_allowed}')::boolean
      or tenure.class_reach(t.s #>> '{resolved,said_class}')
           < tenure.class_reach(t.s #>> '{resolved,class}')
      or tenure.lock_reach(t.s #>> '{resolved,said_lock}')
           < tenure.lock_reach(t.s #>> '{resolved,lock_scope}')
   order by t.n
   limit 1;
  if not found then
    perform tenure.check_lock_keys(p_plan);
    return;
  end if;
  v_place := format('steps[%s].', v_step.n - 1);
  if v_step.class or v_step.lock then
    v_what := case when v_step.class then 'action_class' else 'lock_scope' end;
    perform tenure.refuse('action_lowered',
      format('%s%s is %s; the action %s demands at least %s.', v_place, v_what,
        coalesce(v_step.r ->> case when v_step.class then 'said_class' else 'said_lock' end, ''),
        tenure.plan_quoted(v_step.action),
        v_step.r ->> case when v_step.class then 'class' else 'lock_scope' end),
      case when v_step.r ->> 'registration' is null
        then 'The action is not registered; outside open mode (executions.actions.open) it is the strictest: '
        else format('The registration %s says so: ', v_step.r ->> 'registration')
      end
        || format('class %s, level %s, lock %s. A plan may raise these, never lower them.',
          v_step.r ->> 'class', v_step.r ->> 'level_min', v_step.r ->> 'lock_scope'),
      format('Leave %s out%s.', v_what,
        case
          when v_step.r ->> 'registration' is null
            then ', or have an admin register the action: tenure.action_set(name, spec)'
          else ''
        end));
  end if;
  perform tenure.refuse('action_kind_refused',
    format('%skind is %s; the action %s may be carried by: %s.', v_place, tenure.plan_quoted(v_step.kind),
      tenure.plan_quoted(v_step.action), v_step.r ->> 'kinds'),
    format('The registration %s names the kinds of jobs that may carry the action.',
      v_step.r ->> 'registration'),
    'Use one of these kinds, or have an admin add the kind to the registration.');
end
$$;

-- Refuses a lock key that is too long. tenure.plan_check checked the lock that the plan states; the
-- registry may demand another.
create or replace function tenure.check_lock_keys(p_plan jsonb) returns void
language plpgsql
as $$
declare
  v_step record;
begin
  select s.step_number,
         length(s.lock_target)
           + case when s.lock_action = '' then 0 else 1 + length(s.lock_action) end as size
    into v_step
    from tenure.plan_steps(p_plan) s
   where length(s.lock_target)
           + case when s.lock_action = '' then 0 else 1 + length(s.lock_action) end
         > tenure.limit_of('lock_target_chars_max')
   order by s.step_number
   limit 1;
  if found then
    perform tenure.refuse('name_invalid',
      format('steps[%s].target_ref makes the key of a lock too long.', v_step.step_number - 1),
      format('Type, reference and action have %s characters in it; at most %s are allowed.',
        v_step.size, tenure.limit_of('lock_target_chars_max')),
      'Shorten the reference.');
  end if;
end
$$;

-- The registrations that a resolved plan uses, with content and author, for the timeline of its execution.
create or replace function tenure.plan_registrations(p_tenant_id integer, p_plan jsonb) returns jsonb
language sql stable
as $$
  select jsonb_agg(to_jsonb(a) - array['tenant_id', 'pattern'] order by a.name)
    from tenure.actions a
   where a.tenant_id = p_tenant_id
     and a.name = any (array(
           select distinct n
             from tenure.plan_demands(p_plan) d
             cross join lateral string_to_table(d.registration, ', ') n))
$$;

-- Whether the stored steps of an execution are still what p_plan, resolved now, demands.
create or replace function tenure.is_resolved_so(p_execution_id uuid, p_plan jsonb) returns boolean
language sql stable
as $$
  select not exists (
    select
      from tenure.plan_steps(p_plan) s
      join tenure.plan_demands(p_plan) d on d.step_number = s.step_number
      join tenure.steps o on o.execution_id = p_execution_id and o.step_number = s.step_number
     where (o.action_class, o.level_min::integer, o.lock_target, o.lock_action, o.payload_classification,
             o.executor)
           is distinct from (s.action_class, d.level_min, s.lock_target, s.lock_action, d.classification,
             s.executor))
$$;

-- Whether the approvals of its steps are as the rules demand now.
create or replace function tenure.is_ruled_so(
  p_execution_id uuid, p_tenant_id integer, p_requesters text[], p_plan jsonb) returns boolean
language sql stable
as $$
  select not exists (
    select from tenure.plan_rules(p_tenant_id, p_requesters, p_plan) r
      join tenure.steps o on o.execution_id = p_execution_id and o.step_number = r.step_number
     where (o.approval_level::integer, o.rule, o.approval_quorum::integer, o.approval_seconds::integer)
           is distinct from (r.level, r.rule, r.quorum, r.expires_seconds)
        or not o.approval_roles @> r.roles)
$$;
