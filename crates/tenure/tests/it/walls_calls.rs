//! Calls of every function that a role may call, with arguments that point to what a scene holds. No call is written down: the
//! arguments are in the catalogue, their words and bounds in the registry of operations, and their values in the scene.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use tenure_api::registry::ENTRIES;
use tokio_postgres::Client;

use crate::fixture::rows;
use crate::grants::{Granted, granted};

/// Values of arguments as texts, by `argument`, `noun/argument` or `function/argument`; the longest key that fits counts. The values of
/// arguments that belong together, such as a job and its token, stand in the same order.
pub(crate) type Values = BTreeMap<String, Vec<String>>;

/// One call.
#[derive(Clone)]
pub(crate) struct Call {
    /// The function.
    pub(crate) function: String,
    /// Its arguments, each with the text of its value and its type.
    given: Vec<(String, String, String)>,
}

impl Call {
    /// A statement that answers one text.
    pub(crate) fn sql(&self) -> String {
        format!("select coalesce(string_agg(x::text, ' '), '') from {self} x")
    }

    /// An answer without what was given: a refusal may repeat it.
    pub(crate) fn without_echo(&self, answer: &str) -> String {
        let given = self.given.iter().map(|(_, value, _)| value.as_str());
        // The elements of an array, and the texts within JSON.
        let parts = given.clone().flat_map(|value| value.split(['{', '}', '"', ',']));
        let mut parts: Vec<&str> = given.chain(parts).filter(|part| part.len() > 1).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        parts
            .iter()
            .fold(answer.to_owned(), |text, part| text.replace(part, ""))
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(name, value, kind): &(String, String, String)| {
            format!("{name} => '{}'::{kind}", value.replace('\'', "''"))
        };
        let arguments: Vec<String> = self.given.iter().map(one).collect();
        write!(f, "tenure.{}({})", self.function, arguments.join(", "))
    }
}

/// An argument of a function.
struct Argument {
    name: String,
    type_name: String,
    is_required: bool,
}

async fn arguments(c: &Client) -> BTreeMap<String, Vec<Argument>> {
    let sql =
        "select p.proname::text, coalesce(p.proargnames[t.at], ''), format_type(t.type, null), t.at <= p.pronargs - p.pronargdefaults
                 from pg_proc p
                 cross join unnest(p.proargtypes::oid[]) with ordinality t (type, at)
                where p.pronamespace = 'tenure'::regnamespace
                order by p.proname, t.at";
    let mut found: BTreeMap<String, Vec<Argument>> = BTreeMap::new();
    for row in rows(c, sql, &[]).await {
        found.entry(row.get(0)).or_default().push(Argument {
            name: row.get::<_, String>(1).trim_start_matches("p_").to_owned(),
            type_name: row.get(2),
            is_required: row.get(3),
        });
    }
    found
}

/// A function, and the `try_` form of it, have the same arguments.
fn base(function: &str) -> &str {
    function.strip_prefix("try_").unwrap_or(function)
}

/// The schema of the field behind an argument, if an operation has one.
fn field(function: &str, argument: &str) -> Option<(Value, Vec<String>)> {
    let entries = ENTRIES.iter().filter(|entry| entry.function == base(function));
    let mut fields = entries.flat_map(|entry| &(entry.describe)().fields);
    let field = fields.find(|field| field.name == argument)?;
    Some((
        field.schema.clone(),
        field.words().into_iter().map(str::to_owned).collect(),
    ))
}

fn array(elements: &[String]) -> String {
    let quoted = elements
        .iter()
        .map(|it| format!("\"{}\"", it.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

/// The values to try for an argument; none if the scene has none and its type does not say one.
fn candidates(function: &Granted, argument: &Argument, values: &Values) -> Vec<String> {
    let name = argument.name.as_str();
    let base = base(&function.name);
    let in_scene = |name: &str| {
        let keys = [
            format!("{}/{name}", function.name),
            format!("{base}/{name}"),
            format!("{}/{name}", function.noun),
            name.to_owned(),
        ];
        keys.iter().find_map(|key| values.get(key)).cloned()
    };
    if let Some(found) = in_scene(name) {
        return found;
    }
    let is_array = argument.type_name.ends_with("[]");
    if is_array {
        let singular = name.strip_suffix("ies").map(|stem| format!("{stem}y"));
        let singular = singular.or(name.strip_suffix('s').map(str::to_owned));
        if let Some(found) = singular.and_then(|singular| in_scene(&singular)) {
            return found.into_iter().map(|it| array(&[it])).collect();
        }
    }
    let (schema, words) = field(&function.name, name).unwrap_or_default();
    if !words.is_empty() {
        return if is_array { vec![array(&words)] } else { words };
    }
    let one = match argument.type_name.as_str() {
        "boolean" => "true".to_owned(),
        "smallint" | "integer" | "bigint" => schema["minimum"].as_i64().unwrap_or(1).to_string(),
        "timestamp with time zone" => "now".to_owned(),
        "json" | "jsonb" => "{}".to_owned(),
        _ => return Vec::new(),
    };
    vec![one]
}

/// Calls of one function: with the required arguments alone, for each of their values; with each optional argument besides; and with
/// all of them.
fn calls_of(function: &Granted, arguments: &[Argument], values: &Values) -> Vec<Call> {
    let mut required = Vec::new();
    let mut optional = Vec::new();
    for argument in arguments {
        let found = candidates(function, argument, values);
        // An id points to something, so it must point to something of the scene.
        let must_be_known = argument.is_required || argument.type_name.starts_with("uuid");
        assert!(
            !found.is_empty() || !must_be_known,
            "tenure.{name}: the scene has no value for {argument} ({kind}). Add one to `values` in walls_scene.rs, under \"{argument}\", \
             \"{noun}/{argument}\" or \"{name}/{argument}\": something of the furnished tenant that a stranger must not reach.",
            name = function.name,
            argument = argument.name,
            kind = argument.type_name,
            noun = function.noun,
        );
        match argument.is_required {
            true => required.push((argument, found)),
            false if !found.is_empty() => optional.push((argument, found)),
            false => {}
        }
    }
    let given = |argument: &Argument, value: &String| {
        (
            format!("p_{}", argument.name),
            value.clone(),
            argument.type_name.clone(),
        )
    };
    let call = |given: Vec<(String, String, String)>| Call {
        function: function.name.clone(),
        given,
    };
    let with = |at: usize| -> Vec<_> {
        let value = |found: &'_ Vec<String>| found[at.min(found.len() - 1)].clone();
        required
            .iter()
            .map(|(argument, found)| given(argument, &value(found)))
            .collect()
    };
    let rounds = required.iter().map(|(_, found)| found.len()).max().unwrap_or(1);
    let mut calls: Vec<Call> = (0..rounds).map(|at| call(with(at))).collect();
    for (argument, found) in &optional {
        calls.extend(
            found
                .iter()
                .map(|value| call([with(0), vec![given(argument, value)]].concat())),
        );
    }
    if optional.len() > 1 {
        let all = optional
            .iter()
            .map(|(argument, found)| given(argument, &found[0]))
            .collect();
        calls.push(call([with(0), all].concat()));
    }
    calls
}

/// Calls of every function that a role other than the trusted server's may call, by function.
pub(crate) async fn calls(c: &Client, values: &Values) -> BTreeMap<String, Vec<Call>> {
    let arguments = arguments(c).await;
    let none = Vec::new();
    let granted = granted();
    let open = granted.values().filter(|function| function.roles.len() > 1);
    open.map(|function| {
        let arguments = arguments.get(&function.name).unwrap_or(&none);
        (function.name.clone(), calls_of(function, arguments, values))
    })
    .collect()
}
