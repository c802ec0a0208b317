-- Sections of a plan: steps that run one after the other at one target, with nothing from outside between
-- them. crates/core/src/plan/sections.rs decides the same, in the same order.

-- Refuses a plan whose sections are wrong. Its fields, steps and needs must have been checked before.
create or replace function tenure.plan_check_sections(p_document json, p_plan jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_sections jsonb := p_plan -> 'sections';
  v_ids      text[] := '{}';
  v_taken    text[] := '{}';
  v_place    text;
  v_section  jsonb;
  v_id       text;
begin
  if v_sections is null then
    return;
  end if;
  perform tenure.plan_check_list('sections', v_sections, 0, tenure.limit_of('plan_sections_max'), 'sections');
  for v_at in 0 .. jsonb_array_length(v_sections) - 1 loop
    v_place := format('sections[%s]', v_at);
    v_section := v_sections -> v_at;
    perform tenure.plan_check_section(v_place, p_document -> 'sections' -> v_at, v_section);
    v_id := v_section ->> 'id';
    if v_id = any (v_ids) then
      perform tenure.refuse('plan_invalid',
        format('%s.id is %s, as sections[%s].id is.', v_place, tenure.plan_quoted(v_id),
          array_position(v_ids, v_id) - 1),
        'The list of locks and the timeline name a section by its id.',
        'Give each section an id of its own.');
    end if;
    v_ids := v_ids || v_id;
    perform tenure.plan_check_list(v_place || '.steps', v_section -> 'steps', 2,
      tenure.limit_of('section_steps_max'), 'steps');
    v_taken := tenure.plan_check_section_steps(p_plan, v_place, v_section, v_taken);
  end loop;
end
$$;

-- Refuses a section with an unknown or a missing field, or an id that is not valid.
create or replace function tenure.plan_check_section(p_place text, p_document json, p_section jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_field text;
begin
  if jsonb_typeof(p_section) <> 'object' then
    perform tenure.plan_refuse_type(p_place, p_section, 'an object');
  end if;
  select k.name into v_field
    from json_object_keys(p_document) with ordinality k (name, n)
   where k.name not in ('id', 'steps')
   order by k.n
   limit 1;
  if found then
    perform tenure.refuse('plan_invalid',
      format('%s is no field of a plan.', tenure.plan_place(p_place, v_field)),
      'Known here are: id, steps.',
      'Take it out.');
  end if;
  foreach v_field in array array['id', 'steps'] loop
    if not p_section ? v_field then
      perform tenure.refuse('plan_invalid', format('%s.%s is missing.', p_place, v_field), 'It is required.',
        'Add it; docs/plan.schema.json describes every field.');
    end if;
    if v_field = 'id' then
      perform tenure.plan_check_id(p_place || '.id', p_section -> 'id');
    end if;
  end loop;
end
$$;

-- Refuses a section id that is not a valid name.
create or replace function tenure.plan_check_id(p_place text, p_id jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_id   text := p_id #>> '{}';
  v_most bigint := tenure.limit_of('name_chars_max');
begin
  case tenure.plan_value_trouble(p_id, 'line', true, null, v_most, null)
    when 'type' then
      perform tenure.plan_refuse_type(p_place, p_id, 'a text');
    when 'blank' then
      perform tenure.refuse('name_blank', format('%s is blank.', p_place),
        'Spaces, tabs and newlines alone are no name.', 'Give an id that can be read.');
    when 'long' then
      perform tenure.refuse('name_invalid', format('%s has %s characters.', p_place, length(v_id)),
        format('At most %s are allowed.', v_most), 'Shorten it.');
    when 'control' then
      perform tenure.refuse('name_invalid',
        format('%s holds the control character \u{%s}.', p_place,
          to_hex(ascii(substring(v_id from '[\u0001-\u001f\u007f-\u009f]')))),
        'Names are shown in tables, logs and commands.', 'Use printable characters only.');
    when 'deceptive' then
      perform tenure.refuse('name_invalid',
        format('%s holds the character \u{%s}.', p_place, to_hex(ascii(tenure.deceptive_sign(v_id)))),
        'Zero-width characters and those that change the direction of text make names that look alike.',
        'Remove it.');
    else null;
  end case;
end
$$;

-- Refuses a value that is not a list, or a list with too few or too many items.
create or replace function tenure.plan_check_list(
  p_place text, p_list jsonb, p_low bigint, p_high bigint, p_noun text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_items integer;
begin
  if jsonb_typeof(p_list) <> 'array' then
    perform tenure.plan_refuse_type(p_place, p_list, 'a list');
  end if;
  v_items := jsonb_array_length(p_list);
  if v_items > p_high then
    perform tenure.refuse('plan_too_large', format('%s has %s %s.', p_place, v_items, p_noun),
      format('At most %s %s are allowed.', p_high, p_noun),
      'Make several plans of it, or pass data by reference.');
  elsif v_items < p_low then
    perform tenure.refuse('plan_invalid',
      format('%s has %s.', p_place, case v_items when 0 then 'no step' else 'one step' end),
      'A section holds the lock of its target across several steps; a single step has its lock without one.',
      'Name at least two steps, or take the section out.');
  end if;
end
$$;

-- Refuses a value of a wrong type, and names both types. Never returns.
create or replace function tenure.plan_refuse_type(p_place text, p_value jsonb, p_expected text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_type text := jsonb_typeof(p_value);
begin
  perform tenure.refuse('plan_invalid',
    format('%s is %s.', p_place, case v_type
      when 'null' then 'null'
      when 'string' then 'a text'
      when 'number' then 'a number'
      when 'boolean' then 'a boolean'
      when 'array' then 'a list'
      else 'an object'
    end),
    format('Expected is %s.', p_expected),
    format('Give %s%s.', p_expected,
      case v_type when 'null' then '; to say nothing, leave the field out' end));
end
$$;

-- Refuses a section whose steps are not in the plan, are in another section, or do not belong together.
-- p_taken are the steps of the sections before; the answer adds those of this section.
create or replace function tenure.plan_check_section_steps(
  p_plan jsonb, p_place text, p_section jsonb, p_taken text[])
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_item   record;
  v_place  text;
  v_id     text;
  v_step   jsonb;
  v_target text;
  v_mine   text[] := '{}';
begin
  for v_item in
    select i.value, i.n from jsonb_array_elements(p_section -> 'steps') with ordinality i (value, n)
  loop
    v_place := format('%s.steps[%s]', p_place, v_item.n - 1);
    if jsonb_typeof(v_item.value) <> 'string' then
      perform tenure.plan_refuse_type(v_place, v_item.value, 'a text');
    end if;
    v_id := v_item.value #>> '{}';
    select s.value into v_step
      from jsonb_array_elements(p_plan -> 'steps') s (value)
     where s.value ->> 'id' = v_id;
    if not found then
      perform tenure.refuse('plan_invalid',
        format('%s names the step %s, which is not in the plan.', v_place, tenure.plan_quoted(v_id)),
        'A section is made of steps of its plan.',
        'Add that step, or take it out of the section.');
    elsif v_id = any (p_taken || v_mine) then
      perform tenure.refuse('plan_invalid',
        format('%s names the step %s a second time.', v_place, tenure.plan_quoted(v_id)),
        'A step belongs to one section, once.',
        'Take one of them out.');
    end if;
    v_target := coalesce(v_target, tenure.lock_part(v_step ->> 'target_type', v_step ->> 'target_ref'));
    perform tenure.plan_check_section_step(v_place, v_step, v_target, v_mine);
    v_mine := v_mine || v_id;
  end loop;
  return p_taken || v_mine;
end
$$;

-- Refuses a step that cannot follow p_mine, the earlier steps of its section in order, at the target
-- p_target.
create or replace function tenure.plan_check_section_step(
  p_place text, p_step jsonb, p_target text, p_mine text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most   bigint := tenure.limit_of('lock_target_chars_max');
  v_target text := tenure.lock_part(p_step ->> 'target_type', p_step ->> 'target_ref');
  v_scope  text := p_step ->> 'lock_scope';
  v_before text := p_mine[cardinality(p_mine)];
  v_other  text;
begin
  if v_target <> p_target then
    perform tenure.refuse('plan_invalid',
      format('%s is a step at %s; the section is at %s.', p_place, tenure.plan_quoted(v_target),
        tenure.plan_quoted(p_target)),
      'A section holds the lock of one target.',
      'Make a section for each target.');
  elsif v_before is null and length(v_target) > v_most then
    perform tenure.refuse('name_invalid', format('%s makes the key of a lock too long.', p_place),
      format('Type and reference of its target have %s characters in it; at most %s are allowed.',
        length(v_target), v_most),
      'Shorten the reference.');
  end if;
  if v_scope = 'target_and_action'
     or (v_scope = 'none' and p_step ->> 'action_class' is distinct from 'read') then
    perform tenure.refuse('plan_invalid', format('%s is a step with "lock_scope": "%s".', p_place, v_scope),
      'All steps of a section have the whole target.',
      'Take lock_scope out of the step, or the step out of the section.');
  end if;
  if v_before is null then
    return;
  end if;
  if not coalesce(p_step -> 'needs', '[]') ? v_before then
    perform tenure.refuse('plan_invalid',
      format('%s does not need the step before it, %s.', p_place, tenure.plan_quoted(v_before)),
      'The steps of a section run one after the other.',
      format('Add %s to its needs.', tenure.plan_quoted(v_before)));
  end if;
  select d.id into v_other
    from jsonb_array_elements_text(p_step -> 'needs') with ordinality d (id, n)
   where d.id <> all (p_mine)
   order by d.n
   limit 1;
  if found then
    perform tenure.refuse('plan_invalid',
      format('%s needs %s, which is no step of the section before it.', p_place, tenure.plan_quoted(v_other)),
      'While the lock is held nothing of the section waits for work outside it: two sections could wait for '
        || 'each other.',
      'Let the first step of the section need it.');
  end if;
end
$$;
