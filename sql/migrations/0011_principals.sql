-- Principals: who acts over HTTP, and the keys that prove it.
create table tenure.principals (
  principal_id integer     generated always as identity primary key,
  tenant_id    integer     not null references tenure.tenants,
  name         text        not null check (name ~ '\S' and length(name) <= 200),
  kind         text        not null check (kind in ('human', 'agent', 'service')),
  email        text        check (email ~ '^[^@\s]+@[^@\s]+$' and length(email) <= 320),
  created_at   timestamptz not null,
  created_by   text        not null check (created_by ~ '\S'),
  unique (tenant_id, name)
);
comment on table tenure.principals is 'Who acts: a person, an agent or a service. The name is the actor of events. Those of tenant 0 (*) run the installation.';

create table tenure.keys (
  key_id         uuid        primary key,
  tenant_id      integer     not null references tenure.tenants,
  principal_id   integer     not null references tenure.principals,
  prefix         text        not null unique check (prefix ~ '^[a-z0-9]{8,32}$'),
  hash           bytea       not null check (octet_length(hash) = 32),
  roles          text[]      not null check (cardinality(roles) > 0 and roles <@ array['viewer', 'producer', 'worker', 'operator', 'approver', 'admin']),
  approver_level smallint    check (approver_level between 1 and 3),
  executors      text[],
  kinds          text[],
  payload_access text        not null default 'safe' check (payload_access in ('safe', 'restricted')),
  note           text        not null default '' check (length(note) <= 500),
  created_at     timestamptz not null,
  created_by     text        not null check (created_by ~ '\S'),
  expires_at     timestamptz check (isfinite(expires_at)),
  revoked_at     timestamptz,
  revoked_by     text,
  last_used_at   timestamptz,
  check ((approver_level is not null) = ('approver' = any (roles))),
  check ((revoked_at is null) = (revoked_by is null))
);
create index keys_tenant_id on tenure.keys (tenant_id);
create index keys_principal_id on tenure.keys (principal_id);
comment on table tenure.keys is 'API keys. The secret itself is nowhere: only its keyed hash, and a prefix to recognise it by.';

-- What nobody but the owner reads, and no backup of single tables should carry.
create table tenure.secrets (
  name  text  primary key,
  value bytea not null
);
comment on table tenure.secrets is 'Secrets of the installation. keys: the key of the keyed hashes of API keys; whoever replaces it makes all of them worthless.';
insert into tenure.secrets (name, value)
values ('keys', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- tenure.caller() reads both, so their policies for the owner must not call it. Nobody else reads them: functions do, and show no hash.
alter table tenure.principals enable row level security, force row level security;
alter table tenure.keys enable row level security, force row level security;
alter table tenure.secrets enable row level security, force row level security;
create policy owner_sees_all on tenure.principals for all to tenure_owner using (true) with check (true);
create policy owner_sees_all on tenure.keys for all to tenure_owner using (true) with check (true);
create policy owner_sees_all on tenure.secrets for all to tenure_owner using (true) with check (true);

-- How an event came about: the method, path and address of the request, as a server said that acts for a key. Nobody else is believed.
alter table tenure.events add column via text default
  case when coalesce(current_setting('tenure.key', true), '') <> '' and pg_has_role(session_user, 'tenure_server', 'member') then nullif(current_setting('tenure.via', true), '') end;
comment on column tenure.events.via is 'The request that caused it: method, path and address. Null for calls that did not come over HTTP.';

alter type tenure.caller_identity add attribute roles text[];

-- Whom the walls trust: members of tenure_server, by whoever granted it, and those who can act as the owner (superusers and whoever migrates),
-- who could take the walls down anyway. A server that acts for a key is trusted as far as that key is: one of an admin that belongs to no tenant.
create or replace function tenure.is_trusted() returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text := coalesce(current_setting('tenure.key', true), '');
begin
  return (pg_has_role(session_user, 'tenure_server', 'member') or pg_has_role(session_user, 'tenure_owner', 'member'))
     and (v_key = '' or exists (select from tenure.keys k where k.key_id = v_key::uuid and k.tenant_id = 0 and 'admin' = any (k.roles)));
end
$$;

-- Who is calling. Bound to the database login (session_user: current_user is the owner inside a definer function); only trusted logins name somebody else by settings:
-- a key (tenure.key), whose tenant, principal and rights hold then, or tenant and principal. Scope 'every' (the setting tenure.tenant = '*') has no tenant: only service
-- functions know what to do with it.
create or replace function tenure.caller() returns tenure.caller_identity
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity;
  v_login  text := session_user;
  v_name   text;
begin
  select l.tenant_id, coalesce(l.principal, v_login), 'tenant', l.executors, l.kinds, l.payload_access into v_caller from tenure.logins l where l.login = v_login;
  if not found then
    select l.tenant_id, coalesce(l.principal, v_login), 'tenant', l.executors, l.kinds, l.payload_access into v_caller from tenure.logins l where l.login = '*';
  end if;

  if pg_has_role(v_login, 'tenure_server', 'member') or pg_has_role(v_login, 'tenure_owner', 'member') then
    v_name := nullif(current_setting('tenure.key', true), '');
    if v_name is not null then
      select k.tenant_id, p.name, 'tenant', k.executors, k.kinds, k.payload_access, k.roles into v_caller
        from tenure.keys k
        join tenure.principals p on p.principal_id = k.principal_id
       where k.key_id = v_name::uuid and k.revoked_at is null and (k.expires_at is null or k.expires_at > tenure.now());
      if not found then
        raise exception using errcode = 'TN046', message = 'The key is not valid.', detail = 'It was revoked, or has expired.', hint = 'Ask an admin of the tenant for a new one.';
      end if;
      if v_caller.tenant_id > 0 then
        return v_caller;
      end if;
      -- A key of the installation names its tenant, as a trusted login does.
      v_caller.tenant_id := 1;
    else
      v_caller.principal := coalesce(nullif(current_setting('tenure.principal', true), ''), v_caller.principal, v_login);
      v_caller.payload_access := coalesce(nullif(current_setting('tenure.payload_access', true), ''), 'restricted');
    end if;
    v_name := nullif(current_setting('tenure.tenant', true), '');
    if v_name = '*' then
      v_caller.tenant_id := null;
      v_caller.scope := 'every';
    elsif v_name is not null then
      v_caller.scope := 'tenant';
      select t.tenant_id into v_caller.tenant_id from tenure.tenants t where t.name = v_name and t.tenant_id > 0;
      if not found then
        raise exception using errcode = 'TN027', message = format('There is no tenant %L.', v_name),
          detail = 'The setting tenure.tenant names the tenant of this transaction.', hint = 'Create it with tenure.tenant_create(name), or name another.';
      end if;
    end if;
  end if;

  if v_caller.scope is null then
    raise exception using errcode = 'TN029', message = format('The login %L is bound to no tenant.', v_login),
      detail = 'This installation has no binding for logins without one of their own.', hint = 'An admin binds it: select tenure.login_bind(login, tenant).';
  end if;
  return v_caller;
end
$$;
