-- The steps of an execution as they are listed.

-- Steps of an execution in the order of the plan, in one of the states p_state, each with the state of its
-- job. waiting_place: the place of a blocked step in the queue for its lock, from 1.
-- granted to: all
create or replace function tenure.step_list(p_execution_id uuid, p_state text[] default null)
returns table (
  step_number integer, step_id text, state text, action text, action_class text, target_type text,
  target_ref text, kind text, executor text, effects text, needs text[], approval_level integer, rule text,
  lock_key text, fence bigint, timeout_seconds integer, attempts_max integer, attempt integer, job_id uuid,
  job_state text, worker text, carried_from uuid, queued_at timestamptz, started_at timestamptz,
  ended_at timestamptz, duration_ms bigint, output_summary jsonb, output_ref text,
  output_size_bytes integer, error_code text, error_class text, error_message text, verdict_by text,
  verdict_reason text, waiting_place bigint, compensation_note text, registration text, level_min integer,
  section text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  if not exists (
       select
         from tenure.execution_rows e
        where e.execution_id = p_execution_id
          and e.tenant_id = v_tenant) then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  if p_state is not null then
    perform tenure.check_filter('state', p_state, array[
      'waiting', 'awaiting_approval', 'blocked', 'running', 'unknown', 'succeeded', 'failed', 'cancelled',
      'skipped']);
  end if;
  return query
    select s.step_number, s.step_id, s.state, s.action, s.action_class, s.target_type, s.target_ref, s.kind,
           s.executor, s.effects,
           array(
             select o.step_id
               from tenure.step_needs n
               join tenure.step_rows o on o.execution_id = n.execution_id and o.step_number = n.needs_number
              where n.execution_id = s.execution_id
                and n.step_number = s.step_number
              order by o.step_number),
           s.approval_level::integer, s.rule,
           'lock:v1:' || s.tenant_id || ':' || s.lock_target
             || case when s.lock_action = '' then '' else ':' || s.lock_action end,
           coalesce(tenure.fence_of(s.job_id), s.fence), s.timeout_seconds, s.attempts_max::integer,
           coalesce(h.attempt, s.attempt)::integer, s.job_id,
           case when s.state = 'running' then coalesce(
             case
               when h.started_at is not null then 'in_progress'
               when h.job_id is not null then 'leased'
             end, 'queued') end,
           coalesce(h.owner, s.worker), s.carried_from, s.queued_at, coalesce(s.started_at, h.started_at),
           s.ended_at, s.duration_ms, s.output_summary, s.output_ref, s.output_size_bytes, s.error_code,
           s.error_class, s.error_message, s.verdict_by, s.verdict_reason,
           case when s.state = 'blocked' then (
             select count(*) + 1
               from tenure.lock_queue q
               join tenure.lock_queue w on w.tenant_id = q.tenant_id and w.target = q.target
              where q.execution_id = s.execution_id
                and q.step_number = s.step_number
                and (w.priority > q.priority or (w.priority = q.priority and w.turn < q.turn))) end,
           s.compensation_note, s.registration, s.level_min::integer, s.section
      from tenure.step_rows s
      left join lateral (
        select a.job_id, a.attempt, a.started_at, l.owner
          from tenure.active a
          left join tenure.leases l on l.token = a.token and l.lane = a.lane
         where s.state = 'running'
           and a.job_id = s.job_id
         limit 1) h on true
     where s.execution_id = p_execution_id
       and (p_state is null or s.state = any (p_state))
     order by s.step_number;
end
$$;
