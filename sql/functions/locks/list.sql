-- Locks as they are read: the holders, and the steps that wait.

-- The holders of locks, oldest lock first: everywhere, at one target, or for one action at it. Counts at most
-- 10000 waiters. The next page begins after the lock p_after_key, which was acquired at p_after.
-- granted to: all
create or replace function tenure.lock_list(
  p_target text default null, p_limit integer default 100, p_after timestamptz default null,
  p_after_key text default null)
returns table (
  lock_key text, part text, fence bigint, owner text, execution_id uuid, step_id text, reason text,
  acquired_at timestamptz, expires_at timestamptz, waiters bigint, section text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_target text;
  v_action text := '';
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_target is not null then
    select r.target, r.action into v_target, v_action from tenure.lock_read(p_target) r;
  end if;
  return query
    select l.lock_key, l.target || case l.action when '' then '' else ':' || l.action end,
           coalesce(tenure.fence_of(s.job_id), l.fence), l.owner, l.execution_id, s.step_id, l.reason,
           l.acquired_at, l.expires_at,
           (select count(*)
              from (
                select
                  from tenure.lock_queue w
                 where w.tenant_id = v_tenant
                   and w.target = l.target
                 limit 10000) w),
           l.section
      from tenure.locks l
      left join tenure.step_rows s on s.execution_id = l.execution_id and s.step_number = l.step_number
     where l.tenant_id = v_tenant
       and (p_target is null or l.target = v_target)
       and (v_action = '' or l.action = v_action)
       and (p_after is null or (l.acquired_at, l.lock_key) > (p_after, p_after_key))
     order by l.acquired_at, l.lock_key
     limit p_limit;
end
$$;

-- The steps that wait for a target: by priority, then in the order of their arrival. The next page begins
-- after the step with the priority p_after_priority and the turn p_after_turn.
-- granted to: all
create or replace function tenure.lock_waiters(
  p_part text, p_limit integer default 100, p_after_priority integer default null,
  p_after_turn bigint default null)
returns table (
  place bigint, execution_id uuid, step_id text, purpose text, priority integer, action text,
  waiting_since timestamptz, turn bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_target text := (tenure.lock_read(p_part)).target;
  v_ahead  bigint := 0;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_after_turn is not null then
    select count(*) into v_ahead
      from tenure.lock_queue q
     where q.tenant_id = v_tenant
       and q.target = v_target
       and (q.priority > p_after_priority or q.priority = p_after_priority and q.turn <= p_after_turn);
  end if;
  return query
    select v_ahead + row_number() over (order by q.priority desc, q.turn), q.execution_id, s.step_id,
           e.purpose, q.priority::integer, nullif(q.action, ''), q.since, q.turn
      from (
        select q.execution_id, q.step_number, q.priority, q.turn, q.action, q.since
          from tenure.lock_queue q
         where q.tenant_id = v_tenant
           and q.target = v_target
           and (p_after_turn is null
             or q.priority <= p_after_priority
               and (q.priority < p_after_priority or q.turn > p_after_turn))
         order by q.priority desc, q.turn
         limit p_limit) q
      join tenure.steps s on s.execution_id = q.execution_id and s.step_number = q.step_number
      join tenure.executions e on e.execution_id = q.execution_id
     order by 1;
end
$$;
