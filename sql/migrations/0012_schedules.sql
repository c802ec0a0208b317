-- Schedules and their slots. A schedule is a rule and the job it starts; every slot is a row, also one that
-- did not run.

create table tenure.schedules (
  schedule_id             integer     generated always as identity primary key,
  tenant_id               integer     not null references tenure.tenants,
  name                    text        not null check (name ~ '\S' and length(name) <= 200),
  description             text        not null,
  -- the rule
  cron                    text,
  every_seconds           integer     check (every_seconds between 10 and 31622400),
  zone                    text        not null check (zone ~ '\S'),
  jitter_seconds          integer     not null check (jitter_seconds between 0 and 86400),
  start_at                timestamptz check (isfinite(start_at)),
  end_at                  timestamptz check (isfinite(end_at)),
  scope_kind              text        not null check (scope_kind ~ '\S' and length(scope_kind) <= 200),
  scope_id                text        not null check (scope_id ~ '\S' and length(scope_id) <= 200),
  -- the job
  kind                    text        not null,
  executor                text,
  priority                smallint    not null,
  payload                 jsonb       not null check (jsonb_typeof(payload) = 'object'),
  classification          text        not null check (classification in ('safe_metadata', 'restricted')),
  source_ref              text,
  target_ref              text,
  payload_ref             text,
  run_timeout_seconds     integer     check (run_timeout_seconds between 1 and 2592000),
  attempts_max            smallint    check (attempts_max between 1 and 1000),
  backoff_base_seconds    integer     check (backoff_base_seconds between 1 and 86400),
  -- slots that overlap or are late
  overlap                 text        not null check (overlap in ('skip', 'queue', 'cancel_other', 'allow')),
  catch_up                text        not null check (catch_up in ('latest_only', 'every_plan', 'none')),
  catch_up_window_seconds integer     not null check (catch_up_window_seconds between 60 and 2592000),
  catch_up_slots_max      integer     not null check (catch_up_slots_max between 1 and 100),
  reentry                 text        not null check (reentry in ('allowed', 'refused')),
  -- progress
  plan_from               timestamptz not null,
  planned_to              timestamptz,
  next_at                 timestamptz,
  ended_at                timestamptz,
  paused_at               timestamptz,
  paused_by               text,
  pause_note              text,
  error_code              text,
  error_message           text,
  created_at              timestamptz not null,
  created_by              text        not null check (created_by ~ '\S'),
  updated_at              timestamptz not null,
  updated_by              text        not null check (updated_by ~ '\S'),
  deleted_at              timestamptz,
  constraint schedules_one_rule check ((cron is null) <> (every_seconds is null)),
  constraint schedules_end_after_start check (end_at > start_at),
  constraint schedules_pause_has_author check ((paused_at is null) = (paused_by is null)),
  constraint schedules_deleted_is_not_due check (deleted_at is null or next_at is null)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create unique index schedules_name on tenure.schedules (tenant_id, name) where deleted_at is null;
create index schedules_next on tenure.schedules (next_at) where next_at is not null;
create index schedules_deleted on tenure.schedules (tenant_id, deleted_at) where deleted_at is not null;
comment on table tenure.schedules is
  'A rule (cron in a time zone, or an interval) and the job it starts. A transaction that changes slots '
  'locks this row. A deleted schedule keeps its row as long as it has slots.';
comment on column tenure.schedules.plan_from is
  'Slots of the present rule begin here: when it was made or last changed.';
comment on column tenure.schedules.planned_to is 'The newest slot of the present rule.';
comment on column tenure.schedules.next_at is
  'When the scheduler looks at it next. Null: not until it is changed.';
comment on column tenure.schedules.ended_at is 'Since when the rule has no further slot.';
alter table tenure.schedules enable row level security, force row level security;
create policy own_tenant on tenure.schedules
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.planned_slots (
  slot_id       bigint      generated always as identity primary key,
  tenant_id     integer     not null,
  schedule_id   integer     not null references tenure.schedules,
  scope_kind    text        not null check (scope_kind ~ '\S'),
  scope_id      text        not null check (scope_id ~ '\S'),
  plan_time     timestamptz not null,
  origin        text        not null check (origin in ('rule', 'manual', 'backfill')),
  expression    text        not null check (expression ~ '\S'),
  zone          text        not null check (zone ~ '\S'),
  planned_at    timestamptz not null,
  planned_by    text        not null check (planned_by ~ '\S'),
  -- state
  state         text        not null check (
    state in ('planned', 'running', 'succeeded', 'failed', 'cancelled', 'skipped')),
  skip_reason   text        check (
    skip_reason in ('overlap', 'paused', 'missed_window', 'superseded', 'refused')),
  due_at        timestamptz not null check (isfinite(due_at)),
  waiting_since timestamptz,
  missed        integer     check (missed >= 1),
  missed_until  timestamptz,
  updated_at    timestamptz not null,
  -- its run
  job_id        uuid,
  attempts      smallint    not null default 0 check (attempts >= 0),
  worker        text,
  fired_at      timestamptz,
  started_at    timestamptz,
  ended_at      timestamptz,
  duration_ms   bigint      check (duration_ms >= 0),
  rows_affected bigint,
  result        jsonb       check (octet_length(result::text) <= 16384),
  result_ref    text,
  error_code    text,
  error_message text        check (octet_length(error_message) <= 4000),
  unique (schedule_id, plan_time, scope_kind, scope_id, tenant_id),
  constraint planned_slots_plan_time_check check (
    isfinite(plan_time)
    and (origin = 'manual' or extract(epoch from plan_time) = trunc(extract(epoch from plan_time)))),
  constraint planned_slots_end_after_start check (ended_at >= started_at),
  constraint planned_slots_skip_has_reason check ((state = 'skipped') = (skip_reason is not null)),
  constraint planned_slots_open_until_ended check ((state in ('planned', 'running')) = (ended_at is null)),
  constraint planned_slots_run_has_job check ((state in ('planned', 'skipped')) = (job_id is null)),
  constraint planned_slots_fired_with_job check ((job_id is null) = (fired_at is null)),
  constraint planned_slots_waits_while_planned check (waiting_since is null or state = 'planned'),
  constraint planned_slots_missed_until check ((missed is null) = (missed_until is null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create unique index planned_slots_job on tenure.planned_slots (job_id) where job_id is not null;
create index planned_slots_planned on tenure.planned_slots (schedule_id, due_at) where state = 'planned';
create index planned_slots_running on tenure.planned_slots (schedule_id) where state = 'running';
create index planned_slots_succeeded on tenure.planned_slots (schedule_id, plan_time)
  where state = 'succeeded';
create index planned_slots_failed on tenure.planned_slots (schedule_id, plan_time) where state = 'failed';
create index planned_slots_covering on tenure.planned_slots (schedule_id, plan_time) where missed is not null;
create index planned_slots_ended on tenure.planned_slots (tenant_id, ended_at) where ended_at is not null;
-- The sweep removes these first; failed slots stay longer, and it need not walk over them.
create index planned_slots_ended_well on tenure.planned_slots (tenant_id, ended_at)
  where state in ('succeeded', 'skipped');
comment on table tenure.planned_slots is
  'One moment of a schedule: planned ahead, then its run, then its record, which outlives the job. Each '
  'moment has one row.';
comment on column tenure.planned_slots.plan_time is
  'The moment it stands for: a whole second of the rule, or the exact moment at which a run by hand was '
  'requested.';
comment on column tenure.planned_slots.missed is
  'How many slots, this one included, were not seen in time; missed_until is the last of them.';
-- A statement that changes many slots sets updated_at itself.
create trigger planned_slots_touched before update on tenure.planned_slots
  for each row when (new.updated_at = old.updated_at)
  execute function tenure.planned_slots_touched();
alter table tenure.planned_slots enable row level security, force row level security;
create policy own_tenant on tenure.planned_slots
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- A schedule and a slot as they are shown.
create type tenure.schedule_row as (
  name text, state text,
  cron text, every_seconds integer, zone text, jitter_seconds integer,
  start_at timestamptz, end_at timestamptz, scope_kind text, scope_id text,
  kind text, executor text, priority smallint, payload jsonb, classification text,
  source_ref text, target_ref text, payload_ref text,
  overlap text, catch_up text, catch_up_window_seconds integer, catch_up_slots_max integer,
  run_timeout_seconds integer, attempts_max integer, backoff_base_seconds integer, reentry text,
  description text,
  next_slot timestamptz, next_due timestamptz, last_slot timestamptz, last_state text, last_reason text,
  succeeded_slot timestamptz, succeeded_at timestamptz, running bigint, waiting bigint,
  planned_to timestamptz, plan_from timestamptz,
  paused_at timestamptz, paused_by text, pause_note text,
  error_code text, error_message text,
  created_at timestamptz, created_by text, updated_at timestamptz, updated_by text
);
create type tenure.slot_row as (
  plan_time timestamptz, state text, skip_reason text, origin text, scope_kind text, scope_id text,
  expression text, zone text, due_at timestamptz, waiting_since timestamptz,
  missed integer, missed_until timestamptz,
  job_id uuid, job_state text, attempts integer, next_retry_at timestamptz, worker text,
  fired_at timestamptz, started_at timestamptz, ended_at timestamptz, duration_ms bigint,
  rows_affected bigint, result jsonb, result_ref text, error_code text, error_message text,
  planned_at timestamptz, planned_by text
);
