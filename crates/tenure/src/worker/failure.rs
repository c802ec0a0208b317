//! What a handler says when its work is not done.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

/// Why a run did not succeed, and what should become of the job.
///
/// Any error turns into one by `?`: a failure that may work another time, its class the error's type.
///
/// ```
/// use tenure::worker::Failure;
///
/// fn parse(text: &str) -> Result<u32, Failure> {
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("x").unwrap_err().class_name(), Some("ParseIntError"));
/// ```
///
/// So does what carries any error, such as `anyhow::Error` or a boxed one, with the whole chain in its message:
///
/// ```
/// use anyhow::Context as _;
/// use tenure::worker::{Context, Done, Failure};
///
/// fn read(path: &str) -> anyhow::Result<String> {
///     std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
/// }
///
/// async fn import(path: String, _context: Context) -> Result<Done, Failure> {
///     let text = read(&path)?;
///     Ok(Done::with(text.len())?)
/// }
/// let failure = Failure::from(read("/no/such/file").unwrap_err());
/// assert!(failure.message().starts_with("cannot read /no/such/file: "));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub(super) verdict: Verdict,
    pub(super) message: String,
    pub(super) code: Option<Cow<'static, str>>,
    pub(super) class: Option<Cow<'static, str>>,
}

/// What should become of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Another attempt, after the backoff of its kind or after this time.
    Retry(Option<Duration>),
    /// No other attempt would help.
    Permanent,
    /// Later; it costs no attempt.
    Snooze(Duration),
    /// The handler stopped because it was asked to.
    Cancelled,
}

impl Failure {
    fn new(verdict: Verdict, message: String) -> Failure {
        Failure {
            verdict,
            message,
            code: None,
            class: None,
        }
    }

    /// It may work another time: after the backoff, while attempts are left.
    pub fn retry(message: impl ToString) -> Failure {
        Failure::new(Verdict::Retry(None), message.to_string())
    }

    /// It may work another time, but not sooner than this. Whole seconds, rounded up.
    pub fn retry_in(delay: Duration, message: impl ToString) -> Failure {
        Failure::new(Verdict::Retry(Some(delay)), message.to_string())
    }

    /// It will never work: to the dead letters, whatever attempts are left.
    pub fn permanent(message: impl ToString) -> Failure {
        Failure::new(Verdict::Permanent, message.to_string())
    }

    /// Nothing is wrong, it is only too early: again after this time, at no cost of an attempt.
    pub fn snooze(delay: Duration) -> Failure {
        Failure::new(Verdict::Snooze(delay), String::new())
    }

    /// The handler stopped because its [`Context`](super::Context) was cancelled: acknowledges a cancel request, and
    /// gives the job back when the worker shuts down.
    pub fn cancelled() -> Failure {
        Failure::new(Verdict::Cancelled, String::new())
    }

    /// With a code, for people and filters.
    pub fn code(mut self, code: impl Into<Cow<'static, str>>) -> Failure {
        self.code = Some(code.into());
        self
    }

    /// With a class, for people and filters.
    pub fn class(mut self, class: impl Into<Cow<'static, str>>) -> Failure {
        self.class = Some(class.into());
        self
    }

    /// The text, not yet masked.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The code, if it has one.
    pub fn code_name(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The class, if it has one.
    pub fn class_name(&self) -> Option<&str> {
        self.class.as_deref()
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Failure {
        let error: Box<dyn Error + Send + Sync> = error.into();
        let failure = Failure::retry(crate::error::reasons(error.as_ref()));
        match class_of(std::any::type_name::<E>()) {
            Some(class) => failure.class(class),
            None => failure,
        }
    }
}

/// The short name of a type, unless it says nothing about the error: a text, or a box around any error.
fn class_of(path: &'static str) -> Option<String> {
    let says_nothing = path == "&str"
        || ["alloc::string::String", "alloc::borrow::Cow<", "alloc::boxed::Box<dyn "]
            .iter()
            .any(|text| path.starts_with(text));
    (!says_nothing).then(|| short_name(path))
}

/// The last part of a type's path, with the one before it when the last says nothing: `io::Error`.
fn short_name(path: &'static str) -> String {
    let plain = path.split('<').next().unwrap_or(path);
    let mut parts = plain.rsplit("::").filter(|part| *part != "error");
    let last = parts.next().unwrap_or(plain);
    match parts.next() {
        Some(before) if last == "Error" => format!("{before}::{last}"),
        _ => last.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_of_an_error_is_its_short_type_name() {
        assert_eq!(short_name("core::num::error::ParseIntError"), "ParseIntError");
        assert_eq!(short_name("std::io::error::Error"), "io::Error");
        assert_eq!(short_name("serde_json::error::Error"), "serde_json::Error");
        assert_eq!(short_name("app::Wrapped<std::io::error::Error>"), "Wrapped");
    }

    #[test]
    fn a_text_and_a_box_around_any_error_have_no_class() {
        let boxed: Box<dyn Error + Send + Sync> = "no paper".into();
        for failure in [Failure::from("no paper"), "no paper".to_owned().into(), boxed.into()] {
            assert_eq!((failure.message(), failure.class_name()), ("no paper", None));
        }
    }

    #[test]
    fn an_error_of_anyhow_keeps_its_chain_and_names_its_class() {
        let error = anyhow::Error::from(std::io::Error::other("no paper")).context("the printer stopped");
        let failure = Failure::from(error);
        assert_eq!(failure.message(), "the printer stopped: no paper");
        assert_eq!(failure.class_name(), Some("anyhow::Error"));
    }
}
