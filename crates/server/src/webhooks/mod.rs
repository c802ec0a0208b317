//! Sends what subscriptions have put in line for webhooks. Any number of servers do, side by side: what one has taken, the
//! others leave alone, and what a server took that then died is sent by another.

mod reach;
mod send;

use std::time::Duration;

use tenure::store::for_every_tenant;
use tenure::store::subscriptions::{Outgoing, Sent, delivery_claim, delivery_end};
use tenure::{Pool, Result};
use tokio::task::JoinSet;

pub use reach::Reach;
use send::Sender;

/// How often it is looked for something to send.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What is under way at the same time.
const UNDER_WAY_MAX: usize = 64;
/// How long nobody else sends what we have taken.
const LEASE_SECONDS: i32 = 60;

/// Sends until `shutdown` is ready; what is under way is finished.
pub async fn run(pool: Pool, reach: Reach, shutdown: impl Future<Output = ()>) {
    let sender = match Sender::new(reach) {
        Ok(sender) => sender,
        Err(error) => return tracing::error!("webhooks cannot be sent: {error}"),
    };
    let mut shutdown = std::pin::pin!(shutdown);
    // Each is sent, and written down, on its own: a receiver or a row that keeps somebody waiting keeps nobody else.
    let mut under_way: JoinSet<()> = JoinSet::new();
    let mut failing = false;
    loop {
        while under_way.try_join_next().is_some() {}
        let looked = take(&pool, UNDER_WAY_MAX - under_way.len()).await;
        if let (Err(error), false) = (&looked, failing) {
            tracing::warn!(service = "webhooks", code = error.code(), "{error}");
        }
        failing = looked.is_err();
        for outgoing in looked.unwrap_or_default() {
            let (sender, pool) = (sender.clone(), pool.clone());
            under_way.spawn(async move {
                let sent = sender.send(outgoing).await;
                record(&pool, sent).await;
            });
        }
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = under_way.join_next() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
    while under_way.join_next().await.is_some() {}
}

async fn take(pool: &Pool, room: usize) -> Result<Vec<Outgoing>> {
    let limit = i32::try_from(room).unwrap_or_default();
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut connection = pool.get().await?;
    let transaction = connection.transaction().await?;
    for_every_tenant(&transaction).await?;
    let taken = delivery_claim(&transaction, limit, LEASE_SECONDS).await?;
    transaction.commit().await?;
    Ok(taken)
}

/// Writes down how it went. What cannot be written down is sent again later.
async fn record(pool: &Pool, sent: Sent) {
    let recorded = async {
        let mut connection = pool.get().await?;
        let transaction = connection.transaction().await?;
        for_every_tenant(&transaction).await?;
        delivery_end(&transaction, &[sent]).await?;
        transaction.commit().await?;
        Ok::<_, tenure::Error>(())
    };
    if let Err(error) = recorded.await {
        tracing::warn!(service = "webhooks", code = error.code(), "not written down: {error}");
    }
}
