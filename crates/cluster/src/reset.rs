//! Removing databases: on request, and those of test runs that were killed.

use std::fs;
use std::path::Path;

use super::account::Account;
use super::data_dir::{create, majors, remove_unfinished, server_dir};
use super::error::PrivateError;
use super::lock::DataDirLock;
use super::options::ClusterOptions;
use super::orphan::stop_orphan;
use super::running::forget;
use super::runtime_dir::runtime_dir;

/// Removes every database in this data directory, and nothing else in it. Refused while a process manages it.
pub async fn reset(data_dir: impl AsRef<Path>) -> Result<(), PrivateError> {
    if !data_dir.as_ref().exists() {
        return Ok(());
    }
    let data_dir = create(data_dir.as_ref())?;
    let _lock = DataDirLock::acquire(&data_dir).await?;
    forget(&data_dir);
    remove_unfinished(&data_dir).await;
    for major in majors(&data_dir)? {
        let dir = server_dir(&data_dir, major);
        stop_orphan(&dir).await?;
        // The socket that a killed server left goes with it.
        let account = Account::current_or_unprivileged()?.owner_of(&dir)?;
        let base = ClusterOptions::new(&data_dir).runtime_base;
        let _ = fs::remove_dir_all(runtime_dir(base.as_deref(), &data_dir, &account)?);
        fs::remove_dir_all(&dir).map_err(|error| PrivateError::from_io("remove the database in", &dir, &error))?;
    }
    Ok(())
}

/// Removes a temporary data directory whose process is gone, as far as this account may.
pub(crate) async fn remove_abandoned(data_dir: &Path) {
    if reset(data_dir).await.is_ok() {
        let _ = fs::remove_dir_all(data_dir);
    }
}
