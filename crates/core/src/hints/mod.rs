//! Hints in the words of the surface on which they are read: no SQL at the prompt, no command over HTTP.
//!
//! Hints are written once, where the refusal is made, and name the next step as a call of a SQL function or as a command. Each
//! surface shows them in its own words, by the table of [`verbs`].

pub mod verbs;

use std::borrow::Cow;

use serde_json::Map;

use crate::json;
use verbs::{NO_REQUEST, PHRASES, VERBS, Verb};

/// Where a hint is read. SQL shows it as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The command line.
    Command,
    /// An answer over HTTP.
    Request,
}

/// The hint in the words of this surface. What names no step stays as it is.
///
/// ```
/// use tenure_core::hints::{Surface, on};
///
/// let hint = "An operator opens it: select tenure.gate_set('queue.worker.enabled', 'open').";
/// assert_eq!(on(Surface::Command, hint), "An operator opens it: tenure gate open queue.worker.enabled.");
/// assert_eq!(
///     on(Surface::Request, hint),
///     "An operator opens it: PUT /v1/gates/queue.worker.enabled with {\"position\": \"open\"}."
/// );
/// ```
pub fn on(surface: Surface, hint: &str) -> String {
    let mut hint = Cow::Borrowed(hint);
    for [sql, command, request] in PHRASES {
        let (from, to) = match surface {
            Surface::Command => ([sql, request], command),
            Surface::Request => ([sql, command], request),
        };
        for phrase in from {
            if hint.contains(phrase) {
                hint = hint.replace(phrase, to).into();
            }
        }
    }
    let mut shown = String::with_capacity(hint.len());
    let mut rest = hint.as_ref();
    let mut is_word = false;
    while let Some(letter) = rest.chars().next() {
        let found = if is_word { None } else { step(surface, rest) };
        if let Some(Step { verb, values, length }) = found {
            if rest.starts_with("tenure.") {
                without_select(&mut shown);
            }
            write(&mut shown, surface, verb, &values);
            rest = &rest[length..];
            is_word = true;
        } else {
            shown.push(letter);
            rest = &rest[letter.len_utf8()..];
            is_word = letter.is_alphanumeric() || "._/-".contains(letter);
        }
    }
    shown
}

/// What callers wrote, which is never a hint.
const CONTENT: &[&str] = &["payload", "result"];

/// An answer with each `next` and `next_step` in it in the words of this surface, such as the reasons why a job is not running.
pub fn in_answer(surface: Surface, answer: &mut serde_json::Value) {
    match answer {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    serde_json::Value::String(hint) if name == "next" || name == "next_step" => {
                        *hint = on(surface, hint)
                    }
                    _ if CONTENT.contains(&name.as_str()) => {}
                    value => in_answer(surface, value),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| in_answer(surface, value)),
        _ => {}
    }
}

/// A step that a hint names, and how much of the text does.
struct Step<'a> {
    verb: &'static Verb,
    values: Vec<Value<'a>>,
    length: usize,
}

/// What stands for an argument: a value, or the name of one.
enum Value<'a> {
    Given(Cow<'a, str>),
    Named(String),
}

/// The step whose name begins here, if it is in the words of another surface.
fn step(surface: Surface, text: &str) -> Option<Step<'_>> {
    if let Some(step) = as_function(text) {
        return Some(step);
    }
    match surface {
        Surface::Command => as_request(text),
        Surface::Request => as_command(text),
    }
}

/// `tenure.job_cancel(job, reason)`, or the name alone.
fn as_function(text: &str) -> Option<Step<'_>> {
    let after = text.strip_prefix("tenure.")?;
    let end = after
        .find(|letter: char| !letter.is_ascii_lowercase() && letter != '_')
        .unwrap_or(after.len());
    let verb = VERBS.iter().find(|verb| verb.function == &after[..end])?;
    let mut length = "tenure.".len() + end;
    let mut values = Vec::new();
    if let Some(inner) = after[end..].strip_prefix('(') {
        let close = closing(inner)?;
        values = parts(&inner[..close]).map(value).collect();
        length += close + 2;
    }
    Some(Step { verb, values, length })
}

/// Where the parenthesis that was open before this text closes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quoted) = (0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The arguments of a call.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quoted) = (0, false);
    let split = text.split(move |letter: char| {
        match letter {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0 && !quoted
    });
    split.map(str::trim).filter(|part| !part.is_empty())
}

/// `'open'` is a value, `job` the name of one.
fn value(argument: &str) -> Value<'_> {
    let quoted = argument.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    match quoted {
        Some(inside) => Value::Given(inside.replace("''", "'").into()),
        None if argument.chars().all(|it| it.is_ascii_lowercase() || it == '_') => Value::Named(argument.to_owned()),
        None => Value::Given(argument.into()),
    }
}

/// `tenure job show 7`, with what belongs to it.
fn as_command(text: &str) -> Option<Step<'_>> {
    let after = text.strip_prefix("tenure ")?;
    let named = VERBS.iter().filter_map(|verb| {
        let words = words_of(verb);
        let rest = after.strip_prefix(words)?;
        let is_whole = !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '-');
        is_whole.then_some((verb, words.len()))
    });
    let (verb, named) = named.max_by_key(|(_, length)| *length)?;
    let mut length = "tenure ".len() + named;
    let mut values = Vec::new();
    let places = verb.command.split(" --").next().map_or(0, |it| it.matches('$').count());
    while values.len() < places
        && let Some((word, next)) = word_at(text, length)
        && !word.starts_with("--")
    {
        values.push(typed(word));
        length = next;
    }
    while let Some((option, next)) = word_at(text, length)
        && option.starts_with("--")
    {
        length = next;
        if let Some((word, next)) = word_at(text, length)
            && !word.starts_with("--")
        {
            values.push(typed(word));
            length = next;
        }
    }
    Some(Step { verb, values, length })
}

/// The words of its command before the first argument, without the program.
fn words_of(verb: &Verb) -> &'static str {
    let command = verb.command.strip_prefix("tenure ").unwrap_or(verb.command);
    let end = [command.find(" $"), command.find(" --")];
    &command[..end.into_iter().flatten().min().unwrap_or(command.len())]
}

/// The word behind a space at this place, without the sentence's punctuation, and where it ends. A quoted one may have spaces.
fn word_at(text: &str, from: usize) -> Option<(&str, usize)> {
    let rest = text[from..].strip_prefix(' ')?;
    let end = match rest.strip_prefix('\'') {
        Some(inside) => inside.find('\'')? + 2,
        None => rest.find(' ').unwrap_or(rest.len()),
    };
    let word = rest[..end].trim_end_matches(['.', ',', ';', ':', ')']);
    (!word.is_empty()).then_some((word, from + 1 + word.len()))
}

/// `'a b'` as a shell reads it; `TEXT` is the name of a value.
fn typed(word: &str) -> Value<'_> {
    match word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inside) => Value::Given(inside.into()),
        None if word.chars().all(|it| it.is_ascii_uppercase() || it == '_') => Value::Named(word.to_lowercase()),
        None => Value::Given(word.into()),
    }
}

/// `GET /v1/jobs/7`, with the body that a hint shows.
fn as_request(text: &str) -> Option<Step<'_>> {
    let (method, after) = text.split_once(' ')?;
    if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method) {
        return None;
    }
    let end = after.find(' ').unwrap_or(after.len());
    let path = after[..end].trim_end_matches(['.', ',', ';', ':', ')']);
    let (verb, mut values) = VERBS.iter().find_map(|verb| {
        let (known, shape) = verb.request.split(" with ").next()?.split_once(' ')?;
        (known == method)
            .then(|| values_of(shape, path))
            .flatten()
            .map(|values| (verb, values))
    })?;
    let mut length = method.len() + 1 + path.len();
    if let Some((body, end)) = text[length..].strip_prefix(" with ").and_then(object) {
        let shape = verb.request.split_once(" with ").and_then(|(_, shape)| object(shape));
        values.extend(values_in(&shape.unwrap_or_default().0, &body));
        length += " with ".len() + end;
    }
    Some(Step { verb, values, length })
}

/// The JSON object that begins here, and where it ends.
fn object(text: &str) -> Option<(Map<String, serde_json::Value>, usize)> {
    // A hint may come from a server that is not ours.
    json::check(text.as_bytes()).ok()?;
    let mut read = serde_json::Deserializer::from_str(text).into_iter();
    let found = read.next()?.ok()?;
    Some((found, read.byte_offset()))
}

/// What stands in a body for the arguments of this shape, in their order.
fn values_in(shape: &Map<String, serde_json::Value>, body: &Map<String, serde_json::Value>) -> Vec<Value<'static>> {
    let numbered = shape.iter().filter_map(|(name, place)| {
        let number: usize = place.as_str()?.strip_prefix('$')?.parse().ok()?;
        Some((number, body.get(name)?.as_str()?))
    });
    let mut numbered: Vec<(usize, &str)> = numbered.collect();
    numbered.sort_unstable();
    let value = |text: &str| named_in_braces(text).unwrap_or_else(|| Value::Given(text.to_owned().into()));
    numbered.into_iter().map(|(_, text)| value(text)).collect()
}

/// What stands in a path for the arguments of this shape.
fn values_of(shape: &str, path: &str) -> Option<Vec<Value<'static>>> {
    let parts = |text: &'_ str| text.split(['/', '?']).map(str::to_owned).collect::<Vec<_>>();
    let (shape, path) = (parts(shape), parts(path));
    if shape.len() != path.len() {
        return None;
    }
    let mut values = Vec::new();
    for (shape, part) in shape.into_iter().zip(path) {
        // `$1`, or a parameter such as `part=$1`.
        if let Some(at) = shape.find('$') {
            values.push(of_path(part.strip_prefix(&shape[..at])?));
        } else if shape != part {
            return None;
        }
    }
    Some(values)
}

fn of_path(part: &str) -> Value<'static> {
    named_in_braces(part).unwrap_or_else(|| Value::Given(decoded(part).into()))
}

/// `{job}` is the name of a value.
fn named_in_braces(text: &str) -> Option<Value<'static>> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    Some(Value::Named(name.to_owned()))
}

/// Takes away the SQL around a call.
fn without_select(shown: &mut String) {
    for around in ["select * from ", "select key from ", "select "] {
        if let Some(kept) = shown.strip_suffix(around) {
            shown.truncate(kept.len());
            return;
        }
    }
}

fn write(shown: &mut String, surface: Surface, verb: &Verb, values: &[Value<'_>]) {
    let shape = match surface {
        Surface::Command => verb.command,
        Surface::Request if verb.request.is_empty() => NO_REQUEST,
        Surface::Request => verb.request,
    };
    let mut letters = shape.chars();
    let mut in_body = false;
    while let Some(letter) = letters.next() {
        if letter != '$' {
            // The body of a request is the only part in braces.
            in_body |= letter == '{';
            shown.push(letter);
            continue;
        }
        let place = letters
            .next()
            .and_then(|it| it.to_digit(10))
            .map_or(0, |it| it as usize - 1);
        let name = || verb.arguments.get(place).copied().unwrap_or("value");
        match (surface, values.get(place)) {
            (Surface::Command, Some(Value::Given(value))) => shown.push_str(&for_shell(value)),
            (Surface::Command, Some(Value::Named(name))) => shown.push_str(&name.to_uppercase()),
            (Surface::Command, None) => shown.push_str(&name().to_uppercase()),
            (Surface::Request, Some(Value::Given(value))) if in_body => shown.push_str(&for_body(value)),
            (Surface::Request, Some(Value::Given(value))) => shown.push_str(&for_path(value)),
            (Surface::Request, Some(Value::Named(name))) => shown.push_str(&format!("{{{name}}}")),
            (Surface::Request, None) => shown.push_str(&format!("{{{}}}", name())),
        }
    }
}

/// A value as a shell takes it.
fn for_shell(value: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@".contains(letter);
    match value.chars().all(is_plain) {
        true => value.into(),
        false => format!("'{}'", value.replace('\'', r"'\''")).into(),
    }
}

/// A value as a part of a path.
fn for_path(value: &str) -> String {
    let mut path = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-~:@".contains(&byte) {
            path.push(byte as char);
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

/// A value between the quotes of a JSON text.
fn for_body(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn decoded(part: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let [first, others @ ..] = rest {
        let coded = others.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match coded.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &others[2..];
            }
            _ => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
