-- Makers: who made the key, the login or the principal by which a caller acts. A requester must not decide
-- about a plan by a key or login of their own making.

-- The makers of a caller: who made the key or bound the login that it uses, who registered or changed its
-- principal, and the makers of all these. A trusted login has no maker of its own: it could act as any
-- principal. A login without a binding of its own has only those who removed its binding.
create or replace function tenure.auth_makers(p_caller tenure.caller_identity) returns text[]
language plpgsql stable
as $$
begin
  return array(
    select unnest(tenure.means_makers(p_caller))
    union
    -- A name may be registered in the tenant and in the installation.
    select unnest(p.makers)
      from tenure.principals p
     where p.tenant_id in (p_caller.tenant_id, 0)
       and p.name = p_caller.principal
     order by 1);
end
$$;

-- The makers of only the key or the login that the caller uses.
create or replace function tenure.means_makers(p_caller tenure.caller_identity) returns text[]
language plpgsql stable
as $$
begin
  if p_caller.roles is not null then
    return (
      select k.makers
        from tenure.keys k
       where k.key_id = nullif(current_setting('tenure.key', true), '')::uuid);
  elsif tenure.is_trusted() then
    return '{}';
  end if;
  return coalesce((
      select l.makers
        from tenure.logins l
       where l.login in (session_user, '*')
         and (l.login <> '*' or l.principal is not null)
       order by (l.login = '*')
       limit 1), '{}')
    || array(select unnest(u.makers) from tenure.unbound_logins u where u.login = session_user);
end
$$;

-- The makers of what the caller makes now: itself and its own makers. Empty for a trusted login that names no
-- principal, because it stands for no person.
create or replace function tenure.makers_now(p_caller tenure.caller_identity) returns text[]
language plpgsql stable
as $$
begin
  if p_caller.roles is null
     and tenure.is_trusted()
     and coalesce(current_setting('tenure.principal', true), '') = '' then
    return '{}';
  end if;
  return array(select p_caller.principal union select unnest(tenure.auth_makers(p_caller)) order by 1);
end
$$;
