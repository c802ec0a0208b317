-- The guard of heartbeats. A generator such as MOT never claims, so it has none.
create or replace function tenure.heartbeats_only_executors() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from tenure.executors e where e.name = new.executor_kind and e.role = 'executor') then
    raise exception using
      errcode = 'TN010',
      message = format('%s cannot claim, so it has no heartbeat.', new.executor_kind),
      detail = 'It is a generator: it makes work and never runs it.',
      hint = 'Beat as one of the executors of tenure.executor_list().';
  end if;
  return new;
end
$$;
