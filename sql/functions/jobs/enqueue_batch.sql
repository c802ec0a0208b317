-- Enqueue of jobs of any kinds, each with fields of its own.

-- The work of job_enqueue_many for jobs that differ in any field, and of all jobs that Tenure makes itself.
-- Returns the ids and key hashes of all, and in `unmade` the ids that were not made because an unfinished job
-- has their key.
create or replace function tenure.enqueue_batch(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_jobs tenure.new_job[],
  out ids uuid[], out hashes uuid[], out unmade uuid[])
language plpgsql
set jit = off
-- pinned order: see sql/README.md
set enable_seqscan = off
set enable_nestloop = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_tenant integer := p_caller.tenant_id;
  v_trace  text := tenure.traceparent();
  v_lanes  integer[] := tenure.enqueue_lanes(p_caller, p_tuning, p_jobs);
  v_new    record;
begin
  v_new := tenure.accept_batch(v_tenant, p_now, p_jobs);
  ids := v_new.ids;
  hashes := v_new.hashes;
  perform tenure.check_enqueue_rights(p_caller, v_lanes);
  if v_new.related then
    perform tenure.check_relatives(v_tenant, ids, hashes, p_jobs);
  end if;
  unmade := '{}';
  if num_nonnulls(variadic hashes) > 0 then
    unmade := tenure.idempotency_take(ids, hashes);
  end if;

  with policy as materialized (
    select l.lane, l.executor, l.timed,
           coalesce(k.event_domain, 'job') as event_domain,
           coalesce(k.attempts_max, p_tuning.attempts_max) as attempts_max,
           coalesce(k.backoff_base_seconds, p_tuning.backoff_base_seconds) as backoff_base_seconds,
           coalesce(k.backoff_jitter_percent, p_tuning.jitter_percent) as backoff_jitter_percent,
           k.run_timeout_seconds, k.renewals_max,
           coalesce(k.on_exhausted, 'dead_letter') as on_exhausted
      from tenure.lanes l
      left join tenure.kinds k on k.tenant_id = v_tenant and k.kind = l.kind
     where l.lane = any (array(select distinct x from unnest(v_lanes) x))
  ), timed as (
    -- With the first job that has a limit on its run, and from the same read of the policy.
    update tenure.lanes l
       set timed = true
     where l.lane in (
       select p.lane
         from policy p
        where not p.timed
          and (v_new.timed or p.run_timeout_seconds is not null or p.renewals_max is not null))
  ), made as (
    insert into tenure.jobs as j (job_id, tenant_id, lane, kind, executor, event_domain, priority, due,
      deadline_at, attempts_max, backoff_base_seconds, backoff_jitter_percent, lease_seconds,
      run_timeout_seconds, renewals_max, on_exhausted, payload_classification, payload, source_ref,
      target_ref, payload_ref, idempotency_key, affinity_key, correlation_id, causation_event,
      parent_job_id, workflow_id, run_id, replay_of, source_system, enqueued_by, on_behalf_of, created_at,
      traceparent, on_lost, origin)
    select ids[n.ordinality], v_tenant, p.lane, n.kind, p.executor, coalesce(n.event_domain, p.event_domain),
           coalesce(n.priority, 0), greatest(n.due_at, p_now), n.deadline_at,
           coalesce(n.attempts_max, p.attempts_max), coalesce(n.backoff_base_seconds, p.backoff_base_seconds),
           p.backoff_jitter_percent, n.lease_seconds,
           coalesce(n.run_timeout_seconds, p.run_timeout_seconds),
           coalesce(n.renewals_max, p.renewals_max), coalesce(n.on_exhausted, p.on_exhausted),
           coalesce(n.classification, 'safe_metadata'), coalesce(n.payload, '{}'),
           n.source_ref, n.target_ref, n.payload_ref, n.key, n.affinity_key, n.correlation_id,
           n.causation_event, n.parent_job_id, n.workflow_id, n.run_id, n.replay_of,
           coalesce(n.source_system, 'tenure'), p_caller.principal, nullif(n.on_behalf_of, ''), p_now,
           coalesce(n.traceparent, v_trace), n.on_lost, n.origin
      from unnest(p_jobs) with ordinality n
      -- Joined by hand, so that the rows keep their order: growing ids are cheap to index.
      cross join lateral (
        select p.lane, p.executor, p.event_domain, p.attempts_max, p.backoff_base_seconds,
               p.backoff_jitter_percent, p.run_timeout_seconds, p.renewals_max, p.on_exhausted
          from policy p
         where p.lane = v_lanes[n.ordinality]
         limit 1) p
     where ids[n.ordinality] <> all (unmade)
    returning j.job_id, j.lane, j.priority, j.due, j.deadline_at, j.on_behalf_of
  ), put_ready as (
    insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
    select m.lane, -m.priority, m.due, m.job_id, 'queued', 0, 0, m.deadline_at
      from made m
     where m.due <= p_now
  ), put_delayed as (
    insert into tenure.delayed (tenant_id, lane, due, job_id, rank, state, run, attempts, deadline)
    select v_tenant, m.lane, m.due, m.job_id, -m.priority, 'queued', 0, 0, m.deadline_at
      from made m
     where m.due > p_now
  )
  insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, on_behalf_of, job_ids, job_count)
  select (select i.epoch from tenure.installation i), p_now, v_tenant, m.lane, 'job.enqueued',
         p_caller.principal, m.on_behalf_of, array_agg(m.job_id), count(*)
    from made m
   group by m.lane, m.on_behalf_of;
  -- After the inserts: the transaction has its number by now, see ready_marks.sql.
  perform tenure.ready_mark(array_agg(v_lanes[n.ordinality]), array_agg(-coalesce(n.priority, 0)))
     from unnest(p_jobs) with ordinality n
    where coalesce(n.due_at, p_now) <= p_now
      and ids[n.ordinality] <> all (unmade)
   having count(*) > 0;
  if p_tuning.notify_open then
    perform tenure.lane_wake(v_lanes, p_now);
  end if;
end
$$;

-- Gives each job of a batch its id and the hash of its key, and refuses the first invalid one. What raises no
-- doubt in one pass is not checked further; names of kinds were checked when their lanes were made.
-- `related`: a job has a parent, or an id of its caller's; not so a replay, whose parent may have been swept.
-- `timed`: a job limits its run.
create or replace function tenure.accept_batch(
  p_tenant_id integer, p_now timestamptz, p_jobs tenure.new_job[],
  out ids uuid[], out hashes uuid[], out related boolean, out timed boolean)
language plpgsql
as $$
declare
  v_micros bigint := (extract(epoch from p_now) * 1000000)::bigint;
  v_tail   text := substr(gen_random_uuid()::text, 19);
  v_text   text;
  v_doubt  boolean;
begin
  select array_agg(case
           when n.key is not null
             then tenure.idempotency_hash(tenure.idempotency_scope(p_tenant_id, n.kind), n.key)
         end),
         bool_or(num_nonnulls(n.job_id, n.parent_job_id) > 0 and n.replay_of is null),
         bool_or(n.run_timeout_seconds is not null or n.renewals_max is not null),
         bool_or(tenure.may_be_refused(n.payload, x.payload_text, n.key)
           or tenure.may_have_refused_field(n, p_now)),
         string_agg(x.payload_text, '')
    into hashes, related, timed, v_doubt, v_text
    from unnest(p_jobs) n
    cross join lateral (select n.payload::text as payload_text offset 0) x;
  ids := array(
    select coalesce(n.job_id, tenure.batch_id(v_micros + n.ordinality, v_tail))
      from unnest(p_jobs) with ordinality n);
  if v_doubt
     or (tenure.may_have_forbidden_key(v_text)
       and not tenure.are_clean(array(select n.payload from unnest(p_jobs) n)))
     or tenure.may_have_long_number(v_text) then
    perform tenure.check_job(
              case when cardinality(p_jobs) > 1 then format(' of job %s', n) else '' end, p_now, p_jobs[n])
       from generate_series(1, cardinality(p_jobs)) n;
  end if;
end
$$;
