-- What follows from the end of a run: the next state of the job, its backoff, its dead letter and the events.

-- Decides what becomes of runs whose rows the caller has just deleted from active, ready or delayed (p_ends
-- is what the delete returned), and writes it: the record of the run, the next place of the job or its dead
-- letter, and the events. These decisions are made nowhere else.
create or replace function tenure.job_settle(
  p_now timestamptz, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[])
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
      select e.job_id, e.tenant_id, e.lane, e.run, e.attempt, e.token, e.owner, e.holder, e.leased_at,
             e.started_at, e.due, e.outcome,
             left(e.error_code, tenure.limit_of('name_chars_max')::integer) as error_code,
             coalesce(
               left(e.error_class, tenure.limit_of('name_chars_max')::integer),
               case
                 when e.outcome = 'released' and e.cancel_requested_at is not null
                   and e.started_at is not null then 'lease'
               end) as error_class,
             tenure.cut_text(
               tenure.mask_text(e.error_message),
               tenure.limit_of('error_message_bytes_max')::integer) as error_message,
             e.delay_seconds, e.result, e.result_ref, e.cancel_reason, e.cancel_requested_at,
             j.priority, j.deadline_at, j.attempts_max, j.on_exhausted, j.backoff_base_seconds,
             j.backoff_jitter_percent, j.executor,
             -- It is unknown how far the run came, and the job may not run twice.
             coalesce(j.on_lost, '') = 'fail'
               and e.outcome in ('expired', 'timed_out', 'released')
               and e.started_at is not null as is_lost,
             -- Only the handler's own success or an operator's decision overrides a cancel request.
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
               when d.never_started
                 and 1 + (
                   select count(*)
                     from tenure.attempts a
                    where a.job_id = d.job_id
                      and a.outcome = 'expired'
                      and a.started_at is null) < 2 * d.attempts_max then 'retry_waiting'
               when d.never_started then 'dead_letter'
               when d.verdict = 'failed_permanently' or d.is_lost or d.spent >= d.attempts_max then
                 case d.on_exhausted when 'fail' then 'failed' else 'dead_letter' end
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
               else p_now + make_interval(secs => tenure.backoff_seconds(
                 r.backoff_base_seconds, r.spent, r.backoff_jitter_percent))
             end as comes_due
        from ruled r
    ), kept as (
      insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, token, owner,
        holder, leased_at, started_at, ended_at, next_due, actor, reason, error_code, error_class,
        error_message, result, result_ref)
      select p.job_id, p.run, p.tenant_id, p.lane, greatest(p.attempt, 0), p.verdict, p.becomes,
             p.becomes in ('succeeded', 'failed', 'cancelled', 'dead_letter'),
             p.token, p.owner, p.holder, p.leased_at, p.started_at, greatest(p_now, p.started_at),
             p.comes_due, p_actor, p.cancel_reason,
             coalesce(p.error_code, case
               when p.never_started and p.becomes = 'dead_letter' then 'never_started'
               when p.is_lost then 'stale_timeout'
               when p.verdict in ('expired', 'timed_out', 'renewals_exceeded') then p.verdict
             end),
             p.error_class, p.error_message, p.result, p.result_ref
        from placed p
    ), put_ready as (
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      select p.lane, -p.priority, p.comes_due, p.job_id, p.becomes, p.run, greatest(p.spent, 0), p.deadline_at
        from placed p
       where p.comes_due <= p_now
    ), put_delayed as (
      insert into tenure.delayed (tenant_id, lane, due, job_id, rank, state, run, attempts, deadline)
      select p.tenant_id, p.lane, p.comes_due, p.job_id, -p.priority, p.becomes, p.run, greatest(p.spent, 0),
             p.deadline_at
        from placed p
       where p.comes_due > p_now
    ), marked as (
      -- The caller's delete has given this transaction its number: see ready_marks.sql.
      insert into tenure.ready_marks (tenant_id, executor, rank, lane)
      select distinct p.tenant_id, p.executor, -p.priority, p.lane
        from placed p
       where p.comes_due <= p_now
         and (current_setting('transaction_isolation') <> 'read committed'
              or not exists (
                select from tenure.ready_marks m
                 where m.tenant_id = p.tenant_id
                   and m.executor = p.executor
                   and m.rank = -p.priority
                   and m.lane = p.lane
                   and m.retired_in is null))
    ), buried as (
      insert into tenure.dead_letters (dead_letter_id, tenant_id, job_id, run, kind, executor, event_domain,
        priority, attempts, attempts_max, payload_classification, payload, source_ref, target_ref,
        payload_ref, idempotency_key, affinity_key, correlation_id, parent_job_id, workflow_id, run_id,
        source_system, actor, job_created_at, final_error, error_code, error_class, fingerprint, moved_at,
        moved_by)
      select gen_random_uuid(), p.tenant_id, p.job_id, p.run, j.kind, j.executor, j.event_domain,
             j.priority, greatest(p.spent, 0), j.attempts_max, j.payload_classification, j.payload,
             j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key, j.affinity_key, j.correlation_id,
             j.parent_job_id, j.workflow_id, j.run_id, j.source_system, j.enqueued_by, j.created_at,
             t.final_error, t.code, p.error_class,
             tenure.error_fingerprint(j.kind, t.code, t.final_error), p_now, p_actor
        from placed p
        cross join lateral (
          select j.kind, j.executor, j.event_domain, j.priority, j.attempts_max, j.payload_classification,
                 j.payload, j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key, j.affinity_key,
                 j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id, j.source_system, j.enqueued_by,
                 j.created_at
            from tenure.jobs j
           where j.job_id = p.job_id
           limit 1) j
        cross join lateral (
          select case
                   when p.error_message ~ $r$\S$r$ then p.error_message
                   when p.cancel_reason ~ $r$\S$r$ then p.cancel_reason
                   when p.never_started then 'The lease ran out before the job started, too often.'
                   when p.verdict = 'expired' then
                     'The lease ran out: the worker died or lost its connection.'
                   when p.verdict = 'timed_out' then 'The run took longer than its kind allows.'
                   when p.verdict = 'renewals_exceeded' then
                     'The lease was renewed more often than the kind allows.'
                   when p.error_code ~ $r$\S$r$ then p.error_code
                   else p.verdict
                 end as final_error,
                 coalesce(p.error_code, case when p.is_lost then 'stale_timeout' end, p.verdict) as code) t
       where p.becomes = 'dead_letter'
    ), told as (
      insert into tenure.events (at, tenant_id, lane, kind, actor, on_behalf_of, job_ids, runs)
      select p_now, p.tenant_id, p.lane, m.kind, p_actor, nullif(p_on_behalf_of, ''),
             array_agg(p.job_id order by p.job_id), array_agg(p.run order by p.job_id)
        from placed p
        cross join lateral (
          select 'job.' || p.verdict
           where p.verdict in ('succeeded', 'cancelled', 'snoozed', 'released', 'expired', 'timed_out')
          union all
          select 'job.failed'
           where p.verdict in ('failed', 'failed_permanently', 'expired', 'timed_out', 'renewals_exceeded')
              or (p.verdict = 'released' and p.is_lost)
          union all
          select 'job.retry_scheduled'
           where p.becomes = 'retry_waiting' and p.verdict <> 'snoozed'
          union all
          select 'job.dead_lettered'
           where p.becomes = 'dead_letter') m (kind)
       group by p.tenant_id, p.lane, m.kind
       order by array_position(array['job.expired', 'job.timed_out', 'job.failed'], m.kind) nulls last
    )
    select p.job_id, p.becomes, p.comes_due from placed p;
  perform tenure.ends_follow(p_now, p_actor,
    array(select e.lane from unnest(p_ends) e),
    array(select e.job_id from unnest(p_ends) e));
end
$$;

-- Updates the slots and steps that ended jobs ran for, in the transaction of the ends. Jobs of neither cost
-- one read of their lanes.
create or replace function tenure.ends_follow(
  p_now timestamptz, p_actor text, p_lanes integer[], p_job_ids uuid[]) returns void
language plpgsql
as $$
declare
  v_planned boolean;
  v_stepped boolean;
begin
  select bool_or(l.planned), bool_or(l.stepped)
    into v_planned, v_stepped
    from tenure.lanes l
   where l.lane = any (p_lanes)
     and (l.planned or l.stepped);
  if v_planned then
    perform tenure.slots_end(p_now, p_actor, p_job_ids);
  end if;
  if v_stepped then
    perform tenure.steps_end(p_now, p_actor, p_job_ids);
  end if;
end
$$;

-- The delay before the next attempt: base x 2^min(attempt-1, 10) plus bounded jitter, in whole milliseconds,
-- at most seven days. The same test vectors bind this function and crates/core/src/backoff.rs.
create or replace function tenure.backoff_seconds(
  p_base integer, p_attempt integer, p_jitter_percent integer, p_fraction double precision default random())
returns double precision
language sql volatile parallel safe
as $$
  select least(
           floor(d.delay * 1000 * (1 + least(greatest(p_fraction, 0), 1) * p_jitter_percent / 100.0)) / 1000,
           604800)
    from (
      select least(
               greatest(p_base, 0)::double precision * (1 << least(greatest(p_attempt, 1) - 1, 10)),
               604800) as delay) d
$$;

-- A hash that is equal for errors that differ only in numbers, ids and quoted values.
create or replace function tenure.error_fingerprint(p_kind text, p_code text, p_message text) returns text
language sql immutable parallel safe
as $$
  select left(md5(p_kind || E'\n' || coalesce(p_code, '') || E'\n' ||
    regexp_replace(
      regexp_replace(
        regexp_replace(lower(p_message), '[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+', '#', 'g'),
        '''[^'']*''|"[^"]*"', '?', 'g'),
      '[0-9]+', '#', 'g')), 16)
$$;
