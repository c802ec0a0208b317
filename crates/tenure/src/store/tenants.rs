//! Tenants, and the logins bound to them.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A tenant.
    pub struct Tenant {
        /// Its name.
        pub name: String,
        /// When it was made.
        pub created_at: Timestamp,
        /// By whom.
        pub created_by: String,
    }
}

/// What a database login is bound to.
#[derive(Debug, Clone, Default)]
pub struct LoginBinding {
    /// The login; `*` stands for logins without a binding of their own.
    pub login: String,
    /// Its tenant; none: the caller's.
    pub tenant: Option<String>,
    /// Its principal; none: the login's name.
    pub principal: Option<String>,
    /// The executors it drives; none: any, for claiming.
    pub executors: Option<Vec<String>>,
    /// The kinds it works with; none: every kind.
    pub kinds: Option<Vec<String>>,
    /// `safe` or `restricted`.
    pub payload_access: Option<String>,
}

/// The tenants the caller may see (`tenure.tenant_list`).
pub async fn tenant_list(client: &impl GenericClient) -> Result<Vec<Tenant>> {
    Call::new("tenant_list").rows(client).await
}

/// Makes a tenant (`tenure.tenant_create`).
pub async fn tenant_create(client: &impl GenericClient, name: &str, on_behalf_of: Option<&str>) -> Result<Value> {
    let call = Call::new("tenant_create").with("p_name", &name);
    call.maybe("p_on_behalf_of", &on_behalf_of).value(client).await
}

/// Binds a login (`tenure.login_bind`).
pub async fn login_bind(client: &impl GenericClient, binding: &LoginBinding) -> Result<Value> {
    Call::new("login_bind")
        .with("p_login", &binding.login)
        .maybe("p_tenant", &binding.tenant)
        .maybe("p_principal", &binding.principal)
        .maybe("p_executors", &binding.executors)
        .maybe("p_kinds", &binding.kinds)
        .maybe("p_payload_access", &binding.payload_access)
        .value(client)
        .await
}

/// Takes a binding back (`tenure.login_unbind`).
pub async fn login_unbind(client: &impl GenericClient, login: &str) -> Result<Value> {
    Call::new("login_unbind").with("p_login", &login).value(client).await
}
