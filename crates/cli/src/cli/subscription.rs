//! `tenure subscription`: who is told of events, and how far each has come.

use clap::{Args, Subcommand};
use serde_json::Value;
use tenure::store::subscriptions::{self, NewSubscription};
use uuid::Uuid;

use super::Behalf;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, json_of, shown};
use crate::remote;
use crate::values::{Number, json_object};

const LIST: &[Column] = &[
    Column("NAME", "name"),
    Column("STATE", "state"),
    Column("EVENTS", "event_kinds"),
    Column("BECOME", "becomes"),
    Column("MATCHED", "matched"),
    Column("BEHIND SINCE", "behind_since"),
    Column("WAITING", "waiting"),
    Column("DEAD", "dead"),
    Column("TROUBLE", "error_code"),
];

const EVENTS: &[Column] = &[
    Column("CURSOR", "cursor"),
    Column("AT", "at"),
    Column("EVENT", "kind"),
    Column("ACTOR", "actor"),
    Column("SUBJECT", "subject"),
    Column("JOBS", "job_ids"),
];

const DELIVERIES: &[Column] = &[
    Column("DELIVERY", "delivery_id"),
    Column("STATE", "state"),
    Column("EVENT", "event_kind"),
    Column("ABOUT", "subject"),
    Column("ATTEMPTS", "attempts"),
    Column("DUE", "due"),
    Column("STATUS", "status"),
    Column("ERROR", "error"),
];

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
    /// List subscriptions, and how far each has come
    #[command(visible_alias = "ls")]
    List,
    /// Subscribe to events: a match becomes a job, goes to a webhook, or waits to be read
    Create(Box<Create>),
    /// Let one stand where it is
    Pause {
        /// Its name
        name: String,
        /// Why, for whoever wonders
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        #[command(flatten)]
        behalf: Behalf,
    },
    /// Let one go on; one that fails is tried at once
    Resume {
        /// Its name
        name: String,
        /// From elsewhere than where it stood: now, start, or a cursor
        #[arg(long, value_name = "WHERE")]
        from: Option<String>,
        #[command(flatten)]
        behalf: Behalf,
    },
    /// Give a webhook a new signing key; the old one signs too for a day
    Rotate {
        /// Its name
        name: String,
    },
    /// End one, with what it has still to send
    Delete {
        /// Its name
        name: String,
    },
    /// Read what a reader has not acknowledged yet
    Read {
        /// Its name
        name: String,
        /// How many at most
        #[arg(
            long,
            short = 'n',
            value_name = "N",
            default_value = "100",
            allow_negative_numbers = true
        )]
        limit: Number,
    },
    /// Acknowledge: all events up to this cursor were dealt with
    Ack {
        /// Its name
        name: String,
        /// The cursor of the last one
        cursor: String,
    },
    /// List what was sent to a webhook, newest first
    Deliveries {
        /// Its name
        name: String,
        /// Only those waiting, delivered or dead
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// How many at most
        #[arg(
            long,
            short = 'n',
            value_name = "N",
            default_value = "100",
            allow_negative_numbers = true
        )]
        limit: Number,
        /// Only those before this place
        #[arg(long, value_name = "PLACE")]
        before: Option<i64>,
    },
    /// Send a dead delivery once more
    Retry {
        /// The delivery
        delivery_id: Uuid,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Its name
    name: String,
    /// The kinds of events, such as job.dead_lettered, job.* or *
    #[arg(required = true, value_name = "EVENT")]
    event_kinds: Vec<String>,
    /// Make a job of this kind of every match
    #[arg(long, value_name = "KIND", conflicts_with = "webhook")]
    job: Option<String>,
    /// Send every match to this URL, signed as Standard Webhooks says
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// What else an event must say: an object with job_kind, executor, actor, subject, or data that it contains
    #[arg(long, value_name = "JSON")]
    filter: Option<String>,
    /// Where to begin: now, start, or a cursor
    #[arg(long, value_name = "WHERE")]
    from: Option<String>,
    /// Who runs the jobs
    #[arg(long, value_name = "NAME", requires = "job")]
    executor: Option<String>,
    /// The priority of the jobs
    #[arg(long, value_name = "N", requires = "job", allow_negative_numbers = true)]
    priority: Option<Number>,
    /// How many subscriptions may follow upon one another
    #[arg(long, value_name = "N", requires = "job", allow_negative_numbers = true)]
    depth_max: Option<Number>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Create {
    fn read(self) -> Outcome<NewSubscription> {
        let target = match (&self.job, &self.webhook) {
            (Some(_), _) => "job",
            (None, Some(_)) => "webhook",
            (None, None) => "reader",
        };
        let filter = self.filter.as_deref().map(|given| json_object("filter", given));
        Ok(NewSubscription {
            name: self.name,
            event_kinds: self.event_kinds,
            target: target.to_owned(),
            filter: filter.transpose()?,
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
        match self {
            Subscription::List => list(session).await,
            Subscription::Create(create) => {
                let new = create.read()?;
                let made = session
                    .ask(remote::subscription_create(&new), async |tx| {
                        subscriptions::subscription_create(tx, &new).await
                    })
                    .await?;
                session.out.object(&made, FIRST, &["name"])?;
                tell_key(&session, &made);
                Ok(())
            }
            Subscription::Pause { name, note, behalf } => {
                let (note, behalf) = (note.as_deref(), behalf.on_behalf_of.as_deref());
                let paused = session
                    .ask(remote::subscription_pause(&name, note, behalf), async |tx| {
                        subscriptions::subscription_pause(tx, &name, note, behalf).await
                    })
                    .await?;
                let sentence = format!(
                    "{name} stands at {} until `tenure subscription resume {name}`.",
                    cursor(&paused)
                );
                session.out.done(&sentence, &paused, &["name"])
            }
            Subscription::Resume { name, from, behalf } => {
                let (from, behalf) = (from.as_deref(), behalf.on_behalf_of.as_deref());
                let resumed = session
                    .ask(remote::subscription_resume(&name, from, behalf), async |tx| {
                        subscriptions::subscription_resume(tx, &name, from, behalf).await
                    })
                    .await?;
                let sentence = format!("{name} goes on from {}.", cursor(&resumed));
                session.out.done(&sentence, &resumed, &["name"])
            }
            Subscription::Rotate { name } => {
                let rotated = session
                    .ask(remote::subscription_rotate(&name), async |tx| {
                        subscriptions::subscription_rotate(tx, &name, None).await
                    })
                    .await?;
                session.out.object(&rotated, FIRST, &["signing_key"])?;
                tell_key(&session, &rotated);
                Ok(())
            }
            Subscription::Delete { name } => {
                let ended = session
                    .ask(remote::subscription_delete(&name), async |tx| {
                        subscriptions::subscription_delete(tx, &name, None).await
                    })
                    .await?;
                let sentence = format!("{name} is no more; it had come to {}.", cursor(&ended));
                session.out.done(&sentence, &ended, &["name"])
            }
            Subscription::Read { name, limit } => {
                let limit = limit.read("limit")?;
                let events = session
                    .call(remote::subscription_read(&name, limit), async |tx| {
                        subscriptions::subscription_read(tx, &name, Some(limit)).await
                    })
                    .await?;
                session.out.list(EVENTS, &events, &["cursor"], "Nothing is unread.")
            }
            Subscription::Ack { name, cursor: upto } => {
                let moved = session
                    .ask(remote::subscription_ack(&name, &upto), async |tx| {
                        subscriptions::subscription_ack(tx, &name, &upto).await
                    })
                    .await?;
                let sentence = format!("{name} has come to {}.", cursor(&moved));
                session.out.done(&sentence, &moved, &["cursor"])
            }
            Subscription::Deliveries {
                name,
                state,
                limit,
                before,
            } => {
                let (limit, state) = (limit.read("limit")?, state.as_deref());
                let found = session
                    .call(remote::delivery_list(&name, state, limit, before), async |tx| {
                        subscriptions::delivery_list(tx, &name, state, Some(limit), before).await
                    })
                    .await?;
                let full = usize::try_from(limit).is_ok_and(|limit| found.len() >= limit);
                session
                    .out
                    .list(DELIVERIES, &found, &["delivery_id"], "Nothing was sent.")?;
                if let Some(last) = found.last().filter(|_| full) {
                    session.out.note(&format!("There may be more: --before {}", last.place));
                }
                Ok(())
            }
            Subscription::Retry { delivery_id: id } => {
                let retried = session
                    .ask(remote::delivery_retry(id), async |tx| {
                        subscriptions::delivery_retry(tx, id, None).await
                    })
                    .await?;
                session
                    .out
                    .done(&format!("{id} is sent once more."), &retried, &["delivery_id"])
            }
        }
    }
}

async fn list(mut session: Session) -> Outcome {
    let found = session
        .call(remote::subscription_list(), async |tx| {
            subscriptions::subscription_list(tx).await
        })
        .await?;
    let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
    if session.out.format == Format::People {
        for row in &mut rows {
            let becomes = match row["target"].as_str() {
                Some("job") => format!("a job of kind {}", shown("", &row["job_kind"])),
                Some("webhook") => shown("", &row["url"]),
                _ => "what is read".to_owned(),
            };
            row["becomes"] = Value::from(becomes);
        }
    }
    session
        .out
        .list(LIST, &rows, &["name"], "Nobody has subscribed to anything.")
}

/// A key that is shown is gone with the screen.
fn tell_key(session: &Session, made: &Value) {
    if made.get("signing_key").is_some() {
        session.out.note("Keep the signing key: it is not shown again.");
    }
}

fn cursor(subscription: &Value) -> String {
    shown("cursor", &subscription["cursor"])
}
