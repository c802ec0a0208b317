-- Windows: the times of the week in which a rule lets an execution start.

-- The next time at which all of several windows are open; infinity if 400 rounds find none.
create or replace function tenure.windows_open(p_windows jsonb, p_now timestamptz) returns timestamptz
language plpgsql stable
as $$
declare
  v_at   timestamptz := p_now;
  v_next timestamptz;
begin
  for v_round in 1 .. 400 loop
    select max(tenure.window_opens(w, v_at)) into v_next from jsonb_array_elements(p_windows) w;
    if v_next = v_at then
      return v_at;
    end if;
    v_at := v_next;
  end loop;
  return 'infinity';
end
$$;

-- The next time at which a window is open: now, if it is. Its days are those on which it opens, 1 for Monday;
-- it may extend past midnight. Of a list of windows all must be open.
create or replace function tenure.window_opens(p_window jsonb, p_now timestamptz) returns timestamptz
language sql stable
as $$
  select case
    when p_window is null then p_now
    when jsonb_typeof(p_window) = 'array' then tenure.windows_open(p_window, p_now)
    else (
      select greatest(p_now, o.opens)
        from (
          select ((d.day + (p_window ->> 'from')::time)
                   at time zone coalesce(p_window ->> 'zone', 'UTC')) as opens,
                 ((d.day + (p_window ->> 'to')::time + case
                     when (p_window ->> 'to')::time <= (p_window ->> 'from')::time then interval '1 day'
                     else interval '0'
                   end)
                   at time zone coalesce(p_window ->> 'zone', 'UTC')) as closes
            from generate_series(-1, 8) g
            cross join lateral (
              select (p_now at time zone coalesce(p_window ->> 'zone', 'UTC'))::date + g as day) d
           where not p_window ? 'days'
              or (p_window -> 'days') @> to_jsonb(extract(isodow from d.day)::integer)) o
       where o.closes > p_now
       order by o.opens
       limit 1)
  end
$$;

-- Refuses an invalid window. Null, in SQL or JSON, is valid: no window.
create or replace function tenure.check_window(p_window jsonb) returns void
language plpgsql
set standard_conforming_strings = on
as $$
begin
  if p_window is null or jsonb_typeof(p_window) = 'null' then
    return;
  end if;
  if jsonb_typeof(p_window) <> 'object'
     or (p_window ->> 'from' ~ '^([01]\d|2[0-3]):[0-5]\d$'
         and p_window ->> 'to' ~ '^([01]\d|2[0-3]):[0-5]\d$') is not true
     or p_window - array['days', 'from', 'to', 'zone'] <> '{}'
     or (p_window ? 'days' and (
       jsonb_typeof(p_window -> 'days') <> 'array'
       or jsonb_array_length(p_window -> 'days') = 0
       or not p_window -> 'days' <@ '[1, 2, 3, 4, 5, 6, 7]')) then
    perform tenure.refuse('range_invalid', format('%s is no window.', left(p_window::text, 200)),
      'It has from and to (HH:MM), and may have days (1 to 7, Monday first) and a zone.',
      'Give one such as {"days": [6, 7], "from": "22:00", "to": "04:00", "zone": "Europe/Berlin"}.');
  end if;
  if p_window ? 'zone'
     and not exists (select from pg_catalog.pg_timezone_names z where z.name = p_window ->> 'zone') then
    perform tenure.refuse('zone_unknown', format('%L is no time zone.', p_window ->> 'zone'),
      'It is a name of the IANA database.',
      'Give one such as Europe/Berlin or UTC.');
  end if;
end
$$;
