//! What can go wrong, told the same way on every surface: code, what, why, next.

use std::error::Error as _;

use serde_json::Value;
use tenure_core::{Refusal, codes};
use tokio_postgres::error::{DbError, SqlState};

/// A call that was not carried out. Match on [`Error::code`], never on the texts.
///
/// ```
/// use tenure::Error;
/// use tenure_core::{Refusal, codes};
///
/// let error = Error::from(Refusal::new(codes::GATE_CLOSED, "The gate is closed.", "Nobody opened it.", "Open it."));
/// assert_eq!(error.code(), "gate_closed");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Understood and refused, by the database or by us.
    #[error("{0}")]
    Refused(Refusal),
    /// The database could not do it: not reachable, not migrated, out of room, or something unexpected.
    #[error("{refusal}")]
    Database {
        /// The failure in the words every surface shows.
        refusal: Refusal,
        /// What the driver said.
        #[source]
        source: tokio_postgres::Error,
    },
}

/// The result of everything that talks to the database.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The stable name of what went wrong, such as `stale_lease`.
    pub fn code(&self) -> &str {
        &self.refusal().code
    }

    /// The failure as code, what, why and next.
    pub fn refusal(&self) -> &Refusal {
        match self {
            Error::Refused(refusal) | Error::Database { refusal, .. } => refusal,
        }
    }

    /// Whether it carries exactly this code.
    pub fn is(&self, code: &tenure_core::Code) -> bool {
        self.refusal().is(code)
    }

    /// The same failure, told of a larger undertaking: `doing` is put before what happened.
    pub(crate) fn while_doing(mut self, doing: &str) -> Error {
        let (Error::Refused(refusal) | Error::Database { refusal, .. }) = &mut self;
        refusal.what = format!("{doing}: {}", refusal.what);
        self
    }

    /// The failure to open a connection: whatever is not an answer of the server is about reaching it.
    pub(crate) fn connecting(source: tokio_postgres::Error) -> Error {
        let refusal = match source.as_db_error() {
            Some(answer) => of_answer(&answer.into()),
            None if source.to_string().contains("TLS") => tls(&source),
            None => unreachable(&source),
        };
        Error::Database { refusal, source }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::Refused(refusal) | Error::Database { refusal, .. } => refusal,
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(source: tokio_postgres::Error) -> Error {
        let refusal = match source.as_db_error() {
            Some(answer) if answer.code().code().starts_with("TN") => {
                return Error::Refused(of_answer(&answer.into()));
            }
            Some(answer) => of_answer(&answer.into()),
            None if source.to_string().contains("TLS") => tls(&source),
            None if source.is_closed() || by_io(&source) => unreachable(&source),
            None => Refusal::new(
                codes::DATABASE_ERROR,
                "The database's answer could not be read, or our question could not be put.",
                reasons(&source),
                "Check that program and schema belong together: tenure doctor. If they do, this is a bug; report it.",
            ),
        };
        match refusal.known() {
            // Input the database cannot store, an id that is taken, a right that is missing: refusals like any other.
            Some(code) if code.sqlstate.is_some() => Error::Refused(refusal),
            _ => Error::Database { refusal, source },
        }
    }
}

/// The value of a `try_` function, or the refusal it carries. The functions without `try_` raise what they refuse, but for a
/// deadline that has passed: the move of the job to the dead letters has to stand.
///
/// ```
/// let refused = serde_json::json!({"refused": true, "code": "job_not_found", "what": "There is no such job."});
/// assert_eq!(tenure::error::accept(refused).unwrap_err().code(), "job_not_found");
/// assert!(tenure::error::accept(serde_json::json!({"job_id": 7})).is_ok());
/// ```
#[doc(hidden)]
pub fn accept(value: Value) -> Result<Value> {
    if value.get("refused") != Some(&Value::Bool(true)) {
        return Ok(value);
    }
    let refusal = serde_json::from_value(value).unwrap_or_else(|error| {
        Refusal::new(
            codes::DATABASE_ERROR,
            "The database refused in words we cannot read.",
            error.to_string(),
            "Check that program and schema belong together: tenure doctor.",
        )
    });
    Err(Error::Refused(refusal))
}

/// What the server says about an error, by whatever driver it came.
pub(crate) struct Answer<'a> {
    pub(crate) state: SqlState,
    pub(crate) message: &'a str,
    pub(crate) detail: Option<&'a str>,
    pub(crate) hint: Option<&'a str>,
    pub(crate) schema: Option<&'a str>,
    pub(crate) table: Option<&'a str>,
    pub(crate) constraint: Option<&'a str>,
}

impl<'a> From<&'a DbError> for Answer<'a> {
    fn from(answer: &'a DbError) -> Answer<'a> {
        Answer {
            state: answer.code().clone(),
            message: answer.message(),
            detail: answer.detail(),
            hint: answer.hint(),
            schema: answer.schema(),
            table: answer.table(),
            constraint: answer.constraint(),
        }
    }
}

fn of_refusal(answer: &Answer<'_>) -> Refusal {
    let sqlstate = answer.state.code();
    Refusal {
        // A code only a newer schema knows keeps its SQLSTATE.
        code: codes::by_sqlstate(sqlstate).map_or_else(|| sqlstate.to_owned().into(), |code| code.name.into()),
        what: answer.message.to_owned(),
        why: answer.detail.unwrap_or_default().to_owned(),
        next: answer.hint.unwrap_or_default().to_owned(),
    }
}

/// The error in the words every surface shows.
pub(crate) fn of_answer(answer: &Answer<'_>) -> Refusal {
    let state = &answer.state;
    let reason = reason_of(answer);
    let class = state.code().get(..2).unwrap_or_default();
    if class == "TN" {
        of_refusal(answer)
    } else if [
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        SqlState::UNTRANSLATABLE_CHARACTER,
    ]
    .contains(state)
    {
        Refusal::new(
            codes::TEXT_INVALID,
            "A text cannot be stored.",
            reason,
            "Remove NUL characters and send valid UTF-8.",
        )
    } else if is_ours_missing(answer) {
        Refusal::new(
            codes::SCHEMA_MISSING,
            "The database lacks something of the Tenure schema.",
            reason,
            "Run: tenure migrate",
        )
    } else if *state == SqlState::INSUFFICIENT_PRIVILEGE {
        Refusal::new(
            codes::NOT_PERMITTED,
            "The database login may not do this.",
            reason,
            "Use a login with the right role (tenure_requester, tenure_producer, tenure_worker, tenure_operator, tenure_admin), or have it granted.",
        )
    } else if *state == SqlState::UNIQUE_VIOLATION && is_job_id(answer) {
        Refusal::new(
            codes::ID_TAKEN,
            "There is already a job with this id.",
            reason,
            "Use a new id; for a safe repetition give an idempotency key.",
        )
    } else if [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
    ]
    .contains(state)
    {
        Refusal::new(
            codes::BUSY_TRY_AGAIN,
            "Somebody else was in the way; nothing was changed.",
            reason,
            "Try again.",
        )
    } else if *state == SqlState::DISK_FULL {
        Refusal::new(
            codes::DISK_FULL,
            "The database server has no room left.",
            reason,
            "Free space on its disk, then try again.",
        )
    } else if is_no_entry(state) || class == "08" || class == "28" {
        Refusal::new(
            codes::DATABASE_UNREACHABLE,
            "The database does not let us in.",
            reason,
            "Check the address, database, login and password, and that the server accepts connections.",
        )
    } else {
        Refusal::new(
            codes::DATABASE_ERROR,
            "The database answered with an unexpected error.",
            reason,
            "Read the reason; the server's log may say more.",
        )
    }
}

/// Message, detail and hint in one line, with the SQLSTATE to look up.
fn reason_of(answer: &Answer<'_>) -> String {
    let mut text = format!("{} (SQLSTATE {})", answer.message, answer.state.code());
    for part in [answer.detail, answer.hint].into_iter().flatten() {
        text.push_str("; ");
        text.push_str(part);
    }
    text
}

fn is_ours_missing(answer: &Answer<'_>) -> bool {
    let missing = [
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_OBJECT,
    ];
    let message = answer.message;
    missing.contains(&answer.state)
        && (message.contains("tenure.") || message.contains("\"tenure\"") || message.contains("tenure_"))
}

fn is_job_id(answer: &Answer<'_>) -> bool {
    answer.schema == Some("tenure")
        && answer
            .table
            .is_some_and(|table| table == "jobs" || table.starts_with("jobs_p"))
        && answer
            .constraint
            .is_some_and(|constraint| constraint.ends_with("_pkey"))
}

fn is_no_entry(state: &SqlState) -> bool {
    [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::INVALID_CATALOG_NAME,
    ]
    .contains(state)
}

fn by_io(error: &tokio_postgres::Error) -> bool {
    error.source().is_some_and(|source| source.is::<std::io::Error>())
}

fn unreachable(error: &tokio_postgres::Error) -> Refusal {
    Refusal::new(
        codes::DATABASE_UNREACHABLE,
        "The database does not answer.",
        reasons(error),
        "Check that the server runs and that --database-url or DATABASE_URL names it.",
    )
}

fn tls(error: &tokio_postgres::Error) -> Refusal {
    Refusal::new(
        codes::DATABASE_TLS,
        "The encrypted connection to the database could not be made.",
        reasons(error),
        "Check sslmode and sslrootcert in the database URL, and the server's certificate.",
    )
}

/// The whole chain: the driver's own line seldom says the reason.
pub(crate) fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let line = error.to_string();
        if !text.contains(&line) {
            text.push_str(": ");
            text.push_str(&line);
        }
        source = error.source();
    }
    text
}
