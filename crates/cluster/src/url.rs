//! Connection URLs that both libpq and tokio-postgres understand.

use std::fmt::Write;
use std::path::Path;

/// The superuser of a private cluster.
pub(crate) const SUPERUSER: &str = "tenure";
/// Names the socket file where no port was asked for; nothing listens on it.
pub(crate) const SOCKET_PORT: u16 = 5432;

/// The URL of a database behind a Unix socket. The port is named because `PGPORT` of the caller would win otherwise.
pub(crate) fn socket_url(socket_dir: &Path, port: u16, dbname: &str) -> String {
    let host = encode(&socket_dir.to_string_lossy());
    format!(
        "postgresql:///{}?host={host}&port={port}&user={SUPERUSER}",
        encode(dbname)
    )
}

/// The same URL or connection string, for another database of the same server.
pub(crate) fn with_dbname(url: &str, dbname: &str) -> String {
    let Some(scheme_end) = url.find("://").filter(|_| url.starts_with("postgres")) else {
        // A `key=value` string: the last of two equal keys counts.
        return format!("{url} dbname='{}'", dbname.replace('\\', "\\\\").replace('\'', "\\'"));
    };
    let authority = scheme_end + 3;
    let (before_query, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let path = before_query[authority..]
        .find('/')
        .map_or(before_query.len(), |at| authority + at);
    let query: Vec<&str> = query
        .trim_start_matches('?')
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("dbname="))
        .collect();
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("?{}", query.join("&"))
    };
    format!("{}/{}{query}", &before_query[..path], encode(dbname))
}

/// Percent-encodes all but what is safe both in a path segment and in a query value; `/` is safe in a query value.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte))
            }
            _ => write!(encoded, "%{byte:02X}").expect("writing to a string does not fail"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_url_is_understood_by_the_client() {
        let url = socket_url(Path::new("/tmp/a b"), SOCKET_PORT, "täst");
        let config: tokio_postgres::Config = url.parse().expect("valid");
        assert_eq!(config.get_dbname(), Some("täst"));
        assert_eq!(config.get_user(), Some("tenure"));
        assert_eq!(
            config.get_hosts(),
            [tokio_postgres::config::Host::Unix("/tmp/a b".into())]
        );
    }

    #[test]
    fn another_database_of_the_same_server_keeps_everything_else() {
        assert_eq!(
            with_dbname("postgres://u:p@h:5/a?sslmode=require", "b"),
            "postgres://u:p@h:5/b?sslmode=require"
        );
        assert_eq!(with_dbname("postgresql://h", "b"), "postgresql://h/b");
        assert_eq!(
            with_dbname("postgresql:///a?host=/tmp/x&dbname=c", "b"),
            "postgresql:///b?host=/tmp/x"
        );
        assert_eq!(with_dbname("host=h dbname=a", "b"), "host=h dbname=a dbname='b'");
    }
}
