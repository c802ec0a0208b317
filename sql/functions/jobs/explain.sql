-- Why a job is not running.

-- The state of a job and every reason why it is not running, each with what to do about it.
-- granted to: all
create or replace function tenure.job_explain(p_job_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_show    jsonb := tenure.job_show(p_job_id);
  v_state   text := v_show ->> 'state';
  v_reasons jsonb;
begin
  if v_state in ('queued', 'retry_waiting') then
    v_reasons := tenure.explain_kind(v_caller.tenant_id, v_show ->> 'kind')
      || tenure.explain_times(v_now, v_show)
      || tenure.explain_executor(v_caller.tenant_id, v_now, v_show ->> 'executor');
    if v_reasons = '[]' then
      v_reasons := tenure.explain_turn(v_show);
    end if;
  elsif v_state in ('leased', 'in_progress') then
    v_reasons := tenure.explain_held(v_now, v_show);
  else
    v_reasons := tenure.explain_ended(v_show);
  end if;
  return jsonb_build_object(
    'job_id', p_job_id, 'kind', v_show -> 'kind', 'executor', v_show -> 'executor', 'state', v_state,
    'reasons', v_reasons);
end
$$;

-- Reasons that hold for every waiting job of a kind: it is paused or at its limit, or the gate is closed.
create or replace function tenure.explain_kind(p_tenant_id integer, p_kind text) returns jsonb
language plpgsql
as $$
declare
  v_reasons jsonb := '[]';
  v_policy  tenure.kinds;
  v_held    bigint;
begin
  select k.* into v_policy
    from tenure.kinds k
   where k.tenant_id = p_tenant_id and k.kind = p_kind;
  if v_policy.paused_at is not null then
    v_reasons := v_reasons || jsonb_build_object(
      'code', 'paused',
      'what', format('%s paused the kind %s at %s.', v_policy.paused_by, v_policy.kind, v_policy.paused_at),
      'why', coalesce(v_policy.pause_note, 'None of its jobs is claimed until it is resumed.'),
      'next', format('select tenure.kind_resume(%L)', v_policy.kind));
  end if;
  if v_policy.concurrency_max is not null then
    select count(*) into v_held
      from tenure.active a
     where a.lane = any (array(
       select l.lane
         from tenure.lanes l
        where l.tenant_id = p_tenant_id and l.kind = v_policy.kind));
    if v_held >= v_policy.concurrency_max then
      v_reasons := v_reasons || jsonb_build_object(
        'code', 'limit',
        'what', format('%s jobs of the kind %s are held, and its limit is %s.',
          v_held, v_policy.kind, v_policy.concurrency_max),
        'why', 'A place is free when one of them ends.',
        'next', 'Wait, or raise concurrency_max of the kind.');
    end if;
  end if;
  if not (tenure.setting(p_tenant_id, 'queue.job_substrate.enabled'))::boolean then
    v_reasons := v_reasons || jsonb_build_object(
      'code', 'gate_closed',
      'what', 'The gate queue.job_substrate.enabled is closed.',
      'why', 'Nothing is claimed while it is.',
      'next', 'select tenure.gate_set(''queue.job_substrate.enabled'', ''open'')');
  end if;
  return v_reasons;
end
$$;

-- Reasons in the times of a waiting job: its deadline has passed, or it is not due yet.
create or replace function tenure.explain_times(p_now timestamptz, p_job jsonb) returns jsonb
language plpgsql
as $$
declare
  v_reasons  jsonb := '[]';
  v_due      timestamptz := (p_job ->> 'due')::timestamptz;
  v_deadline timestamptz := (p_job ->> 'deadline_at')::timestamptz;
  v_retry    boolean := p_job ->> 'state' = 'retry_waiting';
begin
  if v_deadline <= p_now then
    v_reasons := v_reasons || jsonb_build_object(
      'code', 'deadline_passed',
      'what', format('Its deadline %s has passed.', v_deadline),
      'why', 'A job never starts late.',
      'next', 'The next claim or reaper run moves it to the dead letters; replay it from there.');
  end if;
  if v_due > p_now then
    v_reasons := v_reasons || jsonb_build_object(
      'code', case when v_retry then 'waiting_retry' else 'not_due' end,
      'what', format('It is due at %s, in %s seconds.', v_due, ceil(extract(epoch from v_due - p_now))),
      'why', case
        when v_retry then
          format('Attempt %s of %s ended: %s', p_job ->> 'attempts', p_job ->> 'attempts_max',
            coalesce(p_job ->> 'error_message', p_job ->> 'error_code', 'put aside'))
        else 'It was scheduled for later.'
      end,
      'next', format('Wait, or run it now: select tenure.job_retry(%L).', p_job ->> 'job_id'));
  end if;
  return v_reasons;
end
$$;

-- The reason that no executor of this name is alive, if so.
create or replace function tenure.explain_executor(p_tenant_id integer, p_now timestamptz, p_executor text)
returns jsonb
language plpgsql
as $$
begin
  if exists (
    select from tenure.heartbeats h
     where h.tenant_id = p_tenant_id
       and h.executor_kind = p_executor
       and h.last_tick_at > p_now - make_interval(secs =>
         2 * tenure.setting_integer(p_tenant_id, 'queue.heartbeat.stale_threshold_seconds'))) then
    return '[]';
  end if;
  return jsonb_build_array(jsonb_build_object(
    'code', 'no_live_executor',
    'what', format('No executor of kind %s is alive.', p_executor),
    'why', 'None has claimed or sent a heartbeat lately.',
    'next', format('Start a worker that claims for %s.', p_executor)));
end
$$;

-- The reason of a claimable job: others are ahead of it, counted up to explain_rows_max.
create or replace function tenure.explain_turn(p_job jsonb) returns jsonb
language plpgsql
as $$
declare
  v_most  bigint := tenure.limit_of('explain_rows_max');
  v_ahead bigint;
begin
  select count(*) into v_ahead
    from (select from tenure.ready r
           where r.lane = (select j.lane from tenure.jobs j where j.job_id = (p_job ->> 'job_id')::uuid)
             and (r.rank, r.due, r.job_id) < (
               -(p_job ->> 'priority')::smallint, (p_job ->> 'due')::timestamptz, (p_job ->> 'job_id')::uuid)
           limit v_most) a;
  return jsonb_build_array(jsonb_build_object(
    'code', 'waiting_turn',
    'what', format('%s%s jobs are ahead of it in its lane.',
      v_ahead, case when v_ahead = v_most then ' or more' else '' end),
    'why', 'It is claimable; no worker has claimed it yet.',
    'next', 'Wait, or start more workers.'));
end
$$;

-- Who holds the job, or that the lease has run out, and whether a cancel was requested.
create or replace function tenure.explain_held(p_now timestamptz, p_job jsonb) returns jsonb
language plpgsql
as $$
declare
  v_reasons jsonb := '[]';
  v_state   text := p_job ->> 'state';
  v_until   timestamptz := (p_job ->> 'leased_until')::timestamptz;
begin
  if v_until is null or v_until <= p_now then
    v_reasons := v_reasons || jsonb_build_object(
      'code', 'lease_expired',
      'what', format('The lease of %s has run out.', coalesce(p_job ->> 'lease_owner', 'its worker')),
      'why', 'The worker died or lost its connection.',
      'next', 'The reaper gives it back; run it now with select * from tenure.job_reap().');
  else
    v_reasons := v_reasons || jsonb_build_object(
      'code', v_state,
      'what', format('%s holds it until %s.', p_job ->> 'lease_owner', v_until),
      'why', case v_state when 'leased' then 'It waits in the worker''s buffer.' else 'It is running.' end,
      'next', 'Wait, or cancel it.');
  end if;
  if p_job ->> 'cancel_requested_at' is not null then
    v_reasons := v_reasons || jsonb_build_object(
      'code', 'cancel_requested',
      'what', format('%s asked to cancel it.', p_job ->> 'cancel_by'),
      'why', p_job ->> 'cancel_reason',
      'next', 'The worker learns of it at its next heartbeat; force takes it away at once.');
  end if;
  return v_reasons;
end
$$;

-- How a job ended, and what can still be done.
create or replace function tenure.explain_ended(p_job jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_array(jsonb_build_object(
    'code', p_job ->> 'state',
    'what', format('It is %s since %s.', p_job ->> 'state',
      coalesce(p_job ->> 'cleaned_at', p_job ->> 'finished_at')),
    'why', coalesce(p_job ->> 'error_message', p_job ->> 'cancel_reason', 'It has come to its end.'),
    'next', case p_job ->> 'state'
      when 'dead_letter' then 'Triage its dead letter.'
      when 'failed' then format('select tenure.job_retry(%L) gives it fresh attempts.', p_job ->> 'job_id')
      else 'Nothing: terminal is final.'
    end))
$$;
