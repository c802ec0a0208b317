//! Requests with an `Idempotency-Key`: carried out once, and answered as the first time when they are repeated.
//!
//! The answer is kept in the transaction of the change. So that transaction stays open until the answer is written: see
//! [`Server::call`]. A request without the header takes none of these ways.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tenure::store::requests::{self, Kept};
use tenure_core::{codes, limits};

use super::Server;
use super::act::Lent;
use super::auth::Caller;
use super::problem::Problem;

/// Names the request.
const KEY_HEADER: &str = "idempotency-key";
/// Says that an answer was given before.
const REPLAYED_HEADER: &str = "idempotency-replayed";
/// These take a body and change nothing: they ignore the header.
const READS: &[&str] = &["/v1/executions/preview", "/v1/jobs/held", "/v1/schedules/preview"];

/// A request with a key.
pub(super) struct Keyed {
    key: String,
    method: Method,
    /// With its query.
    path: String,
    /// A hash for each member of the body; set when the body was read.
    members: OnceLock<BTreeMap<String, String>>,
    stage: Mutex<Stage>,
}

/// How far a request has come.
enum Stage {
    /// Nothing was called.
    Fresh,
    /// What was called is not committed yet.
    Open {
        caller: Caller,
        lent: Box<Lent>,
        function: String,
    },
    /// Committed with an answer, which the final one replaces.
    Kept { caller: Caller, function: String },
    /// Carried out before; this was its answer.
    Repeated { status: u16, answer: String },
    /// What was called was rolled back, or it is not known whether it was committed: no answer may say that it was done.
    Lost,
}

/// Marks an answer that holds a secret: it is not kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Secret;

impl std::fmt::Debug for Keyed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyed")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Keyed {
    fn of(request: &Request) -> Result<Option<Keyed>, Problem> {
        let changes = matches!(
            *request.method(),
            Method::POST | Method::PUT | Method::PATCH | Method::DELETE
        );
        if !changes || READS.contains(&request.uri().path()) {
            return Ok(None);
        }
        let Some(key) = key_of(request.headers())? else {
            return Ok(None);
        };
        let path = request.uri().path_and_query().map_or("", |path| path.as_str());
        Ok(Some(Keyed {
            key,
            method: request.method().clone(),
            path: path.to_owned(),
            members: OnceLock::new(),
            stage: Mutex::new(Stage::Fresh),
        }))
    }

    /// Remembers what the body says, as hashes. One that is no JSON object is refused where it is read.
    pub(super) fn note_body(&self, json: &[u8]) {
        let members: BTreeMap<String, &RawValue> = serde_json::from_slice(json).unwrap_or_default();
        let hashes = members.into_iter().map(|(name, value)| {
            let hash = self.hash_of(&name, value);
            (name, hash)
        });
        let _ = self.members.set(hashes.collect());
    }

    /// Salted with the key, which is stored nowhere: a short value cannot be found by trying. White space and the order of
    /// members do not count; numbers count as they are written.
    fn hash_of(&self, name: &str, value: &RawValue) -> String {
        let value: Value = serde_json::from_str(value.get()).unwrap_or_default();
        let mut hash = Sha256::new();
        for part in [&self.key, name, &value.to_string()] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What was asked for: compared with what the key was used for.
    fn asked(&self) -> Value {
        let members = self.members.get().cloned().unwrap_or_default();
        json!({"method": self.method.as_str(), "path": self.path, "members": members})
    }

    /// Keeps the answer, and commits it with what was called.
    async fn end(&self, lent: Lent, status: StatusCode, answer: Option<&str>) -> Result<(), Problem> {
        let status = i32::from(status.as_u16());
        let (asked, client) = (self.asked(), lent.client());
        let ending = requests::request_end(client, &self.key, &asked, status, answer);
        let (ended, committed) = tokio::join!(biased; ending, client.batch_execute("commit"));
        committed.map_err(tenure::Error::from)?;
        lent.back();
        Ok(ended?)
    }

    fn set(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// The stage; where something is open, it is lost until a later stage is set.
    fn take(&self) -> Stage {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let next = match *stage {
            Stage::Open { .. } | Stage::Lost => Stage::Lost,
            _ => Stage::Fresh,
        };
        std::mem::replace(&mut *stage, next)
    }
}

/// The key in the header: a bare word, or a quoted string as the draft of the IETF has it.
fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all(KEY_HEADER).iter();
    let Some(value) = given.next() else {
        return Ok(None);
    };
    let wrong = |why: String| {
        Problem::new(
            codes::REQUEST_INVALID,
            "The header Idempotency-Key cannot be used.",
            why,
            "Send one value that no other request has, such as a UUID.",
        )
    };
    if given.next().is_some() {
        return Err(wrong("It is there twice.".to_owned()));
    }
    let text = value.to_str().unwrap_or_default();
    let key = match text.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'"')
            .then(|| text.to_owned()),
    };
    let key = key.filter(|key| (1..=limits::KEY_CHARS_MAX).contains(&key.len()));
    let why = || {
        let most = limits::KEY_CHARS_MAX;
        wrong(format!(
            "A key is 1 to {most} visible ASCII characters, bare or as a quoted string."
        ))
    };
    key.map(Some).ok_or_else(why)
}

/// The rest of a quoted string, without its end and its escapes.
fn unquoted(text: &str) -> Option<String> {
    let mut characters = text.strip_suffix('"')?.chars();
    let mut key = String::new();
    while let Some(character) = characters.next() {
        match character {
            '"' => return None,
            '\\' => key.push(characters.next().filter(|next| matches!(next, '"' | '\\'))?),
            ' '..='~' => key.push(character),
            _ => return None,
        }
    }
    // An escaped quotation mark at the end does not close the string.
    (!key.trim().is_empty()).then_some(key)
}

/// Carries a request with a key out once.
pub(super) async fn once(State(server): State<Arc<Server>>, mut request: Request, next: Next) -> Response {
    let keyed = match Keyed::of(&request) {
        Ok(Some(keyed)) => Arc::new(keyed),
        Ok(None) => return next.run(request).await,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(keyed.clone());
    let response = next.run(request).await;
    let finished = server.finish(&keyed, response).await;
    finished.unwrap_or_else(IntoResponse::into_response)
}

impl Server {
    /// Makes a call of a request with a key. The transaction stays open; further calls of the request are made in it.
    pub(super) async fn call_once<T>(
        &self,
        keyed: &Keyed,
        caller: &Caller,
        function: &str,
        work: impl AsyncFnOnce(&tokio_postgres::Client) -> tenure::Result<T>,
    ) -> Result<T, Problem> {
        let lent = match keyed.take() {
            Stage::Fresh => {
                let lent = self.begin(caller, function).await?;
                match requests::request_begin(lent.client(), &keyed.key, &keyed.asked()).await {
                    Ok(None) => lent,
                    Ok(Some(kept)) => {
                        lent.roll_back().await?;
                        return Err(repeated(keyed, kept));
                    }
                    Err(error) => {
                        lent.roll_back().await?;
                        return Err(error.into());
                    }
                }
            }
            Stage::Open { lent, .. } => self.act(*lent, caller, function).await?,
            // Its answer is kept: what comes after that is no part of it.
            kept @ Stage::Kept { .. } => {
                keyed.set(kept);
                return self.calls_apart(caller, function, work).await;
            }
            again @ Stage::Repeated { .. } => {
                keyed.set(again);
                return Err(not_kept("before", 200));
            }
            Stage::Lost => return Err(lost()),
        };
        let done = work(lent.client()).await;
        self.keys.note(caller.key_id);
        match done {
            Ok(done) => {
                let (caller, function) = (caller.apart(), function.to_owned());
                let lent = Box::new(lent);
                keyed.set(Stage::Open { caller, lent, function });
                Ok(done)
            }
            // A refusal may have something to commit: the move of a job whose deadline has passed. Other errors have nothing.
            Err(error @ tenure::Error::Refused(_)) if !error.is(codes::DATABASE_ERROR) => {
                lent.commit().await?;
                Err(error.into())
            }
            Err(error) => {
                lent.roll_back().await?;
                Err(error.into())
            }
        }
    }

    /// Commits what a request has called so far, without an answer: the next call begins it again. For those who wait and
    /// then look again.
    pub(super) async fn look_again(&self, caller: &Caller) -> Result<(), Problem> {
        let Some(keyed) = &caller.keyed else { return Ok(()) };
        match keyed.take() {
            Stage::Open { lent, .. } => {
                lent.commit().await?;
                keyed.set(Stage::Fresh);
                Ok(())
            }
            other => {
                keyed.set(other);
                Ok(())
            }
        }
    }

    /// Keeps this answer and commits what was called. For those who answer after a wait: the final answer then replaces it.
    pub(super) async fn keep<T: Serialize>(
        &self,
        caller: &Caller,
        status: StatusCode,
        answer: &T,
    ) -> Result<(), Problem> {
        let Some(keyed) = &caller.keyed else { return Ok(()) };
        match keyed.take() {
            Stage::Open { caller, lent, function } => {
                let text = serde_json::to_string(answer).ok();
                keyed.end(*lent, status, text.as_deref()).await?;
                keyed.set(Stage::Kept { caller, function });
            }
            other => keyed.set(other),
        }
        Ok(())
    }

    /// Keeps the answer to a request that was carried out, or gives that of the first time.
    async fn finish(&self, keyed: &Keyed, response: Response) -> Result<Response, Problem> {
        let stage = keyed.take();
        let lent = match stage {
            Stage::Fresh => return Ok(response),
            Stage::Repeated { status, answer } => return Ok(replay(status, answer)),
            Stage::Lost if response.status().is_success() => return Err(lost()),
            Stage::Lost => return Ok(response),
            // The answer could not be written, or a later call was refused: nothing of the request was done.
            Stage::Open { lent, .. } if !response.status().is_success() => {
                lent.roll_back().await?;
                return Ok(response);
            }
            Stage::Kept { .. } if !response.status().is_success() => return Ok(response),
            Stage::Open { lent, .. } => *lent,
            Stage::Kept { caller, function } => match self.begin(&caller, &function).await {
                Ok(lent) => lent,
                // The answer from before the wait stays.
                Err(_) => return Ok(response),
            },
        };
        let (parts, body) = response.into_parts();
        let read = body.collect().await.map_err(|error| {
            Problem::new(
                codes::DATABASE_ERROR,
                "The answer could not be written.",
                error.to_string(),
                "Send the request again, with the same Idempotency-Key.",
            )
        });
        let bytes = read?.to_bytes();
        let may_keep = parts.extensions.get::<Secret>().is_none() && bytes.len() <= limits::ANSWER_BYTES_MAX;
        let text = std::str::from_utf8(&bytes).ok().filter(|_| may_keep);
        keyed.end(lent, parts.status, text).await?;
        Ok(Response::from_parts(parts, Body::from(bytes)))
    }
}

/// The answer of the first time, or that there is none.
fn repeated(keyed: &Keyed, kept: Kept) -> Problem {
    let status = u16::try_from(kept.status).unwrap_or(200);
    if let Some(answer) = kept.answer {
        keyed.set(Stage::Repeated { status, answer });
    }
    not_kept(&format!("at {}", kept.answered_at), status)
}

fn lost() -> Problem {
    Problem::new(
        codes::BUSY_TRY_AGAIN,
        "The request was not carried out.",
        "A part of it failed, so that all of it was rolled back.",
        "Send the request again, with the same Idempotency-Key.",
    )
}

fn not_kept(when: &str, status: u16) -> Problem {
    Problem::new(
        codes::ANSWER_NOT_KEPT,
        format!("This request was carried out {when}, with status {status}."),
        "Its answer is not kept: it held a secret, was too large, or was given to a key with other rights.",
        "Look at what it made. To do it once more, send it with a new Idempotency-Key.",
    )
}

fn replay(status: u16, answer: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or_default();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (
            header::HeaderName::from_static(REPLAYED_HEADER),
            HeaderValue::from_static("true"),
        ),
    ];
    (status, headers, answer).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(KEY_HEADER, HeaderValue::from_str(value).expect("a header"));
        key_of(&headers).ok().flatten()
    }

    #[test]
    fn a_key_is_a_bare_word_or_a_quoted_string() {
        for (given, key) in [
            ("a-1", "a-1"),
            (r#""a 1""#, "a 1"),
            (r#""a\"\\b""#, r#"a"\b"#),
            ("\\", "\\"),
        ] {
            assert_eq!(read(given).as_deref(), Some(key), "{given}");
        }
        for wrong in [
            "", "a b", r#""""#, r#"" ""#, r#""a"#, r#"a""#, r#""a\""#, r#""a\b""#, r#""a";b"#,
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let mut twice = HeaderMap::new();
        twice.append(KEY_HEADER, HeaderValue::from_static("a"));
        twice.append(KEY_HEADER, HeaderValue::from_static("a"));
        assert!(key_of(&twice).is_err());
    }

    #[test]
    fn bodies_are_compared_by_their_members_and_no_value_is_kept() {
        let asked = |key: &str, body: &str| {
            let request = Request::builder()
                .method("POST")
                .uri("/v1/jobs?x=1")
                .header(KEY_HEADER, key);
            let keyed = Keyed::of(&request.body(Body::empty()).expect("a request"))
                .ok()
                .flatten()
                .expect("a key");
            keyed.note_body(body.as_bytes());
            keyed.asked()
        };
        let one = asked("k", r#"{"a": {"x": 1, "y": "secret"}, "b": null}"#);
        assert_eq!(one, asked("k", "{\"b\":null,\n\"a\":{\"y\":\"secret\",\"x\":1}}"));
        assert_eq!(one["path"], "/v1/jobs?x=1");
        assert!(!one.to_string().contains("secret"));
        let other = asked("k", r#"{"a": {"x": 2, "y": "secret"}, "b": null}"#);
        assert_ne!(one["members"]["a"], other["members"]["a"]);
        assert_eq!(one["members"]["b"], other["members"]["b"]);
        let salted = asked("l", r#"{"a": {"x": 1, "y": "secret"}, "b": null}"#);
        assert_ne!(one["members"]["b"], salted["members"]["b"], "the key is a salt");
    }
}
