-- Principals: persons, agents and services that act in a tenant.

-- The tenant that principals and keys of a caller belong to; 0, the installation, for a caller that acts for
-- every tenant.
create or replace function tenure.principal_home(p_caller tenure.caller_identity) returns integer
language plpgsql stable
as $$
begin
  return case when p_caller.scope = 'every' then 0 else p_caller.tenant_id end;
end
$$;

-- Registers a principal: a person, an agent or a service. Refuses a name that the tenant already has.
-- granted to: admin
create or replace function tenure.principal_create(p_name text, p_kind text, p_email text default null)
returns jsonb
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
  if p_email is not null
     and (p_email ~ '^[^@\s]+@[^@\s]+$'
          and length(p_email) <= tenure.limit_of('email_chars_max')) is not true then
    perform tenure.refuse('text_invalid', format('%L is no e-mail address.', p_email),
      'It has one @ with something before and after it, and no spaces.', 'Leave it out, or correct it.');
  end if;
  insert into tenure.principals (tenant_id, name, kind, email, created_at, created_by, makers)
  values (v_home, p_name, p_kind, p_email, v_now, v_caller.principal,
    array_remove(tenure.makers_now(v_caller), p_name))
  on conflict (tenant_id, name) do nothing;
  if not found then
    perform tenure.refuse('principal_exists', format('There is already a principal %L.', p_name),
      'Names of principals are unique within a tenant: they are the actors of its events.',
      'Use it, or choose another name.');
  end if;
  perform tenure.emit(v_now, v_home, 'principal.created', v_caller.principal, null, p_name,
    jsonb_build_object('name', p_name, 'kind', p_kind));
  return jsonb_build_object('name', p_name, 'kind', p_kind, 'email', p_email, 'created_at', v_now);
end
$$;

-- The principals of the tenant, by name, with the number of their valid keys: those after p_after, at most
-- p_limit of them (null: all).
-- granted to: admin
create or replace function tenure.principal_list(p_limit integer default null, p_after text default null)
returns table (
  name text, kind text, email text, approver_level integer, approval_roles text[], created_at timestamptz,
  created_by text, makers text[], keys bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
begin
  if p_limit is not null then
    perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  end if;
  return query
    select p.name, p.kind, p.email, p.approver_level::integer, p.approval_roles, p.created_at, p.created_by,
           p.makers,
           (select count(*)
              from tenure.keys k
             where k.principal_id = p.principal_id
               and k.revoked_at is null
               and (k.expires_at is null or k.expires_at > v_now))
      from tenure.principals p
     where p.tenant_id = tenure.principal_home(v_caller)
       and (p_after is null or p.name > p_after)
     order by p.name
     limit p_limit;
end
$$;
