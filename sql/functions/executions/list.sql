-- Reading many executions: pages of them.

-- Executions of the tenant, newest first, in one of the states p_state. p_target: type:ref or
-- type:ref:action, as in a lock. p_before: the id of the last execution of the previous page.
-- granted to: all
create or replace function tenure.execution_list(
  p_state text[] default null, p_requested_by text default null, p_target text default null,
  p_before uuid default null, p_limit integer default 50)
returns table (
  execution_id uuid, state text, purpose text, requested_by text, plan_hash text, sla_class text,
  action_class text, mode text, priority integer, approval_level integer, rule text, parked text,
  stopping text, reason_code text, generator text, correlation_id text, step_count integer,
  steps_open integer, steps_succeeded integer, steps_failed integer, steps_skipped integer,
  steps_cancelled integer, steps_unknown integer, created_at timestamptz, started_at timestamptz,
  ended_at timestamptz, queue_wait_ms bigint, duration_ms bigint, error_message text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_read   record;
  v_type   text;
  v_action text;
  v_ref    text;
  v_fold   boolean := false;
  v_ids    uuid[];
  v_before timestamptz;
  v_state  text := case when cardinality(p_state) = 1 then p_state[1] end;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_filter('state', p_state, array[
      'pending', 'awaiting_approval', 'approved', 'running', 'succeeded', 'partially_failed', 'failed',
      'cancelled', 'rejected'], 'state_unknown');
  end if;
  if p_before is not null then
    select b.created_at into v_before
      from tenure.executions b
     where b.execution_id = p_before
       and b.tenant_id = v_tenant;
    if not found then
      perform tenure.refuse_execution(p_before);
    end if;
  end if;
  if p_target is not null then
    v_read := tenure.lock_read(p_target);
    v_ref := replace(replace(split_part(v_read.target, ':', 2), '%3A', ':'), '%25', '%');
    v_type := split_part(v_read.target, ':', 1);
    v_action := v_read.action;
    v_fold := exists (
      select
        from tenure.target_types t
       where t.tenant_id = v_tenant
         and t.name = v_type
         and t.case_rule = 'lower');
    -- A few executions are looked up by id. For a target with more of them than list_rows_max, going back
    -- from the newest execution of all meets a page of them soon.
    v_ids := array(
      select s.execution_id
        from tenure.steps s
       where s.tenant_id = v_tenant
         and s.target_type = v_type
         and (s.target_ref = v_ref or (v_fold and lower(s.target_ref collate "C") = v_ref))
         and (v_action = '' or s.action = v_action)
       limit tenure.limit_of('list_rows_max') + 1);
    if cardinality(v_ids) > tenure.limit_of('list_rows_max') then
      v_ids := null;
    end if;
  end if;
  return query
    select e.execution_id, s.state, e.purpose, e.requested_by, e.plan_hash, e.sla_class, e.action_class,
           s.mode, e.priority::integer, e.approval_level::integer, e.rule, s.parked, s.stopping,
           s.reason_code, e.generator, e.correlation_id, s.step_count, s.steps_open, s.steps_succeeded,
           s.steps_failed, s.steps_skipped, s.steps_cancelled, s.steps_unknown, e.created_at, s.started_at,
           s.ended_at, tenure.milliseconds(e.created_at, s.started_at),
           tenure.milliseconds(s.started_at, s.ended_at), s.error_message
      from tenure.executions e
      -- The tenant and the time as well: then an index of either table can give the order.
      join tenure.execution_states s
        on s.execution_id = e.execution_id
       and s.tenant_id = e.tenant_id
       and s.created_at = e.created_at
     where e.tenant_id = v_tenant
       -- By equality for one state: then the index on states gives the order.
       and (v_state is null or s.state = v_state)
       and (p_state is null or v_state is not null or s.state = any (p_state))
       and (p_requested_by is null or e.requested_by = p_requested_by)
       and (p_before is null or (e.created_at, e.execution_id) < (v_before, p_before))
       and (p_target is null or v_ids is null or e.execution_id = any (v_ids))
       -- One look into each execution, never a join with all steps.
       and (p_target is null or v_ids is not null or (
         select true
           from tenure.steps s
          where s.execution_id = e.execution_id
            and s.target_type = v_type
            and (s.target_ref = v_ref or (v_fold and lower(s.target_ref collate "C") = v_ref))
            and (v_action = '' or s.action = v_action)
          limit 1))
     order by e.created_at desc, e.execution_id desc
     limit p_limit;
end
$$;
