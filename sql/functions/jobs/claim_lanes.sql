-- The lanes a claim may take from, and how many more jobs of a limited kind it may hold.

-- The lanes a claim may take from, with the terms of a lease in each. They follow from the caller's tenant
-- and rights, the kinds asked for (null: every kind; empty: none) and the executor (null: any). Paused kinds
-- are left out unless p_also_paused: a worker that parks wants to hear of their resumption.
-- p_lanes: only these. p_lanes_max: where every kind is asked for, no more lanes than that are read, and
-- `more` says whether there are that many.
create or replace function tenure.claim_lanes(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_executor text, p_kinds text[],
  p_lease_seconds integer, p_also_paused boolean,
  p_lanes integer[] default null, p_lanes_max integer default null,
  out lanes integer[], out lease_seconds integer[], out limits integer[], out kinds text[],
  out executors text[], out stepped boolean[], out more boolean)
language plpgsql stable
as $$
declare
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
      into lanes, lease_seconds, limits, kinds, executors, stepped, more
      from (
        select l.lane,
               -- Steps have the lease of their policy, whatever the worker asks for.
               least(
                 case
                   when l.lease_seconds_min > 0 then l.lease_seconds_min
                   else least(coalesce(p_lease_seconds, k.lease_seconds, p_tuning.lease_seconds), v_longest)
                 end,
                 coalesce(k.lease_seconds_max, greatest(v_longest, l.lease_seconds_min))) as lease_seconds,
               k.concurrency_max, l.kind, l.executor, l.stepped,
               (k.paused_at is null or p_also_paused)
                 and (p_executor is null or l.executor = p_executor)
                 and (p_caller.executors is null or l.executor = any (p_caller.executors))
                 and exists (
                   select from tenure.executors e
                    where e.name = l.executor
                      and e.role = 'executor') as fits
          from (
            select n.lane, n.tenant_id, n.kind, n.executor, n.lease_seconds_min, n.stepped
              from unnest(p_lanes) u (lane)
              cross join lateral (
                select n.lane, n.tenant_id, n.kind, n.executor, n.lease_seconds_min, n.stepped
                  from tenure.lanes n
                 where n.lane = u.lane
                   and n.tenant_id = p_caller.tenant_id
                 limit 1) n
            union all
            (select n.lane, n.tenant_id, n.kind, n.executor, n.lease_seconds_min, n.stepped
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
    return;
  end if;
  select array_agg(x.lane), array_agg(x.lease_seconds), array_agg(x.concurrency_max), array_agg(x.kind),
         array_agg(x.executor), array_agg(x.stepped)
    into lanes, lease_seconds, limits, kinds, executors, stepped
    from (
      select l.lane,
             least(
               case
                 when l.lease_seconds_min > 0 then l.lease_seconds_min
                 else least(coalesce(p_lease_seconds, k.lease_seconds, p_tuning.lease_seconds), v_longest)
               end,
               coalesce(k.lease_seconds_max, greatest(v_longest, l.lease_seconds_min))) as lease_seconds,
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
  more := false;
end
$$;

-- How many more jobs of a limited kind may be held. Locks the kind: claims of it take turns until they
-- commit, so that none counts while another is about to hold more. When another transaction keeps the lock
-- for longer than lock_timeout, the result is 0, and the claim goes on without this kind.
create or replace function tenure.kind_room(p_tenant_id integer, p_kind text) returns integer
language plpgsql
set lock_timeout = '100ms'
as $$
declare
  v_lanes integer[];
  v_kind  record;
begin
  begin
    select k.concurrency_max, k.limit_settles_at, k.limited_after
      into v_kind
      from tenure.kinds k
     where k.tenant_id = p_tenant_id
       and k.kind = p_kind
       for no key update;
  exception when lock_not_available or deadlock_detected then
    return 0;
  end;
  if v_kind.concurrency_max is null then
    -- The limit was taken back while we waited.
    return tenure.limit_of('batch_rows_max');
  end if;
  -- New statements: they see the jobs that earlier holders of the lock claimed.
  v_lanes := array(select l.lane from tenure.lanes l where l.tenant_id = p_tenant_id and l.kind = p_kind);
  if v_kind.limit_settles_at is not null or v_kind.limited_after is not null then
    perform tenure.kind_settle(p_tenant_id, p_kind, v_lanes, v_kind.limit_settles_at, v_kind.limited_after);
    return v_kind.concurrency_max
      - (select count(*)::integer from tenure.active a where a.lane = any (v_lanes));
  end if;
  return v_kind.concurrency_max
    - (select count(*)::integer from tenure.active a where a.limited and a.lane = any (v_lanes));
end
$$;

-- Settles a new limit: it is settled when every held job of the kind carries the mark `limited`, by which
-- held jobs are counted. The caller has locked the kind.
--
-- A claim that had not seen the limit holds jobs without the mark, and may run in a transaction that has no
-- number yet. A minute after the limit was first seen, all such transactions have a number. When all that had
-- one by then have ended, the jobs they claimed are marked. Until then every held job counts, marked or not.
create or replace function tenure.kind_settle(
  p_tenant_id integer, p_kind text, p_lanes integer[], p_settles_at timestamptz, p_after xid8) returns void
language plpgsql
as $$
declare
  v_now timestamptz := tenure.now();
begin
  if p_settles_at = 'infinity' then
    update tenure.kinds k
       set limit_settles_at = v_now + interval '1 minute'
     where k.tenant_id = p_tenant_id
       and k.kind = p_kind;
  elsif p_settles_at <= v_now then
    update tenure.kinds k
       set limit_settles_at = null,
           limited_after = pg_current_xact_id()
     where k.tenant_id = p_tenant_id
       and k.kind = p_kind;
  elsif p_settles_at is null and p_after < pg_snapshot_xmin(pg_current_snapshot()) then
    -- In the order of ids, as ends lock them.
    update tenure.active a
       set limited = true
     where a.job_id in (
       select h.job_id
         from tenure.active h
        where not h.limited
          and h.lane = any (p_lanes)
        order by h.job_id
          for no key update);
    update tenure.kinds k
       set limited_after = null
     where k.tenant_id = p_tenant_id
       and k.kind = p_kind;
  end if;
exception when lock_not_available or deadlock_detected then
  -- Another session is ending one of these jobs: a later claim settles the limit.
  null;
end
$$;
