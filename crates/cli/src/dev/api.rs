//! The API of `tenure dev`, and its first key.

use std::net::SocketAddr;

use tenure::store::for_every_tenant;
use tenure_core::api_key::ApiKey;
use tenure_core::codes;
use tokio::net::TcpListener;

use crate::cli::{LISTEN, first_key, listen};
use crate::connect::Session;
use crate::errors::{Failure, Outcome};

/// Where the API will be.
pub(super) struct Api {
    /// None: this login is not trusted to act for others.
    pub(super) listener: Option<TcpListener>,
    /// A key that was made just now, and can be shown.
    pub(super) key: Option<ApiKey>,
}

impl Api {
    /// Its address, if it is served.
    pub(super) fn url(&self) -> Option<String> {
        let address = self.listener.as_ref()?.local_addr().ok()?;
        Some(format!("http://{address}"))
    }
}

/// Listens where it was asked for, else at the usual place, else wherever there is room.
pub(super) async fn listen_at(asked: Option<SocketAddr>) -> Outcome<TcpListener> {
    match asked {
        Some(address) => listen(address).await,
        None => match TcpListener::bind(LISTEN).await {
            Ok(listener) => Ok(listener),
            Err(_) => listen(SocketAddr::from(([127, 0, 0, 1], 0))).await,
        },
    }
}

/// The API on this listener, with a first key if it can be shown and there is none.
pub(super) async fn open(listener: TcpListener, session: &mut Session, shown: bool) -> Outcome<Api> {
    let trusted = session.sql(async |tx| for_every_tenant(tx).await).await;
    match trusted {
        Ok(()) => {}
        Err(Failure::Refused(refusal)) if refusal.is(codes::NOT_PERMITTED) => {
            return Ok(Api {
                listener: None,
                key: None,
            });
        }
        Err(failure) => return Err(failure),
    }
    let key = if shown { first_key(session).await? } else { None };
    Ok(Api {
        listener: Some(listener),
        key,
    })
}
