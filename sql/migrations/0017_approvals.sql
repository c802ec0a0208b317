-- Approvals: the decisions that let an execution or a step start, the rules that ask for them, and freezes.

create table tenure.approvals (
  approval_id        uuid        primary key,
  tenant_id          integer     not null,
  execution_id       uuid        not null,
  step_number        integer,
  plan_hash          text        not null,
  plan_snapshot_hash text        not null,
  -- what it takes
  level              smallint    not null check (level between 0 and 3),
  roles              text[]      not null default '{}',
  quorum             smallint    not null default 1 check (quorum between 1 and 10),
  rule               text        not null check (rule ~ '\S'),
  auto_approved      boolean     not null default false,
  runbook_ref        text        check (runbook_ref ~ '\S'),
  -- how it stands
  state              text        not null check (
    state in ('pending', 'approved', 'rejected', 'expired', 'withdrawn')),
  given              smallint    not null default 0 check (given >= 0),
  created_at         timestamptz not null,
  escalate_at        timestamptz,
  escalated_at       timestamptz,
  expires_at         timestamptz,
  decided_at         timestamptz,
  decided_by         text,
  reason             text,
  consumed_at        timestamptz,
  foreign key (execution_id, plan_hash) references tenure.plans (execution_id, plan_hash),
  foreign key (execution_id, step_number) references tenure.steps,
  constraint approvals_expire_later check (expires_at > created_at),
  constraint approvals_decided_later check (decided_at >= created_at),
  constraint approvals_consumed_later check (consumed_at >= decided_at),
  constraint approvals_pending_until_decided check ((state = 'pending') = (decided_at is null)),
  constraint approvals_decision_has_author check ((decided_at is null) = (decided_by is null)),
  constraint approvals_quorum_met check (state <> 'approved' or auto_approved or given >= quorum),
  constraint approvals_automatic_at_level_0 check (auto_approved = (level = 0)),
  constraint approvals_consumed_when_approved check (consumed_at is null or state = 'approved'),
  constraint approvals_runbook_from_level_2 check (level < 2 or runbook_ref is not null),
  constraint approvals_expire_above_level_0 check (level = 0 or expires_at is not null)
);
create index approvals_execution on tenure.approvals (execution_id, plan_hash);
create index approvals_execution_step on tenure.approvals (execution_id, step_number)
  where step_number is not null;
create index approvals_pending on tenure.approvals (tenant_id, created_at) where state = 'pending';
create index approvals_expiry on tenure.approvals (expires_at) where state = 'pending';
create index approvals_plan_hash on tenure.approvals (tenant_id, plan_hash);
create unique index approvals_one_open on tenure.approvals (execution_id, coalesce(step_number, 0))
  where state in ('pending', 'approved') and consumed_at is null;
comment on table tenure.approvals is
  'A decision about exactly one plan hash, of an execution or of one step of it. The start that it allows '
  'uses it up.';
create trigger approvals_move before insert or update on tenure.approvals
  for each row execute function tenure.approvals_move();
create trigger approvals_kept before delete on tenure.approvals
  for each row execute function tenure.refuse_loss();
alter table tenure.approvals enable row level security, force row level security;
create policy own_tenant on tenure.approvals
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.approval_votes (
  approval_id  uuid        not null references tenure.approvals,
  principal    text        not null check (principal ~ '\S'),
  on_behalf_of text,
  tenant_id    integer     not null,
  decision     text        not null check (decision in ('approve', 'reject')),
  plan_hash    text        not null,
  comment      text,
  auth_method  text        not null,
  auth_makers  text[]      not null default '{}',
  source       text,
  roles        text[]      not null default '{}',
  level        smallint    not null check (level between 1 and 3),
  at           timestamptz not null,
  primary key (approval_id, principal),
  constraint approval_votes_rejection_has_comment check (decision <> 'reject' or comment ~ '\S')
);
create index approval_votes_principal on tenure.approval_votes (tenant_id, principal, at);
comment on table tenure.approval_votes is
  'Votes: who decided, about which hash, with which proof of identity, from where and in which role.';
comment on column tenure.approval_votes.auth_makers is
  'The makers of the key or login that the voter used.';
create trigger approval_votes_check before insert on tenure.approval_votes
  for each row execute function tenure.approval_votes_check();
create trigger approval_votes_frozen before update on tenure.approval_votes
  for each row execute function tenure.refuse_change();
create trigger approval_votes_kept before delete on tenure.approval_votes
  for each row execute function tenure.refuse_loss();
alter table tenure.approval_votes enable row level security, force row level security;
create policy own_tenant on tenure.approval_votes
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.approval_rules (
  tenant_id       integer     not null references tenure.tenants,
  name            text        not null check (name ~ '\S' and length(name) <= 200),
  position        integer     not null,
  -- which steps it matches
  action_classes  text[]      check (action_classes <@ array['read', 'modify', 'deploy']),
  actions         text[],
  kinds           text[],
  executors       text[],
  target_types    text[],
  target_refs     text[],
  sla_classes     text[]      check (sla_classes <@ array['fast', 'medium', 'long']),
  requesters      text[],
  requester_kinds text[]      check (requester_kinds <@ array['human', 'agent', 'service']),
  -- what it asks for
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
comment on table tenure.approval_rules is
  'The first rule that matches a step decides about it; the strictest of all steps decides about the plan.';
alter table tenure.approval_rules enable row level security, force row level security;
create policy own_tenant on tenure.approval_rules
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.freezes (
  freeze_id  integer     generated always as identity primary key,
  tenant_id  integer     not null references tenure.tenants,
  reason     text        not null check (reason ~ '\S'),
  frozen_at  timestamptz not null,
  frozen_by  text        not null check (frozen_by ~ '\S'),
  until      timestamptz,
  ended_at   timestamptz,
  ended_by   text,
  end_reason text,
  constraint freezes_until_later check (until > frozen_at),
  constraint freezes_end_later check (ended_at >= frozen_at)
);
create unique index freezes_in_force on tenure.freezes (tenant_id) where ended_at is null;
comment on table tenure.freezes is
  'While a freeze is in force, no approved execution of the tenant starts.';
alter table tenure.freezes enable row level security, force row level security;
create policy own_tenant on tenure.freezes
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
