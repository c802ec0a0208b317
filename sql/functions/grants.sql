-- Who may call what: generated; TENURE_WRITE=1 cargo test -p tenure --test it grants:: writes it again.
-- Each function names its roles in the line "granted to:" above it. The server may call all of them.
-- A function that is not granted cannot be called. One that is has one signature only: its name is enough.

revoke all on all functions in schema tenure from public;
revoke all on all functions in schema tenure from
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;

-- granted to: all
grant execute on function
  tenure.action_list, tenure.action_show, tenure.acts_as, tenure.anchor_list, tenure.anchor_proof,
  tenure.anchor_show, tenure.anchor_status, tenure.approval_list, tenure.approval_rule_list,
  tenure.approval_show, tenure.approval_votes_of, tenure.caller, tenure.check_number, tenure.config_get,
  tenure.config_list, tenure.current_tenant, tenure.dead_letter_list, tenure.dead_letter_show,
  tenure.delivery_list, tenure.doctor, tenure.event_end, tenure.event_list, tenure.evidence_key_list,
  tenure.execution_archive_list, tenure.execution_archive_show, tenure.execution_dead_letter_list,
  tenure.execution_dead_letter_show, tenure.execution_difference, tenure.execution_ended,
  tenure.execution_evidence, tenure.execution_list, tenure.execution_moves, tenure.execution_plan,
  tenure.execution_preview, tenure.execution_show, tenure.execution_timeline, tenure.executor_list,
  tenure.governance_change_list, tenure.health, tenure.is_every_tenant, tenure.job_ended, tenure.job_explain,
  tenure.job_lease, tenure.job_list, tenure.job_payload, tenure.job_show, tenure.job_timeline,
  tenure.kind_list, tenure.kind_show, tenure.limit_of, tenure.lock_list, tenure.lock_waiters, tenure.may_see,
  tenure.metrics, tenure.now, tenure.partition_list, tenure.priority_of, tenure.refusal, tenure.refusal_codes,
  tenure.refuse, tenure.schedule_at, tenure.schedule_list, tenure.schedule_show, tenure.schedule_slots,
  tenure.service_list, tenure.setting, tenure.setting_integer, tenure.stale_check, tenure.step_list,
  tenure.stream_lag, tenure.subscription_list, tenure.target_type_list, tenure.tenant_list,
  tenure.timeout_policy_list
to
  tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
  tenure_worker, tenure_viewer;

-- granted to: admin, operator, producer, worker
grant execute on function
  tenure.job_enqueue, tenure.job_enqueue_many, tenure.job_enqueue_plain, tenure.lane_open,
  tenure.subscription_ack, tenure.subscription_read, tenure.try_job_enqueue
to
  tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- granted to: admin, operator, requester
grant execute on function
  tenure.execution_background, tenure.execution_retry, tenure.execution_submit, tenure.execution_withdraw
to
  tenure_server, tenure_admin, tenure_operator, tenure_requester;

-- granted to: admin, operator
grant execute on function
  tenure.dead_letter_replay, tenure.dead_letter_replay_preview, tenure.dead_letter_triage,
  tenure.delivery_retry, tenure.delivery_sweep, tenure.execution_cancel, tenure.execution_close,
  tenure.execution_dead_letter_triage, tenure.execution_freeze, tenure.execution_resolve,
  tenure.execution_tick, tenure.execution_unfreeze, tenure.gate_set, tenure.job_cancel,
  tenure.job_dead_letter, tenure.job_reap, tenure.job_requeue, tenure.job_retry, tenure.job_sweep,
  tenure.kind_pause, tenure.kind_resume, tenure.lock_break, tenure.partition_upkeep, tenure.request_sweep,
  tenure.schedule_backfill, tenure.schedule_create, tenure.schedule_delete, tenure.schedule_pause,
  tenure.schedule_put, tenure.schedule_resume, tenure.schedule_run, tenure.schedule_update, tenure.slot_sweep,
  tenure.subscription_create, tenure.subscription_delete, tenure.subscription_pause,
  tenure.subscription_resume, tenure.subscription_rotate, tenure.subscription_run, tenure.try_job_cancel,
  tenure.try_job_dead_letter, tenure.try_job_sweep
to
  tenure_server, tenure_admin, tenure_operator;

-- granted to: operator, worker
grant execute on function
  tenure.lock_acquire, tenure.lock_release, tenure.lock_renew
to
  tenure_server, tenure_operator, tenure_worker;

-- granted to: admin
grant execute on function
  tenure.action_delete, tenure.action_set, tenure.approval_rule_delete, tenure.approval_rule_set,
  tenure.config_set, tenure.governance_change_decide, tenure.key_create, tenure.key_list, tenure.key_revoke,
  tenure.kind_set, tenure.login_bind, tenure.login_unbind, tenure.principal_create, tenure.principal_list,
  tenure.principal_set, tenure.target_type_delete, tenure.target_type_set, tenure.tenant_create,
  tenure.timeout_policy_set
to
  tenure_server, tenure_admin;

-- granted to: approver
grant execute on function
  tenure.approval_decide
to
  tenure_server, tenure_approver;

-- granted to: worker
grant execute on function
  tenure.executor_beat, tenure.job_acknowledge_cancel, tenure.job_claim, tenure.job_claim_many,
  tenure.job_complete, tenure.job_end_many, tenure.job_fail, tenure.job_heartbeat, tenure.job_heartbeat_many,
  tenure.job_held, tenure.job_progress, tenure.job_release, tenure.job_snooze, tenure.job_start,
  tenure.job_start_many, tenure.job_turn, tenure.lane_ready, tenure.offer_lock, tenure.offer_make,
  tenure.offer_withdraw, tenure.try_executor_beat, tenure.try_job_claim, tenure.try_job_complete,
  tenure.try_job_fail, tenure.try_job_heartbeat, tenure.try_job_progress, tenure.try_job_start,
  tenure.worker_park
to
  tenure_server, tenure_worker;

-- granted to: server
grant execute on function
  tenure.act_for_key, tenure.anchor_add, tenure.anchor_begin, tenure.anchor_collect, tenure.anchor_published,
  tenure.anchor_sweep, tenure.delivery_claim, tenure.delivery_end, tenure.evidence_key_add,
  tenure.evidence_key_current, tenure.evidence_key_register, tenure.execution_archive,
  tenure.execution_archive_due, tenure.installation_check, tenure.key_check, tenure.key_home,
  tenure.keys_ended, tenure.keys_used, tenure.request_begin, tenure.request_end, tenure.schedule_advance,
  tenure.schedule_take, tenure.service_beat
to
  tenure_server;
