//! Refusals as answers: `application/problem+json` with code, what, why and next.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tenure_core::hints::{self, Surface};
use tenure_core::{Code, Refusal, codes};

/// A request that was not carried out.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    refusal: Refusal,
    retry_after_seconds: Option<u64>,
}

impl Problem {
    pub(super) fn new(
        code: &Code,
        what: impl Into<String>,
        why: impl Into<String>,
        next: impl Into<String>,
    ) -> Problem {
        Refusal::new(code, what, why, next).into()
    }

    /// Whether it has this code.
    pub(super) fn is(&self, code: &Code) -> bool {
        self.refusal.is(code)
    }

    /// Worth trying again, but not before.
    pub(super) fn retry_after(mut self, seconds: u64) -> Problem {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// Not worth trying again: whoever asks is not allowed to.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.refusal.http_status(), 401 | 403)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let again = refusal.is(codes::BUSY_TRY_AGAIN)
            || refusal.is(codes::DATABASE_UNREACHABLE)
            || refusal.is(codes::REQUEST_UNDER_WAY);
        Problem {
            refusal,
            retry_after_seconds: again.then_some(1),
        }
    }
}

impl From<tenure::Error> for Problem {
    fn from(error: tenure::Error) -> Problem {
        let tenure::Error::Database { refusal, .. } = &error else {
            return Refusal::from(error).into();
        };
        // What the database says is for whoever runs the server.
        tracing::error!(code = error.code(), "request failed: {error}");
        let code = refusal.known().unwrap_or(codes::DATABASE_ERROR);
        let hidden = Refusal::new(
            code,
            "The server could not use its database.",
            "Its log says why.",
            "Try again later; if it lasts, tell whoever runs the server, with the time of the request.",
        );
        hidden.into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.refusal.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = tenure_api::Problem {
            kind: format!("/errors/{}", self.refusal.code),
            title: self.refusal.known().map_or("Refused.", |code| code.summary).to_owned(),
            status: status.as_u16(),
            code: self.refusal.code.into_owned(),
            what: self.refusal.what,
            why: self.refusal.why,
            next: hints::on(Surface::Request, &self.refusal.next),
        };
        let mut response = (status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
