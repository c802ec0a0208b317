-- Metrics of what happened between two answers: counts of jobs by event, and a sample of ended runs.

-- What happened from transaction p_from up to p_to: jobs by event, and for a sample of the ended runs how
-- long they waited and ran. One event may cover many jobs; a sampled event contributes one of them, and is
-- the likelier to be sampled the more it covers. The time waited is known only for a first run, from when
-- its job was due.
create or replace function tenure.metrics_events(
  p_tenants integer[], p_now timestamptz, p_epoch integer, p_from xid8, p_to xid8,
  out counts jsonb, out samples jsonb)
language sql volatile
as $$
  with lanes as materialized (
    select n.lane, n.tenant, n.kind from tenure.metrics_lanes(p_tenants) n
  ), noted as materialized (
    select e.lane, e.kind, e.job_ids, e.runs, coalesce(e.job_count, cardinality(e.job_ids)) as jobs
      from unnest(p_tenants) t (tenant_id)
      cross join lateral (
        select q.lane, q.kind, q.job_ids, q.runs, q.job_count
          from tenure.events q
         where q.tenant_id = t.tenant_id
           and q.epoch = p_epoch
           and q.txid >= p_from
           and q.txid < p_to
           and q.at > p_now - make_interval(secs => tenure.limit_of('metrics_window_seconds_max'))
           and q.lane is not null) e
  ), summed as (
    select n.tenant, n.kind, substr(t.kind, 5) as event, sum(t.jobs) as jobs
      from noted t
      join lanes n on n.lane = t.lane
     where t.kind ^@ 'job.'
     group by n.tenant, n.kind, t.kind
  ), ended as materialized (
    select t.lane, t.job_ids, t.runs, 1 + floor(random() * t.jobs)::integer as place
      from noted t
     where t.kind in ('job.succeeded', 'job.failed', 'job.cancelled')
       and t.jobs > 0
       and t.runs is not null
     order by power(random(), 1.0 / t.jobs) desc
     limit tenure.limit_of('metrics_samples_max')
  )
  select coalesce((
           select jsonb_agg(jsonb_build_array(s.tenant, s.kind, s.event, s.jobs))
             from summed s), '[]'),
         coalesce((
           select jsonb_agg(jsonb_build_array(
                    n.tenant,
                    n.kind,
                    case when a.run = 1
                      then round(greatest(0, extract(epoch from a.started_at - j.due)), 6) end,
                    round(extract(epoch from a.ended_at - a.started_at), 6)))
             from ended x
             join lanes n on n.lane = x.lane
             cross join lateral (
               select q.run, q.started_at, q.ended_at
                 from tenure.attempts q
                where q.job_id = x.job_ids[x.place]
                  and q.run = x.runs[x.place]
                limit 1) a
             cross join lateral (
               select q.due from tenure.jobs q where q.job_id = x.job_ids[x.place] limit 1) j
            where a.started_at is not null), '[]')
$$;
