//! A connection that hears notifications.

use std::future::poll_fn;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client};

use super::address::Address;
use crate::error::{Error, Result};
use crate::tls::Connector;

/// How long a connection may be quiet before either end asks whether the other lives.
const QUIET_MAX: Duration = Duration::from_secs(10);

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Heard {
    /// Where it was heard. Whoever is connected may send to a channel whose name they know.
    pub channel: String,
    /// What was said.
    pub payload: String,
}

/// Hears its channels for as long as it lives.
#[derive(Debug)]
#[doc(hidden)]
pub struct Listener {
    // The connection ends with its client.
    client: Client,
    heard: mpsc::UnboundedReceiver<Heard>,
}

impl Listener {
    /// The next notification; none when the connection is gone.
    pub async fn next(&mut self) -> Option<Heard> {
        self.heard.recv().await
    }

    /// Listens on another channel too.
    pub async fn hear(&self, channel: &str) -> Result<()> {
        let channel = channel.replace('"', "\"\"");
        Ok(self.client.batch_execute(&format!("listen \"{channel}\"")).await?)
    }

    /// The connection, for what must last as long as the listening does.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

/// Listens on a channel, by a connection of its own. A pool that hands a session to others between transactions
/// (PgBouncer in transaction mode) must not stand between.
#[doc(hidden)]
pub async fn listen(url: &str, channel: &str) -> Result<Listener> {
    let Address { mut config, verify } = Address::parse(url)?;
    // It is idle most of the time. If it is cut off without a word, both ends have to find out by themselves, and soon.
    config
        .keepalives_idle(QUIET_MAX)
        .keepalives_interval(QUIET_MAX / 2)
        .keepalives_retries(2);
    let (client, mut connection) = config
        .connect(Connector::new(&verify)?)
        .await
        .map_err(Error::connecting)?;
    let (tell, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        // Ends with the client, or with the connection; then the receiver knows by the end of the channel.
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(told) = message {
                let heard = Heard {
                    channel: told.channel().to_owned(),
                    payload: told.payload().to_owned(),
                };
                if tell.send(heard).is_err() {
                    break;
                }
            }
        }
    });
    let listener = Listener { client, heard };
    let seconds = QUIET_MAX.as_secs();
    let keepalive = format!(
        "set tcp_keepalives_idle = {seconds}; set tcp_keepalives_interval = {}; set tcp_keepalives_count = 2",
        seconds / 2
    );
    listener.client.batch_execute(&keepalive).await?;
    listener.hear(channel).await?;
    Ok(listener)
}
