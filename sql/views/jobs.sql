-- Jobs as read models: job_queue with every job, and counts of the backlog and of held jobs.

-- All jobs as one table with the nine states. There is one branch per place where jobs are stored, and its
-- state is a literal or a column of that place, so that a query for one state reads only that place. What
-- is subtracted from an attempt is what tenure.attempts_spent gives back.
create or replace view tenure.job_queue with (security_invoker = true) as
with waiting as not materialized (
  select r.job_id, r.state, r.due, r.attempts, r.run from tenure.ready r
  union all
  select d.job_id, d.state, d.due, d.attempts, d.run from tenure.delayed d
)
select j.tenant_id, j.job_id, j.kind as job_kind, j.event_domain, p.state, j.source_ref, j.target_ref,
       j.payload_ref, tenure.job_payload(j.job_id) as payload_json, j.payload_classification, j.executor,
       j.priority, p.scheduled_at, j.deadline_at, p.picked_at, p.started_at, p.finished_at, p.lease_owner,
       p.lease_until, p.attempts, j.attempts_max as max_attempts,
       coalesce(j.idempotency_key, j.job_id::text) as idempotency_key,
       j.affinity_key, j.enqueued_by as actor, j.on_behalf_of, j.source_system, j.run_id, j.correlation_id,
       j.causation_event as causation_event_id, j.parent_job_id, j.workflow_id, j.replay_of, p.result_ref,
       (select coalesce(e.error_message, e.error_code)
          from tenure.attempts e
         where e.job_id = j.job_id
           and (e.error_code is not null or e.error_message is not null)
         order by e.run desc
         limit 1) as last_error,
       (select e.ended_at
          from tenure.attempts e
         where e.job_id = j.job_id
           and (e.error_code is not null or e.error_message is not null)
         order by e.run desc
         limit 1) as last_error_at,
       j.created_at,
       coalesce(p.updated_at, j.created_at) as updated_at,
       (j.origin -> 'step') || jsonb_strip_nulls(jsonb_build_object('target_ref', j.target_ref)) as step,
       j.origin -> 'slot' as slot
  from (
    select w.job_id, w.state, w.due as scheduled_at,
           null::timestamptz as picked_at,
           null::timestamptz as started_at,
           null::timestamptz as finished_at,
           null::text as lease_owner,
           null::timestamptz as lease_until,
           w.attempts::integer as attempts,
           null::text as result_ref,
           (select max(a.ended_at) from tenure.attempts a where a.job_id = w.job_id) as updated_at
      from waiting w
    union all
    select a.job_id, 'leased', a.due, l.leased_at, null, null, l.owner, l.until, a.attempt::integer, null,
           l.leased_at
      from tenure.active a
      left join lateral tenure.job_lease(a.job_id) l on true
     where a.started_at is null
    union all
    select a.job_id, 'in_progress', a.due, l.leased_at, a.started_at, null, l.owner, l.until,
           a.attempt::integer, null, coalesce(a.progress_at, a.started_at)
      from tenure.active a
      left join lateral tenure.job_lease(a.job_id) l on true
     where a.started_at is not null
    union all
    select a.job_id, 'succeeded', a.ended_at, a.leased_at, a.started_at, a.ended_at, null, null,
           a.attempt::integer, a.result_ref, a.ended_at
      from tenure.attempts a
     where a.final
       and a.state = 'succeeded'
       and not exists (select from tenure.jobs c where c.job_id = a.job_id and c.cleaned_at is not null)
    union all
    select a.job_id, 'failed', a.ended_at, a.leased_at, a.started_at, a.ended_at, null, null,
           a.attempt - (a.outcome = 'released' or (a.outcome = 'expired' and a.started_at is null))::integer,
           a.result_ref, a.ended_at
      from tenure.attempts a
     where a.final
       and a.state = 'failed'
       and not exists (select from tenure.jobs c where c.job_id = a.job_id and c.cleaned_at is not null)
    union all
    select a.job_id, 'cancelled', a.ended_at, a.leased_at, a.started_at, a.ended_at, null, null,
           a.attempt - (a.outcome = 'released' or (a.outcome = 'expired' and a.started_at is null))::integer,
           a.result_ref, a.ended_at
      from tenure.attempts a
     where a.final
       and a.state = 'cancelled'
       and not exists (select from tenure.jobs c where c.job_id = a.job_id and c.cleaned_at is not null)
    union all
    select a.job_id, 'dead_letter', a.ended_at, a.leased_at, a.started_at, a.ended_at, null, null,
           a.attempt - (a.outcome = 'released' or (a.outcome = 'expired' and a.started_at is null))::integer,
           a.result_ref, a.ended_at
      from tenure.attempts a
     where a.final
       and a.state = 'dead_letter'
       and not exists (select from tenure.jobs c where c.job_id = a.job_id and c.cleaned_at is not null)
    union all
    select c.job_id, 'cleaned', a.ended_at, a.leased_at, a.started_at, a.ended_at, null, null,
           a.attempt - (a.outcome = 'released' or (a.outcome = 'expired' and a.started_at is null))::integer,
           null, c.cleaned_at
      from tenure.jobs c
      join tenure.attempts a on a.job_id = c.job_id and a.final
     where c.cleaned_at is not null
  ) p
  join tenure.jobs j on j.job_id = p.job_id;
comment on view tenure.job_queue is
  'All jobs as one table with the nine states. The lease token is not shown: it is the proof of holding.';

create or replace view tenure.job_backlog with (security_invoker = true) as
select q.tenant_id, q.job_kind, q.state,
       count(*) as row_count,
       min(q.created_at) as oldest_created_at,
       max(q.created_at) as newest_created_at,
       min(q.scheduled_at) as next_scheduled_at,
       avg(q.attempts)::numeric(10, 2) as attempts_avg,
       max(q.attempts) as attempts_max
  from tenure.job_queue q
 group by q.tenant_id, q.job_kind, q.state;
comment on view tenure.job_backlog is
  'How many jobs of each kind are in each state. Filter by state to keep it cheap: terminal states count '
  'history.';

create or replace view tenure.job_in_progress with (security_invoker = true) as
select n.tenant_id, n.kind as job_kind, n.executor,
       count(*) filter (where a.started_at is null) as leased,
       count(*) filter (where a.started_at is not null) as in_progress,
       min(a.started_at) as oldest_started_at
  from tenure.active a
  join tenure.lanes n on n.lane = a.lane
 group by n.tenant_id, n.kind, n.executor;
comment on view tenure.job_in_progress is 'Held jobs per kind and executor.';
