//! A server whose managing process was killed: ended before a new one starts on the same files.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::error::PrivateError;
use super::running::recorded_pid;

const POLL: Duration = Duration::from_millis(10);
/// In order: a fast shutdown, then an immediate one, then none at all, each with its patience in seconds.
const STEPS: [(Signal, u64); 3] = [(Signal::SIGINT, 15), (Signal::SIGQUIT, 10), (Signal::SIGKILL, 5)];

/// Ends an orphan that still runs on these files, and removes a `postmaster.pid` whose number now belongs to another
/// process: PostgreSQL would take that process for a server. Only the holder of the lock may call this.
pub(crate) async fn stop_orphan(server_dir: &Path) -> Result<(), PrivateError> {
    let pid_file = server_dir.join("postmaster.pid");
    let Some(pid) = recorded_pid(&pid_file)
        .and_then(|pid| i32::try_from(pid).ok())
        .map(Pid::from_raw)
    else {
        return Ok(());
    };
    if pid.as_raw() <= 1 || !is_alive(pid) {
        return Ok(());
    }
    if !serves(pid, server_dir) {
        return fs::remove_file(&pid_file)
            .map_err(|error| PrivateError::from_io("remove the stale postmaster.pid", &pid_file, &error));
    }
    tracing::info!(%pid, "stopping a server whose managing process is gone");
    for (signal, seconds) in STEPS {
        if kill(pid, signal) == Err(Errno::EPERM) {
            break;
        }
        let deadline = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < deadline {
            if !is_alive(pid) || !serves(pid, server_dir) {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Err(PrivateError::new(
        "data_dir_in_use",
        format!("A server still runs on {}.", server_dir.display()),
        format!("The process {pid} was left by an earlier run and could not be stopped by this account."),
        format!("Stop it: kill -QUIT {pid}"),
    ))
}

pub(crate) fn is_alive(pid: Pid) -> bool {
    matches!(kill(pid, None), Ok(()) | Err(Errno::EPERM))
}

/// Whether this process is a server on these files. A zombie is none: its command line is empty.
fn serves(pid: Pid, server_dir: &Path) -> bool {
    let proc = Path::new("/proc").join(pid.to_string());
    let arguments = if proc.exists() {
        // A server started by hand may have been given a relative path; it works in its directory all the same.
        if fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd == server_dir) {
            return true;
        }
        fs::read(proc.join("cmdline")).unwrap_or_default()
    } else {
        let ps = Command::new("ps")
            .args(["-ww", "-o", "args=", "-p", &pid.to_string()])
            .stdin(Stdio::null())
            .output();
        ps.map(|output| output.stdout).unwrap_or_default()
    };
    let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
    arguments.contains("postgres") && arguments.contains(&*server_dir.to_string_lossy())
}
