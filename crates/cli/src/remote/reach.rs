//! Which commands work over HTTP. A command that is not named here does not compile into the program unnoticed: a test
//! walks over all of them.

/// How far a command reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Over HTTP as over SQL.
    Http,
    /// It needs the database itself.
    Database,
    /// It brings a database of its own.
    Own,
    /// It asks neither.
    Nobody,
}

#[rustfmt::skip] // A table is read by column.
const REACHES: &[(&str, Reach)] = &[
    ("action",                 Reach::Http),
    ("approval",               Reach::Http),
    ("bench",                  Reach::Own),
    ("completions",            Reach::Nobody),
    ("config explain",         Reach::Nobody),
    ("config get",             Reach::Http),
    ("config list",            Reach::Http),
    ("config set",             Reach::Http),
    ("context",                Reach::Nobody),
    ("dead-letter list",       Reach::Http),
    ("dead-letter replay",     Reach::Http),
    ("dead-letter show",       Reach::Http),
    ("dead-letter triage",     Reach::Http),
    ("dev",                    Reach::Own),
    ("doctor",                 Reach::Http),
    ("errors",                 Reach::Nobody),
    ("event list",             Reach::Http),
    ("evidence anchor export", Reach::Http),
    ("evidence anchor list",   Reach::Http),
    ("evidence anchor show",   Reach::Http),
    ("evidence key create",    Reach::Database),
    ("evidence key list",      Reach::Http),
    ("evidence proof",         Reach::Http),
    ("evidence show",          Reach::Nobody),
    ("evidence verify",        Reach::Nobody),
    ("execution",              Reach::Http),
    ("executor beat",          Reach::Http),
    ("executor list",          Reach::Http),
    ("gate close",             Reach::Http),
    ("gate list",              Reach::Http),
    ("gate open",              Reach::Http),
    ("governance",             Reach::Http),
    ("health",                 Reach::Http),
    ("init",                   Reach::Database),
    ("job acknowledge-cancel", Reach::Http),
    ("job cancel",             Reach::Http),
    ("job claim",              Reach::Http),
    ("job complete",           Reach::Http),
    ("job dead-letter",        Reach::Http),
    ("job enqueue",            Reach::Http),
    ("job explain",            Reach::Http),
    ("job fail",               Reach::Http),
    ("job heartbeat",          Reach::Http),
    ("job list",               Reach::Http),
    ("job progress",           Reach::Http),
    ("job release",            Reach::Http),
    ("job retry",              Reach::Http),
    ("job show",               Reach::Http),
    ("job snooze",             Reach::Http),
    ("job start",              Reach::Http),
    ("job timeline",           Reach::Http),
    ("key create",             Reach::Http),
    ("key list",               Reach::Http),
    ("key revoke",             Reach::Http),
    ("kind list",              Reach::Http),
    ("kind pause",             Reach::Http),
    ("kind resume",            Reach::Http),
    ("kind set",               Reach::Http),
    ("kind show",              Reach::Http),
    ("lock",                   Reach::Http),
    ("login bind",             Reach::Http),
    ("login unbind",           Reach::Http),
    ("migrate",                Reach::Database),
    ("plan",                   Reach::Nobody),
    ("plan show",              Reach::Http),
    ("principal",              Reach::Http),
    ("private",                Reach::Own),
    ("psql",                   Reach::Database),
    ("reap",                   Reach::Http),
    ("schedule",               Reach::Http),
    ("serve",                  Reach::Database),
    ("subscription",           Reach::Http),
    ("sweep",                  Reach::Http),
    ("target-type",            Reach::Http),
    ("tenant create",          Reach::Http),
    ("tenant list",            Reach::Http),
    ("timeout-policy",         Reach::Http),
];

/// How far the command of these words reaches, by its own row or that of its noun.
pub(crate) fn reach_of(command: &str) -> Option<Reach> {
    let noun = command.split(' ').next().unwrap_or_default();
    let row = |wanted: &str| REACHES.iter().find(|(name, _)| *name == wanted);
    row(command).or_else(|| row(noun)).map(|(_, reach)| *reach)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The words of every command that does something.
    fn commands(command: &clap::Command, words: &str) -> Vec<String> {
        let inner = |inner: &clap::Command| commands(inner, format!("{words} {}", inner.get_name()).trim());
        match command.has_subcommands() {
            true => command.get_subcommands().flat_map(inner).collect(),
            false => vec![words.to_owned()],
        }
    }

    #[test]
    fn of_every_command_it_is_said_whether_it_works_over_http() {
        let all = commands(&Cli::command(), "");
        for command in &all {
            assert!(reach_of(command).is_some(), "{command} is not in the table");
        }
        for (name, _) in REACHES {
            let known = all
                .iter()
                .any(|command| command == name || command.starts_with(&format!("{name} ")));
            assert!(known, "there is no command {name}");
        }
    }
}
