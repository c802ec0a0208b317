//! The API of `tenure dev`, and its first key.

use std::net::SocketAddr;

use tenure_core::api_key::ApiKey;
use tenure_core::codes;
use tokio::net::TcpListener;

use crate::cli::{LISTEN, first_key, listen};
use crate::connect::Session;
use crate::errors::{Failure, Outcome};

/// The key of the installation's admin.
pub(super) enum FirstKey {
    /// Made just now: it can be shown.
    Made(ApiKey),
    /// There is one, and nobody can show it again.
    Stands,
    /// This login is not trusted to act for others, so there is no API.
    NotTrusted,
}

impl FirstKey {
    pub(super) async fn make(session: &mut Session) -> Outcome<FirstKey> {
        match first_key(session).await {
            Ok(Some(key)) => Ok(FirstKey::Made(key)),
            Ok(None) => Ok(FirstKey::Stands),
            Err(Failure::Refused(refusal)) if refusal.is(codes::NOT_PERMITTED) => Ok(FirstKey::NotTrusted),
            Err(failure) => Err(failure),
        }
    }

    /// The key, where it can be shown.
    pub(super) fn shown(&self) -> Option<String> {
        match self {
            FirstKey::Made(key) => Some(key.reveal()),
            _ => None,
        }
    }
}

/// Where the API will be.
pub(super) struct Api {
    pub(super) listener: Option<TcpListener>,
    pub(super) key: FirstKey,
}

impl Api {
    /// Its address, if it is served.
    pub(super) fn url(&self) -> Option<String> {
        let address = self.listener.as_ref()?.local_addr().ok()?;
        Some(format!("http://{address}"))
    }
}

/// Listens where it was asked for, else at the usual place, else wherever there is room.
pub(super) async fn open(asked: Option<SocketAddr>, key: FirstKey) -> Outcome<Api> {
    if matches!(key, FirstKey::NotTrusted) {
        return Ok(Api { listener: None, key });
    }
    let listener = match asked {
        Some(address) => listen(address).await?,
        None => match TcpListener::bind(LISTEN).await {
            Ok(listener) => listener,
            Err(_) => listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?,
        },
    };
    Ok(Api {
        listener: Some(listener),
        key,
    })
}
