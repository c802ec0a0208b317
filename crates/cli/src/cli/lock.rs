//! `tenure lock`: locks on targets, their holders and the steps that wait.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure_api::locks::{HeldLock, LockAcquire, LockBreak, LockList, LockRelease, LockRenew, LockWaiters};
use tenure_core::codes;

use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::Session;
use crate::dev::quoted;
use crate::errors::{Outcome, refuse};
use crate::output::{Column, Format, shown};
use crate::values::{Number, Seconds};

const EXAMPLE: &str = "\
Example:
  tenure lock acquire host:web-1 database:shop --for 10m --reason 'replacing a disk'
  tenure lock release host:web-1=17 database:shop=18

A lock is type:ref, or type:ref:action for one action only; within a reference % is written %25 and : is written %3A.";

#[derive(Debug, Subcommand)]
pub(crate) enum Lock {
    #[command(flatten)]
    Plain(Chosen<Plain>),
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
    /// The reason; it is shown to callers that find the locks held
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

/// The verbs that are one operation each.
pub(crate) struct Plain;

impl Noun for Plain {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &WAITERS, &BREAK];
}

const LIST: Verb<LockList> = Verb {
    places: &["target"],
    shorts: &[("limit", 'n')],
    note: Some(|_, page| {
        let lock = page.items.iter().find(|lock| lock.waiters > 0)?;
        Some(format!("Who waits: tenure lock waiters {}", quoted(&lock.part)))
    }),
    quiet: &["part", "fence"],
    ..Verb::table(
        "list",
        &[
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
        ],
        "No lock is held.",
    )
};

const WAITERS: Verb<LockWaiters> = Verb {
    places: &["part"],
    options: &[("part", "lock")],
    shorts: &[("limit", 'n')],
    quiet: &["execution_id", "step_id"],
    ..Verb::table(
        "waiters",
        &[
            Column("PLACE", "place"),
            Column("EXECUTION", "execution_id"),
            Column("STEP", "step_id"),
            Column("PURPOSE", "purpose"),
            Column("ACTION", "action"),
            Column("PRIORITY", "priority"),
            Column("SINCE", "waiting_since"),
        ],
        "No step waits for it.",
    )
};

const BREAK: Verb<LockBreak> = Verb {
    places: &["part"],
    options: &[("part", "lock")],
    quiet: &["lock_key"],
    ..Verb::<LockBreak>::sentence("break", |asked, _| {
        format!(
            "{} is free. The holder may still be at work; its fence is lower than that of the next.",
            asked.part
        )
    })
};

impl Lock {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Lock::Plain(command) => command.run(session).await,
            Lock::Acquire(acquire) => acquire.run(session).await,
            Lock::Renew(renew) => {
                let renew = LockRenew {
                    locks: held(&renew.locks)?,
                    seconds: seconds(&renew.seconds)?,
                };
                let (_, done) = session.perform(&renew).await?;
                let until = shown("expires_at", &done["expires_at"]);
                session
                    .out
                    .done(&format!("Held until {until}."), &done, &["expires_at"])
            }
            Lock::Release { locks } => {
                let release = LockRelease { locks: held(&locks)? };
                let (_, done) = session.perform(&release).await?;
                let parts: Vec<&str> = release.locks.iter().map(|lock| lock.part.as_str()).collect();
                session.out.done(&format!("Free: {}.", parts.join(", ")), &done, &[])
            }
        }
    }
}

impl Acquire {
    async fn run(self, mut session: Session) -> Outcome {
        let acquire = LockAcquire {
            seconds: seconds(&self.seconds)?,
            parts: self.locks,
            reason: self.reason,
        };
        let (taken, whole) = session.perform(&acquire).await?;
        if session.out.format == Format::Json {
            return session.out.json(&whole);
        }
        let held: Vec<String> = taken
            .locks
            .iter()
            .map(|lock| format!("{}={}", lock.part, lock.fence))
            .collect();
        let rows = whole["locks"].as_array().into_iter().flatten().zip(&held);
        let rows: Vec<Value> = rows
            .map(|(row, held)| {
                let mut row = row.clone();
                row["lock"] = json!(held);
                row
            })
            .collect();
        session.out.list(HELD, &rows, &["lock"], "")?;
        let held: Vec<String> = held.iter().map(|lock| quoted(lock)).collect();
        session
            .out
            .note(&format!("To let them go: tenure lock release {}", held.join(" ")));
        Ok(())
    }
}

const HELD: &[Column] = &[
    Column("LOCK", "part"),
    Column("FENCE", "fence"),
    Column("EXPIRES", "expires_at"),
];

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
