-- How executions go on: in the transaction in which the job of a step ends. Whoever changes an execution holds its row; rows are locked in the order
-- executions (by id), lock_targets (by name), and after that executions of others only where nobody is in the way. What is called by one of these functions alone
-- has their settings, and none of its own: each takes its time to be set and put back.
--
-- No statement here leaves its order to the planner. Its plan is kept for as long as a session lasts, and is perhaps made while the tables are empty: what is best then reads all of them later. So each goes from
-- the rows that are named to what belongs to them (cross join lateral … offset 0), and writes rows where it found them (ctid); whoever holds the execution is the only one who moves them.

-- Tells what happened: to the chain of each execution, and to the stream of events. The caller holds the executions. What a line says of a step is counted with it, and nowhere else:
-- the counts of an execution are those of its lines. Answers the executions of which nothing is open any more.
create or replace function tenure.chain_append(p_now timestamptz, p_actor text, p_told tenure.execution_told[]) returns uuid[]
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_head  text := format('"at":"%s","actor":%s,', to_char(p_now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(p_actor));
  v_epoch integer := (select i.epoch from tenure.installation i);
  v_over  uuid[];
begin
  if p_told is null or cardinality(p_told) = 0 then
    return '{}';
  end if;
  with numbered as (
    select t.execution_id, t.kind, t.step_number, coalesce(t.data, '{}') as data, first_value(e.place) over lines as place, first_value(e.tenant_id) over lines as tenant_id, first_value(e.chain_hash) over lines as seed,
           (first_value(e.chain_length) over lines + row_number() over lines)::integer as seq, s.step_id,
           -- Counted line by line, so that the last one has the sums.
           lead(false, 1, true) over lines as last, count(*) filter (where t.kind = 'step_completed') over lines as succeeded, count(*) filter (where t.kind = 'step_failed') over lines as failed,
           count(*) filter (where t.kind = 'step_cancelled') over lines as cancelled, count(*) filter (where t.kind = 'step_skipped') over lines as skipped,
           count(*) filter (where t.kind = 'step_unknown') over lines as unknown, count(*) filter (where t.kind = 'step_retrying') over lines as retries
      from (select t.*, lag(t.execution_id) over (order by t.execution_id, t.n) is distinct from t.execution_id as first
              from unnest(p_told) with ordinality t (execution_id, kind, step_number, data, n)) t
      -- Looked up once, for the first of its lines: versions of an execution are many while it goes on.
      left join lateral (select e.ctid as place, e.tenant_id, e.chain_hash, e.chain_length from tenure.executions e where t.first and e.execution_id = t.execution_id offset 0) e on true
      left join lateral (select s.step_id from tenure.steps s where s.execution_id = t.execution_id and s.step_number = t.step_number offset 0) s on true
    window lines as (partition by t.execution_id order by t.n)
  ), bodies as (
    select n.*, '{"seq":' || n.seq::text || ',' || v_head || '"kind":"' || n.kind || '","step":' || coalesce(to_json(n.step_id)::text, 'null') || ',"data":' || n.data::text || '}' as body from numbered n
  ), linked as materialized (
    select b.*, tenure.chain_hash(b.seed, b.body) over (partition by b.execution_id order by b.seq) as hash from bodies b
  ), kept as (
    insert into tenure.execution_events (execution_id, seq, tenant_id, at, kind, step_number, body, hash)
    select l.execution_id, l.seq, l.tenant_id, p_now, l.kind, l.step_number, l.body, l.hash from linked l
  ), told as (
    insert into tenure.events (epoch, at, tenant_id, kind, actor, subject, data)
    select v_epoch, p_now, l.tenant_id, overlay(l.kind placing '.' from strpos(l.kind, '_') for 1), p_actor, l.execution_id::text,
           -- The record of a submission is for evidence.
           case when l.step_id is null then (l.data - 'record') || jsonb_build_object('seq', l.seq) else l.data || jsonb_build_object('seq', l.seq, 'step', l.step_id) end
      from linked l
  ), counted as (
    update tenure.executions e
       set chain_length = l.seq, chain_hash = l.hash, steps_open = e.steps_open - l.succeeded - l.failed - l.cancelled - l.skipped, steps_succeeded = e.steps_succeeded + l.succeeded,
           steps_failed = e.steps_failed + l.failed, steps_cancelled = e.steps_cancelled + l.cancelled, steps_skipped = e.steps_skipped + l.skipped, steps_unknown = e.steps_unknown + l.unknown,
           retries_total = e.retries_total + l.retries
      from linked l
     where l.last and e.ctid = l.place
    returning e.execution_id, e.steps_open
  )
  select array_agg(c.execution_id) into v_over from counted c where c.steps_open = 0;
  return coalesce(v_over, '{}');
end
$$;

-- Holds executions, and the targets of these jobs' steps and of those that may follow them. Nobody waits long for a transaction that keeps one: then the answer is false, and nothing is held.
create or replace function tenure.executions_hold(p_ids uuid[], p_job_ids uuid[]) returns boolean
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
  -- An old snapshot shows neither who waits nor what is free by now.
  if current_setting('transaction_isolation') <> 'read committed' then
    return false;
  end if;
  select bool_or(h.takes_locks) into v_locks
    from (select e.takes_locks from tenure.executions e where e.execution_id = any (p_ids) order by e.execution_id for no key update) h;
  if not v_locks then
    return true;
  end if;
  perform
    from (select distinct x.tenant_id, x.lock_target
            from (select s.tenant_id, s.lock_target from tenure.steps s where s.job_id = any (p_job_ids) and s.lock_target is not null
                  union all
                  -- From the ends to what needs them, and in no other order: the steps that wait may be many.
                  select d.tenant_id, d.lock_target
                    from (select s.execution_id, s.step_number from tenure.steps s where s.job_id = any (p_job_ids) offset 0) s
                    cross join lateral (select n.step_number from tenure.step_needs n where n.execution_id = s.execution_id and n.needs_number = s.step_number offset 0) n
                    cross join lateral (select d.tenant_id, d.lock_target, d.state from tenure.steps d where d.execution_id = s.execution_id and d.step_number = n.step_number offset 0) d
                   where d.lock_target is not null and d.state = 'waiting') x
           order by x.tenant_id, x.lock_target) w
    cross join lateral (select from tenure.lock_targets t where t.tenant_id = w.tenant_id and t.target = w.lock_target for no key update) t;
  return true;
exception when lock_not_available or deadlock_detected then
  return false;
end
$$;

-- Follows up the ends of step jobs, in the transaction of the end. Jobs that belong to no step are passed over. Whoever ends jobs calls it where lanes.stepped says so.
create or replace function tenure.steps_end(p_now timestamptz, p_actor text, p_job_ids uuid[]) returns void
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
  select array_agg(distinct s.execution_id order by s.execution_id), array_agg(s.job_id) into v_ids, v_jobs from tenure.steps s where s.job_id = any (p_job_ids) and s.state = 'running';
  if v_ids is null then
    return;
  end if;
  if tenure.executions_hold(v_ids, v_jobs) then
    begin
      perform tenure.executions_follow(p_now, p_actor, v_jobs);
      return;
    exception when others then
      -- What was done is done: an end never fails by what follows from it. The mark says what was wrong.
      get stacked diagnostics v_what = message_text;
      raise warning 'steps could not be followed up: %', v_what;
    end;
  end if;
  insert into tenure.step_marks (job_id, tenant_id, at, trouble)
  select s.job_id, s.tenant_id, p_now, v_what from tenure.steps s where s.job_id = any (v_jobs) and s.state = 'running' order by s.job_id
  -- Written anew: one that stands already may be of an earlier end, and a tick that follows that up must not take it away under this one.
  on conflict (job_id) do update set at = excluded.at, trouble = excluded.trouble;
end
$$;

-- Tells how far the step of a job has come. It is no transition: where somebody else holds the execution, nobody waits to tell it. Nor is a story made of it: after so many lines
-- of one step the job alone knows.
create or replace function tenure.step_progress(p_now timestamptz, p_actor text, p_job_id uuid, p_progress jsonb) returns void
language plpgsql
as $$
declare
  v_step record;
  v_told bigint;
begin
  select s.execution_id, s.step_number into v_step from tenure.steps s where s.job_id = p_job_id;
  if not found then
    return;
  end if;
  select count(*) into v_told
    from (select from tenure.execution_events v
           where v.execution_id = v_step.execution_id and v.step_number = v_step.step_number and v.kind = 'step_progress' limit tenure.limit_of('step_progress_lines_max')) v;
  if v_told >= tenure.limit_of('step_progress_lines_max') then
    return;
  end if;
  perform from tenure.executions e where e.execution_id = v_step.execution_id for no key update skip locked;
  if found then
    perform tenure.starts_follow(p_now, array[p_job_id], 'all');
    perform tenure.chain_append(greatest(p_now, tenure.now()), p_actor, array[(v_step.execution_id, 'step_progress', v_step.step_number, p_progress)::tenure.execution_told]);
  end if;
end
$$;

-- What the ends of these jobs mean for their steps, and what follows from that. The caller holds the executions of all of them, and their targets.
create or replace function tenure.executions_follow(p_now timestamptz, p_actor text, p_job_ids uuid[]) returns void
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_over record;
begin
  -- What is handed on is handed on now, however long they were waited for: no hold of a target begins before the one before it was over.
  p_now := greatest(p_now, tenure.now());
  if exists (select from tenure.step_starts t where t.job_id = any (p_job_ids)) then
    perform tenure.starts_follow(p_now, p_job_ids, 'ended');
  end if;
  with ended as materialized (
    select s.place, s.execution_id, s.step_number, s.job_id, a.attempt_row, a.holder, a.final, a.run, a.attempt, a.owner, a.state, a.outcome, a.leased_at, a.started_at, a.ended_at, a.next_due, a.result, a.result_ref, a.error_code, a.error_class,
           coalesce(a.error_message, a.reason) as error_message, octet_length(a.result::text) as result_bytes,
           case
             when a.state = 'succeeded' then 'succeeded'
             -- It had begun and was taken away from whoever ran it: nobody knows how far it came, and it may not come twice.
             when s.effects = 'once' and a.started_at is not null and (a.error_code = 'stale_timeout' or a.outcome = 'renewals_exceeded'
               or a.error_class in ('lease', 'timeout', 'panic', 'force')) then 'unknown'
             when a.state = 'cancelled' then case when a.started_at is null and s.attempt = 0 and not exists (select from tenure.attempts x where x.job_id = s.job_id and x.started_at is not null) and (select e.stopping is not null from tenure.executions e where e.execution_id = s.execution_id) then 'skipped' else 'cancelled' end
             else 'failed'
           end as becomes,
           case when a.attempt > 1 then (select min(x.started_at) from tenure.attempts x where x.job_id = s.job_id) else a.started_at end as first_started_at
      -- By their jobs, whatever the planner thinks of the size of plans: else each end reads all steps of its execution.
      from (select s.ctid as place, s.* from tenure.steps s where s.job_id = any (p_job_ids) offset 0) s
      cross join lateral (select a as attempt_row, a.* from tenure.attempts a where a.job_id = s.job_id order by a.run desc limit 1) a
     where s.state = 'running'
  ), changed as (
    update tenure.steps s
       set state = case when d.final then d.becomes else s.state end, attempt = greatest(d.attempt, s.attempt), worker = coalesce(d.owner, s.worker), started_at = coalesce(s.started_at, d.first_started_at),
           ended_at = case when d.final and d.becomes <> 'unknown' then d.ended_at end,
           output_summary = d.result, output_ref = d.result_ref, output_size_bytes = d.result_bytes,
           error_code = coalesce(d.error_code, case when d.becomes = 'failed' then d.outcome end), error_class = d.error_class, error_message = d.error_message
      from ended d
     where s.ctid = d.place and (d.final or d.state = 'retry_waiting')
  )
  -- Put in order once, not for each of the arrays.
  select array_agg(d.execution_id) filter (where d.final) as execs, array_agg(d.step_number) filter (where d.final) as numbers, array_agg(d.becomes) filter (where d.final) as states,
         array_agg(x.told) as told
    into v_over
    from (select d.* from ended d order by d.execution_id, d.step_number) d
    cross join lateral (
      select (d.execution_id, case when d.final then case d.becomes when 'succeeded' then 'step_completed' else 'step_' || d.becomes end else 'step_retrying' end, d.step_number,
              -- As tenure.run_facts() has it, put together here: it is made for every step.
              case when d.state = 'succeeded' and d.run = 1 and d.attempt = 1 and d.result is null
                     and d.result_ref is null and d.holder = p_actor and d.leased_at = d.started_at
                then jsonb_build_object('run', 1, 'worker', d.owner, 'started_at', d.started_at,
                  'ended_at', d.ended_at)
              else tenure.run_facts(d.attempt_row, p_actor) || jsonb_strip_nulls(jsonb_build_object(
                'next_due', d.next_due, 'earlier', case when d.run > 1 then tenure.runs_untold(
                  d.execution_id, d.step_number, d.job_id, d.run, p_actor) end)) end)::tenure.execution_told as told) x
   where d.final or d.state = 'retry_waiting';
  perform tenure.executions_advance(p_now, p_actor, v_over.execs, v_over.numbers, v_over.states, v_over.told);
end
$$;

-- Goes on from steps that are over or unknown: stops or skips what cannot follow, dispatches what can, hands their locks on, and ends executions of which nothing is open.
-- The caller holds the executions and the targets, has written the states of these steps, and has a line to tell for each.
create or replace function tenure.executions_advance(p_now timestamptz, p_actor text, p_execs uuid[], p_numbers integer[], p_states text[], p_told tenure.execution_told[]) returns void
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_execs   uuid[] := p_execs;
  v_numbers integer[] := p_numbers;
  v_states  text[] := p_states;
  v_told    tenure.execution_told[] := coalesce(p_told, '{}');
  v_freed   record;
  v_ready   record;
  v_hand    record;
  v_stop    uuid[];
  v_turns   integer := 0;
begin
  while cardinality(v_execs) > 0 loop
    v_ready := tenure.steps_over(p_now, v_execs, v_numbers, v_states, v_told);
    v_told := v_ready.told;
    v_stop := v_stop || v_ready.stopped;
    -- Locks of what is over are free: who waits for one comes first, then what follows here.
    with gone as (
      delete from tenure.locks l
       where l.ctid = any (array(
         select l.ctid
           from unnest(v_execs, v_numbers, v_states) t (execution_id, step_number, state)
           cross join lateral (select l.ctid, l.section from tenure.locks l where l.execution_id = t.execution_id and l.step_number = t.step_number offset 0) l
          where t.state <> 'unknown'
            and (l.section is null or tenure.section_is_over(t.execution_id, l.section))))
      returning l.tenant_id, l.target, l.execution_id, l.section
    )
    select array_agg(g.tenant_id order by g.tenant_id, g.target) as tenants, array_agg(g.target order by g.tenant_id, g.target) as targets,
           (select array_agg((g.execution_id, 'section_left', null,
                     jsonb_build_object('section', g.section, 'target', g.target))::tenure.execution_told
                     order by g.execution_id, g.section)
              from gone g where g.section is not null) as told
      into v_freed
      from (select distinct g.tenant_id, g.target from gone g) g
     -- One look into the line, never a join with all of it.
     where (select true from tenure.steps w where w.tenant_id = g.tenant_id and w.lock_target = g.target and w.blocked_order is not null limit 1);
    v_told := v_told || v_freed.told;
    if 'failed' = any (v_states) or 'cancelled' = any (v_states) then
      -- Sections of which the last steps were skipped, or never allowed, while none of them ran.
      v_told := v_told || tenure.sections_leave(v_execs);
    end if;
    v_execs := '{}'; v_numbers := '{}';
    -- Where one after the other is refused, the line is not gone through at once: the next tick goes on.
    v_turns := v_turns + 1;
    if v_turns > tenure.limit_of('hand_over_steps_max') then
      perform tenure.lines_left(v_freed.tenants, v_freed.targets);
      v_freed.targets := null;
    end if;
    for v_at in 1 .. coalesce(cardinality(v_freed.targets), 0) loop
      v_hand := tenure.lock_hand_over(p_now, p_actor, v_freed.tenants[v_at], v_freed.targets[v_at], v_told);
      v_told := v_hand.told;
      v_execs := v_execs || v_hand.refused_execs;
      v_numbers := v_numbers || v_hand.refused_numbers;
    end loop;
    if cardinality(v_ready.execs) > 0 then
      v_hand := tenure.steps_dispatch(p_now, p_actor, v_ready.execs, v_ready.numbers, false, true, v_told);
      v_told := v_hand.told;
      v_execs := v_execs || v_hand.refused_execs;
      v_numbers := v_numbers || v_hand.refused_numbers;
    end if;
    v_states := array_fill('failed'::text, array[cardinality(v_execs)]);
  end loop;
  -- Whoever was handed a target was held after the clock was read, and may have been told of since: no line of a story is older than the one before it.
  p_now := greatest(p_now, tenure.now());
  perform tenure.chain_append(p_now, p_actor, tenure.executions_finish(p_now, p_actor, tenure.chain_append(p_now, p_actor, v_told)));
  if cardinality(v_stop) > 0 then
    perform tenure.jobs_withdraw(p_now, p_actor, v_stop);
  end if;
end
$$;

-- Says what may follow steps that are over: those whose last need this was. Whoever dispatches them writes that they need nothing more. After a failure the execution stops, or goes on without what needs the failed step.
create or replace function tenure.steps_over(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], p_states text[], inout told tenure.execution_told[], out execs uuid[], out numbers integer[], out stopped uuid[])
language plpgsql
as $$
declare
  v_skipped record;
  v_met     record;
begin
  stopped := '{}';
  if 'failed' = any (p_states) or 'cancelled' = any (p_states) then
    with hit as (
      select distinct t.execution_id from unnest(p_execs, p_states) t (execution_id, state) where t.state in ('failed', 'cancelled')
    ), halted as (
      update tenure.executions e set stopping = 'step_failed', next_at = least(e.next_at, p_now + interval '5 seconds')
        from hit h where e.execution_id = h.execution_id and e.on_step_failure = 'stop' and e.stopping is null
      returning e.execution_id
    )
    select coalesce(array_agg(h.execution_id), '{}') into stopped from halted h;
    -- What nobody may start any more: all that waits where it stops, else all that needs what failed, and what needs that.
    with recursive lost (execution_id, step_number) as (
      select t.execution_id, n.step_number
        from unnest(p_execs, p_numbers, p_states) t (execution_id, step_number, state)
        cross join lateral (select e.on_step_failure from tenure.executions e where e.execution_id = t.execution_id offset 0) e
        cross join lateral (select n.step_number from tenure.step_needs n where n.execution_id = t.execution_id and n.needs_number = t.step_number offset 0) n
       where t.state in ('failed', 'cancelled', 'skipped') and e.on_step_failure = 'continue'
      union
      select l.execution_id, n.step_number
        from lost l
        cross join lateral (select n.step_number from tenure.step_needs n where n.execution_id = l.execution_id and n.needs_number = l.step_number offset 0) n
    )
    select array_agg(x.execution_id) as execs, array_agg(x.step_number) as numbers into v_skipped
      from (select l.execution_id, l.step_number from lost l
            union
            select s.execution_id, s.step_number from tenure.steps s where s.execution_id = any (stopped) and s.state in ('waiting', 'blocked', 'awaiting_approval')) x;
    told := told || tenure.steps_skip(p_now, v_skipped.execs, v_skipped.numbers, 'A step before it failed.');
  end if;

  select coalesce(array_agg(m.execution_id) filter (where m.needs_left = m.needs), '{}') as execs, coalesce(array_agg(m.step_number) filter (where m.needs_left = m.needs), '{}') as numbers,
         array_agg(m.place) filter (where m.needs_left > m.needs) as later_places, array_agg(m.needs) filter (where m.needs_left > m.needs) as later_needs
    into v_met
    from (select n.execution_id, n.step_number, s.place, s.needs_left, n.needs
            from (select t.execution_id, n.step_number, count(*)::integer as needs
                    from unnest(p_execs, p_numbers, p_states) t (execution_id, step_number, state)
                    cross join lateral (select n.step_number from tenure.step_needs n where n.execution_id = t.execution_id and n.needs_number = t.step_number offset 0) n
                   where t.state = 'succeeded'
                   group by t.execution_id, n.step_number) n
            cross join lateral (select s.ctid as place, s.needs_left, s.state from tenure.steps s where s.execution_id = n.execution_id and s.step_number = n.step_number offset 0) s
            cross join lateral (select e.stopping, e.state from tenure.executions e where e.execution_id = n.execution_id offset 0) e
           where s.state = 'waiting' and e.stopping is null and e.state = 'running'
           order by n.execution_id, n.step_number) m;
  execs := v_met.execs;
  numbers := v_met.numbers;
  if v_met.later_places is not null then
    update tenure.steps s set needs_left = s.needs_left - m.needs from unnest(v_met.later_places, v_met.later_needs) m (place, needs) where s.ctid = m.place;
  end if;
end
$$;

-- Skips steps that have not begun. Answers what is to be told; telling counts them.
create or replace function tenure.steps_skip(p_now timestamptz, p_execs uuid[], p_numbers integer[], p_reason text) returns tenure.execution_told[]
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_line record;
  v_told tenure.execution_told[];
begin
  select array_agg(s.tenant_id) as tenants, array_agg(s.lock_target) as targets into v_line
    from unnest(p_execs, p_numbers) t (execution_id, step_number)
    cross join lateral (select s.tenant_id, s.lock_target, s.state from tenure.steps s where s.execution_id = t.execution_id and s.step_number = t.step_number offset 0) s
   where s.state = 'blocked';
  with gone as (
    update tenure.steps s set state = 'skipped', ended_at = greatest(p_now, s.started_at), blocked_order = null, blocked_at = null, error_message = p_reason
      from (select distinct s.place
              from unnest(p_execs, p_numbers) t (execution_id, step_number)
              cross join lateral (select s.ctid as place from tenure.steps s where s.execution_id = t.execution_id and s.step_number = t.step_number offset 0) s) t
     where s.ctid = t.place and s.state in ('waiting', 'blocked', 'awaiting_approval')
    returning s.execution_id, s.step_number, s.ended_at
  ), withdrawn as (
    update tenure.approvals a set state = 'withdrawn', decided_at = greatest(p_now, a.created_at), decided_by = 'policy', reason = p_reason
     where a.ctid = any (array(
             select a.ctid from gone g cross join lateral (select a.ctid from tenure.approvals a where a.execution_id = g.execution_id and a.step_number = g.step_number offset 0) a))
       and (a.state = 'pending' or (a.state = 'approved' and a.consumed_at is null))
  )
  select coalesce(array_agg((g.execution_id, 'step_skipped', g.step_number, jsonb_build_object('reason', p_reason, 'ended_at', g.ended_at))::tenure.execution_told order by g.execution_id, g.step_number), '{}')
    into v_told from gone g;
  if v_line.targets is not null then
    perform tenure.lines_left(v_line.tenants, v_line.targets);
  end if;
  return v_told;
end
$$;

-- Ends executions of which nothing is open: what became of them follows from their steps. Failed ones leave a dead letter. Answers what is to be told.
create or replace function tenure.executions_finish(p_now timestamptz, p_actor text, p_ids uuid[]) returns tenure.execution_told[]
language plpgsql
as $$
declare
  v_ids   uuid[] := '{}';
  v_ended record;
begin
  if cardinality(p_ids) > 0 then
    -- By their ids, never by their state: many may be in it.
    v_ids := array(select e.execution_id from (select e.* from tenure.executions e where e.execution_id = any (p_ids) offset 0) e where e.state = 'running' and e.steps_open = 0);
  end if;
  if cardinality(v_ids) = 0 then
    return '{}';
  end if;
  with over as (
    update tenure.executions e
       set state = f.becomes, last_state = e.state, last_transition_at = p_now, last_transition_by = p_actor, ended_at = greatest(p_now, e.started_at), next_at = null,
           cancelled_at = case f.becomes when 'cancelled' then greatest(p_now, e.started_at) end, cancelled_by = case f.becomes when 'cancelled' then coalesce(e.stopped_by, p_actor) end,
           reason_code = case f.becomes when 'succeeded' then 'completed' else coalesce(e.reason_code, e.stopping, 'step_failed') end,
           key_held = e.key_held and not (f.becomes in ('failed', 'cancelled') or (f.becomes = 'succeeded' and e.key_origin = 'derived')),
           -- What was to stop it came too late, if all was done.
           reason = case when f.becomes <> 'succeeded' then e.reason end, error_class = b.error_class,
           error_message = case when f.becomes <> 'succeeded' then coalesce(b.error_message, case e.stopping when 'timed_out' then 'The execution took longer than its SLA class allows.' end) end,
           result_summary = jsonb_build_object('succeeded', e.steps_succeeded, 'failed', e.steps_failed, 'cancelled', e.steps_cancelled, 'skipped', e.steps_skipped, 'retries', e.retries_total,
             'errors', coalesce(b.errors, '[]'))
      from (select e.ctid as place, e.execution_id, case
                     when e.steps_succeeded = e.step_count then 'succeeded'
                     when e.stopping = 'cancelled' then 'cancelled'
                     when e.stopping is null and e.steps_succeeded > 0 then 'partially_failed'
                     else 'failed' end as becomes
              from tenure.executions e where e.execution_id = any (v_ids)) f
      left join lateral (
        select (array_agg(s.error_class order by s.ended_at, s.step_number))[1] as error_class, (array_agg(tenure.cut_text(s.step_id || ': ' || coalesce(s.error_message, s.error_code), tenure.limit_of('error_message_bytes_max')::integer) order by s.ended_at, s.step_number))[1] as error_message,
               -- Without control characters, each of which has six bytes there.
               jsonb_agg(jsonb_build_object('step', tenure.cut_text(regexp_replace(s.step_id, '[[:cntrl:]]', ' ', 'g'), 200), 'code', tenure.cut_text(regexp_replace(s.error_code, '[[:cntrl:]]', ' ', 'g'), 100),
                 'message', tenure.cut_text(regexp_replace(s.error_message, '[[:cntrl:]]', ' ', 'g'), 300)) order by s.ended_at, s.step_number) as errors
          from (select x.* from tenure.steps x where x.execution_id = f.execution_id and x.state = 'failed' order by x.ended_at, x.step_number limit 5) s) b on true
     where e.ctid = f.place
    returning e.execution_id, e.state, e.reason_code, e.duration_ms, e.steps_succeeded, e.steps_failed, e.steps_skipped, e.steps_cancelled, e.stopping
  )
  select array_agg((o.execution_id, case o.state when 'succeeded' then 'execution_completed' when 'partially_failed' then 'execution_partially_failed' else 'execution_' || o.state end, null,
           jsonb_build_object('from', 'running', 'to', o.state, 'reason_code', o.reason_code, 'duration_ms', o.duration_ms, 'succeeded', o.steps_succeeded, 'failed', o.steps_failed, 'skipped', o.steps_skipped,
             'cancelled', o.steps_cancelled))::tenure.execution_told order by o.execution_id) as told,
         array_agg(o.execution_id) filter (where o.state in ('failed', 'partially_failed')) as failed
    into v_ended from over o;
  if v_ended.failed is not null then
    insert into tenure.execution_dead_letters (execution_id, tenant_id, purpose, plan, plan_hash, context,
      attempt_count, last_error, failed_at, plan_restricted)
    select e.execution_id, e.tenant_id, e.purpose, p.plan, e.plan_hash, jsonb_build_object('requested_by', e.requested_by, 'on_behalf_of', e.on_behalf_of, 'correlation_id', e.correlation_id, 'state', e.state,
             'reason_code', e.reason_code, 'idempotency_key', e.idempotency_key, 'metadata', e.metadata, 'started_at', e.started_at,
             'steps', (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('step', s.step_id, 'state', s.state, 'attempt', s.attempt, 'job_id', s.job_id, 'error_code', s.error_code, 'output_ref', s.output_ref)) order by s.step_number)
                         from tenure.steps s where s.execution_id = e.execution_id)),
           e.retries_total + 1, coalesce(nullif(e.error_message, ''), e.reason_code), e.ended_at,
           tenure.is_plan_restricted(e.execution_id)
      from tenure.executions e join tenure.plans p on p.execution_id = e.execution_id
     where e.execution_id = any (v_ended.failed);
  end if;
  return coalesce(v_ended.told, '{}');
end
$$;
