-- Who is calling, for which tenant, and what time it is.

-- The only clock. Read once per function into a variable; tests replace this function in their own database.
-- Without a search_path of its own: setting and restoring one costs more than the call.
-- granted to: all
create or replace function tenure.now() returns timestamptz
language plpgsql volatile parallel safe
as $$
begin
  return clock_timestamp();
end
$$;

-- Whether row-level security trusts the login: members of tenure_server, and those who can act as the owner,
-- who could switch it off anyway. A server that acts for a key is trusted only for a key of an admin of
-- tenant 0.
create or replace function tenure.is_trusted() returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text := coalesce(current_setting('tenure.key', true), '');
begin
  return (pg_has_role(session_user, 'tenure_server', 'member')
          or pg_has_role(session_user, 'tenure_owner', 'member'))
     and (v_key = ''
          or exists (select from tenure.keys k
                      where k.key_id = v_key::uuid and k.tenant_id = 0 and 'admin' = any (k.roles)));
end
$$;

-- Who is calling: the binding of the database login (session_user: inside a definer function current_user is
-- the owner). Only trusted logins name another caller by settings: a key (tenure.key), or tenant and
-- principal. Scope 'every' (tenure.tenant = '*') has no tenant; only service functions accept it.
-- granted to: all
create or replace function tenure.caller() returns tenure.caller_identity
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity;
  v_login  text := session_user;
  v_name   text;
begin
  select l.tenant_id, coalesce(l.principal, v_login), 'tenant', l.executors, l.kinds, l.payload_access
    into v_caller
    from tenure.logins l
   where l.login = v_login;
  if not found then
    select l.tenant_id, coalesce(l.principal, v_login), 'tenant', l.executors, l.kinds, l.payload_access
      into v_caller
      from tenure.logins l
     where l.login = '*';
  end if;

  if pg_has_role(v_login, 'tenure_server', 'member') or pg_has_role(v_login, 'tenure_owner', 'member') then
    v_name := nullif(current_setting('tenure.key', true), '');
    if v_name is not null then
      select k.tenant_id, p.name, 'tenant', k.executors, k.kinds, k.payload_access, k.roles
        into v_caller
        from tenure.keys k
        join tenure.principals p on p.principal_id = k.principal_id
       where k.key_id = v_name::uuid
         and k.revoked_at is null
         and (k.expires_at is null or k.expires_at > tenure.now());
      if not found then
        perform tenure.refuse('key_invalid', 'The key is not valid.', 'It was revoked, or has expired.',
          'Ask an admin of the tenant for a new one.');
      end if;
      if v_caller.tenant_id > 0 then
        return v_caller;
      end if;
      -- A key of the installation names its tenant, as a trusted login does.
      v_caller.tenant_id := 1;
    else
      v_caller.principal := coalesce(nullif(current_setting('tenure.principal', true), ''),
        v_caller.principal, v_login);
      v_caller.payload_access := coalesce(nullif(current_setting('tenure.payload_access', true), ''),
        'restricted');
    end if;
    v_name := nullif(current_setting('tenure.tenant', true), '');
    if v_name = '*' then
      v_caller.tenant_id := null;
      v_caller.scope := 'every';
    elsif v_name is not null then
      v_caller.scope := 'tenant';
      select t.tenant_id into v_caller.tenant_id
        from tenure.tenants t
       where t.name = v_name
         and t.tenant_id > 0;
      if not found then
        perform tenure.refuse('tenant_unknown', format('There is no tenant %L.', v_name),
          'No tenant of this installation has that name.',
          format('Name another, or create it: tenure.tenant_create(%L).', v_name));
      end if;
    end if;
  end if;

  if v_caller.scope is null then
    perform tenure.refuse('login_unbound', format('The login %L is bound to no tenant.', v_login),
      'This installation has no binding for logins without one of their own.',
      'An admin binds it: select tenure.login_bind(login, tenant).');
  end if;
  return v_caller;
end
$$;
