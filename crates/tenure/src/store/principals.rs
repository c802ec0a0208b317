//! Principals, and the keys by which they act over HTTP.

use serde_json::Value;
use tenure_api::keys::KeyCreate;
use tenure_core::api_key::ApiKey;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A principal.
    pub struct Principal {
        /// Its name: the actor of its events.
        pub name: String,
        /// `human`, `agent` or `service`.
        pub kind: String,
        /// Where to write to it.
        pub email: Option<String>,
        /// Up to which level it approves by a database login; a key has a level of its own.
        pub approver_level: Option<i32>,
        /// In which roles it approves.
        pub approval_roles: Vec<String>,
        /// When it was made.
        pub created_at: Timestamp,
        /// By whom.
        pub created_by: String,
        /// Who stands behind it, and can have no plan of theirs approved by it: who registered, changed or confirmed it.
        pub makers: Vec<String>,
        /// How many valid keys it has.
        pub keys: i64,
    }
}

/// Makes a principal (`tenure.principal_create`).
pub async fn principal_create(
    client: &impl GenericClient,
    name: &str,
    kind: &str,
    email: Option<&str>,
) -> Result<Value> {
    Call::new("principal_create")
        .with("p_name", &name)
        .with("p_kind", &kind)
        .maybe("p_email", &email)
        .value(client)
        .await
}

/// Says up to which level a principal approves, and in which roles (`tenure.principal_set`).
pub async fn principal_set(client: &impl GenericClient, name: &str, spec: &Value) -> Result<Value> {
    Call::new("principal_set")
        .with("p_name", &name)
        .with("p_spec", &spec)
        .value(client)
        .await
}

/// The principals of the tenant (`tenure.principal_list`).
pub async fn principal_list(client: &impl GenericClient) -> Result<Vec<Principal>> {
    Call::new("principal_list").rows(client).await
}

/// Makes a key whose secret stays with the caller (`tenure.key_create`).
pub(crate) async fn key_create(client: &impl GenericClient, key: &KeyCreate, secret: &ApiKey) -> Result<Value> {
    let (prefix, digest) = (secret.prefix().to_owned(), secret.digest().to_vec());
    let roles: Vec<String> = key.roles.iter().map(ToString::to_string).collect();
    let payload_access = key.payload_access.as_ref().map(ToString::to_string);
    Call::new("key_create")
        .with("p_principal", &key.principal)
        .with("p_prefix", &prefix)
        .with("p_digest", &digest)
        .with("p_roles", &roles)
        .maybe("p_approver_level", &key.approver_level)
        .maybe("p_executors", &key.executors)
        .maybe("p_kinds", &key.kinds)
        .maybe("p_payload_access", &payload_access)
        .maybe("p_expires_at", &key.expires_at)
        .maybe("p_note", &key.note)
        .value(client)
        .await
}

/// The key with this prefix and digest (`tenure.key_check`).
pub async fn key_check(client: &impl GenericClient, prefix: &str, digest: &[u8]) -> Result<Option<Uuid>> {
    Call::new("key_check")
        .with("p_prefix", &prefix)
        .with("p_digest", &digest.to_vec())
        .scalar(client)
        .await
}

/// For whom a request acts.
#[derive(Debug, Clone)]
pub struct Acting<'a> {
    /// The key that proved it.
    pub key_id: Uuid,
    /// The SQL function it will call.
    pub function: &'a str,
    /// The tenant, for keys that name one.
    pub tenant: Option<&'a str>,
    /// The request, for the events that it causes.
    pub via: &'a str,
    /// The trace of the request, for the jobs that it makes.
    pub traceparent: Option<&'a str>,
}

row! {
    /// For whom a transaction acts; told only to those who trace it.
    pub struct Acted {
        /// The tenant's name; `*` for all.
        pub tenant: Option<String>,
        /// Who acts.
        pub principal: Option<String>,
    }
}

/// The rest of the transaction acts for a key (`tenure.act_for_key`).
pub async fn act_for_key(client: &impl GenericClient, acting: &Acting<'_>) -> Result<Option<Acted>> {
    let acted = Call::new("act_for_key")
        .with("p_key_id", &acting.key_id)
        .with("p_function", &acting.function)
        .nullable("p_tenant", &acting.tenant)
        .with("p_via", &acting.via)
        .nullable("p_traceparent", &acting.traceparent)
        .rows(client)
        .await?;
    Ok(acted.into_iter().next())
}

/// The name of the tenant a key belongs to; none for one of the installation (`tenure.key_home`).
pub async fn key_home(client: &impl GenericClient, key_id: Uuid) -> Result<Option<String>> {
    Call::new("key_home").with("p_key_id", &key_id).scalar(client).await
}

/// Those of these keys that are not valid any more (`tenure.keys_ended`).
pub async fn keys_ended(client: &impl GenericClient, key_ids: &[Uuid]) -> Result<Vec<Uuid>> {
    let key_ids = key_ids.to_vec();
    let call = Call::new("keys_ended").with("p_key_ids", &key_ids);
    let rows = call.run(client, "answer").await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Says that keys were used (`tenure.keys_used`).
pub async fn keys_used(client: &impl GenericClient, key_ids: &[Uuid]) -> Result<()> {
    Call::new("keys_used")
        .with("p_key_ids", &key_ids.to_vec())
        .run(client, "answer")
        .await?;
    Ok(())
}
