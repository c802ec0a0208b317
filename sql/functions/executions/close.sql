-- Closing a partially failed execution.

-- Gives up retrying a partially failed execution and frees its key. Closing twice is not an error; another
-- execution may have the key by then, and the answer names it in key_held_by.
-- granted to: admin, operator
create or replace function tenure.execution_close(p_execution_id uuid, p_reason text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_exec   tenure.execution_rows;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_name('reason', p_reason);
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  v_now := tenure.now();
  if v_exec.state <> 'partially_failed' then
    perform tenure.refuse_execution_state(v_exec, 'closed', 'partially_failed',
      'Only the key of a partially failed execution stays taken for somebody to decide.');
  end if;
  if v_exec.retried_as is not null then
    perform tenure.refuse('already_replayed',
      format('Execution %s was retried as %s.', p_execution_id, v_exec.retried_as),
      'Its story goes on there, and its key went with it.',
      'Look at that execution.');
  end if;
  if v_exec.closed_at is null then
    update tenure.execution_states e
       set held_key = null,
           closed_at = v_now,
           closed_by = v_caller.principal
     where e.execution_id = p_execution_id;
    update tenure.execution_dead_letters d
       set triage_status = 'closed',
           triaged_at = v_now,
           triaged_by = v_caller.principal,
           triage_note = p_reason
     where d.execution_id = p_execution_id and d.tenant_id = v_caller.tenant_id;
    perform tenure.chain_append(v_now, v_caller.principal, array[(
      p_execution_id, 'execution_closed', null,
      jsonb_build_object('reason', p_reason))::tenure.chain_entry]);
  end if;
  return jsonb_build_object(
    'execution_id', p_execution_id,
    'state', v_exec.state,
    'closed', true,
    'key_held_by', (
      select e.execution_id
        from tenure.execution_states e
       where e.tenant_id = v_caller.tenant_id
         and e.held_key = v_exec.idempotency_key));
end
$$;
