-- The jobs of steps.

-- Makes the jobs of steps of one tenant. If the batch is refused, each step is tried by itself; a step whose
-- own job is refused has failed with the code of the refusal.
create or replace function tenure.steps_enqueue(
  p_now timestamptz, p_tenant_id integer, p_execs uuid[], p_numbers integer[],
  out entries tenure.chain_entry[], out refused_execs uuid[], out refused_numbers integer[])
language plpgsql
as $$
declare
  v_caller tenure.caller_identity;
  v_new    record;
  v_one    record;
  v_state  text;
  v_what   text;
  v_why    text;
  v_next   text;
begin
  entries := '{}';
  refused_execs := '{}';
  refused_numbers := '{}';
  v_caller.tenant_id := p_tenant_id;
  v_caller.principal := 'execution';
  v_caller.scope := 'execution';
  begin
    v_new := tenure.enqueue_batch(v_caller, tenure.tuning(p_tenant_id), p_now,
      tenure.steps_new_jobs(p_execs, p_numbers));
    if v_new.unmade <> '{}' then
      perform tenure.refuse('key_taken', 'Another job has the key of the step.',
        'Keys that begin with "step" and an execution are for steps.',
        'Cancel that job, and retry the execution.');
    end if;
    entries := tenure.steps_set_running(p_now, p_execs, p_numbers, v_new.ids);
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
      entries := entries || v_one.entries;
      refused_execs := refused_execs || v_one.refused_execs;
      refused_numbers := refused_numbers || v_one.refused_numbers;
    end loop;
    return;
  end if;
  entries := tenure.step_fail_refused(p_now, p_execs[1], p_numbers[1],
    tenure.refusal(v_state, v_what, v_why, v_next) ->> 'code', v_what || ' ' || v_why);
  refused_execs := p_execs;
  refused_numbers := p_numbers;
end
$$;

-- The same for steps of several tenants, tenant by tenant.
create or replace function tenure.steps_enqueue_by_tenant(
  p_now timestamptz, p_execs uuid[], p_numbers integer[],
  out entries tenure.chain_entry[], out refused_execs uuid[], out refused_numbers integer[])
language plpgsql
as $$
declare
  v_of   record;
  v_made record;
begin
  entries := '{}';
  refused_execs := '{}';
  refused_numbers := '{}';
  for v_of in
    select s.tenant_id,
           array_agg(s.execution_id order by s.execution_id, s.step_number) as execs,
           array_agg(s.step_number order by s.execution_id, s.step_number) as numbers
      from unnest(p_execs, p_numbers) t (e, n)
      cross join lateral (
        select s.tenant_id, s.execution_id, s.step_number
          from tenure.steps s
         where s.execution_id = t.e and s.step_number = t.n
        offset 0) s
     group by s.tenant_id
     order by s.tenant_id
  loop
    v_made := tenure.steps_enqueue(p_now, v_of.tenant_id, v_of.execs, v_of.numbers);
    entries := entries || v_made.entries;
    refused_execs := refused_execs || v_made.refused_execs;
    refused_numbers := refused_numbers || v_made.refused_numbers;
  end loop;
end
$$;

-- The jobs to be made of these steps, in their order. One statement for all of them: a loop that fills the
-- fields one by one costs each step more than the rest of its dispatch.
create or replace function tenure.steps_new_jobs(p_execs uuid[], p_numbers integer[])
returns tenure.new_job[]
language sql stable
as $$
  select array_agg((
           s.kind,
           s.payload::json,
           'step ' || s.execution_id || ' ' || s.step_number,
           s.executor,
           e.priority,
           null, null, null,
           s.target_ref,
           s.payload_ref,
           nullif(s.payload_classification, 'safe_metadata'),
           s.attempts_max,
           e.correlation_id,
           null, null,
           s.execution_id,
           null, null, null,
           'tenure.execution',
           null, null,
           s.lease_seconds,
           s.timeout_seconds,
           null,
           s.renewals_max,
           'fail',
           case s.effects when 'once' then 'fail' end,
           tenure.step_origin(s.execution_id, s.step_number, s.step_id, s.action, s.action_class,
             s.target_type, e.plan_hash),
           null, null)::tenure.new_job order by t.turn)
    from unnest(p_execs, p_numbers) with ordinality t (e, n, turn)
    cross join lateral (
      select s.*
        from tenure.steps s
       where s.execution_id = t.e and s.step_number = t.n
      offset 0) s
    cross join lateral (
      select e.priority, e.correlation_id, e.plan_hash
        from tenure.executions e
       where e.execution_id = t.e
      offset 0) e
$$;

-- Sets steps running, each with its job. Returns the events to append, in the order of the steps.
create or replace function tenure.steps_set_running(
  p_now timestamptz, p_execs uuid[], p_numbers integer[], p_job_ids uuid[]) returns tenure.chain_entry[]
language plpgsql
as $$
declare
  v_entries tenure.chain_entry[];
begin
  with made as (
    update tenure.step_states s
       set state = 'running',
           needs_left = 0,
           job_id = n.job_id,
           queued_at = p_now,
           dispatches = s.dispatches + 1,
           fence = coalesce(n.fence, s.fence)
      from (
        select t.job_id, t.turn, s.place, l.fence,
               -- A step without a lock has no fence, and costs no look at the plan.
               case
                 when l.target is not null then l.target
                 when s.fence is not null then (
                   select p.lock_target
                     from tenure.steps p
                    where p.execution_id = t.e and p.step_number = t.n)
               end as lock_target
          from unnest(p_execs, p_numbers, p_job_ids) with ordinality t (e, n, job_id, turn)
          cross join lateral (
            select s.ctid as place, s.fence
              from tenure.step_states s
             where s.execution_id = t.e and s.step_number = t.n
            offset 0) s
          -- The lock it has taken. Its fence is written with the rest: one update of the row for each step.
          left join lateral (
            select l.target, l.fence
              from tenure.locks l
             where l.execution_id = t.e and l.step_number = t.n
             limit 1) l on true) n
     where s.ctid = n.place
    returning n.turn, s.execution_id, s.step_number, s.job_id, s.fence, n.lock_target
  )
  select array_agg((m.execution_id, 'step_queued', m.step_number,
           case
             when m.lock_target is null then jsonb_build_object('job_id', m.job_id)
             else jsonb_build_object('job_id', m.job_id, 'target', m.lock_target, 'fence', m.fence)
           end)::tenure.chain_entry)
    into v_entries
    from (select m.* from made m order by m.turn) m;
  return v_entries;
end
$$;

-- Fails a step whose job was refused. Returns the event to append.
create or replace function tenure.step_fail_refused(
  p_now timestamptz, p_execution_id uuid, p_number integer, p_code text, p_message text)
returns tenure.chain_entry[]
language plpgsql
as $$
declare
  v_entries tenure.chain_entry[];
begin
  update tenure.step_states s
     set state = 'failed',
         needs_left = 0,
         ended_at = p_now,
         error_code = p_code,
         error_class = 'refused',
         error_message = tenure.cut_text(p_message, tenure.limit_of('error_message_bytes_max')::integer)
   where s.execution_id = p_execution_id
     and s.step_number = p_number
  returning array[(s.execution_id, 'step_failed', s.step_number, jsonb_build_object(
      'error_code', s.error_code,
      'error_class', s.error_class,
      'error_message', left(s.error_message, 500),
      'ended_at', s.ended_at))::tenure.chain_entry]
    into v_entries;
  return v_entries;
end
$$;
