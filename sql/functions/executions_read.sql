-- Executions as they are shown.

-- Why an execution does not go on, in words: empty when it runs or is over.
create or replace function tenure.execution_waits(p_now timestamptz, p_execution tenure.executions) returns text[]
language sql stable
as $$
  select array(
    select w.words from (
      select 1 as place, format('Approval %s%s: %s of %s given%s, until %s.', a.approval_id, coalesce(' of step ' || (select s.step_id from tenure.steps s where s.execution_id = a.execution_id and s.step_number = a.step_number), ''),
               a.given, a.quorum, case when a.roles = '{}' then '' else ', by ' || array_to_string(a.roles, ' and ') end,
               least(a.expires_at, case when p_execution.started_at is null then p_execution.start_before end)) as words
        from tenure.approvals a where a.execution_id = p_execution.execution_id and a.state = 'pending'
      union all
      select 2, format('Frozen by %s: %s.', f.frozen_by, f.reason) from tenure.freezes f where p_execution.state = 'approved' and f.tenant_id = p_execution.tenant_id and f.ended_at is null and (f.until is null or f.until > p_now)
      union all
      select 3, format('Its window opens at %s.', greatest(tenure.window_opens(p_execution.start_window, p_now), p_execution.start_after)) where p_execution.parked = 'window'
      union all
      (select 4, format('Step %s waits for %s, held by %s.', s.step_id, s.lock_target, coalesce((select l.owner from tenure.locks l where l.tenant_id = s.tenant_id and l.target = s.lock_target limit 1), 'nobody just now'))
         from tenure.steps s where s.execution_id = p_execution.execution_id and s.state = 'blocked' order by s.step_number limit 10)
      union all
      (select 5, format('Step %s: nobody knows its outcome; an operator decides.', s.step_id)
         from tenure.steps s where s.execution_id = p_execution.execution_id and s.state = 'unknown' order by s.step_number limit 10)
      union all
      select 6, format('It stops (%s), and waits for steps that are under way.', p_execution.stopping) where p_execution.stopping is not null and p_execution.ended_at is null) w
     order by w.place)
$$;

-- Steps of an execution, as the plan has them, with the state of their jobs.
create or replace function tenure.step_list(p_execution_id uuid, p_state text default null)
returns table (step_number integer, step_id text, state text, action text, action_class text, target_type text, target_ref text, kind text, executor text, effects text, needs text[], approval_level integer,
               rule text, lock_key text, fence bigint, timeout_seconds integer, attempts_max integer, attempt integer, job_id uuid, job_state text, worker text, carried_from uuid, queued_at timestamptz,
               started_at timestamptz, ended_at timestamptz, duration_ms bigint, output_summary jsonb, output_ref text, output_size_bytes integer, error_code text, error_class text, error_message text,
               verdict_by text, verdict_reason text, waiting_place bigint, compensation_note text, registration text, level_min integer,
               section text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  if not exists (select from tenure.executions e where e.execution_id = p_execution_id and e.tenant_id = v_tenant) then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  if p_state is not null then
    perform tenure.check_word('value_unknown', 'state', p_state, array['waiting', 'awaiting_approval', 'blocked', 'running', 'unknown', 'succeeded', 'failed', 'cancelled', 'skipped']);
  end if;
  return query
    select s.step_number, s.step_id, s.state, s.action, s.action_class, s.target_type, s.target_ref, s.kind, s.executor, s.effects,
           array(select o.step_id from tenure.step_needs n join tenure.steps o on o.execution_id = n.execution_id and o.step_number = n.needs_number
                  where n.execution_id = s.execution_id and n.step_number = s.step_number order by o.step_number),
           s.approval_level::integer, s.rule, 'lock:v1:' || s.tenant_id || ':' || s.lock_target || case when s.lock_action = '' then '' else ':' || s.lock_action end, coalesce(tenure.fence_of(s.job_id), s.fence), s.timeout_seconds,
           s.attempts_max::integer, coalesce(h.attempt, s.attempt)::integer, s.job_id, case when s.state = 'running' then coalesce(case when h.started_at is not null then 'in_progress' when h.job_id is not null then 'leased' end, 'queued') end,
           coalesce(h.owner, s.worker), s.carried_from, s.queued_at, coalesce(s.started_at, h.started_at), s.ended_at, s.duration_ms, s.output_summary, s.output_ref, s.output_size_bytes, s.error_code, s.error_class,
           s.error_message, s.verdict_by, s.verdict_reason,
           case when s.state = 'blocked' then (select count(*) + 1 from tenure.steps w where w.tenant_id = v_tenant and w.lock_target = s.lock_target and w.blocked_order is not null
             and (w.priority > s.priority or (w.priority = s.priority and w.blocked_order < s.blocked_order))) end, s.compensation_note, s.registration, s.level_min::integer,
           s.section
      from tenure.steps s
      left join lateral (select a.job_id, a.attempt, a.started_at, l.owner from tenure.active a left join tenure.leases l on l.token = a.token and l.lane = a.lane
                          where s.state = 'running' and a.job_id = s.job_id limit 1) h on true
     where s.execution_id = p_execution_id and (p_state is null or s.state = p_state)
     order by s.step_number;
end
$$;

-- Whether nothing of an execution moves by itself any more: it is over, or waits for somebody.
create or replace function tenure.is_settled(p_execution tenure.executions) returns boolean
language plpgsql stable
as $$
begin
  return p_execution.ended_at is not null or p_execution.steps_unknown > 0 or p_execution.parked is not null
    or exists (select from tenure.approvals a where a.execution_id = p_execution.execution_id and a.state = 'pending');
end
$$;

-- Everything about one execution but its text and its story.
create or replace function tenure.execution_show(p_execution_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_row    tenure.executions;
begin
  select e.* into v_row from tenure.executions e where e.execution_id = p_execution_id and e.tenant_id = v_tenant;
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  return (to_jsonb(v_row) - array['tenant_id', 'chain_hash', 'takes_locks', 'steps_open', 'steps_succeeded', 'steps_failed', 'steps_cancelled', 'steps_skipped', 'steps_unknown'])
    || jsonb_build_object(
      'chain_hash', encode(v_row.chain_hash, 'hex'), 'plan_snapshot_hash', (select p.plan_snapshot_hash from tenure.plans p where p.execution_id = p_execution_id),
      'timed_out', coalesce(v_row.reason_code = 'timed_out', false), 'requested_by_email', (select p.email from tenure.principals p where p.tenant_id = v_tenant and p.name = v_row.requested_by),
      'counts', (select jsonb_object_agg(x.state, coalesce(c.n, 0)) from unnest(array['waiting', 'awaiting_approval', 'blocked', 'running', 'unknown', 'succeeded', 'failed', 'cancelled', 'skipped']) x (state)
                   left join (select s.state, count(*) as n from tenure.steps s where s.execution_id = p_execution_id group by s.state) c on c.state = x.state),
      'steps', (select coalesce(jsonb_agg(to_jsonb(s) order by s.step_number), '[]') from tenure.step_list(p_execution_id) s),
      'sections', tenure.sections_shown(p_execution_id),
      'approvals', (select coalesce(jsonb_agg(to_jsonb(a) || jsonb_build_object('votes', (select coalesce(jsonb_agg(to_jsonb(v) order by v.at), '[]') from tenure.approval_votes_of(a.approval_id) v)) order by a.created_at, a.approval_id), '[]')
                      from tenure.approval_list(p_execution_id, null, 1000) a),
      'waiting_for', to_jsonb(tenure.execution_waits(tenure.now(), v_row)), 'settled', tenure.is_settled(v_row));
end
$$;

-- Whether a payload in the plan is restricted.
create or replace function tenure.is_plan_restricted(p_execution_id uuid) returns boolean
language sql stable
as $$
  select exists (
    select from tenure.steps s
     where s.execution_id = p_execution_id
       and s.payload_classification = 'restricted'
       and s.payload <> '{}')
$$;

-- Whether the caller may read a plan with a restricted payload: requesters and approvers see what they ask
-- for and decide about, others only with the right to see payloads.
create or replace function tenure.may_read_plan(p_caller tenure.caller_identity, p_execution_id uuid)
returns boolean
language plpgsql stable
as $$
begin
  return tenure.may_see('restricted')
    or tenure.acts_as('tenure_approver')
    or exists (
      select from tenure.executions e
       where e.execution_id = p_execution_id and p_caller.principal = any (e.requesters));
end
$$;

-- The frozen text.
create or replace function tenure.execution_plan(p_execution_id uuid) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_plan   text;
begin
  select p.plan into v_plan from tenure.plans p where p.execution_id = p_execution_id and p.tenant_id = v_caller.tenant_id;
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  if tenure.is_plan_restricted(p_execution_id) and not tenure.may_read_plan(v_caller, p_execution_id) then
    perform tenure.refuse('not_permitted',
      format('The plan of execution %s has a restricted payload.', p_execution_id),
      'An action of it is registered with payload_restricted; its requesters, approvers and admins read the plan.',
      'Use a key with restricted payload access.');
  end if;
  return v_plan;
end
$$;

-- Executions of the tenant, newest first. p_target: type:ref or type:ref:action, as in a lock. p_before: the id of the last one seen.
create or replace function tenure.execution_list(p_state text default null, p_requested_by text default null, p_target text default null, p_before uuid default null, p_limit integer default 50)
returns table (execution_id uuid, state text, purpose text, requested_by text, plan_hash text, sla_class text, action_class text, mode text, priority integer, approval_level integer, rule text, parked text,
               stopping text, reason_code text, generator text, correlation_id text, step_count integer, steps_open integer, steps_succeeded integer, steps_failed integer, steps_skipped integer,
               steps_cancelled integer, steps_unknown integer, created_at timestamptz, started_at timestamptz, ended_at timestamptz, queue_wait_ms bigint, duration_ms bigint, error_message text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_read   record;
  v_type   text;
  v_action text;
  v_ref    text;
  v_fold   boolean := false;
  v_ids    uuid[];
  v_before timestamptz;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_word('state_unknown', 'state', p_state, array['pending', 'awaiting_approval', 'approved', 'running', 'succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected']);
  end if;
  if p_before is not null then
    select b.created_at into v_before from tenure.executions b where b.execution_id = p_before and b.tenant_id = v_tenant;
    if not found then
      perform tenure.refuse_execution(p_before);
    end if;
  end if;
  if p_target is not null then
    v_read := tenure.lock_read(p_target);
    v_ref := replace(replace(split_part(v_read.target, ':', 2), '%3A', ':'), '%25', '%');
    v_type := split_part(v_read.target, ':', 1);
    v_action := v_read.action;
    v_fold := exists (select from tenure.target_types t
                       where t.tenant_id = v_tenant and t.name = v_type and t.case_rule = 'lower');
    -- Few are named one by one. Of a target with a long history the newest are met soon, going back from the newest of all.
    v_ids := array(
      select s.execution_id from tenure.steps s
       where s.tenant_id = v_tenant and s.target_type = v_type
         and (s.target_ref = v_ref or (v_fold and lower(s.target_ref collate "C") = v_ref)) and (v_action = '' or s.action = v_action) limit tenure.limit_of('list_rows_max') + 1);
    if cardinality(v_ids) > tenure.limit_of('list_rows_max') then
      v_ids := null;
    end if;
  end if;
  return query
    select e.execution_id, e.state, e.purpose, e.requested_by, e.plan_hash, e.sla_class, e.action_class, e.mode, e.priority::integer, e.approval_level::integer, e.rule, e.parked, e.stopping, e.reason_code,
           e.generator, e.correlation_id, e.step_count, e.steps_open, e.steps_succeeded, e.steps_failed, e.steps_skipped, e.steps_cancelled, e.steps_unknown, e.created_at, e.started_at, e.ended_at,
           e.queue_wait_ms, e.duration_ms, e.error_message
      from tenure.executions e
     where e.tenant_id = v_tenant and (p_state is null or e.state = p_state) and (p_requested_by is null or e.requested_by = p_requested_by)
       and (p_before is null or (e.created_at, e.execution_id) < (v_before, p_before))
       and (p_target is null or v_ids is null or e.execution_id = any (v_ids))
       and (p_target is null or v_ids is not null or exists (
         select from tenure.steps s where s.execution_id = e.execution_id and s.target_type = v_type
           and (s.target_ref = v_ref or (v_fold and lower(s.target_ref collate "C") = v_ref)) and (v_action = '' or s.action = v_action)))
     order by e.created_at desc, e.execution_id desc limit p_limit;
end
$$;

-- The story of one execution, oldest first.
create or replace function tenure.execution_timeline(p_execution_id uuid, p_after integer default 0, p_limit integer default 1000)
returns table (seq integer, at timestamptz, kind text, actor text, step_id text, data jsonb, hash text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if not exists (select from tenure.executions e where e.execution_id = p_execution_id and e.tenant_id = tenure.current_tenant()) then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  return query
    select v.seq, v.at, v.kind, b.body ->> 'actor', b.body ->> 'step', (b.body -> 'data') - 'record', encode(v.hash, 'hex')
      from tenure.execution_events v cross join lateral (select v.body::jsonb as body) b
     where v.execution_id = p_execution_id and v.seq > p_after order by v.seq limit p_limit;
end
$$;

create or replace function tenure.execution_difference(p_execution_id uuid, p_other_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return tenure.plan_difference(tenure.execution_plan(p_execution_id)::jsonb, tenure.execution_plan(p_other_id)::jsonb);
end
$$;

-- Which of these executions are settled: over, or such that they wait for somebody. A server asks for all tenants at once.
create or replace function tenure.execution_ended(p_execution_ids uuid[]) returns table (execution_id uuid, state text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  if cardinality(p_execution_ids) > tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch names %s executions.', cardinality(p_execution_ids)), format('A batch has at most %s (batch_rows_max).', tenure.limit_of('batch_rows_max')),
      'Split it.');
  end if;
  return query
    select e.execution_id, e.state from tenure.executions e
     where e.execution_id = any (p_execution_ids) and (e.tenant_id = v_caller.tenant_id or v_caller.scope = 'every') and tenure.is_settled(e);
end
$$;

-- Executions that failed, of the last days, newest first.
create or replace function tenure.execution_dead_letter_list(p_days integer default 7, p_triage_status text default null, p_limit integer default 50)
returns table (execution_id uuid, purpose text, plan_hash text, attempt_count integer, last_error text, failed_at timestamptz, triage_status text, triage_note text, triaged_at timestamptz, triaged_by text, retried_as uuid)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := tenure.now();
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  perform tenure.check_number('The days', p_days, 1, 3650);
  if p_triage_status is not null then
    perform tenure.check_word('value_unknown', 'triage status', p_triage_status, array['pending', 'acknowledged', 'manual_replay', 'escalated', 'closed']);
  end if;
  return query
    select d.execution_id, d.purpose, d.plan_hash, d.attempt_count, d.last_error, d.failed_at, d.triage_status, d.triage_note, d.triaged_at, d.triaged_by, d.retried_as
      from tenure.execution_dead_letters d
     where d.tenant_id = tenure.current_tenant() and d.failed_at > v_now - make_interval(days => p_days) and (p_triage_status is null or d.triage_status = p_triage_status)
     order by d.failed_at desc, d.execution_id limit p_limit;
end
$$;

create or replace function tenure.refuse_execution_letter(p_execution_id uuid) returns void
language sql
as $$
  select tenure.refuse('dead_letter_not_found', format('There is no dead letter of execution %s.', coalesce(p_execution_id::text, 'without an id')), 'It did not fail, belongs to another tenant, or was closed so long ago that it is removed (retention.dead_letters_days).',
    'Look through tenure.execution_dead_letter_list().')
$$;

create or replace function tenure.execution_dead_letter_show(p_execution_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_row    tenure.execution_dead_letters;
begin
  select d.* into v_row from tenure.execution_dead_letters d
   where d.execution_id = p_execution_id and d.tenant_id = v_caller.tenant_id;
  if not found then
    perform tenure.refuse_execution_letter(p_execution_id);
  end if;
  if v_row.plan_restricted and not tenure.may_read_plan(v_caller, p_execution_id) then
    v_row.plan := null;
  end if;
  return to_jsonb(v_row) - 'tenant_id';
end
$$;

create or replace function tenure.execution_dead_letter_triage(p_execution_id uuid, p_status text, p_note text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_row    tenure.execution_dead_letters;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_word('value_unknown', 'triage status', p_status, array['acknowledged', 'manual_replay', 'escalated', 'closed']);
  select d.* into v_row from tenure.execution_dead_letters d where d.execution_id = p_execution_id and d.tenant_id = v_caller.tenant_id for no key update;
  if not found then
    perform tenure.refuse_execution_letter(p_execution_id);
  end if;
  if v_row.retried_as is not null then
    perform tenure.refuse('already_replayed', format('Execution %s was retried as %s.', p_execution_id, v_row.retried_as), 'Its story goes on there.', 'Look at that execution.');
  end if;
  if p_status = 'closed' and exists (select from tenure.executions e where e.execution_id = p_execution_id and e.tenant_id = v_caller.tenant_id and e.state = 'partially_failed' and e.key_held) then
    perform tenure.refuse('state_conflict', format('Execution %s is partially failed and has its key yet.', p_execution_id), 'With its letter closed nobody would see that, and the key would stay taken.',
      format('Close the execution, and its letter with it: tenure.execution_close(%L, reason).',
        p_execution_id));
  end if;
  update tenure.execution_dead_letters d set triage_status = p_status, triage_note = coalesce(p_note, d.triage_note), triaged_at = v_now, triaged_by = v_caller.principal
   where d.execution_id = p_execution_id and d.tenant_id = v_caller.tenant_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'execution.triaged', v_caller.principal, null, p_execution_id::text, jsonb_build_object('from', v_row.triage_status, 'to', p_status, 'note', p_note));
  return jsonb_build_object('execution_id', p_execution_id, 'triage_status', p_status, 'triaged_by', v_caller.principal, 'triaged_at', v_now);
end
$$;
