-- Checks a plan that comes by SQL: its form, limits, references and cycles. A refusal names the place and the
-- finding, such as "steps[3].needs[0]: step_unknown". Every surface but raw SQL reads plans with crates/core,
-- which refuses the same at the same place and words it; crates/core/testdata/plans keeps both equal.

-- Every finding with the code of its refusal. docs/errors/plan_invalid.md says what each means.
create or replace function tenure.plan_findings() returns table (finding text, code text)
language sql immutable parallel safe
as $$
  values
    -- Of the document as a whole.
    ('not_json', 'plan_invalid'), ('name_twice', 'plan_invalid'), ('too_large', 'plan_too_large'),
    ('too_deep', 'plan_too_large'), ('number_rounded', 'number_out_of_range'),
    ('half_character', 'text_invalid'), ('nul_character', 'text_invalid'),
    ('key_forbidden', 'payload_forbidden_key'),
    -- Of one field.
    ('field_unknown', 'plan_invalid'), ('missing', 'plan_invalid'), ('type', 'plan_invalid'),
    ('fraction', 'plan_invalid'), ('out_of_range', 'number_out_of_range'), ('word_unknown', 'value_unknown'),
    ('priority_unknown', 'priority_unknown'), ('blank', 'name_blank'), ('control_character', 'name_invalid'),
    ('deceptive_character', 'name_invalid'), ('too_long', 'name_invalid'), ('edge_space', 'name_invalid'),
    ('separator', 'name_invalid'), ('lock_key_too_long', 'name_invalid'), ('too_many', 'plan_too_large'),
    ('payload_too_large', 'payload_too_large'),
    -- Of fields, steps and sections together.
    ('runbook_missing', 'plan_invalid'), ('retry_of_once', 'plan_invalid'), ('role_twice', 'plan_invalid'),
    ('id_twice', 'plan_invalid'), ('no_steps', 'plan_invalid'), ('step_unknown', 'plan_invalid'),
    ('step_twice', 'plan_invalid'), ('needs_itself', 'plan_cycle'), ('cycle', 'plan_cycle'),
    ('too_few_steps', 'plan_invalid'), ('other_target', 'plan_invalid'), ('other_lock', 'plan_invalid'),
    ('not_in_order', 'plan_invalid'), ('needs_outside', 'plan_invalid')
$$;

-- Refuses a plan for one finding at one place. p_allowed says what would be allowed there, or shows what was
-- found. Never returns.
create or replace function tenure.plan_refuse(p_place text, p_finding text, p_allowed text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_code text;
begin
  select f.code into strict v_code from tenure.plan_findings() f where f.finding = p_finding;
  perform tenure.refuse(v_code, format('%s: %s', p_place, p_finding),
    coalesce(p_allowed, 'A plan is read strictly: people approve it as it is written.'),
    'Correct the plan at this place; docs/errors/plan_invalid.md explains the finding.');
end
$$;

-- Refuses a plan with a wrong field, for the first one in the order of reading.
create or replace function tenure.plan_check_fields(p_document json, p_plan jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found record;
  v_place text;
begin
  select f.finding, f.step, f.field, f.item, f.form, f.low, f.high, f.words into v_found
    from tenure.plan_field_finding(p_document, p_plan) f;
  if not found then
    return;
  end if;
  v_place := case when v_found.step > 0 then format('steps[%s]', v_found.step - 1) end;
  v_place := case
    when v_found.field is null then coalesce(v_place, 'The plan')
    else tenure.plan_place(v_place, v_found.field)
  end;
  if v_found.item > 0 then
    v_place := format('%s[%s]', v_place, v_found.item - 1);
  end if;
  perform tenure.plan_refuse(v_place, v_found.finding,
    tenure.plan_allowed(v_found.form, v_found.low, v_found.high, v_found.words));
end
$$;

-- What is allowed in a field of this form, for a refusal. Null where nothing is bounded.
create or replace function tenure.plan_allowed(p_form text, p_low bigint, p_high bigint, p_words text[])
returns text
language sql immutable parallel safe
as $$
  select 'Allowed here: ' || nullif(concat_ws(', ',
    case p_form
      when 'number' then 'a whole number'
      when 'priority' then 'a whole number or a word'
      when 'list' then 'a list'
      when 'object' then 'an object'
      else case when p_form is not null then 'a text' end
    end,
    case when p_low is null then 'at most ' || p_high else format('from %s to %s', p_low, p_high) end,
    array_to_string(p_words, ', ')), '') || '.'
$$;

-- Reads a plan for callers that use raw SQL. Answers it as jsonb, or refuses what crates/core would refuse,
-- with the same code and place.
create or replace function tenure.plan_check(p_plan text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_document json := tenure.plan_document(p_plan);
  v_plan     jsonb := v_document;
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
