-- Evidence: the signed record of executions, kept when their rows are removed.

create table tenure.evidence_keys (
  key_id      text        primary key check (key_id ~ '^[0-9a-f]{16}$'),
  public_key  bytea       not null check (octet_length(public_key) = 32),
  is_external boolean     not null default false,
  created_at  timestamptz not null,
  created_by  text        not null check (created_by ~ '\S')
);
comment on table tenure.evidence_keys is
  'Public keys of evidence; the newest signs. The secret half is in tenure.secrets, as evidence:<key id>, '
  'or outside.';
comment on column tenure.evidence_keys.is_external is
  'The secret half was never in the database: servers have it in a file or in their environment.';
alter table tenure.evidence_keys enable row level security, force row level security;
create policy owner_sees_all on tenure.evidence_keys for all to tenure_owner using (true) with check (true);

create table tenure.execution_archives (
  execution_id   uuid        primary key,
  tenant_id      integer     not null,
  purpose        text        not null,
  plan_hash      text        not null,
  state          text        not null,
  requested_by   text        not null,
  requesters     text[]      not null default '{}',
  correlation_id text,
  targets        text[]      not null default '{}',
  created_at     timestamptz not null,
  ended_at       timestamptz not null,
  archived_at    timestamptz not null,
  evidence       text        not null,
  proof          jsonb
);
create index execution_archives_tenant on tenure.execution_archives (tenant_id, ended_at, execution_id);
comment on table tenure.execution_archives is 'The signed evidence of executions whose rows were removed.';
comment on column tenure.execution_archives.requesters is
  'The requester, the principal it acted for, and those of the executions that it retried.';
comment on column tenure.execution_archives.targets is
  'The targets of its steps, type:ref as in the key of a lock, and type:ref:action for each action at them.';
comment on column tenure.execution_archives.proof is
  'The proof that a checkpoint covers its last chain head, if one did when it was archived.';
create trigger execution_archives_frozen before update on tenure.execution_archives
  for each row execute function tenure.refuse_change();
alter table tenure.execution_archives enable row level security, force row level security;
create policy own_tenant on tenure.execution_archives
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- One index serves all searches. An operator on arrays is not leakproof, so under row-level security an index
-- on the arrays of execution_archives would not be used.
create table tenure.execution_archive_terms (
  tenant_id    integer     not null,
  term         text        not null check (term in ('target', 'requester', 'correlation')),
  value        text        not null,
  ended_at     timestamptz not null,
  execution_id uuid        not null,
  primary key (tenant_id, term, value, ended_at, execution_id)
);
comment on table tenure.execution_archive_terms is
  'What archived executions are searched by: their targets, requesters and correlation id.';
create trigger execution_archive_terms_frozen before update on tenure.execution_archive_terms
  for each row execute function tenure.refuse_change();
alter table tenure.execution_archive_terms enable row level security, force row level security;
create policy own_tenant on tenure.execution_archive_terms
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
