-- A freed target goes to the next step in its line. Steps take locks in steps/lock.sql.

-- Hands a freed target over and advances the executions of the steps that were refused. The caller holds the
-- target.
create or replace function tenure.lock_freed(
  p_now timestamptz, p_actor text, p_tenant_id integer, p_target text) returns void
language plpgsql
as $$
declare
  v_hand record;
begin
  p_now := greatest(p_now, tenure.now());
  v_hand := tenure.lock_hand_over(p_now, p_actor, p_tenant_id, p_target, '{}');
  perform tenure.executions_advance(p_now, p_actor, v_hand.refused_execs, v_hand.refused_numbers,
    array_fill('failed'::text, array[cardinality(v_hand.refused_execs)]), v_hand.entries);
end
$$;

-- Starts the next steps in the queue of a freed target. Does not wait for an execution that another
-- transaction holds: the next tick hands the target over. The same happens after hand_over_steps_max steps
-- that may not start now were sent out of the queue.
create or replace function tenure.lock_hand_over(
  p_now timestamptz, p_actor text, p_tenant_id integer, p_target text, inout entries tenure.chain_entry[],
  out refused_execs uuid[], out refused_numbers integer[])
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_next    record;
  v_exec    tenure.execution_rows;
  v_done    record;
  v_sent    bigint := 0;
  v_allowed text;
begin
  refused_execs := '{}';
  refused_numbers := '{}';
  loop
    select q.execution_id, q.step_number, q.action
      into v_next
      from tenure.lock_queue q
     where q.tenant_id = p_tenant_id
       and q.target = p_target
     order by q.priority desc, q.turn
     limit 1;
    exit when not found;
    exit when exists (
      select
        from tenure.locks l
       where l.tenant_id = p_tenant_id
         and l.target = p_target
         and (l.action in ('', v_next.action) or v_next.action = '')
         and (l.execution_id is not null or l.expires_at > p_now));
    perform
       from tenure.execution_states e
      where e.execution_id = v_next.execution_id
        for no key update skip locked;
    if not found or v_sent >= tenure.limit_of('hand_over_steps_max') then
      perform tenure.follow_up_note('lock_grant', array[p_tenant_id], array[p_target], p_now);
      return;
    end if;
    -- The transaction that held the execution before this one may have ended the step.
    continue when not exists (
      select
        from tenure.lock_queue q
       where q.execution_id = v_next.execution_id
         and q.step_number = v_next.step_number);
    select e.* into v_exec from tenure.execution_rows e where e.execution_id = v_next.execution_id;
    if v_exec.state = 'approved' and v_exec.start_before <= p_now then
      perform tenure.execution_end_unstarted(p_now, 'policy', v_exec.execution_id, 'window_passed',
        format('It had to start before %s.', v_exec.start_before));
      v_sent := v_sent + v_exec.step_count;
      continue;
    end if;
    if v_exec.state = 'approved' then
      v_allowed := tenure.execution_approval_stands(p_now, v_exec);
      if v_allowed = 'busy' then
        perform tenure.follow_up_note('lock_grant', array[p_tenant_id], array[p_target], p_now);
        return;
      elsif v_allowed = 'gone' then
        v_sent := v_sent + v_exec.step_count;
        continue;
      end if;
    end if;
    delete from tenure.lock_queue q
     where q.execution_id = v_next.execution_id
       and q.step_number = v_next.step_number;
    update tenure.step_states s
       set state = 'waiting'
     where s.execution_id = v_next.execution_id
       and s.step_number = v_next.step_number
       and s.state = 'blocked';
    continue when not found;
    if v_exec.state = 'approved' and tenure.execution_park(p_now, v_exec) then
      -- Its other steps have left their queues with this one.
      v_sent := v_sent + v_exec.step_count;
      continue;
    end if;
    v_done := tenure.steps_dispatch(p_now, p_actor, array[v_next.execution_id], array[v_next.step_number],
      true, v_exec.state = 'running', entries);
    entries := v_done.entries;
    if v_exec.state = 'approved' then
      -- It has begun: approvals of its other steps may be due before its timeout.
      perform tenure.executions_set_due(p_now, array[v_next.execution_id]);
    end if;
    refused_execs := refused_execs || v_done.refused_execs;
    refused_numbers := refused_numbers || v_done.refused_numbers;
  end loop;
end
$$;
