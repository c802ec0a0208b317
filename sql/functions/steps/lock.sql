-- The locks of steps: taken when a step starts, or waited for in the queue of the target. locks/hand_over.sql
-- serves that queue.

-- Takes the locks of steps, or puts the steps into the queue of their target. Returns the steps that may go,
-- those without a lock included, and the events to append. The caller holds the targets.
-- The lock of a whole target excludes every other at it; the lock of an action excludes itself and the whole.
-- A step that comes later never overtakes one that already waits.
create or replace function tenure.steps_lock(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], p_granted boolean,
  inout entries tenure.chain_entry[], out execs uuid[], out numbers integer[])
language plpgsql
as $$
declare
  v_wait record;
begin
  delete from tenure.locks l
   where l.ctid = any (array(
           select l.ctid
             from unnest(p_execs, p_numbers) t (e, n)
             cross join lateral (
               select s.tenant_id, s.lock_target
                 from tenure.steps s
                where s.execution_id = t.e and s.step_number = t.n
               offset 0) s
             cross join lateral (
               select l.ctid, l.execution_id, l.expires_at
                 from tenure.locks l
                where l.tenant_id = s.tenant_id and l.target = s.lock_target
               offset 0) l
            where l.execution_id is null
              and l.expires_at <= p_now));
  with wanted as materialized (
    select s.execution_id, s.step_number, s.tenant_id, s.step_id, s.section, s.lock_target,
           s.lock_action, s.priority, s.timeout_seconds, x.timeout_at, e.timeout_ms, t.turn
      from unnest(p_execs, p_numbers) with ordinality t (e, n, turn)
      cross join lateral (
        select s.execution_id, s.step_number, s.tenant_id, s.step_id, s.section, s.lock_target, s.lock_action,
               s.priority, s.timeout_seconds
          from tenure.steps s
         where s.execution_id = t.e and s.step_number = t.n
        offset 0) s
      cross join lateral (
        select e.timeout_ms from tenure.executions e where e.execution_id = t.e offset 0) e
      cross join lateral (
        select x.timeout_at from tenure.execution_states x where x.execution_id = t.e offset 0) x
  ), judged as materialized (
    select w.*,
           w.lock_target is null or p_granted or (
             -- One look at the target and one into its queue, never a hash of all of them.
             (select true
                from tenure.locks l
               where l.tenant_id = w.tenant_id
                 and l.target = w.lock_target
                 and (l.action in ('', w.lock_action) or w.lock_action = '')
               limit 1) is null
             and (
               select true
                 from tenure.lock_queue b
                where b.tenant_id = w.tenant_id
                  and b.target = w.lock_target
                limit 1) is null
             and case
               when w.lock_action = '' then row_number() over at_target = 1
               else count(*) filter (where w.lock_action = '') over at_target = 0
                 and row_number() over (
                   partition by w.tenant_id, w.lock_target, w.lock_action
                   order by w.priority desc, w.turn) = 1
             end) as granted
      from wanted w
    window at_target as (partition by w.tenant_id, w.lock_target order by w.priority desc, w.turn)
  ), taken as (
    insert into tenure.locks (tenant_id, target, action, fence, owner, execution_id, step_number, section,
      acquired_at, expires_at)
    select g.tenant_id, g.lock_target, g.lock_action, nextval('tenure.lock_fence'),
           g.execution_id || '/' || coalesce(g.section, g.step_id), g.execution_id, g.step_number, g.section,
           p_now,
           greatest(coalesce(g.timeout_at, p_now + make_interval(secs => g.timeout_ms / 1000.0)), p_now)
             + make_interval(secs => g.timeout_seconds)
      from judged g
     where g.granted
       and g.lock_target is not null
  )
  select array_agg(j.execution_id order by j.turn) filter (where j.granted) as go_execs,
         array_agg(j.step_number order by j.turn) filter (where j.granted) as go_numbers,
         array_agg(j.execution_id order by j.priority desc, j.turn) filter (where not j.granted) as execs,
         array_agg(j.step_number order by j.priority desc, j.turn) filter (where not j.granted) as numbers
    into v_wait
    from judged j;
  execs := coalesce(v_wait.go_execs, '{}');
  numbers := coalesce(v_wait.go_numbers, '{}');
  if v_wait.execs is not null then
    entries := entries || tenure.steps_block(p_now, v_wait.execs, v_wait.numbers);
  end if;
end
$$;

-- Puts steps into the queues of their targets, in the order of the arrays. Returns the events to append. The
-- caller holds the targets.
create or replace function tenure.steps_block(p_now timestamptz, p_execs uuid[], p_numbers integer[])
returns tenure.chain_entry[]
language plpgsql
as $$
declare
  v_entries tenure.chain_entry[];
begin
  perform tenure.lock_queue_join(p_now, p_execs, p_numbers);
  with blocked as (
    update tenure.step_states s
       set state = 'blocked',
           needs_left = 0
      from (
        select s.place, q.tenant_id, q.lock_target
          from unnest(p_execs, p_numbers) t (e, n)
          cross join lateral (
            select s.ctid as place
              from tenure.step_states s
             where s.execution_id = t.e and s.step_number = t.n
            offset 0) s
          cross join lateral (
            select q.tenant_id, q.lock_target
              from tenure.steps q
             where q.execution_id = t.e and q.step_number = t.n
            offset 0) q) l
     where s.ctid = l.place
    returning s.execution_id, s.step_number, l.tenant_id, l.lock_target
  )
  select array_agg((b.execution_id, 'step_blocked', b.step_number,
           jsonb_strip_nulls(jsonb_build_object(
             'target', b.lock_target,
             'held_by', (
               select l.owner
                 from tenure.locks l
                where l.tenant_id = b.tenant_id
                  and l.target = b.lock_target
                limit 1))))::tenure.chain_entry order by b.execution_id, b.step_number)
    into v_entries
    from blocked b;
  perform tenure.lock_queue_recheck(p_now, p_execs, p_numbers);
  return v_entries;
end
$$;
