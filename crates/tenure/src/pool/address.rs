//! Where the database is: a URL or a `key=value` string, as `psql` takes it.

use std::path::Path;
use std::time::Duration;

use tenure_core::{Refusal, codes};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::{Error, Result, reasons};
use crate::tls::{Roots, Verify};

const CONNECT_SECONDS: u64 = 10;
/// Where Debian's PostgreSQL has its socket; elsewhere it is the host itself.
const SOCKET_DIR: &str = "/var/run/postgresql";

/// A database to connect to.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) verify: Verify,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Address> {
        let (rest, sslmode, rootcert) = take_tls(text);
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            refuse("The database URL cannot be understood.", &reasons(&error))
        })?;
        let roots = match rootcert.as_deref() {
            None | Some("" | "system") => Roots::System,
            Some(path) => Roots::File(path.into()),
        };
        let has_file = matches!(roots, Roots::File(_));
        let (mode, verify) = match sslmode.as_deref() {
            Some("disable") => (SslMode::Disable, Verify::Nothing),
            // As libpq: the system's roots are only worth something together with the host's name.
            None if rootcert.as_deref() == Some("system") => (SslMode::Require, Verify::Host(roots)),
            None | Some("allow" | "prefer") => (SslMode::Prefer, Verify::Nothing),
            Some("require") if has_file => (SslMode::Require, Verify::Authority(roots)),
            Some("require") => (SslMode::Require, Verify::Nothing),
            Some("verify-ca") => (SslMode::Require, Verify::Authority(roots)),
            Some("verify-full") => (SslMode::Require, Verify::Host(roots)),
            Some(other) => {
                let why = format!("sslmode is {other:?}.");
                return Err(refuse("The database URL cannot be understood.", &why));
            }
        };
        config.ssl_mode(mode);
        fill(&mut config);
        Ok(Address { config, verify })
    }
}

/// What a caller who says nothing gets.
fn fill(config: &mut Config) {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let socket = Path::new(SOCKET_DIR);
        if socket.is_dir() {
            config.host_path(socket)
        } else {
            config.host("localhost")
        };
    }
    if config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_))) && config.get_hostaddrs().is_empty() {
        // Never encrypted, whatever sslmode says: as libpq.
        config.ssl_mode(SslMode::Disable);
    }
    if config.get_application_name().is_none() {
        config.application_name("tenure");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(CONNECT_SECONDS));
    }
}

fn refuse(what: &str, why: &str) -> Error {
    Error::Refused(Refusal::new(
        codes::USAGE,
        what,
        why,
        "Write it as postgres://login:password@host:5432/database?sslmode=verify-full, or as host=… dbname=….",
    ))
}

/// The address without `sslmode` and `sslrootcert`, which the driver knows only in part, and their values.
fn take_tls(text: &str) -> (String, Option<String>, Option<String>) {
    let (mut sslmode, mut rootcert) = (None, None);
    let mut keep = |key: &str, value: &str| match key {
        "sslmode" => {
            sslmode = Some(value.to_owned());
            false
        }
        "sslrootcert" => {
            rootcert = Some(value.to_owned());
            false
        }
        _ => true,
    };
    let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let rest = if is_url {
        let (before, query) = text.split_once('?').unwrap_or((text, ""));
        let kept: Vec<&str> = query
            .split('&')
            .filter(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                !pair.is_empty() && keep(key, &decode(value))
            })
            .collect();
        match kept.is_empty() {
            true => before.to_owned(),
            false => format!("{before}?{}", kept.join("&")),
        }
    } else {
        let kept: Vec<&str> = pairs(text)
            .into_iter()
            .filter(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                keep(key.trim(), &unquote(value.trim()))
            })
            .collect();
        kept.join(" ")
    };
    (rest, sslmode, rootcert)
}

/// The `key=value` parts of a connection string; a quoted value may hold spaces.
fn pairs(text: &str) -> Vec<&str> {
    let (mut pairs, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                pairs.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    pairs.push(&text[start..]);
    pairs.retain(|pair| !pair.is_empty());
    pairs
}

fn unquote(value: &str) -> String {
    let inner = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.unwrap_or(value).replace("\\'", "'").replace("\\\\", "\\")
}

/// Percent-decoding; what is no escape stays.
fn decode(value: &str) -> String {
    let (bytes, mut decoded, mut at) = (value.as_bytes(), Vec::with_capacity(value.len()), 0);
    while at < bytes.len() {
        let escape = value.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (SslMode, Verify) {
        let address = Address::parse(text).expect("valid");
        (address.config.get_ssl_mode(), address.verify)
    }

    #[test]
    fn sslmode_and_root_certificate_mean_what_libpq_says() {
        let file = || Roots::File("/a b/root.pem".into());
        assert_eq!(of("postgres://h/d"), (SslMode::Prefer, Verify::Nothing));
        assert_eq!(
            of("postgres://h/d?sslmode=disable"),
            (SslMode::Disable, Verify::Nothing)
        );
        assert_eq!(
            of("postgres://h/d?sslmode=require"),
            (SslMode::Require, Verify::Nothing)
        );
        assert_eq!(
            of("postgres://h/d?sslmode=require&sslrootcert=/a%20b/root.pem"),
            (SslMode::Require, Verify::Authority(file()))
        );
        assert_eq!(
            of("host=h sslmode=verify-full sslrootcert='/a b/root.pem' dbname=d"),
            (SslMode::Require, Verify::Host(file()))
        );
        assert_eq!(
            of("postgres://h/d?sslmode=verify-ca&sslrootcert=system"),
            (SslMode::Require, Verify::Authority(Roots::System))
        );
    }

    #[test]
    fn a_socket_is_never_encrypted() {
        let (mode, _) = of("host=/tmp/x dbname=d sslmode=verify-full");
        assert_eq!(mode, SslMode::Disable);
        assert_eq!(of("postgresql:///d?host=/tmp/x").0, SslMode::Disable);
    }

    #[test]
    fn what_cannot_be_understood_is_refused_as_usage() {
        for text in [
            "postgres://h/d?sslmode=verify",
            "nonsense",
            "postgres://h/d?colour=blue",
        ] {
            let error = Address::parse(text).expect_err("refused");
            assert!(error.is(codes::USAGE), "{error}");
        }
    }
}
