//! The account the server runs as. PostgreSQL refuses to run as root, so root steps down.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{Gid, Uid, User, geteuid};

use super::error::PrivateError;

/// Accounts root steps down to, the best first.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// Who owns the server's files and runs its processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) uid: Uid,
    pub(crate) gid: Gid,
    pub(crate) name: String,
    /// We are root and become this account for every process of the server.
    pub(crate) steps_down: bool,
}

impl Account {
    /// This process's account, or for root the first unprivileged one that exists.
    pub(crate) fn current_or_unprivileged() -> Result<Account, PrivateError> {
        let uid = geteuid();
        if !uid.is_root() {
            return Ok(Account {
                uid,
                gid: nix::unistd::getegid(),
                name: name_of(uid),
                steps_down: false,
            });
        }
        let user = UNPRIVILEGED
            .iter()
            .find_map(|name| User::from_name(name).ok().flatten());
        let Some(user) = user.filter(|user| !user.uid.is_root()) else {
            return Err(PrivateError::new(
                "permission_denied",
                "PostgreSQL does not run as root.",
                format!(
                    "Tenure runs as root and none of these accounts exists: {}",
                    UNPRIVILEGED.join(", ")
                ),
                "Run: useradd --system postgres",
            ));
        };
        Ok(Account {
            uid: user.uid,
            gid: user.gid,
            name: user.name,
            steps_down: true,
        })
    }

    /// For root, the owner of server files that are already there: whoever made them can read them.
    pub(crate) fn owner_of(self, server_dir: &Path) -> Result<Account, PrivateError> {
        let Ok(metadata) = fs::symlink_metadata(server_dir) else {
            return Ok(self);
        };
        let owner = Uid::from_raw(metadata.uid());
        if owner == self.uid {
            return Ok(self);
        }
        if self.steps_down && !owner.is_root() {
            return Ok(Account {
                uid: owner,
                gid: Gid::from_raw(metadata.gid()),
                name: name_of(owner),
                steps_down: true,
            });
        }
        Err(PrivateError::new(
            "permission_denied",
            format!(
                "The database in {} belongs to {}.",
                server_dir.display(),
                name_of(owner)
            ),
            format!(
                "This process would run it as {}, and PostgreSQL demands that the owner runs it.",
                self.name
            ),
            format!(
                "Start as {}, or choose another data directory with --data-dir.",
                name_of(owner)
            ),
        ))
    }

    /// Makes a command run as this account, in an environment that holds nothing but what a server needs.
    pub(crate) fn apply(&self, command: &mut Command) {
        // PGDATA, PGOPTIONS or a foreign locale of the caller must not reach the server.
        command
            .env_clear()
            .env("LC_ALL", "C")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        for kept in ["PATH", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        if self.steps_down {
            // std drops the supplementary groups of root as well.
            command.uid(self.uid.as_raw()).gid(self.gid.as_raw());
        }
    }

    /// Refuses a directory this account cannot enter, naming the ancestor that is closed to it.
    pub(crate) fn check_reach(&self, dir: &Path) -> Result<(), PrivateError> {
        if !self.steps_down || self.can_enter(dir) {
            return Ok(());
        }
        let mut ancestors: Vec<&Path> = dir.ancestors().collect();
        ancestors.reverse();
        let closed = ancestors
            .into_iter()
            .find(|ancestor| !self.can_enter(ancestor))
            .unwrap_or(dir);
        Err(PrivateError::new(
            "permission_denied",
            format!("The account {} cannot reach {}.", self.name, dir.display()),
            format!(
                "PostgreSQL does not run as root, so it runs as {}, and {} is closed to that account.",
                self.name,
                closed.display()
            ),
            format!(
                "Run: chmod o+x {}, or choose a directory such as /var/lib/tenure with --data-dir.",
                closed.display()
            ),
        ))
    }

    /// Asks the system itself, by entering: permission bits alone do not tell about access lists.
    fn can_enter(&self, dir: &Path) -> bool {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "cd -- \"$1\"", "sh"]).arg(dir).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.apply(&mut command);
        command.status().is_ok_and(|status| status.success())
    }
}

fn name_of(uid: Uid) -> String {
    User::from_uid(uid)
        .ok()
        .flatten()
        .map_or_else(|| format!("user {uid}"), |user| user.name)
}
