-- What plans are checked against: registered actions, types of targets and timeouts, and the changes of all
-- this that a second admin has to approve.

create table tenure.actions (
  tenant_id          integer     not null references tenure.tenants,
  name               text        not null check (name ~ '\S' and length(name) <= 200),
  action_class       text        not null check (action_class in ('read', 'modify', 'deploy')),
  kinds              text[]      check (cardinality(kinds) > 0),
  level_min          smallint    not null default 0 check (level_min between 0 and 3),
  lock_scope         text        not null check (lock_scope in ('none', 'target_and_action', 'target')),
  payload_restricted boolean     not null default false,
  note               text        not null default '',
  updated_at         timestamptz not null,
  updated_by         text        not null check (updated_by ~ '\S'),
  -- The name as a pattern of LIKE: a star stands for anything.
  pattern            text        not null generated always as (
    replace(regexp_replace(name, $r$([%_\\])$r$, $r$\\\1$r$, 'g'), '*', '%')) stored,
  primary key (tenant_id, name)
);
comment on table tenure.actions is
  'Registered actions, by name or glob, with the least class, level and lock of their steps. A plan may '
  'raise these, never lower them.';
comment on column tenure.actions.kinds is
  'Kinds of jobs that may carry the action, with * for anything. Null: only the kind of its own name.';
alter table tenure.actions enable row level security, force row level security;
create policy own_tenant on tenure.actions
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.target_types (
  tenant_id  integer     not null references tenure.tenants,
  name       text        not null check (name ~ '\S' and length(name) <= 200),
  case_rule  text        not null check (case_rule in ('exact', 'lower')),
  note       text        not null default '',
  updated_at timestamptz not null,
  updated_by text        not null check (updated_by ~ '\S'),
  primary key (tenant_id, name)
);
comment on table tenure.target_types is
  'Types of targets: whether upper and lower case in a reference name two targets (exact) or one (lower).';
alter table tenure.target_types enable row level security, force row level security;
create policy own_tenant on tenure.target_types
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.timeout_policies (
  tenant_id            integer not null references tenure.tenants,
  sla_class            text    not null check (sla_class in ('fast', 'medium', 'long')),
  action_class         text    not null check (action_class in ('read', 'modify', 'deploy')),
  execution_timeout_ms integer not null check (execution_timeout_ms > 0),
  step_timeout_ms      integer not null check (step_timeout_ms > 0),
  lease_ms             integer not null check (lease_ms > 0),
  renewals_max         integer not null default 3 check (renewals_max between 0 and 1000),
  primary key (tenant_id, sla_class, action_class),
  constraint timeout_policies_lease_covers_step check (lease_ms >= step_timeout_ms),
  constraint timeout_policies_execution_covers_step check (execution_timeout_ms >= step_timeout_ms)
);
comment on table tenure.timeout_policies is
  'Limits for an execution, a step and a lease, by SLA class and action class. Rows of tenant 0 are the '
  'defaults of the installation; rows of a tenant come first.';
insert into tenure.timeout_policies
  (tenant_id, sla_class, action_class, execution_timeout_ms, step_timeout_ms, lease_ms)
values
  (0, 'fast',   'read',    10000,   5000,  15000),
  (0, 'fast',   'modify',  10000,   8000,  24000),
  (0, 'fast',   'deploy',  10000,  10000,  30000),
  (0, 'medium', 'read',    30000,  15000,  45000),
  (0, 'medium', 'modify',  30000,  20000,  60000),
  (0, 'medium', 'deploy',  30000,  30000,  90000),
  (0, 'long',   'read',   600000,  60000, 180000),
  (0, 'long',   'modify', 600000, 120000, 360000),
  (0, 'long',   'deploy', 600000, 180000, 540000);
-- After the defaults, which the owner could not insert under the policy.
alter table tenure.timeout_policies enable row level security, force row level security;
create policy own_tenant on tenure.timeout_policies
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()) or tenant_id = 0)
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.governance_changes (
  change_id       uuid        primary key,
  tenant_id       integer     not null references tenure.tenants,
  subject         text        not null check (
    subject in ('action', 'approval_rule', 'target_type', 'kind', 'config')),
  name            text        not null check (name ~ '\S'),
  operation       text        not null check (operation in ('set', 'delete')),
  old             jsonb,
  new             jsonb,
  state           text        not null default 'pending' check (state in ('pending', 'approved', 'rejected')),
  proposed_at     timestamptz not null,
  proposed_by     text        not null check (proposed_by ~ '\S'),
  proposed_makers text[]      not null default '{}',
  proposed_means  text[]      not null default '{}',
  on_behalf_of    text,
  decided_at      timestamptz,
  decided_by      text        check (decided_by ~ '\S'),
  decided_makers  text[],
  auth_method     text,
  comment         text,
  constraint governance_changes_decided_later check (decided_at >= proposed_at),
  constraint governance_changes_pending_until_decided check ((state = 'pending') = (decided_at is null)),
  constraint governance_changes_decision_has_author check ((decided_at is null) = (decided_by is null)),
  constraint governance_changes_four_eyes check (state <> 'approved' or decided_by <> proposed_by),
  constraint governance_changes_rejection_has_comment check (state <> 'rejected' or comment ~ '\S')
);
create index governance_changes_tenant on tenure.governance_changes (tenant_id, proposed_at);
comment on table tenure.governance_changes is
  'Changes of actions, rules, target types, governed kinds and settings that a second admin must approve.';
create trigger governance_changes_move before update on tenure.governance_changes
  for each row execute function tenure.governance_changes_move();
create trigger governance_changes_kept before delete on tenure.governance_changes
  for each row execute function tenure.governance_changes_kept();
alter table tenure.governance_changes enable row level security, force row level security;
create policy own_tenant on tenure.governance_changes
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
