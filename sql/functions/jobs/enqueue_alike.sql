-- Enqueue of one job, or of many of one kind that differ only in payload and key.

-- The id of a new job. Ids of a batch grow by its microseconds, because they give its order; the random tail
-- is drawn once for all of them.
create or replace function tenure.batch_id(p_micros bigint, p_tail text) returns uuid
language sql immutable parallel safe
as $$
  select (lpad(to_hex(p_micros / 1000), 12, '0') || to_hex(28672 + p_micros % 1000 * 4096 / 1000)
    || p_tail)::uuid
$$;

-- Makes the missing lane of a kind and returns it with the policy. Refuses a kind that is governed, or that
-- has no policy in strict mode.
create or replace function tenure.alike_lane(p_caller tenure.caller_identity, p_like tenure.new_job)
returns record
language plpgsql
as $$
declare
  v_lane record;
begin
  perform tenure.lane_ensure(p_caller, p_like.kind, p_like.executor);
  select p.* into v_lane from tenure.lane_policy(p_caller.tenant_id, p_like.kind, p_like.executor) p;
  if v_lane.lane is null or v_lane.only_by_plan then
    perform tenure.refuse('busy_try_again', 'The policy of the kind changed meanwhile.',
      'Its executor, and so its lane, is another one now, or only plans may make its jobs.',
      'Enqueue again.');
  end if;
  return v_lane;
end
$$;

-- One pass over many jobs: their ids, the hashes of their keys, whether a quick check raises a doubt, and the
-- text of all payloads. Inlined: a function of its own would copy the arrays.
create or replace function tenure.alike_pass(
  p_micros bigint, p_tail text, p_scope text, p_rows integer, p_payloads json[], p_keys text[])
returns table (ids uuid[], hashes uuid[], doubt boolean, payload_text text)
language sql stable
as $$
  select array_agg(tenure.batch_id(p_micros + t.n, p_tail)),
         array_agg(case when t.key is not null then tenure.idempotency_hash(p_scope, t.key) end),
         bool_or(tenure.may_be_refused(t.payload, t.payload_text, t.key)),
         string_agg(t.payload_text, '')
    from (select s.n, s.payload, s.payload::text as payload_text, s.key
            from (select generate_series(1, p_rows) as n, unnest(p_payloads) as payload,
                         unnest(p_keys) as key) s
          offset 0) t
$$;

-- Refuses the first invalid one of these jobs. Called only when a quick check has raised a doubt.
create or replace function tenure.check_alike(
  p_now timestamptz, p_like tenure.new_job, p_rows integer, p_payloads json[], p_keys text[]) returns void
language plpgsql
as $$
declare
  v_row record;
begin
  for v_row in
    select t.n, t.payload, t.key
      from (select generate_series(1, p_rows) as n, unnest(p_payloads) as payload, unnest(p_keys) as key) t
  loop
    p_like.payload := v_row.payload;
    p_like.key := v_row.key;
    perform tenure.check_job(case when p_rows > 1 then format(' of job %s', v_row.n) else '' end, p_now,
      p_like);
  end loop;
end
$$;

-- The work of job_enqueue_many for jobs that are like p_like in all but their payloads and keys: one lane,
-- one policy, and rows that need no look-up. Returns the ids and key hashes of all, and in `unmade` the ids
-- that were not made because an unfinished job has their key. p_hand: there is one job, with only a payload
-- and a key, and its transaction ends here; then it may be handed to an idle worker, and `handed` says so.
create or replace function tenure.enqueue_alike(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamptz, p_like tenure.new_job,
  p_rows integer, p_payloads json[], p_keys text[], p_hand boolean,
  out ids uuid[], out hashes uuid[], out unmade uuid[], out handed boolean)
language plpgsql
as $$
declare
  v_tenant integer := p_caller.tenant_id;
  v_scope  text := tenure.idempotency_scope(p_caller.tenant_id, p_like.kind);
  v_micros bigint := (extract(epoch from p_now) * 1000000)::bigint;
  v_tail   text := substr(gen_random_uuid()::text, 19);
  v_due    timestamptz := greatest(p_like.due_at, p_now);
  v_rank   integer := -coalesce(p_like.priority, 0);
  v_lane   record;
  v_text   text;
  v_doubt  boolean;
  v_ids    uuid[];
  v_parked boolean;
  v_marked boolean;
begin
  select p.* into v_lane from tenure.lane_policy(v_tenant, p_like.kind, p_like.executor) p;
  if v_lane.lane is null or (v_lane.kind is null and p_tuning.strict_kinds) or v_lane.only_by_plan then
    v_lane := tenure.alike_lane(p_caller, p_like);
  end if;
  -- For a single job, the statement of alike_pass would take longer than these expressions.
  if p_rows = 1 then
    v_text := p_payloads[1]::text;
    ids := array[tenure.batch_id(v_micros, v_tail)];
    hashes := array[case when p_keys[1] is not null then tenure.idempotency_hash(v_scope, p_keys[1]) end];
    v_doubt := tenure.may_be_refused(p_payloads[1], v_text, p_keys[1]);
  else
    select a.ids, a.hashes, a.doubt, a.payload_text
      into ids, hashes, v_doubt, v_text
      from tenure.alike_pass(v_micros, v_tail, v_scope, p_rows, p_payloads, p_keys) a;
  end if;
  if v_doubt
     or tenure.may_have_refused_field(p_like, p_now)
     or (tenure.may_have_forbidden_key(v_text) and not tenure.are_clean(p_payloads))
     or tenure.may_have_long_number(v_text) then
    perform tenure.check_alike(p_now, p_like, p_rows, p_payloads, p_keys);
  end if;
  if num_nonnulls(p_caller.executors, p_caller.kinds, p_caller.roles) > 0
     or not pg_has_role(session_user, 'tenure_producer', 'member') then
    perform tenure.check_enqueue_rights(p_caller, array[v_lane.lane]);
  end if;
  if p_like.parent_job_id is not null then
    perform tenure.check_relatives(v_tenant, ids, hashes, array[p_like]);
  end if;
  unmade := case when p_keys is null then '{}' else tenure.idempotency_take(ids, hashes) end;
  v_ids := ids;
  if unmade <> '{}' then
    select array_agg(t.id), array_agg(t.payload), array_agg(t.key) into v_ids, p_payloads, p_keys
      from unnest(ids, p_payloads, p_keys) t (id, payload, key)
     where t.id <> all (unmade);
    if v_ids is null then
      return;
    end if;
  end if;

  if not v_lane.timed and (v_lane.run_timeout_seconds is not null or v_lane.renewals_max is not null) then
    perform tenure.lane_time(array[v_lane.lane]);
  end if;
  insert into tenure.jobs (job_id, payload, idempotency_key, tenant_id, lane, kind, executor, event_domain,
    priority, due, deadline_at, attempts_max, backoff_base_seconds, backoff_jitter_percent,
    run_timeout_seconds, renewals_max, on_exhausted, payload_classification, source_ref, target_ref,
    payload_ref, affinity_key, correlation_id, causation_event, parent_job_id, workflow_id, run_id,
    on_behalf_of, source_system, enqueued_by, created_at, traceparent)
  select t.id, coalesce(t.payload, '{}'), t.key, c.*
    -- What all of them have is computed once: a field of a variable costs more than a column.
    from (
      select v_tenant, v_lane.lane, p_like.kind, v_lane.executor,
             coalesce(p_like.event_domain, v_lane.event_domain, 'job'), -v_rank, v_due, p_like.deadline_at,
             coalesce(p_like.attempts_max, v_lane.attempts_max, p_tuning.attempts_max),
             coalesce(v_lane.backoff_base_seconds, p_tuning.backoff_base_seconds),
             coalesce(v_lane.backoff_jitter_percent, p_tuning.jitter_percent), v_lane.run_timeout_seconds,
             v_lane.renewals_max, coalesce(v_lane.on_exhausted, 'dead_letter'),
             coalesce(p_like.classification, 'safe_metadata'), p_like.source_ref, p_like.target_ref,
             p_like.payload_ref, p_like.affinity_key, p_like.correlation_id, p_like.causation_event,
             p_like.parent_job_id, p_like.workflow_id, p_like.run_id, p_like.on_behalf_of,
             coalesce(p_like.source_system, 'tenure'), p_caller.principal, p_now, tenure.traceparent()
      offset 0) c
    -- unnest in the select list, not in from: rows come one by one and are not stored in between.
    cross join (select unnest(v_ids) as id, unnest(p_payloads) as payload, unnest(p_keys) as key) t;
  insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, on_behalf_of, job_ids, job_count)
  values ((select i.epoch from tenure.installation i), p_now, v_tenant, v_lane.lane, 'job.enqueued',
    p_caller.principal, p_like.on_behalf_of, v_ids, cardinality(v_ids))
  -- Read the lane anew: a worker that parked since has not seen these jobs, and one that parks from here on
  -- asks which transactions are under way. An old snapshot cannot tell.
  returning exists (select from tenure.lanes l where l.lane = v_lane.lane and l.parked_until > p_now)
              or current_setting('transaction_isolation') <> 'read committed',
            -- A mark leads claims to the lane. This transaction has its number by now: see ready_marks.sql.
            current_setting('transaction_isolation') = 'read committed'
              and exists (
                select from tenure.ready_marks m
                 where m.tenant_id = v_tenant and m.executor = v_lane.executor and m.lane = v_lane.lane
                   and m.rank = v_rank and m.retired_in is null)
    into v_parked, v_marked;
  if v_parked and p_hand then
    handed := tenure.job_hand(p_caller, p_tuning, (
      v_ids[1], v_lane.lane, p_like.kind, coalesce(p_payloads[1], '{}'), p_keys[1], v_due,
      coalesce(v_lane.attempts_max, p_tuning.attempts_max), v_lane.run_timeout_seconds,
      v_lane.renewals_max)::tenure.handed_job);
  end if;
  if handed then
    return;
  elsif v_due <= p_now then
    insert into tenure.ready (lane, rank, due, job_id, state, run, attempts, deadline)
    select v_lane.lane, v_rank, v_due, unnest(v_ids), 'queued', 0, 0, p_like.deadline_at;
    if not v_marked then
      perform tenure.ready_mark(array[v_lane.lane], array[v_rank]);
    end if;
  else
    insert into tenure.delayed (tenant_id, lane, due, job_id, rank, state, run, attempts, deadline)
    select v_tenant, v_lane.lane, v_due, unnest(v_ids), v_rank, 'queued', 0, 0, p_like.deadline_at;
  end if;
  if v_parked and p_tuning.notify_open then
    perform tenure.lane_wake(array[v_lane.lane], p_now);
  end if;
end
$$;
