-- Claim: takes ready jobs under a new lease. One claim is one token; each lane it takes from has a lease row of its own.

-- The lanes a claim may take from, with the terms of a lease in each: the caller's tenant and rights, the
-- kinds asked for (null: every kind; empty: none), one executor or any. Paused kinds are left out, unless
-- asked for: who parks wants to hear of their resumption. p_lanes: only these. p_lanes_max: where every kind
-- is asked for, no more lanes than that are looked at, and `more` says whether there are that many.
create or replace function tenure.claim_lanes(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_executor text, p_kinds text[], p_lease_seconds integer, p_also_paused boolean,
  p_lanes integer[] default null, p_lanes_max integer default null,
  out lanes integer[], out lease_seconds integer[], out limits integer[], out kinds text[],
  out executors text[], out stepped boolean[], out more boolean)
language plpgsql stable
as $$
declare
  v_longest integer := greatest(p_tuning.lease_seconds, p_tuning.lease_seconds_max);
  v_kinds   text[] := coalesce(p_kinds, p_caller.kinds);
begin
  if v_kinds is null then
    -- Every kind.
    select array_agg(x.lane) filter (where x.fits), array_agg(x.lease_seconds) filter (where x.fits),
           array_agg(x.concurrency_max) filter (where x.fits), array_agg(x.kind) filter (where x.fits),
           array_agg(x.executor) filter (where x.fits), array_agg(x.stepped) filter (where x.fits),
           count(*) >= p_lanes_max
      into lanes, lease_seconds, limits, kinds, executors, stepped, more
      from (select l.lane,
                   -- Steps have the lease of their policy, whatever the worker asks for.
                   least(case when l.lease_seconds_min > 0 then l.lease_seconds_min
                     else least(coalesce(p_lease_seconds, k.lease_seconds, p_tuning.lease_seconds), v_longest) end,
                     coalesce(k.lease_seconds_max, greatest(v_longest, l.lease_seconds_min)))
                     as lease_seconds,
                   k.concurrency_max, l.kind, l.executor, l.stepped,
                   (k.paused_at is null or p_also_paused)
                     and (p_executor is null or l.executor = p_executor)
                     and (p_caller.executors is null or l.executor = any (p_caller.executors))
                     and exists (select from tenure.executors e
                                  where e.name = l.executor and e.role = 'executor') as fits
              from (select n.lane, n.tenant_id, n.kind, n.executor, n.lease_seconds_min, n.stepped
                      from unnest(p_lanes) u (lane)
                      cross join lateral (
                        select n.lane, n.tenant_id, n.kind, n.executor, n.lease_seconds_min, n.stepped
                          from tenure.lanes n
                         where n.lane = u.lane and n.tenant_id = p_caller.tenant_id limit 1) n
                    union all
                    (select n.lane, n.tenant_id, n.kind, n.executor, n.lease_seconds_min, n.stepped
                       from tenure.lanes n
                      where n.tenant_id = p_caller.tenant_id and p_lanes is null limit p_lanes_max)) l
              left join lateral (
                select k.lease_seconds, k.lease_seconds_max, k.concurrency_max, k.paused_at
                  from tenure.kinds k where k.tenant_id = l.tenant_id and k.kind = l.kind limit 1) k on true
             order by l.lane) x;
    return;
  end if;
  select array_agg(x.lane), array_agg(x.lease_seconds), array_agg(x.concurrency_max), array_agg(x.kind), array_agg(x.executor),
         array_agg(x.stepped)
    into lanes, lease_seconds, limits, kinds, executors, stepped
    from (select l.lane,
                 least(case when l.lease_seconds_min > 0 then l.lease_seconds_min
                   else least(coalesce(p_lease_seconds, k.lease_seconds, p_tuning.lease_seconds), v_longest) end,
                   coalesce(k.lease_seconds_max, greatest(v_longest, l.lease_seconds_min))) as lease_seconds,
                 k.concurrency_max, l.kind, l.executor, l.stepped
            from tenure.lanes l
            join tenure.executors e on e.name = l.executor and e.role = 'executor'
            left join lateral (
              select k.lease_seconds, k.lease_seconds_max, k.concurrency_max, k.paused_at
                from tenure.kinds k where k.tenant_id = l.tenant_id and k.kind = l.kind limit 1) k on true
           where l.tenant_id = p_caller.tenant_id
             and (k.paused_at is null or p_also_paused)
             and (p_executor is null or l.executor = p_executor)
             and l.kind = any (v_kinds)
             and (p_caller.executors is null or l.executor = any (p_caller.executors))
             and (p_caller.kinds is null or l.kind = any (p_caller.kinds))
           order by l.lane) x;
  more := false;
end
$$;

-- Refuses a claim that asks for what it cannot have.
create or replace function tenure.check_claim(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_worker text, p_executor text, p_limit integer, p_lease_seconds integer, p_mode text) returns void
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
    perform tenure.refuse('lease_seconds_out_of_range', format('A lease of %s seconds was asked for.', p_lease_seconds),
      format('It must lie between 1 and %s (queue.lease.duration_sec_max); a shorter limit of a kind holds for that kind.', v_longest), 'Ask for less and renew by heartbeat.');
  end if;
end
$$;

-- How many more jobs of a limited kind may be held. Locks the kind: claims of it take turns until they commit, so that none counts what another is about to hold.
-- Nobody waits long for a transaction that keeps the lock: then the answer is 0, and the claim goes on without this kind.
create or replace function tenure.kind_room(p_tenant_id integer, p_kind text) returns integer
language plpgsql
set lock_timeout = '100ms'
as $$
declare
  v_lanes integer[];
  v_kind  record;
begin
  begin
    select k.concurrency_max, k.limit_settles_at, k.limited_after into v_kind
      from tenure.kinds k where k.tenant_id = p_tenant_id and k.kind = p_kind for no key update;
  exception when lock_not_available or deadlock_detected then
    return 0;
  end;
  if v_kind.concurrency_max is null then
    -- The limit was taken back while we waited.
    return tenure.limit_of('batch_rows_max');
  end if;
  -- New statements: they see what was held by whoever had the lock before.
  v_lanes := array(select l.lane from tenure.lanes l where l.tenant_id = p_tenant_id and l.kind = p_kind);
  if v_kind.limit_settles_at is not null or v_kind.limited_after is not null then
    perform tenure.kind_settle(p_tenant_id, p_kind, v_lanes, v_kind.limit_settles_at, v_kind.limited_after);
    return v_kind.concurrency_max - (select count(*)::integer from tenure.active a where a.lane = any (v_lanes));
  end if;
  return v_kind.concurrency_max - (select count(*)::integer from tenure.active a where a.limited and a.lane = any (v_lanes));
end
$$;

-- A new limit settles when every held job of the kind carries the mark by which they are counted. A claim that had not seen the limit brings jobs without it, and may be
-- under way in a transaction that has no number yet. So: a minute after somebody first saw the limit all of them have one; when all that had one by then have ended,
-- what they brought is marked. Until then every held job counts, marked or not. The caller has locked the kind.
create or replace function tenure.kind_settle(p_tenant_id integer, p_kind text, p_lanes integer[], p_settles_at timestamptz, p_after xid8) returns void
language plpgsql
as $$
declare
  v_now timestamptz := tenure.now();
begin
  if p_settles_at = 'infinity' then
    update tenure.kinds k set limit_settles_at = v_now + interval '1 minute' where k.tenant_id = p_tenant_id and k.kind = p_kind;
  elsif p_settles_at <= v_now then
    update tenure.kinds k set limit_settles_at = null, limited_after = pg_current_xact_id() where k.tenant_id = p_tenant_id and k.kind = p_kind;
  elsif p_settles_at is null and p_after < pg_snapshot_xmin(pg_current_snapshot()) then
    -- In the order of ids, as ends lock them.
    update tenure.active a set limited = true
     where a.job_id in (select h.job_id from tenure.active h where not h.limited and h.lane = any (p_lanes) order by h.job_id for no key update);
    update tenure.kinds k set limited_after = null where k.tenant_id = p_tenant_id and k.kind = p_kind;
  end if;
exception when lock_not_available or deadlock_detected then
  -- Somebody is ending one of these jobs: another time.
  null;
end
$$;

-- Claims up to p_limit jobs: a turn without ends, see tenure.job_turn. A claim by hand does not ask the gate of the worker loop.
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
  job_id uuid, token uuid, lane integer, rank smallint, due timestamptz, kind text, executor text, state text, run integer, attempt smallint, attempts_max smallint,
  leased_at timestamptz, leased_until timestamptz, started_at timestamptz, run_until timestamptz, deadline_at timestamptz, payload json, payload_classification text,
  source_ref text, target_ref text, payload_ref text, idempotency_key text, affinity_key text, correlation_id text, parent_job_id uuid, workflow_id uuid, run_id uuid,
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
      select t.part, t.job_id, t.lane, t.rank, t.due, t.run, t.attempt, t.attempts_max, t.payload, t.idempotency_key, t.enqueued_by, t.created_at, t.more, t.n
        from tenure.job_turn(null, null, null, null, null, null, null, null, null, p_worker, p_executor, p_kinds, p_limit, p_lease_seconds, p_mode, p_token, p_lane_after,
               p_hint_lane, p_hint_rank, p_hint_due, p_hint_at, p_affinity_key, false, false, p_priority_min) with ordinality
               t (part, job_id, lane, rank, due, run, attempt, attempts_max, payload, idempotency_key, enqueued_by, created_at, more, n)
    )
    select c.job_id, (l.more ->> 'token')::uuid, c.lane, c.rank, c.due, l.more ->> 'kind', l.more ->> 'executor', l.more ->> 'state', c.run, c.attempt, c.attempts_max,
           (l.more ->> 'leased_at')::timestamptz, (l.more ->> 'leased_until')::timestamptz, (l.more ->> 'started_at')::timestamptz, (c.more ->> 'run_until')::timestamptz,
           (c.more ->> 'deadline_at')::timestamptz, c.payload, coalesce(c.more ->> 'payload_classification', 'safe_metadata'), c.more ->> 'source_ref', c.more ->> 'target_ref',
           c.more ->> 'payload_ref', c.idempotency_key, c.more ->> 'affinity_key', c.more ->> 'correlation_id', (c.more ->> 'parent_job_id')::uuid, (c.more ->> 'workflow_id')::uuid,
           (c.more ->> 'run_id')::uuid, c.enqueued_by, c.created_at, c.more ->> 'traceparent',
           (c.more -> 'step') || coalesce(f.more, '{}'), c.more -> 'slot', (f.more ->> 'fence')::bigint
      from turn c
      join turn l on l.part = 'lease' and l.lane = c.lane
      left join turn f on f.part = 'fence' and f.job_id = c.job_id
     where c.part = 'claim'
     order by c.n;
end
$$;

-- What a token holds now, in the form of a claim: how a worker finds a claim whose answer it never saw.
create or replace function tenure.job_held(p_token uuid) returns table (
  job_id uuid, token uuid, lane integer, rank smallint, due timestamptz, kind text, executor text, state text, run integer, attempt smallint, attempts_max smallint,
  leased_at timestamptz, leased_until timestamptz, started_at timestamptz, run_until timestamptz, deadline_at timestamptz, payload json, payload_classification text,
  source_ref text, target_ref text, payload_ref text, idempotency_key text, affinity_key text, correlation_id text, parent_job_id uuid, workflow_id uuid, run_id uuid,
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
    select j.job_id, a.token, a.lane, (-j.priority)::smallint, a.due, j.kind, j.executor, case when a.started_at is null then 'leased' else 'in_progress' end, a.run, a.attempt,
           j.attempts_max, l.leased_at, l.until, a.started_at, a.run_until, j.deadline_at, j.payload, j.payload_classification, j.source_ref, j.target_ref, j.payload_ref,
           j.idempotency_key, j.affinity_key, j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id, j.enqueued_by, j.created_at, j.traceparent,
           tenure.step_shown(j.origin, j.target_ref, r.fence), j.origin -> 'slot', r.fence
      from tenure.leases l
      join tenure.active a on a.token = l.token and a.lane = l.lane
      join tenure.jobs j on j.job_id = a.job_id
      cross join lateral (
        select case when j.enqueued_by = 'execution' then tenure.fence_of(a.job_id) end as fence) r
     where l.token = p_token and l.tenant_id = v_tenant and l.until > v_now
     order by j.priority desc, a.due, j.job_id;
end
$$;

-- Claims one job, for people at a prompt and for shell scripts: {"job": null} when there is none.
create or replace function tenure.job_claim(
  p_worker text, p_executor text default null, p_kinds text[] default null, p_lease_seconds integer default null, p_mode text default 'leased',
  p_affinity_key text default null, p_priority_min integer default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_claim   record;
  v_payload json;
  v_job     jsonb;
begin
  select c.* into v_claim from tenure.job_claim_many(p_worker, p_executor, p_kinds, 1, p_lease_seconds, p_mode, null, p_affinity_key, p_priority_min => p_priority_min) c;
  if found then
    v_payload := v_claim.payload;
    v_claim.payload := null;
    v_job := to_jsonb(v_claim) || jsonb_build_object('payload', tenure.payload_shown(v_payload));
  end if;
  return jsonb_build_object('job', v_job);
end
$$;
