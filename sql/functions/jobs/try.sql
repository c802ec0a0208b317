-- The verbs of a job that return a refusal instead of raising it:
-- {"refused": true, "code", "what", "why", "next"}.
--
-- They are for callers that decide about a refusal and keep their transaction. What the refused call had
-- written is undone and the rest of the transaction stands: a caller that commits without reading the answer
-- loses the job. 'TN000' is the whole class of refusals; any other error is raised.
--
-- The three lines of the handler are the same in each: plpgsql shows the parts of an error only within the
-- handler that caught it, so no function could do this for all of them.

-- Like tenure.job_enqueue, but returns a refusal instead of raising it.
-- granted to: admin, operator, producer, worker
create or replace function tenure.try_job_enqueue(
  p_kind text, p_payload jsonb default '{}', p_key text default null, p_executor text default null,
  p_priority text default 'normal', p_due timestamptz default null, p_deadline timestamptz default null,
  p_source_ref text default null, p_target_ref text default null, p_payload_ref text default null,
  p_classification text default null, p_attempts_max integer default null,
  p_correlation_id text default null, p_causation_event bigint default null,
  p_parent_job_id uuid default null, p_workflow_id uuid default null, p_run_id uuid default null,
  p_affinity_key text default null, p_event_domain text default null, p_source_system text default null,
  p_job_id uuid default null, p_on_behalf_of text default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_enqueue(
    p_kind, p_payload, p_key, p_executor, p_priority, p_due, p_deadline, p_source_ref, p_target_ref,
    p_payload_ref, p_classification, p_attempts_max, p_correlation_id, p_causation_event, p_parent_job_id,
    p_workflow_id, p_run_id, p_affinity_key, p_event_domain, p_source_system, p_job_id, p_on_behalf_of);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_claim, but returns a refusal instead of raising it.
-- granted to: worker
create or replace function tenure.try_job_claim(
  p_worker text, p_executor text default null, p_kinds text[] default null,
  p_lease_seconds integer default null, p_mode text default 'leased', p_affinity_key text default null,
  p_priority_min integer default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_claim(
    p_worker, p_executor, p_kinds, p_lease_seconds, p_mode, p_affinity_key, p_priority_min);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_start, but returns a refusal instead of raising it.
-- granted to: worker
create or replace function tenure.try_job_start(p_job_id uuid, p_token uuid) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_start(p_job_id, p_token);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_progress, but returns a refusal instead of raising it.
-- granted to: worker
create or replace function tenure.try_job_progress(
  p_job_id uuid, p_token uuid, p_progress jsonb default '{}')
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_progress(p_job_id, p_token, p_progress);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_heartbeat, but returns a refusal instead of raising it.
-- granted to: worker
create or replace function tenure.try_job_heartbeat(
  p_job_id uuid, p_token uuid, p_lease_seconds integer default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_heartbeat(p_job_id, p_token, p_lease_seconds);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_complete, but returns a refusal instead of raising it.
-- granted to: worker
create or replace function tenure.try_job_complete(
  p_job_id uuid, p_token uuid, p_result jsonb default null, p_result_ref text default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_complete(p_job_id, p_token, p_result, p_result_ref);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_fail, but returns a refusal instead of raising it.
-- granted to: worker
create or replace function tenure.try_job_fail(
  p_job_id uuid, p_token uuid, p_message text, p_permanence text default 'transient',
  p_code text default null, p_class text default null, p_retry_seconds integer default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_fail(p_job_id, p_token, p_message, p_permanence, p_code, p_class, p_retry_seconds);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_cancel, but returns a refusal instead of raising it.
-- granted to: admin, operator
create or replace function tenure.try_job_cancel(
  p_job_id uuid, p_reason text, p_mode text default 'cooperative', p_on_behalf_of text default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_cancel(p_job_id, p_reason, p_mode, p_on_behalf_of);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_dead_letter, but returns a refusal instead of raising it.
-- granted to: admin, operator
create or replace function tenure.try_job_dead_letter(
  p_job_id uuid, p_reason text, p_on_behalf_of text default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_dead_letter(p_job_id, p_reason, p_on_behalf_of);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.job_sweep, but returns a refusal instead of raising it.
-- granted to: admin, operator
create or replace function tenure.try_job_sweep(p_limit integer default 1000) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.job_sweep(p_limit);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;

-- Like tenure.executor_beat, but returns a refusal instead of raising it.
-- granted to: worker
create or replace function tenure.try_executor_beat(
  p_name text, p_executor text, p_status text default 'ok', p_current_job_id uuid default null,
  p_metadata jsonb default '{}', p_instance uuid default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_what text; v_why text; v_next text;
begin
  return tenure.executor_beat(p_name, p_executor, p_status, p_current_job_id, p_metadata, p_instance);
exception when sqlstate 'TN000' then
  get stacked diagnostics v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(sqlstate, v_what, v_why, v_next);
end
$$;
