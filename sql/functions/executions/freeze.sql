-- Freezing the executions of a tenant, and lifting the freeze.

-- Keeps approved executions of the tenant from starting until the freeze is lifted or its time is over.
-- Running ones go on. A freeze replaces the one before it.
-- granted to: admin, operator
create or replace function tenure.execution_freeze(p_reason text, p_until timestamptz default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_id     integer;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_name('reason', p_reason);
  perform tenure.check_moment('The end of the freeze', p_until, v_now);
  if p_until <= v_now then
    perform tenure.refuse('range_invalid', format('The freeze ends at %s.', p_until),
      'It ends in the future.',
      'Give a later moment, or none.');
  end if;
  -- One after the other: only one freeze is in force.
  perform from tenure.tenants t where t.tenant_id = v_caller.tenant_id for no key update;
  update tenure.freezes f
     set ended_at = greatest(v_now, f.frozen_at),
         ended_by = v_caller.principal,
         end_reason = 'Another takes its place.'
   where f.tenant_id = v_caller.tenant_id and f.ended_at is null;
  insert into tenure.freezes (tenant_id, reason, frozen_at, frozen_by, until)
  values (v_caller.tenant_id, p_reason, v_now, v_caller.principal, p_until)
  returning freeze_id into v_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'execution.frozen', v_caller.principal, null, null,
    jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'until', p_until)));
  return jsonb_build_object('frozen', true, 'reason', p_reason, 'until', p_until);
end
$$;

-- Lifts the freeze of the tenant and makes the executions parked by it due. was_frozen in the answer says
-- whether a freeze was in force.
-- granted to: admin, operator
create or replace function tenure.execution_unfreeze(p_reason text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_was    boolean;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_name('reason', p_reason);
  -- One after the other: only one freeze is in force.
  perform from tenure.tenants t where t.tenant_id = v_caller.tenant_id for no key update;
  -- A freeze whose time was over was not in force any more.
  update tenure.freezes f
     set ended_at = greatest(least(v_now, f.until), f.frozen_at),
         ended_by = v_caller.principal,
         end_reason = p_reason
   where f.tenant_id = v_caller.tenant_id and f.ended_at is null
  returning f.until is null or f.until > v_now into v_was;
  v_was := coalesce(v_was, false);
  if v_was then
    perform tenure.emit(v_now, v_caller.tenant_id, 'execution.unfrozen', v_caller.principal, null, null,
      jsonb_build_object('reason', p_reason));
    -- Executions locked by another transaction are skipped: that transaction is about to read the freeze
    -- itself, or they come due again within a minute (tenure.executions_set_due).
    update tenure.execution_states e
       set next_at = v_now
     where e.execution_id in (
             select x.execution_id
               from tenure.execution_states x
              where x.tenant_id = v_caller.tenant_id
                and x.state = 'approved'
                and x.parked = 'freeze'
                for no key update skip locked);
  end if;
  return jsonb_build_object('frozen', false, 'was_frozen', v_was);
end
$$;
