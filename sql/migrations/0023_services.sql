-- A service leaves a trace when it has run. Without it a worker that has no server beside it cannot know that
-- expired leases stay held and that schedules do not fire.

create table tenure.services (
  service     text        not null check (service ~ '\S' and length(service) <= 200),
  instance    uuid        not null,
  version     text        not null check (version ~ '\S' and length(version) <= 200),
  zones       text        check (zones ~ '\S' and length(zones) <= 200),
  started_at  timestamptz not null,
  last_run_at timestamptz not null,
  primary key (service, instance)
) with (fillfactor = 50);
comment on table tenure.services is
  'One row per service and process: when it last ran to its end. A service acts for all tenants.';
comment on column tenure.services.zones is
  'The version of the time zone data that the process computes with.';
