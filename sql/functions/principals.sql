-- Principals, and the keys by which they act over HTTP.

-- Where principals and keys of a caller belong: to its tenant, or, for those who act for every tenant, to none (0).
create or replace function tenure.principal_home(p_caller tenure.caller_identity) returns integer
language plpgsql stable
as $$
begin
  return case when p_caller.scope = 'every' then 0 else p_caller.tenant_id end;
end
$$;

-- Who stands behind the caller: who made the key or bound the login by which it comes, who registered or changed
-- its principal, and the makers of all these. A trusted login has no maker of its own: it could act as any
-- principal. A login without a binding of its own has only who took its binding away.
create or replace function tenure.auth_makers(p_caller tenure.caller_identity) returns text[]
language plpgsql stable
as $$
declare
  v_who text[];
begin
  select p.makers into v_who from tenure.principals p
   where p.tenant_id in (p_caller.tenant_id, 0) and p.name = p_caller.principal
   order by p.tenant_id desc limit 1;
  return array(select m from unnest(tenure.means_makers(p_caller) || coalesce(v_who, '{}')) m group by m order by m);
end
$$;

-- Of these, who made the key or bound the login.
create or replace function tenure.means_makers(p_caller tenure.caller_identity) returns text[]
language plpgsql stable
as $$
begin
  if p_caller.roles is not null then
    return (select k.makers from tenure.keys k
             where k.key_id = nullif(current_setting('tenure.key', true), '')::uuid);
  elsif tenure.is_trusted() then
    return '{}';
  end if;
  return coalesce((select l.makers from tenure.logins l
                    where l.login in (session_user, '*') and (l.login <> '*' or l.principal is not null)
                    order by (l.login = '*') limit 1), '{}')
    || array(select unnest(u.makers) from tenure.unbound_logins u where u.login = session_user);
end
$$;

-- Who stands behind what the caller makes now. A trusted login that names nobody is no person.
create or replace function tenure.makers_now(p_caller tenure.caller_identity) returns text[]
language plpgsql stable
as $$
begin
  if p_caller.roles is null and tenure.is_trusted() and coalesce(current_setting('tenure.principal', true), '') = '' then
    return '{}';
  end if;
  return array(select p_caller.principal union select unnest(tenure.auth_makers(p_caller)) order by 1);
end
$$;

-- Makes a principal: a person, an agent or a service.
create or replace function tenure.principal_create(p_name text, p_kind text, p_email text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_home   integer := tenure.principal_home(v_caller);
begin
  perform tenure.refuse_agent(v_caller);
  perform tenure.check_name('principal', p_name);
  perform tenure.check_actor('name of a principal', p_name);
  perform tenure.check_word('value_unknown', 'kind of principal', p_kind, array['human', 'agent', 'service']);
  if p_email is not null and (p_email ~ '^[^@\s]+@[^@\s]+$' and length(p_email) <= 320) is not true then
    perform tenure.refuse('text_invalid', format('%L is no e-mail address.', p_email),
      'It has one @ with something before and after it, and no spaces.', 'Leave it out, or correct it.');
  end if;
  insert into tenure.principals (tenant_id, name, kind, email, created_at, created_by, makers)
  values (v_home, p_name, p_kind, p_email, v_now, v_caller.principal,
    array_remove(tenure.makers_now(v_caller), p_name))
  on conflict (tenant_id, name) do nothing;
  if not found then
    perform tenure.refuse('principal_exists', format('There is already a principal %L.', p_name), 'Names of principals are unique within a tenant: they are the actors of its events.',
      'Use it, or choose another name.');
  end if;
  perform tenure.emit(v_now, v_home, 'principal.created', v_caller.principal, null, p_name, jsonb_build_object('name', p_name, 'kind', p_kind));
  return jsonb_build_object('name', p_name, 'kind', p_kind, 'email', p_email, 'created_at', v_now);
end
$$;

-- The principals of the tenant, by name.
create or replace function tenure.principal_list() returns table (
  name text, kind text, email text, approver_level integer, approval_roles text[], created_at timestamptz,
  created_by text, makers text[], keys bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
begin
  return query
    select p.name, p.kind, p.email, p.approver_level::integer, p.approval_roles, p.created_at, p.created_by, p.makers,
           (select count(*) from tenure.keys k where k.principal_id = p.principal_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > v_now))
      from tenure.principals p
     where p.tenant_id = tenure.principal_home(v_caller)
     order by p.name;
end
$$;

-- The roles that a key may have: each is that of the database role tenure_ROLE.
create or replace function tenure.key_roles() returns text[]
language sql immutable parallel safe
as $$ select array['viewer', 'requester', 'producer', 'worker', 'operator', 'approver', 'admin'] $$;

-- Makes a key for a principal. The secret was made by whoever calls, who shows it once and keeps it nowhere; even its digest is not kept here, only a keyed hash of that.
create or replace function tenure.key_create(
  p_principal text, p_prefix text, p_digest bytea, p_roles text[], p_approver_level integer default null, p_executors text[] default null, p_kinds text[] default null,
  p_payload_access text default 'safe', p_expires_at timestamptz default null, p_note text default '') returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller    tenure.caller_identity := tenure.caller();
  v_now       timestamptz := tenure.now();
  v_home      integer := tenure.principal_home(v_caller);
  v_key_id    uuid := gen_random_uuid();
  v_principal record;
begin
  perform tenure.refuse_agent(v_caller);
  select p.principal_id, p.kind into v_principal from tenure.principals p where p.tenant_id = v_home and p.name = p_principal;
  if not found then
    perform tenure.refuse('principal_unknown', format('There is no principal %L.', p_principal),
      'A key belongs to a principal of the tenant.',
      format('Make it first: tenure.principal_create(%L, kind).', p_principal));
  end if;
  if coalesce(cardinality(p_roles), 0) = 0 then
    perform tenure.refuse('value_unknown', 'The key has no role.', 'A key without a role could do nothing.',
      format('Give one or more of %s.', array_to_string(tenure.key_roles(), ', ')));
  end if;
  perform tenure.check_word('value_unknown', 'role', r.role, tenure.key_roles())
     from unnest(p_roles) r (role);
  if (p_approver_level is not null) <> ('approver' = any (p_roles)) then
    perform tenure.refuse('arguments_mismatched', 'A level goes with the role approver, and only with it.', 'Approvals have levels; whoever approves does so up to one of them.',
      'Give both, or neither.');
  end if;
  if p_approver_level is not null then
    perform tenure.check_number('The level of an approver', p_approver_level, 1, 3);
    if v_principal.kind = 'agent' then
      perform tenure.refuse('not_permitted', format('%s is an agent.', p_principal), 'Agents never approve.', 'Leave the role approver out, or give the key to a person.');
    end if;
  end if;
  if array_position(p_executors, null) is not null or array_position(p_kinds, null) is not null then
    perform tenure.refuse('name_blank', 'A list of the key has an empty place.', 'Nobody can say what it would allow.', 'Leave it out.');
  end if;
  perform tenure.check_number('The number of roles, kinds or executors', greatest(cardinality(p_roles), cardinality(p_executors), cardinality(p_kinds)), 1, tenure.limit_of('key_rights_max'));
  perform tenure.check_name('kind', x.name) from unnest(p_kinds) x (name);
  -- Nobody gives what they do not have.
  if (v_caller.executors is not null and (p_executors <@ v_caller.executors) is not true) or (v_caller.kinds is not null and (p_kinds <@ v_caller.kinds) is not true) then
    perform tenure.refuse('not_permitted', 'The new key would reach further than yours.', 'Yours is bound to kinds or executors, and a key that it makes stays within them.',
      'Name kinds and executors of yours, or ask whoever is not bound.');
  end if;
  perform tenure.check_executor(x.name) from unnest(p_executors) x (name);
  perform tenure.check_word('value_unknown', 'payload access', p_payload_access, array['safe', 'restricted']);
  if p_expires_at is not null and (isfinite(p_expires_at) and p_expires_at > v_now) is not true then
    perform tenure.refuse('number_out_of_range', 'The key would expire at once.', 'Its end lies in the past, or is no time.', 'Name a later time, or none.');
  end if;
  if length(coalesce(p_note, '')) > tenure.limit_of('ref_chars_max') then
    perform tenure.refuse('number_out_of_range', 'The note is too long.', format('It has at most %s characters.', tenure.limit_of('ref_chars_max')), 'Shorten it.');
  end if;
  if (p_prefix ~ '^[a-z0-9]{8,32}$' and octet_length(p_digest) = 32) is not true then
    perform tenure.refuse('name_invalid', 'This is no prefix and digest of a key.',
      'A prefix has 8 to 32 lower-case letters and digits, a digest 32 bytes.',
      'Make the key with: tenure key create PRINCIPAL --role ROLE.');
  end if;
  insert into tenure.keys (key_id, tenant_id, principal_id, prefix, hash, roles, approver_level, executors, kinds, payload_access, note, created_at, created_by, makers, expires_at)
  values (v_key_id, v_home, v_principal.principal_id, p_prefix, tenure.keyed_hash(p_digest), array(select distinct r.role from unnest(p_roles) r (role) order by 1), p_approver_level, p_executors, p_kinds, p_payload_access, coalesce(p_note, ''), v_now, v_caller.principal,
    tenure.makers_now(v_caller), p_expires_at)
  on conflict (prefix) do nothing;
  if not found then
    perform tenure.refuse('id_taken', 'There is already a key with this prefix.', 'A prefix names one key.', 'Make another key.');
  end if;
  perform tenure.emit(v_now, v_home, 'key.created', v_caller.principal, null, p_prefix,
    jsonb_build_object('prefix', p_prefix, 'principal', p_principal, 'roles', p_roles, 'approver_level', p_approver_level, 'executors', p_executors, 'kinds', p_kinds,
      'payload_access', p_payload_access, 'expires_at', p_expires_at));
  return jsonb_build_object('prefix', p_prefix, 'principal', p_principal, 'kind', v_principal.kind, 'roles', p_roles, 'approver_level', p_approver_level, 'executors', p_executors,
    'kinds', p_kinds, 'payload_access', p_payload_access, 'created_at', v_now, 'expires_at', p_expires_at);
end
$$;

-- The keys of the tenant, those that are valid first. Never a hash.
create or replace function tenure.key_list()
returns table (prefix text, principal text, kind text, state text, roles text[], approver_level integer, executors text[], kinds text[], payload_access text, note text,
               created_at timestamptz, created_by text, makers text[], expires_at timestamptz, revoked_at timestamptz, revoked_by text, last_used_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
begin
  return query
    select k.prefix, p.name, p.kind, s.state, k.roles, k.approver_level::integer, k.executors, k.kinds, k.payload_access, k.note, k.created_at, k.created_by, k.makers, k.expires_at, k.revoked_at,
           k.revoked_by, k.last_used_at
      from tenure.keys k
      join tenure.principals p on p.principal_id = k.principal_id
      cross join lateral (select case when k.revoked_at is not null then 'revoked' when k.expires_at <= v_now then 'expired' else 'valid' end as state) s
     where k.tenant_id = tenure.principal_home(v_caller)
     order by (s.state = 'valid') desc, k.created_at, k.prefix;
end
$$;

-- Revokes a key: it is refused from the next call on.
create or replace function tenure.key_revoke(p_prefix text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_home   integer := tenure.principal_home(v_caller);
  v_key    record;
begin
  select k.key_id, k.revoked_at into v_key from tenure.keys k where k.prefix = p_prefix and k.tenant_id = v_home for no key update;
  if not found then
    if tenure.is_trusted()
       and exists (select from tenure.keys k where k.prefix = p_prefix and k.tenant_id = 0) then
      perform tenure.refuse('key_not_found', format('The tenant has no key %L.', p_prefix),
        'It is a key of the whole installation.',
        format('Revoke it there: tenure.key_revoke(%L), with tenure.tenant set to *.', p_prefix));
    end if;
    perform tenure.refuse('key_not_found', format('There is no key %L.', p_prefix),
      'A key is named by its prefix, and belongs to one tenant.', 'See tenure.key_list().');
  end if;
  if v_key.revoked_at is null then
    update tenure.keys k set revoked_at = v_now, revoked_by = v_caller.principal where k.key_id = v_key.key_id;
    perform tenure.approvers_changed(v_now, array(
      select p.name from tenure.keys k join tenure.principals p on p.principal_id = k.principal_id
       where k.key_id = v_key.key_id));
    perform tenure.offers_end(array[v_home], 'infinity');
    perform tenure.emit(v_now, v_home, 'key.revoked', v_caller.principal, null, p_prefix, jsonb_build_object('prefix', p_prefix));
    -- Servers end the streams and waits of the key; those that do not hear this find out within a second.
    perform pg_notify('tenure_key', v_key.key_id::text);
  end if;
  return jsonb_build_object('prefix', p_prefix, 'revoked_at', coalesce(v_key.revoked_at, v_now));
end
$$;

-- The keyed hash of a digest. Who does not know the secret of the installation cannot say what it will be, so comparing two of them tells nothing by the time it takes.
create or replace function tenure.keyed_hash(p_digest bytea) returns bytea
language plpgsql stable
as $$
declare
  v_secret bytea;
begin
  select s.value into strict v_secret from tenure.secrets s where s.name = 'keys';
  return sha256(v_secret || sha256(v_secret || p_digest));
end
$$;

-- The key with this prefix and digest of its secret; none when there is none. Whether it is still valid is for tenure.act_as to say.
create or replace function tenure.key_check(p_prefix text, p_digest bytea) returns uuid
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bytea := tenure.keyed_hash(p_digest);
begin
  return (select k.key_id from tenure.keys k where k.prefix = p_prefix and k.hash = v_hash);
end
$$;

-- The rest of the transaction acts for a key: in its tenant, as its principal, with its rights. Refused when the key is not valid, or has no role that may call the function.
-- p_tenant: for keys of the installation, which name it. p_via is written on every event that the transaction causes. p_traceparent: the trace of the request, for the jobs that
-- it makes; only then the answer says for whom it acts, for the record of the trace.
create or replace function tenure.act_as(
  p_key_id uuid, p_function text, p_tenant text, p_via text, p_traceparent text default null, out tenant text, out principal text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity;
begin
  if not (pg_has_role(session_user, 'tenure_server', 'member') or pg_has_role(session_user, 'tenure_owner', 'member')) then
    perform tenure.refuse('not_permitted', 'This login cannot act for a key.', 'Only members of tenure_server are trusted with that.', 'Grant it: grant tenure_server to LOGIN.');
  end if;
  perform set_config('tenure.key', p_key_id::text, true), set_config('tenure.tenant', coalesce(p_tenant, ''), true), set_config('tenure.via', coalesce(p_via, ''), true),
    set_config('tenure.traceparent', coalesce(p_traceparent, ''), true),
    -- A request waits for no lock for long, and for no statement longer than a client waits for its answer.
    set_config('statement_timeout', '45s', true),
    set_config('lock_timeout', tenure.limit_of('request_lock_wait_ms_max')::text, true);
  v_caller := tenure.caller();
  if p_tenant is not null and v_caller.scope = 'tenant' and not exists (select from tenure.tenants t where t.tenant_id = v_caller.tenant_id and t.name = p_tenant) then
    perform tenure.refuse('not_permitted', 'The key belongs to another tenant than the one that was named.', 'Only keys of the installation name a tenant.', 'Leave the tenant out.');
  end if;
  if not exists (select from unnest(v_caller.roles) r (role) where has_function_privilege('tenure_' || r.role, to_regproc('tenure.' || p_function), 'execute')) then
    perform tenure.refuse('not_permitted', format('The key of %s may not do this.', v_caller.principal),
      format('It has the roles %s; this takes one of %s.', array_to_string(v_caller.roles, ', '),
        (select string_agg(a.role, ', ') from unnest(tenure.key_roles()) a (role)
          where has_function_privilege('tenure_' || a.role, to_regproc('tenure.' || p_function), 'execute'))),
      'Use another key, or ask an admin for one.');
  end if;
  if p_traceparent is not null then
    principal := v_caller.principal;
    tenant := case when v_caller.scope = 'every' then '*' else (select t.name from tenure.tenants t where t.tenant_id = v_caller.tenant_id) end;
  end if;
end
$$;

-- The name of the tenant a key belongs to; null for a key of the installation, and for an unknown id.
create or replace function tenure.key_home(p_key_id uuid) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select t.name
      from tenure.keys k
      join tenure.tenants t on t.tenant_id = k.tenant_id
     where k.key_id = p_key_id);
end
$$;

-- Those of these keys that are not valid any more: revoked, expired or unknown. A server ends their streams
-- and waits.
create or replace function tenure.keys_ended(p_key_ids uuid[]) returns setof uuid
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := tenure.now();
begin
  return query
    select x.key_id
      from unnest(p_key_ids) x (key_id)
      left join tenure.keys k on k.key_id = x.key_id
     where k.key_id is null or k.revoked_at is not null or k.expires_at <= v_now;
end
$$;

-- Says that keys were used. Written now and then, by the server.
create or replace function tenure.keys_used(p_key_ids uuid[]) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update tenure.keys k set last_used_at = tenure.now()
   where k.key_id in (select x.key_id from tenure.keys x where x.key_id = any (p_key_ids) order by x.key_id for no key update skip locked);
end
$$;
