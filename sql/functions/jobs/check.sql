-- What enqueue refuses: jobs with invalid fields, ids or parents that do not fit, and kinds or executors the
-- caller is not bound to.

-- Refuses ids that are taken or given twice, parents that do not exist, and jobs that would be their own
-- ancestors. A parent is a job of the same tenant or of the same batch; there is no foreign key, because it
-- may be swept before its children. An id whose key turns out to be taken makes no new job, and may exist
-- already.
create or replace function tenure.check_relatives(
  p_tenant_id integer, p_ids uuid[], p_hashes uuid[], p_jobs tenure.new_job[]) returns void
language plpgsql
as $$
declare
  v_now     timestamptz := tenure.now();
  v_named   boolean := exists (select from unnest(p_jobs) j where j.job_id is not null);
  v_parents uuid[] := array(select j.parent_job_id from unnest(p_jobs) j);
  v_circle  uuid;
begin
  if v_named and (
    exists (
      select from unnest(p_ids, p_hashes) t (id, hash)
        cross join lateral (select from tenure.jobs j where j.job_id = t.id limit 1) j
        left join lateral (
          select i.job_id from tenure.idempotency i where i.key_hash = t.hash limit 1) i on true
        left join lateral (
          select a.ended_at from tenure.attempts a where a.job_id = i.job_id and a.final limit 1) f on true
       where i.job_id is null
          or (f.ended_at is not null and not tenure.idempotency_kept(i.job_id, f.ended_at, v_now)))
    or exists (select from unnest(p_ids) t (id) group by t.id having count(*) > 1)) then
    perform tenure.refuse_id_taken();
  end if;
  perform tenure.check_job_exists(t.id, p_tenant_id)
     from unnest(v_parents) t (id)
    where t.id is not null
      and t.id <> all (p_ids)
      and not exists (select from tenure.jobs j where j.job_id = t.id and j.tenant_id = p_tenant_id);
  if v_parents && p_ids then
    -- Go down from the jobs whose parent is not in the batch. A job that is not reached is part of a circle
    -- or descends from one.
    with recursive reached (id) as (
      select t.id
        from unnest(p_ids, v_parents) t (id, parent)
       where t.parent is null
          or t.parent <> all (p_ids)
      union
      select t.id
        from reached r
        join unnest(p_ids, v_parents) t (id, parent) on t.parent = r.id
    )
    select t.id
      into v_circle
      from unnest(p_ids) t (id)
     where t.id not in (select r.id from reached r)
     limit 1;
    if v_circle is not null then
      perform tenure.refuse('parent_cycle', format('Job %s would be its own ancestor.', v_circle),
        'A parent is another job, and parents form no circle.',
        'Leave the parent out, or name the job that caused this one.');
    end if;
  end if;
end
$$;

-- Refuses an id that a job already has.
create or replace function tenure.refuse_id_taken() returns void
language sql
as $$
  select tenure.refuse('id_taken', 'There is already a job with this id.', 'An id names one job for ever.',
    'Use a new id; for a safe repetition give an idempotency key.')
$$;

-- False when the payload and the key of a new job are valid, but for what the text of its whole batch is
-- searched for (forbidden keys, long numbers); true means that check_job must look closer. p_text: the
-- payload as text. Every enqueue pays for this: it must stay cheap, and be inlined.
create or replace function tenure.may_be_refused(p_payload json, p_text text, p_key text) returns boolean
language sql immutable parallel safe
as $$
  select (p_text is not null
      and (json_typeof(p_payload) <> 'object'
        or octet_length(p_text) > tenure.limit_of('payload_bytes_max')
        or tenure.may_be_deep(p_text)))
    or (p_key is not null
      and (length(p_key) > tenure.limit_of('key_chars_max')
        or (ascii(p_key) not between 33 and 126 and tenure.is_blank(p_key))))
$$;

-- False when the other fields of a new job are valid; true means that check_job must look closer. Inlined.
create or replace function tenure.may_have_refused_field(p_job tenure.new_job, p_now timestamptz)
returns boolean
language sql stable parallel safe
as $$
  select (p_job.priority not between -32767 and 32767
      or p_job.due_at > p_now + make_interval(days => tenure.limit_of('schedule_ahead_days_max')::integer)
      or not isfinite(p_job.due_at)
      or p_job.attempts_max not between 1 and tenure.limit_of('attempts_max')
      or p_job.classification not in ('safe_metadata', 'restricted')
      or greatest(length(p_job.source_ref), length(p_job.target_ref), length(p_job.payload_ref))
        > tenure.limit_of('ref_chars_max')
      or p_job.source_system not in ('tenure.execution', 'tenure.schedule', 'tenure.subscription')
      or length(p_job.correlation_id) not between 1 and tenure.limit_of('name_chars_max')
      or length(p_job.affinity_key) not between 1 and tenure.limit_of('name_chars_max')
      or p_job.correlation_id ~ '[^!-~]'
      or p_job.affinity_key ~ '[^!-~]'
      or num_nonnulls(p_job.deadline_at, p_job.event_domain, p_job.job_id) > 0) is true
$$;

-- Refuses the first invalid field of a new job; p_place names the job in its batch. Called only when
-- may_be_refused or may_have_refused_field was true: a rule that is added here is added there too.
create or replace function tenure.check_job(p_place text, p_now timestamptz, p_job tenure.new_job)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_due  timestamptz := coalesce(p_job.due_at, p_now);
  v_text text;
begin
  perform tenure.check_payload('payload' || p_place, coalesce(p_job.payload, '{}'),
    tenure.limit_of('payload_bytes_max'));
  if p_job.key is not null and tenure.is_blank(p_job.key) then
    perform tenure.refuse('name_blank', format('The idempotency key%s is blank.', p_place),
      'A blank key would make unrelated jobs duplicates of each other.',
      'Give a key, or leave it out.');
  elsif length(p_job.key) > tenure.limit_of('key_chars_max') then
    perform tenure.refuse('name_invalid',
      format('The idempotency key%s has %s characters.', p_place, length(p_job.key)),
      format('A key has at most %s (key_chars_max).', tenure.limit_of('key_chars_max')),
      'Shorten it, or pass a hash of it.');
  end if;
  perform tenure.check_number('The priority' || p_place, coalesce(p_job.priority, 0), -32767, 32767);
  perform tenure.check_number('attempts_max' || p_place, coalesce(p_job.attempts_max, 1), 1,
    tenure.limit_of('attempts_max'));
  if not isfinite(v_due)
     or v_due > p_now + make_interval(days => tenure.limit_of('schedule_ahead_days_max')::integer) then
    perform tenure.refuse('schedule_too_far', format('The job%s is due at %s.', p_place, v_due),
      format(
        'A job is scheduled at most %s days ahead (schedule_ahead_days_max), well before its partition may '
          'go.',
        tenure.limit_of('schedule_ahead_days_max')),
      format('Enqueue it later, within %s days of its time.', tenure.limit_of('schedule_ahead_days_max')));
  end if;
  if not isfinite(p_job.deadline_at) or p_job.deadline_at <= greatest(p_now, v_due) then
    perform tenure.refuse('deadline_invalid', format('The deadline%s is %s.', p_place, p_job.deadline_at),
      format('It must lie in the future and after the due time (%s): past it, the job never starts.', v_due),
      'Give a later deadline, or none.');
  end if;
  perform tenure.check_word('value_unknown', 'payload classification' || p_place,
    coalesce(p_job.classification, 'safe_metadata'), array['safe_metadata', 'restricted']);
  perform tenure.check_word('value_unknown', 'event domain' || p_place, coalesce(p_job.event_domain, 'job'),
    (select array_agg(d.domain order by d.domain) from tenure.event_domains d));
  perform tenure.check_name('source system' || p_place, coalesce(p_job.source_system, 'tenure'));
  foreach v_text in array array[p_job.source_ref, p_job.target_ref, p_job.payload_ref] loop
    if length(v_text) > tenure.limit_of('ref_chars_max') then
      perform tenure.refuse('name_invalid',
        format('A reference%s has %s characters.', p_place, length(v_text)),
        format('A reference has at most %s (ref_chars_max).', tenure.limit_of('ref_chars_max')),
        'Refer to the thing by something shorter.');
    end if;
  end loop;
  foreach v_text in array array[p_job.affinity_key, p_job.correlation_id] loop
    if v_text is not null then
      perform tenure.check_name('affinity key or correlation id' || p_place, v_text);
    end if;
  end loop;
  if substr(p_job.job_id::text, 15, 1) <> '7'
     or abs(extract(epoch from tenure.id_time(p_job.job_id) - p_now))
       > tenure.limit_of('id_skew_seconds_max') then
    perform tenure.refuse('id_invalid', format('%s is no id for a new job%s.', p_job.job_id, p_place),
      'An id of the caller''s is a UUID of version 7 whose time lies within a day of the database''s clock.',
      'Leave the id out, and the database makes one.');
  end if;
end
$$;

-- Refuses jobs in lanes outside the kinds and executors the caller is bound to. The worker right alone
-- enqueues only for executors it is bound to.
create or replace function tenure.check_enqueue_rights(p_caller tenure.caller_identity, p_lanes integer[])
returns void
language plpgsql stable
as $$
declare
  v_lane record;
  v_free boolean := tenure.acts_as('tenure_producer')
    or tenure.is_trusted()
    or tenure.acts_as('tenure_admin')
    or tenure.acts_as('tenure_operator');
begin
  -- The right to submit the plan is the right to run its steps.
  if p_caller.scope = 'execution' or (v_free and p_caller.executors is null and p_caller.kinds is null) then
    return;
  end if;
  for v_lane in select distinct l.kind, l.executor from tenure.lanes l where l.lane = any (p_lanes) loop
    perform tenure.check_driven(p_caller, v_lane.executor);
    if p_caller.executors is null and not v_free then
      perform tenure.refuse('executor_not_driven',
        format('%s drives no executor by name.', p_caller.principal),
        'A worker enqueues only for executors it is bound to.',
        'An admin binds it: select tenure.login_bind(login, p_executors => array[…]), or grants '
          'tenure_producer.');
    end if;
    if p_caller.kinds is not null and (v_lane.kind = any (p_caller.kinds)) is not true then
      perform tenure.refuse('kind_not_allowed',
        format('%s may not work with the kind %s.', p_caller.principal, v_lane.kind),
        format('It is bound to: %s.', array_to_string(p_caller.kinds, ', ')),
        'Use one of these, or ask an admin for a wider binding.');
    end if;
  end loop;
end
$$;

-- Refuses source systems and keys that are reserved for schedules and executions.
create or replace function tenure.check_reserved(p_source_systems text[], p_keys text[]) returns void
language plpgsql
as $$
begin
  if exists (select from unnest(p_source_systems) x (name) where x.name ^@ 'tenure.') then
    perform tenure.refuse('name_invalid', 'The source system begins with "tenure.".',
      'Those are the jobs of schedules and of executions.', 'Name your own system.');
  end if;
  if exists (select from unnest(p_keys) x (key) where x.key ~ '^step [0-9a-f]{8}-[0-9a-f-]{27} ') then
    perform tenure.refuse('name_invalid', 'The key is that of a step.',
      'Keys that begin with "step" and an execution are for steps.', 'Choose another key.');
  end if;
end
$$;
