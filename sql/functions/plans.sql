-- What a frozen plan says, with what goes without saying. plans_check.sql refuses what is no plan.

-- A target as it stands in a lock: the reference may have any character, the separator not.
create or replace function tenure.lock_part(p_type text, p_ref text) returns text
language sql immutable parallel safe
as $$ select p_type || ':' || replace(replace(p_ref, '%', '%25'), ':', '%3A') $$;

-- The steps of a plan that was found in order, as it has them.
create or replace function tenure.plan_steps(p_plan jsonb) returns setof tenure.plan_step
language sql immutable
as $$
  select t.n::integer, s ->> 'id', s ->> 'action', s ->> 'action_class', s ->> 'target_type', s ->> 'target_ref', coalesce(s ->> 'kind', s ->> 'action'), coalesce(s #>> '{resolved,executor}', s ->> 'executor'),
         coalesce(s -> 'payload', '{}'), s ->> 'payload_ref', array(select jsonb_array_elements_text(coalesce(s -> 'needs', '[]'))), (s ->> 'timeout_seconds')::numeric::integer,
         e.effects, coalesce((s ->> 'attempts_max')::numeric::integer, case e.effects when 'once' then 1 end), l.scope,
         case when l.scope <> 'none' then tenure.lock_part(s ->> 'target_type', case when (s #>> '{resolved,fold}')::boolean then lower((s ->> 'target_ref') collate "C") else s ->> 'target_ref' end) end,
         case when l.scope = 'target_and_action' then s ->> 'action' when l.scope = 'target' then '' end, s ->> 'compensation_note'
    from jsonb_array_elements(p_plan -> 'steps') with ordinality t (s, n)
    cross join lateral (select coalesce(t.s ->> 'effects', case t.s ->> 'action_class' when 'read' then 'idempotent' else 'once' end) as effects) e
    -- A section has the whole target, and so has each of its steps.
    left join tenure.plan_sections(p_plan) q on q.step_id = t.s ->> 'id'
    cross join lateral (select case when q.section is not null then 'target'
      else coalesce(t.s ->> 'lock_scope', case t.s ->> 'action_class' when 'read' then 'none' else 'target' end) end as scope) l
   order by t.n
$$;

-- How far an action class reaches.
create or replace function tenure.class_reach(p_action_class text) returns integer
language sql immutable parallel safe
as $$ select array_position(array['read', 'modify', 'deploy'], p_action_class) $$;

-- What differs between two plans: fields of the plan, steps that came, went or changed.
create or replace function tenure.plan_difference(p_old jsonb, p_new jsonb) returns jsonb
language sql immutable
as $$
  with old_steps as (select s ->> 'id' as id, s from jsonb_array_elements(p_old -> 'steps') s),
       new_steps as (select s ->> 'id' as id, s from jsonb_array_elements(p_new -> 'steps') s),
       changed as (
         select o.id, (select jsonb_object_agg(f.key, jsonb_build_array(o.s -> f.key, n.s -> f.key))
                         from (select jsonb_object_keys(o.s || n.s) as key) f where (o.s -> f.key) is distinct from (n.s -> f.key)) as fields
           from old_steps o join new_steps n on n.id = o.id where o.s <> n.s)
  select jsonb_build_object(
    'equal', p_old = p_new,
    'plan', coalesce((select jsonb_object_agg(f.key, jsonb_build_array(p_old -> f.key, p_new -> f.key))
                        from (select jsonb_object_keys((p_old || p_new) - 'steps') as key) f where (p_old -> f.key) is distinct from (p_new -> f.key)), '{}'),
    'added', coalesce((select jsonb_agg(n.id) from new_steps n where n.id not in (select o.id from old_steps o)), '[]'),
    'removed', coalesce((select jsonb_agg(o.id) from old_steps o where o.id not in (select n.id from new_steps n)), '[]'),
    'changed', coalesce((select jsonb_object_agg(c.id, c.fields) from changed c), '{}'))
$$;
