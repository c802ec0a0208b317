-- The end of one run: complete, fail, snooze, release and acknowledge a cancel request. These forms are for
-- people at a prompt and for shell scripts.

-- Ends one run, or refuses. A run that had already ended is answered with its recorded state.
create or replace function tenure.job_end_one(
  p_job_id uuid, p_token uuid, p_outcome text, p_result jsonb default null, p_result_ref text default null,
  p_error tenure.run_error default null, p_delay_seconds integer default null) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_end record;
begin
  select e.* into v_end
    from tenure.job_end_many(array[p_job_id], array[p_token], array[p_outcome], array[p_result],
      array[p_result_ref], array[p_error.code], array[p_error.class], array[p_error.message],
      array[p_delay_seconds]) e;
  case v_end.status
    when 'ended' then null;
    when 'already_ended' then null;
    when 'stale_lease' then
      perform tenure.refuse('stale_lease', format('This token does not hold job %s.', p_job_id),
        'The lease was lost, or the job never was under it: another attempt may own it.',
        format('Drop the result. See tenure.job_show(%L).', p_job_id));
    when 'lease_expired' then
      perform tenure.refuse('lease_expired', format('The lease on job %s has run out.', p_job_id),
        'Nobody renewed it in time; the reaper will give the job to someone else.',
        'Drop the result, and beat more often or ask for a longer lease.');
    when 'cancel_not_requested' then
      perform tenure.refuse('cancel_not_requested', format('Nobody asked to cancel job %s.', p_job_id),
        'A worker acknowledges a cancel request; it cannot cancel by itself.',
        'Fail, release or complete the job.');
    when 'not_started' then
      perform tenure.refuse('state_conflict', format('Job %s is leased and was not started.', p_job_id),
        'Snooze puts aside work in progress.', 'Start it first, or release it.');
    when 'result_too_large' then
      perform tenure.refuse('result_too_large', format('The result of job %s is too large.', p_job_id),
        format('A result has at most %s bytes and %s levels of objects and lists, and no name that begins '
          'with $serde_json::private::; its reference has at most %s characters.',
          tenure.limit_of('result_bytes_max'), tenure.limit_of('payload_depth_max'),
          tenure.limit_of('ref_chars_max')),
        'Store it elsewhere and pass a reference.');
    when 'delay_out_of_range' then
      perform tenure.refuse('number_out_of_range',
        format('The delay of job %s is %s seconds.', p_job_id, coalesce(p_delay_seconds::text, 'missing')),
        format('It must lie between 0 and %s.', tenure.limit_of('schedule_ahead_days_max') * 86400),
        'Give a delay within these bounds.');
    else
      perform tenure.refuse('value_unknown', format('The outcome %L is not known.', p_outcome),
        'It is one of: succeeded, failed, failed_permanently, cancelled, snoozed, released.',
        'Use one of these.');
  end case;
  return jsonb_build_object('job_id', p_job_id, 'status', v_end.status, 'state', v_end.state,
    'next_due', v_end.next_due);
end
$$;

-- Ends a run as succeeded, or refuses.
-- granted to: worker
create or replace function tenure.job_complete(
  p_job_id uuid, p_token uuid, p_result jsonb default null, p_result_ref text default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.job_end_one(p_job_id, p_token, 'succeeded', p_result, p_result_ref) $$;

-- Ends a run as failed, or refuses. p_permanence: 'transient' retries while attempts are left; 'permanent'
-- gives up at once. p_retry_seconds replaces the backoff.
-- granted to: worker
create or replace function tenure.job_fail(
  p_job_id uuid, p_token uuid, p_message text, p_permanence text default 'transient',
  p_code text default null, p_class text default null, p_retry_seconds integer default null) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  select tenure.job_end_one(p_job_id, p_token,
    case p_permanence
      when 'transient' then 'failed'
      when 'permanent' then 'failed_permanently'
      else p_permanence
    end,
    p_error => (p_code, p_class, p_message)::tenure.run_error, p_delay_seconds => p_retry_seconds)
$$;

-- Puts a started job aside for p_seconds, or refuses.
-- granted to: worker
create or replace function tenure.job_snooze(p_job_id uuid, p_token uuid, p_seconds integer) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.job_end_one(p_job_id, p_token, 'snoozed', p_delay_seconds => p_seconds) $$;

-- Gives a job back without finishing it, or refuses.
-- granted to: worker
create or replace function tenure.job_release(p_job_id uuid, p_token uuid) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.job_end_one(p_job_id, p_token, 'released') $$;

-- Ends a run as cancelled, or refuses when no cancel was requested.
-- granted to: worker
create or replace function tenure.job_acknowledge_cancel(p_job_id uuid, p_token uuid) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select tenure.job_end_one(p_job_id, p_token, 'cancelled') $$;
