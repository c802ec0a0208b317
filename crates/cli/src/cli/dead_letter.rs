//! `tenure dead-letter`: jobs that gave up.

use clap::{Args, Subcommand};
use tenure::store::Timestamp;
use tenure::store::dead_letters::{self, DeadLetterFilter};
use uuid::Uuid;

use super::Behalf;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, json_of, shown};
use crate::remote;
use crate::values::{Moment, Number};

const LIST: &[Column] = &[
    Column("DEAD LETTER", "dead_letter_id"),
    Column("KIND", "kind"),
    Column("STATUS", "triage_status"),
    Column("ATTEMPTS", "attempts"),
    Column("MOVED", "moved_at"),
    Column("FINGERPRINT", "fingerprint"),
    Column("ERROR", "final_error"),
];

const FIRST: &[&str] = &[
    "dead_letter_id",
    "job_id",
    "kind",
    "triage_status",
    "final_error",
    "error_code",
    "attempts",
    "moved_at",
    "payload",
];

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetter {
    /// List dead letters, newest first
    #[command(visible_alias = "ls")]
    List(List),
    /// Show everything about one dead letter
    Show {
        /// Its id
        dead_letter: Uuid,
    },
    /// Record what somebody decided about a dead letter
    Triage(Triage),
    /// Make a new job of a dead letter that was triaged as manual_replay
    Replay(Replay),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only with this status: pending, acknowledged, manual_replay, escalated or closed
    #[arg(long, short, value_name = "STATUS")]
    status: Option<String>,
    /// Only of this kind
    #[arg(long, short, value_name = "KIND")]
    kind: Option<String>,
    /// Only of this error
    #[arg(long, value_name = "FINGERPRINT")]
    fingerprint: Option<String>,
    /// The next page: moved before this time, RFC 3339, or a time ago such as -2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    before: Option<String>,
    /// With --before: also those of that time that come after this dead letter, the last of the previous page
    #[arg(long, value_name = "ID", requires = "before")]
    before_id: Option<Uuid>,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "50",
        allow_negative_numbers = true
    )]
    limit: Number,
}

#[derive(Debug, Args)]
pub(crate) struct Triage {
    /// Its id
    dead_letter: Uuid,
    /// acknowledged, manual_replay, escalated or closed
    status: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    behalf: Behalf,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Its id
    dead_letter: Uuid,
    /// Show what would be done, and do nothing
    #[arg(long)]
    preview: bool,
    #[command(flatten)]
    behalf: Behalf,
}

impl DeadLetter {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            DeadLetter::List(list) => list.run(session).await,
            DeadLetter::Show { dead_letter } => {
                let letter = session
                    .ask(remote::dead_letter_show(dead_letter), async |tx| {
                        dead_letters::dead_letter_show(tx, dead_letter).await
                    })
                    .await?;
                session.out.object(&letter, FIRST, &["dead_letter_id"])
            }
            DeadLetter::Triage(triage) => {
                let (note, behalf) = (triage.note.as_deref(), triage.behalf.on_behalf_of.as_deref());
                let work = async |tx: &tokio_postgres::Transaction<'_>| {
                    dead_letters::dead_letter_triage(tx, triage.dead_letter, &triage.status, note, behalf).await
                };
                let request = remote::dead_letter_triage(triage.dead_letter, &triage.status, note, behalf);
                let answer = session.ask(request, work).await?;
                let sentence = format!(
                    "Dead letter {} is {}.",
                    triage.dead_letter,
                    shown("", &answer["triage_status"])
                );
                session.out.done(&sentence, &answer, &["dead_letter_id"])
            }
            DeadLetter::Replay(replay) => replay.run(session).await,
        }
    }
}

impl List {
    async fn run(self, mut session: Session) -> Outcome {
        let limit = self.limit.read("limit")?;
        let before = match self
            .before
            .as_deref()
            .map(|given| Moment::read_past("before", given))
            .transpose()?
        {
            None => None,
            Some(moment) => Some(moment.resolve("before", session.now().await?)?),
        };
        let filter = DeadLetterFilter {
            triage_status: self.status,
            kind: self.kind,
            fingerprint: self.fingerprint,
            before: before.map(|at| Timestamp::from_micros(at.as_microsecond())),
            before_id: self.before_id,
            limit: Some(limit),
        };
        let rows = session
            .call(remote::dead_letter_list(&filter), async |tx| {
                dead_letters::dead_letter_list(tx, &filter).await
            })
            .await?;
        session.out.list(LIST, &rows, &["dead_letter_id"], "No dead letters.")?;
        if usize::try_from(limit).is_ok_and(|limit| rows.len() == limit)
            && let Some(last) = rows.last()
        {
            let moved_at = json_of(&last.moved_at)?;
            let moved_at = moved_at.as_str().unwrap_or_default();
            let id = last.dead_letter_id;
            session
                .out
                .note(&format!("There may be more: --before {moved_at} --before-id {id}"));
        }
        Ok(())
    }
}

impl Replay {
    async fn run(self, mut session: Session) -> Outcome {
        let id = self.dead_letter;
        if self.preview {
            let preview = session
                .ask(remote::dead_letter_replay_preview(id), async |tx| {
                    dead_letters::dead_letter_replay_preview(tx, id).await
                })
                .await?;
            return session.out.object(&preview, &["dead_letter_id"], &["dead_letter_id"]);
        }
        let behalf = self.behalf.on_behalf_of.as_deref();
        let answer = session
            .ask(remote::dead_letter_replay(id, behalf), async |tx| {
                dead_letters::dead_letter_replay(tx, id, behalf).await
            })
            .await?;
        let sentence = format!(
            "Job {} is {}, a replay of {}.",
            shown("", &answer["job_id"]),
            shown("", &answer["state"]),
            shown("", &answer["replay_of"])
        );
        session.out.done(&sentence, &answer, &["job_id"])
    }
}
