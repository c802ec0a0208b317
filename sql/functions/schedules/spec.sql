-- Reading the specification of a schedule: which fields it has, what each may be, and their defaults.

-- The rule of a schedule as text. Each slot keeps a copy.
create or replace function tenure.schedule_rule(p_schedule tenure.schedules) returns text
language sql immutable
as $$
  select coalesce(p_schedule.cron, 'every ' || p_schedule.every_seconds)
$$;

-- Applies a specification to p_old and fills in the defaults. Refuses an invalid one.
-- Whether a cron expression ever fires and whether the time zone exists is not checked here: the programs
-- check it before they call, and the scheduler when it plans.
create or replace function tenure.schedule_read(
  p_caller tenure.caller_identity, p_old tenure.schedules, p_spec jsonb) returns tenure.schedules
language plpgsql
as $$
declare
  v_new   tenure.schedules;
  v_field text;
  v_value jsonb;
begin
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.',
      'It names the rule and the job.',
      'Give an object such as {"cron": "0 3 * * *", "zone": "Europe/Berlin", "kind": "report"}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_spec) f loop
    p_spec := jsonb_set(p_spec, array[v_field], tenure.schedule_read_field(v_field, v_value));
  end loop;
  v_new := jsonb_populate_record(p_old, p_spec - 'priority');
  v_new := tenure.schedule_read_rule(v_new, p_spec);
  v_new := tenure.schedule_read_job(v_new, p_spec);
  return tenure.schedule_read_policy(p_caller, p_old, v_new, p_spec);
end
$$;

-- One field of a specification by itself: its name, its type, and the bounds of a number. Answers the value,
-- a whole number without its fraction (3.0 as 3).
create or replace function tenure.schedule_read_field(p_field text, p_value jsonb) returns jsonb
language plpgsql
as $$
begin
  perform tenure.check_word('value_unknown', 'field of a schedule', p_field,
    array['kind', 'executor', 'payload', 'priority', 'classification', 'source_ref', 'target_ref',
      'payload_ref', 'cron', 'every_seconds', 'zone', 'jitter_seconds', 'start_at', 'end_at',
      'scope_kind', 'scope_id', 'overlap', 'catch_up', 'catch_up_window_seconds', 'catch_up_slots_max',
      'run_timeout_seconds', 'attempts_max', 'backoff_base_seconds', 'reentry', 'description']);
  if jsonb_typeof(p_value) = 'null' or p_field in ('payload', 'priority') then
    return p_value;
  elsif p_field in ('every_seconds', 'jitter_seconds', 'catch_up_window_seconds', 'catch_up_slots_max',
      'run_timeout_seconds', 'attempts_max', 'backoff_base_seconds') then
    return tenure.schedule_read_number(p_field, p_value);
  elsif jsonb_typeof(p_value) <> 'string' then
    perform tenure.refuse('text_invalid', format('%s is %s.', p_field, tenure.excerpt(p_value::text)),
      'It must be a text.', 'Give a text.');
  elsif p_field in ('start_at', 'end_at') and not tenure.is_moment(p_value #>> '{}') then
    perform tenure.refuse('text_invalid', format('%s is %L.', p_field, tenure.excerpt(p_value #>> '{}')),
      'It must be a moment with its offset.', 'Give one such as 2026-01-02T03:04:05Z.');
  end if;
  return p_value;
end
$$;

-- A number of a specification as a whole number within its bounds. Refuses any other.
create or replace function tenure.schedule_read_number(p_field text, p_value jsonb) returns jsonb
language plpgsql
as $$
declare
  v_number bigint;
begin
  if jsonb_typeof(p_value) <> 'number' or p_value::numeric <> trunc(p_value::numeric)
     or abs(p_value::numeric) > 9e15 then
    perform tenure.refuse('number_out_of_range', format('%s is %s.', p_field, p_value),
      'It must be a whole number.', 'Give a whole number.');
  end if;
  v_number := p_value::bigint;
  if p_field = 'every_seconds' and v_number < tenure.limit_of('interval_seconds_min') then
    perform tenure.refuse('expression_too_frequent', format('The interval is %s seconds.', p_value),
      format('A schedule fires at most every %s seconds (interval_seconds_min).',
        tenure.limit_of('interval_seconds_min')),
      'Give a longer interval, or let one job work through what is there.');
  end if;
  perform tenure.check_number(p_field, v_number,
    case p_field
      when 'jitter_seconds' then 0
      when 'catch_up_window_seconds' then tenure.limit_of('catch_up_window_seconds_min')
      else 1
    end,
    tenure.limit_of(case p_field
      when 'every_seconds' then 'interval_seconds_max'
      when 'jitter_seconds' then 'jitter_seconds_max'
      when 'catch_up_window_seconds' then 'catch_up_window_seconds_max'
      when 'run_timeout_seconds' then 'run_timeout_seconds_max'
      when 'backoff_base_seconds' then 'backoff_base_seconds_max'
      -- Two limits have the names of their fields: catch_up_slots_max and attempts_max.
      else p_field
    end));
  return to_jsonb(v_number);
end
$$;

-- The rule of a new specification: cron or interval, time zone, jitter, range and scope. Refuses a rule that
-- cannot be.
create or replace function tenure.schedule_read_rule(p_new tenure.schedules, p_spec jsonb)
returns tenure.schedules
language plpgsql
set standard_conforming_strings = on
as $$
begin
  -- A new rule replaces the old one, even if it is of the other type.
  if p_spec ? 'cron' and not p_spec ? 'every_seconds' then
    p_new.every_seconds := null;
  elsif p_spec ? 'every_seconds' and not p_spec ? 'cron' then
    p_new.cron := null;
  end if;
  if num_nonnulls(p_new.cron, p_new.every_seconds) <> 1 then
    perform tenure.refuse('arguments_mismatched', 'A schedule has one rule.',
      'It is cron (five fields) or every_seconds.', 'Give one of them.');
  end if;
  -- Only the form is checked: five fields of valid characters.
  if length(p_new.cron) > tenure.limit_of('expression_chars_max')
     or p_new.cron !~* '^\s*([0-9a-z*?,/#+-]+\s+){4}[0-9a-z*?,/#+-]+\s*$'
        and p_new.cron !~ '^@[a-z]+$' then
    perform tenure.refuse('expression_invalid',
      format('%L is no cron expression.', tenure.excerpt(p_new.cron)),
      format(
        'It has five fields: minute, hour, day of the month, month, day of the week; at most %s characters '
          '(expression_chars_max).',
        tenure.limit_of('expression_chars_max')),
      'Give one such as 0 3 * * *, or every_seconds.');
  end if;
  p_new.cron := btrim(p_new.cron);
  p_new.zone := coalesce(p_new.zone, 'UTC');
  if p_new.zone !~ '^[A-Za-z0-9_+/-]{1,64}$' then
    perform tenure.refuse('zone_unknown', format('%L is no time zone.', tenure.excerpt(p_new.zone)),
      'It is a name of the IANA database.', 'Give one such as Europe/Berlin or UTC.');
  end if;
  p_new.jitter_seconds := coalesce(p_new.jitter_seconds, 0);
  if p_new.every_seconds <= p_new.jitter_seconds then
    perform tenure.refuse('number_out_of_range',
      format('The jitter is %s seconds, the interval %s.', p_new.jitter_seconds, p_new.every_seconds),
      'A slot starts before the next one is due: the jitter is shorter than the interval.',
      'Lower jitter_seconds.');
  end if;
  if p_new.end_at <= p_new.start_at then
    perform tenure.refuse('range_invalid',
      format('The schedule ends at %s and starts at %s.', p_new.end_at, p_new.start_at),
      'It ends after it starts.', 'Give a later end_at.');
  end if;
  p_new.scope_kind := coalesce(p_new.scope_kind, 'global');
  p_new.scope_id := coalesce(p_new.scope_id, 'global');
  perform tenure.check_name('scope kind', p_new.scope_kind);
  perform tenure.check_name('scope id', p_new.scope_id);
  return p_new;
end
$$;

-- The job of a new specification: kind, priority, payload and references. Refuses what no job may have.
create or replace function tenure.schedule_read_job(p_new tenure.schedules, p_spec jsonb)
returns tenure.schedules
language plpgsql
as $$
declare
  v_now timestamptz := tenure.now();
  v_job tenure.new_job;
begin
  p_new.payload := coalesce(p_new.payload, '{}');
  p_new.classification := coalesce(p_new.classification, 'safe_metadata');
  p_new.priority := case
    when p_spec ? 'priority' and jsonb_typeof(p_spec -> 'priority') <> 'null'
      then tenure.priority_of(p_spec ->> 'priority')
    when p_spec ? 'priority' then 0
    else coalesce(p_new.priority, 0)
  end;
  if p_new.kind is null then
    perform tenure.refuse('name_blank', 'The schedule names no kind.', 'It starts jobs of one.',
      'Name the kind of the jobs.');
  end if;
  perform tenure.check_json_numbers('payload', p_new.payload);
  v_job.payload := p_new.payload;
  v_job.priority := p_new.priority;
  v_job.attempts_max := p_new.attempts_max;
  v_job.classification := p_new.classification;
  v_job.source_ref := p_new.source_ref;
  v_job.target_ref := p_new.target_ref;
  v_job.payload_ref := p_new.payload_ref;
  perform tenure.check_job('', v_now, v_job);
  return p_new;
end
$$;

-- How the slots of a new specification run: overlap, catch-up and reentry, where left out as the kind says.
-- Marks the lane of its jobs. Refuses a caller who may not enqueue them.
create or replace function tenure.schedule_read_policy(
  p_caller tenure.caller_identity, p_old tenure.schedules, p_new tenure.schedules, p_spec jsonb)
returns tenure.schedules
language plpgsql
as $$
declare
  c_window_seconds constant integer := 86400;
  c_slots          constant integer := 10;
  v_kind           record;
  v_lane           integer;
begin
  -- The caller needs the right to enqueue these jobs. Two statements: the second sees a lane that the first
  -- has made.
  v_lane := tenure.lane_ensure(p_caller, p_new.kind, p_new.executor);
  perform tenure.check_enqueue_rights(p_caller, array[v_lane]);
  update tenure.lanes l
     set planned = true,
         timed = l.timed or p_new.run_timeout_seconds is not null
   where l.lane = v_lane
     and not (l.planned and (l.timed or p_new.run_timeout_seconds is null));

  select k.catch_up, k.event_domain = 'agent' or e.nature = 'agent' as is_agent
    into v_kind
    from tenure.lanes l
    join tenure.executors e on e.name = l.executor
    left join tenure.kinds k on k.tenant_id = l.tenant_id and k.kind = l.kind
   where l.lane = v_lane;
  p_new.catch_up := coalesce(p_new.catch_up, v_kind.catch_up,
    case when v_kind.is_agent then 'none' else 'latest_only' end);
  -- An overlap that has the default of the old catch-up gets the default of the new one.
  if p_spec ? 'catch_up' and not p_spec ? 'overlap'
     and p_old.overlap = (case p_old.catch_up when 'every_plan' then 'queue' else 'skip' end) then
    p_new.overlap := null;
  end if;
  p_new.overlap := coalesce(p_new.overlap,
    case p_new.catch_up when 'every_plan' then 'queue' else 'skip' end);
  p_new.catch_up_window_seconds := coalesce(p_new.catch_up_window_seconds, c_window_seconds);
  p_new.catch_up_slots_max := coalesce(p_new.catch_up_slots_max, c_slots);
  p_new.reentry := coalesce(p_new.reentry, 'allowed');
  p_new.description := coalesce(p_new.description, '');
  perform tenure.check_word('value_unknown', 'overlap', p_new.overlap,
    array['skip', 'queue', 'cancel_other', 'allow']);
  perform tenure.check_word('value_unknown', 'catch_up', p_new.catch_up,
    array['latest_only', 'every_plan', 'none']);
  perform tenure.check_word('value_unknown', 'reentry', p_new.reentry, array['allowed', 'refused']);
  if octet_length(p_new.description) > tenure.limit_of('metadata_bytes_max') then
    perform tenure.refuse('payload_too_large', 'The description is too long.',
      format('It has at most %s bytes (metadata_bytes_max).', tenure.limit_of('metadata_bytes_max')),
      'Shorten it.');
  end if;
  return p_new;
end
$$;

-- Whether a text is a timestamp with an offset, in the form programs write.
create or replace function tenure.is_moment(p_text text) returns boolean
language plpgsql stable
set standard_conforming_strings = on
as $$
begin
  return p_text ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)$'
    and p_text::timestamptz is not null;
exception
  when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
    return false;
end
$$;
