-- Checks of names, words and numbers that callers give, and the ids of jobs.

-- True when the text is null, empty, or has only white space of any script and zero-width characters.
create or replace function tenure.is_blank(p_text text) returns boolean
language sql immutable parallel safe
as $$
  select p_text is null or p_text !~
    $r$[^\s\u0085\u00a0\u00ad\u1680\u180e\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]$r$
$$;

-- The first character that has no shape of its own (Default_Ignorable_Code_Point of Unicode), changes the
-- direction of the text around it, separates lines, or marks annotations; null if there is none. Two names
-- that differ by one of these look alike.
create or replace function tenure.deceptive_sign(p_text text) returns text
language sql immutable parallel safe
as $$
  select substring(
    p_text from $r$[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e$r$
      || $r$\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3$r$
      || $r$\U0001d173-\U0001d17a\U000e0000-\U000e0fff]$r$)
$$;

-- Refuses a name that is blank (tabs, newlines and the like count as blank) or too long, or that has control,
-- zero-width or bidirectional characters.
create or replace function tenure.check_name(p_what text, p_name text) returns void
language plpgsql
as $$
begin
  if tenure.is_blank(p_name) then
    perform tenure.refuse('name_blank', format('The %s is blank.', p_what),
      'A name needs at least one character that is not white space.', format('Give the %s a name.', p_what));
  elsif length(p_name) > tenure.limit_of('name_chars_max') then
    perform tenure.refuse('name_invalid', format('The %s has %s characters.', p_what, length(p_name)),
      format('A name has at most %s (name_chars_max).', tenure.limit_of('name_chars_max')), 'Shorten it.');
  elsif p_name ~ $r$[\u0001-\u001f\u007f-\u009f]$r$ then
    perform tenure.refuse('name_invalid', format('The %s has a control character.', p_what),
      'Tabs, newlines and other control characters make names that look alike.', 'Remove it.');
  elsif tenure.deceptive_sign(p_name) is not null then
    perform tenure.refuse('name_invalid',
      format($r$The %s holds the character \u{%s}.$r$, p_what,
        to_hex(ascii(tenure.deceptive_sign(p_name)))),
      'Zero-width characters and those that change the direction of text make names that look alike.',
      'Remove it.');
  end if;
end
$$;

-- The names with which the database signs what it does without a caller.
create or replace function tenure.reserved_actors() returns text[]
language sql immutable parallel safe
as $$ select array['execution', 'migrate', 'policy', 'reaper', 'relay', 'retention', 'scheduler'] $$;

-- Refuses a caller's name that is reserved for the database itself.
create or replace function tenure.check_actor(p_what text, p_name text) returns void
language plpgsql
as $$
begin
  if p_name = any (tenure.reserved_actors()) then
    perform tenure.refuse('name_invalid', format('The %s cannot be %s.', p_what, p_name),
      format('The database signs what it does itself with these names: %s.',
        array_to_string(tenure.reserved_actors(), ', ')),
      'Choose another name.');
  end if;
end
$$;

-- Refuses a number outside its bounds, naming them.
-- granted to: all
create or replace function tenure.check_number(p_what text, p_value bigint, p_min bigint, p_max bigint)
returns void
language plpgsql
as $$
begin
  if p_value is null or p_value < p_min or p_value > p_max then
    perform tenure.refuse('number_out_of_range',
      format('%s is %s.', p_what, coalesce(p_value::text, 'missing')),
      format('It must lie between %s and %s.', p_min, p_max),
      'Give a number within these bounds.');
  end if;
end
$$;

-- Refuses a word that is not one of the list, naming the list.
create or replace function tenure.check_word(p_code text, p_what text, p_value text, p_allowed text[])
returns void
language plpgsql
as $$
begin
  if p_value is null or p_value <> all (p_allowed) then
    perform tenure.refuse(p_code, format('The %s %L is not known.', p_what, p_value),
      format('It is one of: %s.', array_to_string(p_allowed, ', ')), 'Use one of these.');
  end if;
end
$$;

-- Checks each word of a filter that takes several. An empty filter would find nothing, so it is refused.
create or replace function tenure.check_filter(
  p_what text, p_values text[], p_allowed text[], p_code text default 'value_unknown') returns void
language plpgsql
as $$
declare
  v_value text;
begin
  if cardinality(p_values) = 0 then
    perform tenure.refuse(p_code, format('The list for the %s is empty.', p_what),
      format('It names one or more of: %s.', array_to_string(p_allowed, ', ')),
      'Name one, or leave the filter out.');
  end if;
  foreach v_value in array p_values loop
    perform tenure.check_word(p_code, p_what, v_value, p_allowed);
  end loop;
end
$$;

-- The word of the list that is nearest to p_word; null when none is near.
create or replace function tenure.nearest_word(p_word text, p_words text[]) returns text
language sql immutable parallel safe
as $$
  select n.word
    from (select w.word, tenure.word_distance(w.word, p_word) as distance
            from unnest(p_words) w (word)) n
   where n.distance <= (length(p_word) + 1) / 2
   order by n.distance, n.word
   limit 1
$$;

-- The distance of two words: the number of pairs of letters of each that are missing in the other.
create or replace function tenure.word_distance(p_a text, p_b text) returns integer
language sql immutable parallel safe
as $$
  with a as (select substr(lower(p_a), n, 2) as pair from generate_series(1, greatest(length(p_a) - 1, 1)) n),
       b as (select substr(lower(p_b), n, 2) as pair from generate_series(1, greatest(length(p_b) - 1, 1)) n)
  select ((select count(*) from a where a.pair not in (select b.pair from b))
        + (select count(*) from b where b.pair not in (select a.pair from a)))::integer
$$;

-- Cuts a text to p_bytes_max bytes without breaking a character.
create or replace function tenure.cut_text(p_text text, p_bytes_max integer) returns text
language sql immutable parallel safe
as $$
  select case
    -- Null first: otherwise it would go through the lengths one by one.
    when p_text is null or octet_length(p_text) <= p_bytes_max then p_text
    else left(p_text, (
      select max(n)
        from generate_series(greatest(0, (p_bytes_max - 3) / 4), p_bytes_max - 3) n
       where octet_length(left(p_text, n)) <= p_bytes_max - 3)) || '…'
  end
$$;

-- A number for a priority name: urgent, normal, bulk, or the number itself.
-- granted to: all
create or replace function tenure.priority_of(p_name text) returns integer
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  case lower(trim(p_name))
    when 'urgent' then return 100;
    when 'normal' then return 0;
    when 'bulk' then return -100;
    else
      if p_name ~ E'^[ \t]*[+-]?[0-9]{1,5}[ \t]*$' then
        perform tenure.check_number('The priority', p_name::bigint, -32767, 32767);
        return p_name::integer;
      end if;
      perform tenure.refuse('priority_unknown', format('The priority %L is not known.', p_name),
        'A priority is urgent (100), normal (0), bulk (-100) or a whole number between -32767 and 32767; '
          'higher is sooner.',
        'Use one of these.');
  end case;
  return null;
end
$$;

-- A time-ordered id (UUID version 7): milliseconds, microseconds within the millisecond, then random bits.
create or replace function tenure.new_id(p_at timestamptz) returns uuid
language sql volatile parallel safe
as $$
  select encode(
    overlay(
      overlay(
        uuid_send(gen_random_uuid())
        placing substring(int8send(floor(extract(epoch from p_at) * 1000)::bigint) from 3) from 1 for 6)
      placing substring(
        int8send(28672 + ((extract(microseconds from p_at)::bigint % 1000) * 4096 / 1000))
        from 7) from 7 for 2),
    'hex')::uuid
$$;

-- The smallest id a job made at this time can have: the bound of a partition.
create or replace function tenure.id_floor(p_at timestamptz) returns uuid
language sql immutable parallel safe
as $$
  select (
    lpad(to_hex(floor(extract(epoch from p_at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$;

-- The time in a version 7 id.
create or replace function tenure.id_time(p_id uuid) returns timestamptz
language sql immutable parallel safe
as $$
  select to_timestamp(
    ('x' || lpad(left(replace(p_id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
$$;
