-- Submitting a plan, also in place of an execution that has not started.

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
  p_execution tenure.execution_rows, p_duplicate boolean, p_unchanged boolean, p_difference jsonb) returns jsonb
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

-- Submits a plan: freezes it, requests the approval that the rules demand, and starts it when they demand
-- none. The canonical text is stored and hashed. The same key with the same plan answers the same execution;
-- with another plan it is refused with plan_differs. p_supersedes: an execution of the same purpose that has
-- not started and that this one replaces.
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
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_plan   jsonb;
  v_text   text;
  v_hash   text;
  v_key    text := p_key;
  v_old    tenure.execution_rows;
  v_new    tenure.execution_rows;
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
    perform tenure.refuse('plan_hash_mismatch',
      format('The plan has the hash %s, not %s.', v_hash, left(p_plan_hash, 100)),
      'The database computes it over the canonical text (RFC 8785) of what it was given; another plan was '
        'meant.',
      'Look at what was sent; submit it under its own hash.');
  end if;
  if p_key is null then
    v_key := tenure.execution_key(v_caller.tenant_id, v_caller.principal, v_hash);
  elsif tenure.is_blank(p_key) or length(p_key) > tenure.limit_of('key_chars_max') then
    perform tenure.refuse(case when tenure.is_blank(p_key) then 'name_blank' else 'name_invalid' end,
      'The key is blank or too long.',
      format('It has 1 to %s characters (key_chars_max).', tenure.limit_of('key_chars_max')),
      'Give another, or none.');
  end if;
  perform tenure.check_moment('start_after', p_start_after, v_now);
  perform tenure.check_moment('start_before', p_start_before, v_now);
  if p_start_before <= greatest(p_start_after, v_now) then
    perform tenure.refuse('range_invalid',
      format('It may start from %s to %s.', coalesce(p_start_after::text, 'now'), p_start_before),
      'The window ends after it begins, and not in the past.',
      'Give a later end.');
  end if;
  perform tenure.check_json_numbers('metadata', p_metadata);
  perform tenure.check_payload('metadata', coalesce(p_metadata, '{}')::json,
    tenure.limit_of('metadata_bytes_max'));

  if p_supersedes is not null then
    v_old := tenure.execution_locked(v_caller.tenant_id, p_supersedes);
    -- Looked up after the lock: the same submission by another session counts as this one.
    select e.*
      into v_new
      from tenure.execution_rows e
      join tenure.execution_states s on s.execution_id = e.execution_id
     where s.tenant_id = v_caller.tenant_id
       and s.held_key = v_key
       and e.plan_hash = v_hash
       and e.supersedes = p_supersedes;
    if found then
      return tenure.submission_shown(v_new, true, false, null);
    end if;
    if v_old.plan_hash = v_hash and v_old.ended_at is null then
      return tenure.submission_shown(v_old, false, true, null);
    end if;
    perform tenure.check_supersedes(v_caller, v_old, v_plan);
    select e.*
      into v_new
      from tenure.execution_rows e
      join tenure.execution_states s on s.execution_id = e.execution_id
     where s.tenant_id = v_caller.tenant_id
       and s.held_key = v_key
       and e.execution_id <> p_supersedes;
    if found and v_new.plan_hash <> v_hash then
      perform tenure.refuse('plan_differs',
        format('The key names execution %s, whose plan has the hash %s; yours has %s.',
          v_new.execution_id, v_new.plan_hash, v_hash),
        'A key stands for one plan; nothing was cancelled.',
        'Use another key, or look at that execution.');
    elsif found then
      perform tenure.refuse('key_taken', format('The key belongs to execution %s.', v_new.execution_id),
        'What supersedes another is new; nothing was cancelled.',
        'Use another key.');
    end if;
    -- A caller who may not read the old plan learns only that it was a different one.
    v_difference := case
      when tenure.is_plan_restricted(v_old.execution_id)
        and not tenure.may_read_plan(v_caller, v_old.execution_id) then null
      else tenure.plan_difference(
        (select p.plan_snapshot from tenure.plans p where p.execution_id = v_old.execution_id), v_plan)
    end;
    perform tenure.execution_call_off(v_now, v_caller.principal, v_old.execution_id, 'superseded',
      format('A new plan, %s, takes its place.', v_hash));
  end if;

  v_new := tenure.execution_freeze_plan(v_caller, v_now, v_text, v_plan, v_hash, v_key,
    case when p_key is null then 'derived' else 'given' end,
    p_start_after, p_start_before, coalesce(p_metadata, '{}'), p_on_behalf_of, p_supersedes, null);
  -- One that existed before has entries in its chain.
  if v_new.chain_length > 0 then
    if v_new.plan_hash <> v_hash then
      perform tenure.refuse('plan_differs',
        format('The key names execution %s, whose plan has the hash %s; yours has %s.',
          v_new.execution_id, v_new.plan_hash, v_hash),
        'A key stands for one plan until its execution failed, was cancelled or rejected.',
        'Use another key, or look at that execution.');
    end if;
    return tenure.submission_shown(v_new, true, false, null);
  end if;
  if p_supersedes is not null then
    update tenure.execution_states e set superseded_by = v_new.execution_id where e.execution_id = p_supersedes;
  end if;
  v_new := tenure.execution_admit(v_now, v_caller.principal, v_new.execution_id);
  return tenure.submission_shown(v_new, false, false, v_difference);
end
$$;

-- Refuses to replace an execution that has started, that has another purpose, or that belongs to another
-- requester when the caller is not an operator.
create or replace function tenure.check_supersedes(
  p_caller tenure.caller_identity, p_old tenure.execution_rows, p_plan jsonb) returns void
language plpgsql
as $$
begin
  if p_old.state not in ('pending', 'awaiting_approval', 'approved') then
    perform tenure.refuse('state_conflict',
      format('Execution %s is %s and cannot be superseded.', p_old.execution_id, p_old.state),
      'That is possible until it starts.',
      case
        when p_old.ended_at is null then 'Cancel it, or wait for its end.'
        else 'Submit the plan without superseding anything.'
      end);
  end if;
  if p_old.purpose <> p_plan ->> 'purpose' then
    perform tenure.refuse('state_conflict',
      format('Execution %s is for %L, the new plan for %L.',
        p_old.execution_id, p_old.purpose, p_plan ->> 'purpose'),
      'A plan takes the place of one for the same purpose.',
      'Submit it by itself, and withdraw the other.');
  end if;
  if p_old.requested_by <> p_caller.principal
     and not (tenure.acts_as('tenure_operator') or tenure.acts_as('tenure_admin') or tenure.is_trusted()) then
    perform tenure.refuse('not_permitted',
      format('Execution %s was requested by %s.', p_old.execution_id, p_old.requested_by),
      'Who requested it, or an operator, puts another in its place.',
      'Ask one of them.');
  end if;
end
$$;
