-- Refusals of a document that is not a plan: each names the code, the place and the fix. plans/fields.sql
-- finds what is wrong.

-- Refuses a plan with a wrong field. The message begins with the place of the field.
create or replace function tenure.plan_check_fields(p_document json, p_plan jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  t record;
  v_place text;
  v_text text;
  v_expected text;
begin
  select f.trouble, f.step, f.field, f.item, f.value, f.form, f.low, f.high, f.words into t
    from tenure.plan_field_trouble(p_document, p_plan) f;
  if not found then
    return;
  end if;
  v_place := case when t.step > 0 then format('steps[%s]', t.step - 1) end;
  v_place := case
    when t.field is null then coalesce(v_place, 'The plan')
    else tenure.plan_place(v_place, t.field)
  end;
  if t.item > 0 and t.trouble in ('type', 'blank', 'control', 'long', 'role_twice') then
    v_place := format('%s[%s]', v_place, t.item - 1);
  end if;
  v_text := t.value #>> '{}';
  v_expected := case t.form
    when 'number' then 'a whole number'
    when 'priority' then 'a whole number, or urgent, normal or bulk'
    when 'list' then 'a list'
    when 'object' then 'an object'
    else 'a text'
  end;
  case t.trouble
    when 'type', 'fraction' then
      perform tenure.refuse('plan_invalid',
        format('%s is %s.', v_place, case
          when t.trouble = 'fraction' then v_text
          when jsonb_typeof(t.value) = 'null' then 'null'
          else format('a%s', case jsonb_typeof(t.value)
            when 'string' then ' text' when 'number' then ' number' when 'boolean' then ' boolean'
            when 'array' then ' list' else 'n object' end)
        end),
        format('Expected is %s.', v_expected),
        format('Give %s%s.', v_expected,
          case when jsonb_typeof(t.value) = 'null' then '; to say nothing, leave the field out' end));
    when 'unknown' then
      perform tenure.refuse('plan_invalid', format('%s is no field of a plan.', v_place),
        format('Known here are: %s.', array_to_string(t.words, ', ')), 'Take it out.');
    when 'missing' then
      perform tenure.refuse('plan_invalid', format('%s is missing.', v_place), 'It is required.',
        'Add it; tenure plan schema describes every field.');
    when 'runbook' then
      perform tenure.refuse('plan_invalid', format('%s is missing.', v_place),
        'From approval level 2 on the approvers want to read what to do when it goes wrong.',
        'Add the address of the runbook.');
    when 'range' then
      perform tenure.refuse('number_out_of_range',
        format('%s is %s.', v_place, v_text::double precision::bigint),
        format('It lies between %s and %s.', t.low, t.high), 'Use a number in this range.');
    when 'word' then
      perform tenure.refuse(case t.form when 'priority' then 'priority_unknown' else 'value_unknown' end,
        format('%s is %s.', v_place, tenure.plan_quoted(v_text)),
        case t.form
          when 'priority' then 'A priority is a whole number, or urgent, normal or bulk.'
          else format('It is one of: %s.', array_to_string(t.words, ', '))
        end,
        format('Use one of: %s.', array_to_string(t.words, ', ')));
    when 'blank' then
      perform tenure.refuse('name_blank', format('%s is blank.', v_place),
        'Spaces, tabs and newlines alone are no name.', format('Give a %s that can be read.', t.field));
    when 'control' then
      v_text := substring(
        case t.form when 'lines' then translate(v_text, E'\n\t', '') else v_text end
        from '[\u0001-\u001f\u007f-\u009f]');
      perform tenure.refuse('name_invalid',
        format('%s holds the control character \u{%s}.', v_place, to_hex(ascii(v_text))),
        'Names are shown in tables, logs and commands.', 'Use printable characters only.');
    when 'deceptive' then
      perform tenure.refuse('name_invalid',
        format('%s holds the character \u{%s}.', v_place, to_hex(ascii(tenure.deceptive_sign(v_text)))),
        'Zero-width characters and those that change the direction of text make names that look alike.',
        'Remove it.');
    when 'long' then
      perform tenure.refuse('name_invalid', format('%s has %s characters.', v_place, length(v_text)),
        format('At most %s are allowed.', t.high), 'Shorten it.');
    when 'edge' then
      perform tenure.refuse('name_invalid', format('%s is %s.', v_place, tenure.plan_quoted(v_text)),
        'White space at its beginning or end makes a name that looks like another one.', 'Remove it.');
    when 'separator' then
      perform tenure.refuse('name_invalid', format('%s holds the separator '':''.', v_place),
        'It becomes part of the key of a lock, whose parts are joined by it.', 'Use a dot or a dash.');
    when 'lock' then
      perform tenure.refuse('name_invalid', format('%s makes the key of a lock too long.', v_place),
        format('Type, reference and action have %s characters in it; at most %s are allowed.',
          v_text, t.high),
        'Shorten the reference, or lock nothing with "lock_scope": "none".');
    when 'long_list' then
      perform tenure.refuse('plan_too_large',
        format('%s has %s %s.', v_place, jsonb_array_length(t.value), replace(t.field, 'approval_', '')),
        format('At most %s %s are allowed.', t.high, replace(t.field, 'approval_', '')),
        'Make several plans of it, or pass data by reference.');
    when 'large' then
      perform tenure.refuse('payload_too_large', format('%s has %s bytes.', v_place, octet_length(v_text)),
        format('At most %s bytes are allowed: a job carries signals, not data.', t.high),
        'Store the data elsewhere and pass its address as payload_ref.');
    when 'again' then
      perform tenure.refuse('plan_invalid',
        format('%s asks to try a step again whose effects come once.', v_place),
        'A second try could do it a second time. Without "effects", a step that is no read counts as "once".',
        'Take attempts_max out, or say "effects": "idempotent" if running it twice is like running it once.');
    when 'role_twice' then
      perform tenure.refuse('plan_invalid',
        format('%s names the role %s a second time.', v_place, tenure.plan_quoted(v_text)),
        'Once says it all.', 'Take one of them out.');
    when 'id_twice' then
      perform tenure.refuse('plan_invalid',
        format('%s is %s, as steps[%s].id is.', v_place, tenure.plan_quoted(v_text), t.low - 1),
        'Needs, approvals and the timeline name a step by its id.', 'Give each step an id of its own.');
  end case;
end
$$;

-- Reads a plan for callers that use raw SQL. Answers it as jsonb, or refuses what crates/core would refuse,
-- with the same code and the place in the text.
create or replace function tenure.plan_check(p_plan text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_document json := tenure.plan_document(p_plan);
  v_plan jsonb := v_document;
begin
  -- The canonical text is at most four times as long, where numbers are written as 1e15.
  if octet_length(p_plan) * 4 > tenure.limit_of('plan_bytes_max') then
    perform tenure.plan_canonical(v_plan);
  end if;
  perform tenure.plan_check_fields(v_document, v_plan);
  perform tenure.plan_check_needs(v_plan);
  perform tenure.plan_check_sections(v_document, v_plan);
  return v_plan;
end
$$;
