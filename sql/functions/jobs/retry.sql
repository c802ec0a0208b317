-- Retrying a job by hand.

-- Runs a waiting job now (its state stays, its due time becomes now), or gives a failed job a fresh set of
-- attempts. Refuses with key_taken when another unfinished job has taken the key of a failed job meanwhile.
-- granted to: admin, operator
create or replace function tenure.job_retry(
  p_job_id uuid, p_reason text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_wait   tenure.run_end;
  v_job    tenure.jobs;
  v_run    integer;
  v_other  uuid;
  v_hash   uuid;
  v_now_in text;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  if p_reason <> '' then
    perform tenure.check_name('reason', p_reason);
  end if;
  perform tenure.check_job_exists(p_job_id, v_caller.tenant_id);
  select j.* into v_job from tenure.jobs j where j.job_id = p_job_id;
  if (v_job.origin ? 'step') is not true then
    perform tenure.check_repeatable(v_job.tenant_id, v_job.kind);
  end if;
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    v_wait := tenure.waiting_take(p_job_id, v_caller.tenant_id);
    if v_wait.lane is not null then
      insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, ended_at,
        next_due, actor, reason)
      values (p_job_id, v_wait.run + 1, v_caller.tenant_id, v_wait.lane, v_wait.attempt, 'rescheduled',
        v_wait.outcome, false, v_now, v_now, v_caller.principal, p_reason);
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      values (v_wait.lane, -v_job.priority, v_now, p_job_id, v_wait.outcome, v_wait.run + 1, v_wait.attempt,
        v_job.deadline_at);
      perform tenure.ready_mark(array[v_wait.lane], array[-v_job.priority]);
      perform tenure.emit(v_now, v_caller.tenant_id, 'job.rescheduled', v_caller.principal, p_on_behalf_of,
        p_job_id::text, jsonb_build_object('reason', p_reason, 'run', v_wait.run + 1));
      if (tenure.tuning(v_caller.tenant_id)).notify_open then
        perform tenure.lane_wake(array[v_wait.lane], v_now);
      end if;
      return jsonb_build_object('job_id', p_job_id, 'state', v_wait.outcome, 'due', v_now);
    end if;

    v_now_in := tenure.job_state(p_job_id);
    if v_now_in = 'failed' then
      perform tenure.refuse_step_job(p_job_id);
      -- The key first: an enqueue with the same key takes the same lock and looks again.
      if v_job.idempotency_key is not null then
        v_hash := tenure.idempotency_hash(
          tenure.idempotency_scope(v_job.tenant_id, v_job.kind), v_job.idempotency_key);
        -- A sweep may delete the row between the two statements: then it is put back.
        loop
          insert into tenure.idempotency (key_hash, job_id)
          values (v_hash, p_job_id)
          on conflict (key_hash) do nothing;
          select i.job_id into v_other from tenure.idempotency i where i.key_hash = v_hash for update;
          exit when found;
        end loop;
        if v_other <> p_job_id
           and not exists (select from tenure.attempts a where a.job_id = v_other and a.final) then
          perform tenure.refuse('key_taken',
            format('The key of job %s belongs to job %s now.', p_job_id, v_other),
            'Another unfinished job was enqueued with it after this one had failed.',
            'Wait for that job, or cancel it first.');
        end if;
        update tenure.idempotency i set job_id = p_job_id where i.key_hash = v_hash;
      end if;
      update tenure.attempts a
         set final = false,
             next_due = v_now
       where a.job_id = p_job_id and a.final and a.state = 'failed'
      returning a.run into v_run;
      continue when not found;
      -- A requeue locks the record as well, so that its job is seen here.
      if v_job.idempotency_key is null then
        perform tenure.refuse_requeued(v_job);
      end if;
      -- The sweep locks the record too: a retry that waited for it finds the job cleaned.
      if exists (select from tenure.jobs j where j.job_id = p_job_id and j.cleaned_at is not null) then
        perform tenure.refuse_state(p_job_id, 'cleaned', 'retried',
          array['queued', 'retry_waiting', 'failed']);
      end if;
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      values (v_job.lane, -v_job.priority, v_now, p_job_id, 'queued', v_run, 0, v_job.deadline_at);
      perform tenure.ready_mark(array[v_job.lane], array[-v_job.priority]);
      perform tenure.slot_reopen(p_job_id, p_job_id);
      perform tenure.emit(v_now, v_caller.tenant_id, 'job.retried', v_caller.principal, p_on_behalf_of,
        p_job_id::text, jsonb_build_object('reason', p_reason, 'run', v_run));
      if (tenure.tuning(v_caller.tenant_id)).notify_open then
        perform tenure.lane_wake(array[v_job.lane], v_now);
      end if;
      return jsonb_build_object('job_id', p_job_id, 'state', 'queued', 'due', v_now);
    elsif v_now_in not in ('queued', 'retry_waiting', 'moving') then
      perform tenure.refuse_state(p_job_id, v_now_in, 'retried', array['queued', 'retry_waiting', 'failed']);
    end if;
  end loop;
  perform tenure.refuse_busy(p_job_id);
  return null;
end
$$;
