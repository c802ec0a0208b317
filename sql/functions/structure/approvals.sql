-- The guards of approvals and votes.

-- An approval is decided once and used up once. One that people decide has as many votes for this very plan
-- as its quorum.
create or replace function tenure.approvals_move() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.state = 'approved' and not new.auto_approved and (
       select count(*)
         from tenure.approval_votes v
        where v.approval_id = new.approval_id
          and v.decision = 'approve'
          and v.plan_hash = new.plan_hash) < new.quorum
  then
    raise exception using
      errcode = 'TN014',
      message = format('Approval %s cannot be approved.', new.approval_id),
      detail = format('It takes %s votes for the plan %s.', new.quorum, new.plan_hash),
      hint = 'Have it decided: tenure.approval_decide(approval, decision, hash).';
  end if;
  if tg_op = 'INSERT' then
    return new;
  end if;
  if old.state <> 'pending'
     and (new.state <> old.state
       and not (old.state = 'approved' and new.state = 'withdrawn' and old.consumed_at is null))
     or old.consumed_at is not null
     or (old.execution_id, old.plan_hash, old.plan_snapshot_hash, old.level, old.roles, old.quorum, old.rule,
         old.step_number, old.auto_approved)
        is distinct from (new.execution_id, new.plan_hash, new.plan_snapshot_hash, new.level, new.roles,
          new.quorum, new.rule, new.step_number, new.auto_approved)
  then
    raise exception using
      errcode = 'TN014',
      message = format('Approval %s is %s and cannot be changed.', old.approval_id,
        case when old.consumed_at is null then old.state else 'used up' end),
      detail = 'A decision is made once, about one plan, and allows one start.',
      hint = 'Ask for another approval: submit the plan again.';
  end if;
  return new;
end
$$;

-- A vote is about a pending approval and its hash. The voter, and the makers of what the voter used, must not
-- be requesters of the plan; and no principal stands behind two votes.
create or replace function tenure.approval_votes_check() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
       select from tenure.approvals a
         join tenure.executions e on e.execution_id = a.execution_id
        where a.approval_id = new.approval_id
          and a.state = 'pending'
          and a.plan_hash = new.plan_hash
          and not e.requesters && array[new.principal, new.on_behalf_of]
          and not e.requesters && new.auth_makers)
     or exists (
       select from tenure.approval_votes v
        where v.approval_id = new.approval_id
          and v.principal <> new.principal
          and (array[v.principal, v.on_behalf_of] && array[new.principal, new.on_behalf_of]
            or (new.decision = 'approve'
              and (v.auth_makers && array[new.principal, new.on_behalf_of]
                or new.auth_makers && array[v.principal, v.on_behalf_of]))))
  then
    raise exception using
      errcode = 'TN014',
      message = format('%s cannot vote about approval %s.', new.principal, new.approval_id),
      detail = 'It is decided, or about another plan, or one of their own; '
        'or they stand behind another vote about it.',
      hint = 'Decide by tenure.approval_decide(approval, decision, hash).';
  end if;
  return new;
end
$$;
