-- The state of a job, found by where its rows are, and the refusals that operations on one job share. A job
-- may change tables during a look-up: each look is a statement of its own, in the order in which a job
-- travels, and the whole is repeated up to lookup_rounds_max times before the answer is busy_try_again.

-- Takes a waiting job out of ready or delayed, found by its address (lane, rank, due), without an index of
-- its own. Null when it is not there.
create or replace function tenure.waiting_take(p_job_id uuid, p_tenant_id integer) returns tenure.run_end
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lane integer;
  v_rank smallint;
  v_due  timestamptz;
  v_row  tenure.run_end;
begin
  select j.lane, -j.priority,
         coalesce(
           (select a.next_due from tenure.attempts a where a.job_id = j.job_id order by a.run desc limit 1),
           j.due)
    into v_lane, v_rank, v_due
    from tenure.jobs j
   where j.job_id = p_job_id and j.tenant_id = p_tenant_id;
  v_row.job_id := p_job_id;
  v_row.tenant_id := p_tenant_id;
  delete from tenure.ready r
   where r.lane = v_lane and r.rank = v_rank and r.due = v_due and r.job_id = p_job_id
  returning r.lane, r.due, r.run, r.attempts, r.state
       into v_row.lane, v_row.due, v_row.run, v_row.attempt, v_row.outcome;
  if found then
    return v_row;
  end if;
  delete from tenure.delayed d
   where d.lane = v_lane and d.due = v_due and d.job_id = p_job_id
  returning d.lane, d.due, d.run, d.attempts, d.state
       into v_row.lane, v_row.due, v_row.run, v_row.attempt, v_row.outcome;
  if found then
    return v_row;
  end if;
  return null;
end
$$;

-- The state of a job; null when the job does not exist, 'moving' when it changed tables during every look.
create or replace function tenure.job_state(p_job_id uuid) returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lane  integer;
  v_rank  smallint;
  v_due   timestamptz;
  v_clean timestamptz;
  v_final boolean;
  v_next  timestamptz;
  v_state text;
begin
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    select j.lane, -j.priority, j.due, j.cleaned_at
      into v_lane, v_rank, v_due, v_clean
      from tenure.jobs j
     where j.job_id = p_job_id;
    if not found then
      return null;
    elsif v_clean is not null then
      return 'cleaned';
    end if;
    select a.final, a.state, a.next_due
      into v_final, v_state, v_next
      from tenure.attempts a
     where a.job_id = p_job_id
     order by a.run desc
     limit 1;
    if v_final then
      return v_state;
    end if;
    v_due := coalesce(v_next, v_due);
    select r.state into v_state
      from tenure.ready r
     where r.lane = v_lane and r.rank = v_rank and r.due = v_due and r.job_id = p_job_id;
    if found then
      return v_state;
    end if;
    select d.state into v_state
      from tenure.delayed d
     where d.lane = v_lane and d.due = v_due and d.job_id = p_job_id;
    if found then
      return v_state;
    end if;
    select case when a.started_at is null then 'leased' else 'in_progress' end into v_state
      from tenure.active a
     where a.job_id = p_job_id;
    if found then
      return v_state;
    end if;
  end loop;
  return 'moving';
end
$$;

-- Refuses with job_not_found when the tenant does not have this job.
create or replace function tenure.check_job_exists(p_job_id uuid, p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from tenure.jobs j where j.job_id = p_job_id and j.tenant_id = p_tenant_id) then
    perform tenure.refuse('job_not_found',
      format('There is no job %s.', coalesce(p_job_id::text, 'without an id')),
      'It never was, belongs to another tenant, or its partition has been dropped.',
      'Check the id, or look through tenure.job_list().');
  end if;
end
$$;

-- Refuses an operation on a job that changed tables during every look.
create or replace function tenure.refuse_busy(p_job_id uuid) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select tenure.refuse('busy_try_again', format('Job %s kept moving.', p_job_id),
    format('It changed places in each of %s looks.', tenure.limit_of('lookup_rounds_max')), 'Try again.')
$$;

-- Refuses a transition. The refusal names the state and the states from which the transition is possible.
create or replace function tenure.refuse_state(p_job_id uuid, p_state text, p_wanted text, p_from text[])
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select tenure.refuse('state_conflict',
    format('Job %s is %s and cannot be %s.', p_job_id, p_state, p_wanted),
    format('That is possible only from: %s.', array_to_string(p_from, ', ')),
    case p_state
      when 'dead_letter' then 'Triage its dead letter as manual_replay and replay it: a new job.'
      when 'cleaned' then 'Enqueue a new job; its data is gone.'
      when 'leased' then 'Wait for its end, or cancel it.'
      when 'in_progress' then 'Wait for its end, or cancel it.'
      else 'Terminal is final: enqueue a new job.'
    end)
$$;
