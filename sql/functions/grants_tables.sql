-- Every role reads, within its own tenant, the views and the tables under them, but never a token and never a
-- payload. Only the owner writes tables.

revoke all on all tables in schema tenure from public;

grant usage on schema tenure to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;

grant select on
  tenure.job_queue, tenure.job_backlog, tenure.job_in_progress,
  tenure.dead_letter_summary, tenure.dead_letters_open, tenure.queue_health, tenure.event_stream,
  tenure.transitions,
  tenure.migrations, tenure.installation, tenure.tenants, tenure.config_keys, tenure.config,
  tenure.executors, tenure.event_domains, tenure.heartbeats, tenure.kinds,
  tenure.lanes, tenure.ready, tenure.delayed, tenure.events
to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;
grant select (job_id, tenant_id, lane, kind, executor, event_domain, priority, due, deadline_at, attempts_max,
    backoff_base_seconds, backoff_jitter_percent, lease_seconds, run_timeout_seconds, renewals_max,
    on_exhausted, payload_classification, source_ref, target_ref, payload_ref, idempotency_key, affinity_key,
    correlation_id, causation_event, parent_job_id, workflow_id, run_id, replay_of, source_system,
    enqueued_by, on_behalf_of, created_at, cleaned_at, traceparent, on_lost, origin)
  on tenure.jobs
to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;
grant select (lane, tenant_id, owner, executor, principal, leased_at, until, lease_seconds, renewals, held,
    limited)
  on tenure.leases
to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;
grant select (job_id, lane, run, attempt, due, started_at, run_until, hold_until, cancel_requested_at,
    cancel_by, cancel_reason, progress, progress_at, limited)
  on tenure.active
to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;
grant select (job_id, run, tenant_id, lane, attempt, outcome, state, final, owner, holder, leased_at,
    started_at, ended_at, next_due, actor, reason, error_code, error_class, error_message, result, result_ref)
  on tenure.attempts
to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;
grant select (dead_letter_id, tenant_id, job_id, run, kind, executor, event_domain, priority, attempts,
    attempts_max, payload_classification, source_ref, target_ref, payload_ref, idempotency_key, affinity_key,
    correlation_id, parent_job_id, workflow_id, run_id, source_system, actor, job_created_at, final_error,
    error_code, error_class, fingerprint, moved_at, moved_by, triage_status, triage_note, triaged_at,
    triaged_by, replayed_as, replayed_at)
  on tenure.dead_letters
to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;
