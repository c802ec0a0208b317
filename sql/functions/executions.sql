-- Executions: submitted, and what they are bound to. What becomes of them is in executions_run.sql.

-- Refuses an execution that is not there. Whoever asks for one that was archived is led to what is left of it: its evidence, and the plan to submit for who would retry it.
create or replace function tenure.refuse_execution(p_execution_id uuid) returns void
language plpgsql
as $$
declare
  v_archive record;
begin
  select a.tenant_id, a.state, a.archived_at into v_archive
    from tenure.execution_archives a where a.execution_id = p_execution_id and (a.tenant_id = tenure.current_tenant() or tenure.is_every_tenant());
  if not found then
    perform tenure.refuse('execution_unknown', format('There is no execution %s.', coalesce(p_execution_id::text, 'without an id')), 'It never was, or belongs to another tenant.', 'See tenure.execution_list().');
  end if;
  perform tenure.refuse('execution_unknown', format('Execution %s (%s) was archived at %s.', p_execution_id, v_archive.state, v_archive.archived_at),
    'Its rows are gone; its evidence stands, with its plan and its story.',
    format('Read it: tenure.execution_evidence(%L).', p_execution_id)
      || case when exists (select from tenure.execution_dead_letters d where d.execution_id = p_execution_id and d.tenant_id = v_archive.tenant_id)
         then format(' To run it again, submit the plan that its dead letter carries: %s.',
           format('tenure.execution_dead_letter_show(%L)', p_execution_id))
         else ' To run it again, submit its plan.' end);
end
$$;

-- The execution, held against whoever else would change it.
create or replace function tenure.execution_locked(p_tenant_id integer, p_execution_id uuid) returns tenure.executions
language plpgsql
as $$
declare
  v_found tenure.executions;
begin
  select e.* into v_found from tenure.executions e where e.execution_id = p_execution_id and e.tenant_id = p_tenant_id for no key update;
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  return v_found;
end
$$;

-- Refuses a transaction whose snapshot is older than the statement: it shows neither who waits nor what is free by now.
create or replace function tenure.check_isolation() returns void
language plpgsql
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform tenure.refuse('state_conflict', format('Executions and locks cannot be changed in a %s transaction.', current_setting('transaction_isolation')),
      'Its snapshot shows neither who waits nor what is free by now.', 'Do it in a read committed transaction, which is the default.');
  end if;
end
$$;

-- The limits of an SLA class and an action class: the tenant's own, else the installation's.
create or replace function tenure.timeout_policy(p_tenant_id integer, p_sla_class text, p_action_class text) returns tenure.timeout_policies
language plpgsql stable
as $$
declare
  v_policy tenure.timeout_policies;
begin
  select p.* into v_policy from tenure.timeout_policies p
   where p.tenant_id in (p_tenant_id, 0) and p.sla_class = p_sla_class and p.action_class = p_action_class
   order by p.tenant_id desc limit 1;
  return v_policy;
end
$$;

-- What the job of a step knows of it: written beside the payload, where no producer writes. The reference of
-- its target is the job's own (tenure.step_shown), so that the retention sweep empties it with the job. The
-- fence is that of a run (tenure.fence_of), and this is written once, for all runs.
create or replace function tenure.step_origin(
  p_execution_id uuid, p_number integer, p_step_id text, p_action text, p_action_class text,
  p_target_type text, p_plan_hash text) returns jsonb
language sql immutable
as $$
  select jsonb_build_object('step', jsonb_strip_nulls(jsonb_build_object('execution_id', p_execution_id,
    'step_id', p_step_id, 'step_number', p_number, 'action', p_action, 'action_class', p_action_class,
    'target_type', p_target_type, 'plan_hash', p_plan_hash)))
$$;

-- The step of a job as every surface shows it, with the fence of its run; null for a job that is none.
create or replace function tenure.step_shown(p_origin jsonb, p_target_ref text, p_fence bigint default null)
  returns jsonb
language sql immutable parallel safe
as $$
  select (p_origin -> 'step')
    || jsonb_strip_nulls(jsonb_build_object('target_ref', p_target_ref, 'fence', p_fence))
$$;

-- The kinds of jobs that a plan makes, each with its executor, and the first step that does, for a refusal.
create or replace function tenure.plan_uses(p_plan jsonb) returns table (kind text, executor text, place text)
language sql stable
as $$
  select s.kind, s.executor, format(' of steps[%s]', min(s.step_number) - 1) from tenure.plan_steps(p_plan) s group by s.kind, s.executor
$$;

-- Refuses a plan that cannot be run here, whatever the rules say about who allows it: its targets, what its jobs would carry, its windows. Writes nothing.
create or replace function tenure.check_plan_here(
  p_caller tenure.caller_identity, p_now timestamptz, p_plan jsonb, p_steps tenure.plan_step[],
  p_window jsonb) returns void
language plpgsql stable
as $$
begin
  if not isfinite(tenure.window_opens(p_window, p_now)) then
    perform tenure.refuse('range_invalid', 'Its windows are never open together.', 'The rules give its steps, and those who ask for it, windows of which all must be open when it starts.', 'Make two plans of it, let another ask for it, or have the rules changed.');
  end if;
  perform tenure.check_look_alikes(p_caller.tenant_id, p_plan);
  perform tenure.check_targets(p_caller.tenant_id, p_plan);
  perform tenure.check_job(format(' of steps[%s]', s.step_number - 1), p_now, coalesce(s.payload, '{}')::json,
    'step', 0, p_now, null, coalesce(s.attempts_max, 1),
    'safe_metadata', 'job', 'tenure', array[s.target_ref, s.payload_ref], array[p_plan ->> 'correlation_id'], null) from unnest(p_steps) s;
end
$$;

-- Refuses a plan whose kinds or executors are unknown here, or outside the kinds that its submitter is bound
-- to. The right to submit is no right to enqueue, and asks for none: governed kinds are just for plans. The
-- jobs of steps wait in lanes of their own, which are made when they are dispatched: a step needs a lease of
-- some length, and plain jobs of the kind keep theirs.
create or replace function tenure.plan_lanes(p_caller tenure.caller_identity, p_plan jsonb) returns void
language plpgsql
as $$
declare
  v_use record;
begin
  p_caller.scope := 'execution';
  for v_use in select u.kind, u.executor, u.place from tenure.plan_uses(p_plan) u order by u.kind, u.executor loop
    perform tenure.lane_ensure(p_caller, v_use.kind, v_use.executor, v_use.place);
  end loop;
end
$$;

-- The key of whoever gives none: the same plan of the same requester is one execution while it is under way.
create or replace function tenure.execution_key(p_tenant_id integer, p_principal text, p_plan_hash text) returns text
language sql immutable
as $$ select 'plan:' || tenure.text_hash(p_plan_hash || E'\n' || p_tenant_id || E'\n' || p_principal) $$;

-- What a submission answers.
create or replace function tenure.submission_shown(p_execution tenure.executions, p_duplicate boolean, p_unchanged boolean, p_difference jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_object('execution_id', p_execution.execution_id, 'state', p_execution.state, 'plan_hash', p_execution.plan_hash, 'duplicate', p_duplicate, 'unchanged', p_unchanged,
    'approval_level', p_execution.approval_level, 'rule', p_execution.rule,
    'approval_id', (select a.approval_id from tenure.approvals a where a.execution_id = p_execution.execution_id and a.step_number is null and a.state = 'pending'),
    'parked', p_execution.parked, 'start_after', p_execution.start_after, 'start_before', p_execution.start_before, 'difference', p_difference)
$$;

-- Submits a plan: freezes it, asks the rules who has to allow it, and starts it where nobody has to.
-- Its canonical text is what is stored and hashed. Same key and same plan: the same execution. p_supersedes: an execution of the same purpose that has not started and gives way to this one.
create or replace function tenure.execution_submit(
  p_plan text, p_key text default null, p_plan_hash text default null, p_supersedes uuid default null, p_start_after timestamptz default null, p_start_before timestamptz default null,
  p_metadata jsonb default '{}', p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_plan   jsonb;
  v_text   text;
  v_hash   text;
  v_key    text := p_key;
  v_old    tenure.executions;
  v_new    tenure.executions;
  v_difference jsonb;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_plan := tenure.plan_check(p_plan);
  v_text := tenure.plan_canonical(v_plan);
  v_hash := tenure.text_hash(v_text);
  if p_plan_hash is not null and p_plan_hash <> v_hash then
    perform tenure.refuse('plan_hash_mismatch', format('The plan has the hash %s, not %s.', v_hash, left(p_plan_hash, 100)),
      'The database computes it over the canonical text (RFC 8785) of what it was given; another plan was meant.',
      'Look at what was sent; submit it under its own hash.');
  end if;
  if p_key is null then
    v_key := tenure.execution_key(v_caller.tenant_id, v_caller.principal, v_hash);
  elsif tenure.is_blank(p_key) or length(p_key) > tenure.limit_of('key_chars_max') then
    perform tenure.refuse(case when tenure.is_blank(p_key) then 'name_blank' else 'name_invalid' end, 'The key is blank or too long.',
      format('It has 1 to %s characters (key_chars_max).', tenure.limit_of('key_chars_max')), 'Give another, or none.');
  end if;
  perform tenure.check_moment('start_after', p_start_after, v_now);
  perform tenure.check_moment('start_before', p_start_before, v_now);
  if p_start_before <= greatest(p_start_after, v_now) then
    perform tenure.refuse('range_invalid', format('It may start from %s to %s.', coalesce(p_start_after::text, 'now'), p_start_before), 'The window ends after it begins, and not in the past.', 'Give a later end.');
  end if;
  perform tenure.check_numbers('metadata', p_metadata);
  perform tenure.check_payload('metadata', coalesce(p_metadata, '{}')::json, tenure.limit_of('metadata_bytes_max'));

  if p_supersedes is not null then
    v_old := tenure.execution_locked(v_caller.tenant_id, p_supersedes);
    -- Said twice is said once, also by another who was waited for.
    select e.* into v_new from tenure.executions e
     where e.tenant_id = v_caller.tenant_id and e.idempotency_key = v_key and e.key_held and e.plan_hash = v_hash and e.supersedes = p_supersedes;
    if found then
      return tenure.submission_shown(v_new, true, false, null);
    end if;
    if v_old.plan_hash = v_hash and v_old.ended_at is null then
      return tenure.submission_shown(v_old, false, true, null);
    end if;
    perform tenure.check_supersedes(v_caller, v_old, v_plan);
    select e.* into v_new from tenure.executions e where e.tenant_id = v_caller.tenant_id and e.idempotency_key = v_key and e.key_held and e.execution_id <> p_supersedes;
    if found and v_new.plan_hash <> v_hash then
      perform tenure.refuse('plan_differs', format('The key names execution %s, whose plan has the hash %s; yours has %s.', v_new.execution_id, v_new.plan_hash, v_hash),
        'A key stands for one plan; nothing was cancelled.', 'Use another key, or look at that execution.');
    elsif found then
      perform tenure.refuse('key_taken', format('The key belongs to execution %s.', v_new.execution_id), 'What supersedes another is new; nothing was cancelled.', 'Use another key.');
    end if;
    -- Who may not read the old plan learns only that it was another.
    v_difference := case
      when tenure.is_plan_restricted(v_old.execution_id)
        and not tenure.may_read_plan(v_caller, v_old.execution_id) then null
      else tenure.plan_difference(
        (select p.plan_snapshot from tenure.plans p where p.execution_id = v_old.execution_id), v_plan)
    end;
    perform tenure.execution_call_off(v_now, v_caller.principal, v_old.execution_id, 'superseded', format('A new plan, %s, takes its place.', v_hash));
  end if;

  v_new := tenure.execution_freeze_plan(v_caller, v_now, v_text, v_plan, v_hash, v_key, case when p_key is null then 'derived' else 'given' end, p_start_after, p_start_before,
    coalesce(p_metadata, '{}'), p_on_behalf_of, p_supersedes, null);
  -- One that stands already has told of itself.
  if v_new.chain_length > 0 then
    if v_new.plan_hash <> v_hash then
      perform tenure.refuse('plan_differs', format('The key names execution %s, whose plan has the hash %s; yours has %s.', v_new.execution_id, v_new.plan_hash, v_hash),
        'A key stands for one plan until its execution failed, was cancelled or rejected.', 'Use another key, or look at that execution.');
    end if;
    return tenure.submission_shown(v_new, true, false, null);
  end if;
  if p_supersedes is not null then
    update tenure.executions e set superseded_by = v_new.execution_id where e.execution_id = p_supersedes;
  end if;
  v_new := tenure.execution_admit(v_now, v_caller.principal, v_new.execution_id);
  return tenure.submission_shown(v_new, false, false, v_difference);
end
$$;

-- Refuses to put a plan in the place of an execution that has started, or that is about something else.
create or replace function tenure.check_supersedes(p_caller tenure.caller_identity, p_old tenure.executions, p_plan jsonb) returns void
language plpgsql
as $$
begin
  if p_old.state not in ('pending', 'awaiting_approval', 'approved') then
    perform tenure.refuse('state_conflict', format('Execution %s is %s and cannot be superseded.', p_old.execution_id, p_old.state), 'That is possible until it starts.',
      case when p_old.ended_at is null then 'Cancel it, or wait for its end.' else 'Submit the plan without superseding anything.' end);
  end if;
  if p_old.purpose <> p_plan ->> 'purpose' then
    perform tenure.refuse('state_conflict', format('Execution %s is for %L, the new plan for %L.', p_old.execution_id, p_old.purpose, p_plan ->> 'purpose'),
      'A plan takes the place of one for the same purpose.', 'Submit it by itself, and withdraw the other.');
  end if;
  if p_old.requested_by <> p_caller.principal and not (tenure.acts_as('tenure_operator') or tenure.acts_as('tenure_admin') or tenure.is_trusted()) then
    perform tenure.refuse('not_permitted', format('Execution %s was requested by %s.', p_old.execution_id, p_old.requested_by), 'Who requested it, or an operator, puts another in its place.', 'Ask one of them.');
  end if;
end
$$;

-- Writes an execution with its frozen plan and its steps. Answers what has the key: the new one, or who was there before.
create or replace function tenure.execution_freeze_plan(
  p_caller tenure.caller_identity, p_now timestamptz, p_text text, p_plan jsonb, p_hash text, p_key text, p_key_origin text, p_start_after timestamptz, p_start_before timestamptz,
  p_metadata jsonb, p_on_behalf_of text, p_supersedes uuid, p_retry_of uuid) returns tenure.executions
language plpgsql
as $$
declare
  v_id     uuid := tenure.new_id(p_now);
  v_terms  record;
  v_class  text;
  v_asking text[];
  v_row    tenure.executions;
  v_steps  tenure.plan_step[];
begin
  perform tenure.case_rules_keep(p_caller.tenant_id);
  p_plan := tenure.plan_resolve(p_caller.tenant_id, p_plan);
  select array_agg(s order by s.step_number) into v_steps from tenure.plan_steps(p_plan) s;
  select s.action_class into v_class from unnest(v_steps) s order by tenure.class_reach(s.action_class) desc limit 1;
  v_asking := tenure.execution_requesters(p_caller.principal, p_on_behalf_of, p_retry_of);
  v_terms := tenure.plan_terms(p_caller.tenant_id, v_asking, p_plan);
  loop
    select e.* into v_row from tenure.executions e where e.tenant_id = p_caller.tenant_id and e.idempotency_key = p_key and e.key_held;
    exit when found;
    perform tenure.check_actions(p_plan);
    if v_terms.level >= 2 and not p_plan ? 'runbook_ref' then
      perform tenure.refuse('runbook_required', format('The plan needs an approval of level %s and names no runbook.', v_terms.level),
        format('The rule %s asks for it; whoever reviews the plan must see what to do when it goes wrong.', v_terms.rule), 'Add runbook_ref to the plan.');
    end if;
    perform tenure.check_plan_here(p_caller, p_now, p_plan, v_steps, v_terms.start_window);
    if p_start_before <= tenure.window_opens(v_terms.start_window, greatest(p_now, p_start_after)) then
      perform tenure.refuse('range_invalid', format('It has to start before %s, and may not start before %s.', p_start_before, tenure.window_opens(v_terms.start_window, greatest(p_now, p_start_after))),
        'The rules give it a window that opens too late.', 'Let it start later, or have the rules changed.');
    end if;
    perform tenure.plan_lanes(p_caller, p_plan);
    -- Together, or not at all: each refers to the other.
    with made as (
    insert into tenure.executions (execution_id, tenant_id, purpose, plan_hash, idempotency_key, key_origin, state, sla_class, action_class, mode, priority, on_step_failure, approval_level, rule,
      runbook_ref, correlation_id, generator, requested_by, on_behalf_of, requesters, via, start_after, start_before, start_window, plan_size_bytes, step_count, target_count, steps_open, takes_locks, timeout_ms,
      metadata, supersedes, retry_of, created_at, last_transition_at, last_transition_by, chain_hash)
    select v_id, p_caller.tenant_id, p_plan ->> 'purpose', p_hash, p_key, p_key_origin, 'pending', p_plan ->> 'sla_class', v_class, coalesce(p_plan ->> 'mode', 'background'),
           tenure.priority_of(coalesce(p_plan ->> 'priority', 'normal')), coalesce(p_plan ->> 'on_step_failure', 'stop'), v_terms.level, v_terms.rule, p_plan ->> 'runbook_ref', p_plan ->> 'correlation_id',
           p_plan ->> 'generator', p_caller.principal, nullif(p_on_behalf_of, ''), v_asking, case when p_caller.roles is not null then nullif(current_setting('tenure.via', true), '') end, p_start_after, p_start_before, v_terms.start_window,
           octet_length(p_text), cardinality(v_steps), (select count(distinct (s.target_type, s.target_ref)) from unnest(v_steps) s), cardinality(v_steps), exists (select from unnest(v_steps) s where s.lock_target is not null),
           tenure.plan_timeout_ms(p_caller.tenant_id, p_plan, v_class), p_metadata,
           p_supersedes, p_retry_of, p_now, p_now, p_caller.principal, sha256(convert_to('tenure/execution/' || v_id, 'UTF8'))
    on conflict (tenant_id, idempotency_key) where key_held do nothing
    returning *
    ), frozen as (
      insert into tenure.plans (execution_id, tenant_id, plan) select m.execution_id, m.tenant_id, p_text from made m
    )
    select m.* into v_row from made m;
    -- Somebody was quicker.
    continue when not found;
    insert into tenure.steps (execution_id, step_number, tenant_id, step_id, action, action_class, target_type, target_ref, kind, executor, payload, payload_ref, effects, attempts_max, timeout_seconds,
      renewals_max, lease_seconds, priority, approval_level, rule, approval_roles, approval_quorum, approval_seconds, lock_target, lock_action, section, compensation_note, needs_left,
      registration, level_min, payload_classification)
    -- A lease lasts as its policy says, and twice what nineteen of twenty steps of the kind took of late. It is
    -- renewed at most renewals_max times; then the job is dead-lettered.
    with kinds as materialized (
      select u.kind, (select (2 * percentile_disc(0.95) within group (order by d.duration_ms) / 1000)::integer
                        -- Of the last ones that were begun, whether or not they are over.
                        from (select o.duration_ms from tenure.steps o
                               where o.tenant_id = p_caller.tenant_id and o.kind = u.kind and o.queued_at is not null order by o.queued_at desc limit 200) d) as usual
        from (select distinct s.kind from unnest(v_steps) s) u
    )
    select v_id, s.step_number, p_caller.tenant_id, s.step_id, s.action, s.action_class, s.target_type, s.target_ref, s.kind, s.executor, s.payload, s.payload_ref, s.effects, s.attempts_max,
           coalesce(s.timeout_seconds, ceil(p.step_timeout_ms / 1000.0)::integer), p.renewals_max,
           least(greatest(tenure.step_lease_seconds(s.timeout_seconds, p), k.usual), tenure.limit_of('lease_seconds_max')),
           v_row.priority, r.level, r.rule,
           array(select distinct x from unnest(r.roles || array(select jsonb_array_elements_text(coalesce(p_plan -> 'approval_roles', '[]')))) x order by x), r.quorum, r.expires_seconds, s.lock_target, s.lock_action, q.section, s.compensation_note, cardinality(s.needs),
           d.registration, d.level_min, d.classification
      from unnest(v_steps) s
      join tenure.plan_demands(p_plan) d on d.step_number = s.step_number
      join tenure.plan_rules(p_caller.tenant_id, v_asking, p_plan) r on r.step_number = s.step_number
      join kinds k on k.kind = s.kind
      left join tenure.plan_sections(p_plan) q on q.step_id = s.step_id
      cross join lateral tenure.timeout_policy(p_caller.tenant_id, v_row.sla_class, s.action_class) p;
    insert into tenure.step_needs (execution_id, needs_number, step_number, tenant_id)
    select v_id, o.step_number, s.step_number, p_caller.tenant_id
      from unnest(v_steps) s cross join lateral unnest(s.needs) n (id) join unnest(v_steps) o on o.step_id = n.id;
    insert into tenure.lock_targets (tenant_id, target)
    select distinct p_caller.tenant_id, s.lock_target from unnest(v_steps) s where s.lock_target is not null order by 2
    on conflict do nothing;
    perform tenure.chain_append(p_now, p_caller.principal, array[(v_id, 'execution_submitted', null, jsonb_strip_nulls(jsonb_build_object('plan_hash', p_hash, 'purpose', v_row.purpose, 'steps',
      v_row.step_count, 'approval_level', v_row.approval_level, 'rule', v_row.rule, 'on_behalf_of', v_row.on_behalf_of, 'supersedes', p_supersedes, 'retry_of', p_retry_of, 'via', v_row.via,
      'registrations', tenure.plan_registrations(p_caller.tenant_id, p_plan)))
      || jsonb_build_object('record', tenure.submission_record(v_row, p_plan, p_text)))::tenure.execution_told]);
    exit;
  end loop;
  return v_row;
end
$$;

-- Asks for the approval that the rules want, or records that they want none, and goes on.
create or replace function tenure.execution_admit(p_now timestamptz, p_actor text, p_execution_id uuid) returns tenure.executions
language plpgsql
as $$
declare
  v_row   tenure.executions;
  v_terms record;
  v_plan  tenure.plans;
  v_resolved jsonb;
  v_asked tenure.approvals;
begin
  select e.* into strict v_row from tenure.executions e where e.execution_id = p_execution_id;
  select p.* into strict v_plan from tenure.plans p where p.execution_id = p_execution_id;
  -- Whoever asked for the same may have been waited for since the rules were read: none may fall between two of them.
  v_resolved := tenure.plan_resolve(v_row.tenant_id, v_plan.plan_snapshot);
  v_terms := tenure.plan_terms(v_row.tenant_id, v_row.requesters, v_resolved);
  if (v_terms.level, v_terms.rule, v_terms.start_window)
       is distinct from (v_row.approval_level::integer, v_row.rule, v_row.start_window)
     or not tenure.is_resolved_so(p_execution_id, v_resolved)
     or not tenure.is_ruled_so(p_execution_id, v_row.tenant_id, v_row.requesters, v_resolved) then
    perform tenure.refuse('busy_try_again', 'The rules of approval, or the registered actions, were changed just now.', 'The plan was looked at by the old ones; nothing was submitted.', 'Try again.');
  end if;
  perform tenure.check_actions(v_resolved);
  perform tenure.check_look_alikes(v_row.tenant_id, v_resolved);
  if v_row.approval_level = 0 then
    insert into tenure.approvals (approval_id, tenant_id, execution_id, plan_hash, plan_snapshot_hash, level, rule, auto_approved, state, created_at, decided_at, decided_by, reason)
    values (tenure.new_id(p_now), v_row.tenant_id, p_execution_id, v_plan.plan_hash, v_plan.plan_snapshot_hash, 0, v_row.rule, true, 'approved', p_now, p_now, 'policy', format('The rule %s asks for no approval.', v_row.rule))
    returning * into v_asked;
    perform tenure.execution_move(p_now, 'policy', p_execution_id, 'approved', null, null);
    perform tenure.chain_append(p_now, 'policy', array[
      (p_execution_id, 'approval_approved', null, jsonb_build_object('approval_id', v_asked.approval_id, 'level', 0, 'rule', v_row.rule, 'plan_hash', v_row.plan_hash,
        'auto_approved', true, 'reason', v_asked.reason))::tenure.execution_told,
      (p_execution_id, 'execution_approved', null, jsonb_build_object('from', 'pending', 'to', 'approved'))::tenure.execution_told]);
    perform tenure.executions_begin(p_now, p_actor, array[p_execution_id]);
  else
    v_asked := tenure.approval_request(p_now, v_row, v_plan, null, v_row.approval_level, v_terms.roles, v_terms.quorum, v_terms.expires_seconds, v_row.rule);
    perform tenure.execution_move(p_now, p_actor, p_execution_id, 'awaiting_approval', null, null);
    perform tenure.chain_append(p_now, p_actor, array[
      (p_execution_id, 'approval_requested', null, tenure.approval_asked(v_asked.approval_id, v_row) || jsonb_build_object('from', 'pending', 'to', 'awaiting_approval', 'level', v_row.approval_level, 'roles', v_terms.roles, 'quorum', v_terms.quorum,
        'rule', v_row.rule, 'plan_hash', v_row.plan_hash, 'created_at', v_asked.created_at, 'expires_at', v_asked.expires_at))::tenure.execution_told]);
    perform tenure.executions_schedule(p_now, array[p_execution_id]);
  end if;
  select e.* into strict v_row from tenure.executions e where e.execution_id = p_execution_id;
  return v_row;
end
$$;

-- One transition of an execution. What goes with an end is written with it: its key is free, or stays taken.
create or replace function tenure.execution_move(p_now timestamptz, p_actor text, p_execution_id uuid, p_state text, p_reason_code text, p_reason text) returns void
language plpgsql
as $$
begin
  update tenure.executions e
     set state = p_state, last_state = e.state, last_transition_at = p_now, last_transition_by = p_actor,
         approved_at = case p_state when 'approved' then p_now else e.approved_at end,
         ended_at = case when p_state in ('succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected') then greatest(p_now, e.started_at) end,
         cancelled_at = case p_state when 'cancelled' then greatest(p_now, e.started_at) end, cancelled_by = case p_state when 'cancelled' then p_actor end,
         reason_code = coalesce(p_reason_code, e.reason_code), reason = coalesce(p_reason, e.reason), parked = null,
         next_at = case when p_state in ('succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected') then null else e.next_at end,
         key_held = e.key_held and not (p_state in ('failed', 'cancelled', 'rejected') or (p_state = 'succeeded' and e.key_origin = 'derived'))
   where e.execution_id = p_execution_id;
end
$$;

-- What a plan would meet if the caller submitted it now, perhaps on behalf of somebody, and what it would be refused for. Writes nothing.
create or replace function tenure.execution_preview(p_plan text, p_on_behalf_of text default null) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_plan   jsonb;
  v_hash   text;
  v_timeout integer;
  v_terms  record;
  v_class  text;
  v_steps  tenure.plan_step[];
  v_asking text[] := tenure.execution_requesters(v_caller.principal, p_on_behalf_of, null);
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_plan := tenure.plan_check(p_plan);
  v_hash := tenure.text_hash(tenure.plan_canonical(v_plan));
  v_plan := tenure.plan_resolve(v_caller.tenant_id, v_plan);
  v_terms := tenure.plan_terms(v_caller.tenant_id, v_asking, v_plan);
  select array_agg(s order by s.step_number) into v_steps from tenure.plan_steps(v_plan) s;
  perform tenure.check_actions(v_plan);
  perform tenure.check_plan_here(v_caller, v_now, v_plan, v_steps, v_terms.start_window);
  -- As tenure.plan_lanes asks.
  v_caller.scope := 'execution';
  perform tenure.lane_check(v_caller, u.kind, u.executor, u.place)
     from (select u.kind, u.executor, u.place from tenure.plan_uses(v_plan) u order by u.kind, u.executor) u;
  select s.action_class into v_class from unnest(v_steps) s order by tenure.class_reach(s.action_class) desc limit 1;
  v_timeout := tenure.plan_timeout_ms(v_caller.tenant_id, v_plan, v_class);
  return jsonb_build_object('plan_hash', v_hash, 'approval_level', v_terms.level, 'rule', v_terms.rule, 'roles', v_terms.roles, 'quorum', v_terms.quorum,
    'expires_seconds', v_terms.expires_seconds, 'window', v_terms.start_window, 'opens_at', tenure.window_opens(v_terms.start_window, v_now),
    'frozen', (select f.reason from tenure.freezes f where f.tenant_id = v_caller.tenant_id and f.ended_at is null and (f.until is null or f.until > v_now)),
    'runbook_missing', v_terms.level >= 2 and not v_plan ? 'runbook_ref',
    'timeout_seconds', ceil(v_timeout / 1000.0)::integer,
    'warnings', to_jsonb(tenure.plan_warnings(v_caller.tenant_id, v_plan, v_steps, v_timeout)),
    'sections', (select coalesce(jsonb_agg(x.shown order by x.first), '[]')
                   from (select min(s.step_number) as first, jsonb_build_object('section', q.section,
                                  'target', min(s.lock_target), 'lock_key', 'lock:v1:' || v_caller.tenant_id || ':' || min(s.lock_target),
                                  'steps', jsonb_agg(s.step_id order by q.place)) as shown
                           from tenure.plan_sections(v_plan) q join unnest(v_steps) s on s.step_id = q.step_id
                          group by q.section) x),
    'steps', (select jsonb_agg(jsonb_build_object('step_id', s.step_id, 'action', s.action, 'action_class', s.action_class,
                'registration', d.registration, 'level_min', d.level_min, 'lock_scope', s.lock_scope,
                'payload_classification', d.classification, 'rule', r.rule, 'level', r.level, 'effects', s.effects, 'attempts_max', s.attempts_max,
                'timeout_seconds', coalesce(s.timeout_seconds, ceil(p.step_timeout_ms / 1000.0)::integer),
                'lock_key', 'lock:v1:' || v_caller.tenant_id || ':' || s.lock_target || case when s.lock_action = '' then '' else ':' || s.lock_action end,
                'held_by', (select l.owner from tenure.locks l where l.tenant_id = v_caller.tenant_id and l.target = s.lock_target and (l.action in ('', s.lock_action) or s.lock_action = '') limit 1)) order by s.step_number)
                from tenure.plan_steps(v_plan) s
                join tenure.plan_rules(v_caller.tenant_id, v_asking, v_plan) r on r.step_number = s.step_number
                join tenure.plan_demands(v_plan) d on d.step_number = s.step_number
                cross join lateral tenure.timeout_policy(v_caller.tenant_id, v_plan ->> 'sla_class', s.action_class) p));
end
$$;
