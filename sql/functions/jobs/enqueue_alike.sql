-- Enqueue of one job, or of many of one kind that differ only in payload and key.

-- The work of job_enqueue_many for jobs that differ only in their payloads and keys: one lane, one policy,
-- and rows that need no look-up. Returns the ids and key hashes of all, and in `unmade` the ids that were not
-- made because an unfinished job has their key. p_hand: there is one job, with only a payload and a key, and
-- its transaction ends here; then it may be handed to an idle worker, and `handed` says so.
create or replace function tenure.enqueue_alike(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_kind text, p_rows integer,
  p_payloads json[], p_keys text[], p_executor text, p_priority integer, p_due timestamptz,
  p_deadline timestamptz, p_source_ref text, p_target_ref text, p_payload_ref text, p_classification text,
  p_attempts_max integer, p_correlation_id text, p_causation_event bigint, p_parent_job_id uuid,
  p_workflow_id uuid, p_run_id uuid, p_affinity_key text, p_event_domain text, p_source_system text,
  p_on_behalf_of text, p_hand boolean,
  out ids uuid[], out hashes uuid[], out unmade uuid[], out handed boolean)
language plpgsql
as $$
declare
  v_tenant   integer := p_caller.tenant_id;
  v_micros   bigint := (extract(epoch from p_now) * 1000000)::bigint;
  v_tail     text := substr(gen_random_uuid()::text, 19);
  v_due      timestamptz := greatest(p_due, p_now);
  v_trace    text := tenure.traceparent();
  v_lane     record;
  v_text     text;
  v_fine     boolean;
  v_ids      uuid[];
  v_scope    text;
  v_payloads json[] := p_payloads;
  v_keys     text[] := p_keys;
  v_parked   boolean;
  v_marked   boolean;
begin
  for v_round in 1 .. 2 loop
    select l.lane, l.executor, l.timed, k.kind, k.event_domain, k.attempts_max, k.backoff_base_seconds,
           k.backoff_jitter_percent, k.run_timeout_seconds, k.renewals_max, k.on_exhausted, k.only_by_plan
      into v_lane
      from tenure.lanes l
      left join tenure.kinds k on k.tenant_id = v_tenant and k.kind = p_kind
     where l.tenant_id = v_tenant
       and l.kind = p_kind
       and l.lease_seconds_min = 0
       and l.executor = coalesce(p_executor, k.executor, 'external_worker')
     order by l.twin
     limit 1;
    exit when v_lane.lane is not null
      and (v_lane.kind is not null or not p_tuning.strict_kinds)
      and v_lane.only_by_plan is not true;
    perform tenure.lane_ensure(p_caller, p_kind, p_executor);
  end loop;
  if v_lane.lane is null or v_lane.only_by_plan then
    perform tenure.refuse('busy_try_again', 'The policy of the kind changed meanwhile.',
      'Its executor, and so its lane, is another one now, or only plans may make its jobs.',
      'Enqueue again.');
  end if;

  -- One pass over the jobs: ids, key hashes, and whether everything is in order. Ids grow within the batch,
  -- because they give its order; their random part is drawn once. For a single job, starting up the statement
  -- would take longer than all its other checks.
  if p_rows = 1 then
    v_text := p_payloads[1]::text;
    ids := array[(lpad(to_hex(v_micros / 1000), 12, '0') || to_hex(28672 + v_micros % 1000 * 4096 / 1000)
      || v_tail)::uuid];
    v_fine :=
      (v_text is null
        or (json_typeof(p_payloads[1]) = 'object'
          and octet_length(v_text) <= tenure.limit_of('payload_bytes_max')
          and not tenure.may_be_deep(v_text)))
      and (p_keys[1] is null
        or (length(p_keys[1]) <= tenure.limit_of('key_chars_max') and ascii(p_keys[1]) between 33 and 126));
    hashes := array[null];
    if p_keys[1] is not null then
      hashes := array[tenure.idempotency_hash(tenure.idempotency_scope(v_tenant, p_kind), p_keys[1])];
    end if;
  else
    v_scope := tenure.idempotency_scope(v_tenant, p_kind);
    select array_agg((lpad(to_hex((v_micros + t.n) / 1000), 12, '0')
             || to_hex(28672 + (v_micros + t.n) % 1000 * 4096 / 1000) || v_tail)::uuid),
           array_agg(case when t.key is not null then tenure.idempotency_hash(v_scope, t.key) end),
           bool_and(
             (t.payload is null
               or (json_typeof(t.payload) = 'object'
                 and octet_length(t.payload::text) <= tenure.limit_of('payload_bytes_max')
                 and not tenure.may_be_deep(t.payload::text)))
             and (t.key is null
               or (length(t.key) <= tenure.limit_of('key_chars_max')
                 and (ascii(t.key) between 33 and 126 or not tenure.is_blank(t.key))))),
           string_agg(t.payload::text, '')
      into ids, hashes, v_fine, v_text
      from (select generate_series(1, p_rows) as n, unnest(p_payloads) as payload, unnest(p_keys) as key) t;
  end if;
  if not v_fine
     or num_nonnulls(p_priority, p_due, p_deadline, p_source_ref, p_target_ref, p_payload_ref,
       p_classification, p_attempts_max, p_correlation_id, p_affinity_key, p_event_domain,
       p_source_system) > 0
     or (tenure.may_have_forbidden_key(v_text) and not tenure.are_clean(p_payloads))
     or tenure.may_have_long_number(v_text) then
    perform tenure.check_job(
              case when p_rows > 1 then format(' of job %s', t.n) else '' end,
              p_now, coalesce(t.payload, '{}'), t.key, coalesce(p_priority, 0), coalesce(p_due, p_now),
              p_deadline, coalesce(p_attempts_max, 1), coalesce(p_classification, 'safe_metadata'),
              coalesce(p_event_domain, 'job'), coalesce(p_source_system, 'x'),
              array[p_source_ref, p_target_ref, p_payload_ref], array[p_affinity_key, p_correlation_id], null)
       from (select generate_series(1, p_rows) as n, unnest(p_payloads) as payload, unnest(p_keys) as key) t;
  end if;
  if p_caller.executors is not null
     or p_caller.kinds is not null
     or p_caller.roles is not null
     or not pg_has_role(session_user, 'tenure_producer', 'member') then
    perform tenure.check_enqueue_rights(p_caller, array[v_lane.lane]);
  end if;
  unmade := '{}';
  if p_parent_job_id is not null then
    perform tenure.check_relatives(v_tenant, ids, hashes, null, array[p_parent_job_id]);
  end if;
  if p_keys is not null then
    unmade := tenure.idempotency_take(ids, hashes);
  end if;
  v_ids := ids;
  if unmade <> '{}' then
    select array_agg(t.id), array_agg(t.payload), array_agg(t.key)
      into v_ids, v_payloads, v_keys
      from unnest(ids, p_payloads, p_keys) t (id, payload, key)
     where t.id <> all (unmade);
  end if;

  if v_ids is not null then
    if not v_lane.timed and (v_lane.run_timeout_seconds is not null or v_lane.renewals_max is not null) then
      perform tenure.lane_time(array[v_lane.lane]);
    end if;
    insert into tenure.jobs (job_id, tenant_id, lane, kind, executor, event_domain, priority, due,
      deadline_at, attempts_max, backoff_base_seconds, backoff_jitter_percent, run_timeout_seconds,
      renewals_max, on_exhausted, payload_classification, payload, source_ref, target_ref, payload_ref,
      idempotency_key, affinity_key, correlation_id, causation_event, parent_job_id, workflow_id, run_id,
      source_system, enqueued_by, on_behalf_of, created_at, traceparent)
    select t.id, v_tenant, v_lane.lane, p_kind, v_lane.executor,
           coalesce(p_event_domain, v_lane.event_domain, 'job'), coalesce(p_priority, 0), v_due, p_deadline,
           coalesce(p_attempts_max, v_lane.attempts_max, p_tuning.attempts_max),
           coalesce(v_lane.backoff_base_seconds, p_tuning.backoff_base_seconds),
           coalesce(v_lane.backoff_jitter_percent, p_tuning.jitter_percent),
           v_lane.run_timeout_seconds, v_lane.renewals_max, coalesce(v_lane.on_exhausted, 'dead_letter'),
           coalesce(p_classification, 'safe_metadata'), coalesce(t.payload, '{}'),
           p_source_ref, p_target_ref, p_payload_ref, t.key, p_affinity_key, p_correlation_id,
           p_causation_event, p_parent_job_id, p_workflow_id, p_run_id, coalesce(p_source_system, 'tenure'),
           p_caller.principal, p_on_behalf_of, p_now, v_trace
      -- unnest in the select list, not in from: rows come one by one and are not stored in between.
      from (select unnest(v_ids) as id, unnest(v_payloads) as payload, unnest(v_keys) as key) t;
    insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, on_behalf_of, job_ids, job_count)
    values ((select i.epoch from tenure.installation i), p_now, v_tenant, v_lane.lane, 'job.enqueued',
      p_caller.principal, p_on_behalf_of, v_ids, cardinality(v_ids))
    -- Read the lane anew: a worker that parked since the first look has not seen these jobs, and one that
    -- parks from here on asks which transactions are under way. An old snapshot cannot tell.
    returning exists (select from tenure.lanes l where l.lane = v_lane.lane and l.parked_until > p_now)
                or current_setting('transaction_isolation') <> 'read committed',
              -- A mark leads claims to the lane. This transaction has its number by now: see ready_marks.sql.
              current_setting('transaction_isolation') = 'read committed'
                and exists (
                  select from tenure.ready_marks m
                   where m.tenant_id = v_tenant
                     and m.executor = v_lane.executor
                     and m.lane = v_lane.lane
                     and m.rank = -coalesce(p_priority, 0)
                     and m.retired_in is null)
      into v_parked, v_marked;
    if v_parked and p_hand then
      handed := tenure.job_hand(p_caller, p_tuning, (
        v_ids[1], v_lane.lane, p_kind, coalesce(v_payloads[1], '{}'), v_keys[1], v_due,
        coalesce(v_lane.attempts_max, p_tuning.attempts_max), v_lane.run_timeout_seconds,
        v_lane.renewals_max)::tenure.handed_job);
    end if;
    if handed then
      return;
    elsif v_due <= p_now then
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      select v_lane.lane, -coalesce(p_priority, 0), v_due, unnest(v_ids), 'queued', 0, 0, p_deadline;
      perform tenure.ready_mark(array[v_lane.lane], array[-coalesce(p_priority, 0)]) where not v_marked;
    else
      insert into tenure.delayed (tenant_id, lane, due, job_id, rank, state, run, attempts, deadline)
      select v_tenant, v_lane.lane, v_due, unnest(v_ids), -coalesce(p_priority, 0), 'queued', 0, 0,
             p_deadline;
    end if;
    if v_parked and p_tuning.notify_open then
      perform tenure.lane_wake(array[v_lane.lane], p_now);
    end if;
  end if;
end
$$;
