-- The end of a run: one statement over arrays for all outcomes, each row guarded by job and token.

-- Decides what becomes of runs that were just taken out of active, ready or delayed (the caller has deleted those rows and passes what the delete
-- returned), and writes it: the record of the run, the next place of the job or its dead letter, and the events. The one home of these decisions.
create or replace function tenure.job_settle(p_now timestamptz, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[])
returns table (job_id uuid, state text, next_due timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  return query
    with ended as materialized (
      select e.job_id, e.tenant_id, e.lane, e.run, e.attempt, e.token, e.owner, e.holder, e.leased_at, e.started_at, e.due, e.outcome,
             left(e.error_code, tenure.limit_of('name_chars_max')::integer) as error_code, coalesce(left(e.error_class, tenure.limit_of('name_chars_max')::integer), case when e.outcome = 'released' and e.cancel_requested_at is not null and e.started_at is not null then 'lease' end) as error_class,
             tenure.cut_text(tenure.mask_text(e.error_message), tenure.limit_of('error_message_bytes_max')::integer) as error_message,
             e.delay_seconds, e.result, e.result_ref, e.cancel_reason, e.cancel_requested_at,
             j.priority, j.deadline_at, j.attempts_max, j.on_exhausted, j.backoff_base_seconds,
             j.backoff_jitter_percent, j.executor,
             -- Nobody knows how far it came, and it may not be run twice.
             coalesce(j.on_lost, '') = 'fail' and e.outcome in ('expired', 'timed_out', 'released') and e.started_at is not null as is_lost,
             -- Only the handler's own success or an operator's word stands above a cancel request.
             case
               when e.outcome in ('succeeded', 'moved', 'cancelled') then e.outcome
               when e.cancel_requested_at is not null then 'cancelled'
               else e.outcome
             end as verdict,
             tenure.attempts_spent(e.outcome, e.started_at, e.attempt) as spent,
             e.outcome = 'expired' and e.started_at is null as never_started
        from unnest(p_ends) e
        cross join lateral (select j.* from tenure.jobs j where j.job_id = e.job_id limit 1) j
    ), ruled as materialized (
      select d.*,
             case
               when d.verdict = 'succeeded' then 'succeeded'
               when d.verdict = 'cancelled' then 'cancelled'
               when d.verdict in ('moved', 'deadline_passed', 'renewals_exceeded') then 'dead_letter'
               when d.verdict = 'released' and not d.is_lost then 'queued'
               when d.verdict = 'snoozed' then 'retry_waiting'
               when d.never_started and 1 + (select count(*) from tenure.attempts a where a.job_id = d.job_id and a.outcome = 'expired' and a.started_at is null)
                 < 2 * d.attempts_max then 'retry_waiting'
               when d.never_started then 'dead_letter'
               when d.verdict = 'failed_permanently' or d.is_lost or d.spent >= d.attempts_max then case d.on_exhausted when 'fail' then 'failed' else 'dead_letter' end
               else 'retry_waiting'
             end as becomes
        from ended d
    ), placed as materialized (
      select r.*,
             case
               when r.becomes = 'queued' then r.due
               when r.becomes <> 'retry_waiting' then null
               when r.delay_seconds is not null then p_now + make_interval(secs => r.delay_seconds)
               when r.never_started then p_now
               else p_now + make_interval(secs => tenure.backoff_seconds(r.backoff_base_seconds, r.spent, r.backoff_jitter_percent))
             end as comes_due
        from ruled r
    ), kept as (
      insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, token, owner, holder, leased_at, started_at, ended_at, next_due, actor, reason,
        error_code, error_class, error_message, result, result_ref)
      select p.job_id, p.run, p.tenant_id, p.lane, greatest(p.attempt, 0), p.verdict, p.becomes, p.becomes in ('succeeded', 'failed', 'cancelled', 'dead_letter'),
             p.token, p.owner, p.holder, p.leased_at, p.started_at, greatest(p_now, p.started_at), p.comes_due, p_actor, p.cancel_reason,
             coalesce(p.error_code, case when p.never_started and p.becomes = 'dead_letter' then 'never_started' when p.is_lost then 'stale_timeout' when p.verdict in ('expired', 'timed_out', 'renewals_exceeded') then p.verdict end),
             p.error_class, p.error_message, p.result, p.result_ref
        from placed p
    ), put_ready as (
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      select p.lane, -p.priority, p.comes_due, p.job_id, p.becomes, p.run, greatest(p.spent, 0), p.deadline_at from placed p where p.comes_due <= p_now
    ), put_delayed as (
      insert into tenure.delayed (tenant_id, lane, due, job_id, rank, state, run, attempts, deadline)
      select p.tenant_id, p.lane, p.comes_due, p.job_id, -p.priority, p.becomes, p.run, greatest(p.spent, 0),
             p.deadline_at
        from placed p where p.comes_due > p_now
    ), marked as (
      -- The caller has deleted where they were, so this transaction has its number: see ready_marks.sql.
      insert into tenure.ready_marks (tenant_id, executor, rank, lane)
      select distinct p.tenant_id, p.executor, -p.priority, p.lane from placed p
       where p.comes_due <= p_now
         and (current_setting('transaction_isolation') <> 'read committed'
              or not exists (select from tenure.ready_marks m
                              where m.tenant_id = p.tenant_id and m.executor = p.executor
                                and m.rank = -p.priority and m.lane = p.lane and m.retired_in is null))
    ), buried as (
      insert into tenure.dead_letters (dead_letter_id, tenant_id, job_id, run, kind, executor, event_domain, priority, attempts, attempts_max, payload_classification, payload,
        source_ref, target_ref, payload_ref, idempotency_key, affinity_key, correlation_id, parent_job_id, workflow_id, run_id, source_system, actor, job_created_at,
        final_error, error_code, error_class, fingerprint, moved_at, moved_by)
      select gen_random_uuid(), p.tenant_id, p.job_id, p.run, j.kind, j.executor, j.event_domain, j.priority, greatest(p.spent, 0), j.attempts_max, j.payload_classification, j.payload,
             j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key, j.affinity_key, j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id, j.source_system,
             j.enqueued_by, j.created_at, t.final_error, t.code, p.error_class, tenure.error_fingerprint(j.kind, t.code, t.final_error), p_now, p_actor
        from placed p
        cross join lateral (
          select j.kind, j.executor, j.event_domain, j.priority, j.attempts_max, j.payload_classification, j.payload, j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key,
                 j.affinity_key, j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id, j.source_system, j.enqueued_by, j.created_at
            from tenure.jobs j where j.job_id = p.job_id limit 1) j
        cross join lateral (select case
          when p.error_message ~ $r$\S$r$ then p.error_message
          when p.cancel_reason ~ $r$\S$r$ then p.cancel_reason
          when p.never_started then 'The lease ran out before the job started, too often.'
          when p.verdict = 'expired' then 'The lease ran out: the worker died or lost its connection.'
          when p.verdict = 'timed_out' then 'The run took longer than its kind allows.'
          when p.verdict = 'renewals_exceeded' then 'The lease was renewed more often than the kind allows.'
          when p.error_code ~ $r$\S$r$ then p.error_code
          else p.verdict end as final_error, coalesce(p.error_code, case when p.is_lost then 'stale_timeout' end, p.verdict) as code) t
       where p.becomes = 'dead_letter'
    ), told as (
      insert into tenure.events (at, tenant_id, lane, kind, actor, on_behalf_of, job_ids, runs)
      select p_now, p.tenant_id, p.lane, m.kind, p_actor, nullif(p_on_behalf_of, ''), array_agg(p.job_id order by p.job_id), array_agg(p.run order by p.job_id)
        from placed p
        cross join lateral (
          select 'job.' || p.verdict where p.verdict in ('succeeded', 'cancelled', 'snoozed', 'released', 'expired', 'timed_out')
          union all select 'job.failed' where p.verdict in ('failed', 'failed_permanently', 'expired', 'timed_out', 'renewals_exceeded') or (p.verdict = 'released' and p.is_lost)
          union all select 'job.retry_scheduled' where p.becomes = 'retry_waiting' and p.verdict <> 'snoozed'
          union all select 'job.dead_lettered' where p.becomes = 'dead_letter') m (kind)
       group by p.tenant_id, p.lane, m.kind
       order by array_position(array['job.expired', 'job.timed_out', 'job.failed'], m.kind) nulls last
    )
    select p.job_id, p.becomes, p.comes_due from placed p;
  perform tenure.ends_follow(p_now, p_actor, array(select e.lane from unnest(p_ends) e), array(select e.job_id from unnest(p_ends) e));
end
$$;

-- What else hangs on the end of jobs, in its transaction: the slot or the step that a job ran for. Jobs of neither pay one look at their lanes.
create or replace function tenure.ends_follow(p_now timestamptz, p_actor text, p_lanes integer[], p_job_ids uuid[]) returns void
language plpgsql
as $$
declare
  v_planned boolean;
  v_stepped boolean;
begin
  select bool_or(l.planned), bool_or(l.stepped) into v_planned, v_stepped from tenure.lanes l where l.lane = any (p_lanes) and (l.planned or l.stepped);
  if v_planned then
    perform tenure.slots_end(p_now, p_actor, p_job_ids);
  end if;
  if v_stepped then
    perform tenure.steps_end(p_now, p_actor, p_job_ids);
  end if;
end
$$;

-- The delay before the next attempt: base x 2^min(attempt-1, 10) plus bounded jitter, in whole milliseconds, at most seven days.
-- The same vectors bind this and crates/core/src/backoff.rs.
create or replace function tenure.backoff_seconds(p_base integer, p_attempt integer, p_jitter_percent integer, p_fraction double precision default random()) returns double precision
language sql volatile parallel safe
as $$
  select least(floor(d.delay * 1000 * (1 + least(greatest(p_fraction, 0), 1) * p_jitter_percent / 100.0)) / 1000, 604800)
    from (select least(greatest(p_base, 0)::double precision * (1 << least(greatest(p_attempt, 1) - 1, 10)), 604800) as delay) d
$$;

-- Groups errors that differ only in numbers, ids and quoted values.
create or replace function tenure.error_fingerprint(p_kind text, p_code text, p_message text) returns text
language sql immutable parallel safe
as $$
  select left(md5(p_kind || E'\n' || coalesce(p_code, '') || E'\n' ||
    regexp_replace(regexp_replace(regexp_replace(lower(p_message), '[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+', '#', 'g'), '''[^'']*''|"[^"]*"', '?', 'g'), '[0-9]+', '#', 'g')), 16)
$$;

-- Ends runs the caller still holds. Outcomes: succeeded, failed, failed_permanently, cancelled (acknowledges a cancel request), snoozed, released.
-- Each row answers for itself: 'ended' with the new state; 'already_ended' with the recorded one; 'stale_lease' or 'lease_expired' and untouched: the worker
-- must drop that result, another attempt owns it; or what is wrong with that row ('result_too_large', 'cancel_not_requested', 'not_started', 'outcome_unknown').
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
  v_done   uuid[];
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  v_done := tenure.runs_succeed(v_caller, v_tuning, v_now, p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_delay_seconds);
  return query
    select e.job_id, e.status, e.state, e.next_due
      from tenure.runs_end(v_caller, v_tuning, v_now, 'all', p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_error_codes,
             p_error_classes, p_error_messages, p_delay_seconds, v_done) e;
end
$$;

-- What nearly every batch of ends is: successes without a result, all of one claim from one lane. No row needs to be told apart from another, so nothing is joined.
-- Answers with the jobs it ended, or null when the batch is anything else and nothing was done. What it did not end is for tenure.runs_end.
create or replace function tenure.runs_succeed(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[],
  p_delay_seconds integer[]) returns uuid[]
language plpgsql
as $$
declare
  v_token uuid := p_tokens[1];
  v_lease record;
  v_gone  record;
begin
  if p_results is not null or p_result_refs is not null or p_delay_seconds is not null or (v_token = all (p_tokens) and 'succeeded' = all (p_outcomes)) is not true
     or cardinality(p_job_ids) <> cardinality(p_tokens) or cardinality(p_job_ids) <> cardinality(p_outcomes) or cardinality(p_job_ids) > tenure.limit_of('batch_rows_max') then
    return null;
  end if;
  select min(l.lane) as lane, count(*) as lanes, min(l.owner) as owner, min(l.principal) as principal, min(l.leased_at) as leased_at
    into v_lease
    from tenure.leases l where l.token = v_token and l.until > p_now and l.tenant_id = p_caller.tenant_id;
  if v_lease.lanes <> 1 then
    return null;
  end if;
  with gone as (
    delete from tenure.active a where a.job_id = any (p_job_ids) and a.token = v_token and a.lane = v_lease.lane
    returning a.job_id, a.run, a.attempt, a.started_at, a.limited
  ), kept as (
    insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, token, owner, holder, leased_at, started_at, ended_at, actor)
    select g.job_id, g.run, p_caller.tenant_id, v_lease.lane, g.attempt, 'succeeded', 'succeeded', true, v_token, v_lease.owner, v_lease.principal, v_lease.leased_at, g.started_at,
           greatest(p_now, g.started_at), p_caller.principal
      from gone g
  ), batch as materialized (
    select array_agg(g.job_id) as job_ids, array_agg(g.run) as runs, count(*)::integer as ended, bool_or(g.limited) as limited from gone g
  ), told as (
    insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, job_count)
    select (select i.epoch from tenure.installation i), p_now, p_caller.tenant_id, v_lease.lane, 'job.succeeded', p_caller.principal, b.job_ids, b.runs, b.ended from batch b where b.ended > 0
  )
  select b.job_ids, b.ended, b.limited into v_gone from batch b;
  if v_gone.ended > 0 then
    perform tenure.lease_count_down(array[v_token], array[v_lease.lane], array[v_gone.ended]);
    perform tenure.ends_follow(p_now, p_caller.principal, array[v_lease.lane], v_gone.job_ids);
  end if;
  -- A slot of a limited kind is free: whoever waits for one may not have seen it.
  if v_gone.limited and p_tuning.notify_open then
    perform tenure.lane_wake(array[v_lease.lane], p_now);
  end if;
  return v_gone.job_ids;
end
$$;

-- The work of job_end_many and of the first half of a turn. p_answers: 'all', or 'exceptions' to leave out the rows that simply succeeded. p_done: what
-- tenure.runs_succeed ended before, or null.
-- One delete takes the runs out, in the order of their ids, each guarded by its token and a living lease. What it returns is the newest form of each row (a cancel
-- request may have come while it waited), and every decision is made from that. The statistics of a table that is empty one moment and full the next lie: the
-- rows are found by their ids alone, and what belongs to them is hashed.
create or replace function tenure.runs_end(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_answers text, p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[],
  p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[], p_done uuid[])
returns table (job_id uuid, status text, state text, next_due timestamptz, token uuid)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_nestloop = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_tenant  integer := p_caller.tenant_id;
  v_rows    integer := coalesce(cardinality(p_job_ids), 0);
  v_cancels text[] := '{}';
  v_snoozes text[] := '{}';
  v_mixed   boolean := 'succeeded' <> any (p_outcomes);
  v_gone    record;
begin
  if v_rows > tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch ends %s runs.', v_rows), format('A batch has at most %s (batch_rows_max).', tenure.limit_of('batch_rows_max')), 'Split it.');
  end if;
  if v_rows <> coalesce(cardinality(p_tokens), 0) or v_rows <> coalesce(cardinality(p_outcomes), 0)
     or v_rows <> any (array[coalesce(cardinality(p_results), v_rows), coalesce(cardinality(p_result_refs), v_rows), coalesce(cardinality(p_error_codes), v_rows),
       coalesce(cardinality(p_error_classes), v_rows), coalesce(cardinality(p_error_messages), v_rows), coalesce(cardinality(p_delay_seconds), v_rows)]) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in length.', format('Each runs parallel to the %s job ids.', v_rows),
      'Give arrays of one length; leave an optional array out where no job has the value.');
  end if;
  if v_rows = 0 then
    return;
  end if;
  if cardinality(p_done) = v_rows then
    if p_answers = 'all' then
      return query
        select d.id, 'ended'::text, 'succeeded'::text, null::timestamptz, d.token
          from unnest(p_job_ids, p_tokens) d (id, token);
    end if;
    return;
  end if;
  if 'cancelled' = any (p_outcomes) then
    v_cancels := array(select t.job_id::text || t.token from unnest(p_job_ids, p_tokens, p_outcomes) t (job_id, token, outcome) where t.outcome = 'cancelled');
  end if;
  if 'snoozed' = any (p_outcomes) then
    v_snoozes := array(select t.job_id::text || t.token from unnest(p_job_ids, p_tokens, p_outcomes) t (job_id, token, outcome) where t.outcome = 'snoozed');
  end if;

  with living as materialized (
    select l.token, l.lane, l.owner, l.principal, l.leased_at from tenure.leases l
     where l.token = any (array(select distinct t from unnest(p_tokens) t)) and l.until > p_now and l.tenant_id = v_tenant
  ), asked as not materialized (
    -- The same end told twice counts once.
    select distinct on (t.job_id, t.token) t.job_id, t.token, t.outcome, t.result, t.result_ref, t.error_code, t.error_class, t.error_message, t.delay_seconds
      from unnest(p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_error_codes, p_error_classes, p_error_messages, p_delay_seconds) with ordinality
             t (job_id, token, outcome, result, result_ref, error_code, error_class, error_message, delay_seconds, n)
     where tenure.end_fault(t.outcome, t.result, t.result_ref, t.delay_seconds) is null
     order by t.job_id, t.token, t.n
  ), gone as (
    -- "not (… not in …)": a hashed look-up a row. Written as a join it could be planned with the roles reversed.
    delete from tenure.active a
     where a.job_id = any (p_job_ids)
       and not ((a.job_id, a.token) not in (
         select t.job_id, t.token from unnest(p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_delay_seconds) t (job_id, token, outcome, result, result_ref, delay_seconds)
          where t.job_id is not null and t.token is not null and tenure.end_fault(t.outcome, t.result, t.result_ref, t.delay_seconds) is null))
       and not ((a.token, a.lane) not in (select l.token, l.lane from living l))
       and (a.cancel_requested_at is not null or a.job_id::text || a.token <> all (v_cancels))
       and (a.started_at is not null or a.job_id::text || a.token <> all (v_snoozes))
    returning a.job_id, a.token, a.lane, a.run, a.attempt, a.due, a.started_at, a.cancel_requested_at, a.cancel_by, a.cancel_reason, a.limited
  ), kept as (
    insert into tenure.attempts as r (job_id, run, tenant_id, lane, attempt, outcome, state, final, token, owner, holder, leased_at, started_at, ended_at, actor, result, result_ref)
    select g.job_id, g.run, v_tenant, g.lane, g.attempt, 'succeeded', 'succeeded', true, g.token, l.owner, l.principal, l.leased_at, g.started_at,
           greatest(p_now, g.started_at), p_caller.principal, k.result, k.result_ref
      from gone g
      join living l on l.token = g.token and l.lane = g.lane
      join asked k on k.job_id = g.job_id and k.token = g.token
     where k.outcome = 'succeeded'
    returning r.job_id, r.run, r.lane, r.token
  ), done as materialized (
    select k.lane, array_agg(k.job_id) as job_ids, array_agg(k.run) as runs, array_agg(k.token) as tokens
      from kept k group by k.lane
  ), told as (
    insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, job_count)
    select (select i.epoch from tenure.installation i), p_now, v_tenant, d.lane, 'job.succeeded', p_caller.principal, d.job_ids, d.runs, cardinality(d.job_ids) from done d
  ), rest as (
    select array_agg((g.job_id, v_tenant, g.lane, g.run, g.attempt, g.token, l.owner, l.leased_at, g.started_at, g.due, g.cancel_requested_at, g.cancel_by,
             g.cancel_reason, k.outcome, k.error_code, k.error_class, k.error_message, k.delay_seconds, k.result, k.result_ref, l.principal)::tenure.run_end) as ends
      from gone g
      join living l on l.token = g.token and l.lane = g.lane
      join asked k on k.job_id = g.job_id and k.token = g.token
     where v_mixed and k.outcome <> 'succeeded'
  ), counted as (
    select g.token, g.lane, count(*)::integer as ended, bool_or(g.limited) as limited from gone g group by g.token, g.lane
  )
  select (select p_done || coalesce(array_agg(i.id), '{}') from done d cross join lateral unnest(d.job_ids) i (id)) as done,
         -- In the same order, the token of each: a job may be named with another token beside its own.
         (select array_fill(p_tokens[1], array[coalesce(cardinality(p_done), 0)])
                   || coalesce(array_agg(i.token), '{}')
            from done d cross join lateral unnest(d.tokens) i (token)) as done_tokens,
         (select coalesce(sum(cardinality(d.job_ids)), 0) from done d) as succeeded,
         (select r.ends from rest r) as rest,
         array_agg(c.token) as tokens, array_agg(c.lane) as lanes, array_agg(c.ended) as ended, array_agg(c.lane) filter (where c.limited) as freed
    into v_gone
    from counted c;
  if v_gone.tokens is not null then
    perform tenure.lease_count_down(v_gone.tokens, v_gone.lanes, v_gone.ended);
    if v_gone.succeeded > 0 then
      perform tenure.ends_follow(p_now, p_caller.principal, v_gone.lanes, v_gone.done);
    end if;
  end if;
  -- A slot of a limited kind is free: whoever waits for one may not have seen it.
  if v_gone.freed is not null and p_tuning.notify_open then
    perform tenure.lane_wake(v_gone.freed, p_now);
  end if;

  if v_gone.succeeded = v_rows then
    if p_answers = 'all' then
      return query
        select d.id, 'ended'::text, 'succeeded'::text, null::timestamptz, d.token
          from unnest(p_job_ids, p_tokens) d (id, token);
    end if;
    return;
  end if;

  return query
    with settled as materialized (
      select s.job_id, e.token, s.state, s.next_due
        from tenure.job_settle(p_now, p_caller.principal, null, v_gone.rest) s
        join unnest(v_gone.rest) e on e.job_id = s.job_id
    ), answers as (
      select t.job_id, t.token, t.n,
             case
               when d.job_id is not null or s.job_id is not null then 'ended'
               when e.job_id is not null then 'already_ended'
               when tenure.end_fault(t.outcome, t.result, t.result_ref, t.delay_seconds) is not null then tenure.end_fault(t.outcome, t.result, t.result_ref, t.delay_seconds)
               when a.job_id is null then 'stale_lease'
               when l.token is null or l.until <= p_now then 'lease_expired'
               when t.outcome = 'cancelled' and a.cancel_requested_at is null then 'cancel_not_requested'
               when t.outcome = 'snoozed' and a.started_at is null then 'not_started'
               else 'stale_lease'
             end as status,
             case when d.job_id is not null then 'succeeded' else coalesce(s.state, e.state) end as state,
             coalesce(s.next_due, e.next_due) as next_due
        from unnest(p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_delay_seconds) with ordinality t (job_id, token, outcome, result, result_ref, delay_seconds, n)
        left join unnest(v_gone.done, v_gone.done_tokens) d (job_id, token)
          on d.job_id = t.job_id and d.token = t.token
        left join settled s on s.job_id = t.job_id and s.token = t.token
        -- What the holder itself said before. A run that the reaper or an operator took away is not ended by it: that lease was lost.
        left join lateral (
          select e.job_id, e.state, e.next_due from tenure.attempts e
           where e.job_id = t.job_id and e.token = t.token and e.tenant_id = v_tenant
             and (e.outcome in ('succeeded', 'failed', 'failed_permanently', 'snoozed', 'released') or (e.outcome = 'cancelled' and t.outcome <> 'succeeded'))
           limit 1) e on true
        left join lateral (
          select a.job_id, a.token, a.lane, a.cancel_requested_at, a.started_at from tenure.active a
           where a.job_id = t.job_id and a.token = t.token and exists (select from tenure.lanes n where n.lane = a.lane and n.tenant_id = v_tenant) limit 1) a on true
        left join lateral (select l.token, l.until from tenure.leases l where l.token = a.token and l.lane = a.lane and l.tenant_id = v_tenant limit 1) l on true
       where p_answers = 'all' or d.job_id is null
    )
    select r.job_id, r.status, r.state, r.next_due, r.token from answers r order by r.n;
end
$$;

-- What is wrong with one row of an end, or null. It never fails the batch.
create or replace function tenure.end_fault(p_outcome text, p_result jsonb, p_result_ref text, p_delay_seconds integer) returns text
language sql immutable parallel safe
as $$
  select case
    when p_outcome is null or p_outcome not in ('succeeded', 'failed', 'failed_permanently', 'cancelled', 'snoozed', 'released') then 'outcome_unknown'
    -- First without writing out its numbers: one of nine bytes may take 128 KB.
    when p_result is not null and (tenure.has_long_number(p_result)
      or octet_length(p_result::text) > tenure.limit_of('result_bytes_max')
      or tenure.is_unreadable(p_result)) then 'result_too_large'
    when length(p_result_ref) > tenure.limit_of('ref_chars_max') then 'result_too_large'
    when p_delay_seconds is not null and p_delay_seconds not between 0 and tenure.limit_of('schedule_ahead_days_max') * 86400 then 'delay_out_of_range'
    when p_outcome = 'snoozed' and p_delay_seconds is null then 'delay_out_of_range'
  end
$$;

-- Ends one run, or refuses. The forms below are for people at a prompt and for shell scripts.
create or replace function tenure.job_end_one(
  p_job_id uuid, p_token uuid, p_outcome text, p_result jsonb default null, p_result_ref text default null, p_error_code text default null,
  p_error_class text default null, p_error_message text default null, p_delay_seconds integer default null) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_end record;
begin
  select e.* into v_end
    from tenure.job_end_many(array[p_job_id], array[p_token], array[p_outcome], array[p_result], array[p_result_ref], array[p_error_code], array[p_error_class],
      array[p_error_message], array[p_delay_seconds]) e;
  case v_end.status
    when 'ended' then null;
    when 'already_ended' then null;
    when 'stale_lease' then
      perform tenure.refuse('stale_lease', format('This token does not hold job %s.', p_job_id), 'The lease was lost, or the job never was under it: another attempt may own it.',
        format('Drop the result. See tenure.job_show(%L).', p_job_id));
    when 'lease_expired' then
      perform tenure.refuse('lease_expired', format('The lease on job %s has run out.', p_job_id), 'Nobody renewed it in time; the reaper will give the job to someone else.',
        'Drop the result, and beat more often or ask for a longer lease.');
    when 'cancel_not_requested' then
      perform tenure.refuse('cancel_not_requested', format('Nobody asked to cancel job %s.', p_job_id), 'A worker acknowledges a cancel request; it cannot cancel by itself.',
        'Fail, release or complete the job.');
    when 'not_started' then
      perform tenure.refuse('state_conflict', format('Job %s is leased and was not started.', p_job_id), 'Snooze puts aside work in progress.', 'Start it first, or release it.');
    when 'result_too_large' then
      perform tenure.refuse('result_too_large', format('The result of job %s is too large.', p_job_id),
        format('A result has at most %s bytes and %s levels of objects and lists, and no name that begins '
          'with $serde_json::private::; its reference has at most %s characters.',
          tenure.limit_of('result_bytes_max'), tenure.limit_of('payload_depth_max'),
          tenure.limit_of('ref_chars_max')),
        'Store it elsewhere and pass a reference.');
    when 'delay_out_of_range' then
      perform tenure.refuse('number_out_of_range', format('The delay of job %s is %s seconds.', p_job_id, coalesce(p_delay_seconds::text, 'missing')),
        format('It must lie between 0 and %s.', tenure.limit_of('schedule_ahead_days_max') * 86400), 'Give a delay within these bounds.');
    else
      perform tenure.refuse('value_unknown', format('The outcome %L is not known.', p_outcome),
        'It is one of: succeeded, failed, failed_permanently, cancelled, snoozed, released.', 'Use one of these.');
  end case;
  return jsonb_build_object('job_id', p_job_id, 'status', v_end.status, 'state', v_end.state, 'next_due', v_end.next_due);
end
$$;

create or replace function tenure.job_complete(p_job_id uuid, p_token uuid, p_result jsonb default null, p_result_ref text default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.job_end_one(p_job_id, p_token, 'succeeded', p_result, p_result_ref) $$;

-- p_permanence: 'transient' retries while attempts are left; 'permanent' gives up at once. p_retry_seconds replaces the backoff.
create or replace function tenure.job_fail(
  p_job_id uuid, p_token uuid, p_message text, p_permanence text default 'transient', p_code text default null, p_class text default null, p_retry_seconds integer default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  select tenure.job_end_one(p_job_id, p_token, case p_permanence when 'transient' then 'failed' when 'permanent' then 'failed_permanently' else p_permanence end,
    null, null, p_code, p_class, p_message, p_retry_seconds)
$$;

create or replace function tenure.job_snooze(p_job_id uuid, p_token uuid, p_seconds integer) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.job_end_one(p_job_id, p_token, 'snoozed', null, null, null, null, null, p_seconds) $$;

create or replace function tenure.job_release(p_job_id uuid, p_token uuid) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.job_end_one(p_job_id, p_token, 'released') $$;

create or replace function tenure.job_acknowledge_cancel(p_job_id uuid, p_token uuid) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.job_end_one(p_job_id, p_token, 'cancelled') $$;
