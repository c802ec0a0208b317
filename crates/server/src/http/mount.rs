//! Operations as routes: one handler for all of them.

use std::collections::BTreeSet;
use std::iter::once;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{Extension, Router};
use serde_json::Map;
use tenure::operations::Perform;
use tenure_api::fields;
use tenure_api::registry::ENTRIES;
use tenure_api::request::{self, Brought};
use tenure_api::{Operation, Route};
use tenure_core::codes;
use tenure_core::hints::{self, Surface};

use super::auth::Caller;
use super::problem::Problem;
use super::requests::Secret;
use super::{Server, body};

/// The handlers of operations that are `served` by hand. Their method and path are those of the operation.
#[derive(Default)]
pub(super) struct ByHand {
    router: Router<Arc<Server>>,
    names: Vec<&'static str>,
}

impl ByHand {
    /// With the handler of an operation.
    pub(super) fn with<O: Operation, H: Handler<T, Arc<Server>>, T: 'static>(mut self, handler: H) -> ByHand {
        self.names.push(O::NAME);
        self.router = self.router.route(O::ROUTE.path, on(method::<O>(), handler));
        self
    }

    /// With those of another noun.
    pub(super) fn merge(mut self, other: ByHand) -> ByHand {
        self.names.extend(other.names);
        self.router = self.router.merge(other.router);
        self
    }
}

/// The routes of every operation.
pub(super) fn routes(by_hand: ByHand) -> Router<Arc<Server>> {
    let mut router = by_hand.router;
    macro_rules! mount {
        ($($how:ident $operation:ty,)*) => { $(mount! { @$how $operation })* };
        (@served $operation:ty) => {};
        (@$how:ident $operation:ty) => {
            router = router.merge(route::<$operation>());
        };
    }
    tenure_api::for_each_operation!(mount);
    router
}

fn route<O: Perform>() -> Router<Arc<Server>> {
    let paths = once(O::ROUTE.path).chain(shadowed::<O>());
    paths.fold(Router::new(), |router, path| {
        router.route(path, on(method::<O>(), carry_out::<O>))
    })
}

/// Paths of other operations that spell a name: `/v1/schedules/preview` is also the schedule `preview`.
fn shadowed<O: Operation>() -> BTreeSet<&'static str> {
    let is_name = |segment: &str| {
        let name = segment.trim_matches(['{', '}']);
        let mut fields = fields::describe::<O>().fields.iter();
        segment.starts_with('{') && fields.any(|field| field.name == name && field.schema["format"] != "uuid")
    };
    let spells = |path: &str| {
        let segments = || O::ROUTE.path.split('/').zip(path.split('/'));
        O::ROUTE.path.split('/').count() == path.split('/').count()
            && segments().all(|(own, other)| own == other || is_name(own) && !other.starts_with('{'))
    };
    let has_method = |path: &str| {
        let mut routes = ENTRIES.iter().map(|entry| &entry.route);
        routes.any(|route| route.path == path && route.method == O::ROUTE.method)
    };
    let paths = ENTRIES.iter().map(|entry| entry.route.path);
    paths.filter(|path| spells(path) && !has_method(path)).collect()
}

/// The names in a path that is literal for the router; see [`shadowed`].
fn spelled(route: &Route, path: &str) -> Vec<(String, String)> {
    let segments = route.path.split('/').zip(path.split('/'));
    let names = segments.filter_map(|(own, word)| Some((own.strip_prefix('{')?.strip_suffix('}')?, word)));
    names.map(|(name, word)| (name.to_owned(), word.to_owned())).collect()
}

fn method<O: Operation>() -> MethodFilter {
    match O::ROUTE.method {
        "POST" => MethodFilter::POST,
        "PUT" => MethodFilter::PUT,
        "PATCH" => MethodFilter::PATCH,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

/// Reads the operation from the request and carries it out for the caller, in one transaction.
async fn carry_out<O: Perform>(
    State(server): State<Arc<Server>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let operation: O = read(&server, request).await?;
    let answer = match O::CALLS_SEVERAL {
        false => {
            server
                .call(&caller, O::FUNCTION, async |client| operation.perform(client).await)
                .await?
        }
        true => {
            server
                .calls(&caller, O::FUNCTION, async |client| operation.perform(client).await)
                .await?
        }
    };
    answered::<O>(&answer)
}

/// The response that carries an answer.
pub(super) fn answered<O: Operation>(answer: &O::Answer) -> Result<Response, Problem> {
    let status = StatusCode::from_u16(O::status(answer)).unwrap_or_default();
    let secret = O::holds_secret(answer).then_some(Extension(Secret));
    if !O::HAS_HINTS {
        return Ok((status, secret, axum::Json(answer)).into_response());
    }
    let mut whole = serde_json::to_value(answer).unwrap_or_default();
    hints::in_answer(Surface::Request, &mut whole);
    Ok((status, secret, axum::Json(whole)).into_response())
}

/// The operation that a request asks for.
pub(super) async fn read<O: Operation>(server: &Arc<Server>, request: Request) -> Result<O, Problem> {
    let (operation, _) = read_with_body(server, request).await?;
    Ok(operation)
}

/// The operation that a request asks for, and the text of its body.
pub(super) async fn read_with_body<O: Operation>(
    server: &Arc<Server>,
    request: Request,
) -> Result<(O, Vec<u8>), Problem> {
    let (brought, text) = brought(server, request, &O::ROUTE).await?;
    let operation = request::read(brought).map_err(|wrong| body::wrong(&wrong.path, &wrong.text, wrong.of))?;
    Ok((operation, text))
}

async fn brought(server: &Arc<Server>, request: Request, route: &Route) -> Result<(Brought, Vec<u8>), Problem> {
    let (mut parts, payload) = request.into_parts();
    let named = RawPathParams::from_request_parts(&mut parts, server)
        .await
        .map_err(|error| {
            Problem::new(
                codes::REQUEST_INVALID,
                "The path holds no name.",
                error.body_text(),
                "Names are UTF-8, with percent signs where a URL needs them.",
            )
        })?;
    let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    let path = match named.iter().next().is_none() {
        true => spelled(route, parts.uri.path()),
        false => named.iter().map(owned).collect(),
    };
    let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let query = query
        .map(|(name, text)| (name.into_owned(), text.into_owned()))
        .collect();
    let (body, text) = match route.has_body() {
        true => body::members(Request::from_parts(parts, payload), server).await?,
        false => (Map::new(), Vec::new()),
    };
    Ok((Brought { path, query, body }, text))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tenure_api::registry::ENTRIES;

    #[test]
    fn every_operation_that_is_served_by_hand_has_a_handler() {
        let handled: BTreeSet<&str> = super::super::by_hand().names.into_iter().collect();
        let served = ENTRIES.iter().filter(|entry| entry.is_served_by_hand);
        let served: BTreeSet<&str> = served.map(|entry| entry.name).collect();
        assert_eq!(handled, served);
    }
}
