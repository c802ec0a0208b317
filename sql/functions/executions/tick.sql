-- Time-driven transitions of executions: expiries, windows, timeouts, and follow-ups of steps and locks. Any
-- server may tick; ticks do not wait for each other.

-- Does what is due for one execution, and returns the name of its count in tenure.execution_tick. The caller
-- holds the execution.
create or replace function tenure.execution_handle_due(p_now timestamptz, p_execution_id uuid) returns text
language plpgsql
as $$
declare
  v_exec     tenure.execution_rows;
  v_approval tenure.approvals;
  v_did      text := 'looked';
begin
  select e.* into v_exec from tenure.execution_rows e where e.execution_id = p_execution_id;
  if v_exec.ended_at is not null then
    return v_did;
  end if;
  -- Too late to start. This comes first, unless one of its approvals expired earlier.
  if v_exec.started_at is null
     and v_exec.start_before <= p_now
     and v_exec.state in ('pending', 'awaiting_approval', 'approved')
     and not exists (
       select
         from tenure.approvals a
        where a.execution_id = v_exec.execution_id
          and a.state = 'pending'
          and a.expires_at <= v_exec.start_before) then
    perform tenure.execution_end_unstarted(p_now, 'policy', v_exec.execution_id, 'window_passed',
      format('It had to start before %s.', v_exec.start_before));
    return v_did;
  end if;
  for v_approval in
    select a.*
      from tenure.approvals a
     where a.execution_id = v_exec.execution_id
       and a.state = 'pending'
     order by a.created_at, a.step_number, a.approval_id
  loop
    -- Later than what the approval before it has caused.
    p_now := greatest(p_now, tenure.now());
    if v_approval.expires_at <= p_now then
      update tenure.approvals a
         set state = 'expired',
             decided_at = p_now,
             decided_by = 'policy',
             reason = format('It was not decided until %s.', a.expires_at)
       where a.approval_id = v_approval.approval_id
         and a.state = 'pending'
      returning a.* into v_approval;
      -- The expiry of an earlier one stopped the execution and withdrew this approval with it.
      continue when not found;
      perform tenure.approval_apply(p_now, 'policy', v_approval, v_approval.reason);
      v_did := 'expired';
      exit when exists (
        select
          from tenure.execution_states e
         where e.execution_id = v_exec.execution_id
           and e.ended_at is not null);
    elsif v_approval.escalated_at is null and v_approval.escalate_at <= p_now then
      update tenure.approvals a
         set escalated_at = p_now
       where a.approval_id = v_approval.approval_id
         and a.state = 'pending';
      continue when not found;
      perform tenure.chain_append(p_now, 'policy', array[(
        v_exec.execution_id, 'approval_escalated', v_approval.step_number, jsonb_build_object(
          'approval_id', v_approval.approval_id,
          'roles', v_approval.roles,
          'expires_at', v_approval.expires_at))::tenure.chain_entry]);
      v_did := 'escalated';
    end if;
  end loop;
  select e.* into v_exec from tenure.execution_rows e where e.execution_id = v_exec.execution_id;
  if v_exec.state = 'approved' then
    perform tenure.executions_try_start(p_now, 'policy', array[v_exec.execution_id], 'skip');
    v_did := case
      when exists (
        select
          from tenure.execution_states e
         where e.execution_id = v_exec.execution_id
           and e.state = 'running') then 'started'
      else v_did
    end;
  elsif v_exec.state = 'running' and v_exec.stopping is not null then
    if v_exec.stopping = 'step_failed'
       and v_exec.timeout_at <= p_now
       and v_exec.steps_unknown = 0 then
      perform tenure.execution_stop(p_now, 'policy', v_exec.execution_id, 'timed_out', 'timed_out',
        format('It took longer than %s ms.', v_exec.timeout_ms));
    elsif v_exec.stopping = 'step_failed' then
      perform tenure.step_jobs_withdraw(p_now, 'policy', v_exec.execution_id,
        'A step of its execution failed.');
    else
      perform tenure.step_jobs_stop(p_now, coalesce(v_exec.stopped_by, 'policy'), v_exec.execution_id,
        v_exec.reason);
    end if;
  elsif v_exec.state = 'running' and v_exec.timeout_at <= p_now then
    if v_exec.steps_unknown = 0
       and not exists (
         select
           from tenure.approvals a
          where a.execution_id = v_exec.execution_id
            and a.state = 'pending') then
      perform tenure.execution_stop(p_now, 'policy', v_exec.execution_id, 'timed_out', 'timed_out',
        format('It took longer than %s ms.', v_exec.timeout_ms));
      v_did := 'timed_out';
    end if;
  end if;
  -- While it waits for a decision, a timeout that has passed does not count yet: look again later.
  perform tenure.executions_set_due(p_now, array[v_exec.execution_id]);
  update tenure.execution_states e
     set next_at = p_now + make_interval(secs => tenure.limit_of('execution_recheck_seconds'))
   where e.execution_id = v_exec.execution_id
     and e.next_at <= p_now
     and e.ended_at is null
     and e.stopping is null;
  return v_did;
end
$$;

-- One round over follow-ups of steps and locks, expired locks and due executions, at most p_limit of each.
-- Returns the counts. An error in one of them becomes a warning; it does not keep the others waiting.
-- granted to: admin, operator
create or replace function tenure.execution_tick(p_limit integer default 100) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_tenants integer[] := tenure.open_tenants(v_caller);
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  perform tenure.check_isolation();
  -- In this order: the end of a run comes before the start of the next.
  return jsonb_build_object('followed', tenure.tick_ends(v_now, v_tenants, p_limit))
    || jsonb_build_object('starts_written', tenure.tick_starts(v_now, v_tenants, p_limit))
    || tenure.tick_locks(v_now, v_tenants, p_limit)
    || tenure.tick_executions(v_now, v_tenants, p_limit);
end
$$;

-- Follows up ends of steps' jobs that met an execution which another transaction held. Returns how many.
create or replace function tenure.tick_ends(p_now timestamptz, p_tenants integer[], p_limit integer)
returns integer
language plpgsql
as $$
declare
  v_end  record;
  v_done integer := 0;
  v_what text;
begin
  for v_end in
    select f.tenant_id, f.subject, s.execution_id
      from tenure.follow_ups_due('step_end', p_tenants, p_limit) f
      left join tenure.step_states s on s.job_id = f.subject::uuid
  loop
    if v_end.execution_id is null then
      -- The step has another job by now.
      perform tenure.follow_up_take('step_end', v_end.tenant_id, v_end.subject);
      continue;
    end if;
    perform
       from tenure.execution_states e
      where e.execution_id = v_end.execution_id
        for no key update skip locked;
    continue when not found or not tenure.executions_lock_rows(
      array[v_end.execution_id], array[v_end.subject::uuid]);
    begin
      if tenure.follow_up_take('step_end', v_end.tenant_id, v_end.subject) then
        v_what := tenure.step_ends_try(p_now, 'policy', array[v_end.subject::uuid]);
        if v_what is not null then
          raise exception '%', v_what;
        end if;
        v_done := v_done + 1;
      end if;
    exception when others then
      get stacked diagnostics v_what = message_text;
      perform tenure.follow_up_failed('step_end', v_end.tenant_id, v_end.subject, p_now, v_what);
    end;
  end loop;
  return v_done;
end
$$;

-- Appends starts that met an execution which another transaction held. Returns how many.
create or replace function tenure.tick_starts(p_now timestamptz, p_tenants integer[], p_limit integer)
returns integer
language plpgsql
as $$
declare
  v_jobs record;
  v_done integer := 0;
  v_what text;
begin
  for v_jobs in
    select s.execution_id, array_agg(s.job_id) as ids, min(f.tenant_id) as tenant_id,
           array_agg(f.subject) as subjects
      from tenure.follow_ups_due('step_start', p_tenants, p_limit) f
      left join tenure.step_states s on s.job_id = split_part(f.subject, '/', 1)::uuid
     -- The end of an earlier run comes first.
     where not exists (
             select
               from tenure.follow_ups o
              where o.task = 'step_end'
                and o.subject = split_part(f.subject, '/', 1)
                and o.tenant_id = f.tenant_id)
     group by s.execution_id
     order by s.execution_id
  loop
    if v_jobs.execution_id is null then
      -- Their steps have other jobs by now, or are archived.
      delete from tenure.follow_ups f where f.task = 'step_start' and f.subject = any (v_jobs.subjects);
      continue;
    end if;
    perform
       from tenure.execution_states e
      where e.execution_id = v_jobs.execution_id
        for no key update skip locked;
    continue when not found;
    begin
      v_done := v_done + tenure.starts_follow(p_now, v_jobs.ids, 'all');
    exception when others then
      get stacked diagnostics v_what = message_text;
      perform tenure.follow_up_failed('step_start', v_jobs.tenant_id, s, p_now, v_what)
         from unnest(v_jobs.subjects) s;
    end;
  end loop;
  return v_done;
end
$$;

-- Grants the locks of targets whose queues may go on, and removes locks taken by hand that have expired.
-- Locks of steps last as long as their steps. Returns the counts handed_over and expired_locks.
create or replace function tenure.tick_locks(p_now timestamptz, p_tenants integer[], p_limit integer)
returns jsonb
language plpgsql
as $$
declare
  v_target  record;
  v_gone    integer;
  v_was_due boolean;
  v_handed  integer := 0;
  v_expired integer := 0;
  v_what    text;
begin
  for v_target in
    select t.tenant_id, t.target
      from tenure.lock_targets t
     where t.tenant_id = any (p_tenants)
       and (t.tenant_id, t.target) in (
             select f.tenant_id, f.subject from tenure.follow_ups_due('lock_grant', p_tenants, p_limit) f
             union
             select x.tenant_id, x.target
               from (
                 select l.tenant_id, l.target
                   from tenure.locks l
                  where l.expires_at <= p_now
                    and l.execution_id is null
                    and l.tenant_id = any (p_tenants)
                  order by l.expires_at
                  limit p_limit) x)
     order by t.tenant_id, t.target
       for no key update skip locked
  loop
    -- After an error nothing of this target is done, and the next round tries again.
    begin
      v_was_due := tenure.follow_up_take('lock_grant', v_target.tenant_id, v_target.target);
      v_gone := tenure.locks_expire(p_now, v_target.tenant_id, v_target.target);
      perform tenure.lock_freed(p_now, 'policy', v_target.tenant_id, v_target.target);
      v_expired := v_expired + v_gone;
      v_handed := v_handed + v_was_due::integer;
    exception when others then
      get stacked diagnostics v_what = message_text;
      perform tenure.follow_up_failed('lock_grant', v_target.tenant_id, v_target.target, p_now, v_what);
    end;
  end loop;
  return jsonb_build_object('handed_over', v_handed, 'expired_locks', v_expired);
end
$$;

-- Does what is due for executions by the clock. Returns the counts looked, started, expired, escalated and
-- timed_out.
create or replace function tenure.tick_executions(p_now timestamptz, p_tenants integer[], p_limit integer)
returns jsonb
language plpgsql
as $$
declare
  v_sum  jsonb := '{"looked": 0, "started": 0, "expired": 0, "escalated": 0, "timed_out": 0}';
  v_id   uuid;
  v_did  text;
  v_what text;
begin
  for v_id in
    -- Found through the index on next_at, never by tenant (+ 0): a tenant may have many that are not due.
    select e.execution_id
      from tenure.execution_states e
     where e.next_at <= p_now
       and e.tenant_id + 0 = any (p_tenants)
     order by e.next_at, e.execution_id
     limit p_limit
       for no key update skip locked
  loop
    begin
      v_did := tenure.execution_handle_due(p_now, v_id);
    exception when others then
      get stacked diagnostics v_what = message_text;
      raise warning 'execution % could not be looked at: %', v_id, v_what;
      update tenure.execution_states e
         set next_at = p_now + make_interval(secs => tenure.limit_of('execution_recheck_seconds'))
       where e.execution_id = v_id;
      v_did := 'looked';
    end;
    v_sum := jsonb_set(v_sum, array[v_did], to_jsonb((v_sum ->> v_did)::integer + 1));
  end loop;
  return v_sum;
end
$$;
