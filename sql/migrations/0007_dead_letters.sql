-- Dead letters: jobs that used up their attempts. There is no foreign key to jobs, since a dead letter
-- outlives its job; it holds everything that a replay needs.

create table tenure.dead_letters (
  dead_letter_id         uuid        primary key,
  tenant_id              integer     not null references tenure.tenants,
  job_id                 uuid        not null,
  run                    integer     not null,
  -- the job
  kind                   text        not null check (kind ~ '\S'),
  executor               text        not null,
  event_domain           text        not null,
  priority               smallint    not null,
  attempts               integer     not null check (attempts >= 0),
  attempts_max           smallint    not null check (attempts_max >= 1),
  payload_classification text        not null
                                     check (payload_classification in ('safe_metadata', 'restricted')),
  payload                json        not null check (json_typeof(payload) = 'object'),
  source_ref             text,
  target_ref             text,
  payload_ref            text,
  idempotency_key        text,
  affinity_key           text,
  correlation_id         text,
  parent_job_id          uuid,
  workflow_id            uuid,
  run_id                 uuid,
  source_system          text        not null,
  actor                  text        not null,
  job_created_at         timestamptz not null,
  -- why it ended
  final_error            text        not null check (final_error ~ '\S'),
  error_code             text,
  error_class            text,
  fingerprint            text        not null,
  moved_at               timestamptz not null,
  moved_by               text        not null check (moved_by ~ '\S'),
  -- what was done about it
  triage_status          text        not null default 'pending' check (
    triage_status in ('pending', 'acknowledged', 'manual_replay', 'escalated', 'closed')),
  triage_note            text,
  triaged_at             timestamptz,
  triaged_by             text,
  replayed_as            uuid,
  replayed_at            timestamptz,
  unique (job_id, run),
  constraint dead_letters_triage_has_author check (
    triage_status = 'pending' or (triaged_at is not null and triaged_by is not null)),
  constraint dead_letters_replay_has_time check ((replayed_as is null) = (replayed_at is null))
);
create index dead_letters_triage on tenure.dead_letters (tenant_id, triage_status, moved_at);
create index dead_letters_kind on tenure.dead_letters (tenant_id, kind, moved_at desc);
create index dead_letters_fingerprint on tenure.dead_letters (tenant_id, fingerprint);
comment on table tenure.dead_letters is
  'Jobs that used up their attempts, with triage and replay. They outlive the retention of their jobs.';
alter table tenure.dead_letters enable row level security, force row level security;
create policy own_tenant on tenure.dead_letters
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
