-- Principals as approvers: up to which level they approve, and in which roles.

-- Sets the level and the roles in which a principal approves; a field left out stays as it is. With confirm
-- the caller vouches for the principal in place of its makers so far. Refuses agents, as callers and as
-- approvers, and a principal that confirms itself.
-- granted to: admin
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
  select p.* into v_row
    from tenure.principals p
   where p.tenant_id = v_home
     and p.name = p_name
     for update;
  if not found then
    perform tenure.refuse('principal_unknown', format('There is no principal %L.', p_name),
      'Only registered principals can approve.',
      format('Make it first: tenure.principal_create(%L, kind).', p_name));
  end if;
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.',
      'It names approver_level and approval_roles.',
      'Give an object such as {"approver_level": 2}.');
  end if;
  for v_field in select jsonb_object_keys(p_spec) loop
    perform tenure.check_word('value_unknown', 'field of a principal', v_field,
      array['approver_level', 'approval_roles', 'confirm']);
  end loop;
  if p_spec ? 'confirm' and p_spec -> 'confirm' <> 'true' then
    perform tenure.refuse('value_unknown',
      format('confirm is %s.', tenure.excerpt((p_spec -> 'confirm')::text)),
      'It is true, or left out.',
      'Give true to vouch for the principal as it is then.');
  end if;
  if jsonb_typeof(p_spec -> 'approver_level') not in ('null', 'number') then
    perform tenure.refuse('number_out_of_range', 'approver_level is no number.',
      'It is 1, 2, 3 or null.',
      'Give one of these.');
  end if;
  if jsonb_typeof(p_spec -> 'approver_level') = 'number' then
    if (p_spec -> 'approver_level')::numeric <> trunc((p_spec -> 'approver_level')::numeric)
       or abs((p_spec -> 'approver_level')::numeric) > 9e15 then
      perform tenure.refuse('number_out_of_range',
        format('approver_level is %s.', tenure.excerpt((p_spec -> 'approver_level')::text)),
        'It must be a whole number.',
        'Give 1, 2, 3 or null.');
    end if;
    perform tenure.check_number('The level of an approver',
      (p_spec ->> 'approver_level')::numeric::bigint, 1, tenure.limit_of('approval_level_max'));
    if v_row.kind = 'agent' then
      perform tenure.refuse('not_permitted', format('%s is an agent.', p_name),
        'Agents never approve.',
        'Name a person.');
    end if;
  end if;
  if p_spec ? 'approval_roles' then
    if jsonb_typeof(p_spec -> 'approval_roles') <> 'array'
       or exists (
         select from jsonb_array_elements(p_spec -> 'approval_roles') x where jsonb_typeof(x) <> 'string')
       or jsonb_array_length(p_spec -> 'approval_roles') > tenure.limit_of('key_rights_max') then
      perform tenure.refuse('value_unknown', 'approval_roles is no list of texts.',
        format('They are the roles in which the principal approves, at most %s.',
          tenure.limit_of('key_rights_max')),
        'Give a list such as ["release manager"].');
    end if;
    perform tenure.check_name('role', x) from jsonb_array_elements_text(p_spec -> 'approval_roles') x;
  end if;
  perform tenure.refuse_agent(v_caller);
  if p_spec ? 'confirm'
     and v_caller.principal = p_name
     and not (v_caller.roles is null and tenure.is_trusted()) then
    perform tenure.refuse('not_permitted', format('%s cannot confirm itself.', p_name),
      'Who confirms a principal vouches for it in place of those who registered or changed it.',
      'Let another admin do it.');
  end if;
  update tenure.principals p
     set approver_level = case
           when p_spec ? 'approver_level' then (p_spec ->> 'approver_level')::numeric::smallint
           else p.approver_level
         end,
         approval_roles = case
           when p_spec ? 'approval_roles' then
             array(select jsonb_array_elements_text(p_spec -> 'approval_roles'))
           else p.approval_roles
         end,
         -- A change adds the caller and the caller's makers; a confirmation replaces all makers by them.
         makers = array_remove(array(
           select m
             from unnest(
               case when p_spec ? 'confirm' then '{}' else p.makers end || tenure.makers_now(v_caller)) m
            group by m
            order by m), p.name)
   where p.principal_id = v_row.principal_id
  returning p.* into v_row;
  perform tenure.approvers_changed(v_now, array[p_name]);
  perform tenure.emit(v_now, v_home, 'principal.changed', v_caller.principal, null, p_name, p_spec);
  return jsonb_build_object(
    'name', p_name,
    'kind', v_row.kind,
    'approver_level', v_row.approver_level,
    'approval_roles', v_row.approval_roles,
    'makers', v_row.makers);
end
$$;
