-- Making the jobs of slots. The caller holds the lock on the schedules.

-- What a slot's job knows of its slot. It is stored beside the payload, where no producer writes. A run by
-- hand has its plan time to the microsecond.
create or replace function tenure.slot_origin(
  p_schedule tenure.schedules, p_slot tenure.planned_slots) returns jsonb
language sql stable
as $$
  select jsonb_build_object('slot', jsonb_build_object(
    'schedule', p_schedule.name,
    'plan_time', to_char(p_slot.plan_time at time zone 'UTC',
                   case when p_slot.plan_time = date_trunc('second', p_slot.plan_time)
                     then 'YYYY-MM-DD"T"HH24:MI:SS"Z"' else 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' end),
    'scope_kind', p_slot.scope_kind, 'scope_id', p_slot.scope_id,
    'origin', p_slot.origin))
$$;

-- The origin of a job in one phrase, for its timeline.
create or replace function tenure.origin_words(p_origin jsonb) returns text
language sql immutable
as $$
  select case
    when p_origin ? 'step' then
      format('step %s of execution %s', p_origin #>> '{step,step_id}', p_origin #>> '{step,execution_id}')
    when p_origin ? 'slot' then
      format('slot %s of schedule %s', p_origin #>> '{slot,plan_time}', p_origin #>> '{slot,schedule}')
  end
$$;

-- Makes the jobs of slots of one tenant and answers how many were made. If the batch is refused, each slot is
-- tried alone; one that is refused is skipped with the code of the refusal.
create or replace function tenure.slots_start(
  p_caller tenure.caller_identity, p_tenant_id integer, p_now timestamptz, p_slot_ids bigint[],
  p_actor text) returns integer
language plpgsql
set lock_timeout = '500ms'
as $$
declare
  v_due     record;
  v_job     tenure.new_job;
  v_jobs    tenure.new_job[] := '{}';
  v_new     record;
  v_started integer := 0;
  v_vain    integer := 0;
  v_slot    bigint;
  v_state   text;
  v_what    text;
  v_why     text;
begin
  p_caller.tenant_id := p_tenant_id;
  p_caller.principal := p_actor;
  p_caller.scope := 'tenant';
  -- Caught item by item: see refusals.sql.
  begin
    perform tenure.check_gate(p_tenant_id, 'queue.job_substrate.enabled');
    v_job.source_system := 'tenure.schedule';
    for v_due in
      select p.slot_id, s.kind, s.payload, s.executor, s.priority, s.source_ref, s.target_ref, s.payload_ref,
             s.classification, s.attempts_max, s.run_timeout_seconds, s.backoff_base_seconds, s.reentry,
             tenure.slot_origin(s, p) as origin
        from tenure.planned_slots p
        join tenure.schedules s on s.schedule_id = p.schedule_id
       where p.slot_id = any (p_slot_ids)
       order by p.slot_id
    loop
      v_job.kind := v_due.kind;
      v_job.payload := v_due.payload;
      v_job.key := 'slot ' || v_due.slot_id;
      v_job.executor := v_due.executor;
      v_job.priority := v_due.priority;
      v_job.source_ref := v_due.source_ref;
      v_job.target_ref := v_due.target_ref;
      v_job.payload_ref := v_due.payload_ref;
      v_job.classification := v_due.classification;
      v_job.attempts_max := v_due.attempts_max;
      v_job.run_timeout_seconds := v_due.run_timeout_seconds;
      v_job.backoff_base_seconds := v_due.backoff_base_seconds;
      v_job.on_lost := case v_due.reentry when 'refused' then 'fail' end;
      v_job.origin := v_due.origin;
      v_jobs := v_jobs || v_job;
    end loop;
    v_new := tenure.enqueue_batch(p_caller, tenure.tuning(p_tenant_id), p_now, v_jobs);
    if v_new.unmade <> '{}' then
      perform tenure.refuse('key_taken', 'Another job has the key of the slot.',
        'Keys that begin with "slot" and a number are for slots.', 'Cancel that job.');
    end if;
    -- The kind may have another executor since, and so another lane.
    update tenure.lanes l set planned = true
     where not l.planned
       and l.lane = any (array(select j.lane from tenure.jobs j where j.job_id = any (v_new.ids)));
    update tenure.planned_slots p
       set state = 'running',
           job_id = n.job_id,
           fired_at = p_now,
           waiting_since = null,
           updated_at = p_now
      from unnest(array(select x from unnest(p_slot_ids) x order by x), v_new.ids) n (slot_id, job_id)
     where p.slot_id = n.slot_id;
    get diagnostics v_started = row_count;
    perform tenure.slots_emit('started', p_now, p_actor, p_slot_ids);
    return v_started;
  exception when others then
    get stacked diagnostics
      v_state = returned_sqlstate,
      v_what = message_text,
      v_why = pg_exception_detail;
    if v_state not like 'TN%' and v_state not in ('55P03', '40P01') then
      raise;
    end if;
  end;

  if cardinality(p_slot_ids) > 1 then
    foreach v_slot in array p_slot_ids loop
      -- After some failed attempts more than a single row is locked: postpone the rest.
      if v_vain >= tenure.limit_of('slot_lock_failures_max') then
        update tenure.planned_slots p
           set due_at = p_now + make_interval(secs => tenure.limit_of('slot_retry_seconds'))
         where p.slot_id = any (p_slot_ids) and p.state = 'planned' and p.due_at <= p_now;
        exit;
      end if;
      v_started := v_started + tenure.slots_start(p_caller, p_tenant_id, p_now, array[v_slot], p_actor);
      if exists (select from tenure.planned_slots p where p.slot_id = v_slot and p.due_at > p_now) then
        v_vain := v_vain + 1;
      end if;
    end loop;
  elsif v_state like 'TN%' then
    update tenure.planned_slots p
       set state = 'skipped',
           skip_reason = 'refused',
           ended_at = p_now,
           waiting_since = null,
           error_code = tenure.sqlstate_code(v_state),
           error_message = tenure.cut_text(
             v_what || ' ' || v_why, tenure.limit_of('error_message_bytes_max')::integer)
     where p.slot_id = p_slot_ids[1];
    perform tenure.slots_emit('skipped', p_now, p_actor, p_slot_ids);
  else
    -- Another transaction has a row of this one locked: postpone it, and go on with the others.
    update tenure.planned_slots p
       set due_at = p_now + make_interval(secs => tenure.limit_of('slot_retry_seconds'))
     where p.slot_id = p_slot_ids[1];
  end if;
  return v_started;
end
$$;
