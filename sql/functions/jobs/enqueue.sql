-- Enqueue: the calls. The native form takes many jobs; the form for one calls it with a batch of one.

-- Enqueues a batch, all or nothing: a job that is refused refuses the batch, and the refusal says which one.
-- Arrays run parallel; one left out is null for every job. A due time in the past counts as now, so that it
-- cannot be used to jump the queue. A key that an unfinished job of the same tenant and kind has returns that
-- job with duplicate = true.
-- granted to: admin, operator, producer, worker
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
-- pinned order: see sql/README.md
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tenant integer := v_caller.tenant_id;
  v_tuning tenure.tunings := tenure.tuning(v_tenant);
  v_now    timestamptz := tenure.now();
  v_rows   integer := coalesce(cardinality(p_kinds), 0);
  v_shape  text := tenure.array_shape(p_kinds);
  -- All arrays but those of kinds, payloads and keys: few batches have any of them.
  v_rare   text[] := array[
    tenure.array_shape(p_executors), tenure.array_shape(p_priorities), tenure.array_shape(p_due),
    tenure.array_shape(p_deadlines), tenure.array_shape(p_source_refs), tenure.array_shape(p_target_refs),
    tenure.array_shape(p_payload_refs), tenure.array_shape(p_classifications),
    tenure.array_shape(p_attempts_max), tenure.array_shape(p_correlation_ids),
    tenure.array_shape(p_causation_events), tenure.array_shape(p_parent_job_ids),
    tenure.array_shape(p_workflow_ids), tenure.array_shape(p_run_ids), tenure.array_shape(p_affinity_keys),
    tenure.array_shape(p_event_domains), tenure.array_shape(p_source_systems),
    tenure.array_shape(p_job_ids)];
  v_like   tenure.new_job;
  v_jobs   tenure.new_job[];
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
  if v_shape <> '[1:' || v_rows || ']'
     or v_shape <> any (v_rare || array[tenure.array_shape(p_payloads), tenure.array_shape(p_keys)]) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in shape.',
      format('Each has one dimension, begins at 1 and runs parallel to the %s kinds.', v_rows),
      'Give arrays of one length; leave an array out where no job has the value.');
  end if;

  -- Nearly every batch is of one kind, and its jobs differ only in payload and key.
  if num_nonnulls(variadic v_rare) = 0 and p_kinds[1] = all (p_kinds) then
    v_like.kind := p_kinds[1];
    v_like.on_behalf_of := nullif(p_on_behalf_of, '');
    v_new := tenure.enqueue_alike(v_caller, v_tuning, v_now, v_like, v_rows, p_payloads, p_keys, false);
  else
    v_jobs := array(
      select row(t.*, nullif(p_on_behalf_of, ''), null, null, null, null, null, null, null, null,
               null)::tenure.new_job
        from unnest(p_kinds, p_payloads, p_keys, p_executors, p_priorities, p_due, p_deadlines,
               p_source_refs, p_target_refs, p_payload_refs, p_classifications, p_attempts_max,
               p_correlation_ids, p_causation_events, p_parent_job_ids, p_workflow_ids, p_run_ids,
               p_affinity_keys, p_event_domains, p_source_systems, p_job_ids) t);
    if num_nonnulls(variadic p_job_ids) > 0 then
      begin
        v_new := tenure.enqueue_batch(v_caller, v_tuning, v_now, v_jobs);
      exception when unique_violation then
        -- Another session used one of the ids between our look and our write.
        perform tenure.refuse_id_taken();
      end;
    elsif v_rows = 1 then
      v_new := tenure.enqueue_alike(v_caller, v_tuning, v_now, v_jobs[1], 1, p_payloads, p_keys, false);
    else
      v_new := tenure.enqueue_batch(v_caller, v_tuning, v_now, v_jobs);
    end if;
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

-- The dimensions of an array as text; null for null. An array without elements has none, and is shown as [].
create or replace function tenure.array_shape(p_array anyarray) returns text
language sql immutable parallel safe
as $$ select case when cardinality(p_array) = 0 then '[]' else array_dims(p_array) end $$;

-- Enqueues one job that has only a kind, a payload and perhaps a key, or refuses by raising. Programs that
-- enqueue one job at a time use it, so it is the shortest call. p_alone: the transaction ends with this call.
-- Then an idle worker that offers a place gets the job, held and started when the transaction commits; the
-- lease runs from this call on.
-- granted to: admin, operator, producer, worker
create or replace function tenure.job_enqueue_plain(
  p_kind text, p_payload json, p_key text, p_alone boolean default false,
  out job_id uuid, out duplicate boolean, out state text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tuning tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_like   tenure.new_job;
  v_new    record;
begin
  if v_caller.tenant_id is null or v_tuning.jobs_open is not true then
    perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  end if;
  if p_key ^@ 'step ' then
    perform tenure.check_reserved(null, array[p_key]);
  end if;
  v_like.kind := p_kind;
  v_new := tenure.enqueue_alike(v_caller, v_tuning, tenure.now(), v_like, 1, array[p_payload],
    case when p_key is not null then array[p_key] end, p_alone);
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
-- granted to: admin, operator, producer, worker
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
  perform tenure.check_json_numbers('payload', p_payload);
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
