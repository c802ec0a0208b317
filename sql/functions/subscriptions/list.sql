-- Listing subscriptions.

-- The subscriptions of the tenant, by name, with how far behind each is. Never shows a secret.
-- granted to: all
create or replace function tenure.subscription_list()
returns table (
  name text, target text, state text, event_kinds text[], filter jsonb, job_kind text, executor text,
  priority integer, depth_max integer, url text, cursor text, moved_at timestamptz,
  behind_since timestamptz, matched bigint, skipped bigint, waiting bigint, dead bigint,
  paused_at timestamptz, paused_by text, pause_note text, failures integer, retry_at timestamptz,
  error_code text, error_message text, created_at timestamptz, created_by text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_epoch  integer := tenure.current_epoch();
  v_xmin   xid8 := pg_snapshot_xmin(pg_current_snapshot());
  -- The path of a URL may hold a secret between sender and receiver.
  v_whole  boolean := tenure.acts_as('tenure_operator') or tenure.acts_as('tenure_admin')
    or tenure.is_trusted();
begin
  return query
    select s.name, s.target,
           case
             when s.paused_at is not null then 'paused'
             when s.failures > 0 or s.refusals > 0 then 'failing'
             else 'active'
           end,
           s.event_kinds, s.filter, s.job_kind, s.executor, s.priority::integer, s.depth_max::integer,
           case when v_whole then s.url else substring(s.url from '^https?://[^/?]+') end,
           tenure.cursor_text(s.epoch, s.txid, s.seq), s.moved_at,
           (select case when e.epoch < v_epoch or e.txid < v_xmin then e.at end
              from tenure.events e
             where e.tenant_id = v_tenant
               and (e.epoch, e.txid, e.seq) > (s.epoch, s.txid, s.seq)
             order by e.epoch, e.txid, e.seq
             limit 1),
           s.matched, s.skipped,
           (select count(*)
              from (select from tenure.deliveries d
                     where d.subscription_id = s.subscription_id and d.state = 'waiting'
                     limit tenure.limit_of('counted_rows_max')) x),
           (select count(*)
              from (select from tenure.deliveries d
                     where d.subscription_id = s.subscription_id and d.state = 'dead'
                     limit tenure.limit_of('counted_rows_max')) x),
           s.paused_at, s.paused_by, s.pause_note, greatest(s.failures, s.refusals), s.retry_at,
           s.error_code, s.error_message, s.created_at, s.created_by
      from tenure.subscriptions s
     where s.tenant_id = v_tenant
     order by s.name;
end
$$;
