//! Operations as commands. The arguments, their help and their defaults come from the operation; a [`Verb`] adds what only a command
//! line needs: names, places, and how the answer is shown.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, FromArgMatches, Subcommand};
use serde::Deserialize;
use serde_json::{Map, Value};
use tenure::operations::Perform;
use tenure_api::fields::{Field, Kind, describe};
use tenure_api::request::members;
use tenure_api::{Operation, Shape};
use tenure_core::hints::{self, Surface};
use tenure_core::{Refusal, codes};
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format};
use crate::values::{Moment, Number, Seconds, json_value};

/// What a command line needs beside the operation.
pub(crate) struct Verb<O: Operation> {
    /// The word of the command, such as `list`.
    pub(crate) name: &'static str,
    /// What the help says it does, where the summary of the operation is about more.
    pub(crate) about: Option<&'static str>,
    /// Another word for it.
    pub(crate) alias: Option<&'static str>,
    /// The fields that are given by their place, in order.
    pub(crate) places: &'static [&'static str],
    /// Fields whose option is not called like the field.
    pub(crate) options: &'static [(&'static str, &'static str)],
    /// Short options.
    pub(crate) shorts: &'static [(&'static str, char)],
    /// Fields that the command does not offer.
    pub(crate) hidden: &'static [&'static str],
    /// Fields that the command sets itself, each to a word.
    pub(crate) fixed: &'static [(&'static str, &'static str)],
    /// Fields that must be given here, though the operation does without.
    pub(crate) required: &'static [&'static str],
    /// Fields that are given as durations, such as `15m`: in milliseconds if they are called so (`_ms`), else in seconds.
    pub(crate) durations: &'static [&'static str],
    /// What fields are if they are left out, where the operation has another default.
    pub(crate) defaults: &'static [(&'static str, &'static str)],
    /// Flags that stand for a word of a field, such as `--force`: the field, the word and the help.
    pub(crate) flags: &'static [(&'static str, &'static str, &'static str)],
    /// Two fields that cannot both be given.
    pub(crate) conflicts: &'static [(&'static str, &'static str)],
    /// A flag that carries out another operation with the same arguments, such as `--preview`.
    pub(crate) instead: Option<Instead>,
    /// How people see the answer.
    pub(crate) show: Show<O>,
    /// The sentence when a list with filters is empty; as without filters if it is left out.
    pub(crate) unmatched: Option<&'static str>,
    /// Adds to an item of a table, or to the one thing that is shown, what only people see.
    pub(crate) row: Option<fn(&mut Value)>,
    /// A remark beside the answer, for people.
    pub(crate) note: Option<Note<O>>,
    /// What the help ends with.
    pub(crate) example: Option<&'static str>,
    /// The fields of the answer that `--quiet` prints.
    pub(crate) quiet: &'static [&'static str],
}

/// A remark about an answer, if there is one to make.
pub(crate) type Note<O> = fn(&O, &<O as Operation>::Answer) -> Option<String>;

/// A flag, its help, and what is done if it is given. Fields that only the other operation has need the flag.
pub(crate) type Instead = (&'static str, &'static str, &'static dyn Command);

/// How people see an answer.
pub(crate) enum Show<O: Operation> {
    /// In a sentence.
    Sentence(fn(&O, &O::Answer) -> String),
    /// As a table of its items, or as this sentence when there are none.
    Table(&'static [Column], &'static str),
    /// As a list of its fields: first these, then the others.
    Fields(&'static [&'static str]),
}

impl<O: Operation> Verb<O> {
    const fn new(name: &'static str, show: Show<O>) -> Verb<O> {
        Verb {
            name,
            about: None,
            alias: None,
            places: &[],
            options: &[],
            shorts: &[],
            hidden: &[],
            fixed: &[],
            required: &[],
            durations: &[],
            defaults: &[],
            flags: &[],
            conflicts: &[],
            instead: None,
            show,
            unmatched: None,
            row: None,
            note: None,
            example: None,
            quiet: &[],
        }
    }

    /// Shows a list as a table.
    pub(crate) const fn table(name: &'static str, columns: &'static [Column], empty: &'static str) -> Verb<O> {
        Verb::new(name, Show::Table(columns, empty))
    }

    /// Shows one thing as a list of its fields.
    pub(crate) const fn fields(name: &'static str, first: &'static [&'static str]) -> Verb<O> {
        Verb::new(name, Show::Fields(first))
    }

    /// Says in a sentence what was done.
    pub(crate) const fn sentence(name: &'static str, sentence: fn(&O, &O::Answer) -> String) -> Verb<O> {
        Verb::new(name, Show::Sentence(sentence))
    }

    fn is_offered(&self, field: &Field) -> bool {
        !self.hidden.contains(&field.name.as_str()) && word_of(self.fixed, field).is_none()
    }

    fn is_duration(&self, field: &Field) -> bool {
        self.durations.contains(&field.name.as_str())
    }

    /// What the command line has for a field that is not given.
    fn default_words(&self, field: &Field) -> Vec<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match (word_of(self.defaults, field), field.default()) {
            (Some(word), _) => vec![word.to_owned()],
            (None, Some(Value::Array(values))) => values.iter().map(text).collect(),
            (None, Some(value)) if field.kind != Kind::Boolean => vec![text(value)],
            (None, _) => Vec::new(),
        }
    }

    fn option_of(&self, field: &Field) -> String {
        word_of(self.options, field).map_or_else(|| field.name.replace('_', "-"), str::to_owned)
    }

    fn flag_of(&self, field: &Field) -> Option<&'static (&'static str, &'static str, &'static str)> {
        self.flags.iter().find(|(of, ..)| *of == field.name)
    }

    fn arg(&self, field: &Field) -> Arg {
        if let Some((_, word, help)) = self.flag_of(field) {
            let flag = Arg::new(arg_id(&field.name)).long(word.replace('_', "-"));
            return flag.help(*help).action(ArgAction::SetTrue);
        }
        let option = self.option_of(field);
        let defaults = self.default_words(field);
        let is_required = field.is_required || self.required.contains(&field.name.as_str());
        let mut arg = Arg::new(arg_id(&field.name))
            .help(help(field))
            .value_name(value_name(field, &option))
            .required(is_required && defaults.is_empty())
            .value_parser(StringValueParser::new())
            .default_values(defaults);
        arg = match field.kind {
            // A duration names its unit itself.
            _ if self.is_duration(field) => arg
                .help(help(field).replace(", in milliseconds", "").replace(", in seconds", ""))
                .value_name("DURATION")
                .allow_hyphen_values(true),
            Kind::Integer | Kind::Integers | Kind::Number => arg.allow_negative_numbers(true),
            Kind::Time => arg.allow_hyphen_values(true),
            Kind::Text if field.schema["format"] == "uuid" => arg.value_parser(id),
            _ => arg,
        };
        let words = field.words();
        if !words.is_empty() {
            arg = arg.value_parser(Words(
                words
                    .into_iter()
                    .map(|word| PossibleValue::new(word.to_owned()))
                    .collect(),
            ));
        }
        let conflicts = self.conflicts.iter().filter(|(one, _)| *one == field.name);
        arg = arg.conflicts_with_all(conflicts.map(|(_, other)| arg_id(other)));
        arg = match field.kind {
            Kind::Texts | Kind::Integers => arg.action(ArgAction::Append),
            Kind::Boolean => arg.value_parser(clap::value_parser!(bool)).action(ArgAction::SetTrue),
            _ => arg,
        };
        if let Some((_, short)) = self.shorts.iter().find(|(of, _)| *of == field.name) {
            arg = arg.short(*short);
        }
        match self.places.iter().position(|place| *place == field.name) {
            Some(at) => arg.index(at + 1),
            None => arg.long(option),
        }
    }

    /// The members of the operation as they were given.
    async fn members(&self, given: &ArgMatches, session: &mut Session) -> Outcome<Map<String, Value>> {
        let (mut members, mut spec) = (Map::new(), Map::new());
        for field in &describe::<O>().fields {
            let flag = self.flag_of(field).map(|(_, word, _)| Value::from(*word));
            let value = match field.kind {
                _ if !self.is_offered(field) => word_of(self.fixed, field).map(Value::from),
                _ if flag.is_some() => flag.filter(|_| given.get_flag(&arg_id(&field.name))),
                Kind::Boolean => given.get_flag(&arg_id(&field.name)).then_some(Value::Bool(true)),
                Kind::Texts | Kind::Integers => {
                    let words: Option<Vec<&String>> = given.get_many(&arg_id(&field.name)).map(Iterator::collect);
                    let mut values = Vec::new();
                    for word in words.iter().flatten() {
                        values.push(self.value(field, word, session).await?);
                    }
                    words.is_some().then_some(Value::Array(values))
                }
                _ => match given.get_one::<String>(&arg_id(&field.name)) {
                    Some(word) => Some(self.value(field, word, session).await?),
                    None => None,
                },
            };
            if let Some(value) = value {
                let members = if field.is_in_spec { &mut spec } else { &mut members };
                members.insert(field.name.clone(), value);
            }
        }
        if let Some(name) = O::ROUTE.spec {
            members.insert(name.to_owned(), Value::Object(spec));
        }
        Ok(members)
    }

    /// A word of the command line, read by the kind of its field: `+10m` is a time, `@FILE` is JSON.
    async fn value(&self, field: &Field, word: &str, session: &mut Session) -> Outcome<Value> {
        let option = self.option_of(field);
        if self.is_duration(field) {
            let seconds = Seconds::read_option(word.parse().ok().as_ref(), &option)?;
            let per_second = if field.name.ends_with("_ms") { 1000 } else { 1 };
            return Ok(seconds.map(|seconds| seconds.saturating_mul(per_second)).into());
        }
        Ok(match field.kind {
            Kind::Integer | Kind::Integers => word.parse::<Number>().unwrap_or(Number::from(0)).read(&option)?.into(),
            Kind::Time => {
                let moment = Moment::read_past(&option, word)?;
                moment.resolve(&option, session.now().await?)?.to_string().into()
            }
            Kind::Json => json_value(&option, word)?,
            Kind::Number => tenure_api::request::value_of(field.kind, word)
                .map_err(|why| Refusal::new(codes::USAGE, format!("--{option} is {word:?}."), why, "Give a number."))?,
            Kind::Text | Kind::Texts | Kind::Boolean => word.into(),
        })
    }

    fn shown(&self, operation: &O, answer: &O::Answer, whole: &Value, session: &Session) -> Outcome {
        // Any change of what governs plans may wait for a second admin instead.
        if whole["pending"] == true && O::status(answer) == 202 {
            return super::governance::changed(session, "", whole);
        }
        match &self.show {
            Show::Sentence(sentence) => session.out.done(&sentence(operation, answer), whole, self.quiet),
            Show::Fields(first) => {
                let mut whole = whole.clone();
                if let (Some(row), Format::People) = (self.row, session.out.format) {
                    row(&mut whole);
                }
                session.out.object(&whole, first, self.quiet)
            }
            Show::Table(columns, empty) => {
                let mut items = whole["items"].as_array().cloned().unwrap_or_default();
                if let (Some(row), Format::People) = (self.row, session.out.format) {
                    items.iter_mut().for_each(row);
                }
                let filtered = || members(operation).keys().any(|name| name != "limit");
                let empty = self
                    .unmatched
                    .filter(|_| items.is_empty() && filtered())
                    .unwrap_or(empty);
                session.out.list(columns, &items, self.quiet, empty)?;
                if let Some(next) = whole["next"].as_str() {
                    session.out.note(&format!("There may be more: --cursor {next}"));
                }
                Ok(())
            }
        }
    }
}

/// The name of a field among the arguments. Those of every command, such as `tenant`, have names without a dot.
fn arg_id(field: &str) -> String {
    format!("field.{field}")
}

/// The word that stands beside this field.
fn word_of(words: &[(&'static str, &'static str)], field: &Field) -> Option<&'static str> {
    words.iter().find(|(of, _)| *of == field.name).map(|(_, word)| *word)
}

/// An id, in its usual form.
fn id(word: &str) -> Result<String, uuid::Error> {
    word.parse().map(|id: Uuid| id.to_string())
}

/// The help of a field, without a full stop at its end.
fn help(field: &Field) -> String {
    field.help().trim_end_matches('.').replace('\n', " ")
}

/// An argument that only the operation behind a flag takes.
fn with_flag(arg: Arg, flag: &'static str) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("With --{flag}: {help}")).requires(flag)
}

fn value_name(field: &Field, option: &str) -> String {
    match field.kind {
        Kind::Integer | Kind::Integers | Kind::Number => "N".to_owned(),
        Kind::Time => "TIME".to_owned(),
        Kind::Json => "JSON|@FILE|-".to_owned(),
        _ if ["note", "reason", "comment", "message"].contains(&option) => "TEXT".to_owned(),
        _ if option == "on-behalf-of" => "NAME".to_owned(),
        _ => option.trim_end_matches("-id").to_uppercase().replace('-', "_"),
    }
}

/// Shows the words that are known, and takes any: which ones there are is for the database to say.
#[derive(Clone)]
struct Words(Vec<PossibleValue>);

impl TypedValueParser for Words {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().cloned()))
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// The command of any operation.
pub(crate) trait Command: Sync {
    /// Its word.
    fn name(&self) -> &'static str;
    /// Its arguments.
    fn clap(&self) -> clap::Command;
    /// Carries it out and shows the answer.
    fn run<'a>(&'a self, given: &'a ArgMatches, session: &'a mut Session) -> Running<'a>;
}

impl<O: Perform> Command for Verb<O> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn clap(&self) -> clap::Command {
        let description = describe::<O>();
        let about = self.about.unwrap_or(&description.summary);
        let mut command = clap::Command::new(self.name).about(about);
        if !description.details.is_empty() {
            command = command.long_about(format!("{about}\n\n{}", description.details));
        }
        if let Some(alias) = self.alias {
            command = command.visible_alias(alias);
        } else if O::SHAPE == Shape::Rows && self.name == "list" {
            command = command.visible_alias("ls");
        }
        for field in description.fields.iter().filter(|field| self.is_offered(field)) {
            command = command.arg(self.arg(field));
        }
        if let Some((flag, help, other)) = self.instead {
            command = command.arg(Arg::new(flag).long(flag).help(help).action(ArgAction::SetTrue));
            let is_new = |arg: &&Arg| !command.get_arguments().any(|own| own.get_id() == arg.get_id());
            let more: Vec<Arg> = other.clap().get_arguments().filter(is_new).cloned().collect();
            command = command.args(more.into_iter().map(|arg| with_flag(arg, flag)));
        }
        match self.example {
            Some(example) => command.after_help(example),
            None => command,
        }
    }

    fn run<'a>(&'a self, given: &'a ArgMatches, session: &'a mut Session) -> Running<'a> {
        Box::pin(async move {
            if let Some((flag, _, other)) = self.instead
                && given.get_flag(flag)
            {
                return other.run(given, session).await;
            }
            let members = self.members(given, session).await?;
            let operation: O = serde_json::from_value(Value::Object(members)).map_err(|error| {
                Refusal::new(
                    codes::USAGE,
                    "The command line cannot be understood.",
                    error.to_string(),
                    format!("See tenure help {}.", self.name),
                )
            })?;
            let (mut answer, mut whole) = session.perform(&operation).await?;
            if O::HAS_HINTS {
                hints::in_answer(Surface::Command, &mut whole);
                answer = O::Answer::deserialize(&whole).unwrap_or(answer);
            }
            self.shown(&operation, &answer, &whole, session)?;
            if let Some(note) = self.note.and_then(|note| note(&operation, &answer)) {
                session.out.note(&note);
            }
            Ok(())
        })
    }
}

/// The verbs of a noun.
pub(crate) trait Noun {
    /// Its verbs, in the order of the help.
    const VERBS: &'static [&'static dyn Command];
}

/// The verb of a noun that a command line names, for `#[command(subcommand)]` or, beside commands of another form,
/// `#[command(flatten)]`.
pub(crate) struct Chosen<N> {
    verb: &'static dyn Command,
    given: ArgMatches,
    noun: PhantomData<N>,
}

impl<N: Noun> Chosen<N> {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        self.verb.run(&self.given, &mut session).await
    }
}

impl<N> fmt::Debug for Chosen<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chosen").field(&self.verb.name()).finish()
    }
}

impl<N: Noun> FromArgMatches for Chosen<N> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Chosen<N>, clap::Error> {
        let chosen = matches.subcommand();
        let chosen = chosen.and_then(|(name, given)| Some((N::VERBS.iter().find(|verb| verb.name() == name)?, given)));
        let Some((verb, given)) = chosen else {
            return Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand));
        };
        Ok(Chosen {
            verb: *verb,
            given: given.clone(),
            noun: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Chosen::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<N: Noun> Subcommand for Chosen<N> {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        command
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(N::VERBS.iter().map(|verb| verb.clap()))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        N::VERBS.iter().any(|verb| verb.name() == name)
    }
}
