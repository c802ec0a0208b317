-- Creating and changing schedules.

-- The schedule of this name, locked against planning and starting its slots. Refuses an unknown name.
create or replace function tenure.schedule_locked(p_tenant_id integer, p_name text)
returns tenure.schedules
language plpgsql
as $$
declare
  v_found tenure.schedules;
begin
  select s.* into v_found
    from tenure.schedules s
   where s.tenant_id = p_tenant_id and s.name = p_name and s.deleted_at is null
     for no key update;
  if not found then
    perform tenure.refuse_schedule(p_tenant_id, p_name);
  end if;
  return v_found;
end
$$;

-- Refuses an unknown schedule and names the three nearest.
create or replace function tenure.refuse_schedule(p_tenant_id integer, p_name text) returns void
language sql
as $$
  select tenure.refuse('schedule_unknown', format('There is no schedule %L.', p_name),
    format('A schedule is named by its name, within one tenant. The nearest are: %s.', coalesce((
      select string_agg(n.name, ', ')
        from (select s.name
                from tenure.schedules s
               where s.tenant_id = p_tenant_id and s.deleted_at is null
               order by tenure.word_distance(s.name, p_name), s.name
               limit 3) n), 'none')),
    'See tenure.schedule_list().')
$$;

create or replace function tenure.refuse_schedule_exists(p_name text) returns void
language sql
as $$
  select tenure.refuse('schedule_exists', format('There is already a schedule %L.', p_name),
    'Names of schedules are unique within a tenant.', 'Update it, delete it, or choose another name.')
$$;

-- Inserts a schedule. Answers false when another transaction has created one of this name and committed.
create or replace function tenure.schedule_insert(
  p_caller tenure.caller_identity, p_now timestamptz, p_name text, p_new tenure.schedules) returns boolean
language plpgsql
as $$
begin
  insert into tenure.schedules (
    tenant_id, name, cron, every_seconds, zone, jitter_seconds, start_at, end_at, scope_kind, scope_id, kind,
    executor, priority, payload, classification, source_ref, target_ref, payload_ref, overlap, catch_up,
    catch_up_window_seconds, catch_up_slots_max, run_timeout_seconds, attempts_max, backoff_base_seconds,
    reentry, description,
    plan_from, next_at, created_at, created_by, updated_at, updated_by)
  values (
    p_caller.tenant_id, p_name, p_new.cron, p_new.every_seconds, p_new.zone, p_new.jitter_seconds,
    p_new.start_at, p_new.end_at, p_new.scope_kind, p_new.scope_id, p_new.kind, p_new.executor,
    p_new.priority, p_new.payload, p_new.classification, p_new.source_ref, p_new.target_ref,
    p_new.payload_ref, p_new.overlap, p_new.catch_up, p_new.catch_up_window_seconds,
    p_new.catch_up_slots_max, p_new.run_timeout_seconds,
    p_new.attempts_max, p_new.backoff_base_seconds, p_new.reentry, p_new.description,
    p_now, p_now, p_now, p_caller.principal, p_now, p_caller.principal)
  on conflict (tenant_id, name) where deleted_at is null do nothing;
  return found;
end
$$;

-- Creates, changes or declares a schedule. Every change of a specification goes through here.
-- p_mode: create; update (fields left out keep their values); put (fields left out get their defaults).
create or replace function tenure.schedule_write(
  p_name text, p_spec jsonb, p_mode text, p_on_behalf_of text) returns jsonb
language plpgsql
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_old    tenure.schedules;
  v_blank  tenure.schedules;
  v_new    tenure.schedules;
  v_stands boolean;
  v_replan boolean;
  v_anew   boolean;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_name('schedule', p_name);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  -- Of several transactions that declare a new schedule at the same time one creates it; the others wait for
  -- it to commit, and then find it.
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    select s.* into v_old
      from tenure.schedules s
     where s.tenant_id = v_caller.tenant_id and s.name = p_name and s.deleted_at is null
       for no key update;
    v_stands := found;
    if not v_stands and p_mode = 'update' then
      perform tenure.refuse_schedule(v_caller.tenant_id, p_name);
    elsif v_stands and p_mode = 'create' then
      perform tenure.refuse_schedule_exists(p_name);
    end if;
    v_new := tenure.schedule_read(
      v_caller, case when p_mode = 'update' then v_old else v_blank end, p_spec);
    exit when v_stands;
    if tenure.schedule_insert(v_caller, v_now, p_name, v_new) then
      perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.created', v_caller.principal, p_on_behalf_of,
        p_name, tenure.schedule_event_data(v_new));
      return tenure.schedule_answer(v_caller.tenant_id, p_name) || jsonb_build_object('outcome', 'created');
    end if;
  end loop;
  if not v_stands then
    perform tenure.refuse('busy_try_again', format('The schedule %L kept being made and deleted.', p_name),
      'Others declare it and delete it at the same time.', 'Try again.');
  end if;

  if v_old.classification = 'restricted' and v_new.classification <> 'restricted'
     and p_mode = 'update' and not p_spec ? 'payload'
     and not tenure.may_see('restricted') then
    perform tenure.refuse('not_permitted',
      format('%s may not make the payload of the schedule %L readable.', v_caller.principal, p_name),
      'It is restricted, and whoever may not see it cannot show it to others.',
      'Give another payload with it, or ask somebody with the right to see it.');
  end if;
  if tenure.schedule_event_data(v_new) || jsonb_build_object('payload', v_new.payload)
     = tenure.schedule_event_data(v_old) || jsonb_build_object('payload', v_old.payload) then
    return tenure.schedule_answer(v_caller.tenant_id, p_name) || jsonb_build_object('outcome', 'unchanged');
  end if;
  v_anew := (v_new.cron, v_new.every_seconds, v_new.zone, v_new.start_at)
    is distinct from (v_old.cron, v_old.every_seconds, v_old.zone, v_old.start_at);
  v_replan := v_anew
    or (v_new.jitter_seconds, v_new.end_at, v_new.scope_kind, v_new.scope_id)
      is distinct from (v_old.jitter_seconds, v_old.end_at, v_old.scope_kind, v_old.scope_id);
  -- If the plan times stay the same, slots still to be caught up are kept.
  v_anew := v_anew or (v_replan and v_old.planned_to > v_now);
  if v_replan then
    -- Slots planned by the old rule are given up. Those that were due before, or wait for another run, stay.
    perform tenure.slots_supersede(v_old.schedule_id, v_now, v_caller.principal, 'The rule was changed.');
  end if;
  update tenure.schedules s
     set cron = v_new.cron,
         every_seconds = v_new.every_seconds,
         zone = v_new.zone,
         jitter_seconds = v_new.jitter_seconds,
         start_at = v_new.start_at,
         end_at = v_new.end_at,
         scope_kind = v_new.scope_kind,
         scope_id = v_new.scope_id,
         kind = v_new.kind,
         executor = v_new.executor,
         priority = v_new.priority,
         payload = v_new.payload,
         classification = v_new.classification,
         source_ref = v_new.source_ref,
         target_ref = v_new.target_ref,
         payload_ref = v_new.payload_ref,
         overlap = v_new.overlap,
         catch_up = v_new.catch_up,
         catch_up_window_seconds = v_new.catch_up_window_seconds,
         catch_up_slots_max = v_new.catch_up_slots_max,
         run_timeout_seconds = v_new.run_timeout_seconds,
         attempts_max = v_new.attempts_max,
         backoff_base_seconds = v_new.backoff_base_seconds,
         reentry = v_new.reentry,
         description = v_new.description,
         plan_from = case when v_anew then v_now else s.plan_from end,
         planned_to = case when v_anew then null else s.planned_to end,
         next_at = case when v_replan or s.ended_at is null then v_now else s.next_at end,
         ended_at = case when not v_replan then s.ended_at end,
         error_code = null,
         error_message = null,
         updated_at = v_now,
         updated_by = v_caller.principal
   where s.schedule_id = v_old.schedule_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.updated', v_caller.principal, p_on_behalf_of,
    p_name,
    jsonb_build_object(
      'before', tenure.schedule_event_data(v_old),
      'after', tenure.schedule_event_data(v_new)));
  return tenure.schedule_answer(v_caller.tenant_id, p_name) || jsonb_build_object('outcome', 'updated');
end
$$;

-- The fields of a schedule that events show: its specification without the payload.
create or replace function tenure.schedule_event_data(p_schedule tenure.schedules) returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(to_jsonb(p_schedule)
    - array['schedule_id', 'tenant_id', 'name', 'payload', 'plan_from', 'planned_to', 'next_at', 'ended_at',
        'paused_at', 'paused_by', 'pause_note', 'error_code', 'error_message', 'created_at', 'created_by',
        'updated_at', 'updated_by', 'deleted_at'])
$$;

-- Creates a schedule. Refuses a name that is taken.
-- granted to: admin, operator
create or replace function tenure.schedule_create(
  p_name text, p_spec jsonb, p_on_behalf_of text default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.schedule_write(p_name, p_spec, 'create', p_on_behalf_of) $$;

-- Changes a schedule. Fields left out keep their values; a field set to null gets its default.
-- granted to: admin, operator
create or replace function tenure.schedule_update(
  p_name text, p_changes jsonb, p_on_behalf_of text default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.schedule_write(p_name, p_changes, 'update', p_on_behalf_of) $$;

-- For schedules that a program declares when it starts: creates the schedule, makes it equal to p_spec, or
-- leaves it unchanged. A pause stays.
-- granted to: admin, operator
create or replace function tenure.schedule_put(
  p_name text, p_spec jsonb, p_on_behalf_of text default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.schedule_write(p_name, p_spec, 'put', p_on_behalf_of) $$;
