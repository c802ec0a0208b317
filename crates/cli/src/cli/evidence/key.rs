//! `tenure evidence key`: the keys that sign evidence.

use clap::Subcommand;
use tenure::evidence::{KeySource, new_key};
use tenure::store::evidence::{KeyTurn, evidence_key_add};
use tenure::store::for_every_tenant;
use tenure_api::evidence::EvidenceKeyList;
use tenure_core::evidence::SecretKey;
use tenure_core::{Refusal, codes};
use zeroize::Zeroizing;

use super::super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::Session;
use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Column, Format};
use crate::values::document;

/// The verbs that are one operation each.
pub(crate) struct Plain;

impl Noun for Plain {
    const VERBS: &'static [&'static dyn Command] = &[&LIST];
}

const LIST: Verb<EvidenceKeyList> = Verb {
    quiet: &["key_id"],
    ..Verb::table(
        "list",
        &[
            Column("KEY", "key_id"),
            Column("PUBLIC KEY", "public_key"),
            Column("SIGNS", "signs"),
            Column("KEPT", "kept"),
            Column("CREATED", "created_at"),
            Column("BY", "created_by"),
        ],
        "There is no key: tenure evidence key create makes one.",
    )
};

/// Bytes of a file with a secret key at the most.
const SECRET_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key that signs from now on; the ones before still prove what they signed
    Create {
        /// Take this one instead of a new one: a file with an Ed25519 key in PKCS#8 PEM; - for standard input
        #[arg(long, value_name = "FILE")]
        secret_key: Option<String>,
    },
    #[command(flatten)]
    Plain(Chosen<Plain>),
}

impl Key {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Key::Create { secret_key } => {
                let key = match secret_key {
                    Some(place) => read(&place)?,
                    None => new_key()?,
                };
                session
                    .transaction(async |tx| {
                        for_every_tenant(tx).await?;
                        evidence_key_add(tx, &key, KeyTurn::Next).await
                    })
                    .await?;
                let public = key.public_key();
                let made = serde_json::json!({"key_id": public.id(), "public_key": public.to_base64()});
                if session.out.format == Format::People {
                    session.out.note(&format!(
                        "The key {} signs evidence from now on. Whoever checks it needs this half:\n",
                        public.id()
                    ));
                    return session.out.text(&public.to_base64());
                }
                session.out.object(&made, &["key_id"], &["key_id"])
            }
            Key::Plain(command) => command.run(session).await,
        }
    }
}

/// Sees to it that there is a key, and answers the id of the one that was made. A login that is not trusted with the installation
/// leaves it to one that is.
pub(crate) async fn ensure_evidence_key(session: &mut Session, source: &KeySource) -> Outcome<Option<String>> {
    match session.transaction(async |tx| source.ensure(tx).await).await {
        Err(Failure::Refused(refusal)) if refusal.is(codes::NOT_PERMITTED) && !source.is_outside() => Ok(None),
        made => made,
    }
}

fn read(place: &str) -> Outcome<SecretKey> {
    let too_large = || {
        Refusal::new(
            codes::USAGE,
            "The secret key cannot be used.",
            format!("{place} has more than {SECRET_BYTES_MAX} bytes, and holds more than a key."),
            "Name the file with the key.",
        )
    };
    let text = Zeroizing::new(document("secret key", place, SECRET_BYTES_MAX, too_large)?);
    SecretKey::from_pem(&text).map_err(|error| {
        refuse(
            codes::USAGE,
            "The secret key cannot be used.",
            error.to_string(),
            "Make one: openssl genpkey -algorithm ed25519",
        )
    })
}
