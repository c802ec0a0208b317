//! Every setting of the server. A new one is a row here, and is then known as a flag, in the environment, in the file and to
//! `tenure config explain`.

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Its name in the file; as a flag with hyphens.
    pub(crate) key: &'static str,
    /// The variables that can hold it; the first that is set counts.
    pub(crate) variables: &'static [&'static str],
    /// What holds if nobody says otherwise.
    pub(crate) default: Option<&'static str>,
    /// How it is given on the command line.
    pub(super) flag: Flag,
    /// What it is for.
    pub(crate) meaning: &'static str,
}

/// How a setting is given on the command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flag {
    /// With a value, named so in the help.
    Takes(&'static str),
    /// The same, but left out of the help: few will ever need it.
    Quietly(&'static str),
    /// By its mere presence.
    Switch,
    /// An option that every command knows.
    Global,
}

const fn setting(
    key: &'static str,
    variables: &'static [&'static str],
    default: Option<&'static str>,
    flag: Flag,
    meaning: &'static str,
) -> Setting {
    Setting {
        key,
        variables,
        default,
        flag,
        meaning,
    }
}

use Flag::{Global, Quietly, Switch, Takes};

#[rustfmt::skip] // A table is read by column.
pub(crate) const ALL: &[Setting] = &[
    setting("database_url",      &["DATABASE_URL"],             None,                   Global,
        "The database"),
    setting("listen_url",        &["TENURE_LISTEN_URL"],        None,                   Takes("URL"),
        "A direct way to the database, where PgBouncer stands between: new work is heard of there"),
    setting("connections",       &["TENURE_CONNECTIONS"],       Some("10"),             Takes("N"),
        "Database connections for requests at most; no tenant, kind or row gets all of them"),
    setting("service_connections", &["TENURE_SERVICE_CONNECTIONS"], Some("6"),          Takes("N"),
        "Database connections for services, and for the looks that waiting clients share, at most"),
    setting("listen",            &["TENURE_LISTEN"],            Some("127.0.0.1:7373"), Takes("ADDRESS:PORT"),
        "Where to listen; port 0 takes a free one"),
    setting("metrics_listen",    &["TENURE_METRICS_LISTEN"],    None,                   Takes("ADDRESS:PORT"),
        "Where /metrics is to be had without a key, for whoever can reach it; port 0 takes a free one"),
    setting("tls_cert",          &["TENURE_TLS_CERT"],          None,                   Takes("FILE"),
        "The server's certificate and those that vouch for it, as PEM; read again on SIGHUP and when it changes"),
    setting("tls_key",           &["TENURE_TLS_KEY"],           None,                   Takes("FILE"),
        "The key of the certificate, as PEM"),
    setting("hsts_seconds",      &["TENURE_HSTS_SECONDS"],      Some("0"),              Takes("SECONDS"),
        "How long browsers are to come over TLS only (Strict-Transport-Security); 0: no such header; takes a certificate"),
    setting("no_services",       &["TENURE_NO_SERVICES"],       Some("false"),          Switch,
        "Leave scheduler, executions, reaper, retention, archive, anchor, subscriptions and webhooks to another process"),
    setting("webhook_allow",     &["TENURE_WEBHOOK_ALLOW"],     Some(""),               Takes("NETWORKS"),
        "Networks that webhooks may go to though they are private, and without TLS too, such as 10.0.0.0/8,::1/128"),
    setting("evidence_key_file", &["TENURE_EVIDENCE_KEY_FILE"], None,                   Takes("FILE"),
        "The key that signs evidence and checkpoints (PKCS#8 PEM, or 32 bytes in Base64); the database has its public half alone"),
    setting("anchor_file",       &["TENURE_ANCHOR_FILE"],       None,                   Takes("FILE"),
        "Where checkpoints are appended to, outside the database; one file per server"),
    setting("zoneinfo",          &["TENURE_ZONEINFO"],          None,                   Takes("DIR"),
        "Compiled time zones to use, unless they are older than those of the system or of the program"),
    setting("log",               &["TENURE_LOG", "RUST_LOG"],   Some("info"),           Takes("LEVEL"),
        "What is logged: error, warn, info (refused requests too), debug (every request), or directives of tracing"),
    setting("log_format",        &["TENURE_LOG_FORMAT"],        Some("text"),           Takes("text|json"),
        "How the log reads"),
    setting("clients_max",       &["TENURE_CLIENTS_MAX"],       Some("10000"),          Takes("N"),
        "Open connections of clients at most; more are refused"),
    setting("drain_seconds",     &["TENURE_DRAIN_SECONDS"],     Some("20"),             Takes("SECONDS"),
        "How long requests that have begun are waited for at the end"),
    setting("body_bytes_max",    &["TENURE_BODY_BYTES_MAX"],    Some("16777216"),       Takes("BYTES"),
        "The largest body of a request"),
    setting("bodies_bytes_max",  &["TENURE_BODIES_BYTES_MAX"],  Some("268435456"),      Quietly("BYTES"),
        "All bodies that are being read, together; more wait"),
    setting("head_seconds",      &["TENURE_HEAD_SECONDS"],      Some("30"),             Quietly("SECONDS"),
        "How long a connection may be without a request"),
    setting("body_seconds",      &["TENURE_BODY_SECONDS"],      Some("30"),             Quietly("SECONDS"),
        "How long a body may take to come"),
    setting("write_seconds",     &["TENURE_WRITE_SECONDS"],     Some("30"),             Quietly("SECONDS"),
        "How long a client may read nothing of what is there for it"),
    setting("handshake_seconds", &["TENURE_HANDSHAKE_SECONDS"], Some("10"),             Quietly("SECONDS"),
        "How long TLS may take to be agreed upon"),
];

impl Setting {
    /// Its name on the command line.
    pub(crate) fn option(&self) -> String {
        format!("--{}", self.key.replace('_', "-"))
    }
}

/// The setting of this name, which is in the table.
pub(crate) fn of(key: &str) -> &'static Setting {
    ALL.iter()
        .find(|setting| setting.key == key)
        .expect("it is in the table")
}
