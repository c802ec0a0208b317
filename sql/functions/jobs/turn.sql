-- A worker's turn: the ends of one batch and the claim of the next, in one statement and one commit.

-- First ends, then claims up to p_limit jobs (0: none). When nothing is claimable, the claim makes no rows,
-- no lease and no events. Rows by part:
--   'claim'  a job, to be dispatched only after the statement has returned. Fields that few jobs have are in
--            `more`: run_until, deadline_at, payload_classification, source_ref, target_ref, payload_ref,
--            affinity_key, correlation_id, parent_job_id, workflow_id, run_id, traceparent, step, slot.
--   'lease'  after the claims of a lane, what they have in common: in `more` its token, kind, executor,
--            state, leased_at, leased_until, started_at.
--   'fence'  after the lease, for the job of a step that locks its target: in `more` the fence of this run.
--   'end'    an end that did not simply succeed: in `more` its token, status, state, next_due.
--   'gate'   in `more` the closed gate that kept the turn from claiming; the ends of the turn are kept.
--
-- Within a lane the order is exact: priority, due time, id. Across lanes the best priority comes first; of
-- lanes that are equal in it, the best due time. A claim over every kind of a tenant with more than
-- claim_lanes_max lanes compares that many of equal priority, from p_lane_after or a random place on:
-- tenure.claim_marked. Jobs past their deadline go to the dead letters first.
--
-- p_mode: 'started' starts the jobs in the same write, for free slots; 'leased' is for a buffer.
-- p_token: may be the caller's own, so that tenure.job_held(token) finds a claim whose answer was lost.
-- p_hint_*: lane, rank, due and time of the last job of a batch; it spares the scan over rows that were
--   deleted but cannot be cleaned up yet. By itself it is valid for one second and within that rank, and the
--   remaining room is filled from the whole lane.
-- p_hint_alone: the hint is valid for a minute, and jobs that came in more than half a second out of order
--   are left for a claim without it; a caller that uses it must look at the whole lane every now and then.
-- p_priority_min: jobs below this priority are not taken.
-- p_gated: check the gate of the worker loop too.
create or replace function tenure.job_turn(
  p_job_ids        uuid[],
  p_tokens         uuid[],
  p_outcomes       text[],
  p_results        jsonb[],
  p_result_refs    text[],
  p_error_codes    text[],
  p_error_classes  text[],
  p_error_messages text[],
  p_delay_seconds  integer[],
  p_worker         text,
  p_executor       text,
  p_kinds          text[],
  p_limit          integer,
  p_lease_seconds  integer,
  p_mode           text,
  p_token          uuid,
  p_lane_after     integer     default null,
  p_hint_lane      integer     default null,
  p_hint_rank      smallint    default null,
  p_hint_due       timestamptz default null,
  p_hint_at        timestamptz default null,
  p_affinity_key   text        default null,
  p_gated          boolean     default true,
  p_hint_alone     boolean     default false,
  p_priority_min   integer     default null)
returns table (
  part text, job_id uuid, lane integer, rank smallint, due timestamptz, run integer, attempt smallint,
  attempts_max smallint, payload json, idempotency_key text, enqueued_by text, created_at timestamptz,
  more jsonb)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_tenant   integer := v_caller.tenant_id;
  v_tuning   tenure.tunings := tenure.tuning(v_tenant);
  v_now      timestamptz := tenure.now();
  v_done     uuid[];
  v_token    uuid;
  v_started  timestamptz;
  v_terms    record;
  v_marked   boolean;
  v_look     record;
  v_order    integer[];
  v_at       integer;
  v_lane     integer;
  v_lease    interval;
  v_want     integer := p_limit;
  v_room     integer;
  v_rows     integer;
  v_got      integer;
  v_limited  boolean;
  v_hinted   boolean;
  v_stepped  boolean;
  v_steps    uuid[];
  v_wanted   uuid[];
  v_from     smallint;
  v_since    timestamptz;
  v_to       smallint;
  v_until    timestamptz;
  -- The last rank to take.
  v_last     smallint := 32767;
begin
  if v_tenant is null or v_tuning.jobs_open is not true then
    perform tenure.check_gate(v_tenant, 'queue.job_substrate.enabled');
  end if;
  if cardinality(p_job_ids) > 0 then
    v_done := tenure.runs_succeed(v_caller, v_tuning, v_now, p_job_ids, p_tokens, p_outcomes, p_results,
      p_result_refs, p_delay_seconds);
  end if;
  if cardinality(p_job_ids) > coalesce(cardinality(v_done), 0) then
    return query
      select 'end'::text, e.job_id, null::integer, null::smallint, null::timestamptz, null::integer,
             null::smallint, null::smallint, null::json, null::text, null::text, null::timestamptz,
             jsonb_build_object('token', e.token, 'status', e.status, 'state', e.state,
               'next_due', e.next_due)
        from tenure.runs_end(v_caller, v_tuning, v_now, 'exceptions', p_job_ids, p_tokens, p_outcomes,
               p_results, p_result_refs, p_error_codes, p_error_classes, p_error_messages, p_delay_seconds,
               v_done) e;
  end if;
  if p_limit = 0 then
    return;
  end if;
  if p_gated and v_tuning.worker_open is not true then
    part := 'gate';
    more := jsonb_build_object('gate', 'queue.worker.enabled');
    return next;
    return;
  end if;
  if p_worker ~ '[^!-~]'
     or p_worker = ''
     or length(p_worker) > 100
     or p_limit not between 1 and tenure.limit_of('batch_rows_max')
     or p_mode not in ('leased', 'started')
     or p_executor is not null
     or p_lease_seconds is not null
     or p_priority_min is not null
     or (p_worker || p_limit || p_mode) is null then
    if p_priority_min is not null then
      perform tenure.check_number('The lowest priority', p_priority_min, -32768, 32767);
      v_last := least(-p_priority_min, 32767);
    end if;
    perform tenure.check_claim(v_caller, v_tuning, p_worker, p_executor, p_limit, p_lease_seconds, p_mode);
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform tenure.refuse('state_conflict',
      format('Jobs cannot be claimed in a %s transaction.', current_setting('transaction_isolation')),
      'Its snapshot shows neither what others hold by now nor what was limited or paused since.',
      'Claim in a read committed transaction, which is the default.');
  end if;

  -- The lanes the claim may take from, with the terms of their leases.
  v_terms := tenure.claim_lanes(v_caller, v_tuning, p_executor, p_kinds, p_lease_seconds, false, null,
    1 + tenure.limit_of('claim_lanes_max')::integer);
  v_marked := v_terms.more;
  if v_marked then
    -- Too many lanes to look into each: the marks lead to those of the best priorities.
    v_terms := tenure.claim_lanes(v_caller, v_tuning, p_executor, p_kinds, p_lease_seconds, false,
      tenure.claim_marked(v_caller, p_executor, p_lane_after, v_last, v_now, greatest(p_limit, 100)));
  end if;
  if v_terms.lanes is null then
    return;
  end if;
  -- One statement finds all that must be done before the pick: hardly ever anything.
  select exists (select from tenure.leases l where l.token = p_token) as reused,
         (select h.last_tick_at
            from tenure.heartbeats h
           where h.tenant_id = v_tenant
             and h.executor_name = p_worker) as ticked_at,
         exists (
           select from tenure.delayed d
            where d.lane = any (v_terms.lanes)
              and d.due <= v_now) as waited,
         (select r.deadline
            from tenure.ready r
           where r.deadline is not null
           order by r.deadline
           limit 1) <= v_now as lapsed,
         exists (select from tenure.ready r where r.lane = p_hint_lane and r.rank < p_hint_rank) as better
    into v_look;
  if v_look.reused then
    perform tenure.refuse_token();
  end if;
  if v_look.ticked_at is null
     or v_look.ticked_at <= v_now - make_interval(secs => v_tuning.stale_seconds / 3.0) then
    perform tenure.executor_seen(v_tenant, p_worker, p_executor, v_terms.lanes[1], v_caller.principal,
      v_tuning, v_now);
  end if;
  -- Over many lanes the oldest of all have been moved already.
  if v_look.waited and not v_marked then
    perform tenure.lane_promote(v_terms.lanes, v_now, greatest(p_limit, 100));
  end if;
  if v_look.lapsed then
    perform tenure.lane_lapse(v_terms.lanes, v_now, greatest(p_limit, 100), v_caller.principal);
  end if;

  v_order := array[1];
  if cardinality(v_terms.lanes) > 1 then
    -- Peek at the heads without locking; then lock only what is taken, best head first.
    select array_agg(h.at order by h.rank, h.due, h.job_id)
      into v_order
      from (
        select x.at::integer as at, r.rank, r.due, r.job_id
          from unnest(v_terms.lanes, v_terms.limits, v_terms.kinds) with ordinality x (lane, most, kind, at)
          cross join lateral (
            select r.rank, r.due, r.job_id
              from tenure.ready r
             where r.lane = x.lane
               and r.rank <= v_last
             order by r.rank, r.due, r.job_id
             limit 1) r
         where x.most is null
            or (select count(*)
                  from tenure.active a
                 where a.limited
                   and a.lane = any (array(
                     select n.lane
                       from tenure.lanes n
                      where n.tenant_id = v_tenant
                        and n.kind = x.kind))) < x.most
         order by r.rank, r.due, r.job_id
         limit tenure.limit_of('claim_lanes_max')) h;
    if v_order is null then
      return;
    end if;
  end if;
  v_token := coalesce(p_token, gen_random_uuid());
  if p_mode = 'started' then
    v_started := v_now;
  end if;

  foreach v_at in array v_order loop
    v_lane := v_terms.lanes[v_at];
    v_lease := make_interval(secs => v_terms.lease_seconds[v_at]);
    v_room := v_want;
    v_limited := v_terms.limits[v_at] is not null;
    if v_limited then
      -- How many more jobs of the kind may be held, over all holders. No other session claims the kind until
      -- we commit.
      continue when not exists (select from tenure.ready r where r.lane = v_lane and r.rank <= v_last);
      v_room := least(v_want, tenure.kind_room(v_tenant, v_terms.kinds[v_at]));
      continue when v_room <= 0;
    end if;
    v_got := 0;
    v_from := -32768;
    v_since := '-infinity';
    v_to := v_last;
    v_until := 'infinity';
    -- Up to three picks: what is preferred by affinity, within a window; the hint's rank from its due time
    -- on, unless a better rank waits; everything.
    v_hinted := p_hint_lane = v_lane
      and p_hint_at > v_now - case when p_hint_alone then interval '1 minute' else interval '1 second' end
      and p_hint_due is not null
      and not v_look.better
      and not v_look.waited
      and p_hint_rank <= v_last;
    if p_affinity_key is not null then
      select w.ids, w.last_rank, w.last_due
        into v_wanted, v_to, v_until
        from tenure.lane_preferred(v_lane, p_affinity_key) w;
      if v_to > v_last then
        v_to := v_last;
        v_until := 'infinity';
      end if;
    end if;
    v_stepped := v_terms.stepped[v_at];
    if v_stepped then
      -- Steps are named before they are taken, because more is done with each. Other lanes need not say which
      -- jobs they took.
      v_wanted := array(
        select r.job_id
          from tenure.ready r
         where r.lane = v_lane
           and r.rank <= v_last
           and (r.deadline <= v_now) is not true
         order by r.rank, r.due, r.job_id
         limit v_room
           for update skip locked);
      v_steps := v_wanted;
      v_to := v_last;
      v_until := 'infinity';
      if cardinality(v_wanted) = 0 then
        v_wanted := null;
        continue;
      end if;
    end if;
    if v_wanted is null and v_hinted then
      v_from := p_hint_rank;
      v_since := p_hint_due;
      if p_hint_alone then
        v_since := p_hint_due - interval '500 milliseconds';
      else
        v_to := p_hint_rank;
      end if;
    end if;
    loop
      -- Pick, lock, take, hold and write the events; a row that another claim has locked is passed over. A
      -- job's own row is read once, at the end, unless a limit of its run is needed before: only in lanes
      -- that have had such jobs. One look-up per job, whatever the statistics say, in the order of the claim.
      return query
        with picked as materialized (
          select r.ctid, r.job_id, r.rank, r.due, r.run + 1 as run, (r.attempts + 1)::smallint as attempt
            from tenure.ready r
           where r.lane = v_lane
             and (r.rank, r.due) >= (v_from, v_since)
             and (r.rank, r.due) <= (v_to, v_until)
             and (v_wanted is null or r.job_id = any (v_wanted))
             and (r.deadline <= v_now) is not true
           order by r.rank, r.due, r.job_id
           limit v_room
             for update skip locked
        ), taken as (
          delete from tenure.ready r where r.ctid = any (array(select p.ctid from picked p))
        ), held as (
          insert into tenure.active (job_id, token, lane, run, attempt, due, started_at, limited, run_until,
            hold_until)
          select p.job_id, v_token, v_lane, p.run, p.attempt, p.due,
                 -- A job that came due after the clock was read starts when it came due, not before.
                 case when v_started < p.due then p.due else v_started end,
                 v_limited,
                 case when l.timed then (
                   select v_started + make_interval(secs => j.run_timeout_seconds)
                     from tenure.jobs j
                    where j.job_id = p.job_id)
                 end,
                 case when l.timed then (
                   select v_started + v_lease * (1.0 + j.renewals_max)
                     from tenure.jobs j
                    where j.job_id = p.job_id)
                 end
            from (select (select n.timed from tenure.lanes n where n.lane = v_lane) as timed offset 0) l
            cross join picked p
        ), batch as materialized (
          select array_agg(p.job_id) as job_ids, array_agg(p.run) as runs, count(*)::integer as held
            from picked p
          having count(*) > 0
        ), leased as (
          insert into tenure.leases as l (token, lane, tenant_id, owner, executor, principal, leased_at,
            until, lease_seconds, held)
          select v_token, v_lane, v_tenant, p_worker, v_terms.executors[v_at], v_caller.principal, v_now,
                 v_now + v_lease, v_terms.lease_seconds[v_at], b.held
            from batch b
          -- A second pick of this turn adds to its lease. A lease of another claim with the same token, which
          -- was not yet committed when we looked, is not ours.
          on conflict on constraint leases_pkey do update
            set held = case
              when l.leased_at = excluded.leased_at then l.held + excluded.held
              else tenure.refuse_token()
            end
        ), told as (
          insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, job_count, data)
          select (select i.epoch from tenure.installation i), v_now, v_tenant, v_lane, m.kind,
                 v_caller.principal, b.job_ids, b.runs, b.held, jsonb_build_object('worker', p_worker)
            from batch b
            cross join (values ('job.leased'), ('job.started')) m (kind)
           where v_started is not null
              or m.kind = 'job.leased'
        )
        select 'claim'::text, p.job_id, v_lane, p.rank, p.due, p.run, p.attempt, j.attempts_max, j.payload,
               j.idempotency_key, j.enqueued_by, j.created_at,
               case
                 when coalesce(j.source_ref, j.target_ref, j.payload_ref, j.affinity_key, j.correlation_id)
                     is not null
                   or coalesce(j.parent_job_id, j.workflow_id, j.run_id) is not null
                   or j.deadline_at is not null
                   or j.run_timeout_seconds is not null
                   or j.payload_classification <> 'safe_metadata'
                   or j.origin is not null then
                   jsonb_strip_nulls(jsonb_build_object(
                     'run_until', v_started + make_interval(secs => j.run_timeout_seconds),
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
                     'step', case
                       when j.origin is not null then tenure.step_shown(j.origin, j.target_ref)
                     end,
                     'slot', j.origin -> 'slot'))
                 when j.traceparent is not null then jsonb_build_object('traceparent', j.traceparent)
               end
          from picked p
          cross join lateral (
            select j.attempts_max, j.run_timeout_seconds, j.deadline_at, j.payload, j.payload_classification,
                   j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key, j.affinity_key,
                   j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id, j.enqueued_by, j.created_at,
                   j.traceparent, j.origin
              from tenure.jobs j
             where j.job_id = p.job_id
             limit 1) j;
      get diagnostics v_rows = row_count;
      v_got := v_got + v_rows;
      v_room := v_room - v_rows;
      if v_stepped then
        v_wanted := null;
        exit;
      end if;
      exit when v_room <= 0
        or (v_wanted is null and v_to = v_last and (v_from = -32768 or p_hint_alone));
      -- The remaining room goes to the whole lane.
      v_wanted := null;
      v_from := -32768;
      v_since := '-infinity';
      v_to := v_last;
      v_until := 'infinity';
    end loop;

    if v_got > 0 then
      v_want := v_want - v_got;
      part := 'lease';
      lane := v_lane;
      more := jsonb_build_object(
        'token', v_token,
        'kind', v_terms.kinds[v_at],
        'executor', v_terms.executors[v_at],
        'state', case when v_started is null then 'leased' else 'in_progress' end,
        'leased_at', v_now,
        'leased_until', v_now + v_lease,
        'started_at', v_started);
      return next;
      if v_stepped then
        return query
          select 'fence'::text, f.job_id, v_lane, null::smallint, null::timestamptz, null::integer,
                 null::smallint, null::smallint, null::json, null::text, null::text, null::timestamptz,
                 jsonb_build_object('fence', f.fence)
            from tenure.steps_claimed(v_steps) c
            cross join lateral unnest(c.job_ids, c.fences) f (job_id, fence);
        if v_started is not null then
          perform tenure.steps_begin(v_now, v_caller.principal, v_steps);
        end if;
      end if;
    end if;
    exit when v_want <= 0;
  end loop;
end
$$;
