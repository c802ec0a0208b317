//! A connection that hears notifications.

use std::future::poll_fn;

use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client};

use super::address::Address;
use crate::error::{Error, Result};
use crate::tls::Connector;

/// Hears a channel for as long as it lives.
#[derive(Debug)]
pub struct Listener {
    // The connection ends with its client.
    _client: Client,
    heard: mpsc::UnboundedReceiver<String>,
}

impl Listener {
    /// The payload of the next notification; none when the connection is gone.
    pub async fn next(&mut self) -> Option<String> {
        self.heard.recv().await
    }
}

/// Listens on a channel, by a connection of its own. A pool that hands a session to others between transactions
/// (PgBouncer in transaction mode) must not stand between.
pub async fn listen(url: &str, channel: &str) -> Result<Listener> {
    let Address { config, verify } = Address::parse(url)?;
    let (client, mut connection) = config
        .connect(Connector::new(&verify)?)
        .await
        .map_err(Error::connecting)?;
    let (tell, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        // Ends with the client, or with the connection; then the receiver knows by the end of the channel.
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && tell.send(notification.payload().to_owned()).is_err()
            {
                break;
            }
        }
    });
    let channel = channel.replace('"', "\"\"");
    client.batch_execute(&format!("listen \"{channel}\"")).await?;
    Ok(Listener { _client: client, heard })
}
