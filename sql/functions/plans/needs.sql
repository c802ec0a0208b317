-- Which step of a plan waits for which: needs must name steps of the plan, without a cycle.
-- crates/core/src/plan/graph.rs decides the same.

-- Every need of a plan, in the order of writing. Steps and needs count from 1; needed is null where no step
-- has that id, and again says that the step names it a second time.
create or replace function tenure.plan_needs(p_plan jsonb)
returns table (step integer, n integer, needed integer, again boolean)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    with steps as materialized (
      select s.n::integer as step, s.value ->> 'id' as id, s.value -> 'needs' as needs
        from jsonb_array_elements(p_plan -> 'steps') with ordinality s (value, n)
    )
    select s.step, d.n::integer, t.step,
           row_number() over (partition by s.step, t.step order by d.n) > 1
      from steps s
      cross join lateral jsonb_array_elements_text(s.needs) with ordinality d (id, n)
      left join steps t on t.id = d.id
     where s.needs is not null;
end
$$;

-- Refuses a plan without steps, with a need that names no step, the step itself or a step twice, or with
-- steps that wait for each other. Takes time linear in the number of steps and needs.
create or replace function tenure.plan_check_needs(p_plan jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_steps integer := jsonb_array_length(p_plan -> 'steps');
  -- The needed steps, step by step as written: those of step 7 are in v_needs from v_needs_from[7] to before
  -- v_needs_from[8]. v_needed_by has the steps that need each step, in the same way.
  v_needs integer[];
  v_needs_from integer[];
  v_needed_by integer[];
  v_needed_by_from integer[];
  -- For how many steps each step still waits, and those that wait for none, in the order of finding.
  v_waiting integer[];
  v_free integer[];
  v_done integer := 0;
  v_step integer;
  v_next integer;
  -- The first need that cannot be met: its step, its place there, the step it names.
  v_wrong integer[];
begin
  if v_steps = 0 then
    perform tenure.plan_refuse('steps', 'no_steps');
  end if;
  with needs as materialized (
    select d.step, d.n, d.needed, d.again from tenure.plan_needs(p_plan) d
  ),
  counts as (
    select s.step, coalesce(a.needs, 0) as needs, coalesce(b.needed_by, 0) as needed_by
      from generate_series(1, v_steps) s (step)
      left join (
        select d.step, count(*) as needs from needs d group by d.step) a on a.step = s.step
      left join (
        select d.needed, count(*) as needed_by from needs d group by d.needed) b on b.needed = s.step
  ),
  starts as (
    select c.step, c.needs,
           1 + sum(c.needs) over w - c.needs as needs_from,
           1 + sum(c.needed_by) over w - c.needed_by as needed_by_from
      from counts c
    window w as (order by c.step)
  )
  select (select array[d.step, d.n, d.needed]
            from needs d
           where d.needed is null
              or d.needed = d.step
              or d.again
           order by d.step, d.n
           limit 1),
         (select array_agg(d.needed order by d.step, d.n) from needs d),
         (select array_agg(d.step order by d.needed) from needs d),
         array_agg(s.needs order by s.step),
         array_agg(s.needs_from order by s.step),
         array_agg(s.needed_by_from order by s.step),
         array_agg(s.step order by s.step) filter (where s.needs = 0)
    into v_wrong, v_needs, v_needed_by, v_waiting, v_needs_from, v_needed_by_from, v_free
    from starts s;
  if v_wrong is not null then
    perform tenure.plan_refuse(format('steps[%s].needs[%s]', v_wrong[1] - 1, v_wrong[2] - 1),
      case
        when v_wrong[3] is null then 'step_unknown'
        when v_wrong[3] = v_wrong[1] then 'needs_itself'
        else 'step_twice'
      end);
  end if;
  if v_needs is null then
    return;
  end if;
  v_needs_from := v_needs_from || cardinality(v_needs) + 1;
  v_needed_by_from := v_needed_by_from || cardinality(v_needs) + 1;

  while v_done < cardinality(v_free) loop
    v_done := v_done + 1;
    v_step := v_free[v_done];
    for v_at in v_needed_by_from[v_step] .. v_needed_by_from[v_step + 1] - 1 loop
      v_next := v_needed_by[v_at];
      v_waiting[v_next] := v_waiting[v_next] - 1;
      if v_waiting[v_next] = 0 then
        v_free := v_free || v_next;
      end if;
    end loop;
  end loop;
  if v_done < v_steps then
    perform tenure.plan_refuse_cycle(p_plan, v_needs, v_needs_from, v_waiting);
  end if;
end
$$;

-- Refuses a cycle and shows it, with the same step at both ends: a → b → c → a. Every waiting step needs
-- another waiting step, so following the needs must come back to one. Never returns.
create or replace function tenure.plan_refuse_cycle(
  p_plan jsonb, p_needs integer[], p_needs_from integer[], p_waiting integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_way integer[] := '{}';
  v_seen_at integer[] := array_fill(null::integer, array[cardinality(p_waiting)]);
  v_step integer;
  v_first integer;
  v_need integer;
  v_ids text[];
  -- The middle of a longer cycle is left out.
  v_shown constant integer := 12;
begin
  select w.n into v_step
    from unnest(p_waiting) with ordinality w (waits_for, n)
   where w.waits_for > 0
   order by w.n
   limit 1;
  while v_seen_at[v_step] is null loop
    v_way := v_way || v_step;
    v_seen_at[v_step] := cardinality(v_way);
    for v_at in p_needs_from[v_step] .. p_needs_from[v_step + 1] - 1 loop
      v_need := p_needs[v_at];
      exit when p_waiting[v_need] > 0;
    end loop;
    v_step := v_need;
  end loop;
  v_way := v_way[v_seen_at[v_step]:];
  -- The cycle is shown from its first step in the plan.
  v_first := array_position(v_way, (select min(w.step) from unnest(v_way) w (step)));
  v_way := v_way[v_first:] || v_way[:v_first - 1] || v_way[v_first];
  select w.n - p_needs_from[v_way[1]] into v_need
    from unnest(p_needs) with ordinality w (step, n)
   where w.n >= p_needs_from[v_way[1]]
     and w.step = v_way[2]
   order by w.n
   limit 1;
  select array_agg(p_plan -> 'steps' -> (w.step - 1) ->> 'id' order by w.n) into v_ids
    from unnest(v_way) with ordinality w (step, n);
  if cardinality(v_ids) > v_shown then
    v_ids := v_ids[:v_shown / 2]
      || format('… %s more …', cardinality(v_ids) - v_shown)
      || v_ids[cardinality(v_ids) - v_shown / 2 + 1:];
  end if;
  perform tenure.plan_refuse(format('steps[%s].needs[%s]', v_way[1] - 1, v_need), 'cycle',
    format('An arrow reads "needs": %s.', array_to_string(v_ids, ' → ')));
end
$$;
