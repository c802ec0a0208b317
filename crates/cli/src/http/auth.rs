//! Who is asking: an API key in the header, checked once and remembered for a while. Whether it still holds is for the
//! database to say, in every transaction.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::header;
use axum::http::request::Parts;
use tenure::store::principals;
use tenure_core::api_key::{ApiKey, RANDOM_BYTES};
use tenure_core::{codes, limits, names};
use uuid::Uuid;

use super::Server;
use super::problem::Problem;

/// Names the tenant, for keys that belong to none.
pub(super) const TENANT_HEADER: &str = "tenure-tenant";

/// How long a key that was checked is remembered.
const REMEMBERED: Duration = Duration::from_secs(60);
/// How many are.
const REMEMBERED_MAX: usize = 10_000;
/// So many wrong keys from one address ...
const FAILURES_MAX: u32 = 10;
/// ... in this time, and it has to wait.
const FAILURES_WITHIN: Duration = Duration::from_secs(60);

/// Who asks, and how.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(super) key_id: Uuid,
    pub(super) tenant: Option<String>,
    /// The request, for the events that it causes.
    pub(super) via: String,
}

impl FromRequestParts<Arc<Server>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<Caller, Problem> {
        let address = parts
            .extensions
            .get::<ConnectInfo<SocketAddr>>()
            .map(|info| info.0.ip());
        let key = presented(parts)?;
        let key_id = server.keys.check(server, &key, address).await?;
        let tenant = match parts.headers.get(TENANT_HEADER) {
            Some(value) => Some(tenant_of(value.to_str().unwrap_or_default())?),
            None => None,
        };
        let from = address.map_or_else(String::new, |address| format!(" {address}"));
        Ok(Caller {
            key_id,
            tenant,
            via: format!("{} {}{from}", parts.method, parts.uri.path()),
        })
    }
}

fn presented(parts: &Parts) -> Result<ApiKey, Problem> {
    let Some(value) = parts.headers.get(header::AUTHORIZATION) else {
        return Err(Problem::new(
            codes::UNAUTHENTICATED,
            "The request has no key.",
            "Every call but /healthz, /readyz and the documentation takes one.",
            "Send it: Authorization: Bearer tnr_… Make one with tenure key create.",
        ));
    };
    let text = value.to_str().unwrap_or_default();
    let key = text
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, key)| ApiKey::parse(key.trim()));
    key.ok_or_else(|| {
        Problem::new(
            codes::UNAUTHENTICATED,
            "The header Authorization holds no key of ours.",
            "It has the form: Bearer tnr_PREFIX_SECRET.",
            "Copy the whole key; make a new one if it was lost.",
        )
    })
}

fn tenant_of(name: &str) -> Result<String, Problem> {
    names::check("tenant", name, limits::NAME_CHARS_MAX)?;
    Ok(name.to_owned())
}

/// The prefix of a key, and the digest of its secret.
type Secret = (String, [u8; 32]);
/// The id of a key, and until when it is remembered.
type Known = (Uuid, Instant);

/// What is known about keys.
#[derive(Default)]
pub(super) struct Keys {
    known: Mutex<HashMap<Secret, Known>>,
    /// By address: how many wrong ones came, since when.
    failures: Mutex<HashMap<IpAddr, (u32, Instant)>>,
}

impl Keys {
    async fn check(&self, server: &Server, key: &ApiKey, address: Option<IpAddr>) -> Result<Uuid, Problem> {
        let now = Instant::now();
        let name = (key.prefix().to_owned(), key.digest());
        let known = lock(&self.known).get(&name).copied();
        if let Some((key_id, until)) = known
            && now < until
        {
            return Ok(key_id);
        }
        self.may_try(address, now)?;
        let connection = server.pool.get().await?;
        match principals::key_check(&*connection, &name.0, &name.1).await? {
            Some(key_id) => {
                let mut known = lock(&self.known);
                if known.len() >= REMEMBERED_MAX {
                    known.retain(|_, (_, until)| *until > now);
                }
                if known.len() < REMEMBERED_MAX {
                    known.insert(name, (key_id, now + REMEMBERED));
                }
                Ok(key_id)
            }
            None => {
                self.failed(address, now);
                Err(Problem::new(
                    codes::UNAUTHENTICATED,
                    "There is no such key.",
                    "Its prefix or its secret is wrong.",
                    "Copy the whole key; make a new one if it was lost.",
                ))
            }
        }
    }

    /// Whether this address may try a key that is not known.
    fn may_try(&self, address: Option<IpAddr>, now: Instant) -> Result<(), Problem> {
        let Some(address) = address else { return Ok(()) };
        let failures = lock(&self.failures);
        match failures.get(&address) {
            Some((count, since)) if *count >= FAILURES_MAX && now < *since + FAILURES_WITHIN => {
                let seconds = (*since + FAILURES_WITHIN - now).as_secs() + 1;
                Err(Problem::new(
                    codes::TOO_MANY_ATTEMPTS,
                    "Too many wrong keys came from this address.",
                    format!("There were {count} within {} seconds.", FAILURES_WITHIN.as_secs()),
                    format!("Wait {seconds} seconds, and send a key that is valid."),
                )
                .retry_after(seconds))
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, address: Option<IpAddr>, now: Instant) {
        let Some(address) = address else { return };
        let mut failures = lock(&self.failures);
        failures.retain(|_, (_, since)| now < *since + FAILURES_WITHIN);
        failures.entry(address).or_insert((0, now)).0 += 1;
    }

    /// The keys that were used lately.
    pub(super) fn used(&self) -> Vec<Uuid> {
        lock(&self.known).values().map(|(key_id, _)| *key_id).collect()
    }
}

/// A new key.
pub(crate) fn random_key() -> ApiKey {
    let mut random = [0; RANDOM_BYTES];
    rand::fill(&mut random);
    ApiKey::new(random)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
