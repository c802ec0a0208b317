-- Schedules: made, changed, paused and ended. What becomes of their slots is in schedules_run.sql.

-- The schedule of this name, locked against whoever plans or starts slots of it. Refuses when there is none.
create or replace function tenure.schedule_locked(p_tenant_id integer, p_name text) returns tenure.schedules
language plpgsql
as $$
declare
  v_found tenure.schedules;
begin
  select s.* into v_found from tenure.schedules s where s.tenant_id = p_tenant_id and s.name = p_name and s.deleted_at is null for no key update;
  if not found then
    perform tenure.refuse_schedule(p_tenant_id, p_name);
  end if;
  return v_found;
end
$$;

create or replace function tenure.refuse_schedule(p_tenant_id integer, p_name text) returns void
language sql
as $$
  select tenure.refuse('schedule_unknown', format('There is no schedule %L.', p_name),
    format('A schedule is named by its name, within one tenant. The nearest are: %s.', coalesce((
      select string_agg(n.name, ', ')
        from (select s.name from tenure.schedules s where s.tenant_id = p_tenant_id and s.deleted_at is null order by tenure.word_distance(s.name, p_name), s.name limit 3) n), 'none')),
    'See tenure.schedule_list().')
$$;

-- The rule of a schedule as its slots keep it.
create or replace function tenure.schedule_rule(p_schedule tenure.schedules) returns text
language sql immutable
as $$
  select coalesce(p_schedule.cron, 'every ' || p_schedule.every_seconds)
$$;

-- Reads a specification over what stands, and refuses what is wrong with it. Whether a cron expression names any moment, and whether there is such a time zone, is for
-- those who know the calendar: the programs check it before they call, the scheduler when it plans.
create or replace function tenure.schedule_read(p_caller tenure.caller_identity, p_old tenure.schedules, p_spec jsonb) returns tenure.schedules
language plpgsql
set standard_conforming_strings = on
as $$
declare
  v_now   timestamptz := tenure.now();
  v_new   tenure.schedules;
  v_field text;
  v_value jsonb;
  v_kind  record;
  v_lane  integer;
begin
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.', 'It names the rule and the job.',
      'Give an object such as {"cron": "0 3 * * *", "zone": "Europe/Berlin", "kind": "report"}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_spec) f loop
    perform tenure.check_word('value_unknown', 'field of a schedule', v_field, array['kind', 'executor', 'payload', 'priority', 'classification', 'source_ref', 'target_ref', 'payload_ref',
      'cron', 'every_seconds', 'zone', 'jitter_seconds', 'start_at', 'end_at', 'scope_kind', 'scope_id', 'overlap', 'catch_up', 'catch_up_window_seconds', 'catch_up_slots_max',
      'run_timeout_seconds', 'attempts_max', 'backoff_base_seconds', 'reentry', 'description']);
    continue when jsonb_typeof(v_value) = 'null' or v_field in ('payload', 'priority');
    if v_field in ('every_seconds', 'jitter_seconds', 'catch_up_window_seconds', 'catch_up_slots_max', 'run_timeout_seconds', 'attempts_max', 'backoff_base_seconds') then
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric <> trunc(v_value::numeric) or abs(v_value::numeric) > 9e15 then
        perform tenure.refuse('number_out_of_range', format('%s is %s.', v_field, v_value), 'It must be a whole number.', 'Give a whole number.');
      end if;
      if v_field = 'every_seconds' and v_value::bigint < tenure.limit_of('interval_seconds_min') then
        perform tenure.refuse('expression_too_frequent', format('The interval is %s seconds.', v_value),
          format('A schedule fires at most every %s seconds (interval_seconds_min).', tenure.limit_of('interval_seconds_min')),
          'Give a longer interval, or let one job work through what is there.');
      end if;
      perform tenure.check_number(v_field, v_value::bigint,
        case v_field when 'jitter_seconds' then 0 when 'catch_up_window_seconds' then 60 else 1 end,
        case v_field when 'every_seconds' then tenure.limit_of('interval_seconds_max') when 'jitter_seconds' then tenure.limit_of('jitter_seconds_max') when 'catch_up_slots_max' then 100
                     when 'attempts_max' then tenure.limit_of('attempts_max') when 'backoff_base_seconds' then 86400 else 2592000 end);
      p_spec := jsonb_set(p_spec, array[v_field], to_jsonb(v_value::bigint));
    elsif jsonb_typeof(v_value) <> 'string' then
      perform tenure.refuse('text_invalid', format('%s is %s.', v_field, left(v_value::text, 100)), 'It must be a text.', 'Give a text.');
    elsif v_field in ('start_at', 'end_at') then
      if not tenure.is_moment(v_value #>> '{}') then
        perform tenure.refuse('text_invalid', format('%s is %L.', v_field, left(v_value #>> '{}', 100)), 'It must be a moment with its offset.', 'Give one such as 2026-01-02T03:04:05Z.');
      end if;
    end if;
  end loop;

  -- A new rule takes the place of the old one.
  v_new := jsonb_populate_record(p_old, p_spec - 'priority');
  if p_spec ? 'cron' and not p_spec ? 'every_seconds' then
    v_new.every_seconds := null;
  elsif p_spec ? 'every_seconds' and not p_spec ? 'cron' then
    v_new.cron := null;
  end if;
  if num_nonnulls(v_new.cron, v_new.every_seconds) <> 1 then
    perform tenure.refuse('arguments_mismatched', 'A schedule has one rule.', 'It is cron (five fields) or every_seconds.', 'Give one of them.');
  end if;
  if v_new.cron is not null then
    -- Its shape alone: five fields of what may stand in one.
    if length(v_new.cron) > tenure.limit_of('expression_chars_max') or v_new.cron !~* '^\s*([0-9a-z*?,/#+-]+\s+){4}[0-9a-z*?,/#+-]+\s*$' and v_new.cron !~ '^@[a-z]+$' then
      perform tenure.refuse('expression_invalid', format('%L is no cron expression.', left(v_new.cron, 100)),
        format('It has five fields: minute, hour, day of the month, month, day of the week; at most %s characters (expression_chars_max).', tenure.limit_of('expression_chars_max')),
        'Give one such as 0 3 * * *, or every_seconds.');
    end if;
    v_new.cron := btrim(v_new.cron);
  end if;
  v_new.zone := coalesce(v_new.zone, 'UTC');
  if v_new.zone !~ '^[A-Za-z0-9_+/-]{1,64}$' then
    perform tenure.refuse('zone_unknown', format('%L is no time zone.', left(v_new.zone, 100)), 'It is a name of the IANA database.', 'Give one such as Europe/Berlin or UTC.');
  end if;
  v_new.jitter_seconds := coalesce(v_new.jitter_seconds, 0);
  if v_new.every_seconds <= v_new.jitter_seconds then
    perform tenure.refuse('number_out_of_range', format('The jitter is %s seconds, the interval %s.', v_new.jitter_seconds, v_new.every_seconds),
      'A slot starts before the next one is due: the jitter is shorter than the interval.', 'Lower jitter_seconds.');
  end if;
  if v_new.end_at <= v_new.start_at then
    perform tenure.refuse('range_invalid', format('The schedule ends at %s and starts at %s.', v_new.end_at, v_new.start_at), 'It ends after it starts.', 'Give a later end_at.');
  end if;
  v_new.scope_kind := coalesce(v_new.scope_kind, 'global');
  v_new.scope_id := coalesce(v_new.scope_id, 'global');
  perform tenure.check_name('scope kind', v_new.scope_kind);
  perform tenure.check_name('scope id', v_new.scope_id);

  v_new.payload := coalesce(v_new.payload, '{}');
  v_new.classification := coalesce(v_new.classification, 'safe_metadata');
  v_new.priority := case
    when p_spec ? 'priority' and jsonb_typeof(p_spec -> 'priority') <> 'null' then tenure.priority_of(p_spec ->> 'priority')
    when p_spec ? 'priority' then 0
    else coalesce(v_new.priority, 0) end;
  if v_new.kind is null then
    perform tenure.refuse('name_blank', 'The schedule names no kind.', 'It starts jobs of one.', 'Name the kind of the jobs.');
  end if;
  perform tenure.check_numbers('payload', v_new.payload);
  perform tenure.check_job('', v_now, v_new.payload::json, 'slot', v_new.priority, v_now, null, coalesce(v_new.attempts_max, 1), v_new.classification,
    'job', 'tenure', array[v_new.source_ref, v_new.target_ref, v_new.payload_ref], '{}', null);
  -- Whoever makes a schedule must be allowed to enqueue just that. Two statements: the second sees a lane that the first has made.
  v_lane := tenure.lane_ensure(p_caller, v_new.kind, v_new.executor);
  perform tenure.check_enqueue_rights(p_caller, array[v_lane]);
  update tenure.lanes l set planned = true, timed = l.timed or v_new.run_timeout_seconds is not null
   where l.lane = v_lane and not (l.planned and (l.timed or v_new.run_timeout_seconds is null));

  select k.catch_up, k.event_domain = 'agent' or e.nature = 'agent' as is_agent into v_kind
    from tenure.lanes l
    join tenure.executors e on e.name = l.executor
    left join tenure.kinds k on k.tenant_id = l.tenant_id and k.kind = l.kind
   where l.lane = v_lane;
  v_new.catch_up := coalesce(v_new.catch_up, v_kind.catch_up, case when v_kind.is_agent then 'none' else 'latest_only' end);
  -- Who leaves the overlap open, then and now, gets what goes with the catch-up of now.
  if p_spec ? 'catch_up' and not p_spec ? 'overlap' and p_old.overlap = (case p_old.catch_up when 'every_plan' then 'queue' else 'skip' end) then
    v_new.overlap := null;
  end if;
  v_new.overlap := coalesce(v_new.overlap, case v_new.catch_up when 'every_plan' then 'queue' else 'skip' end);
  v_new.catch_up_window_seconds := coalesce(v_new.catch_up_window_seconds, 86400);
  v_new.catch_up_slots_max := coalesce(v_new.catch_up_slots_max, 10);
  v_new.reentry := coalesce(v_new.reentry, 'allowed');
  v_new.description := coalesce(v_new.description, '');
  perform tenure.check_word('value_unknown', 'overlap', v_new.overlap, array['skip', 'queue', 'cancel_other', 'allow']);
  perform tenure.check_word('value_unknown', 'catch_up', v_new.catch_up, array['latest_only', 'every_plan', 'none']);
  perform tenure.check_word('value_unknown', 'reentry', v_new.reentry, array['allowed', 'refused']);
  if octet_length(v_new.description) > tenure.limit_of('metadata_bytes_max') then
    perform tenure.refuse('payload_too_large', 'The description is too long.', format('It has at most %s bytes (metadata_bytes_max).', tenure.limit_of('metadata_bytes_max')), 'Shorten it.');
  end if;
  return v_new;
end
$$;

-- Whether a text is a moment with its offset, as programs write it.
create or replace function tenure.is_moment(p_text text) returns boolean
language plpgsql stable
set standard_conforming_strings = on
as $$
begin
  return p_text ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)$' and p_text::timestamptz is not null;
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return false;
end
$$;

-- Inserts a schedule; false when another transaction has made one of this name, which is committed then.
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

-- Makes, changes or declares a schedule: the one place where its row is written by hand. p_mode: create; update (fields left out stay); put (fields left out have their defaults).
create or replace function tenure.schedule_write(p_name text, p_spec jsonb, p_mode text, p_on_behalf_of text) returns jsonb
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
  -- Of several transactions that declare a new schedule at the same time one makes it; the others wait for
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
        p_name, tenure.schedule_told(v_new));
      return tenure.schedule_answer(v_caller.tenant_id, p_name) || jsonb_build_object('outcome', 'created');
    end if;
  end loop;
  if not v_stands then
    perform tenure.refuse('busy_try_again', format('The schedule %L kept being made and deleted.', p_name),
      'Others declare it and delete it at the same time.', 'Try again.');
  end if;

  if v_old.classification = 'restricted' and v_new.classification <> 'restricted' and p_mode = 'update' and not p_spec ? 'payload' and not tenure.may_see('restricted') then
    perform tenure.refuse('not_permitted', format('%s may not make the payload of the schedule %L readable.', v_caller.principal, p_name),
      'It is restricted, and whoever may not see it cannot show it to others.', 'Give another payload with it, or ask somebody with the right to see it.');
  end if;
  if tenure.schedule_told(v_new) || jsonb_build_object('payload', v_new.payload) = tenure.schedule_told(v_old) || jsonb_build_object('payload', v_old.payload) then
    return tenure.schedule_answer(v_caller.tenant_id, p_name) || jsonb_build_object('outcome', 'unchanged');
  end if;
  v_anew := (v_new.cron, v_new.every_seconds, v_new.zone, v_new.start_at) is distinct from (v_old.cron, v_old.every_seconds, v_old.zone, v_old.start_at);
  v_replan := v_anew or (v_new.jitter_seconds, v_new.end_at, v_new.scope_kind, v_new.scope_id) is distinct from (v_old.jitter_seconds, v_old.end_at, v_old.scope_kind, v_old.scope_id);
  -- Where the moments stay the same, what is still to be caught up is not forgotten.
  v_anew := v_anew or (v_replan and v_old.planned_to > v_now);
  if v_replan then
    -- What the old rule had planned gives way. What was due before this, or waits for another run, keeps its place.
    perform tenure.slots_supersede(v_old.schedule_id, v_now, v_caller.principal, 'The rule was changed.');
  end if;
  update tenure.schedules s
     set cron = v_new.cron, every_seconds = v_new.every_seconds, zone = v_new.zone, jitter_seconds = v_new.jitter_seconds, start_at = v_new.start_at, end_at = v_new.end_at,
         scope_kind = v_new.scope_kind, scope_id = v_new.scope_id, kind = v_new.kind, executor = v_new.executor, priority = v_new.priority, payload = v_new.payload,
         classification = v_new.classification, source_ref = v_new.source_ref, target_ref = v_new.target_ref, payload_ref = v_new.payload_ref, overlap = v_new.overlap,
         catch_up = v_new.catch_up, catch_up_window_seconds = v_new.catch_up_window_seconds, catch_up_slots_max = v_new.catch_up_slots_max, run_timeout_seconds = v_new.run_timeout_seconds,
         attempts_max = v_new.attempts_max, backoff_base_seconds = v_new.backoff_base_seconds, reentry = v_new.reentry, description = v_new.description,
         plan_from = case when v_anew then v_now else s.plan_from end, planned_to = case when v_anew then null else s.planned_to end,
         next_at = case when v_replan or s.ended_at is null then v_now else s.next_at end, ended_at = case when not v_replan then s.ended_at end,
         error_code = null, error_message = null, updated_at = v_now, updated_by = v_caller.principal
   where s.schedule_id = v_old.schedule_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.updated', v_caller.principal, p_on_behalf_of, p_name,
    jsonb_build_object('before', tenure.schedule_told(v_old), 'after', tenure.schedule_told(v_new)));
  return tenure.schedule_answer(v_caller.tenant_id, p_name) || jsonb_build_object('outcome', 'updated');
end
$$;

create or replace function tenure.refuse_schedule_exists(p_name text) returns void
language sql
as $$
  select tenure.refuse('schedule_exists', format('There is already a schedule %L.', p_name), 'Names of schedules are unique within a tenant.', 'Update it, delete it, or choose another name.')
$$;

-- What is told of a schedule to everybody: all that was said when it was made, but the payload.
create or replace function tenure.schedule_told(p_schedule tenure.schedules) returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(to_jsonb(p_schedule) - array['schedule_id', 'tenant_id', 'name', 'payload', 'plan_from', 'planned_to', 'next_at', 'ended_at', 'paused_at', 'paused_by', 'pause_note', 'error_code',
    'error_message', 'created_at', 'created_by', 'updated_at', 'updated_by', 'deleted_at'])
$$;

create or replace function tenure.schedule_create(p_name text, p_spec jsonb, p_on_behalf_of text default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.schedule_write(p_name, p_spec, 'create', p_on_behalf_of) $$;

-- Fields left out stay as they are; one set to null has its default again.
create or replace function tenure.schedule_update(p_name text, p_changes jsonb, p_on_behalf_of text default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.schedule_write(p_name, p_changes, 'update', p_on_behalf_of) $$;

-- For schedules that a program declares when it starts: made, made equal to this, or left alone. A pause stays.
create or replace function tenure.schedule_put(p_name text, p_spec jsonb, p_on_behalf_of text default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.schedule_write(p_name, p_spec, 'put', p_on_behalf_of) $$;

-- Pauses a schedule: what is under way goes on, and its slots are skipped as they come, each with its row. Pausing what is paused keeps who did it first.
create or replace function tenure.schedule_pause(p_name text, p_note text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz := tenure.now();
  v_schedule tenure.schedules;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  if p_note <> '' then
    perform tenure.check_name('note', p_note);
  end if;
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  if v_schedule.paused_at is null then
    update tenure.schedules s set paused_at = v_now, paused_by = v_caller.principal, pause_note = nullif(p_note, '') where s.schedule_id = v_schedule.schedule_id;
    perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.paused', v_caller.principal, p_on_behalf_of, p_name, jsonb_strip_nulls(jsonb_build_object('note', nullif(p_note, ''))));
  end if;
  return tenure.schedule_answer(v_caller.tenant_id, p_name);
end
$$;

-- Lets a schedule go on with the next slot. What was skipped meanwhile stays so; a backfill runs it.
create or replace function tenure.schedule_resume(p_name text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_schedule tenure.schedules;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  if v_schedule.paused_at is not null then
    update tenure.schedules s set paused_at = null, paused_by = null, pause_note = null where s.schedule_id = v_schedule.schedule_id;
    perform tenure.emit(tenure.now(), v_caller.tenant_id, 'schedule.resumed', v_caller.principal, p_on_behalf_of, p_name, '{}');
  end if;
  return tenure.schedule_answer(v_caller.tenant_id, p_name);
end
$$;

-- Ends a schedule. What it has planned is given up; what it ran keeps its rows. Refuses while a run is under way: its end would have nowhere to go.
create or replace function tenure.schedule_delete(p_name text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz := tenure.now();
  v_schedule tenure.schedules;
  v_running  record;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  v_schedule := tenure.schedule_locked(v_caller.tenant_id, p_name);
  select p.plan_time, p.job_id into v_running from tenure.planned_slots p where p.schedule_id = v_schedule.schedule_id and p.state = 'running' order by p.plan_time limit 1;
  if found then
    perform tenure.refuse('state_conflict', format('A run of the schedule %L is under way: job %s, for %s.', p_name, v_running.job_id, v_running.plan_time),
      'Who deletes a schedule would leave it to itself.', 'Wait for its end, or cancel it with tenure.job_cancel(job, reason); pause the schedule, so that no other comes.');
  end if;
  perform tenure.slots_supersede(v_schedule.schedule_id, v_now, v_caller.principal, 'The schedule was deleted.', true);
  update tenure.planned_slots p set owes_next = false where p.schedule_id = v_schedule.schedule_id and p.owes_next;
  update tenure.schedules s set deleted_at = v_now, next_at = null where s.schedule_id = v_schedule.schedule_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'schedule.deleted', v_caller.principal, p_on_behalf_of, p_name, '{}');
  return jsonb_build_object('name', p_name, 'deleted_at', v_now);
end
$$;

-- Gives up what was planned. Slots that are due, wait for another run, were asked for by hand or are filled in stay, unless all are meant.
create or replace function tenure.slots_supersede(p_schedule_id integer, p_now timestamptz, p_actor text, p_why text, p_all boolean default false) returns void
language sql
as $$
  with gone as (
    update tenure.planned_slots p
       set state = 'skipped', skip_reason = 'superseded', error_message = p_why, ended_at = p_now, waiting_since = null
     where p.schedule_id = p_schedule_id and p.state = 'planned' and (p_all or (p.origin = 'rule' and p.waiting_since is null and p.plan_time > p_now))
    returning p.tenant_id, p.plan_time, p.origin, p.scope_kind, p.scope_id
  )
  insert into tenure.events (at, tenant_id, kind, actor, subject, data)
  select p_now, g.tenant_id, 'schedule.slot_skipped', p_actor, s.name,
         jsonb_build_object('plan_time', g.plan_time, 'origin', g.origin, 'scope_kind', g.scope_kind, 'scope_id', g.scope_id, 'reason', 'superseded')
    from gone g join tenure.schedules s on s.schedule_id = p_schedule_id order by g.plan_time
$$;
