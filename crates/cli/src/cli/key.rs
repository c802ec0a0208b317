//! `tenure key`: who may act over HTTP.

use clap::{Args, Subcommand};
use serde_json::Value;
use tenure::store::principals::{self, NewKey};
use tenure::store::{Timestamp, for_every_tenant};
use tenure::{Error, Result};
use tenure_core::api_key::ApiKey;
use tenure_core::{Refusal, codes};
use tokio_postgres::Transaction;

use crate::connect::Session;
use crate::errors::{Failure, Outcome};
use crate::http::random_key;
use crate::output::{Column, Format, json_of};
use crate::remote::{self, Remote};
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
                let request = remote::key_revoke(&prefix).for_installation(installation);
                let done = session
                    .together(request, async |tx| {
                        reach(tx, installation).await?;
                        principals::key_revoke(tx, &prefix).await
                    })
                    .await?;
                let sentence = format!("Revoked key {prefix}.");
                session.out.done(&sentence, &done, &["prefix"])
            }
        }
    }
}

/// The keys of the tenant, or of the whole installation.
async fn list(session: &mut Session, installation: bool) -> Outcome<Vec<Value>> {
    let keys = session
        .together(remote::key_list().for_installation(installation), async |tx| {
            reach(tx, installation).await?;
            principals::key_list(tx).await
        })
        .await?;
    let of = if installation { "installation" } else { "tenant" };
    keys.iter()
        .map(|key| {
            let mut row = json_of(key)?;
            row["of"] = Value::from(of);
            Ok(row)
        })
        .collect()
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
        let made = match session.remote() {
            Some(remote) => self.over_http(remote, expires).await?,
            None => {
                let work = session.transaction(async |tx| {
                    reach(tx, self.installation).await?;
                    self.make(tx, expires).await
                });
                let (secret, mut made) = work.await?;
                made["key"] = Value::from(secret.reveal());
                made
            }
        };
        if session.out.format == Format::People {
            session
                .out
                .note(&format!("The key of {}, shown this once:\n", self.principal));
            session.out.text(made["key"].as_str().unwrap_or_default())?;
            session
                .out
                .note("\nSend it with every request: Authorization: Bearer KEY");
            return Ok(());
        }
        session.out.object(&made, &["prefix"], &["key"])
    }

    fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or("service")
    }

    /// Whether the principal is there. One that is something else than was asked for is refused: an agent's key must not be a person's.
    fn is_among(&self, known: &[principals::Principal]) -> Result<bool> {
        let Some(principal) = known.iter().find(|principal| principal.name == self.principal) else {
            return Ok(false);
        };
        match &self.kind {
            Some(kind) if *kind != principal.kind => Err(Error::from(Refusal::new(
                codes::PRINCIPAL_EXISTS,
                format!(
                    "There is already a principal {:?}, of the kind {}.",
                    self.principal, principal.kind
                ),
                format!("A key of the kind {kind} was asked for, and what a principal is does not change."),
                "Leave out --kind, or choose another name.",
            ))),
            _ => Ok(true),
        }
    }

    async fn make(&self, tx: &Transaction<'_>, expires_at: Option<Timestamp>) -> Result<(ApiKey, Value)> {
        let known = principals::principal_list(tx).await?;
        if !self.is_among(&known)? {
            principals::principal_create(tx, &self.principal, self.kind(), self.email.as_deref()).await?;
        }
        let secret = random_key();
        let key = NewKey {
            prefix: secret.prefix().to_owned(),
            digest: secret.digest().to_vec(),
            ..self.wanted(expires_at)
        };
        let made = principals::key_create(tx, &key).await?;
        Ok((secret, made))
    }

    /// The same by a server, which makes the secret. Without the key its principal may stay behind, which harms nobody.
    async fn over_http(&self, remote: &Remote, expires_at: Option<Timestamp>) -> Outcome<Value> {
        let list = remote::principal_list().for_installation(self.installation);
        let known: Vec<principals::Principal> = remote.send(list).await?;
        if !self.is_among(&known)? {
            let principal = remote::principal_create(&self.principal, self.kind(), self.email.as_deref());
            let _: Value = remote.send(principal.for_installation(self.installation)).await?;
        }
        let key = remote::key_create(&self.wanted(expires_at));
        remote.send(key.for_installation(self.installation)).await
    }

    /// The key to make, without its secret.
    fn wanted(&self, expires_at: Option<Timestamp>) -> NewKey {
        NewKey {
            principal: self.principal.clone(),
            roles: self.roles.clone(),
            approver_level: self.approver_level,
            executors: (!self.executors.is_empty()).then(|| self.executors.clone()),
            kinds: (!self.kinds.is_empty()).then(|| self.kinds.clone()),
            payload_access: Some(self.payload_access.clone()),
            expires_at,
            note: self.note.clone(),
            ..NewKey::default()
        }
    }
}

/// Whether the installation has a valid admin key.
pub(crate) async fn has_admin(session: &mut Session) -> Outcome<bool> {
    let work = session.transaction(async |tx| {
        for_every_tenant(tx).await?;
        admin_is_there(tx).await
    });
    work.await
}

async fn admin_is_there(tx: &Transaction<'_>) -> Result<bool> {
    let valid = |key: &principals::Key| key.state == "valid" && key.roles.iter().any(|role| role == "admin");
    Ok(principals::key_list(tx).await?.iter().any(valid))
}

/// The first key of an installation that has none: its admin's. None if there is one already.
pub(crate) async fn first_key(session: &mut Session) -> Outcome<Option<ApiKey>> {
    let made = session.transaction(async |tx| {
        for_every_tenant(tx).await?;
        if admin_is_there(tx).await? {
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
        Ok(Some(first.make(tx, None).await?.0))
    });
    made.await
}

/// Takes back a key of the installation.
pub(crate) async fn revoke(session: &mut Session, prefix: &str) -> Outcome {
    let work = session.transaction(async |tx| {
        for_every_tenant(tx).await?;
        principals::key_revoke(tx, prefix).await
    });
    work.await.map(drop)
}

/// Acts for the whole installation, if that is asked for.
async fn reach(tx: &Transaction<'_>, installation: bool) -> Result<()> {
    if installation {
        for_every_tenant(tx).await
    } else {
        Ok(())
    }
}
