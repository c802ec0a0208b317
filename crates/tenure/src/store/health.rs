//! The numbers of an installation, and the state of its database.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::call::{Call, row};
use crate::error::Result;

/// What a monitoring system asks for.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub struct Metrics {
    /// Where the next answer goes on counting.
    pub cursor: String,
    /// Name, labels and value.
    pub series: Vec<(String, BTreeMap<String, String>, f64)>,
    /// Tenant, kind, event, and how many jobs it happened to since the last answer.
    pub counts: Vec<(String, String, String, u64)>,
    /// Tenant, kind, and how long some of the runs that ended since then had waited and ran, in seconds.
    pub samples: Vec<(String, String, Option<f64>, f64)>,
}

/// The numbers of the tenant, or of all; and what happened since an answer before (`tenure.metrics`).
pub async fn metrics(client: &impl GenericClient, after: Option<&str>) -> Result<Metrics> {
    Call::new("metrics").nullable("p_after", &after).read(client).await
}

row! {
    /// In which epoch the event stream goes on.
    pub struct Epoch {
        /// Its number, the first part of every cursor.
        pub epoch: i32,
        /// Whether it began with this call: the database was restored, or another server took over.
        pub began: bool,
    }
}

/// Notices a restore or a failover, and begins a new epoch of the event stream then (`tenure.installation_check`).
pub async fn installation_check(client: &impl GenericClient) -> Result<Epoch> {
    Call::new("installation_check").one(client).await
}

/// What an operator should know about the database itself (`tenure.doctor`).
pub async fn doctor(client: &impl GenericClient) -> Result<Value> {
    Call::new("doctor").value(client).await
}
