//! Events on their way to a webhook: list, retry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// The state of a delivery.
    pub enum DeliveryState {
        /// It is to be sent.
        Waiting = "waiting",
        /// The receiver accepted it.
        Delivered = "delivered",
        /// The last attempt failed.
        Dead = "dead",
    }
}

/// List the deliveries of a webhook, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryList {
    /// The name of the subscription.
    pub subscription: String,
    /// Only deliveries in one of these states.
    pub state: Option<Vec<DeliveryState>>,
    /// Only deliveries with a lower `place`.
    pub before: Option<i64>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of deliveries.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Operation for DeliveryList {
    const NAME: &str = "delivery_list";
    const ROUTE: Route = Route::get("/v1/subscriptions/{subscription}/deliveries", "subscriptions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("before", "place")];
    type Answer = Page<Delivery>;
}

/// An event on its way to a webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// Its place among all deliveries; a later delivery has a higher one.
    pub place: i64,
    /// Its id, which is the header `webhook-id` of every attempt.
    pub delivery_id: Uuid,
    /// What the event is about. Deliveries about one subject are sent in order.
    pub subject: String,
    /// The kind of the event.
    pub event_kind: String,
    /// The cursor of the event.
    pub event_cursor: String,
    /// Its state.
    pub state: DeliveryState,
    /// The number of attempts so far.
    pub attempts: i32,
    /// When it is sent next; null if an earlier delivery about the subject goes first, or if it has ended.
    pub due: Option<Timestamp>,
    /// The HTTP status of the last answer; null if there was none.
    pub status: Option<i32>,
    /// Why there was no answer.
    pub error: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was delivered, or its last attempt failed.
    pub ended_at: Option<Timestamp>,
}

/// Send a dead delivery again, with the full number of attempts
///
/// It goes out of order: later deliveries about the same subject have been sent since.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryRetry {
    /// The id of the delivery.
    pub delivery_id: Uuid,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for DeliveryRetry {
    const NAME: &str = "delivery_retry";
    const ROUTE: Route = Route::post("/v1/deliveries/{delivery_id}/retry", "subscriptions");
    const EFFECT: Effect = Effect::Changes;
    type Answer = DeliveryRetried;
}

/// A delivery that will be sent again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryRetried {
    /// The delivery.
    pub delivery_id: Uuid,
    /// Its new state.
    pub state: DeliveryState,
}
