-- Enqueue: the calls. The native form takes many jobs; the form for one calls it with a batch of one.

-- Enqueues a batch, all or nothing: a job that is refused refuses the batch, and the refusal says which one.
-- Arrays run parallel; one left out is null for every job. A due time in the past counts as now, so that it
-- cannot be used to jump the queue. A key that an unfinished job of the same tenant and kind has returns that
-- job with duplicate = true.
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
  if exists (select from unnest(p_source_systems) x (name) where x.name ^@ 'tenure.')
     or exists (select from unnest(p_keys) x (key) where x.key ^@ 'step ') then
    perform tenure.check_reserved(p_source_systems, p_keys);
  end if;
  if v_rows not between 1 and tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch has %s jobs.', v_rows),
      format('A batch has 1 to %s (batch_rows_max).', tenure.limit_of('batch_rows_max')),
      'Split it.');
  end if;
  if v_dims <> '[1:' || v_rows || ']'
     or v_dims <> any (array[
       array_dims(p_payloads), array_dims(p_keys), array_dims(p_executors), array_dims(p_priorities),
       array_dims(p_due), array_dims(p_deadlines), array_dims(p_source_refs), array_dims(p_target_refs),
       array_dims(p_payload_refs), array_dims(p_classifications), array_dims(p_attempts_max),
       array_dims(p_correlation_ids), array_dims(p_causation_events), array_dims(p_parent_job_ids),
       array_dims(p_workflow_ids), array_dims(p_run_ids), array_dims(p_affinity_keys),
       array_dims(p_event_domains), array_dims(p_source_systems), array_dims(p_job_ids)])
     -- An array without elements has no dimensions.
     or 0 = any (array[
       cardinality(p_payloads), cardinality(p_keys), cardinality(p_executors), cardinality(p_priorities),
       cardinality(p_due), cardinality(p_deadlines), cardinality(p_source_refs), cardinality(p_target_refs),
       cardinality(p_payload_refs), cardinality(p_classifications), cardinality(p_attempts_max),
       cardinality(p_correlation_ids), cardinality(p_causation_events), cardinality(p_parent_job_ids),
       cardinality(p_workflow_ids), cardinality(p_run_ids), cardinality(p_affinity_keys),
       cardinality(p_event_domains), cardinality(p_source_systems), cardinality(p_job_ids)]) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in shape.',
      format('Each has one dimension, begins at 1 and runs parallel to the %s kinds.', v_rows),
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
  -- One job, or many of one kind that differ only in payload and key: nearly every batch.
  elsif v_rows = 1
     or num_nonnulls(p_executors, p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs,
       p_payload_refs, p_classifications, p_attempts_max, p_correlation_ids, p_causation_events,
       p_parent_job_ids, p_workflow_ids, p_run_ids, p_affinity_keys, p_event_domains, p_source_systems) = 0
     and p_kinds[1] = all (p_kinds) then
    v_new := tenure.enqueue_alike(v_caller, v_tuning, v_now, p_kinds[1], v_rows, p_payloads, p_keys,
      p_executors[1], p_priorities[1], p_due[1], p_deadlines[1], p_source_refs[1], p_target_refs[1],
      p_payload_refs[1], p_classifications[1], p_attempts_max[1], p_correlation_ids[1],
      p_causation_events[1], p_parent_job_ids[1], p_workflow_ids[1], p_run_ids[1], p_affinity_keys[1],
      p_event_domains[1], p_source_systems[1], nullif(p_on_behalf_of, ''), false);
  else
    v_new := tenure.enqueue_batch(v_caller, v_tuning, v_now, p_kinds, p_payloads, p_keys, p_executors,
      p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs, p_payload_refs, p_classifications,
      p_attempts_max, p_correlation_ids, p_causation_events, p_parent_job_ids, p_workflow_ids, p_run_ids,
      p_affinity_keys, p_event_domains, p_source_systems, null, p_on_behalf_of);
  end if;
  if v_new.unmade = '{}' then
    return query
      select t.n::integer, t.id, false, 'queued'::text
        from unnest(v_new.ids) with ordinality t (id, n);
  else
    -- A new statement sees the job that the key names now, also when another session made it.
    return query
      select t.n::integer, coalesce(i.job_id, t.id), t.id = any (v_new.unmade),
             case when t.id = any (v_new.unmade) then tenure.job_state(i.job_id) else 'queued' end
        from unnest(v_new.ids, v_new.hashes) with ordinality t (id, hash, n)
        left join lateral (
          select i.job_id from tenure.idempotency i where i.key_hash = t.hash limit 1) i on true
       order by t.n;
  end if;
end
$$;

-- Enqueues one job that has only a kind, a payload and perhaps a key, or refuses by raising. Programs that
-- enqueue one job at a time use it, so it is the shortest call. p_alone: the transaction ends with this call.
-- Then an idle worker that offers a slot gets the job, held and started when the transaction commits; the
-- lease runs from this call on.
create or replace function tenure.job_enqueue_plain(
  p_kind text, p_payload json, p_key text, p_alone boolean default false,
  out job_id uuid, out duplicate boolean, out state text)
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
  v_new := tenure.enqueue_alike(v_caller, v_tuning, tenure.now(), p_kind, 1, array[p_payload],
    case when p_key is not null then array[p_key] end,
    null, null, null, null, null, null, null, null, null,
    null, null, null, null, null, null, null, null, null,
    p_alone);
  job_id := v_new.ids[1];
  duplicate := v_new.unmade <> '{}';
  state := case when v_new.handed then 'in_progress' else 'queued' end;
  if duplicate then
    select i.job_id, tenure.job_state(i.job_id)
      into job_id, state
      from tenure.idempotency i
     where i.key_hash = v_new.hashes[1];
  end if;
end
$$;

-- Enqueues one job with any of its fields, or refuses; returns the job. For programs that enqueue one job at
-- a time and for people at a prompt.
create or replace function tenure.job_enqueue(
  p_kind text, p_payload jsonb default '{}', p_key text default null, p_executor text default null,
  p_priority text default 'normal', p_due timestamptz default null, p_deadline timestamptz default null,
  p_source_ref text default null, p_target_ref text default null, p_payload_ref text default null,
  p_classification text default null, p_attempts_max integer default null,
  p_correlation_id text default null, p_causation_event bigint default null,
  p_parent_job_id uuid default null, p_workflow_id uuid default null, p_run_id uuid default null,
  p_affinity_key text default null, p_event_domain text default null, p_source_system text default null,
  p_job_id uuid default null, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer record;
begin
  perform tenure.check_gate(tenure.current_tenant(), 'queue.job_substrate.enabled');
  perform tenure.check_numbers('payload', p_payload);
  select e.* into v_answer
    from tenure.job_enqueue_many(array[p_kind], array[p_payload::json], array[p_key], array[p_executor],
      array[tenure.priority_of(p_priority)], array[p_due], array[p_deadline], array[p_source_ref],
      array[p_target_ref], array[p_payload_ref], array[p_classification], array[p_attempts_max],
      array[p_correlation_id], array[p_causation_event], array[p_parent_job_id], array[p_workflow_id],
      array[p_run_id], array[p_affinity_key], array[p_event_domain], array[p_source_system],
      array[p_job_id], p_on_behalf_of) e;
  return jsonb_build_object('job_id', v_answer.job_id, 'duplicate', v_answer.duplicate,
    'state', v_answer.state);
end
$$;
