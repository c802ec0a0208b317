-- Taking jobs out of a lane: the ranges a claim picks from, and the statement that takes a range.

-- The ranges of a lane that a claim takes from, in order; none when nothing of it may be taken. A preference
-- by affinity or a hint comes first, and the remaining room goes to the whole lane.
create or replace function tenure.lane_ranges(
  p_tenant_id integer, p_now timestamptz, p_claim tenure.claim_request, p_terms tenure.claim_terms,
  p_at integer) returns tenure.lane_pick[]
language plpgsql
as $$
declare
  v_whole tenure.lane_pick := (
    p_terms.lanes[p_at], p_terms.kinds[p_at], p_terms.executors[p_at], p_terms.lease_seconds[p_at],
    make_interval(secs => p_terms.lease_seconds[p_at]), p_terms.limits[p_at] is not null,
    p_terms.stepped[p_at], p_claim.rows_max, null,
    -32768, '-infinity', p_claim.rank_last, 'infinity')::tenure.lane_pick;
  v_pick  tenure.lane_pick;
begin
  if v_whole.limited then
    -- No other session claims the kind from here on until we commit.
    if not exists (select from tenure.ready r where r.lane = v_whole.lane and r.rank <= v_whole.rank_to) then
      return '{}';
    end if;
    v_whole.room := least(v_whole.room, tenure.kind_room(p_tenant_id, v_whole.kind));
    if v_whole.room <= 0 then
      return '{}';
    end if;
  end if;
  if v_whole.stepped then
    -- Steps are named before they are taken, because more is done with each. Other lanes need not say which
    -- jobs they took.
    v_whole.wanted := array(
      select r.job_id
        from tenure.ready r
       where r.lane = v_whole.lane
         and r.rank <= v_whole.rank_to
         and (r.deadline <= p_now) is not true
       order by r.rank, r.due, r.job_id
       limit v_whole.room
         for update skip locked);
    if v_whole.wanted = '{}' then
      return '{}';
    end if;
    -- Steps have a lease as long as they need, whatever the worker asks for.
    select s.job_ids, coalesce(s.lease_seconds, v_whole.lease_seconds)
      into v_whole.wanted, v_whole.lease_seconds
      from tenure.steps_lease(p_tenant_id, v_whole.kind, v_whole.wanted) s;
    v_whole.lease := make_interval(secs => v_whole.lease_seconds);
    return array[v_whole];
  end if;
  if p_claim.affinity_key is not null then
    v_pick := v_whole;
    select w.ids, w.last_rank, w.last_due
      into v_pick.wanted, v_pick.rank_to, v_pick.due_to
      from tenure.lane_preferred(v_pick.lane, p_claim.affinity_key) w;
    if v_pick.wanted is null then
      return array[v_whole];
    end if;
    if v_pick.rank_to > v_whole.rank_to then
      v_pick.rank_to := v_whole.rank_to;
      v_pick.due_to := 'infinity';
    end if;
    return array[v_pick, v_whole];
  end if;
  if p_terms.hint_holds and p_claim.hint_lane = v_whole.lane then
    v_pick := v_whole;
    v_pick.rank_from := p_claim.hint_rank;
    if p_claim.hint_alone then
      v_pick.due_from := p_claim.hint_due
        - make_interval(secs => tenure.limit_of('hint_overlap_ms') / 1000.0);
      return array[v_pick];
    end if;
    v_pick.due_from := p_claim.hint_due;
    v_pick.rank_to := p_claim.hint_rank;
    return array[v_pick, v_whole];
  end if;
  return array[v_whole];
end
$$;

-- Takes up to p_room jobs out of a range of ready, holds them under the lease of this claim, and writes
-- the events. A row that another claim has locked is passed over. It is one statement, because each further
-- one costs a small claim more than the work itself; only tenure.job_turn calls it, under its settings.
--
-- A job's own row is read once, at the end, unless a limit of its run is needed before: only in lanes that
-- have had such jobs.
create or replace function tenure.lane_take(
  p_caller tenure.caller_identity, p_now timestamptz, p_claim tenure.claim_request, p_pick tenure.lane_pick,
  p_room integer)
returns table (
  job_id uuid, rank smallint, due timestamptz, run integer, attempt smallint, attempts_max smallint,
  payload json, idempotency_key text, enqueued_by text, created_at timestamptz, more jsonb)
language plpgsql
as $$
begin
  return query
    with picked as materialized (
      select r.ctid, r.job_id, r.rank, r.due, r.run + 1 as run, (r.attempts + 1)::smallint as attempt
        from tenure.ready r
       where r.lane = p_pick.lane
         and (r.rank, r.due) >= (p_pick.rank_from, p_pick.due_from)
         and (r.rank, r.due) <= (p_pick.rank_to, p_pick.due_to)
         and (p_pick.wanted is null or r.job_id = any (p_pick.wanted))
         and (r.deadline <= p_now) is not true
       order by r.rank, r.due, r.job_id
       limit p_room
         for update skip locked
    ), taken as (
      delete from tenure.ready r where r.ctid = any (array(select p.ctid from picked p))
    ), held as (
      insert into tenure.active (job_id, token, lane, run, attempt, due, started_at, limited, run_until,
        hold_until)
      select h.job_id, p_claim.token, p_pick.lane, h.run, h.attempt, h.due,
             -- A job that came due after the clock was read starts when it came due, not before.
             case when p_claim.started_at < h.due then h.due else p_claim.started_at end,
             p_pick.limited, h.until[1], h.until[2]
        -- pinned order: see sql/README.md
        from (
          select p.job_id, p.run, p.attempt, p.due,
                 case when l.timed then (
                   select array[
                            p_claim.started_at + make_interval(secs => j.run_timeout_seconds),
                            p_claim.started_at
                              + least(make_interval(secs => j.lease_seconds), p_pick.lease)
                              * (1.0 + j.renewals_max)]
                     from tenure.jobs j
                    where j.job_id = p.job_id)
                 end as until
            from (select (select n.timed from tenure.lanes n where n.lane = p_pick.lane) as timed offset 0) l
            cross join picked p
          offset 0) h
    ), batch as materialized (
      select array_agg(p.job_id) as job_ids, array_agg(p.run) as runs, count(*)::integer as held
        from picked p
      having count(*) > 0
    ), leased as (
      insert into tenure.leases as l (token, lane, tenant_id, owner, executor, principal, leased_at,
        until, lease_seconds, held, limited)
      select p_claim.token, p_pick.lane, p_caller.tenant_id, p_claim.worker, p_pick.executor,
             p_caller.principal, p_now, p_now + p_pick.lease, p_pick.lease_seconds, b.held,
             p_pick.limited
        from batch b
      -- A second pick of this turn adds to its lease. A lease of another claim with the same token, which
      -- was not yet committed when we looked, is not ours.
      on conflict on constraint leases_pkey do update
        set held = case
          when l.leased_at = excluded.leased_at then l.held + excluded.held
          else tenure.refuse_token()
        end,
        limited = l.limited and excluded.limited
    ), recorded as (
      insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, job_count, data)
      select (select i.epoch from tenure.installation i), p_now, p_caller.tenant_id, p_pick.lane, m.kind,
             p_caller.principal, b.job_ids, b.runs, b.held, jsonb_build_object('worker', p_claim.worker)
        from batch b
        cross join (values ('job.leased'), ('job.started')) m (kind)
       where p_claim.started_at is not null
          or m.kind = 'job.leased'
    )
    select p.job_id, p.rank, p.due, p.run, p.attempt, j.attempts_max, j.payload, j.idempotency_key,
           j.enqueued_by, j.created_at, j.more
      from picked p
      cross join lateral tenure.claimed_job(p.job_id, p_claim.started_at) j;
end
$$;

-- What a claim answers of a job besides its place in the lane; fields that few jobs have are in `more`. The
-- planner writes this into the statement that calls it (a stable SQL function without settings), so that it
-- costs no call per job.
create or replace function tenure.claimed_job(p_job_id uuid, p_started timestamptz)
returns table (
  attempts_max smallint, payload json, idempotency_key text, enqueued_by text, created_at timestamptz,
  more jsonb)
language sql stable rows 1
as $$
  select j.attempts_max, j.payload, j.idempotency_key, j.enqueued_by, j.created_at,
         case
           when coalesce(j.source_ref, j.target_ref, j.payload_ref, j.affinity_key, j.correlation_id)
               is not null
             or coalesce(j.parent_job_id, j.workflow_id, j.run_id) is not null
             or j.deadline_at is not null
             or j.run_timeout_seconds is not null
             or j.payload_classification <> 'safe_metadata'
             or j.origin is not null then
             jsonb_strip_nulls(jsonb_build_object(
               'run_until', p_started + make_interval(secs => j.run_timeout_seconds),
               'deadline_at', j.deadline_at,
               'payload_classification', nullif(j.payload_classification, 'safe_metadata'),
               'source_ref', j.source_ref,
               'target_ref', j.target_ref,
               'payload_ref', j.payload_ref,
               'affinity_key', j.affinity_key,
               'correlation_id', j.correlation_id,
               'parent_job_id', j.parent_job_id,
               'workflow_id', j.workflow_id,
               'run_id', j.run_id,
               'traceparent', j.traceparent,
               'step', case when j.origin is not null then tenure.step_shown(j.origin, j.target_ref) end,
               'slot', j.origin -> 'slot'))
           when j.traceparent is not null then jsonb_build_object('traceparent', j.traceparent)
         end
    -- The limit stands inside: this is computed once, not in the scan of each partition.
    from (
      select j.attempts_max, j.run_timeout_seconds, j.deadline_at, j.payload, j.payload_classification,
             j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key, j.affinity_key, j.correlation_id,
             j.parent_job_id, j.workflow_id, j.run_id, j.enqueued_by, j.created_at, j.traceparent, j.origin
        from tenure.jobs j
       where j.job_id = p_job_id
       limit 1) j
$$;

-- The jobs at the head of a lane that have the affinity key, looked for within affinity_window_rows only, and
-- the rank and due time of the last of them.
create or replace function tenure.lane_preferred(
  p_lane integer, p_affinity_key text, out ids uuid[], out last_rank smallint, out last_due timestamptz)
language plpgsql stable
as $$
begin
  select array_agg(n.job_id),
         (array_agg(n.rank order by n.rank desc, n.due desc))[1],
         (array_agg(n.due order by n.rank desc, n.due desc))[1]
    into ids, last_rank, last_due
    from (
      select r.job_id, r.rank, r.due
        from tenure.ready r
       where r.lane = p_lane
       order by r.rank, r.due, r.job_id
       limit tenure.limit_of('affinity_window_rows')) n
    cross join lateral (select j.affinity_key from tenure.jobs j where j.job_id = n.job_id limit 1) j
   where j.affinity_key = p_affinity_key;
end
$$;
