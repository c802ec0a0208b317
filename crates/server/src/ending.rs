//! One end for many tasks.

use tokio::sync::watch;

/// Ready when the sender is gone: how one end is announced to many tasks.
pub async fn closed(mut ended: watch::Receiver<()>) {
    while ended.changed().await.is_ok() {}
}
