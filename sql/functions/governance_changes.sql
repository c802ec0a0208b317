-- Governance changes: changes of what governs plans (actions, rules, target types, kinds, settings). Where
-- the tenant requires it, they need a second admin.

-- Whether a setting governs plans.
create or replace function tenure.is_governed_key(p_key text) returns boolean
language sql immutable parallel safe
as $$
  select p_key in (
    'executions.actions.open', 'executions.targets.strict', 'governance.changes.need_approval',
    'approvals.start_within_hours')
$$;

-- Whether changes need a second admin. Those of the installation (0) do as soon as it or any tenant requires
-- one.
create or replace function tenure.governance_needs_approval(p_tenant_id integer) returns boolean
language plpgsql stable
as $$
begin
  return (tenure.setting(p_tenant_id, 'governance.changes.need_approval'))::boolean
    or (p_tenant_id = 0 and exists (
      select from tenure.config c where c.key = 'governance.changes.need_approval' and c.value = 'true'));
end
$$;

-- The content that is in force, with its author; for a setting only its value. Null when there is none.
create or replace function tenure.governance_content(p_tenant_id integer, p_subject text, p_name text)
returns jsonb
language plpgsql stable
-- Two sessions compare what it answers: times must not depend on theirs.
set timezone = 'UTC'
as $$
begin
  return case p_subject
    when 'action' then (
      select to_jsonb(a) - array['tenant_id', 'pattern']
        from tenure.actions a
       where a.tenant_id = p_tenant_id
         and a.name = p_name)
    when 'approval_rule' then (
      select to_jsonb(r) - 'tenant_id'
        from tenure.approval_rules r
       where r.tenant_id = p_tenant_id
         and r.name = p_name)
    when 'target_type' then (
      select to_jsonb(t) - 'tenant_id'
        from tenure.target_types t
       where t.tenant_id = p_tenant_id
         and t.name = p_name)
    when 'kind' then (
      select to_jsonb(k) - array['tenant_id', 'paused_at', 'paused_by', 'pause_note']
        from tenure.kinds k
       where k.tenant_id = p_tenant_id
         and k.kind = p_name)
    when 'config' then (
      select c.value
        from tenure.config c
       where c.tenant_id = p_tenant_id
         and c.key = p_name)
  end;
end
$$;

-- Makes a change at once, or proposes it to a second admin where the tenant requires one. Answers the
-- result, or the pending change. The calling function has checked p_new.
create or replace function tenure.governance_change(
  p_caller tenure.caller_identity, p_subject text, p_name text, p_operation text, p_new jsonb,
  p_on_behalf_of text default null) returns jsonb
language plpgsql
as $$
declare
  v_tenant integer := coalesce(p_caller.tenant_id, 0);
  v_now    timestamptz := tenure.now();
  v_old    jsonb;
  v_row    tenure.governance_changes;
begin
  -- An older snapshot would not show that the tenant requires a second admin by now.
  perform tenure.check_isolation();
  -- One change at a time: what is compared and replaced stays as it was read.
  perform tenure.config_lock(v_tenant);
  v_old := tenure.governance_content(v_tenant, p_subject, p_name);
  if v_old is null and p_operation = 'delete' and p_subject <> 'config' then
    perform tenure.refuse(
      case p_subject
        when 'action' then 'action_unknown'
        when 'approval_rule' then 'rule_unknown'
        else 'target_type_unknown'
      end,
      format('There is no %s %L.', replace(p_subject, '_', ' '), p_name),
      'It is named by its name, within one tenant.',
      format('See tenure.%s_list().', p_subject));
  end if;
  if not tenure.governance_needs_approval(v_tenant) then
    v_row.tenant_id := v_tenant;
    v_row.subject := p_subject;
    v_row.name := p_name;
    v_row.operation := p_operation;
    v_row.new := p_new;
    v_row.proposed_by := p_caller.principal;
    v_row.on_behalf_of := nullif(p_on_behalf_of, '');
    return tenure.governance_apply(v_row, v_now);
  end if;
  insert into tenure.governance_changes (change_id, tenant_id, subject, name, operation, old, new,
    proposed_at, proposed_by, proposed_makers, proposed_means, on_behalf_of)
  values (tenure.new_id(v_now), v_tenant, p_subject, p_name, p_operation, v_old, p_new,
    v_now, p_caller.principal, tenure.makers_now(p_caller), tenure.means_makers(p_caller),
    nullif(p_on_behalf_of, ''))
  returning * into v_row;
  perform tenure.emit(v_now, v_tenant, 'governance.change_proposed', p_caller.principal, p_on_behalf_of,
    v_row.change_id::text, jsonb_build_object(
      'change_id', v_row.change_id,
      'subject', p_subject,
      'name', p_name,
      'operation', p_operation,
      'old', v_old,
      'new', p_new));
  return jsonb_build_object('pending', true)
    || (to_jsonb(v_row) - array[
      'tenant_id', 'proposed_makers', 'proposed_means', 'decided_at', 'decided_by', 'decided_makers',
      'auth_method', 'comment']);
end
$$;

-- Puts a change into force and emits its event. The event names the change and its approver, unless the
-- change needed no approval and so has no change_id.
create or replace function tenure.governance_apply(
  p_change tenure.governance_changes, p_now timestamptz) returns jsonb
language plpgsql
as $$
declare
  v_tenant   integer := p_change.tenant_id;
  v_name     text := p_change.name;
  v_author   text := p_change.proposed_by;
  v_approval jsonb := case
    when p_change.change_id is null then '{}'
    else jsonb_build_object('change_id', p_change.change_id, 'approved_by', p_change.decided_by)
  end;
  v_old      jsonb := tenure.governance_content(v_tenant, p_change.subject, v_name);
  v_new      jsonb;
begin
  if p_change.subject = 'config' then
    return tenure.config_write(v_tenant, p_now, v_author, p_change.on_behalf_of, v_name, p_change.new,
      v_approval);
  elsif p_change.subject = 'kind' then
    perform tenure.kind_write(v_tenant, p_now, v_author, p_change.on_behalf_of, v_name, p_change.new,
      v_approval);
    return tenure.governance_content(v_tenant, 'kind', v_name);
  elsif p_change.operation = 'delete' then
    perform tenure.governance_remove(v_tenant, p_change.subject, v_name);
  elsif p_change.subject = 'action' then
    perform tenure.action_write(v_tenant, p_now, v_author, v_name, p_change.new);
  elsif p_change.subject = 'approval_rule' then
    perform tenure.approval_rule_write(v_tenant, p_now, v_author, v_name, p_change.new);
  else
    perform tenure.target_type_write(v_tenant, p_now, v_author, v_name, p_change.new);
  end if;
  v_new := tenure.governance_content(v_tenant, p_change.subject, v_name);
  perform tenure.emit(p_now, v_tenant,
    case
      when p_change.subject = 'action' and p_change.operation = 'set' then 'action.set'
      when p_change.subject = 'action' then 'action.deleted'
      when p_change.subject = 'approval_rule' and p_change.operation = 'set' then 'approval.rule_set'
      when p_change.subject = 'approval_rule' then 'approval.rule_deleted'
      when p_change.operation = 'set' then 'target_type.set'
      else 'target_type.deleted'
    end,
    v_author, p_change.on_behalf_of, v_name,
    jsonb_build_object('name', v_name, 'author', v_author, 'old', v_old, 'new', v_new) || v_approval);
  return coalesce(v_new, jsonb_build_object('name', v_name, 'deleted', true));
end
$$;

-- Deletes an action, a rule or a target type. Refuses a target type that unfinished steps or locks use.
create or replace function tenure.governance_remove(p_tenant_id integer, p_subject text, p_name text)
returns void
language plpgsql
as $$
begin
  case p_subject
    when 'action' then
      delete from tenure.actions a where a.tenant_id = p_tenant_id and a.name = p_name;
    when 'approval_rule' then
      delete from tenure.approval_rules r where r.tenant_id = p_tenant_id and r.name = p_name;
    when 'target_type' then
      perform tenure.check_target_type_unused(p_tenant_id, p_name, 'exact');
      delete from tenure.target_types t where t.tenant_id = p_tenant_id and t.name = p_name;
  end case;
end
$$;

-- Refuses a caller who may not approve a change: its proposer and the principal it was proposed for, the user
-- of a key, login or principal that one of the two made, the maker of what the proposer used, the user of a
-- key or login whose maker also made the proposer's, and a principal that is not registered.
-- governance_change_decide has refused agents before.
create or replace function tenure.check_second_admin(
  p_caller tenure.caller_identity, p_change tenure.governance_changes, p_makers text[]) returns void
language plpgsql
as $$
declare
  v_kind text;
  v_both text;
  v_who  text;
begin
  select m into v_both
    from unnest(tenure.means_makers(p_caller)) m
   where m = any (p_change.proposed_means)
   order by m
   limit 1;
  if found then
    perform tenure.refuse('self_approval',
      format('%s made the keys or logins of both %s, who proposed change %s, and %s.',
        v_both, p_change.proposed_by, p_change.change_id, p_caller.principal),
      'One person could use both, and changes of what governs plans need a second admin '
        '(governance.changes.need_approval).',
      'Ask an admin whose key or login another person made, or the operator of the installation on its '
        'database.');
  end if;
  select r into v_who
    from unnest(array[p_change.proposed_by, p_change.on_behalf_of]) r
   where r = p_caller.principal
      or r = any (p_makers)
   order by r <> p_caller.principal
   limit 1;
  if found or p_caller.principal = any (p_change.proposed_makers) then
    perform tenure.refuse('self_approval',
      format('%s proposed change %s%s%s.', p_change.proposed_by, p_change.change_id,
        case when v_who = p_change.on_behalf_of then format(' on behalf of %s', v_who) else '' end,
        case
          when v_who = p_caller.principal then ''
          when v_who is not null then
            format(', and %s made the key, login or principal of %s', v_who, p_caller.principal)
          else format(' by a key, login or principal that %s made', p_caller.principal)
        end),
      'Changes of what governs plans need a second admin (governance.changes.need_approval).',
      'Ask another admin: not one that the proposal names, nor one whose key, login or principal they made.');
  end if;
  select p.kind into v_kind
    from tenure.principals p
   where p.tenant_id in (coalesce(p_caller.tenant_id, 0), 0)
     and p.name = p_caller.principal
   order by p.tenant_id desc
   limit 1;
  if v_kind is null then
    perform tenure.refuse('not_permitted', format('The principal %s is not registered.', p_caller.principal),
      'Only a registered person or service approves a change.',
      'An admin registers it: tenure.principal_create(name, ''human'').');
  end if;
end
$$;

-- Approves or rejects a proposed change. An approved change is in force with this transaction. Refuses to
-- approve one whose subject changed since it was proposed: its approver has not seen what it would replace.
-- granted to: admin
create or replace function tenure.governance_change_decide(
  p_change_id uuid, p_decision text, p_comment text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_tenant  integer := coalesce(v_caller.tenant_id, 0);
  v_makers  text[] := coalesce(tenure.auth_makers(v_caller), '{}');
  v_now     timestamptz;
  v_row     tenure.governance_changes;
  v_state   text := case p_decision when 'approve' then 'approved' else 'rejected' end;
  v_comment text := case
    when not tenure.is_blank(p_comment) then
      tenure.cut_text(tenure.mask_text(p_comment), tenure.limit_of('error_message_bytes_max')::integer)
  end;
begin
  perform tenure.check_isolation();
  perform tenure.check_word('value_unknown', 'decision', p_decision, array['approve', 'reject']);
  perform tenure.refuse_agent(v_caller);
  perform tenure.config_lock(v_tenant);
  select g.* into v_row
    from tenure.governance_changes g
   where g.change_id = p_change_id
     and g.tenant_id = v_tenant
     for no key update;
  if not found then
    perform tenure.refuse('governance_change_unknown',
      format('There is no change %s.', coalesce(p_change_id::text, 'without an id')),
      'It was never proposed, or belongs to another tenant.',
      'See tenure.governance_change_list().');
  end if;
  if v_row.state <> 'pending' then
    perform tenure.refuse('state_conflict', format('Change %s is %s.', p_change_id, v_row.state),
      format('%s decided about it at %s.', v_row.decided_by, v_row.decided_at),
      'Propose another change.');
  end if;
  if p_decision = 'approve' then
    perform tenure.check_second_admin(v_caller, v_row, v_makers);
    if tenure.governance_content(v_tenant, v_row.subject, v_row.name) is distinct from v_row.old then
      perform tenure.refuse('state_conflict',
        format('The %s %L was changed after %s proposed this.',
          replace(v_row.subject, '_', ' '), v_row.name, v_row.proposed_by),
        'The proposal shows what it was to replace, and that is no longer in force.',
        'Reject it, and propose it again.');
    end if;
  elsif v_comment is null then
    perform tenure.refuse('comment_required', 'A rejection needs a comment.',
      'The proposer should know what to change.',
      'Give the reason.');
  end if;
  v_now := tenure.now();
  update tenure.governance_changes g
     set state = v_state,
         decided_at = greatest(v_now, g.proposed_at),
         decided_by = v_caller.principal,
         decided_makers = v_makers,
         comment = v_comment,
         auth_method = case
           when v_caller.roles is null then 'login ' || session_user
           else 'api_key ' || (
             select k.prefix
               from tenure.keys k
              where k.key_id = nullif(current_setting('tenure.key', true), '')::uuid)
         end
   where g.change_id = p_change_id
  returning g.* into v_row;
  perform tenure.emit(v_now, v_tenant,
    case v_state when 'approved' then 'governance.change_approved' else 'governance.change_rejected' end,
    v_caller.principal, null, p_change_id::text, jsonb_build_object(
      'change_id', p_change_id,
      'subject', v_row.subject,
      'name', v_row.name,
      'proposed_by', v_row.proposed_by,
      'comment', v_comment,
      'auth_method', v_row.auth_method));
  if v_state = 'approved' then
    perform tenure.governance_apply(v_row, v_now);
  end if;
  return to_jsonb(v_row) - array['tenant_id', 'proposed_makers', 'proposed_means', 'decided_makers'];
end
$$;

-- Proposed changes of the tenant, newest first; with a null p_state those in every state. The next page
-- begins after the change p_before_id, which was proposed at p_before.
-- granted to: all
create or replace function tenure.governance_change_list(
  p_state text[] default '{pending}', p_limit integer default 100, p_before timestamptz default null,
  p_before_id uuid default null)
returns table (
  change_id uuid, subject text, name text, operation text, old jsonb, new jsonb, state text,
  proposed_at timestamptz, proposed_by text, on_behalf_of text, decided_at timestamptz, decided_by text,
  auth_method text, comment text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_filter('state', p_state, array['pending', 'approved', 'rejected', 'any']);
  end if;
  if 'any' = any (p_state) then
    p_state := null;
  end if;
  return query
    select g.change_id, g.subject, g.name, g.operation, g.old, g.new, g.state, g.proposed_at, g.proposed_by,
           g.on_behalf_of, g.decided_at, g.decided_by, g.auth_method, g.comment
      from tenure.governance_changes g
     where g.tenant_id = coalesce(tenure.current_tenant(), 0)
       and (p_state is null or g.state = any (p_state))
       and (p_before is null or (g.proposed_at, g.change_id) < (p_before, p_before_id))
     order by g.proposed_at desc, g.change_id desc
     limit p_limit;
end
$$;
