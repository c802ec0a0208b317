-- Reading many jobs: pages of them, and which of a batch have ended.

-- Jobs, newest first. p_state: in one of these states. p_before: the id of the last job of the previous page.
-- p_created_after is inclusive, p_created_before exclusive. p_error_code: the error code of the last run.
-- granted to: all
create or replace function tenure.job_list(
  p_state text[] default null, p_kind text default null, p_executor text default null,
  p_correlation_id text default null, p_before uuid default null, p_limit integer default 50,
  p_created_after timestamptz default null, p_created_before timestamptz default null,
  p_error_code text default null)
returns table (
  job_id uuid, kind text, executor text, state text, priority smallint, due timestamptz, attempts integer,
  attempts_max smallint, lease_owner text, lease_until timestamptz, error_message text, enqueued_by text,
  created_at timestamptz, finished_at timestamptz, step jsonb, slot jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_tenant integer := tenure.current_tenant();
  -- An id may be a day off its time. Within these bounds, partitions without any of the jobs are not opened.
  v_skew   interval := make_interval(secs => tenure.limit_of('id_skew_seconds_max') + 60);
  v_from   uuid := tenure.id_floor(
    greatest(coalesce(p_created_after, '-infinity') - v_skew, '1970-01-01 00:00Z'));
  v_to     uuid := least(
    coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
    tenure.id_floor(least(coalesce(p_created_before, 'infinity') + v_skew, '9999-12-31 00:00Z')));
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_filter('state', p_state, array[
      'queued', 'leased', 'in_progress', 'succeeded', 'failed', 'retry_waiting', 'dead_letter', 'cancelled',
      'cleaned'], 'state_unknown');
  end if;
  if p_state is null then
    -- First the page, by id, then the details of its jobs. The view would compute them for every job before
    -- it could leave most of them out.
    return query
      select j.job_id, j.kind, j.executor, x.job ->> 'state', j.priority, (x.job ->> 'due')::timestamptz,
             (x.job ->> 'attempts')::integer, j.attempts_max, x.job ->> 'lease_owner',
             (x.job ->> 'leased_until')::timestamptz, x.job ->> 'error_message', j.enqueued_by, j.created_at,
             (x.job ->> 'finished_at')::timestamptz,
             nullif(x.job -> 'step', 'null') - 'fence', nullif(x.job -> 'slot', 'null')
        from (select j.job_id, j.kind, j.executor, j.priority, j.attempts_max, j.enqueued_by, j.created_at
                from tenure.jobs j
               where j.tenant_id = v_tenant
                 and (p_kind is null or j.kind = p_kind)
                 and (p_executor is null or j.executor = p_executor)
                 and (p_correlation_id is null or j.correlation_id = p_correlation_id)
                 and (p_created_after is null or j.created_at >= p_created_after)
                 and (p_created_before is null or j.created_at < p_created_before)
                 and (p_error_code is null or p_error_code = (
                   select a.error_code
                     from tenure.attempts a
                    where a.job_id = j.job_id
                    order by a.run desc
                    limit 1))
                 and j.job_id >= v_from
                 and j.job_id < v_to
               order by j.job_id desc
               limit p_limit) j
        -- pinned order: see sql/README.md
        cross join lateral (select tenure.job_show(j.job_id) as job offset 0) x;
    return;
  end if;
  return query
    select q.job_id, q.job_kind, q.executor, q.state, q.priority, q.scheduled_at, q.attempts, q.max_attempts,
           q.lease_owner, q.lease_until, q.last_error, q.actor, q.created_at, q.finished_at, q.step, q.slot
      from tenure.job_queue q
     where q.tenant_id = v_tenant
       and q.state = any (p_state)
       and (p_kind is null or q.job_kind = p_kind)
       and (p_executor is null or q.executor = p_executor)
       and (p_correlation_id is null or q.correlation_id = p_correlation_id)
       and (p_created_after is null or q.created_at >= p_created_after)
       and (p_created_before is null or q.created_at < p_created_before)
       and (p_error_code is null or p_error_code = (
         select a.error_code
           from tenure.attempts a
          where a.job_id = q.job_id
          order by a.run desc
          limit 1))
       and q.job_id >= v_from
       and q.job_id < v_to
     order by q.job_id desc
     limit p_limit;
end
$$;

-- Which of these jobs have ended, that is, are in a state that only an operator or retention changes. Jobs of
-- other tenants are left out, unless the caller acts for every tenant.
-- granted to: all
create or replace function tenure.job_ended(p_job_ids uuid[]) returns uuid[]
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  if cardinality(p_job_ids) > tenure.limit_of('batch_rows_max') then
    perform tenure.refuse('batch_too_large', format('The batch names %s jobs.', cardinality(p_job_ids)),
      format('A batch has at most %s (batch_rows_max).', tenure.limit_of('batch_rows_max')),
      'Split it.');
  end if;
  return array(
    select a.job_id
      from tenure.attempts a
     where a.job_id = any (p_job_ids)
       and a.final
       and (a.tenant_id = v_caller.tenant_id or v_caller.scope = 'every')
     order by a.job_id);
end
$$;
