-- What happens to executions by itself: expiries, windows, timeouts, ends and locks that could not be followed up at once. Any server may tick; nobody waits for another.

-- Says when somebody has to look at executions again. The caller holds them.
create or replace function tenure.executions_schedule(p_now timestamptz, p_ids uuid[]) returns void
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  update tenure.executions e
     set next_at = n.next_at
    from (select x.place,
                 least(
                   (select min(least(case when a.escalated_at is null then a.escalate_at end, a.expires_at)) from tenure.approvals a where a.execution_id = x.execution_id and a.state = 'pending'),
                   -- Until it starts: then it is too late, whether it is approved or not.
                   case when x.state in ('pending', 'awaiting_approval') then x.start_before end,
                   case x.state
                     when 'approved' then least(x.start_before, x.lapses_at, case x.parked when 'window' then greatest(tenure.window_opens(x.start_window, p_now), x.start_after)
                       -- Looked at anyway: a freeze may be lifted just while this is parked.
                       when 'freeze' then least(p_now + interval '1 minute', (select f.until from tenure.freezes f where f.tenant_id = x.tenant_id and f.ended_at is null and f.until > p_now))
                       -- Somebody was in the way when it was to start.
                       else (select p_now + interval '500 milliseconds' from tenure.steps s where s.execution_id = x.execution_id and s.state = 'waiting' and s.needs_left = 0 limit 1) end)
                     when 'running' then case when x.stopping is not null then p_now + interval '2 seconds' else x.timeout_at end
                   end) as next_at
            from (select x.ctid as place, x.* from tenure.executions x where x.execution_id = any (p_ids) offset 0) x where x.ended_at is null) n
   where e.ctid = n.place and e.next_at is distinct from n.next_at;
end
$$;

-- How much longer the clock of an execution stood still, now that a wait for somebody is over: the part of it that no other wait has counted. Several may be open at once,
-- for approvals of steps or for verdicts; what they have in common counts once. The caller holds the execution.
create or replace function tenure.clock_stood(p_execution tenure.executions, p_from timestamptz, p_to timestamptz, p_approval_id uuid) returns interval
language sql stable
as $$
  with counted as (
    select tstzrange(a.created_at, a.decided_at) as stood
      from tenure.approvals a
     where a.execution_id = p_execution.execution_id and a.step_number is not null and a.approval_id is distinct from p_approval_id and a.state in ('approved', 'rejected', 'expired')
    union all
    select tstzrange(u.at, greatest(u.at, r.at))
      from tenure.execution_events r
      cross join lateral (
        select u.at from tenure.execution_events u
         where u.execution_id = r.execution_id and u.step_number = r.step_number and u.kind = 'step_unknown' and u.seq < r.seq order by u.seq desc limit 1) u
     where r.execution_id = p_execution.execution_id and r.kind = 'step_resolved'
  ), wait as (
    -- Before its start it had no clock.
    select greatest(p_from, p_execution.started_at) as since
  )
  select coalesce(sum(upper(x.stood) - lower(x.stood)), interval '0')
    from wait w
    cross join lateral unnest(tstzmultirange(tstzrange(w.since, greatest(w.since, p_to))) - coalesce((select range_agg(c.stood) from counted c), '{}')) x (stood)
$$;

-- Looks at one execution whose time has come. The caller holds it.
create or replace function tenure.execution_look(p_now timestamptz, p_execution tenure.executions) returns text
language plpgsql
as $$
declare
  v_approval tenure.approvals;
  v_did      text := 'looked';
begin
  -- As it is now: what was looked at before it, in the same round, may have been in its way and ended it.
  select e.* into p_execution from tenure.executions e where e.execution_id = p_execution.execution_id;
  if p_execution.ended_at is not null then
    return v_did;
  end if;
  -- It had to start, and nobody decided: that comes first, unless an approval of it had expired before.
  if p_execution.started_at is null and p_execution.start_before <= p_now and p_execution.state in ('pending', 'awaiting_approval', 'approved')
     and not exists (select from tenure.approvals a where a.execution_id = p_execution.execution_id and a.state = 'pending' and a.expires_at <= p_execution.start_before) then
    perform tenure.execution_call_off(p_now, 'policy', p_execution.execution_id, 'window_passed', format('It had to start before %s.', p_execution.start_before));
    return v_did;
  end if;
  for v_approval in select a.* from tenure.approvals a where a.execution_id = p_execution.execution_id and a.state = 'pending' order by a.created_at, a.step_number, a.approval_id loop
    -- Later than what the one before has brought about.
    p_now := greatest(p_now, tenure.now());
    if v_approval.expires_at <= p_now then
      update tenure.approvals a set state = 'expired', decided_at = p_now, decided_by = 'policy', reason = format('Nobody decided until %s.', a.expires_at) where a.approval_id = v_approval.approval_id and a.state = 'pending' returning a.* into v_approval;
      -- What expired before it has stopped the execution, and this one was withdrawn with it.
      continue when not found;
      perform tenure.approval_act(p_now, 'policy', v_approval, v_approval.reason);
      v_did := 'expired';
      exit when exists (select from tenure.executions e where e.execution_id = p_execution.execution_id and e.ended_at is not null);
    elsif v_approval.escalated_at is null and v_approval.escalate_at <= p_now then
      update tenure.approvals a set escalated_at = p_now where a.approval_id = v_approval.approval_id and a.state = 'pending';
      continue when not found;
      perform tenure.chain_append(p_now, 'policy', array[(p_execution.execution_id, 'approval_escalated', v_approval.step_number,
        jsonb_build_object('approval_id', v_approval.approval_id, 'roles', v_approval.roles, 'expires_at', v_approval.expires_at))::tenure.execution_told]);
      v_did := 'escalated';
    end if;
  end loop;
  select e.* into p_execution from tenure.executions e where e.execution_id = p_execution.execution_id;
  if p_execution.state = 'approved' then
    perform tenure.executions_begin(p_now, 'policy', array[p_execution.execution_id], 'skip');
    v_did := case when exists (select from tenure.executions e where e.execution_id = p_execution.execution_id and e.state = 'running') then 'started' else v_did end;
  elsif p_execution.state = 'running' and p_execution.stopping is not null then
    if p_execution.stopping = 'step_failed' and p_execution.timeout_at <= p_now and p_execution.steps_unknown = 0 then
      perform tenure.execution_stop(p_now, 'policy', p_execution.execution_id, 'timed_out', 'timed_out', format('It took longer than %s ms.', p_execution.timeout_ms));
    elsif p_execution.stopping = 'step_failed' then
      perform tenure.jobs_withdraw(p_now, 'policy', array[p_execution.execution_id]);
    else
      perform tenure.jobs_stop(p_now, coalesce(p_execution.stopped_by, 'policy'), p_execution.execution_id, p_execution.reason);
    end if;
  elsif p_execution.state = 'running' and p_execution.timeout_at <= p_now then
    if p_execution.steps_unknown = 0 and not exists (select from tenure.approvals a where a.execution_id = p_execution.execution_id and a.state = 'pending') then
      perform tenure.execution_stop(p_now, 'policy', p_execution.execution_id, 'timed_out', 'timed_out', format('It took longer than %s ms.', p_execution.timeout_ms));
      v_did := 'timed_out';
    end if;
  end if;
  -- While it waits for somebody, its timeout has passed and means nothing yet: another look in a minute.
  perform tenure.executions_schedule(p_now, array[p_execution.execution_id]);
  update tenure.executions e set next_at = p_now + interval '1 minute' where e.execution_id = p_execution.execution_id and e.next_at <= p_now and e.ended_at is null and e.stopping is null;
  return v_did;
end
$$;

-- One round: ends that were left, freed targets that were left, locks that have expired, executions whose time has come; at most p_limit of each. Answers how many of what.
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
  v_sum     jsonb := '{"followed": 0, "starts_written": 0, "handed_over": 0, "expired_locks": 0, "looked": 0, "started": 0, "expired": 0, "escalated": 0, "timed_out": 0}';
  v_row     record;
  v_gone    bigint;
  v_exec    tenure.executions;
  v_did     text;
  v_what    text;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  perform tenure.check_isolation();
  for v_row in
    select m.job_id, s.execution_id from tenure.step_marks m join tenure.steps s on s.job_id = m.job_id where m.tenant_id = any (v_tenants) order by m.at limit p_limit for update of m skip locked
  loop
    perform from tenure.executions e where e.execution_id = v_row.execution_id for no key update skip locked;
    continue when not found;
    if tenure.executions_hold(array[v_row.execution_id], array[v_row.job_id]) then
      begin
        perform tenure.executions_follow(v_now, 'policy', array[v_row.job_id]);
        delete from tenure.step_marks m where m.job_id = v_row.job_id;
        v_sum := jsonb_set(v_sum, '{followed}', to_jsonb((v_sum ->> 'followed')::integer + 1));
      exception when others then
        get stacked diagnostics v_what = message_text;
        raise warning 'job % of a step could not be followed up: %', v_row.job_id, v_what;
        update tenure.step_marks m set trouble = v_what, at = v_now where m.job_id = v_row.job_id;
      end;
    end if;
  end loop;

  v_sum := jsonb_set(v_sum, '{starts_written}', to_jsonb(tenure.starts_tick(v_now, v_tenants, p_limit)));

  -- Locks of steps last as long as their steps; those that somebody took by hand until they expire.
  for v_row in
    select t.tenant_id, t.target, t.owing
      from tenure.lock_targets t
     where t.tenant_id = any (v_tenants)
       and (t.tenant_id, t.target) in (
         select o.tenant_id, o.target from (select o.tenant_id, o.target from tenure.lock_targets o where o.owing and o.tenant_id = any (v_tenants) limit p_limit) o
         union
         select x.tenant_id, x.target from (select l.tenant_id, l.target from tenure.locks l where l.expires_at <= v_now and l.execution_id is null and l.tenant_id = any (v_tenants) order by l.expires_at limit p_limit) x)
     order by t.tenant_id, t.target for no key update skip locked
  loop
    -- What is wrong with one target keeps no other waiting. Nothing of it is done then, and the next round tries again.
    begin
      update tenure.lock_targets t set owing = false where t.tenant_id = v_row.tenant_id and t.target = v_row.target and t.owing;
      with gone as (
        delete from tenure.locks l where l.tenant_id = v_row.tenant_id and l.target = v_row.target and l.execution_id is null and l.expires_at <= v_now
        returning l.lock_key, l.owner, l.fence
      ), told as (
        insert into tenure.events (at, tenant_id, kind, actor, subject, data)
        select v_now, v_row.tenant_id, 'lock.expired', 'policy', g.lock_key, jsonb_build_object('owner', g.owner, 'fence', g.fence) from gone g
      )
      select count(*) into v_gone from gone;
      perform tenure.lock_freed(v_now, 'policy', v_row.tenant_id, v_row.target);
      v_sum := jsonb_set(v_sum, '{expired_locks}', to_jsonb((v_sum ->> 'expired_locks')::integer + v_gone));
      if v_row.owing then
        v_sum := jsonb_set(v_sum, '{handed_over}', to_jsonb((v_sum ->> 'handed_over')::integer + 1));
      end if;
    exception when others then
      get stacked diagnostics v_what = message_text;
      raise warning 'target % could not be handed on: %', v_row.target, v_what;
    end;
  end loop;

  for v_exec in
    -- Found by their time, and never by their tenant (+ 0): of those there may be many that nobody has to look at.
    select e.* from tenure.executions e where e.next_at <= v_now and e.tenant_id + 0 = any (v_tenants) order by e.next_at, e.execution_id limit p_limit for no key update skip locked
  loop
    -- What is wrong with one keeps nobody else waiting: it is looked at again in a while.
    begin
      v_did := tenure.execution_look(v_now, v_exec);
    exception when others then
      get stacked diagnostics v_what = message_text;
      raise warning 'execution % could not be looked at: %', v_exec.execution_id, v_what;
      update tenure.executions e set next_at = v_now + interval '1 minute' where e.execution_id = v_exec.execution_id;
      v_did := 'looked';
    end;
    v_sum := jsonb_set(v_sum, array[v_did], to_jsonb((v_sum ->> v_did)::integer + 1));
  end loop;
  return v_sum;
end
$$;
