-- While a job is held: start, heartbeat, progress.

-- Starts jobs of a buffer. A handler may run only after 'started' or 'already_started'. 'deadline_passed'
-- went to the dead letters; with 'stale_lease' and 'lease_expired' the caller no longer holds the job.
-- granted to: worker
create or replace function tenure.job_start_many(p_job_ids uuid[], p_tokens uuid[])
returns table (job_id uuid, status text, started_at timestamptz, run_until timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
-- pinned order: see sql/README.md
set enable_seqscan = off
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_started uuid[];
  v_steps   uuid[];
  v_late    tenure.run_end[];
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_pairs(p_job_ids, p_tokens);

  -- First the locks, in the order of ids, then the writes as a new statement: see tenure.job_end_many.
  with living as materialized (
    select l.token, l.lane, l.owner, l.principal, l.leased_at
      from tenure.leases l
     where l.token = any (array(select distinct t from unnest(p_tokens) t))
       and l.until > v_now
       and l.tenant_id = v_caller.tenant_id
  )
  select array_agg(a.job_id) filter (where j.deadline_at is null or j.deadline_at > v_now),
         array_agg(a.job_id) filter (where j.enqueued_by = 'execution'),
         array_agg((
           a.job_id, v_caller.tenant_id, a.lane, a.run, a.attempt, a.token, l.owner, l.leased_at, null, a.due,
           a.cancel_requested_at, a.cancel_by, a.cancel_reason,
           'deadline_passed', 'deadline_passed', 'deadline', 'The deadline passed before the job started.',
           null, null, null, l.principal)::tenure.run_end) filter (where j.deadline_at <= v_now)
    into v_started, v_steps, v_late
    from (select distinct t.job_id, t.token
            from unnest(p_job_ids, p_tokens) t (job_id, token)
           order by t.job_id, t.token) t
    cross join lateral (
      select a.job_id, a.token, a.lane, a.run, a.attempt, a.due, a.started_at,
             a.cancel_requested_at, a.cancel_by, a.cancel_reason
        from tenure.active a
       where a.job_id = t.job_id and a.token = t.token
       limit 1
         for update) a
    cross join lateral (
      select j.deadline_at, j.enqueued_by from tenure.jobs j where j.job_id = t.job_id limit 1) j
    join living l on l.token = a.token and l.lane = a.lane
   where a.started_at is null;

  with begun as (
    update tenure.active a
       set started_at = greatest(v_now, a.due),
           run_until = (
             select v_now + make_interval(secs => j.run_timeout_seconds)
               from tenure.jobs j
              where j.job_id = a.job_id),
           hold_until = (
             select v_now
                    + make_interval(secs => least(j.lease_seconds, l.lease_seconds) * (1.0 + j.renewals_max))
               from tenure.jobs j, tenure.leases l
              where j.job_id = a.job_id and l.token = a.token and l.lane = a.lane)
     where a.job_id = any (v_started)
    returning a.job_id, a.lane, a.run,
      (select l.owner from tenure.leases l where l.token = a.token and l.lane = a.lane) as owner
  ), late as (
    delete from tenure.active a where a.job_id = any (array(select d.job_id from unnest(v_late) d))
  )
  insert into tenure.events (at, tenant_id, lane, kind, actor, job_ids, runs, data)
  select v_now, v_caller.tenant_id, b.lane, 'job.started', v_caller.principal,
         array_agg(b.job_id), array_agg(b.run), jsonb_build_object('worker', min(b.owner))
    from begun b
   group by b.lane;
  if v_late is not null then
    perform tenure.job_settle(v_now, v_caller.principal, null, v_late);
    perform tenure.lease_shrink(v_late);
  end if;
  if v_steps is not null then
    -- Those past their deadline are not held any more.
    perform tenure.step_starts_record(v_now, v_caller.principal, v_steps);
  end if;

  return query
    select t.job_id,
           case
             when (t.job_id, t.token) in (select d.job_id, d.token from unnest(v_late) d)
               then 'deadline_passed'
             when a.job_id is null then 'stale_lease'
             when t.job_id = any (v_started) then 'started'
             when l.token is null or l.until <= v_now then 'lease_expired'
             else 'already_started'
           end,
           a.started_at, a.run_until
      from unnest(p_job_ids, p_tokens) with ordinality t (job_id, token, n)
      left join lateral (
        select a.job_id, a.token, a.lane, a.started_at, a.run_until
          from tenure.active a
         where a.job_id = t.job_id
           and a.token = t.token
           and exists (
             select from tenure.lanes n where n.lane = a.lane and n.tenant_id = v_caller.tenant_id)
         limit 1) a on true
      left join tenure.leases l
        on l.token = a.token and l.lane = a.lane and l.tenant_id = v_caller.tenant_id
     order by t.n;
end
$$;

-- Refuses arrays that do not pair up or are too long.
create or replace function tenure.check_pairs(p_job_ids uuid[], p_tokens uuid[]) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(cardinality(p_job_ids), 0) <> coalesce(cardinality(p_tokens), 0) then
    perform tenure.refuse('arguments_mismatched',
      format('There are %s job ids and %s tokens.',
        coalesce(cardinality(p_job_ids), 0), coalesce(cardinality(p_tokens), 0)),
      'Each job comes with the token that holds it.',
      'Give arrays of one length.');
  elsif coalesce(cardinality(p_job_ids), 0) > tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch has %s jobs.', cardinality(p_job_ids)),
      format('A batch has at most %s (batch_rows_max).', tenure.limit_of('batch_rows_max')), 'Split it.');
  end if;
end
$$;

-- Renews every lease named by the tokens, in one statement. Status of each job: 'ok', 'cancel' (a cancel
-- was requested: stop and acknowledge it), or 'lost' (stop at once: another attempt may own the job). A
-- lease that has expired is never revived.
-- granted to: worker
create or replace function tenure.job_heartbeat_many(
  p_job_ids uuid[], p_tokens uuid[], p_lease_seconds integer default null)
returns table (job_id uuid, status text, leased_until timestamptz, cancel_reason text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
-- pinned order: see sql/README.md
set enable_seqscan = off
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_tuning  tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_now     timestamptz := tenure.now();
  v_longest integer;
  v_tokens  uuid[];
  v_lanes   integer[];
  v_untils  timestamptz[];
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_pairs(p_job_ids, p_tokens);
  v_longest := greatest(v_tuning.lease_seconds, v_tuning.lease_seconds_max);
  if p_lease_seconds is not null and (p_lease_seconds < 1 or p_lease_seconds > v_longest) then
    perform tenure.refuse('lease_seconds_out_of_range',
      format('A lease of %s seconds was asked for.', p_lease_seconds),
      format('It must lie between 1 and %s (queue.lease.duration_sec_max).', v_longest),
      'Ask for less and renew more often.');
  end if;
  with locked as materialized (
    select l.token, l.lane
      from tenure.leases l
     where l.token = any (array(select distinct t from unnest(p_tokens) t))
       and l.until > v_now
       and l.tenant_id = v_caller.tenant_id
     order by l.token, l.lane
       for no key update
  ), renewed as (
    update tenure.leases l
       set until = greatest(l.until, v_now + make_interval(secs => case
             when p_lease_seconds is null then l.lease_seconds
             -- Steps keep the lease of their claim, and a shorter limit of the kind holds as it does there.
             else (select least(
                            greatest(p_lease_seconds, case when n.stepped then l.lease_seconds end),
                            q.lease_seconds_max)
                     from tenure.lanes n
                     left join tenure.kinds q on q.tenant_id = n.tenant_id and q.kind = n.kind
                    where n.lane = l.lane)
           end)),
           renewals = l.renewals + 1
      from locked k
     where l.token = k.token and l.lane = k.lane and l.until > v_now
    returning l.token, l.lane, l.until
  )
  select array_agg(r.token), array_agg(r.lane), array_agg(r.until)
    into v_tokens, v_lanes, v_untils
    from renewed r;
  -- A new statement: while the lock on the lease was awaited, a job of it may have been
  -- taken away or its cancel requested.
  return query
    select t.job_id,
           case
             when r.token is null then 'lost'
             when a.cancel_requested_at is not null then 'cancel'
             else 'ok'
           end,
           r.until,
           case when r.token is not null then a.cancel_reason end
      from unnest(p_job_ids, p_tokens) with ordinality t (job_id, token, n)
      left join lateral (
        select a.token, a.lane, a.cancel_requested_at, a.cancel_reason
          from tenure.active a
         where a.job_id = t.job_id and a.token = t.token
         limit 1) a on true
      left join unnest(v_tokens, v_lanes, v_untils) r (token, lane, until)
        on r.token = a.token and r.lane = a.lane
     order by t.n;
end
$$;

-- Records the progress of a held job; the first progress of a leased job starts it.
-- granted to: worker
create or replace function tenure.job_progress(p_job_id uuid, p_token uuid, p_progress jsonb default '{}')
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_start  record;
  v_cancel boolean;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_json_numbers('progress', p_progress);
  perform tenure.check_payload('progress', p_progress::json, tenure.limit_of('progress_bytes_max'));
  select s.* into v_start from tenure.job_start_many(array[p_job_id], array[p_token]) s;
  perform tenure.check_held(p_job_id, v_start.status);
  if v_start.status = 'deadline_passed' then
    return tenure.refusal_deadline(p_job_id);
  end if;
  update tenure.active a
     set progress = p_progress,
         progress_at = v_now
   where a.job_id = p_job_id and a.token = p_token
  returning a.cancel_requested_at is not null into v_cancel;
  perform tenure.step_progress(v_now, v_caller.principal, p_job_id, p_progress);
  return jsonb_build_object(
    'job_id', p_job_id, 'state', 'in_progress', 'started_at', v_start.started_at,
    'cancel_requested', coalesce(v_cancel, false));
end
$$;

-- Refuses by the status that a start returned, when the caller does not hold the job.
create or replace function tenure.check_held(p_job_id uuid, p_status text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  case p_status
    when 'stale_lease' then
      perform tenure.refuse('stale_lease', format('This token does not hold job %s.', p_job_id),
        'The lease was lost, or the job never was under it: another attempt may own it.',
        format('Stop working on it. See tenure.job_show(%L).', p_job_id));
    when 'lease_expired' then
      perform tenure.refuse('lease_expired', format('The lease on job %s has run out.', p_job_id),
        'Nobody renewed it in time; the reaper will give the job to someone else.',
        'Stop working on it, and beat more often or ask for a longer lease.');
    else null;
  end case;
end
$$;

-- The one refusal that is returned as a value: raising it would undo the move to the dead letters.
create or replace function tenure.refusal_deadline(p_job_id uuid) returns jsonb
language sql
set search_path = pg_catalog, pg_temp
as $$
  select tenure.refusal('TN018', format('The deadline of job %s has passed.', p_job_id),
    'A job never starts late; it went to the dead letters.',
    'Claim another. An operator may replay it.')
$$;

-- Starts one job; refuses when the token does not hold it.
-- granted to: worker
create or replace function tenure.job_start(p_job_id uuid, p_token uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_start record;
begin
  select s.* into v_start from tenure.job_start_many(array[p_job_id], array[p_token]) s;
  perform tenure.check_held(p_job_id, v_start.status);
  if v_start.status = 'deadline_passed' then
    return tenure.refusal_deadline(p_job_id);
  end if;
  return jsonb_build_object(
    'job_id', p_job_id, 'status', v_start.status, 'state', 'in_progress',
    'started_at', v_start.started_at, 'run_until', v_start.run_until);
end
$$;

-- Renews the lease of one job; refuses with stale_lease when it is lost.
-- granted to: worker
create or replace function tenure.job_heartbeat(
  p_job_id uuid, p_token uuid, p_lease_seconds integer default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_beat record;
begin
  select b.* into v_beat from tenure.job_heartbeat_many(array[p_job_id], array[p_token], p_lease_seconds) b;
  if v_beat.status = 'lost' then
    perform tenure.check_held(p_job_id, 'stale_lease');
  end if;
  return jsonb_build_object(
    'job_id', p_job_id, 'status', v_beat.status, 'leased_until', v_beat.leased_until,
    'cancel_reason', v_beat.cancel_reason);
end
$$;
