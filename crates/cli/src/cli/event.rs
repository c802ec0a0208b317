//! `tenure event`: what happened.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::Value;
use tenure_api::events::{EventList, StreamLagShow};

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, shown};
use crate::values::Number;

/// How often a follower looks for news.
const POLL: Duration = Duration::from_millis(500);

const LIST: &[Column] = &[
    Column("CURSOR", "cursor"),
    Column("AT", "at"),
    Column("EVENT", "kind"),
    Column("ACTOR", "actor"),
    Column("ABOUT", "about"),
    Column("DATA", "data"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Event {
    /// List the newest events, in the order in which they can be consumed: oldest first
    #[command(visible_alias = "ls")]
    List(List),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only what came after this cursor, from there on
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Begin with the oldest event instead
    #[arg(long, conflicts_with = "after")]
    oldest: bool,
    /// Only events of this kind, such as job.succeeded
    #[arg(long, short, value_name = "KIND")]
    kind: Option<String>,
    /// Only events about this subject: a key, a login, a dead letter, or what operators did to a job (its whole story is
    /// `tenure job timeline`)
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// How many at most, or at a time when following
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "100",
        allow_negative_numbers = true
    )]
    limit: Number,
    /// Stay, and print what happens
    #[arg(long, short)]
    follow: bool,
}

impl Event {
    pub(super) async fn run(self, session: Session) -> Outcome {
        let Event::List(list) = self;
        list.run(session).await
    }
}

impl List {
    async fn run(self, mut session: Session) -> Outcome {
        let limit = self.limit.read("limit")?;
        let newest = self.after.is_none() && !self.oldest;
        let mut list = EventList {
            after: self.after,
            kind: self.kind,
            subject: self.subject,
            newest: newest.then_some(true),
            cursor: None,
            limit,
        };
        loop {
            let (_, mut page) = session.perform(&list).await?;
            let rows = match page["items"].take() {
                Value::Array(rows) => rows,
                _ => Vec::new(),
            };
            if !self.follow {
                let whole = usize::try_from(limit).is_ok_and(|limit| rows.len() < limit);
                let last = rows.last().map(|row| shown("cursor", &row["cursor"]));
                print(&session, rows)?;
                return match last {
                    Some(_) if !whole && newest => {
                        session
                            .out
                            .note("There may be older ones: -n shows more, --oldest begins with the first.");
                        tell_lag(&mut session).await
                    }
                    Some(cursor) if !whole => {
                        session.out.note(&format!("There may be more: --after {cursor}"));
                        Ok(())
                    }
                    _ => tell_lag(&mut session).await,
                };
            }
            follow(&session, &rows)?;
            // What comes after an empty page comes after nothing: none of it may be passed over.
            list.newest = None;
            match rows.last().and_then(|row| row["cursor"].as_str()) {
                Some(cursor) => list.after = Some(cursor.to_owned()),
                None => tokio::time::sleep(POLL).await,
            }
        }
    }
}

fn print(session: &Session, mut rows: Vec<Value>) -> Outcome {
    if session.out.format == Format::People {
        for row in &mut rows {
            row["about"] = Value::from(about(row));
        }
    }
    session
        .out
        .list(LIST, &rows, &["cursor", "kind"], "Nothing has happened.")
}

/// Events that an open transaction keeps back are not lost, only late.
async fn tell_lag(session: &mut Session) -> Outcome {
    if session.out.format != Format::People {
        return Ok(());
    }
    let (lag, _) = session.perform(&StreamLagShow {}).await?;
    if let (waiting @ 1.., Some(pid)) = (lag.waiting_events, lag.pid) {
        let note =
            format!("{waiting} more wait for an open transaction (server process {pid}); `tenure doctor` tells more.");
        session.out.note(&note);
    }
    Ok(())
}

/// One line per event: a table cannot be drawn before its last row is known.
fn follow(session: &Session, rows: &[Value]) -> Outcome {
    match session.out.format {
        Format::People => rows.iter().try_for_each(|row| {
            let part = |field: &str| shown(field, &row[field]);
            session.out.text(&format!(
                "{}  {}  {}  {}",
                part("at"),
                part("kind"),
                part("actor"),
                about(row)
            ))
        }),
        _ => session.out.list(LIST, rows, &["cursor", "kind"], ""),
    }
}

/// The subject, or the job, or how many jobs.
fn about(row: &Value) -> String {
    match (&row["subject"], row["job_ids"].as_array().map(Vec::as_slice)) {
        (Value::String(subject), _) => shown("subject", &Value::from(subject.as_str())),
        (_, Some([job])) => shown("job_id", job),
        (_, Some(jobs)) => format!("{} jobs of kind {}", jobs.len(), shown("job_kind", &row["job_kind"])),
        _ => String::new(),
    }
}
