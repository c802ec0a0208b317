-- Who may hold work, and whether they are alive.

create table tenure.executors (
  name       text        primary key check (name ~ '\S' and length(name) <= 200),
  role       text        not null check (role in ('executor', 'generator')),
  note       text        not null default '',
  created_at timestamptz not null default clock_timestamp()
);
comment on table tenure.executors is 'The whitelist as data. An executor may claim; a generator makes work and may never claim.';
insert into tenure.executors (name, role, note) values
  ('DOT',                   'executor',  'operation scripts'),
  ('Agent',                 'executor',  'general agents'),
  ('Hermes',                'executor',  'messenger agents'),
  ('Codex',                 'executor',  'coding agents'),
  ('PG_worker',             'executor',  'workers next to the database'),
  ('external_worker',       'executor',  'any other program; the default'),
  ('future_Kestra_adapter', 'executor',  'reserved for an orchestrator'),
  ('MOT',                   'generator', 'makes workflows and jobs, never runs them');

create table tenure.event_domains (
  domain      text primary key check (domain ~ '^[a-z_]+$'),
  description text not null
);
comment on table tenure.event_domains is 'What an event or a job is about, in one word.';
insert into tenure.event_domains (domain, description) values
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
  last_tick_at     timestamptz not null,
  last_tick_status text        not null default 'ok' check (last_tick_status in ('ok', 'warn', 'error')),
  ticks_total      bigint      not null default 0 check (ticks_total >= 0),
  current_job_id   uuid,
  lease_owner      text,
  instance         uuid,
  metadata         jsonb       not null default '{}',
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  primary key (tenant_id, executor_name)
);
create index heartbeats_executor_kind on tenure.heartbeats (executor_kind, last_tick_at);
comment on table tenure.heartbeats is 'One row per executor instance and tenant: when it last said that it is alive.';

alter table tenure.heartbeats enable row level security, force row level security;
create policy own_tenant on tenure.heartbeats
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- A generator such as MOT has no heartbeat, whoever writes the row.
create function tenure.heartbeats_only_executors() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from tenure.executors e where e.name = new.executor_kind and e.role = 'executor') then
    raise exception using errcode = 'TN010', message = format('%s cannot claim, so it has no heartbeat.', new.executor_kind),
      detail = 'It is a generator: it makes work and never runs it.', hint = 'Beat as one of the executors of tenure.executor_list().';
  end if;
  return new;
end
$$;
create trigger heartbeats_only_executors before insert or update of executor_kind on tenure.heartbeats
  for each row execute function tenure.heartbeats_only_executors();
