-- The end of executions whose steps have all ended. Lock order and join order: see end.sql.

-- Ends executions with no open step; their end state follows from their steps. Failed and partially failed
-- ones leave a dead letter. Answers the chain entries for the caller to append.
create or replace function tenure.executions_finish(p_now timestamptz, p_actor text, p_ids uuid[])
returns tenure.chain_entry[]
language plpgsql
as $$
declare
  v_ids   uuid[] := '{}';
  v_ended record;
begin
  if cardinality(p_ids) > 0 then
    -- By their ids, never by their state: many executions may be in it.
    v_ids := array(
      select e.execution_id
        from (select e.execution_id, e.state, e.steps_open
                from tenure.execution_states e
               where e.execution_id = any (p_ids)
              offset 0) e
       where e.state = 'running' and e.steps_open = 0);
  end if;
  if cardinality(v_ids) = 0 then
    return '{}';
  end if;
  with over as (
    update tenure.execution_states e
       set state = f.becomes,
           last_state = e.state,
           last_transition_at = p_now,
           last_transition_by = p_actor,
           ended_at = greatest(p_now, e.started_at),
           next_at = null,
           cancelled_at = case f.becomes when 'cancelled' then greatest(p_now, e.started_at) end,
           cancelled_by = case f.becomes when 'cancelled' then coalesce(e.stopped_by, p_actor) end,
           reason_code = case f.becomes
             when 'succeeded' then 'completed'
             else coalesce(e.reason_code, e.stopping, 'step_failed')
           end,
           held_key = case
             when not (f.becomes in ('failed', 'cancelled')
                       or (f.becomes = 'succeeded' and f.key_origin = 'derived')) then e.held_key
           end,
           -- If every step succeeded, the request to stop came too late.
           reason = case when f.becomes <> 'succeeded' then e.reason end,
           error_class = b.error_class,
           error_message = case
             when f.becomes <> 'succeeded' then coalesce(b.error_message, case e.stopping
               when 'timed_out' then 'The execution took longer than its SLA class allows.'
             end)
           end,
           result_summary = jsonb_build_object(
             'succeeded', e.steps_succeeded,
             'failed', e.steps_failed,
             'cancelled', e.steps_cancelled,
             'skipped', e.steps_skipped,
             'retries', e.retries_total,
             'errors', coalesce(b.errors, '[]'))
      from (select e.ctid as place, e.execution_id, x.key_origin,
                   tenure.execution_end_state(e.steps_succeeded, e.step_count, e.stopping) as becomes
              from tenure.execution_states e
              cross join lateral (
                select x.key_origin from tenure.executions x where x.execution_id = e.execution_id offset 0) x
             where e.execution_id = any (v_ids)) f
      left join lateral tenure.step_errors(f.execution_id) b on true
     where e.ctid = f.place
    returning e.execution_id, e.state, e.reason_code, e.started_at, e.ended_at, e.steps_succeeded,
      e.steps_failed, e.steps_skipped, e.steps_cancelled
  )
  select array_agg((
           o.execution_id,
           case o.state
             when 'succeeded' then 'execution_completed'
             when 'partially_failed' then 'execution_partially_failed'
             else 'execution_' || o.state
           end,
           null,
           jsonb_build_object(
             'from', 'running',
             'to', o.state,
             'reason_code', o.reason_code,
             'duration_ms', tenure.milliseconds(o.started_at, o.ended_at),
             'succeeded', o.steps_succeeded,
             'failed', o.steps_failed,
             'skipped', o.steps_skipped,
             'cancelled', o.steps_cancelled))::tenure.chain_entry order by o.execution_id) as entries,
         array_agg(o.execution_id) filter (where o.state in ('failed', 'partially_failed')) as failed
    into v_ended
    from over o;
  if v_ended.failed is not null then
    perform tenure.execution_dead_letters_write(v_ended.failed);
  end if;
  return coalesce(v_ended.entries, '{}');
end
$$;

-- The end state of an execution with no open step. If every step succeeded, a request to stop came too late.
create or replace function tenure.execution_end_state(
  p_succeeded integer, p_step_count integer, p_stopping text) returns text
language sql immutable
as $$
  select case
    when p_succeeded = p_step_count then 'succeeded'
    when p_stopping = 'cancelled' then 'cancelled'
    when p_stopping is null and p_succeeded > 0 then 'partially_failed'
    else 'failed'
  end
$$;

-- The first errors of the steps of an execution: those of the first step in full, and a list of the first
-- five, shortened. One row, also when no step failed. PostgreSQL inlines it into the query that calls it.
create or replace function tenure.step_errors(p_execution_id uuid)
returns table (error_class text, error_message text, errors jsonb)
language sql stable
as $$
  select (array_agg(s.error_class order by s.ended_at, s.step_number))[1] as error_class,
         (array_agg(
           tenure.cut_text(
             s.step_id || ': ' || coalesce(s.error_message, s.error_code),
             tenure.limit_of('error_message_bytes_max')::integer)
           order by s.ended_at, s.step_number))[1] as error_message,
         -- Without control characters, each of which takes six bytes in JSON.
         jsonb_agg(
           jsonb_build_object(
             'step', tenure.cut_text(regexp_replace(s.step_id, '[[:cntrl:]]', ' ', 'g'), 200),
             'code', tenure.cut_text(regexp_replace(s.error_code, '[[:cntrl:]]', ' ', 'g'), 100),
             'message', tenure.cut_text(regexp_replace(s.error_message, '[[:cntrl:]]', ' ', 'g'), 300))
           order by s.ended_at, s.step_number) as errors
    from (select x.*
            from tenure.step_rows x
           where x.execution_id = p_execution_id and x.state = 'failed'
           order by x.ended_at, x.step_number
           limit 5) s
$$;

-- Leaves a dead letter of each of these executions, which failed or failed partially.
create or replace function tenure.execution_dead_letters_write(p_ids uuid[]) returns void
language plpgsql
as $$
begin
  insert into tenure.execution_dead_letters (execution_id, tenant_id, purpose, plan, plan_hash, context,
    attempt_count, last_error, failed_at, plan_restricted)
  select e.execution_id, e.tenant_id, e.purpose, p.plan, e.plan_hash,
         jsonb_build_object(
           'requested_by', e.requested_by,
           'on_behalf_of', e.on_behalf_of,
           'correlation_id', e.correlation_id,
           'state', e.state,
           'reason_code', e.reason_code,
           'idempotency_key', e.idempotency_key,
           'metadata', e.metadata,
           'started_at', e.started_at,
           'steps', (
             select jsonb_agg(
                      jsonb_strip_nulls(jsonb_build_object(
                        'step', s.step_id,
                        'state', s.state,
                        'attempt', s.attempt,
                        'job_id', s.job_id,
                        'error_code', s.error_code,
                        'output_ref', s.output_ref))
                      order by s.step_number)
               from tenure.step_rows s
              where s.execution_id = e.execution_id)),
         e.retries_total + 1, coalesce(nullif(e.error_message, ''), e.reason_code), e.ended_at,
         tenure.is_plan_restricted(e.execution_id)
    from tenure.execution_rows e
    join tenure.plans p on p.execution_id = e.execution_id
   where e.execution_id = any (p_ids);
end
$$;
