//! Who is asking: an API key in the header, checked once and remembered for a while. Whether it still holds is for the
//! database to say, in every transaction.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, FromRequestParts, MatchedPath};
use axum::http::header;
use axum::http::request::Parts;
use percent_encoding::percent_decode;
use tenure::store::principals;
use tenure_core::api_key::ApiKey;
use tenure_core::{codes, limits, names};
use uuid::Uuid;

use super::Server;
use super::observed::traceparent_of;
use super::problem::Problem;
use super::request_log::Asker;
use super::requests::Keyed;

/// Names the tenant, for keys that belong to none.
pub(super) const TENANT_HEADER: &str = "tenure-tenant";

/// The tenant of who names none.
const DEFAULT_TENANT: &str = "default";

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
    /// The trace of the request, for the jobs that it makes.
    pub(super) traceparent: Option<String>,
    /// The request, if it has a key.
    pub(super) keyed: Option<Arc<Keyed>>,
    /// The name of the tenant it acts in, as far as it is known before the database is asked.
    pub(super) home: Arc<str>,
    /// The one row that it changes and may have to wait for, where it names one.
    pub(super) row: Option<String>,
    /// The one kind of jobs that it enqueues.
    pub(super) kind: Option<String>,
    /// It has connections of its own.
    pub(super) is_health_check: bool,
}

impl Caller {
    /// The same caller, for calls that are no part of a request with a key.
    pub(super) fn apart(&self) -> Caller {
        Caller {
            keyed: None,
            ..self.clone()
        }
    }

    /// The same caller, who enqueues jobs of one kind, or just the job with this key.
    pub(super) fn about_job(self, kind: &str, key: Option<&str>) -> Caller {
        Caller {
            row: key.map(|key| format!("the job with key {key:?} of kind {kind:?}")),
            kind: Some(kind.to_owned()),
            ..self
        }
    }

    /// The same caller, who submits the execution with this key.
    pub(super) fn about_execution(self, key: Option<&str>) -> Caller {
        Caller {
            row: key.map(|key| format!("the execution with key {key:?}")),
            ..self
        }
    }

    /// The same caller, who asks for every tenant at once how the server does.
    pub(super) fn everywhere(&self) -> Caller {
        Caller {
            tenant: Some("*".to_owned()),
            is_health_check: true,
            ..self.clone()
        }
    }
}

impl FromRequestParts<Arc<Server>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<Caller, Problem> {
        let address = parts
            .extensions
            .get::<ConnectInfo<SocketAddr>>()
            .map(|info| info.0.ip());
        let key = presented(parts)?;
        let Known { key_id, home, .. } = server.keys.check(server, &key, address).await?;
        if let Some(asker) = parts.extensions.get::<Asker>() {
            asker.is(key.prefix());
        }
        let tenant = match parts.headers.get(TENANT_HEADER) {
            Some(value) => Some(tenant_of(value.as_bytes())?),
            None => None,
        };
        let from = address.map_or_else(String::new, |address| format!(" {address}"));
        // A key of the installation names its tenant; the default one is meant else.
        let home = home.unwrap_or_else(|| tenant.as_deref().unwrap_or(DEFAULT_TENANT).into());
        Ok(Caller {
            key_id,
            home,
            row: row_of(parts),
            kind: None,
            is_health_check: false,
            tenant,
            via: format!("{} {}{from}", parts.method, parts.uri.path()),
            traceparent: traceparent_of(&parts.headers),
            keyed: parts.extensions.get::<Arc<Keyed>>().cloned(),
        })
    }
}

/// What a request changes that names it in its path.
fn row_of(parts: &Parts) -> Option<String> {
    let names_one = parts.extensions.get::<MatchedPath>()?.as_str().contains('{');
    (names_one && !parts.method.is_safe()).then(|| parts.uri.path().to_owned())
}

fn presented(parts: &Parts) -> Result<ApiKey, Problem> {
    let Some(value) = parts.headers.get(header::AUTHORIZATION) else {
        return Err(Problem::new(
            codes::UNAUTHENTICATED,
            "The request has no key.",
            "Every call but /healthz, /readyz and the documentation takes one.",
            "Send it: Authorization: Bearer tnr_… An admin makes one: POST /v1/keys.",
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

/// A header holds no more than ASCII for sure, so a name with other letters comes with percent signs, as in a URL.
fn tenant_of(header: &[u8]) -> Result<String, Problem> {
    let name = percent_decode(header).decode_utf8().map_err(|error| {
        Problem::new(
            codes::TEXT_INVALID,
            "The header Tenure-Tenant is no text.",
            error.to_string(),
            "Send the name as UTF-8, with percent signs where it is more than ASCII: Tenure-Tenant: caf%C3%A9.",
        )
    })?;
    names::check("tenant", &name, limits::NAME_CHARS_MAX)?;
    Ok(name.into_owned())
}

/// The prefix of a key, and the digest of its secret.
type Secret = (String, [u8; 32]);
/// A key that was checked.
#[derive(Debug, Clone)]
struct Known {
    key_id: Uuid,
    /// The tenant it belongs to; none: the installation.
    home: Option<Arc<str>>,
    /// How long this is remembered.
    until: Instant,
}

/// What is known about keys.
#[derive(Default)]
pub(super) struct Keys {
    known: Mutex<HashMap<Secret, Known>>,
    /// Used since this was last written down.
    used: Mutex<HashSet<Uuid>>,
    /// Whose turn it is among those who were wrong often.
    suspects: tokio::sync::Mutex<()>,
    /// By address: how many wrong ones came, since when.
    failures: Mutex<HashMap<IpAddr, (u32, Instant)>>,
}

impl Keys {
    async fn check(&self, server: &Server, key: &ApiKey, address: Option<IpAddr>) -> Result<Known, Problem> {
        let now = Instant::now();
        let secret = (key.prefix().to_owned(), key.digest());
        let known = lock(&self.known).get(&secret).cloned();
        if let Some(known) = known.filter(|known| now < known.until) {
            return Ok(known);
        }
        let address = address.map(network);
        let wrong = address.map_or(0, |address| self.wrong_from(address, now));
        // From where many wrong ones came they are tried one after the other. A valid one is never turned away.
        let _turn = match wrong >= FAILURES_MAX {
            true => Some(self.suspects.lock().await),
            false => None,
        };
        let connection = server.pool.get().await?;
        if let Some(key_id) = principals::key_check(&*connection, &secret.0, &secret.1).await? {
            let found = Known {
                key_id,
                home: principals::key_home(&*connection, key_id).await?.map(Arc::from),
                until: now + REMEMBERED,
            };
            let mut known = lock(&self.known);
            if known.len() >= REMEMBERED_MAX {
                known.retain(|_, known| known.until > now);
            }
            if known.len() < REMEMBERED_MAX {
                known.insert(secret, found.clone());
            }
            return Ok(found);
        }
        drop(connection);
        if let Some(address) = address {
            self.failed(address, now);
        }
        if wrong < FAILURES_MAX {
            return Err(Problem::new(
                codes::UNAUTHENTICATED,
                "There is no such key.",
                "Its prefix or its secret is wrong.",
                "Copy the whole key; make a new one if it was lost.",
            ));
        }
        let seconds = FAILURES_WITHIN.as_secs();
        let problem = Problem::new(
            codes::TOO_MANY_ATTEMPTS,
            "Too many wrong keys came from this address.",
            format!("There were {wrong} within {seconds} seconds."),
            format!("Wait {seconds} seconds, and send a key that is valid."),
        );
        Err(problem.retry_after(seconds))
    }

    /// How many wrong keys came from there lately.
    fn wrong_from(&self, address: IpAddr, now: Instant) -> u32 {
        let failures = lock(&self.failures);
        let lately = failures
            .get(&address)
            .filter(|(_, since)| now < *since + FAILURES_WITHIN);
        lately.map_or(0, |(count, _)| *count)
    }

    fn failed(&self, address: IpAddr, now: Instant) {
        let mut failures = lock(&self.failures);
        if failures.len() >= REMEMBERED_MAX {
            failures.retain(|_, (_, since)| now < *since + FAILURES_WITHIN);
        }
        if failures.len() >= REMEMBERED_MAX {
            return;
        }
        let (count, since) = failures.entry(address).or_insert((0, now));
        if now >= *since + FAILURES_WITHIN {
            (*count, *since) = (0, now);
        }
        *count += 1;
    }

    /// This key was used, and is valid.
    pub(super) fn note(&self, key_id: Uuid) {
        lock(&self.used).insert(key_id);
    }

    /// The keys that were used since this was asked last.
    pub(super) fn used(&self) -> Vec<Uuid> {
        lock(&self.used).drain().collect()
    }
}

/// Whoever has an address of version 6 has a whole network of them.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => {
            let [a, b, c, d, ..] = six.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
