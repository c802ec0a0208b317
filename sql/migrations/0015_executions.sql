-- Executions: one run of a frozen plan each. What was submitted is written once, in executions; where it
-- stands moves in execution_states, a narrow row beside it.

create table tenure.executions (
  execution_id    uuid        primary key,
  tenant_id       integer     not null,
  purpose         text        not null check (purpose ~ '\S'),
  plan_hash       text        not null check (plan_hash ~ '^[0-9a-f]{64}$'),
  idempotency_key text        not null check (idempotency_key ~ '\S' and length(idempotency_key) <= 255),
  key_origin      text        not null check (key_origin in ('given', 'derived')),
  sla_class       text        not null check (sla_class in ('fast', 'medium', 'long')),
  action_class    text        not null check (action_class in ('read', 'modify', 'deploy')),
  priority        smallint    not null,
  on_step_failure text        not null check (on_step_failure in ('stop', 'continue')),
  approval_level  smallint    not null check (approval_level between 0 and 3),
  rule            text        not null check (rule ~ '\S'),
  runbook_ref     text        check (runbook_ref ~ '\S'),
  correlation_id  text,
  generator       text,
  requested_by    text        not null check (requested_by ~ '\S'),
  on_behalf_of    text,
  requesters      text[]      not null,
  via             text,
  start_after     timestamptz check (isfinite(start_after)),
  start_before    timestamptz check (isfinite(start_before)),
  start_window    jsonb,
  plan_size_bytes integer     not null check (plan_size_bytes > 0),
  target_count    integer     not null check (target_count > 0),
  takes_locks     boolean     not null,
  timeout_ms      integer     not null check (timeout_ms > 0),
  metadata        jsonb       not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  supersedes      uuid,
  retry_of        uuid,
  created_at      timestamptz not null,
  foreign key (execution_id, plan_hash) references tenure.plans (execution_id, plan_hash),
  constraint executions_runbook check (approval_level < 2 or runbook_ref is not null),
  constraint executions_requesters check (
    array_remove(array[requested_by, on_behalf_of], null) <@ requesters),
  constraint executions_start check (start_before > start_after)
);
create index executions_created on tenure.executions (tenant_id, created_at, execution_id);
create index executions_requested_by on tenure.executions (tenant_id, requested_by, created_at);
create index executions_correlation on tenure.executions (tenant_id, correlation_id)
  where correlation_id is not null;
comment on table tenure.executions is
  'What was submitted: one run of a frozen plan. Written once, and deleted when it is archived.';
comment on column tenure.executions.requesters is
  'The requester, the principal it acted for, and those of the executions that it retries. None of them '
  'decides about it.';
comment on column tenure.executions.takes_locks is
  'Whether a step of it takes a lock. If none does, its steps go on without a look at targets.';
create trigger executions_frozen before update on tenure.executions
  for each row execute function tenure.refuse_change();
create trigger executions_kept before delete on tenure.executions
  for each row execute function tenure.refuse_loss();
-- Not forced on the owner: each step reads it, and the functions filter by tenant themselves.
alter table tenure.executions enable row level security;
create policy own_tenant on tenure.executions
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.execution_states (
  execution_id       uuid        primary key references tenure.executions,
  tenant_id          integer     not null,
  created_at         timestamptz not null,
  sla_class          text        not null,
  step_count         integer     not null,
  held_key           text,
  mode               text        not null,
  state              text        not null default 'pending',
  last_state         text,
  last_transition_at timestamptz not null,
  last_transition_by text        not null,
  parked             text,
  next_at            timestamptz,
  -- its steps
  steps_open         integer     not null,
  steps_succeeded    integer     not null default 0,
  steps_failed       integer     not null default 0,
  steps_cancelled    integer     not null default 0,
  steps_skipped      integer     not null default 0,
  steps_unknown      integer     not null default 0,
  retries_total      integer     not null default 0,
  -- its chain
  chain_length       integer     not null default 0,
  chain_hash         bytea       not null,
  -- its times
  approved_at        timestamptz,
  lapses_at          timestamptz,
  started_at         timestamptz,
  timeout_at         timestamptz,
  ended_at           timestamptz,
  -- how it ends
  stopping           text,
  stopped_by         text,
  reason_code        text,
  reason             text,
  cancelled_at       timestamptz,
  cancelled_by       text,
  error_class        text,
  error_message      text,
  result_summary     jsonb,
  -- what came after it
  superseded_by      uuid,
  retried_as         uuid,
  closed_at          timestamptz,
  closed_by          text,
  -- The only check: PostgreSQL evaluates each one again for every statement that writes to the table.
  constraint execution_states_counts check (
    step_count > 0
    and steps_open + steps_succeeded + steps_failed + steps_cancelled + steps_skipped = step_count
    and least(
      steps_succeeded, steps_failed, steps_cancelled, steps_skipped, steps_unknown, retries_total) >= 0
    and steps_open >= steps_unknown
    and (ended_at is null or steps_open = 0)
    and (state <> 'succeeded' or steps_succeeded = step_count)
    and chain_length >= 0
    and octet_length(chain_hash) = 32)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
create unique index execution_states_key on tenure.execution_states (tenant_id, held_key)
  where held_key is not null;
create index execution_states_next on tenure.execution_states (next_at) where next_at is not null;
create index execution_states_state on tenure.execution_states (tenant_id, state, created_at);
create index execution_states_approved on tenure.execution_states (execution_id) where state = 'approved';
create index execution_states_sla on tenure.execution_states (tenant_id, sla_class, (ended_at - started_at))
  where ended_at is not null and started_at is not null;
create index execution_states_cancelled on tenure.execution_states (tenant_id, cancelled_at)
  where cancelled_at is not null;
create index execution_states_timed_out on tenure.execution_states (tenant_id, ended_at)
  where reason_code = 'timed_out';
create index execution_states_ended on tenure.execution_states (ended_at) where ended_at is not null;
comment on table tenure.execution_states is
  'Where an execution stands. A transaction that changes it, its steps, approvals or events locks this row. '
  'Tenant, time, SLA class and number of steps are copies, for its check and its indexes.';
comment on column tenure.execution_states.held_key is
  'The idempotency key while it is taken: until the execution failed, was cancelled or rejected, a derived '
  'key until any end. After a partial failure it is taken until the execution is closed or retried.';
comment on column tenure.execution_states.next_at is
  'When the clock next matters for it: an expiry, a window, a timeout. Null: it waits for an event.';
comment on column tenure.execution_states.lapses_at is
  'When its approval lapses if it has not started. Null: not approved yet, approved by level 0, or never.';
comment on column tenure.execution_states.stopping is
  'Why no more of its steps start. It ends when the last step under way has ended.';
comment on column tenure.execution_states.steps_open is
  'Steps that have not ended, those with an unknown outcome included.';
comment on column tenure.execution_states.chain_hash is
  'The hash of its last event, from which the next is chained.';
create trigger execution_states_kept before delete on tenure.execution_states
  for each row execute function tenure.refuse_loss();
create trigger execution_states_frozen
  before update of execution_id, tenant_id, created_at, sla_class, step_count on tenure.execution_states
  for each row execute function tenure.refuse_change();
create trigger execution_states_begin before insert on tenure.execution_states
  for each row when (new.state <> 'pending')
  execute function tenure.execution_states_move();
-- Both run after the update: a trigger before it would lock each row first. They run in the order of their
-- names: whether it may move is checked before what goes with the state.
create trigger execution_states_move after update of state on tenure.execution_states
  for each row when (old.state <> new.state)
  execute function tenure.execution_states_move();
create trigger execution_states_values
  after insert or update of
    state, mode, parked, stopping, stopped_by, reason_code, last_transition_by, error_class, error_message,
    result_summary, started_at, ended_at, cancelled_at, cancelled_by
  on tenure.execution_states
  for each row execute function tenure.execution_states_values();
alter table tenure.execution_states enable row level security;
create policy own_tenant on tenure.execution_states
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- Functions off the hot path read an execution whole.
create view tenure.execution_rows with (security_invoker = true) as
select e.execution_id, e.tenant_id, e.purpose, e.plan_hash, e.idempotency_key, e.key_origin,
       s.held_key is not null as key_held, s.state, e.sla_class, e.action_class, s.mode, e.priority,
       e.on_step_failure, e.approval_level, e.rule, e.runbook_ref, e.correlation_id, e.generator,
       e.requested_by, e.on_behalf_of, e.requesters, e.via, e.start_after, e.start_before, e.start_window,
       s.parked, s.next_at, e.plan_size_bytes, s.step_count, e.target_count, s.steps_open, s.steps_succeeded,
       s.steps_failed, s.steps_cancelled, s.steps_skipped, s.steps_unknown, s.retries_total, e.takes_locks,
       e.timeout_ms, s.timeout_at, s.stopping, s.stopped_by, s.reason_code, s.reason, s.error_class,
       s.error_message, s.result_summary, s.cancelled_at, s.cancelled_by, e.supersedes, s.superseded_by,
       e.retry_of, s.retried_as, s.closed_at, s.closed_by, e.metadata, e.created_at, s.approved_at,
       s.lapses_at, s.started_at, s.ended_at,
       tenure.milliseconds(e.created_at, s.started_at) as queue_wait_ms,
       tenure.milliseconds(s.started_at, s.ended_at) as duration_ms,
       s.last_transition_at, s.last_transition_by, s.last_state, s.chain_length, s.chain_hash
  from tenure.executions e
  join tenure.execution_states s on s.execution_id = e.execution_id;
comment on view tenure.execution_rows is 'Executions: what was submitted, and where it stands.';

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
create type tenure.chain_entry as (
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
