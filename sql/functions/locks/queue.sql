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
    perform tenure.lock_queue_go_on(v_left.tenants, v_left.targets);
  end if;
end
$$;

-- Steps that have just been put into a queue although no lock is in their way: the first of the queue was
-- overlooked or has just left it, or the holder has just expired. The next tick grants the lock. The caller
-- holds the targets.
create or replace function tenure.lock_queue_recheck(p_now timestamptz, p_execs uuid[], p_numbers integer[])
returns void
language plpgsql
as $$
declare
  v_free record;
begin
  select array_agg(b.tenant_id) as tenants, array_agg(b.lock_target) as targets
    into v_free
    from (
      select distinct s.tenant_id, s.lock_target, s.lock_action
        from unnest(p_execs, p_numbers) t (e, n)
        cross join lateral (
          select s.tenant_id, s.lock_target, s.lock_action
            from tenure.steps s
           where s.execution_id = t.e and s.step_number = t.n
          offset 0) s) b
   where (
     select true
       from tenure.locks l
      where l.tenant_id = b.tenant_id
        and l.target = b.lock_target
        and (l.action in ('', b.lock_action) or b.lock_action = '')
      limit 1) is null;
  if v_free.targets is not null then
    perform tenure.follow_up_note('lock_grant', v_free.tenants, v_free.targets, p_now);
  end if;
end
$$;

-- Leaves it to the next tick to grant the locks of targets whose queues steps have left. A target that
-- another transaction holds is passed over: that transaction grants its lock.
create or replace function tenure.lock_queue_go_on(p_tenants integer[], p_targets text[]) returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_held record;
begin
  select array_agg(x.tenant_id) as tenants, array_agg(x.target) as targets
    into v_held
    from (
      select x.tenant_id, x.target
        from tenure.lock_targets x
       where (x.tenant_id, x.target) in (
               select l.tenant_id, l.target from unnest(p_tenants, p_targets) l (tenant_id, target))
         and exists (
               select
                 from tenure.lock_queue q
                where q.tenant_id = x.tenant_id
                  and q.target = x.target)
       order by x.tenant_id, x.target
         for no key update skip locked) x;
  if v_held.targets is not null then
    perform tenure.follow_up_note('lock_grant', v_held.tenants, v_held.targets, tenure.now());
  end if;
end
$$;
