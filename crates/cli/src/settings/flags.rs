//! The settings as flags, made from the table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};

use super::table::{ALL, Flag};

/// Names the file when no flag does.
pub(super) const FILE_VARIABLE: &str = "TENURE_CONFIG";
const FILE: &str = "config";

/// What the command line says about settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    /// The file to read.
    pub(super) file: Option<PathBuf>,
    /// By key.
    pub(super) given: BTreeMap<&'static str, String>,
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(FILE)
            .long(FILE)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help(format!(
                "Settings, as TOML [env: {FILE_VARIABLE}] [default: tenure.toml, if it is there]"
            ));
        ALL.iter().fold(command.arg(file), |command, setting| {
            let (value_name, hidden) = match setting.flag {
                Flag::Global => return command,
                Flag::Switch => (None, false),
                Flag::Takes(name) => (Some(name), false),
                Flag::Quietly(name) => (Some(name), true),
            };
            let default = match (setting.default, &setting.flag) {
                (Some(default), Flag::Takes(_)) => format!(" [default: {default}]"),
                _ => String::new(),
            };
            let help = format!("{} [env: {}]{default}", setting.meaning, setting.variables[0]);
            let argument = Arg::new(setting.key)
                .long(setting.key.replace('_', "-"))
                .hide(hidden)
                .help(help);
            command.arg(match value_name {
                Some(name) => argument.value_name(name),
                None => argument.action(ArgAction::SetTrue),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Flags, Error> {
        let mut flags = Flags {
            file: matches.get_one::<PathBuf>(FILE).cloned(),
            given: BTreeMap::new(),
        };
        for setting in ALL {
            let value = match setting.flag {
                Flag::Global => None,
                Flag::Switch => matches.get_flag(setting.key).then(|| true.to_string()),
                Flag::Takes(_) | Flag::Quietly(_) => matches.get_one::<String>(setting.key).cloned(),
            };
            if let Some(value) = value {
                flags.given.insert(setting.key, value);
            }
        }
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}
