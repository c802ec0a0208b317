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
-- p_mode: 'started' starts the jobs in the same write, for free places; 'leased' is for a buffer.
-- p_token: may be the caller's own, so that tenure.job_held(token) finds a claim whose answer was lost.
-- p_hint_*: lane, rank, due and time of the last job of a batch; it spares the scan over rows that were
--   deleted but cannot be cleaned up yet. By itself it is valid for one second and within that rank, and the
--   remaining room is filled from the whole lane.
-- p_hint_alone: the hint is valid for a minute, and jobs that came in more than half a second out of order
--   are left for a claim without it; a caller that uses it must look at the whole lane every now and then.
-- p_priority_min: jobs below this priority are not taken.
-- p_gated: check the gate of the worker loop too.
-- granted to: worker
create or replace function tenure.job_turn(
  p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[],
  p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[],
  p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text,
  p_token        uuid,
  p_lane_after   integer     default null,
  p_hint_lane    integer     default null,
  p_hint_rank    smallint    default null,
  p_hint_due     timestamptz default null,
  p_hint_at      timestamptz default null,
  p_affinity_key text        default null,
  p_gated        boolean     default true,
  p_hint_alone   boolean     default false,
  p_priority_min integer     default null)
returns table (
  part text, job_id uuid, lane integer, rank smallint, due timestamptz, run integer, attempt smallint,
  attempts_max smallint, payload json, idempotency_key text, enqueued_by text, created_at timestamptz,
  more jsonb)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
-- pinned order: see sql/README.md
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tuning tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_now    timestamptz := tenure.now();
  v_ends   tenure.end_batch;
  v_done   uuid[];
  v_claim  tenure.claim_request;
  v_terms  tenure.claim_terms;
  v_pick   tenure.lane_pick;
  v_at     integer;
  v_rows   integer;
  v_got    integer;
begin
  if v_caller.tenant_id is null or v_tuning.jobs_open is not true then
    perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  end if;
  if cardinality(p_job_ids) > 0 then
    v_ends := (p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_error_codes, p_error_classes,
      p_error_messages, p_delay_seconds)::tenure.end_batch;
    v_done := tenure.runs_succeed(v_caller, v_tuning, v_now, v_ends);
    if cardinality(p_job_ids) > coalesce(cardinality(v_done), 0) then
      for part, job_id, more in
        select 'end', e.job_id,
               jsonb_build_object('token', e.token, 'status', e.status, 'state', e.state,
                 'next_due', e.next_due)
          from tenure.runs_end(v_caller, v_tuning, v_now, v_ends, v_done, 'exceptions') e
      loop
        return next;
      end loop;
    end if;
  end if;
  if p_limit = 0 then
    return;
  end if;
  if p_gated and v_tuning.worker_open is not true then
    part := 'gate';
    job_id := null;
    more := jsonb_build_object('gate', 'queue.worker.enabled');
    return next;
    return;
  end if;

  v_claim := (p_worker, p_executor, p_kinds, p_limit, p_lease_seconds, p_mode,
    case p_mode when 'started' then v_now end, coalesce(p_token, gen_random_uuid()), p_lane_after,
    p_affinity_key, p_priority_min, greatest(least(-p_priority_min::bigint, 32767), -32768), p_hint_lane,
    p_hint_rank, p_hint_due, p_hint_at, p_hint_alone)::tenure.claim_request;
  v_terms := tenure.claim_prepare(v_caller, v_tuning, v_now, v_claim);
  foreach v_at in array coalesce(v_terms.ranking, '{}') loop
    v_got := 0;
    foreach v_pick in array tenure.lane_ranges(v_caller.tenant_id, v_now, v_claim, v_terms, v_at) loop
      return query
        select 'claim'::text, t.job_id, v_pick.lane, t.rank, t.due, t.run, t.attempt, t.attempts_max,
               t.payload, t.idempotency_key, t.enqueued_by, t.created_at, t.more
          from tenure.lane_take(v_caller, v_now, v_claim, v_pick, v_pick.room - v_got) t;
      get diagnostics v_rows = row_count;
      v_got := v_got + v_rows;
      exit when v_got >= v_pick.room;
    end loop;
    if v_got > 0 then
      part := 'lease';
      job_id := null;
      lane := v_pick.lane;
      more := jsonb_build_object(
        'token', v_claim.token,
        'kind', v_pick.kind,
        'executor', v_pick.executor,
        'state', case p_mode when 'started' then 'in_progress' else 'leased' end,
        'leased_at', v_now,
        'leased_until', v_now + v_pick.lease,
        'started_at', v_claim.started_at);
      return next;
      if v_pick.stepped then
        for part, job_id, more in
          select 'fence', f.job_id, jsonb_build_object('fence', f.fence)
            from tenure.steps_claimed(v_pick.wanted) c
            cross join lateral unnest(c.job_ids, c.fences) f (job_id, fence)
        loop
          return next;
        end loop;
        if p_mode = 'started' then
          perform tenure.step_starts_record(v_now, v_caller.principal, v_pick.wanted);
        end if;
      end if;
      v_claim.rows_max := v_claim.rows_max - v_got;
      exit when v_claim.rows_max <= 0;
    end if;
  end loop;
end
$$;

-- Checks what is asked for and finds the lanes to take from, best first, in `ranking`; null when there are
-- none. Before that it does what must be done before a pick: promote jobs that came due, end those past their
-- deadline, and note that the worker is alive.
create or replace function tenure.claim_prepare(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_claim tenure.claim_request)
returns tenure.claim_terms
language plpgsql
as $$
declare
  v_terms  tenure.claim_terms;
  v_look   record;
begin
  -- One expression for the claims of nearly every worker; the check names what is wrong.
  if p_claim.worker ~ '[^!-~]'
     or p_claim.worker = ''
     or length(p_claim.worker) > 100
     or p_claim.rows_max not between 1 and tenure.limit_of('batch_rows_max')
     or p_claim.mode not in ('leased', 'started')
     or p_claim.executor is not null
     or p_claim.lease_seconds is not null
     or p_claim.priority_min is not null
     or (p_claim.worker || p_claim.rows_max || p_claim.mode) is null then
    perform tenure.check_request(p_caller, p_tuning, p_claim);
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform tenure.refuse('state_conflict',
      format('Jobs cannot be claimed in a %s transaction.', current_setting('transaction_isolation')),
      'Its snapshot shows neither what others hold by now nor what was limited or paused since.',
      'Claim in a read committed transaction, which is the default.');
  end if;

  v_terms := tenure.claim_lanes(p_caller, p_tuning, p_claim.executor, p_claim.kinds, p_claim.lease_seconds,
    false, null, 1 + tenure.limit_of('claim_lanes_max')::integer);
  if v_terms.more then
    -- Too many lanes to look into each: the marks lead to those of the best priorities.
    v_terms := tenure.claim_lanes(p_caller, p_tuning, p_claim.executor, p_claim.kinds, p_claim.lease_seconds,
      false, tenure.claim_marked(p_caller, p_claim.executor, p_claim.lane_after, p_claim.rank_last, p_now,
        greatest(p_claim.rows_max, tenure.limit_of('promote_rows_min')::integer)));
    v_terms.more := true;
  end if;
  if v_terms.lanes is null then
    return null;
  end if;
  -- One statement finds all that must be done before the pick: hardly ever anything.
  select exists (select from tenure.leases l where l.token = p_claim.token) as reused,
         (select h.last_tick_at
            from tenure.heartbeats h
           where h.tenant_id = p_caller.tenant_id
             and h.executor_name = p_claim.worker) as ticked_at,
         exists (
           select from tenure.delayed d
            where d.lane = any (v_terms.lanes)
              and d.due <= p_now) as waited,
         (select r.deadline
            from tenure.ready r
           where r.deadline is not null
           order by r.deadline
           limit 1) <= p_now as lapsed,
         exists (
           select from tenure.ready r
            where r.lane = p_claim.hint_lane
              and r.rank < p_claim.hint_rank) as better,
         p_claim.hint_due is not null
           and p_claim.hint_rank <= p_claim.rank_last
           and p_claim.hint_at > p_now - make_interval(secs => case
             when p_claim.hint_alone then tenure.limit_of('hint_alone_seconds_max')
             else tenure.limit_of('hint_seconds_max')
           end) as hinted
    into v_look;
  if v_look.reused then
    perform tenure.refuse_token();
  end if;
  if v_look.ticked_at is null
     or v_look.ticked_at <= p_now - make_interval(secs => p_tuning.stale_seconds / 3.0) then
    perform tenure.executor_seen(p_caller.tenant_id, p_claim.worker, p_claim.executor, v_terms.lanes[1],
      p_caller.principal, p_tuning, p_now);
  end if;
  -- Over many lanes the oldest of all have been moved already.
  if v_look.waited and not v_terms.more then
    perform tenure.lane_promote(v_terms.lanes, p_now,
      greatest(p_claim.rows_max, tenure.limit_of('promote_rows_min')::integer));
  end if;
  if v_look.lapsed then
    perform tenure.lane_lapse(v_terms.lanes, p_now,
      greatest(p_claim.rows_max, tenure.limit_of('promote_rows_min')::integer), p_caller.principal);
  end if;

  v_terms.hint_holds := v_look.hinted and not v_look.better and not v_look.waited;
  v_terms.ranking := case
    when cardinality(v_terms.lanes) > 1
      then tenure.claim_ranking(p_caller.tenant_id, v_terms, p_claim.rank_last)
    else array[1]
  end;
  return v_terms;
end
$$;

-- The order in which a claim takes from its lanes: best head first. It looks at the heads without locking
-- them and leaves out empty lanes and kinds at their limit; null when none is left.
create or replace function tenure.claim_ranking(
  p_tenant_id integer, p_terms tenure.claim_terms, p_rank_last smallint) returns integer[]
language plpgsql
as $$
begin
  return (
    select array_agg(h.at order by h.rank, h.due, h.job_id)
      from (
        select x.at::integer as at, r.rank, r.due, r.job_id
          from unnest(p_terms.lanes, p_terms.limits, p_terms.kinds) with ordinality x (lane, most, kind, at)
          cross join lateral (
            select r.rank, r.due, r.job_id
              from tenure.ready r
             where r.lane = x.lane
               and r.rank <= p_rank_last
             order by r.rank, r.due, r.job_id
             limit 1) r
         where x.most is null
            or (select count(*)
                  from tenure.active a
                 where a.limited
                   and a.lane = any (array(
                     select n.lane
                       from tenure.lanes n
                      where n.tenant_id = p_tenant_id
                        and n.kind = x.kind))) < x.most
         order by r.rank, r.due, r.job_id
         limit tenure.limit_of('claim_lanes_max')) h);
end
$$;

-- Refuses a claim with an invalid worker, limit, mode, executor, lease or priority.
create or replace function tenure.check_request(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_claim tenure.claim_request) returns void
language plpgsql stable
as $$
begin
  if p_claim.priority_min is not null then
    perform tenure.check_number('The lowest priority', p_claim.priority_min, -32768, 32767);
  end if;
  perform tenure.check_claim(p_caller, p_tuning, p_claim.worker, p_claim.executor, p_claim.rows_max,
    p_claim.lease_seconds, p_claim.mode);
end
$$;
