-- Submitting a plan: what is valid by itself, what the rules say about it, the checks that need this
-- installation, and writing the execution. steps/write.sql writes its steps; supersede.sql replaces an
-- execution that has not started.

-- Submits a plan: freezes it, requests the approval that the rules demand, and starts it when they demand
-- none. The canonical text is stored and hashed. The same key with the same plan answers the same execution;
-- with another plan it is refused with plan_differs. p_supersedes: an execution of the same purpose that has
-- not started and that this one replaces.
-- granted to: admin, operator, requester
create or replace function tenure.execution_submit(
  p_plan         text,
  p_key          text default null,
  p_plan_hash    text default null,
  p_supersedes   uuid default null,
  p_start_after  timestamptz default null,
  p_start_before timestamptz default null,
  p_metadata     jsonb default '{}',
  p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller     tenure.caller_identity := tenure.caller();
  v_now        timestamptz := tenure.now();
  v_submission tenure.submission;
  v_replaced   record;
  v_difference jsonb;
  v_new        tenure.execution_rows;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_submission.plan_text := p_plan;
  v_submission.plan_hash := p_plan_hash;
  v_submission.key := p_key;
  v_submission.start_after := p_start_after;
  v_submission.start_before := p_start_before;
  v_submission.metadata := p_metadata;
  v_submission.on_behalf_of := nullif(p_on_behalf_of, '');
  v_submission.supersedes := p_supersedes;
  v_submission := tenure.submission_check(v_caller, v_now, v_submission);
  if p_supersedes is not null then
    v_replaced := tenure.execution_supersede(v_caller, v_now, v_submission);
    if v_replaced.answer is not null then
      return v_replaced.answer;
    end if;
    v_difference := v_replaced.difference;
  end if;

  v_new := tenure.execution_freeze_plan(v_caller, v_now, v_submission);
  -- One that existed before has entries in its chain.
  if v_new.chain_length > 0 then
    if v_new.plan_hash <> v_submission.plan_hash then
      perform tenure.refuse('plan_differs',
        format('The key names execution %s, whose plan has the hash %s; yours has %s.',
          v_new.execution_id, v_new.plan_hash, v_submission.plan_hash),
        'A key stands for one plan until its execution failed, was cancelled or rejected.',
        'Use another key, or look at that execution.');
    end if;
    return tenure.submission_shown(v_new, true, false, null);
  end if;
  if p_supersedes is not null then
    update tenure.execution_states e
       set superseded_by = v_new.execution_id
     where e.execution_id = p_supersedes;
  end if;
  v_new := tenure.execution_admit(v_now, v_caller.principal, v_new.execution_id);
  return tenure.submission_shown(v_new, false, false, v_difference);
end
$$;

-- Refuses a submission that is invalid by itself, and returns it complete: with the parsed plan, its
-- canonical text and hash, and a key.
create or replace function tenure.submission_check(
  p_caller tenure.caller_identity, p_now timestamptz, p_submission tenure.submission)
returns tenure.submission
language plpgsql
as $$
declare
  v_hash text;
begin
  p_submission.plan := tenure.plan_check(p_submission.plan_text);
  p_submission.plan_text := tenure.plan_canonical(p_submission.plan);
  v_hash := tenure.text_hash(p_submission.plan_text);
  if p_submission.plan_hash <> v_hash then
    perform tenure.refuse('plan_hash_mismatch',
      format('The plan has the hash %s, not %s.', v_hash, left(p_submission.plan_hash, 100)),
      'The database computes it over the canonical text (RFC 8785) of what it was given; another plan was '
        'meant.',
      'Look at what was sent; submit it under its own hash.');
  end if;
  p_submission.plan_hash := v_hash;
  p_submission.key_origin := case when p_submission.key is null then 'derived' else 'given' end;
  if p_submission.key is null then
    p_submission.key := tenure.execution_key(p_caller.tenant_id, p_caller.principal, v_hash);
  elsif tenure.is_blank(p_submission.key) or length(p_submission.key) > tenure.limit_of('key_chars_max') then
    perform tenure.refuse(
      case when tenure.is_blank(p_submission.key) then 'name_blank' else 'name_invalid' end,
      'The key is blank or too long.',
      format('It has 1 to %s characters (key_chars_max).', tenure.limit_of('key_chars_max')),
      'Give another, or none.');
  end if;
  perform tenure.check_moment('start_after', p_submission.start_after, p_now);
  perform tenure.check_moment('start_before', p_submission.start_before, p_now);
  if p_submission.start_before <= greatest(p_submission.start_after, p_now) then
    perform tenure.refuse('range_invalid',
      format('It may start from %s to %s.',
        coalesce(p_submission.start_after::text, 'now'), p_submission.start_before),
      'The window ends after it begins, and not in the past.',
      'Give a later end.');
  end if;
  perform tenure.check_json_numbers('metadata', p_submission.metadata);
  p_submission.metadata := coalesce(p_submission.metadata, '{}');
  perform tenure.check_payload('metadata', p_submission.metadata::json,
    tenure.limit_of('metadata_bytes_max'));
  return p_submission;
end
$$;

-- The key of a submission that gives none: the same plan of the same requester is one execution while it is
-- under way.
create or replace function tenure.execution_key(p_tenant_id integer, p_principal text, p_plan_hash text)
returns text
language sql immutable
as $$
  select 'plan:' || tenure.text_hash(p_plan_hash || E'\n' || p_tenant_id || E'\n' || p_principal)
$$;

-- The answer to a submission.
create or replace function tenure.submission_shown(
  p_execution tenure.execution_rows, p_duplicate boolean, p_unchanged boolean, p_difference jsonb)
returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'execution_id', p_execution.execution_id,
    'state', p_execution.state,
    'plan_hash', p_execution.plan_hash,
    'duplicate', p_duplicate,
    'unchanged', p_unchanged,
    'approval_level', p_execution.approval_level,
    'rule', p_execution.rule,
    'approval_id', (
      select a.approval_id
        from tenure.approvals a
       where a.execution_id = p_execution.execution_id
         and a.step_number is null
         and a.state = 'pending'),
    'parked', p_execution.parked,
    'start_after', p_execution.start_after,
    'start_before', p_execution.start_before,
    'difference', p_difference)
$$;

-- Writes an execution with its frozen plan and its steps. Answers the execution that holds the key: the new
-- one, or the one that had it before.
create or replace function tenure.execution_freeze_plan(
  p_caller tenure.caller_identity, p_now timestamptz, p_submission tenure.submission)
returns tenure.execution_rows
language plpgsql
as $$
declare
  v_new tenure.new_execution;
  v_row tenure.execution_rows;
begin
  perform tenure.case_rules_keep(p_caller.tenant_id);
  v_new := tenure.submission_judge(p_caller, p_now, p_submission);
  loop
    select e.*
      into v_row
      from tenure.execution_states s
      join tenure.execution_rows e on e.execution_id = s.execution_id
     where s.tenant_id = p_caller.tenant_id
       and s.held_key = p_submission.key;
    if found then
      return v_row;
    end if;
    perform tenure.check_new_execution(p_caller, p_now, p_submission, v_new);
    perform tenure.plan_lanes(p_caller, v_new.plan);
    -- If another session took the key first, the next turn of the loop finds its execution.
    exit when tenure.execution_write(p_caller, p_now, p_submission, v_new);
  end loop;
  perform tenure.steps_write(p_caller.tenant_id, v_new);
  select e.* into strict v_row from tenure.execution_rows e where e.execution_id = v_new.execution_id;
  perform tenure.chain_append(p_now, p_caller.principal, array[(
    v_new.execution_id, 'execution_submitted', null,
    jsonb_strip_nulls(jsonb_build_object(
      'plan_hash', v_row.plan_hash,
      'purpose', v_row.purpose,
      'steps', v_row.step_count,
      'approval_level', v_row.approval_level,
      'rule', v_row.rule,
      'on_behalf_of', v_row.on_behalf_of,
      'supersedes', v_row.supersedes,
      'retry_of', v_row.retry_of,
      'via', v_row.via,
      'registrations', tenure.plan_registrations(p_caller.tenant_id, v_new.plan)))
    || jsonb_build_object(
      'record', tenure.submission_record(v_row, v_new.plan, p_submission.plan_text))
    )::tenure.chain_entry]);
  return v_row;
end
$$;

-- What the registered actions and the rules make of a submission. Writes nothing.
create or replace function tenure.submission_judge(
  p_caller tenure.caller_identity, p_now timestamptz, p_submission tenure.submission)
returns tenure.new_execution
language plpgsql
as $$
declare
  v_new   tenure.new_execution;
  v_terms record;
begin
  v_new.execution_id := tenure.new_id(p_now);
  v_new.plan := tenure.plan_resolve(p_caller.tenant_id, p_submission.plan);
  v_new.priority := tenure.priority_of(coalesce(v_new.plan ->> 'priority', 'normal'));
  v_new.steps := array(select s from tenure.plan_steps(v_new.plan) s order by s.step_number);
  v_new.action_class := (
    select s.action_class
      from unnest(v_new.steps) s
     order by tenure.class_reach(s.action_class) desc
     limit 1);
  v_new.requesters := tenure.execution_requesters(
    p_caller.principal, p_submission.on_behalf_of, p_submission.retry_of);
  v_terms := tenure.plan_terms(p_caller.tenant_id, v_new.requesters, v_new.plan);
  v_new.level := v_terms.level;
  v_new.rule := v_terms.rule;
  v_new.start_window := v_terms.start_window;
  return v_new;
end
$$;

-- Refuses an execution that could not run here: because of its actions, a missing runbook, its targets and
-- jobs, or a window that opens too late.
create or replace function tenure.check_new_execution(
  p_caller tenure.caller_identity, p_now timestamptz, p_submission tenure.submission,
  p_new tenure.new_execution) returns void
language plpgsql
as $$
declare
  v_opens timestamptz;
begin
  perform tenure.check_actions(p_new.plan);
  if p_new.level >= 2 and not p_new.plan ? 'runbook_ref' then
    perform tenure.refuse('runbook_required',
      format('The plan needs an approval of level %s and names no runbook.', p_new.level),
      format('The rule %s asks for it; a reviewer of the plan must see what to do when it goes wrong.',
        p_new.rule),
      'Add runbook_ref to the plan.');
  end if;
  perform tenure.check_plan_here(p_caller, p_now, p_new.plan, p_new.steps, p_new.start_window);
  v_opens := tenure.window_opens(p_new.start_window, greatest(p_now, p_submission.start_after));
  if p_submission.start_before <= v_opens then
    perform tenure.refuse('range_invalid',
      format('It has to start before %s, and may not start before %s.', p_submission.start_before, v_opens),
      'The rules give it a window that opens too late.',
      'Let it start later, or have the rules changed.');
  end if;
end
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

-- The kinds of jobs that a plan makes, each with its executor and, for refusals, the first step using it.
create or replace function tenure.plan_uses(p_plan jsonb)
returns table (kind text, executor text, place text)
language sql stable
as $$
  select s.kind, s.executor, format(' of steps[%s]', min(s.step_number) - 1)
    from tenure.plan_steps(p_plan) s
   group by s.kind, s.executor
$$;

-- Writes an execution and its plan. Returns false, and writes nothing, when another execution has the key.
create or replace function tenure.execution_write(
  p_caller tenure.caller_identity, p_now timestamptz, p_submission tenure.submission,
  p_new tenure.new_execution) returns boolean
language plpgsql
as $$
begin
  -- One statement: the rows refer to each other.
  with standing as (
    insert into tenure.execution_states (execution_id, tenant_id, created_at, step_count, sla_class, held_key,
      mode, steps_open, chain_hash, last_transition_at, last_transition_by)
    select p_new.execution_id, p_caller.tenant_id, p_now, cardinality(p_new.steps),
           p_new.plan ->> 'sla_class', p_submission.key, coalesce(p_new.plan ->> 'mode', 'background'),
           cardinality(p_new.steps),
           sha256(convert_to('tenure/execution/' || p_new.execution_id, 'UTF8')), p_now, p_caller.principal
    on conflict (tenant_id, held_key) where held_key is not null do nothing
    returning execution_id, tenant_id
  ), made as (
    insert into tenure.executions (execution_id, tenant_id, purpose, plan_hash, idempotency_key, key_origin,
      sla_class, action_class, priority, on_step_failure, approval_level, rule, runbook_ref, correlation_id,
      generator, requested_by, on_behalf_of, requesters, via, start_after, start_before, start_window,
      plan_size_bytes, target_count, takes_locks, timeout_ms, metadata, supersedes, retry_of, created_at)
    select n.execution_id, n.tenant_id, p_new.plan ->> 'purpose', p_submission.plan_hash, p_submission.key,
           p_submission.key_origin, p_new.plan ->> 'sla_class', p_new.action_class, p_new.priority,
           coalesce(p_new.plan ->> 'on_step_failure', 'stop'), p_new.level, p_new.rule,
           p_new.plan ->> 'runbook_ref', p_new.plan ->> 'correlation_id', p_new.plan ->> 'generator',
           p_caller.principal, p_submission.on_behalf_of, p_new.requesters,
           case when p_caller.roles is not null then nullif(current_setting('tenure.via', true), '') end,
           p_submission.start_after, p_submission.start_before, p_new.start_window,
           octet_length(p_submission.plan_text),
           (select count(distinct (s.target_type, s.target_ref)) from unnest(p_new.steps) s),
           exists (select from unnest(p_new.steps) s where s.lock_target is not null),
           tenure.plan_timeout_ms(p_caller.tenant_id, p_new.plan, p_new.action_class),
           p_submission.metadata, p_submission.supersedes, p_submission.retry_of, p_now
      from standing n
  )
  insert into tenure.plans (execution_id, tenant_id, plan)
  select n.execution_id, n.tenant_id, p_submission.plan_text from standing n;
  return found;
end
$$;
