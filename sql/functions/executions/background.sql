-- Moving an immediate execution to the background.

-- Moves an immediate execution to the background when its caller no longer waits for it, and records that in
-- its chain. Changes nothing for one that has ended or is in the background already.
-- granted to: admin, operator, requester
create or replace function tenure.execution_background(p_execution_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_exec   tenure.execution_rows;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  v_exec := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  if v_exec.mode = 'immediate' and v_exec.ended_at is null then
    update tenure.execution_states e set mode = 'background' where e.execution_id = p_execution_id;
    perform tenure.chain_append(tenure.now(), v_caller.principal, array[(
      p_execution_id, 'execution_backgrounded', null,
      jsonb_build_object('from', 'immediate', 'to', 'background'))::tenure.chain_entry]);
    v_exec.mode := 'background';
  end if;
  return jsonb_build_object('execution_id', p_execution_id, 'state', v_exec.state, 'mode', v_exec.mode);
end
$$;
