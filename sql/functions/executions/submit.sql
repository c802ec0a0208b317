-- Submitting a plan. supersede.sql replaces an execution that has not started.

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
