-- Metrics of what an operator looks after: open dead letters, leases, executors and gates.

-- Dead letters that are not closed, leases by whether they have expired, executors that beat in the last
-- hour, and gates. At most metrics_rows_max dead letters of each tenant and triage status are counted.
create or replace function tenure.metrics_care(p_tenants integer[], p_now timestamptz)
returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with kinds as materialized (
    select distinct l.tenant_id, l.kind, n.tenant as tenant_shown, n.kind as kind_shown
      from tenure.metrics_lanes(p_tenants) n
      join tenure.lanes l on l.lane = n.lane
  ), letters as materialized (
    select d.tenant_id, d.kind, d.triage_status, d.moved_at
      from unnest(p_tenants) t (tenant_id)
      cross join unnest(array['pending', 'acknowledged', 'manual_replay', 'escalated']) s (status)
      cross join lateral (
        select q.tenant_id, q.kind, q.triage_status, q.moved_at
          from tenure.dead_letters q
         where q.tenant_id = t.tenant_id
           and q.triage_status = s.status
         order by q.moved_at
         limit tenure.limit_of('metrics_rows_max')) d
  ), beats as materialized (
    select t.name as tenant, h.executor_name, h.executor_kind, h.last_tick_at,
           h.last_tick_at > p_now - make_interval(secs => 2 * coalesce(
             u.stale_seconds,
             (select z.stale_seconds from tenure.tunings z where z.tenant_id = 0))) as is_alive
      from tenure.heartbeats h
      join tenure.tenants t on t.tenant_id = h.tenant_id
      left join tenure.tunings u on u.tenant_id = h.tenant_id
     where h.tenant_id = any (p_tenants)
       and h.last_tick_at > p_now - make_interval(secs => tenure.limit_of('metrics_recent_seconds'))
  )
  select 'tenure_dead_letters_open',
         jsonb_build_object(
           'tenant', coalesce(k.tenant_shown, 'other'),
           'kind', coalesce(k.kind_shown, 'other'),
           'triage_status', l.triage_status),
         count(*)::double precision
    from letters l
    left join kinds k on k.tenant_id = l.tenant_id and k.kind = l.kind
   group by k.tenant_shown, k.kind_shown, l.triage_status
  union all
  select 'tenure_oldest_pending_dead_letter_seconds',
         '{}',
         coalesce(extract(epoch from p_now - min(l.moved_at)), 0)::double precision
    from letters l
   where l.triage_status = 'pending'
  union all
  select 'tenure_leases',
         jsonb_build_object('state', case when e.until > p_now then 'active' else 'expired' end),
         count(*)::double precision
    from (
      select q.until
        from tenure.leases q
       where q.tenant_id = any (p_tenants)
       limit 10 * tenure.limit_of('metrics_rows_max')) e
   group by e.until > p_now
  union all
  (select 'tenure_executor_heartbeat_age_seconds',
          jsonb_build_object('tenant', b.tenant, 'worker', b.executor_name, 'executor', b.executor_kind),
          greatest(0, extract(epoch from p_now - b.last_tick_at))::double precision
     from beats b
    order by b.last_tick_at desc
    limit tenure.limit_of('metrics_series_max'))
  union all
  select 'tenure_executors',
         jsonb_build_object('executor', b.executor_kind, 'state', s.state),
         count(*) filter (where b.is_alive = (s.state = 'alive'))::double precision
    from beats b
    cross join (values ('alive'), ('silent')) s (state)
   group by b.executor_kind, s.state
  union all
  select 'tenure_gate_open',
         jsonb_build_object('tenant', t.name, 'gate', g.key),
         (tenure.setting(t.tenant_id, g.key))::boolean::integer
    from (
      select q.tenant_id, q.name
        from tenure.tenants q
       where q.tenant_id = any (p_tenants)
       order by q.tenant_id
       limit tenure.limit_of('metrics_series_max')) t
    cross join (select c.key from tenure.config_keys c where c.is_gate) g
$$;
