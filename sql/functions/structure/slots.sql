-- Sets updated_at of a slot that was changed by a statement that did not.
create or replace function tenure.planned_slots_touched() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.updated_at := tenure.now();
  return new;
end
$$;
