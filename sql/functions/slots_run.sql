-- What becomes of slots that are due, and of those whose run ends. Who starts, skips or holds back slots holds their schedule (schedules_run.sql); ends of runs hold none.

-- What the job of a slot knows of it: written beside the payload, where no producer writes. A run by hand has
-- its moment to the microsecond.
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

-- In one sentence, for the timeline of a job.
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

create or replace function tenure.pause_words(p_schedule tenure.schedules) returns text
language sql immutable
as $$
  select format('Paused by %s%s.', p_schedule.paused_by, coalesce(': ' || p_schedule.pause_note, ''))
$$;

-- Runs, skips or holds back the slots of these schedules that are due. The caller holds the schedules.
-- A slot filled in waits where another would be skipped, and is not skipped for nor cancelled by one of the rule, which waits for it. With cancel_other only the latest counts. Whoever names a slot means it alone, and who waits before it:
-- what else is due is for the scheduler, which knows how late that is.
create or replace function tenure.slots_fire(p_caller tenure.caller_identity, p_now timestamptz, p_schedule_ids integer[], p_actor text, p_slot_id bigint default null,
  out started integer, out skipped integer, out waiting integer)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_due    record;
  v_other  record;
  v_tenant integer;
begin
  with due as materialized (
    select p.slot_id, s.schedule_id, s.tenant_id, p.plan_time, p.origin, p.waiting_since, s.overlap, s.paused_at is not null and p.origin = 'rule' as is_paused,
           -- Looked up for each: as a question of existence it would read whatever runs anywhere.
           (select true from tenure.planned_slots r where r.schedule_id = s.schedule_id and r.state = 'running' limit 1) is not null as is_busy,
           (select true from tenure.planned_slots r where r.schedule_id = s.schedule_id and r.state = 'running' and r.origin <> 'backfill' limit 1) is null as is_yielding,
           (select count(*) from tenure.planned_slots w where w.schedule_id = s.schedule_id and w.state = 'planned' and w.waiting_since is not null and w.origin <> 'backfill') as held
      from tenure.schedules s
      cross join lateral (
        -- Of those that wait, the first alone can have its turn; unless they may overlap by now.
        (select q.slot_id, q.plan_time, q.origin, q.waiting_since from tenure.planned_slots q
          where q.schedule_id = s.schedule_id and q.state = 'planned' and q.waiting_since is not null and q.due_at <= p_now
          order by q.origin = 'backfill', q.plan_time limit case s.overlap when 'allow' then tenure.limit_of('slots_per_schedule_max') else 1 end)
        union all
        (select q.slot_id, q.plan_time, q.origin, q.waiting_since from tenure.planned_slots q
          where q.schedule_id = s.schedule_id and q.state = 'planned' and q.waiting_since is null and q.due_at <= p_now and (p_slot_id is null or q.slot_id = p_slot_id)
          order by q.due_at limit tenure.limit_of('slots_per_schedule_max'))) p
     where s.schedule_id = any (p_schedule_ids)
  ), ranked as (
    select d.*,
           row_number() over (partition by d.schedule_id, d.is_paused order by d.origin = 'backfill', d.plan_time) as place,
           count(*) filter (where d.origin <> 'backfill') over (partition by d.schedule_id, d.is_paused) as own
      from due d
  ), judged as (
    select r.*,
           case
             when r.is_paused then 'paused'
             when r.overlap = 'allow' then 'run'
             when r.overlap = 'cancel_other' and r.origin <> 'backfill' and r.place < r.own then 'overlap'
             when not r.is_busy and r.place = case when r.overlap = 'cancel_other' then greatest(r.own, 1) else 1 end then 'run'
             when r.origin = 'backfill' then 'wait'
             -- What is filled in is in nobody's way for long: the slot of the rule is next.
             when r.overlap = 'skip' and r.is_busy and r.is_yielding and r.place = 1 then 'wait'
             when r.overlap = 'skip' or r.place - (not r.is_busy)::integer + greatest(r.held - 1, 0) > tenure.limit_of('slots_waiting_max') then 'overlap'
             else 'wait'
           end as verdict
      from ranked r
  )
  select coalesce(array_agg(j.slot_id order by j.slot_id) filter (where j.verdict = 'run'), '{}') as run,
         coalesce(array_agg(j.slot_id) filter (where j.verdict = 'paused'), '{}') as paused,
         coalesce(array_agg(j.slot_id) filter (where j.verdict = 'overlap'), '{}') as overlap,
         coalesce(array_agg(j.slot_id) filter (where j.verdict = 'wait' and j.waiting_since is null), '{}') as wait,
         coalesce(array_agg(j.schedule_id) filter (where j.verdict = 'wait' and j.overlap = 'cancel_other' and j.origin <> 'backfill'), '{}') as cancel,
         coalesce(array_agg(distinct j.tenant_id) filter (where j.verdict = 'run'), '{}') as tenants
    into v_due
    from judged j;

  update tenure.planned_slots p
     set state = 'skipped', skip_reason = case when p.slot_id = any (v_due.paused) then 'paused' else 'overlap' end, ended_at = p_now, waiting_since = null,
         error_message = case
           when p.slot_id = any (v_due.paused) then tenure.pause_words(s)
           else coalesce((select format('Job %s, for %s, was still under way.', r.job_id, r.plan_time) from tenure.planned_slots r
                           where r.schedule_id = p.schedule_id and r.state = 'running' order by r.plan_time limit 1), 'Another slot came before it.') end
    from tenure.schedules s
   where s.schedule_id = p.schedule_id and p.slot_id = any (v_due.paused || v_due.overlap);
  perform tenure.slots_told('skipped', p_now, p_actor, v_due.paused || v_due.overlap);
  update tenure.planned_slots p set waiting_since = p_now where p.slot_id = any (v_due.wait);
  skipped := cardinality(v_due.paused) + cardinality(v_due.overlap);
  waiting := cardinality(v_due.wait);
  started := 0;

  foreach v_tenant in array v_due.tenants loop
    started := started + tenure.slots_start(p_caller, v_tenant, p_now,
      array(select p.slot_id from tenure.planned_slots p where p.slot_id = any (v_due.run) and p.tenant_id = v_tenant order by p.slot_id), p_actor);
  end loop;
  skipped := skipped + (select count(*) from tenure.planned_slots p where p.slot_id = any (v_due.run) and p.state = 'skipped');

  for v_other in
    select p.tenant_id, p.job_id from tenure.planned_slots p where p.schedule_id = any (v_due.cancel) and p.state = 'running' and p.origin <> 'backfill' order by p.job_id
  loop
    perform tenure.slot_give_way(p_caller, p_now, v_other.tenant_id, v_other.job_id, p_actor);
  end loop;
end
$$;

-- Asks the run of a slot to make room for another. Who is in the way of that is not waited for: the next look tries again.
create or replace function tenure.slot_give_way(p_caller tenure.caller_identity, p_now timestamptz, p_tenant_id integer, p_job_id uuid, p_actor text) returns void
language plpgsql
set lock_timeout = '500ms'
as $$
begin
  p_caller.tenant_id := p_tenant_id;
  p_caller.principal := p_actor;
  perform tenure.job_stop(p_caller, p_now, p_job_id, 'Another slot of its schedule is due.', 'cooperative', null);
exception
  -- It has ended meanwhile, or somebody has it in hand: the next look will tell.
  when sqlstate 'TN014' or sqlstate 'TN023' or lock_not_available then null;
end
$$;

-- Makes the jobs of slots of one tenant. If they are refused together, each is asked for itself; one that is refused is skipped with the refusal's code. Answers how many were made.
create or replace function tenure.slots_start(p_caller tenure.caller_identity, p_tenant_id integer, p_now timestamptz, p_slot_ids bigint[], p_actor text) returns integer
language plpgsql
set lock_timeout = '500ms'
as $$
declare
  v_jobs    record;
  v_new     record;
  v_started integer := 0;
  v_vain    integer := 0;
  v_slot    bigint;
  v_state text; v_what text; v_why text; v_next text;
begin
  p_caller.tenant_id := p_tenant_id;
  p_caller.principal := p_actor;
  p_caller.scope := 'tenant';
  begin
    perform tenure.check_gate(p_tenant_id, 'queue.job_substrate.enabled');
    select array_agg(s.kind order by p.slot_id) as kinds, array_agg(s.payload::json order by p.slot_id) as payloads,
           array_agg('slot ' || p.slot_id order by p.slot_id) as keys, array_agg(s.executor order by p.slot_id) as executors, array_agg(s.priority::integer order by p.slot_id) as priorities,
           array_agg(s.source_ref order by p.slot_id) as source_refs, array_agg(s.target_ref order by p.slot_id) as target_refs, array_agg(s.payload_ref order by p.slot_id) as payload_refs,
           array_agg(s.classification order by p.slot_id) as classifications, array_agg(s.attempts_max::integer order by p.slot_id) as attempts_max,
           array_agg('tenure.schedule'::text order by p.slot_id) as source_systems,
           case when bool_or(s.run_timeout_seconds is not null) then array_agg(s.run_timeout_seconds order by p.slot_id) end as run_timeouts,
           array_agg(s.backoff_base_seconds order by p.slot_id) as backoffs, array_agg(case s.reentry when 'refused' then 'fail' end order by p.slot_id) as on_lost,
           array_agg(tenure.slot_origin(s, p) order by p.slot_id) as origins
      into v_jobs
      from tenure.planned_slots p
      join tenure.schedules s on s.schedule_id = p.schedule_id
     where p.slot_id = any (p_slot_ids);
    v_new := tenure.enqueue_batch(p_caller, tenure.tuning(p_tenant_id), p_now, v_jobs.kinds, v_jobs.payloads, v_jobs.keys, v_jobs.executors, v_jobs.priorities, null, null,
      v_jobs.source_refs, v_jobs.target_refs, v_jobs.payload_refs, v_jobs.classifications, v_jobs.attempts_max, null, null, null, null, null, null, null, v_jobs.source_systems, null, null,
      v_jobs.run_timeouts, v_jobs.backoffs, v_jobs.on_lost, p_origins => v_jobs.origins);
    if v_new.unmade <> '{}' then
      perform tenure.refuse('key_taken', 'Another job has the key of the slot.', 'Keys that begin with "slot" and a number are for slots.', 'Cancel that job.');
    end if;
    -- The kind may have got another executor since, and so another lane.
    update tenure.lanes l set planned = true
     where not l.planned and l.lane = any (array(select j.lane from tenure.jobs j where j.job_id = any (v_new.ids)));
    update tenure.planned_slots p
       set state = 'running', job_id = n.job_id, fired_at = p_now, waiting_since = null, updated_at = p_now
      from unnest(array(select x from unnest(p_slot_ids) x order by x), v_new.ids) n (slot_id, job_id)
     where p.slot_id = n.slot_id;
    get diagnostics v_started = row_count;
    perform tenure.slots_told('started', p_now, p_actor, p_slot_ids);
    return v_started;
  exception when others then
    get stacked diagnostics v_state = returned_sqlstate, v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
    if v_state not like 'TN%' and v_state not in ('55P03', '40P01') then
      raise;
    end if;
  end;

  if cardinality(p_slot_ids) > 1 then
    foreach v_slot in array p_slot_ids loop
      -- Where some were in vain, it is no single row that is in the way: the rest comes a little later.
      if v_vain >= 3 then
        update tenure.planned_slots p set due_at = p_now + interval '5 seconds' where p.slot_id = any (p_slot_ids) and p.state = 'planned' and p.due_at <= p_now;
        exit;
      end if;
      v_started := v_started + tenure.slots_start(p_caller, p_tenant_id, p_now, array[v_slot], p_actor);
      if exists (select from tenure.planned_slots p where p.slot_id = v_slot and p.due_at > p_now) then
        v_vain := v_vain + 1;
      end if;
    end loop;
  elsif v_state like 'TN%' then
    update tenure.planned_slots p
       set state = 'skipped', skip_reason = 'refused', ended_at = p_now, waiting_since = null, error_code = tenure.refusal(v_state, v_what, v_why, v_next) ->> 'code',
           error_message = tenure.cut_text(v_what || ' ' || v_why, tenure.limit_of('error_message_bytes_max')::integer)
     where p.slot_id = p_slot_ids[1];
    perform tenure.slots_told('skipped', p_now, p_actor, p_slot_ids);
  else
    -- Somebody is in the way of this one: it comes a little later, and the others go on.
    update tenure.planned_slots p set due_at = p_now + interval '5 seconds' where p.slot_id = p_slot_ids[1];
  end if;
  return v_started;
end
$$;

-- Tells what became of slots: an event each.
create or replace function tenure.slots_told(p_what text, p_now timestamptz, p_actor text, p_slot_ids bigint[]) returns void
language sql
as $$
  insert into tenure.events (at, tenant_id, kind, actor, subject, data)
  select p_now, p.tenant_id, 'schedule.slot_' || p_what, p_actor, s.name,
         jsonb_strip_nulls(jsonb_build_object('plan_time', p.plan_time, 'origin', p.origin, 'scope_kind', p.scope_kind, 'scope_id', p.scope_id, 'job_id', p.job_id, 'reason', p.skip_reason,
           'missed', p.missed, 'missed_until', p.missed_until, 'error_code', p.error_code, 'duration_ms', p.duration_ms))
    from tenure.planned_slots p
    join tenure.schedules s on s.schedule_id = p.schedule_id
   where p.slot_id = any (p_slot_ids)
   order by p.slot_id
$$;

-- Writes the end of jobs to their slots, in the transaction of the end. Jobs that are not over, or belong to no slot, are passed over. Whoever ends jobs calls it where lanes.planned says so.
create or replace function tenure.slots_end(p_now timestamptz, p_actor text, p_job_ids uuid[]) returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_ended bigint[];
begin
  with over as (
    update tenure.planned_slots p
       set state = case a.state when 'succeeded' then 'succeeded' when 'cancelled' then 'cancelled' else 'failed' end,
           attempts = a.attempt, worker = a.owner, started_at = b.started_at, ended_at = a.ended_at,
           duration_ms = floor(extract(epoch from a.ended_at - b.started_at) * 1000)::bigint,
           rows_affected = case when jsonb_typeof(a.result -> 'rows_affected') = 'number' and (a.result ->> 'rows_affected') ~ '^[0-9]{1,18}$' then (a.result ->> 'rows_affected')::bigint end,
           result = a.result, result_ref = a.result_ref,
           error_code = coalesce(a.error_code, case when a.state = 'cancelled' then 'cancelled' when a.state <> 'succeeded' then a.outcome end),
           error_message = coalesce(a.error_message, a.reason),
           -- Asked of the rule of the schedule, not of who waits: who begins to wait just now cannot be seen from here.
           owes_next = s.deleted_at is null and (s.overlap in ('queue', 'cancel_other') or p.origin = 'backfill'
             or exists (select from tenure.planned_slots w where w.schedule_id = p.schedule_id and w.state = 'planned' and w.origin = 'backfill'))
      from tenure.schedules s,
           tenure.attempts a
      cross join lateral (select min(x.started_at) as started_at from tenure.attempts x where x.job_id = a.job_id) b
     where p.job_id = any (p_job_ids) and p.state = 'running' and a.job_id = p.job_id and a.final and s.schedule_id = p.schedule_id
    returning p.slot_id
  )
  select array_agg(o.slot_id) into v_ended from over o;
  if v_ended is not null then
    perform tenure.slots_told(o.state, p_now, p_actor, array_agg(o.slot_id)) from tenure.planned_slots o where o.slot_id = any (v_ended) group by o.state;
  end if;
end
$$;

-- A job that an operator retries, or another that replays it, runs for its slot once more.
create or replace function tenure.slot_reopen(p_job_id uuid, p_by_job_id uuid) returns void
language plpgsql
as $$
begin
  update tenure.planned_slots p
     set state = 'running', job_id = p_by_job_id, ended_at = null, duration_ms = null, rows_affected = null, result = null, result_ref = null, error_code = null, error_message = null,
         owes_next = false
   where p.job_id = p_job_id and p.state = 'failed';
  if found then
    update tenure.lanes l set planned = true where not l.planned and l.lane = (select j.lane from tenure.jobs j where j.job_id = p_by_job_id);
  end if;
end
$$;
