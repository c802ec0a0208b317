-- What follows from the end of a run: the next state of the job, its backoff, its dead letter and the events.

-- Decides what becomes of runs whose rows the caller has just deleted from active, ready or delayed (p_ends
-- is what the delete returned), and writes it: the record of the run, the next place of the job or its dead
-- letter, and the events. These decisions are made nowhere else. Then it goes on to their slots and steps.
create or replace function tenure.job_settle(
  p_now timestamptz, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[])
returns table (job_id uuid, state text, next_due timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
-- pinned order: see sql/README.md
set enable_seqscan = off
as $$
declare
  v_rulings tenure.run_ruling[] := tenure.runs_settle(p_now, p_actor, p_on_behalf_of, p_ends);
begin
  if v_rulings is null then
    return;
  end if;
  return query select r.job_id, r.state, r.next_due from unnest(v_rulings) r;
  perform tenure.ends_follow(p_now, p_actor,
    array(select e.lane from unnest(p_ends) e),
    array(select e.job_id from unnest(p_ends) e));
end
$$;

-- Decides and writes, and leaves slots and steps to the caller. Answers what was decided, or null when there
-- are no ends.
create or replace function tenure.runs_settle(
  p_now timestamptz, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[])
returns tenure.run_ruling[]
language plpgsql
as $$
declare
  v_rulings tenure.run_ruling[];
begin
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_rulings := tenure.runs_rule(p_now, p_ends);
  if v_rulings is null then
    return null;
  end if;
  perform tenure.rulings_write(p_now, p_actor, nullif(p_on_behalf_of, ''), v_rulings);
  if exists (select from unnest(v_rulings) r where r.state = 'dead_letter') then
    perform tenure.dead_letters_write(p_now, p_actor, v_rulings);
  end if;
  return v_rulings;
end
$$;

-- Decides what becomes of ended runs; null when there are none.
create or replace function tenure.runs_rule(p_now timestamptz, p_ends tenure.run_end[])
returns tenure.run_ruling[]
language plpgsql
as $$
begin
  return (
    with ended as materialized (
      select e.job_id, e.tenant_id, e.lane, e.run, e.attempt, e.token, e.owner, e.holder, e.leased_at,
             e.started_at, e.due,
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
             e.delay_seconds, e.result, e.result_ref, e.cancel_reason,
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
             end as outcome,
             tenure.attempts_spent(e.outcome, e.started_at, e.attempt) as spent,
             e.outcome = 'expired' and e.started_at is null as never_started
        from unnest(p_ends) e
        cross join lateral (select j.* from tenure.jobs j where j.job_id = e.job_id limit 1) j
    ), ruled as materialized (
      select d.*,
             case
               when d.outcome = 'succeeded' then 'succeeded'
               when d.outcome = 'cancelled' then 'cancelled'
               when d.outcome in ('moved', 'deadline_passed', 'renewals_exceeded') then 'dead_letter'
               when d.outcome = 'released' and not d.is_lost then 'queued'
               when d.outcome = 'snoozed' then 'retry_waiting'
               when d.never_started
                 and 1 + (
                   select count(*)
                     from tenure.attempts a
                    where a.job_id = d.job_id
                      and a.outcome = 'expired'
                      and a.started_at is null) < 2 * d.attempts_max then 'retry_waiting'
               when d.never_started then 'dead_letter'
               when d.outcome = 'failed_permanently' or d.is_lost or d.spent >= d.attempts_max then
                 case d.on_exhausted when 'fail' then 'failed' else 'dead_letter' end
               else 'retry_waiting'
             end as state
        from ended d
    )
    select array_agg((
             r.job_id, r.tenant_id, r.lane, r.run, r.attempt, r.token, r.owner, r.holder, r.leased_at,
             r.started_at, r.error_code, r.error_class, r.error_message, r.result, r.result_ref,
             r.cancel_reason, r.outcome, r.state,
             case
               when r.state = 'queued' then r.due
               when r.state <> 'retry_waiting' then null
               when r.delay_seconds is not null then p_now + make_interval(secs => r.delay_seconds)
               when r.never_started then p_now
               else p_now + make_interval(secs => tenure.backoff_seconds(
                 r.backoff_base_seconds, r.spent, r.backoff_jitter_percent))
             end,
             greatest(r.spent, 0), r.is_lost, r.never_started, r.priority, r.executor,
             r.deadline_at)::tenure.run_ruling)
      from ruled r);
end
$$;

-- Writes what was decided: the record of each run, the next place of the jobs that go on, and the events.
create or replace function tenure.rulings_write(
  p_now timestamptz, p_actor text, p_on_behalf_of text, p_rulings tenure.run_ruling[]) returns void
language plpgsql
as $$
begin
  with ruled as materialized (
    select r.* from unnest(p_rulings) r
  ), kept as (
    insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, token, owner,
      holder, leased_at, started_at, ended_at, next_due, actor, reason, error_code, error_class,
      error_message, result, result_ref)
    select r.job_id, r.run, r.tenant_id, r.lane, greatest(r.attempt, 0), r.outcome, r.state,
           r.state in ('succeeded', 'failed', 'cancelled', 'dead_letter'),
           r.token, r.owner, r.holder, r.leased_at, r.started_at, greatest(p_now, r.started_at),
           r.next_due, p_actor, r.cancel_reason,
           coalesce(r.error_code, case
             when r.never_started and r.state = 'dead_letter' then 'never_started'
             when r.is_lost then 'stale_timeout'
             when r.outcome in ('expired', 'timed_out', 'renewals_exceeded') then r.outcome
           end),
           r.error_class, r.error_message, r.result, r.result_ref
      from ruled r
  ), put_ready as (
    insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
    select r.lane, -r.priority, r.next_due, r.job_id, r.state, r.run, r.spent, r.deadline_at
      from ruled r
     where r.next_due <= p_now
  ), put_delayed as (
    insert into tenure.delayed (tenant_id, lane, due, job_id, rank, state, run, attempts, deadline)
    select r.tenant_id, r.lane, r.next_due, r.job_id, -r.priority, r.state, r.run, r.spent, r.deadline_at
      from ruled r
     where r.next_due > p_now
  ), marked as (
    -- The caller's delete has given this transaction its number: see ready_marks.sql.
    insert into tenure.ready_marks (tenant_id, executor, rank, lane)
    select distinct r.tenant_id, r.executor, -r.priority, r.lane
      from ruled r
     where r.next_due <= p_now
       and (current_setting('transaction_isolation') <> 'read committed'
            or not exists (
              select from tenure.ready_marks m
               where m.tenant_id = r.tenant_id
                 and m.executor = r.executor
                 and m.rank = -r.priority
                 and m.lane = r.lane
                 and m.retired_in is null))
  )
  insert into tenure.events (at, tenant_id, lane, kind, actor, on_behalf_of, job_ids, runs)
  select p_now, r.tenant_id, r.lane, m.kind, p_actor, p_on_behalf_of,
         array_agg(r.job_id order by r.job_id), array_agg(r.run order by r.job_id)
    from ruled r
    cross join lateral (
      select 'job.' || r.outcome
       where r.outcome in ('succeeded', 'cancelled', 'snoozed', 'released', 'expired', 'timed_out')
      union all
      select 'job.failed'
       where r.outcome in ('failed', 'failed_permanently', 'expired', 'timed_out', 'renewals_exceeded')
          or (r.outcome = 'released' and r.is_lost)
      union all
      select 'job.retry_scheduled'
       where r.state = 'retry_waiting' and r.outcome <> 'snoozed'
      union all
      select 'job.dead_lettered'
       where r.state = 'dead_letter') m (kind)
   group by r.tenant_id, r.lane, m.kind
   order by array_position(array['job.expired', 'job.timed_out', 'job.failed'], m.kind) nulls last;
end
$$;

-- Writes the dead letter of each job that goes there: the job as it was, and its last error.
create or replace function tenure.dead_letters_write(
  p_now timestamptz, p_actor text, p_rulings tenure.run_ruling[]) returns void
language plpgsql
as $$
begin
  insert into tenure.dead_letters (dead_letter_id, tenant_id, job_id, run, kind, executor, event_domain,
    priority, attempts, attempts_max, payload_classification, payload, source_ref, target_ref,
    payload_ref, idempotency_key, affinity_key, correlation_id, parent_job_id, workflow_id, run_id,
    source_system, actor, job_created_at, final_error, error_code, error_class, fingerprint, moved_at,
    moved_by)
  select gen_random_uuid(), r.tenant_id, r.job_id, r.run, j.kind, j.executor, j.event_domain,
         j.priority, r.spent, j.attempts_max, j.payload_classification, j.payload,
         j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key, j.affinity_key, j.correlation_id,
         j.parent_job_id, j.workflow_id, j.run_id, j.source_system, j.enqueued_by, j.created_at,
         t.final_error, t.code, r.error_class,
         tenure.error_fingerprint(j.kind, t.code, t.final_error), p_now, p_actor
    from unnest(p_rulings) r
    cross join lateral (select j.* from tenure.jobs j where j.job_id = r.job_id limit 1) j
    cross join lateral (
      select case
               when r.error_message ~ $r$\S$r$ then r.error_message
               when r.cancel_reason ~ $r$\S$r$ then r.cancel_reason
               when r.never_started then 'The lease ran out before the job started, too often.'
               when r.outcome = 'expired' then 'The lease ran out: the worker died or lost its connection.'
               when r.outcome = 'timed_out' then 'The run took longer than its kind allows.'
               when r.outcome = 'renewals_exceeded' then
                 'The lease was renewed more often than the kind allows.'
               when r.error_code ~ $r$\S$r$ then r.error_code
               else r.outcome
             end as final_error,
             coalesce(r.error_code, case when r.is_lost then 'stale_timeout' end, r.outcome) as code) t
   where r.state = 'dead_letter';
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
    perform tenure.step_ends_follow(p_now, p_actor, p_job_ids);
  end if;
end
$$;

-- The delay before the next attempt: base x 2^min(attempt-1, 10) plus bounded jitter, in whole milliseconds,
-- at most backoff_seconds_max. The same test vectors bind this function and crates/core/src/backoff.rs.
create or replace function tenure.backoff_seconds(
  p_base integer, p_attempt integer, p_jitter_percent integer, p_fraction double precision default random())
returns double precision
language sql volatile parallel safe
as $$
  select least(
           floor(d.delay * 1000 * (1 + least(greatest(p_fraction, 0), 1) * p_jitter_percent / 100.0)) / 1000,
           tenure.limit_of('backoff_seconds_max'))
    from (
      select least(
               greatest(p_base, 0)::double precision * (1 << least(greatest(p_attempt, 1) - 1, 10)),
               tenure.limit_of('backoff_seconds_max')) as delay) d
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
