-- The default and the guards of jobs and their attempts.

-- The trace of the transaction: the setting tenure.traceparent, if it is a W3C traceparent of version 00. Any
-- other value is ignored. The planner inlines it, and it does without a regular expression, which would cost
-- more.
create or replace function tenure.traceparent() returns text
language sql stable parallel safe
as $$
  select case
    when length(current_setting('tenure.traceparent', true)) = 55
     and current_setting('tenure.traceparent', true)
         like '00-________________________________-________________-__'
     and translate(current_setting('tenure.traceparent', true), '0123456789abcdef', '') = '---'
     and current_setting('tenure.traceparent', true) not like '00-00000000000000000000000000000000-%'
     and current_setting('tenure.traceparent', true) not like '%-0000000000000000-__'
    then current_setting('tenure.traceparent', true)
  end
$$;

-- A job changes only when it is cleaned, once, and cleaning only empties it. Rows are compared by their
-- binary image: json has no equality, and a number in it may be too large for jsonb.
create or replace function tenure.jobs_only_cleaned() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if old.cleaned_at is null
     and new.cleaned_at is not null
     and (new.payload::text, new.source_ref, new.target_ref, new.payload_ref)
         is not distinct from ('{}', null::text, null::text, null::text)
  then
    old.payload := new.payload;
    old.source_ref := null;
    old.target_ref := null;
    old.payload_ref := null;
    old.cleaned_at := new.cleaned_at;
    if old operator(pg_catalog.*=) new then
      return new;
    end if;
  end if;
  raise exception using
    errcode = 'TN014',
    message = format('Job %s cannot be changed.', old.job_id),
    detail = 'A job is written once. Its state is where its rows are; only the retention sweep empties it.',
    hint = 'Use the functions of schema tenure.';
end
$$;

-- The record of a run changes in two ways only: the sweep empties it, and an operator's retry of a failed job
-- makes its last run one that is not final.
create or replace function tenure.attempts_only_amended() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if (to_jsonb(new) - array['result', 'result_ref', 'error_message'])
       = (to_jsonb(old) - array['result', 'result_ref', 'error_message'])
     and new.result is null
     and new.result_ref is null
  then
    return new;
  end if;
  if old.final
     and old.state = 'failed'
     and not new.final
     and new.next_due is not null
     and (to_jsonb(new) - array['final', 'next_due']) = (to_jsonb(old) - array['final', 'next_due'])
  then
    return new;
  end if;
  raise exception using
    errcode = 'TN014',
    message = format('Run %s of job %s has ended and cannot be changed.', old.run, old.job_id),
    detail = 'The record of a run is written once.',
    hint = 'Use the functions of schema tenure.';
end
$$;
