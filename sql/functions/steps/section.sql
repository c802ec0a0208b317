-- Sections: steps of a plan that hold one target together, one after the other. The lock is taken with the
-- first of them that starts and freed when the last is over; until then no other step or person gets it.
-- Only the first step of a section waits for a lock, and its later steps need no step outside the section.
-- So the holder of a section's lock waits for no other lock, and no two can wait for each other.

-- Which step belongs to which section of a plan that has been checked.
create or replace function tenure.plan_sections(p_plan jsonb)
returns table (section text, step_id text, place integer)
language sql immutable
as $$
  select s.section ->> 'id', i.id, i.n::integer
    from jsonb_array_elements(coalesce(p_plan -> 'sections', '[]')) s (section)
    cross join lateral jsonb_array_elements_text(s.section -> 'steps') with ordinality i (id, n)
$$;

-- Whether the last step of a section is over. A step whose outcome is unknown is not.
create or replace function tenure.section_is_over(p_execution_id uuid, p_section text) returns boolean
language plpgsql stable
as $$
begin
  return not exists (
    select
      from tenure.steps p
      join tenure.step_states s on s.execution_id = p.execution_id and s.step_number = p.step_number
     where p.execution_id = p_execution_id
       and p.section = p_section
       and s.ended_at is null);
end
$$;

-- Sorts steps that are to start. Those whose section holds its target go on under its lock, each with a fence
-- of its own (inner_*). Those whose section has lost it have failed, because others may have used the target
-- since (lost_*). The rest take their lock like any step. The caller holds the executions and the targets.
create or replace function tenure.sections_continue(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], inout entries tenure.chain_entry[],
  out execs uuid[], out numbers integer[], out inner_execs uuid[], out inner_numbers integer[],
  out lost_execs uuid[], out lost_numbers integer[])
language plpgsql
as $$
declare
  v_step  record;
  v_fence bigint;
begin
  execs := '{}';
  numbers := '{}';
  inner_execs := '{}';
  inner_numbers := '{}';
  lost_execs := '{}';
  lost_numbers := '{}';
  for v_step in
    select s.execution_id, s.step_number, s.section, s.lock_target,
           exists (
             select
               from tenure.locks l
              where l.execution_id = s.execution_id
                and l.section = s.section) as holds,
           exists (
             select
               from tenure.step_rows x
              where x.execution_id = s.execution_id
                and x.section = s.section
                and x.dispatches > 0) as entered
      from unnest(p_execs, p_numbers) with ordinality t (e, n, turn)
      join tenure.steps s on s.execution_id = t.e and s.step_number = t.n
     order by t.turn
  loop
    if v_step.holds then
      v_fence := nextval('tenure.lock_fence');
      update tenure.locks l
         set fence = v_fence,
             step_number = v_step.step_number
       where l.execution_id = v_step.execution_id
         and l.section = v_step.section;
      update tenure.step_states s
         set fence = v_fence
       where s.execution_id = v_step.execution_id
         and s.step_number = v_step.step_number;
      inner_execs := inner_execs || v_step.execution_id;
      inner_numbers := inner_numbers || v_step.step_number;
    elsif v_step.entered and v_step.section is not null then
      entries := entries || tenure.section_step_fail(p_now, v_step.execution_id, v_step.step_number);
      lost_execs := lost_execs || v_step.execution_id;
      lost_numbers := lost_numbers || v_step.step_number;
    else
      execs := execs || v_step.execution_id;
      numbers := numbers || v_step.step_number;
    end if;
  end loop;
end
$$;

-- Fails a step that cannot start because the lock of its section was broken. Returns its line.
create or replace function tenure.section_step_fail(p_now timestamptz, p_execution_id uuid, p_number integer)
returns tenure.chain_entry[]
language plpgsql
as $$
declare
  v_entries tenure.chain_entry[];
begin
  update tenure.step_states s
     set state = 'failed',
         needs_left = 0,
         ended_at = greatest(p_now, s.started_at),
         error_code = 'lock_broken',
         error_class = 'lock',
         error_message = format('The lock of its section %s was broken: others may have been at %s since.',
           p.section, p.lock_target)
    from tenure.steps p
   where p.execution_id = p_execution_id
     and p.step_number = p_number
     and s.execution_id = p_execution_id
     and s.step_number = p_number
  returning array[(s.execution_id, 'step_failed', s.step_number, jsonb_build_object(
      'error_code', s.error_code,
      'error_class', s.error_class,
      'error_message', left(s.error_message, 500),
      'ended_at', s.ended_at))::tenure.chain_entry]
    into v_entries;
  return v_entries;
end
$$;

-- The lines of sections that these steps have just entered, each with the target it locked.
create or replace function tenure.section_enter_entries(p_execs uuid[], p_numbers integer[])
returns tenure.chain_entry[]
language sql stable
as $$
  select coalesce(array_agg((s.execution_id, 'section_entered', null,
           jsonb_build_object('section', s.section, 'target', s.lock_target))::tenure.chain_entry
           order by t.turn), '{}')
    from unnest(p_execs, p_numbers) with ordinality t (e, n, turn)
    join tenure.steps s on s.execution_id = t.e and s.step_number = t.n
   where s.section is not null
$$;

-- Frees the locks of sections of these executions that are over although none of their steps has just ended:
-- the rest was skipped, or not allowed. The next tick serves the steps that wait for them. Returns the lines.
-- The caller holds the executions.
create or replace function tenure.sections_release(p_execs uuid[]) returns tenure.chain_entry[]
language plpgsql
set enable_seqscan = off
as $$
declare
  v_left record;
begin
  if not exists (
       select
         from tenure.locks l
        where l.execution_id = any (p_execs)
          and l.section is not null
          and tenure.section_is_over(l.execution_id, l.section)) then
    return '{}';
  end if;
  perform
     from tenure.lock_targets t
    where (t.tenant_id, t.target) in (
            select l.tenant_id, l.target
              from tenure.locks l
             where l.execution_id = any (p_execs)
               and l.section is not null)
    order by t.tenant_id, t.target
      for no key update;
  with gone as (
    delete from tenure.locks l
     where l.execution_id = any (p_execs)
       and l.section is not null
       and tenure.section_is_over(l.execution_id, l.section)
    returning l.tenant_id, l.target, l.execution_id, l.section
  )
  select array_agg(g.tenant_id) as tenants,
         array_agg(g.target) as targets,
         array_agg((g.execution_id, 'section_left', null,
           jsonb_build_object('section', g.section, 'target', g.target))::tenure.chain_entry
           order by g.execution_id, g.section) as entries
    into v_left
    from gone g;
  perform tenure.lock_queue_go_on(v_left.tenants, v_left.targets);
  return coalesce(v_left.entries, '{}');
end
$$;

-- The sections of an execution in the order of the plan, each with its target, its steps, the state of its
-- lock (waiting, held, broken or over), and the fence of the run that may act.
create or replace function tenure.sections_shown(p_execution_id uuid) returns jsonb
language sql stable
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'section', x.section,
           'target', x.target,
           'lock_key', 'lock:v1:' || x.tenant_id || ':' || x.target,
           'steps', (
             select jsonb_agg(q.step_id order by q.place)
               from tenure.plans p
               cross join lateral tenure.plan_sections(p.plan_snapshot) q
              where p.execution_id = p_execution_id
                and q.section = x.section),
           'state', case
             when x.over then 'over'
             when l.section is not null then 'held'
             when x.entered then 'broken'
             else 'waiting'
           end,
           'fence', coalesce(
             tenure.fence_of((
               select s.job_id
                 from tenure.step_rows s
                where s.execution_id = l.execution_id
                  and s.step_number = l.step_number)),
             l.fence),
           'held_since', l.acquired_at) order by x.first), '[]')
    from (
      select s.section,
             min(s.tenant_id) as tenant_id,
             min(s.lock_target) as target,
             min(s.step_number) as first,
             bool_and(s.ended_at is not null) as over,
             bool_or(s.dispatches > 0) as entered
        from tenure.step_rows s
       where s.execution_id = p_execution_id
         and s.section is not null
       group by s.section) x
    left join tenure.locks l on l.execution_id = p_execution_id and l.section = x.section
$$;
