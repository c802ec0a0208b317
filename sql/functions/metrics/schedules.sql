-- Metrics of schedules and their slots.

-- How many schedules there are, for how long the oldest due one has waited for the scheduler, slots that
-- run and wait, and the outcome of slots of the last hour. The first metrics_series_max tenants have series
-- of their own; the others share the label 'other', with a hundredth of the rows each.
create or replace function tenure.metrics_schedules(p_tenants integer[], p_now timestamptz)
returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with tenants as materialized (
    select t.tenant_id,
           case when t.is_shown then t.name else 'other' end as tenant,
           tenure.limit_of('metrics_rows_max') / case when t.is_shown then 1 else 100 end as rows_max
      from (
        select q.tenant_id, q.name,
               row_number() over (order by q.tenant_id) <= tenure.limit_of('metrics_series_max') as is_shown
          from tenure.tenants q
         where q.tenant_id = any (p_tenants)) t
  ), known as (
    select t.tenant, s.state
      from tenants t
      cross join lateral (
        select case
                 when q.error_code is not null then 'failing'
                 when q.paused_at is not null then 'paused'
                 when q.ended_at is not null then 'ended'
                 else 'active'
               end as state
          from tenure.schedules q
         where q.tenant_id = t.tenant_id
           and q.deleted_at is null
         limit t.rows_max) s
  ), late as (
    select d.tenant_id, min(d.next_at) as since
      from (
        select q.tenant_id, q.next_at
          from tenure.schedules q
         where q.next_at <= p_now
           and q.tenant_id = any (p_tenants)
         order by q.next_at
         limit tenure.limit_of('metrics_rows_max')) d
     group by d.tenant_id
  ), running as materialized (
    select r.tenant_id, r.schedule_id, count(*) as slots
      from (
        select q.tenant_id, q.schedule_id
          from tenure.planned_slots q
         where q.state = 'running'
           and q.tenant_id = any (p_tenants)
         limit tenure.limit_of('metrics_rows_max')) r
     group by r.tenant_id, r.schedule_id
  ), ended as materialized (
    select t.tenant, e.state, e.skip_reason, e.missed
      from tenants t
      cross join lateral (
        select q.state, q.skip_reason,
               case when q.skip_reason = 'missed_window' then coalesce(q.missed, 1) else 0 end as missed
          from tenure.planned_slots q
         where q.tenant_id = t.tenant_id
           and q.ended_at > p_now - make_interval(secs => tenure.limit_of('metrics_recent_seconds'))
         order by q.ended_at desc
         limit t.rows_max) e
  )
  -- Every tenant has a series for each state, so that a rule can tell zero from absent.
  select 'tenure_schedules',
         jsonb_build_object('tenant', t.tenant, 'state', s.state),
         (select count(*)
            from known k
           where k.tenant = t.tenant
             and k.state = s.state)::double precision
    from (select distinct q.tenant from tenants q) t
    cross join (values ('active'), ('paused'), ('failing'), ('ended')) s (state)
  union all
  select 'tenure_schedule_lag_seconds',
         jsonb_build_object('tenant', t.tenant),
         greatest(0, coalesce(extract(epoch from p_now - min(l.since)), 0))
    from tenants t
    left join late l on l.tenant_id = t.tenant_id
   group by t.tenant
  union all
  select 'tenure_slots_running',
         jsonb_build_object('tenant', t.tenant),
         coalesce(sum(r.slots), 0)
    from tenants t
    left join running r on r.tenant_id = t.tenant_id
   group by t.tenant
  union all
  select 'tenure_slots_waiting',
         jsonb_build_object('tenant', t.tenant),
         coalesce(sum(w.slots), 0)
    from tenants t
    left join running r on r.tenant_id = t.tenant_id
    left join lateral (
      select count(*) as slots
        from tenure.planned_slots q
       where q.schedule_id = r.schedule_id
         and q.state = 'planned'
         and q.waiting_since is not null) w on true
   group by t.tenant
  union all
  select 'tenure_slots_ended',
         jsonb_strip_nulls(jsonb_build_object('tenant', e.tenant, 'state', e.state, 'reason', e.skip_reason)),
         count(*)
    from ended e
   group by e.tenant, e.state, e.skip_reason
  union all
  select 'tenure_slots_missed',
         jsonb_build_object('tenant', t.tenant),
         coalesce((select sum(e.missed) from ended e where e.tenant = t.tenant), 0)
    from (select distinct q.tenant from tenants q) t
$$;
