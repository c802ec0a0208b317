-- Steps become jobs: approvals of single steps, locks, the start of an execution, the jobs themselves.

-- Starts steps whose needs are met: asks for the approvals that are missing, takes locks or waits for them, and makes jobs of the rest. The caller holds the executions and the targets.
-- p_granted: the lock is theirs already to take. p_begun: their executions run already. Answers what is to be told, and the steps whose job was refused: they have failed.
create or replace function tenure.steps_dispatch(
  p_now timestamptz, p_actor text, p_execs uuid[], p_numbers integer[], p_granted boolean, p_begun boolean, inout told tenure.execution_told[], out refused_execs uuid[],
  out refused_numbers integer[])
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
  v_is      record;
  v_in      record;
  v_inner   uuid[] := '{}';
  v_inner_n integer[] := '{}';
  v_go      record;
  v_made    record;
begin
  refused_execs := '{}';
  refused_numbers := '{}';
  select bool_or(s.approval_level = 3) as ask, bool_or(s.lock_target is not null) as lock, bool_or(s.section is not null) as section, min(s.tenant_id) as tenant_id, min(s.tenant_id) = max(s.tenant_id) as of_one_tenant into v_is
    from unnest(p_execs, p_numbers) t (e, n) cross join lateral (select s.approval_level, s.lock_target, s.section, s.tenant_id from tenure.steps s where s.execution_id = t.e and s.step_number = t.n offset 0) s;
  -- Steps that need an approval of their own, and have none yet.
  if v_is.ask then
    v_go := tenure.steps_ask(p_now, p_execs, p_numbers, told);
    told := v_go.told; v_execs := v_go.execs; v_numbers := v_go.numbers;
  end if;
  if cardinality(v_execs) = 0 then
    return;
  end if;

  if v_is.section and not p_granted then
    v_in := tenure.sections_go_on(p_now, v_execs, v_numbers, told);
    told := v_in.told; v_execs := v_in.execs; v_numbers := v_in.numbers;
    v_inner := v_in.inner_execs; v_inner_n := v_in.inner_numbers;
    refused_execs := v_in.lost_execs; refused_numbers := v_in.lost_numbers;
  end if;
  if v_is.lock and cardinality(v_execs) > 0 then
    v_go := tenure.steps_lock(p_now, v_execs, v_numbers, p_granted, told);
    told := v_go.told; v_execs := v_go.execs; v_numbers := v_go.numbers;
  end if;
  if not p_begun and cardinality(v_execs) > 0 then
    told := told || tenure.executions_start(p_now, p_actor, v_execs);
  end if;
  if v_is.section then
    told := told || tenure.sections_entered(v_execs, v_numbers);
    v_execs := v_execs || v_inner; v_numbers := v_numbers || v_inner_n;
  end if;
  if cardinality(v_execs) = 0 then
    return;
  end if;

  if v_is.ask then
    with used as (
    update tenure.approvals a set consumed_at = greatest(p_now, a.decided_at)
     where a.ctid = any (array(
             select a.ctid from unnest(v_execs, v_numbers) t (e, n) cross join lateral (select a.ctid from tenure.approvals a where a.execution_id = t.e and a.step_number = t.n offset 0) a))
       and a.state = 'approved' and a.consumed_at is null
    returning a.execution_id, a.step_number, a.approval_id, a.consumed_at
    )
    select told || coalesce(array_agg((u.execution_id, 'approval_consumed', u.step_number,
             jsonb_build_object('approval_id', u.approval_id, 'consumed_at', u.consumed_at))::tenure.execution_told
             order by u.execution_id, u.step_number), '{}')
      into told from used u;
  end if;
  if v_is.of_one_tenant then
    v_made := tenure.steps_enqueue(p_now, v_is.tenant_id, v_execs, v_numbers);
    told := told || v_made.told;
    refused_execs := refused_execs || v_made.refused_execs;
    refused_numbers := refused_numbers || v_made.refused_numbers;
    return;
  end if;
  for v_go in
    select s.tenant_id, array_agg(s.execution_id order by s.execution_id, s.step_number) as execs, array_agg(s.step_number order by s.execution_id, s.step_number) as numbers
      from unnest(v_execs, v_numbers) t (e, n) cross join lateral (select s.tenant_id, s.execution_id, s.step_number from tenure.steps s where s.execution_id = t.e and s.step_number = t.n offset 0) s
     group by s.tenant_id order by s.tenant_id
  loop
    v_made := tenure.steps_enqueue(p_now, v_go.tenant_id, v_go.execs, v_go.numbers);
    told := told || v_made.told;
    refused_execs := refused_execs || v_made.refused_execs;
    refused_numbers := refused_numbers || v_made.refused_numbers;
  end loop;
end
$$;

-- Asks for the approval of single steps, where it is missing. Answers the steps that need none any more.
create or replace function tenure.steps_ask(p_now timestamptz, p_execs uuid[], p_numbers integer[], inout told tenure.execution_told[], out execs uuid[], out numbers integer[])
language plpgsql
as $$
declare
  v_step  record;
  v_row   tenure.executions;
  v_plan  tenure.plans;
  v_asked tenure.approvals;
begin
  execs := '{}';
  numbers := '{}';
  told := tenure.step_approvals_withdraw(p_now, p_execs, p_numbers, told);
  for v_step in
    select s.execution_id, s.step_number, s.rule, s.approval_roles, s.approval_quorum, s.approval_seconds, s.approval_level < 3 or exists (
             select from tenure.approvals a where a.execution_id = s.execution_id and a.step_number = s.step_number and a.state = 'approved' and a.consumed_at is null) as allowed
      from unnest(p_execs, p_numbers) t (e, n) join tenure.steps s on s.execution_id = t.e and s.step_number = t.n
     order by s.execution_id, s.step_number
  loop
    if v_step.allowed then
      execs := execs || v_step.execution_id;
      numbers := numbers || v_step.step_number;
      continue;
    end if;
    select e.* into v_row from tenure.executions e where e.execution_id = v_step.execution_id;
    select p.* into v_plan from tenure.plans p where p.execution_id = v_step.execution_id;
    v_asked := tenure.approval_request(p_now, v_row, v_plan, v_step.step_number, 3, v_step.approval_roles, v_step.approval_quorum, v_step.approval_seconds, v_step.rule);
    update tenure.steps s set state = 'awaiting_approval', needs_left = 0 where s.execution_id = v_step.execution_id and s.step_number = v_step.step_number;
    perform tenure.executions_schedule(p_now, array[v_step.execution_id]);
    told := told || (v_step.execution_id, 'approval_requested', v_step.step_number,
      tenure.approval_asked(v_asked.approval_id, v_row) || jsonb_build_object('level', 3, 'roles', v_step.approval_roles, 'quorum', v_step.approval_quorum, 'rule', v_step.rule,
        'plan_hash', v_row.plan_hash, 'created_at', v_asked.created_at, 'expires_at', v_asked.expires_at))::tenure.execution_told;
  end loop;
end
$$;

-- Takes the locks of steps, or puts them into the line of those who wait. The caller holds the targets. Answers the steps that may go, those without a lock included.
-- A whole target excludes everything at it; one action only itself and the whole. Nobody overtakes who waits already.
create or replace function tenure.steps_lock(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], p_granted boolean, inout told tenure.execution_told[], out execs uuid[], out numbers integer[])
language plpgsql
as $$
declare
  v_wait record;
begin
  delete from tenure.locks l
   where l.ctid = any (array(
     select l.ctid
       from unnest(p_execs, p_numbers) t (e, n)
       cross join lateral (select s.tenant_id, s.lock_target from tenure.steps s where s.execution_id = t.e and s.step_number = t.n offset 0) s
       cross join lateral (select l.ctid, l.execution_id, l.expires_at from tenure.locks l where l.tenant_id = s.tenant_id and l.target = s.lock_target offset 0) l
      where l.execution_id is null and l.expires_at <= p_now));
  with wanted as materialized (
    select s.place, s.execution_id, s.step_number, s.tenant_id, s.step_id, s.section, s.lock_target, s.lock_action, s.priority, s.timeout_seconds, e.timeout_at, e.timeout_ms, t.turn
      from unnest(p_execs, p_numbers) with ordinality t (e, n, turn)
      cross join lateral (select s.ctid as place, s.* from tenure.steps s where s.execution_id = t.e and s.step_number = t.n offset 0) s
      cross join lateral (select e.timeout_at, e.timeout_ms from tenure.executions e where e.execution_id = t.e offset 0) e
  ), judged as materialized (
    select w.*, w.lock_target is null or p_granted or (
             -- One look at the target and one into the line, never a table of all of them.
             (select true from tenure.locks l where l.tenant_id = w.tenant_id and l.target = w.lock_target and (l.action in ('', w.lock_action) or w.lock_action = '') limit 1) is null
             and (select true from tenure.steps b where b.tenant_id = w.tenant_id and b.lock_target = w.lock_target and b.blocked_order is not null limit 1) is null
             and case when w.lock_action = '' then row_number() over at_target = 1
                      else count(*) filter (where w.lock_action = '') over at_target = 0 and row_number() over (partition by w.tenant_id, w.lock_target, w.lock_action order by w.priority desc, w.turn) = 1 end) as granted
      from wanted w
    window at_target as (partition by w.tenant_id, w.lock_target order by w.priority desc, w.turn)
  ), granted as materialized (
    select j.*, nextval('tenure.lock_fence') as fence from judged j where j.granted and j.lock_target is not null
  ), taken as (
    insert into tenure.locks (tenant_id, target, action, fence, owner, execution_id, step_number, section, acquired_at, expires_at)
    select g.tenant_id, g.lock_target, g.lock_action, g.fence, g.execution_id || '/' || coalesce(g.section, g.step_id), g.execution_id, g.step_number, g.section, p_now,
           greatest(coalesce(g.timeout_at, p_now + make_interval(secs => g.timeout_ms / 1000.0)), p_now) + make_interval(secs => g.timeout_seconds)
      from granted g
  ), fenced as (
    update tenure.steps s set fence = g.fence from granted g where s.ctid = g.place
  )
  select array_agg(j.execution_id order by j.turn) filter (where j.granted) as go_execs, array_agg(j.step_number order by j.turn) filter (where j.granted) as go_numbers,
         array_agg(j.execution_id order by j.priority desc, j.turn) filter (where not j.granted) as execs, array_agg(j.step_number order by j.priority desc, j.turn) filter (where not j.granted) as numbers
    into v_wait from judged j;
  execs := coalesce(v_wait.go_execs, '{}');
  numbers := coalesce(v_wait.go_numbers, '{}');
  if v_wait.execs is not null then
    with line as (
      select s.place, nextval('tenure.block_order') as turn from unnest(v_wait.execs, v_wait.numbers) t (e, n) cross join lateral (select s.ctid as place from tenure.steps s where s.execution_id = t.e and s.step_number = t.n offset 0) s
    ), blocked as (
      update tenure.steps s set state = 'blocked', needs_left = 0, blocked_order = l.turn, blocked_at = p_now from line l where s.ctid = l.place
      returning s.execution_id, s.step_number, s.tenant_id, s.lock_target
    )
    select told || array_agg((b.execution_id, 'step_blocked', b.step_number, jsonb_strip_nulls(jsonb_build_object('target', b.lock_target, 'held_by',
             (select l.owner from tenure.locks l where l.tenant_id = b.tenant_id and l.target = b.lock_target limit 1))))::tenure.execution_told order by b.execution_id, b.step_number)
      into told from blocked b;
    -- Nobody is in the way, and still somebody waits: whoever is first in that line has been overlooked, or has just left it, or its holder has just expired.
    update tenure.lock_targets t set owing = true
     where t.ctid = any (array(
             select o.ctid
               from (select distinct s.tenant_id, s.lock_target, s.lock_action from unnest(v_wait.execs, v_wait.numbers) t (e, n)
                       cross join lateral (select s.tenant_id, s.lock_target, s.lock_action from tenure.steps s where s.execution_id = t.e and s.step_number = t.n offset 0) s) b
               cross join lateral (select o.ctid from tenure.lock_targets o where o.tenant_id = b.tenant_id and o.target = b.lock_target offset 0) o
              where (select true from tenure.locks l where l.tenant_id = b.tenant_id and l.target = b.lock_target and (l.action in ('', b.lock_action) or b.lock_action = '') limit 1) is null))
       and not t.owing;
  end if;
end
$$;

-- Starts approved executions: their approval is used up in this very moment. Answers what is to be told.
create or replace function tenure.executions_start(p_now timestamptz, p_actor text, p_execs uuid[]) returns tenure.execution_told[]
language plpgsql
as $$
declare
  -- By their ids, never by their state: many may be in it.
  v_ids  uuid[] := array(select e.execution_id from (select e.* from tenure.executions e where e.execution_id = any (p_execs) offset 0) e where e.state = 'approved');
  v_used record;
begin
  if cardinality(v_ids) = 0 then
    return '{}';
  end if;
  with used as (
    -- No join: beside many approvals a small table of old looks as if it were best read as a whole.
    update tenure.approvals a set consumed_at = greatest(p_now, a.decided_at)
     where a.execution_id = any (v_ids) and a.step_number is null and a.state = 'approved' and a.consumed_at is null
       and a.plan_hash = (select e.plan_hash from tenure.executions e where e.execution_id = a.execution_id)
    returning a.execution_id, a.approval_id, a.consumed_at
  )
  select array_agg(u.consumed_at order by u.execution_id) as times, array_agg(u.execution_id order by u.execution_id) as ids,
         array_agg(x.told order by u.execution_id, x.place) as told
    into v_used
    from used u
    cross join lateral (values (1, (u.execution_id, 'execution_started', null, jsonb_build_object('approval_id', u.approval_id, 'started_at', u.consumed_at))::tenure.execution_told),
                               (2, (u.execution_id, 'execution_running', null, jsonb_build_object('from', 'approved', 'to', 'running'))::tenure.execution_told)) x (place, told);
  -- One without an approval to use up is refused by the trigger of the table.
  update tenure.executions e
     set state = 'running', last_state = e.state, last_transition_at = p_now, last_transition_by = p_actor, started_at = t.at, parked = null, timeout_at = t.at + t.allowed, next_at = t.at + t.allowed
    from (select x.ctid as place, coalesce(u.at, p_now) as at, make_interval(secs => x.timeout_ms / 1000.0) as allowed
            from tenure.executions x left join unnest(v_used.ids, v_used.times) u (id, at) on u.id = x.execution_id
           where x.execution_id = any (v_ids)) t
   where e.ctid = t.place;
  return v_used.told;
end
$$;

-- Makes the jobs of steps of one tenant. If they are refused together, each is asked for itself; one that is refused has failed with the refusal's code.
create or replace function tenure.steps_enqueue(
  p_now timestamptz, p_tenant_id integer, p_execs uuid[], p_numbers integer[], out told tenure.execution_told[], out refused_execs uuid[], out refused_numbers integer[])
language plpgsql
as $$
declare
  v_caller tenure.caller_identity;
  v_jobs   record;
  v_new    record;
  v_one    record;
  v_state text; v_what text; v_why text; v_next text;
begin
  told := '{}'; refused_execs := '{}'; refused_numbers := '{}';
  v_caller.tenant_id := p_tenant_id;
  v_caller.principal := 'execution';
  v_caller.scope := 'execution';
  begin
    select array_agg(s.kind) as kinds, array_agg(s.payload) as payloads, array_agg(s.key) as keys, array_agg(s.executor) as executors, array_agg(s.priority) as priorities,
           array_agg(s.target_ref) as target_refs, array_agg(s.payload_ref) as payload_refs, array_agg(s.classification) as classifications, array_agg(s.attempts_max) as attempts_max, array_agg(s.correlation_id) as correlations,
           array_agg(s.execution_id) as workflows, array_agg('tenure.execution'::text) as systems, array_agg(s.timeout_seconds) as timeouts, array_agg(s.on_lost) as on_lost,
           array_agg(s.renewals_max) as renewals, array_agg(tenure.lease_floor(s.lease_seconds)) as floors,
           array_agg(s.origin) as origins
      into v_jobs
      -- Put in order once, not for each of the arrays.
      from (select s.kind, s.payload::json as payload,
                   tenure.step_origin(s.execution_id, s.step_number, s.step_id, s.action, s.action_class,
                     s.target_type, e.plan_hash) as origin,
                   'step ' || s.execution_id::text || ' ' || s.step_number::text as key, s.executor, e.priority::integer as priority, s.target_ref, s.payload_ref, s.attempts_max::integer as attempts_max,
                   nullif(s.payload_classification, 'safe_metadata') as classification,
                   e.correlation_id, e.execution_id, s.timeout_seconds, case s.effects when 'once' then 'fail' end as on_lost, s.renewals_max, s.lease_seconds
              from unnest(p_execs, p_numbers) with ordinality t (e, n, turn)
              cross join lateral (select s.* from tenure.steps s where s.execution_id = t.e and s.step_number = t.n offset 0) s
              cross join lateral (select e.* from tenure.executions e where e.execution_id = t.e offset 0) e
             order by t.turn) s;
    v_new := tenure.enqueue_batch(v_caller, tenure.tuning(p_tenant_id), p_now, v_jobs.kinds, v_jobs.payloads, v_jobs.keys, v_jobs.executors, v_jobs.priorities, null, null, null, v_jobs.target_refs,
      v_jobs.payload_refs, v_jobs.classifications, v_jobs.attempts_max, v_jobs.correlations, null, null, v_jobs.workflows, null, null, null, v_jobs.systems, null, null, v_jobs.timeouts, null, v_jobs.on_lost,
      v_jobs.renewals, 'fail', v_jobs.floors, v_jobs.origins);
    if v_new.unmade <> '{}' then
      perform tenure.refuse('key_taken', 'Another job has the key of the step.', 'Keys that begin with "step" and an execution are for steps.', 'Cancel that job, and retry the execution.');
    end if;
    with made as (
      update tenure.steps s
         set state = 'running', needs_left = 0, job_id = n.job_id, queued_at = p_now, dispatches = s.dispatches + 1, blocked_order = null, blocked_at = null
        from (select t.job_id, t.turn, s.place
                from unnest(p_execs, p_numbers, v_new.ids) with ordinality t (e, n, job_id, turn)
                cross join lateral (select s.ctid as place from tenure.steps s where s.execution_id = t.e and s.step_number = t.n offset 0) s) n
       where s.ctid = n.place
      returning n.turn, s.execution_id, s.step_number, s.job_id, s.fence, s.lock_target
    )
    select array_agg((m.execution_id, 'step_queued', m.step_number,
             case when m.lock_target is null then jsonb_build_object('job_id', m.job_id) else jsonb_build_object('job_id', m.job_id, 'target', m.lock_target, 'fence', m.fence) end)::tenure.execution_told)
      into told from (select m.* from made m order by m.turn) m;
    return;
  exception when others then
    get stacked diagnostics v_state = returned_sqlstate, v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
    if v_state not like 'TN%' then
      raise;
    end if;
  end;

  if cardinality(p_execs) > 1 then
    for v_at in 1 .. cardinality(p_execs) loop
      v_one := tenure.steps_enqueue(p_now, p_tenant_id, p_execs[v_at : v_at], p_numbers[v_at : v_at]);
      told := told || v_one.told;
      refused_execs := refused_execs || v_one.refused_execs;
      refused_numbers := refused_numbers || v_one.refused_numbers;
    end loop;
    return;
  end if;
  update tenure.steps s
     set state = 'failed', needs_left = 0, ended_at = p_now, blocked_order = null, blocked_at = null, error_code = tenure.refusal(v_state, v_what, v_why, v_next) ->> 'code', error_class = 'refused',
         error_message = tenure.cut_text(v_what || ' ' || v_why, tenure.limit_of('error_message_bytes_max')::integer)
   where s.execution_id = p_execs[1] and s.step_number = p_numbers[1]
  returning array[(s.execution_id, 'step_failed', s.step_number, jsonb_build_object('error_code', s.error_code, 'error_class', s.error_class,
    'error_message', left(s.error_message, 500), 'ended_at', s.ended_at))::tenure.execution_told] into told;
  refused_execs := p_execs;
  refused_numbers := p_numbers;
end
$$;

-- Who is next at a target that was freed. An execution that somebody else holds is not waited for: the target keeps a mark, and the next tick hands over.
-- So it does when many in the line may not start now: one hand-over sends so many out of it, and no more.
create or replace function tenure.lock_hand_over(
  p_now timestamptz, p_actor text, p_tenant_id integer, p_target text, inout told tenure.execution_told[], out refused_execs uuid[], out refused_numbers integer[])
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_next record;
  v_exec tenure.executions;
  v_done record;
  v_sent bigint := 0;
  v_allowed text;
begin
  refused_execs := '{}'; refused_numbers := '{}';
  loop
    select s.execution_id, s.step_number, s.lock_action into v_next
      from tenure.steps s
     where s.tenant_id = p_tenant_id and s.lock_target = p_target and s.blocked_order is not null
     order by s.priority desc, s.blocked_order limit 1;
    exit when not found;
    exit when exists (select from tenure.locks l where l.tenant_id = p_tenant_id and l.target = p_target and (l.action in ('', v_next.lock_action) or v_next.lock_action = '')
                         and (l.execution_id is not null or l.expires_at > p_now));
    select e.* into v_exec from tenure.executions e where e.execution_id = v_next.execution_id for no key update skip locked;
    if not found or v_sent >= tenure.limit_of('hand_over_steps_max') then
      update tenure.lock_targets t set owing = true where t.tenant_id = p_tenant_id and t.target = p_target and not t.owing;
      return;
    end if;
    -- Somebody had it before us, and may have ended it meanwhile.
    continue when not exists (select from tenure.steps s where s.execution_id = v_next.execution_id and s.step_number = v_next.step_number and s.state = 'blocked');
    if v_exec.state = 'approved' and v_exec.start_before <= p_now then
      perform tenure.execution_call_off(p_now, 'policy', v_exec.execution_id, 'window_passed', format('It had to start before %s.', v_exec.start_before));
      v_sent := v_sent + v_exec.step_count;
      continue;
    end if;
    if v_exec.state = 'approved' then
      v_allowed := tenure.execution_allowed(p_now, v_exec);
      if v_allowed = 'busy' then
        update tenure.lock_targets t set owing = true where t.tenant_id = p_tenant_id and t.target = p_target and not t.owing;
        return;
      elsif v_allowed = 'gone' then
        v_sent := v_sent + v_exec.step_count;
        continue;
      end if;
    end if;
    update tenure.steps s set state = 'waiting', blocked_order = null, blocked_at = null where s.execution_id = v_next.execution_id and s.step_number = v_next.step_number;
    if v_exec.state = 'approved' and tenure.execution_parks(p_now, v_exec) then
      -- Its other steps have left their lines with this one.
      v_sent := v_sent + v_exec.step_count;
      continue;
    end if;
    v_done := tenure.steps_dispatch(p_now, p_actor, array[v_next.execution_id], array[v_next.step_number], true, v_exec.state = 'running', told);
    told := v_done.told;
    if v_exec.state = 'approved' then
      -- It has begun; approvals of its other steps may have to be looked at before its time is over.
      perform tenure.executions_schedule(p_now, array[v_next.execution_id]);
    end if;
    refused_execs := refused_execs || v_done.refused_execs;
    refused_numbers := refused_numbers || v_done.refused_numbers;
  end loop;
end
$$;

-- Steps have left the lines of these targets: whoever waited only for them may go, which the next tick sees to. A target that somebody has in hand is passed over: it is handed on from there.
create or replace function tenure.lines_left(p_tenants integer[], p_targets text[]) returns void
language plpgsql
set enable_seqscan = off
as $$
begin
  update tenure.lock_targets t set owing = true
    from (select x.tenant_id, x.target from tenure.lock_targets x
           where (x.tenant_id, x.target) in (select l.tenant_id, l.target from unnest(p_tenants, p_targets) l (tenant_id, target)) and not x.owing
             and exists (select from tenure.steps w where w.tenant_id = x.tenant_id and w.lock_target = x.target and w.blocked_order is not null)
           order by x.tenant_id, x.target for no key update skip locked) x
   where t.tenant_id = x.tenant_id and t.target = x.target;
end
$$;
