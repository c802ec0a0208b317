//! What an operation is.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A call of one SQL function. Each field is the argument `p_<field>`; a field that is `None` is left out, so that the default
/// of the function holds.
///
/// The first line of the struct's documentation is the summary of the operation on every surface, the rest its description.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static {
    /// The operation id of OpenAPI, and the name of the tool.
    const NAME: &'static str;
    /// The SQL function that is called, whose grants say which roles may do it.
    const FUNCTION: &'static str = Self::NAME;
    /// Where it is in the API.
    const ROUTE: Route;
    /// What it does to the world.
    const EFFECT: Effect;
    /// What the SQL function returns.
    const SHAPE: Shape = Shape::Value;
    /// How a list goes on: pairs of an argument and the column of the last row that it takes its value from. Such an operation has
    /// the fields `cursor` and `limit`.
    const CURSOR: &'static [(&'static str, &'static str)] = &[];
    /// Fields that the server reads and the SQL function does not take.
    const BESIDE: &'static [&'static str] = &[];
    /// Members called `next` or `next_step` in the answer are next steps, which each surface puts into its own words.
    const HAS_HINTS: bool = false;
    /// The answer.
    type Answer: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// The HTTP status of an answer; one of those of the route.
    fn status(_answer: &Self::Answer) -> u16 {
        Self::ROUTE.statuses[0].0
    }

    /// Whether the answer holds a secret, so that it is kept nowhere.
    fn holds_secret(_answer: &Self::Answer) -> bool {
        false
    }
}

/// What an operation does to the world. Clients see by it whether a call changes something, tools whether to warn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Reads,
    /// It changes something each time it is called.
    Changes,
    /// It changes something; calling it twice has the same result as calling it once.
    Idempotent,
    /// It removes something that does not come back.
    Destroys,
}

/// What a SQL function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One `jsonb`: the answer itself.
    Value,
    /// One row, whose columns are the fields of the answer.
    Row,
    /// Rows: the `items` of a [`Page`](crate::Page).
    Rows,
    /// Rows of one `jsonb` column each, whose values are the `items` of a [`Page`](crate::Page).
    Values,
}

/// Where an operation is in the HTTP API.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The HTTP method.
    pub method: &'static str,
    /// The path; a segment in braces is a field.
    pub path: &'static str,
    /// The group that the documentation shows it in.
    pub tag: &'static str,
    /// The field whose members are the members of the request body.
    pub spec: Option<&'static str>,
    /// Fields that are in the query although there is a body.
    pub query: &'static [&'static str],
    /// The statuses of answers, with their meaning.
    pub statuses: &'static [(u16, &'static str)],
}

impl Route {
    const fn new(method: &'static str, path: &'static str, tag: &'static str) -> Route {
        Route {
            method,
            path,
            tag,
            spec: None,
            query: &[],
            statuses: &[(200, "Done")],
        }
    }

    /// A read without a body.
    pub const fn get(path: &'static str, tag: &'static str) -> Route {
        Route::new("GET", path, tag).answers(&[(200, "Found")])
    }

    /// An action.
    pub const fn post(path: &'static str, tag: &'static str) -> Route {
        Route::new("POST", path, tag)
    }

    /// A whole thing, made or replaced.
    pub const fn put(path: &'static str, tag: &'static str) -> Route {
        Route::new("PUT", path, tag)
    }

    /// Changes to a thing: a member that is null is cleared, one that is missing stays as it is.
    pub const fn patch(path: &'static str, tag: &'static str) -> Route {
        Route::new("PATCH", path, tag)
    }

    /// A thing is removed.
    pub const fn delete(path: &'static str, tag: &'static str) -> Route {
        Route::new("DELETE", path, tag)
    }

    /// The members of the body are those of this field. Other fields of the operation may stand among them.
    pub const fn spec(mut self, field: &'static str) -> Route {
        self.spec = Some(field);
        self
    }

    /// These fields are in the query, though there is a body.
    pub const fn in_query(mut self, fields: &'static [&'static str]) -> Route {
        self.query = fields;
        self
    }

    /// The statuses of answers; the first one is the usual.
    pub const fn answers(mut self, statuses: &'static [(u16, &'static str)]) -> Route {
        self.statuses = statuses;
        self
    }

    /// Whether a request has a body.
    pub fn has_body(&self) -> bool {
        !matches!(self.method, "GET" | "DELETE")
    }

    /// The fields that are in the path.
    pub fn path_fields(&self) -> impl Iterator<Item = &'static str> + use<> {
        let segments = self.path.split('/');
        segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Whether this field is in the path.
    pub fn is_in_path(&self, field: &str) -> bool {
        self.path_fields().any(|name| name == field)
    }
}
