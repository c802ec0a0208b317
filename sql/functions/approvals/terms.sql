-- The terms of a plan: which approval rules match it, and which approval they ask for. rules.sql sets the
-- rules.

-- Whether one of the globs matches the text; a star stands for any characters. Null globs match every text.
create or replace function tenure.matches_any(p_text text, p_globs text[]) returns boolean
language sql immutable parallel safe
as $$
  select p_globs is null or exists (
    select
      from unnest(p_globs) g
     where p_text like replace(regexp_replace(g, $r$([%_\\])$r$, $r$\\\1$r$, 'g'), '*', '%'))
$$;

-- The requesters of an execution that is about to be made: the caller, the one on whose behalf it acts, and
-- the requesters of the execution that it retries. They are stored with the new execution, because the
-- retried one is archived some day.
create or replace function tenure.execution_requesters(
  p_principal text, p_on_behalf_of text, p_retry_of uuid) returns text[]
language sql stable
as $$
  select array(
    select p_principal
    union
    select p_on_behalf_of where p_on_behalf_of <> ''
    union
    select unnest(e.requesters) from tenure.executions e where e.execution_id = p_retry_of
    order by 1)
$$;

-- What the rules ask for each step of a plan. The first rule that matches counts for each requester, and all
-- of these apply together: the highest level and quorum, all roles, the shortest expiry, every window. A rule
-- that asks for no approval has no say in how one is given.
create or replace function tenure.plan_rules(p_tenant_id integer, p_requesters text[], p_plan jsonb)
returns table (
  step_number integer, rule text, level integer, roles text[], quorum integer, expires_seconds integer,
  start_window jsonb)
language sql stable
as $$
  with matched as materialized (
    select distinct s.step_number,
           coalesce(r.name, 'default') as rule,
           o.own_level,
           greatest(o.own_level, coalesce((p_plan ->> 'approval_level')::integer, 0)) as level,
           coalesce(r.roles, '{}') as roles,
           coalesce(r.quorum, 1) as quorum,
           coalesce(r.expires_seconds, 86400) as expires_seconds,
           r.start_window
      from tenure.plan_steps(p_plan) s
      join tenure.plan_demands(p_plan) d on d.step_number = s.step_number
      cross join unnest(p_requesters) q (requester)
      left join lateral (
        select r.name, r.level::integer, r.roles, r.quorum::integer, r.expires_seconds, r.start_window
          from tenure.approval_rules r
         where r.tenant_id = p_tenant_id
           and (r.action_classes is null or s.action_class = any (r.action_classes))
           and (r.target_types is null or tenure.matches_any(s.target_type, r.target_types))
           and (r.target_refs is null or tenure.target_matches(s.target_ref, r.target_refs, d.fold))
           and (r.actions is null or tenure.matches_any(s.action, r.actions))
           and (r.kinds is null or tenure.matches_any(s.kind, r.kinds))
           and (r.executors is null or tenure.matches_any(s.executor, r.executors))
           and (r.sla_classes is null or p_plan ->> 'sla_class' = any (r.sla_classes))
           and (r.requesters is null or tenure.matches_any(q.requester, r.requesters))
           and (
             r.requester_kinds is null
             or tenure.principal_kind(p_tenant_id, q.requester) = any (r.requester_kinds))
         order by r.position
         limit 1) r on true
      -- The built-in rule, for steps that no rule matches: a read needs no approval, a modification needs one
      -- approval, a deployment a plan review.
      cross join lateral (
        select coalesce(r.level, tenure.class_reach(s.action_class) - 1) as own_level) o
  ), top as (
    select distinct on (m.step_number) m.*
      from matched m
     order by m.step_number, m.level desc, m.quorum desc, m.rule
  ), combined as (
    select t.step_number,
           t.level,
           max(m.own_level) as own_level,
           -- The strictest rule is named first, then those that add something to it.
           string_agg(m.rule, ', ' order by m.rule <> t.rule, m.rule) filter (
             where m.rule = t.rule
                or m.start_window <> t.start_window
                or (m.start_window is not null and t.start_window is null)
                or (c.counts and (
                  m.quorum > t.quorum
                  or m.expires_seconds < t.expires_seconds
                  or not m.roles <@ t.roles))) as rule,
           jsonb_agg(m.roles) filter (where c.counts) as roles,
           max(m.quorum) filter (where c.counts) as quorum,
           min(m.expires_seconds) filter (where c.counts) as expires_seconds,
           jsonb_agg(distinct m.start_window) filter (where m.start_window is not null) as windows
      from top t
      join matched m on m.step_number = t.step_number
      cross join lateral (select m.level > 0 or t.level = 0 as counts) c
     group by t.step_number, t.level
  )
  -- The level is at least what the action and the plan itself demand, whatever the rules say; what raises it
  -- is named beside them.
  select c.step_number,
         c.rule || case
           when d.level_min > c.level then ', action ' || coalesce(d.registration, 'unregistered')
           when c.level > c.own_level then ', the plan'
           else ''
         end,
         greatest(c.level, d.level_min),
         array(
           select distinct x
             from jsonb_array_elements(c.roles) l
             cross join lateral jsonb_array_elements_text(l) x
            order by x),
         c.quorum,
         c.expires_seconds,
         case when jsonb_array_length(c.windows) = 1 then c.windows -> 0 else c.windows end
    from combined c
    join tenure.plan_demands(p_plan) d on d.step_number = c.step_number
$$;

-- What the rules ask for a plan as a whole. The strictest step gives the level and the name of the rule;
-- roles, quorum and expiry come from all steps that need an approval, so that a step under another rule
-- cannot be added to get around one.
create or replace function tenure.plan_terms(
  p_tenant_id integer, p_requesters text[], p_plan jsonb,
  out level integer, out rule text, out roles text[], out quorum integer, out expires_seconds integer,
  out start_window jsonb)
language plpgsql stable
as $$
begin
  with rules as materialized (
    select r.* from tenure.plan_rules(p_tenant_id, p_requesters, p_plan) r
  ), top as (
    select r.* from rules r order by r.level desc, r.quorum desc, r.step_number limit 1
  )
  select t.level,
         -- Roles that the plan alone asks for are named as its own.
         t.rule || case
           when t.level > 0
             and t.rule not like '%, the plan'
             and exists (
               select
                 from jsonb_array_elements_text(coalesce(p_plan -> 'approval_roles', '[]')) x
                where not exists (select from rules r where r.level > 0 and x = any (r.roles)))
             then ', the plan'
           else ''
         end,
         array(
           select distinct x
             from (
               select unnest(r.roles) as x from rules r where r.level > 0
               union all
               select jsonb_array_elements_text(coalesce(p_plan -> 'approval_roles', '[]'))) y
            order by x),
         (select max(r.quorum) from rules r where r.level > 0 or t.level = 0),
         (select min(r.expires_seconds) from rules r where r.level > 0 or t.level = 0),
         (select case
                   when count(*) = 1 then jsonb_agg(w.start_window) -> 0
                   when count(*) > 1 then jsonb_agg(w.start_window order by w.start_window::text)
                 end
            from (
              select distinct x as start_window
                from rules r
                cross join lateral jsonb_array_elements(
                  case jsonb_typeof(r.start_window)
                    when 'array' then r.start_window
                    else jsonb_build_array(r.start_window)
                  end) x
               where r.start_window is not null) w)
    into level, rule, roles, quorum, expires_seconds, start_window
    from top t;
end
$$;

-- Refuses a plan with an unknown target. In strict mode that is one that no rule names; otherwise, outside
-- open mode and once target types are registered, one whose type is not registered and that no rule names.
create or replace function tenure.check_targets(p_tenant_id integer, p_plan jsonb) returns void
language plpgsql
as $$
declare
  v_step   record;
  v_strict boolean := (tenure.setting(p_tenant_id, 'executions.targets.strict'))::boolean;
begin
  if not v_strict and (
       (tenure.setting(p_tenant_id, 'executions.actions.open'))::boolean
       or not exists (select from tenure.target_types t where t.tenant_id = p_tenant_id)) then
    return;
  end if;
  select s.step_number, s.target_type, s.target_ref into v_step
    from tenure.plan_steps(p_plan) s
    join tenure.plan_demands(p_plan) d on d.step_number = s.step_number
   where not exists (
       select
         from tenure.approval_rules r
        where r.tenant_id = p_tenant_id
          and coalesce(r.target_types, r.target_refs) is not null
          and tenure.matches_any(s.target_type, r.target_types)
          and tenure.target_matches(s.target_ref, r.target_refs, d.fold))
     and (v_strict or not exists (
       select from tenure.target_types t where t.tenant_id = p_tenant_id and t.name = s.target_type))
   order by s.step_number
   limit 1;
  if found then
    perform tenure.refuse('target_unknown',
      format('steps[%s] is about %s %L, which no rule names.', v_step.step_number - 1, v_step.target_type,
        v_step.target_ref),
      case
        when v_strict then
          'Strict mode (executions.targets.strict) takes only targets of approval rules.'
        else
          'Outside open mode (executions.actions.open), once target types are registered, the others are '
          'refused.'
      end,
      case
        when v_strict then
          'Correct the target, or name it in a rule: tenure.approval_rule_set(name, spec).'
        else
          'Correct the target, or register its type: tenure.target_type_set(name, spec).'
      end);
  end if;
end
$$;
