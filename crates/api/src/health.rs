//! The state of the installation: health, doctor and the clock.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::StreamLag;
use crate::services::Service;
use crate::{Effect, Operation, Route, Timestamp, words};

words! {
    /// Where the secret of an evidence key is.
    pub enum EvidenceKeyPlace {
        /// In the database.
        Database = "database",
        /// Outside of the database.
        Outside = "outside",
        /// It was removed.
        Removed = "removed",
    }
}

/// Show in numbers what waits, runs, failed and is late
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthShow {}

impl Operation for HealthShow {
    const NAME: &str = "health_of_the_queue";
    const FUNCTION: &str = "health";
    const ROUTE: Route = Route::get("/v1/health", "server");
    const EFFECT: Effect = Effect::Reads;
    type Answer = Health;
}

/// The health of a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// When this was found.
    pub at: Timestamp,
    /// The number of queued jobs.
    pub backlog: i64,
    /// The number of jobs that wait for their next attempt.
    pub retry_waiting: i64,
    /// The number of held jobs.
    pub in_progress: i64,
    /// The number of dead letters that are not closed.
    pub dead_letter_open: i64,
    /// For how long the oldest job has been due, in seconds; 0 if there is none.
    pub oldest_queued_age_s: f64,
    /// The number of leases in force.
    pub lease_active: i64,
    /// The number of expired leases.
    pub lease_expired: i64,
    /// The number of processes of executors with a recent heartbeat.
    pub executors_alive: i64,
    /// The services, by name.
    pub services: BTreeMap<String, ServiceState>,
    /// The checkpoints of evidence.
    pub anchors: AnchorStatus,
    /// The gates by key; true: open.
    pub gates: BTreeMap<String, bool>,
    /// The time zone data that the server computes with: version and source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<String>,
}

/// Whether a service runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceState {
    /// Whether it completed a run lately.
    pub is_running: bool,
    /// When it last completed a run; null if it never did.
    pub last_run_at: Option<Timestamp>,
}

/// How far the checkpoints of evidence are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnchorStatus {
    /// The minutes between two checkpoints; 0: none are made.
    pub minutes: i32,
    /// The number of the last checkpoint; 0 if there is none.
    pub number: i64,
    /// When it was made.
    pub at: Option<Timestamp>,
    /// The number of chain heads that wait for a checkpoint, up to 10000.
    pub waiting: i64,
    /// For how long the oldest of them has waited, in seconds.
    pub waiting_seconds: f64,
    /// The key that signs; null if there is none.
    pub key: Option<AnchorKey>,
    /// The places where checkpoints are published.
    pub sinks: Vec<AnchorSink>,
}

/// The key that signs checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnchorKey {
    /// Its id.
    pub key_id: String,
    /// Where its secret is.
    pub kept: EvidenceKeyPlace,
}

/// A place where checkpoints are published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnchorSink {
    /// Its address; only its scheme if the caller is neither operator nor admin.
    pub sink: String,
    /// The last checkpoint that it has.
    pub number: i64,
    /// The number of checkpoints that it lacks.
    pub behind: i64,
    /// When a checkpoint was last published there.
    pub published_at: Option<Timestamp>,
    /// When it was last tried.
    pub tried_at: Option<Timestamp>,
    /// The last error; only `failing` if the caller is neither operator nor admin.
    pub error: Option<String>,
}

/// Show what an operator should know about the database itself
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoctorShow {}

impl Operation for DoctorShow {
    const NAME: &str = "doctor";
    const ROUTE: Route = Route::get("/v1/doctor", "services");
    const EFFECT: Effect = Effect::Reads;
    type Answer = Doctor;
}

/// The state of the database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// The version of PostgreSQL.
    pub server_version: String,
    /// The time of the server.
    pub clock: Timestamp,
    /// Whether `tenure.now()` differs from it by more than a second, as in tests.
    pub clock_replaced: bool,
    /// The version of the schema.
    pub schema_version: i32,
    /// The hash of its functions and views.
    pub functions_hash: Option<String>,
    /// The epoch of the event stream.
    pub epoch: i32,
    /// The hot tables, by name.
    pub hot_tables: BTreeMap<String, HotTable>,
    /// The age of the oldest open transaction, in seconds; 0 if there is none.
    pub oldest_transaction_seconds: f64,
    /// The number of prepared transactions.
    pub prepared_transactions: i64,
    /// The database login of the caller.
    pub login: String,
    /// The database roles of Tenure; true: the role exists.
    pub roles: BTreeMap<String, bool>,
    /// The roles of Tenure that the login is a member of.
    pub login_roles: Vec<String>,
    /// What holds the event stream back.
    pub stream: StreamLag,
    /// The services.
    pub services: Vec<Service>,
    /// The checkpoints of evidence.
    pub anchors: AnchorStatus,
    /// For how long the oldest due schedule has waited, in seconds.
    pub schedules_late_seconds: f64,
    /// For how long the oldest due execution has waited, in seconds.
    pub executions_late_seconds: f64,
    /// The number of partitions, by table.
    pub partitions: BTreeMap<String, i64>,
    /// Settings of the database server, by name.
    pub settings: BTreeMap<String, String>,
}

/// The size and the state of a hot table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotTable {
    /// Its size on disk, with its indexes.
    pub bytes: i64,
    /// The number of live rows, estimated.
    pub live_rows: i64,
    /// The number of dead rows, estimated.
    pub dead_rows: i64,
    /// When it was last vacuumed.
    pub last_vacuum: Option<Timestamp>,
}

/// Show the time of the database
///
/// By this clock jobs are due and leases end.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Now {}

impl Operation for Now {
    const NAME: &str = "now";
    const ROUTE: Route = Route::get("/v1/now", "server");
    const EFFECT: Effect = Effect::Reads;
    type Answer = Clock;
}

/// The time of the database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// The time by which jobs are due and leases end.
    pub now: Timestamp,
}
