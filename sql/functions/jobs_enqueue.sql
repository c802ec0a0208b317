-- Enqueue: many is the native form, one is many of one.

-- The hash under which a key is taken. Lengths keep (ab, c) and (a, bc) apart.
create or replace function tenure.key_hash(p_tenant_id integer, p_kind text, p_key text) returns uuid
language sql immutable parallel safe
as $$
  select encode(substring(sha256(convert_to(p_tenant_id || ':' || length(p_kind) || ':' || p_kind || ':' || p_key, 'UTF8')) from 1 for 16), 'hex')::uuid
$$;

-- Refuses the first thing wrong with one job of a batch, naming its place. Called only when the batch as a whole failed its quick check.
create or replace function tenure.check_job(
  p_place text, p_now timestamptz, p_payload jsonb, p_key text, p_priority integer, p_due timestamptz, p_deadline timestamptz,
  p_attempts_max integer, p_classification text, p_event_domain text, p_source_system text, p_refs text[], p_ids text[], p_job_id uuid) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text;
begin
  perform tenure.check_payload('payload' || p_place, p_payload, tenure.limit_of('payload_bytes_max'));
  if p_key is not null then
    if tenure.is_blank(p_key) then
      perform tenure.refuse('name_blank', format('The idempotency key%s is blank.', p_place), 'A blank key would make unrelated jobs duplicates of each other.',
        'Give a key, or leave it out.');
    elsif length(p_key) > tenure.limit_of('key_chars_max') then
      perform tenure.refuse('name_invalid', format('The idempotency key%s has %s characters.', p_place, length(p_key)),
        format('A key has at most %s (key_chars_max).', tenure.limit_of('key_chars_max')), 'Shorten it, or pass a hash of it.');
    end if;
  end if;
  perform tenure.check_number('The priority' || p_place, p_priority, -32767, 32767);
  perform tenure.check_number('attempts_max' || p_place, p_attempts_max, 1, tenure.limit_of('attempts_max'));
  if not isfinite(p_due) or p_due > p_now + make_interval(days => tenure.limit_of('schedule_ahead_days_max')::integer) then
    perform tenure.refuse('schedule_too_far', format('The job%s is due at %s.', p_place, p_due),
      format('A job is scheduled at most %s days ahead (schedule_ahead_days_max), well before its partition may go.', tenure.limit_of('schedule_ahead_days_max')),
      format('Enqueue it later, within %s days of its time.', tenure.limit_of('schedule_ahead_days_max')));
  end if;
  if p_deadline is not null and (not isfinite(p_deadline) or p_deadline <= p_now or p_deadline <= p_due) then
    perform tenure.refuse('deadline_invalid', format('The deadline%s is %s.', p_place, p_deadline),
      format('It must lie in the future and after the due time (%s): past it, the job never starts.', p_due), 'Give a later deadline, or none.');
  end if;
  perform tenure.check_word('value_unknown', 'payload classification' || p_place, p_classification, array['safe_metadata', 'restricted']);
  perform tenure.check_word('value_unknown', 'event domain' || p_place, p_event_domain, (select array_agg(d.domain order by d.domain) from tenure.event_domains d));
  perform tenure.check_name('source system' || p_place, p_source_system);
  foreach v_text in array p_refs loop
    if length(v_text) > tenure.limit_of('ref_chars_max') then
      perform tenure.refuse('name_invalid', format('A reference%s has %s characters.', p_place, length(v_text)),
        format('A reference has at most %s (ref_chars_max).', tenure.limit_of('ref_chars_max')), 'Refer to the thing by something shorter.');
    end if;
  end loop;
  foreach v_text in array p_ids loop
    if v_text is not null then
      perform tenure.check_name('affinity key or correlation id' || p_place, v_text);
    end if;
  end loop;
  if p_job_id is not null and (substr(p_job_id::text, 15, 1) <> '7' or abs(extract(epoch from tenure.id_time(p_job_id) - p_now)) > tenure.limit_of('id_skew_seconds_max')) then
    perform tenure.refuse('id_invalid', format('%s is no id for a new job%s.', p_job_id, p_place),
      'An id of the caller''s is a UUID of version 7 whose time lies within a day of the database''s clock.', 'Leave the id out, and the database makes one.');
  end if;
end
$$;

-- Enqueues a batch, all or nothing: a job that is refused refuses the batch, and the refusal says which. Arrays run parallel; one left out is null
-- for every job. A due time in the past is now: nobody jumps the queue by it. A key that an unfinished job of the same tenant and kind has answers with that job and duplicate = true.
create or replace function tenure.job_enqueue_many(
  p_kinds            text[],
  p_payloads         jsonb[]       default null,
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
set jit = off
as $$
declare
  v_caller      tenure.caller_identity := tenure.caller();
  v_tenant      integer := v_caller.tenant_id;
  v_tuning      tenure.tuning := tenure.tuning(v_tenant);
  v_now         timestamptz := tenure.now();
  v_rows        integer := coalesce(cardinality(p_kinds), 0);
  v_ids         uuid[];
  v_lanes       integer[];
  v_hashes      uuid[];
  v_firsts      boolean[];
  v_fine        boolean;
  v_lost        boolean;
  v_taken       uuid[];
  v_taken_by    uuid[];
  v_free        uuid[] := '{}';
  v_made        uuid[];
  v_row         record;
begin
  if v_tenant is null or not v_tuning.jobs_open then
    perform tenure.check_gate(v_tenant, 'queue.job_substrate.enabled');
  end if;
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  if v_rows < 1 or v_rows > tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch has %s jobs.', v_rows), format('A batch has 1 to %s (batch_rows_max).', tenure.limit_of('batch_rows_max')),
      'Split it.');
  end if;
  if v_rows <> any (array[coalesce(cardinality(p_payloads), v_rows), coalesce(cardinality(p_keys), v_rows), coalesce(cardinality(p_executors), v_rows),
      coalesce(cardinality(p_priorities), v_rows), coalesce(cardinality(p_due), v_rows), coalesce(cardinality(p_deadlines), v_rows),
      coalesce(cardinality(p_source_refs), v_rows), coalesce(cardinality(p_target_refs), v_rows), coalesce(cardinality(p_payload_refs), v_rows),
      coalesce(cardinality(p_classifications), v_rows), coalesce(cardinality(p_attempts_max), v_rows), coalesce(cardinality(p_correlation_ids), v_rows),
      coalesce(cardinality(p_causation_events), v_rows), coalesce(cardinality(p_parent_job_ids), v_rows), coalesce(cardinality(p_workflow_ids), v_rows),
      coalesce(cardinality(p_run_ids), v_rows), coalesce(cardinality(p_affinity_keys), v_rows), coalesce(cardinality(p_event_domains), v_rows),
      coalesce(cardinality(p_source_systems), v_rows), coalesce(cardinality(p_job_ids), v_rows)]) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in length.', format('Each runs parallel to the %s kinds.', v_rows),
      'Give arrays of one length; leave an array out where no job has the value.');
  end if;

  -- One pass over the batch: lane, id, key hash, and whether everything is in order. Names were checked when the lane was made.
  loop
    select array_agg(l.lane order by t.n),
           array_agg(coalesce(t.job_id, tenure.new_id(v_now + t.n * interval '1 microsecond')) order by t.n),
           array_agg(case when t.key is not null then tenure.key_hash(v_tenant, t.kind, t.key) end order by t.n),
           bool_and(
             (t.payload is null or (jsonb_typeof(t.payload) = 'object' and octet_length(t.payload::text) <= tenure.limit_of('payload_bytes_max')
               and not tenure.has_forbidden_key(t.payload::text)))
             and (t.key is null or (length(t.key) <= tenure.limit_of('key_chars_max') and not tenure.is_blank(t.key)))
             and (t.priority is null or t.priority between -32767 and 32767)
             and (t.attempts_max is null or t.attempts_max between 1 and tenure.limit_of('attempts_max'))
             and (t.due is null or t.due <= v_now + make_interval(days => tenure.limit_of('schedule_ahead_days_max')::integer))
             and (t.due is null or isfinite(t.due))
             and (t.deadline is null or (isfinite(t.deadline) and t.deadline > greatest(v_now, coalesce(t.due, v_now))))
             and (t.classification is null or t.classification in ('safe_metadata', 'restricted'))
             and (t.event_domain is null or t.event_domain in (select d.domain from tenure.event_domains d))
             and (t.source_system is null or (not tenure.is_blank(t.source_system) and length(t.source_system) <= tenure.limit_of('name_chars_max') and t.source_system !~ '[\u0001-\u001f\u007f-\u009f]'))
             and length(coalesce(t.source_ref, '')) <= tenure.limit_of('ref_chars_max') and length(coalesce(t.target_ref, '')) <= tenure.limit_of('ref_chars_max')
             and length(coalesce(t.payload_ref, '')) <= tenure.limit_of('ref_chars_max')
             and (t.affinity_key is null or (not tenure.is_blank(t.affinity_key) and length(t.affinity_key) <= tenure.limit_of('name_chars_max') and t.affinity_key !~ '[\u0001-\u001f\u007f-\u009f]'))
             and (t.correlation_id is null or (not tenure.is_blank(t.correlation_id) and length(t.correlation_id) <= tenure.limit_of('name_chars_max') and t.correlation_id !~ '[\u0001-\u001f\u007f-\u009f]'))
             and (t.job_id is null or (substr(t.job_id::text, 15, 1) = '7' and abs(extract(epoch from tenure.id_time(t.job_id) - v_now)) <= tenure.limit_of('id_skew_seconds_max')))),
           bool_or(l.lane is null or (v_tuning.strict_kinds and k.kind is null))
      into v_lanes, v_ids, v_hashes, v_fine, v_lost
      from unnest(p_kinds, p_payloads, p_keys, p_executors, p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs, p_payload_refs,
                  p_classifications, p_attempts_max, p_correlation_ids, p_affinity_keys, p_event_domains, p_source_systems, p_job_ids) with ordinality
             t (kind, payload, key, executor, priority, due, deadline, source_ref, target_ref, payload_ref,
                classification, attempts_max, correlation_id, affinity_key, event_domain, source_system, job_id, n)
      left join tenure.kinds k on k.tenant_id = v_tenant and k.kind = t.kind
      left join tenure.lanes l on l.tenant_id = v_tenant and l.kind = t.kind and l.executor = coalesce(t.executor, k.executor, 'external_worker');
    exit when not v_lost;
    for v_row in
      select distinct t.kind, coalesce(t.executor, k.executor, 'external_worker') as executor
        from unnest(p_kinds, p_executors) t (kind, executor)
        left join tenure.kinds k on k.tenant_id = v_tenant and k.kind = t.kind
       order by 1, 2
    loop
      perform tenure.lane_ensure(v_caller, v_row.kind, v_row.executor);
    end loop;
    -- Every kind has just been judged; a setting that changes meanwhile must not send us round again.
    v_tuning.strict_kinds := false;
  end loop;

  if not v_fine then
    for v_row in
      select t.*, case when v_rows > 1 then format(' of job %s', t.n) else '' end as place
        from unnest(p_payloads, p_keys, p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs, p_payload_refs, p_classifications, p_attempts_max,
                    p_correlation_ids, p_affinity_keys, p_event_domains, p_source_systems, p_job_ids) with ordinality
               t (payload, key, priority, due, deadline, source_ref, target_ref, payload_ref, classification, attempts_max,
                  correlation_id, affinity_key, event_domain, source_system, job_id, n)
    loop
      perform tenure.check_job(v_row.place, v_now, coalesce(v_row.payload, '{}'), v_row.key, coalesce(v_row.priority, 0), coalesce(v_row.due, v_now), v_row.deadline,
        coalesce(v_row.attempts_max, 1), coalesce(v_row.classification, 'safe_metadata'), coalesce(v_row.event_domain, 'job'), coalesce(v_row.source_system, 'x'),
        array[v_row.source_ref, v_row.target_ref, v_row.payload_ref], array[v_row.affinity_key, v_row.correlation_id], v_row.job_id);
    end loop;
    raise exception 'tenure.job_enqueue_many: the quick check failed and the careful one found nothing';
  end if;
  perform tenure.check_enqueue_rights(v_caller, v_lanes);

  -- Keys: equal ones within the batch are folded; those that stand are locked in hash order; one is free only on positive evidence,
  -- a final record of its job, read after the lock was won (an operator's retry takes the same lock and takes the record back).
  if p_keys is not null then
    select array_agg(f.first order by f.n) into v_firsts
      from (select t.n, t.hash is null or row_number() over (partition by t.hash order by t.n) = 1 as first from unnest(v_hashes) with ordinality t (hash, n)) f;
    select array_agg(i.key_hash), array_agg(i.job_id) into v_taken, v_taken_by
      from (select i.key_hash, i.job_id from tenure.idempotency i where i.key_hash = any (v_hashes) order by i.key_hash for update) i;
    if v_taken is not null then
      select coalesce(array_agg(t.hash), '{}') into v_free
        from unnest(v_taken, v_taken_by) t (hash, job_id)
       where exists (select from tenure.attempts a where a.job_id = t.job_id and a.final);
      update tenure.idempotency i set job_id = t.id
        from unnest(v_hashes, v_ids, v_firsts) t (hash, id, first)
       where i.key_hash = t.hash and t.first and t.hash = any (v_free);
    end if;
  end if;

  if p_job_ids is not null and (
    exists (
      select from unnest(v_ids, v_hashes) t (id, hash) join tenure.jobs j on j.job_id = t.id
       where t.hash is null or t.hash <> all (coalesce(v_taken, '{}')) or t.hash = any (v_free))
    or exists (
      select from unnest(v_ids, v_hashes) t (id, hash) group by t.id having count(distinct coalesce(t.hash, gen_random_uuid())) > 1)) then
    perform tenure.refuse('id_taken', 'There is already a job with this id.', 'An id names one job for ever.', 'Use a new id; for a safe repetition give an idempotency key.');
  end if;

  -- A parent is a job of the same tenant, or of the same batch. No foreign key: the parent may be swept before its children.
  if p_parent_job_ids is not null then
    for v_row in
      select t.id from unnest(p_parent_job_ids) t (id)
       where t.id is not null and t.id <> all (v_ids) and not exists (select from tenure.jobs j where j.job_id = t.id and j.tenant_id = v_tenant)
    loop
      perform tenure.check_job_exists(v_row.id, v_tenant);
    end loop;
  end if;

  with input as materialized (
    select t.*, greatest(t.due_given, v_now) as due
      from unnest(v_ids, v_lanes, v_hashes, v_firsts, p_kinds, p_payloads, p_keys, p_priorities, p_due, p_deadlines, p_source_refs, p_target_refs,
                  p_payload_refs, p_classifications, p_attempts_max, p_correlation_ids, p_causation_events, p_parent_job_ids, p_workflow_ids, p_run_ids,
                  p_affinity_keys, p_event_domains, p_source_systems) with ordinality
             t (job_id, lane, hash, first, kind, payload, key, priority, due_given, deadline, source_ref, target_ref, payload_ref, classification, attempts_max,
                correlation_id, causation_event, parent_job_id, workflow_id, run_id, affinity_key, event_domain, source_system, n)
  ), keyed as (
    insert into tenure.idempotency (key_hash, job_id)
    select i.hash, i.job_id from input i where i.hash is not null and i.first and i.hash <> all (coalesce(v_taken, '{}')) order by i.hash
    on conflict (key_hash) do nothing
    returning idempotency.job_id
  ), made as (
    insert into tenure.jobs as j (job_id, tenant_id, lane, kind, executor, event_domain, priority, due, deadline_at, attempts_max, backoff_base_seconds,
      backoff_jitter_percent, run_timeout_seconds, renewals_max, on_exhausted, payload_classification, payload, source_ref, target_ref, payload_ref,
      idempotency_key, affinity_key, correlation_id, causation_event, parent_job_id, workflow_id, run_id, source_system, enqueued_by, on_behalf_of, created_at)
    select i.job_id, v_tenant, i.lane, i.kind, l.executor, coalesce(i.event_domain, k.event_domain, 'job'), coalesce(i.priority, 0), i.due, i.deadline,
      coalesce(i.attempts_max, k.attempts_max, v_tuning.attempts_max), coalesce(k.backoff_base_seconds, v_tuning.backoff_base_seconds), coalesce(k.backoff_jitter_percent, v_tuning.jitter_percent),
      k.run_timeout_seconds, k.renewals_max, coalesce(k.on_exhausted, 'dead_letter'), coalesce(i.classification, 'safe_metadata'), coalesce(i.payload, '{}'),
      i.source_ref, i.target_ref, i.payload_ref, i.key, i.affinity_key, i.correlation_id, i.causation_event, i.parent_job_id, i.workflow_id, i.run_id,
      coalesce(i.source_system, 'tenure'), v_caller.principal, nullif(p_on_behalf_of, ''), v_now
      from input i
      join tenure.lanes l on l.lane = i.lane
      left join tenure.kinds k on k.tenant_id = v_tenant and k.kind = i.kind
     where i.hash is null
        or i.job_id in (select d.job_id from keyed d)
        or (i.first and i.hash = any (v_free))
    returning j.job_id, j.lane, j.priority, j.due, j.deadline_at
  ), put_ready as (
    insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
    select m.lane, -m.priority, m.due, m.job_id, 'queued', 0, 0, m.deadline_at from made m where m.due <= v_now
  ), put_delayed as (
    insert into tenure.delayed (lane, due, job_id, rank, state, run, attempts, deadline)
    select m.lane, m.due, m.job_id, -m.priority, 'queued', 0, 0, m.deadline_at from made m where m.due > v_now
  ), told as (
    insert into tenure.events (at, tenant_id, lane, kind, actor, on_behalf_of, job_ids)
    select v_now, v_tenant, m.lane, 'job.enqueued', v_caller.principal, nullif(p_on_behalf_of, ''), array_agg(m.job_id order by m.job_id) from made m group by m.lane
  )
  select coalesce(array_agg(m.job_id), '{}') into v_made from made m;

  if v_tuning.notify_open then
    perform tenure.lane_wake(v_tenant, v_lanes, v_now);
  end if;

  if cardinality(v_made) = v_rows then
    return query select t.n::integer, t.id, false, 'queued'::text from unnest(v_ids) with ordinality t (id, n);
  else
    -- A new statement: what the key names now, a job of another session included.
    return query
      select t.n::integer, coalesce(i.job_id, t.id), t.id <> all (v_made), case when t.id = any (v_made) then 'queued' else tenure.job_state(i.job_id) end
        from unnest(v_ids, v_hashes) with ordinality t (id, hash, n)
        left join tenure.idempotency i on i.key_hash = t.hash
       order by t.n;
  end if;
end
$$;

-- A caller bound to kinds or executors stays within them; the worker right alone enqueues only for executors it is bound to.
create or replace function tenure.check_enqueue_rights(p_caller tenure.caller_identity, p_lanes integer[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lane record;
  v_free boolean := tenure.acts_as('tenure_producer') or tenure.is_trusted() or tenure.acts_as('tenure_admin') or tenure.acts_as('tenure_operator');
begin
  if v_free and p_caller.executors is null and p_caller.kinds is null then
    return;
  end if;
  for v_lane in select distinct l.kind, l.executor from tenure.lanes l where l.lane = any (p_lanes) loop
    perform tenure.check_driven(p_caller, v_lane.executor);
    if p_caller.executors is null and not v_free then
      perform tenure.refuse('executor_not_driven', format('%s drives no executor by name.', p_caller.principal),
        'A worker enqueues only for executors it is bound to.', 'An admin binds it: select tenure.login_bind(login, p_executors => array[…]), or grants tenure_producer.');
    end if;
    if p_caller.kinds is not null and (v_lane.kind = any (p_caller.kinds)) is not true then
      perform tenure.refuse('kind_not_allowed', format('%s may not work with the kind %s.', p_caller.principal, v_lane.kind),
        format('It is bound to: %s.', array_to_string(p_caller.kinds, ', ')), 'Use one of these, or ask an admin for a wider binding.');
    end if;
  end loop;
end
$$;

-- Wakes the workers parked on a lane. Nobody parked, nobody notified: a notification on every enqueue would serialise all commits.
create or replace function tenure.lane_wake(p_tenant_id integer, p_lanes integer[], p_now timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from tenure.lanes l where l.lane = any (p_lanes) and l.parked_until > p_now)
     and (tenure.setting(p_tenant_id, 'queue.notify.enabled'))::boolean then
    perform pg_notify('tenure_lane', l.lane::text) from tenure.lanes l where l.lane = any (p_lanes) and l.parked_until > p_now;
  end if;
end
$$;

-- Enqueues one job, for people at a prompt: the answer is the job, or the refusal.
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
  v_state text; v_what text; v_why text; v_next text;
begin
  perform tenure.check_gate(tenure.current_tenant(), 'queue.job_substrate.enabled');
  select e.* into v_answer
    from tenure.job_enqueue_many(array[p_kind], array[p_payload], array[p_key], array[p_executor], array[tenure.priority_of(p_priority)], array[p_due],
      array[p_deadline], array[p_source_ref], array[p_target_ref], array[p_payload_ref], array[p_classification], array[p_attempts_max], array[p_correlation_id],
      array[p_causation_event], array[p_parent_job_id], array[p_workflow_id], array[p_run_id], array[p_affinity_key], array[p_event_domain],
      array[p_source_system], array[p_job_id], p_on_behalf_of) e;
  return jsonb_build_object('job_id', v_answer.job_id, 'duplicate', v_answer.duplicate, 'state', v_answer.state);
exception
when unique_violation then
  -- Another session used the id between our look and our write.
  return tenure.refusal('TN020', 'There is already a job with this id.', 'An id names one job for ever.', 'Use a new id; for a safe repetition give an idempotency key.');
when others then
  get stacked diagnostics v_state = returned_sqlstate, v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(v_state, v_what, v_why, v_next);
end
$$;
