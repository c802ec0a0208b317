-- Claim: takes ready jobs under a new lease. One claim is one token; each lane it takes from has a lease row of its own.

-- Moves what has become due from delayed to ready, oldest first, bounded. Its own statement, before the pick.
create or replace function tenure.lane_promote(p_lanes integer[], p_now timestamptz, p_rows_max integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_lane  integer;
  v_moved integer := 0;
  v_rows  integer;
begin
  for v_lane in select x.lane from unnest(p_lanes) x (lane) where exists (select from tenure.delayed d where d.lane = x.lane and d.due <= p_now) loop
    with picked as materialized (
      select d.ctid from tenure.delayed d where d.lane = v_lane and d.due <= p_now order by d.due, d.job_id limit p_rows_max for update skip locked
    ), taken as (
      delete from tenure.delayed d where d.ctid = any (array(select p.ctid from picked p)) returning d.lane, d.rank, d.due, d.job_id, d.state, d.run, d.attempts, d.deadline
    )
    insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
    select t.lane, t.rank, t.due, t.job_id, t.state, t.run, t.attempts, t.deadline from taken t;
    get diagnostics v_rows = row_count;
    v_moved := v_moved + v_rows;
  end loop;
  return v_moved;
end
$$;

-- The lanes a claim may take from: the caller's tenant and rights, the kinds asked for (null: every kind; empty: none), one executor or any.
create or replace function tenure.claim_lanes(p_caller tenure.caller_identity, p_executor text, p_kinds text[]) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select array_agg(l.lane order by l.lane)
    from tenure.lanes l
    join tenure.executors e on e.name = l.executor and e.role = 'executor'
   where l.tenant_id = p_caller.tenant_id
     and (p_executor is null or l.executor = p_executor)
     and (p_kinds is null or l.kind = any (p_kinds))
     and (p_caller.executors is null or l.executor = any (p_caller.executors))
     and (p_caller.kinds is null or l.kind = any (p_caller.kinds)));
end
$$;

-- Claims up to p_limit jobs. Within a lane the order is exact: priority, due time, id. Across lanes it is approximate: lanes are taken best head first,
-- at most claim_lanes_max non-empty ones from p_lane_after on. p_mode 'started' starts them in the same write: for free slots; 'leased' is for a buffer.
-- The token may be the caller's own, so that tenure.job_held(token) finds a claim whose answer was lost. Nothing claimable: no rows, and no trace.
-- A job past its deadline goes to the dead letters instead, so fewer may come back. p_hint_*: lane, rank, due and time of the last job of a full batch,
-- good for one second and only within that rank; it spares the scan over what was just deleted.
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
  p_hint_at       timestamptz default null)
returns table (
  job_id uuid, token uuid, lane integer, rank smallint, due timestamptz, kind text, executor text, state text, run integer, attempt smallint, attempts_max smallint,
  leased_at timestamptz, leased_until timestamptz, started_at timestamptz, run_until timestamptz, deadline_at timestamptz, payload jsonb, payload_classification text,
  source_ref text, target_ref text, payload_ref text, idempotency_key text, affinity_key text, correlation_id text, parent_job_id uuid, workflow_id uuid, run_id uuid,
  enqueued_by text, created_at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_tenant   integer := v_caller.tenant_id;
  v_tuning   tenure.tuning := tenure.tuning(v_tenant);
  v_now      timestamptz := tenure.now();
  v_token    uuid := coalesce(p_token, gen_random_uuid());
  v_lanes    integer[];
  v_lane     integer;
  v_want     integer := p_limit;
  v_round    integer;
  v_hinted   boolean;
  v_usual    integer;
  v_longest  integer;
  v_picked   tid[];
  v_ids      uuid[] := '{}';
  v_of       integer[] := '{}';
  v_ranks    smallint[] := '{}';
  v_dues     timestamptz[] := '{}';
  v_runs     integer[] := '{}';
  v_attempts smallint[] := '{}';
  v_late     tenure.run_end[] := '{}';
  v_got      record;
begin
  if v_tenant is null or not v_tuning.jobs_open then
    perform tenure.check_gate(v_tenant, 'queue.job_substrate.enabled');
  end if;
  perform tenure.check_name('worker', p_worker);
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['leased', 'started']);
  if p_executor is not null then
    perform tenure.check_executor(p_executor);
    perform tenure.check_driven(v_caller, p_executor);
  end if;
  v_usual := v_tuning.lease_seconds;
  v_longest := greatest(v_usual, v_tuning.lease_seconds_max);
  if p_lease_seconds is not null and (p_lease_seconds < 1 or p_lease_seconds > v_longest) then
    perform tenure.refuse('lease_seconds_out_of_range', format('A lease of %s seconds was asked for.', p_lease_seconds),
      format('It must lie between 1 and %s (queue.lease.duration_sec_max); a shorter limit of a kind holds for that kind.', v_longest), 'Ask for less and renew by heartbeat.');
  end if;

  v_lanes := tenure.claim_lanes(v_caller, p_executor, p_kinds);
  if v_lanes is null then
    return;
  end if;
  perform tenure.executor_seen(v_tenant, p_worker, p_executor, v_lanes[1], v_caller.principal, v_tuning, v_now);
  perform tenure.lane_promote(v_lanes, v_now, greatest(p_limit, 100));

  if cardinality(v_lanes) > 1 then
    -- Peek at the heads without locking; then lock only what is taken, best head first.
    select array_agg(h.lane order by h.rank, h.due, h.lane) into v_lanes
      from (select x.lane, r.rank, r.due
              from unnest(v_lanes) x (lane)
              cross join lateral (select r.rank, r.due from tenure.ready r where r.lane = x.lane order by r.rank, r.due, r.job_id limit 1) r
             order by x.lane <= coalesce(p_lane_after, 0), x.lane
             limit tenure.limit_of('claim_lanes_max')) h;
    if v_lanes is null then
      return;
    end if;
  end if;

  <<lanes>>
  foreach v_lane in array v_lanes loop
    v_hinted := p_hint_lane = v_lane and p_hint_at > v_now - interval '1 second' and p_hint_rank is not null and p_hint_due is not null;
    -- Rounds: 1 preferred by affinity within a window; 2 better ranks than the hint's; 3 the hint's rank from its due time on; 4 everything.
    for v_round in 1 .. 4 loop
      continue when v_round = 1 and p_affinity_key is null;
      continue when v_round in (2, 3) and not coalesce(v_hinted, false);
      -- Pick and lock; a row that another claim holds is passed over.
      if v_round = 1 then
        select array_agg(p.ctid) into v_picked
          from (select r.ctid from tenure.ready r
                 where r.ctid = any (array(
                   select n.ctid
                     from (select r.ctid, r.job_id from tenure.ready r where r.lane = v_lane order by r.rank, r.due, r.job_id limit tenure.limit_of('affinity_window_rows')) n
                     join tenure.jobs j on j.job_id = n.job_id
                    where j.affinity_key = p_affinity_key))
                 order by r.rank, r.due, r.job_id limit v_want for update skip locked) p;
      elsif v_round = 2 then
        select array_agg(p.ctid) into v_picked
          from (select r.ctid from tenure.ready r where r.lane = v_lane and r.rank < p_hint_rank order by r.rank, r.due, r.job_id limit v_want for update skip locked) p;
      elsif v_round = 3 then
        select array_agg(p.ctid) into v_picked
          from (select r.ctid from tenure.ready r where r.lane = v_lane and r.rank = p_hint_rank and r.due >= p_hint_due order by r.due, r.job_id limit v_want for update skip locked) p;
      else
        select array_agg(p.ctid) into v_picked
          from (select r.ctid from tenure.ready r where r.lane = v_lane order by r.rank, r.due, r.job_id limit v_want for update skip locked) p;
      end if;
      continue when v_picked is null;

      with taken as (
        delete from tenure.ready r where r.ctid = any (v_picked) returning r.job_id, r.rank, r.due, r.run, r.attempts, r.deadline
      ), sorted as (
        select t.job_id, t.rank, t.due, t.run, t.attempts, t.deadline from taken t order by t.rank, t.due, t.job_id
      )
      select array_agg(t.job_id) as ids, array_agg(t.rank) as ranks, array_agg(t.due) as dues, array_agg(t.run) as runs, array_agg(t.attempts) as attempts,
             bool_or(t.deadline <= v_now) as late
        into v_got from sorted t;
      v_want := v_want - cardinality(v_got.ids);
      v_ids := v_ids || v_got.ids;
      v_ranks := v_ranks || v_got.ranks;
      v_dues := v_dues || v_got.dues;
      v_runs := v_runs || v_got.runs;
      v_attempts := v_attempts || v_got.attempts;
      v_of := v_of || array_fill(v_lane, array[cardinality(v_got.ids)]);
      if v_got.late then
        v_late := v_late || (
          select array_agg((j.job_id, v_tenant, v_lane, g.run + 1, g.attempts, null, null, null, null, g.due, null, null, null, 'deadline_passed', 'deadline_passed', 'deadline',
                   format('The deadline %s passed before the job started.', j.deadline_at), null, null, null, null)::tenure.run_end)
            from unnest(v_got.ids, v_got.runs, v_got.attempts, v_got.dues) g (job_id, run, attempts, due)
            join tenure.jobs j on j.job_id = g.job_id
           where j.deadline_at <= v_now);
      end if;
      exit lanes when v_want <= 0;
    end loop;
  end loop;

  if cardinality(v_late) > 0 then
    perform tenure.job_settle(v_now, v_caller.principal, null, v_late);
    select array_agg(t.id order by t.n), array_agg(t.lane order by t.n), array_agg(t.rank order by t.n), array_agg(t.due order by t.n), array_agg(t.run order by t.n),
           array_agg(t.attempts order by t.n)
      into v_ids, v_of, v_ranks, v_dues, v_runs, v_attempts
      from unnest(v_ids, v_of, v_ranks, v_dues, v_runs, v_attempts) with ordinality t (id, lane, rank, due, run, attempts, n)
     where t.id not in (select e.job_id from unnest(v_late) e);
  end if;
  if coalesce(cardinality(v_ids), 0) = 0 then
    return;
  end if;

  if p_token is not null and exists (select from tenure.leases l where l.token = p_token) then
    perform tenure.refuse('token_reused', 'This token has a lease already.', 'Every claim brings a new one.', 'See what it holds with tenure.job_held(token), or use a new token.');
  end if;

  return query
    with got as materialized (
      select t.n, t.lane, t.rank, t.due, t.run + 1 as run, (t.attempts + 1)::smallint as attempt, j.job_id, j.kind, j.executor, j.attempts_max, j.run_timeout_seconds, j.renewals_max,
             j.deadline_at, j.payload, j.payload_classification, j.source_ref, j.target_ref, j.payload_ref, j.idempotency_key, j.affinity_key, j.correlation_id,
             j.parent_job_id, j.workflow_id, j.run_id, j.enqueued_by, j.created_at
        from unnest(v_ids, v_of, v_ranks, v_dues, v_runs, v_attempts) with ordinality t (id, lane, rank, due, run, attempts, n)
        cross join lateral (select j.* from tenure.jobs j where j.job_id = t.id limit 1) j
    ), terms as materialized (
      select g.lane, g.kind, g.executor, g.held,
             least(coalesce(p_lease_seconds, k.lease_seconds, v_usual), coalesce(k.lease_seconds_max, v_longest)) as lease_seconds
        from (select g.lane, min(g.kind) as kind, min(g.executor) as executor, count(*)::integer as held from got g group by g.lane) g
        left join tenure.kinds k on k.tenant_id = v_tenant and k.kind = g.kind
    ), leased as (
      insert into tenure.leases (token, lane, tenant_id, owner, executor, principal, leased_at, until, lease_seconds, held)
      select v_token, t.lane, v_tenant, p_worker, t.executor, v_caller.principal, v_now, v_now + make_interval(secs => t.lease_seconds), t.lease_seconds, t.held from terms t
    ), taken as (
      insert into tenure.active (job_id, token, lane, run, attempt, due, started_at, run_until, hold_until)
      select g.job_id, v_token, g.lane, g.run, g.attempt, g.due, case when p_mode = 'started' then v_now end,
             case when p_mode = 'started' then v_now + make_interval(secs => g.run_timeout_seconds) end,
             case when p_mode = 'started' then v_now + make_interval(secs => t.lease_seconds * (1.0 + g.renewals_max)) end
        from got g join terms t on t.lane = g.lane
    ), told as (
      insert into tenure.events (at, tenant_id, lane, kind, actor, job_ids, runs, data)
      select v_now, v_tenant, g.lane, m.kind, v_caller.principal, array_agg(g.job_id order by g.n), array_agg(g.run order by g.n), jsonb_build_object('worker', p_worker)
        from got g
        cross join (values ('job.leased'), ('job.started')) m (kind)
       where m.kind = 'job.leased' or p_mode = 'started'
       group by g.lane, m.kind
    )
    select g.job_id, v_token, g.lane, g.rank, g.due, g.kind, g.executor, case when p_mode = 'started' then 'in_progress' else 'leased' end, g.run, g.attempt, g.attempts_max,
           v_now, v_now + make_interval(secs => t.lease_seconds), case when p_mode = 'started' then v_now end,
           case when p_mode = 'started' then v_now + make_interval(secs => g.run_timeout_seconds) end, g.deadline_at, g.payload, g.payload_classification,
           g.source_ref, g.target_ref, g.payload_ref, g.idempotency_key, g.affinity_key, g.correlation_id, g.parent_job_id, g.workflow_id, g.run_id, g.enqueued_by, g.created_at
      from got g join terms t on t.lane = g.lane
     order by g.n;
end
$$;

-- What a token holds now, in the form of a claim: how a worker finds a claim whose answer it never saw.
create or replace function tenure.job_held(p_token uuid) returns table (
  job_id uuid, token uuid, lane integer, rank smallint, due timestamptz, kind text, executor text, state text, run integer, attempt smallint, attempts_max smallint,
  leased_at timestamptz, leased_until timestamptz, started_at timestamptz, run_until timestamptz, deadline_at timestamptz, payload jsonb, payload_classification text,
  source_ref text, target_ref text, payload_ref text, idempotency_key text, affinity_key text, correlation_id text, parent_job_id uuid, workflow_id uuid, run_id uuid,
  enqueued_by text, created_at timestamptz)
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
           j.idempotency_key, j.affinity_key, j.correlation_id, j.parent_job_id, j.workflow_id, j.run_id, j.enqueued_by, j.created_at
      from tenure.leases l
      join tenure.active a on a.token = l.token and a.lane = l.lane
      join tenure.jobs j on j.job_id = a.job_id
     where l.token = p_token and l.tenant_id = v_tenant and l.until > v_now
     order by j.priority desc, a.due, j.job_id;
end
$$;

-- Claims one job, for people at a prompt and for shell scripts: {"job": null} when there is none.
create or replace function tenure.job_claim(
  p_worker text, p_executor text default null, p_kinds text[] default null, p_lease_seconds integer default null, p_mode text default 'leased',
  p_affinity_key text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job jsonb;
  v_state text; v_what text; v_why text; v_next text;
begin
  select to_jsonb(c) into v_job from tenure.job_claim_many(p_worker, p_executor, p_kinds, 1, p_lease_seconds, p_mode, null, p_affinity_key) c;
  return jsonb_build_object('job', v_job);
exception when others then
  get stacked diagnostics v_state = returned_sqlstate, v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(v_state, v_what, v_why, v_next);
end
$$;
