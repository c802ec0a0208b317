//! What a request brings, read strictly: a name that nobody knows is refused with the nearest one that is known.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use tenure_core::names::nearest;
use tenure_core::{codes, json};
use uuid::Uuid;

use super::Server;
use super::bounds::Reserved;
use super::problem::Problem;
use super::requests::Keyed;

/// Values in one body, names of fields among them.
const VALUES_MAX: usize = 500_000;
/// Memory that a value takes, roughly.
const VALUE_BYTES: usize = 128;

/// A JSON body.
pub(super) struct Strict<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Server>> for Strict<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, server: &Arc<Server>) -> Result<Strict<T>, Problem> {
        let bytes = json_bytes(request, server).await?;
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let read = serde_path_to_error::deserialize(&mut reader);
        let value = read.map_err(|error| wrong(&error.path().to_string(), &error.inner().to_string(), "The body"))?;
        reader
            .end()
            .map_err(|error| wrong(".", &error.to_string(), "The body"))?;
        let Object(value) = value;
        Ok(Strict(value))
    }
}

/// The bytes of a JSON body, within the limits of the server.
async fn json_bytes(request: Request, server: &Arc<Server>) -> Result<Vec<u8>, Problem> {
    if !is_json(request.headers()) {
        return Err(Problem::new(
            codes::MEDIA_TYPE_UNSUPPORTED,
            "The body is not said to be JSON.",
            "This call takes a JSON object.",
            "Send it with the header Content-Type: application/json.",
        ));
    }
    let reserved = request.extensions().get::<Reserved>().cloned().unwrap_or_default();
    let keyed = request.extensions().get::<Arc<Keyed>>().cloned();
    let bytes = read(request.into_body(), server, &reserved).await?;
    server.room.for_values(cost(&bytes)?, &reserved).await?;
    if let Some(keyed) = keyed {
        keyed.note_body(&bytes);
    }
    Ok(bytes)
}

/// The members of a JSON body, and its text. A request without a body has none.
pub(super) async fn members(request: Request, server: &Arc<Server>) -> Result<(Map<String, Value>, Vec<u8>), Problem> {
    if request.body().is_end_stream() && !request.headers().contains_key(header::CONTENT_TYPE) {
        return Ok((Map::new(), Vec::new()));
    }
    let bytes = json_bytes(request, server).await?;
    if bytes.is_empty() {
        return Ok((Map::new(), Vec::new()));
    }
    let read: Result<Members, _> = json::parse_bytes(&bytes);
    read.map(|Members(members)| (members, bytes))
        .map_err(|error| wrong(".", &error.to_string(), "The body"))
}

/// The members of a JSON object, each of them once.
struct Members(Map<String, Value>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct Once;

        impl<'de> Visitor<'de> for Once {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<Members, A::Error> {
                let mut members = Map::new();
                while let Some((name, value)) = given.next_entry::<String, Value>()? {
                    if members.contains_key(&name) {
                        return Err(de::Error::custom(format!("duplicate field `{name}`")));
                    }
                    members.insert(name, value);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Once)
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

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// The whole body, read in time.
async fn read(body: Body, server: &Server, reserved: &Reserved) -> Result<Vec<u8>, Problem> {
    let bytes_max = server.limits.body_bytes_max;
    let declared = body
        .size_hint()
        .exact()
        .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let bytes = declared.unwrap_or(bytes_max);
    if bytes <= bytes_max {
        server.room.for_body(bytes, reserved).await?;
    }
    in_time(server.limits.body, collect(body, bytes, bytes_max)).await
}

async fn in_time<T>(within: Duration, reading: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let read = tokio::time::timeout(within, reading).await;
    read.unwrap_or_else(|_| {
        Err(Problem::new(
            codes::REQUEST_TIMEOUT,
            "The body did not come in time.",
            format!("A server waits {} seconds for it.", within.as_secs()),
            "Send it again, faster or in smaller parts.",
        ))
    })
}

/// The refusal of a body that is compressed, or encoded in another way: what its limit would be is not known before it is
/// decoded.
fn encoded(headers: &HeaderMap) -> Option<Problem> {
    let values = headers.get_all(header::CONTENT_ENCODING).iter();
    let codings: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let codings = codings.join(", ");
    let is_plain = |coding: &str| coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    if codings.split(',').map(str::trim).all(is_plain) {
        return None;
    }
    Some(Problem::new(
        codes::MEDIA_TYPE_UNSUPPORTED,
        format!("The body is encoded: Content-Encoding is {codings:?}."),
        "Bodies are taken as they are, without any encoding.",
        "Send it uncompressed, without the header Content-Encoding.",
    ))
}

/// So large a body is read before anything is decided.
const SMALL_BYTES_MAX: usize = 64 * 1024;

/// Reads a small body before the request is looked at. One that is refused before its body was read would end the
/// connection, and whoever uses it again would find it closed.
pub(super) async fn small_first(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let encoded = match request.body().is_end_stream() {
        true => None,
        false => encoded(request.headers()),
    };
    let announced = request.body().size_hint().upper();
    let small = announced.and_then(|bytes| usize::try_from(bytes).ok());
    let Some(bytes) = small.filter(|bytes| *bytes <= SMALL_BYTES_MAX.min(server.limits.body_bytes_max)) else {
        return match encoded {
            Some(problem) => problem.into_response(),
            None => next.run(request).await,
        };
    };
    let (parts, body) = request.into_parts();
    match in_time(server.limits.body, collect(body, bytes, SMALL_BYTES_MAX)).await {
        Ok(bytes) => match encoded {
            Some(problem) => problem.into_response(),
            None => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        },
        Err(problem) => problem.into_response(),
    }
}

/// The whole body. What is too large is read on for a while and thrown away: whoever is still writing does not hear.
async fn collect(mut body: Body, expected: usize, bytes_max: usize) -> Result<Vec<u8>, Problem> {
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
        if expected.max(seen) <= bytes_max {
            bytes.extend_from_slice(data);
        } else if seen > 2 * bytes_max {
            break;
        }
    }
    if expected.max(seen) <= bytes_max {
        return Ok(bytes);
    }
    Err(Problem::new(
        codes::REQUEST_TOO_LARGE,
        "The body is too large.",
        format!("A server reads no more than {bytes_max} bytes."),
        "Send less at once; large data belongs into an artifact.",
    ))
}

/// What the values of a text of JSON take in memory, roughly: many small ones take far more than their text. Refuses names
/// that serde_json would read as something else than a name: what they hold is not counted here.
fn cost(json: &[u8]) -> Result<usize, Problem> {
    json::check(json).map_err(|error| wrong(".", &error.to_string(), "The body"))?;
    let (mut values, mut in_text, mut escaped) = (1, false, false);
    for byte in json {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b',' | b':' | b'[' | b'{') => values += 1,
            _ => {}
        }
    }
    if values <= VALUES_MAX {
        return Ok(values * VALUE_BYTES);
    }
    Err(Problem::new(
        codes::REQUEST_TOO_LARGE,
        "The body holds too many values.",
        format!("It has about {values}, and a server takes no more than {VALUES_MAX}."),
        "Send less at once.",
    ))
}

/// Tells what is wrong with the input, and where.
pub(super) fn wrong(path: &str, text: &str, of: &str) -> Problem {
    let place = if path == "." || path.is_empty() {
        String::new()
    } else {
        format!(" at {path}")
    };
    let next = match unknown(text) {
        Some((name, known)) => match nearest(&name, known.iter().map(String::as_str)) {
            Some(near) => format!("Did you mean {near}?"),
            None if known.is_empty() => "Leave it out.".to_owned(),
            None => format!("Known here: {}.", known.join(", ")),
        },
        None => "Correct the request and send it again; /openapi.json says what this call takes.".to_owned(),
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

    #[test]
    fn values_are_counted_and_texts_are_not() {
        let values = |json: &str| cost(json.as_bytes()).expect("few") / VALUE_BYTES;
        assert_eq!(values("7"), 1);
        assert_eq!(values(r#"{"a": [1, 2], "b": ",:[{\","}"#), 7);
        let hidden = r#"{"a": {"\u0024serde_json::private::RawValue": "[1, 2]"}}"#;
        cost(hidden.as_bytes()).expect_err("values in a text");
        cost("0,".repeat(VALUES_MAX).as_bytes()).expect_err("too many");
    }
}
