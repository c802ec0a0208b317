-- Operations on one job by its id: cancel, move to the dead letters, retry. A job moves between tables while we look, so each look is a statement of
-- its own, in the order in which a job travels, and the whole is repeated a few times before the answer is busy_try_again.

-- Takes a waiting job out of ready or delayed, found by its address (lane, rank, due), without an index of its own. Null when it is not there.
create or replace function tenure.waiting_take(p_job_id uuid, p_tenant_id integer) returns tenure.run_end
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lane integer;
  v_rank smallint;
  v_due  timestamptz;
  v_row  tenure.run_end;
begin
  select j.lane, -j.priority,
         coalesce((select a.next_due from tenure.attempts a where a.job_id = j.job_id order by a.run desc limit 1), j.due)
    into v_lane, v_rank, v_due
    from tenure.jobs j
   where j.job_id = p_job_id and j.tenant_id = p_tenant_id;
  v_row.job_id := p_job_id;
  v_row.tenant_id := p_tenant_id;
  delete from tenure.ready r where r.lane = v_lane and r.rank = v_rank and r.due = v_due and r.job_id = p_job_id
  returning r.lane, r.due, r.run, r.attempts, r.state into v_row.lane, v_row.due, v_row.run, v_row.attempt, v_row.outcome;
  if found then
    return v_row;
  end if;
  delete from tenure.delayed d where d.lane = v_lane and d.due = v_due and d.job_id = p_job_id
  returning d.lane, d.due, d.run, d.attempts, d.state into v_row.lane, v_row.due, v_row.run, v_row.attempt, v_row.outcome;
  if found then
    return v_row;
  end if;
  return null;
end
$$;

-- The state of a job, from where its rows are; null when there is no such job, 'moving' when it changed places while we looked.
create or replace function tenure.job_state(p_job_id uuid) returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lane  integer;
  v_rank  smallint;
  v_due   timestamptz;
  v_clean timestamptz;
  v_final boolean;
  v_next  timestamptz;
  v_state text;
begin
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    select j.lane, -j.priority, j.due, j.cleaned_at into v_lane, v_rank, v_due, v_clean from tenure.jobs j where j.job_id = p_job_id;
    if not found then
      return null;
    elsif v_clean is not null then
      return 'cleaned';
    end if;
    select a.final, a.state, a.next_due into v_final, v_state, v_next from tenure.attempts a where a.job_id = p_job_id order by a.run desc limit 1;
    if v_final then
      return v_state;
    end if;
    v_due := coalesce(v_next, v_due);
    select r.state into v_state from tenure.ready r where r.lane = v_lane and r.rank = v_rank and r.due = v_due and r.job_id = p_job_id;
    if found then
      return v_state;
    end if;
    select d.state into v_state from tenure.delayed d where d.lane = v_lane and d.due = v_due and d.job_id = p_job_id;
    if found then
      return v_state;
    end if;
    select case when a.started_at is null then 'leased' else 'in_progress' end into v_state from tenure.active a where a.job_id = p_job_id;
    if found then
      return v_state;
    end if;
  end loop;
  return 'moving';
end
$$;

-- Refuses when the caller's tenant has no such job.
create or replace function tenure.check_job_exists(p_job_id uuid, p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from tenure.jobs j where j.job_id = p_job_id and j.tenant_id = p_tenant_id) then
    perform tenure.refuse('job_not_found', format('There is no job %s.', coalesce(p_job_id::text, 'without an id')), 'It never was, belongs to another tenant, or its partition has been dropped.',
      'Check the id, or look through tenure.job_list().');
  end if;
end
$$;

create or replace function tenure.refuse_busy(p_job_id uuid) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select tenure.refuse('busy_try_again', format('Job %s kept moving.', p_job_id),
    format('It changed places in each of %s looks.', tenure.limit_of('lookup_rounds_max')), 'Try again.')
$$;

-- Cancels a job. Waiting: at once. Held: the request is recorded, the worker learns of it at its next heartbeat and acknowledges; if it fails or its lease
-- runs out first the job is cancelled and never retried. p_mode 'force' takes the job from its holder at once. Cancelling twice is no error.
create or replace function tenure.job_cancel(p_job_id uuid, p_reason text, p_mode text default 'cooperative', p_on_behalf_of text default null) returns jsonb
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

-- The work of a cancel, for callers that checked the right to it.
create or replace function tenure.job_stop(p_caller tenure.caller_identity, p_now timestamptz, p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text) returns jsonb
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
        select l.owner, l.leased_at, l.principal into v_end.owner, v_end.leased_at, v_end.holder from tenure.leases l where l.token = v_held.token and l.lane = v_held.lane;
        v_end := (p_job_id, p_caller.tenant_id, v_held.lane, v_held.run, v_held.attempt, v_held.token, v_end.owner, coalesce(v_end.leased_at, v_held.started_at, p_now), v_held.started_at, v_held.due,
          p_now, p_caller.principal, p_reason, 'cancelled', null, 'force', null, null, null, null, v_end.holder)::tenure.run_end;
        perform tenure.job_settle(p_now, p_caller.principal, p_on_behalf_of, array[v_end]);
        perform tenure.lease_shrink(array[v_end]);
        return jsonb_build_object('job_id', p_job_id, 'state', 'cancelled');
      end if;
    else
      update tenure.active a
         set cancel_requested_at = coalesce(a.cancel_requested_at, p_now), cancel_by = coalesce(a.cancel_by, p_caller.principal), cancel_reason = coalesce(a.cancel_reason, p_reason)
       where a.job_id = p_job_id
      returning a.* into v_held;
      if found then
        if v_held.cancel_requested_at = p_now then
          perform tenure.emit(p_now, p_caller.tenant_id, 'job.cancel_requested', p_caller.principal, p_on_behalf_of, p_job_id::text,
            jsonb_build_object('reason', p_reason, 'run', v_held.run));
        end if;
        return jsonb_build_object('job_id', p_job_id, 'state', case when v_held.started_at is null then 'leased' else 'in_progress' end, 'cancel_requested', true);
      end if;
    end if;

    v_now_in := tenure.job_state(p_job_id);
    if v_now_in = 'cancelled' then
      return jsonb_build_object('job_id', p_job_id, 'state', 'cancelled');
    elsif v_now_in in ('succeeded', 'failed', 'dead_letter', 'cleaned') then
      perform tenure.refuse_state(p_job_id, v_now_in, 'cancelled', array['queued', 'retry_waiting', 'leased', 'in_progress']);
    end if;
  end loop;
  perform tenure.refuse_busy(p_job_id);
  return null;
end
$$;

-- Refuses a transition, naming the state and those it is possible from.
create or replace function tenure.refuse_state(p_job_id uuid, p_state text, p_wanted text, p_from text[]) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select tenure.refuse('state_conflict', format('Job %s is %s and cannot be %s.', p_job_id, p_state, p_wanted),
    format('That is possible only from: %s.', array_to_string(p_from, ', ')),
    case p_state
      when 'dead_letter' then 'Triage its dead letter as manual_replay and replay it: a new job.'
      when 'cleaned' then 'Enqueue a new job; its data is gone.'
      when 'leased' then 'Wait for its end, or cancel it.'
      when 'in_progress' then 'Wait for its end, or cancel it.'
      else 'Terminal is final: enqueue a new job.' end)
$$;

-- An operator gives up on a waiting job.
create or replace function tenure.job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text default null) returns jsonb
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
        'dead_letter_id', (select d.dead_letter_id from tenure.dead_letters d where d.job_id = p_job_id and d.run = v_end.run));
    end if;
    v_now_in := tenure.job_state(p_job_id);
    if v_now_in not in ('queued', 'retry_waiting', 'moving') then
      perform tenure.refuse_state(p_job_id, v_now_in, 'moved to the dead letters', array['queued', 'retry_waiting']);
    end if;
  end loop;
  perform tenure.refuse_busy(p_job_id);
  return null;
end
$$;

-- Runs a waiting job now (its state stays, its due time becomes now), or gives a resting failed job a fresh set of attempts.
-- A resting failed job whose key another unfinished job has taken meanwhile is refused: key_taken.
create or replace function tenure.job_retry(p_job_id uuid, p_reason text default null, p_on_behalf_of text default null) returns jsonb
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
      insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, ended_at, next_due, actor, reason)
      values (p_job_id, v_wait.run + 1, v_caller.tenant_id, v_wait.lane, v_wait.attempt, 'rescheduled', v_wait.outcome, false, v_now, v_now, v_caller.principal, p_reason);
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      values (v_wait.lane, -v_job.priority, v_now, p_job_id, v_wait.outcome, v_wait.run + 1, v_wait.attempt, v_job.deadline_at);
      perform tenure.ready_mark(array[v_wait.lane], array[-v_job.priority]);
      perform tenure.emit(v_now, v_caller.tenant_id, 'job.rescheduled', v_caller.principal, p_on_behalf_of, p_job_id::text, jsonb_build_object('reason', p_reason, 'run', v_wait.run + 1));
      if (tenure.tuning(v_caller.tenant_id)).notify_open then
        perform tenure.lane_wake(array[v_wait.lane], v_now);
      end if;
      return jsonb_build_object('job_id', p_job_id, 'state', v_wait.outcome, 'due', v_now);
    end if;

    v_now_in := tenure.job_state(p_job_id);
    if v_now_in = 'failed' then
      perform tenure.refuse_step_job(p_job_id);
      -- The key first: whoever enqueues with it takes the same lock and looks again.
      if v_job.idempotency_key is not null then
        v_hash := tenure.key_hash(tenure.key_scope(v_job.tenant_id, v_job.kind), v_job.idempotency_key);
        -- A sweep may delete the row between the two statements: then it is put back.
        loop
          insert into tenure.idempotency (key_hash, job_id) values (v_hash, p_job_id) on conflict (key_hash) do nothing;
          select i.job_id into v_other from tenure.idempotency i where i.key_hash = v_hash for update;
          exit when found;
        end loop;
        if v_other <> p_job_id and not exists (select from tenure.attempts a where a.job_id = v_other and a.final) then
          perform tenure.refuse('key_taken', format('The key of job %s belongs to job %s now.', p_job_id, v_other),
            'Another unfinished job was enqueued with it after this one had failed.', 'Wait for that job, or cancel it first.');
        end if;
        update tenure.idempotency i set job_id = p_job_id where i.key_hash = v_hash;
      end if;
      update tenure.attempts a set final = false, next_due = v_now
       where a.job_id = p_job_id and a.final and a.state = 'failed'
      returning a.run into v_run;
      continue when not found;
      -- The sweep locks the record too: whoever waited for it finds the job emptied.
      if exists (select from tenure.jobs j where j.job_id = p_job_id and j.cleaned_at is not null) then
        perform tenure.refuse_state(p_job_id, 'cleaned', 'retried', array['queued', 'retry_waiting', 'failed']);
      end if;
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      values (v_job.lane, -v_job.priority, v_now, p_job_id, 'queued', v_run, 0, v_job.deadline_at);
      perform tenure.ready_mark(array[v_job.lane], array[-v_job.priority]);
      perform tenure.slot_reopen(p_job_id, p_job_id);
      perform tenure.emit(v_now, v_caller.tenant_id, 'job.retried', v_caller.principal, p_on_behalf_of, p_job_id::text, jsonb_build_object('reason', p_reason, 'run', v_run));
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
