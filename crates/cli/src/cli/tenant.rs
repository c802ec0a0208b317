//! `tenure tenant`: tenants, the walls between customers.

use tenure_api::tenants::{TenantCreate, TenantList};

use super::verb::{Command, Noun, Verb};
use crate::output::Column;

/// The verbs of `tenure tenant`.
pub(crate) struct Tenant;

impl Noun for Tenant {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &CREATE];
}

const LIST: Verb<TenantList> = Verb {
    shorts: &[("limit", 'n')],
    quiet: &["name"],
    ..Verb::table(
        "list",
        &[
            Column("TENANT", "name"),
            Column("CREATED", "created_at"),
            Column("BY", "created_by"),
        ],
        "You may see no tenant.",
    )
};

const CREATE: Verb<TenantCreate> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<TenantCreate>::sentence("create", |_, made| {
        format!("Tenant {0} is there. Work in it with --tenant {0:?}.", made.name)
    })
};
