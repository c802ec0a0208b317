-- Who may decide about an approval. Four eyes on every way: a requester of a plan does not decide about it,
-- nor by a key or login that they made, nor does an agent; admins are not exempt.

-- The level and roles of the caller as an approver, how they authenticated, and from where. Refuses agents,
-- principals that are not registered, and those without a level.
create or replace function tenure.approver(
  p_caller tenure.caller_identity, out level integer, out roles text[], out auth_method text, out source text)
language plpgsql stable
as $$
declare
  v_who tenure.principals;
  v_key record;
begin
  select p.* into v_who
    from tenure.principals p
   where p.tenant_id in (p_caller.tenant_id, 0)
     and p.name = p_caller.principal
   order by p.tenant_id desc
   limit 1;
  if not found then
    perform tenure.refuse('not_permitted', format('The principal %s is not registered.', p_caller.principal),
      'Only a principal that is known to be a person or a service decides about plans.',
      format('An admin registers it: tenure.principal_create(%L, ''human''), '
        'tenure.principal_set(%L, {"approver_level": 1}).', p_caller.principal, p_caller.principal));
  end if;
  -- Under this name in the tenant or in the installation.
  perform tenure.refuse_agent(p_caller);
  roles := v_who.approval_roles;
  -- A caller has the roles of a key only when it acts for the key; the setting alone proves nothing.
  if p_caller.roles is not null then
    select k.prefix, k.approver_level
      into v_key
      from tenure.keys k
     where k.key_id = nullif(current_setting('tenure.key', true), '')::uuid;
    level := v_key.approver_level;
    auth_method := 'api_key ' || v_key.prefix;
    source := nullif(current_setting('tenure.via', true), '');
  else
    level := v_who.approver_level;
    auth_method := 'login ' || session_user;
    source := coalesce(host(inet_client_addr()), 'local socket');
  end if;
  if level is null then
    perform tenure.refuse('not_permitted', format('%s approves nothing.', p_caller.principal),
      'It has no level as an approver.',
      format('An admin gives it one: tenure.principal_set(%L, {"approver_level": 1}).', p_caller.principal));
  end if;
end
$$;

-- Whether one of these requested the plan, or had it requested: this time, or when it was run before.
create or replace function tenure.is_requester(p_execution tenure.execution_rows, p_names text[])
returns boolean
language sql stable
as $$ select p_execution.requesters && p_names $$;

-- Refuses a decision by a key, a login or a principal that a requester of the plan made or changed: the
-- requester could be the one who uses it.
create or replace function tenure.check_makers(
  p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_makers text[]) returns void
language plpgsql
as $$
declare
  v_maker text;
  v_by    text := case
    when p_caller.roles is not null then 'key ' || (
      select k.prefix
        from tenure.keys k
       where k.key_id = nullif(current_setting('tenure.key', true), '')::uuid)
    else 'login ' || session_user
  end;
begin
  select m into v_maker
    from unnest(p_makers) m
   where m = any (p_execution.requesters)
   order by 1
   limit 1;
  if found then
    if v_maker <> all (tenure.means_makers(p_caller)) then
      perform tenure.refuse('self_approval',
        format('%s requested this plan, and stands behind the principal %s.', v_maker, p_caller.principal),
        'They registered or changed it, or made what that was done by, and so could be the one who uses it: '
          'four eyes.',
        'Ask an approver whom they did not register; or let another admin, who is not of their making, '
          'confirm the '
          'principal anew: tenure.principal_set(name, {"confirm": true}).');
    end if;
    perform tenure.refuse('self_approval',
      format('%s requested this plan, and stands behind the %s.', v_maker, v_by),
      format(
        'They %s, or made that by which it was done, and so could use it themselves: four eyes, without '
          'exception.',
        case when p_caller.roles is not null then 'made the key' else 'bound the login' end),
      format('Ask another approver; or let another admin %s, one whose own is not from them either, or the '
        'operator of the installation on its database, in the name of no principal.',
        case when p_caller.roles is not null then 'make the key anew' else 'bind the login anew' end));
  end if;
end
$$;

-- Refuses an approver who has decided already: under their own name, on behalf of another, or, where it would
-- add to the quorum, by a key, login or principal that one of the two made for the other.
create or replace function tenure.check_counts_once(
  p_approval_id uuid, p_decision text, p_names text[], p_makers text[]) returns void
language plpgsql
as $$
declare
  v_old  record;
  v_name text;
begin
  for v_old in
    select v.principal, array[v.principal, v.on_behalf_of] as names, v.auth_makers
      from tenure.approval_votes v
     where v.approval_id = p_approval_id
     order by v.at, v.principal
  loop
    select n into v_name from unnest(p_names) n where n = any (v_old.names) limit 1;
    if found then
      perform tenure.refuse('approval_decided', format('%s has decided about this already.', v_name),
        'Each approver counts once.',
        'Let another decide.');
    end if;
    if p_decision = 'approve' and (p_makers && v_old.names or v_old.auth_makers && p_names) then
      perform tenure.refuse('approval_decided',
        format('%s has decided about this already, and %s.', v_old.principal,
          case
            when p_makers && v_old.names then format('stands behind what %s comes by', p_names[1])
            else format('came by what %s stands behind', p_names[1])
          end),
        'Who makes a key, binds a login, or registers or changes a principal, could use it: together they '
          'count once.',
        'Let another decide; or have the key made anew, the login bound anew, or the principal confirmed '
          'anew, by an admin who does not decide about it.');
    end if;
  end loop;
end
$$;

-- The roles that no vote to approve has yet.
create or replace function tenure.roles_missing(p_approval tenure.approvals) returns text[]
language sql stable
as $$
  select array(
    select r
      from unnest(p_approval.roles) r
     where not exists (
             select
               from tenure.approval_votes v
              where v.approval_id = p_approval.approval_id
                and v.decision = 'approve'
                and r = any (v.roles)))
$$;
