-- Timeout policies: the limits of executions and steps by SLA class and action class.

-- The limits that hold for the tenant, for every pair of classes; origin: the tenant's own, or the default.
-- granted to: all
create or replace function tenure.timeout_policy_list()
returns table (
  sla_class text, action_class text, execution_timeout_ms integer, step_timeout_ms integer, lease_ms integer,
  renewals_max integer, origin text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  return query
    select p.sla_class, p.action_class, p.execution_timeout_ms, p.step_timeout_ms, p.lease_ms, p.renewals_max,
           case p.tenant_id when 0 then 'default' else 'tenant' end
      from (values ('fast', 1), ('medium', 2), ('long', 3)) s (class, place)
      cross join (values ('read', 1), ('modify', 2), ('deploy', 3)) a (class, place)
      cross join lateral tenure.timeout_policy(v_tenant, s.class, a.class) p
     order by s.place, a.place;
end
$$;

-- Sets the limits of an SLA class and an action class in this tenant. Fields that p_spec leaves out stay.
-- granted to: admin
create or replace function tenure.timeout_policy_set(p_sla_class text, p_action_class text, p_spec jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_field  text;
  v_value  jsonb;
  v_new    tenure.timeout_policies;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_word('value_unknown', 'SLA class', p_sla_class, array['fast', 'medium', 'long']);
  perform tenure.check_word('value_unknown', 'action class', p_action_class,
    array['read', 'modify', 'deploy']);
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.',
      'It names limits in milliseconds.',
      'Give an object such as {"step_timeout_ms": 60000, "lease_ms": 180000}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_spec) f loop
    perform tenure.check_word('value_unknown', 'field of a timeout policy', v_field,
      array['execution_timeout_ms', 'step_timeout_ms', 'lease_ms', 'renewals_max']);
    if jsonb_typeof(v_value) <> 'number'
       or v_value::numeric <> trunc(v_value::numeric)
       or abs(v_value::numeric) > 9e15 then
      perform tenure.refuse('number_out_of_range',
        format('%s is %s.', v_field, tenure.excerpt(v_value::text)),
        'It must be a whole number.',
        'Give a whole number.');
    end if;
    perform tenure.check_number(v_field, v_value::bigint,
      case v_field when 'renewals_max' then 0 else 1 end,
      case v_field
        when 'renewals_max' then tenure.limit_of('policy_renewals_max')
        when 'execution_timeout_ms' then 2147483000
        else tenure.limit_of('step_timeout_seconds_max') * 1000
      end);
  end loop;
  v_new := jsonb_populate_record(
    tenure.timeout_policy(v_caller.tenant_id, p_sla_class, p_action_class), p_spec);
  v_new.tenant_id := v_caller.tenant_id;
  if v_new.lease_ms < v_new.step_timeout_ms or v_new.execution_timeout_ms < v_new.step_timeout_ms then
    perform tenure.refuse('number_out_of_range',
      format('A step may take %s ms, its lease %s ms, the execution %s ms.', v_new.step_timeout_ms,
        v_new.lease_ms, v_new.execution_timeout_ms),
      'A lease, and the execution, last at least as long as a step may take.',
      'Lower step_timeout_ms, or raise the others.');
  end if;
  insert into tenure.timeout_policies
  select v_new.*
  on conflict (tenant_id, sla_class, action_class) do update
    set execution_timeout_ms = excluded.execution_timeout_ms,
        step_timeout_ms = excluded.step_timeout_ms,
        lease_ms = excluded.lease_ms,
        renewals_max = excluded.renewals_max;
  perform tenure.emit(tenure.now(), v_caller.tenant_id, 'execution.timeout_policy_set', v_caller.principal,
    null, p_sla_class || '_' || p_action_class, p_spec);
  return to_jsonb(v_new) - 'tenant_id';
end
$$;
