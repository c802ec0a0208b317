-- Tenants, and the logins bound to them.

-- The caller's own tenant; all tenants for a trusted login or a caller that acts for every tenant. In the
-- order in which they were made: those after the tenant p_after, at most p_limit of them (null: all).
-- granted to: all
create or replace function tenure.tenant_list(p_limit integer default null, p_after text default null)
returns table (name text, created_at timestamptz, created_by text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_all    boolean := v_caller.scope = 'every' or tenure.is_trusted();
begin
  if p_limit is not null then
    perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  end if;
  return query
    select t.name, t.created_at, t.created_by
      from tenure.tenants t
     where (t.tenant_id = v_caller.tenant_id or v_all)
       -- A tenant that the caller may not see is not looked up: the answer reveals nothing about it.
       and t.tenant_id > coalesce((
         select a.tenant_id
           from tenure.tenants a
          where a.name = p_after
            and (a.tenant_id = v_caller.tenant_id or v_all)), 0)
     order by t.tenant_id
     limit p_limit;
end
$$;

-- True when the login is a member of the role (superusers are members of every role) or, where a server acts
-- for a key, when the key has the role.
-- granted to: all
create or replace function tenure.acts_as(p_role text) returns boolean
language plpgsql stable
as $$
declare
  v_caller tenure.caller_identity;
begin
  if coalesce(current_setting('tenure.key', true), '') <> '' then
    v_caller := tenure.caller();
    if v_caller.roles is not null then
      return p_role = any (array(select 'tenure_' || r.role from unnest(v_caller.roles) r (role)));
    end if;
  end if;
  return pg_has_role(session_user, p_role, 'member');
end
$$;

-- Makes a tenant. Refused for all but the trusted server and superusers: others act within their own tenant.
-- granted to: admin
create or replace function tenure.tenant_create(p_name text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_tenant integer;
begin
  if not tenure.is_trusted() then
    perform tenure.refuse('not_permitted', 'This login cannot make tenants.',
      'An admin is admin of one tenant; a new tenant lies outside.',
      'Ask whoever runs the installation.');
  end if;
  perform tenure.check_name('tenant', p_name);
  if p_name = '*' then
    perform tenure.refuse('name_invalid', 'A tenant cannot be named *.',
      'The name stands for every tenant.', 'Choose another name.');
  end if;
  -- Wait for a concurrent change of an installation setting, or it would not reach this tenant.
  perform from tenure.tenants t where t.tenant_id = 0 for share;
  insert into tenure.tenants (name, created_at, created_by)
  values (p_name, v_now, v_caller.principal)
  on conflict (name) do nothing
  returning tenant_id into v_tenant;
  if not found then
    perform tenure.refuse('tenant_exists', format('There is already a tenant %L.', p_name),
      'Names of tenants are unique.', 'Use it, or choose another name.');
  end if;
  perform tenure.tunings_refresh(v_tenant);
  perform tenure.emit(v_now, v_tenant, 'tenant.created', v_caller.principal, p_on_behalf_of, p_name,
    jsonb_build_object('name', p_name));
  return jsonb_build_object('name', p_name, 'created_at', v_now);
end
$$;

-- Refuses to bind the caller's own login to another principal, or to remove its binding: a caller that
-- chooses its principal could decide about its own plans. p_principal is the principal that the login would
-- stand for, null if none is named. Trusted logins are not checked.
create or replace function tenure.check_not_own_login(
  p_caller tenure.caller_identity, p_login text, p_principal text)
returns void
language plpgsql
as $$
declare
  v_who text;
begin
  if (p_caller.roles is null and tenure.is_trusted()) or p_principal = p_caller.principal then
    return;
  end if;
  -- Logins of other tenants are not looked at, so that the answer reveals nothing about them.
  select coalesce(l.principal, p_login) into v_who
    from tenure.logins l
   where l.login in (p_login, '*')
     and (l.tenant_id = p_caller.tenant_id or p_caller.tenant_id is null)
   order by (l.login = '*')
   limit 1;
  if v_who = p_caller.principal or (p_caller.roles is null and p_login = session_user) then
    perform tenure.refuse('not_permitted', format('The login %L is your own.', p_login),
      'Who binds a login says as whom it acts. No one does that for themselves, or they could decide about '
        'their own plans.',
      'Let another admin do it.');
  end if;
end
$$;

-- Binds a database login to a tenant, a principal, and the executors and kinds it may use. An admin binds
-- only within the own tenant: logins that work there already, or nowhere. With p_executors null the login
-- may claim for any executor (but enqueue, by the worker role alone, for none); p_kinds null means every
-- kind.
-- granted to: admin
create or replace function tenure.login_bind(
  p_login text, p_tenant text default null, p_principal text default null, p_executors text[] default null,
  p_kinds text[] default null, p_payload_access text default 'safe')
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_tenant integer := v_caller.tenant_id;
  v_bound  integer;
begin
  perform tenure.refuse_agent(v_caller);
  perform tenure.check_name('login', p_login);
  if p_principal is not null then
    perform tenure.check_name('principal', p_principal);
  end if;
  -- A login without a principal signs with its own name.
  perform tenure.check_actor('name of a principal', coalesce(p_principal, p_login));
  if array_position(p_executors, null) is not null or array_position(p_kinds, null) is not null then
    perform tenure.refuse('name_blank', 'A list of the binding has an empty place.',
      'Nobody can say what it would allow.', 'Leave it out.');
  end if;
  perform tenure.check_number('The number of kinds or executors',
    coalesce(greatest(cardinality(p_executors), cardinality(p_kinds)), 0), 0,
    tenure.limit_of('key_rights_max'));
  perform tenure.check_name('kind', x.name) from unnest(p_kinds) x (name);
  perform tenure.check_executor(x.name) from unnest(p_executors) x (name);
  perform tenure.check_word('value_unknown', 'payload access', p_payload_access, array['safe', 'restricted']);
  if p_tenant is not null then
    select t.tenant_id into v_tenant from tenure.tenants t where t.name = p_tenant and t.tenant_id > 0;
    -- An admin must not learn whether another tenant exists: for them it is refused below.
    if not found and tenure.is_trusted() then
      perform tenure.refuse('tenant_unknown', format('There is no tenant %L.', p_tenant),
        'A login is bound to an existing tenant.', 'See tenure.tenant_list().');
    end if;
  end if;
  -- A login without a binding of its own belongs to the tenant of '*': admins of other tenants cannot take
  -- it.
  select l.tenant_id into v_bound
    from tenure.logins l
   where l.login in (p_login, '*')
   order by (l.login = '*')
   limit 1;
  if v_tenant is null
     or (not tenure.is_trusted()
         and (v_tenant <> v_caller.tenant_id or v_bound <> v_caller.tenant_id or p_login = '*')) then
    perform tenure.refuse('not_permitted', format('This login cannot bind %L there.', p_login),
      'An admin binds logins within the own tenant only.',
      'Ask whoever runs the installation.');
  end if;
  perform tenure.check_not_own_login(v_caller, p_login, coalesce(p_principal, p_login));
  insert into tenure.logins (login, tenant_id, principal, executors, kinds, payload_access, bound_at,
    bound_by, makers)
  values (p_login, v_tenant, p_principal, p_executors, p_kinds, p_payload_access, v_now, v_caller.principal,
    tenure.makers_now(v_caller))
  on conflict (login) do update
    set tenant_id = excluded.tenant_id,
        principal = excluded.principal,
        executors = excluded.executors,
        kinds = excluded.kinds,
        payload_access = excluded.payload_access,
        bound_at = excluded.bound_at,
        bound_by = excluded.bound_by,
        makers = excluded.makers;
  delete from tenure.unbound_logins u where u.login = p_login;
  perform tenure.approvers_changed(v_now, null);
  -- Offers of the login were made with the rights it had before.
  perform tenure.offers_end(array[v_tenant, v_bound], 'infinity');
  perform tenure.emit(v_now, v_tenant, 'login.bound', v_caller.principal, null, p_login,
    jsonb_build_object('login', p_login, 'principal', p_principal, 'executors', p_executors, 'kinds', p_kinds,
      'payload_access', p_payload_access));
  return jsonb_build_object('login', p_login,
    'tenant', (select t.name from tenure.tenants t where t.tenant_id = v_tenant),
    'principal', coalesce(p_principal, p_login), 'executors', p_executors, 'kinds', p_kinds,
    'payload_access', p_payload_access);
end
$$;

-- Removes the binding of a login. Without a binding for '*' an unbound login is refused.
-- granted to: admin
create or replace function tenure.login_unbind(p_login text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_tenant integer;
begin
  perform tenure.refuse_agent(v_caller);
  perform tenure.check_not_own_login(v_caller, p_login, null);
  delete from tenure.logins l
   where l.login = p_login
     and (tenure.is_trusted() or (l.tenant_id = v_caller.tenant_id and l.login <> '*'))
  returning l.tenant_id into v_tenant;
  if not found then
    perform tenure.refuse('login_unbound', format('The login %L has no binding to take back here.', p_login),
      'It has none, or it belongs to another tenant.', 'See who is bound with the installation''s operator.');
  end if;
  insert into tenure.unbound_logins (login, tenant_id, unbound_at, unbound_by, makers)
  values (p_login, v_tenant, v_now, v_caller.principal, tenure.makers_now(v_caller))
  on conflict (login) do update
    set tenant_id = excluded.tenant_id,
        unbound_at = excluded.unbound_at,
        unbound_by = excluded.unbound_by,
        makers = excluded.makers;
  perform tenure.approvers_changed(v_now, null);
  perform tenure.offers_end(array[v_tenant], 'infinity');
  perform tenure.emit(v_now, v_tenant, 'login.unbound', v_caller.principal, null, p_login,
    jsonb_build_object('login', p_login));
  return jsonb_build_object('login', p_login, 'unbound', true);
end
$$;
