-- Reading jobs: one, many, its story, and why it is not running.

-- True when the caller may see a payload of this classification.
create or replace function tenure.may_see(p_classification text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_classification = 'safe_metadata' or (tenure.caller()).payload_access = 'restricted' or tenure.acts_as('tenure_admin')
$$;

-- The payload of a job, or null for a restricted one that the caller may not see. The read views call it, so that a payload has one door.
create or replace function tenure.job_payload(p_job_id uuid) returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select tenure.payload_shown(j.payload) from tenure.jobs j where j.job_id = p_job_id and j.tenant_id = tenure.current_tenant() and tenure.may_see(j.payload_classification)
$$;

-- How many attempts a job has used after a run that ended like this. An attempt that never reached the
-- handler is given back, so that a slow buffer costs no job its attempts.
create or replace function tenure.attempts_spent(p_outcome text, p_started_at timestamptz, p_attempt integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when p_outcome in ('snoozed', 'released') or (p_outcome = 'expired' and p_started_at is null)
      then greatest(p_attempt - 1, 0)
    else p_attempt
  end
$$;

-- Everything about one job, as one object.
create or replace function tenure.job_show(p_job_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_state  text;
  v_job    tenure.jobs;
  v_payload json;
  v_last   tenure.attempts;
  v_held   tenure.active;
  v_lease  tenure.leases;
  v_waits  integer;
  v_fence  bigint;
begin
  perform tenure.check_job_exists(p_job_id, v_tenant);
  v_state := tenure.job_state(p_job_id);
  select j.* into v_job from tenure.jobs j where j.job_id = p_job_id;
  v_payload := v_job.payload;
  v_job.payload := null;
  select a.* into v_last from tenure.attempts a where a.job_id = p_job_id order by a.run desc limit 1;
  select a.* into v_held from tenure.active a where a.job_id = p_job_id;
  select l.* into v_lease from tenure.leases l where l.token = v_held.token and l.lane = v_held.lane;
  if v_held.job_id is null and v_state in ('queued', 'retry_waiting') then
    -- Where it waits, it says what it has used: a retry by hand gives it all its attempts again.
    select w.attempts into v_waits
      from (select r.attempts from tenure.ready r
             where r.lane = v_job.lane and r.rank = -v_job.priority
               and r.due = coalesce(v_last.next_due, v_job.due) and r.job_id = p_job_id
            union all
            select d.attempts from tenure.delayed d
             where d.lane = v_job.lane and d.due = coalesce(v_last.next_due, v_job.due)
               and d.job_id = p_job_id) w
     limit 1;
  end if;
  if v_job.enqueued_by = 'execution' then
    v_fence := tenure.fence_of(p_job_id);
  end if;
  return (to_jsonb(v_job) - array['tenant_id', 'lane', 'payload', 'due', 'origin']) || jsonb_build_object(
    'state', v_state,
    'step', tenure.step_shown(v_job.origin, v_job.target_ref, v_fence), 'slot', v_job.origin -> 'slot',
    'payload', case when tenure.may_see(v_job.payload_classification) then tenure.payload_shown(v_payload) end,
    'due', case when v_state in ('queued', 'retry_waiting') then coalesce(v_last.next_due, v_job.due) else v_job.due end,
    'attempts', coalesce(v_held.attempt, v_waits,
      tenure.attempts_spent(v_last.outcome, v_last.started_at, v_last.attempt), 0),
    'run', coalesce(v_held.run, v_last.run, 0),
    'fence', v_fence,
    'lease_owner', v_lease.owner, 'leased_at', v_lease.leased_at, 'leased_until', v_lease.until, 'renewals', v_lease.renewals,
    'started_at', coalesce(v_held.started_at, v_last.started_at), 'run_until', v_held.run_until,
    'progress', v_held.progress, 'progress_at', v_held.progress_at,
    'cancel_requested_at', v_held.cancel_requested_at, 'cancel_by', coalesce(v_held.cancel_by, case when v_last.outcome = 'cancelled' then coalesce((
      select e.actor from tenure.events e where e.tenant_id = v_tenant and e.subject = p_job_id::text and e.kind = 'job.cancel_requested' order by e.at desc limit 1), v_last.actor) end),
     'cancel_reason', coalesce(v_held.cancel_reason, case when v_last.outcome = 'cancelled' then v_last.reason end),
    'finished_at', case when v_last.final then v_last.ended_at end,
    'error_code', v_last.error_code, 'error_class', v_last.error_class, 'error_message', v_last.error_message,
    'result', v_last.result, 'result_ref', v_last.result_ref);
end
$$;

-- Jobs, newest first. p_before: the id of the last job of the page before. p_created_after and p_created_before: enqueued then or later, and earlier than then.
-- p_error_code: how the last run ended.
create or replace function tenure.job_list(
  p_state text default null, p_kind text default null, p_executor text default null, p_correlation_id text default null, p_before uuid default null, p_limit integer default 50,
  p_created_after timestamptz default null, p_created_before timestamptz default null, p_error_code text default null)
returns table (job_id uuid, kind text, executor text, state text, priority smallint, due timestamptz, attempts integer, attempts_max smallint, lease_owner text, lease_until timestamptz,
               error_message text, enqueued_by text, created_at timestamptz, finished_at timestamptz,
               step jsonb, slot jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_tenant integer := tenure.current_tenant();
  -- An id may be a day off its time; within these bounds partitions without any of the jobs are not opened.
  v_skew   interval := make_interval(secs => tenure.limit_of('id_skew_seconds_max') + 60);
  v_from   uuid := tenure.id_floor(greatest(coalesce(p_created_after, '-infinity') - v_skew, '1970-01-01 00:00Z'));
  v_to     uuid := least(coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), tenure.id_floor(least(coalesce(p_created_before, 'infinity') + v_skew, '9999-12-31 00:00Z')));
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_word('state_unknown', 'state', p_state, array['queued', 'leased', 'in_progress', 'succeeded', 'failed', 'retry_waiting', 'dead_letter', 'cancelled', 'cleaned']);
  end if;
  if p_state is null then
    -- The page first, by id; then what is known of each of its jobs. The view would tell of every job before it could leave most of them out.
    return query
      select j.job_id, j.kind, j.executor, x.job ->> 'state', j.priority, (x.job ->> 'due')::timestamptz, (x.job ->> 'attempts')::integer, j.attempts_max, x.job ->> 'lease_owner',
             (x.job ->> 'leased_until')::timestamptz, x.job ->> 'error_message', j.enqueued_by, j.created_at, (x.job ->> 'finished_at')::timestamptz,
             nullif(x.job -> 'step', 'null') - 'fence', nullif(x.job -> 'slot', 'null')
        from (select j.job_id, j.kind, j.executor, j.priority, j.attempts_max, j.enqueued_by, j.created_at
                from tenure.jobs j
               where j.tenant_id = v_tenant
                 and (p_kind is null or j.kind = p_kind)
                 and (p_executor is null or j.executor = p_executor)
                 and (p_correlation_id is null or j.correlation_id = p_correlation_id)
                 and (p_created_after is null or j.created_at >= p_created_after)
                 and (p_created_before is null or j.created_at < p_created_before)
                 and (p_error_code is null or p_error_code = (select a.error_code from tenure.attempts a where a.job_id = j.job_id order by a.run desc limit 1))
                 and j.job_id >= v_from
                 and j.job_id < v_to
               order by j.job_id desc
               limit p_limit) j
        cross join lateral (select tenure.job_show(j.job_id) as job offset 0) x;
    return;
  end if;
  return query
    select q.job_id, q.job_kind, q.executor, q.state, q.priority, q.scheduled_at, q.attempts, q.max_attempts, q.lease_owner, q.lease_until, q.last_error, q.actor, q.created_at, q.finished_at,
           q.step, q.slot
      from tenure.job_queue q
     where q.tenant_id = v_tenant
       and q.state = p_state
       and (p_kind is null or q.job_kind = p_kind)
       and (p_executor is null or q.executor = p_executor)
       and (p_correlation_id is null or q.correlation_id = p_correlation_id)
       and (p_created_after is null or q.created_at >= p_created_after)
       and (p_created_before is null or q.created_at < p_created_before)
       and (p_error_code is null or p_error_code = (select a.error_code from tenure.attempts a where a.job_id = q.job_id order by a.run desc limit 1))
       and q.job_id >= v_from
       and q.job_id < v_to
     order by q.job_id desc
     limit p_limit;
end
$$;

-- Which of these jobs have ended: they are in a state that nothing but an operator or retention changes. Whoever waits for many asks for all of them at once.
-- Jobs of other tenants are left out, unless the caller acts for every tenant.
create or replace function tenure.job_ended(p_job_ids uuid[]) returns uuid[]
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  if cardinality(p_job_ids) > tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch names %s jobs.', cardinality(p_job_ids)), format('A batch has at most %s (batch_rows_max).', tenure.limit_of('batch_rows_max')),
      'Split it.');
  end if;
  return array(
    select a.job_id from tenure.attempts a where a.job_id = any (p_job_ids) and a.final and (a.tenant_id = v_caller.tenant_id or v_caller.scope = 'every') order by a.job_id);
end
$$;

-- One row per transition of a job, oldest first, with who and why: from the job, its runs, and what is held now.
create or replace function tenure.job_timeline(p_job_id uuid)
returns table (at timestamptz, state text, verb text, run integer, attempt integer, actor text, worker text, detail text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  perform tenure.check_job_exists(p_job_id, v_tenant);
  return query
    select t.at, t.state, t.verb, t.run, t.attempt, t.actor, t.worker, t.detail
      from (
        select j.created_at as at, 'queued' as state, 'enqueue' as verb, 0 as run, 0 as attempt, j.enqueued_by as actor, null::text as worker,
               nullif(concat_ws(', ',
                 case when j.replay_of is not null then format('replay of %s', j.replay_of) end,
                 tenure.origin_words(j.origin)), '') as detail, 0 as step
          from tenure.jobs j where j.job_id = p_job_id
        union all
        select a.leased_at, 'leased', 'claim', a.run, a.attempt::integer, a.holder, a.owner, null, 1 from tenure.attempts a where a.job_id = p_job_id and a.leased_at is not null
        union all
        select a.started_at, 'in_progress', 'start', a.run, a.attempt::integer, a.holder, a.owner, null, 2 from tenure.attempts a where a.job_id = p_job_id and a.started_at is not null
        union all
        select a.ended_at, 'failed', case a.outcome when 'expired' then 'expire' when 'timed_out' then 'time_out' when 'renewals_exceeded' then 'expire' else 'fail' end,
               a.run, a.attempt::integer, a.actor, a.owner, concat_ws(': ', a.error_code, a.error_message), 3
          from tenure.attempts a where a.job_id = p_job_id and a.outcome in ('failed', 'failed_permanently', 'expired', 'timed_out', 'renewals_exceeded')
        union all
        select a.ended_at, a.state,
               case when a.outcome = 'succeeded' then 'complete' when a.outcome = 'released' then 'release' when a.outcome = 'snoozed' then 'snooze' when a.outcome = 'rescheduled' then 'retry_now'
                    when a.outcome = 'cancelled' then 'cancel' when a.outcome = 'deadline_passed' then 'pass_deadline' when a.outcome = 'moved' then 'move_to_dead_letter'
                    when a.state = 'dead_letter' then 'dead_letter' else 'schedule_retry' end,
               a.run, a.attempt::integer, a.actor, a.owner,
               coalesce(a.reason, case when a.state = 'retry_waiting' then format('due %s', a.next_due) when a.outcome in ('deadline_passed') then a.error_message end), 4
          from tenure.attempts a
         where a.job_id = p_job_id
           and not (a.state = 'failed' and a.outcome in ('failed', 'failed_permanently', 'expired', 'timed_out', 'renewals_exceeded'))
        union all
        select l.leased_at, 'leased', 'claim', a.run, a.attempt::integer, l.principal, l.owner, null, 1
          from tenure.active a join tenure.leases l on l.token = a.token and l.lane = a.lane where a.job_id = p_job_id
        union all
        select a.started_at, 'in_progress', 'start', a.run, a.attempt::integer, l.principal, l.owner, a.progress::text, 2
          from tenure.active a left join tenure.leases l on l.token = a.token and l.lane = a.lane where a.job_id = p_job_id and a.started_at is not null
        union all
        select e.at, null, replace(e.kind, 'job.', ''), (e.data ->> 'run')::integer, null, e.actor, null, e.data ->> 'reason', 5
          from tenure.events e
         where e.tenant_id = v_tenant and e.subject = p_job_id::text and e.kind in ('job.cancel_requested', 'job.retried')
        union all
        select j.cleaned_at, 'cleaned', 'clean', null, null, 'retention', null, null, 6 from tenure.jobs j where j.job_id = p_job_id and j.cleaned_at is not null
      ) t
     order by t.at, t.run nulls last, t.step;
end
$$;

-- Why is this job not running? One call: its state, and every reason that stands in its way, each with what to do.
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
    select k.* into v_policy from tenure.kinds k where k.tenant_id = v_caller.tenant_id and k.kind = v_show ->> 'kind';
    if v_policy.paused_at is not null then
      v_reasons := v_reasons || jsonb_build_object('code', 'paused', 'what', format('%s paused the kind %s at %s.', v_policy.paused_by, v_policy.kind, v_policy.paused_at),
        'why', coalesce(v_policy.pause_note, 'None of its jobs is claimed until it is resumed.'), 'next', format('select tenure.kind_resume(%L)', v_policy.kind));
    end if;
    if v_policy.concurrency_max is not null then
      select count(*) into v_held
        from tenure.active a where a.lane = any (array(select l.lane from tenure.lanes l where l.tenant_id = v_caller.tenant_id and l.kind = v_policy.kind));
      if v_held >= v_policy.concurrency_max then
        v_reasons := v_reasons || jsonb_build_object('code', 'limit', 'what', format('%s jobs of the kind %s are held, and its limit is %s.', v_held, v_policy.kind, v_policy.concurrency_max),
          'why', 'A slot is free when one of them ends.', 'next', 'Wait, or raise concurrency_max of the kind.');
      end if;
    end if;
    if not (tenure.setting(v_caller.tenant_id, 'queue.job_substrate.enabled'))::boolean then
      v_reasons := v_reasons || jsonb_build_object('code', 'gate_closed', 'what', 'The gate queue.job_substrate.enabled is closed.', 'why', 'Nothing is claimed while it is.',
        'next', 'select tenure.gate_set(''queue.job_substrate.enabled'', ''open'')');
    end if;
    if v_dead <= v_now then
      v_reasons := v_reasons || jsonb_build_object('code', 'deadline_passed', 'what', format('Its deadline %s has passed.', v_dead), 'why', 'A job never starts late.',
        'next', 'The next claim or reaper run moves it to the dead letters; replay it from there.');
    end if;
    if v_due > v_now then
      v_reasons := v_reasons || jsonb_build_object('code', case v_state when 'retry_waiting' then 'waiting_retry' else 'not_due' end,
        'what', format('It is due at %s, in %s seconds.', v_due, ceil(extract(epoch from v_due - v_now))),
        'why', case v_state when 'retry_waiting' then format('Attempt %s of %s ended: %s', v_show ->> 'attempts', v_show ->> 'attempts_max', coalesce(v_show ->> 'error_message', v_show ->> 'error_code', 'put aside'))
                    else 'It was scheduled for later.' end,
        'next', format('Wait, or run it now: select tenure.job_retry(%L).', p_job_id));
    end if;
    select count(*) into v_alive
      from tenure.heartbeats h
     where h.tenant_id = v_caller.tenant_id and h.executor_kind = v_show ->> 'executor'
       and h.last_tick_at > v_now - make_interval(secs => 2 * tenure.setting_integer(v_caller.tenant_id, 'queue.heartbeat.stale_threshold_seconds'));
    if v_alive = 0 then
      v_reasons := v_reasons || jsonb_build_object('code', 'no_live_executor', 'what', format('No executor of kind %s is alive.', v_show ->> 'executor'),
        'why', 'None has claimed or sent a heartbeat lately.', 'next', format('Start a worker that claims for %s.', v_show ->> 'executor'));
    end if;
    if v_reasons = '[]' then
      select count(*) into v_ahead
        from (select from tenure.ready r where r.lane = v_lane and (r.rank, r.due, r.job_id) < (-(v_show ->> 'priority')::smallint, v_due, p_job_id) limit 1000) a;
      v_reasons := v_reasons || jsonb_build_object('code', 'waiting_turn', 'what', format('%s%s jobs are ahead of it in its lane.', v_ahead, case when v_ahead = 1000 then ' or more' else '' end),
        'why', 'It is claimable; nobody has claimed it yet.', 'next', 'Wait, or start more workers.');
    end if;
  elsif v_state in ('leased', 'in_progress') then
    if v_until is null or v_until <= v_now then
      v_reasons := v_reasons || jsonb_build_object('code', 'lease_expired', 'what', format('The lease of %s has run out.', coalesce(v_show ->> 'lease_owner', 'its worker')),
        'why', 'The worker died or lost its connection.', 'next', 'The reaper gives it back; run it now with select * from tenure.job_reap().');
    else
      v_reasons := v_reasons || jsonb_build_object('code', v_state, 'what', format('%s holds it until %s.', v_show ->> 'lease_owner', v_until),
        'why', case v_state when 'leased' then 'It waits in the worker''s buffer.' else 'It is running.' end, 'next', 'Wait, or cancel it.');
    end if;
    if v_show ->> 'cancel_requested_at' is not null then
      v_reasons := v_reasons || jsonb_build_object('code', 'cancel_requested', 'what', format('%s asked to cancel it.', v_show ->> 'cancel_by'), 'why', v_show ->> 'cancel_reason',
        'next', 'The worker learns of it at its next heartbeat; force takes it away at once.');
    end if;
  else
    v_reasons := v_reasons || jsonb_build_object('code', v_state, 'what', format('It is %s since %s.', v_state, coalesce(v_show ->> 'cleaned_at', v_show ->> 'finished_at')),
      'why', coalesce(v_show ->> 'error_message', v_show ->> 'cancel_reason', 'It has come to its end.'),
      'next', case v_state
        when 'dead_letter' then 'Triage its dead letter.'
        when 'failed' then format('select tenure.job_retry(%L) gives it fresh attempts.', p_job_id)
        else 'Nothing: terminal is final.' end);
  end if;
  return jsonb_build_object('job_id', p_job_id, 'kind', v_show -> 'kind', 'executor', v_show -> 'executor', 'state', v_state, 'reasons', v_reasons);
end
$$;

-- Who holds a job, for the read views: never the token, which is the proof of holding.
create or replace function tenure.job_lease(p_job_id uuid) returns table (owner text, leased_at timestamptz, until timestamptz)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select l.owner, l.leased_at, l.until
    from tenure.active a
    join tenure.leases l on l.token = a.token and l.lane = a.lane
   where a.job_id = p_job_id and (l.tenant_id = tenure.current_tenant() or tenure.is_every_tenant())
$$;
