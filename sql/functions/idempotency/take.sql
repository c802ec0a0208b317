-- Idempotency keys: taking them for the jobs of a batch, and how long a job keeps its key.

-- Whether a job that has ended still keeps its key, for the time its kind sets (key_keep_seconds). Keys of
-- steps, slots and subscriptions are not kept.
create or replace function tenure.idempotency_kept(p_job_id uuid, p_ended_at timestamptz, p_now timestamptz)
returns boolean
language sql stable
as $$
  select exists (
    select from tenure.jobs j
     cross join lateral (
       select k.key_keep_seconds
         from tenure.kinds k
        where k.tenant_id = j.tenant_id and k.kind = j.kind
        limit 1) k
     where j.job_id = p_job_id
       and not j.source_system ^@ 'tenure.'
       and p_ended_at > p_now - make_interval(secs => k.key_keep_seconds))
$$;

-- Takes the keys of a batch for its jobs, and returns the jobs that must not be made because an
-- unfinished job has their key. Equal keys within the batch are folded. Keys are inserted, and then the
-- existing ones locked, in hash order. An existing key is free only if its job has a final record, read
-- after the lock was taken: an operator's retry takes the same lock and takes the record back.
-- Above read committed the snapshot may be older than the lock: tenure.idempotency_prove fails with
-- serialization_failure (40001) where it does not show the present.
create or replace function tenure.idempotency_take(p_ids uuid[], p_hashes uuid[]) returns uuid[]
language plpgsql
as $$
declare
  v_made  uuid[];
  v_stood record;
  v_free  uuid[];
  v_now   timestamptz;
  v_row   record;
begin
  -- Nearly always all keys are new, and a plain insert costs a third less than one with on conflict.
  if cardinality(p_ids) > 1 then
    begin
      insert into tenure.idempotency (key_hash, job_id)
      select t.hash, t.id
        from unnest(p_hashes, p_ids) t (hash, id)
       where t.hash is not null
       order by t.hash;
      return '{}';
    exception when unique_violation then
      null;
    end;
  elsif p_hashes[1] is null then
    return '{}';
  else
    insert into tenure.idempotency (key_hash, job_id)
    values (p_hashes[1], p_ids[1])
    on conflict (key_hash) do nothing;
    if found then
      return '{}';
    end if;
  end if;
  with asked as (
    select distinct on (t.hash) t.hash, t.id
      from unnest(p_hashes, p_ids) with ordinality t (hash, id, n)
     where t.hash is not null
     order by t.hash, t.n
  ), taken as (
    insert into tenure.idempotency (key_hash, job_id)
    select a.hash, a.id from asked a order by a.hash
    -- Never updates, but locks the existing key, and inserts after all when a sweep deletes that meanwhile.
    on conflict (key_hash) do update set job_id = excluded.job_id where false
    returning idempotency.job_id
  )
  select array_agg(t.job_id) into v_made from taken t;
  if cardinality(v_made) = (select count(*) from unnest(p_hashes) h where h is not null) then
    return '{}';
  end if;
  select array_agg(i.key_hash) as hashes, array_agg(i.job_id) as job_ids into v_stood
    from (select i.key_hash, i.job_id
            from tenure.idempotency i
           where i.key_hash = any (p_hashes)
             and i.job_id <> all (coalesce(v_made, '{}'))
           order by i.key_hash
             for update) i;
  v_now := tenure.now();
  select coalesce(array_agg(t.hash), '{}') into v_free
    from unnest(v_stood.hashes, v_stood.job_ids) t (hash, job_id)
    cross join lateral (
      select a.ended_at from tenure.attempts a where a.job_id = t.job_id and a.final limit 1) f
   where not tenure.idempotency_kept(t.job_id, f.ended_at, v_now);
  if v_stood.job_ids is not null
     and current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    perform tenure.idempotency_prove(v_stood.job_ids);
  end if;
  -- A loop with one look-up per key: functions that call this turn nested loops off, and a
  -- join would read the whole table.
  for v_row in
    select distinct on (t.hash) t.hash, t.id
      from unnest(p_hashes, p_ids) with ordinality t (hash, id, n)
     where t.hash = any (v_free)
     order by t.hash, t.n
  loop
    update tenure.idempotency i set job_id = v_row.id where i.key_hash = v_row.hash;
    v_made := v_made || v_row.id;
  end loop;
  return array(
    select t.id
      from unnest(p_hashes, p_ids) t (hash, id)
     where t.hash is not null
       and t.id <> all (coalesce(v_made, '{}')));
end
$$;

-- Proves that an old snapshot shows the present of these jobs, or fails with serialization_failure: each
-- has a final record that still stands, or a row in one of the tables of unfinished jobs that is still
-- there now. A lock on a row that was changed or deleted since the snapshot fails with 40001. A row that
-- another transaction is about to change is skipped: until that commits, the snapshot is right. The locks
-- are released at once, with the subtransaction: no claim and no end waits for the caller.
create or replace function tenure.idempotency_prove(p_job_ids uuid[]) returns void
language plpgsql
as $$
declare
  v_id uuid;
  v_at record;
begin
  foreach v_id in array p_job_ids loop
    if exists (select from tenure.attempts a where a.job_id = v_id and a.final) then
      perform from tenure.attempts a where a.job_id = v_id and a.final for share skip locked;
      continue;
    elsif exists (select from tenure.active a where a.job_id = v_id) then
      perform from tenure.active a where a.job_id = v_id for share skip locked;
      continue;
    end if;
    select j.lane, -j.priority as rank, coalesce(a.next_due, j.due) as due into v_at
      from tenure.jobs j
      left join lateral (
        select a.next_due
          from tenure.attempts a
         where a.job_id = j.job_id
         order by a.run desc
         limit 1) a on true
     where j.job_id = v_id;
    if exists (select from tenure.ready r
                where r.lane = v_at.lane and r.rank = v_at.rank and r.due = v_at.due and r.job_id = v_id) then
      perform from tenure.ready r
        where r.lane = v_at.lane and r.rank = v_at.rank and r.due = v_at.due and r.job_id = v_id
          for share skip locked;
    elsif exists (select from tenure.delayed d
                   where d.lane = v_at.lane and d.due = v_at.due and d.job_id = v_id) then
      perform from tenure.delayed d
        where d.lane = v_at.lane and d.due = v_at.due and d.job_id = v_id
          for share skip locked;
    else
      raise exception using errcode = 'serialization_failure',
        message = format('The snapshot does not show where job %s is, which has the key.', v_id),
        hint = 'Roll back and run the transaction again.';
    end if;
  end loop;
  -- Ends the subtransaction, and with it the locks.
  raise exception 'proven';
exception when raise_exception then
  null;
end
$$;
