-- Dead letters: list, show, triage, replay.

-- Dead letters, newest first. The next page is after moved_at (p_before) and dead_letter_id (p_before_id) of
-- the last one shown: jobs that died in one batch have one moved_at.
create or replace function tenure.dead_letter_list(
  p_triage_status text default null, p_kind text default null, p_fingerprint text default null,
  p_before timestamptz default null, p_limit integer default 50, p_before_id uuid default null)
returns table (
  dead_letter_id uuid, job_id uuid, kind text, executor text, attempts integer, error_code text,
  error_class text, final_error text, fingerprint text, moved_at timestamptz, moved_by text,
  triage_status text, triage_note text, triaged_by text, replayed_as uuid)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_triage_status is not null then
    perform tenure.check_word('value_unknown', 'triage status', p_triage_status,
      array['pending', 'acknowledged', 'manual_replay', 'escalated', 'closed']);
  end if;
  return query
    select d.dead_letter_id, d.job_id, d.kind, d.executor, d.attempts, d.error_code, d.error_class,
           d.final_error, d.fingerprint, d.moved_at, d.moved_by, d.triage_status, d.triage_note,
           d.triaged_by, d.replayed_as
      from tenure.dead_letters d
     where d.tenant_id = v_tenant
       and (p_triage_status is null or d.triage_status = p_triage_status)
       and (p_kind is null or d.kind = p_kind)
       and (p_fingerprint is null or d.fingerprint = p_fingerprint)
       and (p_before is null
         or d.moved_at <= p_before and (d.moved_at < p_before or d.dead_letter_id > p_before_id))
     order by d.moved_at desc, d.dead_letter_id
     limit p_limit;
end
$$;

-- One dead letter; refuses with dead_letter_not_found. It takes no lock, so that a reader's open transaction
-- blocks no other. Callers that decide something lock the row first, then read it.
create or replace function tenure.dead_letter_row(p_dead_letter_id uuid) returns tenure.dead_letters
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row tenure.dead_letters;
begin
  select d.* into v_row
    from tenure.dead_letters d
   where d.dead_letter_id = p_dead_letter_id and d.tenant_id = tenure.current_tenant();
  if not found then
    perform tenure.refuse('dead_letter_not_found',
      format('There is no dead letter %s.', coalesce(p_dead_letter_id::text, 'without an id')),
      'It never was, or belongs to another tenant.',
      'Look through tenure.dead_letter_list().');
  end if;
  return v_row;
end
$$;

-- Everything about one dead letter. A restricted payload is null for callers who may not see it.
create or replace function tenure.dead_letter_show(p_dead_letter_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row     tenure.dead_letters := tenure.dead_letter_row(p_dead_letter_id);
  v_payload jsonb := case
    when tenure.may_see(v_row.payload_classification) then tenure.payload_shown(v_row.payload)
  end;
begin
  v_row.payload := null;
  return (to_jsonb(v_row) - 'tenant_id') || jsonb_build_object('payload', v_payload);
end
$$;

-- Records a decision about a dead letter; refuses with already_replayed after a replay.
create or replace function tenure.dead_letter_triage(
  p_dead_letter_id uuid, p_status text, p_note text default null, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_row    tenure.dead_letters;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_word('value_unknown', 'triage status', p_status,
    array['acknowledged', 'manual_replay', 'escalated', 'closed']);
  perform from tenure.dead_letters d
    where d.dead_letter_id = p_dead_letter_id and d.tenant_id = v_caller.tenant_id
      for update;
  v_row := tenure.dead_letter_row(p_dead_letter_id);
  if v_row.replayed_as is not null then
    perform tenure.refuse('already_replayed',
      format('Dead letter %s was replayed as job %s.', p_dead_letter_id, v_row.replayed_as),
      'Its story goes on there.',
      'Look at that job.');
  end if;
  update tenure.dead_letters d
     set triage_status = p_status,
         triage_note = coalesce(p_note, d.triage_note),
         triaged_at = v_now,
         triaged_by = v_caller.principal
   where d.dead_letter_id = p_dead_letter_id and d.tenant_id = v_caller.tenant_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'dead_letter.triaged', v_caller.principal, p_on_behalf_of,
    p_dead_letter_id::text,
    jsonb_build_object('job_id', v_row.job_id, 'from', v_row.triage_status, 'to', p_status, 'note', p_note));
  return jsonb_build_object(
    'dead_letter_id', p_dead_letter_id, 'triage_status', p_status, 'triaged_by', v_caller.principal,
    'triaged_at', v_now);
end
$$;

-- The job that a replay would enqueue, and whether a replay is allowed. Changes nothing.
create or replace function tenure.dead_letter_replay_preview(p_dead_letter_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row tenure.dead_letters;
begin
  v_row := tenure.dead_letter_row(p_dead_letter_id);
  return jsonb_build_object(
    'dead_letter_id', p_dead_letter_id,
    'may_replay', v_row.triage_status = 'manual_replay'
      and v_row.replayed_as is null
      and v_row.source_system is distinct from 'tenure.execution'
      and not tenure.is_governed(v_row.tenant_id, v_row.kind),
    'triage_status', v_row.triage_status,
    'replayed_as', v_row.replayed_as,
    'job', jsonb_build_object(
      'kind', v_row.kind,
      'executor', v_row.executor,
      'priority', v_row.priority,
      'attempts_max', v_row.attempts_max,
      'source_ref', v_row.source_ref,
      'target_ref', v_row.target_ref,
      'payload_ref', v_row.payload_ref,
      'payload', case
        when tenure.may_see(v_row.payload_classification) then tenure.payload_shown(v_row.payload)
      end,
      'payload_classification', v_row.payload_classification,
      'correlation_id', v_row.correlation_id,
      'affinity_key', v_row.affinity_key,
      'replay_of', v_row.job_id));
end
$$;

-- Makes a new job of a dead letter that was triaged as manual_replay, once only. The job is linked to the old
-- one, has a fresh key, and continues the trace of the old one while that is known.
create or replace function tenure.dead_letter_replay(p_dead_letter_id uuid, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_row    tenure.dead_letters;
  v_job    uuid := tenure.new_id(v_now);
  v_key    text := 'replay:' || p_dead_letter_id || ':' || v_job;
  v_lane   integer;
  v_policy jsonb;
  v_slot   record;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform from tenure.dead_letters d
    where d.dead_letter_id = p_dead_letter_id and d.tenant_id = v_caller.tenant_id
      for update;
  v_row := tenure.dead_letter_row(p_dead_letter_id);
  if v_row.replayed_as is not null then
    perform tenure.refuse('already_replayed',
      format('Dead letter %s was replayed as job %s.', p_dead_letter_id, v_row.replayed_as),
      'A dead letter is replayed once.',
      'Look at that job; if it died too, it has a dead letter of its own.');
  elsif v_row.triage_status <> 'manual_replay' then
    perform tenure.refuse('replay_needs_triage',
      format('Dead letter %s is %s.', p_dead_letter_id, v_row.triage_status),
      'Somebody must decide that it may run again: triage status manual_replay.',
      'Triage it: select tenure.dead_letter_triage(id, ''manual_replay'', note).');
  end if;
  perform tenure.refuse_step_job(v_row.job_id);
  -- Also when its execution was deleted.
  if v_row.source_system = 'tenure.execution' then
    perform tenure.refuse('not_permitted',
      format('Job %s was a step of execution %s.',
        v_row.job_id, coalesce(v_row.workflow_id::text, 'that is gone')),
      'By itself it would run without its approval and its lock.',
      'Submit the plan again.');
  end if;
  v_lane := tenure.lane_ensure(v_caller, v_row.kind, v_row.executor);
  v_policy := tenure.kind_show(v_row.kind);
  -- The settings of its schedule take precedence over those of the kind, here too.
  select s.run_timeout_seconds, s.backoff_base_seconds, s.reentry, tenure.slot_origin(s, p) as origin
    into v_slot
    from tenure.planned_slots p
    join tenure.schedules s on s.schedule_id = p.schedule_id
   where p.job_id = v_row.job_id;
  if coalesce(v_slot.run_timeout_seconds::text, v_policy ->> 'run_timeout_seconds',
       v_policy ->> 'renewals_max') is not null then
    perform tenure.lane_time(array[v_lane]);
  end if;
  insert into tenure.jobs (job_id, tenant_id, lane, kind, executor, event_domain, priority, due, attempts_max,
    backoff_base_seconds, backoff_jitter_percent,
    run_timeout_seconds, renewals_max, on_exhausted,
    payload_classification, payload, source_ref, target_ref, payload_ref,
    idempotency_key, affinity_key, correlation_id, parent_job_id, workflow_id, run_id, replay_of,
    source_system, enqueued_by, on_behalf_of, created_at, traceparent, on_lost, origin)
  values (v_job, v_caller.tenant_id, v_lane, v_row.kind, v_row.executor, v_row.event_domain, v_row.priority,
    v_now, v_row.attempts_max,
    coalesce(v_slot.backoff_base_seconds, (v_policy ->> 'backoff_base_seconds')::integer),
    (v_policy ->> 'backoff_jitter_percent')::smallint,
    coalesce(v_slot.run_timeout_seconds, (v_policy ->> 'run_timeout_seconds')::integer),
    (v_policy ->> 'renewals_max')::integer, v_policy ->> 'on_exhausted',
    v_row.payload_classification, v_row.payload, v_row.source_ref, v_row.target_ref, v_row.payload_ref,
    v_key, v_row.affinity_key, v_row.correlation_id, v_row.parent_job_id, v_row.workflow_id, v_row.run_id,
    v_row.job_id, v_row.source_system, v_caller.principal, nullif(p_on_behalf_of, ''), v_now,
    coalesce((select j.traceparent from tenure.jobs j where j.job_id = v_row.job_id), tenure.traceparent()),
    coalesce(
      case v_slot.reentry when 'refused' then 'fail' end,
      (select j.on_lost from tenure.jobs j where j.job_id = v_row.job_id)),
    coalesce((select j.origin from tenure.jobs j where j.job_id = v_row.job_id), v_slot.origin));
  insert into tenure.idempotency (key_hash, job_id)
  values (tenure.idempotency_hash(tenure.idempotency_scope(v_caller.tenant_id, v_row.kind), v_key), v_job);
  insert into tenure.ready (lane, rank, due, job_id, state, run, attempts)
  values (v_lane, -v_row.priority, v_now, v_job, 'queued', 0, 0);
  perform tenure.ready_mark(array[v_lane], array[-v_row.priority]);
  insert into tenure.events (at, tenant_id, lane, kind, actor, on_behalf_of, job_ids)
  values (v_now, v_caller.tenant_id, v_lane, 'job.enqueued', v_caller.principal, p_on_behalf_of,
    array[v_job]);
  perform tenure.slot_reopen(v_row.job_id, v_job);
  update tenure.dead_letters d
     set triage_status = 'closed',
         triaged_at = v_now,
         triaged_by = v_caller.principal,
         replayed_as = v_job,
         replayed_at = v_now
   where d.dead_letter_id = p_dead_letter_id and d.tenant_id = v_caller.tenant_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'dead_letter.replayed', v_caller.principal, p_on_behalf_of,
    p_dead_letter_id::text,
    jsonb_build_object('job_id', v_row.job_id, 'replayed_as', v_job));
  if (tenure.tuning(v_caller.tenant_id)).notify_open then
    perform tenure.lane_wake(array[v_lane], v_now);
  end if;
  return jsonb_build_object(
    'dead_letter_id', p_dead_letter_id, 'job_id', v_job, 'replay_of', v_row.job_id, 'state', 'queued');
end
$$;
