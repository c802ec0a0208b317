-- Who may call what, in one place. Only the owner writes tables; a function that is not granted here cannot
-- be called. A function or view named here must have one signature only, so that its name is enough.

revoke all on all functions in schema tenure from public;
revoke all on all tables in schema tenure from public;
revoke all on all functions in schema tenure from
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;

grant usage on schema tenure to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;

-- Every role reads, within its own tenant: functions, ...
grant execute on function
  tenure.now, tenure.caller, tenure.current_tenant, tenure.is_every_tenant,
  tenure.setting, tenure.setting_integer, tenure.limit_of,
  tenure.refuse, tenure.refusal, tenure.refusal_codes, tenure.check_number,
  tenure.acts_as, tenure.may_see, tenure.priority_of,
  tenure.config_list, tenure.config_get, tenure.tenant_list,
  tenure.executor_list, tenure.stale_check, tenure.kind_list, tenure.kind_show,
  tenure.event_list, tenure.stream_lag,
  tenure.job_show, tenure.job_list, tenure.job_ended, tenure.job_timeline, tenure.job_explain,
  tenure.job_payload, tenure.job_lease,
  tenure.dead_letter_list, tenure.dead_letter_show,
  tenure.health, tenure.doctor, tenure.metrics, tenure.partition_list,
  tenure.event_end, tenure.subscription_list, tenure.delivery_list,
  tenure.schedule_list, tenure.schedule_show, tenure.schedule_slots, tenure.schedule_at,
  tenure.execution_show, tenure.execution_plan, tenure.execution_list, tenure.step_list,
  tenure.execution_timeline, tenure.execution_difference, tenure.execution_ended, tenure.execution_preview,
  tenure.execution_evidence, tenure.execution_archive_show, tenure.execution_archive_list,
  tenure.execution_dead_letter_list, tenure.execution_dead_letter_show,
  tenure.approval_list, tenure.approval_show, tenure.approval_votes_of, tenure.approval_rule_list,
  tenure.action_list, tenure.action_show, tenure.target_type_list, tenure.governance_change_list,
  tenure.lock_list, tenure.lock_waiters, tenure.timeout_policy_list, tenure.evidence_key_list,
  tenure.execution_moves, tenure.service_list,
  tenure.anchor_list, tenure.anchor_show, tenure.anchor_proof, tenure.anchor_status
to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;

-- ... and views with the tables under them, but never a token and never a payload.
grant select on
  tenure.job_queue, tenure.job_backlog, tenure.job_in_progress,
  tenure.dead_letter_summary, tenure.dead_letters_open, tenure.queue_health, tenure.transitions,
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
grant select (lane, tenant_id, owner, executor, principal, leased_at, until, lease_seconds, renewals, held)
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

-- Producers enqueue; so do workers, for the executors they are bound to.
grant execute on function
  tenure.job_enqueue_many, tenure.job_enqueue_plain, tenure.job_enqueue, tenure.try_job_enqueue,
  tenure.lane_open
to tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- Requesters submit plans with steps of any kind, and withdraw and retry their own.
grant execute on function
  tenure.execution_submit, tenure.execution_withdraw, tenure.execution_background, tenure.execution_retry
to tenure_server, tenure_admin, tenure_operator, tenure_requester;

-- Only approvers decide about plans; admins do not.
grant execute on function tenure.approval_decide to tenure_server, tenure_approver;

-- Operators and workers that use targets outside executions lock them too.
grant execute on function tenure.lock_acquire, tenure.lock_renew, tenure.lock_release
to tenure_server, tenure_operator, tenure_worker;

-- Programs read their subscriptions, and acknowledge how far they have come.
grant execute on function tenure.subscription_read, tenure.subscription_ack
to tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- Workers hold jobs. A producer cannot claim, nor can an admin.
grant execute on function
  tenure.job_claim_many, tenure.job_claim, tenure.job_held, tenure.job_start_many, tenure.job_start,
  tenure.job_heartbeat_many, tenure.job_heartbeat, tenure.job_progress,
  tenure.job_end_many, tenure.job_complete, tenure.job_fail, tenure.job_snooze, tenure.job_release,
  tenure.job_acknowledge_cancel, tenure.job_turn, tenure.worker_park, tenure.lane_ready,
  tenure.offer_make, tenure.offer_withdraw, tenure.offer_lock, tenure.executor_beat,
  tenure.try_job_claim, tenure.try_job_start, tenure.try_job_heartbeat, tenure.try_job_progress,
  tenure.try_job_complete, tenure.try_job_fail, tenure.try_executor_beat
to tenure_server, tenure_worker;

-- Operators decide about jobs, dead letters and gates, and run the services.
grant execute on function
  tenure.job_cancel, tenure.job_retry, tenure.job_dead_letter,
  tenure.dead_letter_triage, tenure.dead_letter_replay_preview, tenure.dead_letter_replay,
  tenure.gate_set, tenure.kind_pause, tenure.kind_resume,
  tenure.job_reap, tenure.job_sweep, tenure.partition_upkeep,
  tenure.subscription_create, tenure.subscription_pause, tenure.subscription_resume,
  tenure.subscription_rotate, tenure.subscription_delete, tenure.subscription_run,
  tenure.delivery_retry, tenure.delivery_sweep,
  tenure.schedule_create, tenure.schedule_update, tenure.schedule_put, tenure.schedule_pause,
  tenure.schedule_resume, tenure.schedule_delete, tenure.schedule_run, tenure.schedule_backfill,
  tenure.slot_sweep,
  tenure.execution_cancel, tenure.execution_resolve, tenure.execution_close, tenure.execution_freeze,
  tenure.execution_unfreeze, tenure.execution_tick, tenure.execution_dead_letter_triage,
  tenure.lock_break, tenure.request_sweep,
  tenure.try_job_cancel, tenure.try_job_dead_letter, tenure.try_job_sweep
to tenure_server, tenure_admin, tenure_operator;

-- Admins configure their tenant.
grant execute on function
  tenure.config_set, tenure.kind_set, tenure.login_bind, tenure.login_unbind, tenure.tenant_create,
  tenure.principal_create, tenure.principal_list, tenure.key_create, tenure.key_list, tenure.key_revoke,
  tenure.approval_rule_set, tenure.approval_rule_delete, tenure.principal_set, tenure.timeout_policy_set,
  tenure.action_set, tenure.action_delete, tenure.target_type_set, tenure.target_type_delete,
  tenure.governance_change_decide
to tenure_server, tenure_admin;

-- Servers act for keys, plan and start what is scheduled, sign and archive evidence, and call webhooks: only
-- they see the secrets of webhooks.
grant execute on function
  tenure.key_check, tenure.key_home, tenure.keys_ended, tenure.act_for_key, tenure.keys_used,
  tenure.delivery_claim, tenure.delivery_end, tenure.schedule_take, tenure.schedule_advance,
  tenure.evidence_key_add, tenure.evidence_key_current, tenure.execution_archive_due,
  tenure.execution_archive, tenure.installation_check, tenure.service_beat
to tenure_server;

-- Servers make checkpoints and publish them outside the database.
grant execute on function
  tenure.anchor_collect, tenure.anchor_begin, tenure.anchor_add, tenure.anchor_published, tenure.anchor_sweep,
  tenure.evidence_key_register
to tenure_server;

-- Servers keep the answers to requests with an Idempotency-Key.
grant execute on function tenure.request_begin, tenure.request_end to tenure_server;
