//! Templates: a prepared database that each test gets a copy of.

use std::fmt::Display;

use sha2::{Digest, Sha256};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::cluster::TestCluster;
use crate::PrivateError;

/// Serialises the preparing of templates on one server, whichever process does it.
const PREPARE_LOCK: i64 = 0x7465_6e75_7265_7470;
const HASH_CHARACTERS: usize = 16;
const LABEL_CHARACTERS_MAX: usize = 24;

/// Names a template by what it is for and by the sources it is made of: other sources, another template.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Template {
    label: String,
    name: String,
}

impl Template {
    /// A template for `label` (lower-case letters, digits and `_`), made of these sources in this order.
    ///
    /// # Panics
    /// If the label is empty, too long or has other characters: it becomes part of a database's name.
    pub fn new<S: AsRef<[u8]>>(label: &str, sources: impl IntoIterator<Item = S>) -> Template {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(
            !label.is_empty() && label.len() <= LABEL_CHARACTERS_MAX && label.chars().all(plain),
            "a template's label is 1 to {LABEL_CHARACTERS_MAX} of a-z, 0-9 and _, not {label:?}"
        );
        let mut hasher = Sha256::new();
        for source in sources {
            // With its length, or two sources could pass for one.
            hasher.update((source.as_ref().len() as u64).to_be_bytes());
            hasher.update(source.as_ref());
        }
        let hash: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Template {
            label: label.to_owned(),
            name: format!("tenure_template_{label}__{}", &hash[..HASH_CHARACTERS]),
        }
    }

    /// The template database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Prepares the template unless some process has done so, and drops the ones of older sources.
    pub(super) async fn prepare<E: Display>(
        &self,
        cluster: &TestCluster,
        admin: &Client,
        fill: impl AsyncFnOnce(String) -> Result<(), E>,
    ) -> Result<(), PrivateError> {
        // The lock belongs to the session: it is released by the end of this client, also when preparing fails.
        admin
            .execute("select pg_catalog.pg_advisory_lock($1)", &[&PREPARE_LOCK])
            .await
            .map_err(|e| self.failed(&e))?;
        let prepared = self.prepare_locked(cluster, admin, fill).await;
        admin
            .execute("select pg_catalog.pg_advisory_unlock($1)", &[&PREPARE_LOCK])
            .await
            .map_err(|e| self.failed(&e))?;
        prepared
    }

    async fn prepare_locked<E: Display>(
        &self,
        cluster: &TestCluster,
        admin: &Client,
        fill: impl AsyncFnOnce(String) -> Result<(), E>,
    ) -> Result<(), PrivateError> {
        if self.is_ready(admin).await? {
            return Ok(());
        }
        self.drop_others(admin).await?;
        let name = &self.name;
        self.run(admin, &format!("create database {name}")).await?;
        fill(cluster.url(name)).await.map_err(|error| self.failed(&error))?;
        // Set last: a template that a killed process left half made does not carry it.
        self.run(
            admin,
            &format!("alter database {name} with is_template true allow_connections false"),
        )
        .await
    }

    /// Whether it is there and complete.
    pub(super) async fn is_ready(&self, admin: &Client) -> Result<bool, PrivateError> {
        let query = "select 1 from pg_catalog.pg_database where datname = $1 and datistemplate";
        Ok(admin
            .query_opt(query, &[&self.name])
            .await
            .map_err(|error| self.failed(&error))?
            .is_some())
    }

    /// Drops templates of the same label: those of older sources, and this one if it was left half made.
    async fn drop_others(&self, admin: &Client) -> Result<(), PrivateError> {
        let query = "select datname, datistemplate from pg_catalog.pg_database where starts_with(datname, $1)";
        let prefix = format!("tenure_template_{}__", self.label);
        for row in admin
            .query(query, &[&prefix])
            .await
            .map_err(|error| self.failed(&error))?
        {
            let (name, is_template): (String, bool) = (row.get(0), row.get(1));
            if is_template {
                self.run(admin, &format!("alter database {name} with is_template false"))
                    .await?;
            }
            self.run(admin, &format!("drop database if exists {name} with (force)"))
                .await?;
        }
        Ok(())
    }

    async fn run(&self, admin: &Client, statement: &str) -> Result<(), PrivateError> {
        admin.batch_execute(statement).await.map_err(|error| {
            let message = error
                .as_db_error()
                .map_or_else(|| error.to_string(), ToString::to_string);
            self.failed(&format!("{statement}: {message}"))
        })
    }

    fn failed(&self, error: &dyn Display) -> PrivateError {
        PrivateError::new(
            "database_error",
            format!("The template {} could not be prepared.", self.name),
            error.to_string(),
            "Read the reason; the login needs the right to create databases.",
        )
    }
}

/// Whether a copy failed only because the template is not there, or not yet.
pub(super) fn is_missing(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::INVALID_CATALOG_NAME) || error.code() == Some(&SqlState::UNDEFINED_DATABASE)
}
