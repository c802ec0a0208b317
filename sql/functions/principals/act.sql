-- Acting for a key: how a server checks the key of a request and takes on its rights.

-- The keyed hash of a digest. It cannot be predicted without the secret of the installation, so the time
-- that a comparison of two hashes takes reveals nothing.
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

-- The id of the key with this prefix and digest of its secret, or null. tenure.act_for_key checks whether it
-- is still valid.
-- granted to: server
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

-- Lets the rest of the transaction act for a key: in its tenant, as its principal, with its rights. Refuses
-- a key that is not valid, or has no role that may call p_function. p_tenant is for keys of the
-- installation, which name their tenant; p_via is written on every event of the transaction. p_traceparent
-- is the trace of the request, for the jobs that it makes; only with it does the answer name tenant and
-- principal.
-- granted to: server
create or replace function tenure.act_for_key(
  p_key_id uuid, p_function text, p_tenant text, p_via text, p_traceparent text default null,
  out tenant text, out principal text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity;
begin
  if not (pg_has_role(session_user, 'tenure_server', 'member')
          or pg_has_role(session_user, 'tenure_owner', 'member')) then
    perform tenure.refuse('not_permitted', 'This login cannot act for a key.',
      'Only members of tenure_server are trusted with that.', 'Grant it: grant tenure_server to LOGIN.');
  end if;
  perform set_config('tenure.key', p_key_id::text, true),
    set_config('tenure.tenant', coalesce(p_tenant, ''), true),
    set_config('tenure.via', coalesce(p_via, ''), true),
    set_config('tenure.traceparent', coalesce(p_traceparent, ''), true),
    -- No statement of a request runs longer than a client waits for its answer, nor waits long for a lock.
    set_config('statement_timeout', '45s', true),
    set_config('lock_timeout', tenure.limit_of('request_lock_wait_ms_max')::text, true);
  v_caller := tenure.caller();
  if p_tenant is not null
     and v_caller.scope = 'tenant'
     and not exists (
       select from tenure.tenants t where t.tenant_id = v_caller.tenant_id and t.name = p_tenant) then
    perform tenure.refuse('not_permitted', 'The key belongs to another tenant than the one that was named.',
      'Only keys of the installation name a tenant.', 'Leave the tenant out.');
  end if;
  if not exists (
    select
      from unnest(v_caller.roles) r (role)
     where has_function_privilege('tenure_' || r.role, to_regproc('tenure.' || p_function), 'execute')
  ) then
    perform tenure.refuse('not_permitted', format('The key of %s may not do this.', v_caller.principal),
      format('It has the roles %s; this takes one of %s.', array_to_string(v_caller.roles, ', '),
        (select string_agg(a.role, ', ')
           from unnest(tenure.key_roles()) a (role)
          where has_function_privilege('tenure_' || a.role, to_regproc('tenure.' || p_function), 'execute'))),
      'Use another key, or ask an admin for one.');
  end if;
  if p_traceparent is not null then
    principal := v_caller.principal;
    tenant := case
      when v_caller.scope = 'every' then '*'
      else (select t.name from tenure.tenants t where t.tenant_id = v_caller.tenant_id)
    end;
  end if;
end
$$;

-- The name of the tenant a key belongs to; null for a key of the installation, and for an unknown id.
-- granted to: server
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
-- granted to: server
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
     where k.key_id is null
        or k.revoked_at is not null
        or k.expires_at <= v_now;
end
$$;

-- Records that keys were used. Servers call it from time to time.
-- granted to: server
create or replace function tenure.keys_used(p_key_ids uuid[]) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update tenure.keys k
     set last_used_at = tenure.now()
   where k.key_id in (
     select x.key_id
       from tenure.keys x
      where x.key_id = any (p_key_ids)
      order by x.key_id
        for no key update skip locked);
end
$$;
