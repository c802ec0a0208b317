-- When an execution is due again (next_at), and for how long its clock stood still.

-- Sets when the tick has to look at executions again. The caller holds them.
create or replace function tenure.executions_set_due(p_now timestamptz, p_ids uuid[]) returns void
language plpgsql
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  update tenure.execution_states e
     set next_at = n.next_at
    from (
      select x.place,
             least(
               (select min(least(case when a.escalated_at is null then a.escalate_at end, a.expires_at))
                  from tenure.approvals a
                 where a.execution_id = x.execution_id
                   and a.state = 'pending'),
               -- Until it starts: then it is too late, whether it is approved or not.
               case when x.state in ('pending', 'awaiting_approval') then x.start_before end,
               case x.state
                 when 'approved' then least(
                   x.start_before,
                   x.lapses_at,
                   case x.parked
                     when 'window' then greatest(tenure.window_opens(x.start_window, p_now), x.start_after)
                     -- At least this often: the freeze may be lifted while this transaction parks it.
                     when 'freeze' then least(
                       p_now + make_interval(secs => tenure.limit_of('execution_recheck_seconds')),
                       (select f.until
                          from tenure.freezes f
                         where f.tenant_id = x.tenant_id
                           and f.ended_at is null
                           and f.until > p_now))
                     -- Its targets or approvers were busy when it was to start.
                     else (
                       select p_now
                              + make_interval(secs => tenure.limit_of('execution_start_retry_ms') / 1000.0)
                         from tenure.step_states s
                        where s.execution_id = x.execution_id
                          and s.state = 'waiting'
                          and s.needs_left = 0
                        limit 1)
                   end)
                 when 'running' then
                   case
                     when x.stopping is not null then
                       p_now + make_interval(secs => tenure.limit_of('execution_stop_recheck_seconds'))
                     else x.timeout_at
                   end
               end) as next_at
        from (
          select s.ctid as place, s.execution_id, s.tenant_id, s.state, s.parked, s.stopping, s.timeout_at,
                 s.lapses_at, s.ended_at, e.start_before, e.start_after, e.start_window
            from unnest(p_ids) t (id)
            cross join lateral (
              select s.ctid, s.* from tenure.execution_states s where s.execution_id = t.id offset 0) s
            cross join lateral (
              select e.start_before, e.start_after, e.start_window
                from tenure.executions e
               where e.execution_id = t.id
              offset 0) e) x
       where x.ended_at is null) n
   where e.ctid = n.place
     and e.next_at is distinct from n.next_at;
end
$$;

-- How much longer the clock of an execution stood still, now that a wait for a decision is over: the part of
-- the wait that no other has counted. Several waits may be open at once, for approvals of steps or for
-- verdicts; time they have in common counts once. The caller holds the execution.
create or replace function tenure.clock_stood(
  p_execution tenure.execution_rows, p_from timestamptz, p_to timestamptz, p_approval_id uuid)
returns interval
language sql stable
as $$
  with counted as (
    select tstzrange(a.created_at, a.decided_at) as stood
      from tenure.approvals a
     where a.execution_id = p_execution.execution_id
       and a.step_number is not null
       and a.approval_id is distinct from p_approval_id
       and a.state in ('approved', 'rejected', 'expired')
    union all
    select tstzrange(u.at, greatest(u.at, r.at))
      from tenure.execution_events r
      cross join lateral (
        select u.at
          from tenure.execution_events u
         where u.execution_id = r.execution_id
           and u.step_number = r.step_number
           and u.kind = 'step_unknown'
           and u.seq < r.seq
         order by u.seq desc
         limit 1) u
     where r.execution_id = p_execution.execution_id
       and r.kind = 'step_resolved'
  ), wait as (
    -- Before its start it had no clock.
    select greatest(p_from, p_execution.started_at) as since
  )
  select coalesce(sum(upper(x.stood) - lower(x.stood)), interval '0')
    from wait w
    cross join lateral unnest(
      tstzmultirange(tstzrange(w.since, greatest(w.since, p_to)))
        - coalesce((select range_agg(c.stood) from counted c), '{}')) x (stood)
$$;
