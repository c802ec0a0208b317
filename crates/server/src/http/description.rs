//! The description of the API as OpenAPI 3.1: every operation, and the routes beside them.

use serde_json::{Value, json};
use tenure_api::openapi;

use super::events;

/// The groups of operations, in the order of the documentation.
const TAGS: &[(&str, &str)] = &[
    ("jobs", "Put work in, look at it, decide about it."),
    ("work", "Claim jobs, hold them, end them."),
    ("dead letters", "Jobs that gave up: look, triage, replay."),
    ("events", "What happened, as a stream."),
    (
        "subscriptions",
        "Receive events: by jobs, by webhooks, or by reading at your own pace.",
    ),
    ("schedules", "Planned runs: rules, and every slot of them as a row."),
    ("evidence", "What proves an execution, and the keys that sign it."),
    (
        "executions",
        "Frozen plans: submitted, approved, run step by step, and decided about.",
    ),
    (
        "approvals",
        "What is to be approved, who decided, and the rules about who must.",
    ),
    ("locks", "Locks on targets: who holds them, and who waits."),
    ("kinds", "Policies of kinds, and who runs them."),
    ("settings", "Settings and gates."),
    ("principals", "Tenants, principals and keys."),
    (
        "services",
        "What runs on a timer, done now; and what an operator should know.",
    ),
    ("server", "How the server is."),
];

/// A route that is no operation: it answers a file, or is about the server itself. Operations that stream or wait have their own
/// handlers instead, see [`by_hand`](super::by_hand).
struct Beside {
    path: &'static str,
    name: &'static str,
    tag: &'static str,
    summary: &'static str,
    details: &'static str,
    /// Media type and schema of its answer.
    answer: (&'static str, fn() -> Value),
    /// The status of a refusal, if there is one.
    refused: Option<&'static str>,
    needs_key: bool,
}

const BESIDE: &[Beside] = &[
    Beside {
        path: "/v1/executions/{execution_id}/evidence",
        name: "execution_evidence",
        tag: "evidence",
        summary: "Get the signed evidence of an execution, as a file",
        details: "JSON Lines that can be checked without a server. Of an execution that was archived it is \
                  the file that was signed then.",
        answer: ("application/x-ndjson", text),
        refused: Some("default"),
        needs_key: true,
    },
    Beside {
        path: "/metrics",
        name: "metrics",
        tag: "server",
        summary: "All numbers, for Prometheus",
        details: "For keys of the installation: the numbers cover every tenant.",
        answer: ("text/plain", text),
        refused: Some("default"),
        needs_key: true,
    },
    Beside {
        path: "/healthz",
        name: "healthz",
        tag: "server",
        summary: "The process lives",
        details: "",
        answer: ("application/json", status),
        refused: None,
        needs_key: false,
    },
    Beside {
        path: "/readyz",
        name: "readyz",
        tag: "server",
        summary: "The database answers, and its schema is one this server works with",
        details: "",
        answer: ("application/json", status),
        refused: Some("503"),
        needs_key: false,
    },
    Beside {
        path: "/errors/{code}",
        name: "error_explain",
        tag: "server",
        summary: "Explain the code of a refusal",
        details: "",
        answer: ("text/markdown", text),
        refused: Some("404"),
        needs_key: false,
    },
    Beside {
        path: "/plan.schema.json",
        name: "plan_schema",
        tag: "server",
        summary: "The JSON Schema of plans",
        details: "",
        // A schema is any object.
        answer: ("application/schema+json", || json!({"type": "object"})),
        refused: None,
        needs_key: false,
    },
];

/// The whole document.
pub(super) fn document() -> Value {
    let (mut paths, schemas) = openapi::document();
    for route in BESIDE {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path["get"] = described(route);
    }
    let tags = TAGS.iter();
    let tags: Vec<Value> = tags
        .map(|(name, description)| json!({"name": name, "description": description}))
        .collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tenure",
            "description": "Work that must not be lost, must not run twice by accident, and must not run without permission.",
            "license": {"name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE")},
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{"url": "/", "description": "The server that this document comes from"}],
        "security": [{"key": []}],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {"Refused": openapi::refused()},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "tnr_PREFIX_SECRET"}},
        },
    });
    events::describe(&mut document);
    openapi::add_examples(&mut document);
    document
}

fn described(route: &Beside) -> Value {
    let (kind, schema) = route.answer;
    let mut operation = json!({
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
        "responses": {"200": {"description": "Found", "content": {kind: {"schema": schema()}}}},
    });
    if !route.details.is_empty() {
        operation["description"] = route.details.into();
    }
    if let Some(status) = route.refused {
        operation["responses"][status] = json!({"$ref": "#/components/responses/Refused"});
    }
    if !route.needs_key {
        operation["security"] = json!([{}]);
    }
    let segments = route.path.split('/');
    let names = segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> = names.map(parameter).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    operation
}

fn parameter(name: &str) -> Value {
    let (description, schema) = match name {
        "code" => ("The code, such as gate_closed.", text()),
        _ => ("The id of the execution.", json!({"type": "string", "format": "uuid"})),
    };
    json!({"name": name, "in": "path", "required": true, "description": description, "schema": schema})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn status() -> Value {
    let ok = json!({"type": "string", "description": "`ok`."});
    json!({"type": "object", "title": "Status", "properties": {"status": ok}, "required": ["status"]})
}
