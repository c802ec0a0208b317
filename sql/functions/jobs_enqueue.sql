-- Enqueue: many is the native form, one is many of one.

-- Enqueues a batch, all or nothing: a job that is refused refuses the batch, and the refusal says which. Arrays run parallel; one left out is null
-- for every job. A due time in the past is now: nobody jumps the queue by it. A key that an unfinished job of the same tenant and kind has answers with that job and duplicate = true.
create or replace function tenure.job_enqueue_many(
  p_kinds            text[],
  p_payloads         json[]        default null,
  p_keys             text[]        default null,
  p_executors        text[]        default null,
  p_priorities       integer[]     default null,
  p_due              timestamptz[] default null,
  p_deadlines        timestamptz[] default null,
  p_source_refs      text[]        default null,
  p_target_refs      text[]        default null,
  p_payload_refs     text[]        default null,
  p_classifications  text[]        default null,
  p_attempts_max     integer[]     default null,
  p_correlation_ids  text[]        default null,
  p_causation_events bigint[]      default null,
  p_parent_job_ids   uuid[]        default null,
  p_workflow_ids     uuid[]        default null,
  p_run_ids          uuid[]        default null,
  p_affinity_keys    text[]        default null,
  p_event_domains    text[]        default null,
  p_source_systems   text[]        default null,
  p_job_ids          uuid[]        default null,
  p_on_behalf_of     text          default null)
returns table (ordinal integer, job_id uuid, duplicate boolean, state text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tenant integer := v_caller.tenant_id;
  v_tuning tenure.tunings := tenure.tuning(v_tenant);
  v_now    timestamptz := tenure.now();
  v_rows   integer := coalesce(cardinality(p_kinds), 0);
  v_dims   text := array_dims(p_kinds);
  v_named  boolean := num_nonnulls(variadic p_job_ids) > 0;
  v_new    record;
begin
  if v_tenant is null or v_tuning.jobs_open is not true then
    perform tenure.check_gate(v_tenant, 'queue.job_substrate.enabled');
  end if;
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  if exists (select from unnest(p_source_systems) x (name) where x.name ^@ 'tenure.') or exists (select from unnest(p_keys) x (key) where x.key ^@ 'step ') then
    perform tenure.check_reserved(p_source_systems, p_keys);
  end if;
  if v_rows not between 1 and tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch has %s jobs.', v_rows), format('A batch has 1 to %s (batch_rows_max).', tenure.limit_of('batch_rows_max')),
      'Split it.');
  end if;
  if v_dims <> '[1:' || v_rows || ']' or v_dims <> any (array[array_dims(p_payloads), array_dims(p_keys), array_dims(p_executors), array_dims(p_priorities), array_dims(p_due),
      array_dims(p_deadlines), array_dims(p_source_refs), array_dims(p_target_refs), array_dims(p_payload_refs), array_dims(p_classifications), array_dims(p_attempts_max),
      array_dims(p_correlation_ids), array_dims(p_causation_events), array_dims(p_parent_job_ids), array_dims(p_workflow_ids), array_dims(p_run_ids), array_dims(p_affinity_keys),
      array_dims(p_event_domains), array_dims(p_source_systems), array_dims(p_job_ids)])
     -- An array without elements has no dimensions.
     or 0 = any (array[cardinality(p_payloads), cardinality(p_keys), cardinality(p_executors), cardinality(p_priorities), cardinality(p_due), cardinality(p_deadlines),
      cardinality(p_source_refs), cardinality(p_target_refs), cardinality(p_payload_refs), cardinality(p_classifications), cardinality(p_attempts_max), cardinality(p_correlation_ids),
      cardinality(p_causation_events), cardinality(p_parent_job_ids), cardinality(p_workflow_ids), cardinality(p_run_ids), cardinality(p_affinity_keys), cardinality(p_event_domains),
      cardinality(p_source_systems), cardinality(p_job_ids)]) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in shape.', format('Each has one dimension, begins at 1 and runs parallel to the %s kinds.', v_rows),
      'Give arrays of one length; leave an array out where no job has the value.');
  end if;
  if v_named then
    begin
      v_new := tenure.enqueue_batch(v_caller, v_tuning, v_now, p_kinds, p_payloads, p_keys, p_executors,
        p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs, p_payload_refs, p_classifications,
        p_attempts_max, p_correlation_ids, p_causation_events, p_parent_job_ids, p_workflow_ids, p_run_ids,
        p_affinity_keys, p_event_domains, p_source_systems, p_job_ids, p_on_behalf_of);
    exception when unique_violation then
      -- Another session used one of the ids between our look and our write.
      perform tenure.refuse_id_taken();
    end;
  -- One job, or many of one kind that differ in payload and key alone: nearly every batch.
  elsif v_rows = 1 or num_nonnulls(p_executors, p_priorities, p_due, p_deadlines, p_source_refs,
       p_target_refs, p_payload_refs, p_classifications, p_attempts_max, p_correlation_ids,
       p_causation_events, p_parent_job_ids, p_workflow_ids, p_run_ids,
       p_affinity_keys, p_event_domains, p_source_systems) = 0
     and p_kinds[1] = all (p_kinds) then
    v_new := tenure.enqueue_alike(v_caller, v_tuning, v_now, p_kinds[1], v_rows, p_payloads, p_keys, p_executors[1], p_priorities[1], p_due[1], p_deadlines[1], p_source_refs[1],
      p_target_refs[1], p_payload_refs[1], p_classifications[1], p_attempts_max[1], p_correlation_ids[1], p_causation_events[1], p_parent_job_ids[1], p_workflow_ids[1],
      p_run_ids[1], p_affinity_keys[1], p_event_domains[1], p_source_systems[1], nullif(p_on_behalf_of, ''),
      false);
  else
    v_new := tenure.enqueue_batch(v_caller, v_tuning, v_now, p_kinds, p_payloads, p_keys, p_executors, p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs, p_payload_refs,
      p_classifications, p_attempts_max, p_correlation_ids, p_causation_events, p_parent_job_ids, p_workflow_ids, p_run_ids, p_affinity_keys, p_event_domains,
      p_source_systems, null, p_on_behalf_of);
  end if;
  if v_new.unmade = '{}' then
    return query select t.n::integer, t.id, false, 'queued'::text from unnest(v_new.ids) with ordinality t (id, n);
  else
    -- A new statement: what the key names now, a job of another session included.
    return query
      select t.n::integer, coalesce(i.job_id, t.id), t.id = any (v_new.unmade), case when t.id = any (v_new.unmade) then tenure.job_state(i.job_id) else 'queued' end
        from unnest(v_new.ids, v_new.hashes) with ordinality t (id, hash, n)
        left join lateral (select i.job_id from tenure.idempotency i where i.key_hash = t.hash limit 1) i on true
       order by t.n;
  end if;
end
$$;

-- Enqueues one job that has nothing but a kind, a payload and perhaps a key: what programs send one at a time, and so the shortest call. It refuses by raising.
-- p_alone: the transaction ends with this call. Then an idle worker that offers a slot gets the job, held and started when it commits; the lease runs from here on.
create or replace function tenure.job_enqueue_plain(
  p_kind text, p_payload json, p_key text, p_alone boolean default false, out job_id uuid, out duplicate boolean, out state text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tuning tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_new    record;
begin
  if v_caller.tenant_id is null or v_tuning.jobs_open is not true then
    perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  end if;
  if p_key ^@ 'step ' then
    perform tenure.check_reserved(null, array[p_key]);
  end if;
  v_new := tenure.enqueue_alike(v_caller, v_tuning, tenure.now(), p_kind, 1, array[p_payload], case when p_key is not null then array[p_key] end, null, null, null, null, null,
    null, null, null, null, null, null, null, null, null, null, null, null, null, p_alone);
  job_id := v_new.ids[1];
  duplicate := v_new.unmade <> '{}';
  state := case when v_new.handed then 'in_progress' else 'queued' end;
  if duplicate then
    select i.job_id, tenure.job_state(i.job_id) into job_id, state from tenure.idempotency i where i.key_hash = v_new.hashes[1];
  end if;
end
$$;

-- The work of job_enqueue_many for jobs that are alike but for their payloads and keys: one lane, one policy, and rows that need nothing looked up. Answers with
-- the ids and key hashes of all, and the ids that were not made because an unfinished job has their key. p_hand: there is one job, with nothing but a payload and a key,
-- and its transaction ends here; then it may be handed to an idle worker, and the answer says so.
create or replace function tenure.enqueue_alike(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_kind text, p_rows integer, p_payloads json[], p_keys text[], p_executor text, p_priority integer,
  p_due timestamptz, p_deadline timestamptz, p_source_ref text, p_target_ref text, p_payload_ref text, p_classification text, p_attempts_max integer, p_correlation_id text,
  p_causation_event bigint, p_parent_job_id uuid, p_workflow_id uuid, p_run_id uuid, p_affinity_key text,
  p_event_domain text, p_source_system text, p_on_behalf_of text,
  p_hand boolean, out ids uuid[], out hashes uuid[], out unmade uuid[], out handed boolean)
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
    select l.lane, l.executor, l.timed, k.kind, k.event_domain, k.attempts_max, k.backoff_base_seconds, k.backoff_jitter_percent, k.run_timeout_seconds,
           k.renewals_max, k.on_exhausted, k.only_by_plan
      into v_lane
      from tenure.lanes l
      left join tenure.kinds k on k.tenant_id = v_tenant and k.kind = p_kind
     where l.tenant_id = v_tenant and l.kind = p_kind and l.lease_seconds_min = 0
       and l.executor = coalesce(p_executor, k.executor, 'external_worker')
     order by l.twin limit 1;
    exit when v_lane.lane is not null and (v_lane.kind is not null or not p_tuning.strict_kinds)
      and v_lane.only_by_plan is not true;
    perform tenure.lane_ensure(p_caller, p_kind, p_executor);
  end loop;
  if v_lane.lane is null or v_lane.only_by_plan then
    perform tenure.refuse('busy_try_again', 'The policy of the kind changed meanwhile.',
      'Its executor, and so its lane, is another one now, or only plans may make its jobs.',
      'Enqueue again.');
  end if;

  -- One pass over the jobs: ids, key hashes, and whether everything is in order. Ids grow within the batch: they are its order;
  -- what is random in them is drawn once. For a single job, starting up the statement would take longer than all the rest of its checks.
  if p_rows = 1 then
    v_text := p_payloads[1]::text;
    ids := array[(lpad(to_hex(v_micros / 1000), 12, '0') || to_hex(28672 + v_micros % 1000 * 4096 / 1000)
      || v_tail)::uuid];
    v_fine := (v_text is null or (json_typeof(p_payloads[1]) = 'object'
        and octet_length(v_text) <= tenure.limit_of('payload_bytes_max') and not tenure.may_be_deep(v_text)))
      and (p_keys[1] is null or (length(p_keys[1]) <= tenure.limit_of('key_chars_max') and ascii(p_keys[1]) between 33 and 126));
    hashes := array[null];
    if p_keys[1] is not null then
      hashes := array[tenure.key_hash(tenure.key_scope(v_tenant, p_kind), p_keys[1])];
    end if;
  else
    v_scope := tenure.key_scope(v_tenant, p_kind);
    select array_agg((lpad(to_hex((v_micros + t.n) / 1000), 12, '0') || to_hex(28672 + (v_micros + t.n) % 1000 * 4096 / 1000) || v_tail)::uuid),
           array_agg(case when t.key is not null then tenure.key_hash(v_scope, t.key) end),
           bool_and((t.payload is null or (json_typeof(t.payload) = 'object'
               and octet_length(t.payload::text) <= tenure.limit_of('payload_bytes_max')
               and not tenure.may_be_deep(t.payload::text)))
             and (t.key is null or (length(t.key) <= tenure.limit_of('key_chars_max') and (ascii(t.key) between 33 and 126 or not tenure.is_blank(t.key))))),
           string_agg(t.payload::text, '')
      into ids, hashes, v_fine, v_text
      from (select generate_series(1, p_rows) as n, unnest(p_payloads) as payload, unnest(p_keys) as key) t;
  end if;
  if not v_fine or num_nonnulls(p_priority, p_due, p_deadline, p_source_ref, p_target_ref, p_payload_ref, p_classification, p_attempts_max, p_correlation_id, p_affinity_key,
       p_event_domain, p_source_system) > 0
     or (tenure.may_have_forbidden_key(v_text) and not tenure.are_clean(p_payloads))
     or tenure.may_have_long_number(v_text) then
    perform tenure.check_job(case when p_rows > 1 then format(' of job %s', t.n) else '' end, p_now, coalesce(t.payload, '{}'), t.key, coalesce(p_priority, 0), coalesce(p_due, p_now),
              p_deadline, coalesce(p_attempts_max, 1), coalesce(p_classification, 'safe_metadata'), coalesce(p_event_domain, 'job'), coalesce(p_source_system, 'x'),
              array[p_source_ref, p_target_ref, p_payload_ref], array[p_affinity_key, p_correlation_id], null)
       from (select generate_series(1, p_rows) as n, unnest(p_payloads) as payload, unnest(p_keys) as key) t;
  end if;
  if p_caller.executors is not null or p_caller.kinds is not null or p_caller.roles is not null or not pg_has_role(session_user, 'tenure_producer', 'member') then
    perform tenure.check_enqueue_rights(p_caller, array[v_lane.lane]);
  end if;
  unmade := '{}';
  if p_parent_job_id is not null then
    perform tenure.check_relatives(v_tenant, ids, hashes, null, array[p_parent_job_id]);
  end if;
  if p_keys is not null then
    unmade := tenure.keys_take(ids, hashes);
  end if;
  v_ids := ids;
  if unmade <> '{}' then
    select array_agg(t.id), array_agg(t.payload), array_agg(t.key) into v_ids, v_payloads, v_keys
      from unnest(ids, p_payloads, p_keys) t (id, payload, key) where t.id <> all (unmade);
  end if;

  if v_ids is not null then
    if not v_lane.timed and (v_lane.run_timeout_seconds is not null or v_lane.renewals_max is not null) then
      perform tenure.lane_time(array[v_lane.lane]);
    end if;
    insert into tenure.jobs (job_id, tenant_id, lane, kind, executor, event_domain, priority, due, deadline_at, attempts_max, backoff_base_seconds,
      backoff_jitter_percent, run_timeout_seconds, renewals_max, on_exhausted, payload_classification, payload, source_ref, target_ref, payload_ref,
      idempotency_key, affinity_key, correlation_id, causation_event, parent_job_id, workflow_id, run_id, source_system, enqueued_by, on_behalf_of, created_at, traceparent)
    select t.id, v_tenant, v_lane.lane, p_kind, v_lane.executor, coalesce(p_event_domain, v_lane.event_domain, 'job'), coalesce(p_priority, 0), v_due, p_deadline,
      coalesce(p_attempts_max, v_lane.attempts_max, p_tuning.attempts_max), coalesce(v_lane.backoff_base_seconds, p_tuning.backoff_base_seconds),
      coalesce(v_lane.backoff_jitter_percent, p_tuning.jitter_percent), v_lane.run_timeout_seconds, v_lane.renewals_max, coalesce(v_lane.on_exhausted, 'dead_letter'),
      coalesce(p_classification, 'safe_metadata'), coalesce(t.payload, '{}'), p_source_ref, p_target_ref, p_payload_ref, t.key, p_affinity_key, p_correlation_id, p_causation_event,
      p_parent_job_id, p_workflow_id, p_run_id, coalesce(p_source_system, 'tenure'), p_caller.principal, p_on_behalf_of, p_now, v_trace
      -- In the list, not in from: rows come one by one, and nothing is stored in between.
      from (select unnest(v_ids) as id, unnest(v_payloads) as payload, unnest(v_keys) as key) t;
    insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, on_behalf_of, job_ids, job_count)
    values ((select i.epoch from tenure.installation i), p_now, v_tenant, v_lane.lane, 'job.enqueued', p_caller.principal, p_on_behalf_of, v_ids, cardinality(v_ids))
    -- Read anew: whoever parked since the lane was looked up has not seen these jobs, and whoever parks from here on asks who was under way. An old snapshot cannot tell.
    returning exists (select from tenure.lanes l where l.lane = v_lane.lane and l.parked_until > p_now)
                or current_setting('transaction_isolation') <> 'read committed',
              -- A mark leads claims to the lane. This transaction has its number by now: see ready_marks.sql.
              current_setting('transaction_isolation') = 'read committed' and exists (
                select from tenure.ready_marks m
                 where m.tenant_id = v_tenant and m.executor = v_lane.executor and m.lane = v_lane.lane
                   and m.rank = -coalesce(p_priority, 0) and m.retired_in is null)
      into v_parked, v_marked;
    if v_parked and p_hand and p_tuning.worker_open and p_tuning.notify_open then
      handed := tenure.job_hand(p_caller, v_lane.lane, v_ids[1], p_kind, coalesce(v_payloads[1], '{}'), v_keys[1], v_due,
        coalesce(v_lane.attempts_max, p_tuning.attempts_max), v_lane.run_timeout_seconds, v_lane.renewals_max);
    end if;
    if handed then
      return;
    elsif v_due <= p_now then
      insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
      select v_lane.lane, -coalesce(p_priority, 0), v_due, unnest(v_ids), 'queued', 0, 0, p_deadline;
      perform tenure.ready_mark(array[v_lane.lane], array[-coalesce(p_priority, 0)]) where not v_marked;
    else
      insert into tenure.delayed (tenant_id, lane, due, job_id, rank, state, run, attempts, deadline)
      select v_tenant, v_lane.lane, v_due, unnest(v_ids), -coalesce(p_priority, 0), 'queued', 0, 0, p_deadline;
    end if;
    if v_parked and p_tuning.notify_open then
      perform tenure.lane_wake(array[v_lane.lane], p_now);
    end if;
  end if;
end
$$;

-- The same for jobs of every sort: the columns of each are its own. What comes last, where given, stands above the policy of the kind.
-- p_origins: the step or slot that each runs for. Only steps_enqueue and slots_start give it.
create or replace function tenure.enqueue_batch(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_kinds text[], p_payloads json[], p_keys text[], p_executors text[], p_priorities integer[],
  p_due timestamptz[], p_deadlines timestamptz[], p_source_refs text[], p_target_refs text[], p_payload_refs text[], p_classifications text[], p_attempts_max integer[],
  p_correlation_ids text[], p_causation_events bigint[], p_parent_job_ids uuid[], p_workflow_ids uuid[], p_run_ids uuid[], p_affinity_keys text[], p_event_domains text[],
  p_source_systems text[], p_job_ids uuid[], p_on_behalf_of text, p_run_timeouts integer[] default null, p_backoffs integer[] default null, p_on_lost text[] default null,
  p_renewals_max integer[] default null, p_on_exhausted text default null,
  p_floors integer[] default null, p_origins jsonb[] default null,
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

  -- One pass over the batch: ids, key hashes, and whether everything is in order. Names of kinds were checked when their lanes were made. Ids grow within
  -- the batch: they are its order; what is random in them is drawn once.
  select array_agg(i.id), array_agg(i.hash), bool_and(i.fine), string_agg(i.payload_text, '')
    into ids, hashes, v_fine, v_text
    from (select coalesce(t.job_id, (lpad(to_hex((v_micros + t.n) / 1000), 12, '0') || to_hex(28672 + (v_micros + t.n) % 1000 * 4096 / 1000)
                   || v_tail)::uuid) as id,
                 case when t.key is not null then tenure.key_hash(tenure.key_scope(v_tenant, t.kind), t.key) end as hash,
                 x.payload_text,
                 (t.payload is null or (json_typeof(t.payload) = 'object'
                   and octet_length(x.payload_text) <= tenure.limit_of('payload_bytes_max')
                   and not tenure.may_be_deep(x.payload_text)))
                 and (t.key is null or (length(t.key) <= tenure.limit_of('key_chars_max') and (ascii(t.key) between 33 and 126 or not tenure.is_blank(t.key))))
                 and (t.priority is null or t.priority between -32767 and 32767)
                 and (t.due is null or (t.due <= p_now and isfinite(t.due)))
                 and (t.attempts_max is null or t.attempts_max between 1 and tenure.limit_of('attempts_max'))
                 and (t.classification is null or t.classification in ('safe_metadata', 'restricted'))
                 and coalesce(greatest(length(t.source_ref), length(t.target_ref), length(t.payload_ref)), 0) <= tenure.limit_of('ref_chars_max')
                 and (t.source_system is null or t.source_system in ('tenure.schedule', 'tenure.execution'))
                 and (t.correlation_id is null or (length(t.correlation_id) <= tenure.limit_of('name_chars_max') and t.correlation_id ~ '^[!-~]+$'))
                 and coalesce(t.deadline::text, t.event_domain, t.affinity_key, t.job_id::text) is null as fine
            from unnest(p_kinds, p_payloads, p_keys, p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs, p_payload_refs, p_classifications, p_attempts_max,
                        p_correlation_ids, p_affinity_keys, p_event_domains, p_source_systems, p_job_ids) with ordinality
                   t (kind, payload, key, priority, due, deadline, source_ref, target_ref, payload_ref, classification, attempts_max, correlation_id, affinity_key, event_domain,
                      source_system, job_id, n)
            cross join lateral (select t.payload::text as payload_text offset 0) x) i;
  if not v_fine or (tenure.may_have_forbidden_key(v_text) and not tenure.are_clean(p_payloads))
     or tenure.may_have_long_number(v_text) then
    perform tenure.check_job(case when cardinality(p_kinds) > 1 then format(' of job %s', t.n) else '' end,
              p_now, coalesce(t.payload, '{}'), t.key, coalesce(t.priority, 0),
              coalesce(t.due, p_now), t.deadline, coalesce(t.attempts_max, 1), coalesce(t.classification, 'safe_metadata'), coalesce(t.event_domain, 'job'),
              coalesce(t.source_system, 'x'), array[t.source_ref, t.target_ref, t.payload_ref], array[t.affinity_key, t.correlation_id], t.job_id)
       from unnest(p_payloads, p_keys, p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs, p_payload_refs, p_classifications, p_attempts_max,
                   p_correlation_ids, p_affinity_keys, p_event_domains, p_source_systems, p_job_ids) with ordinality
              t (payload, key, priority, due, deadline, source_ref, target_ref, payload_ref, classification, attempts_max,
                 correlation_id, affinity_key, event_domain, source_system, job_id, n);
  end if;
  perform tenure.check_enqueue_rights(p_caller, lanes);
  if p_job_ids is not null or p_parent_job_ids is not null then
    perform tenure.check_relatives(v_tenant, ids, hashes, p_job_ids, p_parent_job_ids);
  end if;
  unmade := '{}';
  if p_keys is not null then
    unmade := tenure.keys_take(ids, hashes);
  end if;

  with policy as materialized (
    select l.lane, l.executor, l.timed, coalesce(k.event_domain, 'job') as event_domain, coalesce(k.attempts_max, p_tuning.attempts_max) as attempts_max,
           coalesce(k.backoff_base_seconds, p_tuning.backoff_base_seconds) as backoff_base_seconds,
           coalesce(k.backoff_jitter_percent, p_tuning.jitter_percent) as backoff_jitter_percent,
           k.run_timeout_seconds, k.renewals_max, coalesce(k.on_exhausted, 'dead_letter') as on_exhausted
      from tenure.lanes l
      left join tenure.kinds k on k.tenant_id = v_tenant and k.kind = l.kind
     where l.lane = any (array(select distinct x from unnest(lanes) x))
  ), timed as (
    -- With the first job that has a limit on its run, and from the same look at the policy.
    update tenure.lanes l set timed = true where l.lane in (select p.lane from policy p where not p.timed and (p.run_timeout_seconds is not null or p.renewals_max is not null or p_run_timeouts is not null or p_renewals_max is not null))
  ), made as (
    insert into tenure.jobs as j (job_id, tenant_id, lane, kind, executor, event_domain, priority, due, deadline_at, attempts_max, backoff_base_seconds,
      backoff_jitter_percent, run_timeout_seconds, renewals_max, on_exhausted, payload_classification, payload, source_ref, target_ref, payload_ref,
      idempotency_key, affinity_key, correlation_id, causation_event, parent_job_id, workflow_id, run_id, source_system, enqueued_by, on_behalf_of, created_at, traceparent, on_lost,
      origin)
    select i.job_id, v_tenant, i.lane, i.kind, p.executor, coalesce(i.event_domain, p.event_domain), coalesce(i.priority, 0), greatest(i.due, p_now), i.deadline,
      coalesce(i.attempts_max, p.attempts_max), coalesce(i.backoff, p.backoff_base_seconds), p.backoff_jitter_percent, coalesce(i.run_timeout, p.run_timeout_seconds), coalesce(i.renewals_max, p.renewals_max), coalesce(p_on_exhausted, p.on_exhausted),
      coalesce(i.classification, 'safe_metadata'), coalesce(i.payload, '{}'), i.source_ref, i.target_ref, i.payload_ref, i.key, i.affinity_key, i.correlation_id,
      i.causation_event, i.parent_job_id, i.workflow_id, i.run_id, coalesce(i.source_system, 'tenure'), p_caller.principal, nullif(p_on_behalf_of, ''), p_now,
      v_trace, i.on_lost, i.origin
      from unnest(ids, lanes, p_kinds, p_payloads, p_keys, p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs, p_payload_refs, p_classifications,
                  p_attempts_max, p_correlation_ids, p_causation_events, p_parent_job_ids, p_workflow_ids, p_run_ids, p_affinity_keys, p_event_domains, p_source_systems,
                  p_run_timeouts, p_backoffs, p_on_lost, p_renewals_max, p_origins)
             i (job_id, lane, kind, payload, key, priority, due, deadline, source_ref, target_ref, payload_ref, classification, attempts_max,
                correlation_id, causation_event, parent_job_id, workflow_id, run_id, affinity_key, event_domain, source_system, run_timeout, backoff, on_lost, renewals_max,
                origin)
      -- By hand, so that the rows keep their order: ids grow, and what grows is cheap to index.
      cross join lateral (select p.executor, p.event_domain, p.attempts_max, p.backoff_base_seconds, p.backoff_jitter_percent, p.run_timeout_seconds, p.renewals_max, p.on_exhausted
                            from policy p where p.lane = i.lane limit 1) p
     where i.job_id <> all (unmade)
    returning j.job_id, j.lane, j.priority, j.due, j.deadline_at
  ), put_ready as (
    insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
    select m.lane, -m.priority, m.due, m.job_id, 'queued', 0, 0, m.deadline_at from made m where m.due <= p_now
  ), put_delayed as (
    insert into tenure.delayed (tenant_id, lane, due, job_id, rank, state, run, attempts, deadline)
    select v_tenant, m.lane, m.due, m.job_id, -m.priority, 'queued', 0, 0, m.deadline_at
      from made m where m.due > p_now
  )
  insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, on_behalf_of, job_ids, job_count)
  select (select i.epoch from tenure.installation i), p_now, v_tenant, m.lane, 'job.enqueued', p_caller.principal, nullif(p_on_behalf_of, ''), array_agg(m.job_id), count(*)
    from made m group by m.lane;
  perform tenure.ready_mark(array_agg(t.lane), array_agg(-coalesce(t.priority, 0)))
     from unnest(lanes, p_priorities, p_due, ids) t (lane, priority, due, id)
    where coalesce(t.due, p_now) <= p_now and t.id <> all (unmade)
   having count(*) > 0;

  if p_tuning.notify_open then
    perform tenure.lane_wake(lanes, p_now);
  end if;
end
$$;

-- Enqueues one job, for programs that send one at a time and for people at a prompt: the answer is the job.
create or replace function tenure.job_enqueue(
  p_kind text, p_payload jsonb default '{}', p_key text default null, p_executor text default null, p_priority text default 'normal',
  p_due timestamptz default null, p_deadline timestamptz default null, p_source_ref text default null, p_target_ref text default null,
  p_payload_ref text default null, p_classification text default null, p_attempts_max integer default null, p_correlation_id text default null,
  p_causation_event bigint default null, p_parent_job_id uuid default null, p_workflow_id uuid default null, p_run_id uuid default null,
  p_affinity_key text default null, p_event_domain text default null, p_source_system text default null, p_job_id uuid default null,
  p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer record;
begin
  perform tenure.check_gate(tenure.current_tenant(), 'queue.job_substrate.enabled');
  perform tenure.check_numbers('payload', p_payload);
  select e.* into v_answer
    from tenure.job_enqueue_many(array[p_kind], array[p_payload::json], array[p_key], array[p_executor], array[tenure.priority_of(p_priority)], array[p_due],
      array[p_deadline], array[p_source_ref], array[p_target_ref], array[p_payload_ref], array[p_classification], array[p_attempts_max], array[p_correlation_id],
      array[p_causation_event], array[p_parent_job_id], array[p_workflow_id], array[p_run_id], array[p_affinity_key], array[p_event_domain],
      array[p_source_system], array[p_job_id], p_on_behalf_of) e;
  return jsonb_build_object('job_id', v_answer.job_id, 'duplicate', v_answer.duplicate, 'state', v_answer.state);
end
$$;
