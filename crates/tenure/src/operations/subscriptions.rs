//! Operations whose handler does more than one call of their function does; without a server they are that call.

use tenure_api::events::EventList;
use tenure_api::subscriptions::SubscriptionCreate;

use super::Perform;

impl Perform for EventList {}
impl Perform for SubscriptionCreate {}
