-- A job's state is where its rows are. The wide row is written once; only narrow rows move:
--   jobs -> ready | delayed -> active (under a lease) -> attempts, and back to ready or delayed for a rerun.
--
-- These tables are the hot path, so they have few checks: PostgreSQL reads every check of a table again for
-- each statement that writes to it. Only functions of the owner write here; they refuse bad values by name.
-- For the same reason row-level security holds for readers and is not forced on the owner.

create table tenure.jobs (
  job_id                 uuid        not null,
  tenant_id              integer     not null,
  lane                   integer     not null,
  kind                   text        not null,
  executor               text        not null,
  event_domain           text        not null,
  -- when and how often it runs
  priority               smallint    not null,
  due                    timestamptz not null,
  deadline_at            timestamptz,
  attempts_max           smallint    not null,
  backoff_base_seconds   integer     not null,
  backoff_jitter_percent smallint    not null,
  lease_seconds          integer,
  run_timeout_seconds    integer,
  renewals_max           integer,
  on_exhausted           text        not null,
  on_lost                text,
  -- what it carries
  payload_classification text        not null,
  payload                json        not null,
  source_ref             text,
  target_ref             text,
  payload_ref            text,
  -- what it belongs to
  idempotency_key        text,
  affinity_key           text,
  correlation_id         text,
  causation_event        bigint,
  parent_job_id          uuid,
  workflow_id            uuid,
  run_id                 uuid,
  replay_of              uuid,
  origin                 jsonb,
  traceparent            text        default tenure.traceparent(),
  -- who made it
  source_system          text        not null,
  enqueued_by            text        not null,
  on_behalf_of           text,
  created_at             timestamptz not null,
  cleaned_at             timestamptz,
  primary key (job_id)
) partition by range (job_id);
create index jobs_correlation_id on tenure.jobs (correlation_id) where correlation_id is not null;
create index jobs_workflow_id on tenure.jobs (workflow_id) where workflow_id is not null;
create index jobs_parent_job_id on tenure.jobs (parent_job_id) where parent_job_id is not null;
comment on table tenure.jobs is
  'A job as it was enqueued, with the policy that applies to it. Only the retention sweep changes it.';
comment on column tenure.jobs.lease_seconds is
  'The lease that the job of a step needs. Null: a plain job, which has the lease of its kind.';
comment on column tenure.jobs.on_lost is
  'What follows when the lease ran out or the run timed out. Null: another attempt. fail: it has failed.';
comment on column tenure.jobs.payload is
  'The JSON object exactly as it was given. Kept as text: parsing it again slowed down enqueue and claim.';
comment on column tenure.jobs.origin is
  'What it runs for: {"step": …} or {"slot": …}, kept when the job is emptied. Null: a plain job.';
comment on column tenure.jobs.traceparent is
  'The trace and span it was enqueued in, as a W3C traceparent. Null: there was none.';
comment on column tenure.jobs.cleaned_at is
  'When the retention sweep removed its payload and references.';
create trigger jobs_only_cleaned before update on tenure.jobs
  for each row execute function tenure.jobs_only_cleaned();
alter table tenure.jobs enable row level security;
create policy own_tenant on tenure.jobs for select
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.ready (
  lane     integer     not null,
  rank     smallint    not null,
  due      timestamptz not null,
  job_id   uuid        not null,
  state    text        not null check (state in ('queued', 'retry_waiting')),
  run      integer     not null,
  attempts smallint    not null,
  deadline timestamptz,
  primary key (lane, rank, due, job_id)
) with (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index ready_deadline on tenure.ready (deadline) where deadline is not null;
comment on table tenure.ready is
  'Jobs that can be claimed now, in claim order: lane, rank (minus priority), due, job.';
alter table tenure.ready enable row level security;
-- Lanes have row-level security themselves: a reader sees only lanes of its own tenant.
create policy own_tenant on tenure.ready for select using (lane in (select l.lane from tenure.lanes l));

create table tenure.delayed (
  lane      integer     not null,
  tenant_id integer     not null,
  due       timestamptz not null,
  job_id    uuid        not null,
  rank      smallint    not null,
  state     text        not null check (state in ('queued', 'retry_waiting')),
  run       integer     not null,
  attempts  smallint    not null,
  deadline  timestamptz,
  primary key (lane, due, job_id)
) with (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index delayed_due on tenure.delayed (tenant_id, due);
create index delayed_deadline on tenure.delayed (deadline) where deadline is not null;
comment on table tenure.delayed is
  'Jobs that are not due yet: scheduled, snoozed or waiting for a retry. A claim moves what is due to ready.';
alter table tenure.delayed enable row level security;
create policy own_tenant on tenure.delayed for select using (lane in (select l.lane from tenure.lanes l));

create table tenure.leases (
  token         uuid        not null,
  lane          integer     not null,
  tenant_id     integer     not null,
  owner         text        not null check (owner ~ '\S'),
  executor      text        not null,
  principal     text        not null,
  leased_at     timestamptz not null,
  until         timestamptz not null,
  lease_seconds integer     not null,
  renewals      integer     not null default 0,
  held          integer     not null check (held >= 0),
  primary key (token, lane)
) with (fillfactor = 50, vacuum_truncate = off, autovacuum_vacuum_cost_delay = 0);
comment on table tenure.leases is
  'One row per claim and lane. A heartbeat renews the whole batch through this one row.';
alter table tenure.leases enable row level security;
create policy own_tenant on tenure.leases for select
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.active (
  job_id              uuid        not null primary key,
  token               uuid        not null,
  lane                integer     not null,
  run                 integer     not null,
  attempt             smallint    not null check (attempt >= 1),
  limited             boolean     not null default false,
  due                 timestamptz not null,
  started_at          timestamptz,
  run_until           timestamptz,
  hold_until          timestamptz,
  cancel_requested_at timestamptz,
  cancel_by           text,
  cancel_reason       text,
  progress            jsonb,
  progress_at         timestamptz,
  fence               bigint,
  constraint active_run_until_when_started check (run_until is null or started_at is not null),
  constraint active_hold_until_when_started check (hold_until is null or started_at is not null),
  constraint active_cancel_has_author check ((cancel_requested_at is null) = (cancel_by is null))
) with (
  fillfactor = 80,
  vacuum_truncate = off,
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);
-- The count against the limit of a kind is the number of these rows; there is no counter that could drift.
create index active_limited on tenure.active (lane) where limited;
comment on table tenure.active is
  'Held jobs: leased until started_at is set, then in_progress. A row whose lease has ended is expired.';
comment on column tenure.active.limited is
  'Whether it counts against the concurrency_max of its kind.';
comment on column tenure.active.fence is
  'The fencing number of this run, where its step has another: a later run of a step that locks its target.';
alter table tenure.active enable row level security;
create policy own_tenant on tenure.active for select using (lane in (select l.lane from tenure.lanes l));

create table tenure.attempts (
  job_id        uuid        not null,
  run           integer     not null,
  tenant_id     integer     not null,
  lane          integer     not null,
  attempt       smallint    not null,
  outcome       text        not null,
  state         text        not null,
  final         boolean     not null,
  token         uuid,
  owner         text,
  holder        text,
  leased_at     timestamptz,
  started_at    timestamptz,
  ended_at      timestamptz not null,
  next_due      timestamptz,
  actor         text        not null,
  reason        text,
  error_code    text,
  error_class   text,
  error_message text,
  result        jsonb,
  result_ref    text,
  primary key (job_id, run),
  -- A failed run is not final after an operator's retry.
  constraint attempts_final_state check (
    final = (state in ('succeeded', 'failed', 'cancelled', 'dead_letter'))
    or (state = 'failed' and not final)),
  constraint attempts_goes_on_when_due check (final or next_due is not null)
) partition by range (job_id);
create index attempts_rare_endings on tenure.attempts (tenant_id, state, ended_at)
  where final and state <> 'succeeded';
comment on table tenure.attempts is
  'One row per ended run; the row marked final ends the job. An end outside a run takes run + 1 and no '
  'token.';
comment on column tenure.attempts.owner is 'The name that the worker gave itself.';
comment on column tenure.attempts.holder is 'The principal that held the job.';
create trigger attempts_only_amended before update on tenure.attempts
  for each row execute function tenure.attempts_only_amended();
alter table tenure.attempts enable row level security;
create policy own_tenant on tenure.attempts for select
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- Partitions of jobs and attempts share their bounds. The last is open-ended, so an insert never fails for
-- want of a partition; tenure.partition_upkeep() splits and drops them.
create table tenure.jobs_p0 partition of tenure.jobs for values from (minvalue) to (maxvalue);
create table tenure.attempts_p0 partition of tenure.attempts for values from (minvalue) to (maxvalue)
  with (autovacuum_vacuum_insert_scale_factor = 0.5);
alter table tenure.jobs_p0 enable row level security;
alter table tenure.attempts_p0 enable row level security;

create table tenure.idempotency (
  key_hash uuid not null primary key,
  job_id   uuid not null
);
comment on table tenure.idempotency is
  'Hash of (tenant, kind, key), and the job that has the key. A later job takes the row over once that job '
  'ended.';
alter table tenure.idempotency enable row level security;

create table tenure.sweep_cursors (
  name       text        primary key,
  job_id     uuid,
  pass_began timestamptz
);
comment on table tenure.sweep_cursors is
  'jobs: how far the retention sweep has come. partitions: the row that partition upkeep locks.';
insert into tenure.sweep_cursors (name)
values ('jobs'), ('partitions');

-- A run that was just taken out of the hot tables, on its way to tenure.job_settle().
create type tenure.run_end as (
  job_id              uuid,
  tenant_id           integer,
  lane                integer,
  run                 integer,
  attempt             integer,
  token               uuid,
  owner               text,
  leased_at           timestamptz,
  started_at          timestamptz,
  due                 timestamptz,
  cancel_requested_at timestamptz,
  cancel_by           text,
  cancel_reason       text,
  outcome             text,
  error_code          text,
  error_class         text,
  error_message       text,
  delay_seconds       integer,
  result              jsonb,
  result_ref          text,
  holder              text
);
