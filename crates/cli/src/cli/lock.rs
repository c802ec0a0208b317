//! `tenure lock`: who has what for themselves, and who waits for it.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure::store::locks::{self, HeldLock};
use tenure_core::codes;

use crate::connect::Session;
use crate::dev::quoted;
use crate::errors::{Outcome, refuse};
use crate::output::{Column, Format, json_of, shown};
use crate::remote;
use crate::values::{Number, Seconds};

const LIST: &[Column] = &[
    Column("LOCK", "part"),
    Column("FENCE", "fence"),
    Column("HELD BY", "owner"),
    Column("EXECUTION", "execution_id"),
    Column("STEP", "step_id"),
    Column("SECTION", "section"),
    Column("SINCE", "acquired_at"),
    Column("EXPIRES", "expires_at"),
    Column("WAITERS", "waiters"),
    Column("REASON", "reason"),
];

const WAITERS: &[Column] = &[
    Column("PLACE", "place"),
    Column("EXECUTION", "execution_id"),
    Column("STEP", "step_id"),
    Column("PURPOSE", "purpose_note"),
    Column("ACTION", "action"),
    Column("PRIORITY", "priority"),
    Column("SINCE", "waiting_since"),
];

const HELD: &[Column] = &[
    Column("LOCK", "part"),
    Column("FENCE", "fence"),
    Column("EXPIRES", "expires_at"),
];

const EXAMPLE: &str = "\
Example:
  tenure lock acquire host:web-1 database:shop --for 10m --reason 'replacing a disk'
  tenure lock release host:web-1=17 database:shop=18

A lock is type:ref, or type:ref:action for one action only; within a reference % is written %25 and : is written %3A.";

#[derive(Debug, Subcommand)]
pub(crate) enum Lock {
    /// List those that are held
    #[command(visible_alias = "ls")]
    List(List),
    /// List who waits for one, in order
    Waiters(Waiters),
    /// Take locks by hand, all of them or none
    #[command(after_help = EXAMPLE)]
    Acquire(Acquire),
    /// Hold locks longer
    Renew(Renew),
    /// Let locks go
    Release {
        /// Each lock with the fence that acquiring it gave: type:ref=FENCE
        #[arg(required = true, value_name = "LOCK=FENCE")]
        locks: Vec<String>,
    },
    /// Take a lock from whoever holds it
    Break {
        /// The lock
        lock: String,
        /// Why; kept with it
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those of this target: type:ref
    target: Option<String>,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "100",
        allow_negative_numbers = true
    )]
    limit: Number,
}

#[derive(Debug, Args)]
pub(crate) struct Waiters {
    /// The lock
    lock: String,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "100",
        allow_negative_numbers = true
    )]
    limit: Number,
}

#[derive(Debug, Args)]
pub(crate) struct Acquire {
    /// The locks: type:ref, or type:ref:action
    #[arg(required = true, value_name = "LOCK")]
    locks: Vec<String>,
    /// How long, unless they are renewed or released
    #[arg(
        long = "for",
        value_name = "DURATION",
        default_value = "60s",
        allow_hyphen_values = true
    )]
    seconds: Seconds,
    /// Why; whoever finds them held is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// Each lock with the fence that acquiring it gave: type:ref=FENCE
    #[arg(required = true, value_name = "LOCK=FENCE")]
    locks: Vec<String>,
    /// How long from now on
    #[arg(
        long = "for",
        value_name = "DURATION",
        default_value = "60s",
        allow_hyphen_values = true
    )]
    seconds: Seconds,
}

impl Lock {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Lock::List(list) => list.run(session).await,
            Lock::Waiters(waiters) => waiters.run(session).await,
            Lock::Acquire(acquire) => acquire.run(session).await,
            Lock::Renew(renew) => {
                let (held, seconds) = (held(&renew.locks)?, seconds(&renew.seconds)?);
                let done = session
                    .ask(remote::lock_renew(&held, seconds), async |tx| {
                        locks::lock_renew(tx, &held, seconds).await
                    })
                    .await?;
                let until = shown("expires_at", &done["expires_at"]);
                session
                    .out
                    .done(&format!("Held until {until}."), &done, &["expires_at"])
            }
            Lock::Release { locks } => {
                let held = held(&locks)?;
                let done = session
                    .ask(remote::lock_release(&held), async |tx| {
                        locks::lock_release(tx, &held).await
                    })
                    .await?;
                let parts: Vec<&str> = held.iter().map(|lock| lock.part.as_str()).collect();
                session.out.done(&format!("Free: {}.", parts.join(", ")), &done, &[])
            }
            Lock::Break { lock, reason } => {
                let done = session
                    .ask(remote::lock_break(&lock, &reason), async |tx| {
                        locks::lock_break(tx, &lock, &reason).await
                    })
                    .await?;
                let sentence = format!(
                    "{lock} is free. Whoever held it may still be at work; its fence is lower than that of the next."
                );
                session.out.done(&sentence, &done, &["lock_key"])
            }
        }
    }
}

impl List {
    async fn run(self, mut session: Session) -> Outcome {
        let (target, limit) = (self.target.as_deref(), self.limit.read("limit")?);
        let found = session
            .call(remote::lock_list(target, limit), async |tx| {
                locks::lock_list(tx, target, Some(limit)).await
            })
            .await?;
        session.out.list(LIST, &found, &["part", "fence"], "No lock is held.")?;
        if let Some(lock) = found.iter().find(|lock| lock.waiters > 0) {
            session
                .out
                .note(&format!("Who waits: tenure lock waiters {}", quoted(&lock.part)));
        }
        Ok(())
    }
}

impl Waiters {
    async fn run(self, mut session: Session) -> Outcome {
        let (lock, limit) = (self.lock.as_str(), self.limit.read("limit")?);
        let found = session
            .call(remote::lock_waiters(lock, limit), async |tx| {
                locks::lock_waiters(tx, lock, Some(limit)).await
            })
            .await?;
        let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
        if session.out.format == Format::People {
            for row in &mut rows {
                row["purpose_note"] = row["purpose"].clone();
            }
        }
        session
            .out
            .list(WAITERS, &rows, &["execution_id", "step_id"], "Nobody waits for it.")
    }
}

impl Acquire {
    async fn run(self, mut session: Session) -> Outcome {
        let (parts, seconds, reason) = (&self.locks, seconds(&self.seconds)?, self.reason.as_deref());
        let done = session
            .ask(remote::lock_acquire(parts, seconds, reason), async |tx| {
                locks::lock_acquire(tx, parts, seconds, reason).await
            })
            .await?;
        tell(&session, &done)?;
        if session.out.format == Format::People {
            let given = done["locks"].as_array().into_iter().flatten();
            let given: Vec<String> = given
                .map(|lock| quoted(&format!("{}={}", shown("", &lock["part"]), lock["fence"])))
                .collect();
            session
                .out
                .note(&format!("To let them go: tenure lock release {}", given.join(" ")));
        }
        Ok(())
    }
}

/// The locks that are held, with their fences.
fn tell(session: &Session, done: &Value) -> Outcome {
    match session.out.format {
        Format::Json => session.out.json(done),
        _ => {
            let rows = done["locks"].as_array().cloned().unwrap_or_default();
            let held = |row: Value| {
                let mut row = row;
                row["lock"] = json!(format!("{}={}", shown("", &row["part"]), row["fence"]));
                row
            };
            let rows: Vec<Value> = rows.into_iter().map(held).collect();
            session.out.list(HELD, &rows, &["lock"], "")
        }
    }
}

fn seconds(given: &Seconds) -> Outcome<i32> {
    Ok(Number::from(given.read("for")?).read("for")?)
}

/// `type:ref=17`: what is held, and what proves it.
fn held(given: &[String]) -> Outcome<Vec<HeldLock>> {
    given
        .iter()
        .map(|text| {
            let parts = text.rsplit_once('=').and_then(|(part, fence)| {
                let fence = fence.parse().ok()?;
                Some((part.to_owned(), fence))
            });
            match parts {
                Some((part, fence)) => Ok(HeldLock { part, fence }),
                None => Err(refuse(
                    codes::USAGE,
                    format!("{text:?} names no lock that is held."),
                    "A lock that is held goes with its fence: type:ref=FENCE.",
                    "Copy it from what `tenure lock acquire` said; `tenure lock list` shows fences.",
                )),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_goes_with_its_fence() {
        let read = |text: &str| held(&[text.to_owned()]).ok().map(|mut locks| locks.remove(0));
        let lock = read("host:a=b=17").expect("a lock");
        assert_eq!((lock.part.as_str(), lock.fence), ("host:a=b", 17));
        assert!(read("host:a").is_none() && read("host:a=x").is_none());
    }
}
