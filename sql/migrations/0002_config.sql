-- Typed configuration: gates and tuning, changed at run time. Migrating alone leaves every gate closed.

create table tenure.config_keys (
  key           text   primary key check (key ~ '^[a-z0-9_.]+$'),
  value_type    text   not null check (value_type in ('boolean', 'integer')),
  default_value jsonb  not null,
  value_min     bigint,
  value_max     bigint,
  is_gate       boolean not null default false,
  description   text   not null,
  check (is_gate = (value_type = 'boolean' and key like '%.enabled')),
  check (value_type <> 'boolean' or jsonb_typeof(default_value) = 'boolean'),
  check (value_type <> 'integer' or (jsonb_typeof(default_value) = 'number' and value_min is not null and value_max is not null))
);
comment on table tenure.config_keys is 'Every configuration key: type, default, bounds. tenure.config holds only what was set.';

insert into tenure.config_keys (key, value_type, default_value, value_min, value_max, is_gate, description) values
  ('queue.job_substrate.enabled',             'boolean', 'false', null, null, true,  'Master gate of all job functions.'),
  ('queue.worker.enabled',                    'boolean', 'false', null, null, true,  'Gate of the worker loop, which comes with the worker runtime; a claim by hand does not ask it.'),
  ('queue.notify.enabled',                    'boolean', 'false', null, null, true,  'Gate of the wake-up by notification.'),
  ('queue.heartbeat.enabled',                 'boolean', 'false', null, null, true,  'Gate of executor heartbeats.'),
  ('queue.heartbeat.stale_threshold_seconds', 'integer', '300', 1, 86400, false,     'An executor is fresh below this age of its last tick, a warning below twice of it, then stale.'),
  ('queue.retry.max_attempts_default',        'integer', '5', 1, 1000, false,        'Attempts of a job whose kind and caller say nothing.'),
  ('queue.retry.backoff_base_sec',            'integer', '10', 1, 86400, false,      'Base of the retry delay: base x 2^min(attempt-1, 10) seconds.'),
  ('queue.retry.jitter_percent',              'integer', '0', 0, 100, false,         'Random part added to a retry delay, at most this percentage of it.'),
  ('queue.lease.duration_sec',                'integer', '300', 1, 86400, false,     'Lease length when neither claim nor kind says one.'),
  ('queue.lease.duration_sec_max',            'integer', '3600', 1, 86400, false,    'Longest lease a claim may ask for.'),
  ('queue.kind.strict',                       'boolean', 'false', null, null, false, 'Refuse kinds without a policy instead of running them under the default policy.'),
  ('retention.succeeded_seconds',             'integer', '604800', 60, 315360000, false,  'A succeeded or cancelled job is cleaned this long after its end, unless its kind says otherwise.'),
  ('retention.failed_seconds',                'integer', '2592000', 60, 315360000, false, 'A failed job, or one whose dead letter is closed, is cleaned this long after its end, unless its kind says otherwise.'),
  ('retention.dead_letters_days',             'integer', '90', 1, 3650, false,       'A closed dead letter is removed this many days after it was closed.'),
  ('retention.tombstone_days',                'integer', '60', 31, 3650, false,      'A partition of cleaned jobs is dropped when its newest job is this old.'),
  ('retention.events_days',                   'integer', '30', 1, 3650, false,       'A partition of events is dropped when its newest event is this old.'),
  ('retention.partition_days',                'integer', '7', 1, 366, false,         'Time span of one partition of jobs, attempts and events.');

create table tenure.config (
  tenant_id  integer     not null references tenure.tenants,
  key        text        not null references tenure.config_keys,
  value      jsonb       not null,
  updated_at timestamptz not null default clock_timestamp(),
  updated_by text        not null check (updated_by ~ '\S'),
  primary key (tenant_id, key)
);
create index config_key on tenure.config (key);
comment on table tenure.config is 'Values that were set, for one tenant or (row 0) for all; anything else has its default.';

alter table tenure.config enable row level security, force row level security;
create policy own_tenant on tenure.config
  using (tenant_id = (select tenure.current_tenant()) or (tenant_id = 0) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- What the hot path reads of the configuration, as one row.
create type tenure.tuning as (
  jobs_open            boolean,
  heartbeat_open       boolean,
  notify_open          boolean,
  lease_seconds        integer,
  lease_seconds_max    integer,
  stale_seconds        integer,
  attempts_max         integer,
  backoff_base_seconds integer,
  jitter_percent       integer,
  strict_kinds         boolean
);
