-- Bytes of write-ahead log ever written, and transactions that ever wrote something.
select
  pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as wal_bytes,
  pg_snapshot_xmax(pg_current_snapshot())::text::bigint as transactions
