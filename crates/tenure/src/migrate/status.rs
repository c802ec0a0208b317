//! Whether a database has a schema this program can work with.

use tenure_core::{Refusal, codes};
use tokio_postgres::GenericClient;

use super::{SCHEMA_VERSION, SCHEMA_VERSION_MAX, SCHEMA_VERSION_MIN, functions_hash};
use crate::error::{Error, Result};

/// What a database has of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub enum SchemaStatus {
    /// Nothing.
    Missing,
    /// A version older than this program supports.
    TooOld(i32),
    /// A version newer than this program supports.
    TooNew(i32),
    /// A version this program works with.
    Usable {
        /// The version.
        version: i32,
        /// Whether its functions and views are those of this program. During a rolling upgrade they need not be.
        same_functions: bool,
    },
}

impl SchemaStatus {
    /// The version, or the refusal that says what to run.
    pub fn accept(&self) -> Result<i32> {
        let range = format!(
            "This program works with versions {SCHEMA_VERSION_MIN} to {SCHEMA_VERSION_MAX}; it was built with {SCHEMA_VERSION}."
        );
        let refusal = match self {
            SchemaStatus::Usable { version, .. } => return Ok(*version),
            SchemaStatus::Missing => Refusal::new(
                codes::SCHEMA_MISSING,
                "The database has no Tenure schema.",
                "It was never migrated, or this is another database than you think.",
                "Run: tenure migrate",
            ),
            SchemaStatus::TooOld(version) => Refusal::new(
                codes::SCHEMA_TOO_OLD,
                format!("The schema of the database has version {version}."),
                range,
                "Run: tenure migrate",
            ),
            SchemaStatus::TooNew(version) => Refusal::new(
                codes::SCHEMA_TOO_NEW,
                format!("The schema of the database has version {version}."),
                range,
                "Use a newer tenure; the schema does not go back.",
            ),
        };
        Err(Error::Refused(refusal))
    }

    /// What an operator should know although all works.
    pub fn warning(&self) -> Option<String> {
        match self {
            SchemaStatus::Usable {
                same_functions: false, ..
            } => Some(
                "The functions of the database are not those of this program. During a rolling upgrade that is expected; \
                 otherwise run: tenure migrate"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// Reads what the database has. Any login with a Tenure role may.
#[doc(hidden)]
pub async fn check(client: &impl GenericClient) -> Result<SchemaStatus> {
    // By the catalogue: the name of a schema one may not use cannot be resolved.
    let there =
        "select exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
         where n.nspname = 'tenure' and c.relname = 'installation')";
    if !client.query_typed(there, &[]).await?.iter().any(|row| row.get(0)) {
        return Ok(SchemaStatus::Missing);
    }
    let state =
        "select (select max(m.version) from tenure.migrations m), (select i.functions_hash from tenure.installation i)";
    let rows = client.query_typed(state, &[]).await?;
    let (version, hash): (Option<i32>, Option<String>) =
        rows.first().map_or((None, None), |row| (row.get(0), row.get(1)));
    Ok(match version {
        None => SchemaStatus::Missing,
        Some(version) if version < SCHEMA_VERSION_MIN => SchemaStatus::TooOld(version),
        Some(version) if version > SCHEMA_VERSION_MAX => SchemaStatus::TooNew(version),
        Some(version) => SchemaStatus::Usable {
            version,
            same_functions: hash.as_deref() == Some(functions_hash()),
        },
    })
}
