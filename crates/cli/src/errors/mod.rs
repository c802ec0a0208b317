//! How a command ends badly: three lines for people, one JSON document for programs, and an exit code for scripts.

mod usage;

use std::io::{self, ErrorKind, Write};

use tenure_core::hints::{self, Surface};
use tenure_core::{Code, Refusal, codes};

pub(crate) use usage::refusal_of;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Understood, and not carried out.
    Refused(Box<Refusal>),
    /// The answer could not be written.
    Output(io::Error),
    /// The command has told everything itself; only the exit code is left.
    Told(u8),
}

/// What a command comes back with.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A refusal that this program makes itself.
pub(crate) fn refuse(code: &Code, what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Failure {
    Failure::from(Refusal::new(code, what, why, next))
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(Box::new(refusal))
    }
}

impl From<tenure_cluster::PrivateError> for Failure {
    fn from(error: tenure_cluster::PrivateError) -> Failure {
        Failure::from(Refusal::from(error))
    }
}

impl From<tenure::Error> for Failure {
    fn from(error: tenure::Error) -> Failure {
        Failure::from(Refusal::from(error))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// Tells the user, and answers the exit code. With `--json` a refusal is the answer, so it goes where answers go:
/// to standard output, in the form that the `try_` functions of SQL give it.
pub(crate) fn tell(failure: &Failure, json: bool) -> u8 {
    match failure {
        Failure::Told(code) => *code,
        // Whoever reads has seen enough, as in `tenure job list | head -1`.
        Failure::Output(error) if error.kind() == ErrorKind::BrokenPipe => codes::EXIT_OK,
        Failure::Output(error) => {
            // Standard output is what failed, so JSON has nowhere to go.
            let refusal = Refusal::new(
                codes::DATABASE_ERROR,
                "The answer could not be written.",
                error.to_string(),
                "What was asked may have been done: look before you ask again.",
            );
            let _ = writeln!(io::stderr(), "{refusal}");
            codes::EXIT_UNEXPECTED
        }
        Failure::Refused(refusal) => {
            let refusal = &at_the_prompt(refusal);
            // Nobody is left to tell when this fails.
            let _ = if json {
                let line = serde_json::to_string(refusal).unwrap_or_else(|_| refusal.to_string());
                writeln!(io::stdout(), "{line}")
            } else {
                writeln!(io::stderr(), "{}", for_people(refusal))
            };
            refusal.exit_code()
        }
    }
}

/// The refusal with its next step as a command.
fn at_the_prompt(refusal: &Refusal) -> Refusal {
    Refusal {
        next: hints::on(Surface::Command, &refusal.next),
        ..refusal.clone()
    }
}

/// What, why and next, each beginning a line of its own; longer texts, such as the end of a server's log, are indented.
fn for_people(refusal: &Refusal) -> String {
    let indented = |text: &str| text.trim_end().replace('\n', "\n        ");
    let refusal = Refusal {
        code: refusal.code.clone(),
        what: indented(&refusal.what),
        why: indented(&refusal.why),
        next: indented(&refusal.next),
    };
    crate::output::printable(&refusal.to_string())
}
