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
  perform tenure.plan_check_list('sections', v_sections, 0, tenure.limit_of('plan_sections_max'));
  for v_at in 0 .. jsonb_array_length(v_sections) - 1 loop
    v_place := format('sections[%s]', v_at);
    v_section := v_sections -> v_at;
    perform tenure.plan_check_section_fields(v_place, p_document -> 'sections' -> v_at, v_section);
    v_id := v_section ->> 'id';
    if v_id = any (v_ids) then
      perform tenure.plan_refuse(v_place || '.id', 'id_twice');
    end if;
    v_ids := v_ids || v_id;
    perform tenure.plan_check_list(v_place || '.steps', v_section -> 'steps', 2,
      tenure.limit_of('section_steps_max'));
    v_taken := tenure.plan_check_section_steps(p_plan, v_place, v_section, v_taken);
  end loop;
end
$$;

-- Refuses a section with an unknown or a missing field, or an id that is not valid.
create or replace function tenure.plan_check_section_fields(p_place text, p_document json, p_section jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields  constant text[] := array['id', 'steps'];
  v_most    bigint := tenure.limit_of('name_chars_max');
  v_unknown text;
  v_finding text;
begin
  if jsonb_typeof(p_section) <> 'object' then
    perform tenure.plan_refuse(p_place, 'type', tenure.plan_allowed('object', null, null, null));
  end if;
  select k.name into v_unknown
    from json_object_keys(p_document) with ordinality k (name, n)
   where k.name <> all (v_fields)
   order by k.n
   limit 1;
  if found then
    perform tenure.plan_refuse(tenure.plan_place(p_place, v_unknown), 'field_unknown',
      tenure.plan_allowed(null, null, null, v_fields));
  end if;
  v_finding := tenure.plan_value_finding(p_section -> 'id', 'line', true, null, v_most, null);
  if v_finding is not null then
    perform tenure.plan_refuse(p_place || '.id', v_finding,
      tenure.plan_allowed('line', null, v_most, null));
  elsif not p_section ? 'steps' then
    perform tenure.plan_refuse(p_place || '.steps', 'missing');
  end if;
end
$$;

-- Refuses a value that is not a list, or a list with too few or too many items.
create or replace function tenure.plan_check_list(p_place text, p_list jsonb, p_low bigint, p_high bigint)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_finding text := case
    when jsonb_typeof(p_list) <> 'array' then 'type'
    when jsonb_array_length(p_list) > p_high then 'too_many'
    when jsonb_array_length(p_list) < p_low then 'too_few_steps'
  end;
begin
  if v_finding is not null then
    perform tenure.plan_refuse(p_place, v_finding, tenure.plan_allowed('list', p_low, p_high, null));
  end if;
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
      perform tenure.plan_refuse(v_place, 'type', tenure.plan_allowed('line', null, null, null));
    end if;
    v_id := v_item.value #>> '{}';
    select s.value into v_step
      from jsonb_array_elements(p_plan -> 'steps') s (value)
     where s.value ->> 'id' = v_id;
    if not found then
      perform tenure.plan_refuse(v_place, 'step_unknown');
    elsif v_id = any (p_taken || v_mine) then
      perform tenure.plan_refuse(v_place, 'step_twice');
    end if;
    v_target := coalesce(v_target, tenure.lock_part(v_step ->> 'target_type', v_step ->> 'target_ref'));
    perform tenure.plan_check_step_fits(v_place, v_step, v_target, v_mine);
    v_mine := v_mine || v_id;
  end loop;
  return p_taken || v_mine;
end
$$;

-- Refuses a step that cannot follow p_mine, the earlier steps of its section in order, at the target
-- p_target. While the lock is held nothing of the section may wait for work outside it: two sections could
-- wait for each other.
create or replace function tenure.plan_check_step_fits(
  p_place text, p_step jsonb, p_target text, p_mine text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most    bigint := tenure.limit_of('lock_target_chars_max');
  v_target  text := tenure.lock_part(p_step ->> 'target_type', p_step ->> 'target_ref');
  v_scope   text := p_step ->> 'lock_scope';
  v_before  text := p_mine[cardinality(p_mine)];
  v_needs   jsonb := coalesce(p_step -> 'needs', '[]');
  v_finding text := case
    when v_target <> p_target then 'other_target'
    when v_before is null and length(v_target) > v_most then 'lock_key_too_long'
    when v_scope = 'target_and_action'
         or (v_scope = 'none' and p_step ->> 'action_class' is distinct from 'read') then 'other_lock'
    when v_before is null then null
    when not v_needs ? v_before then 'not_in_order'
    when exists (select from jsonb_array_elements_text(v_needs) d (id) where d.id <> all (p_mine))
      then 'needs_outside'
  end;
begin
  if v_finding is not null then
    perform tenure.plan_refuse(p_place, v_finding,
      case when v_finding = 'lock_key_too_long' then tenure.plan_allowed(null, null, v_most, null) end);
  end if;
end
$$;
