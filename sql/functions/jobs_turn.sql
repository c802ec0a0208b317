-- A worker's turn: the ends of one batch and the claim of the next, one statement, one commit.

-- First ends, then claims up to p_limit jobs (0: none). Rows by part: 'end' for an end that did not simply succeed; 'lease' once for each lane that was claimed from, with
-- what all its jobs have in common (token, kind, executor, state, times of the lease); 'claim' for each job, to be dispatched only after the statement has returned;
-- 'gate' names a gate whose closing kept the turn from claiming: its ends stand all the same. A column that does not belong to the part is null.
--
-- Within a lane the order is exact: priority, due time, id. Across lanes it is approximate: lanes are taken best head first, at most claim_lanes_max non-empty
-- ones from p_lane_after on. p_mode 'started' starts the jobs in the same write: for free slots; 'leased' is for a buffer. The token may be the caller's own, so
-- that tenure.job_held(token) finds a claim whose answer was lost. A job past its deadline goes to the dead letters instead, so fewer may come back.
-- p_hint_*: lane, rank, due and time of the last job of a full batch, good for one second and only within that rank; it spares the scan over what was just deleted.
-- p_gated: ask the gate of the worker loop too. Nothing claimable: no rows, and no trace.
create or replace function tenure.job_turn(
  p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[],
  p_delay_seconds integer[],
  p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid,
  p_lane_after integer default null, p_hint_lane integer default null, p_hint_rank smallint default null, p_hint_due timestamptz default null, p_hint_at timestamptz default null,
  p_affinity_key text default null, p_gated boolean default true)
returns table (
  part text, job_id uuid, status text, token uuid, lane integer, rank smallint, due timestamptz, kind text, executor text, state text, run integer, attempt smallint,
  attempts_max smallint, leased_at timestamptz, leased_until timestamptz, started_at timestamptz, run_until timestamptz, deadline_at timestamptz, payload jsonb,
  payload_classification text, source_ref text, target_ref text, payload_ref text, idempotency_key text, affinity_key text, correlation_id text, parent_job_id uuid,
  workflow_id uuid, run_id uuid, enqueued_by text, created_at timestamptz)
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
  v_token    uuid := coalesce(p_token, gen_random_uuid());
  v_started  timestamptz := case when p_mode = 'started' then v_now end;
  v_terms    record;
  v_order    integer[];
  v_at       integer;
  v_lane     integer;
  v_want     integer := p_limit;
  v_room     integer;
  v_limited  boolean;
  v_round    integer;
  v_hinted   boolean;
  v_from     smallint;
  v_to       smallint;
  v_since    timestamptz;
  v_until    timestamptz;
  v_wanted   uuid[];
  v_lease    interval;
  v_before   integer;
  v_ids      uuid[] := '{}';
  v_lanes    integer[] := '{}';
  v_ranks    smallint[] := '{}';
  v_dues     timestamptz[] := '{}';
  v_runs     integer[] := '{}';
  v_attempts smallint[] := '{}';
  v_late     tenure.run_end[] := '{}';
  v_got      record;
begin
  if v_tenant is null or v_tuning.jobs_open is not true then
    perform tenure.check_gate(v_tenant, 'queue.job_substrate.enabled');
  end if;
  if cardinality(p_job_ids) > 0 then
    for job_id, status, due, state in
      select e.job_id, e.status, e.next_due, e.state
        from tenure.runs_end(v_caller, v_tuning, v_now, 'exceptions', p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_error_codes, p_error_classes, p_error_messages,
               p_delay_seconds) e
    loop
      part := 'end';
      return next;
    end loop;
    job_id := null; due := null; state := null;
  end if;
  if p_limit = 0 then
    return;
  end if;
  if p_gated and v_tuning.worker_open is not true then
    part := 'gate';
    status := 'queue.worker.enabled';
    return next;
    return;
  end if;
  perform tenure.check_claim(v_caller, v_tuning, p_worker, p_executor, p_limit, p_lease_seconds, p_mode);

  if current_setting('transaction_isolation') <> 'read committed' then
    perform tenure.refuse('state_conflict', format('Jobs cannot be claimed in a %s transaction.', current_setting('transaction_isolation')),
      'Its snapshot shows neither what others hold by now nor what was limited or paused since.', 'Claim in a read committed transaction, which is the default.');
  end if;
  -- The lanes the claim may take from, with the terms of their leases.
  select c.lanes, c.lease_seconds, c.limits, c.kinds, c.executors into v_terms from tenure.claim_lanes(v_caller, v_tuning, p_executor, p_kinds, p_lease_seconds, false) c;
  if v_terms.lanes is null then
    return;
  end if;
  if p_token is not null and exists (select from tenure.leases l where l.token = p_token) then
    perform tenure.refuse('token_reused', 'This token has a lease already.', 'Every claim brings a new one.', 'See what it holds with tenure.job_held(token), or use a new token.');
  end if;
  perform tenure.executor_seen(v_tenant, p_worker, p_executor, v_terms.lanes[1], v_caller.principal, v_tuning, v_now);
  perform tenure.lane_promote(v_terms.lanes, v_now, greatest(p_limit, 100));

  v_order := array[1];
  if cardinality(v_terms.lanes) > 1 then
    -- Peek at the heads without locking; then lock only what is taken, best head first.
    select array_agg(h.at order by h.rank, h.due, h.at) into v_order
      from (select x.at::integer as at, r.rank, r.due
              from unnest(v_terms.lanes, v_terms.limits, v_terms.kinds) with ordinality x (lane, most, kind, at)
              cross join lateral (select r.rank, r.due from tenure.ready r where r.lane = x.lane order by r.rank, r.due, r.job_id limit 1) r
             where x.most is null
                or (select count(*) from tenure.active a where a.limited and a.lane = any (array(select n.lane from tenure.lanes n where n.tenant_id = v_tenant and n.kind = x.kind))) < x.most
             order by x.lane <= coalesce(p_lane_after, 0), x.lane
             limit tenure.limit_of('claim_lanes_max')) h;
    if v_order is null then
      return;
    end if;
  end if;

  foreach v_at in array v_order loop
    v_lane := v_terms.lanes[v_at];
    v_lease := make_interval(secs => v_terms.lease_seconds[v_at]);
    v_room := v_want;
    v_limited := v_terms.limits[v_at] is not null;
    if v_limited then
      -- What may still be held of the kind, by anybody; and nobody else claims it until we commit.
      continue when not exists (select from tenure.ready r where r.lane = v_lane);
      v_room := least(v_want, tenure.kind_room(v_tenant, v_terms.kinds[v_at]));
      continue when v_room <= 0;
    end if;
    v_hinted := p_hint_lane = v_lane and p_hint_at > v_now - interval '1 second' and p_hint_rank is not null and p_hint_due is not null;
    v_before := cardinality(v_ids);
    -- Rounds: 1 preferred by affinity within a window; 2 better ranks than the hint's; 3 the hint's rank from its due time on; 4 everything.
    for v_round in 1 .. 4 loop
      continue when v_round = 1 and p_affinity_key is null;
      continue when v_round in (2, 3) and not coalesce(v_hinted, false);
      v_from := case v_round when 3 then p_hint_rank else -32768 end;
      v_since := case v_round when 3 then p_hint_due else '-infinity' end;
      v_to := case v_round when 2 then greatest(p_hint_rank - 1, -32768) when 3 then p_hint_rank else 32767 end;
      v_until := 'infinity';
      if v_round = 1 then
        select w.ids, w.last_rank, w.last_due into v_wanted, v_to, v_until from tenure.lane_preferred(v_lane, p_affinity_key) w;
        continue when v_wanted is null;
      end if;
      -- Pick, lock, take and hold; a row that another claim holds is passed over. The limits of a run are looked up only in lanes that have seen any: a job's
      -- own row is read once, at the end.
      with picked as materialized (
        select r.ctid from tenure.ready r
         where r.lane = v_lane and (r.rank, r.due) >= (v_from, v_since) and (r.rank, r.due) <= (v_to, v_until) and (v_round > 1 or r.job_id = any (v_wanted))
         order by r.rank, r.due, r.job_id limit v_room for update skip locked
      ), taken as (
        delete from tenure.ready r where r.ctid = any (array(select p.ctid from picked p)) returning r.job_id, r.rank, r.due, r.run, r.attempts, r.deadline
      ), sorted as materialized (
        select t.job_id, t.rank, t.due, t.run + 1 as run, (t.attempts + 1)::smallint as attempt from taken t
         where (t.deadline <= v_now) is not true order by t.rank, t.due, t.job_id
      ), held as (
        insert into tenure.active (job_id, token, lane, run, attempt, due, started_at, limited, run_until, hold_until)
        select t.job_id, v_token, v_lane, t.run, t.attempt, t.due, v_started, v_limited,
               case when l.timed then (select v_started + make_interval(secs => j.run_timeout_seconds) from tenure.jobs j where j.job_id = t.job_id) end,
               case when l.timed then (select v_started + v_lease * (1.0 + j.renewals_max) from tenure.jobs j where j.job_id = t.job_id) end
          from (select (select n.timed from tenure.lanes n where n.lane = v_lane) as timed offset 0) l
          cross join sorted t
      )
      select array_agg(t.job_id) as ids, array_agg(t.rank) as ranks, array_agg(t.due) as dues, array_agg(t.run) as runs, array_agg(t.attempt) as attempts,
             (select array_agg((d.job_id, v_tenant, v_lane, d.run + 1, d.attempts, null, null, null, null, d.due, null, null, null, 'deadline_passed', 'deadline_passed', 'deadline',
                format('The deadline %s passed before the job started.', d.deadline), null, null, null, null)::tenure.run_end) from taken d where d.deadline <= v_now) as late
        into v_got from sorted t;
      v_late := v_late || v_got.late;
      v_want := v_want - coalesce(cardinality(v_got.late), 0);
      v_room := v_room - coalesce(cardinality(v_got.late), 0);
      if v_got.ids is not null then
        v_want := v_want - cardinality(v_got.ids);
        v_room := v_room - cardinality(v_got.ids);
        v_ids := v_ids || v_got.ids;
        v_ranks := v_ranks || v_got.ranks;
        v_dues := v_dues || v_got.dues;
        v_runs := v_runs || v_got.runs;
        v_attempts := v_attempts || v_got.attempts;
      end if;
      exit when v_room <= 0;
    end loop;

    if cardinality(v_ids) > v_before then
      v_lanes := v_lanes || array_fill(v_lane, array[cardinality(v_ids) - v_before]);
      insert into tenure.leases (token, lane, tenant_id, owner, executor, principal, leased_at, until, lease_seconds, held)
      values (v_token, v_lane, v_tenant, p_worker, v_terms.executors[v_at], v_caller.principal, v_now, v_now + v_lease, v_terms.lease_seconds[v_at], cardinality(v_ids) - v_before);
      insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, data)
      select (select i.epoch from tenure.installation i), v_now, v_tenant, v_lane, m.kind, v_caller.principal, v_ids[v_before + 1:], v_runs[v_before + 1:], jsonb_build_object('worker', p_worker)
        from (values ('job.leased'), ('job.started')) m (kind)
       where v_started is not null or m.kind = 'job.leased';
      part := 'lease'; token := v_token; lane := v_lane; kind := v_terms.kinds[v_at]; executor := v_terms.executors[v_at];
      state := case when v_started is null then 'leased' else 'in_progress' end;
      leased_at := v_now; leased_until := v_now + v_lease; started_at := v_started; status := null;
      return next;
    end if;
    exit when v_want <= 0;
  end loop;

  if cardinality(v_late) > 0 then
    perform tenure.job_settle(v_now, v_caller.principal, null, v_late);
  end if;
  if cardinality(v_ids) = 0 then
    return;
  end if;
  -- One look-up a job, whatever the statistics say, in the order of the claim.
  return query
    select 'claim'::text, t.job_id, null::text, null::uuid, t.lane, t.rank, t.due, null::text, null::text, null::text, t.run, t.attempt, j.attempts_max,
           null::timestamptz, null::timestamptz, null::timestamptz, v_started + make_interval(secs => j.run_timeout_seconds), j.deadline_at, j.payload, j.payload_classification,
           j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key, j.affinity_key, j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id, j.enqueued_by, j.created_at
      from unnest(v_ids, v_lanes, v_ranks, v_dues, v_runs, v_attempts) t (job_id, lane, rank, due, run, attempt)
      cross join lateral (
        select j.attempts_max, j.run_timeout_seconds, j.deadline_at, j.payload, j.payload_classification, j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key,
               j.affinity_key, j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id, j.enqueued_by, j.created_at
          from tenure.jobs j where j.job_id = t.job_id limit 1) j;
end
$$;

-- The jobs at the head of a lane that belong to the affinity: a preference within a named window of rows.
create or replace function tenure.lane_preferred(p_lane integer, p_affinity_key text, out ids uuid[], out last_rank smallint, out last_due timestamptz)
language plpgsql stable
as $$
begin
  select array_agg(n.job_id), (array_agg(n.rank order by n.rank desc, n.due desc))[1], (array_agg(n.due order by n.rank desc, n.due desc))[1]
    into ids, last_rank, last_due
    from (select r.job_id, r.rank, r.due from tenure.ready r where r.lane = p_lane order by r.rank, r.due, r.job_id limit tenure.limit_of('affinity_window_rows')) n
    cross join lateral (select j.affinity_key from tenure.jobs j where j.job_id = n.job_id limit 1) j
   where j.affinity_key = p_affinity_key;
end
$$;

-- Says that an idle worker listens for these kinds until then: enqueue notifies on the channel tenure_lane only while somebody is parked.
-- The worker commits its park, claims once more, and only then waits; polling covers the rest. Answers with the lanes to listen for.
create or replace function tenure.worker_park(p_executor text default null, p_kinds text[] default null, p_seconds integer default 60) returns integer[]
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tuning tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_until  timestamptz;
  v_lanes  integer[];
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_number('The time of a park', p_seconds, 1, 3600);
  v_until := tenure.now() + make_interval(secs => p_seconds);
  select coalesce(c.lanes, '{}') into v_lanes from tenure.claim_lanes(v_caller, v_tuning, p_executor, p_kinds, null, true) c;
  update tenure.lanes l set parked_until = v_until
   where l.lane in (select k.lane from tenure.lanes k where k.lane = any (v_lanes) and (k.parked_until is null or k.parked_until < v_until - interval '1 second')
                     -- Who has the row parks here too, or is about to wake whoever is parked.
                     order by k.lane for no key update skip locked);
  return v_lanes;
end
$$;
