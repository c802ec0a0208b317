//! A PostgreSQL of our own for as long as this process lives: made in a temporary directory, removed with it.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tenure_cluster::{Cluster, ClusterOptions};

use crate::errors::Outcome;

/// Where temporary files are kept on a disk: `/tmp` is memory on many machines, where a flush to disk costs nothing.
const ON_DISK: &str = "/var/tmp";

/// A setting of the server, written `shared_buffers=1GB`.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    name: String,
    value: String,
}

impl FromStr for Setting {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Setting, &'static str> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !name.starts_with('-') => Ok(Setting {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("it is written NAME=VALUE"),
        }
    }
}

/// Starts a server that is gone with its data when this process ends, however it ends. Of two settings of the same name
/// the later one counts.
pub(crate) async fn start(fsync: bool, settings: &[Setting]) -> Outcome<Cluster> {
    let dir = tempfile::Builder::new()
        .prefix("tenure-private-")
        .tempdir_in(base_dir())?;
    // Root's server runs as another account, which must be able to pass, whatever the mask.
    fs::set_permissions(dir.path(), Permissions::from_mode(0o711))?;
    let mut options = ClusterOptions::new(dir.path());
    options.fsync = fsync;
    options.ephemeral = true;
    options.settings = settings
        .iter()
        .map(|setting| (setting.name.clone(), setting.value.clone()))
        .collect();
    let cluster = Cluster::start(options).await?;
    // From here on the cluster removes it.
    let _ = dir.keep();
    Ok(cluster)
}

fn base_dir() -> PathBuf {
    match env::var_os("TMPDIR") {
        None if Path::new(ON_DISK).is_dir() => ON_DISK.into(),
        _ => env::temp_dir(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_a_name_and_a_value_that_may_hold_anything() {
        let setting: Setting = "search_path=a=b, c".parse().expect("a setting");
        assert_eq!(
            (setting.name.as_str(), setting.value.as_str()),
            ("search_path", "a=b, c")
        );
        for wrong in ["", "fsync", "=on", "-D=/tmp"] {
            assert!(wrong.parse::<Setting>().is_err(), "{wrong}");
        }
    }
}
