//! A child process that cannot outlive this one.
//!
//! A shell starts a watcher and then becomes the program, so the child's pid is the program's own. The watcher reads from a
//! pipe whose other end only this process holds: when this process is gone, however it went, the read ends and the watcher
//! ends the program. This works on every Unix, needs no unsafe code, and does not depend on which thread did the spawning.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use std::os::unix::process::CommandExt;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::account::Account;

/// Arguments: the signal, the paths to remove after an orphan's end, `--`, the program and its arguments.
///
/// The watcher is started in a subshell that ends at once, so it is no child of the program: a postmaster takes an unknown
/// child that dies for a crashed backend. A line on the pipe means "ended in good order"; the end of the pipe alone, a death.
const SCRIPT: &str = r#"
exec 3<&0 </dev/null
signal=$1; shift
leave=
while [ "$1" != -- ]; do leave="$leave '$1'"; shift; done
shift
(
  (
    cd /
    exec >/dev/null 2>&1
    read -r line <&3 && exit 0
    kill -s "$signal" $$
    waited=0
    while kill -0 $$; do
      [ $waited -eq 300 ] && kill -s QUIT $$
      [ $waited -eq 400 ] && kill -s KILL $$
      waited=$((waited + 1))
      sleep 0.1 || sleep 1
    done
    # A child of the program may still be writing there for a moment.
    tried=0
    until [ -z "$leave" ] || eval "rm -rf -- $leave" || [ $tried -eq 100 ]; do
      tried=$((tried + 1))
      sleep 0.1 || sleep 1
    done
  ) &
)
exec 3<&-
exec "$@"
"#;

/// How long an orderly end may take before it is made a quick one.
const STOP_SECONDS_MAX: u64 = 30;
/// How long a quick end may take before the process is killed.
const QUIT_SECONDS_MAX: u64 = 10;
const POLL: Duration = Duration::from_millis(5);

/// What to run, and how it ends when this process does.
pub(crate) struct Spec<'a> {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) account: &'a Account,
    pub(crate) current_dir: &'a Path,
    pub(crate) output: File,
    /// Sent on stop, and by the watcher when this process is gone.
    pub(crate) stop_signal: Signal,
    /// Removed by the watcher when this process is gone.
    pub(crate) remove_after_death: Vec<PathBuf>,
}

/// The running program. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Supervised {
    child: Child,
    lifeline: Option<ChildStdin>,
    stop_signal: Signal,
    exited: Option<ExitStatus>,
}

impl Supervised {
    pub(crate) fn spawn(spec: Spec<'_>) -> io::Result<Supervised> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "tenure-supervisor"])
            .arg(spec.stop_signal.as_str().trim_start_matches("SIG"));
        for path in &spec.remove_after_death {
            // The script quotes the path; a quote inside would end that too early, so such a path is left for the next start.
            if !path.as_os_str().as_encoded_bytes().contains(&b'\'') {
                command.arg(path);
            }
        }
        command
            .arg("--")
            .arg(&spec.program)
            .args(&spec.args)
            .current_dir(spec.current_dir);
        command
            .stdin(Stdio::piped())
            .stdout(spec.output.try_clone()?)
            .stderr(spec.output);
        // Its own group: Ctrl-C at a terminal reaches only this process, which then stops the server in order.
        command.process_group(0);
        spec.account.apply(&mut command);
        let mut child = command.spawn()?;
        let lifeline = child.stdin.take();
        Ok(Supervised {
            child,
            lifeline,
            stop_signal: spec.stop_signal,
            exited: None,
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        // A pid is a pid_t, which is an i32 everywhere Tenure runs.
        Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(i32::MAX))
    }

    /// The exit status, once the program has ended.
    pub(crate) fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.exited.is_none() {
            self.exited = self.child.try_wait()?;
            if self.exited.is_some() {
                self.dismiss_watcher();
            }
        }
        Ok(self.exited)
    }

    /// Asks the program to end, insists after a while, and returns when it has.
    pub(crate) fn stop(&mut self) -> io::Result<ExitStatus> {
        let steps = [
            (self.stop_signal, Duration::from_secs(STOP_SECONDS_MAX)),
            (Signal::SIGQUIT, Duration::from_secs(QUIT_SECONDS_MAX)),
            (Signal::SIGKILL, Duration::from_secs(QUIT_SECONDS_MAX)),
        ];
        for (signal, patience) in steps {
            if let Some(status) = self.exited()? {
                return Ok(status);
            }
            // Not reaped yet, so the pid is still its own.
            let _ = kill(self.pid(), signal);
            let deadline = Instant::now() + patience;
            while Instant::now() < deadline {
                if let Some(status) = self.exited()? {
                    return Ok(status);
                }
                thread::sleep(POLL);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("process {} does not end", self.pid()),
        ))
    }

    fn dismiss_watcher(&mut self) {
        if let Some(mut lifeline) = self.lifeline.take() {
            // The watcher may be gone already, and then there is nobody to tell.
            let _ = lifeline.write_all(b"ended\n");
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
