-- The queue of a target: steps that wait for its lock, by priority and then by arrival.

-- Puts steps into the queues of their targets, in the order of the arrays. The caller holds the targets.
create or replace function tenure.lock_queue_join(p_now timestamptz, p_execs uuid[], p_numbers integer[])
returns void
language sql
as $$
  insert into tenure.lock_queue (execution_id, step_number, tenant_id, target, action, priority, since)
  select s.execution_id, s.step_number, s.tenant_id, s.lock_target, coalesce(s.lock_action, ''), s.priority,
         p_now
    from unnest(p_execs, p_numbers) with ordinality t (e, n, place)
    cross join lateral (
      select s.execution_id, s.step_number, s.tenant_id, s.lock_target, s.lock_action, s.priority
        from tenure.steps s
       where s.execution_id = t.e and s.step_number = t.n
      offset 0) s
   order by t.place
$$;

-- Takes steps out of the queues of their targets. Steps that waited only for these start at the next tick.
create or replace function tenure.lock_queue_leave(p_execs uuid[], p_numbers integer[]) returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_left record;
begin
  with gone as (
    delete from tenure.lock_queue q
     where q.ctid = any (array(
             select q.ctid
               from unnest(p_execs, p_numbers) t (e, n)
               cross join lateral (
                 select q.ctid
                   from tenure.lock_queue q
                  where q.execution_id = t.e and q.step_number = t.n
                 offset 0) q))
    returning q.tenant_id, q.target
  )
  select array_agg(g.tenant_id) as tenants, array_agg(g.target) as targets into v_left from gone g;
  if v_left.targets is not null then
    perform tenure.lines_left(v_left.tenants, v_left.targets);
  end if;
end
$$;
