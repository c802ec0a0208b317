-- A decision about a plan or a step: who votes, whether the approval is still open, the vote, and what
-- follows from the decision or from its expiry. check.sql has the rules of four eyes.

-- Decides about a plan, or a step of one. The decision names the hash of the plan that the approver saw; it
-- counts for no other plan. Refuses when the caller may not decide, or the approval is not pending any more.
-- granted to: approver
create or replace function tenure.approval_decide(
  p_approval_id uuid, p_decision text, p_plan_hash text, p_comment text default null,
  p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_approval tenure.approvals;
  v_exec     tenure.execution_rows;
  v_vote     tenure.approval_votes;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_word('value_unknown', 'decision', p_decision, array['approve', 'reject']);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  select a.* into v_approval
    from tenure.approvals a
   where a.approval_id = p_approval_id
     and a.tenant_id = v_caller.tenant_id;
  if not found then
    perform tenure.refuse_approval(p_approval_id);
  end if;
  -- The execution first, the order of every transaction; then the approval as it is now.
  v_exec := tenure.execution_locked(v_caller.tenant_id, v_approval.execution_id);
  select a.* into v_approval
    from tenure.approvals a
   where a.approval_id = p_approval_id
     for no key update;
  v_vote := tenure.approval_voter(v_caller, v_exec, nullif(p_on_behalf_of, ''));
  v_vote.approval_id := p_approval_id;
  v_vote.decision := p_decision;
  v_vote.plan_hash := p_plan_hash;
  v_vote.comment := p_comment;
  perform tenure.check_approval_open(v_vote.at, v_approval, v_exec);
  perform tenure.check_vote(v_approval, v_vote);

  v_approval := tenure.vote_record(v_approval, v_vote);
  perform tenure.approval_apply(v_vote.at, v_caller.principal, v_approval, null);
  return jsonb_build_object(
    'approval_id', p_approval_id,
    'execution_id', v_exec.execution_id,
    'state', v_approval.state,
    'approvals_given', v_approval.given,
    'quorum', v_approval.quorum,
    'roles_missing', tenure.roles_missing(v_approval),
    'execution_state', (
      select e.state
        from tenure.execution_states e
       where e.execution_id = v_exec.execution_id));
end
$$;

-- Begins the vote of the caller: the voter, its level and roles, how and from where it was authenticated, and
-- the time. Refuses a requester of the plan, a caller that a requester made, an agent, and a caller without a
-- level. The time is read here, after the wait for the locks.
create or replace function tenure.approval_voter(
  p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_on_behalf_of text)
returns tenure.approval_votes
language plpgsql
as $$
declare
  v_vote tenure.approval_votes;
  v_who  record;
begin
  v_vote.at := tenure.now();
  -- Checked first: a requester learns this, and not which right is missing.
  if tenure.is_requester(p_execution, array[p_caller.principal, p_on_behalf_of]) then
    perform tenure.refuse('self_approval',
      format('%s requested this plan.',
        case
          when tenure.is_requester(p_execution, array[p_caller.principal]) then p_caller.principal
          else p_on_behalf_of
        end),
      'A requester does not decide about their own plan: four eyes, without exception.',
      'Ask another approver: tenure.approval_list() says which roles are wanted.');
  end if;
  v_vote.auth_makers := tenure.auth_makers(p_caller);
  perform tenure.check_makers(p_caller, p_execution, v_vote.auth_makers);
  v_who := tenure.approver(p_caller);
  if exists (
       select
         from tenure.principals p
        where p.tenant_id in (p_caller.tenant_id, 0)
          and p.name = p_on_behalf_of
          and p.kind = 'agent') then
    perform tenure.refuse('not_permitted', format('%s is an agent.', p_on_behalf_of),
      'Agents never approve, neither themselves nor through another principal.',
      'Let a person decide.');
  end if;
  v_vote.tenant_id := p_caller.tenant_id;
  v_vote.principal := p_caller.principal;
  v_vote.on_behalf_of := p_on_behalf_of;
  v_vote.level := v_who.level;
  v_vote.roles := v_who.roles;
  v_vote.auth_method := v_who.auth_method;
  v_vote.source := v_who.source;
  return v_vote;
end
$$;

-- Refuses a decision about an approval that has expired or is decided, or about an execution that is too late
-- to start.
create or replace function tenure.check_approval_open(
  p_now timestamptz, p_approval tenure.approvals, p_execution tenure.execution_rows) returns void
language plpgsql
as $$
begin
  -- Expired by its time, whether or not a tick has recorded it.
  if p_approval.state = 'expired' or (p_approval.state = 'pending' and p_approval.expires_at <= p_now) then
    perform tenure.refuse('approval_expired', format('The approval expired at %s.', p_approval.expires_at),
      'It was not decided in time, and what was to be approved may have changed since.',
      'Submit the plan again.');
  end if;
  -- The same for an execution that is too late to start, whether or not a tick has ended it since.
  if p_execution.started_at is null
     and p_execution.start_before <= p_now
     and (
       p_approval.state = 'pending'
       or (p_approval.state = 'withdrawn' and p_execution.reason_code = 'window_passed')) then
    perform tenure.refuse('approval_expired',
      format('The execution had to start before %s.', p_execution.start_before),
      'It was not decided until then; it is cancelled, and its approval is withdrawn.',
      'Submit the plan again, with another window.');
  end if;
  if p_approval.state <> 'pending' then
    perform tenure.refuse('approval_decided',
      format('The approval is %s, since %s.', p_approval.state, p_approval.decided_at),
      case
        when tenure.is_blank(p_approval.reason) then format('Decided by %s.', p_approval.decided_by)
        else p_approval.reason
      end,
      'Look at the execution; submit the plan again for another decision.');
  end if;
end
$$;

-- Refuses a vote about another plan, by a voter whose level or roles are not enough or who has voted already,
-- and a vote whose comment is too long or, for a rejection, missing.
create or replace function tenure.check_vote(p_approval tenure.approvals, p_vote tenure.approval_votes)
returns void
language plpgsql
as $$
begin
  if p_vote.plan_hash is distinct from p_approval.plan_hash then
    perform tenure.refuse('plan_hash_mismatch',
      format('The plan to be decided about has the hash %s, not %s.', p_approval.plan_hash,
        coalesce(left(p_vote.plan_hash, 100), 'none')),
      'A decision counts only for the plan that its maker saw.',
      format('Look at the plan again (tenure.execution_plan(%L)), and decide about that hash.',
        p_approval.execution_id));
  end if;
  if p_vote.level < p_approval.level then
    perform tenure.refuse('not_permitted',
      format('%s approves up to level %s; this is level %s.', p_vote.principal, p_vote.level,
        p_approval.level),
      'Levels go with what a plan may break.',
      'Ask an approver of that level.');
  end if;
  if cardinality(p_approval.roles) > 0 and not p_approval.roles && p_vote.roles then
    perform tenure.refuse('not_permitted',
      format('%s has none of the roles: %s.', p_vote.principal, array_to_string(p_approval.roles, ', ')),
      format('The rule %s asks for them.', p_approval.rule),
      'Ask an approver who has one.');
  end if;
  perform tenure.check_counts_once(p_approval.approval_id, p_vote.decision,
    array[p_vote.principal, p_vote.on_behalf_of], p_vote.auth_makers);
  if p_vote.decision = 'reject' and tenure.is_blank(p_vote.comment) then
    perform tenure.refuse('comment_required', 'A rejection needs a comment.',
      'The requester should know what to change.',
      'Say why.');
  end if;
  if octet_length(p_vote.comment) > tenure.limit_of('error_message_bytes_max') then
    perform tenure.refuse('text_invalid', 'The comment is too long.',
      format('It has at most %s bytes.', tenure.limit_of('error_message_bytes_max')),
      'Shorten it.');
  end if;
end
$$;

-- Stores a vote with its comment masked, and returns the approval as it stands after it. It is approved when
-- the quorum is reached and every role is among those who approved; one rejection is enough.
create or replace function tenure.vote_record(p_approval tenure.approvals, p_vote tenure.approval_votes)
returns tenure.approvals
language plpgsql
as $$
declare
  v_state text;
begin
  -- A blank comment is stored as null. Masking may lengthen it.
  p_vote.comment := case
    when not tenure.is_blank(p_vote.comment) then
      tenure.cut_text(tenure.mask_text(p_vote.comment), tenure.limit_of('error_message_bytes_max')::integer)
  end;
  insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, comment,
    auth_method, auth_makers, source, roles, level, on_behalf_of, at)
  values (p_vote.approval_id, p_vote.principal, p_vote.tenant_id, p_vote.decision, p_vote.plan_hash,
    p_vote.comment, p_vote.auth_method, p_vote.auth_makers, p_vote.source, p_vote.roles, p_vote.level,
    p_vote.on_behalf_of, p_vote.at);
  perform tenure.chain_append(p_vote.at, p_vote.principal, array[(
    p_approval.execution_id, 'approval_vote', p_approval.step_number, jsonb_strip_nulls(jsonb_build_object(
      'approval_id', p_vote.approval_id,
      'decision', p_vote.decision,
      'plan_hash', p_vote.plan_hash,
      'comment', p_vote.comment,
      'auth_method', p_vote.auth_method,
      'auth_makers', nullif(p_vote.auth_makers, '{}'),
      'source', p_vote.source,
      'roles', p_vote.roles,
      'level', p_vote.level,
      'on_behalf_of', p_vote.on_behalf_of)))::tenure.chain_entry]);
  v_state := case
    when p_vote.decision = 'reject' then 'rejected'
    when p_approval.given + 1 >= p_approval.quorum
      and cardinality(tenure.roles_missing(p_approval)) = 0 then 'approved'
    else 'pending'
  end;
  update tenure.approvals a
     set given = a.given + case p_vote.decision when 'approve' then 1 else 0 end,
         state = v_state,
         decided_at = case when v_state <> 'pending' then greatest(p_vote.at, a.created_at) end,
         decided_by = case when v_state <> 'pending' then p_vote.principal end,
         reason = p_vote.comment
   where a.approval_id = p_vote.approval_id
  returning a.* into p_approval;
  return p_approval;
end
$$;

-- Carries out a decision about a plan or a step, or its expiry. The caller holds the execution.
create or replace function tenure.approval_apply(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_reason text) returns void
language plpgsql
as $$
declare
  v_exec tenure.execution_rows;
begin
  if p_approval.state = 'pending' then
    return;
  end if;
  p_approval.reason := coalesce(p_reason, p_approval.reason);
  select e.* into v_exec from tenure.execution_rows e where e.execution_id = p_approval.execution_id;
  if p_approval.step_number is null then
    perform tenure.approval_apply_to_plan(p_now, p_actor, p_approval, v_exec);
  else
    perform tenure.approval_apply_to_step(p_now, p_actor, p_approval, v_exec);
  end if;
end
$$;

-- The event of a decision.
create or replace function tenure.approval_event(p_approval tenure.approvals) returns tenure.chain_entry
language sql stable
as $$
  select (
    p_approval.execution_id, 'approval_' || p_approval.state, p_approval.step_number,
    jsonb_strip_nulls(jsonb_build_object(
      'approval_id', p_approval.approval_id,
      'plan_hash', p_approval.plan_hash,
      'reason', p_approval.reason)))::tenure.chain_entry
$$;

-- Starts an execution whose plan was approved, and ends one whose plan was not.
create or replace function tenure.approval_apply_to_plan(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows)
returns void
language plpgsql
as $$
declare
  v_lapses timestamptz;
begin
  if p_approval.state <> 'approved' then
    perform tenure.chain_append(p_now, p_actor, array[tenure.approval_event(p_approval)]);
    perform tenure.execution_end_unstarted(p_now, p_actor, p_execution.execution_id,
      case p_approval.state when 'rejected' then 'rejected' else 'approval_expired' end,
      p_approval.reason);
    return;
  end if;
  perform tenure.execution_become(p_now, p_actor, p_execution.execution_id, 'approved', null, null);
  update tenure.execution_states e
     set lapses_at = tenure.execution_lapses_at(p_now, p_execution)
   where e.execution_id = p_execution.execution_id
  returning e.lapses_at into v_lapses;
  perform tenure.chain_append(p_now, p_actor, array[
    tenure.approval_event(p_approval),
    (p_execution.execution_id, 'execution_approved', null, jsonb_strip_nulls(jsonb_build_object(
      'from', p_execution.state,
      'to', 'approved',
      'lapses_at', v_lapses)))::tenure.chain_entry]);
  perform tenure.executions_try_start(p_now, p_actor, array[p_execution.execution_id]);
end
$$;

-- Goes on with a step that was approved, and fails one that was not.
create or replace function tenure.approval_apply_to_step(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows)
returns void
language plpgsql
as $$
begin
  perform tenure.chain_append(p_now, p_actor, array[tenure.approval_event(p_approval)]);
  -- The clock of the execution stands still while the decision is pending.
  update tenure.execution_states e
     set timeout_at = e.timeout_at + tenure.clock_stood(p_execution, p_approval.created_at,
           p_approval.decided_at, p_approval.approval_id)
   where e.execution_id = p_execution.execution_id
     and e.timeout_at is not null;
  if p_approval.state = 'approved' then
    update tenure.step_states s
       set state = 'waiting'
     where s.execution_id = p_execution.execution_id
       and s.step_number = p_approval.step_number
       and s.state = 'awaiting_approval';
    if p_execution.stopping is null then
      perform tenure.steps_dispatch_held(p_now, p_actor, p_execution.execution_id,
        array[p_approval.step_number],
        false);
    end if;
  else
    perform tenure.step_fail_unapproved(p_now, p_actor, p_approval, p_execution);
  end if;
  perform tenure.executions_set_due(p_now, array[p_execution.execution_id]);
end
$$;

-- Fails a step that was rejected, or not decided about in time. An execution that has not started cannot
-- fail: it is ended.
create or replace function tenure.step_fail_unapproved(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows)
returns void
language plpgsql
as $$
declare
  v_begun boolean := p_execution.state <> 'approved';
  v_step  tenure.step_states;
begin
  update tenure.step_states s
     set state = case when v_begun then 'failed' else s.state end,
         ended_at = case when v_begun then greatest(p_now, s.started_at) end,
         error_code = case p_approval.state when 'rejected' then 'rejected' else 'approval_expired' end,
         error_class = 'approval',
         error_message = p_approval.reason
   where s.execution_id = p_execution.execution_id
     and s.step_number = p_approval.step_number
     and s.state = 'awaiting_approval'
  returning s.* into v_step;
  if not v_begun then
    perform tenure.execution_end_unstarted(p_now, p_actor, p_execution.execution_id,
      case p_approval.state when 'rejected' then 'step_rejected' else 'approval_expired' end,
      p_approval.reason);
    return;
  end if;
  perform tenure.executions_advance(p_now, p_actor, array[p_execution.execution_id],
    array[p_approval.step_number], array['failed'], array[(
      p_execution.execution_id, 'step_failed', p_approval.step_number, jsonb_strip_nulls(jsonb_build_object(
        'error_code', v_step.error_code,
        'error_class', v_step.error_class,
        'error_message', left(v_step.error_message, 500),
        'ended_at', v_step.ended_at)))::tenure.chain_entry],
    -- A rejection stands, whatever is wrong with an execution that waits for a target of this one.
    'leave_to_tick');
end
$$;
