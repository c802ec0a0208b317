-- The canonical text of a plan (RFC 8785), which is stored and hashed: a plan has the same hash however it
-- was written. crates/core/src/plan/node.rs makes the same text for every surface but raw SQL;
-- crates/core/testdata/plans and a property test keep both equal.

-- Bytes that sort names in the order of their UTF-16 code units. UTF-8 has the same order except for U+E000
-- to U+FFFF (first byte EE or EF), which UTF-16 puts after the characters that it writes as pairs (F0 to
-- F4).
create or replace function tenure.utf16_rank(p_text text) returns bytea
language sql immutable parallel safe
as $$
  select convert_to(translate(convert_from(convert_to(p_text, 'UTF8'), 'LATIN1'),
    chr(238) || chr(239), chr(254) || chr(255)), 'UTF8')
$$;

-- A number as ECMAScript prints the double nearest to it: with the fewest digits that identify it, and with
-- an exponent below 1e-6. A plan has no number above 2^53, where PostgreSQL may print one digit more;
-- below, a number halfway between two doubles has more digits than either.
create or replace function tenure.canonical_number(p_number numeric) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
set standard_conforming_strings = on
as $$
declare
  v_double double precision := abs(p_number)::double precision;
  v_parts  text[];
  v_digits text;
  v_point  integer;
  v_sign   text := case when p_number < 0 then '-' else '' end;
begin
  if v_double = 0 then
    return '0';
  end if;
  v_parts := regexp_match(v_double::text, '^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$');
  v_point := length(v_parts[1]) + coalesce(v_parts[3]::integer, 0);
  v_digits := v_parts[1] || coalesce(v_parts[2], '');
  v_point := v_point - (length(v_digits) - length(ltrim(v_digits, '0')));
  v_digits := rtrim(ltrim(v_digits, '0'), '0');
  return v_sign || case
    when length(v_digits) <= v_point and v_point <= 21
      then v_digits || repeat('0', v_point - length(v_digits))
    when v_point > 0 and v_point <= 21
      then left(v_digits, v_point) || '.' || substr(v_digits, v_point + 1)
    when v_point > -6 and v_point <= 0
      then '0.' || repeat('0', -v_point) || v_digits
    else left(v_digits, 1)
      || case when length(v_digits) > 1 then '.' || substr(v_digits, 2) else '' end
      || 'e' || to_char(v_point - 1, 'FMSG999')
  end;
end
$$;

-- The canonical text of a value. It calls itself for members that are objects, lists or numbers.
create or replace function tenure.canonical_text(p_value jsonb) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
begin
  case jsonb_typeof(p_value)
    when 'object' then
      return '{' || coalesce((
        select string_agg(to_json(e.key)::text || ':' || case
                 when jsonb_typeof(e.value) in ('object', 'array', 'number')
                   then tenure.canonical_text(e.value)
                 else e.value::text
               end, ',' order by tenure.utf16_rank(e.key))
          from jsonb_each(p_value) e), '') || '}';
    when 'array' then
      return '[' || coalesce((
        select string_agg(case
                 when jsonb_typeof(e.value) in ('object', 'array', 'number')
                   then tenure.canonical_text(e.value)
                 else e.value::text
               end, ',' order by e.n)
          from jsonb_array_elements(p_value) with ordinality e (value, n)), '') || ']';
    when 'number' then
      return case
        when p_value::text ~ '^(0|-?[1-9]\d{0,14})$' then p_value::text
        else tenure.canonical_number((p_value #>> '{}')::numeric)
      end;
    else
      return p_value::text;
  end case;
end
$$;

-- The canonical text of a plan that tenure.plan_document read. Refuses one that is too long to be stored.
create or replace function tenure.plan_canonical(p_plan jsonb) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := tenure.canonical_text(p_plan);
begin
  if octet_length(v_text) > tenure.limit_of('plan_bytes_max') then
    perform tenure.plan_refuse('The plan', 'too_large',
      format('It has %s bytes without white space; at most %s are allowed.',
        octet_length(v_text), tenure.limit_of('plan_bytes_max')));
  end if;
  return v_text;
end
$$;
