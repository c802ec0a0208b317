-- Actions: an admin registers the class of an action and what it demands. plans/resolve.sql applies the
-- registrations to every plan.

-- The rank of a lock scope by how much it covers: nothing, one action at a target, the whole target.
create or replace function tenure.lock_reach(p_lock_scope text) returns integer
language sql immutable parallel safe
as $$ select array_position(array['none', 'target_and_action', 'target'], p_lock_scope) $$;

-- What the registrations demand of an action that a job of this kind carries. The exact name decides, else
-- the glob with the most literal characters; of equal globs the strictest value of each property counts. An
-- action that is not registered gives no row.
create or replace function tenure.action_match(p_tenant_id integer, p_action text, p_kind text)
returns table (
  registration text, action_class text, level_min integer, lock_scope text, payload_restricted boolean,
  kind_allowed boolean, kinds text)
language sql stable
as $$
  with fitting as (
    select a.name,
           a.action_class,
           a.level_min,
           a.lock_scope,
           a.payload_restricted,
           coalesce(a.kinds, array[p_action]) as kinds,
           a.kinds is null as own_kind,
           rank() over (order by (a.name = p_action) desc, length(replace(a.name, '*', '')) desc) as place
      from tenure.actions a
     where a.tenant_id = p_tenant_id
       and (
         a.name = p_action
         or (
           strpos(a.name, '*') > 0
           and p_action like a.pattern
           and not exists (
             select from tenure.actions x where x.tenant_id = p_tenant_id and x.name = p_action)))
  )
  select string_agg(f.name, ', ' order by f.name),
         (array_agg(f.action_class order by tenure.class_reach(f.action_class) desc))[1],
         max(f.level_min)::integer,
         (array_agg(f.lock_scope order by tenure.lock_reach(f.lock_scope) desc))[1],
         bool_or(f.payload_restricted),
         bool_and(case when f.own_kind then p_kind = p_action else tenure.matches_any(p_kind, f.kinds) end),
         string_agg(distinct array_to_string(f.kinds, ', '), ' and ')
    from fitting f
   where f.place = 1
  having count(*) > 0
$$;

-- What applies to an action that is not registered: the strictest of everything, or in open mode only what
-- the plan states.
create or replace function tenure.action_default(
  p_tenant_id integer,
  out is_open boolean, out action_class text, out level_min integer, out lock_scope text)
language plpgsql stable
as $$
begin
  is_open := (tenure.setting(p_tenant_id, 'executions.actions.open'))::boolean;
  if is_open then
    level_min := 0;
    lock_scope := 'none';
    return;
  end if;
  action_class := 'deploy';
  lock_scope := 'target';
  level_min := greatest(2,
    (select max(r.level) from tenure.approval_rules r where r.tenant_id = p_tenant_id),
    (select max(a.level_min) from tenure.actions a where a.tenant_id = p_tenant_id));
end
$$;

-- Refuses an invalid registration of an action.
create or replace function tenure.check_action_spec(p_name text, p_spec jsonb) returns void
language plpgsql
as $$
declare
  v_field text;
  v_value jsonb;
begin
  perform tenure.check_name('action', p_name);
  if p_name ~ '[:,]' then
    perform tenure.refuse('name_invalid', format('The action %L has a colon or a comma.', p_name),
      'Colons join the parts of the key of a lock, commas the names of registrations.',
      'Use a dot or a dash.');
  elsif p_name <> btrim(p_name) then
    perform tenure.refuse('name_invalid', format('The action %L begins or ends with a space.', p_name),
      'It would look like another action.',
      'Leave the space out.');
  end if;
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.',
      'It names the class of the action and what it demands.',
      'Give an object such as {"action_class": "modify", "level_min": 1}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_spec) f loop
    perform tenure.check_word('value_unknown', 'field of an action', v_field,
      array['action_class', 'kinds', 'level_min', 'lock_scope', 'payload_restricted', 'note']);
    case
      when v_field in ('action_class', 'lock_scope') then
        perform tenure.check_word('value_unknown', v_field, v_value #>> '{}',
          case v_field
            when 'action_class' then array['read', 'modify', 'deploy']
            else array['none', 'target_and_action', 'target']
          end);
      when v_field = 'level_min' then
        if jsonb_typeof(v_value) <> 'number'
           or v_value::numeric <> trunc(v_value::numeric)
           or abs(v_value::numeric) > 9e15 then
          perform tenure.refuse('number_out_of_range',
            format('level_min is %s.', tenure.excerpt(v_value::text)),
            'It must be a whole number.',
            'Give a number from 0 to 3.');
        end if;
        perform tenure.check_number(v_field, v_value::numeric::bigint,
          0, tenure.limit_of('approval_level_max'));
      when v_field = 'payload_restricted' then
        if jsonb_typeof(v_value) <> 'boolean' then
          perform tenure.refuse('value_unknown',
            format('payload_restricted is %s.', tenure.excerpt(v_value::text)),
            'It is true or false.',
            'Give true or false.');
        end if;
      when v_field = 'kinds' then
        perform tenure.check_texts(v_field, v_value);
      else
        perform tenure.check_note(v_value);
    end case;
  end loop;
  if not p_spec ? 'action_class' then
    perform tenure.refuse('value_unknown', 'The action has no action_class.',
      'The class says how far the action reaches: read, modify or deploy.',
      'Give an action_class.');
  end if;
end
$$;

-- Refuses a value that is not a list of names.
create or replace function tenure.check_texts(p_field text, p_value jsonb) returns void
language plpgsql
as $$
begin
  if jsonb_typeof(p_value) <> 'array'
     or jsonb_array_length(p_value) not between 1 and tenure.limit_of('key_rights_max')
     or exists (select from jsonb_array_elements(p_value) x where jsonb_typeof(x) <> 'string') then
    perform tenure.refuse('value_unknown', format('%s is %s.', p_field, tenure.excerpt(p_value::text)),
      format('It is a list of 1 to %s texts.', tenure.limit_of('key_rights_max')),
      'Give a list, or leave the field out.');
  end if;
  perform tenure.check_name(p_field, x) from jsonb_array_elements_text(p_value) x;
end
$$;

-- Refuses a note that is not a text, or is too long.
create or replace function tenure.check_note(p_value jsonb) returns void
language plpgsql
as $$
begin
  if jsonb_typeof(p_value) <> 'string' or length(p_value #>> '{}') > tenure.limit_of('note_chars_max') then
    perform tenure.refuse('text_invalid',
      format('The note is not a text of at most %s characters.', tenure.limit_of('note_chars_max')),
      'It says what the entry is for.',
      'Shorten it.');
  end if;
end
$$;

-- Registers an action, or replaces its registration. Answers the registration, or the change that waits for a
-- second admin (governance.changes.need_approval).
-- granted to: admin
create or replace function tenure.action_set(p_name text, p_spec jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.refuse_agent(v_caller);
  perform tenure.check_action_spec(p_name, p_spec);
  return tenure.governance_change(v_caller, 'action', p_name, 'set', tenure.action_complete(p_spec));
end
$$;

-- Removes a registration: the action then matches another glob, or counts as unregistered. Answers the change
-- if it waits for a second admin.
-- granted to: admin
create or replace function tenure.action_delete(p_name text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.refuse_agent(v_caller);
  return tenure.governance_change(v_caller, 'action', p_name, 'delete', null);
end
$$;

-- A checked registration with every field that it leaves out, so that a second admin sees all that it sets.
create or replace function tenure.action_complete(p_spec jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_row tenure.actions := jsonb_populate_record(null::tenure.actions, p_spec);
begin
  return jsonb_build_object(
    'action_class', v_row.action_class,
    'kinds', v_row.kinds,
    'level_min', coalesce(v_row.level_min, 0),
    'lock_scope', coalesce(v_row.lock_scope,
      case v_row.action_class when 'read' then 'none' else 'target' end),
    'payload_restricted', coalesce(v_row.payload_restricted, false),
    'note', coalesce(v_row.note, ''));
end
$$;

-- Writes a checked registration. Refuses it if the tenant would then have more than actions_max.
create or replace function tenure.action_write(
  p_tenant_id integer, p_now timestamptz, p_author text, p_name text, p_spec jsonb) returns void
language plpgsql
as $$
declare
  v_row tenure.actions := jsonb_populate_record(null::tenure.actions, tenure.action_complete(p_spec));
begin
  if (select count(*) from tenure.actions a where a.tenant_id = p_tenant_id and a.name <> p_name)
     >= tenure.limit_of('actions_max') then
    perform tenure.refuse('state_conflict', format('There are %s actions.', tenure.limit_of('actions_max')),
      'That is the most a tenant may register (actions_max): every plan is compared with all of them.',
      'Register globs such as service.*, and delete what they cover.');
  end if;
  insert into tenure.actions (tenant_id, name, action_class, kinds, level_min, lock_scope,
    payload_restricted, note, updated_at, updated_by)
  values (p_tenant_id, p_name, v_row.action_class, v_row.kinds, v_row.level_min, v_row.lock_scope,
    v_row.payload_restricted, v_row.note, p_now, p_author)
  on conflict (tenant_id, name) do update
    set action_class = excluded.action_class,
        kinds = excluded.kinds,
        level_min = excluded.level_min,
        lock_scope = excluded.lock_scope,
        payload_restricted = excluded.payload_restricted,
        note = excluded.note,
        updated_at = excluded.updated_at,
        updated_by = excluded.updated_by;
end
$$;

-- The registered actions of the tenant, by name.
-- granted to: all
create or replace function tenure.action_list()
returns table (
  name text, action_class text, kinds text[], level_min integer, lock_scope text, payload_restricted boolean,
  note text, updated_at timestamptz, updated_by text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select a.name, a.action_class, a.kinds, a.level_min::integer, a.lock_scope, a.payload_restricted, a.note,
           a.updated_at, a.updated_by
      from tenure.actions a
     where a.tenant_id = tenure.current_tenant()
     order by a.name;
end
$$;

-- What applies to steps with the action p_name, carried by a job of kind p_kind, and which registration
-- demands it. A null p_kind is the kind with the name of the action.
-- granted to: all
create or replace function tenure.action_show(p_name text, p_kind text default null) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant  integer := tenure.current_tenant();
  v_found   record;
  v_default record;
  v_kinds   text[];
begin
  perform tenure.check_tenant(v_tenant);
  perform tenure.check_name('action', p_name);
  v_default := tenure.action_default(v_tenant);
  select m.registration, m.action_class, m.level_min, m.lock_scope, m.payload_restricted, m.kind_allowed
    into v_found
    from tenure.action_match(v_tenant, p_name, coalesce(p_kind, p_name)) m;
  if not found then
    return jsonb_build_object(
      'action', p_name,
      'registered', false,
      'registration', null,
      'open', v_default.is_open,
      'action_class', v_default.action_class,
      'level_min', v_default.level_min,
      'lock_scope', v_default.lock_scope,
      'payload_restricted', false,
      'kinds', jsonb_build_array('*'),
      'kind_allowed', true);
  end if;
  -- Where several registrations apply alike, only the kinds that each of them allows.
  with named as materialized (
    select coalesce(a.kinds, array[p_name]) as kinds
      from tenure.actions a
     where a.tenant_id = v_tenant
       and strpos(', ' || v_found.registration || ', ', ', ' || a.name || ', ') > 0
  )
  select coalesce(array_agg(distinct k order by k), '{}') into v_kinds
    from named n
    cross join unnest(n.kinds) k
   where not exists (select from named o where not tenure.matches_any(k, o.kinds));
  return jsonb_build_object(
    'action', p_name,
    'registered', true,
    'registration', v_found.registration,
    'open', v_default.is_open,
    'action_class', v_found.action_class,
    'level_min', v_found.level_min,
    'lock_scope', v_found.lock_scope,
    'payload_restricted', v_found.payload_restricted,
    'kinds', v_kinds,
    'kind_allowed', v_found.kind_allowed);
end
$$;
