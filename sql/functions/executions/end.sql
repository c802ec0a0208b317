-- Following up the ends of step jobs, in the transaction in which the job ends. What the ended steps lead to
-- is in advance.sql and finish.sql.
--
-- Lock order, here and in those files: a function that changes an execution locks its row. Rows are locked in
-- the order executions (by id), lock_targets (by name), and after that other executions only where that needs
-- no waiting. Functions that are called only by functions of these files have no settings of their own and
-- run under those of their callers: setting and resetting each costs time.
--
-- Join order, here and in those files: no statement leaves it to the planner. A plan is cached for the whole
-- session and may be made while the tables are empty, when reading all of a table is best. So each statement
-- goes from the rows that are named to the rows that belong to them (cross join lateral … offset 0), and
-- updates rows where it found them (ctid). That is safe because only the holder of the execution's row lock
-- moves them.

-- Locks executions, the targets of the steps of these jobs, and the targets of the steps that may follow.
-- Waits at most the lock timeout for another transaction; then it answers false and holds no lock.
create or replace function tenure.executions_lock_rows(p_ids uuid[], p_job_ids uuid[]) returns boolean
language plpgsql
set lock_timeout = '1s'
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_locks boolean;
begin
  -- An old snapshot shows neither which steps wait for a lock nor which locks are free by now.
  if current_setting('transaction_isolation') <> 'read committed' then
    return false;
  end if;
  perform
     from tenure.execution_states e
    where e.execution_id = any (p_ids)
    order by e.execution_id
      for no key update;
  select bool_or(e.takes_locks)
    into v_locks
    from tenure.executions e
   where e.execution_id = any (p_ids);
  if not v_locks then
    return true;
  end if;
  perform
    from (select distinct x.tenant_id, x.lock_target
            from (select p.tenant_id, p.lock_target
                    from (select s.execution_id, s.step_number
                            from tenure.step_states s
                           where s.job_id = any (p_job_ids)
                          offset 0) s
                    cross join lateral (
                      select p.tenant_id, p.lock_target
                        from tenure.steps p
                       where p.execution_id = s.execution_id and p.step_number = s.step_number
                      offset 0) p
                   where p.lock_target is not null
                  union all
                  -- From the ended steps to those that need them, never the other way round: the waiting
                  -- steps may be many.
                  select d.tenant_id, d.lock_target
                    from (select s.execution_id, s.step_number
                            from tenure.step_states s
                           where s.job_id = any (p_job_ids)
                          offset 0) s
                    cross join lateral (
                      select n.step_number
                        from tenure.step_needs n
                       where n.execution_id = s.execution_id and n.needs_number = s.step_number
                      offset 0) n
                    cross join lateral (
                      select d.tenant_id, d.lock_target
                        from tenure.steps d
                       where d.execution_id = s.execution_id and d.step_number = n.step_number
                      offset 0) d
                    cross join lateral (
                      select w.state
                        from tenure.step_states w
                       where w.execution_id = s.execution_id and w.step_number = n.step_number
                      offset 0) w
                   where d.lock_target is not null and w.state = 'waiting') x
           order by x.tenant_id, x.lock_target) w
    cross join lateral (
      select from tenure.lock_targets t
       where t.tenant_id = w.tenant_id and t.target = w.lock_target
         for no key update) t;
  return true;
exception when lock_not_available or deadlock_detected then
  return false;
end
$$;

-- Follows up the ends of step jobs, in the transaction of the end. Jobs without a step are ignored. Functions
-- that end jobs call it where lanes.stepped is true. When the executions cannot be locked, or the follow-up
-- fails, it leaves a follow-up for the tick.
create or replace function tenure.step_ends_follow(p_now timestamptz, p_actor text, p_job_ids uuid[])
returns void
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids  uuid[];
  v_jobs uuid[];
  v_what text;
begin
  select array_agg(distinct s.execution_id order by s.execution_id), array_agg(s.job_id)
    into v_ids, v_jobs
    from tenure.step_states s
   where s.job_id = any (p_job_ids) and s.state = 'running';
  if v_ids is null then
    return;
  end if;
  if tenure.executions_lock_rows(v_ids, v_jobs) then
    v_what := tenure.step_ends_try(p_now, p_actor, v_jobs);
    if v_what is null then
      return;
    end if;
  end if;
  perform tenure.step_ends_note(p_now, v_jobs, v_what);
end
$$;

-- Writes the ends of these jobs to their steps and advances the executions, and answers null; or the error
-- that kept it from that, with nothing written: the work of the job is done, and its end never fails because
-- of what follows. After an error it tries again without handing targets over: what is wrong with an
-- execution that waits for a target keeps none from stopping. The caller has locked the executions and their
-- targets.
create or replace function tenure.step_ends_try(p_now timestamptz, p_actor text, p_job_ids uuid[])
returns text
language plpgsql
as $$
declare
  v_freed text;
  v_what  text;
begin
  foreach v_freed in array array['hand_over', 'leave_to_tick'] loop
    begin
      perform tenure.step_ends_apply(p_now, p_actor, p_job_ids, v_freed);
      return null;
    exception when others then
      get stacked diagnostics v_what = message_text;
      raise warning 'steps could not be followed up: %', v_what;
    end;
  end loop;
  return v_what;
end
$$;

-- Leaves the ends of these step jobs to the tick.
create or replace function tenure.step_ends_note(p_now timestamptz, p_job_ids uuid[], p_reason text)
returns void
language plpgsql
as $$
declare
  v_tenants  integer[];
  v_subjects text[];
begin
  select array_agg(s.tenant_id), array_agg(s.job_id::text)
    into v_tenants, v_subjects
    from tenure.step_states s
   where s.job_id = any (p_job_ids) and s.state = 'running';
  if v_subjects is not null then
    perform tenure.follow_up_note('step_end', v_tenants, v_subjects, p_now, p_reason);
  end if;
end
$$;

-- Writes the ends of these jobs to their steps and advances the executions. The caller has locked the
-- executions of all of them, and their targets. p_freed: see tenure.executions_advance.
create or replace function tenure.step_ends_apply(
  p_now timestamptz, p_actor text, p_job_ids uuid[], p_freed text) returns void
language plpgsql
as $$
declare
  v_over record;
begin
  -- Locks are handed over at the time of now, however long the row locks were awaited: a hold of a target
  -- never begins before the previous one was over.
  p_now := greatest(p_now, tenure.now());
  v_over := tenure.step_ends_write(p_now, p_actor, p_job_ids);
  perform tenure.executions_advance(
    p_now, p_actor, v_over.execs, v_over.numbers, v_over.states, v_over.entries, p_freed);
end
$$;

-- Writes the ends of these jobs to their steps. Answers the steps that have ended or are unknown, and the
-- chain entries, for tenure.executions_advance. The caller has locked the executions and their targets.
create or replace function tenure.step_ends_write(
  p_now timestamptz, p_actor text, p_job_ids uuid[],
  out execs uuid[], out numbers integer[], out states text[], out entries tenure.chain_entry[])
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  if exists (select from tenure.starts_left(p_job_ids)) then
    perform tenure.starts_follow(p_now, p_job_ids, 'ended');
  end if;
  with ended as materialized (
    select s.place, s.execution_id, s.step_number, s.job_id, a.attempt_row, a.holder, a.final, a.run,
           a.attempt, a.owner, a.state, a.outcome, a.leased_at, a.started_at, a.ended_at, a.next_due,
           a.result, a.result_ref, a.error_code, a.error_class,
           coalesce(a.error_message, a.reason) as error_message,
           octet_length(a.result::text) as result_bytes,
           case
             when a.state = 'succeeded' then 'succeeded'
             -- It had started and was taken from its worker: it is unknown how far it came, and its effects
             -- must not happen twice.
             when p.effects = 'once'
               and a.started_at is not null
               and (a.error_code = 'stale_timeout'
                    or a.outcome = 'renewals_exceeded'
                    or a.error_class in ('lease', 'timeout', 'panic', 'force')) then 'unknown'
             when a.state = 'cancelled' then
               case
                 when a.started_at is null
                   and s.attempt = 0
                   and not exists (
                     select from tenure.attempts x where x.job_id = s.job_id and x.started_at is not null)
                   and (
                     select e.stopping is not null
                       from tenure.execution_states e
                      where e.execution_id = s.execution_id) then 'skipped'
                 else 'cancelled'
               end
             else 'failed'
           end as becomes,
           case
             when a.attempt > 1 then (
               select min(x.started_at) from tenure.attempts x where x.job_id = s.job_id)
             else a.started_at
           end as first_started_at
      -- Found by their jobs, not by their executions: else each end reads all steps of its execution.
      from (select s.ctid as place, s.execution_id, s.step_number, s.job_id, s.state, s.attempt
              from tenure.step_states s
             where s.job_id = any (p_job_ids)
            offset 0) s
      cross join lateral (
        select p.effects
          from tenure.steps p
         where p.execution_id = s.execution_id and p.step_number = s.step_number
        offset 0) p
      cross join lateral (
        select a as attempt_row, a.*
          from tenure.attempts a
         where a.job_id = s.job_id
         order by a.run desc
         limit 1) a
     where s.state = 'running'
  ), changed as (
    update tenure.step_states s
       set state = case when d.final then d.becomes else s.state end,
           attempt = greatest(d.attempt, s.attempt),
           worker = coalesce(d.owner, s.worker),
           started_at = coalesce(s.started_at, d.first_started_at),
           ended_at = case when d.final and d.becomes <> 'unknown' then d.ended_at end,
           output_summary = d.result,
           output_ref = d.result_ref,
           output_size_bytes = d.result_bytes,
           error_code = coalesce(d.error_code, case when d.becomes = 'failed' then d.outcome end),
           error_class = d.error_class,
           error_message = d.error_message
      from ended d
     where s.ctid = d.place and (d.final or d.state = 'retry_waiting')
  )
  -- Sorted once, not for each of the arrays.
  select array_agg(d.execution_id) filter (where d.final),
         array_agg(d.step_number) filter (where d.final),
         array_agg(d.becomes) filter (where d.final),
         array_agg(x.entry)
    into execs, numbers, states, entries
    from (select d.* from ended d order by d.execution_id, d.step_number) d
    cross join lateral (
      select (
        d.execution_id,
        case
          when d.final then
            case d.becomes when 'succeeded' then 'step_completed' else 'step_' || d.becomes end
          else 'step_retrying'
        end,
        d.step_number,
        -- The common case of tenure.run_facts(), built here because it is needed for every step.
        case
          when d.state = 'succeeded' and d.run = 1 and d.attempt = 1 and d.result is null
            and d.result_ref is null and d.holder = p_actor and d.leased_at = d.started_at
            then jsonb_build_object(
              'run', 1, 'worker', d.owner, 'started_at', d.started_at, 'ended_at', d.ended_at)
          else tenure.run_facts(d.attempt_row, p_actor) || jsonb_strip_nulls(jsonb_build_object(
            'next_due', d.next_due,
            'earlier', case
              when d.run > 1
                then tenure.runs_not_chained(d.execution_id, d.step_number, d.job_id, d.run, p_actor)
            end))
        end)::tenure.chain_entry as entry) x
   where d.final or d.state = 'retry_waiting';
end
$$;
