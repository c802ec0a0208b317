//! What a request brings, read strictly: a name that nobody knows is refused with the nearest one that is known.

use std::fmt;
use std::marker::PhantomData;

use axum::body::Body;
use axum::body::HttpBody;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tenure_core::codes;
use tenure_core::names::nearest;
use uuid::Uuid;

use super::BODY_BYTES_MAX;
use super::problem::Problem;

/// A JSON body.
pub(super) struct Strict<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Strict<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Strict<T>, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::new(
                codes::MEDIA_TYPE_UNSUPPORTED,
                "The body is not said to be JSON.",
                "This call takes a JSON object.",
                "Send it with the header Content-Type: application/json.",
            ));
        }
        let bytes = read(request.into_body()).await?;
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let read = serde_path_to_error::deserialize(&mut reader);
        let value = read.map_err(|error| wrong(&error.path().to_string(), error.inner(), "The body"))?;
        reader.end().map_err(|error| wrong(".", &error, "The body"))?;
        let Object(value) = value;
        Ok(Strict(value))
    }
}

/// A JSON object. Serde would take an array for one too, its values for the fields in their order.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// The part of a URL after the question mark.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query<T>, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let reader = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
        match serde_path_to_error::deserialize(reader) {
            Ok(value) => Ok(Query(value)),
            Err(error) => Err(wrong(&error.path().to_string(), error.inner(), "The query")),
        }
    }
}

/// The id in a path.
pub(super) struct Id(pub(super) Uuid);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Id, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .unwrap_or(Path(String::new()));
        text.parse().map(Id).map_err(|_| {
            Problem::new(
                codes::REQUEST_INVALID,
                format!("{text:?} is no id."),
                "An id is a UUID, such as 01990000-0000-7000-8000-000000000001.",
                "Copy it from an answer.",
            )
        })
    }
}

/// The name in a path.
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Name, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Name(name)),
            Err(error) => Err(Problem::new(
                codes::REQUEST_INVALID,
                "The path holds no name.",
                error.body_text(),
                "Names are UTF-8, with percent signs where a URL needs them.",
            )),
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// So large a body is read before anything is decided.
const SMALL_BYTES_MAX: u64 = 64 * 1024;

/// Reads a small body before the request is looked at. One that is refused before its body was read would end the
/// connection, and whoever uses it again would find it closed.
pub(super) async fn small_first(request: Request, next: Next) -> Response {
    if request
        .body()
        .size_hint()
        .upper()
        .is_none_or(|bytes| bytes > SMALL_BYTES_MAX)
    {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    match read(body).await {
        Ok(bytes) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(problem) => problem.into_response(),
    }
}

/// The whole body. What is too large is read on for a while and thrown away: whoever is still writing does not hear.
async fn read(mut body: Body) -> Result<Vec<u8>, Problem> {
    let (mut bytes, mut seen) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Problem::new(
                codes::REQUEST_INVALID,
                "The body could not be read.",
                error.to_string(),
                "Send it again.",
            )
        })?;
        let Some(data) = frame.data_ref() else { continue };
        seen += data.len();
        if seen <= BODY_BYTES_MAX {
            bytes.extend_from_slice(data);
        } else if seen > 2 * BODY_BYTES_MAX {
            break;
        }
    }
    if seen <= BODY_BYTES_MAX {
        return Ok(bytes);
    }
    Err(Problem::new(
        codes::REQUEST_TOO_LARGE,
        "The body is too large.",
        format!("A server reads no more than {BODY_BYTES_MAX} bytes."),
        "Send less at once; large data belongs into an artifact.",
    ))
}

/// Tells what is wrong with the input, and where.
fn wrong(path: &str, error: &dyn std::error::Error, of: &str) -> Problem {
    let text = error.to_string();
    let place = if path == "." || path.is_empty() {
        String::new()
    } else {
        format!(" at {path}")
    };
    let next = match unknown(&text) {
        Some((name, known)) => match nearest(&name, known.iter().map(String::as_str)) {
            Some(near) => format!("Did you mean {near}?"),
            None => format!("Known here: {}.", known.join(", ")),
        },
        None => "Mend it, and send it again; /openapi.json says what this call takes.".to_owned(),
    };
    Problem::new(
        codes::REQUEST_INVALID,
        format!("{of} cannot be read{place}."),
        text,
        next,
    )
}

/// The unknown name in an error of serde's, and those it knows.
fn unknown(text: &str) -> Option<(String, Vec<String>)> {
    if !text.starts_with("unknown field") && !text.starts_with("unknown variant") {
        return None;
    }
    let mut quoted = text.split('`').skip(1).step_by(2).map(str::to_owned);
    let name = quoted.next()?;
    Some((name, quoted.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unknown_and_the_known_names_are_told_apart() {
        let text = "unknown field `knd`, expected one of `kind`, `payload` at line 1 column 6";
        let (name, known) = unknown(text).expect("it is one");
        assert_eq!(
            (name.as_str(), known),
            ("knd", vec!["kind".to_owned(), "payload".to_owned()])
        );
        assert_eq!(unknown("invalid type: integer `7`, expected a string"), None);
    }
}
