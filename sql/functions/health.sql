-- Health in one call.

create or replace function tenure.health() returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_now    timestamptz := tenure.now();
begin
  return (
    select jsonb_build_object(
      'at', v_now,
      'backlog', (select count(*) from tenure.ready r where r.lane = any (l.lanes) and r.state = 'queued') + (select count(*) from tenure.delayed d where d.lane = any (l.lanes) and d.state = 'queued'),
      'retry_waiting', (select count(*) from tenure.ready r where r.lane = any (l.lanes) and r.state = 'retry_waiting') + (select count(*) from tenure.delayed d where d.lane = any (l.lanes) and d.state = 'retry_waiting'),
      'in_progress', (select count(*) from tenure.active a where a.lane = any (l.lanes)),
      'dead_letter_open', (select count(*) from tenure.dead_letters d where d.tenant_id = v_tenant and d.triage_status <> 'closed'),
      'oldest_queued_age_s', (select coalesce(extract(epoch from v_now - min(r.due)), 0) from tenure.ready r where r.lane = any (l.lanes)),
      'lease_active', (select count(*) from tenure.leases e where e.tenant_id = v_tenant and e.until > v_now),
      'lease_expired', (select count(*) from tenure.leases e where e.tenant_id = v_tenant and e.until <= v_now),
      'executors_alive', (select count(*) from tenure.heartbeats h where h.tenant_id = v_tenant
         and h.last_tick_at > v_now - make_interval(secs => 2 * tenure.setting_integer(v_tenant, 'queue.heartbeat.stale_threshold_seconds'))),
      'gates', (select jsonb_object_agg(k.key, tenure.setting(v_tenant, k.key)) from tenure.config_keys k where k.is_gate))
      from (select coalesce(array_agg(n.lane), '{}') as lanes from tenure.lanes n where n.tenant_id = v_tenant) l);
end
$$;

-- What an operator should know about the database itself: sizes and dead rows of the hot tables, the oldest transaction, partitions that wait, and for how long a schedule has been due.
create or replace function tenure.doctor() returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := tenure.now();
begin
  return jsonb_build_object(
    'server_version', current_setting('server_version'),
    'clock', clock_timestamp(),
    'clock_replaced', abs(extract(epoch from v_now - clock_timestamp())) > 1,
    'schema_version', (select max(m.version) from tenure.migrations m),
    'functions_hash', (select i.functions_hash from tenure.installation i),
    'epoch', (select i.epoch from tenure.installation i),
    'hot_tables', (select jsonb_object_agg(s.relname, jsonb_build_object('bytes', pg_total_relation_size(s.relid), 'live_rows', s.n_live_tup, 'dead_rows', s.n_dead_tup, 'last_vacuum', greatest(s.last_vacuum, s.last_autovacuum)))
                     from pg_stat_all_tables s where s.schemaname = 'tenure' and s.relname in ('ready', 'delayed', 'active', 'leases', 'idempotency')),
    'oldest_transaction_seconds', (select coalesce(max(extract(epoch from clock_timestamp() - a.xact_start)), 0) from pg_stat_activity a where a.xact_start is not null and a.pid <> pg_backend_pid()),
    'prepared_transactions', (select count(*) from pg_prepared_xacts),
    'login', session_user,
    'roles', (select jsonb_object_agg(r.name, exists (select from pg_roles p where p.rolname = r.name)) from unnest(array['tenure_owner', 'tenure_server', 'tenure_admin',
                'tenure_operator', 'tenure_approver', 'tenure_producer', 'tenure_worker', 'tenure_viewer']) r (name)),
    'login_roles', (select coalesce(jsonb_agg(p.rolname order by p.rolname), '[]') from pg_roles p
                     where p.rolname ^@ 'tenure_' and p.rolname <> session_user and pg_has_role(session_user, p.oid, 'member')),
    'stream', (select to_jsonb(s) from tenure.stream_lag() s),
    'schedules_late_seconds', (select greatest(0, coalesce(extract(epoch from v_now - min(s.next_at)), 0)) from tenure.schedules s where s.next_at <= v_now),
    'executions_late_seconds', (select greatest(0, coalesce(extract(epoch from v_now - min(e.next_at)), 0)) from tenure.executions e
                                 where e.next_at <= v_now and (e.tenant_id = tenure.current_tenant() or tenure.is_every_tenant())),
    'partitions', (select jsonb_object_agg(t.name, (select count(*) from tenure.partition_list(t.name))) from (values ('jobs'), ('attempts'), ('events')) t (name)),
    'settings', (select jsonb_object_agg(g.name, g.setting) from pg_settings g where g.name in ('fsync', 'synchronous_commit', 'max_wal_size', 'autovacuum', 'autovacuum_naptime', 'max_connections')));
end
$$;

-- Called at the end of every migration: remembers the hash of functions and views, and starts a new epoch of the event stream when
-- transaction ids have started again (after dump and restore), so that cursors stay in order.
create or replace function tenure.installation_stamp(p_functions_hash text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_epoch integer;
begin
  update tenure.installation i
     set functions_hash = p_functions_hash, migrated_at = clock_timestamp(),
         epoch = i.epoch + case when exists (select from tenure.events e where e.epoch = i.epoch and e.txid > pg_current_xact_id()) then 1 else 0 end
  returning i.epoch into v_epoch;
  return v_epoch;
end
$$;
