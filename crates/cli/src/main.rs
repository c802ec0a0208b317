//! The `tenure` command: one binary to run Tenure, to work for it, and to look into it.

mod cli;
mod connect;
mod dev;
mod errors;
mod evidence_key;
mod logs;
mod output;
mod remote;
mod settings;
mod spans;
mod stop;
mod temporary;
mod values;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use tenure_core::codes;

use crate::cli::{Cli, generic};
use crate::errors::{Failure, Outcome};

/// A command waits more than it computes; only a server has use for every core.
const COMMAND_THREADS: usize = 2;

fn main() -> ExitCode {
    // The parser may have failed before it came to --json, so the raw arguments are asked; after -- they are another's.
    let json = std::env::args_os()
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json");
    match run() {
        Ok(()) => ExitCode::from(codes::EXIT_OK),
        Err(failure) => ExitCode::from(errors::tell(&failure, json)),
    }
}

/// A command with words of its own, or one that is made from its operation.
enum Given {
    Own(Box<Cli>),
    Generic(Box<generic::Generic>),
}

fn run() -> Outcome {
    let own = Cli::command();
    let mut command = generic::complete(own.clone());
    // Only the long form says more, and has to look at the machine for it.
    if std::env::args_os().nth(1).is_some_and(|first| first == "--version") {
        let zones = tenure::zones::current();
        command = command.long_version(format!("{}\ntime zones {zones}", env!("CARGO_PKG_VERSION")));
    }
    let parsed = command.try_get_matches();
    let parsed = parsed.and_then(|matches| {
        let words = words(&matches);
        match generic::chosen(&matches, &own, &words) {
            Some(generic) => Ok((Given::Generic(Box::new(generic)), words)),
            None => Ok((Given::Own(Box::new(Cli::from_arg_matches(&matches)?)), words)),
        }
    });
    let (given, words) = match parsed {
        Ok(parsed) => parsed,
        Err(error) if !error.use_stderr() => {
            error.print()?;
            return Ok(());
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.print()?;
            return Err(Failure::Told(codes::EXIT_USAGE));
        }
        Err(error) => return Err(errors::refusal_of(&error).into()),
    };
    let is_server = matches!(&given, Given::Own(cli) if cli.is_server());
    let spans = spans::prepare(is_server)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if !is_server {
        runtime.worker_threads(COMMAND_THREADS);
    }
    let runtime = runtime.enable_all().build()?;
    let outcome = runtime.block_on(async {
        match given {
            Given::Own(cli) => cli.run(&words).await,
            Given::Generic(generic) => generic.run(&words).await,
        }
    });
    // A thread that waits for standard input must not keep a finished command from ending.
    runtime.shutdown_background();
    spans.end();
    outcome
}

/// The words of the command, such as `job list`.
fn words(matches: &ArgMatches) -> String {
    let mut words = Vec::new();
    let mut rest = matches.subcommand();
    while let Some((word, inner)) = rest {
        words.push(word);
        rest = inner.subcommand();
    }
    words.join(" ")
}
