-- An operator breaks a lock.

-- Takes a lock from its holder and hands the target over. The job of a running step is taken from its worker
-- first; if it is then unknown how far it came, the step waits for a verdict. Refuses when the lock changed
-- hands meanwhile.
-- granted to: admin, operator
create or replace function tenure.lock_break(p_part text, p_reason text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_read   record;
  v_lock   tenure.locks;
  v_step   tenure.step_rows;
  v_owner  text;
  v_fence  bigint;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_name('reason', p_reason);
  v_read := tenure.lock_read(p_part);
  select l.* into v_lock
    from tenure.locks l
   where l.tenant_id = v_caller.tenant_id
     and l.target = v_read.target
     and l.action = v_read.action;
  if not found then
    perform tenure.refuse('lock_unknown', format('Nobody holds %s.', p_part),
      'It was never taken, or is free again.',
      'See tenure.lock_list().');
  end if;
  if v_lock.execution_id is not null then
    -- Executions before targets, the order of every transaction.
    perform tenure.execution_locked(v_caller.tenant_id, v_lock.execution_id);
  else
    perform
       from tenure.lock_targets t
      where t.tenant_id = v_caller.tenant_id
        and t.target = v_read.target
        for no key update;
  end if;
  -- The holder may have gone during the wait, and a lock that another has now was not meant. A section may
  -- have come to its next step, under a new fence.
  v_owner := v_lock.owner;
  select l.* into v_lock
    from tenure.locks l
   where l.tenant_id = v_caller.tenant_id
     and l.target = v_read.target
     and l.action = v_read.action
     and (
       l.fence = v_lock.fence
       or (l.execution_id = v_lock.execution_id and l.section = v_lock.section));
  if not found then
    perform tenure.refuse('lock_unknown', format('%s does not hold %s any more.', v_owner, p_part),
      'It was released, or expired, just now.',
      'See tenure.lock_list().');
  end if;
  v_now := tenure.now();
  if v_lock.execution_id is not null then
    select s.* into v_step
      from tenure.step_rows s
     where s.execution_id = v_lock.execution_id
       and s.step_number = v_lock.step_number;
    v_fence := tenure.fence_of(v_step.job_id);
    perform tenure.chain_append(v_now, v_caller.principal, array[(
      v_lock.execution_id, 'lock_broken', v_lock.step_number, jsonb_strip_nulls(jsonb_build_object(
        'lock_key', v_lock.lock_key,
        'fence', coalesce(v_fence, v_lock.fence),
        'section', v_lock.section,
        'reason', p_reason)))::tenure.chain_entry]);
    if v_step.state = 'running' then
      begin
        perform tenure.job_stop(v_caller, v_now, v_step.job_id, p_reason, 'force', null);
      exception when sqlstate 'TN014' then
        null;
      end;
    end if;
  end if;
  perform
     from tenure.lock_targets t
    where t.tenant_id = v_caller.tenant_id
      and t.target = v_read.target
      for no key update;
  delete from tenure.locks l
   where l.tenant_id = v_caller.tenant_id
     and l.target = v_read.target
     and l.action = v_read.action
     and l.fence = v_lock.fence;
  perform tenure.emit(v_now, v_caller.tenant_id, 'lock.broken', v_caller.principal, null, v_lock.lock_key,
    jsonb_build_object(
      'owner', v_lock.owner,
      'fence', coalesce(v_fence, v_lock.fence),
      'reason', p_reason));
  perform tenure.lock_freed(v_now, v_caller.principal, v_caller.tenant_id, v_read.target);
  return jsonb_build_object(
    'lock_key', v_lock.lock_key,
    'owner', v_lock.owner,
    'fence', coalesce(v_fence, v_lock.fence),
    'broken', true);
end
$$;
