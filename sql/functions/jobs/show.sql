-- Reading one job: its payload, its lease, and the whole of it.

-- True when the caller may see a payload of this classification.
-- granted to: all
create or replace function tenure.may_see(p_classification text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_classification = 'safe_metadata'
      or (tenure.caller()).payload_access = 'restricted'
      or tenure.acts_as('tenure_admin')
$$;

-- The payload of a job, or null for a restricted one that the caller may not see. The read views get every
-- payload through this function.
-- granted to: all
create or replace function tenure.job_payload(p_job_id uuid) returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select tenure.payload_shown(j.payload)
    from tenure.jobs j
   where j.job_id = p_job_id
     and j.tenant_id = tenure.current_tenant()
     and tenure.may_see(j.payload_classification)
$$;

-- The number of attempts a job has used after a run with this outcome. An attempt that never reached the
-- handler is given back, so that a slow buffer costs no job its attempts.
create or replace function tenure.attempts_spent(p_outcome text, p_started_at timestamptz, p_attempt integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when p_outcome in ('snoozed', 'released') or (p_outcome = 'expired' and p_started_at is null)
      then greatest(p_attempt - 1, 0)
    else p_attempt
  end
$$;

-- Everything about one job, as one object.
-- granted to: all
create or replace function tenure.job_show(p_job_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant  integer := tenure.current_tenant();
  v_state   text;
  v_job     tenure.jobs;
  v_payload json;
  v_last    tenure.attempts;
  v_held    tenure.active;
  v_lease   tenure.leases;
  v_waits   integer;
  v_fence   bigint;
begin
  perform tenure.check_job_exists(p_job_id, v_tenant);
  v_state := tenure.job_state(p_job_id);
  select j.* into v_job from tenure.jobs j where j.job_id = p_job_id;
  v_payload := v_job.payload;
  v_job.payload := null;
  select a.* into v_last from tenure.attempts a where a.job_id = p_job_id order by a.run desc limit 1;
  select a.* into v_held from tenure.active a where a.job_id = p_job_id;
  select l.* into v_lease from tenure.leases l where l.token = v_held.token and l.lane = v_held.lane;
  if v_held.job_id is null and v_state in ('queued', 'retry_waiting') then
    -- The waiting row has the number of attempts used, which a retry by hand resets.
    select w.attempts into v_waits
      from (select r.attempts
              from tenure.ready r
             where r.lane = v_job.lane
               and r.rank = -v_job.priority
               and r.due = coalesce(v_last.next_due, v_job.due)
               and r.job_id = p_job_id
            union all
            select d.attempts
              from tenure.delayed d
             where d.lane = v_job.lane
               and d.due = coalesce(v_last.next_due, v_job.due)
               and d.job_id = p_job_id) w
     limit 1;
  end if;
  if v_job.enqueued_by = 'execution' then
    v_fence := tenure.fence_of(p_job_id);
  end if;
  return (to_jsonb(v_job) - array['tenant_id', 'lane', 'payload', 'due', 'origin']) || jsonb_build_object(
    'state', v_state,
    'step', tenure.step_shown(v_job.origin, v_job.target_ref, v_fence),
    'slot', v_job.origin -> 'slot',
    'payload', case
      when tenure.may_see(v_job.payload_classification) then tenure.payload_shown(v_payload)
    end,
    'due', case
      when v_state in ('queued', 'retry_waiting') then coalesce(v_last.next_due, v_job.due)
      else v_job.due
    end,
    'attempts', coalesce(v_held.attempt, v_waits,
      tenure.attempts_spent(v_last.outcome, v_last.started_at, v_last.attempt), 0),
    'run', coalesce(v_held.run, v_last.run, 0),
    'fence', v_fence,
    'lease_owner', v_lease.owner,
    'leased_at', v_lease.leased_at,
    'leased_until', v_lease.until,
    'renewals', v_lease.renewals,
    'started_at', coalesce(v_held.started_at, v_last.started_at),
    'run_until', v_held.run_until,
    'progress', v_held.progress,
    'progress_at', v_held.progress_at,
    'cancel_requested_at', v_held.cancel_requested_at,
    'cancel_by', coalesce(v_held.cancel_by, case when v_last.outcome = 'cancelled' then coalesce((
      select e.actor
        from tenure.events e
       where e.tenant_id = v_tenant
         and e.subject = p_job_id::text
         and e.kind = 'job.cancel_requested'
       order by e.at desc
       limit 1), v_last.actor) end),
    'cancel_reason', coalesce(v_held.cancel_reason,
      case when v_last.outcome = 'cancelled' then v_last.reason end),
    'finished_at', case when v_last.final then v_last.ended_at end,
    'error_code', v_last.error_code,
    'error_class', v_last.error_class,
    'error_message', v_last.error_message,
    'result', v_last.result,
    'result_ref', v_last.result_ref);
end
$$;

-- The holder of a job, for the read views. Never returns the token, which is the proof of holding.
-- granted to: all
create or replace function tenure.job_lease(p_job_id uuid)
returns table (owner text, leased_at timestamptz, until timestamptz)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select l.owner, l.leased_at, l.until
    from tenure.active a
    join tenure.leases l on l.token = a.token and l.lane = a.lane
   where a.job_id = p_job_id
     and (l.tenant_id = tenure.current_tenant() or tenure.is_every_tenant())
$$;
