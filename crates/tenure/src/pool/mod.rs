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
    #[doc(hidden)]
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
            Ok(object) => Ok(Connection {
                object: Some(object),
                address: self.address.clone(),
            }),
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
    #[doc(hidden)]
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
#[doc(hidden)]
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
    /// Never none but while it is given back or closed.
    object: Option<deadpool_postgres::Object>,
    address: Arc<Address>,
}

impl Connection {
    /// Closes it instead of giving it back: what was asked on it may still be unanswered.
    #[doc(hidden)]
    pub fn discard(mut self) {
        close(&mut self.object);
    }

    /// Rolls its transaction back and gives it back to the pool. Where that is not answered at once, because a statement is
    /// still unanswered, the statement is cancelled, and the connection closed when it has ended. Until then it counts as one
    /// of the pool's connections, because the database still works for it; but for a few seconds at most.
    #[doc(hidden)]
    pub async fn recover(mut self) {
        let mut closing = Closing(self.object.take());
        let Some(client) = closing.0.as_ref() else { return };
        let at_once = tokio::time::timeout(AT_ONCE, client.batch_execute("rollback"));
        if let Ok(Ok(())) = at_once.await {
            drop(closing.0.take());
            return;
        }
        // The server may act upon a cancel request a moment after it was sent. So nothing else is asked on this connection.
        let _ = tokio::time::timeout(RECOVERY_MAX, end(client, &self.address)).await;
    }
}

/// How long a rollback takes that waits for no other statement.
const AT_ONCE: Duration = Duration::from_millis(50);
/// How long [`Connection::recover`] waits for the end of a statement.
const RECOVERY_MAX: Duration = Duration::from_secs(5);

/// Cancels the statement under way, and waits for its end.
async fn end(client: &Client, address: &Address) {
    if let Ok(connector) = Connector::new(&address.verify) {
        let _ = client.cancel_token().cancel_query(connector).await;
    }
    // Answered behind the statement, with whatever result.
    let _ = client.batch_execute("rollback").await;
}

/// A connection that is closed when dropped, wherever its task ends.
struct Closing(Option<deadpool_postgres::Object>);

impl Drop for Closing {
    fn drop(&mut self) {
        close(&mut self.0);
    }
}

fn close(object: &mut Option<deadpool_postgres::Object>) {
    if let Some(object) = object.take() {
        drop(deadpool_postgres::Object::take(object));
    }
}

impl Deref for Connection {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.object.as_ref().expect("it is here until it goes back")
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Client {
        self.object.as_mut().expect("it is here until it goes back")
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
