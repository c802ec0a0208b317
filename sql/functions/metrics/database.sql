-- Metrics of the database itself.

-- Rows and sizes of the hot tables, transactions that keep them from being vacuumed, and how far open
-- transactions hold the event stream back.
create or replace function tenure.metrics_database(p_tenants integer[], p_now timestamptz)
returns table (name text, labels jsonb, value double precision)
language sql volatile
as $$
  with hot as materialized (
    select s.relid, s.relname, s.n_live_tup, s.n_dead_tup
      from pg_stat_all_tables s
     where s.schemaname = 'tenure'
       and s.relname in ('ready', 'delayed', 'active', 'leases', 'offers', 'idempotency')
  )
  select 'tenure_table_live_rows', jsonb_build_object('table', h.relname), h.n_live_tup::double precision
    from hot h
  union all
  select 'tenure_table_dead_rows', jsonb_build_object('table', h.relname), h.n_dead_tup
    from hot h
  union all
  select 'tenure_table_bytes', jsonb_build_object('table', h.relname), pg_total_relation_size(h.relid)
    from hot h
  union all
  select 'tenure_oldest_transaction_seconds',
         '{}',
         greatest(0, coalesce(max(extract(epoch from p_now - a.xact_start)), 0))
    from pg_stat_activity a
   where a.xact_start is not null
     and a.pid <> pg_backend_pid()
  union all
  select 'tenure_prepared_transactions', '{}', count(*) from pg_prepared_xacts
  union all
  -- The first event of each tenant that an open transaction could still precede.
  select 'tenure_event_stream_lag_seconds',
         '{}',
         greatest(0, coalesce(extract(epoch from p_now - min(e.at)), 0))
    from unnest(p_tenants) t (tenant_id)
    cross join lateral (
      select q.at
        from tenure.events q
       where q.tenant_id = t.tenant_id
         and q.epoch = (select i.epoch from tenure.installation i)
         and q.txid >= pg_snapshot_xmin(pg_current_snapshot())
       order by q.epoch, q.txid, q.seq
       limit 1) e
  union all
  select 'tenure_partitions',
         jsonb_build_object('table', t.name),
         (select count(*) from tenure.partition_list(t.name))
    from (values ('jobs'), ('attempts'), ('events')) t (name)
  union all
  select 'tenure_schema_version', '{}', max(m.version) from tenure.migrations m
$$;
