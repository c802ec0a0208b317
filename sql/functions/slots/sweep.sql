-- Removing slots past their retention.

-- Removes slots past their retention, at most p_limit in one call, and deleted schedules that have no slots
-- left. Planned and running slots stay, whatever their age.
-- granted to: admin, operator
create or replace function tenure.slot_sweep(p_limit integer default 1000) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set enable_seqscan = off
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_removed integer;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('sweep_rows_max'));
  with tenants as materialized (
    select t.tenant_id,
           v_now - make_interval(days =>
             tenure.setting_integer(t.tenant_id, 'retention.slots_succeeded_days')) as well_before,
           v_now - make_interval(days =>
             tenure.setting_integer(t.tenant_id, 'retention.slots_failed_days')) as badly_before
      from tenure.tenants t
     where t.tenant_id = any (tenure.open_tenants(v_caller))
  ), old as (
    select q.slot_id
      from tenants t
      cross join lateral (
        select q.slot_id
          from tenure.planned_slots q
         where q.tenant_id = t.tenant_id and q.ended_at < t.well_before
           and q.state in ('succeeded', 'skipped')
         order by q.ended_at
         limit p_limit) q
    union all
    select q.slot_id
      from tenants t
      cross join lateral (
        select q.slot_id
          from tenure.planned_slots q
         where q.tenant_id = t.tenant_id and q.ended_at < t.badly_before
           and q.state in ('failed', 'cancelled')
         order by q.ended_at
         limit p_limit) q
    limit p_limit
  )
  -- Check the state again under the lock: the slot may have been backfilled, or its job retried, meanwhile.
  delete from tenure.planned_slots p
   where p.slot_id = any (array(select o.slot_id from old o))
     and p.state not in ('planned', 'running');
  get diagnostics v_removed = row_count;
  if v_removed < p_limit then
    delete from tenure.schedules s
     where s.deleted_at is not null
       and s.tenant_id = any (tenure.open_tenants(v_caller))
       and not exists (select from tenure.planned_slots p where p.schedule_id = s.schedule_id);
  end if;
  return v_removed;
end
$$;
