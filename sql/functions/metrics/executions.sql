-- Metrics of executions.

-- Open executions by state, what waits for people (approvals, unknown steps, parked executions, dead
-- letters), locks, and for how long the oldest due execution has waited. The first metrics_series_max
-- tenants have series of their own; the others share the label 'other'.
create or replace function tenure.metrics_executions(p_tenants integer[], p_now timestamptz)
returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with tenants as materialized (
    select q.tenant_id,
           case
             when row_number() over (order by q.tenant_id) <= tenure.limit_of('metrics_series_max')
               then q.name
             else 'other'
           end as tenant
      from tenure.tenants q
     where q.tenant_id = any (p_tenants)
  ), open as materialized (
    select t.tenant, s.state,
           count(e.execution_id) as executions,
           coalesce(sum(e.steps_unknown), 0) as unknown,
           count(*) filter (where e.parked is not null) as parked
      from tenants t
      cross join (values ('pending'), ('awaiting_approval'), ('approved'), ('running')) s (state)
      left join lateral (
        select q.execution_id, q.steps_unknown, q.parked
          from tenure.execution_states q
         where q.tenant_id = t.tenant_id
           and q.state = s.state
         limit tenure.limit_of('metrics_rows_max')) e on true
     group by t.tenant, s.state
  ), late as (
    select d.tenant_id, min(d.next_at) as since
      from (
        select q.tenant_id, q.next_at
          from tenure.execution_states q
         where q.next_at <= p_now
           and q.tenant_id = any (p_tenants)
         order by q.next_at
         limit tenure.limit_of('metrics_rows_max')) d
     group by d.tenant_id
  )
  select 'tenure_executions',
         jsonb_build_object('tenant', o.tenant, 'state', o.state),
         o.executions::double precision
    from open o
  union all
  select 'tenure_executions_parked', jsonb_build_object('tenant', o.tenant), sum(o.parked)
    from open o
   group by o.tenant
  union all
  select 'tenure_steps_unknown', jsonb_build_object('tenant', o.tenant), sum(o.unknown)
    from open o
   group by o.tenant
  union all
  select 'tenure_approvals_pending',
         jsonb_build_object('tenant', t.tenant),
         coalesce(sum((
           select count(*)
             from (
               select
                 from tenure.approvals a
                where a.tenant_id = t.tenant_id
                  and a.state = 'pending'
                limit tenure.limit_of('metrics_rows_max')) a)), 0)
    from tenants t
   group by t.tenant
  union all
  select 'tenure_locks_held',
         jsonb_build_object('tenant', t.tenant),
         coalesce(sum((
           select count(*)
             from (
               select
                 from tenure.locks l
                where l.tenant_id = t.tenant_id
                limit tenure.limit_of('metrics_rows_max')) l)), 0)
    from tenants t
   group by t.tenant
  union all
  select 'tenure_execution_dead_letters_pending',
         jsonb_build_object('tenant', t.tenant),
         coalesce(sum((
           select count(*)
             from (
               select
                 from tenure.execution_dead_letters d
                where d.tenant_id = t.tenant_id
                  and d.triage_status = 'pending'
                limit tenure.limit_of('metrics_rows_max')) d)), 0)
    from tenants t
   group by t.tenant
  union all
  select 'tenure_execution_lag_seconds',
         jsonb_build_object('tenant', t.tenant),
         greatest(0, coalesce(extract(epoch from p_now - min(l.since)), 0))
    from tenants t
    left join late l on l.tenant_id = t.tenant_id
   group by t.tenant
$$;
