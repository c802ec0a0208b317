//! A command line that cannot be understood, told in the form of every other refusal.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use tenure_core::{Refusal, codes, names};

use crate::cli::generic;

/// What options are called elsewhere, and here: a command that has the second is meant by the first. A value stands with an
/// option whose values differ too.
const ELSEWHERE: &[(&str, &str)] = &[
    ("delay", "due"),
    ("run-at", "due"),
    ("schedule-at", "due"),
    ("scheduled-at", "due"),
    ("max-attempts", "attempts-max"),
    ("idempotency-key", "key"),
    ("every-seconds", "every 15m"),
    ("interval", "every 15m"),
    ("to", "until"),
    ("reason", "note"),
    ("note", "reason"),
];

/// The refusal for what the parser found. Suggestions of the parser become the next step.
pub(crate) fn refusal_of(error: &Error) -> Refusal {
    if error.kind() == ErrorKind::InvalidUtf8 {
        return Refusal::new(
            codes::TEXT_INVALID,
            "An argument is not valid UTF-8.",
            "Every text of Tenure is UTF-8; PostgreSQL stores nothing else.",
            "Convert the argument, or write it into a file that is UTF-8.",
        );
    }
    if let Some(refusal) = bad_id(error) {
        return refusal;
    }
    let rendered = error.render().to_string();
    let what = what(error).unwrap_or_else(|| headline(&rendered));
    let usage = usage_line(&rendered);
    let next = next(error, usage.as_deref());
    // With a suggestion of its own the parser writes that into the line.
    let plain = (error.kind() == ErrorKind::UnknownArgument)
        .then(|| plain_usage(usage.as_deref()?))
        .flatten();
    let usage = plain.or(usage);
    let why = usage.map_or_else(
        || "The command line cannot be understood.".to_owned(),
        |usage| format!("The usage is: {usage}"),
    );
    Refusal::new(codes::USAGE, what, why, next)
}

/// What is no id, and where ids are found.
fn bad_id(error: &Error) -> Option<Refusal> {
    std::error::Error::source(error)?.downcast_ref::<uuid::Error>()?;
    let argument = as_text(error.get(ContextKind::InvalidArg)?)?;
    let value = as_text(error.get(ContextKind::InvalidValue)?)?;
    let next = if argument.contains("TOKEN") {
        "Give the token that `tenure job claim` printed beside the job's id."
    } else if argument.contains("DEAD_LETTER") {
        "Copy it from `tenure dead-letter list`."
    } else if argument.contains("JOB") {
        "Copy it from `tenure job list`."
    } else {
        "Give one of that form."
    };
    Some(Refusal::new(
        codes::USAGE,
        format!("{} is {value:?}.", argument.replace(['<', '>'], "")),
        "It must be an id, such as 01890000-0000-7000-8000-000000000000.",
        next,
    ))
}

fn what(error: &Error) -> Option<String> {
    let text = |kind| as_text(error.get(kind)?);
    match error.kind() {
        ErrorKind::UnknownArgument => Some(format!(
            "There is no option or argument {}.",
            text(ContextKind::InvalidArg)?
        )),
        ErrorKind::InvalidSubcommand => Some(format!(
            "There is no command {}.",
            text(ContextKind::InvalidSubcommand)?
        )),
        ErrorKind::MissingRequiredArgument => Some(format!("Missing: {}.", text(ContextKind::InvalidArg)?)),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Some("The command is incomplete.".to_owned())
        }
        _ => None,
    }
}

/// The first line of the parser's own text.
fn headline(rendered: &str) -> String {
    let line = rendered.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    format!("{}.", line.trim_end_matches(['.', ':']))
}

fn usage_line(rendered: &str) -> Option<String> {
    let line = rendered.lines().find_map(|line| line.strip_prefix("Usage: "))?;
    Some(line.trim().to_owned())
}

fn next(error: &Error, usage: Option<&str>) -> String {
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggestion = suggested.iter().find_map(|kind| as_text(error.get(*kind)?));
    let suggestion = suggestion.or_else(|| nearest_command(error, usage?));
    match suggestion.or_else(|| nearest_option(error, usage?)) {
        Some(word) => format!("Did you mean {word}? {}", help(usage)),
        None if error.get(ContextKind::ValidSubcommand).is_some() => {
            let words: Vec<String> = usage
                .and_then(command_of)
                .iter()
                .flat_map(|command| visible(command).map(str::to_owned))
                .collect();
            format!("Use one of: {}.", words.join(", "))
        }
        None => help(usage),
    }
}

/// Where all is described that the command takes.
fn help(usage: Option<&str>) -> String {
    let words: Vec<&str> = usage.map(|usage| words_of(usage).collect()).unwrap_or_default();
    match words.is_empty() {
        true => "Run `tenure --help`.".to_owned(),
        false => format!("Run `tenure {} --help`.", words.join(" ")),
    }
}

/// The parser misses swapped letters in short words; the usage line says which commands there are to choose from.
fn nearest_command(error: &Error, usage: &str) -> Option<String> {
    let word = as_text(error.get(ContextKind::InvalidSubcommand)?)?;
    let command = command_of(usage)?;
    let names: Vec<&str> = visible(&command).collect();
    names::nearest(&word, names).map(|name| format!("'{name}'"))
}

/// The option of this command that is meant by one it does not have: its own come first, then those of every command. The
/// parser would also suggest what only other commands have.
fn nearest_option(error: &Error, usage: &str) -> Option<String> {
    let word = as_text(error.get(ContextKind::InvalidArg)?)?;
    let word = word.strip_prefix("--")?.split('=').next()?;
    let command = command_of(usage)?;
    let options = |global: bool| {
        let shown = command
            .get_arguments()
            .filter(move |it| it.is_global_set() == global && !it.is_hide_set());
        shown.filter_map(|it| it.get_long()).collect::<Vec<_>>()
    };
    let own = options(false);
    let elsewhere = ELSEWHERE
        .iter()
        .filter(|(_, here)| here.split(' ').next().is_some_and(|here| own.contains(&here)));
    let exactly = elsewhere.clone().find(|(there, _)| *there == word);
    let nearly = || {
        let there = names::nearest(word, elsewhere.clone().map(|(there, _)| *there))?;
        elsewhere.clone().find(|(it, _)| *it == there)
    };
    let found = exactly
        .map(|(_, here)| *here)
        .or_else(|| names::nearest(word, own.iter().copied()))
        .or_else(|| nearly().map(|(_, here)| *here))
        .or_else(|| names::nearest(word, options(true)));
    found.map(|name| format!("--{name}"))
}

/// How a command is used, without what was typed.
fn plain_usage(usage: &str) -> Option<String> {
    usage_line(&command_of(usage)?.render_usage().to_string())
}

/// The command that a usage line is about.
fn command_of(usage: &str) -> Option<Command> {
    let mut command = generic::command_line();
    command.build();
    for name in words_of(usage) {
        command = command.find_subcommand(name)?.clone();
    }
    Some(command)
}

/// The words of the command that a usage line is about, without the program.
fn words_of(usage: &str) -> impl Iterator<Item = &str> {
    let words = usage.split_whitespace().skip(1);
    words.take_while(|word| !word.starts_with(['[', '<', '-']))
}

/// Its commands for people.
fn visible(command: &Command) -> impl Iterator<Item = &str> {
    let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
    visible.map(Command::get_name)
}

fn as_text(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(", ")),
        _ => None,
    }
}
