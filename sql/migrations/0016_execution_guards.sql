-- What cannot happen to executions, whoever writes: a plan that changes, a start that nobody allowed, a decision made or used twice, a story that is lost.

-- What has happened does not change, and a plan is frozen.
create function tenure.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = 'TN014', message = format('A row of %s cannot be changed.', tg_table_name),
    detail = 'It is written once.', hint = 'Use the functions of schema tenure.';
end
$$;
create trigger plans_frozen before update on tenure.plans for each row execute function tenure.refuse_change();
create trigger execution_events_frozen before update on tenure.execution_events for each row execute function tenure.refuse_change();
create trigger approval_votes_frozen before update on tenure.approval_votes for each row execute function tenure.refuse_change();
create trigger execution_archives_frozen before update on tenure.execution_archives for each row execute function tenure.refuse_change();
create trigger step_needs_frozen before update on tenure.step_needs for each row execute function tenure.refuse_change();

-- Nor is it lost: rows go when the evidence of their execution is in the archive, and not before.
create function tenure.refuse_loss() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  if tg_table_name = 'approval_votes' then
    select a.execution_id into v_id from tenure.approvals a where a.approval_id = old.approval_id;
  else
    v_id := old.execution_id;
  end if;
  if exists (select from tenure.executions e where e.execution_id = v_id) and not exists (select from tenure.execution_archives a where a.execution_id = v_id) then
    raise exception using errcode = 'TN014', message = format('A row of %s cannot be deleted.', tg_table_name),
      detail = format('Execution %s is not archived.', v_id), hint = 'Rows go with tenure.execution_archive(execution, evidence).';
  end if;
  return old;
end
$$;
create trigger executions_kept before delete on tenure.executions for each row execute function tenure.refuse_loss();
create trigger plans_kept before delete on tenure.plans for each row execute function tenure.refuse_loss();
create trigger approval_votes_kept before delete on tenure.approval_votes for each row execute function tenure.refuse_loss();
create trigger approvals_kept before delete on tenure.approvals for each row execute function tenure.refuse_loss();
create trigger execution_events_kept before delete on tenure.execution_events for each row execute function tenure.refuse_loss();

-- The legal moves of an execution, and of a step.
create function tenure.execution_moves() returns table (from_state text, to_state text)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  values ('pending', 'awaiting_approval'), ('pending', 'approved'), ('pending', 'cancelled'),
         ('awaiting_approval', 'approved'), ('awaiting_approval', 'rejected'), ('awaiting_approval', 'cancelled'),
         ('approved', 'running'), ('approved', 'cancelled'),
         ('running', 'succeeded'), ('running', 'partially_failed'), ('running', 'failed'), ('running', 'cancelled')
$$;

create function tenure.executions_move() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'INSERT' then
    raise exception using errcode = 'TN014', message = format('Execution %s cannot begin as %s.', new.execution_id, new.state),
      detail = 'Every execution begins as pending.', hint = 'Submit it: tenure.execution_submit(plan).';
  end if;
  if (old.execution_id, old.tenant_id, old.purpose, old.plan_hash, old.idempotency_key, old.requested_by, old.approval_level, old.step_count, old.created_at, old.rule)
     is distinct from (new.execution_id, new.tenant_id, new.purpose, new.plan_hash, new.idempotency_key, new.requested_by, new.approval_level, new.step_count, new.created_at, new.rule) then
    raise exception using errcode = 'TN014', message = format('What execution %s is cannot be changed.', old.execution_id),
      detail = 'Its plan was frozen when it was submitted.', hint = 'Submit another plan that supersedes it.';
  end if;
  if not exists (select from tenure.execution_moves() m where m.from_state = old.state and m.to_state = new.state) then
    raise exception using errcode = 'TN014', message = format('Execution %s is %s and cannot become %s.', old.execution_id, old.state, new.state),
      detail = format('From %s it goes to: %s.', old.state, coalesce((select string_agg(m.to_state, ', ') from tenure.execution_moves() m where m.from_state = old.state), 'nothing, it is over')),
      hint = 'See its timeline: tenure.execution_timeline(execution).';
  end if;
  -- Whoever starts it, by whatever way: the decision about this very plan is used up with it.
  if new.state = 'running' and not exists (
       select from tenure.approvals a
        where a.execution_id = new.execution_id and a.step_number is null and a.plan_hash = new.plan_hash and a.state = 'approved' and a.consumed_at = new.started_at
          and a.level >= new.approval_level) then
    raise exception using errcode = 'TN014', message = format('Execution %s cannot start without its approval.', old.execution_id),
      detail = format('No approval of its plan %s is used up by this start.', new.plan_hash), hint = 'Have it approved: tenure.approval_list().';
  end if;
  return new;
end
$$;
-- It costs nothing where a move is legal.
create trigger executions_move before update on tenure.executions for each row
  when ((old.state <> new.state and (new.state = 'running' or (old.state, new.state) not in (('pending', 'awaiting_approval'), ('pending', 'approved'), ('pending', 'cancelled'),
      ('awaiting_approval', 'approved'), ('awaiting_approval', 'rejected'), ('awaiting_approval', 'cancelled'), ('approved', 'cancelled'),
      ('running', 'succeeded'), ('running', 'partially_failed'), ('running', 'failed'), ('running', 'cancelled'))))
    or old.plan_hash <> new.plan_hash or old.requested_by <> new.requested_by or old.idempotency_key <> new.idempotency_key
    or old.approval_level <> new.approval_level or old.purpose <> new.purpose or old.tenant_id <> new.tenant_id or old.step_count <> new.step_count or old.execution_id <> new.execution_id
    or old.rule <> new.rule or old.created_at <> new.created_at) execute function tenure.executions_move();
create trigger executions_begin before insert on tenure.executions for each row when (new.state <> 'pending') execute function tenure.executions_move();

-- A decision is made once, and used up once. One of people is theirs: as many votes about this very plan stand behind it as it asks for.
create function tenure.approvals_move() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.state = 'approved' and not new.auto_approved and (
       select count(*) from tenure.approval_votes v where v.approval_id = new.approval_id and v.decision = 'approve' and v.plan_hash = new.plan_hash) < new.quorum then
    raise exception using errcode = 'TN014', message = format('Approval %s cannot be approved.', new.approval_id),
      detail = format('It takes %s votes for the plan %s.', new.quorum, new.plan_hash), hint = 'Have it decided: tenure.approval_decide(approval, decision, hash).';
  end if;
  if tg_op = 'INSERT' then
    return new;
  end if;
  if old.state <> 'pending' and (new.state <> old.state and not (old.state = 'approved' and new.state = 'withdrawn' and old.consumed_at is null)) or old.consumed_at is not null
     or (old.execution_id, old.plan_hash, old.plan_snapshot_hash, old.level, old.roles, old.quorum, old.rule, old.step_number, old.auto_approved)
        is distinct from (new.execution_id, new.plan_hash, new.plan_snapshot_hash, new.level, new.roles, new.quorum, new.rule, new.step_number, new.auto_approved) then
    raise exception using errcode = 'TN014', message = format('Approval %s is %s and cannot be changed.', old.approval_id, case when old.consumed_at is null then old.state else 'used up' end),
      detail = 'A decision is made once, about one plan, and allows one start.', hint = 'Ask for another approval: submit the plan again.';
  end if;
  return new;
end
$$;
create trigger approvals_move before insert or update on tenure.approvals for each row execute function tenure.approvals_move();

-- Whatever way a vote comes: it is about a pending approval, about its hash, and not of whoever asked.
create function tenure.approval_votes_check() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
       select from tenure.approvals a join tenure.executions e on e.execution_id = a.execution_id
        where a.approval_id = new.approval_id and a.state = 'pending' and a.plan_hash = new.plan_hash
          and new.principal <> e.requested_by and new.principal is distinct from e.on_behalf_of) then
    raise exception using errcode = 'TN014', message = format('%s cannot vote about approval %s.', new.principal, new.approval_id),
      detail = 'It is decided, or about another plan, or one of their own.', hint = 'Decide by tenure.approval_decide(approval, decision, hash).';
  end if;
  return new;
end
$$;
create trigger approval_votes_check before insert on tenure.approval_votes for each row execute function tenure.approval_votes_check();

-- Each tenant sees its own; the defaults of the timeouts are everybody's.
alter table tenure.executions enable row level security, force row level security;
alter table tenure.plans enable row level security, force row level security;
alter table tenure.steps enable row level security, force row level security;
alter table tenure.step_needs enable row level security, force row level security;
alter table tenure.approvals enable row level security, force row level security;
alter table tenure.approval_votes enable row level security, force row level security;
alter table tenure.approval_rules enable row level security, force row level security;
alter table tenure.lock_targets enable row level security, force row level security;
alter table tenure.locks enable row level security, force row level security;
alter table tenure.freezes enable row level security, force row level security;
alter table tenure.execution_events enable row level security, force row level security;
alter table tenure.step_marks enable row level security, force row level security;
alter table tenure.execution_dead_letters enable row level security, force row level security;
alter table tenure.execution_archives enable row level security, force row level security;
alter table tenure.timeout_policies enable row level security, force row level security;
create policy own_tenant on tenure.executions using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.plans using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.steps using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.step_needs using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.approvals using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.approval_votes using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.approval_rules using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.lock_targets using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.locks using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.freezes using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.execution_events using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.step_marks using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.execution_dead_letters using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.execution_archives using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.timeout_policies using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()) or tenant_id = 0)
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
alter table tenure.evidence_keys enable row level security, force row level security;
create policy owner_sees_all on tenure.evidence_keys for all to tenure_owner using (true) with check (true);
