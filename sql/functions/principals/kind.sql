-- Kinds of principals: which kind counts for a requester, and what agents may not do.

-- The kind of a requester. One that is not registered, or is an agent in the installation or in the tenant,
-- counts as an agent: the rules for agents are the stricter ones.
create or replace function tenure.principal_kind(p_tenant_id integer, p_principal text) returns text
language sql stable
as $$
  select coalesce((
    select p.kind
      from tenure.principals p
     where p.tenant_id in (p_tenant_id, 0)
       and p.name = p_principal
     order by p.kind = 'agent' desc, p.tenant_id desc
     limit 1), 'agent')
$$;

-- Refuses a caller that is an agent. Agents do not set who approves what or who acts as whom: under another
-- identity they could then approve.
create or replace function tenure.refuse_agent(p_caller tenure.caller_identity) returns void
language plpgsql stable
as $$
begin
  if exists (
       select
         from tenure.principals p
        where p.tenant_id in (p_caller.tenant_id, 0)
          and p.name = p_caller.principal
          and p.kind = 'agent') then
    perform tenure.refuse('not_permitted', format('%s is an agent.', p_caller.principal),
      'Agents never approve, nor do they decide who does, or who acts as whom.',
      'Let a person do it.');
  end if;
end
$$;
