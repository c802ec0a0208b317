-- Services, the loops that act without a caller (reaper, scheduler and others), and their last runs.

-- Records a completed run of a service by a process. Rows of processes whose last run was a day ago are
-- removed; the row of this process stays, so the last run of a service is known however long ago it was.
-- granted to: server
create or replace function tenure.service_beat(
  p_service text, p_instance uuid, p_version text, p_zones text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := tenure.now();
begin
  perform tenure.check_name('service', p_service);
  insert into tenure.services as s (service, instance, version, zones, started_at, last_run_at)
  values (p_service, p_instance, p_version, p_zones, v_now, v_now)
  on conflict (service, instance) do update
     set version = excluded.version,
         zones = excluded.zones,
         last_run_at = excluded.last_run_at;
  delete from tenure.services s
   where s.service = p_service
     and s.instance = any (array(
       select o.instance
         from tenure.services o
        where o.service = p_service
          and o.instance <> p_instance
          and o.last_run_at < v_now - make_interval(days => tenure.limit_of('service_days')::integer)
        limit tenure.limit_of('service_rows_max')
          for update skip locked));
end
$$;

-- Every service with its last run, whether a process runs it now, and the effect if none does. A service
-- counts as running if it completed a run within silent_seconds, many times the pause between two runs.
-- granted to: all
create or replace function tenure.service_list()
returns table (service text, is_running boolean, last_run_at timestamptz, instances bigint, versions text[],
  zones text[], effect text)
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select k.service, coalesce(b.last_run_at > c.now - make_interval(secs => k.silent_seconds), false),
         b.last_run_at, coalesce(b.instances, 0), coalesce(b.versions, '{}'), coalesce(b.zones, '{}'),
         k.effect
    from (select tenure.now() as now) c
    cross join (values
      (1, 'reaper', 60, 'expired leases are not rescued'),
      (2, 'scheduler', 60, 'schedules do not fire'),
      (3, 'executions', 60, 'time limits and windows of executions are not acted on'),
      (4, 'subscriptions', 60, 'subscriptions make no jobs and no deliveries'),
      (5, 'retention', 600, 'finished jobs are not removed and partitions are not made'),
      (6, 'archive', 600, 'finished executions are not archived'),
      (7, 'anchor', 600, 'chain heads of executions go into no checkpoint'))
        k (place, service, silent_seconds, effect)
    left join lateral (
      select max(s.last_run_at) as last_run_at,
             count(*)
               filter (where s.last_run_at > c.now - make_interval(secs => k.silent_seconds)) as instances,
             array_agg(distinct s.version)
               filter (where s.last_run_at > c.now - make_interval(secs => k.silent_seconds)) as versions,
             array_agg(distinct s.zones)
               filter (where s.zones is not null
                         and s.last_run_at > c.now - make_interval(secs => k.silent_seconds)) as zones
        from tenure.services s
       where s.service = k.service) b on true
   order by k.place
$$;

-- Metrics: whether each service runs, and the age of its last run. A service that never ran has no age.
create or replace function tenure.metrics_services(p_now timestamptz)
returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with known as materialized (
    select s.service, s.is_running, s.last_run_at from tenure.service_list() s
  )
  select 'tenure_service_running', jsonb_build_object('service', k.service),
         k.is_running::integer::double precision
    from known k
  union all
  select 'tenure_service_last_run_age_seconds', jsonb_build_object('service', k.service),
         greatest(0, extract(epoch from p_now - k.last_run_at))::double precision
    from known k
   where k.last_run_at is not null
$$;
