-- The steps of executions: what the plan says is written once, in steps; where a step stands moves in
-- step_states. Row-level security is not forced on the owner: each step that goes on reads and writes these
-- tables, and the functions filter by tenant themselves.

create table tenure.steps (
  execution_id           uuid        not null,
  step_number            integer     not null check (step_number > 0),
  tenant_id              integer     not null,
  step_id                text        not null check (step_id ~ '\S'),
  action                 text        not null check (action ~ '\S'),
  action_class           text        not null check (action_class in ('read', 'modify', 'deploy')),
  target_type            text        not null check (target_type ~ '\S'),
  target_ref             text        not null check (target_ref ~ '\S'),
  kind                   text        not null,
  executor               text,
  payload                jsonb       not null default '{}' check (jsonb_typeof(payload) = 'object'),
  payload_ref            text,
  payload_classification text        not null default 'safe_metadata'
                                     check (payload_classification in ('safe_metadata', 'restricted')),
  effects                text        not null check (effects in ('idempotent', 'once')),
  attempts_max           smallint    check (attempts_max >= 1),
  timeout_seconds        integer     not null check (timeout_seconds > 0),
  renewals_max           integer     not null check (renewals_max >= 0),
  lease_seconds          integer     not null check (lease_seconds between 1 and 86400),
  priority               smallint    not null,
  registration           text,
  level_min              smallint    not null default 0 check (level_min between 0 and 3),
  approval_level         smallint    not null check (approval_level between 0 and 3),
  rule                   text        not null check (rule ~ '\S'),
  approval_roles         text[]      not null default '{}',
  approval_quorum        smallint    not null default 1 check (approval_quorum between 1 and 10),
  approval_seconds       integer     not null default 86400 check (approval_seconds > 0),
  section                text,
  lock_target            text,
  lock_action            text,
  compensation_note      text,
  primary key (execution_id, step_number),
  constraint steps_level_reached check (approval_level >= level_min),
  constraint steps_lock check (lock_target is not null or lock_action is null)
);
create index steps_section on tenure.steps (execution_id, section) where section is not null;
create index steps_target on tenure.steps (tenant_id, target_type, target_ref, action);
create index steps_kind on tenure.steps (tenant_id, kind, execution_id);
comment on table tenure.steps is
  'One step of a frozen plan, as the plan, the registered actions and the rules have it. Written once.';
comment on column tenure.steps.action_class is
  'The class that applies: that of the registered action, or that of the plan where it is stricter.';
comment on column tenure.steps.payload_classification is
  'Where it is restricted, evidence shows only the SHA-256 of the payload, in the step and in the plan.';
comment on column tenure.steps.registration is
  'The registered action that decided, by its name or glob. Null: none matched.';
comment on column tenure.steps.level_min is
  'The approval level that the action itself demands, whatever the rules say.';
comment on column tenure.steps.approval_quorum is
  'With the roles and the time: what an approval of this step takes, by the rules when the plan was '
  'submitted.';
comment on column tenure.steps.section is
  'The section of the plan that it belongs to: steps that hold one lock together, one after the other.';
create trigger steps_frozen before update on tenure.steps
  for each row execute function tenure.refuse_change();
create trigger steps_kept before delete on tenure.steps
  for each row execute function tenure.refuse_loss();
alter table tenure.steps enable row level security;
create policy own_tenant on tenure.steps
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.step_states (
  execution_id      uuid        not null,
  step_number       integer     not null,
  tenant_id         integer     not null,
  attempts_max      smallint,
  state             text        not null default 'waiting',
  needs_left        integer     not null,
  job_id            uuid,
  dispatches        smallint    not null default 0,
  fence             bigint,
  attempt           smallint    not null default 0,
  worker            text,
  queued_at         timestamptz,
  started_at        timestamptz,
  ended_at          timestamptz,
  output_summary    jsonb,
  output_ref        text,
  output_size_bytes integer,
  error_code        text,
  error_class       text,
  error_message     text,
  carried_from      uuid,
  verdict_by        text,
  verdict_reason    text,
  primary key (execution_id, step_number),
  foreign key (execution_id, step_number) references tenure.steps,
  constraint step_states_moves check (
    case
      when state in ('waiting', 'awaiting_approval', 'blocked') then ended_at is null
      when state in ('running', 'unknown') then ended_at is null and job_id is not null
      else state in ('succeeded', 'failed', 'cancelled', 'skipped') and ended_at is not null
    end
    and least(needs_left, attempt, dispatches, output_size_bytes) >= 0
    and (attempt <= attempts_max or verdict_by is not null or attempts_max is null)
    and ended_at >= started_at
    and octet_length(output_summary::text) <= 10240
    and length(output_ref) <= 500
    and octet_length(error_message) <= 4000)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
-- What changes while a step runs is in no index but that of its job: then its end is a heap-only update that
-- writes to no index.
create unique index step_states_job on tenure.step_states (job_id) where job_id is not null;
create index step_states_timed_out on tenure.step_states (tenant_id, execution_id)
  where error_code = 'timed_out';
comment on table tenure.step_states is
  'Where a step stands. It becomes a job when its turn comes. Only a transaction that has locked the row of '
  'its execution in execution_states changes it. attempts_max is a copy, for the check.';
comment on column tenure.step_states.needs_left is 'How many of its needs have not succeeded yet.';
comment on column tenure.step_states.fence is
  'The fencing number of the run that may act on the target, or was the last: greater than all before it. '
  'Null for a step without a lock.';
create trigger step_states_kept before delete on tenure.step_states
  for each row execute function tenure.refuse_loss();
create trigger step_states_frozen before update of execution_id, step_number, tenant_id, attempts_max
  on tenure.step_states
  for each row execute function tenure.refuse_change();
alter table tenure.step_states enable row level security;
create policy own_tenant on tenure.step_states
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- Functions off the hot path read a step whole.
create view tenure.step_rows with (security_invoker = true) as
select p.execution_id, p.step_number, p.tenant_id, p.step_id, p.action, p.action_class, p.target_type,
       p.target_ref, p.kind, p.executor, p.payload, p.payload_ref, p.payload_classification, p.effects,
       p.attempts_max, p.timeout_seconds, p.renewals_max, p.lease_seconds, p.priority, p.approval_level,
       p.level_min, p.rule, p.approval_roles, p.approval_quorum, p.approval_seconds, p.lock_target,
       p.lock_action, p.section, p.compensation_note, p.registration, s.state, s.needs_left, s.fence,
       s.job_id, s.dispatches, s.carried_from, s.attempt, s.worker, s.queued_at, s.started_at, s.ended_at,
       tenure.milliseconds(s.started_at, s.ended_at) as duration_ms,
       s.output_summary, s.output_ref, s.output_size_bytes, s.error_code, s.error_class, s.error_message,
       s.verdict_by, s.verdict_reason
  from tenure.steps p
  join tenure.step_states s on s.execution_id = p.execution_id and s.step_number = p.step_number;
comment on view tenure.step_rows is 'Steps: what the plan says, and where each stands.';

create table tenure.step_needs (
  execution_id uuid    not null,
  needs_number integer not null,
  step_number  integer not null,
  tenant_id    integer not null,
  primary key (execution_id, needs_number, step_number)
);
-- With step_number first, a lookup by execution and need has one index to use, however small the table looks.
create index step_needs_step on tenure.step_needs (step_number, execution_id);
comment on table tenure.step_needs is 'Step step_number waits for step needs_number.';
create trigger step_needs_frozen before update on tenure.step_needs
  for each row execute function tenure.refuse_change();
alter table tenure.step_needs enable row level security;
create policy own_tenant on tenure.step_needs
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.step_runs (
  execution_id  uuid        not null,
  step_number   integer     not null,
  job_id        uuid        not null,
  run           integer     not null,
  tenant_id     integer     not null,
  attempt       smallint    not null,
  outcome       text        not null,
  state         text        not null,
  owner         text,
  holder        text,
  leased_at     timestamptz,
  started_at    timestamptz,
  ended_at      timestamptz not null,
  actor         text        not null,
  reason        text,
  error_code    text,
  error_class   text,
  error_message text,
  result        jsonb,
  result_ref    text,
  primary key (execution_id, step_number, job_id, run),
  foreign key (execution_id, step_number) references tenure.steps
);
comment on table tenure.step_runs is
  'The runs of steps, copied from tenure.attempts when the job is emptied. They are kept as long as the '
  'execution, then in its evidence.';
create trigger step_runs_frozen before update on tenure.step_runs
  for each row execute function tenure.refuse_change();
create trigger step_runs_kept before delete on tenure.step_runs
  for each row execute function tenure.refuse_loss();
-- Upkeep asks for all tenants at once whether everything was copied.
alter table tenure.step_runs enable row level security;
create policy own_tenant on tenure.step_runs
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.step_fences (
  execution_id uuid    not null,
  step_number  integer not null,
  tenant_id    integer not null,
  fence        bigint  not null,
  primary key (execution_id, step_number)
);
comment on table tenure.step_fences is
  'The greatest fencing number that a later run of a step got when it was claimed, even if it never started.';
alter table tenure.step_fences enable row level security;
create policy own_tenant on tenure.step_fences
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
