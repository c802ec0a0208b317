//! When to stop.

/// Ready when the process is told to stop: by SIGTERM or SIGINT, or by Ctrl-C where there are no such signals.
///
/// Must be called within a Tokio runtime. From then on these signals no longer end the process by themselves.
pub async fn shutdown_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        // Nothing will tell us: work on.
        std::future::pending::<()>().await;
    }
}
