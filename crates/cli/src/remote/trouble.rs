//! What can go wrong on the way to a server, with the next step in the words of the command: its options, its verbs.

use tenure_client::{Error, Trouble};
use tenure_core::{Refusal, codes};

use crate::errors::{Failure, refuse};

/// The refusal of the client or the server. Where its next step is for programs, the command has its own.
pub(super) fn in_words_of_the_command(error: Error) -> Failure {
    let mut refusal = error.refusal;
    if let Some(next) = next_step(error.trouble, &refusal) {
        refusal.next = next.to_owned();
    }
    refusal.into()
}

fn next_step(trouble: Trouble, refusal: &Refusal) -> Option<&'static str> {
    Some(match trouble {
        Trouble::Plaintext => "Use https://, or --allow-plaintext where the way itself is safe.",
        Trouble::Authorities => {
            "Name a file of PEM certificates with --ca-file, or leave it out for those of the system."
        }
        Trouble::Untrusted => {
            "Check the name in the URL, and that it speaks TLS; --ca-file names the certificates of an authority of your own."
        }
        Trouble::Unanswered => "Ask again, or wait longer with --timeout.",
        Trouble::OutcomeUnknown => {
            "Look before you ask again. What is enqueued with --key can be repeated without harm."
        }
        Trouble::Refused if refusal.is(codes::UNAUTHENTICATED) || refusal.is(codes::KEY_INVALID) => {
            "Give a key that is valid: --key-file FILE, TENURE_KEY, or that of a context. `tenure key create` makes one."
        }
        Trouble::Refused if refusal.is(codes::PATH_UNKNOWN) || refusal.is(codes::METHOD_NOT_ALLOWED) => {
            "The server is of another version: upgrade it, or use the command on its database."
        }
        Trouble::Refused if refusal.is(codes::REQUEST_INVALID) => {
            "The server may be of another version: use a command of the same."
        }
        _ => return None,
    })
}

/// What has no way over HTTP, and works on a database.
pub(crate) fn not_over_http(what: &str, why: &str) -> Failure {
    let next = "Name the database instead, with --database-url, on a machine that reaches it.";
    without_server(what, why, next)
}

/// What has no way over HTTP.
pub(crate) fn without_server(what: &str, why: &str, next: &str) -> Failure {
    refuse(
        codes::NOT_OVER_HTTP,
        format!("{what} does not work over HTTP."),
        why,
        next,
    )
}
