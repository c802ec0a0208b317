//! A PostgreSQL of a test's own, for settings that no other test may have.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;
use tenure_cluster::ClusterOptions;

/// Its directory, which goes with the value, and options for a cluster that need not survive the machine.
pub(crate) fn own_cluster() -> (TempDir, ClusterOptions) {
    let directory = tempfile::Builder::new().prefix("tenure-it-").tempdir();
    let directory = directory.expect("a temporary directory");
    // A server started by root runs as another account, which must enter.
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o711)).expect("permissions");
    let mut options = ClusterOptions::new(directory.path().join("data"));
    options.fsync = false;
    (directory, options)
}
