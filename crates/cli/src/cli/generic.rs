//! Commands of operations that no file of this folder has words for: `job_requeue` is `tenure job requeue`. Its path is given by
//! place, every other field by an option, and the answer is shown field by field. A [`Verb`] of its own says it better.

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use serde_json::Value;
use tenure::operations::Perform;
use tenure_api::{Operation, Shape};

use super::verb::{Command, Verb};
use super::{Cli, Globals};
use crate::connect;
use crate::errors::Outcome;
use crate::logs;
use crate::output::Column;
use crate::remote::Reach;

/// Operations that are in commands of another name.
#[rustfmt::skip] // A table is read by column.
const ELSEWHERE: &[(&str, &str)] = &[
    ("anchor_list",                "evidence anchor list"),
    ("anchor_proof",               "evidence proof"),
    ("anchor_show",                "evidence anchor show"),
    ("approval_decide",            "execution approve"),
    ("approval_votes_of",          "approval votes"),
    ("dead_letter_replay_preview", "dead-letter replay --preview"),
    ("delivery_list",              "subscription deliveries"),
    ("delivery_retry",             "subscription retry"),
    ("doctor",                     "doctor"),
    ("execution_archive_list",     "execution list --archived"),
    ("execution_difference",       "execution diff"),
    ("gate_set",                   "gate open"),
    ("governance_change_decide",   "governance change approve"),
    ("health_of_the_queue",        "health"),
    ("job_reap",                   "reap"),
    ("job_sweep",                  "sweep"),
    ("now",                        "health"),
    ("schedule_preview_rule",      "schedule preview"),
    ("step_list",                  "execution steps"),
    ("stream_lag",                 "event list"),
];

/// Operations whose command has a noun that their name lacks.
const NAMED: &[(&str, &str)] = &[("stale_check", "executor_stale")];

/// Columns that a table of an unknown list has at the most.
const COLUMNS_MAX: usize = 7;

/// An operation by its name, and the command that it would have.
struct Candidate {
    name: &'static str,
    command: fn(&'static str) -> Box<dyn Command>,
}

macro_rules! candidates {
    ($($how:ident $operation:ty,)*) => {
        /// The operations that a command can carry out.
        const CANDIDATES: &[Option<Candidate>] = &[$(candidates! { @$how $operation },)*];
    };
    (@served $operation:ty) => { None };
    (@$how:ident $operation:ty) => {
        Some(Candidate {
            name: <$operation as Operation>::NAME,
            command: |verb| Box::new(generic::<$operation>(verb)),
        })
    };
}
tenure_api::for_each_operation!(candidates);

/// The whole command line.
pub(crate) fn command_line() -> clap::Command {
    complete(Cli::command())
}

/// The command line with a command for every operation.
pub(crate) fn complete(cli: clap::Command) -> clap::Command {
    missing(&cli).into_iter().fold(cli, |cli, (words, candidate)| {
        let (verb, nouns) = words.split_last().expect("a verb");
        let command = (candidate.command)(leaked(verb)).clap();
        within(cli, nouns, |noun| noun.subcommand(command))
    })
}

/// Carries out a command that [`complete`] has added, if it is the one that is given.
pub(crate) fn chosen(matches: &ArgMatches, cli: &clap::Command, words: &str) -> Option<Generic> {
    let found = missing(cli).into_iter().find(|(own, _)| own.join(" ") == words)?;
    let (verb, candidate) = (found.0.last()?, found.1);
    let mut given = matches;
    while let Some((_, inner)) = given.subcommand() {
        given = inner;
    }
    Some(Generic {
        globals: Globals::from_arg_matches(matches).ok()?,
        key: matches.get_one::<String>("key").cloned(),
        command: (candidate.command)(leaked(verb)),
        given: given.clone(),
    })
}

/// A command that was chosen.
pub(crate) struct Generic {
    globals: Globals,
    key: Option<String>,
    command: Box<dyn Command>,
    given: ArgMatches,
}

impl Generic {
    /// Carries it out; `words` are those of the command.
    pub(crate) async fn run(self, words: &str) -> Outcome {
        logs::start_for_commands();
        let out = self.globals.output();
        let place = connect::Place::new(self.globals, self.key);
        place.check(words, Reach::Http)?;
        self.command.run(&self.given, &mut place.session(out).await?).await
    }
}

/// The operations that have a noun among the commands, and no command there, with the words it would have.
fn missing(cli: &clap::Command) -> Vec<(Vec<String>, &'static Candidate)> {
    let candidates = CANDIDATES.iter().flatten();
    let candidates = candidates.filter(|candidate| !ELSEWHERE.iter().any(|(name, _)| *name == candidate.name));
    let found = candidates.filter_map(|candidate| match place_of(cli, candidate.name) {
        Place::Missing(words) => Some((words, candidate)),
        Place::Command | Place::NoNoun => None,
    });
    found.collect()
}

/// Where the command of an operation is.
enum Place {
    /// It has one of its name.
    Command,
    /// There is its noun, and no such verb: the words that it would have.
    Missing(Vec<String>),
    /// No command has its noun.
    NoNoun,
}

/// `execution dead-letter list` for `execution_dead_letter_list`.
fn place_of(cli: &clap::Command, name: &str) -> Place {
    let named = NAMED.iter().find(|(operation, _)| *operation == name);
    let name = named.map_or(name, |(_, name)| *name);
    let (mut noun, mut rest, mut words) = (cli, name.replace('_', "-"), Vec::new());
    loop {
        let inner = noun.get_subcommands().filter(|inner| inner.has_subcommands());
        let inner = inner.filter_map(|inner| Some((inner, rest.strip_prefix(inner.get_name())?.strip_prefix('-')?)));
        let Some((inner, left)) = inner.min_by_key(|(_, left)| left.len()) else {
            break;
        };
        words.push(inner.get_name().to_owned());
        (noun, rest) = (inner, left.to_owned());
    }
    if words.is_empty() {
        return Place::NoNoun;
    }
    if noun.find_subcommand(&rest).is_some() {
        return Place::Command;
    }
    words.push(rest);
    Place::Missing(words)
}

/// The command with the noun of these words changed.
fn within(
    command: clap::Command,
    nouns: &[String],
    change: impl FnOnce(clap::Command) -> clap::Command,
) -> clap::Command {
    let change: Box<dyn FnOnce(clap::Command) -> clap::Command + '_> = Box::new(change);
    match nouns.split_first() {
        None => change(command),
        Some((noun, inner)) => command.mut_subcommand(noun, |command| within(command, inner, change)),
    }
}

fn generic<O: Perform>(verb: &'static str) -> Verb<O> {
    let answer = tenure_api::openapi::plain_schema::<O::Answer>();
    let fields = match O::SHAPE {
        Shape::Rows | Shape::Values => columns(&answer["properties"]["items"]["items"]),
        Shape::Value | Shape::Row => columns(&answer),
    };
    let quiet: Vec<&'static str> = fields.iter().map(|column| column.1).take(1).collect();
    let places: Vec<&'static str> = O::ROUTE.path_fields().collect();
    let shown = match O::SHAPE {
        Shape::Rows | Shape::Values => Verb::table(verb, fields.leak(), "Nothing found."),
        Shape::Value | Shape::Row => Verb::fields(verb, &[]),
    };
    Verb {
        places: places.leak(),
        quiet: quiet.leak(),
        ..shown
    }
}

/// The members that fit into a table, ids first.
fn columns(schema: &Value) -> Vec<Column> {
    let members = schema["properties"].as_object().into_iter().flatten();
    let mut plain: Vec<(&String, &Value)> = members.filter(|(_, member)| member["type"] != "object").collect();
    plain.sort_by_key(|(_, member)| member["format"] != "uuid");
    let columns = plain.into_iter().take(COLUMNS_MAX);
    let columns = columns.map(|(name, _)| Column(leaked(&name.replace('_', " ").to_uppercase()), leaked(name)));
    columns.collect()
}

/// A command is made once, and lives as long as the program.
fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_without_a_command_gets_one() {
        let cli = complete(Cli::command());
        assert!(missing(&cli).is_empty(), "each is added once");
        cli.debug_assert();
    }

    #[test]
    fn every_operation_is_a_command_or_is_said_to_be_in_another() {
        let cli = Cli::command();
        let lost: Vec<&str> = CANDIDATES
            .iter()
            .flatten()
            .map(|candidate| candidate.name)
            .filter(|name| matches!(place_of(&cli, name), Place::NoNoun))
            .filter(|name| !ELSEWHERE.iter().any(|(known, _)| known == name))
            .collect();
        assert!(lost.is_empty(), "no command has the noun of {lost:?}");
        for (name, command) in ELSEWHERE {
            assert!(
                !matches!(place_of(&cli, name), Place::Command),
                "{name} has a command of its name"
            );
            let mut words = command.split(' ').filter(|word| !word.starts_with("--"));
            let found = words.try_fold(&cli, |noun, word| noun.find_subcommand(word));
            assert!(found.is_some(), "there is no command {command}");
        }
    }
}
