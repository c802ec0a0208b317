-- Cancelling a job.

-- Cancels a waiting job at once. For a held job the request is recorded: the worker learns of it at its next
-- heartbeat and acknowledges it; if the run fails or the lease expires first, the job is cancelled and never
-- retried. p_mode 'force' takes the job from its holder at once. Cancelling twice is not an error.
-- granted to: admin, operator
create or replace function tenure.job_cancel(
  p_job_id uuid, p_reason text, p_mode text default 'cooperative', p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_name('reason', p_reason);
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['cooperative', 'force']);
  perform tenure.check_job_exists(p_job_id, v_caller.tenant_id);
  return tenure.job_stop(v_caller, tenure.now(), p_job_id, p_reason, p_mode, p_on_behalf_of);
end
$$;

-- The work of a cancel. Callers check first that the caller may cancel the job.
create or replace function tenure.job_stop(
  p_caller tenure.caller_identity, p_now timestamptz, p_job_id uuid, p_reason text, p_mode text,
  p_on_behalf_of text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_end    tenure.run_end;
  v_held   tenure.active;
  v_now_in text;
begin
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    v_end := tenure.waiting_take(p_job_id, p_caller.tenant_id);
    if v_end.lane is not null then
      v_end.run := v_end.run + 1;
      v_end.outcome := 'cancelled';
      v_end.cancel_reason := p_reason;
      perform tenure.job_settle(p_now, p_caller.principal, p_on_behalf_of, array[v_end]);
      return jsonb_build_object('job_id', p_job_id, 'state', 'cancelled');
    end if;

    if p_mode = 'force' then
      delete from tenure.active a where a.job_id = p_job_id returning a.* into v_held;
      if found then
        select l.owner, l.leased_at, l.principal
          into v_end.owner, v_end.leased_at, v_end.holder
          from tenure.leases l
         where l.token = v_held.token and l.lane = v_held.lane;
        v_end := (
          p_job_id, p_caller.tenant_id, v_held.lane, v_held.run, v_held.attempt, v_held.token, v_end.owner,
          coalesce(v_end.leased_at, v_held.started_at, p_now), v_held.started_at, v_held.due,
          p_now, p_caller.principal, p_reason, 'cancelled', null, 'force', null, null, null, null,
          v_end.holder)::tenure.run_end;
        perform tenure.job_settle(p_now, p_caller.principal, p_on_behalf_of, array[v_end]);
        perform tenure.lease_shrink(array[v_end]);
        return jsonb_build_object('job_id', p_job_id, 'state', 'cancelled');
      end if;
    else
      update tenure.active a
         set cancel_requested_at = coalesce(a.cancel_requested_at, p_now),
             cancel_by = coalesce(a.cancel_by, p_caller.principal),
             cancel_reason = coalesce(a.cancel_reason, p_reason)
       where a.job_id = p_job_id
      returning a.* into v_held;
      if found then
        if v_held.cancel_requested_at = p_now then
          perform tenure.emit(p_now, p_caller.tenant_id, 'job.cancel_requested', p_caller.principal,
            p_on_behalf_of, p_job_id::text,
            jsonb_build_object('reason', p_reason, 'run', v_held.run));
        end if;
        return jsonb_build_object(
          'job_id', p_job_id,
          'state', case when v_held.started_at is null then 'leased' else 'in_progress' end,
          'cancel_requested', true);
      end if;
    end if;

    v_now_in := tenure.job_state(p_job_id);
    if v_now_in = 'cancelled' then
      return jsonb_build_object('job_id', p_job_id, 'state', 'cancelled');
    elsif v_now_in in ('succeeded', 'failed', 'dead_letter', 'cleaned') then
      perform tenure.refuse_state(p_job_id, v_now_in, 'cancelled',
        array['queued', 'retry_waiting', 'leased', 'in_progress']);
    end if;
  end loop;
  perform tenure.refuse_busy(p_job_id);
  return null;
end
$$;
