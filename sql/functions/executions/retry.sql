-- Retrying an execution that has ended without success.

-- Runs the plan of an execution that failed, failed partially or was cancelled once more, as a new execution
-- with approvals of its own. 'resume' carries over the steps that succeeded; 'restart' begins anew. The new
-- execution takes over the key; when another one has it meanwhile, the retry is refused with key_taken.
-- granted to: admin, operator, requester
create or replace function tenure.execution_retry(
  p_execution_id uuid, p_mode text default 'resume', p_reason text default null,
  p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_old    tenure.execution_rows;
  v_new    tenure.execution_rows;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_word('value_unknown', 'mode', p_mode, array['resume', 'restart']);
  if p_reason is not null then
    perform tenure.check_name('reason', p_reason);
  end if;
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_old := tenure.execution_locked(v_caller.tenant_id, p_execution_id);
  perform tenure.check_retry(v_caller, v_old);
  v_now := tenure.now();
  perform tenure.check_retry_state(v_now, v_old);
  update tenure.execution_states e set held_key = null where e.execution_id = p_execution_id;
  v_new := tenure.execution_freeze_plan(v_caller, v_now,
    tenure.submission_again(v_old, nullif(p_on_behalf_of, '')));
  if v_new.chain_length > 0 then
    perform tenure.refuse('key_taken',
      format('The key of execution %s belongs to execution %s now.', p_execution_id, v_new.execution_id),
      'Another was submitted with it after this one had ended.',
      'Wait for that execution, or cancel it first.');
  end if;
  update tenure.execution_states e
     set retried_as = v_new.execution_id
   where e.execution_id = p_execution_id;
  update tenure.execution_dead_letters d
     set retried_as = v_new.execution_id,
         triage_status = 'closed',
         triaged_at = v_now,
         triaged_by = v_caller.principal,
         triage_note = coalesce(p_reason, d.triage_note)
   where d.execution_id = p_execution_id and d.tenant_id = v_caller.tenant_id;
  if p_mode = 'resume' then
    perform tenure.steps_carry_over(v_now, v_caller.principal, p_execution_id, v_new.execution_id, p_reason);
  end if;
  perform tenure.chain_append(v_now, v_caller.principal, array[(
    p_execution_id, 'execution_retried', null,
    jsonb_build_object(
      'as', v_new.execution_id, 'mode', p_mode, 'reason', p_reason))::tenure.chain_entry]);
  v_new := tenure.execution_admit(v_now, v_caller.principal, v_new.execution_id);
  return tenure.submission_shown(v_new, false, false, null)
    || jsonb_build_object('retry_of', p_execution_id, 'carried', v_new.steps_succeeded);
end
$$;

-- Refuses to retry an execution that has not ended or that succeeded, that was retried or superseded before,
-- or whose window has passed.
create or replace function tenure.check_retry_state(p_now timestamptz, p_old tenure.execution_rows)
returns void
language plpgsql
as $$
begin
  if p_old.state not in ('failed', 'partially_failed', 'cancelled') then
    perform tenure.refuse_execution_state(p_old, 'retried', 'failed, partially_failed, cancelled',
      case p_old.state
        when 'succeeded' then 'Submit the plan again.'
        when 'rejected' then 'Change the plan, and submit it.'
        else 'Wait for its end, or cancel it.'
      end);
  end if;
  if p_old.retried_as is not null then
    perform tenure.refuse('already_replayed',
      format('Execution %s was retried as %s.', p_old.execution_id, p_old.retried_as),
      'An execution is retried once; its story goes on there.',
      'Look at that execution.');
  end if;
  if p_old.reason_code = 'superseded' then
    perform tenure.refuse('state_conflict',
      format('Execution %s gave way to %s.', p_old.execution_id, (
        select string_agg(e.execution_id::text, ', ')
          from tenure.execution_rows e
         where e.tenant_id = p_old.tenant_id and e.supersedes = p_old.execution_id)),
      'A new plan has taken its place; both at once is what nobody asked for.',
      'Look at that execution; submit the old plan again if it is wanted after all.');
  end if;
  if p_old.start_before <= p_now then
    perform tenure.refuse('range_invalid', format('It had to start before %s.', p_old.start_before),
      'A retry keeps to the window of what it retries.',
      'Submit the plan again, with another window.');
  end if;
end
$$;

-- The submission that runs the plan of an execution once more, with its key and its window.
create or replace function tenure.submission_again(p_old tenure.execution_rows, p_on_behalf_of text)
returns tenure.submission
language plpgsql stable
as $$
declare
  v_again tenure.submission;
begin
  select p.plan, p.plan_hash, p.plan_snapshot
    into v_again.plan_text, v_again.plan_hash, v_again.plan
    from tenure.plans p
   where p.execution_id = p_old.execution_id;
  v_again.key := p_old.idempotency_key;
  v_again.key_origin := p_old.key_origin;
  v_again.start_after := p_old.start_after;
  v_again.start_before := p_old.start_before;
  v_again.metadata := p_old.metadata;
  v_again.on_behalf_of := p_on_behalf_of;
  v_again.retry_of := p_old.execution_id;
  return v_again;
end
$$;

-- Carries the steps that succeeded over to the execution that resumes the old one.
create or replace function tenure.steps_carry_over(
  p_now timestamptz, p_actor text, p_from uuid, p_to uuid, p_reason text) returns void
language plpgsql
as $$
begin
  update tenure.step_states s
     set state = 'succeeded',
         carried_from = p_from,
         attempt = o.attempt,
         worker = o.worker,
         started_at = o.started_at,
         ended_at = o.ended_at,
         output_summary = o.output_summary,
         output_ref = o.output_ref,
         output_size_bytes = o.output_size_bytes,
         verdict_by = o.verdict_by,
         verdict_reason = o.verdict_reason
    from tenure.step_states o
   where s.execution_id = p_to
     and o.execution_id = p_from
     and o.step_number = s.step_number
     and o.state = 'succeeded';
  update tenure.step_states s
     set needs_left = (
           select count(*)
             from tenure.step_needs n
             join tenure.step_states o on o.execution_id = n.execution_id and o.step_number = n.needs_number
            where n.execution_id = s.execution_id
              and n.step_number = s.step_number
              and o.state <> 'succeeded')
   where s.execution_id = p_to;
  update tenure.execution_states e
     set steps_succeeded = c.carried,
         steps_open = e.step_count - c.carried
    from (select count(*)::integer as carried
            from tenure.step_states s
           where s.execution_id = p_to and s.state = 'succeeded') c
   where e.execution_id = p_to;
  perform tenure.chain_append(p_now, p_actor, array[(
    p_to, 'execution_resumed', null,
    jsonb_build_object(
      'from', p_from,
      'reason', p_reason,
      'carried', (
        select coalesce(jsonb_agg(s.step_id order by s.step_number), '[]')
          from tenure.step_rows s
         where s.execution_id = p_to
           and s.carried_from is not null)))::tenure.chain_entry]);
end
$$;
