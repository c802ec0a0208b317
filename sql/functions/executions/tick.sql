-- Time-driven transitions of executions: expiries, windows, timeouts, and ends and locks that could not be
-- followed up at once. Any server may tick; ticks do not wait for each other.

-- Does what is due for one execution, and returns the name of its count in tenure.execution_tick. The caller
-- holds the execution.
create or replace function tenure.execution_look(p_now timestamptz, p_execution_id uuid) returns text
language plpgsql
as $$
declare
  p_execution tenure.execution_rows;
  v_approval  tenure.approvals;
  v_did       text := 'looked';
begin
  select e.* into p_execution from tenure.execution_rows e where e.execution_id = p_execution_id;
  if p_execution.ended_at is not null then
    return v_did;
  end if;
  -- Too late to start. This comes first, unless one of its approvals expired earlier.
  if p_execution.started_at is null
     and p_execution.start_before <= p_now
     and p_execution.state in ('pending', 'awaiting_approval', 'approved')
     and not exists (
       select
         from tenure.approvals a
        where a.execution_id = p_execution.execution_id
          and a.state = 'pending'
          and a.expires_at <= p_execution.start_before) then
    perform tenure.execution_call_off(p_now, 'policy', p_execution.execution_id, 'window_passed',
      format('It had to start before %s.', p_execution.start_before));
    return v_did;
  end if;
  for v_approval in
    select a.*
      from tenure.approvals a
     where a.execution_id = p_execution.execution_id
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
             reason = format('Nobody decided until %s.', a.expires_at)
       where a.approval_id = v_approval.approval_id
         and a.state = 'pending'
      returning a.* into v_approval;
      -- The expiry of an earlier one stopped the execution and withdrew this approval with it.
      continue when not found;
      perform tenure.approval_act(p_now, 'policy', v_approval, v_approval.reason);
      v_did := 'expired';
      exit when exists (
        select
          from tenure.execution_states e
         where e.execution_id = p_execution.execution_id
           and e.ended_at is not null);
    elsif v_approval.escalated_at is null and v_approval.escalate_at <= p_now then
      update tenure.approvals a
         set escalated_at = p_now
       where a.approval_id = v_approval.approval_id
         and a.state = 'pending';
      continue when not found;
      perform tenure.chain_append(p_now, 'policy', array[(
        p_execution.execution_id, 'approval_escalated', v_approval.step_number, jsonb_build_object(
          'approval_id', v_approval.approval_id,
          'roles', v_approval.roles,
          'expires_at', v_approval.expires_at))::tenure.execution_told]);
      v_did := 'escalated';
    end if;
  end loop;
  select e.* into p_execution from tenure.execution_rows e where e.execution_id = p_execution.execution_id;
  if p_execution.state = 'approved' then
    perform tenure.executions_begin(p_now, 'policy', array[p_execution.execution_id], 'skip');
    v_did := case
      when exists (
        select
          from tenure.execution_states e
         where e.execution_id = p_execution.execution_id
           and e.state = 'running') then 'started'
      else v_did
    end;
  elsif p_execution.state = 'running' and p_execution.stopping is not null then
    if p_execution.stopping = 'step_failed'
       and p_execution.timeout_at <= p_now
       and p_execution.steps_unknown = 0 then
      perform tenure.execution_stop(p_now, 'policy', p_execution.execution_id, 'timed_out', 'timed_out',
        format('It took longer than %s ms.', p_execution.timeout_ms));
    elsif p_execution.stopping = 'step_failed' then
      perform tenure.jobs_withdraw(p_now, 'policy', array[p_execution.execution_id]);
    else
      perform tenure.jobs_stop(p_now, coalesce(p_execution.stopped_by, 'policy'), p_execution.execution_id,
        p_execution.reason);
    end if;
  elsif p_execution.state = 'running' and p_execution.timeout_at <= p_now then
    if p_execution.steps_unknown = 0
       and not exists (
         select
           from tenure.approvals a
          where a.execution_id = p_execution.execution_id
            and a.state = 'pending') then
      perform tenure.execution_stop(p_now, 'policy', p_execution.execution_id, 'timed_out', 'timed_out',
        format('It took longer than %s ms.', p_execution.timeout_ms));
      v_did := 'timed_out';
    end if;
  end if;
  -- While it waits for a decision, a timeout that has passed does not count yet: look again in a minute.
  perform tenure.executions_schedule(p_now, array[p_execution.execution_id]);
  update tenure.execution_states e
     set next_at = p_now + interval '1 minute'
   where e.execution_id = p_execution.execution_id
     and e.next_at <= p_now
     and e.ended_at is null
     and e.stopping is null;
  return v_did;
end
$$;

-- One round over ends of jobs that were not followed up, targets that were not handed over, expired locks and
-- due executions, at most p_limit of each. Returns the counts. An error while it follows up a job, hands over
-- a target or looks at an execution becomes a warning; it does not keep the others waiting.
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
  v_sum     jsonb :=
    '{"followed": 0, "starts_written": 0, "handed_over": 0, "expired_locks": 0, "looked": 0, "started": 0, '
    '"expired": 0, "escalated": 0, "timed_out": 0}';
  v_row     record;
  v_gone    bigint;
  v_did     text;
  v_what    text;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  perform tenure.check_isolation();
  for v_row in
    select m.job_id, s.execution_id
      from tenure.step_marks m
      join tenure.step_states s on s.job_id = m.job_id
     where m.tenant_id = any (v_tenants)
     order by m.at
     limit p_limit
       for update of m skip locked
  loop
    perform
       from tenure.execution_states e
      where e.execution_id = v_row.execution_id
        for no key update skip locked;
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

  -- Locks of steps last as long as their steps; locks taken by hand last until they expire.
  for v_row in
    select t.tenant_id, t.target, t.owing
      from tenure.lock_targets t
     where t.tenant_id = any (v_tenants)
       and (t.tenant_id, t.target) in (
             select o.tenant_id, o.target
               from (
                 select o.tenant_id, o.target
                   from tenure.lock_targets o
                  where o.owing
                    and o.tenant_id = any (v_tenants)
                  limit p_limit) o
             union
             select x.tenant_id, x.target
               from (
                 select l.tenant_id, l.target
                   from tenure.locks l
                  where l.expires_at <= v_now
                    and l.execution_id is null
                    and l.tenant_id = any (v_tenants)
                  order by l.expires_at
                  limit p_limit) x)
     order by t.tenant_id, t.target
       for no key update skip locked
  loop
    -- After an error nothing of this target is done, and the next round tries again.
    begin
      update tenure.lock_targets t
         set owing = false
       where t.tenant_id = v_row.tenant_id
         and t.target = v_row.target
         and t.owing;
      with gone as (
        delete from tenure.locks l
         where l.tenant_id = v_row.tenant_id
           and l.target = v_row.target
           and l.execution_id is null
           and l.expires_at <= v_now
        returning l.lock_key, l.owner, l.fence
      ), told as (
        insert into tenure.events (at, tenant_id, kind, actor, subject, data)
        select v_now, v_row.tenant_id, 'lock.expired', 'policy', g.lock_key,
               jsonb_build_object('owner', g.owner, 'fence', g.fence)
          from gone g
      )
      select count(*) into v_gone from gone;
      perform tenure.lock_freed(v_now, 'policy', v_row.tenant_id, v_row.target);
      v_sum := jsonb_set(v_sum, '{expired_locks}',
        to_jsonb((v_sum ->> 'expired_locks')::integer + v_gone));
      if v_row.owing then
        v_sum := jsonb_set(v_sum, '{handed_over}', to_jsonb((v_sum ->> 'handed_over')::integer + 1));
      end if;
    exception when others then
      get stacked diagnostics v_what = message_text;
      raise warning 'target % could not be handed on: %', v_row.target, v_what;
    end;
  end loop;

  for v_row in
    -- Found through the index on next_at, never by tenant (+ 0): a tenant may have many that are not due.
    select e.execution_id
      from tenure.execution_states e
     where e.next_at <= v_now
       and e.tenant_id + 0 = any (v_tenants)
     order by e.next_at, e.execution_id
     limit p_limit
       for no key update skip locked
  loop
    begin
      v_did := tenure.execution_look(v_now, v_row.execution_id);
    exception when others then
      get stacked diagnostics v_what = message_text;
      raise warning 'execution % could not be looked at: %', v_row.execution_id, v_what;
      update tenure.execution_states e
         set next_at = v_now + interval '1 minute'
       where e.execution_id = v_row.execution_id;
      v_did := 'looked';
    end;
    v_sum := jsonb_set(v_sum, array[v_did], to_jsonb((v_sum ->> v_did)::integer + 1));
  end loop;
  return v_sum;
end
$$;
