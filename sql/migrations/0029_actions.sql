-- Actions: what an action is, and what it demands, is registered by an admin. A requester's plan may raise
-- that, never lower it. Beside it: target types with a case rule, and changes of all this that need a second
-- admin.

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
  'Registered actions, by name or glob: the least class, level and lock of every step with the action.';
comment on column tenure.actions.kinds is
  'Kinds of jobs that may carry the action, with * for anything. Null: only the kind of its own name.';

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

create table tenure.governance_changes (
  change_id       uuid        primary key,
  tenant_id       integer     not null references tenure.tenants,
  subject         text        not null check (subject in (
    'action', 'approval_rule', 'target_type', 'kind', 'config')),
  name            text        not null check (name ~ '\S'),
  operation       text        not null check (operation in ('set', 'delete')),
  old             jsonb,
  new             jsonb,
  state           text        not null default 'pending' check (state in ('pending', 'approved', 'rejected')),
  proposed_at     timestamptz not null,
  proposed_by     text        not null check (proposed_by ~ '\S'),
  proposed_makers text[]      not null default '{}',
  proposed_means  text[]      not null default '{}',
  decided_at      timestamptz check (decided_at >= proposed_at),
  decided_by      text        check (decided_by ~ '\S'),
  decided_makers  text[],
  auth_method     text,
  comment         text,
  check ((state = 'pending') = (decided_at is null)),
  check ((decided_at is null) = (decided_by is null)),
  check (state <> 'approved' or decided_by <> proposed_by),
  check (state <> 'rejected' or comment ~ '\S')
);
create index governance_changes_tenant on tenure.governance_changes (tenant_id, proposed_at);
comment on table tenure.governance_changes is
  'Changes of actions, rules, target types, governed kinds and settings that a second admin must approve.';

-- A proposal is decided once, and what was proposed never changes.
create function tenure.governance_changes_move() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if old.state <> 'pending'
     or (old.change_id, old.tenant_id, old.subject, old.name, old.operation, old.old, old.new,
       old.proposed_at,
         old.proposed_by, old.proposed_makers, old.proposed_means)
        is distinct from (new.change_id, new.tenant_id, new.subject, new.name, new.operation, new.old,
          new.new,
         new.proposed_at, new.proposed_by, new.proposed_makers, new.proposed_means) then
    raise exception using errcode = 'TN014', message = format('Change %s is %s and cannot be changed.',
      old.change_id, old.state),
      detail = 'A proposal is decided once; its content never changes.', hint = 'Propose another change.';
  end if;
  return new;
end
$$;
create trigger governance_changes_move before update on tenure.governance_changes
  for each row execute function tenure.governance_changes_move();
create function tenure.governance_changes_kept() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = 'TN014', message = 'A row of governance_changes cannot be deleted.',
    detail = 'It says who proposed and who approved a change.',
      hint = 'Reject a proposal that is not wanted.';
end
$$;
create trigger governance_changes_kept before delete on tenure.governance_changes
  for each row execute function tenure.governance_changes_kept();

-- Rules match by action, kind and executor too.
alter table tenure.approval_rules add column actions text[];
alter table tenure.approval_rules add column kinds text[];
alter table tenure.approval_rules add column executors text[];

-- What the registry demanded when the plan was submitted.
alter table tenure.steps add column registration text;
alter table tenure.steps add column level_min smallint not null default 0 check (level_min between 0 and 3);
alter table tenure.steps add column payload_classification text not null default 'safe_metadata'
  check (payload_classification in ('safe_metadata', 'restricted'));
alter table tenure.steps add check (approval_level >= level_min);
comment on column tenure.steps.action_class is
  'The class that applies: that of the registered action, or what the plan says where that reaches further.';
comment on column tenure.steps.registration is
  'The registered action that decided, by its name or glob. Null: none matched.';
comment on column tenure.steps.level_min is
  'The approval level that the action itself demands, whatever the rules say.';

insert into tenure.config_keys (key, value_type, default_value, value_min, value_max, is_gate,
  description) values
  ('executions.actions.open', 'boolean', 'false', null, null, false,
   'Open mode: an action without a registration is what the plan says; otherwise it is the strictest.'),
  ('governance.changes.need_approval', 'boolean', 'false', null, null, false,
   'Changes of actions, rules, target types, governed kinds and settings need a second admin''s approval.');

alter table tenure.actions enable row level security, force row level security;
alter table tenure.target_types enable row level security, force row level security;
alter table tenure.governance_changes enable row level security, force row level security;
create policy own_tenant on tenure.actions
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.target_types
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.governance_changes
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
