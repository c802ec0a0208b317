-- Metrics: what a monitoring system asks for every few seconds, however much there is. Reads only, and never more than a named number of rows of a table that grows.

-- The lanes of these tenants with the labels of their series: so many kinds have series of their own, those with a policy first, then the older ones; the rest are 'other'.
create or replace function tenure.metrics_lanes(p_tenants integer[]) returns table (lane integer, tenant text, kind text, is_shown boolean)
language sql stable
as $$
  select x.lane, case when x.is_shown then x.tenant else 'other' end, case when x.is_shown then x.kind else 'other' end, x.is_shown
    from (select n.lane, n.tenant, n.kind, dense_rank() over (order by n.is_plain, n.first_lane) <= tenure.limit_of('metrics_series_max') as is_shown
            from (select l.lane, t.name as tenant, l.kind, k.kind is null as is_plain, min(l.lane) over (partition by l.tenant_id, l.kind) as first_lane
                    from tenure.lanes l
                    join tenure.tenants t on t.tenant_id = l.tenant_id
                    left join tenure.kinds k on k.tenant_id = l.tenant_id and k.kind = l.kind
                   where l.tenant_id = any (p_tenants)) n) x
$$;

-- What waits and what is held. Of each lane so many rows are counted and no more, a hundredth of that where it is one of the others: a lane that reaches the number has it or more.
-- The oldest is looked up at the head of each rank, so many ranks to a lane.
create or replace function tenure.metrics_queue(p_tenants integer[], p_now timestamptz) returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with lanes as materialized (
    select n.lane, n.tenant, n.kind, tenure.limit_of('metrics_rows_max') / case when n.is_shown then 1 else 100 end as rows_max
      from tenure.metrics_lanes(p_tenants) n
  ), held as materialized (
    select a.lane, case when a.started_at is null then 'leased' else 'in_progress' end as state, a.started_at from tenure.active a limit 10 * tenure.limit_of('metrics_rows_max')
  ), counted as (
    select n.tenant, n.kind, w.state, w.jobs
      from lanes n
      cross join lateral (
        select r.state, count(*) as jobs from (select q.state from tenure.ready q where q.lane = n.lane limit n.rows_max) r group by r.state
        union all
        select case d.state when 'queued' then 'scheduled' else d.state end, count(*) from (select q.state from tenure.delayed q where q.lane = n.lane limit n.rows_max) d group by d.state) w
    union all
    select n.tenant, n.kind, h.state, count(*) from held h join lanes n on n.lane = h.lane group by n.tenant, n.kind, h.state
    union all
    -- Every kind has a series for what waits, so that a rule can tell nothing from nobody.
    select n.tenant, n.kind, 'queued', 0 from lanes n
  ), heads as (
    select n.tenant, n.kind, (
             with recursive ranks as (
               (select q.rank, q.due, 1 as place from tenure.ready q where q.lane = n.lane order by q.rank, q.due limit 1)
               union all
               select x.rank, x.due, r.place + 1
                 from ranks r
                 cross join lateral (select q.rank, q.due from tenure.ready q where q.lane = n.lane and q.rank > r.rank order by q.rank, q.due limit 1) x
                where r.place < 32
             )
             select min(r.due) from ranks r) as due
      from lanes n
  )
  select 'tenure_jobs', jsonb_build_object('tenant', c.tenant, 'kind', c.kind, 'state', c.state), sum(c.jobs)::double precision from counted c group by c.tenant, c.kind, c.state
  union all
  select 'tenure_oldest_waiting_seconds', jsonb_build_object('tenant', h.tenant, 'kind', h.kind), greatest(0, coalesce(extract(epoch from p_now - min(h.due)), 0))::double precision
    from heads h group by h.tenant, h.kind
  union all
  select 'tenure_longest_run_seconds', jsonb_build_object('tenant', n.tenant, 'kind', n.kind), greatest(0, extract(epoch from p_now - min(h.started_at)))::double precision
    from held h join lanes n on n.lane = h.lane where h.started_at is not null group by n.tenant, n.kind
$$;

-- Dead letters that wait for somebody, leases, executors and gates.
create or replace function tenure.metrics_care(p_tenants integer[], p_now timestamptz) returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with kinds as materialized (
    select distinct l.tenant_id, l.kind, n.tenant as tenant_shown, n.kind as kind_shown from tenure.metrics_lanes(p_tenants) n join tenure.lanes l on l.lane = n.lane
  ), letters as materialized (
    select d.tenant_id, d.kind, d.triage_status, d.moved_at
      from unnest(p_tenants) t (tenant_id)
      cross join unnest(array['pending', 'acknowledged', 'manual_replay', 'escalated']) s (status)
      cross join lateral (select q.tenant_id, q.kind, q.triage_status, q.moved_at from tenure.dead_letters q
                           where q.tenant_id = t.tenant_id and q.triage_status = s.status order by q.moved_at limit tenure.limit_of('metrics_rows_max')) d
  ), beats as materialized (
    select t.name as tenant, h.executor_name, h.executor_kind, h.last_tick_at,
           h.last_tick_at > p_now - make_interval(secs => 2 * coalesce(u.stale_seconds, (select z.stale_seconds from tenure.tunings z where z.tenant_id = 0))) as is_alive
      from tenure.heartbeats h
      join tenure.tenants t on t.tenant_id = h.tenant_id
      left join tenure.tunings u on u.tenant_id = h.tenant_id
     where h.tenant_id = any (p_tenants) and h.last_tick_at > p_now - interval '1 hour'
  )
  select 'tenure_dead_letters_open', jsonb_build_object('tenant', coalesce(k.tenant_shown, 'other'), 'kind', coalesce(k.kind_shown, 'other'), 'triage_status', l.triage_status),
         count(*)::double precision
    from letters l left join kinds k on k.tenant_id = l.tenant_id and k.kind = l.kind group by k.tenant_shown, k.kind_shown, l.triage_status
  union all
  select 'tenure_oldest_pending_dead_letter_seconds', '{}', coalesce(extract(epoch from p_now - min(l.moved_at)), 0)::double precision from letters l where l.triage_status = 'pending'
  union all
  select 'tenure_leases', jsonb_build_object('state', case when e.until > p_now then 'active' else 'expired' end), count(*)::double precision
    from (select q.until from tenure.leases q where q.tenant_id = any (p_tenants) limit 10 * tenure.limit_of('metrics_rows_max')) e group by e.until > p_now
  union all
  (select 'tenure_executor_heartbeat_age_seconds', jsonb_build_object('tenant', b.tenant, 'worker', b.executor_name, 'executor', b.executor_kind),
          greatest(0, extract(epoch from p_now - b.last_tick_at))::double precision
     from beats b order by b.last_tick_at desc limit tenure.limit_of('metrics_series_max'))
  union all
  select 'tenure_executors', jsonb_build_object('executor', b.executor_kind, 'state', s.state), count(*) filter (where b.is_alive = (s.state = 'alive'))::double precision
    from beats b cross join (values ('alive'), ('silent')) s (state) group by b.executor_kind, s.state
  union all
  select 'tenure_gate_open', jsonb_build_object('tenant', t.name, 'gate', g.key), (tenure.setting(t.tenant_id, g.key))::boolean::integer
    from (select q.tenant_id, q.name from tenure.tenants q where q.tenant_id = any (p_tenants) order by q.tenant_id limit tenure.limit_of('metrics_series_max')) t
    cross join (select c.key from tenure.config_keys c where c.is_gate) g
$$;

-- Schedules and their slots: how many there are, how long the scheduler lets what is due wait, and what became of slots in the last hour. So many tenants have series of their own,
-- the rest are 'other', with a hundredth of the rows.
create or replace function tenure.metrics_schedules(p_tenants integer[], p_now timestamptz) returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with tenants as materialized (
    select t.tenant_id, case when t.is_shown then t.name else 'other' end as tenant, tenure.limit_of('metrics_rows_max') / case when t.is_shown then 1 else 100 end as rows_max
      from (select q.tenant_id, q.name, row_number() over (order by q.tenant_id) <= tenure.limit_of('metrics_series_max') as is_shown
              from tenure.tenants q where q.tenant_id = any (p_tenants)) t
  ), known as (
    select t.tenant, s.state
      from tenants t
      cross join lateral (
        select case when q.error_code is not null then 'failing' when q.paused_at is not null then 'paused' when q.ended_at is not null then 'ended' else 'active' end as state
          from tenure.schedules q where q.tenant_id = t.tenant_id and q.deleted_at is null limit t.rows_max) s
  ), late as (
    select d.tenant_id, min(d.next_at) as since
      from (select q.tenant_id, q.next_at from tenure.schedules q where q.next_at <= p_now and q.tenant_id = any (p_tenants)
             order by q.next_at limit tenure.limit_of('metrics_rows_max')) d
     group by d.tenant_id
  ), running as materialized (
    select r.tenant_id, r.schedule_id, count(*) as slots
      from (select q.tenant_id, q.schedule_id from tenure.planned_slots q where q.state = 'running' and q.tenant_id = any (p_tenants) limit tenure.limit_of('metrics_rows_max')) r
     group by r.tenant_id, r.schedule_id
  ), ended as materialized (
    select t.tenant, e.state, e.skip_reason, e.missed
      from tenants t
      cross join lateral (select q.state, q.skip_reason, case when q.skip_reason = 'missed_window' then coalesce(q.missed, 1) else 0 end as missed
                            from tenure.planned_slots q
                           where q.tenant_id = t.tenant_id and q.ended_at > p_now - interval '1 hour' order by q.ended_at desc limit t.rows_max) e
  )
  -- Every tenant has a series of each, so that a rule can tell nothing from nobody.
  select 'tenure_schedules', jsonb_build_object('tenant', t.tenant, 'state', s.state), (select count(*) from known k where k.tenant = t.tenant and k.state = s.state)::double precision
    from (select distinct q.tenant from tenants q) t cross join (values ('active'), ('paused'), ('failing'), ('ended')) s (state)
  union all
  select 'tenure_schedule_lag_seconds', jsonb_build_object('tenant', t.tenant), greatest(0, coalesce(extract(epoch from p_now - min(l.since)), 0))
    from tenants t left join late l on l.tenant_id = t.tenant_id group by t.tenant
  union all
  select 'tenure_slots_running', jsonb_build_object('tenant', t.tenant), coalesce(sum(r.slots), 0)
    from tenants t left join running r on r.tenant_id = t.tenant_id group by t.tenant
  union all
  select 'tenure_slots_waiting', jsonb_build_object('tenant', t.tenant), coalesce(sum(w.slots), 0)
    from tenants t
    left join running r on r.tenant_id = t.tenant_id
    left join lateral (select count(*) as slots from tenure.planned_slots q
                        where q.schedule_id = r.schedule_id and q.state = 'planned' and q.waiting_since is not null) w on true
   group by t.tenant
  union all
  select 'tenure_slots_ended', jsonb_strip_nulls(jsonb_build_object('tenant', e.tenant, 'state', e.state, 'reason', e.skip_reason)), count(*)
    from ended e group by e.tenant, e.state, e.skip_reason
  union all
  select 'tenure_slots_missed', jsonb_build_object('tenant', t.tenant), coalesce((select sum(e.missed) from ended e where e.tenant = t.tenant), 0)
    from (select distinct q.tenant from tenants q) t
$$;

-- The database itself: what the hot tables are like, who keeps them from being cleaned up, and how far the event stream is held back.
create or replace function tenure.metrics_database(p_tenants integer[], p_now timestamptz) returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with hot as materialized (
    select s.relid, s.relname, s.n_live_tup, s.n_dead_tup from pg_stat_all_tables s
     where s.schemaname = 'tenure' and s.relname in ('ready', 'delayed', 'active', 'leases', 'offers', 'idempotency')
  )
  select 'tenure_table_live_rows', jsonb_build_object('table', h.relname), h.n_live_tup::double precision from hot h
  union all
  select 'tenure_table_dead_rows', jsonb_build_object('table', h.relname), h.n_dead_tup from hot h
  union all
  select 'tenure_table_bytes', jsonb_build_object('table', h.relname), pg_total_relation_size(h.relid) from hot h
  union all
  select 'tenure_oldest_transaction_seconds', '{}', greatest(0, coalesce(max(extract(epoch from p_now - a.xact_start)), 0))
    from pg_stat_activity a where a.xact_start is not null and a.pid <> pg_backend_pid()
  union all
  select 'tenure_prepared_transactions', '{}', count(*) from pg_prepared_xacts
  union all
  -- The first event of each tenant that a transaction still open could precede.
  select 'tenure_event_stream_lag_seconds', '{}', greatest(0, coalesce(extract(epoch from p_now - min(e.at)), 0))
    from unnest(p_tenants) t (tenant_id)
    cross join lateral (select q.at from tenure.events q
                         where q.tenant_id = t.tenant_id and q.epoch = (select i.epoch from tenure.installation i) and q.txid >= pg_snapshot_xmin(pg_current_snapshot())
                         order by q.epoch, q.txid, q.seq limit 1) e
  union all
  select 'tenure_partitions', jsonb_build_object('table', t.name), (select count(*) from tenure.partition_list(t.name)) from (values ('jobs'), ('attempts'), ('events')) t (name)
  union all
  select 'tenure_schema_version', '{}', max(m.version) from tenure.migrations m
$$;

-- What happened from one transaction up to another: jobs by event, and of the runs that ended a sample with how long they waited and ran. Reads the events of that time, which tell
-- of many jobs in one row. A sampled event brings one of its jobs; the more it tells of, the likelier. How long it waited is known of a first run: from when the job was due.
create or replace function tenure.metrics_events(p_tenants integer[], p_now timestamptz, p_epoch integer, p_from xid8, p_to xid8, out counts jsonb, out samples jsonb)
language sql volatile
as $$
  with lanes as materialized (
    select n.lane, n.tenant, n.kind from tenure.metrics_lanes(p_tenants) n
  ), told as materialized (
    select e.lane, e.kind, e.job_ids, e.runs, coalesce(e.job_count, cardinality(e.job_ids)) as jobs
      from unnest(p_tenants) t (tenant_id)
      cross join lateral (select q.lane, q.kind, q.job_ids, q.runs, q.job_count from tenure.events q
                           where q.tenant_id = t.tenant_id and q.epoch = p_epoch and q.txid >= p_from and q.txid < p_to
                             and q.at > p_now - make_interval(secs => tenure.limit_of('metrics_window_seconds_max')) and q.lane is not null) e
  ), summed as (
    select n.tenant, n.kind, substr(t.kind, 5) as event, sum(t.jobs) as jobs from told t join lanes n on n.lane = t.lane where t.kind ^@ 'job.' group by n.tenant, n.kind, t.kind
  ), ended as materialized (
    select t.lane, t.job_ids, t.runs, 1 + floor(random() * t.jobs)::integer as place
      from told t
     where t.kind in ('job.succeeded', 'job.failed', 'job.cancelled') and t.jobs > 0 and t.runs is not null
     order by power(random(), 1.0 / t.jobs) desc limit tenure.limit_of('metrics_samples_max')
  )
  select coalesce((select jsonb_agg(jsonb_build_array(s.tenant, s.kind, s.event, s.jobs)) from summed s), '[]'),
         coalesce((select jsonb_agg(jsonb_build_array(n.tenant, n.kind, case when a.run = 1 then round(greatest(0, extract(epoch from a.started_at - j.due)), 6) end,
                            round(extract(epoch from a.ended_at - a.started_at), 6)))
                     from ended x
                     join lanes n on n.lane = x.lane
                     cross join lateral (select q.run, q.started_at, q.ended_at from tenure.attempts q where q.job_id = x.job_ids[x.place] and q.run = x.runs[x.place] limit 1) a
                     cross join lateral (select q.due from tenure.jobs q where q.job_id = x.job_ids[x.place] limit 1) j
                    where a.started_at is not null), '[]')
$$;

-- Everything that a monitoring system asks for, of the caller's tenant or, for those who act for every tenant, of all. In series [name, labels, value]. p_after: the cursor of the answer
-- before; then counts and samples tell what happened since, [tenant, kind, event, jobs] and [tenant, kind, waited, ran] in seconds, each event in one answer and never before a
-- transaction that is still open; without it, or after a pause longer than metrics_window_seconds_max, counting begins anew.
create or replace function tenure.metrics(p_after text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_epoch   integer := (select i.epoch from tenure.installation i);
  v_to      xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_tenants integer[];
  v_told    record;
  v_series  jsonb;
begin
  if p_after is not null and p_after !~ '^[0-9]{1,9}[.][0-9]{1,19}$' then
    perform tenure.refuse('cursor_invalid', format('%L is no cursor of the metrics.', p_after), 'A cursor is what the answer before said.', 'Start without one.');
  end if;
  v_tenants := array(select t.tenant_id from tenure.tenants t where t.tenant_id > 0 and (v_caller.scope = 'every' or t.tenant_id = v_caller.tenant_id));
  select jsonb_agg(jsonb_build_array(s.name, s.labels, s.value)) into v_series
    from (select q.name, q.labels, q.value from tenure.metrics_queue(v_tenants, v_now) q
          union all select c.name, c.labels, c.value from tenure.metrics_care(v_tenants, v_now) c
          union all select p.name, p.labels, p.value from tenure.metrics_schedules(v_tenants, v_now) p
          union all select x.name, x.labels, x.value from tenure.metrics_executions(v_tenants, v_now) x
          union all select r.name, r.labels, r.value from tenure.metrics_services(v_now) r
          union all select d.name, d.labels, d.value from tenure.metrics_database(v_tenants, v_now) d) s;
  if split_part(p_after, '.', 1) = v_epoch::text then
    v_told := tenure.metrics_events(v_tenants, v_now, v_epoch, split_part(p_after, '.', 2)::xid8, v_to);
    return jsonb_build_object('at', v_now, 'cursor', v_epoch || '.' || v_to, 'series', v_series, 'counts', v_told.counts, 'samples', v_told.samples);
  end if;
  return jsonb_build_object('at', v_now, 'cursor', v_epoch || '.' || v_to, 'series', v_series, 'counts', '[]'::jsonb, 'samples', '[]'::jsonb);
end
$$;
