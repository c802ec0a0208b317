-- A job's state is where its rows are. The rich row is written once; only narrow rows move:
--   jobs -> ready | delayed -> active (under a lease) -> attempts, and back to ready or delayed for another run.
-- The eight tables of the hot path (these and events) have row-level security for readers; it is not forced on the
-- owner, whose functions filter by tenant themselves.

create table tenure.jobs (
  job_id                 uuid        not null,
  tenant_id              integer     not null,
  lane                   integer     not null,
  kind                   text        not null check (kind ~ '\S'),
  executor               text        not null,
  event_domain           text        not null,
  priority               smallint    not null,
  due                    timestamptz not null check (isfinite(due)),
  deadline_at            timestamptz check (isfinite(deadline_at)),
  attempts_max           smallint    not null check (attempts_max >= 1),
  backoff_base_seconds   integer     not null check (backoff_base_seconds >= 1),
  backoff_jitter_percent smallint    not null check (backoff_jitter_percent between 0 and 100),
  run_timeout_seconds    integer     check (run_timeout_seconds >= 1),
  renewals_max           integer     check (renewals_max >= 0),
  on_exhausted           text        not null check (on_exhausted in ('dead_letter', 'fail')),
  payload_classification text        not null check (payload_classification in ('safe_metadata', 'restricted')),
  payload                jsonb       not null check (jsonb_typeof(payload) = 'object'),
  source_ref             text,
  target_ref             text,
  payload_ref            text,
  idempotency_key        text        check (idempotency_key ~ '\S'),
  affinity_key           text,
  correlation_id         text,
  causation_event        bigint,
  parent_job_id          uuid,
  workflow_id            uuid,
  run_id                 uuid,
  replay_of              uuid,
  source_system          text        not null check (source_system ~ '\S'),
  enqueued_by            text        not null check (enqueued_by ~ '\S'),
  on_behalf_of           text,
  created_at             timestamptz not null,
  cleaned_at             timestamptz,
  primary key (job_id)
) partition by range (job_id);
create index jobs_correlation_id on tenure.jobs (correlation_id) where correlation_id is not null;
create index jobs_workflow_id on tenure.jobs (workflow_id) where workflow_id is not null;
create index jobs_parent_job_id on tenure.jobs (parent_job_id) where parent_job_id is not null;
comment on table tenure.jobs is 'The immutable job: who, what, references, payload, policy values. Only the retention sweep empties it.';

create table tenure.ready (
  lane     integer     not null,
  rank     smallint    not null,
  due      timestamptz not null,
  job_id   uuid        not null,
  state    text        not null check (state in ('queued', 'retry_waiting')),
  run      integer     not null check (run >= 0),
  attempts smallint    not null check (attempts >= 0),
  deadline timestamptz,
  primary key (lane, rank, due, job_id)
) with (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index ready_deadline on tenure.ready (deadline) where deadline is not null;
comment on table tenure.ready is 'Claimable now, in claim order: lane, rank (minus priority), due, job.';

create table tenure.delayed (
  lane     integer     not null,
  due      timestamptz not null,
  job_id   uuid        not null,
  rank     smallint    not null,
  state    text        not null check (state in ('queued', 'retry_waiting')),
  run      integer     not null check (run >= 0),
  attempts smallint    not null check (attempts >= 0),
  deadline timestamptz,
  primary key (lane, due, job_id)
) with (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index delayed_deadline on tenure.delayed (deadline) where deadline is not null;
comment on table tenure.delayed is 'Not due yet: scheduled, snoozed or waiting for a retry. Claiming moves what is due to ready.';

create table tenure.leases (
  token         uuid        not null,
  lane          integer     not null,
  tenant_id     integer     not null,
  owner         text        not null check (owner ~ '\S'),
  executor      text        not null,
  principal     text        not null,
  leased_at     timestamptz not null,
  until         timestamptz not null,
  lease_seconds integer     not null check (lease_seconds >= 1),
  renewals      integer     not null default 0 check (renewals >= 0),
  held          integer     not null check (held >= 0),
  primary key (token, lane)
) with (fillfactor = 50, vacuum_truncate = off, autovacuum_vacuum_cost_delay = 0);
comment on table tenure.leases is 'One row per claim and lane. A heartbeat renews the whole batch by this one row.';

create table tenure.active (
  job_id              uuid        not null primary key,
  token               uuid        not null,
  lane                integer     not null,
  run                 integer     not null check (run >= 1),
  attempt             smallint    not null check (attempt >= 1),
  due                 timestamptz not null,
  started_at          timestamptz,
  run_until           timestamptz,
  hold_until          timestamptz,
  cancel_requested_at timestamptz,
  cancel_by           text,
  cancel_reason       text,
  progress            jsonb,
  progress_at         timestamptz,
  check (run_until is null or started_at is not null),
  check (hold_until is null or started_at is not null),
  check ((cancel_requested_at is null) = (cancel_by is null))
) with (fillfactor = 80, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
comment on table tenure.active is 'Held jobs: leased until started_at is set, then in_progress. A row without a living lease is expired.';

create table tenure.attempts (
  job_id        uuid        not null,
  run           integer     not null check (run >= 1),
  tenant_id     integer     not null,
  lane          integer     not null,
  attempt       smallint    not null check (attempt >= 0),
  outcome       text        not null check (outcome in ('succeeded', 'failed', 'failed_permanently', 'expired', 'timed_out',
                              'renewals_exceeded', 'deadline_passed', 'moved', 'cancelled', 'snoozed', 'released', 'rescheduled')),
  state         text        not null check (state in ('queued', 'retry_waiting', 'succeeded', 'failed', 'cancelled', 'dead_letter')),
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
  check (final = (state in ('succeeded', 'failed', 'cancelled', 'dead_letter')) or (state = 'failed' and not final)),
  check (final or next_due is not null),
  check ((token is null) = (leased_at is null)),
  check (started_at is null or leased_at is not null),
  check (started_at <= ended_at)
) partition by range (job_id);
create index attempts_ended_at on tenure.attempts using brin (ended_at);
create index attempts_rare_endings on tenure.attempts (tenant_id, state, ended_at) where final and state <> 'succeeded';
comment on table tenure.attempts is
  'Append-only, one row per ended run; the row marked final is the terminal record. An end outside a run takes run + 1, without token. owner: the worker''s own name; holder: the principal it was.';

create table tenure.idempotency (
  key_hash uuid not null primary key,
  job_id   uuid not null
);
comment on table tenure.idempotency is
  'Hash of (tenant, kind, key) to the job that has it. Replaced lazily, on the evidence of a final record of the old job.';

-- Partitions share their bounds; the last one is open-ended, so that an insert never fails. tenure.partition_upkeep() splits and drops them.
create table tenure.jobs_p0 partition of tenure.jobs for values from (minvalue) to (maxvalue);
create table tenure.attempts_p0 partition of tenure.attempts for values from (minvalue) to (maxvalue)
  with (autovacuum_vacuum_insert_scale_factor = 0.5);

create table tenure.sweep_cursors (
  name       text        primary key,
  job_id     uuid,
  pass_began timestamptz
);
comment on table tenure.sweep_cursors is 'How far the retention sweep has walked through the jobs.';
insert into tenure.sweep_cursors (name) values ('jobs');

-- jobs.cleaned_at is the one mutable fact of a job: nothing changes but by cleaning, and cleaning only empties.
create function tenure.jobs_only_cleaned() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if old.cleaned_at is null and new.cleaned_at is not null
     and (new.payload, new.source_ref, new.target_ref, new.payload_ref) is not distinct from ('{}'::jsonb, null::text, null::text, null::text)
     and (to_jsonb(new) - array['payload', 'source_ref', 'target_ref', 'payload_ref', 'cleaned_at'])
       = (to_jsonb(old) - array['payload', 'source_ref', 'target_ref', 'payload_ref', 'cleaned_at'])
  then
    return new;
  end if;
  raise exception using errcode = 'TN014', message = format('Job %s cannot be changed.', old.job_id),
    detail = 'A job is written once. Its state is where its rows are; only the retention sweep empties it.', hint = 'Use the functions of schema tenure.';
end
$$;
create trigger jobs_only_cleaned before update on tenure.jobs for each row execute function tenure.jobs_only_cleaned();

-- The record of a run stays, but for what an operator's retry takes back and what the sweep empties.
create function tenure.attempts_only_amended() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if (to_jsonb(new) - array['result', 'result_ref', 'error_message'])
       = (to_jsonb(old) - array['result', 'result_ref', 'error_message'])
     and new.result is null and new.result_ref is null
  then
    return new;
  end if;
  if old.final and old.state = 'failed' and not new.final and new.next_due is not null
     and (to_jsonb(new) - array['final', 'next_due']) = (to_jsonb(old) - array['final', 'next_due'])
  then
    return new;
  end if;
  raise exception using errcode = 'TN014', message = format('Run %s of job %s has ended and cannot be changed.', old.run, old.job_id),
    detail = 'The record of a run is written once.', hint = 'Use the functions of schema tenure.';
end
$$;
create trigger attempts_only_amended before update on tenure.attempts for each row execute function tenure.attempts_only_amended();

alter table tenure.jobs enable row level security;
alter table tenure.jobs_p0 enable row level security;
alter table tenure.ready enable row level security;
alter table tenure.delayed enable row level security;
alter table tenure.leases enable row level security;
alter table tenure.active enable row level security;
alter table tenure.attempts enable row level security;
alter table tenure.attempts_p0 enable row level security;
alter table tenure.idempotency enable row level security;

create policy own_tenant on tenure.jobs for select using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.leases for select using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.attempts for select using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
-- Lanes are walled themselves, so a lane one can see is a lane of one's own.
create policy own_tenant on tenure.ready for select using (lane in (select l.lane from tenure.lanes l));
create policy own_tenant on tenure.delayed for select using (lane in (select l.lane from tenure.lanes l));
create policy own_tenant on tenure.active for select using (lane in (select l.lane from tenure.lanes l));

-- A run that has just been taken out of the hot tables, on its way to tenure.job_settle().
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
