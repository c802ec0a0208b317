-- Every limit has a name. crates/core/src/limits.rs has the same names in upper case; a test compares them.

-- A limit by its name.
-- granted to: all
create or replace function tenure.limit_of(p_name text) returns bigint
language sql immutable parallel safe
as $$
  select case p_name
    when 'payload_bytes_max'        then 8192
    when 'payload_depth_max'        then 100
    when 'batch_rows_max' then 1000 when 'event_entries_max' then 100
    when 'name_chars_max'           then 200
    when 'ref_chars_max'            then 500
    when 'key_chars_max'            then 255
    when 'answer_bytes_max'         then 1048576
    when 'error_message_bytes_max'  then 4000
    when 'result_bytes_max'         then 10240
    when 'progress_bytes_max'       then 1024
    when 'metadata_bytes_max'       then 8192
    when 'number_exponent_max'      then 308
    when 'shown_bytes_max'          then 65536
    when 'lease_seconds_max'        then 86400
    when 'attempts_max'             then 1000
    when 'backoff_seconds_max'      then 604800
    when 'backoff_base_seconds_max' then 86400
    when 'renewals_max'             then 1000000
    when 'run_timeout_seconds_max'  then 2592000
    when 'retention_seconds_min' then 60 when 'retention_seconds_max' then 315360000
    when 'schedule_ahead_days_max'  then 30
    when 'claim_lanes_max'          then 64
    when 'claim_marks_max'          then 256
    when 'marks_looked_max'         then 1024
    when 'marks_empty_looked_max'   then 10000
    when 'marks_empty_kept_max'     then 8
    when 'affinity_window_rows'     then 200
    when 'promote_rows_min'         then 100
    when 'hint_seconds_max'         then 1
    when 'hint_alone_seconds_max'   then 60
    when 'hint_overlap_ms'          then 500
    when 'lookup_rounds_max'        then 8
    when 'id_skew_seconds_max'      then 86400
    when 'list_rows_max'            then 1000
    when 'explain_rows_max'         then 1000
    when 'sweep_rows_max'           then 10000
    when 'sweep_pass_seconds'       then 86400
    when 'partitions_max'           then 16
    when 'concurrency_max'          then 100000
    when 'offer_seconds_max'        then 60
    when 'park_seconds_max'         then 3600
    when 'park_slack_seconds'       then 1
    when 'notification_bytes_max'   then 7999
    when 'key_rights_max'           then 100
    when 'event_kinds_max'          then 32
    when 'subscription_depth_max'   then 64
    when 'url_chars_max'            then 2000
    when 'scan_rows_max'            then 1000
    when 'delivery_attempts_max'    then 10
    when 'receiver_deliveries_max'  then 8
    when 'receiver_refusals_max'    then 5
    when 'ancestors_max'            then 256
    when 'metrics_series_max'       then 100
    when 'metrics_rows_max'         then 10000
    when 'metrics_samples_max'      then 500
    when 'metrics_window_seconds_max' then 900
    when 'interval_seconds_min' then 10 when 'interval_seconds_max' then 31622400
    when 'expression_chars_max'     then 200
    when 'jitter_seconds_max'       then 86400
    when 'backfill_slots_max'       then 1000
    when 'slots_waiting_max'        then 100
    when 'catch_up_slots_max'       then 100
    when 'slots_per_schedule_max'   then 100
    when 'preview_slots_max'        then 1000
    when 'schedule_rows_max'        then 500
    when 'plan_bytes_max'           then 262144
    when 'plan_submitted_bytes_max' then 1048576
    when 'plan_depth_max'           then 32
    when 'plan_steps_max'           then 1000
    when 'needs_max'                then 100
    when 'plan_sections_max'        then 100
    when 'section_steps_max'        then 100
    when 'approval_roles_max'       then 10
    when 'approval_level_max'       then 3
    when 'step_timeout_seconds_max' then 86400
    when 'execution_timeout_seconds_max' then 604800
    when 'compensation_note_chars_max' then 2000
    when 'lock_key_chars_max'       then 500
    when 'lock_target_chars_max'    then 400
    when 'hand_over_steps_max'      then 100
    when 'step_progress_lines_max'  then 100
    when 'request_lock_wait_ms_max' then 2000
    when 'anchor_leaves_max'        then 1000
    when 'moment_years_max'         then 10
    when 'actions_max'              then 1000
    when 'excerpt_chars_max'        then 100
    when 'note_chars_max'           then 2000
    when 'email_chars_max'          then 320
    when 'short_error_bytes_max'    then 1000
    when 'counted_rows_max'         then 10000
    when 'stale_seconds_max'        then 31536000
    when 'slot_retry_seconds'       then 5
    when 'slot_recheck_seconds'     then 30
    when 'slot_just_due_seconds'    then 5
    when 'slot_lock_failures_max'   then 3
    when 'schedule_error_retry_seconds' then 300
    when 'catch_up_window_seconds_min' then 60 when 'catch_up_window_seconds_max' then 2592000
    when 'subscription_retry_seconds_max' then 300
    when 'event_payload_bytes_max'  then 6000
    when 'secret_overlap_seconds'   then 86400
    when 'delivery_lease_seconds_max' then 3600
    when 'delivery_retry_seconds_min' then 5 when 'delivery_retry_seconds_max' then 86400
    when 'metrics_recent_seconds'   then 3600
    when 'anchor_pause_seconds_max' then 86400
    when 'anchor_walk_seconds'      then 86400
    when 'anchor_idle_seconds'      then 600
    when 'anchor_sink_days' then 30 when 'anchor_sink_chars_max' then 1000
    when 'anchor_error_bytes_max'   then 2000
    when 'evidence_error_chars_max' then 500
    when 'service_days' then 1 when 'service_rows_max' then 100
    when 'usual_lease_rows_max' then 2000 when 'usual_lease_steps_max' then 200
    when 'policy_renewals_max'      then 1000
    when 'execution_start_retry_ms' then 500 when 'execution_recheck_seconds' then 60
    when 'execution_stop_recheck_seconds' then 2
  end
$$;
