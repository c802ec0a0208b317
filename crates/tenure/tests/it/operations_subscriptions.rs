//! The operations of subscriptions, deliveries and events, carried out: the typed answers have a field for everything that SQL sends.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tenure::operations::Perform;
use tenure_api::deliveries::*;
use tenure_api::events::*;
use tenure_api::subscriptions::*;

use crate::fixture::{Db, enqueue, one, until};

fn of<O: DeserializeOwned>(question: Value) -> O {
    serde_json::from_value(question).expect("a question")
}

#[tokio::test]
async fn a_reader_is_created_read_acknowledged_and_deleted_by_operations() {
    let db = Db::open().await;
    let c = db.direct().await;
    let create: SubscriptionCreate = of(
        json!({"name": "r", "event_kinds": ["job.*"], "target": "reader", "from": "start",
        "filter": {"job_kind": "report", "data": {}}}),
    );
    let made = create.perform(&c).await.expect("created");
    assert_eq!((made.target, made.signing_key), (SubscriptionTarget::Reader, None));
    let (job, _) = (enqueue(&c, "report").await, enqueue(&c, "other").await);
    let list: EventList = of(json!({"kind": "job.*"}));
    until(
        &c,
        "select count(*) = 2 from tenure.event_list(p_kind => 'job.*')",
        &[],
        "events",
    )
    .await;
    let all = list.perform(&c).await.expect("events");
    assert_eq!((all.items.len(), all.next), (2, None));
    let one_by_one: EventList = of(json!({"kind": "job.*", "limit": 1}));
    let first = one_by_one.perform(&c).await.expect("events");
    let second = EventList {
        cursor: first.next,
        ..one_by_one
    }
    .perform(&c)
    .await
    .expect("events");
    assert_eq!(second.items, all.items[1..]);

    let read: SubscriptionRead = of(json!({"name": "r"}));
    let unread = read.perform(&c).await.expect("events");
    assert_eq!(unread.items[0].job_ids, Some(vec![job]));
    let ack = SubscriptionAck {
        name: "r".to_owned(),
        cursor: unread.items[0].cursor.clone(),
    };
    assert_eq!(ack.perform(&c).await.expect("acknowledged").matched, 1);
    let subscriptions = SubscriptionList {}.perform(&c).await.expect("a list");
    assert_eq!(subscriptions.items[0].filter.job_kind.as_deref(), Some("report"));
    assert_eq!(subscriptions.items[0].state, SubscriptionState::Active);
    let lag = StreamLagShow {}.perform(&c).await.expect("a lag");
    assert_eq!(lag.waiting_events, 0);
    let delete: SubscriptionDelete = of(json!({"name": "r"}));
    assert_eq!(delete.perform(&c).await.expect("deleted").name, "r");
}

#[tokio::test]
async fn a_webhook_is_paused_resumed_and_rotated_and_its_dead_delivery_sent_again_by_operations() {
    let db = Db::open().await;
    let c = db.direct().await;
    let create: SubscriptionCreate = of(
        json!({"name": "h", "event_kinds": ["job.enqueued"], "target": "webhook",
        "url": "https://example.org/in", "from": "start"}),
    );
    let key = create.perform(&c).await.expect("created").signing_key;
    let rotate: SubscriptionRotate = of(json!({"name": "h"}));
    let rotated = rotate.perform(&c).await.expect("rotated");
    assert!(rotated.signing_key.is_some() && rotated.signing_key != key && rotated.rotated_at.is_some());
    enqueue(&c, "report").await;
    enqueue(&c, "report").await;
    let lined_up = "select tenure.subscription_run() is not null and (select count(*) = 2 from tenure.deliveries)";
    until(&c, lined_up, &[], "deliveries").await;

    let list: DeliveryList = of(json!({"subscription": "h", "state": ["waiting", "dead"], "limit": 1}));
    let first = list.perform(&c).await.expect("deliveries");
    let second = DeliveryList {
        cursor: first.next,
        ..list
    }
    .perform(&c)
    .await
    .expect("deliveries");
    assert!(first.items[0].place > second.items[0].place);
    for attempt in 1..=10 {
        one(&c, "select to_jsonb(count(*)) from tenure.delivery_claim()", &[]).await;
        let (dies, arrives) = (first.items[0].delivery_id, second.items[0].delivery_id);
        let end =
            "select to_jsonb(tenure.delivery_end(array[$1, $2], array[$3, 1], array[503, 200], array[null, null]))";
        one(&c, end, &[&dies, &arrives, &attempt]).await;
        db.advance("27 hours").await;
    }
    let dead: DeliveryList = of(json!({"subscription": "h", "state": ["dead"]}));
    let dead = dead.perform(&c).await.expect("deliveries").items;
    assert_eq!(
        (dead.len(), &dead[0].state, dead[0].status),
        (1, &DeliveryState::Dead, Some(503))
    );
    let retry = DeliveryRetry {
        delivery_id: dead[0].delivery_id,
        on_behalf_of: Some("ann".to_owned()),
    };
    assert_eq!(retry.perform(&c).await.expect("retried").state, DeliveryState::Waiting);

    let pause: SubscriptionPause = of(json!({"name": "h", "note": "moving"}));
    assert_eq!(
        pause.perform(&c).await.expect("paused").pause_note.as_deref(),
        Some("moving")
    );
    let resume: SubscriptionResume = of(json!({"name": "h", "from": "now"}));
    let resumed = resume.perform(&c).await.expect("resumed");
    assert_eq!((resumed.paused_at, resumed.refusals), (None, 0));
}
