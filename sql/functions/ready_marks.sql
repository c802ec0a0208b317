-- Marks: which lanes have jobs in `ready`, best rank first. A claim over every kind reads them instead of
-- looking into every lane.
--
-- Every pair of lane and rank that has a row in `ready` has a mark: a transaction that inserts a row there
-- sees a mark that is not retired, or makes one. Marks are not unique, and no transaction waits for another.
-- A mark is removed in three steps, each in a transaction of its own:
--   1. A claim finds the pair empty and retires the mark. After its commit, new jobs no longer rely on it.
--   2. ready_marks_tidy sets unused_from to a transaction number above every one given out so far. A
--      transaction that relies on the mark had its number before it looked, so its number is lower.
--   3. When all transactions with a lower number have ended, their jobs are visible. If the pair is empty
--      then, the mark is deleted.

-- Marks the lanes of rows that were just inserted into `ready`. Call it after the inserts, when the
-- transaction has its number. Above read committed the snapshot may show marks that are gone, so a new mark
-- is always made.
create or replace function tenure.ready_mark(p_lanes integer[], p_ranks integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into tenure.ready_marks (tenant_id, executor, rank, lane)
  select l.tenant_id, l.executor, t.rank, t.lane
    from (select distinct x.lane, x.rank from unnest(p_lanes, p_ranks) x (lane, rank)) t
    cross join lateral (select n.tenant_id, n.executor from tenure.lanes n where n.lane = t.lane limit 1) l
   where current_setting('transaction_isolation') <> 'read committed'
      or not exists (
        select from tenure.ready_marks m
         where m.tenant_id = l.tenant_id and m.executor = l.executor and m.rank = t.rank
           and m.lane = t.lane and m.retired_in is null);
end
$$;

-- The lanes that a claim over every kind may take from: those of the best ranks, at most claim_lanes_max.
-- Within a rank the lanes after p_lane_after, or after a random place, come first, so that all have their
-- turn; lanes that are paused or at their limit are skipped, up to claim_marks_max of a rank. Before that,
-- due jobs are moved to ready, oldest first, at most p_rows_max. If nothing can be claimed, returns any one
-- lane of the caller.
create or replace function tenure.claim_marked(
  p_caller tenure.caller_identity, p_executor text, p_lane_after integer, p_last smallint, p_now timestamptz,
  p_rows_max integer)
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_tenant    integer := p_caller.tenant_id;
  v_most      integer := tenure.limit_of('claim_lanes_max');
  v_executors text[];
  v_lanes     integer[];
  v_again     integer;
begin
  select array_agg(e.name) into v_executors
    from tenure.executors e
   where e.role = 'executor'
     and (p_executor is null or e.name = p_executor)
     and (p_caller.executors is null or e.name = any (p_caller.executors));
  perform tenure.tenant_promote(v_tenant, p_now, p_rows_max);
  v_lanes := tenure.marked_lanes(v_tenant, v_executors, p_lane_after, p_last);
  if cardinality(v_lanes) < v_most
     and exists (
       select from tenure.ready_marks m where m.tenant_id = v_tenant and m.retired_in is not null) then
    -- A mark may have been retired while a job that relies on it was under way.
    v_again := tenure.ready_marks_tidy(array[v_tenant],
      case when v_lanes = '{}' then tenure.limit_of('batch_rows_max')::integer else v_most end);
    if v_again > 0 and v_lanes = '{}' then
      v_lanes := tenure.marked_lanes(v_tenant, v_executors, p_lane_after, p_last);
    end if;
  end if;
  if v_lanes = '{}' then
    v_lanes := array(
      select l.lane
        from tenure.lanes l
       where l.tenant_id = v_tenant and l.executor = any (v_executors)
       limit 1);
  end if;
  return v_lanes;
end
$$;

-- Moves due jobs of all lanes of a tenant from delayed to ready, oldest first, at most p_rows_max rows. Rows
-- that another transaction is moving are skipped: it may stay open.
create or replace function tenure.tenant_promote(p_tenant_id integer, p_now timestamptz, p_rows_max integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_lanes integer[];
  v_ranks integer[];
begin
  with picked as materialized (
    select d.ctid
      from tenure.delayed d
     where d.tenant_id = p_tenant_id and d.due <= p_now
     order by d.due
     limit p_rows_max
       for update skip locked
  ), taken as (
    delete from tenure.delayed d
     where d.ctid = any (array(select p.ctid from picked p))
    returning d.lane, d.rank, d.due, d.job_id, d.state, d.run, d.attempts, d.deadline
  ), put as (
    insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
    select t.lane, t.rank, t.due, t.job_id, t.state, t.run, t.attempts, t.deadline from taken t
    returning lane, rank
  )
  select array_agg(p.lane), array_agg(p.rank) into v_lanes, v_ranks
    from (select distinct p.lane, p.rank from put p) p;
  if v_lanes is not null then
    perform tenure.ready_mark(v_lanes, v_ranks);
  end if;
end
$$;

-- Walks over the marks, rank by rank, best first, and returns the lanes that can be claimed from. Marks of
-- empty pairs are retired when there are more than a few.
create or replace function tenure.marked_lanes(
  p_tenant_id integer, p_executors text[], p_lane_after integer, p_last smallint)
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_most   integer := tenure.limit_of('claim_lanes_max');
  v_rank   integer := -32769;
  v_lanes  integer[] := '{}';
  v_empty  bigint[] := '{}';
  v_looked integer := 0;
  v_full   integer;
  v_mark   record;
  v_lane   record;
begin
  while cardinality(v_lanes) < v_most
        and v_looked < case
          when v_lanes = '{}' then tenure.limit_of('marks_empty_looked_max')
          else tenure.limit_of('marks_looked_max')
        end loop
    select n.rank into v_rank
      from unnest(p_executors) e (name)
      cross join lateral (
        select m.rank
          from tenure.ready_marks m
         where m.tenant_id = p_tenant_id and m.executor = e.name and m.rank > v_rank and m.retired_in is null
         order by m.rank
         limit 1) n
     order by n.rank
     limit 1;
    exit when v_rank is null or v_rank > p_last;
    v_full := v_looked + tenure.limit_of('claim_marks_max');
    for v_mark in
      select w.mark_id, w.lane
        from unnest(p_executors) e (name)
        cross join lateral tenure.marks_from(p_tenant_id, e.name, v_rank::smallint, p_lane_after) w
       order by w.turn, w.lane
       limit tenure.limit_of('claim_marks_max')
    loop
      v_looked := v_looked + 1;
      select k.paused_at is not null as paused, k.concurrency_max as most, l.kind,
             exists (select from tenure.ready r where r.lane = v_mark.lane and r.rank = v_rank) as ready
        into v_lane
        from tenure.lanes l
        left join tenure.kinds k on k.tenant_id = l.tenant_id and k.kind = l.kind
       where l.lane = v_mark.lane;
      if v_lane.ready is not true then
        v_empty := v_empty || v_mark.mark_id;
      elsif not v_lane.paused and v_mark.lane <> all (v_lanes)
            and (v_lane.most is null or v_lane.most > (
              select count(*)
                from tenure.active a
               where a.limited
                 and a.lane = any (array(
                   select n.lane
                     from tenure.lanes n
                    where n.tenant_id = p_tenant_id and n.kind = v_lane.kind)))) then
        v_lanes := v_lanes || v_mark.lane;
        exit when cardinality(v_lanes) >= v_most;
      end if;
    end loop;
    if v_lanes = '{}' and v_empty <> '{}' and v_looked >= v_full then
      -- Only empty pairs so far, and there are more marks of this rank: retire these and go on behind them.
      perform tenure.marks_retire(v_empty);
      v_empty := '{}';
      v_rank := v_rank - 1;
    end if;
  end loop;
  if cardinality(v_empty) > tenure.limit_of('marks_empty_kept_max') then
    perform tenure.marks_retire(v_empty);
  end if;
  return v_lanes;
end
$$;

-- Retires marks whose pairs are empty. A mark that another transaction has locked is left as it is.
create or replace function tenure.marks_retire(p_ids bigint[]) returns void
language sql
as $$
  update tenure.ready_marks m
     set retired_in = pg_current_xact_id()
   where m.mark_id in (
     select n.mark_id
       from tenure.ready_marks n
      where n.mark_id = any (p_ids)
        and coalesce(n.retired_in, '0') = '0'
        -- pinned order: see sql/README.md
        and not exists (select from tenure.ready r where r.lane = n.lane and r.rank = n.rank offset 0)
        for update skip locked)
$$;

-- The marks of one executor and rank: first those after p_lane_after, or after a random lane, then those
-- before it.
create or replace function tenure.marks_from(
  p_tenant_id integer, p_executor text, p_rank smallint, p_lane_after integer)
returns table (mark_id bigint, lane integer, turn integer)
language plpgsql
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_most  integer := tenure.limit_of('claim_marks_max');
  v_first integer;
  v_last  integer;
  v_after integer := p_lane_after;
begin
  select m.lane into v_first
    from tenure.ready_marks m
   where m.tenant_id = p_tenant_id and m.executor = p_executor and m.rank = p_rank and m.retired_in is null
   order by m.lane
   limit 1;
  if not found then
    return;
  end if;
  if v_after is null then
    select m.lane into v_last
      from tenure.ready_marks m
     where m.tenant_id = p_tenant_id and m.executor = p_executor and m.rank = p_rank and m.retired_in is null
     order by m.lane desc
     limit 1;
    v_after := v_first - 1 + floor(random() * (coalesce(v_last, v_first) - v_first + 1))::integer;
  end if;
  return query
    select m.mark_id, m.lane, 1
      from tenure.ready_marks m
     where m.tenant_id = p_tenant_id and m.executor = p_executor and m.rank = p_rank
       and m.retired_in is null and m.lane > v_after
     order by m.lane
     limit v_most;
  return query
    select m.mark_id, m.lane, 2
      from tenure.ready_marks m
     where m.tenant_id = p_tenant_id and m.executor = p_executor and m.rank = p_rank
       and m.retired_in is null and m.lane <= v_after
     order by m.lane
     limit v_most;
end
$$;

-- Tidies retired marks, at most p_limit of each tenant: a mark whose pair has jobs is put back in use, one
-- that nothing relies on is deleted, one without a number gets it. Returns how many were put back in use.
-- It never waits.
create or replace function tenure.ready_marks_tidy(p_tenants integer[], p_limit integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_tenant integer;
  v_place  integer;
  v_ids    bigint[];
  v_rows   integer;
  v_again  integer := 0;
begin
  -- Each step needs a snapshot of its own.
  if current_setting('transaction_isolation') <> 'read committed' then
    return 0;
  end if;
  foreach v_tenant in array p_tenants loop
    -- From a random place on: marks that an open transaction keeps must not hide the others.
    select x.first + floor(random() * (x.last - x.first + 1)) into v_place
      from (
        select (select m.lane
                  from tenure.ready_marks m
                 where m.tenant_id = v_tenant and m.retired_in is not null
                 order by m.lane
                 limit 1) as first,
               (select m.lane
                  from tenure.ready_marks m
                 where m.tenant_id = v_tenant and m.retired_in is not null
                 order by m.lane desc
                 limit 1) as last) x;
    continue when v_place is null;
    v_ids := tenure.marks_to_tidy(array(
      select m.mark_id
        from tenure.ready_marks m
       where m.tenant_id = v_tenant and m.retired_in is not null and m.lane >= v_place
       order by m.lane
       limit p_limit));
    if cardinality(v_ids) < p_limit then
      v_ids := v_ids || tenure.marks_to_tidy(array(
        select m.mark_id
          from tenure.ready_marks m
         where m.tenant_id = v_tenant and m.retired_in is not null and m.lane < v_place
         order by m.lane
         limit p_limit - cardinality(v_ids)));
    end if;
    continue when v_ids = '{}';
    update tenure.ready_marks m
       set retired_in = null,
           unused_from = null
     where m.mark_id = any (v_ids)
       -- pinned order: see sql/README.md
       and exists (select from tenure.ready r where r.lane = m.lane and r.rank = m.rank offset 0)
       and not exists (
         select from tenure.ready_marks n
          where n.tenant_id = m.tenant_id and n.executor = m.executor and n.rank = m.rank
            and n.lane = m.lane and n.retired_in is null
         offset 0);
    get diagnostics v_rows = row_count;
    v_again := v_again + v_rows;
    delete from tenure.ready_marks m
     where m.mark_id = any (v_ids)
       and m.unused_from <= pg_snapshot_xmin(pg_current_snapshot())
       and (not exists (select from tenure.ready r where r.lane = m.lane and r.rank = m.rank)
            or exists (
              select from tenure.ready_marks n
               where n.tenant_id = m.tenant_id and n.executor = m.executor and n.rank = m.rank
                 and n.lane = m.lane and n.retired_in is null));
    if exists (select from tenure.ready_marks m where m.mark_id = any (v_ids) and m.unused_from is null) then
      perform tenure.number_used_up(v_ids[1]);
    end if;
    -- Not the marks that this transaction retired itself: until it commits, others rely on them. A number
    -- from before a restore is replaced.
    update tenure.ready_marks m
       set unused_from = pg_snapshot_xmax(pg_current_snapshot())
     where m.mark_id = any (v_ids)
       -- Written so that no plan takes the index of all retired marks.
       and coalesce(m.retired_in, pg_current_xact_id()) <> pg_current_xact_id()
       and (m.unused_from is null or m.unused_from > pg_snapshot_xmax(pg_current_snapshot()));
  end loop;
  return v_again;
end
$$;

-- Locks and returns those of these retired marks that can be tidied now: without a number, with a number that
-- all transactions have passed or that is from before a restore, or whose pair has jobs again. The others
-- wait for an open transaction and are not written to.
create or replace function tenure.marks_to_tidy(p_ids bigint[]) returns bigint[]
language sql
set search_path = pg_catalog, pg_temp
as $$
  select array(
    select m.mark_id
      from tenure.ready_marks m
     where m.mark_id = any (p_ids)
       and (m.unused_from is null
            or m.unused_from <= pg_snapshot_xmin(pg_current_snapshot())
            or m.unused_from > pg_snapshot_xmax(pg_current_snapshot())
            -- pinned order: see sql/README.md
            or exists (select from tenure.ready r where r.lane = m.lane and r.rank = m.rank offset 0))
       for update skip locked)
$$;

-- Takes a new transaction number and rolls it back, so that xmax of the next snapshot lies above every number
-- given out before. Otherwise xmax is just above the last number that has *completed*, and a transaction that
-- is still open may have a higher one.
create or replace function tenure.number_used_up(p_mark_id bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update tenure.ready_marks m set lane = m.lane where m.mark_id = p_mark_id;
  raise exception 'number used up';
exception when raise_exception then
  null;
end
$$;

-- Marks every pair that has jobs and no mark: these are from transactions that were open when marks were
-- introduced. Retires duplicate marks, which producers in repeatable read make.
create or replace function tenure.ready_marks_mend() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set enable_seqscan = off
as $$
declare
  v_lanes integer[];
  v_ranks integer[];
begin
  with recursive pairs as (
    (select r.lane, r.rank from tenure.ready r order by r.lane, r.rank limit 1)
    union all
    select n.lane, n.rank
      from pairs p
      cross join lateral (
        select r.lane, r.rank
          from tenure.ready r
         where (r.lane, r.rank) > (p.lane, p.rank)
         order by r.lane, r.rank
         limit 1) n
  )
  select array_agg(p.lane), array_agg(p.rank) into v_lanes, v_ranks from pairs p;
  if v_lanes is not null then
    perform tenure.ready_mark(v_lanes, v_ranks);
  end if;
  update tenure.ready_marks m
     set retired_in = pg_current_xact_id()
   where m.mark_id in (
     select n.mark_id
       from tenure.ready_marks n
      where n.retired_in is null
        and exists (
          select from tenure.ready_marks o
           where o.tenant_id = n.tenant_id and o.executor = n.executor and o.rank = n.rank
             and o.lane = n.lane and o.retired_in is null and o.mark_id < n.mark_id
          -- pinned order: see sql/README.md
          offset 0)
      limit tenure.limit_of('batch_rows_max')
        for update skip locked);
end
$$;
