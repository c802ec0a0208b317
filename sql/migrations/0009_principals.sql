-- Principals, and the API keys with which they act over HTTP.

create table tenure.principals (
  principal_id   integer     generated always as identity primary key,
  tenant_id      integer     not null references tenure.tenants,
  name           text        not null check (name ~ '\S' and length(name) <= 200),
  kind           text        not null check (kind in ('human', 'agent', 'service')),
  email          text        check (email ~ '^[^@\s]+@[^@\s]+$' and length(email) <= 320),
  approver_level smallint    check (approver_level between 1 and 3),
  approval_roles text[]      not null default '{}',
  makers         text[]      not null default '{}',
  created_at     timestamptz not null,
  created_by     text        not null check (created_by ~ '\S'),
  unique (tenant_id, name),
  constraint principals_agents_do_not_approve check (kind <> 'agent' or approver_level is null)
);
comment on table tenure.principals is
  'A person, an agent or a service. The name is the actor of events. Those of tenant 0 (*) run the '
  'installation.';
comment on column tenure.principals.approver_level is
  'The highest level this principal approves when it comes by a database login. A key has a level of its '
  'own.';
comment on column tenure.principals.makers is
  'Who registered or changed it, and the makers of the key or login they used. It cannot decide about '
  'their plans.';

create table tenure.keys (
  key_id         uuid        primary key,
  tenant_id      integer     not null references tenure.tenants,
  principal_id   integer     not null references tenure.principals,
  prefix         text        not null unique check (prefix ~ '^[a-z0-9]{8,32}$'),
  hash           bytea       not null check (octet_length(hash) = 32),
  roles          text[]      not null check (
    cardinality(roles) > 0
    and roles <@ array['viewer', 'requester', 'producer', 'worker', 'operator', 'approver', 'admin']),
  approver_level smallint    check (approver_level between 1 and 3),
  executors      text[],
  kinds          text[],
  payload_access text        not null default 'safe' check (payload_access in ('safe', 'restricted')),
  note           text        not null default '' check (length(note) <= 500),
  makers         text[]      not null default '{}',
  created_at     timestamptz not null,
  created_by     text        not null check (created_by ~ '\S'),
  expires_at     timestamptz check (isfinite(expires_at)),
  revoked_at     timestamptz,
  revoked_by     text,
  last_used_at   timestamptz,
  constraint keys_approver_has_level check ((approver_level is not null) = ('approver' = any (roles))),
  constraint keys_revocation_has_author check ((revoked_at is null) = (revoked_by is null))
);
create index keys_tenant_id on tenure.keys (tenant_id);
create index keys_principal_id on tenure.keys (principal_id);
comment on table tenure.keys is
  'API keys. The secret is not stored: only its keyed hash, and a prefix to recognise it by.';
comment on column tenure.keys.makers is
  'Who made it, and the makers of the key or login they used. It cannot decide about their plans.';

create table tenure.secrets (
  name  text  primary key,
  value bytea not null
);
comment on table tenure.secrets is
  'Secrets of the installation, read by the owner only. keys: the key of the hashes of API keys; replacing '
  'it makes every API key invalid.';
insert into tenure.secrets (name, value)
select 'keys', sha256(string_agg(uuid_send(gen_random_uuid()), ''::bytea))
  from generate_series(1, 4);

-- tenure.caller() reads principals and keys, so their policies for the owner must not call it. Other roles
-- read them only through functions, which never show a hash.
alter table tenure.principals enable row level security, force row level security;
alter table tenure.keys enable row level security, force row level security;
alter table tenure.secrets enable row level security, force row level security;
create policy owner_sees_all on tenure.principals for all to tenure_owner using (true) with check (true);
create policy owner_sees_all on tenure.keys for all to tenure_owner using (true) with check (true);
create policy owner_sees_all on tenure.secrets for all to tenure_owner using (true) with check (true);
