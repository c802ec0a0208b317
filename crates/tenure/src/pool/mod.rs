//! Connections to the database, one or many.

mod address;
mod listener;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, PoolError, RecyclingMethod, Runtime, TimeoutType};
use tenure_core::{Refusal, codes};
use tokio_postgres::Client;

use self::address::Address;
pub use self::listener::{Heard, Listener, listen};
use crate::error::{Error, Result};
use crate::tls::Connector;

/// How a pool behaves.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Connections at most.
    pub connections_max: usize,
    /// How long to wait for a free connection.
    pub wait: Duration,
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        PoolOptions {
            connections_max: 10,
            wait: Duration::from_secs(30),
        }
    }
}

/// Connections that are opened when needed and used again.
///
/// ```no_run
/// # async fn run() -> tenure::Result<()> {
/// let pool = tenure::Pool::new("postgres://localhost/app?sslmode=verify-full", &Default::default())?;
/// let client = pool.get().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Pool {
    inner: deadpool_postgres::Pool,
    address: Arc<Address>,
}

impl Pool {
    /// A pool for a URL or `key=value` string as `psql` takes it, with `sslmode` and `sslrootcert`. Opens nothing yet.
    pub fn new(url: &str, options: &PoolOptions) -> Result<Pool> {
        Pool::of(Arc::new(Address::parse(url)?), options)
    }

    /// Another pool to the same database, which shares no connection with this one: for what must never wait for those
    /// who use this one.
    pub fn apart(&self, options: &PoolOptions) -> Result<Pool> {
        Pool::of(self.address.clone(), options)
    }

    fn of(address: Arc<Address>, options: &PoolOptions) -> Result<Pool> {
        let Address { config, verify } = &*address;
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config.clone(), Connector::new(verify)?, recycling);
        let inner = deadpool_postgres::Pool::builder(manager)
            .max_size(options.connections_max)
            .wait_timeout(Some(options.wait))
            .create_timeout(Some(Duration::from_secs(15)))
            .recycle_timeout(Some(Duration::from_secs(5)))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| unavailable(&error))?;
        Ok(Pool { inner, address })
    }

    /// A connection, given back when dropped.
    pub async fn get(&self) -> Result<Connection> {
        match self.inner.get().await {
            Ok(object) => Ok(Connection { object }),
            Err(PoolError::Backend(error)) => Err(Error::connecting(error)),
            Err(PoolError::Timeout(TimeoutType::Wait)) => Err(Error::Refused(Refusal::new(
                codes::BUSY_TRY_AGAIN,
                "No database connection became free.",
                format!("All {} are in use.", self.inner.status().max_size),
                "Try again, or allow more connections.",
            ))),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Connections at most.
    pub fn connections_max(&self) -> usize {
        self.inner.status().max_size
    }

    /// How many connections there are, and who wants one.
    pub fn status(&self) -> PoolStatus {
        let status = self.inner.status();
        PoolStatus {
            connections: status.size,
            idle: status.available,
            waiting: status.waiting,
        }
    }

    /// Closes every connection; nobody gets another.
    pub fn close(&self) {
        self.inner.close();
    }
}

/// A pool at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatus {
    /// Connections that are open.
    pub connections: usize,
    /// Those that nobody uses.
    pub idle: usize,
    /// Callers that wait for one.
    pub waiting: usize,
}

/// A connection of a [`Pool`]; it is a [`Client`].
#[derive(Debug)]
pub struct Connection {
    object: deadpool_postgres::Object,
}

impl Connection {
    /// Closes it instead of giving it back: what was asked on it may still be unanswered.
    pub fn discard(self) {
        drop(deadpool_postgres::Object::take(self.object));
    }
}

impl Deref for Connection {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.object
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.object
    }
}

/// One connection of its own, driven by a task of the current runtime.
pub async fn connect(url: &str) -> Result<Client> {
    let Address { config, verify } = Address::parse(url)?;
    let (client, connection) = config
        .connect(Connector::new(&verify)?)
        .await
        .map_err(Error::connecting)?;
    // Ends with the client; an error reaches the client's own calls.
    tokio::spawn(connection);
    Ok(client)
}

fn unavailable(error: &dyn std::error::Error) -> Error {
    Error::Refused(Refusal::new(
        codes::DATABASE_UNREACHABLE,
        "No connection to the database could be made.",
        crate::error::reasons(error),
        "Check that the server runs and that --database-url or DATABASE_URL names it.",
    ))
}
