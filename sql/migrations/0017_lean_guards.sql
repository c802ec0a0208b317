-- What an execution and a step may look like is asked when that changes, not whenever one of them goes on. PostgreSQL reads every check of a table anew for each statement and
-- asks all of them for each row: eighty of them, regular expressions among them, cost more than the step they watched over. None is given up: what moves with every step keeps one
-- check; the others are asked by a trigger when a row is made and when their columns are written. After it, not before: a trigger before an update locks each row and computes what is generated anew,
-- whatever was written.

-- Every step that goes on reads and writes these, and each forced policy asks twice who is calling, in each statement. Their functions filter by tenant themselves, as those of the other hot tables do;
-- whoever reads stays behind the wall.
alter table tenure.executions no force row level security;
alter table tenure.steps no force row level security;
alter table tenure.step_needs no force row level security;
alter table tenure.execution_events no force row level security;
alter table tenure.locks no force row level security;
alter table tenure.lock_targets no force row level security;
alter table tenure.step_marks no force row level security;

alter table tenure.executions
  drop constraint executions_action_class_check, drop constraint executions_approval_level_check, drop constraint executions_chain_hash_check, drop constraint executions_chain_length_check,
  drop constraint executions_check, drop constraint executions_check1, drop constraint executions_check2, drop constraint executions_check3, drop constraint executions_check4,
  drop constraint executions_check5, drop constraint executions_check6, drop constraint executions_check7, drop constraint executions_check8, drop constraint executions_check9,
  drop constraint executions_check10, drop constraint executions_check11, drop constraint executions_check12, drop constraint executions_check13, drop constraint executions_error_class_check,
  drop constraint executions_error_message_check, drop constraint executions_idempotency_key_check, drop constraint executions_key_origin_check, drop constraint executions_last_transition_by_check,
  drop constraint executions_metadata_check, drop constraint executions_mode_check, drop constraint executions_on_step_failure_check, drop constraint executions_parked_check,
  drop constraint executions_plan_hash_check, drop constraint executions_plan_size_bytes_check, drop constraint executions_purpose_check, drop constraint executions_reason_code_check,
  drop constraint executions_requested_by_check, drop constraint executions_result_summary_check, drop constraint executions_retries_total_check, drop constraint executions_rule_check,
  drop constraint executions_runbook_ref_check, drop constraint executions_sla_class_check, drop constraint executions_start_after_check, drop constraint executions_start_before_check,
  drop constraint executions_state_check, drop constraint executions_step_count_check, drop constraint executions_steps_cancelled_check, drop constraint executions_steps_failed_check,
  drop constraint executions_steps_open_check, drop constraint executions_steps_skipped_check, drop constraint executions_steps_succeeded_check, drop constraint executions_steps_unknown_check,
  drop constraint executions_stopped_by_check, drop constraint executions_stopping_check, drop constraint executions_target_count_check, drop constraint executions_timeout_ms_check;

alter table tenure.executions
  add constraint executions_counts check (
    step_count > 0 and steps_open + steps_succeeded + steps_failed + steps_cancelled + steps_skipped = step_count and least(steps_succeeded, steps_failed, steps_cancelled, steps_skipped, steps_unknown, retries_total) >= 0
    and steps_open >= steps_unknown and (ended_at is null or steps_open = 0) and (state <> 'succeeded' or steps_succeeded = step_count) and chain_length >= 0 and octet_length(chain_hash) = 32);
-- Whether a step of it takes a lock: if none does, nobody has to look for targets when it goes on.
alter table tenure.executions add column takes_locks boolean not null default true;
update tenure.executions e set takes_locks = exists (select from tenure.steps s where s.execution_id = e.execution_id and s.lock_target is not null);

-- What it is.
create function tenure.executions_shape() returns trigger
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
create trigger executions_shape after insert or update of
    purpose, plan_hash, idempotency_key, key_origin, sla_class, action_class, mode, on_step_failure, approval_level, rule, runbook_ref, requested_by, start_after, start_before, plan_size_bytes, step_count,
    target_count, timeout_ms, metadata
  on tenure.executions for each row execute function tenure.executions_shape();

-- How it stands. Asked after the move itself, by its name: whether it may move comes first.
create function tenure.executions_stand() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text := case
    when new.state not in ('pending', 'awaiting_approval', 'approved', 'running', 'succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected') then 'state'
    when new.parked not in ('window', 'freeze') or (new.parked is not null and new.state <> 'approved') then 'parked'
    when new.stopping not in ('step_failed', 'cancelled', 'timed_out') then 'stopping'
    when new.stopped_by !~ '\S' then 'stopped_by'
    when new.reason_code !~ '\S' then 'reason_code'
    when new.last_transition_by !~ '\S' then 'last_transition_by'
    when length(new.error_class) > 200 then 'error_class'
    when octet_length(new.error_message) > 4000 then 'error_message'
    when octet_length(new.result_summary::text) > 10240 then 'result_summary'
    when new.started_at < new.created_at or (new.started_at is null) = (new.state in ('running', 'succeeded', 'partially_failed', 'failed')) and new.state <> 'cancelled' then 'started_at'
    when new.ended_at < coalesce(new.started_at, new.created_at)
      or (new.ended_at is null) = (new.state in ('succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected')) then 'ended_at'
    when (new.cancelled_at is null) = (new.state = 'cancelled') or (new.cancelled_at is null) <> (new.cancelled_by is null) then 'cancelled_at'
  end;
begin
  if v_wrong is not null then
    raise exception using errcode = 'check_violation', schema = 'tenure', table = 'executions', column = v_wrong, constraint = 'executions_stand',
      message = format('The %s of execution %s cannot be so while it is %s.', v_wrong, new.execution_id, new.state), detail = 'It is not among the values it may have, or does not go with the state.',
      hint = 'Executions change by the functions of the schema.';
  end if;
  return new;
end
$$;
create trigger executions_stand after insert or update of
    state, parked, stopping, stopped_by, reason_code, last_transition_by, error_class, error_message, result_summary, created_at, started_at, ended_at, cancelled_at, cancelled_by
  on tenure.executions for each row execute function tenure.executions_stand();

-- Asked where one of these columns is written; it costs nothing where a move is legal, and other writes pay nothing for it.
drop trigger executions_move on tenure.executions;
create trigger executions_move after update of execution_id, tenant_id, purpose, plan_hash, idempotency_key, state, approval_level, rule, requested_by, step_count, created_at on tenure.executions
  for each row
  when ((old.state <> new.state and (new.state = 'running' or (old.state, new.state) not in (('pending', 'awaiting_approval'), ('pending', 'approved'), ('pending', 'cancelled'),
      ('awaiting_approval', 'approved'), ('awaiting_approval', 'rejected'), ('awaiting_approval', 'cancelled'), ('approved', 'cancelled'),
      ('running', 'succeeded'), ('running', 'partially_failed'), ('running', 'failed'), ('running', 'cancelled'))))
    or old.plan_hash <> new.plan_hash or old.requested_by <> new.requested_by or old.idempotency_key <> new.idempotency_key
    or old.approval_level <> new.approval_level or old.purpose <> new.purpose or old.tenant_id <> new.tenant_id or old.step_count <> new.step_count or old.execution_id <> new.execution_id
    or old.rule <> new.rule or old.created_at <> new.created_at) execute function tenure.executions_move();

alter table tenure.steps
  drop constraint steps_action_check, drop constraint steps_action_class_check, drop constraint steps_approval_level_check, drop constraint steps_approval_quorum_check,
  drop constraint steps_approval_seconds_check, drop constraint steps_attempt_check, drop constraint steps_attempts_max_check, drop constraint steps_check, drop constraint steps_check1,
  drop constraint steps_check2, drop constraint steps_check3, drop constraint steps_check4, drop constraint steps_check5, drop constraint steps_dispatches_check, drop constraint steps_effects_check,
  drop constraint steps_error_message_check, drop constraint steps_lease_seconds_check, drop constraint steps_needs_left_check, drop constraint steps_output_ref_check,
  drop constraint steps_output_size_bytes_check, drop constraint steps_output_summary_check, drop constraint steps_payload_check, drop constraint steps_renewals_max_check,
  drop constraint steps_rule_check, drop constraint steps_state_check, drop constraint steps_step_id_check, drop constraint steps_step_number_check, drop constraint steps_target_ref_check,
  drop constraint steps_target_type_check, drop constraint steps_timeout_seconds_check;

alter table tenure.steps
  add constraint steps_goes_on check (
    case when state in ('waiting', 'awaiting_approval') then num_nonnulls(ended_at, blocked_order) = 0
         when state in ('running', 'unknown') then num_nonnulls(ended_at, blocked_order) = 0 and job_id is not null
         when state = 'blocked' then ended_at is null and blocked_order is not null
         else state in ('succeeded', 'failed', 'cancelled', 'skipped') and ended_at is not null and blocked_order is null end
    and least(needs_left, attempt, dispatches, output_size_bytes) >= 0 and (attempt <= attempts_max or verdict_by is not null or attempts_max is null) and ended_at >= started_at
    and octet_length(output_summary::text) <= 10240 and length(output_ref) <= 500 and octet_length(error_message) <= 4000);

-- The same, without the arithmetic of numerics.
alter table tenure.steps drop column duration_ms;
alter table tenure.steps add column duration_ms bigint generated always as (round(date_part('epoch', ended_at - started_at) * 1000000)::bigint / 1000) stored;

create function tenure.steps_shape() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text := case
    when new.step_number < 1 then 'step_number'
    when new.step_id !~ '\S' then 'step_id'
    when new.action !~ '\S' then 'action'
    when new.action_class not in ('read', 'modify', 'deploy') then 'action_class'
    when new.target_type !~ '\S' then 'target_type'
    when new.target_ref !~ '\S' then 'target_ref'
    when jsonb_typeof(new.payload) <> 'object' then 'payload'
    when new.effects not in ('idempotent', 'once') then 'effects'
    when new.attempts_max < 1 then 'attempts_max'
    when new.timeout_seconds < 1 then 'timeout_seconds'
    when new.renewals_max < 0 then 'renewals_max'
    when new.lease_seconds not between 1 and 86400 then 'lease_seconds'
    when new.approval_level not between 0 and 3 then 'approval_level'
    when new.rule !~ '\S' then 'rule'
    when new.approval_quorum not between 1 and 10 then 'approval_quorum'
    when new.approval_seconds < 1 then 'approval_seconds'
    when new.lock_target is null and new.lock_action is not null then 'lock_action'
  end;
begin
  if v_wrong is not null then
    raise exception using errcode = 'check_violation', schema = 'tenure', table = 'steps', column = v_wrong, constraint = 'steps_shape',
      message = format('The %s of step %s of execution %s cannot be so.', v_wrong, new.step_number, new.execution_id), detail = 'It is not among the values it may have.',
      hint = 'Steps are made of plans: tenure.execution_submit(plan).';
  end if;
  return new;
end
$$;
create trigger steps_shape after insert or update of
    step_number, step_id, action, action_class, target_type, target_ref, payload, effects, attempts_max, timeout_seconds, renewals_max, lease_seconds, approval_level, rule, approval_quorum,
    approval_seconds, lock_target, lock_action
  on tenure.steps for each row execute function tenure.steps_shape();

alter table tenure.execution_events drop constraint execution_events_kind_check, drop constraint execution_events_seq_check, drop constraint execution_events_hash_check;
alter table tenure.execution_events add constraint execution_events_line check (seq > 0 and kind <> '' and translate(kind, 'abcdefghijklmnopqrstuvwxyz_', '') = '' and octet_length(hash) = 32);
-- What is seldom told is looked for by its kind; that steps began and ended is looked for by their steps.
drop index tenure.execution_events_kind;
create index execution_events_kind on tenure.execution_events (tenant_id, kind, at) where kind not in ('step_started', 'step_completed');
create index execution_events_progress on tenure.execution_events (execution_id, step_number) where kind = 'step_progress';
-- What changes while a step goes on is in no index but that of its job: then its end is written beside it, and into none of them.
drop index tenure.steps_blocked, tenure.steps_target, tenure.steps_kind, tenure.steps_timed_out;
create index steps_blocked on tenure.steps (tenant_id, lock_target, priority desc, blocked_order) where blocked_order is not null;
create index steps_target on tenure.steps (tenant_id, target_type, target_ref, action);
create index steps_kind on tenure.steps (tenant_id, kind, queued_at) where queued_at is not null;
create index steps_timed_out on tenure.steps (tenant_id, execution_id) where error_code = 'timed_out';
-- By what a step needs there is one way to it, the primary key, however few rows the planner believes there are.
drop index tenure.step_needs_step;
create index step_needs_step on tenure.step_needs (step_number, execution_id);
-- The list of all, newest first.
create index executions_created on tenure.executions (tenant_id, created_at, execution_id);

-- Without a path of its own to set and to put back for each line: it calls nothing but what PostgreSQL brings, and runs as whoever calls it.
create or replace function tenure.chain_link(p_hash bytea, p_seed bytea, p_body text) returns bytea
language plpgsql immutable parallel safe
as $$
begin
  return sha256(coalesce(p_hash, p_seed) || convert_to(p_body, 'UTF8'));
end
$$;
