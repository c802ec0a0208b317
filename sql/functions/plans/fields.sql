-- The fields of a plan and its steps, and the first one that is wrong. crates/core/src/plan/ decides the
-- same, in the same order and with the same codes and places, for every surface but raw SQL;
-- crates/core/testdata/plans keeps both equal.

-- The fields of a plan and of its steps, in the order in which they are checked. low and high bound a
-- number, the characters of a text or the items of a list.
create or replace function tenure.plan_fields() returns table (
  of_step boolean, rank integer, field text, form text, required boolean, low bigint, high bigint,
  words text[])
language sql immutable parallel safe
as $$
  values
    (false,  1, 'approval_level',    'number',   false, 0,
      tenure.limit_of('approval_level_max'), null::text[]),
    (false,  2, 'runbook_ref',       'line',     false, null, tenure.limit_of('ref_chars_max'), null),
    (false,  4, 'purpose',           'line',     true,  null, tenure.limit_of('name_chars_max'), null),
    (false,  5, 'sla_class',         'word',     true,  null, null, array['fast', 'medium', 'long']),
    (false,  6, 'mode',              'word',     false, null, null, array['immediate', 'background']),
    (false,  7, 'priority',          'priority', false, -32768, 32767, array['urgent', 'normal', 'bulk']),
    (false,  8, 'on_step_failure',   'word',     false, null, null, array['stop', 'continue']),
    (false,  9, 'approval_roles',    'list',     false, null, tenure.limit_of('approval_roles_max'), null),
    (false, 10, 'correlation_id',    'line',     false, null, tenure.limit_of('key_chars_max'), null),
    (false, 11, 'generator',         'line',     false, null, tenure.limit_of('name_chars_max'), null),
    (false, 12, 'timeout_seconds',   'number',   false, 1,
      tenure.limit_of('execution_timeout_seconds_max'), null),
    (false, 13, 'steps',             'list',     true,  null, tenure.limit_of('plan_steps_max'), null),
    -- Checked after the steps, by tenure.plan_check_sections.
    (false, 14, 'sections',          'any',      false, null, null, null),
    (true,   1, 'id',                'line',     true,  null, tenure.limit_of('name_chars_max'), null),
    (true,   2, 'action',            'part',     true,  null, tenure.limit_of('name_chars_max'), null),
    (true,   3, 'action_class',      'word',     false, null, null, array['read', 'modify', 'deploy']),
    (true,   4, 'effects',           'word',     false, null, null, array['idempotent', 'once']),
    (true,   5, 'lock_scope',        'word',     false, null,
      null, array['target', 'target_and_action', 'none']),
    (true,   6, 'timeout_seconds',   'number',   false, 1,
      tenure.limit_of('step_timeout_seconds_max'), null),
    (true,   7, 'needs',             'list',     false, null, tenure.limit_of('needs_max'), null),
    (true,   8, 'kind',              'line',     false, null, tenure.limit_of('name_chars_max'), null),
    (true,   9, 'target_type',       'part',     true,  null, tenure.limit_of('name_chars_max'), null),
    (true,  10, 'target_ref',        'ref',      true,  null, tenure.limit_of('ref_chars_max'), null),
    (true,  11, 'executor',          'line',     false, null, tenure.limit_of('name_chars_max'), null),
    (true,  12, 'payload',           'object',   false, null, tenure.limit_of('payload_bytes_max'), null),
    (true,  13, 'payload_ref',       'line',     false, null, tenure.limit_of('ref_chars_max'), null),
    (true,  14, 'attempts_max',      'number',   false, 1,    tenure.limit_of('attempts_max'), null),
    (true,  15, 'compensation_note', 'lines',    false, null,
      tenure.limit_of('compensation_note_chars_max'), null)
$$;

-- What is wrong with one value by itself (see tenure.plan_findings), or null.
create or replace function tenure.plan_value_finding(
  p_value jsonb, p_form text, p_required boolean, p_low bigint, p_high bigint, p_words text[])
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_type text := jsonb_typeof(p_value);
  v_text text := p_value #>> '{}';
begin
  if p_value is null then
    return case when p_required then 'missing' end;
  elsif p_form = 'any' then
    return null;
  elsif v_type <> all (case p_form
      when 'number' then array['number']
      when 'priority' then array['number', 'string']
      when 'list' then array['array']
      when 'object' then array['object']
      else array['string']
    end) then
    return 'type';
  elsif v_type = 'number' then
    return case
      when v_text::double precision <> floor(v_text::double precision) then 'fraction'
      when v_text::double precision not between p_low and p_high then 'out_of_range'
    end;
  elsif v_type = 'array' then
    return case when jsonb_array_length(p_value) > p_high then 'too_many' end;
  elsif v_type = 'object' then
    return case when octet_length(v_text) > p_high then 'payload_too_large' end;
  elsif p_words is not null then
    return case
      when v_text = any (p_words) then null
      when p_form = 'priority' then 'priority_unknown'
      else 'word_unknown'
    end;
  end if;
  return case
    when tenure.is_blank(v_text) then 'blank'
    when case p_form when 'lines' then translate(v_text, E'\n\t', '') else v_text end
        ~ '[\u0001-\u001f\u007f-\u009f]'
      then 'control_character'
    when length(v_text) > p_high then 'too_long'
    when p_form <> 'lines' and tenure.deceptive_sign(v_text) is not null
      then 'deceptive_character'
    when p_form in ('part', 'ref')
        and v_text ~
          '^[\s\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]|'
          '[\s\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$'
      then 'edge_space'
    when p_form = 'part' and strpos(v_text, ':') > 0 then 'separator'
  end;
end
$$;

-- The key of the lock that a step holds while it runs, or null for none. The step may not be checked yet.
create or replace function tenure.plan_lock_target(p_step jsonb) returns text
language sql immutable parallel safe
as $$
  select tenure.lock_part(p_step ->> 'target_type', p_step ->> 'target_ref')
      || case coalesce(p_step ->> 'lock_scope',
             case p_step ->> 'action_class' when 'read' then 'none' else 'target' end)
           when 'target' then ''
           when 'target_and_action' then ':' || (p_step ->> 'action')
         end
$$;

-- The first thing that is wrong with the fields of a plan, in the order of reading: those of the plan itself,
-- then step by step. step counts from 1 and is 0 for the plan itself; item counts the items of a list from 1
-- and is 0 for the field itself. No row when every field is in order.
create or replace function tenure.plan_field_finding(p_document json, p_plan jsonb) returns table (
  finding text, step integer, field text, item integer, form text, low bigint, high bigint, words text[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    with subjects (step, value) as materialized (
      select 0, p_plan
      union all
      select s.n::integer, s.value
        from jsonb_array_elements(
               case jsonb_typeof(p_plan -> 'steps') when 'array' then p_plan -> 'steps' else '[]' end)
             with ordinality s (value, n)
       where s.n <= tenure.limit_of('plan_steps_max')
    ),
    rules as materialized (
      select r.of_step, r.rank, r.field, r.form, r.required, r.low, r.high, r.words
        from tenure.plan_fields() r
    ),
    names (step, name, n) as (
      select 0, k.name, k.n
        from json_object_keys(case json_typeof(p_document) when 'object' then p_document else '{}' end)
             with ordinality k (name, n)
      union all
      select s.n::integer, k.name, k.n
        from json_array_elements(
               case
                 when json_typeof(p_document) = 'object' and json_typeof(p_document -> 'steps') = 'array'
                   then p_document -> 'steps'
                 else '[]'
               end) with ordinality s (value, n)
        cross join lateral json_object_keys(
          case json_typeof(s.value) when 'object' then s.value else '{}' end) with ordinality k (name, n)
       where s.n <= tenure.limit_of('plan_steps_max')
    ),
    ids (step, id, first) as (
      select s.step, s.value ->> 'id', min(s.step) over (partition by s.value ->> 'id')
        from subjects s
       where s.step > 0
    ),
    findings (step, rank, n, finding, field, item, form, low, high, words) as (
      select s.step, 0, 0::bigint, 'type', null, 0::bigint, 'object', null::bigint, null::bigint,
             null::text[]
        from subjects s
       where jsonb_typeof(s.value) <> 'object'
      union all
      select n.step, 0, n.n, 'field_unknown', n.name, 0, null, null, null,
             (select array_agg(r.field order by r.rank) from rules r where r.of_step = (n.step > 0))
        from names n
       where not exists (select from rules r where r.of_step = (n.step > 0) and r.field = n.name)
      union all
      select s.step, r.rank, 0, v.finding, r.field, 0, r.form, r.low, r.high, r.words
        from subjects s
        join rules r on r.of_step = (s.step > 0)
        cross join lateral tenure.plan_value_finding(
          s.value -> r.field, r.form, r.required, r.low, r.high, r.words) v (finding)
       where (r.required or s.value ? r.field)
         and jsonb_typeof(s.value) = 'object'
         and v.finding is not null
      union all
      select 0, 3, 0, 'runbook_missing', 'runbook_ref', 0, null, null, null, null
       where jsonb_typeof(p_plan -> 'approval_level') = 'number'
         and p_plan -> 'approval_level' >= '2'
         and not p_plan ? 'runbook_ref'
      union all
      select 0, 9, i.n, v.finding, 'approval_roles', i.n, 'line', null,
             tenure.limit_of('name_chars_max'), null
        from (
          select e.value, e.n, row_number() over (partition by e.value order by e.n) > 1 as again
            from jsonb_array_elements(
                   case jsonb_typeof(p_plan -> 'approval_roles')
                     when 'array' then p_plan -> 'approval_roles'
                     else '[]'
                   end) with ordinality e (value, n)
           where e.n <= tenure.limit_of('approval_roles_max')
        ) i
        cross join lateral (
          select coalesce(
                   tenure.plan_value_finding(
                     i.value, 'line', true, null, tenure.limit_of('name_chars_max'), null),
                   case when i.again then 'role_twice' end)
        ) v (finding)
       where v.finding is not null
      union all
      select s.step, 7, i.n, 'type', 'needs', i.n, 'line', null, null, null
        from subjects s
        cross join lateral jsonb_array_elements(
          case jsonb_typeof(s.value -> 'needs') when 'array' then s.value -> 'needs' else '[]' end)
          with ordinality i (value, n)
       where jsonb_typeof(i.value) <> 'string'
         and s.step > 0
      union all
      select s.step, 14, 1, 'retry_of_once', 'attempts_max', 0, null, null, null, null
        from subjects s
       where s.step > 0
         and s.value -> 'attempts_max' > '1'
         and coalesce(s.value ->> 'effects',
               case s.value ->> 'action_class' when 'read' then 'idempotent' else 'once' end) = 'once'
      union all
      select s.step, 16, 0, 'lock_key_too_long', 'target_ref', 0, null, null,
             tenure.limit_of('lock_target_chars_max'), null
        from subjects s
       where s.step > 0
         and length(tenure.plan_lock_target(s.value)) > tenure.limit_of('lock_target_chars_max')
      union all
      select i.step, 17, 0, 'id_twice', 'id', 0, null, null, null, null
        from ids i
       where i.step > i.first
    )
    select f.finding, f.step, f.field, f.item::integer, f.form, f.low, f.high, f.words
      from findings f
     order by f.step, f.rank, f.n
     limit 1;
end
$$;
