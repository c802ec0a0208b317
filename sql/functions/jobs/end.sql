-- The end of runs a worker holds: one statement over arrays for all outcomes, each row guarded by job and
-- token.

-- Ends runs the caller still holds. Outcomes: succeeded, failed, failed_permanently, cancelled (acknowledges
-- a cancel request), snoozed, released. Each row has its own status:
--   'ended'          with the new state
--   'already_ended'  with the recorded state
--   'stale_lease', 'lease_expired'
--                    the row is untouched: the worker must drop that result, another attempt owns it
--   'result_too_large', 'cancel_not_requested', 'not_started', 'outcome_unknown', 'delay_out_of_range'
--                    what is wrong with the row
-- granted to: worker
create or replace function tenure.job_end_many(
  p_job_ids        uuid[],
  p_tokens         uuid[],
  p_outcomes       text[],
  p_results        jsonb[]   default null,
  p_result_refs    text[]    default null,
  p_error_codes    text[]    default null,
  p_error_classes  text[]    default null,
  p_error_messages text[]    default null,
  p_delay_seconds  integer[] default null)
returns table (job_id uuid, status text, state text, next_due timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tuning tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_now    timestamptz := tenure.now();
  v_ends   tenure.end_batch := (
    p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_error_codes, p_error_classes,
    p_error_messages, p_delay_seconds)::tenure.end_batch;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  return query
    select e.job_id, e.status, e.state, e.next_due
      from tenure.runs_end(v_caller, v_tuning, v_now, v_ends,
             tenure.runs_succeed(v_caller, v_tuning, v_now, v_ends), 'all') e;
end
$$;

-- The fast path for nearly every batch of ends: successes without a result, all of one claim from one lane.
-- The rows are treated alike, so nothing is joined. Returns the jobs it ended, or null when the batch has
-- another form and nothing was done; tenure.runs_end handles what is left.
create or replace function tenure.runs_succeed(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_ends tenure.end_batch)
returns uuid[]
language plpgsql
as $$
declare
  v_token uuid := p_ends.tokens[1];
  v_lease record;
  v_gone  record;
begin
  if p_ends.results is not null
     or p_ends.result_refs is not null
     or p_ends.delay_seconds is not null
     or (v_token = all (p_ends.tokens) and 'succeeded' = all (p_ends.outcomes)) is not true
     or cardinality(p_ends.job_ids) <> cardinality(p_ends.tokens)
     or cardinality(p_ends.job_ids) <> cardinality(p_ends.outcomes)
     or cardinality(p_ends.job_ids) > tenure.limit_of('batch_rows_max') then
    return null;
  end if;
  select min(l.lane) as lane, count(*) as lanes, min(l.owner) as owner, min(l.principal) as principal,
         min(l.leased_at) as leased_at, bool_or(n.followed) as followed
    into v_lease
    from tenure.leases l
    cross join lateral (
      select n.planned or n.stepped as followed from tenure.lanes n where n.lane = l.lane limit 1) n
   where l.token = v_token
     and l.until > p_now
     and l.tenant_id = p_caller.tenant_id;
  if v_lease.lanes <> 1 then
    return null;
  end if;
  with gone as (
    delete from tenure.active a
     where a.job_id = any (p_ends.job_ids)
       and a.token = v_token
       and a.lane = v_lease.lane
    returning a.job_id, a.run, a.attempt, a.started_at, a.limited
  ), kept as (
    insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, token, owner,
      holder, leased_at, started_at, ended_at, actor)
    select g.job_id, g.run, p_caller.tenant_id, v_lease.lane, g.attempt, 'succeeded', 'succeeded', true,
           v_token, v_lease.owner, v_lease.principal, v_lease.leased_at, g.started_at,
           greatest(p_now, g.started_at), p_caller.principal
      from gone g
  ), batch as materialized (
    select array_agg(g.job_id) as job_ids, array_agg(g.run) as runs, count(*)::integer as ended,
           bool_or(g.limited) as limited
      from gone g
  ), recorded as (
    insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, job_count)
    select (select i.epoch from tenure.installation i), p_now, p_caller.tenant_id, v_lease.lane,
           'job.succeeded', p_caller.principal, b.job_ids, b.runs, b.ended
      from batch b
     where b.ended > 0
  )
  select b.job_ids, b.ended, b.limited into v_gone from batch b;
  if v_gone.ended > 0 then
    perform tenure.lease_subtract(v_token, v_lease.lane, v_gone.ended);
    if v_lease.followed then
      perform tenure.ends_follow(p_now, p_caller.principal, array[v_lease.lane], v_gone.job_ids);
    end if;
  end if;
  -- A limited kind has room again: a worker that waits for it may not have seen that.
  if v_gone.limited and p_tuning.notify_open then
    perform tenure.lane_wake(array[v_lease.lane], p_now);
  end if;
  return v_gone.job_ids;
end
$$;

-- The work of job_end_many and of the first half of a turn. p_done: what tenure.runs_succeed ended before, or
-- null. p_answers: 'all', or 'exceptions' to leave out the rows that simply succeeded.
create or replace function tenure.runs_end(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_ends tenure.end_batch,
  p_done uuid[], p_answers text)
returns table (job_id uuid, status text, state text, next_due timestamptz, token uuid)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
-- pinned order: see sql/README.md
set enable_seqscan = off
set enable_bitmapscan = off
set enable_nestloop = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_rows  integer := coalesce(cardinality(p_ends.job_ids), 0);
  v_taken tenure.batch_taken;
begin
  perform tenure.check_ends(p_ends);
  if v_rows = 0 then
    return;
  end if;
  v_taken.done := p_done;
  if v_rows > coalesce(cardinality(p_done), 0) then
    v_taken := tenure.runs_take(p_caller, p_now, p_ends, p_done);
    if v_taken.tokens is not null then
      perform tenure.lease_count_down(v_taken.tokens, v_taken.lanes, v_taken.ended);
    end if;
    if cardinality(v_taken.done) > coalesce(cardinality(p_done), 0) then
      perform tenure.ends_follow(p_now, p_caller.principal, v_taken.lanes, v_taken.done);
    end if;
    -- A limited kind has room again: a worker that waits for it may not have seen that.
    if v_taken.freed is not null and p_tuning.notify_open then
      perform tenure.lane_wake(v_taken.freed, p_now);
    end if;
  end if;
  if v_rows > cardinality(v_taken.done) then
    return query
      select a.job_id, a.status, a.state, a.next_due, a.token
        from tenure.ends_answer(p_caller, p_now, p_ends, v_taken, p_answers) a;
  elsif p_answers = 'all' then
    return query
      select d.id, 'ended'::text, 'succeeded'::text, null::timestamptz, d.token
        from unnest(p_ends.job_ids, p_ends.tokens) d (id, token);
  end if;
end
$$;

-- Refuses a batch that is too large, or whose arrays differ in length.
create or replace function tenure.check_ends(p_ends tenure.end_batch) returns void
language plpgsql
as $$
declare
  v_rows integer := coalesce(cardinality(p_ends.job_ids), 0);
begin
  if v_rows > tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch ends %s runs.', v_rows),
      format('A batch has at most %s (batch_rows_max).', tenure.limit_of('batch_rows_max')),
      'Split it.');
  end if;
  if v_rows <> coalesce(cardinality(p_ends.tokens), 0)
     or v_rows <> coalesce(cardinality(p_ends.outcomes), 0)
     or v_rows <> any (array[
       coalesce(cardinality(p_ends.results), v_rows),
       coalesce(cardinality(p_ends.result_refs), v_rows),
       coalesce(cardinality(p_ends.error_codes), v_rows),
       coalesce(cardinality(p_ends.error_classes), v_rows),
       coalesce(cardinality(p_ends.error_messages), v_rows),
       coalesce(cardinality(p_ends.delay_seconds), v_rows)]) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in length.',
      format('Each runs parallel to the %s job ids.', v_rows),
      'Give arrays of one length; leave an optional array out where no job has the value.');
  end if;
end
$$;

-- The ends of a batch with this outcome, each as the text of its job and token.
create or replace function tenure.ends_of(p_ends tenure.end_batch, p_outcome text) returns text[]
language plpgsql
as $$
begin
  if p_outcome = any (p_ends.outcomes) then
    return array(
      select t.job_id::text || t.token
        from unnest(p_ends.job_ids, p_ends.tokens, p_ends.outcomes) t (job_id, token, outcome)
       where t.outcome = p_outcome);
  end if;
  return '{}';
end
$$;

-- Takes the runs of a batch out of active and writes the record and the events of those that succeeded. The
-- others are returned in `rest`, to be settled.
--
-- One delete takes the runs out, in the order of their ids, each guarded by its token and a living lease. It
-- returns the newest version of each row (a cancel request may have come while it waited), and every decision
-- is made from that. It is one statement, so that nothing can change between delete and record.
create or replace function tenure.runs_take(
  p_caller tenure.caller_identity, p_now timestamptz, p_ends tenure.end_batch, p_done uuid[])
returns tenure.batch_taken
language plpgsql
as $$
declare
  v_cancels text[] := tenure.ends_of(p_ends, 'cancelled');
  v_snoozes text[] := tenure.ends_of(p_ends, 'snoozed');
  v_mixed   boolean := 'succeeded' <> any (p_ends.outcomes);
  v_taken   tenure.batch_taken;
begin
  with living as materialized (
    select l.token, l.lane, l.owner, l.principal, l.leased_at
      from tenure.leases l
     where l.token = any (array(select distinct t from unnest(p_ends.tokens) t))
       and l.until > p_now
       and l.tenant_id = p_caller.tenant_id
  ), asked as not materialized (
    -- An end that is listed twice counts once.
    select distinct on (t.job_id, t.token)
           t.job_id, t.token, t.outcome, t.result, t.result_ref, t.error_code, t.error_class,
           t.error_message, t.delay_seconds
      from unnest(p_ends.job_ids, p_ends.tokens, p_ends.outcomes, p_ends.results, p_ends.result_refs,
                  p_ends.error_codes, p_ends.error_classes, p_ends.error_messages, p_ends.delay_seconds)
             with ordinality
             t (job_id, token, outcome, result, result_ref, error_code,
                error_class, error_message, delay_seconds, n)
     where tenure.end_fault(t.outcome, t.result, t.result_ref, t.delay_seconds) is null
     order by t.job_id, t.token, t.n
  ), gone as (
    -- "not (… not in …)" is one hashed look-up per row. A join could be planned with the roles reversed.
    delete from tenure.active a
     where a.job_id = any (p_ends.job_ids)
       and not ((a.job_id, a.token) not in (
         select t.job_id, t.token
           from unnest(p_ends.job_ids, p_ends.tokens, p_ends.outcomes, p_ends.results, p_ends.result_refs,
                       p_ends.delay_seconds) t (job_id, token, outcome, result, result_ref, delay_seconds)
          where t.job_id is not null
            and t.token is not null
            and tenure.end_fault(t.outcome, t.result, t.result_ref, t.delay_seconds) is null))
       and not ((a.token, a.lane) not in (select l.token, l.lane from living l))
       and (a.cancel_requested_at is not null or a.job_id::text || a.token <> all (v_cancels))
       and (a.started_at is not null or a.job_id::text || a.token <> all (v_snoozes))
    returning a.job_id, a.token, a.lane, a.run, a.attempt, a.due, a.started_at, a.cancel_requested_at,
              a.cancel_by, a.cancel_reason, a.limited
  ), kept as (
    insert into tenure.attempts as r (job_id, run, tenant_id, lane, attempt, outcome, state, final, token,
      owner, holder, leased_at, started_at, ended_at, actor, result, result_ref)
    select g.job_id, g.run, p_caller.tenant_id, g.lane, g.attempt, 'succeeded', 'succeeded', true, g.token,
           l.owner, l.principal, l.leased_at, g.started_at, greatest(p_now, g.started_at),
           p_caller.principal, k.result, k.result_ref
      from gone g
      join living l on l.token = g.token and l.lane = g.lane
      join asked k on k.job_id = g.job_id and k.token = g.token
     where k.outcome = 'succeeded'
    returning r.job_id, r.run, r.lane, r.token
  ), done as materialized (
    select k.lane, array_agg(k.job_id) as job_ids, array_agg(k.run) as runs, array_agg(k.token) as tokens
      from kept k
     group by k.lane
  ), recorded as (
    insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, job_count)
    select (select i.epoch from tenure.installation i), p_now, p_caller.tenant_id, d.lane, 'job.succeeded',
           p_caller.principal, d.job_ids, d.runs, cardinality(d.job_ids)
      from done d
  ), rest as (
    select array_agg((
             g.job_id, p_caller.tenant_id, g.lane, g.run, g.attempt, g.token, l.owner, l.leased_at,
             g.started_at, g.due, g.cancel_requested_at, g.cancel_by, g.cancel_reason, k.outcome,
             k.error_code, k.error_class, k.error_message, k.delay_seconds, k.result, k.result_ref,
             l.principal)::tenure.run_end) as ends
      from gone g
      join living l on l.token = g.token and l.lane = g.lane
      join asked k on k.job_id = g.job_id and k.token = g.token
     where v_mixed
       and k.outcome <> 'succeeded'
  ), counted as (
    select g.token, g.lane, count(*)::integer as ended, bool_or(g.limited) as limited
      from gone g
     group by g.token, g.lane
  )
  select (select p_done || coalesce(array_agg(i.id), '{}')
            from done d
            cross join lateral unnest(d.job_ids) i (id)),
         -- In the same order, the token of each: the batch may name a job with another token too.
         (select array_fill(p_ends.tokens[1], array[coalesce(cardinality(p_done), 0)])
                   || coalesce(array_agg(i.token), '{}')
            from done d
            cross join lateral unnest(d.tokens) i (token)),
         (select r.ends from rest r),
         array_agg(c.token),
         array_agg(c.lane),
         array_agg(c.ended),
         array_agg(c.lane) filter (where c.limited)
    into v_taken
    from counted c;
  return v_taken;
end
$$;

-- The status of each end of a batch, after it settles the ends that tenure.runs_take left.
create or replace function tenure.ends_answer(
  p_caller tenure.caller_identity, p_now timestamptz, p_ends tenure.end_batch, p_taken tenure.batch_taken,
  p_answers text)
returns table (job_id uuid, status text, state text, next_due timestamptz, token uuid)
language plpgsql
as $$
begin
  return query
    with settled as materialized (
      select s.job_id, e.token, s.state, s.next_due
        from tenure.job_settle(p_now, p_caller.principal, null, p_taken.rest) s
        join unnest(p_taken.rest) e on e.job_id = s.job_id
    ), answers as (
      select t.job_id, t.token, t.n,
             case
               when d.job_id is not null or s.job_id is not null then 'ended'
               when e.job_id is not null then 'already_ended'
               when tenure.end_fault(t.outcome, t.result, t.result_ref, t.delay_seconds) is not null then
                 tenure.end_fault(t.outcome, t.result, t.result_ref, t.delay_seconds)
               when a.job_id is null then 'stale_lease'
               when l.token is null or l.until <= p_now then 'lease_expired'
               when t.outcome = 'cancelled' and a.cancel_requested_at is null then 'cancel_not_requested'
               when t.outcome = 'snoozed' and a.started_at is null then 'not_started'
               else 'stale_lease'
             end as status,
             case when d.job_id is not null then 'succeeded' else coalesce(s.state, e.state) end as state,
             coalesce(s.next_due, e.next_due) as next_due
        from unnest(p_ends.job_ids, p_ends.tokens, p_ends.outcomes, p_ends.results, p_ends.result_refs,
                    p_ends.delay_seconds)
               with ordinality t (job_id, token, outcome, result, result_ref, delay_seconds, n)
        left join unnest(p_taken.done, p_taken.done_tokens) d (job_id, token)
          on d.job_id = t.job_id and d.token = t.token
        left join settled s on s.job_id = t.job_id and s.token = t.token
        -- An end that the holder itself sent before. A run that the reaper or an operator took away was not
        -- ended by its holder: that lease was lost.
        left join lateral (
          select e.job_id, e.state, e.next_due
            from tenure.attempts e
           where e.job_id = t.job_id
             and e.token = t.token
             and e.tenant_id = p_caller.tenant_id
             and (e.outcome in ('succeeded', 'failed', 'failed_permanently', 'snoozed', 'released')
                  or (e.outcome = 'cancelled' and t.outcome <> 'succeeded'))
           limit 1) e on true
        left join lateral (
          select a.job_id, a.token, a.lane, a.cancel_requested_at, a.started_at
            from tenure.active a
           where a.job_id = t.job_id
             and a.token = t.token
             and exists (
               select from tenure.lanes n where n.lane = a.lane and n.tenant_id = p_caller.tenant_id)
           limit 1) a on true
        left join lateral (
          select l.token, l.until
            from tenure.leases l
           where l.token = a.token
             and l.lane = a.lane
             and l.tenant_id = p_caller.tenant_id
           limit 1) l on true
       where p_answers = 'all'
          or d.job_id is null
    )
    select r.job_id, r.status, r.state, r.next_due, r.token
      from answers r
     order by r.n;
end
$$;

-- The status that says what is wrong with one row of a batch of ends, or null. It never fails the batch.
create or replace function tenure.end_fault(
  p_outcome text, p_result jsonb, p_result_ref text, p_delay_seconds integer) returns text
language sql immutable parallel safe
as $$
  select case
    when p_outcome is null
      or p_outcome not in ('succeeded', 'failed', 'failed_permanently', 'cancelled', 'snoozed', 'released')
      then 'outcome_unknown'
    -- Numbers are checked before the result is written out as text: one of nine bytes may take 128 KB.
    when p_result is not null
      and (tenure.has_long_number(p_result)
        or octet_length(p_result::text) > tenure.limit_of('result_bytes_max')
        or tenure.is_unreadable(p_result))
      then 'result_too_large'
    when length(p_result_ref) > tenure.limit_of('ref_chars_max') then 'result_too_large'
    when p_delay_seconds is not null
      and p_delay_seconds not between 0 and tenure.limit_of('schedule_ahead_days_max') * 86400
      then 'delay_out_of_range'
    when p_outcome = 'snoozed' and p_delay_seconds is null then 'delay_out_of_range'
  end
$$;
