-- Why a job is not running.

-- The state of a job and every reason why it is not running, each with what to do about it.
create or replace function tenure.job_explain(p_job_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_show    jsonb := tenure.job_show(p_job_id);
  v_state   text := v_show ->> 'state';
  v_due     timestamptz := (v_show ->> 'due')::timestamptz;
  v_dead    timestamptz := (v_show ->> 'deadline_at')::timestamptz;
  v_until   timestamptz := (v_show ->> 'leased_until')::timestamptz;
  v_reasons jsonb := '[]';
  v_alive   bigint;
  v_ahead   bigint;
  v_held    bigint;
  v_lane    integer;
  v_policy  tenure.kinds;
begin
  select j.lane into v_lane from tenure.jobs j where j.job_id = p_job_id;
  if v_state in ('queued', 'retry_waiting') then
    select k.* into v_policy
      from tenure.kinds k
     where k.tenant_id = v_caller.tenant_id and k.kind = v_show ->> 'kind';
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
          where l.tenant_id = v_caller.tenant_id and l.kind = v_policy.kind));
      if v_held >= v_policy.concurrency_max then
        v_reasons := v_reasons || jsonb_build_object(
          'code', 'limit',
          'what', format('%s jobs of the kind %s are held, and its limit is %s.',
            v_held, v_policy.kind, v_policy.concurrency_max),
          'why', 'A slot is free when one of them ends.',
          'next', 'Wait, or raise concurrency_max of the kind.');
      end if;
    end if;
    if not (tenure.setting(v_caller.tenant_id, 'queue.job_substrate.enabled'))::boolean then
      v_reasons := v_reasons || jsonb_build_object(
        'code', 'gate_closed',
        'what', 'The gate queue.job_substrate.enabled is closed.',
        'why', 'Nothing is claimed while it is.',
        'next', 'select tenure.gate_set(''queue.job_substrate.enabled'', ''open'')');
    end if;
    if v_dead <= v_now then
      v_reasons := v_reasons || jsonb_build_object(
        'code', 'deadline_passed',
        'what', format('Its deadline %s has passed.', v_dead),
        'why', 'A job never starts late.',
        'next', 'The next claim or reaper run moves it to the dead letters; replay it from there.');
    end if;
    if v_due > v_now then
      v_reasons := v_reasons || jsonb_build_object(
        'code', case v_state when 'retry_waiting' then 'waiting_retry' else 'not_due' end,
        'what', format('It is due at %s, in %s seconds.', v_due, ceil(extract(epoch from v_due - v_now))),
        'why', case v_state
          when 'retry_waiting' then
            format('Attempt %s of %s ended: %s', v_show ->> 'attempts', v_show ->> 'attempts_max',
              coalesce(v_show ->> 'error_message', v_show ->> 'error_code', 'put aside'))
          else 'It was scheduled for later.'
        end,
        'next', format('Wait, or run it now: select tenure.job_retry(%L).', p_job_id));
    end if;
    select count(*) into v_alive
      from tenure.heartbeats h
     where h.tenant_id = v_caller.tenant_id
       and h.executor_kind = v_show ->> 'executor'
       and h.last_tick_at > v_now - make_interval(secs =>
         2 * tenure.setting_integer(v_caller.tenant_id, 'queue.heartbeat.stale_threshold_seconds'));
    if v_alive = 0 then
      v_reasons := v_reasons || jsonb_build_object(
        'code', 'no_live_executor',
        'what', format('No executor of kind %s is alive.', v_show ->> 'executor'),
        'why', 'None has claimed or sent a heartbeat lately.',
        'next', format('Start a worker that claims for %s.', v_show ->> 'executor'));
    end if;
    if v_reasons = '[]' then
      select count(*) into v_ahead
        from (select from tenure.ready r
               where r.lane = v_lane
                 and (r.rank, r.due, r.job_id) < (-(v_show ->> 'priority')::smallint, v_due, p_job_id)
               limit 1000) a;
      v_reasons := v_reasons || jsonb_build_object(
        'code', 'waiting_turn',
        'what', format('%s%s jobs are ahead of it in its lane.',
          v_ahead, case when v_ahead = 1000 then ' or more' else '' end),
        'why', 'It is claimable; nobody has claimed it yet.',
        'next', 'Wait, or start more workers.');
    end if;
  elsif v_state in ('leased', 'in_progress') then
    if v_until is null or v_until <= v_now then
      v_reasons := v_reasons || jsonb_build_object(
        'code', 'lease_expired',
        'what', format('The lease of %s has run out.', coalesce(v_show ->> 'lease_owner', 'its worker')),
        'why', 'The worker died or lost its connection.',
        'next', 'The reaper gives it back; run it now with select * from tenure.job_reap().');
    else
      v_reasons := v_reasons || jsonb_build_object(
        'code', v_state,
        'what', format('%s holds it until %s.', v_show ->> 'lease_owner', v_until),
        'why', case v_state when 'leased' then 'It waits in the worker''s buffer.' else 'It is running.' end,
        'next', 'Wait, or cancel it.');
    end if;
    if v_show ->> 'cancel_requested_at' is not null then
      v_reasons := v_reasons || jsonb_build_object(
        'code', 'cancel_requested',
        'what', format('%s asked to cancel it.', v_show ->> 'cancel_by'),
        'why', v_show ->> 'cancel_reason',
        'next', 'The worker learns of it at its next heartbeat; force takes it away at once.');
    end if;
  else
    v_reasons := v_reasons || jsonb_build_object(
      'code', v_state,
      'what', format('It is %s since %s.', v_state,
        coalesce(v_show ->> 'cleaned_at', v_show ->> 'finished_at')),
      'why', coalesce(v_show ->> 'error_message', v_show ->> 'cancel_reason', 'It has come to its end.'),
      'next', case v_state
        when 'dead_letter' then 'Triage its dead letter.'
        when 'failed' then format('select tenure.job_retry(%L) gives it fresh attempts.', p_job_id)
        else 'Nothing: terminal is final.'
      end);
  end if;
  return jsonb_build_object(
    'job_id', p_job_id, 'kind', v_show -> 'kind', 'executor', v_show -> 'executor', 'state', v_state,
    'reasons', v_reasons);
end
$$;
