-- The lanes a claim may take from, and how many more jobs of a limited kind it may hold.

-- The lanes a claim may take from, with the terms of a lease in each. They follow from the caller's tenant
-- and rights, the kinds asked for (null: every kind; empty: none) and the executor (null: any). Paused kinds
-- are left out unless p_also_paused: a worker that parks wants to hear of their resumption.
-- p_lanes: only these. p_lanes_max: where every kind is asked for, no more lanes than that are read, and
-- `more` says whether there are that many.
create or replace function tenure.claim_lanes(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_executor text, p_kinds text[],
  p_lease_seconds integer, p_also_paused boolean,
  p_lanes integer[] default null, p_lanes_max integer default null) returns tenure.claim_terms
language plpgsql stable
as $$
declare
  v_terms   tenure.claim_terms;
  v_longest integer := greatest(p_tuning.lease_seconds, p_tuning.lease_seconds_max);
  v_kinds   text[] := coalesce(p_kinds, p_caller.kinds);
begin
  if v_kinds is null then
    -- Every kind.
    select array_agg(x.lane) filter (where x.fits),
           array_agg(x.lease_seconds) filter (where x.fits),
           array_agg(x.concurrency_max) filter (where x.fits),
           array_agg(x.kind) filter (where x.fits),
           array_agg(x.executor) filter (where x.fits),
           array_agg(x.stepped) filter (where x.fits),
           count(*) >= p_lanes_max
      into v_terms.lanes, v_terms.lease_seconds, v_terms.limits, v_terms.kinds, v_terms.executors,
           v_terms.stepped, v_terms.more
      from (
        select l.lane,
               least(coalesce(p_lease_seconds, k.lease_seconds, p_tuning.lease_seconds), v_longest,
                 k.lease_seconds_max) as lease_seconds,
               k.concurrency_max, l.kind, l.executor, l.stepped,
               (k.paused_at is null or p_also_paused)
                 and (p_executor is null or l.executor = p_executor)
                 and (p_caller.executors is null or l.executor = any (p_caller.executors))
                 and exists (
                   select from tenure.executors e
                    where e.name = l.executor
                      and e.role = 'executor') as fits
          from (
            select n.lane, n.tenant_id, n.kind, n.executor, n.stepped
              from unnest(p_lanes) u (lane)
              cross join lateral (
                select n.lane, n.tenant_id, n.kind, n.executor, n.stepped
                  from tenure.lanes n
                 where n.lane = u.lane
                   and n.tenant_id = p_caller.tenant_id
                 limit 1) n
            union all
            (select n.lane, n.tenant_id, n.kind, n.executor, n.stepped
               from tenure.lanes n
              where n.tenant_id = p_caller.tenant_id
                and p_lanes is null
              limit p_lanes_max)) l
          left join lateral (
            select k.lease_seconds, k.lease_seconds_max, k.concurrency_max, k.paused_at
              from tenure.kinds k
             where k.tenant_id = l.tenant_id
               and k.kind = l.kind
             limit 1) k on true
         order by l.lane) x;
    return v_terms;
  end if;
  select array_agg(x.lane), array_agg(x.lease_seconds), array_agg(x.concurrency_max), array_agg(x.kind),
         array_agg(x.executor), array_agg(x.stepped)
    into v_terms.lanes, v_terms.lease_seconds, v_terms.limits, v_terms.kinds, v_terms.executors,
         v_terms.stepped
    from (
      select l.lane,
             least(coalesce(p_lease_seconds, k.lease_seconds, p_tuning.lease_seconds), v_longest,
               k.lease_seconds_max) as lease_seconds,
             k.concurrency_max, l.kind, l.executor, l.stepped
        from tenure.lanes l
        join tenure.executors e on e.name = l.executor and e.role = 'executor'
        left join lateral (
          select k.lease_seconds, k.lease_seconds_max, k.concurrency_max, k.paused_at
            from tenure.kinds k
           where k.tenant_id = l.tenant_id
             and k.kind = l.kind
           limit 1) k on true
       where l.tenant_id = p_caller.tenant_id
         and (k.paused_at is null or p_also_paused)
         and (p_executor is null or l.executor = p_executor)
         and l.kind = any (v_kinds)
         and (p_caller.executors is null or l.executor = any (p_caller.executors))
         and (p_caller.kinds is null or l.kind = any (p_caller.kinds))
       order by l.lane) x;
  v_terms.more := false;
  return v_terms;
end
$$;

-- How many more jobs of a limited kind may be held. Locks the kind: claims of it take turns until they
-- commit, so that none counts while another is about to hold more. When another transaction keeps the lock
-- for longer than lock_timeout, the result is 0, and the claim goes on without this kind.
--
-- A claim in flight when the limit was set did not see it: its jobs count from its commit on, so that the
-- kind may be above its limit until some of them end. They have no mark, nor has their lease. While there is
-- such a lease, every held job of the kind is counted instead of the marked ones.
create or replace function tenure.kind_room(p_tenant_id integer, p_kind text) returns integer
language plpgsql
set lock_timeout = '100ms'
as $$
declare
  v_most  integer;
  v_lanes integer[];
  v_held  integer;
begin
  begin
    select k.concurrency_max
      into v_most
      from tenure.kinds k
     where k.tenant_id = p_tenant_id
       and k.kind = p_kind
       for no key update;
  exception when lock_not_available or deadlock_detected then
    return 0;
  end;
  if v_most is null then
    -- The limit was taken back while we waited.
    return tenure.limit_of('batch_rows_max');
  end if;
  -- New statements: they see the jobs that earlier holders of the lock claimed.
  v_lanes := array(select l.lane from tenure.lanes l where l.tenant_id = p_tenant_id and l.kind = p_kind);
  select case
           when exists (select from tenure.leases l where l.lane = any (v_lanes) and not l.limited)
             then (select count(*) from tenure.active a where a.lane = any (v_lanes))
           else (select count(*) from tenure.active a where a.limited and a.lane = any (v_lanes))
         end
    into v_held;
  return v_most - v_held;
end
$$;
