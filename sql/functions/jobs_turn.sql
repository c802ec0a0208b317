-- A worker's turn: the ends of one batch and the claim of the next, one statement, one commit.

-- First ends, then claims (p_limit 0: no claim). Rows with part 'end' are the ends that did not simply succeed in ending; rows with part 'claim' are new work,
-- to be dispatched only after the statement has returned. The claim takes free slots, so its jobs come back started unless p_mode says leased.
create or replace function tenure.job_turn(
  p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[],
  p_delay_seconds integer[],
  p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid,
  p_lane_after integer default null, p_hint_lane integer default null, p_hint_rank smallint default null, p_hint_due timestamptz default null, p_hint_at timestamptz default null)
returns table (
  part text, job_id uuid, status text, token uuid, lane integer, rank smallint, due timestamptz, kind text, executor text, state text, run integer, attempt smallint,
  attempts_max smallint, leased_at timestamptz, leased_until timestamptz, started_at timestamptz, run_until timestamptz, deadline_at timestamptz, payload jsonb,
  payload_classification text, source_ref text, target_ref text, payload_ref text, idempotency_key text, affinity_key text, correlation_id text, parent_job_id uuid,
  workflow_id uuid, run_id uuid, enqueued_by text, created_at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
  if coalesce(cardinality(p_job_ids), 0) > 0 then
    return query
      select 'end'::text, e.job_id, e.status, null::uuid, null::integer, null::smallint, e.next_due, null::text, null::text, e.state, null::integer, null::smallint, null::smallint,
             null::timestamptz, null::timestamptz, null::timestamptz, null::timestamptz, null::timestamptz, null::jsonb, null::text, null::text, null::text, null::text, null::text,
             null::text, null::text, null::uuid, null::uuid, null::uuid, null::text, null::timestamptz
        from tenure.job_end_many(p_job_ids, p_tokens, p_outcomes, p_results, p_result_refs, p_error_codes, p_error_classes, p_error_messages, p_delay_seconds) e
       where e.status <> 'ended' or e.state <> 'succeeded';
  end if;
  if p_limit > 0 then
    return query
      select 'claim'::text, c.job_id, 'claimed'::text, c.token, c.lane, c.rank, c.due, c.kind, c.executor, c.state, c.run, c.attempt, c.attempts_max, c.leased_at, c.leased_until,
             c.started_at, c.run_until, c.deadline_at, c.payload, c.payload_classification, c.source_ref, c.target_ref, c.payload_ref, c.idempotency_key, c.affinity_key,
             c.correlation_id, c.parent_job_id, c.workflow_id, c.run_id, c.enqueued_by, c.created_at
        from tenure.job_claim_many(p_worker, p_executor, p_kinds, p_limit, p_lease_seconds, p_mode, p_token, null, p_lane_after, p_hint_lane, p_hint_rank, p_hint_due, p_hint_at) c;
  end if;
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
  v_until  timestamptz;
  v_lanes  integer[];
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_number('The time of a park', p_seconds, 1, 3600);
  v_until := tenure.now() + make_interval(secs => p_seconds);
  v_lanes := coalesce(tenure.claim_lanes(v_caller, p_executor, p_kinds), '{}');
  update tenure.lanes l set parked_until = v_until
   where l.lane in (select k.lane from tenure.lanes k where k.lane = any (v_lanes) and (k.parked_until is null or k.parked_until < v_until - interval '1 second')
                     order by k.lane for no key update);
  return v_lanes;
end
$$;
