-- Slots as they are read, asked for by hand, filled in and removed.

-- Schedules as they are shown, by name: one, or a page of them.
create or replace function tenure.schedule_rows(p_tenant_id integer, p_name text, p_limit integer, p_after text) returns setof tenure.schedule_row
language sql stable
as $$
  select s.name,
         case when s.error_code is not null then 'failing' when s.paused_at is not null then 'paused' when s.ended_at is not null then 'ended' else 'active' end,
         s.cron, s.every_seconds, s.zone, s.jitter_seconds, s.start_at, s.end_at, s.scope_kind, s.scope_id, s.kind, s.executor, s.priority,
         case when tenure.may_see(s.classification) then s.payload end, s.classification, s.source_ref, s.target_ref, s.payload_ref, s.overlap, s.catch_up, s.catch_up_window_seconds,
         s.catch_up_slots_max, s.run_timeout_seconds, s.attempts_max::integer, s.backoff_base_seconds, s.reentry, s.description,
         n.plan_time, n.due_at, l.plan_time, l.state, coalesce(l.skip_reason, l.error_code), g.plan_time, g.ended_at,
         (select count(*) from tenure.planned_slots r where r.schedule_id = s.schedule_id and r.state = 'running'),
         (select count(*) from tenure.planned_slots w where w.schedule_id = s.schedule_id and w.state = 'planned' and w.waiting_since is not null),
         s.planned_to, s.plan_from, s.paused_at, s.paused_by, s.pause_note, s.error_code, s.error_message, s.created_at, s.created_by, s.updated_at, s.updated_by
    from (select q.* from tenure.schedules q
           where q.tenant_id = p_tenant_id and q.deleted_at is null and (p_name is null or q.name = p_name) and (p_after is null or q.name > p_after)
           order by q.name limit p_limit) s
    left join lateral (select p.plan_time, p.due_at from tenure.planned_slots p
                        where p.schedule_id = s.schedule_id and p.state = 'planned' and p.waiting_since is null and p.origin = 'rule' order by p.due_at limit 1) n on true
    left join lateral (select p.plan_time, p.state, p.skip_reason, p.error_code from tenure.planned_slots p
                        where p.tenant_id = s.tenant_id and p.schedule_id = s.schedule_id and p.state <> 'planned' order by p.plan_time desc limit 1) l on true
    left join lateral (select p.plan_time, p.ended_at from tenure.planned_slots p
                        where p.schedule_id = s.schedule_id and p.state = 'succeeded' order by p.plan_time desc limit 1) g on true
   order by s.name
$$;

-- A schedule as the functions that change it answer.
create or replace function tenure.schedule_answer(p_tenant_id integer, p_name text) returns jsonb
language sql volatile
as $$
  select to_jsonb(r) from tenure.schedule_rows(p_tenant_id, p_name, 1, null) r
$$;

create or replace function tenure.schedule_list(p_limit integer default 100, p_after text default null) returns setof tenure.schedule_row
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  return query select r.* from tenure.schedule_rows(v_tenant, null, p_limit, p_after) r;
end
$$;

create or replace function tenure.schedule_show(p_name text) returns setof tenure.schedule_row
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  return query select r.* from tenure.schedule_rows(v_tenant, p_name, 1, null) r;
  if not found then
    perform tenure.refuse_schedule(v_tenant, p_name);
  end if;
end
$$;

-- A slot as it is shown: what runs is looked up in its job.
create or replace function tenure.slot_shown(p_slot tenure.planned_slots) returns tenure.slot_row
language plpgsql stable
as $$
declare
  v_row  tenure.slot_row;
  v_last record;
  v_held record;
begin
  v_row := (p_slot.plan_time, p_slot.state, p_slot.skip_reason, p_slot.origin, p_slot.scope_kind, p_slot.scope_id, p_slot.expression, p_slot.zone, p_slot.due_at, p_slot.waiting_since,
    p_slot.missed, p_slot.missed_until, p_slot.job_id, null, p_slot.attempts, null, p_slot.worker, p_slot.fired_at, p_slot.started_at, p_slot.ended_at, p_slot.duration_ms,
    p_slot.rows_affected, p_slot.result, p_slot.result_ref, p_slot.error_code, p_slot.error_message, p_slot.planned_at, p_slot.planned_by)::tenure.slot_row;
  if p_slot.state = 'running' then
    select min(a.started_at) as started_at, (array_agg(a.attempt order by a.run desc))[1] as attempt, (array_agg(a.next_due order by a.run desc))[1] as next_due,
           (array_agg(a.owner order by a.run desc))[1] as owner, (array_agg(a.state order by a.run desc))[1] as state,
           (array_agg(a.error_code order by a.run desc))[1] as error_code, (array_agg(a.error_message order by a.run desc))[1] as error_message
      into v_last from tenure.attempts a where a.job_id = p_slot.job_id;
    select a.started_at, a.attempt, l.owner into v_held from tenure.active a left join tenure.leases l on l.token = a.token and l.lane = a.lane where a.job_id = p_slot.job_id;
    if found then
      v_row.job_state := case when v_held.started_at is null then 'leased' else 'in_progress' end;
    else
      v_row.job_state := coalesce(v_last.state, 'queued');
      v_row.next_retry_at := v_last.next_due;
    end if;
    v_row.attempts := coalesce(v_held.attempt, v_last.attempt, 0);
    v_row.worker := coalesce(v_held.owner, v_last.owner);
    v_row.started_at := coalesce(v_last.started_at, v_held.started_at);
    v_row.error_code := v_last.error_code;
    v_row.error_message := v_last.error_message;
  elsif p_slot.state in ('planned', 'skipped') then
    v_row.attempts := null;
  end if;
  return v_row;
end
$$;

-- The slots of a schedule, newest first, a page at a time: p_before is the plan time that the page before ended with.
create or replace function tenure.schedule_slots(
  p_name text, p_state text default null, p_from timestamptz default null, p_until timestamptz default null, p_limit integer default 100, p_before timestamptz default null)
returns setof tenure.slot_row
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant   integer := tenure.current_tenant();
  v_schedule integer;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_word('value_unknown', 'state', p_state, array['planned', 'running', 'succeeded', 'failed', 'cancelled', 'skipped']);
  end if;
  if p_until < p_from then
    perform tenure.refuse('range_invalid', format('The range ends at %s and begins at %s.', p_until, p_from), 'It ends after it begins.', 'Give a later end.');
  end if;
  -- What was deleted can still be asked about, as long as its slots are there and no other has its name.
  select s.schedule_id into v_schedule from tenure.schedules s where s.tenant_id = v_tenant and s.name = p_name order by s.deleted_at desc nulls first limit 1;
  if not found then
    perform tenure.refuse_schedule(v_tenant, p_name);
  end if;
  return query
    select x.*
      from (select q as slot from tenure.planned_slots q
             where q.tenant_id = v_tenant and q.schedule_id = v_schedule and (p_state is null or q.state = p_state) and q.plan_time >= coalesce(p_from, '-infinity')
               and q.plan_time <= coalesce(p_until, 'infinity') and q.plan_time < coalesce(p_before, 'infinity')
             -- Two of one moment (the scope was changed) come on one page.
             order by q.plan_time desc fetch first p_limit rows with ties) p
      cross join lateral tenure.slot_shown(p.slot) x
     order by x.plan_time desc;
end
$$;

-- The slot that stands for a moment: that of the moment itself, or one that stands for it among those that no
-- scheduler saw in time, or the last run by hand within the second that begins then. At most one row.
create or replace function tenure.schedule_at(p_name text, p_at timestamptz) returns setof tenure.slot_row
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant   integer := tenure.current_tenant();
  v_schedule integer;
begin
  if p_at is null or not isfinite(p_at) then
    perform tenure.refuse('text_invalid', 'No moment was named.', 'A slot stands for a moment.', 'Give one such as 2026-01-02T03:04:05Z.');
  end if;
  -- What was deleted can still be asked about, as long as its slots are there and no other has its name.
  select s.schedule_id into v_schedule from tenure.schedules s where s.tenant_id = v_tenant and s.name = p_name order by s.deleted_at desc nulls first limit 1;
  if not found then
    perform tenure.refuse_schedule(v_tenant, p_name);
  end if;
  return query
    select x.*
      from (select q as slot, 1 as place, q.slot_id from tenure.planned_slots q where q.tenant_id = v_tenant and q.schedule_id = v_schedule and q.plan_time = p_at
            union all
            (select q, 2, q.slot_id from tenure.planned_slots q where q.schedule_id = v_schedule and q.missed is not null and q.plan_time <= p_at and q.missed_until >= p_at
              order by q.plan_time desc limit 1)
            union all
            (select q, 3, q.slot_id from tenure.planned_slots q
              where q.tenant_id = v_tenant and q.schedule_id = v_schedule and q.origin = 'manual'
                and q.plan_time > p_at and q.plan_time < p_at + interval '1 second'
              order by q.plan_time desc limit 1)
            order by place, slot_id desc limit 1) p
      cross join lateral tenure.slot_shown(p.slot) x;
end
$$;

-- The moment that a run by hand stands for: now, or one of the next microseconds where runs by hand have
-- taken this one. Never a whole second: those belong to the rule. The caller holds the schedule.
create or replace function tenure.slot_moment(p_schedule tenure.schedules, p_now timestamptz)
returns timestamptz
language sql stable
as $$
  select case when m.at = date_trunc('second', m.at) then m.at + interval '1 microsecond' else m.at end
    from (select coalesce(max(p.plan_time) + interval '1 microsecond', p_now) as at
            from tenure.planned_slots p
           where p.schedule_id = p_schedule.schedule_id and p.origin = 'manual'
             and p.plan_time >= p_now and p.plan_time < p_now + interval '1 second') m
$$;

-- Runs a schedule now, paused or not: a slot of its own, which stands for this moment and takes none of the
-- rule's. The overlap policy decides whether it runs, waits or is skipped.
create or replace function tenure.schedule_run(p_name text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz := tenure.now();
  v_schedule tenure.schedules;
  v_moment   timestamptz;
  v_slot     bigint;
  v_lane     integer;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  v_lane := tenure.lane_ensure(v_caller, v_schedule.kind, v_schedule.executor);
  perform tenure.check_enqueue_rights(v_caller, array[v_lane]);
  v_moment := tenure.slot_moment(v_schedule, v_now);
  v_slot := tenure.slot_plan(v_schedule, v_now, v_moment, v_now, 'manual', v_caller.principal);
  if v_slot is null then
    -- Only after the clock was put back.
    perform tenure.refuse('busy_try_again',
      format('The schedule %L has a run by hand at %s already.', p_name, v_moment),
      'Each run by hand stands for a moment of its own.', 'Try again.');
  end if;
  perform tenure.slots_fire(v_caller, v_now, array[v_schedule.schedule_id], v_caller.principal, v_slot);
  -- If it could not start at once, the scheduler has to come for it.
  update tenure.schedules s set next_at = least(s.next_at, case when p.waiting_since is null then p.due_at else v_now + interval '30 seconds' end)
    from tenure.planned_slots p
   where s.schedule_id = v_schedule.schedule_id and p.slot_id = v_slot and p.state = 'planned';
  perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.run_asked', v_caller.principal, p_on_behalf_of,
    p_name, jsonb_build_object('plan_time', v_moment));
  return (select to_jsonb(tenure.slot_shown(p)) || jsonb_build_object('schedule', p_name) from tenure.planned_slots p where p.slot_id = v_slot);
end
$$;

-- Runs slots of the past that nobody ran: those without a row, and those that were skipped. Dry run first: p_mode 'apply' does it. The n-th starts n times p_stagger_seconds from now,
-- and one after the other where the schedule's runs may not overlap.
create or replace function tenure.schedule_backfill(
  p_name text, p_times timestamptz[], p_mode text default 'dry_run', p_stagger_seconds integer default 0, p_on_behalf_of text default null)
returns table (plan_time timestamptz, verdict text, state text, due_at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz := tenure.now();
  v_schedule tenure.schedules;
  v_lane     integer;
  v_count    integer;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['dry_run', 'apply']);
  perform tenure.check_number('The stagger', p_stagger_seconds, 0, tenure.limit_of('jitter_seconds_max'));
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  if coalesce(cardinality(p_times), 0) not between 1 and tenure.limit_of('backfill_slots_max') then
    perform tenure.refuse('backfill_too_large', format('The backfill has %s slots.', coalesce(cardinality(p_times), 0)),
      format('It has 1 to %s (backfill_slots_max).', tenure.limit_of('backfill_slots_max')), 'Take it in parts.');
  end if;
  if exists (select from unnest(p_times) t (at) where t.at is null or not isfinite(t.at) or t.at > v_now or extract(epoch from t.at) <> trunc(extract(epoch from t.at))) then
    perform tenure.refuse('range_invalid', 'A moment of the backfill lies in the future, or is no whole second.', 'Slots of the past are filled in; what comes is planned anyway.',
      'Name the moments of slots in the past.');
  end if;
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  v_lane := tenure.lane_ensure(v_caller, v_schedule.kind, v_schedule.executor);
  perform tenure.check_enqueue_rights(v_caller, array[v_lane]);
  return query
    with asked as (
      select t.at, p.slot_id, p.state, p.due_at, p.slot_id is null or p.state = 'skipped' as is_free
        from (select distinct t.at from unnest(p_times) t (at)) t
        left join tenure.planned_slots p on p.tenant_id = v_schedule.tenant_id and p.schedule_id = v_schedule.schedule_id and p.plan_time = t.at
         and p.scope_kind = v_schedule.scope_kind and p.scope_id = v_schedule.scope_id
    ), placed as materialized (
      select a.at, a.is_free, a.state, case when a.is_free then v_now + make_interval(secs => p_stagger_seconds * (row_number() over (partition by a.is_free order by a.at) - 1)) else a.due_at end as due_at
        from asked a
    ), made as materialized (
      select p.at, tenure.slot_plan(v_schedule, v_now, p.at, p.due_at, 'backfill', v_caller.principal) as slot_id from placed p where p_mode = 'apply' and p.is_free
    )
    select p.at, case when p.is_free then 'runs' else 'stands' end, case when m.slot_id is not null then 'planned' else p.state end, p.due_at
      from placed p left join made m on m.at = p.at
     order by p.at;
  if p_mode = 'apply' then
    update tenure.schedules s set next_at = least(s.next_at, v_now) where s.schedule_id = v_schedule.schedule_id;
    select count(*) into v_count from tenure.planned_slots p where p.schedule_id = v_schedule.schedule_id and p.planned_at = v_now and p.origin = 'backfill';
    perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.backfilled', v_caller.principal, p_on_behalf_of, p_name,
      jsonb_build_object('slots', v_count, 'from', (select min(t) from unnest(p_times) t), 'until', (select max(t) from unnest(p_times) t)));
  end if;
end
$$;

-- Removes slots past their retention, at most p_limit a call, and schedules that were deleted and of which none is left. What is planned or runs stays, however old.
create or replace function tenure.slot_sweep(p_limit integer default 1000) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_removed integer;
begin
  perform tenure.check_number('The limit', p_limit, 1, 10000);
  with tenants as materialized (
    select t.tenant_id, v_now - make_interval(days => tenure.setting_integer(t.tenant_id, 'retention.slots_succeeded_days')) as well_before,
           v_now - make_interval(days => tenure.setting_integer(t.tenant_id, 'retention.slots_failed_days')) as badly_before
      from tenure.tenants t where t.tenant_id = any (tenure.open_tenants(v_caller))
  ), old as (
    select q.slot_id from tenants t
      cross join lateral (select q.slot_id from tenure.planned_slots q
                           where q.tenant_id = t.tenant_id and q.ended_at < t.well_before and q.state in ('succeeded', 'skipped') order by q.ended_at limit p_limit) q
    union all
    select q.slot_id from tenants t
      cross join lateral (select q.slot_id from tenure.planned_slots q
                           where q.tenant_id = t.tenant_id and q.ended_at < t.badly_before and q.state in ('failed', 'cancelled') order by q.ended_at limit p_limit) q
    limit p_limit
  )
  -- Asked again under the lock: somebody may have filled it in, or retried its job, meanwhile.
  delete from tenure.planned_slots p where p.slot_id = any (array(select o.slot_id from old o)) and p.state not in ('planned', 'running');
  get diagnostics v_removed = row_count;
  if v_removed < p_limit then
    delete from tenure.schedules s
     where s.deleted_at is not null and s.tenant_id = any (tenure.open_tenants(v_caller)) and not exists (select from tenure.planned_slots p where p.schedule_id = s.schedule_id);
  end if;
  return v_removed;
end
$$;
