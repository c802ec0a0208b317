-- Lanes: one queue per tenant, kind and executor for plain jobs, and one for steps. Transactions that could
-- not see each other's lane may have made twins of it; a look-up takes the lowest that it sees.

-- Makes the lane of a kind if it is missing, and returns its number. Surfaces call it in a transaction of its
-- own before they enqueue into a new lane; a first enqueue makes the lane too.
-- granted to: admin, operator, producer, worker
create or replace function tenure.lane_open(p_kind text, p_executor text default null) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  -- A lane is not yet a job: the workers of a governed kind open it too.
  v_caller.scope := 'execution';
  return tenure.lane_ensure(v_caller, p_kind, p_executor);
end
$$;

-- The executor of a job of this kind; refuses a job that no lane is made for. Writes nothing. p_of: appended
-- to a name in a refusal, to say where it is used.
-- Every path that makes a job of a governed kind (only_by_plan) calls this, and all but that of a step are
-- refused: enqueue_alike and enqueue_lanes skip it only for kinds that are not governed.
create or replace function tenure.lane_check(
  p_caller tenure.caller_identity, p_kind text, p_executor text, p_of text default '') returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_executor text;
  v_governed boolean;
begin
  perform tenure.check_name('kind', p_kind);
  if p_caller.kinds is not null and (p_kind = any (p_caller.kinds)) is not true then
    perform tenure.refuse('kind_not_allowed',
      format('%s may not work with the kind %s%s.', p_caller.principal, p_kind, p_of),
      format('It is bound to: %s.', array_to_string(p_caller.kinds, ', ')),
      'Use one of these, or ask an admin for a wider binding.');
  end if;
  select k.executor, k.only_by_plan into v_executor, v_governed
    from tenure.kinds k
   where k.tenant_id = p_caller.tenant_id and k.kind = p_kind;
  if not found and (tenure.setting(p_caller.tenant_id, 'queue.kind.strict'))::boolean then
    perform tenure.refuse('kind_unknown', format('The kind %L%s has no policy.', p_kind, p_of),
      format('Strict mode (queue.kind.strict) takes only kinds with one. The nearest are: %s.', coalesce((
        select string_agg(n.kind, ', ')
          from (select k.kind
                  from tenure.kinds k
                 where k.tenant_id = p_caller.tenant_id
                 order by tenure.word_distance(k.kind, p_kind), k.kind
                 limit 3) n), 'none')),
      'Correct the name, or set a policy with tenure.kind_set(kind, policy).');
  end if;
  if v_governed and p_caller.scope is distinct from 'execution' then
    perform tenure.refuse_only_by_plan(p_kind, p_of);
  end if;
  v_executor := coalesce(p_executor, v_executor, 'external_worker');
  perform tenure.check_executor(v_executor, p_of);
  return v_executor;
end
$$;

-- The lane of plain jobs of a kind, with the policy of the kind; no row if it is missing. Inlined.
create or replace function tenure.lane_policy(p_tenant_id integer, p_kind text, p_executor text)
returns table (
  lane integer, executor text, timed boolean, kind text, event_domain text, attempts_max smallint,
  backoff_base_seconds integer, backoff_jitter_percent smallint, run_timeout_seconds integer,
  renewals_max integer, on_exhausted text, only_by_plan boolean)
language sql stable
as $$
  select l.lane, l.executor, l.timed, k.kind, k.event_domain, k.attempts_max, k.backoff_base_seconds,
         k.backoff_jitter_percent, k.run_timeout_seconds, k.renewals_max, k.on_exhausted, k.only_by_plan
    from tenure.lanes l
    left join tenure.kinds k on k.tenant_id = p_tenant_id and k.kind = p_kind
   where l.tenant_id = p_tenant_id
     and l.kind = p_kind
     and not l.stepped
     and l.executor = coalesce(p_executor, k.executor, 'external_worker')
   order by l.twin
   limit 1
$$;

-- The lane of a kind, made if the caller sees none. p_stepped: that of its steps, not of plain jobs.
create or replace function tenure.lane_ensure(
  p_caller tenure.caller_identity, p_kind text, p_executor text, p_of text default '',
  p_stepped boolean default false) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_executor text := tenure.lane_check(p_caller, p_kind, p_executor, p_of);
  v_lane     integer;
begin
  select l.lane into v_lane
    from tenure.lanes l
   where l.tenant_id = p_caller.tenant_id and l.kind = p_kind and l.executor = v_executor
     and l.stepped = p_stepped
   order by l.twin
   limit 1;
  if found then
    return v_lane;
  end if;
  v_lane := tenure.lane_make(p_caller.tenant_id, p_kind, v_executor, p_stepped);
  if (tenure.tuning(p_caller.tenant_id)).notify_open then
    -- A worker that is parked on another lane of the kind does not know this one: it must look again.
    perform tenure.lane_wake(array(
      select l.lane
        from tenure.lanes l
       where l.tenant_id = p_caller.tenant_id and l.kind = p_kind and l.executor = v_executor
         and l.lane <> v_lane),
      tenure.now());
  end if;
  return v_lane;
end
$$;

-- Makes a lane. If another transaction is making the same one, or has made it after the
-- caller's snapshot, the new lane is a twin: an enqueue never waits long for an open
-- transaction, and no two wait for each other.
create or replace function tenure.lane_make(
  p_tenant_id integer, p_kind text, p_executor text, p_stepped boolean) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lane integer := tenure.lane_try(p_tenant_id, p_kind, p_executor, p_stepped);
begin
  if v_lane is null then
    v_lane := nextval('tenure.lanes_lane_seq');
    insert into tenure.lanes (lane, tenant_id, kind, executor, stepped, timed, twin)
    overriding system value
    values (v_lane, p_tenant_id, p_kind, p_executor, p_stepped, p_stepped, v_lane);
  end if;
  return v_lane;
end
$$;

-- Makes the lane that all use, or returns the one made meanwhile; null if it cannot tell within 100 ms.
create or replace function tenure.lane_try(
  p_tenant_id integer, p_kind text, p_executor text, p_stepped boolean) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
  v_lane integer;
begin
  insert into tenure.lanes (tenant_id, kind, executor, stepped, timed)
  values (p_tenant_id, p_kind, p_executor, p_stepped, p_stepped)
  on conflict do nothing
  returning lane into v_lane;
  if v_lane is null then
    select l.lane into v_lane
      from tenure.lanes l
     where l.tenant_id = p_tenant_id and l.kind = p_kind and l.executor = p_executor
       and l.stepped = p_stepped
     order by l.twin
     limit 1;
  end if;
  return v_lane;
exception when lock_not_available or deadlock_detected or serialization_failure then
  return null;
end
$$;

-- The lane of each job of a batch. Lanes that are missing are made, in one order.
create or replace function tenure.enqueue_lanes(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_jobs tenure.new_job[]) returns integer[]
language plpgsql
as $$
declare
  v_lanes integer[];
  v_row   record;
begin
  for v_row in
    select distinct j.kind, coalesce(j.executor, k.executor, 'external_worker') as executor,
           j.stepped
      from (select distinct j.kind, j.executor, j.lease_seconds is not null as stepped
              from unnest(p_jobs) j) j
      left join tenure.kinds k on k.tenant_id = p_caller.tenant_id and k.kind = j.kind
      left join tenure.lanes l
        on l.tenant_id = p_caller.tenant_id and l.kind = j.kind
       and l.stepped = j.stepped
       and l.executor = coalesce(j.executor, k.executor, 'external_worker')
     where l.lane is null or (p_tuning.strict_kinds and k.kind is null)
        or (k.only_by_plan and p_caller.scope is distinct from 'execution')
     order by 1, 2, 3
  loop
    perform tenure.lane_ensure(p_caller, v_row.kind, v_row.executor, p_stepped => v_row.stepped);
  end loop;
  select array_agg(l.lane order by p.place) into v_lanes
    from (select j.kind, coalesce(j.executor, k.executor, 'external_worker') as executor,
                 j.lease_seconds is not null as stepped, array_agg(j.ordinality) as places
            from unnest(p_jobs) with ordinality j
            left join tenure.kinds k on k.tenant_id = p_caller.tenant_id and k.kind = j.kind
           group by 1, 2, 3) u
    cross join lateral (
      select l.lane
        from tenure.lanes l
       where l.tenant_id = p_caller.tenant_id and l.kind = u.kind and l.executor = u.executor
         and l.stepped = u.stepped
       order by l.twin
       limit 1) l
    cross join unnest(u.places) p (place);
  if cardinality(v_lanes) < cardinality(p_jobs) then
    -- A policy moved a kind to another executor between the two queries.
    perform tenure.refuse('busy_try_again', 'The policy of a kind changed meanwhile.',
      'Its executor, and so its lane, is another one now.', 'Enqueue again.');
  end if;
  return v_lanes;
end
$$;

-- Marks lanes whose jobs have a limit on a run. It is committed with the first such job, so that no
-- claim sees the job without the mark.
create or replace function tenure.lane_time(p_lanes integer[]) returns void
language sql
as $$
  update tenure.lanes l
     set timed = true
   where l.lane in (
     select n.lane
       from tenure.lanes n
      where n.lane = any (p_lanes) and not n.timed
      order by n.lane
        for no key update)
$$;

-- Moves due jobs from delayed to ready, oldest first, at most p_rows_max per lane. A claim calls it as a
-- statement of its own, before it picks.
create or replace function tenure.lane_promote(p_lanes integer[], p_now timestamptz, p_rows_max integer)
returns integer
language plpgsql
as $$
declare
  v_lane  integer;
  v_moved integer := 0;
  v_rows  integer;
  v_ranks integer[];
begin
  for v_lane in
    select x.lane
      from unnest(p_lanes) x (lane)
     where exists (select from tenure.delayed d where d.lane = x.lane and d.due <= p_now)
  loop
    with picked as materialized (
      select d.ctid
        from tenure.delayed d
       where d.lane = v_lane and d.due <= p_now
       order by d.due, d.job_id
       limit p_rows_max
         for update skip locked
    ), taken as (
      delete from tenure.delayed d
       where d.ctid = any (array(select p.ctid from picked p))
      returning d.lane, d.rank, d.due, d.job_id, d.state, d.run, d.attempts, d.deadline
    ), put as (
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      select t.lane, t.rank, t.due, t.job_id, t.state, t.run, t.attempts, t.deadline from taken t
      returning rank
    )
    select count(*), array_agg(distinct p.rank) into v_rows, v_ranks from put p;
    if v_rows > 0 then
      perform tenure.ready_mark(array_fill(v_lane, array[cardinality(v_ranks)]), v_ranks);
    end if;
    v_moved := v_moved + v_rows;
  end loop;
  return v_moved;
end
$$;

-- Takes jobs past their deadline out of ready, at most p_rows_max, and settles them. A claim calls it
-- before it picks; its pick passes over those that are left.
create or replace function tenure.lane_lapse(
  p_lanes integer[], p_now timestamptz, p_rows_max integer, p_actor text) returns void
language plpgsql
as $$
declare
  v_late tenure.run_end[];
begin
  with late as materialized (
    select r.ctid
      from tenure.ready r
     where r.deadline <= p_now and r.lane = any (p_lanes)
     order by r.deadline
     limit p_rows_max
       for update skip locked
  ), gone as (
    delete from tenure.ready r
     where r.ctid = any (array(select l.ctid from late l))
    returning r.job_id, r.lane, r.run, r.attempts, r.due, r.deadline
  )
  select array_agg((
           g.job_id, n.tenant_id, g.lane, g.run + 1, g.attempts, null, null, null, null, g.due,
           null, null, null, 'deadline_passed', 'deadline_passed', 'deadline',
           format('The deadline %s passed before the job started.', g.deadline),
           null, null, null, null)::tenure.run_end)
    into v_late
    from gone g
    cross join lateral (select n.tenant_id from tenure.lanes n where n.lane = g.lane limit 1) n;
  if v_late is not null then
    perform tenure.job_settle(p_now, p_actor, null, v_late);
  end if;
end
$$;

-- Wakes the workers parked on these lanes, once: waking removes the park, and a worker that finds
-- nothing parks again. A lane without parked workers is not notified: a notification on every enqueue
-- would serialise all commits. A transaction with tenure.notify = off wakes none: one that has notified
-- cannot be prepared (two-phase commit).
create or replace function tenure.lane_wake(p_lanes integer[], p_now timestamptz) returns void
language plpgsql
as $$
declare
  v_lanes integer[];
begin
  if current_setting('tenure.notify', true) = 'off' then
    return;
  end if;
  -- An old snapshot may miss a park, and would fail on one that has changed.
  if current_setting('transaction_isolation') <> 'read committed' then
    perform pg_notify('tenure_lane', x.lane::text) from unnest(p_lanes) x (lane);
    return;
  end if;
  select array_agg(l.lane) into v_lanes
    from tenure.lanes l
   where l.lane = any (p_lanes) and l.parked_until > p_now;
  if v_lanes is null then
    return;
  end if;
  perform pg_notify('tenure_lane', x.lane::text) from unnest(v_lanes) x (lane);
  -- Only lanes that are notified lose their park. A transaction that has locked a row wakes its workers
  -- too, but may commit late: the notification is sent in any case.
  update tenure.lanes l
     set parked_until = null
   where l.lane in (
     select k.lane
       from tenure.lanes k
      where k.lane = any (v_lanes)
      order by k.lane
        for no key update skip locked);
end
$$;
