-- Who has to allow what: a small table of rules, read from the top.

-- Whether a text is one of these; a star stands for anything.
create or replace function tenure.matches_any(p_text text, p_globs text[]) returns boolean
language sql immutable parallel safe
as $$
  select p_globs is null or exists (
    select from unnest(p_globs) g
     where p_text like replace(regexp_replace(g, $r$([%_\\])$r$, $r$\\\1$r$, 'g'), '*', '%'))
$$;

-- The kind of a requester. One that is not registered, or is an agent in the installation or in the tenant,
-- counts as an agent: the rules for those are the stricter ones.
create or replace function tenure.principal_kind(p_tenant_id integer, p_principal text) returns text
language sql stable
as $$
  select coalesce((
    select p.kind from tenure.principals p
     where p.tenant_id in (p_tenant_id, 0) and p.name = p_principal
     order by p.kind = 'agent' desc, p.tenant_id desc
     limit 1), 'agent')
$$;

-- What the rules ask for each step of a plan. Where several stand behind it, each of them brings a rule, and all of these hold: the highest level and quorum, all roles, the shortest time, every window.
-- A rule that asks for no approval has no say in how one is given. The strictest comes first by name, and with it those that add something. The built-in rule comes last: reading is free, modifying
-- needs one approval, deploying a plan review.
create or replace function tenure.plan_rules(p_tenant_id integer, p_requesters text[], p_plan jsonb)
returns table (step_number integer, rule text, level integer, roles text[], quorum integer, expires_seconds integer, start_window jsonb)
language sql stable
as $$
  with matched as materialized (
    select distinct s.step_number, coalesce(r.name, 'default') as rule, o.own_level,
           greatest(o.own_level, coalesce((p_plan ->> 'approval_level')::integer, 0)) as level,
           coalesce(r.roles, '{}') as roles, coalesce(r.quorum, 1) as quorum, coalesce(r.expires_seconds, 86400) as expires_seconds, r.start_window
      from tenure.plan_steps(p_plan) s
      join tenure.plan_demands(p_plan) d on d.step_number = s.step_number
      cross join unnest(p_requesters) q (requester)
      left join lateral (
        select r.name, r.level::integer, r.roles, r.quorum::integer, r.expires_seconds, r.start_window
          from tenure.approval_rules r
         where r.tenant_id = p_tenant_id
           and (r.action_classes is null or s.action_class = any (r.action_classes))
           and (r.target_types is null or tenure.matches_any(s.target_type, r.target_types))
           and (r.target_refs is null or tenure.target_matches(s.target_ref, r.target_refs, d.fold))
           and (r.actions is null or tenure.matches_any(s.action, r.actions))
           and (r.kinds is null or tenure.matches_any(s.kind, r.kinds))
           and (r.executors is null or tenure.matches_any(s.executor, r.executors))
           and (r.sla_classes is null or p_plan ->> 'sla_class' = any (r.sla_classes))
           and (r.requesters is null or tenure.matches_any(q.requester, r.requesters))
           and (r.requester_kinds is null or tenure.principal_kind(p_tenant_id, q.requester) = any (r.requester_kinds))
         order by r.position limit 1) r on true
      cross join lateral (
        select coalesce(r.level, tenure.class_reach(s.action_class) - 1) as own_level) o
  ), top as (
    select distinct on (m.step_number) m.* from matched m order by m.step_number, m.level desc, m.quorum desc, m.rule
  ), combined as (
    select t.step_number, t.level, max(m.own_level) as own_level,
           string_agg(m.rule, ', ' order by m.rule <> t.rule, m.rule) filter (where m.rule = t.rule or m.start_window <> t.start_window or (m.start_window is not null and t.start_window is null)
             or (c.counts and (m.quorum > t.quorum or m.expires_seconds < t.expires_seconds or not m.roles <@ t.roles))) as rule,
           jsonb_agg(m.roles) filter (where c.counts) as roles, max(m.quorum) filter (where c.counts) as quorum, min(m.expires_seconds) filter (where c.counts) as expires_seconds,
           jsonb_agg(distinct m.start_window) filter (where m.start_window is not null) as windows
      from top t
      join matched m on m.step_number = t.step_number
      cross join lateral (select m.level > 0 or t.level = 0 as counts) c
     group by t.step_number, t.level
  )
  -- Whatever the rules say, the level is at least what the action and the plan itself demand; the one that
  -- raises it is named beside them.
  select c.step_number,
         c.rule || case
           when d.level_min > c.level then ', action ' || coalesce(d.registration, 'unregistered')
           when c.level > c.own_level then ', the plan'
           else '' end,
         greatest(c.level, d.level_min), array(select distinct x from jsonb_array_elements(c.roles) l cross join lateral jsonb_array_elements_text(l) x order by x), c.quorum, c.expires_seconds,
         case when jsonb_array_length(c.windows) = 1 then c.windows -> 0 else c.windows end
    from combined c
    join tenure.plan_demands(p_plan) d on d.step_number = c.step_number
$$;

-- What the rules ask for a plan as a whole: the strictest of its steps decides, and names its rule; the roles of all who ask for an approval count, and the greatest quorum:
-- nobody gets around a rule by adding a step of another.
create or replace function tenure.plan_terms(
  p_tenant_id integer, p_requesters text[], p_plan jsonb,
  out level integer, out rule text, out roles text[], out quorum integer, out expires_seconds integer, out start_window jsonb)
language plpgsql stable
as $$
begin
  with rules as materialized (select r.* from tenure.plan_rules(p_tenant_id, p_requesters, p_plan) r),
       top as (select r.* from rules r order by r.level desc, r.quorum desc, r.step_number limit 1)
  select t.level,
         -- Roles that the plan alone asks for are named as its own.
         t.rule || case when t.level > 0 and t.rule not like '%, the plan' and exists (
           select from jsonb_array_elements_text(coalesce(p_plan -> 'approval_roles', '[]')) x
            where not exists (select from rules r where r.level > 0 and x = any (r.roles)))
           then ', the plan' else '' end,
         array(select distinct x from (select unnest(r.roles) as x from rules r where r.level > 0 union all select jsonb_array_elements_text(coalesce(p_plan -> 'approval_roles', '[]'))) y order by x),
         (select max(r.quorum) from rules r where r.level > 0 or t.level = 0), (select min(r.expires_seconds) from rules r where r.level > 0 or t.level = 0),
         (select case when count(*) = 1 then jsonb_agg(w.start_window) -> 0 when count(*) > 1 then jsonb_agg(w.start_window order by w.start_window::text) end
            from (select distinct x as start_window from rules r
                   cross join lateral jsonb_array_elements(case jsonb_typeof(r.start_window) when 'array' then r.start_window else jsonb_build_array(r.start_window) end) x
                   where r.start_window is not null) w)
    into level, rule, roles, quorum, expires_seconds, start_window
    from top t;
end
$$;

-- Refuses targets that are not known, where the tenant wants that: in strict mode those that no rule names; outside open
-- mode, once target types are registered, those whose type is not and that no rule names either.
create or replace function tenure.check_targets(p_tenant_id integer, p_plan jsonb) returns void
language plpgsql
as $$
declare
  v_step   record;
  v_strict boolean := (tenure.setting(p_tenant_id, 'executions.targets.strict'))::boolean;
begin
  if not v_strict and ((tenure.setting(p_tenant_id, 'executions.actions.open'))::boolean
      or not exists (select from tenure.target_types t where t.tenant_id = p_tenant_id)) then
    return;
  end if;
  select s.step_number, s.target_type, s.target_ref into v_step
    from tenure.plan_steps(p_plan) s
    join tenure.plan_demands(p_plan) d on d.step_number = s.step_number
   where not exists (select from tenure.approval_rules r where r.tenant_id = p_tenant_id and coalesce(r.target_types, r.target_refs) is not null
                        and tenure.matches_any(s.target_type, r.target_types) and tenure.target_matches(s.target_ref, r.target_refs, d.fold))
     and (v_strict or not exists (
       select from tenure.target_types t where t.tenant_id = p_tenant_id and t.name = s.target_type))
   order by s.step_number limit 1;
  if found then
    perform tenure.refuse('target_unknown', format('steps[%s] is about %s %L, which no rule names.', v_step.step_number - 1, v_step.target_type, v_step.target_ref),
      case when v_strict then 'Strict mode (executions.targets.strict) takes only targets of approval rules.'
        else 'Outside open mode (executions.actions.open), once target types are registered, the others are refused.' end,
      case when v_strict then 'Correct the target, or name it in a rule: tenure.approval_rule_set(name, spec).'
        else 'Correct the target, or register its type: tenure.target_type_set(name, spec).' end);
  end if;
end
$$;

-- Who stands behind an execution that is about to be made: who asks, on whose behalf, and whoever stands behind the one that it retries. It is kept with the execution: what it retries is archived some day.
create or replace function tenure.execution_requesters(p_principal text, p_on_behalf_of text, p_retry_of uuid) returns text[]
language sql stable
as $$
  select array(select p_principal union select p_on_behalf_of where p_on_behalf_of <> ''
               union select unnest(e.requesters) from tenure.executions e where e.execution_id = p_retry_of order by 1)
$$;

-- When all of several windows are open next; infinity when that never happens.
create or replace function tenure.windows_open(p_windows jsonb, p_now timestamptz) returns timestamptz
language plpgsql stable
as $$
declare
  v_at   timestamptz := p_now;
  v_next timestamptz;
begin
  for v_round in 1 .. 400 loop
    select max(tenure.window_opens(w, v_at)) into v_next from jsonb_array_elements(p_windows) w;
    if v_next = v_at then
      return v_at;
    end if;
    v_at := v_next;
  end loop;
  return 'infinity';
end
$$;

-- When a window is open next: now, if it is. Days are those on which it opens, 1 for Monday; it may reach past midnight.
create or replace function tenure.window_opens(p_window jsonb, p_now timestamptz) returns timestamptz
language sql stable
as $$
  select case when p_window is null then p_now when jsonb_typeof(p_window) = 'array' then tenure.windows_open(p_window, p_now) else (
    select greatest(p_now, o.opens)
      from (select ((d.day + (p_window ->> 'from')::time) at time zone coalesce(p_window ->> 'zone', 'UTC')) as opens,
                   ((d.day + (p_window ->> 'to')::time + case when (p_window ->> 'to')::time <= (p_window ->> 'from')::time then interval '1 day' else interval '0' end)
                     at time zone coalesce(p_window ->> 'zone', 'UTC')) as closes
              from generate_series(-1, 8) g
              cross join lateral (select (p_now at time zone coalesce(p_window ->> 'zone', 'UTC'))::date + g as day) d
             where not p_window ? 'days' or (p_window -> 'days') @> to_jsonb(extract(isodow from d.day)::integer)) o
     where o.closes > p_now
     order by o.opens limit 1) end
$$;

-- Refuses a window that is none.
create or replace function tenure.check_window(p_window jsonb) returns void
language plpgsql
set standard_conforming_strings = on
as $$
begin
  if p_window is null or jsonb_typeof(p_window) = 'null' then
    return;
  end if;
  if jsonb_typeof(p_window) <> 'object' or (p_window ->> 'from' ~ '^([01]\d|2[0-3]):[0-5]\d$' and p_window ->> 'to' ~ '^([01]\d|2[0-3]):[0-5]\d$') is not true
     or p_window - array['days', 'from', 'to', 'zone'] <> '{}'
     or (p_window ? 'days' and (jsonb_typeof(p_window -> 'days') <> 'array' or jsonb_array_length(p_window -> 'days') = 0 or not p_window -> 'days' <@ '[1, 2, 3, 4, 5, 6, 7]')) then
    perform tenure.refuse('range_invalid', format('%s is no window.', left(p_window::text, 200)), 'It has from and to (HH:MM), and may have days (1 to 7, Monday first) and a zone.',
      'Give one such as {"days": [6, 7], "from": "22:00", "to": "04:00", "zone": "Europe/Berlin"}.');
  end if;
  if p_window ? 'zone' and not exists (select from pg_catalog.pg_timezone_names z where z.name = p_window ->> 'zone') then
    perform tenure.refuse('zone_unknown', format('%L is no time zone.', p_window ->> 'zone'), 'It is a name of the IANA database.', 'Give one such as Europe/Berlin or UTC.');
  end if;
end
$$;

-- Refuses agents where it is said who approves what, or who acts as whom: by another identity they would approve after all.
create or replace function tenure.refuse_agent(p_caller tenure.caller_identity) returns void
language plpgsql stable
as $$
begin
  if exists (select from tenure.principals p where p.tenant_id in (p_caller.tenant_id, 0) and p.name = p_caller.principal and p.kind = 'agent') then
    perform tenure.refuse('not_permitted', format('%s is an agent.', p_caller.principal), 'Agents never approve, nor do they decide who does, or who acts as whom.', 'Let a person do it.');
  end if;
end
$$;

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
    perform tenure.refuse('name_invalid', 'A rule cannot be named default.', 'That is the built-in rule, which comes last.', 'Choose another name; a rule without conditions comes before the built-in one.');
  end if;
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.', 'It names what the rule matches and what it asks for.', 'Give an object such as {"position": 10, "action_classes": ["deploy"], "level": 2}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_spec) f loop
    perform tenure.check_word('value_unknown', 'field of a rule', v_field, array['position', 'action_classes', 'actions', 'kinds', 'executors', 'target_types',
      'target_refs', 'sla_classes', 'requesters', 'requester_kinds', 'level', 'roles', 'quorum', 'expires_seconds', 'window', 'note']);
    if v_field in ('position', 'level', 'quorum', 'expires_seconds') then
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric <> trunc(v_value::numeric) or abs(v_value::numeric) > 9e15 then
        perform tenure.refuse('number_out_of_range', format('%s is %s.', v_field, left(v_value::text, 50)), 'It must be a whole number.', 'Give a whole number.');
      end if;
      perform tenure.check_number(v_field, v_value::bigint, case v_field when 'position' then -1000000 when 'level' then 0 when 'quorum' then 1 else 60 end,
        case v_field when 'position' then 1000000 when 'level' then tenure.limit_of('approval_level_max') when 'quorum' then 10 else 2592000 end);
    elsif v_field = 'window' then
      perform tenure.check_window(v_value);
    elsif v_field = 'note' then
      if jsonb_typeof(v_value) <> 'string' or length(v_value #>> '{}') > 2000 then
        perform tenure.refuse('text_invalid', 'The note is no text of at most 2000 characters.', 'It tells people what the rule is for.', 'Shorten it.');
      end if;
    else
      if jsonb_typeof(v_value) <> 'array' or jsonb_array_length(v_value) not between 1 and tenure.limit_of('key_rights_max')
         or exists (select from jsonb_array_elements(v_value) x where jsonb_typeof(x) <> 'string') then
        perform tenure.refuse('value_unknown', format('%s is %s.', v_field, left(v_value::text, 100)), 'It is a list of 1 to 100 texts.', 'Give a list, or leave the field out: then it matches all.');
      end if;
      perform tenure.check_name(v_field, x) from jsonb_array_elements_text(v_value) x;
      if v_field in ('action_classes', 'sla_classes', 'requester_kinds') then
        perform tenure.check_word('value_unknown', v_field, x, case v_field when 'action_classes' then array['read', 'modify', 'deploy'] when 'sla_classes' then array['fast', 'medium', 'long']
          else array['human', 'agent', 'service'] end) from jsonb_array_elements_text(v_value) x;
      end if;
    end if;
  end loop;
  if not p_spec ? 'level' then
    perform tenure.refuse('value_unknown', 'The rule names no level.', 'It is what a rule decides: 0 automatic, 1 one approval, 2 plan review with a runbook, 3 also each step.', 'Give a level.');
  end if;
end
$$;

-- Makes a rule, or takes the place of the one of this name. Answers the rule, or the change that waits for a second
-- admin (governance.changes.need_approval).
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
  -- The next position is read under the lock: it is free, and stays so.
  perform tenure.config_lock(v_caller.tenant_id);
  return tenure.governance_change(v_caller, 'approval_rule', p_name, 'set',
    tenure.approval_rule_complete(v_caller.tenant_id, p_name, p_spec));
end
$$;

-- A checked rule with every field that it leaves out, named as in the table: so a second admin sees all that
-- it sets. A rule without a position comes after all others.
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
    select max(r.position) + 10 from tenure.approval_rules r
     where r.tenant_id = p_tenant_id and r.name <> p_name), 10);
  v_rule.roles := coalesce(v_rule.roles, '{}');
  v_rule.quorum := coalesce(v_rule.quorum, 1);
  v_rule.expires_seconds := coalesce(v_rule.expires_seconds, 86400);
  v_rule.note := coalesce(v_rule.note, '');
  return to_jsonb(v_rule) - array['tenant_id', 'name', 'updated_at', 'updated_by'];
end
$$;

-- Writes a rule that was checked. The caller holds the tenant.
create or replace function tenure.approval_rule_write(
  p_tenant_id integer, p_now timestamptz, p_author text, p_name text, p_spec jsonb) returns void
language plpgsql
as $$
declare
  v_rule tenure.approval_rules := jsonb_populate_record(null::tenure.approval_rules,
    tenure.approval_rule_complete(p_tenant_id, p_name, p_spec));
begin
  if exists (select from tenure.approval_rules r
              where r.tenant_id = p_tenant_id and r.position = v_rule.position and r.name <> p_name) then
    perform tenure.refuse('key_taken', format('Another rule stands at position %s.', v_rule.position),
      'The order of rules is their meaning: no two stand at one place.',
      'Choose another position: see tenure.approval_rule_list().');
  end if;
  insert into tenure.approval_rules (tenant_id, name, position, action_classes, actions, kinds, executors, target_types,
    target_refs, sla_classes, requesters, requester_kinds, level, roles, quorum, expires_seconds, start_window, note,
    updated_at, updated_by)
  values (p_tenant_id, p_name, v_rule.position, v_rule.action_classes, v_rule.actions, v_rule.kinds, v_rule.executors,
    v_rule.target_types, v_rule.target_refs, v_rule.sla_classes, v_rule.requesters, v_rule.requester_kinds,
    v_rule.level, v_rule.roles, v_rule.quorum, v_rule.expires_seconds, v_rule.start_window, v_rule.note,
    p_now, p_author)
  on conflict (tenant_id, name) do update set position = excluded.position, action_classes = excluded.action_classes,
    actions = excluded.actions, kinds = excluded.kinds, executors = excluded.executors,
    target_types = excluded.target_types, target_refs = excluded.target_refs, sla_classes = excluded.sla_classes,
    requesters = excluded.requesters, requester_kinds = excluded.requester_kinds, level = excluded.level,
    roles = excluded.roles, quorum = excluded.quorum, expires_seconds = excluded.expires_seconds,
    start_window = excluded.start_window, note = excluded.note, updated_at = excluded.updated_at,
    updated_by = excluded.updated_by;
end
$$;

-- Removes a rule, or proposes that to a second admin.
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

create or replace function tenure.approval_rule_list()
returns table (name text, "position" integer, action_classes text[], actions text[], kinds text[], executors text[], target_types text[], target_refs text[], sla_classes text[], requesters text[], requester_kinds text[], level integer, roles text[],
               quorum integer, expires_seconds integer, start_window jsonb, note text, updated_at timestamptz, updated_by text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select r.name, r.position, r.action_classes, r.actions, r.kinds, r.executors, r.target_types, r.target_refs, r.sla_classes, r.requesters, r.requester_kinds, r.level::integer, r.roles, r.quorum::integer, r.expires_seconds,
           r.start_window, r.note, r.updated_at, r.updated_by
      from tenure.approval_rules r where r.tenant_id = tenure.current_tenant() order by r.position;
end
$$;

-- Says up to which level a principal approves, and in which roles.
create or replace function tenure.principal_set(p_name text, p_spec jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_home   integer := tenure.principal_home(v_caller);
  v_row    tenure.principals;
  v_field  text;
begin
  select p.* into v_row from tenure.principals p where p.tenant_id = v_home and p.name = p_name for update;
  if not found then
    perform tenure.refuse('principal_unknown', format('There is no principal %L.', p_name),
      'Only registered principals can approve.',
      format('Make it first: tenure.principal_create(%L, kind).', p_name));
  end if;
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.', 'It names approver_level and approval_roles.', 'Give an object such as {"approver_level": 2}.');
  end if;
  for v_field in select jsonb_object_keys(p_spec) loop
    perform tenure.check_word('value_unknown', 'field of a principal', v_field, array['approver_level', 'approval_roles', 'confirm']);
  end loop;
  if p_spec ? 'confirm' and p_spec -> 'confirm' <> 'true' then
    perform tenure.refuse('value_unknown', format('confirm is %s.', left((p_spec -> 'confirm')::text, 100)),
      'It is true, or left out.', 'Give true to vouch for the principal as it is then.');
  end if;
  if jsonb_typeof(p_spec -> 'approver_level') not in ('null', 'number') then
    perform tenure.refuse('number_out_of_range', 'approver_level is no number.', 'It is 1, 2, 3 or null.', 'Give one of these.');
  end if;
  if jsonb_typeof(p_spec -> 'approver_level') = 'number' then
    if (p_spec -> 'approver_level')::numeric <> trunc((p_spec -> 'approver_level')::numeric)
       or abs((p_spec -> 'approver_level')::numeric) > 9e15 then
      perform tenure.refuse('number_out_of_range',
        format('approver_level is %s.', left((p_spec -> 'approver_level')::text, 50)),
        'It must be a whole number.', 'Give 1, 2, 3 or null.');
    end if;
    perform tenure.check_number('The level of an approver', (p_spec ->> 'approver_level')::numeric::bigint, 1, 3);
    if v_row.kind = 'agent' then
      perform tenure.refuse('not_permitted', format('%s is an agent.', p_name), 'Agents never approve.', 'Name a person.');
    end if;
  end if;
  if p_spec ? 'approval_roles' then
    if jsonb_typeof(p_spec -> 'approval_roles') <> 'array' or exists (select from jsonb_array_elements(p_spec -> 'approval_roles') x where jsonb_typeof(x) <> 'string')
       or jsonb_array_length(p_spec -> 'approval_roles') > tenure.limit_of('key_rights_max') then
      perform tenure.refuse('value_unknown', 'approval_roles is no list of texts.', 'They are the roles in which the principal approves, at most 100.', 'Give a list such as ["release manager"].');
    end if;
    perform tenure.check_name('role', x) from jsonb_array_elements_text(p_spec -> 'approval_roles') x;
  end if;
  perform tenure.refuse_agent(v_caller);
  if p_spec ? 'confirm' and v_caller.principal = p_name and not (v_caller.roles is null and tenure.is_trusted()) then
    perform tenure.refuse('not_permitted', format('%s cannot confirm itself.', p_name),
      'Who confirms a principal vouches for it in place of those who registered or changed it.',
      'Let another admin do it.');
  end if;
  update tenure.principals p
     set approver_level = case when p_spec ? 'approver_level' then (p_spec ->> 'approver_level')::numeric::smallint else p.approver_level end,
         approval_roles = case when p_spec ? 'approval_roles' then array(select jsonb_array_elements_text(p_spec -> 'approval_roles')) else p.approval_roles end,
         -- Who changes it stands behind it beside those before; who confirms it takes their place.
         makers = array_remove(array(
           select m from unnest(case when p_spec ? 'confirm' then '{}' else p.makers end || tenure.makers_now(v_caller)) m
            group by m order by m), p.name)
   where p.principal_id = v_row.principal_id
  returning p.* into v_row;
  perform tenure.approvers_changed(v_now, array[p_name]);
  perform tenure.emit(v_now, v_home, 'principal.changed', v_caller.principal, null, p_name, p_spec);
  return jsonb_build_object('name', p_name, 'kind', v_row.kind, 'approver_level', v_row.approver_level,
    'approval_roles', v_row.approval_roles, 'makers', v_row.makers);
end
$$;
