-- Evidence of an execution: the lines of text that a server signs and exports. The facts that chained events
-- carry for them are in facts.sql.

-- The runs of an execution's steps, each once: those that were copied when their job was emptied, and those
-- still in tenure.attempts. Includes runs of jobs that a step had before its present one.
create or replace function tenure.step_runs_of(p_execution_id uuid) returns setof tenure.step_runs
language sql stable
as $$
  select k.* from tenure.step_runs k where k.execution_id = p_execution_id
  union all
  select s.execution_id, s.step_number, r.job_id, r.run, r.tenant_id, r.attempt, r.outcome, r.state, r.owner,
         r.holder, r.leased_at, r.started_at, r.ended_at, r.actor, r.reason, r.error_code, r.error_class,
         r.error_message, r.result, r.result_ref
    from tenure.step_rows s
    join tenure.jobs j
      on j.workflow_id = p_execution_id
     and j.tenant_id = s.tenant_id
     and j.source_system = 'tenure.execution'
     and j.enqueued_by = 'execution'
     and j.idempotency_key = 'step ' || p_execution_id || ' ' || s.step_number
    join tenure.attempts r on r.job_id = j.job_id
   where s.execution_id = p_execution_id
     and not exists (
       select
         from tenure.step_runs k
        where k.execution_id = p_execution_id
          and k.step_number = s.step_number
          and k.job_id = r.job_id
          and k.run = r.run)
$$;

-- True when the chained events state a run. For the job that a step runs now they do once an event after the
-- one that named the job has this run or a later one; starts and progress do not say how a run ended.
create or replace function tenure.is_run_chained(p_step tenure.step_rows, p_job_id uuid, p_run integer)
returns boolean
language sql stable
as $$
  select p_step.state <> 'running' or p_step.job_id <> p_job_id or exists (
    select
      from tenure.execution_events v
     where v.execution_id = p_step.execution_id
       and v.step_number = p_step.step_number
       and v.kind not in ('step_started', 'step_progress')
       and v.seq > (
         select max(b.seq)
           from tenure.execution_events b
          where b.execution_id = p_step.execution_id
            and b.step_number = p_step.step_number
            and b.body::jsonb -> 'data' ->> 'job_id' = p_job_id::text)
       and (v.body::jsonb -> 'data' ->> 'run')::integer >= p_run)
$$;

-- The evidence lines of an execution's rows. Fields are named one by one, so that a new column does not
-- appear in evidence by itself. Everything stated here follows from the plan and the chained events;
-- verifying checks that.
create or replace function tenure.evidence_rows(p_execution tenure.execution_rows)
returns table (part integer, place bigint, rank text, line jsonb)
language sql stable
as $$
  select 3, 0::bigint, ''::text,
         jsonb_strip_nulls(jsonb_build_object(
           'kind', 'execution',
           'execution_id', e.execution_id, 'plan_hash', e.plan_hash, 'purpose', e.purpose, 'state', e.state,
           'action_class', e.action_class, 'approval_level', e.approval_level, 'rule', e.rule,
           'requested_by', e.requested_by, 'on_behalf_of', e.on_behalf_of, 'requesters', e.requesters,
           'via', e.via, 'key', e.idempotency_key, 'key_origin', e.key_origin,
           'start_after', e.start_after, 'start_before', e.start_before, 'start_window', e.start_window,
           'timeout_ms', e.timeout_ms,
           'supersedes', e.supersedes, 'retry_of', e.retry_of, 'retried_as', e.retried_as,
           'stopped_by', e.stopped_by, 'reason_code', e.reason_code, 'reason', e.reason,
           'created_at', e.created_at, 'approved_at', e.approved_at, 'lapses_at', e.lapses_at,
           'started_at', e.started_at, 'ended_at', e.ended_at,
           'closed_at', e.closed_at, 'closed_by', e.closed_by,
           'chain_hash', encode(e.chain_hash, 'hex')))
         || case when e.metadata = '{}' then '{}' else jsonb_build_object('metadata', e.metadata) end
    from (select (p_execution).*) e
  union all
  select 4, s.step_number, '',
         jsonb_strip_nulls(jsonb_build_object(
           'kind', 'step',
           'step_number', s.step_number, 'step', s.step_id, 'action', s.action,
           'action_class', s.action_class, 'registration', s.registration,
           'level_min', nullif(s.level_min, 0), 'section', s.section,
           'target_type', s.target_type, 'target_ref', s.target_ref,
           'job_kind', s.kind, 'executor', s.executor, 'payload_ref', s.payload_ref,
           'compensation_note', s.compensation_note, 'effects', s.effects, 'attempts_max', s.attempts_max,
           'timeout_seconds', s.timeout_seconds, 'approval_level', s.approval_level, 'rule', s.rule,
           'lock_target', s.lock_target, 'lock_action', s.lock_action, 'state', s.state,
           'carried_from', s.carried_from,
           'needs', (
             select jsonb_agg(o.step_id order by n.needs_number)
               from tenure.step_needs n
               left join tenure.step_rows o
                 on o.execution_id = n.execution_id
                and o.step_number = n.needs_number
              where n.execution_id = s.execution_id
                and n.step_number = s.step_number)))
         || tenure.evidence_payload(s.payload, s.payload_classification = 'restricted')
         || case when s.approval_level = 0 then '{}' else jsonb_build_object(
              'roles', s.approval_roles,
              'quorum', s.approval_quorum,
              'approval_seconds', s.approval_seconds) end
         -- The run of a carried-over step is in the evidence of the execution where it ran.
         || case when s.carried_from is not null then '{}' else jsonb_strip_nulls(jsonb_build_object(
              'job_id', s.job_id, 'fence', s.fence, 'attempt', nullif(s.attempt, 0), 'worker', s.worker,
              'started_at', s.started_at, 'ended_at', s.ended_at, 'error_code', s.error_code,
              'error_class', s.error_class, 'error_message', tenure.evidence_error(s.error_message),
              'result_hash', tenure.text_hash(s.output_summary::text), 'result_bytes', s.output_size_bytes,
              'result_ref', s.output_ref, 'verdict_by', s.verdict_by,
              'verdict_reason', s.verdict_reason)) end
    from tenure.step_rows s
   where s.execution_id = p_execution.execution_id
  union all
  select 5, 0, a.created_at::text || a.approval_id,
         jsonb_strip_nulls(jsonb_build_object(
           'kind', 'approval',
           'approval_id', a.approval_id,
           'step', (
             select s.step_id
               from tenure.step_rows s
              where s.execution_id = a.execution_id
                and s.step_number = a.step_number),
           'plan_hash', a.plan_hash, 'level', a.level, 'roles', a.roles, 'quorum', a.quorum, 'rule', a.rule,
           'auto_approved', a.auto_approved, 'state', a.state, 'created_at', a.created_at,
           'escalated_at', a.escalated_at, 'expires_at', a.expires_at, 'decided_at', a.decided_at,
           'decided_by', a.decided_by, 'reason', a.reason, 'consumed_at', a.consumed_at))
    from tenure.approvals a
   where a.execution_id = p_execution.execution_id
  union all
  select 6, 0, v.at::text || v.principal,
         jsonb_strip_nulls(jsonb_build_object(
           'kind', 'vote',
           'approval_id', v.approval_id, 'principal', v.principal, 'decision', v.decision,
           'plan_hash', v.plan_hash, 'comment', v.comment, 'auth_method', v.auth_method,
           'auth_makers', v.auth_makers, 'source', v.source, 'roles', v.roles, 'level', v.level,
           'on_behalf_of', v.on_behalf_of, 'at', v.at))
    from tenure.approvals a
    join tenure.approval_votes v on v.approval_id = a.approval_id
   where a.execution_id = p_execution.execution_id
  union all
  select 7, s.step_number, r.job_id || lpad(r.run::text, 9, '0'),
         jsonb_strip_nulls(jsonb_build_object(
           'kind', 'attempt',
           'step', s.step_id, 'job_id', r.job_id, 'run', r.run, 'attempt', r.attempt,
           'outcome', r.outcome, 'worker', r.owner, 'holder', r.holder, 'leased_at', r.leased_at,
           'started_at', r.started_at, 'ended_at', r.ended_at, 'error_code', r.error_code,
           'error_class', r.error_class,
           'error_message', tenure.evidence_error(coalesce(r.error_message, r.reason)),
           'result', r.result::text, 'result_ref', r.result_ref))
    from tenure.step_runs_of(p_execution.execution_id) r
    join tenure.step_rows s on s.execution_id = r.execution_id and s.step_number = r.step_number
   where tenure.is_run_chained(s, r.job_id, r.run)
$$;

-- The lines of the evidence of one execution, unsigned, in order. Times are in UTC, whatever the time zone of
-- the session.
-- granted to: all
create or replace function tenure.execution_evidence(p_execution_id uuid)
returns table (n integer, line text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_now    timestamptz := tenure.now();
  v_row    tenure.execution_rows;
begin
  select e.* into v_row
    from tenure.execution_rows e
   where e.execution_id = p_execution_id
     and (e.tenant_id = v_tenant or tenure.is_every_tenant());
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  -- A transaction that began later may have committed before the events are read here.
  v_now := greatest(v_now, (
    select max(v.at) from tenure.execution_events v where v.execution_id = p_execution_id));
  return query
    select (row_number() over (order by l.part, l.place, l.rank collate "C"))::integer, l.line::text
      from (
        select 1 as part, 0::bigint as place, ''::text as rank,
               jsonb_build_object(
                 'kind', 'evidence',
                 'version', 2,
                 'execution_id', v_row.execution_id,
                 'tenant', (select t.name from tenure.tenants t where t.tenant_id = v_row.tenant_id),
                 'plan_hash', v_row.plan_hash,
                 'state', v_row.state,
                 'exported_at', v_now,
                 'events', v_row.chain_length) as line
        union all
        select 2, 0, '',
               jsonb_build_object('kind', 'plan', 'plan', tenure.evidence_plan(p_execution_id, p.plan))
          from tenure.plans p
         where p.execution_id = p_execution_id
        union all
        select r.part, r.place, r.rank, r.line from tenure.evidence_rows(v_row) r
        union all
        select 8, v.seq, '',
               jsonb_build_object('kind', 'event', 'body', v.body, 'hash', encode(v.hash, 'hex'))
          from tenure.execution_events v
         where v.execution_id = p_execution_id) l
     order by 1;
end
$$;
