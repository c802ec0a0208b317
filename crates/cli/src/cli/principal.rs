//! `tenure principal`: people, agents and services, and up to which level they approve.

use clap::{Args, Subcommand};
use tenure_api::principals::{PrincipalChanges, PrincipalCreate, PrincipalList, PrincipalSet};

use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::Column;
use crate::values::Number;

#[derive(Debug, Subcommand)]
pub(crate) enum Principal {
    #[command(flatten)]
    Plain(Chosen<Verbs>),
    /// Set up to which level a principal approves, and in which roles
    Set(Set),
}

/// The verbs of `tenure principal` that are one operation each.
pub(crate) struct Verbs;

impl Noun for Verbs {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &CREATE];
}

const LIST: Verb<PrincipalList> = Verb {
    shorts: &[("limit", 'n')],
    quiet: &["name"],
    ..Verb::table(
        "list",
        &[
            Column("PRINCIPAL", "name"),
            Column("KIND", "kind"),
            Column("EMAIL", "email"),
            Column("APPROVES", "approver_level"),
            Column("ROLES", "approval_roles"),
            Column("KEYS", "keys"),
            Column("MADE", "created_at"),
            Column("BY", "created_by"),
            Column("MAKERS", "makers"),
        ],
        "No principal is registered.",
    )
};

const CREATE: Verb<PrincipalCreate> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<PrincipalCreate>::sentence("create", |_, made| {
        format!("{} is registered as {}.", made.name, made.kind)
    })
};

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The name of the principal
    name: String,
    /// The highest level that it approves when it comes by a database login; a key has a level of its own
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    approver_level: Option<Number>,
    /// It approves nothing any more when it comes by a database login
    #[arg(long, conflicts_with = "approver_level")]
    no_approver: bool,
    /// A role in which it approves; may be given several times, and replaces the roles before
    #[arg(long = "approval-role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Vouch for it as it is then, in place of the principals that registered or changed it: it can approve their plans
    #[arg(long)]
    confirm: bool,
}

impl Principal {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Principal::Plain(verb) => verb.run(session).await,
            Principal::Set(set) => set.run(session).await,
        }
    }
}

impl Set {
    async fn run(self, mut session: Session) -> Outcome {
        let level = Number::read_option(self.approver_level.as_ref(), "approver-level")?;
        let change = PrincipalSet {
            name: self.name,
            spec: PrincipalChanges {
                approver_level: (self.no_approver || level.is_some()).then_some(level),
                approval_roles: Some(self.roles).filter(|roles| !roles.is_empty()),
                confirm: self.confirm.then_some(true),
            },
        };
        let (set, whole) = session.perform(&change).await?;
        let level = match set.approver_level {
            None => "approves nothing by a database login".to_owned(),
            Some(level) => format!("approves up to level {level}"),
        };
        let roles = match set.approval_roles.join(", ") {
            roles if roles.is_empty() => roles,
            roles => format!(", as {roles}"),
        };
        let name = set.name;
        let sentence = match set.makers.join(", ") {
            makers if self.confirm && makers.is_empty() => format!("{name} is confirmed, and {level}{roles}."),
            makers if self.confirm => format!("{name} is confirmed by {makers}, and {level}{roles}."),
            _ => format!("{name} {level}{roles}."),
        };
        session.out.done(&sentence, &whole, &["name"])
    }
}
