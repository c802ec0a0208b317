//! Brings a database to the schema this program was built with.
//!
//! Roles, the functions that tables need, numbered migrations, all other functions, views and grants are applied in one
//! transaction under a lock on the book of migrations: a database is migrated or untouched, and two servers that start
//! together do it once. It needs no superuser: a login with `CREATEROLE` and `CREATE` on the database is enough, or,
//! where the roles exist, one that may act as `tenure_owner`. Nothing outside the schema `tenure` is touched, and every
//! gate is closed afterwards.
//!
//! ```no_run
//! # async fn run() -> tenure::Result<()> {
//! let mut client = tenure::pool::connect("postgres://localhost/app").await?;
//! let report = tenure::migrate::migrate(&mut client, &Default::default()).await?;
//! println!("schema version {}", report.version);
//! # Ok(())
//! # }
//! ```
//!
//! The runner is our own and not a library's, because functions, views and grants must change in the same transaction
//! as the tables they read, also through PgBouncer.

mod objects;
mod print;
mod run;
mod source;
mod status;

use std::time::Duration;

pub use print::{print, print_pending, print_roles};
pub use run::migrate;
pub use status::{SchemaStatus, check};

/// The schema version this program was built with: the number of its last migration.
#[doc(hidden)]
pub const SCHEMA_VERSION: i32 = 25;

/// The oldest schema version this program works with.
#[doc(hidden)]
pub const SCHEMA_VERSION_MIN: i32 = 22;

/// The newest schema version this program works with. Servers of two versions share a database during a rolling
/// upgrade, so a migration takes nothing away that a program up to ten migrations older uses.
#[doc(hidden)]
pub const SCHEMA_VERSION_MAX: i32 = SCHEMA_VERSION + 10;

/// How to migrate.
#[derive(Debug, Clone)]
pub struct Options {
    /// Apply functions, views and grants even if the database has them already.
    pub force: bool,
    /// The database was restored from a copy of its files, which looks like the server it was taken from: begin a new
    /// epoch of the event stream. After a dump or a recovery this is seen without being said.
    pub restored: bool,
    /// How long to wait for another migration of the same database.
    pub wait: Duration,
    /// How long to wait for a lock on one object before the whole migration is taken back and tried again.
    pub lock_timeout: Duration,
    /// How often to try.
    pub attempts_max: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            force: false,
            restored: false,
            wait: Duration::from_secs(120),
            // Below the usual deadlock_timeout of a second: the migration gives way and tries again, and no caller is the
            // victim of a deadlock with it.
            lock_timeout: Duration::from_millis(800),
            attempts_max: 30,
        }
    }
}

/// What a migration did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// The version before; none for a database without the schema.
    pub version_before: Option<i32>,
    /// The version now.
    pub version: i32,
    /// The migrations that were applied, such as `0006_jobs`.
    pub applied: Vec<String>,
    /// Whether functions, views and grants were applied.
    pub objects_applied: bool,
    /// Functions and views that were dropped because they are no longer ours.
    pub dropped: Vec<String>,
    /// The epoch of the event stream before; none for a database without the schema.
    pub epoch_before: Option<i32>,
    /// The epoch of the event stream now. A restore begins a new one.
    pub epoch: i32,
    /// What went not quite as it should, and does no harm.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether the database was changed.
    pub fn changed(&self) -> bool {
        self.objects_applied || !self.applied.is_empty()
    }

    /// Whether a restore was seen, or said, and a new epoch of the event stream began.
    pub fn began_epoch(&self) -> bool {
        self.epoch_before.is_some_and(|before| before != self.epoch)
    }
}

/// The hash of all the SQL this program carries: other SQL, another hash.
#[doc(hidden)]
pub fn source_hash() -> &'static str {
    &source::SOURCE.hash
}

/// The hash of the functions, views and grants this program carries, as `tenure.installation` remembers it.
#[doc(hidden)]
pub fn functions_hash() -> &'static str {
    &source::SOURCE.functions_hash
}
