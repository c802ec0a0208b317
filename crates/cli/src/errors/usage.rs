//! A command line that cannot be understood, told in the form of every other refusal.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};
use tenure_core::{Refusal, codes, names};

use crate::cli::Cli;

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
    let rendered = error.render().to_string();
    let what = what(error).unwrap_or_else(|| headline(&rendered));
    let usage = usage_line(&rendered);
    let next = next(error, usage.as_deref());
    let why = usage.map_or_else(
        || "The command line cannot be understood.".to_owned(),
        |usage| format!("The usage is: {usage}"),
    );
    Refusal::new(codes::USAGE, what, why, next)
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
    let suggested = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let suggestion = suggested.iter().find_map(|kind| as_text(error.get(*kind)?));
    match suggestion.or_else(|| nearest_command(error, usage?)) {
        Some(word) => format!("Did you mean {word}? --help shows all."),
        None => match error.get(ContextKind::ValidSubcommand).and_then(as_text) {
            Some(words) => format!("Use one of: {words}."),
            None => "Read --help of this command.".to_owned(),
        },
    }
}

/// The parser misses swapped letters in short words; the usage line says which commands there are to choose from.
fn nearest_command(error: &Error, usage: &str) -> Option<String> {
    let word = as_text(error.get(ContextKind::InvalidSubcommand)?)?;
    let mut command = Cli::command();
    for name in usage
        .split_whitespace()
        .skip(1)
        .take_while(|word| !word.starts_with(['[', '<', '-']))
    {
        command = command.find_subcommand(name)?.clone();
    }
    let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = visible.map(|command| command.get_name()).collect();
    names::nearest(&word, names).map(|name| format!("'{name}'"))
}

fn as_text(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(", ")),
        _ => None,
    }
}
