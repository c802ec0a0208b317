-- Whether an approval still allows the start: for how long it holds, and whether its approvers still have
-- their right. Checked in the transaction that starts the work, with their rows locked: a key that was
-- revoked before starts nothing.

-- Until when an execution that is approved now must have started: some hours (approvals.start_within_hours)
-- after it could first start. What the approver saw counts: start_after, its window, and a freeze with an end
-- that is in force. A freeze that comes later does not prolong it. Null: it never lapses.
create or replace function tenure.execution_lapses_at(p_now timestamptz, p_execution tenure.execution_rows)
returns timestamptz
language plpgsql stable
as $$
declare
  v_hours integer := tenure.setting_integer(p_execution.tenant_id, 'approvals.start_within_hours');
  v_first timestamptz;
begin
  if v_hours = 0 or p_execution.approval_level = 0 then
    return null;
  end if;
  select max(f.until) into v_first
    from tenure.freezes f
   where f.tenant_id = p_execution.tenant_id
     and f.ended_at is null
     and f.until > p_now;
  v_first := tenure.window_opens(p_execution.start_window, greatest(p_now, p_execution.start_after, v_first));
  return v_first + make_interval(hours => v_hours);
end
$$;

-- Whether a login may connect and decide: it is an approver, or trusted with the whole installation.
create or replace function tenure.login_approves(p_login text) returns boolean
language sql stable
as $$
  select exists (
    select
      from pg_roles r
     where r.rolname = p_login
       and r.rolcanlogin
       and (
         pg_has_role(r.oid, 'tenure_approver', 'member')
         or pg_has_role(r.oid, 'tenure_server', 'member')
         or pg_has_role(r.oid, 'tenure_owner', 'member')))
$$;

-- Why a vote to approve no longer counts, or null. 'busy': a transaction that has not ended changes its
-- approver. A key that expired since was valid when it was used.
create or replace function tenure.vote_trouble(
  p_approval tenure.approvals, p_vote tenure.approval_votes, out trouble text, out roles text[])
language plpgsql
as $$
declare
  v_name text := substr(p_vote.auth_method, strpos(p_vote.auth_method, ' ') + 1);
  v_id   integer;
  v_who  record;
  v_by   record;
begin
  select p.principal_id into v_id
    from tenure.principals p
   where p.tenant_id in (p_approval.tenant_id, 0)
     and p.name = p_vote.principal
   order by p.tenant_id desc
   limit 1;
  select p.approver_level, p.approval_roles
    into v_who
    from tenure.principals p
   where p.principal_id = v_id
     for share skip locked;
  if not found then
    trouble := 'busy';
    return;
  end if;
  roles := v_who.approval_roles;
  if p_vote.auth_method ^@ 'api_key ' then
    select k.revoked_at into v_by from tenure.keys k where k.prefix = v_name for share skip locked;
    trouble := case
      when not found then 'busy'
      when v_by.revoked_at is not null
        then format('The key %s of %s was revoked.', v_name, p_vote.principal)
    end;
    return;
  end if;
  -- The binding of the login, or that of all logins without one. Locked before the read of unbound_logins, or
  -- an unbinding between the two would be missed.
  select coalesce(l.principal, l.login) as principal, l.bound_at
    into v_by
    from tenure.logins l
   where l.login in (v_name, '*')
     and (l.login <> '*' or l.principal is not null)
   order by l.login = '*'
   limit 1
     for share skip locked;
  if not found and exists (
       select
         from tenure.logins l
        where l.login in (v_name, '*')
          and (l.login <> '*' or l.principal is not null)) then
    trouble := 'busy';
    return;
  end if;
  trouble := case
    when exists (select from tenure.unbound_logins u where u.login = v_name and u.unbound_at > p_vote.at)
      then format('The login %s of %s was unbound.', v_name, p_vote.principal)
    when v_by.bound_at > p_vote.at and v_by.principal <> p_vote.principal
      then format('The login %s stands for %s now, not for %s.', v_name, v_by.principal, p_vote.principal)
    when not tenure.login_approves(v_name)
      then format('The login %s of %s is no longer a member of tenure_approver.', v_name, p_vote.principal)
  end;
  if trouble is null and coalesce(v_who.approver_level, 0) < p_approval.level then
    trouble := format('%s approves up to level %s now; this is level %s.', p_vote.principal,
      coalesce(v_who.approver_level, 0), p_approval.level);
  end if;
end
$$;

-- Why an approval no longer allows a start, or null: fewer than its quorum still count, or a role is missing.
create or replace function tenure.approval_trouble(p_approval tenure.approvals) returns text
language plpgsql
as $$
declare
  v_vote    tenure.approval_votes;
  v_one     record;
  v_given   integer := 0;
  v_roles   text[] := '{}';
  v_trouble text;
begin
  for v_vote in
    select v.*
      from tenure.approval_votes v
     where v.approval_id = p_approval.approval_id
       and v.decision = 'approve'
     order by v.at, v.principal
  loop
    v_one := tenure.vote_trouble(p_approval, v_vote);
    if v_one.trouble = 'busy' then
      return 'busy';
    elsif v_one.trouble is not null then
      v_trouble := coalesce(v_trouble, v_one.trouble);
    else
      v_given := v_given + 1;
      v_roles := v_roles || v_one.roles;
    end if;
  end loop;
  if v_given < p_approval.quorum then
    return coalesce(v_trouble, 'A vote is missing.');
  elsif not p_approval.roles <@ v_roles then
    return coalesce(v_trouble, format('Its approvers no longer have the roles: %s.',
      array_to_string(array(select r from unnest(p_approval.roles) r where r <> all (v_roles)), ', ')));
  end if;
  return null;
end
$$;

-- Whether the approval of an execution allows its start: 'stands'; 'busy', check again soon; or 'gone', and
-- the execution is called off as approval_lapsed or approver_revoked. The caller holds the execution.
create or replace function tenure.execution_approval_stands(
  p_now timestamptz, p_execution tenure.execution_rows) returns text
language plpgsql
as $$
declare
  v_approval tenure.approvals;
  v_trouble  text;
begin
  -- A rule of level 0 has no approver.
  if p_execution.approval_level = 0 then
    return 'stands';
  end if;
  if p_execution.lapses_at <= p_now then
    perform tenure.execution_end_unstarted(p_now, 'policy', p_execution.execution_id, 'approval_lapsed',
      format('It was approved at %s and had to start before %s (approvals.start_within_hours).',
        p_execution.approved_at, p_execution.lapses_at));
    return 'gone';
  end if;
  select a.* into v_approval
    from tenure.approvals a
   where a.execution_id = p_execution.execution_id
     and a.step_number is null
     and a.state = 'approved'
     and a.consumed_at is null;
  if not found then
    -- The trigger of the table refuses the start.
    return 'stands';
  end if;
  v_trouble := tenure.approval_trouble(v_approval);
  if v_trouble is null then
    return 'stands';
  elsif v_trouble = 'busy' then
    return 'busy';
  end if;
  perform tenure.execution_end_unstarted(p_now, 'policy', p_execution.execution_id, 'approver_revoked',
    v_trouble || ' The approval no longer counts.');
  return 'gone';
end
$$;

-- Withdraws approvals of single steps that no longer count: the step requests another. The caller holds the
-- execution.
create or replace function tenure.step_approvals_withdraw(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], inout entries tenure.chain_entry[])
language plpgsql
as $$
declare
  v_approval tenure.approvals;
  v_trouble  text;
begin
  for v_approval in
    select a.*
      from unnest(p_execs, p_numbers) t (e, n)
      join tenure.approvals a on a.execution_id = t.e and a.step_number = t.n
     where a.state = 'approved'
       and a.consumed_at is null
     order by a.execution_id, a.step_number
  loop
    v_trouble := tenure.approval_trouble(v_approval);
    continue when v_trouble is null;
    -- The end of a job calls this, and must not wait for an admin's open transaction: the step requests anew.
    if v_trouble = 'busy' then
      v_trouble := 'The rights of an approver were being changed when the step was to start.';
    end if;
    update tenure.approvals a
       set state = 'withdrawn',
           reason = v_trouble
     where a.approval_id = v_approval.approval_id;
    entries := entries || (v_approval.execution_id, 'approval_withdrawn', v_approval.step_number,
      jsonb_build_object(
        'approval_id', v_approval.approval_id,
        'plan_hash', v_approval.plan_hash,
        'reason', v_trouble))::tenure.chain_entry;
  end loop;
end
$$;

-- Makes approved executions that have not started due for the next tick after the rights of approvers have
-- changed. p_names: whose rights; null: any. An execution that another transaction holds is passed over: its
-- start checks the rights itself.
create or replace function tenure.approvers_changed(p_now timestamptz, p_names text[]) returns void
language plpgsql
as $$
begin
  update tenure.execution_states e
     set next_at = p_now
   where e.execution_id in (
           select x.execution_id
             from tenure.execution_states x
            where x.state = 'approved'
              and (select e.approval_level
                     from tenure.executions e
                    where e.execution_id = x.execution_id) > 0
              and exists (
                    select
                      from tenure.approvals a
                      join tenure.approval_votes v on v.approval_id = a.approval_id
                     where a.execution_id = x.execution_id
                       and a.consumed_at is null
                       and (p_names is null or v.principal = any (p_names)))
              for no key update skip locked);
end
$$;
