//! Subscriptions to events: this server checks the address of a webhook before the database stores it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use tenure::operations::Perform;
use tenure_api::Operation;
use tenure_api::subscriptions::{SubscriptionCreate, SubscriptionTarget};

use super::Server;
use super::auth::Caller;
use super::mount::{ByHand, answered, read};
use super::problem::Problem;

pub(super) fn routes() -> ByHand {
    ByHand::default().with::<SubscriptionCreate, _, _>(subscription_create)
}

async fn subscription_create(
    State(server): State<Arc<Server>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let new: SubscriptionCreate = read(&server, request).await?;
    if let Some(url) = new.url.as_deref().filter(|_| new.target == SubscriptionTarget::Webhook) {
        server.webhooks.check(url)?;
    }
    let made = server.call(&caller, SubscriptionCreate::FUNCTION, async |client| {
        new.perform(client).await
    });
    answered::<SubscriptionCreate>(&made.await?)
}
