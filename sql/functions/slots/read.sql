-- Reading slots: those of a schedule, newest first, or the one of a moment.

-- A slot in the form that readers get. The state of a run in progress is read from its job.
create or replace function tenure.slot_shown(p_slot tenure.planned_slots) returns tenure.slot_row
language plpgsql stable
as $$
declare
  v_row  tenure.slot_row;
  v_last record;
  v_held record;
begin
  v_row := (p_slot.plan_time, p_slot.state, p_slot.skip_reason, p_slot.origin, p_slot.scope_kind,
    p_slot.scope_id, p_slot.expression, p_slot.zone, p_slot.due_at, p_slot.waiting_since, p_slot.missed,
    p_slot.missed_until, p_slot.job_id, null, p_slot.attempts, null, p_slot.worker, p_slot.fired_at,
    p_slot.started_at, p_slot.ended_at, p_slot.duration_ms, p_slot.rows_affected, p_slot.result,
    p_slot.result_ref, p_slot.error_code, p_slot.error_message, p_slot.planned_at,
    p_slot.planned_by)::tenure.slot_row;
  if p_slot.state = 'running' then
    select min(a.started_at) as started_at,
           (array_agg(a.attempt order by a.run desc))[1] as attempt,
           (array_agg(a.next_due order by a.run desc))[1] as next_due,
           (array_agg(a.owner order by a.run desc))[1] as owner,
           (array_agg(a.state order by a.run desc))[1] as state,
           (array_agg(a.error_code order by a.run desc))[1] as error_code,
           (array_agg(a.error_message order by a.run desc))[1] as error_message
      into v_last
      from tenure.attempts a
     where a.job_id = p_slot.job_id;
    select a.started_at, a.attempt, l.owner into v_held
      from tenure.active a
      left join tenure.leases l on l.token = a.token and l.lane = a.lane
     where a.job_id = p_slot.job_id;
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

-- The slots of a schedule, newest first, all or those in one of the states p_state, one page at a time:
-- p_before is the plan time that the previous page ended with.
-- granted to: all
create or replace function tenure.schedule_slots(
  p_name text, p_state text[] default null, p_from timestamptz default null,
  p_until timestamptz default null, p_limit integer default 100, p_before timestamptz default null)
returns setof tenure.slot_row
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
-- pinned order: see sql/README.md
set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant   integer := tenure.current_tenant();
  v_schedule integer;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_filter('state', p_state,
      array['planned', 'running', 'succeeded', 'failed', 'cancelled', 'skipped']);
  end if;
  if p_until < p_from then
    perform tenure.refuse('range_invalid',
      format('The range ends at %s and begins at %s.', p_until, p_from),
      'It ends after it begins.', 'Give a later end.');
  end if;
  -- A deleted schedule can still be read, as long as its slots are kept and no other schedule has its name.
  select s.schedule_id into v_schedule
    from tenure.schedules s
   where s.tenant_id = v_tenant and s.name = p_name
   order by s.deleted_at desc nulls first
   limit 1;
  if not found then
    perform tenure.refuse_schedule(v_tenant, p_name);
  end if;
  return query
    select x.*
      from (select q as slot
              from tenure.planned_slots q
             where q.tenant_id = v_tenant and q.schedule_id = v_schedule
               and (p_state is null or q.state = any (p_state))
               and q.plan_time >= coalesce(p_from, '-infinity')
               and q.plan_time <= coalesce(p_until, 'infinity')
               and q.plan_time < coalesce(p_before, 'infinity')
             -- Two slots of one plan time (the scope was changed) come on one page.
             order by q.plan_time desc
             fetch first p_limit rows with ties) p
      cross join lateral tenure.slot_shown(p.slot) x
     order by x.plan_time desc;
end
$$;

-- The slot that stands for a moment: the one with this plan time, or one that stands for it among those that
-- no scheduler saw in time, or the last run by hand within the second that begins then. At most one row.
-- granted to: all
create or replace function tenure.schedule_at(p_name text, p_at timestamptz) returns setof tenure.slot_row
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant   integer := tenure.current_tenant();
  v_schedule integer;
begin
  if p_at is null or not isfinite(p_at) then
    perform tenure.refuse('text_invalid', 'No moment was named.', 'A slot stands for a moment.',
      'Give one such as 2026-01-02T03:04:05Z.');
  end if;
  -- A deleted schedule can still be read, as long as its slots are kept and no other schedule has its name.
  select s.schedule_id into v_schedule
    from tenure.schedules s
   where s.tenant_id = v_tenant and s.name = p_name
   order by s.deleted_at desc nulls first
   limit 1;
  if not found then
    perform tenure.refuse_schedule(v_tenant, p_name);
  end if;
  return query
    select x.*
      from (select q as slot, 1 as place, q.slot_id
              from tenure.planned_slots q
             where q.tenant_id = v_tenant and q.schedule_id = v_schedule and q.plan_time = p_at
            union all
            (select q, 2, q.slot_id
               from tenure.planned_slots q
              where q.schedule_id = v_schedule and q.missed is not null
                and q.plan_time <= p_at and q.missed_until >= p_at
              order by q.plan_time desc
              limit 1)
            union all
            (select q, 3, q.slot_id
               from tenure.planned_slots q
              where q.tenant_id = v_tenant and q.schedule_id = v_schedule and q.origin = 'manual'
                and q.plan_time > p_at and q.plan_time < p_at + interval '1 second'
              order by q.plan_time desc
              limit 1)
            order by place, slot_id desc
            limit 1) p
      cross join lateral tenure.slot_shown(p.slot) x;
end
$$;
