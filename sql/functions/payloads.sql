-- Payloads: their checks (size, depth, forbidden keys, long numbers) and how they are shown.

-- False when no JSON in the text has a forbidden key at any depth, in any case; true means that it must be
-- checked more closely. A key stands in quotes, letter by letter unless it is written in escapes
-- (\u0074oken). Plain searches cost a third of one regular expression, and one text of a whole batch hardly
-- more than that of one payload. U+212A is the Kelvin sign, another upper case of k. A name that begins
-- with $serde_json::private:: is forbidden too: programs in Rust read its value as a number, or as JSON
-- within a text, as deep as such texts nest.
create or replace function tenure.may_have_forbidden_key(p_text text) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_text text := lower(p_text collate "C");
begin
  return strpos(v_text, '"body"') > 0 or strpos(v_text, '"content"') > 0
    or strpos(v_text, '"raw"') > 0 or strpos(v_text, '"vector"') > 0
    or strpos(v_text, '"embedding"') > 0 or strpos(v_text, '"secret"') > 0 or strpos(v_text, '"token"') > 0
    or strpos(v_text, E'"to\u212Aen"') > 0 or strpos(v_text, '"password"') > 0 or strpos(v_text, '"ssn"') > 0
    or strpos(v_text, '"personal_data"') > 0 or strpos(v_text, $r$\u$r$) > 0
    or strpos(v_text, '"$serde_json::private::') > 0;
end
$$;

-- The closer check of a batch in which a forbidden word occurs: true if none of them is a key, that is,
-- stands before a colon. Letters written as escapes are decoded first. The text itself is searched, not its
-- jsonb: of two equal keys jsonb drops the first, with all that is in it.
create or replace function tenure.are_clean(p_payloads json[]) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_text text;
begin
  select lower(string_agg(x.payload::text, '') collate "C") into v_text from unnest(p_payloads) x (payload);
  if strpos(v_text, $r$\u$r$) > 0 then
    -- An escape that does not stand for a character fails here, as it would for every reader.
    perform count(x.payload::jsonb)
       from unnest(p_payloads) x (payload)
      where strpos(x.payload::text, $r$\u$r$) > 0;
    for v_code in 97 .. 122 loop
      v_text := replace(replace(v_text, $r$\u00$r$ || to_hex(v_code), chr(v_code)),
        $r$\u00$r$ || to_hex(v_code - 32), chr(v_code));
    end loop;
    v_text := replace(replace(v_text, $r$\u005f$r$, '_'), $r$\u212a$r$, 'k');
    v_text := replace(replace(v_text, $r$\u0024$r$, '$'), $r$\u003a$r$, ':');
  end if;
  return v_text !~
    $r$"(body|content|raw|vector|embedding|secret|to[k\u212a]en|password|ssn|personal_data)"\s*:$r$
    and strpos(v_text, '"$serde_json::private::') = 0;
end
$$;

-- The path of the first forbidden key, or null.
create or replace function tenure.forbidden_path(p_payload json) returns text
language sql immutable parallel safe
as $$
  with recursive walk (path, value, forbidden) as (
    select '$', p_payload, false
    union all
    select w.path || c.step, c.value, c.forbidden
      from walk w
      cross join lateral (
        select case
                 when e.key ~ '^[A-Za-z_][A-Za-z0-9_]*$' then '.' || e.key
                 else '[' || to_json(e.key) || ']'
               end as step,
               e.value,
               lower(translate(e.key, E'\u212A', 'k') collate "C") = any (array['body', 'content', 'raw',
                 'vector', 'embedding', 'secret', 'token', 'password', 'ssn', 'personal_data'])
                 or starts_with(e.key, '$serde_json::private::') as forbidden
          from json_each(case when json_typeof(w.value) = 'object' then w.value else '{}' end) e
        union all
        select '[' || (a.ordinal - 1) || ']', a.value, false
          from json_array_elements(case when json_typeof(w.value) = 'array' then w.value else '[]' end)
                 with ordinality a (value, ordinal)
      ) c
     where not w.forbidden
  )
  select w.path from walk w where w.forbidden order by length(w.path), w.path limit 1
$$;

-- The nesting depth of objects and lists in JSON text.
create or replace function tenure.json_depth(p_text text) returns bigint
language sql immutable parallel safe
as $$
  with brackets as (
    select regexp_replace(regexp_replace(p_text, $r$"([^"\\]|\\.)*"$r$, '', 'g'), '[^][{}]', '', 'g') as signs
  ), levels as (
    select sum(case when s.sign in ('[', '{') then 1 else -1 end) over (order by s.n) as depth
      from brackets b
      cross join string_to_table(b.signs, null) with ordinality s (sign, n)
  )
  select coalesce(max(l.depth), 0)::bigint from levels l
$$;

-- False when JSON text has too few brackets to be deeper than payload_depth_max; true means that it must be
-- checked more closely.
create or replace function tenure.may_be_deep(p_text text) returns boolean
language sql immutable parallel safe
as $$
  select octet_length(p_text) > 2 * tenure.limit_of('payload_depth_max')
    and octet_length(p_text) - octet_length(replace(replace(p_text, '[', ''), '{', ''))
      > tenure.limit_of('payload_depth_max')
$$;

-- Whether programs cannot read a jsonb value, because it is deeper than payload_depth_max, or has a member
-- name that begins with $serde_json::private::. Neither fits into a few bytes.
create or replace function tenure.is_unreadable(p_value jsonb) returns boolean
language sql immutable parallel safe
as $$
  select pg_column_size(p_value) > 32 and (
    (strpos(p_value::text, '"$serde_json::private::') > 0
      and p_value::text ~ $r$[{ ]"\$serde_json::private::([^"\\]|\\.)*":$r$)
    or (tenure.may_be_deep(p_value::text)
      and tenure.json_depth(p_value::text) > tenure.limit_of('payload_depth_max')))
$$;

-- Refuses a payload, or a value under the same rules, that is not an object, is too large or too deep, or
-- has at any depth a forbidden key or a number with too large an exponent. The refusal names the path.
create or replace function tenure.check_payload(p_what text, p_payload json, p_bytes_max bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_path text;
begin
  if json_typeof(p_payload) is distinct from 'object' then
    perform tenure.refuse('payload_not_object',
      format('The %s is %s, not a JSON object.', p_what, case json_typeof(p_payload)
        when 'array' then 'an array'
        when 'string' then 'a string'
        when 'number' then 'a number'
        when 'boolean' then 'a boolean'
        else coalesce(json_typeof(p_payload), 'missing') end),
      'It carries named signals, never bare values.', 'Give an object, such as {"ref": "…"}.');
  end if;
  if octet_length(p_payload::text) > p_bytes_max then
    perform tenure.refuse('payload_too_large',
      format('The %s has %s bytes.', p_what, octet_length(p_payload::text)),
      format('It has at most %s bytes, measured uncompressed: it carries references, not data.', p_bytes_max),
      'Store the bytes elsewhere and pass a reference.');
  end if;
  if tenure.may_be_deep(p_payload::text)
     and tenure.json_depth(p_payload::text) > tenure.limit_of('payload_depth_max') then
    perform tenure.refuse('payload_too_large',
      format('The %s is %s levels deep.', p_what, tenure.json_depth(p_payload::text)),
      format('At most %s objects and lists within each other are allowed (payload_depth_max): readers of '
        'JSON go little deeper.', tenure.limit_of('payload_depth_max')),
      'Make it flatter, or pass a reference to the data.');
  end if;
  if strpos(p_payload::text, $r$\u$r$) > 0 then
    perform p_payload::jsonb;
  end if;
  v_path := tenure.forbidden_path(p_payload);
  if strpos(v_path, '["$serde_json::private::') > 0 then
    perform tenure.refuse('payload_forbidden_key', format('The %s has the forbidden key %s.', p_what, v_path),
      'Programs in Rust do not read a name that begins with $serde_json::private:: as a name.', 'Rename it.');
  elsif v_path is not null then
    perform tenure.refuse('payload_forbidden_key', format('The %s has the forbidden key %s.', p_what, v_path),
      'Keys named body, content, raw, vector, embedding, secret, token, password, ssn or personal_data carry '
        'data or secrets, at any depth and in any case.',
      'Pass a reference to the data instead.');
  end if;
  if tenure.may_have_long_number(p_payload::text) then
    v_path := tenure.long_number_path(p_payload);
    if v_path is not null then
      perform tenure.refuse_long_number(p_what, v_path);
    end if;
  end if;
end
$$;

-- False when no JSON in the text has a number with an exponent of three digits; true means that it must be
-- checked more closely. PostgreSQL writes a number out when it shows it: 1e131071 takes 128 KB, and many fit
-- into one payload.
create or replace function tenure.may_have_long_number(p_text text) returns boolean
language sql immutable parallel safe
as $$ select p_text ~ '[[:space:]:,[]-?[0-9][0-9.]*[eE][+-]?[0-9]{3}' $$;

-- The path of the first number whose exponent is beyond number_exponent_max, or null.
create or replace function tenure.long_number_path(p_payload json) returns text
language sql immutable parallel safe
as $$
  with recursive walk (path, value) as (
    select '$', p_payload
    union all
    select w.path || c.step, c.value
      from walk w
      cross join lateral (
        select case
                 when e.key ~ '^[A-Za-z_][A-Za-z0-9_]*$' then '.' || e.key
                 else '[' || to_json(e.key) || ']'
               end as step,
               e.value
          from json_each(case when json_typeof(w.value) = 'object' then w.value else '{}' end) e
        union all
        select '[' || (a.ordinal - 1) || ']', a.value
          from json_array_elements(case when json_typeof(w.value) = 'array' then w.value else '[]' end)
                 with ordinality a (value, ordinal)
      ) c
  )
  select w.path
    from walk w
    cross join lateral (select substring(w.value::text from '[eE][+-]?0*([0-9]+)$') as exponent) x
   where json_typeof(w.value) = 'number'
     and (length(x.exponent) > 9 or x.exponent::bigint > tenure.limit_of('number_exponent_max'))
   order by length(w.path), w.path
   limit 1
$$;

-- Whether a jsonb value has a number beyond number_exponent_max, found without writing the number out.
create or replace function tenure.has_long_number(p_value jsonb) returns boolean
language sql immutable parallel safe
as $$
  select exists (
    select from jsonb_path_query(p_value, 'strict $.** ? (@.type() == "number")') n (value)
     -- pinned order: see sql/README.md
     cross join lateral (select n.value::numeric as number offset 0) x
     where scale(x.number) > 2 * tenure.limit_of('number_exponent_max')
        or abs(x.number) >= power(10::numeric, tenure.limit_of('number_exponent_max') + 1))
$$;

-- Refuses a jsonb value with a number beyond number_exponent_max, before it is converted to text.
create or replace function tenure.check_json_numbers(p_what text, p_value jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tenure.has_long_number(p_value) then
    perform tenure.refuse_long_number(p_what, 'a number');
  end if;
end
$$;

-- Refuses a number beyond number_exponent_max at this place.
create or replace function tenure.refuse_long_number(p_what text, p_place text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select tenure.refuse('number_out_of_range',
    format('The %s has %s with an exponent beyond %s.', p_what, p_place,
      tenure.limit_of('number_exponent_max')),
    format('An exponent is between -%1$s and %1$s (number_exponent_max): numbers are written out when shown.',
      tenure.limit_of('number_exponent_max')),
    'Write such a number as a text.')
$$;

-- A payload as jsonb, for people to read. If jsonb cannot hold it, or it is longer than shown_bytes_max with
-- its numbers written out, it is the text as a JSON string.
create or replace function tenure.payload_shown(p_payload json) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_shown jsonb;
begin
  if tenure.may_have_long_number(p_payload::text) and tenure.long_number_path(p_payload) is not null then
    return to_jsonb(p_payload::text);
  end if;
  v_shown := p_payload::jsonb;
  if octet_length(v_shown::text) > tenure.limit_of('shown_bytes_max') then
    return to_jsonb(p_payload::text);
  end if;
  return v_shown;
exception when data_exception or program_limit_exceeded then
  return to_jsonb(p_payload::text);
end
$$;
