-- Metrics of lanes: which of them have series of their own, and how many jobs wait and are held in them.

-- The lanes of these tenants with the labels of their series. metrics_series_max kinds have series of their
-- own, those with a policy first, then the older ones; the others share the label 'other'.
create or replace function tenure.metrics_lanes(p_tenants integer[])
returns table (lane integer, tenant text, kind text, is_shown boolean)
language sql stable
as $$
  select x.lane,
         case when x.is_shown then x.tenant else 'other' end,
         case when x.is_shown then x.kind else 'other' end,
         x.is_shown
    from (
      select n.lane, n.tenant, n.kind,
             dense_rank() over (order by n.is_plain, n.first_lane)
               <= tenure.limit_of('metrics_series_max') as is_shown
        from (
          select l.lane, t.name as tenant, l.kind,
                 k.kind is null as is_plain,
                 min(l.lane) over (partition by l.tenant_id, l.kind) as first_lane
            from tenure.lanes l
            join tenure.tenants t on t.tenant_id = l.tenant_id
            left join tenure.kinds k on k.tenant_id = l.tenant_id and k.kind = l.kind
           where l.tenant_id = any (p_tenants)) n) x
$$;

-- Jobs that wait and jobs that are held. At most metrics_rows_max rows of each lane are counted, a
-- hundredth of that for a lane under 'other': a count at that limit means that many or more. The oldest
-- waiting job is looked up at the head of each rank, in at most 32 ranks of a lane.
create or replace function tenure.metrics_queue(p_tenants integer[], p_now timestamptz)
returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with lanes as materialized (
    select n.lane, n.tenant, n.kind,
           tenure.limit_of('metrics_rows_max') / case when n.is_shown then 1 else 100 end as rows_max
      from tenure.metrics_lanes(p_tenants) n
  ), held as materialized (
    select a.lane, case when a.started_at is null then 'leased' else 'in_progress' end as state, a.started_at
      from tenure.active a
     limit 10 * tenure.limit_of('metrics_rows_max')
  ), counted as (
    select n.tenant, n.kind, w.state, w.jobs
      from lanes n
      cross join lateral (
        select r.state, count(*) as jobs
          from (select q.state from tenure.ready q where q.lane = n.lane limit n.rows_max) r
         group by r.state
        union all
        select case d.state when 'queued' then 'scheduled' else d.state end, count(*)
          from (select q.state from tenure.delayed q where q.lane = n.lane limit n.rows_max) d
         group by d.state) w
    union all
    select n.tenant, n.kind, h.state, count(*)
      from held h
      join lanes n on n.lane = h.lane
     group by n.tenant, n.kind, h.state
    union all
    -- Every kind has a series for queued jobs, so that a rule can tell zero from absent.
    select n.tenant, n.kind, 'queued', 0 from lanes n
  ), heads as (
    select n.tenant, n.kind, (
             with recursive ranks as (
               (select q.rank, q.due, 1 as place
                  from tenure.ready q
                 where q.lane = n.lane
                 order by q.rank, q.due
                 limit 1)
               union all
               select x.rank, x.due, r.place + 1
                 from ranks r
                 cross join lateral (
                   select q.rank, q.due
                     from tenure.ready q
                    where q.lane = n.lane
                      and q.rank > r.rank
                    order by q.rank, q.due
                    limit 1) x
                where r.place < 32
             )
             select min(r.due) from ranks r) as due
      from lanes n
  )
  select 'tenure_jobs',
         jsonb_build_object('tenant', c.tenant, 'kind', c.kind, 'state', c.state),
         sum(c.jobs)::double precision
    from counted c
   group by c.tenant, c.kind, c.state
  union all
  select 'tenure_oldest_waiting_seconds',
         jsonb_build_object('tenant', h.tenant, 'kind', h.kind),
         greatest(0, coalesce(extract(epoch from p_now - min(h.due)), 0))::double precision
    from heads h
   group by h.tenant, h.kind
  union all
  select 'tenure_longest_run_seconds',
         jsonb_build_object('tenant', n.tenant, 'kind', n.kind),
         greatest(0, extract(epoch from p_now - min(h.started_at)))::double precision
    from held h
    join lanes n on n.lane = h.lane
   where h.started_at is not null
   group by n.tenant, n.kind
$$;
