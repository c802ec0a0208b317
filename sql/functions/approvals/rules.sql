-- Approval rules: an admin sets which plans need which approval. The first rule by position that matches
-- counts; terms.sql applies the rules to a plan.

-- Refuses an invalid specification of a rule.
create or replace function tenure.check_rule(p_name text, p_spec jsonb) returns void
language plpgsql
as $$
declare
  v_field text;
  v_value jsonb;
begin
  perform tenure.check_name('rule', p_name);
  if p_name = 'default' then
    perform tenure.refuse('name_invalid', 'A rule cannot be named default.',
      'That is the built-in rule, which comes last.',
      'Choose another name; a rule without conditions comes before the built-in one.');
  end if;
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.',
      'It names what the rule matches and what it asks for.',
      'Give an object such as {"position": 10, "action_classes": ["deploy"], "level": 2}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_spec) f loop
    perform tenure.check_word('value_unknown', 'field of a rule', v_field, array[
      'position', 'action_classes', 'actions', 'kinds', 'executors', 'target_types', 'target_refs',
      'sla_classes', 'requesters', 'requester_kinds', 'level', 'roles', 'quorum', 'expires_seconds', 'window',
      'note']);
    if v_field in ('position', 'level', 'quorum', 'expires_seconds') then
      if jsonb_typeof(v_value) <> 'number'
         or v_value::numeric <> trunc(v_value::numeric)
         or abs(v_value::numeric) > 9e15 then
        perform tenure.refuse('number_out_of_range',
          format('%s is %s.', v_field, left(v_value::text, 50)),
          'It must be a whole number.',
          'Give a whole number.');
      end if;
      perform tenure.check_number(v_field, v_value::bigint,
        case v_field
          when 'position' then -1000000
          when 'level' then 0
          when 'quorum' then 1
          else 60
        end,
        case v_field
          when 'position' then 1000000
          when 'level' then tenure.limit_of('approval_level_max')
          when 'quorum' then 10
          else 2592000
        end);
    elsif v_field = 'window' then
      perform tenure.check_window(v_value);
    elsif v_field = 'note' then
      if jsonb_typeof(v_value) <> 'string' or length(v_value #>> '{}') > 2000 then
        perform tenure.refuse('text_invalid', 'The note is no text of at most 2000 characters.',
          'It tells people what the rule is for.',
          'Shorten it.');
      end if;
    else
      if jsonb_typeof(v_value) <> 'array'
         or jsonb_array_length(v_value) not between 1 and tenure.limit_of('key_rights_max')
         or exists (select from jsonb_array_elements(v_value) x where jsonb_typeof(x) <> 'string') then
        perform tenure.refuse('value_unknown', format('%s is %s.', v_field, left(v_value::text, 100)),
          'It is a list of 1 to 100 texts.',
          'Give a list, or leave the field out: then it matches all.');
      end if;
      perform tenure.check_name(v_field, x) from jsonb_array_elements_text(v_value) x;
      if v_field in ('action_classes', 'sla_classes', 'requester_kinds') then
        perform tenure.check_word('value_unknown', v_field, x,
          case v_field
            when 'action_classes' then array['read', 'modify', 'deploy']
            when 'sla_classes' then array['fast', 'medium', 'long']
            else array['human', 'agent', 'service']
          end)
          from jsonb_array_elements_text(v_value) x;
      end if;
    end if;
  end loop;
  if not p_spec ? 'level' then
    perform tenure.refuse('value_unknown', 'The rule names no level.',
      'It is what a rule decides: 0 automatic, 1 one approval, 2 plan review with a runbook, 3 also each '
        'step.',
      'Give a level.');
  end if;
end
$$;

-- Sets a rule, or replaces the one of this name. Answers the rule, or the change that waits for a second
-- admin (governance.changes.need_approval).
-- granted to: admin
create or replace function tenure.approval_rule_set(p_name text, p_spec jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.refuse_agent(v_caller);
  perform tenure.check_rule(p_name, p_spec);
  -- The next position is read under the lock, so that it stays free.
  perform tenure.config_lock(v_caller.tenant_id);
  return tenure.governance_change(v_caller, 'approval_rule', p_name, 'set',
    tenure.approval_rule_complete(v_caller.tenant_id, p_name, p_spec));
end
$$;

-- A checked rule with every field that it leaves out, named as in the table, so that a second admin sees all
-- that it sets. A rule without a position comes after all others.
create or replace function tenure.approval_rule_complete(p_tenant_id integer, p_name text, p_spec jsonb)
returns jsonb
language plpgsql stable
as $$
declare
  v_rule tenure.approval_rules := jsonb_populate_record(null::tenure.approval_rules, p_spec - 'window');
begin
  if jsonb_typeof(p_spec -> 'window') = 'object' then
    v_rule.start_window := p_spec -> 'window';
  end if;
  v_rule.position := coalesce(v_rule.position, (
    select max(r.position) + 10
      from tenure.approval_rules r
     where r.tenant_id = p_tenant_id
       and r.name <> p_name), 10);
  v_rule.roles := coalesce(v_rule.roles, '{}');
  v_rule.quorum := coalesce(v_rule.quorum, 1);
  v_rule.expires_seconds := coalesce(v_rule.expires_seconds, 86400);
  v_rule.note := coalesce(v_rule.note, '');
  return to_jsonb(v_rule) - array['tenant_id', 'name', 'updated_at', 'updated_by'];
end
$$;

-- Writes a checked rule. Refuses a position that another rule has. The caller holds the tenant's
-- configuration lock.
create or replace function tenure.approval_rule_write(
  p_tenant_id integer, p_now timestamptz, p_author text, p_name text, p_spec jsonb) returns void
language plpgsql
as $$
declare
  v_rule tenure.approval_rules := jsonb_populate_record(null::tenure.approval_rules,
    tenure.approval_rule_complete(p_tenant_id, p_name, p_spec));
begin
  if exists (
       select
         from tenure.approval_rules r
        where r.tenant_id = p_tenant_id
          and r.position = v_rule.position
          and r.name <> p_name) then
    perform tenure.refuse('key_taken', format('Another rule stands at position %s.', v_rule.position),
      'The order of rules is their meaning: no two stand at one place.',
      'Choose another position: see tenure.approval_rule_list().');
  end if;
  insert into tenure.approval_rules (tenant_id, name, position, action_classes, actions, kinds, executors,
    target_types, target_refs, sla_classes, requesters, requester_kinds, level, roles, quorum,
    expires_seconds, start_window, note, updated_at, updated_by)
  values (p_tenant_id, p_name, v_rule.position, v_rule.action_classes, v_rule.actions, v_rule.kinds,
    v_rule.executors, v_rule.target_types, v_rule.target_refs, v_rule.sla_classes, v_rule.requesters,
    v_rule.requester_kinds, v_rule.level, v_rule.roles, v_rule.quorum, v_rule.expires_seconds,
    v_rule.start_window, v_rule.note, p_now, p_author)
  on conflict (tenant_id, name) do update
    set position = excluded.position,
        action_classes = excluded.action_classes,
        actions = excluded.actions,
        kinds = excluded.kinds,
        executors = excluded.executors,
        target_types = excluded.target_types,
        target_refs = excluded.target_refs,
        sla_classes = excluded.sla_classes,
        requesters = excluded.requesters,
        requester_kinds = excluded.requester_kinds,
        level = excluded.level,
        roles = excluded.roles,
        quorum = excluded.quorum,
        expires_seconds = excluded.expires_seconds,
        start_window = excluded.start_window,
        note = excluded.note,
        updated_at = excluded.updated_at,
        updated_by = excluded.updated_by;
end
$$;

-- Removes a rule. Answers the change if it waits for a second admin.
-- granted to: admin
create or replace function tenure.approval_rule_delete(p_name text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.refuse_agent(v_caller);
  return tenure.governance_change(v_caller, 'approval_rule', p_name, 'delete', null);
end
$$;

-- The rules of the tenant in the order in which they are tried, without the built-in one.
-- granted to: all
create or replace function tenure.approval_rule_list()
returns table (
  name text, "position" integer, action_classes text[], actions text[], kinds text[], executors text[],
  target_types text[], target_refs text[], sla_classes text[], requesters text[], requester_kinds text[],
  level integer, roles text[], quorum integer, expires_seconds integer, start_window jsonb, note text,
  updated_at timestamptz, updated_by text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select r.name, r.position, r.action_classes, r.actions, r.kinds, r.executors, r.target_types,
           r.target_refs, r.sla_classes, r.requesters, r.requester_kinds, r.level::integer, r.roles,
           r.quorum::integer, r.expires_seconds, r.start_window, r.note, r.updated_at, r.updated_by
      from tenure.approval_rules r
     where r.tenant_id = tenure.current_tenant()
     order by r.position;
end
$$;
