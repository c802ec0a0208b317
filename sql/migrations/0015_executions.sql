-- Executions: one run of a frozen plan each, with the chain of its events.
--
-- What an execution is, and how it stands, is checked by triggers when those columns are written, not by
-- checks on every update: PostgreSQL reads every check of a table again for each statement that writes to it.
-- The triggers run after the update, since one before it would lock each row and compute generated columns
-- again.

create table tenure.executions (
  execution_id       uuid        primary key,
  tenant_id          integer     not null,
  -- what it is
  purpose            text        not null,
  plan_hash          text        not null,
  idempotency_key    text        not null,
  key_origin         text        not null,
  key_held           boolean     not null default true,
  state              text        not null,
  sla_class          text        not null,
  action_class       text        not null,
  mode               text        not null,
  priority           smallint    not null,
  on_step_failure    text        not null,
  approval_level     smallint    not null,
  rule               text        not null,
  runbook_ref        text,
  correlation_id     text,
  generator          text,
  requested_by       text        not null,
  on_behalf_of       text,
  requesters         text[]      not null default '{}',
  via                text,
  start_after        timestamptz,
  start_before       timestamptz,
  start_window       jsonb,
  plan_size_bytes    integer     not null,
  step_count         integer     not null,
  target_count       integer     not null,
  takes_locks        boolean     not null default true,
  timeout_ms         integer     not null,
  metadata           jsonb       not null default '{}',
  supersedes         uuid,
  retry_of           uuid,
  created_at         timestamptz not null,
  -- how it stands
  parked             text,
  next_at            timestamptz,
  lapses_at          timestamptz,
  timeout_at         timestamptz,
  steps_open         integer     not null,
  steps_succeeded    integer     not null default 0,
  steps_failed       integer     not null default 0,
  steps_cancelled    integer     not null default 0,
  steps_skipped      integer     not null default 0,
  steps_unknown      integer     not null default 0,
  retries_total      integer     not null default 0,
  stopping           text,
  stopped_by         text,
  approved_at        timestamptz,
  started_at         timestamptz,
  ended_at           timestamptz,
  queue_wait_ms      bigint      generated always as (
    floor(extract(epoch from started_at - created_at) * 1000)::bigint) stored,
  duration_ms        bigint      generated always as (
    floor(extract(epoch from ended_at - started_at) * 1000)::bigint) stored,
  last_transition_at timestamptz not null,
  last_transition_by text        not null,
  last_state         text,
  -- what came of it
  reason_code        text,
  reason             text,
  error_class        text,
  error_message      text,
  result_summary     jsonb,
  cancelled_at       timestamptz,
  cancelled_by       text,
  superseded_by      uuid,
  retried_as         uuid,
  closed_at          timestamptz,
  closed_by          text,
  -- its chain
  chain_length       integer     not null default 0,
  chain_hash         bytea       not null,
  foreign key (execution_id, plan_hash) references tenure.plans (execution_id, plan_hash),
  constraint executions_counts check (
    step_count > 0
    and steps_open + steps_succeeded + steps_failed + steps_cancelled + steps_skipped = step_count
    and least(
      steps_succeeded, steps_failed, steps_cancelled, steps_skipped, steps_unknown, retries_total) >= 0
    and steps_open >= steps_unknown
    and (ended_at is null or steps_open = 0)
    and (state <> 'succeeded' or steps_succeeded = step_count)
    and chain_length >= 0
    and octet_length(chain_hash) = 32)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create unique index executions_key on tenure.executions (tenant_id, idempotency_key) where key_held;
create index executions_next on tenure.executions (next_at) where next_at is not null;
create index executions_created on tenure.executions (tenant_id, created_at, execution_id);
create index executions_state on tenure.executions (tenant_id, state, created_at);
create index executions_approved on tenure.executions (execution_id) where state = 'approved';
create index executions_requested_by on tenure.executions (tenant_id, requested_by, created_at);
create index executions_correlation on tenure.executions (tenant_id, correlation_id)
  where correlation_id is not null;
create index executions_sla on tenure.executions (tenant_id, sla_class, duration_ms)
  where duration_ms is not null;
create index executions_cancelled on tenure.executions (tenant_id, cancelled_at)
  where cancelled_at is not null;
create index executions_timed_out on tenure.executions (tenant_id, ended_at) where reason_code = 'timed_out';
create index executions_ended on tenure.executions (ended_at) where ended_at is not null;
comment on table tenure.executions is
  'One run of a frozen plan. A transaction that changes it, its steps, approvals or events locks this row.';
comment on column tenure.executions.key_held is
  'Whether the key is taken: until the execution failed, was cancelled or rejected, a derived key until '
  'any end. After a partial failure it is taken until the execution is closed or retried.';
comment on column tenure.executions.requesters is
  'The requester, the principal it acted for, and those of the executions that it retries. None of them '
  'decides about it.';
comment on column tenure.executions.takes_locks is
  'Whether a step of it takes a lock. If none does, its steps go on without a look at targets.';
comment on column tenure.executions.next_at is
  'When the clock next matters for it: an expiry, a window, a timeout. Null: it waits for an event.';
comment on column tenure.executions.lapses_at is
  'When its approval lapses if it has not started. Null: not approved yet, approved by level 0, or never.';
comment on column tenure.executions.stopping is
  'Why no more of its steps start. It ends when the last step under way has ended.';
comment on column tenure.executions.steps_open is
  'Steps that have not ended, those with an unknown outcome included.';
comment on column tenure.executions.chain_hash is
  'The hash of its last event, from which the next is chained.';

create trigger executions_kept before delete on tenure.executions
  for each row execute function tenure.refuse_loss();
create trigger executions_begin before insert on tenure.executions
  for each row when (new.state <> 'pending')
  execute function tenure.executions_move();
create trigger executions_shape
  after insert or update of
    purpose, plan_hash, idempotency_key, key_origin, sla_class, action_class, mode, on_step_failure,
    approval_level, rule, runbook_ref, requested_by, on_behalf_of, requesters, start_after, start_before,
    plan_size_bytes, step_count, target_count, timeout_ms, metadata
  on tenure.executions
  for each row execute function tenure.executions_shape();
-- Triggers of one event run in the order of their names: whether it may move is checked before how it stands.
create trigger executions_stand
  after insert or update of
    state, parked, stopping, stopped_by, reason_code, last_transition_by, error_class, error_message,
    result_summary, created_at, started_at, ended_at, cancelled_at, cancelled_by
  on tenure.executions
  for each row execute function tenure.executions_stand();
-- A legal move costs nothing: the function runs only where one of these conditions holds.
create trigger executions_move
  after update of
    execution_id, tenant_id, purpose, plan_hash, idempotency_key, state, approval_level, rule, requested_by,
    requesters, step_count, created_at
  on tenure.executions
  for each row
  when (
    (old.state <> new.state
      and (new.state = 'running'
        or (old.state, new.state) not in (
          ('pending', 'awaiting_approval'),
          ('pending', 'approved'),
          ('pending', 'cancelled'),
          ('awaiting_approval', 'approved'),
          ('awaiting_approval', 'rejected'),
          ('awaiting_approval', 'cancelled'),
          ('approved', 'cancelled'),
          ('running', 'succeeded'),
          ('running', 'partially_failed'),
          ('running', 'failed'),
          ('running', 'cancelled'))))
    or old.plan_hash <> new.plan_hash
    or old.requested_by <> new.requested_by
    or old.requesters <> new.requesters
    or old.idempotency_key <> new.idempotency_key
    or old.approval_level <> new.approval_level
    or old.purpose <> new.purpose
    or old.tenant_id <> new.tenant_id
    or old.step_count <> new.step_count
    or old.execution_id <> new.execution_id
    or old.rule <> new.rule
    or old.created_at <> new.created_at)
  execute function tenure.executions_move();

-- Not forced on the owner: each step reads and writes it, and the functions filter by tenant themselves.
alter table tenure.executions enable row level security;
create policy own_tenant on tenure.executions
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.execution_events (
  execution_id uuid        not null,
  seq          integer     not null,
  tenant_id    integer     not null,
  at           timestamptz not null,
  kind         text        not null,
  step_number  integer,
  body         text        not null,
  hash         bytea       not null,
  primary key (execution_id, seq),
  constraint execution_events_line check (
    seq > 0
    and kind <> ''
    and translate(kind, 'abcdefghijklmnopqrstuvwxyz_', '') = ''
    and octet_length(hash) = 32)
);
-- Every step has these three kinds; they are looked up by execution, so the index does without them.
create index execution_events_kind on tenure.execution_events (tenant_id, kind, at)
  where kind not in ('step_queued', 'step_started', 'step_completed');
create index execution_events_progress on tenure.execution_events (execution_id, step_number)
  where kind = 'step_progress';
comment on table tenure.execution_events is
  'The events of an execution. The hash of each covers the hash of the one before and its own body. They '
  'are kept as long as the execution, then in its evidence.';
create trigger execution_events_frozen before update on tenure.execution_events
  for each row execute function tenure.refuse_change();
create trigger execution_events_kept before delete on tenure.execution_events
  for each row execute function tenure.refuse_loss();
alter table tenure.execution_events enable row level security;
create policy own_tenant on tenure.execution_events
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- An event on its way to the chain of its execution.
create type tenure.execution_told as (
  execution_id uuid,
  kind         text,
  step_number  integer,
  data         jsonb
);
create aggregate tenure.chain_hash(bytea, text) (sfunc = tenure.chain_link, stype = bytea);

create table tenure.execution_dead_letters (
  execution_id    uuid        primary key,
  tenant_id       integer     not null,
  purpose         text        not null,
  plan            text        not null,
  plan_hash       text        not null,
  plan_restricted boolean     not null default false,
  context         jsonb       not null check (jsonb_typeof(context) = 'object'),
  attempt_count   integer     not null check (attempt_count >= 0),
  last_error      text        not null check (last_error ~ '\S'),
  failed_at       timestamptz not null,
  triage_status   text        not null default 'pending' check (
    triage_status in ('pending', 'acknowledged', 'manual_replay', 'escalated', 'closed')),
  triage_note     text,
  triaged_at      timestamptz,
  triaged_by      text,
  retried_as      uuid,
  constraint execution_dead_letters_triage_has_author check ((triaged_at is null) = (triaged_by is null))
);
create index execution_dead_letters_failed_at on tenure.execution_dead_letters (tenant_id, failed_at);
create index execution_dead_letters_closed on tenure.execution_dead_letters (tenant_id, triaged_at)
  where triage_status = 'closed';
comment on table tenure.execution_dead_letters is
  'Executions that failed, with everything that a retry by hand needs. They outlive their execution.';
comment on column tenure.execution_dead_letters.plan_restricted is
  'Whether a payload in the plan is restricted; only callers who may see restricted payloads then see the '
  'plan.';
alter table tenure.execution_dead_letters enable row level security, force row level security;
create policy own_tenant on tenure.execution_dead_letters
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
