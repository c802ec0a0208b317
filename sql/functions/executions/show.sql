-- Reading one execution: why it waits, whether it is settled, and the whole of it.

-- The reasons why an execution does not go on, one sentence each. Empty when it runs or has ended.
create or replace function tenure.execution_waits(p_now timestamptz, p_execution tenure.execution_rows)
returns text[]
language sql stable
as $$
  select array(
    select w.words
      from (
        select 1 as place,
               format('Approval %s%s: %s of %s given%s, until %s.',
                 a.approval_id,
                 coalesce(' of step ' || (
                   select s.step_id
                     from tenure.step_rows s
                    where s.execution_id = a.execution_id
                      and s.step_number = a.step_number), ''),
                 a.given,
                 a.quorum,
                 case when a.roles = '{}' then '' else ', by ' || array_to_string(a.roles, ' and ') end,
                 least(a.expires_at,
                   case when p_execution.started_at is null then p_execution.start_before end)) as words
          from tenure.approvals a
         where a.execution_id = p_execution.execution_id
           and a.state = 'pending'
        union all
        select 2, format('Frozen by %s: %s.', f.frozen_by, f.reason)
          from tenure.freezes f
         where p_execution.state = 'approved'
           and f.tenant_id = p_execution.tenant_id
           and f.ended_at is null
           and (f.until is null or f.until > p_now)
        union all
        select 3,
               format('Its window opens at %s.',
                 greatest(tenure.window_opens(p_execution.start_window, p_now), p_execution.start_after))
         where p_execution.parked = 'window'
        union all
        (select 4,
                format('Step %s waits for %s, held by %s.', s.step_id, s.lock_target,
                  coalesce((
                    select l.owner
                      from tenure.locks l
                     where l.tenant_id = s.tenant_id
                       and l.target = s.lock_target
                     limit 1), 'nobody just now'))
           from tenure.step_rows s
          where s.execution_id = p_execution.execution_id
            and s.state = 'blocked'
          order by s.step_number
          limit 10)
        union all
        (select 5, format('Step %s: nobody knows its outcome; an operator decides.', s.step_id)
           from tenure.step_rows s
          where s.execution_id = p_execution.execution_id
            and s.state = 'unknown'
          order by s.step_number
          limit 10)
        union all
        select 6, format('It stops (%s), and waits for steps that are under way.', p_execution.stopping)
         where p_execution.stopping is not null
           and p_execution.ended_at is null) w
     order by w.place)
$$;

-- True when an execution has ended or waits for a person or a time: for an approval, for a verdict on an
-- unknown step, or parked.
create or replace function tenure.is_settled(p_execution tenure.execution_rows) returns boolean
language plpgsql stable
as $$
begin
  return p_execution.ended_at is not null
    or p_execution.steps_unknown > 0
    or p_execution.parked is not null
    or exists (
      select
        from tenure.approvals a
       where a.execution_id = p_execution.execution_id
         and a.state = 'pending');
end
$$;

-- Everything about one execution except the text of its plan and its timeline.
-- granted to: all
create or replace function tenure.execution_show(p_execution_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_row    tenure.execution_rows;
begin
  select e.* into v_row
    from tenure.execution_rows e
   where e.execution_id = p_execution_id
     and e.tenant_id = v_tenant;
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  return (to_jsonb(v_row) - array[
      'tenant_id', 'chain_hash', 'takes_locks', 'steps_open', 'steps_succeeded', 'steps_failed',
      'steps_cancelled', 'steps_skipped', 'steps_unknown'])
    || jsonb_build_object(
      'chain_hash', encode(v_row.chain_hash, 'hex'),
      'plan_snapshot_hash', (
        select p.plan_snapshot_hash from tenure.plans p where p.execution_id = p_execution_id),
      'timed_out', coalesce(v_row.reason_code = 'timed_out', false),
      'requested_by_email', (
        select p.email
          from tenure.principals p
         where p.tenant_id = v_tenant
           and p.name = v_row.requested_by),
      'counts', (
        select jsonb_object_agg(x.state, coalesce(c.n, 0))
          from unnest(array[
                 'waiting', 'awaiting_approval', 'blocked', 'running', 'unknown', 'succeeded', 'failed',
                 'cancelled', 'skipped']) x (state)
          left join (
            select s.state, count(*) as n
              from tenure.step_rows s
             where s.execution_id = p_execution_id
             group by s.state) c on c.state = x.state),
      'steps', (
        select coalesce(jsonb_agg(to_jsonb(s) order by s.step_number), '[]')
          from tenure.step_list(p_execution_id) s),
      'sections', tenure.sections_shown(p_execution_id),
      'approvals', (
        select coalesce(
                 jsonb_agg(
                   to_jsonb(a) || jsonb_build_object(
                     'votes', (
                       select coalesce(jsonb_agg(to_jsonb(v) order by v.at), '[]')
                         from tenure.approval_votes_of(a.approval_id) v))
                   order by a.created_at, a.approval_id),
                 '[]')
          from tenure.approval_list(p_execution_id, null, 1000) a),
      'waiting_for', to_jsonb(tenure.execution_waits(tenure.now(), v_row)),
      'settled', tenure.is_settled(v_row));
end
$$;

-- Which of these executions are settled (tenure.is_settled). Executions of other tenants are left out, unless
-- the caller acts for every tenant.
-- granted to: all
create or replace function tenure.execution_ended(p_execution_ids uuid[])
returns table (execution_id uuid, state text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  if cardinality(p_execution_ids) > tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large',
      format('The batch names %s executions.', cardinality(p_execution_ids)),
      format('A batch has at most %s (batch_rows_max).', tenure.limit_of('batch_rows_max')),
      'Split it.');
  end if;
  return query
    select e.execution_id, e.state
      from unnest(p_execution_ids) t (id)
      cross join lateral (select e.* from tenure.execution_rows e where e.execution_id = t.id offset 0) e
     where (e.tenant_id = v_caller.tenant_id or v_caller.scope = 'every')
       and tenure.is_settled(e::tenure.execution_rows);
end
$$;
