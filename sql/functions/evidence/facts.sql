-- Facts that chained events carry besides what the event stream shows, so that evidence can be recomputed
-- from them. What follows from the text of the plan is not repeated.

-- A payload as evidence shows it: the payload itself, or the SHA-256 of its text if it is restricted.
create or replace function tenure.evidence_payload(p_payload jsonb, p_restricted boolean) returns jsonb
language sql immutable
as $$
  select case
    when p_restricted then jsonb_build_object('payload_sha256', tenure.text_hash(p_payload::text))
    else jsonb_build_object('payload', p_payload)
  end
$$;

-- An error message as evidence shows it: its beginning.
create or replace function tenure.evidence_error(p_message text) returns text
language sql immutable parallel safe
as $$ select left(p_message, tenure.limit_of('evidence_error_chars_max')::integer) $$;

-- The text of a plan as evidence shows it: the frozen text, or, if a payload is restricted, the plan with the
-- SHA-256 of that payload in its place.
create or replace function tenure.evidence_plan(p_execution_id uuid, p_plan text) returns text
language sql stable
as $$
  select case
    when not exists (
      select
        from tenure.steps s
       where s.execution_id = p_execution_id
         and s.payload_classification = 'restricted')
    then p_plan
    else (
      select jsonb_set(p_plan::jsonb, '{steps}', jsonb_agg(
               case
                 when s.payload_classification = 'restricted' and p.step ? 'payload'
                   then (p.step - 'payload') || tenure.evidence_payload(s.payload, true)
                 else p.step
               end order by p.n))::text
        from jsonb_array_elements(p_plan::jsonb -> 'steps') with ordinality p (step, n)
        left join tenure.steps s on s.execution_id = p_execution_id and s.step_number = p.n)
  end
$$;

-- The terms that rules and policies gave each step. Steps with the same terms share one entry.
create or replace function tenure.step_terms(p_execution_id uuid, p_plan jsonb) returns jsonb
language sql stable
as $$
  with resolved as (
    select s.step_number,
           jsonb_strip_nulls(jsonb_build_object(
             'action_class', s.action_class,
             'registration', s.registration,
             'level_min', nullif(s.level_min, 0),
             'effects', s.effects,
             'attempts_max', s.attempts_max,
             'timeout_seconds', s.timeout_seconds,
             'approval_level', s.approval_level,
             'rule', s.rule,
             'roles', case when s.approval_level > 0 then s.approval_roles end,
             'quorum', case when s.approval_level > 0 then s.approval_quorum end,
             'approval_seconds', case when s.approval_level > 0 then s.approval_seconds end,
             'lock_action', s.lock_action,
             'lock_target', case
               when s.lock_target <> tenure.lock_part(p.step ->> 'target_type', p.step ->> 'target_ref')
                 then s.lock_target
             end,
             'target_type', nullif(s.target_type, p.step ->> 'target_type'),
             'target_ref', nullif(s.target_ref, p.step ->> 'target_ref'),
             'executor', nullif(s.executor, p.step ->> 'executor'),
             'payload_sha256', case
               when s.payload_classification = 'restricted' then tenure.text_hash(s.payload::text)
             end)) as terms
      from jsonb_array_elements(p_plan -> 'steps') with ordinality p (step, n)
      join tenure.steps s on s.execution_id = p_execution_id and s.step_number = p.n
  ), alike as (
    select r.terms,
           min(r.step_number) as first,
           jsonb_agg(r.step_number order by r.step_number) as numbers
      from resolved r
     group by r.terms
  )
  select jsonb_agg(a.terms || jsonb_build_object('steps', a.numbers) order by a.first) from alike a
$$;

-- The rules that an execution and its steps name, with content, author and time as they are now. The built-in
-- rule is not among them, as it has none of these.
create or replace function tenure.rules_named(p_execution tenure.execution_rows) returns jsonb
language sql stable
as $$
  select jsonb_object_agg(r.name, jsonb_strip_nulls(to_jsonb(r)) - array['tenant_id', 'name'])
    from tenure.approval_rules r
   where r.tenant_id = p_execution.tenant_id
     and exists (
       select
         from (select p_execution.rule as names
               union
               select s.rule from tenure.steps s where s.execution_id = p_execution.execution_id) n
        where strpos(', ' || n.names || ', ', ', ' || r.name || ', ') > 0)
$$;

-- The requesters of an execution and the terms it got: the part of the first chained event that the event
-- stream does not carry.
create or replace function tenure.submission_record(
  p_execution tenure.execution_rows, p_plan jsonb, p_text text) returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(jsonb_build_object(
           'tenant', (select t.name from tenure.tenants t where t.tenant_id = p_execution.tenant_id),
           'requesters', p_execution.requesters,
           'key', p_execution.idempotency_key,
           'key_origin', p_execution.key_origin,
           'action_class', p_execution.action_class,
           'timeout_ms', p_execution.timeout_ms,
           'start_after', p_execution.start_after,
           'start_before', p_execution.start_before,
           'start_window', p_execution.start_window,
           'plan_shown_hash', nullif(
             tenure.text_hash(tenure.evidence_plan(p_execution.execution_id, p_text)),
             p_execution.plan_hash),
           'rules', tenure.rules_named(p_execution),
           'steps', tenure.step_terms(p_execution.execution_id, p_plan)))
         || case
              when p_execution.metadata = '{}' then '{}'
              else jsonb_build_object('metadata', p_execution.metadata)
            end
$$;

-- What a run of a step did, as its chained event states it. Left out is what follows from the rest of the
-- event: an attempt equal to the run's number, a lease that began with the start, a holder who is the actor.
create or replace function tenure.run_facts(p_run tenure.attempts, p_actor text) returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'run', p_run.run,
    'attempt', nullif(p_run.attempt::integer, p_run.run),
    'worker', p_run.owner,
    'holder', case
      when p_run.holder is null and p_run.leased_at is not null then ''
      else nullif(p_run.holder, p_actor)
    end,
    'leased_at', case when p_run.leased_at is distinct from p_run.started_at then p_run.leased_at end,
    'started_at', p_run.started_at,
    'ended_at', p_run.ended_at,
    'outcome', p_run.outcome,
    'error_code', p_run.error_code,
    'error_class', p_run.error_class,
    'error_message', tenure.evidence_error(coalesce(p_run.error_message, p_run.reason)),
    'result_bytes', octet_length(p_run.result::text),
    'result_hash', tenure.text_hash(p_run.result::text),
    'result_ref', p_run.result_ref))
$$;

-- The runs of a step's job before p_run that no chained event states yet: snoozed, released, or overtaken by
-- the next run.
create or replace function tenure.runs_not_chained(
  p_execution_id uuid, p_step_number integer, p_job_id uuid, p_run integer, p_actor text) returns jsonb
language sql stable
as $$
  with stated as (
    select v.seq, v.kind, v.body::jsonb -> 'data' as data
      from tenure.execution_events v
     where v.execution_id = p_execution_id
       and v.step_number = p_step_number
       and starts_with(v.kind, 'step_')
       and v.kind <> 'step_progress'
  ), runs as (
    select t.data -> 'run' as run
      from stated t
     -- The event of a start does not say how the run ended.
     where t.kind <> 'step_started'
       and t.seq > (select max(b.seq) from stated b where b.data ->> 'job_id' = p_job_id::text)
    union all
    select e -> 'run'
      from stated t
      cross join lateral jsonb_array_elements(t.data -> 'earlier') e
     where t.seq > (select max(b.seq) from stated b where b.data ->> 'job_id' = p_job_id::text)
  )
  select jsonb_agg(tenure.run_facts(a, p_actor) order by a.run)
    from tenure.attempts a
   where a.job_id = p_job_id
     and a.run < p_run
     and not exists (select from runs r where r.run = to_jsonb(a.run))
$$;
