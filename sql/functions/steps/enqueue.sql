-- The jobs of steps.

-- Makes the jobs of steps of one tenant. If the batch is refused, each step is tried by itself; a step whose
-- own job is refused has failed with the code of the refusal.
create or replace function tenure.steps_enqueue(
  p_now timestamptz, p_tenant_id integer, p_execs uuid[], p_numbers integer[],
  out told tenure.execution_told[], out refused_execs uuid[], out refused_numbers integer[])
language plpgsql
as $$
declare
  v_caller tenure.caller_identity;
  v_jobs   record;
  v_new    record;
  v_one    record;
  v_state  text;
  v_what   text;
  v_why    text;
  v_next   text;
begin
  told := '{}';
  refused_execs := '{}';
  refused_numbers := '{}';
  v_caller.tenant_id := p_tenant_id;
  v_caller.principal := 'execution';
  v_caller.scope := 'execution';
  begin
    select array_agg(s.kind) as kinds,
           array_agg(s.payload) as payloads,
           array_agg(s.key) as keys,
           array_agg(s.executor) as executors,
           array_agg(s.priority) as priorities,
           array_agg(s.target_ref) as target_refs,
           array_agg(s.payload_ref) as payload_refs,
           array_agg(s.classification) as classifications,
           array_agg(s.attempts_max) as attempts_max,
           array_agg(s.correlation_id) as correlations,
           array_agg(s.execution_id) as workflows,
           array_agg('tenure.execution'::text) as systems,
           array_agg(s.timeout_seconds) as timeouts,
           array_agg(s.on_lost) as on_lost,
           array_agg(s.renewals_max) as renewals,
           array_agg(tenure.lease_floor(s.lease_seconds)) as floors,
           array_agg(s.origin) as origins
      into v_jobs
      -- Sorted once, not for each of the arrays.
      from (
        select s.kind,
               s.payload::json as payload,
               tenure.step_origin(s.execution_id, s.step_number, s.step_id, s.action, s.action_class,
                 s.target_type, e.plan_hash) as origin,
               'step ' || s.execution_id::text || ' ' || s.step_number::text as key,
               s.executor,
               e.priority::integer as priority,
               s.target_ref,
               s.payload_ref,
               s.attempts_max::integer as attempts_max,
               nullif(s.payload_classification, 'safe_metadata') as classification,
               e.correlation_id,
               e.execution_id,
               s.timeout_seconds,
               case s.effects when 'once' then 'fail' end as on_lost,
               s.renewals_max,
               s.lease_seconds
          from unnest(p_execs, p_numbers) with ordinality t (e, n, turn)
          cross join lateral (
            select s.*
              from tenure.steps s
             where s.execution_id = t.e and s.step_number = t.n
            offset 0) s
          cross join lateral (select e.* from tenure.executions e where e.execution_id = t.e offset 0) e
         order by t.turn) s;
    v_new := tenure.enqueue_batch(v_caller, tenure.tuning(p_tenant_id), p_now, v_jobs.kinds, v_jobs.payloads,
      v_jobs.keys, v_jobs.executors, v_jobs.priorities, null, null, null, v_jobs.target_refs,
      v_jobs.payload_refs, v_jobs.classifications, v_jobs.attempts_max, v_jobs.correlations, null, null,
      v_jobs.workflows, null, null, null, v_jobs.systems, null, null, v_jobs.timeouts, null, v_jobs.on_lost,
      v_jobs.renewals, 'fail', v_jobs.floors, v_jobs.origins);
    if v_new.unmade <> '{}' then
      perform tenure.refuse('key_taken', 'Another job has the key of the step.',
        'Keys that begin with "step" and an execution are for steps.',
        'Cancel that job, and retry the execution.');
    end if;
    with made as (
      update tenure.steps s
         set state = 'running',
             needs_left = 0,
             job_id = n.job_id,
             queued_at = p_now,
             dispatches = s.dispatches + 1,
             blocked_order = null,
             blocked_at = null
        from (
          select t.job_id, t.turn, s.place
            from unnest(p_execs, p_numbers, v_new.ids) with ordinality t (e, n, job_id, turn)
            cross join lateral (
              select s.ctid as place
                from tenure.steps s
               where s.execution_id = t.e and s.step_number = t.n
              offset 0) s) n
       where s.ctid = n.place
      returning n.turn, s.execution_id, s.step_number, s.job_id, s.fence, s.lock_target
    )
    select array_agg((m.execution_id, 'step_queued', m.step_number,
             case
               when m.lock_target is null then jsonb_build_object('job_id', m.job_id)
               else jsonb_build_object('job_id', m.job_id, 'target', m.lock_target, 'fence', m.fence)
             end)::tenure.execution_told)
      into told
      from (select m.* from made m order by m.turn) m;
    return;
  exception when others then
    get stacked diagnostics
      v_state = returned_sqlstate,
      v_what = message_text,
      v_why = pg_exception_detail,
      v_next = pg_exception_hint;
    if v_state not like 'TN%' then
      raise;
    end if;
  end;

  if cardinality(p_execs) > 1 then
    for v_at in 1 .. cardinality(p_execs) loop
      v_one := tenure.steps_enqueue(p_now, p_tenant_id, p_execs[v_at : v_at], p_numbers[v_at : v_at]);
      told := told || v_one.told;
      refused_execs := refused_execs || v_one.refused_execs;
      refused_numbers := refused_numbers || v_one.refused_numbers;
    end loop;
    return;
  end if;
  update tenure.steps s
     set state = 'failed',
         needs_left = 0,
         ended_at = p_now,
         blocked_order = null,
         blocked_at = null,
         error_code = tenure.refusal(v_state, v_what, v_why, v_next) ->> 'code',
         error_class = 'refused',
         error_message = tenure.cut_text(v_what || ' ' || v_why,
           tenure.limit_of('error_message_bytes_max')::integer)
   where s.execution_id = p_execs[1]
     and s.step_number = p_numbers[1]
  returning array[(s.execution_id, 'step_failed', s.step_number, jsonb_build_object(
      'error_code', s.error_code,
      'error_class', s.error_class,
      'error_message', left(s.error_message, 500),
      'ended_at', s.ended_at))::tenure.execution_told]
    into told;
  refused_execs := p_execs;
  refused_numbers := p_numbers;
end
$$;
