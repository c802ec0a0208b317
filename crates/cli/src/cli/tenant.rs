//! `tenure tenant`: the walls.

use clap::Subcommand;
use tenure::store::tenants;

use super::Behalf;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::Column;
use crate::remote;

const LIST: &[Column] = &[
    Column("TENANT", "name"),
    Column("CREATED", "created_at"),
    Column("BY", "created_by"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Tenant {
    /// List the tenants you may see
    #[command(visible_alias = "ls")]
    List,
    /// Make a tenant
    Create {
        /// Its name
        name: String,
        #[command(flatten)]
        behalf: Behalf,
    },
}

impl Tenant {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Tenant::List => {
                let rows = session
                    .call(remote::tenant_list(), async |tx| tenants::tenant_list(tx).await)
                    .await?;
                session.out.list(LIST, &rows, &["name"], "You may see no tenant.")
            }
            Tenant::Create { name, behalf } => {
                let behalf = behalf.on_behalf_of.as_deref();
                let made = session
                    .ask(remote::tenant_create(&name, behalf), async |tx| {
                        tenants::tenant_create(tx, &name, behalf).await
                    })
                    .await?;
                session.out.done(
                    &format!("Tenant {name} is there. Work in it with --tenant {name:?}."),
                    &made,
                    &["name"],
                )
            }
        }
    }
}
