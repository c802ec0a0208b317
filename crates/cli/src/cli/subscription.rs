//! `tenure subscription`: subscriptions to events, and the deliveries of webhooks.

use clap::{Args, Subcommand};
use serde_json::Value;
use tenure_api::deliveries::{DeliveryList, DeliveryRetry};
use tenure_api::subscriptions::{
    SubscriptionAck, SubscriptionChanged, SubscriptionCreate, SubscriptionDelete, SubscriptionList, SubscriptionPause,
    SubscriptionRead, SubscriptionResume, SubscriptionRotate, SubscriptionTarget,
};
use tenure_core::{Refusal, codes};

use super::Behalf;
use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, shown};
use crate::values::{Number, json_object};

/// What is shown first of a subscription.
const FIRST: &[&str] = &[
    "name",
    "target",
    "event_kinds",
    "filter",
    "job_kind",
    "url",
    "signing_key",
    "cursor",
];

#[derive(Debug, Subcommand)]
pub(crate) enum Subscription {
    /// Subscribe to events: a match enqueues a job, is sent to a webhook, or waits for a reader
    Create(Box<Create>),
    #[command(flatten)]
    Plain(Chosen<Verbs>),
}

/// The verbs of `tenure subscription` that are one operation each.
pub(crate) struct Verbs;

impl Noun for Verbs {
    const VERBS: &'static [&'static dyn Command] = &[
        &LIST,
        &PAUSE,
        &RESUME,
        &ROTATE,
        &DELETE,
        &READ,
        &ACK,
        &DELIVERIES,
        &RETRY,
    ];
}

const LIST: Verb<SubscriptionList> = Verb {
    quiet: &["name"],
    row: Some(|row| {
        let becomes = match row["target"].as_str() {
            Some("job") => format!("a job of kind {}", shown("", &row["job_kind"])),
            Some("webhook") => shown("", &row["url"]),
            _ => "what is read".to_owned(),
        };
        row["becomes"] = Value::from(becomes);
    }),
    ..Verb::table(
        "list",
        &[
            Column("NAME", "name"),
            Column("STATE", "state"),
            Column("EVENTS", "event_kinds"),
            Column("BECOME", "becomes"),
            Column("MATCHED", "matched"),
            Column("BEHIND SINCE", "behind_since"),
            Column("WAITING", "waiting"),
            Column("DEAD", "dead"),
            Column("TROUBLE", "error_code"),
        ],
        "No subscriptions.",
    )
};

const PAUSE: Verb<SubscriptionPause> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<SubscriptionPause>::sentence("pause", |_, paused| {
        let (name, cursor) = (&paused.name, &paused.cursor);
        format!("{name} is paused at {cursor} until `tenure subscription resume {name}`.")
    })
};

const RESUME: Verb<SubscriptionResume> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<SubscriptionResume>::sentence("resume", |_, resumed| {
        format!("{} goes on from {}.", resumed.name, resumed.cursor)
    })
};

const ROTATE: Verb<SubscriptionRotate> = Verb {
    places: &["name"],
    quiet: &["signing_key"],
    note: Some(|_, answer| keep_key(answer)),
    ..Verb::fields("rotate", FIRST)
};

const DELETE: Verb<SubscriptionDelete> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<SubscriptionDelete>::sentence("delete", |_, deleted| {
        format!(
            "Deleted subscription {} (last cursor {}).",
            deleted.name, deleted.cursor
        )
    })
};

const READ: Verb<SubscriptionRead> = Verb {
    places: &["name"],
    shorts: &[("limit", 'n')],
    quiet: &["cursor"],
    ..Verb::table(
        "read",
        &[
            Column("CURSOR", "cursor"),
            Column("AT", "at"),
            Column("EVENT", "kind"),
            Column("ACTOR", "actor"),
            Column("SUBJECT", "subject"),
            Column("JOBS", "job_ids"),
        ],
        "No unread events.",
    )
};

const ACK: Verb<SubscriptionAck> = Verb {
    places: &["name", "cursor"],
    quiet: &["cursor"],
    ..Verb::<SubscriptionAck>::sentence("ack", |_, moved| {
        format!("{} has come to {}.", moved.name, moved.cursor)
    })
};

const DELIVERIES: Verb<DeliveryList> = Verb {
    places: &["subscription"],
    shorts: &[("limit", 'n')],
    quiet: &["delivery_id"],
    ..Verb::table(
        "deliveries",
        &[
            Column("DELIVERY", "delivery_id"),
            Column("STATE", "state"),
            Column("EVENT", "event_kind"),
            Column("ABOUT", "subject"),
            Column("ATTEMPTS", "attempts"),
            Column("DUE", "due"),
            Column("STATUS", "status"),
            Column("ERROR", "error"),
        ],
        "No deliveries.",
    )
};

const RETRY: Verb<DeliveryRetry> = Verb {
    places: &["delivery_id"],
    quiet: &["delivery_id"],
    ..Verb::<DeliveryRetry>::sentence("retry", |_, retried| format!("{} is sent again.", retried.delivery_id))
};

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The name of the subscription
    name: String,
    /// The kinds of events, such as job.dead_lettered, job.* or *
    #[arg(required = true, value_name = "EVENT")]
    event_kinds: Vec<String>,
    /// Enqueue a job of this kind for every match
    #[arg(long, value_name = "KIND", conflicts_with = "webhook")]
    job: Option<String>,
    /// Send every match to this URL, signed as Standard Webhooks says
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// What else an event must have: an object with job_kind, executor, actor, subject, or data that it contains
    #[arg(long, value_name = "JSON")]
    filter: Option<String>,
    /// Where to begin: now, start, or a cursor
    #[arg(long, value_name = "WHERE")]
    from: Option<String>,
    /// The executor of the jobs
    #[arg(long, value_name = "NAME", requires = "job")]
    executor: Option<String>,
    /// The priority of the jobs
    #[arg(long, value_name = "N", requires = "job", allow_negative_numbers = true)]
    priority: Option<Number>,
    /// How many of a job and its ancestors may have been enqueued by subscriptions
    #[arg(long, value_name = "N", requires = "job", allow_negative_numbers = true)]
    depth_max: Option<Number>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Create {
    fn read(self) -> Outcome<SubscriptionCreate> {
        let filter = match self.filter.as_deref().map(|given| json_object("filter", given)) {
            Some(filter) => serde_json::from_value(filter?).map_err(|error| {
                Refusal::new(
                    codes::USAGE,
                    "--filter cannot be understood.",
                    error.to_string(),
                    "Give an object with job_kind, executor, actor, subject or data.",
                )
            })?,
            None => None,
        };
        Ok(SubscriptionCreate {
            name: self.name,
            event_kinds: self.event_kinds,
            target: match (&self.job, &self.webhook) {
                (Some(_), _) => SubscriptionTarget::Job,
                (None, Some(_)) => SubscriptionTarget::Webhook,
                (None, None) => SubscriptionTarget::Reader,
            },
            filter,
            from: self.from,
            job_kind: self.job,
            executor: self.executor,
            priority: Number::read_option(self.priority.as_ref(), "priority")?,
            depth_max: Number::read_option(self.depth_max.as_ref(), "depth_max")?,
            url: self.webhook,
            on_behalf_of: self.behalf.on_behalf_of,
        })
    }
}

impl Subscription {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let create = match self {
            Subscription::Plain(verb) => return verb.run(session).await,
            Subscription::Create(create) => create.read()?,
        };
        let (created, whole) = session.perform(&create).await?;
        session.out.object(&whole, FIRST, &["name"])?;
        if let Some(note) = keep_key(&created) {
            session.out.note(&note);
        }
        Ok(())
    }
}

/// A key that is shown is gone with the screen.
fn keep_key(changed: &SubscriptionChanged) -> Option<String> {
    let key = changed.signing_key.as_ref();
    key.map(|_| "Keep the signing key: it is not shown again.".to_owned())
}
