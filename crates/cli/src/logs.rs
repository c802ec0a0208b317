//! The log: what the program and the library have to say beside the answers, on standard error. Secrets are masked in
//! whatever is written there, should one have got so far.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

use crate::spans;

/// Masks, each with what is left of it. They stop at quotes and backslashes, so that JSON stays JSON.
static MASKS: LazyLock<[(Regex, &str); 3]> = LazyLock::new(|| {
    [
        (r"(?i)(tnr_)[a-z0-9_]+", "$1***"),
        // Passwords in addresses.
        (r#"(://[^\s/:@"'\\]*:)[^\s/"'\\]+@"#, "$1***@"),
        (r#"(?i)((?:password|passwd)=|bearer[ \t]+)[^\s"'&,;\\]+"#, "$1***"),
    ]
    .map(|(pattern, left)| (Regex::new(pattern).expect("the pattern is right"), left))
});

/// How the log reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// A document per line.
    Json,
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<LogFormat, Self::Err> {
        match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err("It is text or json"),
        }
    }
}

/// What is logged. A bare level is that of Tenure: what libraries tell at such a level is more than anybody wants to know.
#[derive(Debug)]
pub(crate) struct Filter(EnvFilter);

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Filter, String> {
        let directives = match text.parse::<LevelFilter>() {
            Ok(level) if level > LevelFilter::WARN => format!("warn,tenure={level}"),
            Ok(level) => level.to_string(),
            Err(_) => text.to_owned(),
        };
        let filter = EnvFilter::try_new(directives);
        filter.map(Filter).map_err(|error| error.to_string())
    }
}

/// Logs from now on.
pub(crate) fn start(filter: Filter, format: LogFormat) {
    let log = fmt::layer().with_writer(|| Masked(io::stderr()));
    let log = match format {
        LogFormat::Text => log.with_ansi(io::stderr().is_terminal()).with_target(false).boxed(),
        LogFormat::Json => log.json().flatten_event(true).with_span_list(false).boxed(),
    };
    registry().with(log.with_filter(filter.0)).with(spans::layer()).init();
}

/// For commands: warnings, unless `RUST_LOG` asks for more.
pub(crate) fn start_for_commands() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    start(Filter(filter), LogFormat::Text);
}

/// A line comes whole, and goes on without secrets.
struct Masked<W>(W);

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.write_all(without_secrets(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn without_secrets(text: &str) -> Cow<'_, str> {
    MASKS.iter().fold(Cow::Borrowed(text), |text, (mask, left)| {
        if mask.is_match(&text) {
            Cow::Owned(mask.replace_all(&text, *left).into_owned())
        } else {
            text
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_json_stays_json() {
        let line = r#"{"a":"postgres://me:s3cret@host/db","b":"Bearer tnr_abc_def","c":"password=\"x\" passwd=s3cret","d":"tnr_abcdefghijklm_s3cret"}"#;
        let masked = without_secrets(line);
        assert!(!masked.contains("s3cret"), "{masked}");
        assert!(
            masked.contains("postgres://me:***@host/db") && masked.contains("tnr_***"),
            "{masked}"
        );
        serde_json::from_str::<serde_json::Value>(&masked).expect("it is still JSON");
    }

    #[test]
    fn a_bare_level_is_that_of_tenure() {
        let filter = |text: &str| text.parse::<Filter>().map(|filter| filter.0.to_string());
        assert_eq!(filter("debug").as_deref(), Ok("tenure=debug,warn"));
        assert_eq!(filter("error").as_deref(), Ok("error"));
        assert_eq!(filter("hyper=debug").as_deref(), Ok("hyper=debug"));
        assert!(filter("tenure=loud").is_err());
    }
}
