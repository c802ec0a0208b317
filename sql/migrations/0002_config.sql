-- Configuration: gates and settings with a type, changed at run time. A migration leaves every gate closed.

create table tenure.config_keys (
  key           text    primary key check (key ~ '^[a-z0-9_.]+$'),
  value_type    text    not null check (value_type in ('boolean', 'integer', 'text')),
  default_value jsonb   not null,
  value_min     bigint,
  value_max     bigint,
  is_gate       boolean not null default false,
  description   text    not null,
  constraint config_keys_gate check (is_gate = (value_type = 'boolean' and key like '%.enabled')),
  constraint config_keys_boolean check (value_type <> 'boolean' or jsonb_typeof(default_value) = 'boolean'),
  constraint config_keys_text check (value_type <> 'text' or jsonb_typeof(default_value) = 'string'),
  constraint config_keys_integer check (
    value_type <> 'integer'
    or (jsonb_typeof(default_value) = 'number' and value_min is not null and value_max is not null))
);
comment on table tenure.config_keys is
  'Every configuration key with its type, default and bounds. tenure.config holds only values that were set.';

insert into tenure.config_keys (key, value_type, default_value, is_gate, description)
values
  ('queue.job_substrate.enabled', 'boolean', 'false', true,
   'Master gate of all job functions.'),
  ('queue.worker.enabled', 'boolean', 'false', true,
   'Gate of the worker loop, which comes with the worker runtime; a claim by hand does not ask it.'),
  ('queue.notify.enabled', 'boolean', 'false', true,
   'Gate of the wake-up by notification.'),
  ('queue.heartbeat.enabled', 'boolean', 'false', true,
   'Gate of executor heartbeats.'),
  ('queue.kind.strict', 'boolean', 'false', false,
   'Refuse kinds without a policy instead of running them under the default policy.'),
  ('executions.targets.strict', 'boolean', 'false', false,
   'Steps are taken only for targets that an approval rule names.'),
  ('executions.actions.open', 'boolean', 'false', false,
   'Open mode: an action without a registration is what the plan says; otherwise it is the strictest.'),
  ('governance.changes.need_approval', 'boolean', 'false', false,
   'Changes of actions, rules, target types, governed kinds and settings need a second admin''s approval.'),
  ('server.public_url', 'text', '""', false,
   'The URL under which people reach the server. Links in events begin with it; empty: they are paths.');

insert into tenure.config_keys (key, value_type, default_value, value_min, value_max, description)
values
  ('queue.heartbeat.stale_threshold_seconds', 'integer', '300', 1, 86400,
   'An executor is fresh below this age of its last tick, a warning below twice of it, then stale.'),
  ('queue.retry.max_attempts_default', 'integer', '5', 1, 1000,
   'Attempts of a job whose kind and caller say nothing.'),
  ('queue.retry.backoff_base_sec', 'integer', '10', 1, 86400,
   'Base of the retry delay: base x 2^min(attempt-1, 10) seconds.'),
  ('queue.retry.jitter_percent', 'integer', '0', 0, 100,
   'Random part added to a retry delay, at most this percentage of it.'),
  ('queue.lease.duration_sec', 'integer', '300', 1, 86400,
   'Lease length when neither claim nor kind says one.'),
  ('queue.lease.duration_sec_max', 'integer', '3600', 1, 86400,
   'Longest lease a claim may ask for.'),
  ('schedules.grace_seconds', 'integer', '60', 5, 86400,
   'A slot whose schedule catches nothing up is missed when it starts this much later than it is due.'),
  ('approvals.escalate_percent', 'integer', '75', 1, 99,
   'An approval that nobody decided about is escalated when so much of its time has passed.'),
  ('approvals.start_within_hours', 'integer', '24', 0, 8760,
   'An approved execution that has not started this many hours after it could is cancelled. 0: never.'),
  ('executions.timeout_seconds_max', 'integer', '86400', 1, 604800,
   'The longest timeout that a plan may set for its execution.'),
  ('evidence.anchor_minutes', 'integer', '10', 0, 1440,
   'The chain heads of executions go into a signed checkpoint this often; 0: never. Of the installation.'),
  ('retention.succeeded_seconds', 'integer', '604800', 60, 315360000,
   'A succeeded or cancelled job is cleaned this long after its end, unless its kind says otherwise.'),
  ('retention.failed_seconds', 'integer', '2592000', 60, 315360000,
   'A failed job, or one whose dead letter is closed, is cleaned this long after its end, unless its kind '
   'says otherwise.'),
  ('retention.dead_letters_days', 'integer', '90', 1, 3650,
   'A closed dead letter is removed this many days after it was closed.'),
  ('retention.tombstone_days', 'integer', '60', 31, 3650,
   'A partition of cleaned jobs is dropped when its newest job is this old.'),
  ('retention.events_days', 'integer', '30', 1, 3650,
   'A partition of events is dropped when its newest event is this old.'),
  ('retention.partition_days', 'integer', '7', 1, 366,
   'Time span of one partition of jobs, attempts and events.'),
  ('retention.deliveries_days', 'integer', '7', 1, 3650,
   'What was delivered to a webhook, or given up, is removed this many days after.'),
  ('retention.requests_hours', 'integer', '24', 1, 720,
   'The answer to a request with an Idempotency-Key is kept for this many hours.'),
  ('retention.slots_succeeded_days', 'integer', '30', 1, 3650,
   'A slot that succeeded or was skipped is removed this many days after its end.'),
  ('retention.slots_failed_days', 'integer', '90', 1, 3650,
   'A slot that failed or was cancelled is removed this many days after its end.'),
  ('retention.executions_days', 'integer', '90', 1, 3650,
   'An execution is archived with its evidence, and removed, this many days after its end.'),
  ('retention.anchor_leaves_days', 'integer', '400', 1, 3650,
   'The leaves of a checkpoint are removed this many days later; it stays itself. Of the installation.');

create table tenure.config (
  tenant_id  integer     not null references tenure.tenants,
  key        text        not null references tenure.config_keys,
  value      jsonb       not null,
  updated_at timestamptz not null default clock_timestamp(),
  updated_by text        not null check (updated_by ~ '\S'),
  primary key (tenant_id, key)
);
create index config_key on tenure.config (key);
comment on table tenure.config is
  'Values that were set, for one tenant or (tenant 0) for all. Every other key has its default.';
alter table tenure.config enable row level security, force row level security;
create policy own_tenant on tenure.config
  using (tenant_id = (select tenure.current_tenant()) or tenant_id = 0 or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.tunings (
  tenant_id            integer primary key references tenure.tenants,
  jobs_open            boolean not null,
  worker_open          boolean not null,
  heartbeat_open       boolean not null,
  notify_open          boolean not null,
  lease_seconds        integer not null,
  lease_seconds_max    integer not null,
  stale_seconds        integer not null,
  attempts_max         integer not null,
  backoff_base_seconds integer not null,
  jitter_percent       integer not null,
  strict_kinds         boolean not null
);
comment on table tenure.tunings is
  'The configuration as the hot path reads it: a row for each tenant with settings of its own, row 0 for '
  'others. tenure.tunings_refresh() derives it from tenure.config.';
alter table tenure.tunings enable row level security;
create policy own_tenant on tenure.tunings for select
  using (tenant_id in ((select tenure.current_tenant()), 0) or (select tenure.is_every_tenant()));
