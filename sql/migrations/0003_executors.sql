-- Programs that may hold work, and signs of life of executors and services.

create table tenure.executors (
  name       text        primary key check (name ~ '\S' and length(name) <= 200),
  role       text        not null check (role in ('executor', 'generator')),
  nature     text        not null default 'program' check (nature in ('program', 'agent')),
  note       text        not null default '',
  created_at timestamptz not null default clock_timestamp()
);
comment on table tenure.executors is
  'The list of allowed executors. An executor may claim; a generator makes work and can never claim.';
comment on column tenure.executors.nature is
  'Late slots of an agent are not run, unless the kind or the schedule says otherwise.';
insert into tenure.executors (name, role, nature, note)
values
  ('DOT',                   'executor',  'program', 'operation scripts'),
  ('Agent',                 'executor',  'agent',   'general agents'),
  ('Hermes',                'executor',  'agent',   'messenger agents'),
  ('Codex',                 'executor',  'agent',   'coding agents'),
  ('PG_worker',             'executor',  'program', 'workers next to the database'),
  ('external_worker',       'executor',  'program', 'any other program; the default'),
  ('future_Kestra_adapter', 'executor',  'program', 'reserved for an orchestrator'),
  ('MOT',                   'generator', 'program', 'makes workflows and jobs, never runs them');

create table tenure.event_domains (
  domain      text primary key check (domain ~ '^[a-z_]+$'),
  description text not null
);
comment on table tenure.event_domains is 'The subject area of an event or a job, in one word.';
insert into tenure.event_domains (domain, description)
values
  ('job',       'jobs and their transitions; the default'),
  ('agent',     'work of agents'),
  ('schedule',  'planned runs'),
  ('execution', 'plans and their steps'),
  ('approval',  'decisions'),
  ('lock',      'holds on targets'),
  ('artifact',  'bytes by reference'),
  ('config',    'gates, tuning, tenants, kinds'),
  ('system',    'the installation itself');

create table tenure.heartbeats (
  tenant_id        integer     not null references tenure.tenants,
  executor_name    text        not null check (executor_name ~ '\S' and length(executor_name) <= 200),
  executor_kind    text        not null references tenure.executors (name),
  instance         uuid,
  last_tick_at     timestamptz not null,
  last_tick_status text        not null default 'ok' check (last_tick_status in ('ok', 'warn', 'error')),
  ticks_total      bigint      not null default 0 check (ticks_total >= 0),
  current_job_id   uuid,
  lease_owner      text,
  metadata         jsonb       not null default '{}',
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  primary key (tenant_id, executor_name)
);
create index heartbeats_executor_kind on tenure.heartbeats (executor_kind, last_tick_at);
comment on table tenure.heartbeats is
  'One row per tenant and executor instance, with the time of its last sign of life.';
alter table tenure.heartbeats enable row level security, force row level security;
create policy own_tenant on tenure.heartbeats
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create trigger heartbeats_only_executors
  before insert or update of executor_kind on tenure.heartbeats
  for each row execute function tenure.heartbeats_only_executors();

-- Without these rows a worker cannot know whether expired leases are reaped and schedules fire.
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
  'One row per service and process, with the time of its last complete run. A service acts for all tenants.';
comment on column tenure.services.zones is
  'The version of the time zone data that the process computes with.';
