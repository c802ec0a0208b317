-- Enqueuing a job again.

-- Enqueues a failed or cancelled job again: a new job with the same content and key, fresh attempts, due now,
-- and the old job in replay_of. Where another job has the key, because it is unfinished or its kind keeps
-- keys, that job is answered as a duplicate and none is made: two calls at once make one job. Refuses jobs in
-- another state, steps, and jobs of kinds that only plans may run.
-- granted to: admin, operator
create or replace function tenure.job_requeue(p_job_id uuid, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_state  text;
  v_old    tenure.jobs;
  v_hash   uuid;
  v_made   record;
  v_job_id uuid := tenure.new_id(v_now);
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_acted_for(p_on_behalf_of);
  perform tenure.check_job_exists(p_job_id, v_caller.tenant_id);
  select j.* into v_old from tenure.jobs j where j.job_id = p_job_id;
  -- The key first, then the final record: a retry and the sweep lock them in this order too.
  v_hash := tenure.idempotency_hash(
    tenure.idempotency_scope(v_old.tenant_id, v_old.kind), tenure.requeue_key(v_old));
  perform from tenure.idempotency i where i.key_hash = v_hash for update;
  perform from tenure.attempts a where a.job_id = p_job_id and a.final for update;
  v_state := tenure.job_state(p_job_id);
  select j.* into v_old from tenure.jobs j where j.job_id = p_job_id;
  if v_state not in ('failed', 'cancelled') or v_old.cleaned_at is not null then
    perform tenure.refuse_state(p_job_id, case when v_old.cleaned_at is null then v_state else 'cleaned' end,
      'requeued', array['failed', 'cancelled']);
  end if;
  perform tenure.refuse_step_job(p_job_id);
  perform tenure.check_repeatable(v_old.tenant_id, v_old.kind);
  -- The old job gives its key up, also where its kind keeps keys for a while.
  delete from tenure.idempotency i where i.key_hash = v_hash and i.job_id = p_job_id;
  -- Any operator may requeue it, whatever executors it is bound to.
  v_caller.executors := null;
  v_made := tenure.enqueue_batch(v_caller, tenure.tuning(v_caller.tenant_id), v_now,
    array[tenure.requeued_job(v_old, v_job_id, p_on_behalf_of)]);
  if v_job_id = any (v_made.unmade) then
    select i.job_id into v_job_id from tenure.idempotency i where i.key_hash = v_hash;
    return jsonb_build_object('job_id', v_job_id, 'replay_of', p_job_id, 'duplicate', true);
  end if;
  perform tenure.slot_reopen(p_job_id, v_job_id);
  return jsonb_build_object('job_id', v_job_id, 'replay_of', p_job_id, 'duplicate', false);
end
$$;

-- The key of the job that a requeue makes of another: its own, else one that names the old job.
create or replace function tenure.requeue_key(p_old tenure.jobs) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(p_old.idempotency_key, 'requeue:' || p_old.job_id)
$$;

-- Refuses to retry a job without a key beside the unfinished job that a requeue made of it.
create or replace function tenure.refuse_requeued(p_job tenure.jobs) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_other uuid;
begin
  select i.job_id into v_other
    from tenure.idempotency i
   where i.key_hash = tenure.idempotency_hash(
           tenure.idempotency_scope(p_job.tenant_id, p_job.kind), tenure.requeue_key(p_job))
     and i.job_id <> p_job.job_id
     and not exists (select from tenure.attempts a where a.job_id = i.job_id and a.final);
  if found then
    perform tenure.refuse('key_taken',
      format('Job %s was requeued as job %s.', p_job.job_id, v_other),
      'Both would do the same work.',
      'Wait for that job, or cancel it first.');
  end if;
end
$$;

-- The job that a requeue makes of another. A deadline belongs to the old job.
create or replace function tenure.requeued_job(p_old tenure.jobs, p_job_id uuid, p_on_behalf_of text)
returns tenure.new_job
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job tenure.new_job;
begin
  v_job.job_id := p_job_id;
  v_job.kind := p_old.kind;
  v_job.payload := p_old.payload;
  v_job.key := tenure.requeue_key(p_old);
  v_job.executor := p_old.executor;
  v_job.priority := p_old.priority;
  v_job.source_ref := p_old.source_ref;
  v_job.target_ref := p_old.target_ref;
  v_job.payload_ref := p_old.payload_ref;
  v_job.classification := p_old.payload_classification;
  v_job.attempts_max := p_old.attempts_max;
  v_job.correlation_id := p_old.correlation_id;
  v_job.causation_event := p_old.causation_event;
  v_job.parent_job_id := p_old.parent_job_id;
  v_job.workflow_id := p_old.workflow_id;
  v_job.run_id := p_old.run_id;
  v_job.affinity_key := p_old.affinity_key;
  v_job.event_domain := p_old.event_domain;
  v_job.source_system := p_old.source_system;
  v_job.run_timeout_seconds := p_old.run_timeout_seconds;
  v_job.backoff_base_seconds := p_old.backoff_base_seconds;
  v_job.renewals_max := p_old.renewals_max;
  v_job.on_exhausted := p_old.on_exhausted;
  v_job.on_lost := p_old.on_lost;
  v_job.origin := p_old.origin;
  v_job.replay_of := p_old.job_id;
  v_job.traceparent := p_old.traceparent;
  v_job.on_behalf_of := p_on_behalf_of;
  return v_job;
end
$$;
