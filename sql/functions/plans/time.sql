-- How long a plan may take, and whether its steps fit in that.

-- The timeout of an execution: that of the plan, else that of its timeout policy. Refuses a plan with a
-- longer one than the tenant allows (executions.timeout_seconds_max).
create or replace function tenure.plan_timeout_ms(p_tenant_id integer, p_plan jsonb, p_action_class text)
returns integer
language plpgsql stable
as $$
declare
  v_own integer := (p_plan ->> 'timeout_seconds')::numeric::integer;
  v_max integer := tenure.setting_integer(p_tenant_id, 'executions.timeout_seconds_max');
begin
  if v_own > v_max then
    perform tenure.refuse('number_out_of_range', format('timeout_seconds is %s.', v_own),
      format('This tenant allows at most %s (executions.timeout_seconds_max).', v_max),
      'Give a shorter timeout, make several plans of it, or ask an admin.');
  end if;
  return coalesce(v_own * 1000,
    (tenure.timeout_policy(p_tenant_id, p_plan ->> 'sla_class', p_action_class)).execution_timeout_ms);
end
$$;

-- The lease of a step in seconds, before it is renewed. It comes from the timeout policy; a step with a
-- longer timeout has its lease renewed.
create or replace function tenure.step_lease_seconds(p_own_timeout integer, p_policy tenure.timeout_policies)
returns integer
language sql immutable parallel safe
as $$
  select least(
    case
      when p_own_timeout is null then greatest(p_policy.lease_ms / 1000, p_policy.step_timeout_ms / 1000 + 10)
      else least(p_own_timeout + 10, greatest(p_policy.lease_ms / 1000, 1))
    end,
    tenure.limit_of('lease_seconds_max'))::integer
$$;

-- The longest chain of needs: the seconds it takes if each of its steps uses its whole timeout once, and
-- the ids of its steps. The plan must have passed tenure.plan_check: a cycle would not end.
create or replace function tenure.plan_longest(
  p_steps tenure.plan_step[], p_seconds integer[], out seconds bigint, out path text[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_took  bigint[] := array_fill(null::bigint, array[cardinality(p_steps)]);
  v_after integer[] := array_fill(null::integer, array[cardinality(p_steps)]);
  v_stack integer[];
  v_at    integer;
  v_need  integer;
  v_open  boolean;
  v_place jsonb;
begin
  select jsonb_object_agg((p_steps[i]).step_id, i) into v_place from generate_subscripts(p_steps, 1) i;
  for v_first in 1 .. cardinality(p_steps) loop
    v_stack := array[v_first];
    while cardinality(v_stack) > 0 loop
      v_at := v_stack[cardinality(v_stack)];
      v_open := false;
      if v_took[v_at] is null then
        for v_need in select (v_place ->> n)::integer from unnest((p_steps[v_at]).needs) n loop
          if v_took[v_need] is null then
            v_stack := v_stack || v_need;
            v_open := true;
            exit;
          end if;
        end loop;
        continue when v_open;
        v_took[v_at] := p_seconds[v_at];
        for v_need in select (v_place ->> n)::integer from unnest((p_steps[v_at]).needs) n loop
          if v_took[v_need] + p_seconds[v_at] > v_took[v_at] then
            v_took[v_at] := v_took[v_need] + p_seconds[v_at];
            v_after[v_at] := v_need;
          end if;
        end loop;
      end if;
      v_stack := v_stack[:cardinality(v_stack) - 1];
    end loop;
  end loop;
  select t.took, t.n into seconds, v_at
    from unnest(v_took) with ordinality t (took, n)
   order by t.took desc, t.n
   limit 1;
  path := '{}';
  while v_at is not null loop
    path := array[(p_steps[v_at]).step_id] || path;
    v_at := v_after[v_at];
  end loop;
end
$$;

-- Warnings for the submitter about the time that a plan may take. A plan with warnings is not refused.
create or replace function tenure.plan_warnings(
  p_tenant_id integer, p_plan jsonb, p_steps tenure.plan_step[], p_timeout_ms integer)
returns text[]
language plpgsql stable
as $$
declare
  v_seconds integer[];
  v_holds   bigint[];
  v_longest record;
  v_words   text[] := '{}';
begin
  select array_agg(coalesce(s.timeout_seconds, ceil(p.step_timeout_ms / 1000.0)::integer)
                   order by s.step_number),
         array_agg(tenure.step_lease_seconds(s.timeout_seconds, p) * (1 + p.renewals_max)::bigint
                   order by s.step_number)
    into v_seconds, v_holds
    from unnest(p_steps) s
    cross join lateral tenure.timeout_policy(p_tenant_id, p_plan ->> 'sla_class', s.action_class) p;
  v_longest := tenure.plan_longest(p_steps, v_seconds);
  if v_longest.seconds * 1000 > p_timeout_ms then
    v_words := v_words || format('Its steps do not fit: %s may take %s seconds, the execution %s.',
      case
        when cardinality(v_longest.path) > 5
          then array_to_string(
            v_longest.path[:2] || '…'::text || v_longest.path[cardinality(v_longest.path) - 1:], ' → ')
        else array_to_string(v_longest.path, ' → ')
      end,
      v_longest.seconds, ceil(p_timeout_ms / 1000.0)::integer);
  end if;
  return v_words || array(
    select format(
             'Step %s has %s seconds, but its lease and its renewals end after %s: then it is dead-lettered.',
             (p_steps[i]).step_id, v_seconds[i], v_holds[i])
      from generate_subscripts(p_steps, 1) i
     where v_seconds[i] > v_holds[i]
     order by i
     limit 10);
end
$$;

-- Refuses a moment that is infinite, or so far away that times computed from it would not be valid.
create or replace function tenure.check_moment(p_what text, p_at timestamptz, p_now timestamptz) returns void
language plpgsql
as $$
begin
  if not isfinite(p_at) or abs(extract(epoch from p_at - p_now))
       > tenure.limit_of('moment_years_max') * 366 * 86400 then
    perform tenure.refuse('range_invalid', format('%s is %s.', p_what, p_at),
      format('It must be within %s years of now (moment_years_max).', tenure.limit_of('moment_years_max')),
      'Give an earlier moment, or none.');
  end if;
end
$$;
