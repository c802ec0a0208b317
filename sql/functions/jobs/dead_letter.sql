-- Moving a waiting job to the dead letters by hand.

-- Moves a waiting job to the dead letters; refuses with state_conflict in any other state.
-- granted to: admin, operator
create or replace function tenure.job_dead_letter(
  p_job_id uuid, p_reason text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_end    tenure.run_end;
  v_now_in text;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_name('reason', p_reason);
  perform tenure.check_job_exists(p_job_id, v_caller.tenant_id);
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    v_end := tenure.waiting_take(p_job_id, v_caller.tenant_id);
    if v_end.lane is not null then
      v_end.run := v_end.run + 1;
      v_end.outcome := 'moved';
      v_end.error_code := 'moved_by_operator';
      v_end.error_message := p_reason;
      v_end.cancel_reason := p_reason;
      perform tenure.job_settle(v_now, v_caller.principal, p_on_behalf_of, array[v_end]);
      return jsonb_build_object('job_id', p_job_id, 'state', 'dead_letter',
        'dead_letter_id', (
          select d.dead_letter_id
            from tenure.dead_letters d
           where d.job_id = p_job_id and d.run = v_end.run));
    end if;
    v_now_in := tenure.job_state(p_job_id);
    if v_now_in not in ('queued', 'retry_waiting', 'moving') then
      perform tenure.refuse_state(p_job_id, v_now_in, 'moved to the dead letters',
        array['queued', 'retry_waiting']);
    end if;
  end loop;
  perform tenure.refuse_busy(p_job_id);
  return null;
end
$$;
