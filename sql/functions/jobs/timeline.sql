-- The timeline of a job.

-- One row per transition of a job, oldest first, with actor and reason: from the job, its runs, its present
-- lease and its events.
-- granted to: all
create or replace function tenure.job_timeline(p_job_id uuid)
returns table (
  at timestamptz, state text, verb text, run integer, attempt integer, actor text, worker text, detail text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  perform tenure.check_job_exists(p_job_id, v_tenant);
  return query
    select t.at, t.state, t.verb, t.run, t.attempt, t.actor, t.worker, t.detail
      from (
        select j.created_at as at, 'queued' as state, 'enqueue' as verb, 0 as run, 0 as attempt,
               j.enqueued_by as actor, null::text as worker,
               nullif(concat_ws(', ',
                 case when j.replay_of is not null then format('replay of %s', j.replay_of) end,
                 tenure.origin_words(j.origin)), '') as detail,
               0 as step
          from tenure.jobs j
         where j.job_id = p_job_id
        union all
        select a.leased_at, 'leased', 'claim', a.run, a.attempt::integer, a.holder, a.owner, null, 1
          from tenure.attempts a
         where a.job_id = p_job_id and a.leased_at is not null
        union all
        select a.started_at, 'in_progress', 'start', a.run, a.attempt::integer, a.holder, a.owner, null, 2
          from tenure.attempts a
         where a.job_id = p_job_id and a.started_at is not null
        union all
        select a.ended_at, 'failed',
               case a.outcome
                 when 'expired' then 'expire'
                 when 'timed_out' then 'time_out'
                 when 'renewals_exceeded' then 'expire'
                 else 'fail'
               end,
               a.run, a.attempt::integer, a.actor, a.owner,
               concat_ws(': ', a.error_code, a.error_message), 3
          from tenure.attempts a
         where a.job_id = p_job_id
           and a.outcome in ('failed', 'failed_permanently', 'expired', 'timed_out', 'renewals_exceeded')
        union all
        select a.ended_at, a.state,
               case
                 when a.outcome = 'succeeded' then 'complete'
                 when a.outcome = 'released' then 'release'
                 when a.outcome = 'snoozed' then 'snooze'
                 when a.outcome = 'rescheduled' then 'retry_now'
                 when a.outcome = 'cancelled' then 'cancel'
                 when a.outcome = 'deadline_passed' then 'pass_deadline'
                 when a.outcome = 'moved' then 'move_to_dead_letter'
                 when a.state = 'dead_letter' then 'dead_letter'
                 else 'schedule_retry'
               end,
               a.run, a.attempt::integer, a.actor, a.owner,
               coalesce(a.reason, case
                 when a.state = 'retry_waiting' then format('due %s', a.next_due)
                 when a.outcome in ('deadline_passed') then a.error_message
               end), 4
          from tenure.attempts a
         where a.job_id = p_job_id
           and not (
             a.state = 'failed'
             and a.outcome in ('failed', 'failed_permanently', 'expired', 'timed_out', 'renewals_exceeded'))
        union all
        select l.leased_at, 'leased', 'claim', a.run, a.attempt::integer, l.principal, l.owner, null, 1
          from tenure.active a
          join tenure.leases l on l.token = a.token and l.lane = a.lane
         where a.job_id = p_job_id
        union all
        select a.started_at, 'in_progress', 'start', a.run, a.attempt::integer, l.principal, l.owner,
               a.progress::text, 2
          from tenure.active a
          left join tenure.leases l on l.token = a.token and l.lane = a.lane
         where a.job_id = p_job_id and a.started_at is not null
        union all
        select e.at, null, replace(e.kind, 'job.', ''), (e.data ->> 'run')::integer, null, e.actor, null,
               e.data ->> 'reason', 5
          from tenure.events e
         where e.tenant_id = v_tenant
           and e.subject = p_job_id::text
           and e.kind in ('job.cancel_requested', 'job.retried')
        union all
        select j.cleaned_at, 'cleaned', 'clean', null, null, 'retention', null, null, 6
          from tenure.jobs j
         where j.job_id = p_job_id and j.cleaned_at is not null
      ) t
     order by t.at, t.run nulls last, t.step;
end
$$;
