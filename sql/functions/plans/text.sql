-- The text of a plan, read more strictly than JSON: no name twice, no number that would be rounded, no key
-- that names a secret. crates/core/src/plan/node.rs decides the same for every surface but raw SQL;
-- crates/core/testdata/plans keeps both equal.

-- A text of the plan as a refusal shows it: in quotes, without characters that a terminal would interpret,
-- and cut after 64 characters.
create or replace function tenure.plan_quoted(p_text text) returns text
language sql immutable parallel safe
set standard_conforming_strings = on
as $$
  select '"' || coalesce(string_agg(case
           when c.sign in ('"', '\') then '\' || c.sign
           when c.sign = E'\n' then '\n'
           when c.sign = E'\r' then '\r'
           when c.sign = E'\t' then '\t'
           when c.sign = U&'\FFFE' then '\0'
           when c.sign ~
               '[\u0001-\u001f\u007f-\u009f\u00a0\u00ad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f'
               '\u3000\ufeff\uffff]'
             then '\u{' || to_hex(ascii(c.sign)) || '}'
           else c.sign
         end, '' order by c.n), '') || '"'
    from regexp_split_to_table(
           case when length(p_text) > 64 then left(p_text, 64) || '…' else p_text end, '')
         with ordinality c (sign, n)
$$;

-- The place of a field, such as steps[3].needs. Without a parent it is a field of the plan itself.
create or replace function tenure.plan_place(p_parent text, p_name text) returns text
language sql immutable parallel safe
as $$
  select case
    when p_name ~ '^[A-Za-z_][A-Za-z0-9_]{0,63}$'
      then coalesce(p_parent || '.', '') || p_name
    else coalesce(p_parent, '') || '[' || tenure.plan_quoted(p_name) || ']'
  end
$$;

-- The place that a path through the document leads to. Each number of the path is the ordinal of a member
-- or an item.
create or replace function tenure.plan_place_at(p_document json, p_at integer[]) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value json := p_document;
  v_place text;
  v_name text;
  v_n integer;
begin
  foreach v_n in array p_at loop
    if json_typeof(v_value) = 'object' then
      select e.key, e.value into v_name, v_value
        from json_each(v_value) with ordinality e (key, value, n)
       where e.n = v_n;
      v_place := tenure.plan_place(v_place, v_name);
    else
      v_value := v_value -> (v_n - 1);
      v_place := format('%s[%s]', coalesce(v_place, 'The plan'), v_n - 1);
    end if;
  end loop;
  return coalesce(v_place, 'The plan');
end
$$;

-- False for a number that a double would round: 9007199254740992 and beyond, where two integers share one
-- double, and one so small that it would become 0. Also false for a spelling that jsonb cannot hold, such
-- as 0e-20000.
create or replace function tenure.is_plan_number(p_text text) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return abs(p_text::double precision) <= 9007199254740991 and p_text::numeric is not null;
exception when numeric_value_out_of_range then
  return false;
end
$$;

-- The text with U+FFFE for every escaped NUL and U+FFFF for every unpaired surrogate. PostgreSQL does not
-- read JSON that has them, and the refusal must name their place.
create or replace function tenure.plan_readable(p_text text) returns text
language sql immutable parallel safe
set standard_conforming_strings = on
as $$
  select string_agg(e.part[1] || case
           when e.part[2] = '\u0000' then U&'\FFFE'
           when e.part[2] ~* '^\\ud[89a-f]..$' then U&'\FFFF'
           else e.part[2]
         end, '' order by e.n)
    from regexp_matches(p_text, '([^\\]*)(\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|$)', 'g')
         with ordinality e (part, n)
$$;

-- The first thing in the document that no plan may have, whatever its fields are, in the order of reading:
-- the names of an object come before its values. No row when the document is in order. p_marked says that
-- the text went through tenure.plan_readable.
create or replace function tenure.plan_document_finding(p_document json, p_marked boolean)
returns table (finding text, at integer[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
begin
  return query
    with recursive walk (parent, n, at, name, value, form) as (
      select '{}'::integer[], 0, '{}'::integer[], null::text, p_document, json_typeof(p_document)
      union all
      select w.at, c.n, w.at || c.n, c.name, c.value, json_typeof(c.value)
        from walk w
        cross join lateral (
          select e.n::integer, e.key, e.value
            from json_each(case w.form when 'object' then w.value else '{}' end)
                 with ordinality e (key, value, n)
          union all
          select e.n::integer, null, e.value
            from json_array_elements(case w.form when 'array' then w.value else '[]' end)
                 with ordinality e (value, n)
        ) c (n, name, value)
       where w.form in ('object', 'array')
         and cardinality(w.at) < tenure.limit_of('plan_depth_max')
    ),
    twice as (
      select w.parent, (select n from unnest(array_agg(w.n)) n order by n offset 1 limit 1) as n
        from walk w
       where w.name is not null
       group by w.parent, w.name
      having count(*) > 1
    ),
    findings (finding, at, rank) as (
      select 'too_deep', w.at, w.at
        from walk w
       where w.form in ('object', 'array')
         and cardinality(w.at) = tenure.limit_of('plan_depth_max')
      union all
      -- Numbers of up to fifteen characters without an exponent always fit.
      select 'number_rounded', w.at, w.at
        from walk w
       where w.form = 'number'
         and (length(w.value::text) > 15 or w.value::text ~ '[eE]')
         and not tenure.is_plan_number(w.value::text)
      union all
      select case when strpos(w.value::text, U&'\FFFF') > 0 then 'half_character' else 'nul_character' end,
             w.at, w.at
        from walk w
       where p_marked
         and w.form = 'string'
         and w.value::text ~ U&'[\FFFE\FFFF]'
      union all
      -- An object with such a name cannot be read at all.
      select 'half_character', w.parent, w.parent
        from walk w
       where p_marked
         and strpos(w.name, U&'\FFFF') > 0
      union all
      select 'nul_character', w.at, w.parent || array[0, w.n, 1]
        from walk w
       where p_marked
         and strpos(w.name, U&'\FFFE') > 0
      union all
      select 'key_forbidden', w.at, w.parent || array[0, w.n, 2]
        from walk w
       where lower(translate(w.name, U&'\212A', 'k') collate "C") = any (array[
               'body', 'content', 'raw', 'vector', 'embedding', 'secret', 'token', 'password', 'ssn',
               'personal_data'])
          or starts_with(w.name, '$serde_json::private::')
      union all
      select 'name_twice', t.parent || t.n, t.parent || array[0, t.n, 3]
        from twice t
    )
    select f.finding, f.at
      from findings f
     order by f.rank
     limit 1;
end
$$;

-- Reads the text of a plan as a document. Refuses one that is too long, not JSON, nested too deep, has a
-- name twice or a forbidden key, or holds what PostgreSQL or a double cannot.
create or replace function tenure.plan_document(p_text text) returns json
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_document json;
  v_why      text;
  v_bytes    bigint := tenure.limit_of('plan_submitted_bytes_max');
  v_deep     text := format('At most %s objects and lists within each other are allowed.',
    tenure.limit_of('plan_depth_max'));
  v_marked   boolean := p_text ~* '\\u(0000|d[89a-f])';
  v_found    record;
begin
  if octet_length(p_text) > v_bytes then
    perform tenure.plan_refuse('The plan', 'too_large',
      format('It has %s bytes; at most %s are allowed.', octet_length(p_text), v_bytes));
  end if;
  begin
    v_document := coalesce(p_text, '')::json;
  exception
    when statement_too_complex then
      perform tenure.plan_refuse('The plan', 'too_deep', v_deep);
    when invalid_text_representation then
      get stacked diagnostics v_why = pg_exception_detail;
      perform tenure.plan_refuse('The plan', 'not_json', v_why);
  end;
  if v_marked then
    v_document := tenure.plan_readable(p_text)::json;
  end if;
  select f.finding, f.at into v_found from tenure.plan_document_finding(v_document, v_marked) f;
  if found then
    perform tenure.plan_refuse(tenure.plan_place_at(v_document, v_found.at), v_found.finding,
      case when v_found.finding = 'too_deep' then v_deep end);
  end if;
  return v_document;
end
$$;
