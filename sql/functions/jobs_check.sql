-- What jobs of a batch may be to each other and to those that are there.

-- Refuses ids that are taken or given twice, parents that are not there, and jobs that would be their own
-- ancestors. A parent is a job of the same tenant, or of the same batch; no foreign key: it may be swept
-- before its children. An id whose key turns out to be taken is no new job, and may stand already.
create or replace function tenure.check_relatives(
  p_tenant_id integer, p_ids uuid[], p_hashes uuid[], p_job_ids uuid[], p_parent_job_ids uuid[]) returns void
language plpgsql
as $$
declare
  v_circle uuid;
  v_now    timestamptz;
begin
  v_now := case when p_job_ids is not null then tenure.now() end;
  if p_job_ids is not null and (
    exists (
      select from unnest(p_ids, p_hashes) t (id, hash)
        cross join lateral (select from tenure.jobs j where j.job_id = t.id limit 1) j
        left join lateral (select i.job_id from tenure.idempotency i
                            where i.key_hash = t.hash limit 1) i on true
        left join lateral (select a.ended_at from tenure.attempts a
                            where a.job_id = i.job_id and a.final limit 1) f on true
       where i.job_id is null
          or (f.ended_at is not null and not tenure.key_kept(i.job_id, f.ended_at, v_now)))
    or exists (select from unnest(p_ids) t (id) group by t.id having count(*) > 1)) then
    perform tenure.refuse_id_taken();
  end if;
  perform tenure.check_job_exists(t.id, p_tenant_id)
     from unnest(p_parent_job_ids) t (id)
    where t.id is not null and t.id <> all (p_ids)
      and not exists (select from tenure.jobs j where j.job_id = t.id and j.tenant_id = p_tenant_id);
  if p_parent_job_ids && p_ids then
    -- From those whose parent is not of the batch downwards: what is not reached is part of a circle, or
    -- hangs on one.
    with recursive reached (id) as (
      select t.id from unnest(p_ids, p_parent_job_ids) t (id, parent)
       where t.parent is null or t.parent <> all (p_ids)
      union
      select t.id from reached r join unnest(p_ids, p_parent_job_ids) t (id, parent) on t.parent = r.id
    )
    select t.id into v_circle from unnest(p_ids) t (id)
     where t.id not in (select r.id from reached r) limit 1;
    if v_circle is not null then
      perform tenure.refuse('parent_cycle', format('Job %s would be its own ancestor.', v_circle),
        'A parent is another job, and parents form no circle.',
        'Leave the parent out, or name the job that caused this one.');
    end if;
  end if;
end
$$;

create or replace function tenure.refuse_id_taken() returns void
language sql
as $$
  select tenure.refuse('id_taken', 'There is already a job with this id.', 'An id names one job for ever.',
    'Use a new id; for a safe repetition give an idempotency key.')
$$;
