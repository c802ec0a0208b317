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
  v_jobs    record;
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
    select array_agg(s.kind order by p.slot_id) as kinds,
           array_agg(s.payload::json order by p.slot_id) as payloads,
           array_agg('slot ' || p.slot_id order by p.slot_id) as keys,
           array_agg(s.executor order by p.slot_id) as executors,
           array_agg(s.priority::integer order by p.slot_id) as priorities,
           array_agg(s.source_ref order by p.slot_id) as source_refs,
           array_agg(s.target_ref order by p.slot_id) as target_refs,
           array_agg(s.payload_ref order by p.slot_id) as payload_refs,
           array_agg(s.classification order by p.slot_id) as classifications,
           array_agg(s.attempts_max::integer order by p.slot_id) as attempts_max,
           array_agg('tenure.schedule'::text order by p.slot_id) as source_systems,
           case
             when bool_or(s.run_timeout_seconds is not null)
               then array_agg(s.run_timeout_seconds order by p.slot_id)
           end as run_timeouts,
           array_agg(s.backoff_base_seconds order by p.slot_id) as backoffs,
           array_agg(case s.reentry when 'refused' then 'fail' end order by p.slot_id) as on_lost,
           array_agg(tenure.slot_origin(s, p) order by p.slot_id) as origins
      into v_jobs
      from tenure.planned_slots p
      join tenure.schedules s on s.schedule_id = p.schedule_id
     where p.slot_id = any (p_slot_ids);
    v_new := tenure.enqueue_batch(p_caller, tenure.tuning(p_tenant_id), p_now, v_jobs.kinds, v_jobs.payloads,
      v_jobs.keys, v_jobs.executors, v_jobs.priorities, null, null, v_jobs.source_refs, v_jobs.target_refs,
      v_jobs.payload_refs, v_jobs.classifications, v_jobs.attempts_max, null, null, null, null, null, null,
      null, v_jobs.source_systems, null, null, v_jobs.run_timeouts, v_jobs.backoffs, v_jobs.on_lost,
      p_origins => v_jobs.origins);
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
    perform tenure.slots_told('started', p_now, p_actor, p_slot_ids);
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
           error_code = tenure.refusal_code(v_state),
           error_message = tenure.cut_text(
             v_what || ' ' || v_why, tenure.limit_of('error_message_bytes_max')::integer)
     where p.slot_id = p_slot_ids[1];
    perform tenure.slots_told('skipped', p_now, p_actor, p_slot_ids);
  else
    -- Another transaction has a row of this one locked: postpone it, and go on with the others.
    update tenure.planned_slots p
       set due_at = p_now + make_interval(secs => tenure.limit_of('slot_retry_seconds'))
     where p.slot_id = p_slot_ids[1];
  end if;
  return v_started;
end
$$;
