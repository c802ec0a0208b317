//! What can go wrong on the way to a server. Each is a refusal, like those of the server itself.

use std::fmt::Display;
use std::path::Path;

use tenure_core::{Refusal, codes};

/// An operation that was not carried out, or whose answer did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{refusal}")]
pub struct Error {
    /// The code, what happened, why, and what to do next.
    pub refusal: Refusal,
    /// Where it went wrong.
    pub trouble: Trouble,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        error.refusal
    }
}

/// Where a call went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// The server refused: the refusal is its own.
    Refused,
    /// The URL, the API key or the name of the program cannot be used.
    Settings,
    /// The key would be sent without TLS to another machine.
    Plaintext,
    /// The certificates of the authorities cannot be read.
    Authorities,
    /// No connection was made, so nothing was sent.
    Unreachable,
    /// The certificate or the TLS of the server was not accepted.
    Untrusted,
    /// No answer to a read arrived.
    Unanswered,
    /// No answer to a change arrived: it is not known whether it was done.
    OutcomeUnknown,
    /// What answers does not speak as a Tenure server does.
    NotTenure,
}

impl Error {
    fn new(
        (trouble, code): (Trouble, &codes::Code),
        what: impl Into<String>,
        why: impl Into<String>,
        next: &str,
    ) -> Error {
        Error {
            refusal: Refusal::new(code, what, why, next),
            trouble,
        }
    }

    /// What the server refused.
    pub(crate) fn refused(refusal: Refusal) -> Error {
        Error {
            refusal,
            trouble: Trouble::Refused,
        }
    }

    pub(crate) fn url(why: &str) -> Error {
        Error::new(
            (Trouble::Settings, codes::USAGE),
            "The URL of the server cannot be used.",
            why,
            "Give one such as https://tenure.example or http://127.0.0.1:7373.",
        )
    }

    pub(crate) fn api_key() -> Error {
        Error::new(
            (Trouble::Settings, codes::UNAUTHENTICATED),
            "The API key cannot be sent.",
            "A key has the form tnr_PREFIX_SECRET.",
            "Copy the whole key; make a new one if it was lost.",
        )
    }

    pub(crate) fn user_agent(given: &str) -> Error {
        Error::new(
            (Trouble::Settings, codes::USAGE),
            format!("The user agent {given:?} cannot be sent."),
            "A header holds visible ASCII characters and spaces.",
            "Name the program and its version, such as shop/1.2.",
        )
    }

    pub(crate) fn plaintext(url: &str) -> Error {
        Error::new(
            (Trouble::Plaintext, codes::SERVER_TLS),
            format!("Refusing to send the API key to {url} without TLS."),
            "Every machine on the way could read the key and use it.",
            "Use https://, or Builder::allow_plaintext where the network itself is safe.",
        )
    }

    pub(crate) fn authorities(path: &Path, why: &dyn Display) -> Error {
        Error::new(
            (Trouble::Authorities, codes::SERVER_TLS),
            format!("The certificates in {} cannot be read.", path.display()),
            why.to_string(),
            "Name a file of PEM certificates with Builder::ca_file, or leave it out for those of the system.",
        )
    }

    pub(crate) fn tls(why: &dyn Display) -> Error {
        Error::new(
            (Trouble::Untrusted, codes::SERVER_TLS),
            "TLS cannot be set up.",
            why.to_string(),
            "This is a fault of this build of the client: report it.",
        )
    }

    pub(crate) fn unreachable(url: &str, why: &dyn Display) -> Error {
        Error::new(
            (Trouble::Unreachable, codes::SERVER_UNREACHABLE),
            format!("The server {url} cannot be reached."),
            why.to_string(),
            "Check the address, and that `tenure serve` runs there.",
        )
    }

    pub(crate) fn untrusted(url: &str, why: &dyn Display) -> Error {
        Error::new(
            (Trouble::Untrusted, codes::SERVER_TLS),
            format!("The connection to {url} cannot be trusted."),
            why.to_string(),
            "Check the name in the URL, and that it speaks TLS; Builder::ca_file names the certificates of an authority of your own.",
        )
    }

    /// Whether it was done is not known, and matters where something should change.
    pub(crate) fn unanswered(url: &str, why: &str, is_change: bool) -> Error {
        let what = format!("{url} has not answered.");
        match is_change {
            true => Error::new(
                (Trouble::OutcomeUnknown, codes::SERVER_UNREACHABLE),
                what,
                format!("{why} It is not known whether it was done."),
                "Look before you ask again. A job that is enqueued with an idempotency key can be enqueued again without harm.",
            ),
            false => Error::new(
                (Trouble::Unanswered, codes::SERVER_UNREACHABLE),
                what,
                why,
                "Ask again, or wait longer with Builder::timeout.",
            ),
        }
    }

    pub(crate) fn not_tenure(url: &str, why: &str) -> Error {
        Error::new(
            (Trouble::NotTenure, codes::SERVER_NOT_TENURE),
            format!("What answers at {url} is no Tenure server."),
            why,
            "Check the URL, and what stands between: a proxy, a login page, another service on that port.",
        )
    }
}
