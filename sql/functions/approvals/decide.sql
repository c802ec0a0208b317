-- A decision about a plan or a step, and what follows from it. check.sql says who may decide.

-- Decides about a plan, or a step of one. The decision names the hash of the plan that the approver saw; it
-- counts for no other plan. Refuses when the caller may not decide, or the approval is not pending any more.
create or replace function tenure.approval_decide(
  p_approval_id uuid, p_decision text, p_plan_hash text, p_comment text default null,
  p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz;
  v_approval tenure.approvals;
  v_exec     tenure.execution_rows;
  v_who      record;
  v_makers   text[] := tenure.auth_makers(v_caller);
  v_missing  text[];
  -- A blank comment is stored as null. Masking may lengthen it.
  v_comment  text := case
    when not tenure.is_blank(p_comment) then
      tenure.cut_text(tenure.mask_text(p_comment), tenure.limit_of('error_message_bytes_max')::integer)
  end;
  v_result   text;
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
  -- The time of the decision, after the wait for the locks.
  v_now := tenure.now();
  -- Checked first: a requester learns this, and not which right is missing.
  if tenure.is_requester(v_exec, array[v_caller.principal, nullif(p_on_behalf_of, '')]) then
    perform tenure.refuse('self_approval',
      format('%s requested this plan.',
        case
          when tenure.is_requester(v_exec, array[v_caller.principal]) then v_caller.principal
          else p_on_behalf_of
        end),
      'Nobody decides about a plan of their own: four eyes, without exception.',
      'Ask somebody else: tenure.approval_list() says which roles are wanted.');
  end if;
  perform tenure.check_makers(v_caller, v_exec, v_makers);
  v_who := tenure.approver(v_caller);
  if exists (
       select
         from tenure.principals p
        where p.tenant_id in (v_caller.tenant_id, 0)
          and p.name = p_on_behalf_of
          and p.kind = 'agent') then
    perform tenure.refuse('not_permitted', format('%s is an agent.', p_on_behalf_of),
      'Agents never approve, nor does anybody for them.',
      'Let a person decide.');
  end if;
  -- Expired by its time, whether or not a tick has recorded it.
  if v_approval.state = 'expired' or (v_approval.state = 'pending' and v_approval.expires_at <= v_now) then
    perform tenure.refuse('approval_expired', format('The approval expired at %s.', v_approval.expires_at),
      'Nobody decided in time, and what was to be approved may have changed since.',
      'Submit the plan again.');
  end if;
  -- The same for an execution that is too late to start, whether or not it was called off since.
  if v_exec.started_at is null
     and v_exec.start_before <= v_now
     and (
       v_approval.state = 'pending'
       or (v_approval.state = 'withdrawn' and v_exec.reason_code = 'window_passed')) then
    perform tenure.refuse('approval_expired',
      format('The execution had to start before %s.', v_exec.start_before),
      'Nobody decided until then; it is cancelled, and its approval is withdrawn.',
      'Submit the plan again, with another window.');
  end if;
  if v_approval.state <> 'pending' then
    perform tenure.refuse('approval_decided',
      format('The approval is %s, since %s.', v_approval.state, v_approval.decided_at),
      case
        when tenure.is_blank(v_approval.reason) then format('Decided by %s.', v_approval.decided_by)
        else v_approval.reason
      end,
      'Look at the execution; submit the plan again for another decision.');
  end if;
  if p_plan_hash is distinct from v_approval.plan_hash then
    perform tenure.refuse('plan_hash_mismatch',
      format('The plan to be decided about has the hash %s, not %s.', v_approval.plan_hash,
        coalesce(left(p_plan_hash, 100), 'none')),
      'A decision counts only for the plan that its maker saw.',
      format('Look at the plan again (tenure.execution_plan(%L)), and decide about that hash.',
        v_approval.execution_id));
  end if;
  if v_who.level < v_approval.level then
    perform tenure.refuse('not_permitted',
      format('%s approves up to level %s; this is level %s.', v_caller.principal, v_who.level,
        v_approval.level),
      'Levels go with what a plan may break.',
      'Ask somebody of that level.');
  end if;
  if cardinality(v_approval.roles) > 0 and not v_approval.roles && v_who.roles then
    perform tenure.refuse('not_permitted',
      format('%s has none of the roles: %s.', v_caller.principal, array_to_string(v_approval.roles, ', ')),
      format('The rule %s asks for them.', v_approval.rule),
      'Ask somebody who has one.');
  end if;
  perform tenure.check_counts_once(p_approval_id, p_decision,
    array[v_caller.principal, nullif(p_on_behalf_of, '')], v_makers);
  if p_decision = 'reject' and tenure.is_blank(p_comment) then
    perform tenure.refuse('comment_required', 'A rejection needs a comment.',
      'Whoever asked should know what to change.',
      'Say why.');
  end if;
  if octet_length(p_comment) > tenure.limit_of('error_message_bytes_max') then
    perform tenure.refuse('text_invalid', 'The comment is too long.',
      format('It has at most %s bytes.', tenure.limit_of('error_message_bytes_max')),
      'Shorten it.');
  end if;

  insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, comment,
    auth_method, auth_makers, source, roles, level, on_behalf_of, at)
  values (p_approval_id, v_caller.principal, v_caller.tenant_id, p_decision, p_plan_hash, v_comment,
    v_who.auth_method, v_makers, v_who.source, v_who.roles, v_who.level, nullif(p_on_behalf_of, ''), v_now);
  perform tenure.chain_append(v_now, v_caller.principal, array[(
    v_exec.execution_id, 'approval_vote', v_approval.step_number, jsonb_strip_nulls(jsonb_build_object(
      'approval_id', p_approval_id,
      'decision', p_decision,
      'plan_hash', p_plan_hash,
      'comment', v_comment,
      'auth_method', v_who.auth_method,
      'auth_makers', nullif(v_makers, '{}'),
      'source', v_who.source,
      'roles', v_who.roles,
      'level', v_who.level,
      'on_behalf_of', nullif(p_on_behalf_of, ''))))::tenure.execution_told]);
  -- Approved when the quorum is reached and every role is among those who approved.
  v_missing := tenure.roles_missing(v_approval);
  v_result := case
    when p_decision = 'reject' then 'rejected'
    when v_approval.given + 1 >= v_approval.quorum and cardinality(v_missing) = 0 then 'approved'
    else 'pending'
  end;
  update tenure.approvals a
     set given = a.given + case p_decision when 'approve' then 1 else 0 end,
         state = v_result,
         decided_at = case when v_result <> 'pending' then greatest(v_now, a.created_at) end,
         decided_by = case when v_result <> 'pending' then v_caller.principal end,
         reason = v_comment
   where a.approval_id = p_approval_id
  returning a.* into v_approval;
  perform tenure.approval_act(v_now, v_caller.principal, v_approval, null);
  return jsonb_build_object(
    'approval_id', p_approval_id,
    'execution_id', v_exec.execution_id,
    'state', v_result,
    'approvals_given', v_approval.given,
    'quorum', v_approval.quorum,
    'roles_missing', v_missing,
    'execution_state', (select e.state from tenure.execution_states e where e.execution_id = v_exec.execution_id));
end
$$;

-- Carries out a decision about a plan or a step, or its expiry. The caller holds the execution.
create or replace function tenure.approval_act(
  p_now timestamptz, p_actor text, p_approval tenure.approvals, p_reason text) returns void
language plpgsql
as $$
declare
  v_told   tenure.execution_told := (
    p_approval.execution_id, 'approval_' || p_approval.state, p_approval.step_number,
    jsonb_strip_nulls(jsonb_build_object(
      'approval_id', p_approval.approval_id,
      'plan_hash', p_approval.plan_hash,
      'reason', coalesce(p_reason, p_approval.reason))))::tenure.execution_told;
  v_exec   tenure.execution_rows;
  v_lapses timestamptz;
  v_step   tenure.step_states;
begin
  if p_approval.state = 'pending' then
    return;
  end if;
  select e.* into v_exec from tenure.execution_rows e where e.execution_id = p_approval.execution_id;
  if p_approval.step_number is null then
    if p_approval.state = 'approved' then
      perform tenure.execution_become(p_now, p_actor, v_exec.execution_id, 'approved', null, null);
      update tenure.execution_states e
         set lapses_at = tenure.execution_lapses_at(p_now, v_exec)
       where e.execution_id = v_exec.execution_id
      returning e.lapses_at into v_lapses;
      perform tenure.chain_append(p_now, p_actor, array[
        v_told,
        (v_exec.execution_id, 'execution_approved', null, jsonb_strip_nulls(jsonb_build_object(
          'from', v_exec.state,
          'to', 'approved',
          'lapses_at', v_lapses)))::tenure.execution_told]);
      perform tenure.executions_begin(p_now, p_actor, array[v_exec.execution_id]);
    else
      perform tenure.chain_append(p_now, p_actor, array[v_told]);
      perform tenure.execution_call_off(p_now, p_actor, v_exec.execution_id,
        case p_approval.state when 'rejected' then 'rejected' else 'approval_expired' end,
        coalesce(p_reason, p_approval.reason));
    end if;
    return;
  end if;

  perform tenure.chain_append(p_now, p_actor, array[v_told]);
  -- The clock of the execution stands still while the decision is pending.
  update tenure.execution_states e
     set timeout_at = e.timeout_at + tenure.clock_stood(v_exec, p_approval.created_at, p_approval.decided_at,
           p_approval.approval_id)
   where e.execution_id = v_exec.execution_id
     and e.timeout_at is not null;
  if p_approval.state = 'approved' then
    update tenure.step_states s
       set state = 'waiting'
     where s.execution_id = v_exec.execution_id
       and s.step_number = p_approval.step_number
       and s.state = 'awaiting_approval';
    if v_exec.stopping is null then
      perform tenure.steps_go_on(p_now, p_actor, v_exec.execution_id, array[p_approval.step_number], false);
    end if;
  else
    update tenure.step_states s
       set state = 'failed',
           ended_at = greatest(p_now, s.started_at),
           error_code = case p_approval.state when 'rejected' then 'rejected' else 'approval_expired' end,
           error_class = 'approval',
           error_message = coalesce(p_reason, p_approval.reason)
     where s.execution_id = v_exec.execution_id
       and s.step_number = p_approval.step_number
       and s.state = 'awaiting_approval'
    returning s.* into v_step;
    -- An execution that never began cannot fail: it is called off.
    if v_exec.state = 'approved' then
      update tenure.step_states s
         set state = 'awaiting_approval',
             ended_at = null
       where s.execution_id = v_exec.execution_id
         and s.step_number = p_approval.step_number;
      perform tenure.execution_call_off(p_now, p_actor, v_exec.execution_id,
        case p_approval.state when 'rejected' then 'step_rejected' else 'approval_expired' end,
        coalesce(p_reason, p_approval.reason));
    else
      perform tenure.executions_advance(p_now, p_actor, array[v_exec.execution_id],
        array[p_approval.step_number], array['failed'], array[(
          v_exec.execution_id, 'step_failed', p_approval.step_number, jsonb_strip_nulls(jsonb_build_object(
            'error_code', v_step.error_code,
            'error_class', v_step.error_class,
            'error_message', left(v_step.error_message, 500),
            'ended_at', v_step.ended_at)))::tenure.execution_told]);
    end if;
  end if;
  perform tenure.executions_schedule(p_now, array[v_exec.execution_id]);
end
$$;
