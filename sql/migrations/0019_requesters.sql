-- Who stands behind an execution is written down with it. It was read from the executions that it retries, and those are archived: then who had asked first could have approved.
-- So is who stands behind a key and a binding: whoever made one could use it, and would be another.

alter table tenure.executions add column requesters text[] not null default '{}';
comment on column tenure.executions.requesters is 'Who asked for it, on whose behalf, and whoever asked for those that it retries: none of them decides about it.';

-- What is archived already still says who asked. Without the wall: every tenant has some.
alter table tenure.execution_archives no force row level security;
with recursive runs (execution_id, requested_by, on_behalf_of, retry_of) as (
  select e.execution_id, e.requested_by, e.on_behalf_of, e.retry_of from tenure.executions e
  union all
  select r.execution_id, p.requested_by, p.on_behalf_of, p.retry_of
    from runs r
    cross join lateral (
      select e.requested_by, e.on_behalf_of, e.retry_of from tenure.executions e where e.execution_id = r.retry_of
      union all
      select a.requested_by, l.line ->> 'on_behalf_of', (l.line ->> 'retry_of')::uuid
        from tenure.execution_archives a
        -- The third line of evidence is the execution as it was.
        left join lateral (select t.line::jsonb as line from string_to_table(a.evidence, E'\n') with ordinality t (line, n) where t.n = 3) l on true
       where a.execution_id = r.retry_of) p
)
update tenure.executions e set requesters = w.names
  from (select r.execution_id, array_agg(distinct n.name order by n.name) as names
          from runs r cross join lateral unnest(array[r.requested_by, r.on_behalf_of]) n (name)
         where n.name is not null
         group by r.execution_id) w
 where w.execution_id = e.execution_id;
alter table tenure.execution_archives force row level security;

-- What it is: as before, and nobody who asked is missing.
create or replace function tenure.executions_shape() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  -- As a check has it: what is not known is not wrong.
  v_wrong text := case
    when new.purpose !~ '\S' then 'purpose'
    when new.plan_hash !~ '^[0-9a-f]{64}$' then 'plan_hash'
    when new.idempotency_key !~ '\S' or length(new.idempotency_key) > 255 then 'idempotency_key'
    when new.key_origin not in ('given', 'derived') then 'key_origin'
    when new.sla_class not in ('fast', 'medium', 'long') then 'sla_class'
    when new.action_class not in ('read', 'modify', 'deploy') then 'action_class'
    when new.mode not in ('immediate', 'background') then 'mode'
    when new.on_step_failure not in ('stop', 'continue') then 'on_step_failure'
    when new.approval_level not between 0 and 3 then 'approval_level'
    when new.rule !~ '\S' then 'rule'
    when new.runbook_ref !~ '\S' or (new.approval_level >= 2 and new.runbook_ref is null) then 'runbook_ref'
    when new.requested_by !~ '\S' then 'requested_by'
    when not array_remove(array[new.requested_by, new.on_behalf_of], null) <@ new.requesters then 'requesters'
    when not isfinite(new.start_after) then 'start_after'
    when not isfinite(new.start_before) or new.start_before <= new.start_after then 'start_before'
    when new.plan_size_bytes < 1 then 'plan_size_bytes'
    when new.target_count < 1 then 'target_count'
    when new.timeout_ms < 1 then 'timeout_ms'
    when jsonb_typeof(new.metadata) <> 'object' then 'metadata'
  end;
begin
  if v_wrong is not null then
    raise exception using errcode = 'check_violation', schema = 'tenure', table = 'executions', column = v_wrong, constraint = 'executions_shape',
      message = format('The %s of execution %s cannot be so.', v_wrong, new.execution_id), detail = 'It is not among the values it may have.', hint = 'Submit a plan: tenure.execution_submit(plan).';
  end if;
  return new;
end
$$;
drop trigger executions_shape on tenure.executions;
create trigger executions_shape after insert or update of
    purpose, plan_hash, idempotency_key, key_origin, sla_class, action_class, mode, on_step_failure, approval_level, rule, runbook_ref, requested_by, on_behalf_of, requesters, start_after, start_before,
    plan_size_bytes, step_count, target_count, timeout_ms, metadata
  on tenure.executions for each row execute function tenure.executions_shape();

-- As before, and who stands behind it does not change.
create or replace function tenure.executions_move() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'INSERT' then
    raise exception using errcode = 'TN014', message = format('Execution %s cannot begin as %s.', new.execution_id, new.state),
      detail = 'Every execution begins as pending.', hint = 'Submit it: tenure.execution_submit(plan).';
  end if;
  if (old.execution_id, old.tenant_id, old.purpose, old.plan_hash, old.idempotency_key, old.requested_by, old.requesters, old.approval_level, old.step_count, old.created_at, old.rule)
     is distinct from (new.execution_id, new.tenant_id, new.purpose, new.plan_hash, new.idempotency_key, new.requested_by, new.requesters, new.approval_level, new.step_count, new.created_at, new.rule) then
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
drop trigger executions_move on tenure.executions;
create trigger executions_move after update of execution_id, tenant_id, purpose, plan_hash, idempotency_key, state, approval_level, rule, requested_by, requesters, step_count, created_at on tenure.executions
  for each row
  when ((old.state <> new.state and (new.state = 'running' or (old.state, new.state) not in (('pending', 'awaiting_approval'), ('pending', 'approved'), ('pending', 'cancelled'),
      ('awaiting_approval', 'approved'), ('awaiting_approval', 'rejected'), ('awaiting_approval', 'cancelled'), ('approved', 'cancelled'),
      ('running', 'succeeded'), ('running', 'partially_failed'), ('running', 'failed'), ('running', 'cancelled'))))
    or old.plan_hash <> new.plan_hash or old.requested_by <> new.requested_by or old.requesters <> new.requesters or old.idempotency_key <> new.idempotency_key
    or old.approval_level <> new.approval_level or old.purpose <> new.purpose or old.tenant_id <> new.tenant_id or old.step_count <> new.step_count or old.execution_id <> new.execution_id
    or old.rule <> new.rule or old.created_at <> new.created_at) execute function tenure.executions_move();

-- A trusted login is nobody: it could act as anybody, and needs no key for that. Who made what a maker came with is not known of those that stand.
alter table tenure.keys add column makers text[] not null default '{}';
alter table tenure.logins add column makers text[] not null default '{}';
alter table tenure.approval_votes add column auth_makers text[] not null default '{}';
comment on column tenure.keys.makers is 'Who made it, and whoever made the key or bound the login by which they came: nobody decides by it about a plan of theirs.';
comment on column tenure.logins.makers is 'Who bound it, and whoever made the key or bound the login by which they came: nobody decides by it about a plan of theirs.';
comment on column tenure.approval_votes.auth_makers is 'Who had made the key, or bound the login, by which they came.';
update tenure.keys k set makers = array[k.created_by]
 where not exists (select from pg_catalog.pg_roles r where r.rolname = k.created_by and (pg_has_role(r.oid, 'tenure_server', 'member') or pg_has_role(r.oid, 'tenure_owner', 'member')));
update tenure.logins l set makers = array[l.bound_by]
 where l.login <> '*'
   and not exists (select from pg_catalog.pg_roles r where r.rolname = l.bound_by and (pg_has_role(r.oid, 'tenure_server', 'member') or pg_has_role(r.oid, 'tenure_owner', 'member')));

-- Whatever way a vote comes: it is about a pending approval, about its hash, and neither of somebody who stands behind the plan nor by what one of them made. Nor does anybody approve twice by such means.
create or replace function tenure.approval_votes_check() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
       select from tenure.approvals a join tenure.executions e on e.execution_id = a.execution_id
        where a.approval_id = new.approval_id and a.state = 'pending' and a.plan_hash = new.plan_hash
          and not e.requesters && array[new.principal, new.on_behalf_of] and not e.requesters && new.auth_makers)
     or exists (
       select from tenure.approval_votes v
        where v.approval_id = new.approval_id and v.principal <> new.principal
          and (array[v.principal, v.on_behalf_of] && array[new.principal, new.on_behalf_of]
            or (new.decision = 'approve' and (v.auth_makers && array[new.principal, new.on_behalf_of] or new.auth_makers && array[v.principal, v.on_behalf_of])))) then
    raise exception using errcode = 'TN014', message = format('%s cannot vote about approval %s.', new.principal, new.approval_id),
      detail = 'It is decided, or about another plan, or one of their own; or they stand behind another vote about it.', hint = 'Decide by tenure.approval_decide(approval, decision, hash).';
  end if;
  return new;
end
$$;
