//! `tenure login`: who a database login is.

use clap::{Args, Subcommand};
use tenure::store::tenants::{self, LoginBinding};

use crate::connect::Session;
use crate::errors::Outcome;
use crate::remote;

#[derive(Debug, Subcommand)]
pub(crate) enum Login {
    /// Bind a database login to a tenant, a principal, and what it may drive
    Bind(Bind),
    /// Take a binding back
    Unbind {
        /// The database login; * is for all logins without a binding of their own
        login: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Bind {
    /// The database login; * is for all logins without a binding of their own
    login: String,
    /// The tenant it belongs to [default: yours]
    #[arg(long, value_name = "TENANT")]
    to: Option<String>,
    /// The name its deeds are recorded under [default: the login]
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// An executor it may claim for; may be given several times [default: any]
    #[arg(long = "executor", value_name = "NAME")]
    executors: Vec<String>,
    /// A kind it may work on; may be given several times [default: every]
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Which payloads it may see: safe or restricted
    #[arg(long, value_name = "ACCESS", default_value = "safe")]
    payload_access: String,
}

impl Login {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Login::Bind(bind) => {
                let binding = bind.binding();
                let bound = session
                    .call(remote::login_bind(&binding), async |tx| {
                        tenants::login_bind(tx, &binding).await
                    })
                    .await?;
                session
                    .out
                    .object(&bound, &["login", "tenant", "principal"], &["login"])
            }
            Login::Unbind { login } => {
                let done = session
                    .call(remote::login_unbind(&login), async |tx| {
                        tenants::login_unbind(tx, &login).await
                    })
                    .await?;
                session
                    .out
                    .done(&format!("The login {login:?} is bound no more."), &done, &["login"])
            }
        }
    }
}

impl Bind {
    fn binding(self) -> LoginBinding {
        LoginBinding {
            login: self.login,
            tenant: self.to,
            principal: self.principal,
            executors: (!self.executors.is_empty()).then_some(self.executors),
            kinds: (!self.kinds.is_empty()).then_some(self.kinds),
            payload_access: Some(self.payload_access),
        }
    }
}
