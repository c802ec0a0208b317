-- The difference between two plans.

-- Fields of the plan that differ, and steps that were added, removed or changed. Of each changed field both
-- values are given, old and new.
create or replace function tenure.plan_difference(p_old jsonb, p_new jsonb) returns jsonb
language sql immutable
as $$
  with old_steps as (
    select s ->> 'id' as id, s from jsonb_array_elements(p_old -> 'steps') s
  ), new_steps as (
    select s ->> 'id' as id, s from jsonb_array_elements(p_new -> 'steps') s
  ), changed as (
    select o.id, (
             select jsonb_object_agg(f.key, jsonb_build_array(o.s -> f.key, n.s -> f.key))
               from (select jsonb_object_keys(o.s || n.s) as key) f
              where (o.s -> f.key) is distinct from (n.s -> f.key)) as fields
      from old_steps o
      join new_steps n on n.id = o.id
     where o.s <> n.s
  )
  select jsonb_build_object(
    'equal', p_old = p_new,
    'plan', coalesce((
      select jsonb_object_agg(f.key, jsonb_build_array(p_old -> f.key, p_new -> f.key))
        from (select jsonb_object_keys((p_old || p_new) - 'steps') as key) f
       where (p_old -> f.key) is distinct from (p_new -> f.key)), '{}'),
    'added', coalesce((
      select jsonb_agg(n.id) from new_steps n where n.id not in (select o.id from old_steps o)), '[]'),
    'removed', coalesce((
      select jsonb_agg(o.id) from old_steps o where o.id not in (select n.id from new_steps n)), '[]'),
    'changed', coalesce((
      select jsonb_object_agg(c.id, c.fields) from changed c), '{}'))
$$;
