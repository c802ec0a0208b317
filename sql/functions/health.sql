-- The state of the installation: health and doctor, and the epoch of the event stream.

-- Backlog, leases, dead letters, executors, services and gates of the tenant, in one call.
-- granted to: all
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
      'backlog',
        (select count(*) from tenure.ready r where r.lane = any (l.lanes) and r.state = 'queued')
        + (select count(*) from tenure.delayed d where d.lane = any (l.lanes) and d.state = 'queued'),
      'retry_waiting',
        (select count(*) from tenure.ready r where r.lane = any (l.lanes) and r.state = 'retry_waiting')
        + (select count(*) from tenure.delayed d where d.lane = any (l.lanes) and d.state = 'retry_waiting'),
      'in_progress', (select count(*) from tenure.active a where a.lane = any (l.lanes)),
      'dead_letter_open', (
        select count(*)
          from tenure.dead_letters d
         where d.tenant_id = v_tenant
           and d.triage_status <> 'closed'),
      'oldest_queued_age_s', (
        select coalesce(extract(epoch from v_now - min(r.due)), 0)
          from tenure.ready r
         where r.lane = any (l.lanes)),
      'lease_active', (select count(*) from tenure.leases e where e.tenant_id = v_tenant and e.until > v_now),
      'lease_expired', (
        select count(*) from tenure.leases e where e.tenant_id = v_tenant and e.until <= v_now),
      'executors_alive', (
        select count(*)
          from tenure.heartbeats h
         where h.tenant_id = v_tenant
           and h.last_tick_at > v_now - make_interval(
             secs => 2 * tenure.setting_integer(v_tenant, 'queue.heartbeat.stale_threshold_seconds'))),
      'services', (
        select jsonb_object_agg(s.service,
                 jsonb_build_object('is_running', s.is_running, 'last_run_at', s.last_run_at))
          from tenure.service_list() s),
      'anchors', tenure.anchor_status(),
      'gates', (
        select jsonb_object_agg(k.key, tenure.setting(v_tenant, k.key))
          from tenure.config_keys k
         where k.is_gate))
      from (
        select coalesce(array_agg(n.lane), '{}') as lanes
          from tenure.lanes n
         where n.tenant_id = v_tenant) l);
end
$$;

-- What an operator should know about the database itself: sizes and dead rows of the hot tables, the oldest
-- transaction, partitions, and for how long schedules and executions have been due.
-- granted to: all
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
    'hot_tables', (
      select jsonb_object_agg(s.relname, jsonb_build_object(
               'bytes', pg_total_relation_size(s.relid),
               'live_rows', s.n_live_tup,
               'dead_rows', s.n_dead_tup,
               'last_vacuum', greatest(s.last_vacuum, s.last_autovacuum)))
        from pg_stat_all_tables s
       where s.schemaname = 'tenure'
         and s.relname in ('ready', 'delayed', 'active', 'leases', 'offers', 'idempotency')),
    'oldest_transaction_seconds', (
      select coalesce(max(extract(epoch from clock_timestamp() - a.xact_start)), 0)
        from pg_stat_activity a
       where a.xact_start is not null
         and a.pid <> pg_backend_pid()),
    'prepared_transactions', (select count(*) from pg_prepared_xacts),
    'login', session_user,
    'roles', (
      select jsonb_object_agg(r.name, exists (select from pg_roles p where p.rolname = r.name))
        from unnest(array['tenure_owner', 'tenure_server', 'tenure_admin', 'tenure_operator',
               'tenure_approver', 'tenure_requester', 'tenure_producer', 'tenure_worker',
               'tenure_viewer']) r (name)),
    'login_roles', (
      select coalesce(jsonb_agg(p.rolname order by p.rolname), '[]')
        from pg_roles p
       where p.rolname ^@ 'tenure_'
         and p.rolname <> session_user
         and pg_has_role(session_user, p.oid, 'member')),
    'stream', (select to_jsonb(s) from tenure.stream_lag() s),
    'services', (select jsonb_agg(to_jsonb(s)) from tenure.service_list() s),
    'anchors', tenure.anchor_status(),
    'schedules_late_seconds', (
      select greatest(0, coalesce(extract(epoch from v_now - min(s.next_at)), 0))
        from tenure.schedules s
       where s.next_at <= v_now),
    'executions_late_seconds', (
      select greatest(0, coalesce(extract(epoch from v_now - min(e.next_at)), 0))
        from tenure.execution_states e
       where e.next_at <= v_now
         and (e.tenant_id = tenure.current_tenant() or tenure.is_every_tenant())),
    'partitions', (
      select jsonb_object_agg(t.name, (select count(*) from tenure.partition_list(t.name)))
        from (values ('jobs'), ('attempts'), ('events')) t (name)),
    'settings', (
      select jsonb_object_agg(g.name, g.setting)
        from pg_settings g
       where g.name in ('fsync', 'synchronous_commit', 'max_wal_size', 'autovacuum', 'autovacuum_naptime',
               'max_connections')));
end
$$;

-- What identifies the history of transaction ids that the event stream relies on: the cluster, its timeline
-- (every recovery from a backup and every failover begins a new one) and the database.
create or replace function tenure.lineage() returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_database oid := (select d.oid from pg_database d where d.datname = current_database());
begin
  return format('%s.%s.%s', (select s.system_identifier from pg_control_system() s),
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), v_database);
exception when insufficient_privilege then
  -- Some providers do not allow reading the identifier; transaction ids that start again are still noticed.
  return format('.%s.%s', substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), v_database);
end
$$;

-- The next epoch. It comes from the clock, so that two restores of one backup begin different epochs.
create or replace function tenure.epoch_after(p_epoch integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
as $$ select greatest(p_epoch + 1, floor(extract(epoch from tenure.now()) / 10)::integer) $$;

-- Called at the end of every migration: stores the hash of functions and views, and begins a new epoch of
-- the event stream when the server or its history is another than before, when transaction ids have started
-- again, or when the caller says that the database was restored. Older cursors stay valid: new events come
-- after them.
create or replace function tenure.installation_stamp(p_functions_hash text, p_restored boolean default false)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lineage text := tenure.lineage();
  v_now     xid8 := pg_current_xact_id();
  v_last    xid8;
  v_found   tenure.installation;
begin
  select i.* into v_found from tenure.installation i for update;
  select max(e.txid) into v_last
    from tenure.tenants t
    cross join lateral (
      select x.txid
        from tenure.events x
       where x.tenant_id = t.tenant_id
         and x.epoch = v_found.epoch
       order by x.epoch desc, x.txid desc
       limit 1) e;
  if p_restored
     or greatest(v_last, v_found.txid) > v_now
     -- Without a lineage it was stamped by an older program; without events it is new.
     or (v_found.lineage is distinct from v_lineage
         and (v_found.lineage is not null or v_last is not null)) then
    -- Wait for writers of the old epoch: readers that are in the new epoch would miss their events.
    lock table only tenure.events in share row exclusive mode;
    v_found.epoch := tenure.epoch_after(v_found.epoch);
  end if;
  update tenure.installation i
     set functions_hash = p_functions_hash,
         migrated_at = clock_timestamp(),
         lineage = v_lineage,
         txid = v_now,
         epoch = v_found.epoch;
  return v_found.epoch;
end
$$;

-- Locks out writers of events until the transaction ends. False when one of them is still open after 100 ms.
create or replace function tenure.events_held_off() returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
begin
  lock table only tenure.events in share row exclusive mode;
  return true;
exception when lock_not_available then
  return false;
end
$$;

-- Notices a restore or a failover without a migration, and begins a new epoch of the event stream. Servers
-- call it when they start, and the reaper at every turn; while nothing has changed it writes nothing. While
-- a transaction that has written events is open it answers the old epoch, and the next turn tries again:
-- readers that went on to the new epoch would miss those events.
-- granted to: server
create or replace function tenure.installation_check() returns table (epoch integer, began boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_lineage text := tenure.lineage();
  v_next    xid8 := pg_snapshot_xmax(pg_current_snapshot());
begin
  return query
    select i.epoch, false
      from tenure.installation i
     where i.lineage = v_lineage
       and i.txid < v_next;
  if found then
    return;
  end if;
  if not tenure.events_held_off() then
    return query select i.epoch, false from tenure.installation i;
    return;
  end if;
  return query
    update tenure.installation i
       set epoch = tenure.epoch_after(i.epoch), lineage = v_lineage, txid = pg_current_xact_id()
     where i.lineage is distinct from v_lineage or i.txid >= v_next
    returning i.epoch, true;
  if not found then
    return query select i.epoch, false from tenure.installation i;
  end if;
end
$$;
