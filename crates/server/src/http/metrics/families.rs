//! What each number means that the database or the server itself tells. What is counted as it happens is described where
//! it is counted.

/// Name and meaning. All of them are gauges.
#[rustfmt::skip] // A table is read by column.
const FAMILIES: &[(&str, &str)] = &[
    ("tenure_database_up", "Whether the database told its numbers lately: without it there are none of the queue."),
    ("tenure_jobs", "Jobs that wait or are held, by tenant, kind and state; scheduled: not due yet. Of one lane at most 10000 are counted: that number means so many or more."),
    ("tenure_oldest_waiting_seconds", "For how long the job that waits longest has been due, by tenant and kind; 0: none waits."),
    ("tenure_longest_run_seconds", "For how long the longest run has been under way, by tenant and kind."),
    ("tenure_dead_letters_open", "Dead letters that are not closed, by tenant, kind and triage status; at most 10000 of a tenant and status are counted."),
    ("tenure_oldest_pending_dead_letter_seconds", "For how long the oldest dead letter that nobody has looked at has been there; 0: there is none."),
    ("tenure_leases", "Leases, by state; expired ones wait for the reaper."),
    ("tenure_executor_heartbeat_age_seconds", "How long ago a worker last gave a sign of life, for the hundred latest of the last hour."),
    ("tenure_executors", "Workers of the last hour by executor; silent: no sign of life within twice the time after which it is stale."),
    ("tenure_gate_open", "Whether a gate is open, for the first hundred tenants."),
    ("tenure_schedules", "Schedules, by tenant and state; failing: the rule cannot be computed, ended: no slot will come. At most 10000 of a tenant are counted."),
    ("tenure_schedule_lag_seconds", "For how long the schedule that waits longest for the scheduler has been due, by tenant; 0: none waits."),
    ("tenure_slots_running", "Slots of schedules whose job is not over, by tenant; at most 10000 are counted."),
    ("tenure_slots_waiting", "Slots that are due and wait for another run of their schedule to end, by tenant."),
    ("tenure_slots_ended", "Slots that were over within the last hour, by tenant, state and, if skipped, reason; at most 10000 of a tenant are counted."),
    ("tenure_slots_missed", "Slots that nobody was there to start, and that were given up within the last hour, by tenant."),
    ("tenure_executions", "Executions that are not over, by tenant and state; at most 10000 of a tenant and state are counted."),
    ("tenure_executions_parked", "Approved executions that wait for a window or the end of a freeze, by tenant."),
    ("tenure_execution_lag_seconds", "For how long the execution that waits longest for a server to look at it has been due, by tenant; 0: none waits."),
    ("tenure_steps_unknown", "Steps whose outcome nobody knows, and that wait for an operator's verdict, by tenant."),
    ("tenure_approvals_pending", "Approvals that nobody has decided about, by tenant; at most 10000 are counted."),
    ("tenure_locks_held", "Locks on targets, by tenant; at most 10000 are counted."),
    ("tenure_execution_dead_letters_pending", "Executions that failed and that nobody has looked at, by tenant; at most 10000 are counted."),
    ("tenure_service_running", "Whether any process runs a service; 0: what it does does not happen."),
    ("tenure_service_last_run_age_seconds", "How long ago a service last ran to its end, in any process."),
    ("tenure_table_live_rows", "Rows of a hot table, as PostgreSQL estimates them."),
    ("tenure_table_dead_rows", "Dead rows of a hot table, as PostgreSQL estimates them: many, and every claim steps over them."),
    ("tenure_table_bytes", "The size of a hot table with its indexes."),
    ("tenure_oldest_transaction_seconds", "How long the oldest transaction of the cluster has been open: it keeps dead rows from being cleaned up, and events from being read."),
    ("tenure_prepared_transactions", "Prepared transactions, which stay until somebody ends them."),
    ("tenure_event_stream_lag_seconds", "How long the first event has waited that an open transaction keeps from being read."),
    ("tenure_partitions", "Partitions of a table."),
    ("tenure_schema_version", "The last migration of the database."),
    ("tenure_pool_connections", "Database connections of this server, by state."),
    ("tenure_pool_connections_max", "Database connections that this server may have."),
    ("tenure_pool_waiting", "Requests of this server that wait for a database connection."),
    ("tenure_build_info", "The version of this server; always 1."),
];

/// What this number means. A newer database may tell some that we do not know.
pub(super) fn help(name: &str) -> &'static str {
    let known = FAMILIES.iter().find(|(known, _)| *known == name);
    known.map_or("Told by the database.", |(_, help)| help)
}
