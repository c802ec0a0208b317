//! Being asked to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::errors::Outcome;

/// Ctrl-C, SIGTERM, and a terminal that was closed.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    /// None, where it means something else.
    hang_up: Option<Signal>,
}

impl Stop {
    /// Listens from now on. Whoever starts a server listens first, or a signal in between leaves it behind.
    pub(crate) fn listen() -> Outcome<Stop> {
        Ok(Stop {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: Some(signal(SignalKind::hangup())?),
        })
    }

    /// The same, where SIGHUP means to read something again.
    pub(crate) fn listen_but_for_hang_up() -> Outcome<Stop> {
        let stop = Stop::listen()?;
        Ok(Stop { hang_up: None, ..stop })
    }

    /// Waits until somebody asks.
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = async { self.hang_up.as_mut()?.recv().await }, if self.hang_up.is_some() => {}
        }
    }
}
