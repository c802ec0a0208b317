-- Freezing a plan: the checks that need this installation, and writing the execution with its steps.

-- The limits of an SLA class and an action class: the tenant's own, else the installation's.
create or replace function tenure.timeout_policy(p_tenant_id integer, p_sla_class text, p_action_class text)
returns tenure.timeout_policies
language plpgsql stable
as $$
declare
  v_policy tenure.timeout_policies;
begin
  select p.*
    into v_policy
    from tenure.timeout_policies p
   where p.tenant_id in (p_tenant_id, 0)
     and p.sla_class = p_sla_class
     and p.action_class = p_action_class
   order by p.tenant_id desc
   limit 1;
  return v_policy;
end
$$;

-- The kinds of jobs that a plan makes, each with its executor and, for refusals, the first step using it.
create or replace function tenure.plan_uses(p_plan jsonb)
returns table (kind text, executor text, place text)
language sql stable
as $$
  select s.kind, s.executor, format(' of steps[%s]', min(s.step_number) - 1)
    from tenure.plan_steps(p_plan) s
   group by s.kind, s.executor
$$;

-- Refuses a plan that cannot run here, whatever approval it gets: because of its targets, the content of its
-- jobs, or windows that are never open together. Writes nothing.
create or replace function tenure.check_plan_here(
  p_caller tenure.caller_identity, p_now timestamptz, p_plan jsonb, p_steps tenure.plan_step[],
  p_window jsonb) returns void
language plpgsql stable
as $$
declare
  v_job  tenure.new_job;
  v_step record;
begin
  if not isfinite(tenure.window_opens(p_window, p_now)) then
    perform tenure.refuse('range_invalid', 'Its windows are never open together.',
      'The rules give its steps, and those who ask for it, windows of which all must be open when it starts.',
      'Make two plans of it, let another ask for it, or have the rules changed.');
  end if;
  perform tenure.check_look_alikes(p_caller.tenant_id, p_plan);
  perform tenure.check_targets(p_caller.tenant_id, p_plan);
  v_job.correlation_id := p_plan ->> 'correlation_id';
  for v_step in select s.step_number, s.payload, s.attempts_max, s.target_ref, s.payload_ref
                  from unnest(p_steps) s loop
    v_job.payload := v_step.payload;
    v_job.attempts_max := v_step.attempts_max;
    v_job.target_ref := v_step.target_ref;
    v_job.payload_ref := v_step.payload_ref;
    perform tenure.check_job(format(' of steps[%s]', v_step.step_number - 1), p_now, v_job);
  end loop;
end
$$;

-- Refuses a plan whose kinds or executors are unknown here, or outside the kinds that its submitter is bound
-- to. Submitting does not need the right to enqueue: governed kinds exist for plans. The jobs of steps wait
-- in a lane of their own, created when they are dispatched, so that a claim of plain jobs need not ask which
-- of them are steps.
create or replace function tenure.plan_lanes(p_caller tenure.caller_identity, p_plan jsonb) returns void
language plpgsql
as $$
declare
  v_use record;
begin
  p_caller.scope := 'execution';
  for v_use in
    select u.kind, u.executor, u.place from tenure.plan_uses(p_plan) u order by u.kind, u.executor
  loop
    perform tenure.lane_ensure(p_caller, v_use.kind, v_use.executor, v_use.place);
  end loop;
end
$$;

-- Writes an execution with its frozen plan and its steps. Answers the execution that holds the key: the new
-- one, or the one that had it before.
create or replace function tenure.execution_freeze_plan(
  p_caller       tenure.caller_identity,
  p_now          timestamptz,
  p_text         text,
  p_plan         jsonb,
  p_hash         text,
  p_key          text,
  p_key_origin   text,
  p_start_after  timestamptz,
  p_start_before timestamptz,
  p_metadata     jsonb,
  p_on_behalf_of text,
  p_supersedes   uuid,
  p_retry_of     uuid) returns tenure.execution_rows
language plpgsql
as $$
declare
  v_id     uuid := tenure.new_id(p_now);
  v_terms  record;
  v_class  text;
  v_asking text[];
  v_row    tenure.execution_rows;
  v_steps  tenure.plan_step[];
begin
  perform tenure.case_rules_keep(p_caller.tenant_id);
  p_plan := tenure.plan_resolve(p_caller.tenant_id, p_plan);
  select array_agg(s order by s.step_number) into v_steps from tenure.plan_steps(p_plan) s;
  select s.action_class
    into v_class
    from unnest(v_steps) s
   order by tenure.class_reach(s.action_class) desc
   limit 1;
  v_asking := tenure.execution_requesters(p_caller.principal, p_on_behalf_of, p_retry_of);
  v_terms := tenure.plan_terms(p_caller.tenant_id, v_asking, p_plan);
  loop
    select e.*
      into v_row
      from tenure.execution_states s
      join tenure.execution_rows e on e.execution_id = s.execution_id
     where s.tenant_id = p_caller.tenant_id
       and s.held_key = p_key;
    exit when found;
    perform tenure.check_actions(p_plan);
    if v_terms.level >= 2 and not p_plan ? 'runbook_ref' then
      perform tenure.refuse('runbook_required',
        format('The plan needs an approval of level %s and names no runbook.', v_terms.level),
        format('The rule %s asks for it; whoever reviews the plan must see what to do when it goes wrong.',
          v_terms.rule),
        'Add runbook_ref to the plan.');
    end if;
    perform tenure.check_plan_here(p_caller, p_now, p_plan, v_steps, v_terms.start_window);
    if p_start_before <= tenure.window_opens(v_terms.start_window, greatest(p_now, p_start_after)) then
      perform tenure.refuse('range_invalid',
        format('It has to start before %s, and may not start before %s.',
          p_start_before, tenure.window_opens(v_terms.start_window, greatest(p_now, p_start_after))),
        'The rules give it a window that opens too late.',
        'Let it start later, or have the rules changed.');
    end if;
    perform tenure.plan_lanes(p_caller, p_plan);
    -- One statement: the rows refer to each other.
    with standing as (
      insert into tenure.execution_states (execution_id, tenant_id, created_at, step_count, sla_class, held_key,
        mode, steps_open, chain_hash, last_transition_at, last_transition_by)
      select v_id, p_caller.tenant_id, p_now, cardinality(v_steps), p_plan ->> 'sla_class', p_key,
             coalesce(p_plan ->> 'mode', 'background'), cardinality(v_steps),
             sha256(convert_to('tenure/execution/' || v_id, 'UTF8')), p_now, p_caller.principal
      on conflict (tenant_id, held_key) where held_key is not null do nothing
      returning execution_id, tenant_id
    ), made as (
      insert into tenure.executions (execution_id, tenant_id, purpose, plan_hash, idempotency_key, key_origin,
        sla_class, action_class, priority, on_step_failure, approval_level, rule, runbook_ref, correlation_id,
        generator, requested_by, on_behalf_of, requesters, via, start_after, start_before, start_window,
        plan_size_bytes, target_count, takes_locks, timeout_ms, metadata, supersedes, retry_of, created_at)
      select n.execution_id, n.tenant_id, p_plan ->> 'purpose', p_hash, p_key, p_key_origin,
             p_plan ->> 'sla_class', v_class, tenure.priority_of(coalesce(p_plan ->> 'priority', 'normal')),
             coalesce(p_plan ->> 'on_step_failure', 'stop'), v_terms.level, v_terms.rule,
             p_plan ->> 'runbook_ref', p_plan ->> 'correlation_id', p_plan ->> 'generator',
             p_caller.principal, nullif(p_on_behalf_of, ''), v_asking,
             case when p_caller.roles is not null then nullif(current_setting('tenure.via', true), '') end,
             p_start_after, p_start_before, v_terms.start_window, octet_length(p_text),
             (select count(distinct (s.target_type, s.target_ref)) from unnest(v_steps) s),
             exists (select from unnest(v_steps) s where s.lock_target is not null),
             tenure.plan_timeout_ms(p_caller.tenant_id, p_plan, v_class),
             p_metadata, p_supersedes, p_retry_of, p_now
        from standing n
    )
    insert into tenure.plans (execution_id, tenant_id, plan)
    select n.execution_id, n.tenant_id, p_text from standing n;
    -- Another session took the key first: the next turn of the loop finds its execution.
    continue when not found;
    select e.* into strict v_row from tenure.execution_rows e where e.execution_id = v_id;
    insert into tenure.steps (execution_id, step_number, tenant_id, step_id, action, action_class,
      target_type, target_ref, kind, executor, payload, payload_ref, effects, attempts_max, timeout_seconds,
      renewals_max, lease_seconds, priority, approval_level, rule, approval_roles, approval_quorum,
      approval_seconds, lock_target, lock_action, section, compensation_note, registration,
      level_min, payload_classification)
    -- A lease lasts as long as its policy says, and at least twice the recent 95th percentile of the steps of
    -- the kind. It is renewed at most renewals_max times; then the job is dead-lettered.
    with kinds as materialized (
      select u.kind, (
               select (2 * percentile_disc(0.95) within group (order by d.duration_ms) / 1000)::integer
                 -- The steps of the newest executions, whether or not they have ended.
                 from (select o.execution_id, o.step_number
                         from tenure.steps o
                        where o.tenant_id = p_caller.tenant_id
                          and o.kind = u.kind
                        order by o.execution_id desc
                        limit 200) r
                 join tenure.step_rows d on d.execution_id = r.execution_id and d.step_number = r.step_number
               ) as usual
        from (select distinct s.kind from unnest(v_steps) s) u
    )
    select v_id, s.step_number, p_caller.tenant_id, s.step_id, s.action, s.action_class,
           s.target_type, s.target_ref, s.kind, s.executor, s.payload, s.payload_ref, s.effects,
           s.attempts_max, coalesce(s.timeout_seconds, ceil(p.step_timeout_ms / 1000.0)::integer),
           p.renewals_max,
           least(
             greatest(tenure.step_lease_seconds(s.timeout_seconds, p), k.usual),
             tenure.limit_of('lease_seconds_max')),
           v_row.priority, r.level, r.rule,
           array(
             select distinct x
               from unnest(r.roles || array(
                      select jsonb_array_elements_text(coalesce(p_plan -> 'approval_roles', '[]')))) x
              order by x),
           r.quorum, r.expires_seconds, s.lock_target, s.lock_action, q.section, s.compensation_note,
           d.registration, d.level_min, d.classification
      from unnest(v_steps) s
      join tenure.plan_demands(p_plan) d on d.step_number = s.step_number
      join tenure.plan_rules(p_caller.tenant_id, v_asking, p_plan) r on r.step_number = s.step_number
      join kinds k on k.kind = s.kind
      left join tenure.plan_sections(p_plan) q on q.step_id = s.step_id
      cross join lateral tenure.timeout_policy(p_caller.tenant_id, v_row.sla_class, s.action_class) p;
    insert into tenure.step_states (execution_id, step_number, tenant_id, needs_left, attempts_max)
    select v_id, s.step_number, p_caller.tenant_id, cardinality(s.needs), s.attempts_max
      from unnest(v_steps) s;
    insert into tenure.step_needs (execution_id, needs_number, step_number, tenant_id)
    select v_id, o.step_number, s.step_number, p_caller.tenant_id
      from unnest(v_steps) s
      cross join lateral unnest(s.needs) n (id)
      join unnest(v_steps) o on o.step_id = n.id;
    insert into tenure.lock_targets (tenant_id, target)
    select distinct p_caller.tenant_id, s.lock_target
      from unnest(v_steps) s
     where s.lock_target is not null
     order by 2
    on conflict do nothing;
    perform tenure.chain_append(p_now, p_caller.principal, array[(
      v_id, 'execution_submitted', null,
      jsonb_strip_nulls(jsonb_build_object(
        'plan_hash', p_hash,
        'purpose', v_row.purpose,
        'steps', v_row.step_count,
        'approval_level', v_row.approval_level,
        'rule', v_row.rule,
        'on_behalf_of', v_row.on_behalf_of,
        'supersedes', p_supersedes,
        'retry_of', p_retry_of,
        'via', v_row.via,
        'registrations', tenure.plan_registrations(p_caller.tenant_id, p_plan)))
      || jsonb_build_object(
        'record', tenure.submission_record(v_row, p_plan, p_text)))::tenure.execution_told]);
    exit;
  end loop;
  return v_row;
end
$$;
