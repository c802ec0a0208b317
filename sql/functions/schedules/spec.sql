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
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.',
      'It names the rule and the job.',
      'Give an object such as {"cron": "0 3 * * *", "zone": "Europe/Berlin", "kind": "report"}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_spec) f loop
    perform tenure.check_word('value_unknown', 'field of a schedule', v_field,
      array['kind', 'executor', 'payload', 'priority', 'classification', 'source_ref', 'target_ref',
        'payload_ref', 'cron', 'every_seconds', 'zone', 'jitter_seconds', 'start_at', 'end_at',
        'scope_kind', 'scope_id', 'overlap', 'catch_up', 'catch_up_window_seconds', 'catch_up_slots_max',
        'run_timeout_seconds', 'attempts_max', 'backoff_base_seconds', 'reentry', 'description']);
    continue when jsonb_typeof(v_value) = 'null' or v_field in ('payload', 'priority');
    if v_field in ('every_seconds', 'jitter_seconds', 'catch_up_window_seconds', 'catch_up_slots_max',
        'run_timeout_seconds', 'attempts_max', 'backoff_base_seconds') then
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric <> trunc(v_value::numeric)
         or abs(v_value::numeric) > 9e15 then
        perform tenure.refuse('number_out_of_range', format('%s is %s.', v_field, v_value),
          'It must be a whole number.', 'Give a whole number.');
      end if;
      if v_field = 'every_seconds' and v_value::bigint < tenure.limit_of('interval_seconds_min') then
        perform tenure.refuse('expression_too_frequent', format('The interval is %s seconds.', v_value),
          format('A schedule fires at most every %s seconds (interval_seconds_min).',
            tenure.limit_of('interval_seconds_min')),
          'Give a longer interval, or let one job work through what is there.');
      end if;
      perform tenure.check_number(v_field, v_value::bigint,
        case v_field
          when 'jitter_seconds' then 0
          when 'catch_up_window_seconds' then 60
          else 1
        end,
        case v_field
          when 'every_seconds' then tenure.limit_of('interval_seconds_max')
          when 'jitter_seconds' then tenure.limit_of('jitter_seconds_max')
          when 'catch_up_slots_max' then 100
          when 'attempts_max' then tenure.limit_of('attempts_max')
          when 'backoff_base_seconds' then 86400
          else 2592000
        end);
      p_spec := jsonb_set(p_spec, array[v_field], to_jsonb(v_value::bigint));
    elsif jsonb_typeof(v_value) <> 'string' then
      perform tenure.refuse('text_invalid', format('%s is %s.', v_field, left(v_value::text, 100)),
        'It must be a text.', 'Give a text.');
    elsif v_field in ('start_at', 'end_at') then
      if not tenure.is_moment(v_value #>> '{}') then
        perform tenure.refuse('text_invalid',
          format('%s is %L.', v_field, left(v_value #>> '{}', 100)),
          'It must be a moment with its offset.', 'Give one such as 2026-01-02T03:04:05Z.');
      end if;
    end if;
  end loop;

  -- A new rule replaces the old one, even if it is of the other type.
  v_new := jsonb_populate_record(p_old, p_spec - 'priority');
  if p_spec ? 'cron' and not p_spec ? 'every_seconds' then
    v_new.every_seconds := null;
  elsif p_spec ? 'every_seconds' and not p_spec ? 'cron' then
    v_new.cron := null;
  end if;
  if num_nonnulls(v_new.cron, v_new.every_seconds) <> 1 then
    perform tenure.refuse('arguments_mismatched', 'A schedule has one rule.',
      'It is cron (five fields) or every_seconds.', 'Give one of them.');
  end if;
  if v_new.cron is not null then
    -- Only the form is checked: five fields of valid characters.
    if length(v_new.cron) > tenure.limit_of('expression_chars_max')
       or v_new.cron !~* '^\s*([0-9a-z*?,/#+-]+\s+){4}[0-9a-z*?,/#+-]+\s*$'
          and v_new.cron !~ '^@[a-z]+$' then
      perform tenure.refuse('expression_invalid',
        format('%L is no cron expression.', left(v_new.cron, 100)),
        format(
          'It has five fields: minute, hour, day of the month, month, day of the week; at most %s characters '
            '(expression_chars_max).',
          tenure.limit_of('expression_chars_max')),
        'Give one such as 0 3 * * *, or every_seconds.');
    end if;
    v_new.cron := btrim(v_new.cron);
  end if;
  v_new.zone := coalesce(v_new.zone, 'UTC');
  if v_new.zone !~ '^[A-Za-z0-9_+/-]{1,64}$' then
    perform tenure.refuse('zone_unknown', format('%L is no time zone.', left(v_new.zone, 100)),
      'It is a name of the IANA database.', 'Give one such as Europe/Berlin or UTC.');
  end if;
  v_new.jitter_seconds := coalesce(v_new.jitter_seconds, 0);
  if v_new.every_seconds <= v_new.jitter_seconds then
    perform tenure.refuse('number_out_of_range',
      format('The jitter is %s seconds, the interval %s.', v_new.jitter_seconds, v_new.every_seconds),
      'A slot starts before the next one is due: the jitter is shorter than the interval.',
      'Lower jitter_seconds.');
  end if;
  if v_new.end_at <= v_new.start_at then
    perform tenure.refuse('range_invalid',
      format('The schedule ends at %s and starts at %s.', v_new.end_at, v_new.start_at),
      'It ends after it starts.', 'Give a later end_at.');
  end if;
  v_new.scope_kind := coalesce(v_new.scope_kind, 'global');
  v_new.scope_id := coalesce(v_new.scope_id, 'global');
  perform tenure.check_name('scope kind', v_new.scope_kind);
  perform tenure.check_name('scope id', v_new.scope_id);

  v_new.payload := coalesce(v_new.payload, '{}');
  v_new.classification := coalesce(v_new.classification, 'safe_metadata');
  v_new.priority := case
    when p_spec ? 'priority' and jsonb_typeof(p_spec -> 'priority') <> 'null'
      then tenure.priority_of(p_spec ->> 'priority')
    when p_spec ? 'priority' then 0
    else coalesce(v_new.priority, 0)
  end;
  if v_new.kind is null then
    perform tenure.refuse('name_blank', 'The schedule names no kind.', 'It starts jobs of one.',
      'Name the kind of the jobs.');
  end if;
  perform tenure.check_numbers('payload', v_new.payload);
  perform tenure.check_job('', v_now, v_new.payload::json, 'slot', v_new.priority, v_now, null,
    coalesce(v_new.attempts_max, 1), v_new.classification, 'job', 'tenure',
    array[v_new.source_ref, v_new.target_ref, v_new.payload_ref], '{}', null);
  -- The caller needs the right to enqueue these jobs. Two statements: the second sees a lane that the first
  -- has made.
  v_lane := tenure.lane_ensure(p_caller, v_new.kind, v_new.executor);
  perform tenure.check_enqueue_rights(p_caller, array[v_lane]);
  update tenure.lanes l
     set planned = true,
         timed = l.timed or v_new.run_timeout_seconds is not null
   where l.lane = v_lane
     and not (l.planned and (l.timed or v_new.run_timeout_seconds is null));

  select k.catch_up, k.event_domain = 'agent' or e.nature = 'agent' as is_agent
    into v_kind
    from tenure.lanes l
    join tenure.executors e on e.name = l.executor
    left join tenure.kinds k on k.tenant_id = l.tenant_id and k.kind = l.kind
   where l.lane = v_lane;
  v_new.catch_up := coalesce(v_new.catch_up, v_kind.catch_up,
    case when v_kind.is_agent then 'none' else 'latest_only' end);
  -- An overlap that has the default of the old catch-up gets the default of the new one.
  if p_spec ? 'catch_up' and not p_spec ? 'overlap'
     and p_old.overlap = (case p_old.catch_up when 'every_plan' then 'queue' else 'skip' end) then
    v_new.overlap := null;
  end if;
  v_new.overlap := coalesce(v_new.overlap,
    case v_new.catch_up when 'every_plan' then 'queue' else 'skip' end);
  v_new.catch_up_window_seconds := coalesce(v_new.catch_up_window_seconds, 86400);
  v_new.catch_up_slots_max := coalesce(v_new.catch_up_slots_max, 10);
  v_new.reentry := coalesce(v_new.reentry, 'allowed');
  v_new.description := coalesce(v_new.description, '');
  perform tenure.check_word('value_unknown', 'overlap', v_new.overlap,
    array['skip', 'queue', 'cancel_other', 'allow']);
  perform tenure.check_word('value_unknown', 'catch_up', v_new.catch_up,
    array['latest_only', 'every_plan', 'none']);
  perform tenure.check_word('value_unknown', 'reentry', v_new.reentry, array['allowed', 'refused']);
  if octet_length(v_new.description) > tenure.limit_of('metadata_bytes_max') then
    perform tenure.refuse('payload_too_large', 'The description is too long.',
      format('It has at most %s bytes (metadata_bytes_max).', tenure.limit_of('metadata_bytes_max')),
      'Shorten it.');
  end if;
  return v_new;
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
