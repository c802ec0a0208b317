-- Health of the queue as a view. It has one row per executor instance, and one row with executor_name null
-- when there is none: an installation in which nothing runs still shows its health.
create or replace view tenure.queue_health with (security_invoker = true) as
with clock as materialized (
  select tenure.now() as now,
         tenure.current_tenant() as tenant_id,
         tenure.setting_integer(tenure.current_tenant(), 'queue.heartbeat.stale_threshold_seconds')
           as threshold
), counts as materialized (
  select (select count(*) from tenure.ready r where r.state = 'queued') as queued,
         (select count(*) from tenure.delayed d) as delayed,
         (select count(*) from tenure.ready r where r.state = 'retry_waiting')
           + (select count(*) from tenure.delayed d where d.state = 'retry_waiting') as retry_waiting,
         (select count(*) from tenure.active a where a.started_at is null) as leased,
         (select count(*) from tenure.active a where a.started_at is not null) as in_progress,
         (select coalesce(sum(coalesce(e.job_count, cardinality(e.job_ids))), 0)::bigint
            from tenure.events e, clock c
           where e.at > c.now - interval '1 hour'
             and e.kind = 'job.succeeded') as succeeded_last_hour,
         (select count(*) from tenure.attempts a where a.final and a.state = 'failed') as failed,
         (select count(*) from tenure.attempts a where a.final and a.state = 'cancelled') as cancelled,
         (select count(*) from tenure.attempts a where a.final and a.state = 'dead_letter') as dead_letter,
         (select count(*) from tenure.dead_letters d where d.triage_status = 'pending')
           as dead_letters_pending,
         (select count(*) from tenure.dead_letters d where d.triage_status <> 'closed')
           as dead_letters_open,
         (select coalesce(extract(epoch from c.now - min(r.due)), 0)::bigint
            from tenure.ready r, clock c
           group by c.now) as oldest_ready_age_seconds,
         (select count(*) from tenure.leases l, clock c where l.until > c.now) as leases_active
)
select h.executor_name, h.executor_kind, h.last_tick_at, h.last_tick_status, h.ticks_total, h.current_job_id,
       extract(epoch from c.now - h.last_tick_at)::bigint as age_seconds,
       case
         when h.executor_name is null then 'none'
         when h.last_tick_at > c.now - make_interval(secs => c.threshold) then 'fresh'
         when h.last_tick_at > c.now - make_interval(secs => 2 * c.threshold) then 'warning'
         else 'stale'
       end as freshness,
       n.queued, n.delayed, n.retry_waiting, n.leased, n.in_progress, n.succeeded_last_hour,
       n.failed, n.cancelled, n.dead_letter, n.dead_letters_pending, n.dead_letters_open,
       coalesce(n.oldest_ready_age_seconds, 0) as oldest_ready_age_seconds,
       n.leases_active,
       (tenure.setting(c.tenant_id, 'queue.job_substrate.enabled'))::boolean as gate_job_substrate,
       (tenure.setting(c.tenant_id, 'queue.worker.enabled'))::boolean as gate_worker,
       (tenure.setting(c.tenant_id, 'queue.notify.enabled'))::boolean as gate_notify,
       (tenure.setting(c.tenant_id, 'queue.heartbeat.enabled'))::boolean as gate_heartbeat
  from clock c
  cross join counts n
  left join tenure.heartbeats h on h.tenant_id = c.tenant_id;
comment on view tenure.queue_health is
  'Executors with their freshness, the distribution of states, the triage backlog, and the gates: 25 '
  'columns, at least one row.';
