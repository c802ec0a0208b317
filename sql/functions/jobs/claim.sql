-- Claim: takes ready jobs under a new lease. One claim is one token; each lane it takes from has a lease row
-- of its own.

-- Claims up to p_limit jobs: a turn without ends, see tenure.job_turn. A claim by hand does not check the
-- gate of the worker loop.
-- granted to: worker
create or replace function tenure.job_claim_many(
  p_worker        text,
  p_executor      text        default null,
  p_kinds         text[]      default null,
  p_limit         integer     default 1,
  p_lease_seconds integer     default null,
  p_mode          text        default 'leased',
  p_token         uuid        default null,
  p_affinity_key  text        default null,
  p_lane_after    integer     default null,
  p_hint_lane     integer     default null,
  p_hint_rank     smallint    default null,
  p_hint_due      timestamptz default null,
  p_hint_at       timestamptz default null,
  p_priority_min  integer     default null)
returns table (
  job_id uuid, token uuid, lane integer, rank smallint, due timestamptz, kind text, executor text, state text,
  run integer, attempt smallint, attempts_max smallint, leased_at timestamptz, leased_until timestamptz,
  started_at timestamptz, run_until timestamptz, deadline_at timestamptz, payload json,
  payload_classification text, source_ref text, target_ref text, payload_ref text, idempotency_key text,
  affinity_key text, correlation_id text, parent_job_id uuid, workflow_id uuid, run_id uuid,
  enqueued_by text, created_at timestamptz, traceparent text, step jsonb, slot jsonb, fence bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
  -- A turn may go without a claim; a claim may not.
  if p_limit is null or p_limit < 1 then
    perform tenure.check_gate((tenure.caller()).tenant_id, 'queue.job_substrate.enabled');
    perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  end if;
  return query
    with turn as materialized (
      select t.part, t.job_id, t.lane, t.rank, t.due, t.run, t.attempt, t.attempts_max, t.payload,
             t.idempotency_key, t.enqueued_by, t.created_at, t.more, t.n
        from tenure.job_turn(null, null, null, null, null, null, null, null, null,
               p_worker, p_executor, p_kinds, p_limit, p_lease_seconds, p_mode, p_token, p_lane_after,
               p_hint_lane, p_hint_rank, p_hint_due, p_hint_at, p_affinity_key, false, false,
               p_priority_min) with ordinality
               t (part, job_id, lane, rank, due, run, attempt, attempts_max, payload,
                  idempotency_key, enqueued_by, created_at, more, n)
    )
    select c.job_id, (l.more ->> 'token')::uuid, c.lane, c.rank, c.due,
           l.more ->> 'kind', l.more ->> 'executor', l.more ->> 'state', c.run, c.attempt, c.attempts_max,
           (l.more ->> 'leased_at')::timestamptz, (l.more ->> 'leased_until')::timestamptz,
           (l.more ->> 'started_at')::timestamptz, (c.more ->> 'run_until')::timestamptz,
           (c.more ->> 'deadline_at')::timestamptz, c.payload,
           coalesce(c.more ->> 'payload_classification', 'safe_metadata'),
           c.more ->> 'source_ref', c.more ->> 'target_ref', c.more ->> 'payload_ref', c.idempotency_key,
           c.more ->> 'affinity_key', c.more ->> 'correlation_id', (c.more ->> 'parent_job_id')::uuid,
           (c.more ->> 'workflow_id')::uuid, (c.more ->> 'run_id')::uuid, c.enqueued_by, c.created_at,
           c.more ->> 'traceparent', (c.more -> 'step') || coalesce(f.more, '{}'), c.more -> 'slot',
           (f.more ->> 'fence')::bigint
      from turn c
      join turn l on l.part = 'lease' and l.lane = c.lane
      left join turn f on f.part = 'fence' and f.job_id = c.job_id
     where c.part = 'claim'
     order by c.n;
end
$$;

-- Claims one job, for people at a prompt and for shell scripts; {"job": null} when there is none.
-- granted to: worker
create or replace function tenure.job_claim(
  p_worker text, p_executor text default null, p_kinds text[] default null,
  p_lease_seconds integer default null, p_mode text default 'leased', p_affinity_key text default null,
  p_priority_min integer default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_claim   record;
  v_payload json;
  v_job     jsonb;
begin
  select c.* into v_claim
    from tenure.job_claim_many(p_worker, p_executor, p_kinds, 1, p_lease_seconds, p_mode, null,
      p_affinity_key, p_priority_min => p_priority_min) c;
  if found then
    v_payload := v_claim.payload;
    v_claim.payload := null;
    v_job := to_jsonb(v_claim) || jsonb_build_object('payload', tenure.payload_shown(v_payload));
  end if;
  return jsonb_build_object('job', v_job);
end
$$;

-- The jobs a token holds now, in the form of a claim: a worker uses it to find a claim whose answer it did
-- not receive.
-- granted to: worker
create or replace function tenure.job_held(p_token uuid)
returns table (
  job_id uuid, token uuid, lane integer, rank smallint, due timestamptz, kind text, executor text, state text,
  run integer, attempt smallint, attempts_max smallint, leased_at timestamptz, leased_until timestamptz,
  started_at timestamptz, run_until timestamptz, deadline_at timestamptz, payload json,
  payload_classification text, source_ref text, target_ref text, payload_ref text, idempotency_key text,
  affinity_key text, correlation_id text, parent_job_id uuid, workflow_id uuid, run_id uuid,
  enqueued_by text, created_at timestamptz, traceparent text, step jsonb, slot jsonb, fence bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_now    timestamptz := tenure.now();
begin
  return query
    select j.job_id, a.token, a.lane, (-j.priority)::smallint, a.due, j.kind, j.executor,
           case when a.started_at is null then 'leased' else 'in_progress' end,
           a.run, a.attempt, j.attempts_max, l.leased_at, l.until, a.started_at, a.run_until, j.deadline_at,
           j.payload, j.payload_classification, j.source_ref, j.target_ref, j.payload_ref,
           j.idempotency_key, j.affinity_key, j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id,
           j.enqueued_by, j.created_at, j.traceparent,
           tenure.step_shown(j.origin, j.target_ref, r.fence), j.origin -> 'slot', r.fence
      from tenure.leases l
      join tenure.active a on a.token = l.token and a.lane = l.lane
      join tenure.jobs j on j.job_id = a.job_id
      cross join lateral (
        select case when j.enqueued_by = 'execution' then tenure.fence_of(a.job_id) end as fence) r
     where l.token = p_token
       and l.tenant_id = v_tenant
       and l.until > v_now
     order by j.priority desc, a.due, j.job_id;
end
$$;

-- Refuses a claim with an invalid worker, limit, mode, executor or lease.
create or replace function tenure.check_claim(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_worker text, p_executor text, p_limit integer,
  p_lease_seconds integer, p_mode text) returns void
language plpgsql stable
as $$
declare
  v_longest integer := greatest(p_tuning.lease_seconds, p_tuning.lease_seconds_max);
begin
  perform tenure.check_name('worker', p_worker);
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['leased', 'started']);
  if p_executor is not null then
    perform tenure.check_executor(p_executor);
    perform tenure.check_driven(p_caller, p_executor);
  end if;
  if p_lease_seconds is not null and (p_lease_seconds < 1 or p_lease_seconds > v_longest) then
    perform tenure.refuse('lease_seconds_out_of_range',
      format('A lease of %s seconds was asked for.', p_lease_seconds),
      format(
        'It must lie between 1 and %s (queue.lease.duration_sec_max); a shorter limit of a kind holds for '
          'that kind.',
        v_longest),
      'Ask for less and renew by heartbeat.');
  end if;
end
$$;

-- Refuses a token that has a lease already. It is called where an integer is expected, and never returns one.
create or replace function tenure.refuse_token() returns integer
language plpgsql
as $$
begin
  perform tenure.refuse('token_reused', 'This token has a lease already.', 'Every claim brings a new one.',
    'See what it holds with tenure.job_held(token), or use a new token.');
  return null;
end
$$;
