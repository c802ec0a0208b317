//! The socket's directory: short, because a socket path has a hard limit, and closed to every other account.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use sha2::{Digest, Sha256};

use super::account::Account;
use super::error::PrivateError;

/// The smallest limit among the systems Tenure runs on (macOS); Linux has 107.
const SOCKET_PATH_BYTES_MAX: usize = 103;
const LONGEST_SOCKET: &str = ".s.PGSQL.65535";
const HASH_CHARACTERS: usize = 12;

/// The directory, removed with this value once the server has removed its socket.
#[derive(Debug)]
pub(crate) struct RuntimeDir(PathBuf);

impl RuntimeDir {
    /// The directory for this data directory, made and checked.
    pub(crate) fn prepare(base: Option<&Path>, data_dir: &Path, account: &Account) -> Result<RuntimeDir, PrivateError> {
        let dir = runtime_dir(base, data_dir, account)?;
        prepare(&dir, account)?;
        Ok(RuntimeDir(dir))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for RuntimeDir {
    fn drop(&mut self) {
        // A killed server leaves its socket, and then the directory stays for the next start.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Where the socket of this data directory is: the same place on every start, so that a printed URL stays true.
pub(crate) fn runtime_dir(base: Option<&Path>, data_dir: &Path, account: &Account) -> Result<PathBuf, PrivateError> {
    let digest = Sha256::digest(data_dir.as_os_str().as_encoded_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("tenure-{}-{}", account.uid, &hash[..HASH_CHARACTERS]);
    let dir = base.unwrap_or(Path::new("/tmp")).join(name);
    let socket_bytes = dir.join(LONGEST_SOCKET).as_os_str().len();
    if socket_bytes > SOCKET_PATH_BYTES_MAX {
        return Err(PrivateError::new(
            "usage",
            format!("The runtime directory {} is too long.", dir.display()),
            format!("The socket's path would have {socket_bytes} bytes; a system allows {SOCKET_PATH_BYTES_MAX}."),
            "Set TENURE_RUNTIME_DIR to a shorter directory, or unset it to use /tmp.",
        ));
    }
    Ok(dir)
}

/// Makes the directory, or accepts the one that is there only if it is ours: in `/tmp` anybody could have put it there.
fn prepare(dir: &Path, account: &Account) -> Result<(), PrivateError> {
    let made = match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(PrivateError::from_io("create the runtime directory", dir, &error)),
    };
    let failed = |error| PrivateError::from_io("open the runtime directory", dir, &error);
    // From here on by handle, never by name: the name could be swapped for a link between two steps.
    let handle = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits())
        .open(dir)
        .map_err(|_| not_ours(dir, "is not a directory that this account may open"))?;
    let metadata = handle.metadata().map_err(failed)?;
    if made && account.steps_down {
        fchown(&handle, Some(account.uid.as_raw()), Some(account.gid.as_raw())).map_err(failed)?;
    } else if metadata.uid() != account.uid.as_raw() {
        return Err(not_ours(
            dir,
            &format!("belongs to user {}, not to {}", metadata.uid(), account.name),
        ));
    }
    handle
        .set_permissions(fs::Permissions::from_mode(0o700))
        .map_err(failed)?;
    account.check_reach(dir)
}

fn not_ours(dir: &Path, reason: &str) -> PrivateError {
    PrivateError::new(
        "permission_denied",
        format!("The runtime directory {} cannot be trusted.", dir.display()),
        format!("It exists already and {reason}."),
        format!(
            "Remove {}, or set TENURE_RUNTIME_DIR to a directory of your own.",
            dir.display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        Account::current_or_unprivileged().expect("an account to run as")
    }

    #[test]
    fn a_long_data_directory_still_gives_a_short_socket() {
        let long = PathBuf::from("/").join("d".repeat(200)).join("e".repeat(200));
        let dir = runtime_dir(None, &long, &account()).expect("short enough");
        assert!(dir.join(".s.PGSQL.5432").as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
        assert_eq!(
            runtime_dir(Some(&long), &long, &account()).expect_err("too long").code,
            "usage"
        );
    }

    #[test]
    fn a_link_in_place_of_the_runtime_directory_is_refused() {
        let temp = tempfile::tempdir().expect("temporary directory");
        let target = temp.path().join("target");
        let link = temp.path().join("link");
        fs::create_dir(&target).expect("create");
        std::os::unix::fs::symlink(&target, &link).expect("link");
        assert_eq!(
            prepare(&link, &account()).expect_err("a link").code,
            "permission_denied"
        );
    }
}
