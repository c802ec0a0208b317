-- Enqueue of jobs of any kinds, each with fields of its own.

-- The work of job_enqueue_many for jobs that differ in any field. The optional parameters at the end, where
-- given, override the policy of the kind. p_origins: the step or slot that each job runs for; only
-- steps_enqueue and slots_start give it.
create or replace function tenure.enqueue_batch(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_kinds text[],
  p_payloads json[], p_keys text[], p_executors text[], p_priorities integer[], p_due timestamptz[],
  p_deadlines timestamptz[], p_source_refs text[], p_target_refs text[], p_payload_refs text[],
  p_classifications text[], p_attempts_max integer[], p_correlation_ids text[], p_causation_events bigint[],
  p_parent_job_ids uuid[], p_workflow_ids uuid[], p_run_ids uuid[], p_affinity_keys text[],
  p_event_domains text[], p_source_systems text[], p_job_ids uuid[], p_on_behalf_of text,
  p_run_timeouts integer[] default null, p_backoffs integer[] default null, p_on_lost text[] default null,
  p_renewals_max integer[] default null, p_on_exhausted text default null, p_floors integer[] default null,
  p_origins jsonb[] default null,
  out ids uuid[], out hashes uuid[], out unmade uuid[], out lanes integer[])
language plpgsql
set jit = off
set enable_seqscan = off
set enable_nestloop = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_tenant   integer := p_caller.tenant_id;
  v_micros   bigint := (extract(epoch from p_now) * 1000000)::bigint;
  v_tail     text := substr(gen_random_uuid()::text, 19);
  v_trace    text := tenure.traceparent();
  v_text     text;
  v_fine     boolean;
begin
  lanes := tenure.enqueue_lanes(p_caller, p_tuning, p_kinds, p_executors, p_floors);

  -- One pass over the batch: ids, key hashes, and whether everything is in order. Names of kinds were checked
  -- when their lanes were made. Ids grow within the batch, because they give its order; their random part is
  -- drawn once.
  select array_agg(i.id), array_agg(i.hash), bool_and(i.fine), string_agg(i.payload_text, '')
    into ids, hashes, v_fine, v_text
    from (
      select coalesce(t.job_id, (lpad(to_hex((v_micros + t.n) / 1000), 12, '0')
               || to_hex(28672 + (v_micros + t.n) % 1000 * 4096 / 1000) || v_tail)::uuid) as id,
             case
               when t.key is not null
                 then tenure.idempotency_hash(tenure.idempotency_scope(v_tenant, t.kind), t.key)
             end as hash,
             x.payload_text,
             (t.payload is null
               or (json_typeof(t.payload) = 'object'
                 and octet_length(x.payload_text) <= tenure.limit_of('payload_bytes_max')
                 and not tenure.may_be_deep(x.payload_text)))
             and (t.key is null
               or (length(t.key) <= tenure.limit_of('key_chars_max')
                 and (ascii(t.key) between 33 and 126 or not tenure.is_blank(t.key))))
             and (t.priority is null or t.priority between -32767 and 32767)
             and (t.due is null or (t.due <= p_now and isfinite(t.due)))
             and (t.attempts_max is null or t.attempts_max between 1 and tenure.limit_of('attempts_max'))
             and (t.classification is null or t.classification in ('safe_metadata', 'restricted'))
             and coalesce(greatest(length(t.source_ref), length(t.target_ref), length(t.payload_ref)), 0)
               <= tenure.limit_of('ref_chars_max')
             and (t.source_system is null or t.source_system in ('tenure.schedule', 'tenure.execution'))
             and (t.correlation_id is null
               or (length(t.correlation_id) <= tenure.limit_of('name_chars_max')
                 and t.correlation_id ~ '^[!-~]+$'))
             and coalesce(t.deadline::text, t.event_domain, t.affinity_key, t.job_id::text) is null as fine
        from unnest(p_kinds, p_payloads, p_keys, p_priorities, p_due, p_deadlines, p_source_refs,
                    p_target_refs, p_payload_refs, p_classifications, p_attempts_max, p_correlation_ids,
                    p_affinity_keys, p_event_domains, p_source_systems, p_job_ids) with ordinality
               t (kind, payload, key, priority, due, deadline, source_ref,
                  target_ref, payload_ref, classification, attempts_max, correlation_id,
                  affinity_key, event_domain, source_system, job_id, n)
        cross join lateral (select t.payload::text as payload_text offset 0) x) i;
  if not v_fine
     or (tenure.may_have_forbidden_key(v_text) and not tenure.are_clean(p_payloads))
     or tenure.may_have_long_number(v_text) then
    perform tenure.check_job(
              case when cardinality(p_kinds) > 1 then format(' of job %s', t.n) else '' end,
              p_now, coalesce(t.payload, '{}'), t.key, coalesce(t.priority, 0), coalesce(t.due, p_now),
              t.deadline, coalesce(t.attempts_max, 1), coalesce(t.classification, 'safe_metadata'),
              coalesce(t.event_domain, 'job'), coalesce(t.source_system, 'x'),
              array[t.source_ref, t.target_ref, t.payload_ref], array[t.affinity_key, t.correlation_id],
              t.job_id)
       from unnest(p_payloads, p_keys, p_priorities, p_due, p_deadlines, p_source_refs,
                   p_target_refs, p_payload_refs, p_classifications, p_attempts_max, p_correlation_ids,
                   p_affinity_keys, p_event_domains, p_source_systems, p_job_ids) with ordinality
              t (payload, key, priority, due, deadline, source_ref,
                 target_ref, payload_ref, classification, attempts_max, correlation_id,
                 affinity_key, event_domain, source_system, job_id, n);
  end if;
  perform tenure.check_enqueue_rights(p_caller, lanes);
  if p_job_ids is not null or p_parent_job_ids is not null then
    perform tenure.check_relatives(v_tenant, ids, hashes, p_job_ids, p_parent_job_ids);
  end if;
  unmade := '{}';
  if p_keys is not null then
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
     where l.lane = any (array(select distinct x from unnest(lanes) x))
  ), timed as (
    -- With the first job that has a limit on its run, and from the same read of the policy.
    update tenure.lanes l
       set timed = true
     where l.lane in (
       select p.lane
         from policy p
        where not p.timed
          and (p.run_timeout_seconds is not null
               or p.renewals_max is not null
               or p_run_timeouts is not null
               or p_renewals_max is not null))
  ), made as (
    insert into tenure.jobs as j (job_id, tenant_id, lane, kind, executor, event_domain, priority, due,
      deadline_at, attempts_max, backoff_base_seconds, backoff_jitter_percent, run_timeout_seconds,
      renewals_max, on_exhausted, payload_classification, payload, source_ref, target_ref, payload_ref,
      idempotency_key, affinity_key, correlation_id, causation_event, parent_job_id, workflow_id, run_id,
      source_system, enqueued_by, on_behalf_of, created_at, traceparent, on_lost, origin)
    select i.job_id, v_tenant, i.lane, i.kind, p.executor, coalesce(i.event_domain, p.event_domain),
           coalesce(i.priority, 0), greatest(i.due, p_now), i.deadline,
           coalesce(i.attempts_max, p.attempts_max), coalesce(i.backoff, p.backoff_base_seconds),
           p.backoff_jitter_percent, coalesce(i.run_timeout, p.run_timeout_seconds),
           coalesce(i.renewals_max, p.renewals_max), coalesce(p_on_exhausted, p.on_exhausted),
           coalesce(i.classification, 'safe_metadata'), coalesce(i.payload, '{}'),
           i.source_ref, i.target_ref, i.payload_ref, i.key, i.affinity_key, i.correlation_id,
           i.causation_event, i.parent_job_id, i.workflow_id, i.run_id, coalesce(i.source_system, 'tenure'),
           p_caller.principal, nullif(p_on_behalf_of, ''), p_now, v_trace, i.on_lost, i.origin
      from unnest(ids, lanes, p_kinds, p_payloads, p_keys, p_priorities, p_due, p_deadlines,
                  p_source_refs, p_target_refs, p_payload_refs, p_classifications, p_attempts_max,
                  p_correlation_ids, p_causation_events, p_parent_job_ids, p_workflow_ids, p_run_ids,
                  p_affinity_keys, p_event_domains, p_source_systems, p_run_timeouts, p_backoffs,
                  p_on_lost, p_renewals_max, p_origins)
             i (job_id, lane, kind, payload, key, priority, due, deadline,
                source_ref, target_ref, payload_ref, classification, attempts_max,
                correlation_id, causation_event, parent_job_id, workflow_id, run_id,
                affinity_key, event_domain, source_system, run_timeout, backoff,
                on_lost, renewals_max, origin)
      -- Joined by hand, so that the rows keep their order: growing ids are cheap to index.
      cross join lateral (
        select p.executor, p.event_domain, p.attempts_max, p.backoff_base_seconds,
               p.backoff_jitter_percent, p.run_timeout_seconds, p.renewals_max, p.on_exhausted
          from policy p
         where p.lane = i.lane
         limit 1) p
     where i.job_id <> all (unmade)
    returning j.job_id, j.lane, j.priority, j.due, j.deadline_at
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
         p_caller.principal, nullif(p_on_behalf_of, ''), array_agg(m.job_id), count(*)
    from made m
   group by m.lane;
  perform tenure.ready_mark(array_agg(t.lane), array_agg(-coalesce(t.priority, 0)))
     from unnest(lanes, p_priorities, p_due, ids) t (lane, priority, due, id)
    where coalesce(t.due, p_now) <= p_now
      and t.id <> all (unmade)
   having count(*) > 0;

  if p_tuning.notify_open then
    perform tenure.lane_wake(lanes, p_now);
  end if;
end
$$;
