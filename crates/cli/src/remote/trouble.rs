//! What can go wrong on the way to a server, and what a server refuses, told as every other refusal.

use std::io;

use serde_json::Value;
use tenure_core::{Refusal, codes};
use ureq::Timeout;

use super::Request;
use crate::errors::{Failure, refuse};

/// An exchange that failed.
pub(super) struct Trouble {
    pub(super) refusal: Refusal,
    /// Whether another try is worth it and does no harm.
    pub(super) again: bool,
}

/// What went wrong between here and there.
pub(super) fn of_exchange(error: &ureq::Error, url: &str, request: &Request) -> Trouble {
    if let Some(error) = tls(error) {
        return never_again(Refusal::new(
            codes::SERVER_TLS,
            format!("The connection to {url} cannot be trusted."),
            error.to_string(),
            "Check the name in the URL, and that it speaks TLS; --ca-file names the certificates of an authority of your own.",
        ));
    }
    match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) | ureq::Error::HostNotFound => {
            never_again(unreachable(error, url))
        }
        ureq::Error::ConnectionFailed => never_again(unreachable(error, url)),
        ureq::Error::Timeout(_) => never_again(unanswered("It took too long.", url, request)),
        ureq::Error::Io(io) if never_sent(io) => Trouble {
            refusal: unreachable(error, url),
            again: true,
        },
        ureq::Error::Io(io) => Trouble {
            refusal: unanswered(&format!("The connection broke: {io}."), url, request),
            again: true,
        },
        other => never_again(not_tenure(url, &other.to_string())),
    }
}

fn never_again(refusal: Refusal) -> Trouble {
    Trouble { refusal, again: false }
}

fn tls(error: &ureq::Error) -> Option<&(dyn std::error::Error + 'static)> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Tls(_) | ureq::Error::Pem(_) => Some(error),
        ureq::Error::Io(io) => {
            let inner = io.get_ref()?;
            inner.is::<rustls::Error>().then_some(inner as _)
        }
        _ => None,
    }
}

/// No connection was made, so nothing was sent.
fn never_sent(error: &io::Error) -> bool {
    is_lookup(error)
        || matches!(
            error.kind(),
            io::ErrorKind::ConnectionRefused
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::AddrNotAvailable
        )
}

/// Whether the host name has no address. The standard library has no kind for it, only this text.
fn is_lookup(error: &io::Error) -> bool {
    error.to_string().starts_with("failed to lookup address information")
}

fn unreachable(error: &ureq::Error, url: &str) -> Refusal {
    let why = match error {
        ureq::Error::Io(io) => io.to_string(),
        other => other.to_string(),
    };
    Refusal::new(
        codes::SERVER_UNREACHABLE,
        format!("The server {url} cannot be reached."),
        why,
        "Check the address, and that `tenure serve` runs there.",
    )
}

/// Whether it was done is not known, and matters where something should change.
fn unanswered(why: &str, url: &str, request: &Request) -> Refusal {
    let (why, next) = if request.changes() {
        (
            format!("{why} It is not known whether it was done."),
            "Look before you ask again. What is enqueued with --key can be repeated without harm.",
        )
    } else {
        (why.to_owned(), "Ask again, or wait longer with --timeout.")
    };
    Refusal::new(codes::SERVER_UNREACHABLE, format!("{url} has not answered."), why, next)
}

/// Somebody is there, and speaks another language.
pub(super) fn not_tenure(url: &str, why: &str) -> Refusal {
    Refusal::new(
        codes::SERVER_NOT_TENURE,
        format!("What answers at {url} is no Tenure server."),
        why,
        "Check the URL, and what stands between: a proxy, a login page, another service on that port.",
    )
}

/// What a server refused, in words for the prompt where its own are for programs.
pub(super) fn of_problem(problem: &Value) -> Option<Refusal> {
    let mut refusal: Refusal = serde_json::from_value(problem.clone()).ok()?;
    let next = if refusal.is(codes::UNAUTHENTICATED) || refusal.is(codes::KEY_INVALID) {
        "Give a key that is valid: --key-file FILE, TENURE_KEY, or that of a context. `tenure key create` makes one."
    } else if refusal.is(codes::PATH_UNKNOWN) || refusal.is(codes::METHOD_NOT_ALLOWED) {
        "The server is of another version: upgrade it, or use the command on its database."
    } else if refusal.is(codes::REQUEST_INVALID) {
        "The server may be of another version: use a command of the same."
    } else {
        return Some(refusal);
    };
    refusal.next = next.to_owned();
    Some(refusal)
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
