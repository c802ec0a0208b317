-- The steps of a frozen plan, with defaults filled in. plans/check.sql refuses what is not a plan.

-- A target as part of the key of a lock. The reference may have any character; the separator is escaped.
create or replace function tenure.lock_part(p_type text, p_ref text) returns text
language sql immutable parallel safe
as $$ select p_type || ':' || replace(replace(p_ref, '%', '%25'), ':', '%3A') $$;

-- The steps of a plan that passed tenure.plan_check, in its order.
create or replace function tenure.plan_steps(p_plan jsonb) returns setof tenure.plan_step
language sql immutable
as $$
  select t.n::integer,
         s ->> 'id',
         s ->> 'action',
         s ->> 'action_class',
         s ->> 'target_type',
         s ->> 'target_ref',
         coalesce(s ->> 'kind', s ->> 'action'),
         coalesce(s #>> '{resolved,executor}', s ->> 'executor'),
         coalesce(s -> 'payload', '{}'),
         s ->> 'payload_ref',
         array(select jsonb_array_elements_text(coalesce(s -> 'needs', '[]'))),
         (s ->> 'timeout_seconds')::numeric::integer,
         e.effects,
         coalesce((s ->> 'attempts_max')::numeric::integer, case e.effects when 'once' then 1 end),
         l.scope,
         case when l.scope <> 'none' then
           tenure.lock_part(s ->> 'target_type',
             case
               when (s #>> '{resolved,fold}')::boolean then lower((s ->> 'target_ref') collate "C")
               else s ->> 'target_ref'
             end)
         end,
         case
           when l.scope = 'target_and_action' then s ->> 'action'
           when l.scope = 'target' then ''
         end,
         s ->> 'compensation_note'
    from jsonb_array_elements(p_plan -> 'steps') with ordinality t (s, n)
    cross join lateral (
      select coalesce(t.s ->> 'effects',
               case t.s ->> 'action_class' when 'read' then 'idempotent' else 'once' end) as effects) e
    -- A section locks the whole target, and so does each of its steps.
    left join tenure.plan_sections(p_plan) q on q.step_id = t.s ->> 'id'
    cross join lateral (
      select case
               when q.section is not null then 'target'
               else coalesce(t.s ->> 'lock_scope',
                 case t.s ->> 'action_class' when 'read' then 'none' else 'target' end)
             end as scope) l
   order by t.n
$$;

-- The rank of an action class: 1 for read, 2 for modify, 3 for deploy.
create or replace function tenure.class_reach(p_action_class text) returns integer
language sql immutable parallel safe
as $$ select array_position(array['read', 'modify', 'deploy'], p_action_class) $$;
