-- Executions: a frozen plan, who allowed it, what it locks, what became of each step, and the proof of all that.

-- Whoever ends jobs looks for steps only in lanes where a job of a step ever was.
alter table tenure.lanes add column stepped boolean not null default false;
alter table tenure.lanes add column lease_seconds_min integer check (lease_seconds_min between 1 and 86400);
comment on column tenure.lanes.stepped is 'Whether the job of a step was ever enqueued here.';
comment on column tenure.lanes.lease_seconds_min is 'A lease here is no shorter: steps take so long. Null: whatever the kind says.';

-- Who may approve what, apart from the level of a key.
alter table tenure.principals add column approver_level smallint check (approver_level between 1 and 3);
alter table tenure.principals add column approval_roles text[] not null default '{}';
alter table tenure.principals add check (kind <> 'agent' or approver_level is null);
comment on column tenure.principals.approver_level is 'Up to which level this principal approves when it comes by a database login; a key has a level of its own.';

create function tenure.text_hash(p_text text) returns text
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$ select encode(sha256(convert_to(p_text, 'UTF8')), 'hex') $$;

create sequence tenure.lock_fence;
create sequence tenure.block_order;

create table tenure.plans (
  execution_id       uuid    primary key,
  tenant_id          integer not null,
  plan               text    not null,
  plan_hash          text    not null generated always as (tenure.text_hash(plan)) stored,
  plan_snapshot      jsonb   not null generated always as (plan::jsonb) stored,
  plan_snapshot_hash text    not null generated always as (tenure.text_hash(plan::jsonb::text)) stored,
  unique (execution_id, plan_hash)
);
comment on table tenure.plans is 'The frozen text of a plan. The database computes its hash and its queryable form; nobody changes any of it.';
create table tenure.executions (
  execution_id       uuid        primary key,
  tenant_id          integer     not null,
  purpose            text        not null check (purpose ~ '\S'),
  plan_hash          text        not null check (plan_hash ~ '^[0-9a-f]{64}$'),
  idempotency_key    text        not null check (idempotency_key ~ '\S' and length(idempotency_key) <= 255),
  key_origin         text        not null check (key_origin in ('given', 'derived')),
  key_held           boolean     not null default true,
  state              text        not null check (state in ('pending', 'awaiting_approval', 'approved', 'running', 'succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected')),
  sla_class          text        not null check (sla_class in ('fast', 'medium', 'long')),
  action_class       text        not null check (action_class in ('read', 'modify', 'deploy')),
  mode               text        not null check (mode in ('immediate', 'background')),
  priority           smallint    not null,
  on_step_failure    text        not null check (on_step_failure in ('stop', 'continue')),
  approval_level     smallint    not null check (approval_level between 0 and 3),
  rule               text        not null check (rule ~ '\S'),
  runbook_ref        text        check (runbook_ref ~ '\S'),
  correlation_id     text,
  generator          text,
  requested_by       text        not null check (requested_by ~ '\S'),
  on_behalf_of       text,
  via                text,
  start_after        timestamptz check (isfinite(start_after)),
  start_before       timestamptz check (isfinite(start_before)),
  start_window       jsonb,
  parked             text        check (parked in ('window', 'freeze')),
  next_at            timestamptz,
  plan_size_bytes    integer     not null check (plan_size_bytes > 0),
  step_count         integer     not null check (step_count > 0),
  target_count       integer     not null check (target_count > 0),
  steps_open         integer     not null check (steps_open >= 0),
  steps_succeeded    integer     not null default 0 check (steps_succeeded >= 0),
  steps_failed       integer     not null default 0 check (steps_failed >= 0),
  steps_cancelled    integer     not null default 0 check (steps_cancelled >= 0),
  steps_skipped      integer     not null default 0 check (steps_skipped >= 0),
  steps_unknown      integer     not null default 0 check (steps_unknown >= 0),
  retries_total      integer     not null default 0 check (retries_total >= 0),
  timeout_ms         integer     not null check (timeout_ms > 0),
  timeout_at         timestamptz,
  stopping           text        check (stopping in ('step_failed', 'cancelled', 'timed_out')),
  stopped_by         text        check (stopped_by ~ '\S'),
  reason_code        text        check (reason_code ~ '\S'),
  reason             text,
  error_class        text        check (length(error_class) <= 200),
  error_message      text        check (octet_length(error_message) <= 4000),
  result_summary     jsonb       check (octet_length(result_summary::text) <= 10240),
  cancelled_at       timestamptz,
  cancelled_by       text,
  supersedes         uuid,
  superseded_by      uuid,
  retry_of           uuid,
  retried_as         uuid,
  closed_at          timestamptz,
  closed_by          text,
  metadata           jsonb       not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  created_at         timestamptz not null,
  approved_at        timestamptz,
  started_at         timestamptz check (started_at >= created_at),
  ended_at           timestamptz check (ended_at >= coalesce(started_at, created_at)),
  queue_wait_ms      bigint      generated always as (floor(extract(epoch from started_at - created_at) * 1000)::bigint) stored,
  duration_ms        bigint      generated always as (floor(extract(epoch from ended_at - started_at) * 1000)::bigint) stored,
  last_transition_at timestamptz not null,
  last_transition_by text        not null check (last_transition_by ~ '\S'),
  last_state         text,
  chain_length       integer     not null default 0 check (chain_length >= 0),
  chain_hash         bytea       not null check (octet_length(chain_hash) = 32),
  check ((state in ('succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected')) = (ended_at is not null)),
  check (state not in ('pending', 'awaiting_approval', 'approved', 'rejected') or started_at is null),
  check (state not in ('running', 'succeeded', 'partially_failed', 'failed') or started_at is not null),
  check ((state = 'cancelled') = (cancelled_at is not null)),
  check ((cancelled_at is null) = (cancelled_by is null)),
  check (state <> 'succeeded' or (steps_succeeded = step_count and steps_open = 0)),
  check (ended_at is null or steps_open = 0),
  check (approval_level < 2 or runbook_ref is not null),
  check (parked is null or state = 'approved'),
  check (start_before > start_after),
  check (steps_open + steps_succeeded + steps_failed + steps_cancelled + steps_skipped = step_count),
  check (steps_unknown <= steps_open),
  foreign key (execution_id, plan_hash) references tenure.plans (execution_id, plan_hash)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create unique index executions_key on tenure.executions (tenant_id, idempotency_key) where key_held;
create index executions_next on tenure.executions (next_at) where next_at is not null;
create index executions_state on tenure.executions (tenant_id, state, created_at);
create index executions_requested_by on tenure.executions (tenant_id, requested_by, created_at);
create index executions_correlation on tenure.executions (tenant_id, correlation_id) where correlation_id is not null;
create index executions_sla on tenure.executions (tenant_id, sla_class, duration_ms) where duration_ms is not null;
create index executions_cancelled on tenure.executions (tenant_id, cancelled_at) where cancelled_at is not null;
create index executions_timed_out on tenure.executions (tenant_id, ended_at) where reason_code = 'timed_out';
create index executions_ended on tenure.executions (ended_at) where ended_at is not null;
comment on table tenure.executions is
  'One run of a frozen plan. Whoever changes it, its steps, approvals or events holds its row. The chain of its events hangs on chain_hash.';
comment on column tenure.executions.key_held is 'Whether the key is still taken: until it failed, was cancelled or rejected; a derived key until any end; that of a partially failed one until somebody closes or retries it.';
comment on column tenure.executions.next_at is 'When somebody has to look at it: an expiry, a window, a timeout. Null: nothing happens by itself.';
comment on column tenure.executions.stopping is 'Why nothing more of it starts; it ends when the last step that is under way has ended.';
comment on column tenure.executions.steps_open is 'Steps that are not over, those with an unknown outcome included.';

create table tenure.steps (
  execution_id      uuid        not null,
  step_number       integer     not null check (step_number > 0),
  tenant_id         integer     not null,
  step_id           text        not null check (step_id ~ '\S'),
  action            text        not null check (action ~ '\S'),
  action_class      text        not null check (action_class in ('read', 'modify', 'deploy')),
  target_type       text        not null check (target_type ~ '\S'),
  target_ref        text        not null check (target_ref ~ '\S'),
  kind              text        not null,
  executor          text,
  payload           jsonb       not null default '{}' check (jsonb_typeof(payload) = 'object'),
  payload_ref       text,
  effects           text        not null check (effects in ('idempotent', 'once')),
  attempts_max      smallint    check (attempts_max >= 1),
  timeout_seconds   integer     not null check (timeout_seconds > 0),
  renewals_max      integer     not null check (renewals_max >= 0),
  lease_seconds     integer     not null check (lease_seconds between 1 and 86400),
  priority          smallint    not null,
  approval_level    smallint    not null check (approval_level between 0 and 3),
  rule              text        not null check (rule ~ '\S'),
  approval_roles    text[]      not null default '{}',
  approval_quorum   smallint    not null default 1 check (approval_quorum between 1 and 10),
  approval_seconds  integer     not null default 86400 check (approval_seconds > 0),
  lock_target       text,
  lock_action       text        check (lock_target is not null or lock_action is null),
  compensation_note text,
  state             text        not null default 'waiting' check (state in ('waiting', 'awaiting_approval', 'blocked', 'running', 'unknown', 'succeeded', 'failed', 'cancelled', 'skipped')),
  needs_left        integer     not null check (needs_left >= 0),
  blocked_order     bigint,
  blocked_at        timestamptz,
  fence             bigint,
  job_id            uuid,
  dispatches        smallint    not null default 0 check (dispatches >= 0),
  carried_from      uuid,
  attempt           smallint    not null default 0 check (attempt >= 0),
  worker            text,
  queued_at         timestamptz,
  started_at        timestamptz,
  ended_at          timestamptz check (ended_at >= started_at),
  duration_ms       bigint      generated always as (floor(extract(epoch from ended_at - started_at) * 1000)::bigint) stored,
  output_summary    jsonb       check (octet_length(output_summary::text) <= 10240),
  output_ref        text        check (length(output_ref) <= 500),
  output_size_bytes integer     check (output_size_bytes >= 0),
  error_code        text,
  error_class       text,
  error_message     text        check (octet_length(error_message) <= 4000),
  verdict_by        text,
  verdict_reason    text,
  primary key (execution_id, step_number),
  check ((state in ('succeeded', 'failed', 'cancelled', 'skipped')) = (ended_at is not null)),
  check ((state = 'blocked') = (blocked_order is not null)),
  check (state not in ('running', 'unknown') or job_id is not null),
  check (attempts_max is null or attempt <= attempts_max or verdict_by is not null)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create unique index steps_job on tenure.steps (job_id) where job_id is not null;
-- Who waits for a lock, in the order of their turn: the next is one look, however many there are.
create index steps_blocked on tenure.steps (tenant_id, lock_target, priority desc, blocked_order) where state = 'blocked';
-- History alone: every index that a step is in from the beginning is written three times.
create index steps_target on tenure.steps (tenant_id, target_type, target_ref, action) where ended_at is not null;
create index steps_kind on tenure.steps (tenant_id, kind, ended_at) where ended_at is not null;
create index steps_timed_out on tenure.steps (tenant_id, ended_at) where error_code = 'timed_out';
comment on table tenure.steps is 'One step of a frozen plan: what it is (never changed) and what became of it. It becomes a job when its turn comes.';
comment on column tenure.steps.needs_left is 'So many of its needs have not succeeded yet.';
comment on column tenure.steps.approval_quorum is 'What an approval of the step itself takes, with the roles and the time, as the rules were when the plan was submitted.';
comment on column tenure.steps.fence is 'The fencing number of its lock: greater than that of whoever held the target before.';

create table tenure.step_needs (
  execution_id uuid    not null,
  needs_number integer not null,
  step_number  integer not null,
  tenant_id    integer not null,
  primary key (execution_id, needs_number, step_number)
);
create index step_needs_step on tenure.step_needs (execution_id, step_number);
comment on table tenure.step_needs is 'Which step waits for which.';

create table tenure.approvals (
  approval_id        uuid        primary key,
  tenant_id          integer     not null,
  execution_id       uuid        not null,
  step_number        integer,
  plan_hash          text        not null,
  plan_snapshot_hash text        not null,
  level              smallint    not null check (level between 0 and 3),
  roles              text[]      not null default '{}',
  quorum             smallint    not null default 1 check (quorum between 1 and 10),
  given              smallint    not null default 0 check (given >= 0),
  rule               text        not null check (rule ~ '\S'),
  auto_approved      boolean     not null default false,
  runbook_ref        text        check (runbook_ref ~ '\S'),
  state              text        not null check (state in ('pending', 'approved', 'rejected', 'expired', 'withdrawn')),
  created_at         timestamptz not null,
  escalate_at        timestamptz,
  escalated_at       timestamptz,
  expires_at         timestamptz check (expires_at > created_at),
  decided_at         timestamptz check (decided_at >= created_at),
  decided_by         text,
  reason             text,
  consumed_at        timestamptz check (consumed_at >= decided_at),
  foreign key (execution_id, plan_hash) references tenure.plans (execution_id, plan_hash),
  foreign key (execution_id, step_number) references tenure.steps,
  check ((state = 'pending') = (decided_at is null)),
  check ((decided_at is null) = (decided_by is null)),
  check (state <> 'approved' or auto_approved or given >= quorum),
  check (auto_approved = (level = 0)),
  check (consumed_at is null or state = 'approved'),
  check (level < 2 or runbook_ref is not null),
  check (level = 0 or expires_at is not null)
);
create index approvals_execution on tenure.approvals (execution_id, plan_hash);
create index approvals_execution_step on tenure.approvals (execution_id, step_number) where step_number is not null;
create index approvals_pending on tenure.approvals (tenant_id, created_at) where state = 'pending';
create index approvals_expiry on tenure.approvals (expires_at) where state = 'pending';
create index approvals_plan_hash on tenure.approvals (tenant_id, plan_hash);
create unique index approvals_one_open on tenure.approvals (execution_id, coalesce(step_number, 0)) where state in ('pending', 'approved') and consumed_at is null;
comment on table tenure.approvals is 'A decision about exactly one plan hash, of an execution or of one step of it. Used up by the start that it allows.';

create table tenure.approval_votes (
  approval_id  uuid        not null references tenure.approvals,
  principal    text        not null check (principal ~ '\S'),
  tenant_id    integer     not null,
  decision     text        not null check (decision in ('approve', 'reject')),
  plan_hash    text        not null,
  comment      text,
  auth_method  text        not null,
  source       text,
  roles        text[]      not null default '{}',
  level        smallint    not null check (level between 1 and 3),
  on_behalf_of text,
  at           timestamptz not null,
  primary key (approval_id, principal),
  check (decision <> 'reject' or comment ~ '\S')
);
create index approval_votes_principal on tenure.approval_votes (tenant_id, principal, at);
comment on table tenure.approval_votes is 'Who decided, when, about which hash, proved by what, from where, in which role.';

create table tenure.approval_rules (
  tenant_id       integer     not null references tenure.tenants,
  name            text        not null check (name ~ '\S' and length(name) <= 200),
  position        integer     not null,
  action_classes  text[]      check (action_classes <@ array['read', 'modify', 'deploy']),
  target_types    text[],
  target_refs     text[],
  sla_classes     text[]      check (sla_classes <@ array['fast', 'medium', 'long']),
  requesters      text[],
  requester_kinds text[]      check (requester_kinds <@ array['human', 'agent', 'service']),
  level           smallint    not null check (level between 0 and 3),
  roles           text[]      not null default '{}',
  quorum          smallint    not null default 1 check (quorum between 1 and 10),
  expires_seconds integer     not null default 86400 check (expires_seconds between 60 and 2592000),
  start_window    jsonb,
  note            text        not null default '',
  updated_at      timestamptz not null,
  updated_by      text        not null check (updated_by ~ '\S'),
  primary key (tenant_id, name),
  unique (tenant_id, position)
);
comment on table tenure.approval_rules is 'Who has to allow what: the first rule that matches a step decides about it, the strictest of all steps about the plan.';

create table tenure.lock_targets (
  tenant_id integer not null,
  target    text    not null check (length(target) <= 400),
  owing     boolean not null default false,
  primary key (tenant_id, target)
) with (fillfactor = 80);
create index lock_targets_owing on tenure.lock_targets (tenant_id) where owing;
comment on table tenure.lock_targets is 'What can be locked. Whoever takes, frees or waits for a lock on it holds this row for that moment, so that nobody waits for what is free.';
comment on column tenure.lock_targets.owing is 'It was freed, and who is next could not be told at once.';

create table tenure.locks (
  tenant_id    integer     not null,
  target       text        not null,
  action       text        not null default '',
  lock_key     text        not null generated always as ('lock:v1:' || tenant_id || ':' || target || case when action = '' then '' else ':' || action end) stored,
  fence        bigint      not null,
  owner        text        not null check (owner ~ '\S'),
  execution_id uuid,
  step_number  integer,
  reason       text,
  acquired_at  timestamptz not null,
  expires_at   timestamptz not null check (expires_at > acquired_at),
  primary key (tenant_id, target, action),
  foreign key (tenant_id, target) references tenure.lock_targets,
  check (length(lock_key) <= 500),
  check ((execution_id is null) = (step_number is null))
) with (fillfactor = 80);
create unique index locks_lock_key on tenure.locks (lock_key);
create index locks_expires_at on tenure.locks (expires_at);
create index locks_step on tenure.locks (execution_id, step_number);
comment on table tenure.locks is
  'Exclusive hold on a target, or on one action at it; the whole excludes every part. That of a step lasts until the step is over, whatever the clock says; any other until it expires.';

create table tenure.timeout_policies (
  tenant_id            integer not null references tenure.tenants,
  sla_class            text    not null check (sla_class in ('fast', 'medium', 'long')),
  action_class         text    not null check (action_class in ('read', 'modify', 'deploy')),
  execution_timeout_ms integer not null check (execution_timeout_ms > 0),
  step_timeout_ms      integer not null check (step_timeout_ms > 0),
  lease_ms             integer not null check (lease_ms > 0),
  renewals_max         integer not null default 3 check (renewals_max between 0 and 1000),
  primary key (tenant_id, sla_class, action_class),
  check (lease_ms >= step_timeout_ms),
  check (execution_timeout_ms >= step_timeout_ms)
);
comment on table tenure.timeout_policies is 'How long an execution, a step and a lease may take, by SLA class and action class. Rows of tenant 0 are the defaults of the installation; a tenant''s own stand above them.';
insert into tenure.timeout_policies (tenant_id, sla_class, action_class, execution_timeout_ms, step_timeout_ms, lease_ms) values
  (0, 'fast', 'read', 10000, 5000, 15000), (0, 'fast', 'modify', 10000, 8000, 24000), (0, 'fast', 'deploy', 10000, 10000, 30000),
  (0, 'medium', 'read', 30000, 15000, 45000), (0, 'medium', 'modify', 30000, 20000, 60000), (0, 'medium', 'deploy', 30000, 30000, 90000),
  (0, 'long', 'read', 600000, 60000, 180000), (0, 'long', 'modify', 600000, 120000, 360000), (0, 'long', 'deploy', 600000, 180000, 540000);

create table tenure.freezes (
  freeze_id  integer     generated always as identity primary key,
  tenant_id  integer     not null references tenure.tenants,
  reason     text        not null check (reason ~ '\S'),
  frozen_at  timestamptz not null,
  frozen_by  text        not null check (frozen_by ~ '\S'),
  until      timestamptz check (until > frozen_at),
  ended_at   timestamptz check (ended_at >= frozen_at),
  ended_by   text,
  end_reason text
);
create unique index freezes_in_force on tenure.freezes (tenant_id) where ended_at is null;
comment on table tenure.freezes is 'While one is in force nothing of the tenant starts that was approved.';

create table tenure.execution_events (
  execution_id uuid        not null,
  seq          integer     not null check (seq > 0),
  tenant_id    integer     not null,
  at           timestamptz not null,
  kind         text        not null check (kind ~ '^[a-z_]+$'),
  step_number  integer,
  body         text        not null,
  hash         bytea       not null check (octet_length(hash) = 32),
  primary key (execution_id, seq)
);
create index execution_events_kind on tenure.execution_events (tenant_id, kind, at);
comment on table tenure.execution_events is
  'What happened to one execution, chained: the hash of each is that of the one before and its body together. They live as long as the execution, and in its evidence after that.';

-- Ends of step jobs that could not be followed at once because somebody held the execution.
create table tenure.step_marks (
  job_id    uuid        primary key,
  tenant_id integer     not null,
  at        timestamptz not null,
  trouble   text
);
create index step_marks_tenant on tenure.step_marks (tenant_id, at);
comment on table tenure.step_marks is 'Jobs of steps that have ended while somebody else held their execution: the next tick follows them up.';

create table tenure.execution_dead_letters (
  execution_id  uuid        primary key,
  tenant_id     integer     not null,
  purpose       text        not null,
  plan          text        not null,
  plan_hash     text        not null,
  context       jsonb       not null check (jsonb_typeof(context) = 'object'),
  attempt_count integer     not null check (attempt_count >= 0),
  last_error    text        not null check (last_error ~ '\S'),
  failed_at     timestamptz not null,
  triage_status text        not null default 'pending' check (triage_status in ('pending', 'acknowledged', 'manual_replay', 'escalated', 'closed')),
  triage_note   text,
  triaged_at    timestamptz,
  triaged_by    text,
  retried_as    uuid,
  check ((triaged_at is null) = (triaged_by is null))
);
create index execution_dead_letters_failed_at on tenure.execution_dead_letters (tenant_id, failed_at);
comment on table tenure.execution_dead_letters is 'Executions that failed, with all that a retry by hand needs. They outlive their execution.';

create table tenure.execution_archives (
  execution_id uuid        primary key,
  tenant_id    integer     not null,
  purpose      text        not null,
  plan_hash    text        not null,
  state        text        not null,
  requested_by text        not null,
  created_at   timestamptz not null,
  ended_at     timestamptz not null,
  archived_at  timestamptz not null,
  evidence     text        not null
);
create index execution_archives_tenant on tenure.execution_archives (tenant_id, ended_at);
comment on table tenure.execution_archives is 'The signed evidence of executions whose rows are gone.';

create table tenure.evidence_keys (
  key_id     text        primary key check (key_id ~ '^[0-9a-f]{16}$'),
  public_key bytea       not null check (octet_length(public_key) = 32),
  created_at timestamptz not null,
  created_by text        not null check (created_by ~ '\S')
);
comment on table tenure.evidence_keys is 'Public keys of evidence; the newest signs. Its secret half is in tenure.secrets, as evidence:<key id>.';

insert into tenure.config_keys (key, value_type, default_value, value_min, value_max, is_gate, description) values
  ('executions.targets.strict', 'boolean', 'false', null, null, false, 'Steps are taken only for targets that an approval rule names.'),
  ('approvals.escalate_percent', 'integer', '75', 1, 99, false, 'An approval that nobody decided about is escalated when so much of its time has passed.'),
  ('retention.executions_days', 'integer', '90', 1, 3650, false, 'An execution is archived with its evidence, and removed, this many days after its end.');

-- What the plan says of one step, with what goes without saying.
create type tenure.plan_step as (
  step_number integer, step_id text, action text, action_class text, target_type text, target_ref text, kind text, executor text, payload jsonb, payload_ref text, needs text[],
  timeout_seconds integer, effects text, attempts_max integer, lock_scope text, lock_target text, lock_action text, compensation_note text
);
-- What is told of executions on the way to their chains.
create type tenure.execution_told as (execution_id uuid, kind text, step_number integer, data jsonb);

-- The chain of events: the hash of each hangs on the one before.
create function tenure.chain_link(p_hash bytea, p_seed bytea, p_body text) returns bytea
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return sha256(coalesce(p_hash, p_seed) || convert_to(p_body, 'UTF8'));
end
$$;
create aggregate tenure.chain_hash(bytea, text) (sfunc = tenure.chain_link, stype = bytea);
