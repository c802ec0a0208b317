-- Metrics for a monitoring system that reads them every few seconds. All functions of this folder only
-- read, and never more than a named number of rows of a table that grows.

-- All metrics of the caller's tenant, or of every tenant for callers that act for all, as series [name,
-- labels, value]. With p_after, the cursor of the previous answer, counts [tenant, kind, event, jobs] and
-- samples [tenant, kind, waited, ran] in seconds cover what happened since. Each event is in exactly one
-- answer, once every transaction before it has ended. Without p_after, or after a pause longer than
-- metrics_window_seconds_max, counting starts again.
-- granted to: all
create or replace function tenure.metrics(p_after text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
-- pinned order: see sql/README.md
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
    perform tenure.refuse('cursor_invalid', format('%L is no cursor of the metrics.', p_after),
      'A cursor is what the answer before said.', 'Start without one.');
  end if;
  v_tenants := array(
    select t.tenant_id
      from tenure.tenants t
     where t.tenant_id > 0
       and (v_caller.scope = 'every' or t.tenant_id = v_caller.tenant_id));
  select jsonb_agg(jsonb_build_array(s.name, s.labels, s.value)) into v_series
    from (
      select q.name, q.labels, q.value from tenure.metrics_queue(v_tenants, v_now) q
      union all
      select c.name, c.labels, c.value from tenure.metrics_care(v_tenants, v_now) c
      union all
      select p.name, p.labels, p.value from tenure.metrics_schedules(v_tenants, v_now) p
      union all
      select x.name, x.labels, x.value from tenure.metrics_executions(v_tenants, v_now) x
      union all
      select r.name, r.labels, r.value from tenure.metrics_services(v_now) r
      union all
      select d.name, d.labels, d.value from tenure.metrics_database(v_tenants, v_now) d) s;
  if split_part(p_after, '.', 1) = v_epoch::text then
    v_told := tenure.metrics_events(v_tenants, v_now, v_epoch, split_part(p_after, '.', 2)::xid8, v_to);
    return jsonb_build_object('at', v_now, 'cursor', v_epoch || '.' || v_to, 'series', v_series,
      'counts', v_told.counts, 'samples', v_told.samples);
  end if;
  return jsonb_build_object('at', v_now, 'cursor', v_epoch || '.' || v_to, 'series', v_series,
    'counts', '[]'::jsonb, 'samples', '[]'::jsonb);
end
$$;
