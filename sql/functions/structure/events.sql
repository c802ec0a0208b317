-- The default and the guard of events.

create or replace function tenure.current_epoch() returns integer
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select i.epoch from tenure.installation i);
end
$$;

create or replace function tenure.events_never_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'TN014',
    message = 'An event cannot be changed or deleted.',
    detail = 'The stream is append-only; retention drops whole partitions.',
    hint = 'Write a new event by doing something new.';
end
$$;
