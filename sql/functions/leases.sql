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

-- Subtracts ended jobs from the count of their lease, and deletes a lease that holds nothing more. It never
-- waits: a lease that another transaction has locked keeps a count that is too high, and goes when it
-- expires.
create or replace function tenure.lease_subtract(p_token uuid, p_lane integer, p_ended integer) returns void
language plpgsql
as $$
declare
  v_held integer;
begin
  select l.held into v_held
    from tenure.leases l
   where l.token = p_token and l.lane = p_lane
     for update skip locked;
  if v_held <= p_ended then
    delete from tenure.leases l where l.token = p_token and l.lane = p_lane;
  elsif v_held is not null then
    update tenure.leases l
       set held = l.held - p_ended
     where l.token = p_token and l.lane = p_lane;
  end if;
end
$$;

-- Subtracts ended jobs from the counts of several leases: see tenure.lease_subtract.
create or replace function tenure.lease_count_down(p_tokens uuid[], p_lanes integer[], p_ended integer[])
returns void
language plpgsql
as $$
begin
  for v_at in 1 .. coalesce(cardinality(p_tokens), 0) loop
    perform tenure.lease_subtract(p_tokens[v_at], p_lanes[v_at], p_ended[v_at]);
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
-- or their renewals though the lease still lives, and waiting jobs past their deadline; at most p_limit.
-- p_mode 'dry_run' only lists them.
-- granted to: admin, operator
create or replace function tenure.job_reap(p_mode text default 'apply', p_limit integer default 500)
returns table (job_id uuid, tenant text, kind text, finding text, worker text, state text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_tenants integer[];
  v_ends    tenure.run_end[];
begin
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['dry_run', 'apply']);
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  if v_caller.scope <> 'every' then
    perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  end if;
  v_tenants := tenure.open_tenants(v_caller);
  if p_mode = 'dry_run' then
    return query
      select f.job_id, f.tenant, f.kind, f.finding, f.worker, f.state
        from tenure.reap_list(v_tenants, v_now, p_limit) f;
    return;
  end if;

  perform tenure.offers_end(v_tenants, v_now);
  perform tenure.ready_marks_tidy(v_tenants, p_limit);
  v_ends := tenure.reap_expired(v_tenants, v_now, p_limit);
  v_ends := v_ends || tenure.reap_overdue(v_tenants, v_now, p_limit - cardinality(v_ends));
  perform tenure.lease_shrink(v_ends);
  v_ends := v_ends || tenure.reap_ready(v_tenants, v_now, p_limit - cardinality(v_ends));
  v_ends := v_ends || tenure.reap_delayed(v_tenants, v_now, p_limit - cardinality(v_ends));
  if v_ends = '{}' then
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

-- What the reaper would end, without ending it: at most p_limit held jobs and as many waiting ones.
create or replace function tenure.reap_list(p_tenants integer[], p_now timestamptz, p_limit integer)
returns table (job_id uuid, tenant text, kind text, finding text, worker text, state text)
language plpgsql
as $$
begin
  return query
    select a.job_id, t.name, j.kind,
           case
             when l.token is null then 'no_lease'
             when l.until <= p_now then 'expired'
             when a.run_until <= p_now then 'timed_out'
             else 'renewals_exceeded'
           end,
           l.owner, case when a.started_at is null then 'leased' else 'in_progress' end
      from tenure.active a
      join tenure.jobs j on j.job_id = a.job_id
      join tenure.tenants t on t.tenant_id = j.tenant_id
      left join tenure.leases l on l.token = a.token and l.lane = a.lane
     where j.tenant_id = any (p_tenants)
       and (l.token is null or l.until <= p_now or a.run_until <= p_now or a.hold_until <= p_now)
     limit p_limit;
  return query
    select w.job_id, t.name, j.kind, 'deadline_passed', null::text, w.state
      from (select r.job_id, r.state from tenure.ready r where r.deadline <= p_now
            union all
            select d.job_id, d.state from tenure.delayed d where d.deadline <= p_now) w
      join tenure.jobs j on j.job_id = w.job_id
      join tenure.tenants t on t.tenant_id = j.tenant_id
     where j.tenant_id = any (p_tenants)
     limit p_limit;
end
$$;

-- Takes out jobs of expired leases. The leases are locked first, so that a heartbeat cannot revive them;
-- their jobs are read by a new statement, with a new snapshot. A lease that still has jobs (locked elsewhere,
-- or too many) stays for the next run.
create or replace function tenure.reap_expired(p_tenants integer[], p_now timestamptz, p_limit integer)
returns tenure.run_end[]
language plpgsql
-- pinned order: see sql/README.md
set enable_nestloop = off
as $$
declare
  v_tokens uuid[];
  v_lanes  integer[];
  v_ends   tenure.run_end[];
begin
  select array_agg(x.token), array_agg(x.lane)
    into v_tokens, v_lanes
    from (select l.token, l.lane
            from tenure.leases l
           where l.until <= p_now and l.tenant_id = any (p_tenants)
           order by l.until
           limit p_limit
             for update skip locked) x;
  if v_tokens is null then
    return '{}';
  end if;
  with picked as materialized (
    select a.ctid, l.owner, l.principal, l.leased_at, l.tenant_id
      from unnest(v_tokens, v_lanes) k (token, lane)
      join tenure.leases l on l.token = k.token and l.lane = k.lane
      join tenure.active a on a.token = k.token and a.lane = k.lane
     limit p_limit
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
  delete from tenure.leases l
   using unnest(v_tokens, v_lanes) k (token, lane)
   where l.token = k.token
     and l.lane = k.lane
     and not exists (select from tenure.active a where a.token = k.token and a.lane = k.lane);
  return v_ends;
end
$$;

-- Takes out held jobs past their time, and held jobs without a lease.
create or replace function tenure.reap_overdue(p_tenants integer[], p_now timestamptz, p_limit integer)
returns tenure.run_end[]
language plpgsql
-- pinned order: see sql/README.md
set enable_nestloop = off
as $$
declare
  v_ends tenure.run_end[];
begin
  with picked as materialized (
    select a.ctid
      from tenure.active a
     where (a.run_until <= p_now
            or a.hold_until <= p_now
            or not exists (select from tenure.leases l where l.token = a.token and l.lane = a.lane))
       and a.lane in (select n.lane from tenure.lanes n where n.tenant_id = any (p_tenants))
     limit p_limit
       for update skip locked
  ), gone as (
    delete from tenure.active a
     using picked p
     where a.ctid = p.ctid
    returning a.job_id, a.token, a.lane, a.run, a.attempt, a.due, a.started_at, a.run_until,
      a.cancel_requested_at, a.cancel_by, a.cancel_reason
  )
  select coalesce(array_agg((
           g.job_id, n.tenant_id, g.lane, g.run, g.attempt, g.token, l.owner,
           coalesce(l.leased_at, g.started_at, p_now), g.started_at, g.due,
           g.cancel_requested_at, g.cancel_by, g.cancel_reason,
           case
             when l.leased_at is null then 'expired'
             when g.run_until <= p_now then 'timed_out'
             else 'renewals_exceeded'
           end,
           null, case when l.leased_at is null then 'lease' else 'timeout' end,
           null, null, null, null, l.principal)::tenure.run_end), '{}')
    into v_ends
    from gone g
    join tenure.lanes n on n.lane = g.lane
    left join tenure.leases l on l.token = g.token and l.lane = g.lane;
  return v_ends;
end
$$;

-- Takes out ready jobs past their deadline.
create or replace function tenure.reap_ready(p_tenants integer[], p_now timestamptz, p_limit integer)
returns tenure.run_end[]
language plpgsql
as $$
declare
  v_ends tenure.run_end[];
begin
  with late as materialized (
    select r.ctid
      from tenure.ready r
     where r.deadline <= p_now
       and r.lane in (select n.lane from tenure.lanes n where n.tenant_id = any (p_tenants))
     order by r.deadline
     limit p_limit
       for update skip locked
  ), gone as (
    delete from tenure.ready r
     where r.ctid = any (array(select l.ctid from late l))
    returning r.job_id, r.lane, r.run, r.attempts, r.due, r.deadline
  )
  select coalesce(array_agg(tenure.end_of_late(g.job_id, n.tenant_id, g.lane, g.run, g.attempts, g.due,
           g.deadline)), '{}')
    into v_ends
    from gone g
    join tenure.lanes n on n.lane = g.lane;
  return v_ends;
end
$$;

-- Takes out delayed jobs past their deadline.
create or replace function tenure.reap_delayed(p_tenants integer[], p_now timestamptz, p_limit integer)
returns tenure.run_end[]
language plpgsql
as $$
declare
  v_ends tenure.run_end[];
begin
  with late as materialized (
    select d.ctid
      from tenure.delayed d
     where d.deadline <= p_now
       and d.lane in (select n.lane from tenure.lanes n where n.tenant_id = any (p_tenants))
     order by d.deadline
     limit p_limit
       for update skip locked
  ), gone as (
    delete from tenure.delayed d
     where d.ctid = any (array(select l.ctid from late l))
    returning d.job_id, d.lane, d.run, d.attempts, d.due, d.deadline
  )
  select coalesce(array_agg(tenure.end_of_late(g.job_id, n.tenant_id, g.lane, g.run, g.attempts, g.due,
           g.deadline)), '{}')
    into v_ends
    from gone g
    join tenure.lanes n on n.lane = g.lane;
  return v_ends;
end
$$;

-- The end of a waiting job whose deadline has passed.
create or replace function tenure.end_of_late(
  p_job_id uuid, p_tenant_id integer, p_lane integer, p_run integer, p_attempts integer, p_due timestamptz,
  p_deadline timestamptz) returns tenure.run_end
language sql stable
as $$
  select (
    p_job_id, p_tenant_id, p_lane, p_run + 1, p_attempts, null, null, null, null, p_due,
    null, null, null, 'deadline_passed', 'deadline_passed', 'deadline',
    format('The deadline %s passed before the job started.', p_deadline),
    null, null, null, null)::tenure.run_end
$$;
