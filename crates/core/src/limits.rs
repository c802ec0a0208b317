//! Everything has a limit, and the limit has a name.
//!
//! SQL has the same values under the same names in lower case: `tenure.limit_of('payload_bytes_max')`.

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr, $sql:literal;)*) => {
        $($(#[$doc])* pub const $name: $type = $value;)*

        /// Every limit by the name that SQL gives it.
        ///
        /// ```
        /// use tenure_core::limits;
        ///
        /// assert!(limits::ALL.contains(&("payload_bytes_max", limits::PAYLOAD_BYTES_MAX as i64)));
        /// ```
        pub const ALL: &[(&str, i64)] = &[$(($sql, $name as i64),)*];
    };
}

limits! {
    /// A payload as PostgreSQL prints it, in bytes; see [`crate::payload::text_bytes`].
    PAYLOAD_BYTES_MAX: usize = 8192, "payload_bytes_max";
    /// Objects and lists within each other in a payload, or in what is kept to the same rules. Readers of JSON have a bound
    /// too, often of 128, and an answer with a payload is read as a whole.
    PAYLOAD_DEPTH_MAX: usize = 100, "payload_depth_max";
    /// Rows in one batch call: enqueue, claim, end, heartbeat.
    BATCH_ROWS_MAX: usize = 1000, "batch_rows_max";
    /// Entries of chains in one row of the event stream: a reader unpacks a row as a whole.
    EVENT_ENTRIES_MAX: usize = 100, "event_entries_max";
    /// Characters of a name: kind, executor, tenant, worker, principal.
    NAME_CHARS_MAX: usize = 200, "name_chars_max";
    /// Characters of a reference: source, target, payload.
    REF_CHARS_MAX: usize = 500, "ref_chars_max";
    /// Characters of an idempotency, affinity or concurrency key.
    KEY_CHARS_MAX: usize = 255, "key_chars_max";
    /// Bytes of an answer that is kept for a repeated request; of a larger one only that it was given.
    ANSWER_BYTES_MAX: usize = 1_048_576, "answer_bytes_max";
    /// Bytes of a stored error message, after masking; longer ones are cut.
    ERROR_MESSAGE_BYTES_MAX: usize = 4000, "error_message_bytes_max";
    /// Bytes of a result summary, measured uncompressed as a payload is; larger results belong in an artifact.
    RESULT_BYTES_MAX: usize = 10_240, "result_bytes_max";
    /// Bytes of a progress note.
    PROGRESS_BYTES_MAX: usize = 1024, "progress_bytes_max";
    /// Bytes of metadata on a record.
    METADATA_BYTES_MAX: usize = 8192, "metadata_bytes_max";
    /// The exponent of a number in JSON, up or down: the range of a double. PostgreSQL writes such a number out.
    NUMBER_EXPONENT_MAX: i64 = 308, "number_exponent_max";
    /// How long a payload may be with its numbers written out; a longer one is shown as the text that was sent.
    SHOWN_BYTES_MAX: i64 = 65536, "shown_bytes_max";
    /// The longest lease a kind's policy may allow: one day.
    LEASE_SECONDS_MAX: i64 = 86_400, "lease_seconds_max";
    /// The most attempts a kind's policy may allow.
    ATTEMPTS_MAX: i32 = 1000, "attempts_max";
    /// How far ahead a job may be scheduled; below the tombstone period, so that its partition outlives it.
    SCHEDULE_AHEAD_DAYS_MAX: i64 = 30, "schedule_ahead_days_max";
    /// No job waits longer than seven days for its retry, however large its base.
    BACKOFF_SECONDS_MAX: i64 = 604_800, "backoff_seconds_max";
    /// The longest delay before the second attempt that a kind's policy may set: one day.
    BACKOFF_BASE_SECONDS_MAX: i64 = 86_400, "backoff_base_seconds_max";
    /// The most renewals of a lease that a kind's policy may allow.
    RENEWALS_MAX: i64 = 1_000_000, "renewals_max";
    /// The longest run that a kind's policy may allow: 30 days.
    RUN_TIMEOUT_SECONDS_MAX: i64 = 2_592_000, "run_timeout_seconds_max";
    /// The shortest time for which a kind's policy may keep ended jobs.
    RETENTION_SECONDS_MIN: i64 = 60, "retention_seconds_min";
    /// The longest time for which a kind's policy may keep ended jobs: ten years.
    RETENTION_SECONDS_MAX: i64 = 315_360_000, "retention_seconds_max";
    /// Lanes that one claim peeks at.
    CLAIM_LANES_MAX: usize = 64, "claim_lanes_max";
    /// Marks of one rank and executor that a claim over every kind reads.
    CLAIM_MARKS_MAX: usize = 256, "claim_marks_max";
    /// Marks that a claim over every kind looks at once it has found a lane.
    MARKS_LOOKED_MAX: usize = 1024, "marks_looked_max";
    /// Marks that a claim over every kind looks at while it has found no lane.
    MARKS_EMPTY_LOOKED_MAX: usize = 10_000, "marks_empty_looked_max";
    /// Marks of empty pairs that a claim over every kind leaves as they are; it retires them when there are more.
    MARKS_EMPTY_KEPT_MAX: usize = 8, "marks_empty_kept_max";
    /// Jobs that a claim promotes or ends as late at least, however few it asks for.
    PROMOTE_ROWS_MIN: usize = 100, "promote_rows_min";
    /// How old a hint of a claim may be.
    HINT_SECONDS_MAX: i64 = 1, "hint_seconds_max";
    /// How old a hint may be when the claim looks at nothing but the hint.
    HINT_ALONE_SECONDS_MAX: i64 = 60, "hint_alone_seconds_max";
    /// How far out of order a job may come in and still be found by a claim that looks at nothing but the hint, in
    /// milliseconds.
    HINT_OVERLAP_MS: i64 = 500, "hint_overlap_ms";
    /// Rows of a lane within which a claim prefers its affinity key.
    AFFINITY_WINDOW_ROWS: usize = 200, "affinity_window_rows";
    /// Rounds in which an operation by id looks for a job that moves, before it answers `busy_try_again`.
    LOOKUP_ROUNDS_MAX: usize = 8, "lookup_rounds_max";
    /// How far the time in a client's job id may be from the database's clock: one day.
    ID_SKEW_SECONDS_MAX: i64 = 86_400, "id_skew_seconds_max";
    /// Rows of one page of a list.
    LIST_ROWS_MAX: usize = 1000, "list_rows_max";
    /// Jobs ahead of a waiting job that are counted for its explanation.
    EXPLAIN_ROWS_MAX: usize = 1000, "explain_rows_max";
    /// Jobs that one retention sweep examines.
    SWEEP_ROWS_MAX: i64 = 10_000, "sweep_rows_max";
    /// How long after its last start the retention sweep begins again from the front: one day.
    SWEEP_PASS_SECONDS: i64 = 86_400, "sweep_pass_seconds";
    /// Partitions of one table.
    PARTITIONS_MAX: i64 = 16, "partitions_max";
    /// The largest limit on held jobs of one kind.
    CONCURRENCY_MAX: i64 = 100_000, "concurrency_max";
    /// How long an idle worker's offer of a place may stand.
    OFFER_SECONDS_MAX: i64 = 60, "offer_seconds_max";
    /// How long an idle worker may listen without parking anew.
    PARK_SECONDS_MAX: i64 = 3600, "park_seconds_max";
    /// A park that ends this much earlier than another is not written anew.
    PARK_SLACK_SECONDS: i64 = 1, "park_slack_seconds";
    /// Bytes of a notification, PostgreSQL's own limit.
    NOTIFICATION_BYTES_MAX: usize = 7999, "notification_bytes_max";
    /// Roles, kinds or executors of one API key.
    KEY_RIGHTS_MAX: i64 = 100, "key_rights_max";
    /// Kinds of events that one subscription names.
    EVENT_KINDS_MAX: i64 = 32, "event_kinds_max";
    /// Subscriptions that may follow upon one another.
    SUBSCRIPTION_DEPTH_MAX: i64 = 64, "subscription_depth_max";
    /// Characters of a webhook's URL.
    URL_CHARS_MAX: i64 = 2000, "url_chars_max";
    /// Events that a subscription looks at in one transaction.
    SCAN_ROWS_MAX: i64 = 1000, "scan_rows_max";
    /// How often an event is sent to a webhook before it is given up.
    DELIVERY_ATTEMPTS_MAX: i64 = 10, "delivery_attempts_max";
    /// What is on its way to one receiver at the same time.
    RECEIVER_DELIVERIES_MAX: i64 = 8, "receiver_deliveries_max";
    /// A receiver that took nothing so often in a row is tried with one at a time.
    RECEIVER_REFUSALS_MAX: i64 = 5, "receiver_refusals_max";
    /// How far back a subscription looks for what a job descends from.
    ANCESTORS_MAX: i64 = 256, "ancestors_max";
    /// Kinds, workers and tenants that have series of their own in the metrics; the rest is summed.
    METRICS_SERIES_MAX: usize = 100, "metrics_series_max";
    /// Rows of a lane that the metrics count; a lane with more shows this number.
    METRICS_ROWS_MAX: i64 = 10_000, "metrics_rows_max";
    /// Runs whose times the metrics look up at once.
    METRICS_SAMPLES_MAX: usize = 500, "metrics_samples_max";
    /// How far back the metrics count what happened since they were last asked.
    METRICS_WINDOW_SECONDS_MAX: i64 = 900, "metrics_window_seconds_max";
    /// The shortest interval of a schedule.
    INTERVAL_SECONDS_MIN: i64 = 10, "interval_seconds_min";
    /// The longest interval of a schedule: 366 days.
    INTERVAL_SECONDS_MAX: i64 = 31_622_400, "interval_seconds_max";
    /// Characters of a cron expression.
    EXPRESSION_CHARS_MAX: usize = 200, "expression_chars_max";
    /// How far a run may be spread behind its slot: one day.
    JITTER_SECONDS_MAX: i64 = 86_400, "jitter_seconds_max";
    /// Slots that one backfill plans.
    BACKFILL_SLOTS_MAX: usize = 1000, "backfill_slots_max";
    /// Slots of one schedule that may wait behind a run under way.
    SLOTS_WAITING_MAX: i64 = 100, "slots_waiting_max";
    /// Missed slots that one look at a schedule may plan (its field `catch_up_slots_max`).
    CATCH_UP_SLOTS_MAX: i64 = 100, "catch_up_slots_max";
    /// Slots of one schedule that one tick starts.
    SLOTS_PER_SCHEDULE_MAX: i64 = 100, "slots_per_schedule_max";
    /// Slots that one preview shows.
    PREVIEW_SLOTS_MAX: usize = 1000, "preview_slots_max";
    /// Schedules that one tick takes.
    SCHEDULE_ROWS_MAX: i64 = 500, "schedule_rows_max";
    /// Bytes of a plan's canonical text, which is what is stored.
    PLAN_BYTES_MAX: usize = 262_144, "plan_bytes_max";
    /// Bytes of a plan as it is submitted: room for white space and escapes that the canonical text does not have.
    PLAN_SUBMITTED_BYTES_MAX: usize = 1_048_576, "plan_submitted_bytes_max";
    /// Objects and lists within each other in a plan.
    PLAN_DEPTH_MAX: usize = 32, "plan_depth_max";
    /// Steps of one plan.
    PLAN_STEPS_MAX: usize = 1000, "plan_steps_max";
    /// Steps that one step needs.
    NEEDS_MAX: usize = 100, "needs_max";
    /// Sections of one plan.
    PLAN_SECTIONS_MAX: usize = 100, "plan_sections_max";
    /// Steps of one section.
    SECTION_STEPS_MAX: usize = 100, "section_steps_max";
    /// Roles that a plan asks to be approved by.
    APPROVAL_ROLES_MAX: usize = 10, "approval_roles_max";
    /// The highest approval level.
    APPROVAL_LEVEL_MAX: i64 = 3, "approval_level_max";
    /// The longest that a step may run: one day.
    STEP_TIMEOUT_SECONDS_MAX: i64 = 86_400, "step_timeout_seconds_max";
    /// The longest that a plan lets its execution take: seven days.
    EXECUTION_TIMEOUT_SECONDS_MAX: i64 = 604_800, "execution_timeout_seconds_max";
    /// Characters of what a step says about undoing it.
    COMPENSATION_NOTE_CHARS_MAX: usize = 2000, "compensation_note_chars_max";
    /// Characters of a lock's key.
    LOCK_KEY_CHARS_MAX: usize = 500, "lock_key_chars_max";
    /// Characters of the part of a lock's key that names target and action; the rest is for prefix and tenant.
    LOCK_TARGET_CHARS_MAX: usize = 400, "lock_target_chars_max";
    /// Steps of plans that may not start now, which one hand-over of a lock sends out of the line; the plan in which it is
    /// reached is sent as a whole. And steps that are refused one after the other, each handing the target on. The next tick
    /// goes on.
    HAND_OVER_STEPS_MAX: i64 = 100, "hand_over_steps_max";
    /// Lines about the progress of one step in the story of its execution; what comes after them only its job knows.
    STEP_PROGRESS_LINES_MAX: i64 = 100, "step_progress_lines_max";
    /// How long a request to the server waits for a lock before it is answered with `busy_try_again`, in milliseconds.
    REQUEST_LOCK_WAIT_MS_MAX: i64 = 2000, "request_lock_wait_ms_max";
    /// Leaves of one checkpoint; where more executions have changed, several follow each other.
    ANCHOR_LEAVES_MAX: i64 = 1000, "anchor_leaves_max";
    /// How far from now the start of an execution or the end of a freeze may be, in years.
    MOMENT_YEARS_MAX: i64 = 10, "moment_years_max";
    /// Actions that a tenant may register; every plan is compared with all of them.
    ACTIONS_MAX: i64 = 1000, "actions_max";
    /// Characters of a wrong value that a refusal shows.
    EXCERPT_CHARS_MAX: usize = 100, "excerpt_chars_max";
    /// Characters of a note on an action or a target type.
    NOTE_CHARS_MAX: usize = 2000, "note_chars_max";
    /// Characters of the e-mail address of a principal.
    EMAIL_CHARS_MAX: usize = 320, "email_chars_max";
    /// Bytes of the last error of a subscription or a delivery; longer ones are cut.
    SHORT_ERROR_BYTES_MAX: usize = 1000, "short_error_bytes_max";
    /// Rows that a list counts; beyond it shows this number.
    COUNTED_ROWS_MAX: i64 = 10_000, "counted_rows_max";
    /// The longest threshold of a stale check: 365 days.
    STALE_SECONDS_MAX: i64 = 31_536_000, "stale_seconds_max";
    /// Until a slot or schedule that another transaction had locked is tried again.
    SLOT_RETRY_SECONDS: i64 = 5, "slot_retry_seconds";
    /// How often a slot that waits for a run is looked at, in case its wake-up failed.
    SLOT_RECHECK_SECONDS: i64 = 30, "slot_recheck_seconds";
    /// For how long a slot that became due is not late, although the next one is due too.
    SLOT_JUST_DUE_SECONDS: i64 = 5, "slot_just_due_seconds";
    /// Slots of one batch that meet a lock before the rest of the batch is postponed.
    SLOT_LOCK_FAILURES_MAX: i64 = 3, "slot_lock_failures_max";
    /// Until a schedule whose rule failed is computed again.
    SCHEDULE_ERROR_RETRY_SECONDS: i64 = 300, "schedule_error_retry_seconds";
    /// The shortest catch-up window of a schedule.
    CATCH_UP_WINDOW_SECONDS_MIN: i64 = 60, "catch_up_window_seconds_min";
    /// The longest catch-up window of a schedule: 30 days.
    CATCH_UP_WINDOW_SECONDS_MAX: i64 = 2_592_000, "catch_up_window_seconds_max";
    /// The longest delay until a failing subscription is tried again.
    SUBSCRIPTION_RETRY_SECONDS_MAX: i64 = 300, "subscription_retry_seconds_max";
    /// Bytes of an event with its data in the payload of a subscription's job; of a larger one the data is left out.
    EVENT_PAYLOAD_BYTES_MAX: usize = 6000, "event_payload_bytes_max";
    /// For how long deliveries are signed with the previous secret too.
    SECRET_OVERLAP_SECONDS: i64 = 86_400, "secret_overlap_seconds";
    /// The longest lease of a delivery.
    DELIVERY_LEASE_SECONDS_MAX: i64 = 3600, "delivery_lease_seconds_max";
    /// The first delay of a delivery that failed; each further one is four times as long.
    DELIVERY_RETRY_SECONDS_MIN: i64 = 5, "delivery_retry_seconds_min";
    /// The longest delay of a delivery that failed: one day.
    DELIVERY_RETRY_SECONDS_MAX: i64 = 86_400, "delivery_retry_seconds_max";
    /// How far back metrics of ended slots and of executors look.
    METRICS_RECENT_SECONDS: i64 = 3600, "metrics_recent_seconds";
    /// The longest time between two checkpoints, even if no chain has grown.
    ANCHOR_PAUSE_SECONDS_MAX: i64 = 86_400, "anchor_pause_seconds_max";
    /// How often the walk through all executions begins.
    ANCHOR_WALK_SECONDS: i64 = 86_400, "anchor_walk_seconds";
    /// How often the cursor of a tenant without executions moves to the end of the stream.
    ANCHOR_IDLE_SECONDS: i64 = 600, "anchor_idle_seconds";
    /// A sink of checkpoints that no server has tried for this long is forgotten.
    ANCHOR_SINK_DAYS: i64 = 30, "anchor_sink_days";
    /// Characters of the name of a sink of checkpoints.
    ANCHOR_SINK_CHARS_MAX: usize = 1000, "anchor_sink_chars_max";
    /// Bytes of the last error of a sink of checkpoints; longer ones are cut.
    ANCHOR_ERROR_BYTES_MAX: usize = 2000, "anchor_error_bytes_max";
    /// Characters of an error message in evidence; longer ones are cut.
    EVIDENCE_ERROR_CHARS_MAX: usize = 500, "evidence_error_chars_max";
    /// The row of a process whose service has not run for this long is removed.
    SERVICE_DAYS: i64 = 1, "service_days";
    /// Rows of such processes that one run of a service removes.
    SERVICE_ROWS_MAX: i64 = 100, "service_rows_max";
    /// Steps of a kind, newest first, among which those are looked for that say how long a lease is usual.
    USUAL_LEASE_ROWS_MAX: i64 = 2000, "usual_lease_rows_max";
    /// Steps that say how long a lease is usual for their kind.
    USUAL_LEASE_STEPS_MAX: i64 = 200, "usual_lease_steps_max";
    /// Renewals of a lease that a timeout policy may allow.
    POLICY_RENEWALS_MAX: i64 = 1000, "policy_renewals_max";
    /// Until the start of an execution is tried again whose targets or approvers another transaction had locked.
    EXECUTION_START_RETRY_MS: i64 = 500, "execution_start_retry_ms";
    /// Until an execution is looked at again that a freeze, a pending decision or an error kept from going on.
    EXECUTION_RECHECK_SECONDS: i64 = 60, "execution_recheck_seconds";
    /// Until the jobs of an execution that stops are looked at again.
    EXECUTION_STOP_RECHECK_SECONDS: i64 = 2, "execution_stop_recheck_seconds";
}
