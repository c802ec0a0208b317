//! `tenure key`: who may act over HTTP.

use clap::{Args, Subcommand};
use serde_json::Value;
use tenure::operations::Perform;
use tenure_api::Timestamp;
use tenure_api::keys::{KeyCreate, KeyCreated, KeyList, KeyRevoke, KeyState, PayloadAccess, Role};
use tenure_api::principals::{Principal, PrincipalCreate, PrincipalKind, PrincipalList};
use tenure_core::api_key::ApiKey;
use tenure_core::codes;

use crate::connect::{ROWS_MAX, Scope, Session};
use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Column, Format, json_of};
use crate::values::Moment;

const LIST: &[Column] = &[
    Column("PREFIX", "prefix"),
    Column("OF", "of"),
    Column("PRINCIPAL", "principal"),
    Column("KIND", "kind"),
    Column("STATE", "state"),
    Column("ROLES", "roles"),
    Column("MADE BY", "makers"),
    Column("EXPIRES", "expires_at"),
    Column("LAST USED", "last_used_at"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key for a principal, and show it once
    Create(Box<Create>),
    /// List the keys of the tenant, and those of the whole installation if you may see them
    #[command(visible_alias = "ls")]
    List {
        /// Those of the whole installation only
        #[arg(long)]
        installation: bool,
    },
    /// Revoke a key: it is refused from the next call on
    Revoke {
        /// Its prefix, as `tenure key list` shows it
        prefix: String,
        /// It is one of the whole installation
        #[arg(long)]
        installation: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Whose key it is; made if it is not there yet
    principal: String,
    /// What the principal is: human, agent or service [default: what it is, or service]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Where to write to it
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// What it may do: viewer, requester, producer, worker, operator, approver or admin; may be given several times
    #[arg(long = "role", value_name = "ROLE", required = true)]
    roles: Vec<String>,
    /// Up to which level it approves, for the role approver
    #[arg(long, value_name = "N")]
    approver_level: Option<i32>,
    /// An executor it may claim for; may be given several times [default: any]
    #[arg(long = "executor", value_name = "NAME")]
    executors: Vec<String>,
    /// A kind of jobs it may work on; may be given several times [default: every]
    #[arg(long = "job-kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Which payloads it may see: safe or restricted
    #[arg(long, value_name = "ACCESS", default_value = "safe")]
    payload_access: String,
    /// When it ends by itself: a time, or a delay such as +90d [default: never]
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// A word about it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// For the whole installation: it names its tenant with every request
    #[arg(long)]
    installation: bool,
}

impl Key {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Key::Create(create) => create.run(session).await,
            Key::List { installation } => {
                let mut rows = Vec::new();
                if !installation {
                    rows.extend(list(&mut session, false).await?);
                }
                match list(&mut session, true).await {
                    Err(Failure::Refused(refusal)) if !installation && refusal.is(codes::NOT_PERMITTED) => {}
                    more => rows.extend(more?),
                }
                session.out.list(LIST, &rows, &["prefix"], "There is no key.")
            }
            Key::Revoke { prefix, installation } => {
                let (done, whole) = session
                    .perform_in(Scope::of(installation), &KeyRevoke { prefix })
                    .await?;
                let sentence = format!("Revoked key {}.", done.prefix);
                session.out.done(&sentence, &whole, &["prefix"])
            }
        }
    }
}

/// The keys of the tenant, or of the whole installation.
async fn list(session: &mut Session, installation: bool) -> Outcome<Vec<Value>> {
    let keys = session.all_in(Scope::of(installation), keys_in(None)).await?;
    let of = if installation { "installation" } else { "tenant" };
    keys.iter()
        .map(|key| {
            let mut row = json_of(key)?;
            row["of"] = Value::from(of);
            Ok(row)
        })
        .collect()
}

/// The keys in these states.
fn keys_in(state: Option<Vec<KeyState>>) -> KeyList {
    KeyList {
        state,
        cursor: None,
        limit: ROWS_MAX,
    }
}

impl Create {
    async fn run(self, mut session: Session) -> Outcome {
        let expires = self
            .expires
            .as_deref()
            .map(|given| Moment::read("expires", given))
            .transpose()?;
        let now = session.now().await?;
        let expires = expires.map(|moment| moment.resolve("expires", now)).transpose()?;
        let expires = expires.map(|at| Timestamp::from_micros(at.as_microsecond()));
        let made = self.make(&mut session, expires).await?;
        if session.out.format == Format::People {
            session
                .out
                .note(&format!("The key of {}, shown this once:\n", self.principal));
            session.out.text(&made.key)?;
            session
                .out
                .note("\nSend it with every request: Authorization: Bearer KEY");
            return Ok(());
        }
        session.out.object(&made, &["prefix"], &["key"])
    }

    /// Makes the key, and its principal if it is not there: in one transaction on a database, by two requests on a server. Without
    /// the key a principal may stay behind there, which does no harm.
    async fn make(&self, session: &mut Session, expires_at: Option<Timestamp>) -> Outcome<KeyCreated> {
        let scope = Scope::of(self.installation);
        let list = PrincipalList {
            cursor: None,
            limit: ROWS_MAX,
        };
        let is_known = self.is_among(&session.all_in(scope, list).await?)?;
        let principal = (!is_known).then(|| self.principal());
        let key = self.key(expires_at);
        if session.remote().is_some() {
            if let Some(principal) = &principal {
                session.perform_in(scope, principal).await?;
            }
            return Ok(session.perform_in(scope, &key).await?.0);
        }
        let work = session.transaction(async |tx| {
            scope.enter(tx).await?;
            if let Some(principal) = &principal {
                principal.perform(tx).await?;
            }
            key.perform(tx).await
        });
        work.await
    }

    /// Whether the principal is there. One of another kind than was asked for is refused: an agent's key must not be a person's.
    fn is_among(&self, known: &[Principal]) -> Outcome<bool> {
        let Some(principal) = known.iter().find(|principal| principal.name == self.principal) else {
            return Ok(false);
        };
        match &self.kind {
            Some(kind) if kind != principal.kind.as_str() => Err(refuse(
                codes::PRINCIPAL_EXISTS,
                format!(
                    "There is already a principal {:?}, of the kind {}.",
                    self.principal, principal.kind
                ),
                format!("A key of the kind {kind} was asked for, and what a principal is does not change."),
                "Leave out --kind, or choose another name.",
            )),
            _ => Ok(true),
        }
    }

    /// The principal to register.
    fn principal(&self) -> PrincipalCreate {
        PrincipalCreate {
            name: self.principal.clone(),
            kind: self.kind.as_deref().map_or(PrincipalKind::Service, PrincipalKind::from),
            email: self.email.clone(),
        }
    }

    /// The key to make.
    fn key(&self, expires_at: Option<Timestamp>) -> KeyCreate {
        let several = |given: &[String]| (!given.is_empty()).then(|| given.to_vec());
        KeyCreate {
            principal: self.principal.clone(),
            roles: self.roles.iter().map(|role| Role::from(role.as_str())).collect(),
            approver_level: self.approver_level,
            executors: several(&self.executors),
            kinds: several(&self.kinds),
            payload_access: Some(PayloadAccess::from(self.payload_access.as_str())),
            expires_at,
            note: self.note.clone(),
        }
    }
}

/// Whether the installation has a valid admin key.
pub(crate) async fn has_admin(session: &mut Session) -> Outcome<bool> {
    let valid = keys_in(Some(vec![KeyState::Valid]));
    let keys = session.all_in(Scope::Installation, valid).await?;
    Ok(keys.iter().any(|key| key.roles.contains(&Role::Admin)))
}

/// The first key of an installation that has none: its admin's. None if there is one already.
pub(crate) async fn first_key(session: &mut Session) -> Outcome<Option<ApiKey>> {
    if has_admin(session).await? {
        return Ok(None);
    }
    let first = Create {
        principal: "admin".to_owned(),
        kind: Some("human".to_owned()),
        email: None,
        roles: ["admin", "operator", "requester", "producer", "worker", "viewer"]
            .map(str::to_owned)
            .to_vec(),
        approver_level: None,
        executors: Vec::new(),
        kinds: Vec::new(),
        payload_access: "restricted".to_owned(),
        expires: None,
        note: Some("the first key of the installation".to_owned()),
        installation: true,
    };
    let made = first.make(session, None).await?;
    Ok(ApiKey::parse(&made.key))
}

/// Revokes a key of the installation.
pub(crate) async fn revoke(session: &mut Session, prefix: &str) -> Outcome {
    let prefix = prefix.to_owned();
    session
        .perform_in(Scope::Installation, &KeyRevoke { prefix })
        .await
        .map(drop)
}
