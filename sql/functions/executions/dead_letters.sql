-- Dead letters of executions: the list, one of them, and triage.

-- Executions that failed within the last p_days days, newest first. p_before and p_before_id: failed_at and
-- execution_id of the last one of the previous page.
-- granted to: all
create or replace function tenure.execution_dead_letter_list(
  p_days integer default 7, p_triage_status text[] default null, p_limit integer default 50,
  p_before timestamptz default null, p_before_id uuid default null)
returns table (
  execution_id uuid, purpose text, plan_hash text, attempt_count integer, last_error text,
  failed_at timestamptz, triage_status text, triage_note text, triaged_at timestamptz, triaged_by text,
  retried_as uuid)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := tenure.now();
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  perform tenure.check_number('The days', p_days, 1, 3650);
  if p_triage_status is not null then
    perform tenure.check_filter('triage status', p_triage_status,
      array['pending', 'acknowledged', 'manual_replay', 'escalated', 'closed']);
  end if;
  return query
    select d.execution_id, d.purpose, d.plan_hash, d.attempt_count, d.last_error, d.failed_at,
           d.triage_status, d.triage_note, d.triaged_at, d.triaged_by, d.retried_as
      from tenure.execution_dead_letters d
     where d.tenant_id = tenure.current_tenant()
       and d.failed_at > v_now - make_interval(days => p_days)
       and (p_triage_status is null or d.triage_status = any (p_triage_status))
       and (p_before is null
         or d.failed_at <= p_before and (d.failed_at < p_before or d.execution_id > p_before_id))
     order by d.failed_at desc, d.execution_id
     limit p_limit;
end
$$;

-- Refuses an execution that has no dead letter in the tenant.
create or replace function tenure.refuse_execution_letter(p_execution_id uuid) returns void
language sql
as $$
  select tenure.refuse('dead_letter_not_found',
    format('There is no dead letter of execution %s.', coalesce(p_execution_id::text, 'without an id')),
    'It did not fail, belongs to another tenant, or was closed so long ago that it is removed '
      '(retention.dead_letters_days).',
    'Look through tenure.execution_dead_letter_list().')
$$;

-- One dead letter. Its plan is null if it has a restricted payload that the caller may not read.
-- granted to: all
create or replace function tenure.execution_dead_letter_show(p_execution_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_row    tenure.execution_dead_letters;
begin
  select d.* into v_row
    from tenure.execution_dead_letters d
   where d.execution_id = p_execution_id
     and d.tenant_id = v_caller.tenant_id;
  if not found then
    perform tenure.refuse_execution_letter(p_execution_id);
  end if;
  if v_row.plan_restricted and not tenure.may_read_plan(v_caller, p_execution_id) then
    v_row.plan := null;
  end if;
  return to_jsonb(v_row) - 'tenant_id';
end
$$;

-- Sets the triage status of a dead letter; without a note the earlier note stays. Refuses the letter of an
-- execution that was retried, and closing the letter of a partially failed execution that still holds its
-- idempotency key.
-- granted to: admin, operator
create or replace function tenure.execution_dead_letter_triage(
  p_execution_id uuid, p_status text, p_note text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_row    tenure.execution_dead_letters;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_word('value_unknown', 'triage status', p_status,
    array['acknowledged', 'manual_replay', 'escalated', 'closed']);
  select d.* into v_row
    from tenure.execution_dead_letters d
   where d.execution_id = p_execution_id
     and d.tenant_id = v_caller.tenant_id
     for no key update;
  if not found then
    perform tenure.refuse_execution_letter(p_execution_id);
  end if;
  if v_row.retried_as is not null then
    perform tenure.refuse('already_replayed',
      format('Execution %s was retried as %s.', p_execution_id, v_row.retried_as),
      'Its story goes on there.',
      'Look at that execution.');
  end if;
  if p_status = 'closed' and exists (
       select
         from tenure.execution_rows e
        where e.execution_id = p_execution_id
          and e.tenant_id = v_caller.tenant_id
          and e.state = 'partially_failed'
          and e.key_held) then
    perform tenure.refuse('state_conflict',
      format('Execution %s is partially failed and has its key yet.', p_execution_id),
      'With its letter closed nobody would see that, and the key would stay taken.',
      format('Close the execution, and its letter with it: tenure.execution_close(%L, reason).',
        p_execution_id));
  end if;
  update tenure.execution_dead_letters d
     set triage_status = p_status,
         triage_note = coalesce(p_note, d.triage_note),
         triaged_at = v_now,
         triaged_by = v_caller.principal
   where d.execution_id = p_execution_id
     and d.tenant_id = v_caller.tenant_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'execution.triaged', v_caller.principal, null,
    p_execution_id::text,
    jsonb_build_object('from', v_row.triage_status, 'to', p_status, 'note', p_note));
  return jsonb_build_object(
    'execution_id', p_execution_id,
    'triage_status', p_status,
    'triaged_by', v_caller.principal,
    'triaged_at', v_now);
end
$$;
