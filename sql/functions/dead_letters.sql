-- Dead letters: list, show, triage, replay.

-- Dead letters, newest first. The next page is after moved_at (p_before) and dead_letter_id (p_before_id) of
-- the last one shown: jobs that died in one batch have one moved_at.
-- granted to: all
create or replace function tenure.dead_letter_list(
  p_triage_status text[] default null, p_kind text default null, p_fingerprint text default null,
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
    perform tenure.check_filter('triage status', p_triage_status,
      array['pending', 'acknowledged', 'manual_replay', 'escalated', 'closed']);
  end if;
  return query
    select d.dead_letter_id, d.job_id, d.kind, d.executor, d.attempts, d.error_code, d.error_class,
           d.final_error, d.fingerprint, d.moved_at, d.moved_by, d.triage_status, d.triage_note,
           d.triaged_by, d.replayed_as
      from tenure.dead_letters d
     where d.tenant_id = v_tenant
       and (p_triage_status is null or d.triage_status = any (p_triage_status))
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
-- granted to: all
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
-- granted to: admin, operator
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
-- granted to: admin, operator
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

-- The job that a replay of a dead letter enqueues. The settings of its schedule take precedence over those of
-- the kind, here too.
create or replace function tenure.dead_letter_job(p_row tenure.dead_letters) returns tenure.new_job
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job  tenure.new_job;
  v_old  record;
  v_slot record;
begin
  select j.traceparent, j.on_lost, j.origin into v_old from tenure.jobs j where j.job_id = p_row.job_id;
  select s.run_timeout_seconds, s.backoff_base_seconds, s.reentry, tenure.slot_origin(s, p) as origin
    into v_slot
    from tenure.planned_slots p
    join tenure.schedules s on s.schedule_id = p.schedule_id
   where p.job_id = p_row.job_id;
  v_job.kind := p_row.kind;
  v_job.payload := p_row.payload;
  v_job.job_id := tenure.new_id(tenure.now());
  v_job.key := 'replay:' || p_row.dead_letter_id || ':' || v_job.job_id;
  v_job.executor := p_row.executor;
  v_job.priority := p_row.priority;
  v_job.source_ref := p_row.source_ref;
  v_job.target_ref := p_row.target_ref;
  v_job.payload_ref := p_row.payload_ref;
  v_job.classification := p_row.payload_classification;
  v_job.attempts_max := p_row.attempts_max;
  v_job.correlation_id := p_row.correlation_id;
  v_job.parent_job_id := p_row.parent_job_id;
  v_job.workflow_id := p_row.workflow_id;
  v_job.run_id := p_row.run_id;
  v_job.affinity_key := p_row.affinity_key;
  v_job.event_domain := p_row.event_domain;
  v_job.source_system := p_row.source_system;
  v_job.run_timeout_seconds := v_slot.run_timeout_seconds;
  v_job.backoff_base_seconds := v_slot.backoff_base_seconds;
  v_job.on_lost := coalesce(case v_slot.reentry when 'refused' then 'fail' end, v_old.on_lost);
  v_job.origin := coalesce(v_old.origin, v_slot.origin);
  v_job.replay_of := p_row.job_id;
  v_job.traceparent := v_old.traceparent;
  return v_job;
end
$$;

-- Makes a new job of a dead letter that was triaged as manual_replay, once only. The job is linked to the old
-- one, has a fresh key, and continues the trace of the old one while that is known.
-- granted to: admin, operator
create or replace function tenure.dead_letter_replay(p_dead_letter_id uuid, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_row    tenure.dead_letters;
  v_job    tenure.new_job;
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
  v_job := tenure.dead_letter_job(v_row);
  v_job.on_behalf_of := p_on_behalf_of;
  -- Any operator may replay it, whatever executors it is bound to.
  v_caller.executors := null;
  perform tenure.enqueue_batch(v_caller, tenure.tuning(v_caller.tenant_id), v_now, array[v_job]);
  perform tenure.slot_reopen(v_row.job_id, v_job.job_id);
  update tenure.dead_letters d
     set triage_status = 'closed',
         triaged_at = v_now,
         triaged_by = v_caller.principal,
         replayed_as = v_job.job_id,
         replayed_at = v_now
   where d.dead_letter_id = p_dead_letter_id and d.tenant_id = v_caller.tenant_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'dead_letter.replayed', v_caller.principal, p_on_behalf_of,
    p_dead_letter_id::text,
    jsonb_build_object('job_id', v_row.job_id, 'replayed_as', v_job.job_id));
  return jsonb_build_object(
    'dead_letter_id', p_dead_letter_id, 'job_id', v_job.job_id, 'replay_of', v_row.job_id, 'state', 'queued');
end
$$;
