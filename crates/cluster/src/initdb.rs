//! Makes a new database, complete or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{chown, fchown};
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use tempfile::{NamedTempFile, TempDir};

use super::account::Account;
use super::data_dir::{UNFINISHED, server_dir};
use super::error::PrivateError;
use super::find::Installation;
use super::log::{Log, explain_log};
use super::supervise::{Spec, Supervised};
use super::url::SUPERUSER;

/// Holds the superuser's password, which only connections over TCP need.
pub(crate) const PASSWORD_FILE: &str = "tenure.password";
/// The best locale first. Both sort by bytes, alike on every machine.
const LOCALES: [&str; 2] = ["C.UTF-8", "C"];
const POLL: Duration = Duration::from_millis(10);

/// What `initdb` needs to know.
pub(crate) struct Initdb<'a> {
    pub(crate) installation: &'a Installation,
    pub(crate) data_dir: &'a Path,
    pub(crate) account: &'a Account,
    pub(crate) log: &'a Log,
    pub(crate) fsync: bool,
}

impl Initdb<'_> {
    /// Runs in a sibling that is renamed when complete, so that one killed half-way leaves no half database behind.
    pub(crate) async fn run(&self) -> Result<(), PrivateError> {
        let target = server_dir(self.data_dir, self.installation.major);
        let failed = |error: io::Error| PrivateError::from_io("create a database in", &target, &error);
        let unfinished = self.unfinished_dir().map_err(failed)?;
        let password = self.password_file().map_err(failed)?;
        let mut locales = LOCALES.iter();
        loop {
            let locale = locales.next().unwrap_or(&"C");
            let Err(refusal) = self.run_in(unfinished.path(), password.path(), locale).await else {
                break;
            };
            if !refusal.why.contains("invalid locale name") || locales.len() == 0 {
                return Err(refusal);
            }
        }
        password
            .persist(unfinished.path().join(PASSWORD_FILE))
            .map_err(|error| failed(error.error))?;
        fs::rename(unfinished.keep(), &target).map_err(failed)?;
        if self.fsync {
            File::open(self.data_dir)
                .and_then(|dir| dir.sync_all())
                .map_err(failed)?;
        }
        Ok(())
    }

    async fn run_in(&self, dir: &Path, password: &Path, locale: &str) -> Result<(), PrivateError> {
        let what = "The database could not be created: initdb failed.";
        let failed = |error: io::Error| PrivateError::from_io("run initdb in", dir, &error);
        let mut args = vec![
            format!("--pgdata={}", dir.display()),
            format!("--username={SUPERUSER}"),
            format!("--pwfile={}", password.display()),
            // Only the owner of the socket's directory reaches the socket; a port is open to every account of the machine.
            "--auth-local=trust".to_owned(),
            "--auth-host=scram-sha-256".to_owned(),
            "--encoding=UTF8".to_owned(),
            format!("--locale={locale}"),
            "--data-checksums".to_owned(),
            "--no-instructions".to_owned(),
        ];
        if !self.fsync {
            args.push("--no-sync".to_owned());
        }
        let mut initdb = Supervised::spawn(Spec {
            program: self.installation.bin_dir.join("initdb"),
            args,
            account: self.account,
            current_dir: self.data_dir,
            output: self.log.writer().map_err(failed)?,
            stop_signal: Signal::SIGTERM,
            remove_after_death: vec![dir.to_owned(), password.to_owned()],
        })
        .map_err(failed)?;
        loop {
            match initdb.exited().map_err(failed)? {
                Some(status) if status.success() => return Ok(()),
                Some(_) => return Err(explain_log(what, &self.log.tail(), self.log.path())),
                None => tokio::time::sleep(POLL).await,
            }
        }
    }

    fn unfinished_dir(&self) -> io::Result<TempDir> {
        let prefix = format!("pg{}{UNFINISHED}", self.installation.major);
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(self.data_dir)?;
        if self.account.steps_down {
            chown(
                dir.path(),
                Some(self.account.uid.as_raw()),
                Some(self.account.gid.as_raw()),
            )?;
        }
        Ok(dir)
    }

    fn password_file(&self) -> io::Result<NamedTempFile> {
        let mut file = NamedTempFile::with_prefix_in(format!("password{UNFINISHED}"), self.data_dir)?;
        writeln!(file, "{}", uuid::Uuid::new_v4().simple())?;
        if self.account.steps_down {
            fchown(
                file.as_file(),
                Some(self.account.uid.as_raw()),
                Some(self.account.gid.as_raw()),
            )?;
        }
        Ok(file)
    }
}
