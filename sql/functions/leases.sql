-- Leases: the count of jobs each one holds, and the reaper, which ends expired leases and overdue jobs.
-- The reaper never waits for a lock.

-- The tenants a service works for: the caller's own, or all. Those whose gate is closed are left out.
create or replace function tenure.open_tenants(p_caller tenure.caller_identity) returns integer[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(t.tenant_id), '{}')
    from tenure.tenants t
   where t.tenant_id > 0
     and (p_caller.scope = 'every' or t.tenant_id = p_caller.tenant_id)
     and (tenure.setting(t.tenant_id, 'queue.job_substrate.enabled'))::boolean
$$;

-- Subtracts ended jobs from the counts of their leases, and deletes leases that hold nothing more. It never
-- waits: a lease that another transaction has locked keeps a count that is too high, and goes when it
-- expires.
create or replace function tenure.lease_count_down(p_tokens uuid[], p_lanes integer[], p_ended integer[])
returns void
language plpgsql
as $$
declare
  v_held integer;
begin
  for v_at in 1 .. coalesce(cardinality(p_tokens), 0) loop
    select l.held into v_held
      from tenure.leases l
     where l.token = p_tokens[v_at] and l.lane = p_lanes[v_at]
       for update skip locked;
    if v_held <= p_ended[v_at] then
      delete from tenure.leases l where l.token = p_tokens[v_at] and l.lane = p_lanes[v_at];
    elsif v_held is not null then
      update tenure.leases l
         set held = l.held - p_ended[v_at]
       where l.token = p_tokens[v_at] and l.lane = p_lanes[v_at];
    end if;
  end loop;
end
$$;

-- Subtracts these ends from the counts of their leases.
create or replace function tenure.lease_shrink(p_ends tenure.run_end[]) returns void
language plpgsql
as $$
declare
  v_fewer record;
begin
  select array_agg(f.token) as tokens, array_agg(f.lane) as lanes, array_agg(f.ended) as ended
    into v_fewer
    from (select e.token, e.lane, count(*)::integer as ended
            from unnest(p_ends) e
           where e.token is not null
           group by e.token, e.lane) f;
  perform tenure.lease_count_down(v_fewer.tokens, v_fewer.lanes, v_fewer.ended);
end
$$;

-- Ends, in this order: jobs of expired leases, held jobs without a lease, held jobs past their run timeout
-- or their renewals though the lease still lives, and waiting jobs past their deadline. Expired leases are
-- locked first, so that a heartbeat cannot revive them; their jobs are read by a new statement, with a new
-- snapshot. p_mode 'dry_run' only lists them.
create or replace function tenure.job_reap(p_mode text default 'apply', p_limit integer default 500)
returns table (job_id uuid, tenant text, kind text, finding text, worker text, state text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_nestloop = on
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_every   boolean := v_caller.scope = 'every';
  v_tenants integer[];
  v_tokens  uuid[];
  v_lanes   integer[];
  v_ends    tenure.run_end[] := '{}';
  v_left    integer := p_limit;
begin
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['dry_run', 'apply']);
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  if not v_every then
    perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  end if;
  v_tenants := tenure.open_tenants(v_caller);

  if p_mode = 'dry_run' then
    return query
      select a.job_id, t.name, j.kind,
             case
               when l.token is null then 'no_lease'
               when l.until <= v_now then 'expired'
               when a.run_until <= v_now then 'timed_out'
               else 'renewals_exceeded'
             end,
             l.owner, case when a.started_at is null then 'leased' else 'in_progress' end
        from tenure.active a
        join tenure.jobs j on j.job_id = a.job_id
        join tenure.tenants t on t.tenant_id = j.tenant_id
        left join tenure.leases l on l.token = a.token and l.lane = a.lane
       where j.tenant_id = any (v_tenants)
         and (l.token is null or l.until <= v_now or a.run_until <= v_now or a.hold_until <= v_now)
       limit p_limit;
    return query
      select w.job_id, t.name, j.kind, 'deadline_passed', null::text, w.state
        from (select r.job_id, r.state from tenure.ready r where r.deadline <= v_now
              union all
              select d.job_id, d.state from tenure.delayed d where d.deadline <= v_now) w
        join tenure.jobs j on j.job_id = w.job_id
        join tenure.tenants t on t.tenant_id = j.tenant_id
       where j.tenant_id = any (v_tenants)
       limit p_limit;
    return;
  end if;

  perform tenure.offers_end(v_tenants, v_now);
  perform tenure.ready_marks_tidy(v_tenants, p_limit);

  -- Held jobs have no index on their token, and the statistics of tables that are often empty are wrong:
  -- without this, each lease could scan all held jobs.
  perform set_config('enable_nestloop', 'off', true);

  -- 1. Expired leases. The lock keeps a heartbeat from reviving them while their jobs are ended.
  select array_agg(x.token), array_agg(x.lane)
    into v_tokens, v_lanes
    from (select l.token, l.lane
            from tenure.leases l
           where l.until <= v_now and l.tenant_id = any (v_tenants)
           order by l.until
           limit p_limit
             for update skip locked) x;
  if v_tokens is not null then
    with picked as materialized (
      select a.ctid, l.owner, l.principal, l.leased_at, l.tenant_id
        from unnest(v_tokens, v_lanes) k (token, lane)
        join tenure.leases l on l.token = k.token and l.lane = k.lane
        join tenure.active a on a.token = k.token and a.lane = k.lane
       limit v_left
         for update of a skip locked
    ), gone as (
      delete from tenure.active a
       using picked p
       where a.ctid = p.ctid
      returning a.job_id, a.token, a.lane, a.run, a.attempt, a.due, a.started_at,
        a.cancel_requested_at, a.cancel_by, a.cancel_reason, p.owner, p.principal, p.leased_at, p.tenant_id
    )
    select coalesce(array_agg((
             g.job_id, g.tenant_id, g.lane, g.run, g.attempt, g.token, g.owner,
             g.leased_at, g.started_at, g.due,
             g.cancel_requested_at, g.cancel_by, g.cancel_reason,
             'expired', null, 'lease', null, null, null, null, g.principal)::tenure.run_end), '{}')
      into v_ends
      from gone g;
    -- A lease without jobs is deleted. One that still has jobs (locked elsewhere, or too many) stays for the
    -- next run.
    delete from tenure.leases l
     using unnest(v_tokens, v_lanes) k (token, lane)
     where l.token = k.token
       and l.lane = k.lane
       and not exists (select from tenure.active a where a.token = k.token and a.lane = k.lane);
    v_left := v_left - cardinality(v_ends);
  end if;

  -- 2. Held jobs past their time, and held jobs without a lease.
  if v_left > 0 then
    with picked as materialized (
      select a.ctid
        from tenure.active a
       where (a.run_until <= v_now
              or a.hold_until <= v_now
              or not exists (select from tenure.leases l where l.token = a.token and l.lane = a.lane))
         and a.lane in (select n.lane from tenure.lanes n where n.tenant_id = any (v_tenants))
       limit v_left
         for update skip locked
    ), gone as (
      delete from tenure.active a
       using picked p
       where a.ctid = p.ctid
      returning a.job_id, a.token, a.lane, a.run, a.attempt, a.due, a.started_at, a.run_until, a.hold_until,
        a.cancel_requested_at, a.cancel_by, a.cancel_reason
    ), told as (
      select g.*, l.owner, l.principal, l.leased_at, n.tenant_id
        from gone g
        join tenure.lanes n on n.lane = g.lane
        left join tenure.leases l on l.token = g.token and l.lane = g.lane
    )
    select v_ends || coalesce(array_agg((
             g.job_id, g.tenant_id, g.lane, g.run, g.attempt, g.token, g.owner,
             coalesce(g.leased_at, g.started_at, v_now), g.started_at, g.due,
             g.cancel_requested_at, g.cancel_by, g.cancel_reason,
             case
               when g.leased_at is null then 'expired'
               when g.run_until <= v_now then 'timed_out'
               else 'renewals_exceeded'
             end,
             null, case when g.leased_at is null then 'lease' else 'timeout' end,
             null, null, null, null, g.principal)::tenure.run_end), '{}')
      into v_ends
      from told g;
  end if;
  perform set_config('enable_nestloop', 'on', true);
  perform tenure.lease_shrink(v_ends);
  v_left := p_limit - cardinality(v_ends);

  -- 3. Waiting jobs past their deadline.
  if v_left > 0 then
    with late as materialized (
      select r.ctid
        from tenure.ready r
       where r.deadline <= v_now
         and r.lane in (select n.lane from tenure.lanes n where n.tenant_id = any (v_tenants))
       order by r.deadline
       limit v_left
         for update skip locked
    ), gone as (
      delete from tenure.ready r
       where r.ctid = any (array(select l.ctid from late l))
      returning r.job_id, r.lane, r.run, r.attempts, r.due, r.deadline
    )
    select v_ends || coalesce(array_agg((
             g.job_id, n.tenant_id, g.lane, g.run + 1, g.attempts, null, null, null, null, g.due,
             null, null, null, 'deadline_passed', 'deadline_passed', 'deadline',
             format('The deadline %s passed before the job started.', g.deadline),
             null, null, null, null)::tenure.run_end), '{}')
      into v_ends
      from gone g
      join tenure.lanes n on n.lane = g.lane;
    v_left := p_limit - cardinality(v_ends);
    with late as materialized (
      select d.ctid
        from tenure.delayed d
       where d.deadline <= v_now
         and d.lane in (select n.lane from tenure.lanes n where n.tenant_id = any (v_tenants))
       order by d.deadline
       limit v_left
         for update skip locked
    ), gone as (
      delete from tenure.delayed d
       where d.ctid = any (array(select l.ctid from late l))
      returning d.job_id, d.lane, d.run, d.attempts, d.due, d.deadline
    )
    select v_ends || coalesce(array_agg((
             g.job_id, n.tenant_id, g.lane, g.run + 1, g.attempts, null, null, null, null, g.due,
             null, null, null, 'deadline_passed', 'deadline_passed', 'deadline',
             format('The deadline %s passed before the job started.', g.deadline),
             null, null, null, null)::tenure.run_end), '{}')
      into v_ends
      from gone g
      join tenure.lanes n on n.lane = g.lane;
  end if;

  if cardinality(v_ends) = 0 then
    return;
  end if;
  return query
    with settled as materialized (
      select s.job_id, s.state from tenure.job_settle(v_now, 'reaper', null, v_ends) s
    )
    select e.job_id, t.name, j.kind, e.outcome, e.owner, s.state
      from unnest(v_ends) e
      join settled s on s.job_id = e.job_id
      join tenure.jobs j on j.job_id = e.job_id
      join tenure.tenants t on t.tenant_id = e.tenant_id;
end
$$;
