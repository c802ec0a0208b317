-- Approvals: asked for, decided, expired. Four eyes on every way: who requested a plan does not decide about it, nor by a key or login that they made, nor does an agent; admins are no exception.

-- Asks for a decision about the plan of an execution, or about one step of it.
create or replace function tenure.approval_request(
  p_now timestamptz, p_execution tenure.executions, p_plan tenure.plans, p_step_number integer, p_level integer, p_roles text[], p_quorum integer, p_expires_seconds integer, p_rule text) returns tenure.approvals
language sql
as $$
  insert into tenure.approvals (approval_id, tenant_id, execution_id, step_number, plan_hash, plan_snapshot_hash, level, roles, quorum, rule, runbook_ref, state, created_at, escalate_at, expires_at)
  values (tenure.new_id(p_now), p_execution.tenant_id, p_execution.execution_id, p_step_number, p_plan.plan_hash, p_plan.plan_snapshot_hash, p_level, coalesce(p_roles, '{}'), p_quorum, p_rule,
    p_execution.runbook_ref, 'pending', p_now,
    p_now + make_interval(secs => p_expires_seconds * tenure.setting_integer(p_execution.tenant_id, 'approvals.escalate_percent') / 100.0), p_now + make_interval(secs => p_expires_seconds))
  returning *
$$;

-- What the event that asks for a decision says about it: enough for a message to an approver, with a link.
create or replace function tenure.approval_asked(p_approval_id uuid, p_execution tenure.executions) returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(jsonb_build_object('approval_id', p_approval_id, 'purpose', p_execution.purpose,
    'requested_by', p_execution.requested_by, 'on_behalf_of', p_execution.on_behalf_of,
    'link', rtrim(tenure.setting(p_execution.tenant_id, 'server.public_url') #>> '{}', '/')
      || '/v1/approvals/' || p_approval_id))
$$;

-- Who is about to decide: how they proved it, from where, up to which level and in which roles. Refuses agents and whoever nobody registered.
create or replace function tenure.approver(
  p_caller tenure.caller_identity, out level integer, out roles text[], out auth_method text, out source text)
language plpgsql stable
as $$
declare
  v_who tenure.principals;
  v_key record;
begin
  select p.* into v_who from tenure.principals p where p.tenant_id in (p_caller.tenant_id, 0) and p.name = p_caller.principal order by p.tenant_id desc limit 1;
  if not found then
    perform tenure.refuse('not_permitted', format('Nobody registered %s.', p_caller.principal), 'Only a principal that is known to be a person or a service decides about plans.',
      format('An admin registers it: tenure.principal_create(%L, ''human''), '
        'tenure.principal_set(%L, {"approver_level": 1}).', p_caller.principal, p_caller.principal));
  end if;
  -- Under this name in the tenant or in the installation.
  perform tenure.refuse_agent(p_caller);
  roles := v_who.approval_roles;
  -- Only whoever acts for a key has its roles; the setting alone proves nothing.
  if p_caller.roles is not null then
    select k.prefix, k.approver_level into v_key
      from tenure.keys k where k.key_id = nullif(current_setting('tenure.key', true), '')::uuid;
    level := v_key.approver_level;
    auth_method := 'api_key ' || v_key.prefix;
    source := nullif(current_setting('tenure.via', true), '');
  else
    level := v_who.approver_level;
    auth_method := 'login ' || session_user;
    source := coalesce(host(inet_client_addr()), 'local socket');
  end if;
  if level is null then
    perform tenure.refuse('not_permitted', format('%s approves nothing.', p_caller.principal),
      'It has no level as an approver.',
      format('An admin gives it one: tenure.principal_set(%L, {"approver_level": 1}).', p_caller.principal));
  end if;
end
$$;

-- Whether one of these asked for the plan, or had it asked for: this time, or when it was run before.
create or replace function tenure.is_requester(p_execution tenure.executions, p_names text[]) returns boolean
language sql stable
as $$ select p_execution.requesters && p_names $$;

-- Refuses a decision by a key, a login or a principal that a requester of the plan made or changed: it could be they
-- who use it.
create or replace function tenure.check_makers(p_caller tenure.caller_identity, p_execution tenure.executions, p_makers text[]) returns void
language plpgsql
as $$
declare
  v_maker text;
  v_by    text := case
    when p_caller.roles is not null then 'key ' || (
      select k.prefix from tenure.keys k
       where k.key_id = nullif(current_setting('tenure.key', true), '')::uuid)
    else 'login ' || session_user end;
begin
  select m into v_maker from unnest(p_makers) m where m = any (p_execution.requesters) order by 1 limit 1;
  if found then
    if v_maker <> all (tenure.means_makers(p_caller)) then
      perform tenure.refuse('self_approval',
        format('%s requested this plan, and stands behind the principal %s.', v_maker, p_caller.principal),
        'They registered or changed it, or made what that was done by, and so could be the one who uses it: four eyes.',
        'Ask an approver whom they did not register; or let another admin, who is not of their making, confirm the '
          'principal anew: tenure.principal_set(name, {"confirm": true}).');
    end if;
    perform tenure.refuse('self_approval', format('%s requested this plan, and stands behind the %s.', v_maker, v_by),
      format('They %s, or made that by which it was done, and so could use it themselves: four eyes, without exception.', case when p_caller.roles is not null then 'made the key' else 'bound the login' end),
      format('Ask somebody else; or let another admin %s, one whose own is not from them either, or the '
        'operator of the installation on its database, in the name of no principal.',
        case when p_caller.roles is not null then 'make the key anew' else 'bind the login anew' end));
  end if;
end
$$;

-- Refuses whoever has decided already: under their own name, for somebody, or, where it would be one more who approves, by a key or login that one of the two made for the other.
create or replace function tenure.check_counts_once(p_approval_id uuid, p_decision text, p_names text[], p_makers text[]) returns void
language plpgsql
as $$
declare
  v_old  record;
  v_name text;
begin
  for v_old in select v.principal, array[v.principal, v.on_behalf_of] as names, v.auth_makers from tenure.approval_votes v where v.approval_id = p_approval_id order by v.at, v.principal loop
    select n into v_name from unnest(p_names) n where n = any (v_old.names) limit 1;
    if found then
      perform tenure.refuse('approval_decided', format('%s has decided about this already.', v_name), 'Each approver counts once.', 'Let another decide.');
    end if;
    if p_decision = 'approve' and (p_makers && v_old.names or v_old.auth_makers && p_names) then
      perform tenure.refuse('approval_decided', format('%s has decided about this already, and %s.', v_old.principal,
          case when p_makers && v_old.names then format('stands behind what %s comes by', p_names[1]) else format('came by what %s stands behind', p_names[1]) end),
        'Who makes a key, binds a login, or registers or changes a principal, could use it: together they count once.',
        'Let another decide; or have the key made anew, the login bound anew, or the principal confirmed anew, by an admin who does not decide about it.');
    end if;
  end loop;
end
$$;

create or replace function tenure.refuse_approval(p_approval_id uuid) returns void
language sql
as $$
  select tenure.refuse('approval_unknown', format('There is no approval %s.', coalesce(p_approval_id::text, 'without an id')), 'It never was, belongs to another tenant, or is archived.', 'See tenure.approval_list().')
$$;

-- The roles that nobody has yet of those who approved.
create or replace function tenure.roles_missing(p_approval tenure.approvals) returns text[]
language sql stable
as $$
  select array(select r from unnest(p_approval.roles) r
                where not exists (select from tenure.approval_votes v where v.approval_id = p_approval.approval_id and v.decision = 'approve' and r = any (v.roles)))
$$;

-- Decides about a plan, or a step of one. The decision names the hash that its maker saw; it counts for no other.
create or replace function tenure.approval_decide(p_approval_id uuid, p_decision text, p_plan_hash text, p_comment text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller   tenure.caller_identity := tenure.caller();
  v_now      timestamptz;
  v_approval tenure.approvals;
  v_exec     tenure.executions;
  v_who      record;
  v_makers   text[] := tenure.auth_makers(v_caller);
  v_missing  text[];
  -- One that says nothing is none. Masking may lengthen it.
  v_comment  text := case when not tenure.is_blank(p_comment) then tenure.cut_text(tenure.mask_text(p_comment), tenure.limit_of('error_message_bytes_max')::integer) end;
  v_result   text;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_word('value_unknown', 'decision', p_decision, array['approve', 'reject']);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  select a.* into v_approval from tenure.approvals a where a.approval_id = p_approval_id and a.tenant_id = v_caller.tenant_id;
  if not found then
    perform tenure.refuse_approval(p_approval_id);
  end if;
  -- The execution first, as everybody does; then the approval as it is now.
  v_exec := tenure.execution_locked(v_caller.tenant_id, v_approval.execution_id);
  select a.* into v_approval from tenure.approvals a where a.approval_id = p_approval_id for no key update;
  -- The moment counts in which it is decided, not that in which somebody began to wait for others.
  v_now := tenure.now();
  -- First of all: who asked learns that, and not which right is missing.
  if tenure.is_requester(v_exec, array[v_caller.principal, nullif(p_on_behalf_of, '')]) then
    perform tenure.refuse('self_approval',
      format('%s requested this plan.', case when tenure.is_requester(v_exec, array[v_caller.principal]) then v_caller.principal else p_on_behalf_of end), 'Nobody decides about a plan of their own: four eyes, without exception.', 'Ask somebody else: tenure.approval_list() says which roles are wanted.');
  end if;
  perform tenure.check_makers(v_caller, v_exec, v_makers);
  v_who := tenure.approver(v_caller);
  if exists (select from tenure.principals p where p.tenant_id in (v_caller.tenant_id, 0) and p.name = p_on_behalf_of and p.kind = 'agent') then
    perform tenure.refuse('not_permitted', format('%s is an agent.', p_on_behalf_of), 'Agents never approve, nor does anybody for them.', 'Let a person decide.');
  end if;
  -- Whether or not somebody has seen to it since.
  if v_approval.state = 'expired' or (v_approval.state = 'pending' and v_approval.expires_at <= v_now) then
    perform tenure.refuse('approval_expired', format('The approval expired at %s.', v_approval.expires_at), 'Nobody decided in time, and what was to be approved may have changed since.', 'Submit the plan again.');
  end if;
  -- So is this, whether or not it was called off since.
  if v_exec.started_at is null and v_exec.start_before <= v_now and (v_approval.state = 'pending' or (v_approval.state = 'withdrawn' and v_exec.reason_code = 'window_passed')) then
    perform tenure.refuse('approval_expired', format('The execution had to start before %s.', v_exec.start_before), 'Nobody decided until then; it is cancelled, and its approval is withdrawn.',
      'Submit the plan again, with another window.');
  end if;
  if v_approval.state <> 'pending' then
    perform tenure.refuse('approval_decided', format('The approval is %s, since %s.', v_approval.state, v_approval.decided_at),
      case when tenure.is_blank(v_approval.reason) then format('Decided by %s.', v_approval.decided_by) else v_approval.reason end, 'Look at the execution; submit the plan again for another decision.');
  end if;
  if p_plan_hash is distinct from v_approval.plan_hash then
    perform tenure.refuse('plan_hash_mismatch', format('The plan to be decided about has the hash %s, not %s.', v_approval.plan_hash, coalesce(left(p_plan_hash, 100), 'none')),
      'A decision counts only for the plan that its maker saw.',
      format('Look at the plan again (tenure.execution_plan(%L)), and decide about that hash.',
        v_approval.execution_id));
  end if;
  if v_who.level < v_approval.level then
    perform tenure.refuse('not_permitted', format('%s approves up to level %s; this is level %s.', v_caller.principal, v_who.level, v_approval.level), 'Levels go with what a plan may break.', 'Ask somebody of that level.');
  end if;
  if cardinality(v_approval.roles) > 0 and not v_approval.roles && v_who.roles then
    perform tenure.refuse('not_permitted', format('%s has none of the roles: %s.', v_caller.principal, array_to_string(v_approval.roles, ', ')), format('The rule %s asks for them.', v_approval.rule), 'Ask somebody who has one.');
  end if;
  perform tenure.check_counts_once(p_approval_id, p_decision, array[v_caller.principal, nullif(p_on_behalf_of, '')], v_makers);
  if p_decision = 'reject' and tenure.is_blank(p_comment) then
    perform tenure.refuse('comment_required', 'A rejection needs a comment.', 'Whoever asked should know what to change.', 'Say why.');
  end if;
  if octet_length(p_comment) > tenure.limit_of('error_message_bytes_max') then
    perform tenure.refuse('text_invalid', 'The comment is too long.', format('It has at most %s bytes.', tenure.limit_of('error_message_bytes_max')), 'Shorten it.');
  end if;

  insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, comment, auth_method, auth_makers, source, roles, level, on_behalf_of, at)
  values (p_approval_id, v_caller.principal, v_caller.tenant_id, p_decision, p_plan_hash, v_comment, v_who.auth_method, v_makers, v_who.source, v_who.roles, v_who.level, nullif(p_on_behalf_of, ''), v_now);
  perform tenure.chain_append(v_now, v_caller.principal, array[(v_exec.execution_id, 'approval_vote', v_approval.step_number, jsonb_strip_nulls(jsonb_build_object('approval_id', p_approval_id, 'decision', p_decision,
    'plan_hash', p_plan_hash, 'comment', v_comment, 'auth_method', v_who.auth_method, 'auth_makers', nullif(v_makers, '{}'), 'source', v_who.source, 'roles', v_who.roles, 'level', v_who.level, 'on_behalf_of', nullif(p_on_behalf_of, ''))))::tenure.execution_told]);
  -- Every role must be there among those who approve, and as many as the quorum asks for.
  v_missing := tenure.roles_missing(v_approval);
  v_result := case
    when p_decision = 'reject' then 'rejected'
    when v_approval.given + 1 >= v_approval.quorum and cardinality(v_missing) = 0 then 'approved'
    else 'pending' end;
  update tenure.approvals a
     set given = a.given + case p_decision when 'approve' then 1 else 0 end, state = v_result,
         decided_at = case when v_result <> 'pending' then greatest(v_now, a.created_at) end, decided_by = case when v_result <> 'pending' then v_caller.principal end, reason = v_comment
   where a.approval_id = p_approval_id
  returning a.* into v_approval;
  perform tenure.approval_act(v_now, v_caller.principal, v_approval, null);
  return jsonb_build_object('approval_id', p_approval_id, 'execution_id', v_exec.execution_id, 'state', v_result, 'approvals_given', v_approval.given, 'quorum', v_approval.quorum, 'roles_missing', v_missing,
    'execution_state', (select e.state from tenure.executions e where e.execution_id = v_exec.execution_id));
end
$$;

-- What follows from a decision about a plan or a step, or from there being none in time. The caller holds the execution.
create or replace function tenure.approval_act(p_now timestamptz, p_actor text, p_approval tenure.approvals, p_reason text) returns void
language plpgsql
as $$
declare
  v_told tenure.execution_told := (p_approval.execution_id, 'approval_' || p_approval.state, p_approval.step_number,
    jsonb_strip_nulls(jsonb_build_object('approval_id', p_approval.approval_id, 'plan_hash', p_approval.plan_hash, 'reason', coalesce(p_reason, p_approval.reason))))::tenure.execution_told;
  v_exec tenure.executions;
  v_lapses timestamptz;
  v_step tenure.steps;
begin
  if p_approval.state = 'pending' then
    return;
  end if;
  select e.* into v_exec from tenure.executions e where e.execution_id = p_approval.execution_id;
  if p_approval.step_number is null then
    if p_approval.state = 'approved' then
      perform tenure.execution_move(p_now, p_actor, v_exec.execution_id, 'approved', null, null);
      update tenure.executions e set lapses_at = tenure.execution_lapses_at(p_now, v_exec)
       where e.execution_id = v_exec.execution_id returning e.lapses_at into v_lapses;
      perform tenure.chain_append(p_now, p_actor, array[v_told, (v_exec.execution_id, 'execution_approved', null,
        jsonb_strip_nulls(jsonb_build_object('from', v_exec.state, 'to', 'approved', 'lapses_at', v_lapses)))::tenure.execution_told]);
      perform tenure.executions_begin(p_now, p_actor, array[v_exec.execution_id]);
    else
      perform tenure.chain_append(p_now, p_actor, array[v_told]);
      perform tenure.execution_call_off(p_now, p_actor, v_exec.execution_id, case p_approval.state when 'rejected' then 'rejected' else 'approval_expired' end, coalesce(p_reason, p_approval.reason));
    end if;
    return;
  end if;

  perform tenure.chain_append(p_now, p_actor, array[v_told]);
  -- While somebody decides, the clock of the execution stands still.
  update tenure.executions e set timeout_at = e.timeout_at + tenure.clock_stood(v_exec, p_approval.created_at, p_approval.decided_at, p_approval.approval_id)
   where e.execution_id = v_exec.execution_id and e.timeout_at is not null;
  if p_approval.state = 'approved' then
    update tenure.steps s set state = 'waiting' where s.execution_id = v_exec.execution_id and s.step_number = p_approval.step_number and s.state = 'awaiting_approval';
    if v_exec.stopping is null then
      perform tenure.steps_go_on(p_now, p_actor, v_exec.execution_id, array[p_approval.step_number], false);
    end if;
  else
    update tenure.steps s set state = 'failed', ended_at = greatest(p_now, s.started_at), error_code = case p_approval.state when 'rejected' then 'rejected' else 'approval_expired' end, error_class = 'approval',
           error_message = coalesce(p_reason, p_approval.reason)
     where s.execution_id = v_exec.execution_id and s.step_number = p_approval.step_number and s.state = 'awaiting_approval'
    returning s.* into v_step;
    -- One that never began has no way to fail: it is called off.
    if v_exec.state = 'approved' then
      update tenure.steps s set state = 'awaiting_approval', ended_at = null where s.execution_id = v_exec.execution_id and s.step_number = p_approval.step_number;
      perform tenure.execution_call_off(p_now, p_actor, v_exec.execution_id, case p_approval.state when 'rejected' then 'step_rejected' else 'approval_expired' end, coalesce(p_reason, p_approval.reason));
    else
      perform tenure.executions_advance(p_now, p_actor, array[v_exec.execution_id], array[p_approval.step_number], array['failed'],
        array[(v_exec.execution_id, 'step_failed', p_approval.step_number, jsonb_strip_nulls(jsonb_build_object('error_code', v_step.error_code, 'error_class', v_step.error_class,
          'error_message', left(v_step.error_message, 500), 'ended_at', v_step.ended_at)))::tenure.execution_told]);
    end if;
  end if;
  perform tenure.executions_schedule(p_now, array[v_exec.execution_id]);
end
$$;

-- Dispatches steps of one execution that may go now: after an approval of their own, or after a verdict. The caller holds the execution.
create or replace function tenure.steps_go_on(p_now timestamptz, p_actor text, p_execution_id uuid, p_numbers integer[], p_granted boolean) returns void
language plpgsql
as $$
declare
  v_exec tenure.executions;
  v_done record;
begin
  select e.* into v_exec from tenure.executions e where e.execution_id = p_execution_id;
  if v_exec.state = 'approved' then
    perform tenure.executions_begin(p_now, p_actor, array[p_execution_id]);
    return;
  end if;
  perform from tenure.lock_targets t
    join tenure.steps s on s.tenant_id = t.tenant_id and s.lock_target = t.target and s.execution_id = p_execution_id and s.step_number = any (p_numbers)
   order by t.tenant_id, t.target for no key update of t;
  p_now := greatest(p_now, tenure.now());
  v_done := tenure.steps_dispatch(p_now, p_actor, array_fill(p_execution_id, array[cardinality(p_numbers)]), p_numbers, p_granted, false, '{}');
  perform tenure.executions_advance(p_now, p_actor, v_done.refused_execs, v_done.refused_numbers, array_fill('failed'::text, array[cardinality(v_done.refused_execs)]), v_done.told);
end
$$;

-- Approvals of the tenant, oldest first. Pending ones only while they can be decided.
create or replace function tenure.approval_list(p_execution_id uuid default null, p_state text default 'pending', p_limit integer default 100)
returns table (approval_id uuid, execution_id uuid, step_id text, purpose text, requested_by text, requested_by_email text, level integer, roles text[], quorum integer, approvals_given integer, plan_hash text,
               plan_snapshot_hash text, state text, rule text, auto_approved boolean, runbook_ref text, created_at timestamptz, expires_at timestamptz, decided_at timestamptz, decided_by text, reason text,
               consumed_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_now    timestamptz := tenure.now();
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_word('value_unknown', 'state', p_state, array['pending', 'approved', 'rejected', 'expired', 'withdrawn']);
  end if;
  return query
    select a.approval_id, a.execution_id, s.step_id, e.purpose, e.requested_by, (select p.email from tenure.principals p where p.tenant_id = v_tenant and p.name = e.requested_by), a.level::integer, a.roles,
           a.quorum::integer, a.given::integer, a.plan_hash, a.plan_snapshot_hash, a.state, a.rule, a.auto_approved, a.runbook_ref, a.created_at, a.expires_at, a.decided_at, a.decided_by, a.reason, a.consumed_at
      from tenure.approvals a
      join tenure.executions e on e.execution_id = a.execution_id
      left join tenure.steps s on s.execution_id = a.execution_id and s.step_number = a.step_number
     where a.tenant_id = v_tenant and (p_execution_id is null or a.execution_id = p_execution_id) and (p_state is null or a.state = p_state)
       and (p_state is distinct from 'pending' or least(a.expires_at, case when e.started_at is null then e.start_before end) > v_now)
     order by a.created_at, a.approval_id limit p_limit;
end
$$;

-- One approval, with all that whoever decides wants to know: what for, about which plan, what is missing yet, and who has decided so far.
create or replace function tenure.approval_show(p_approval_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_row    tenure.approvals;
  v_exec   tenure.executions;
begin
  select a.* into v_row from tenure.approvals a where a.approval_id = p_approval_id and a.tenant_id = v_tenant;
  if not found then
    perform tenure.refuse_approval(p_approval_id);
  end if;
  select e.* into v_exec from tenure.executions e where e.execution_id = v_row.execution_id;
  return (to_jsonb(v_row) - array['tenant_id', 'step_number', 'given'])
    || jsonb_build_object(
      'approvals_given', v_row.given, 'roles_missing', to_jsonb(tenure.roles_missing(v_row)),
      'step_id', (select s.step_id from tenure.steps s where s.execution_id = v_row.execution_id and s.step_number = v_row.step_number),
      'purpose', v_exec.purpose, 'requested_by', v_exec.requested_by, 'on_behalf_of', v_exec.on_behalf_of,
      'requested_by_email', (select p.email from tenure.principals p where p.tenant_id = v_tenant and p.name = v_exec.requested_by),
      'execution_state', v_exec.state, 'supersedes', v_exec.supersedes, 'retry_of', v_exec.retry_of,
      'votes', (select coalesce(jsonb_agg(to_jsonb(v) order by v.at), '[]') from tenure.approval_votes_of(p_approval_id) v));
end
$$;

create or replace function tenure.approval_votes_of(p_approval_id uuid)
returns table (principal text, decision text, comment text, plan_hash text, auth_method text, auth_makers text[], source text, roles text[], level integer, on_behalf_of text, at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from tenure.approvals a where a.approval_id = p_approval_id and a.tenant_id = tenure.current_tenant()) then
    perform tenure.refuse_approval(p_approval_id);
  end if;
  return query
    select v.principal, v.decision, v.comment, v.plan_hash, v.auth_method, v.auth_makers, v.source, v.roles, v.level::integer, v.on_behalf_of, v.at
      from tenure.approval_votes v where v.approval_id = p_approval_id and v.tenant_id = tenure.current_tenant() order by v.at;
end
$$;
