-- What the policies of row-level security call in every statement. plpgsql keeps their plans; an SQL function
-- would be parsed and planned each time.

-- The tenant of the caller.
-- granted to: all
create or replace function tenure.current_tenant() returns integer
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  return v_caller.tenant_id;
end
$$;

-- True while a trusted login acts for every tenant.
-- granted to: all
create or replace function tenure.is_every_tenant() returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- The setting comes first because it is almost never set.
  return coalesce(current_setting('tenure.tenant', true), '') = '*' and tenure.is_trusted();
end
$$;
