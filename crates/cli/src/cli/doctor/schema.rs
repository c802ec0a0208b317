//! Schema, roles and gates.

use serde_json::Value;
use tenure::migrate::SchemaStatus;
use tenure_api::settings::ConfigEntry;
use tenure_core::Refusal;

use super::finding::Finding;

/// The finding, and whether anything else can be checked.
pub(super) fn schema(status: &SchemaStatus) -> (Finding, bool) {
    match status.accept() {
        Err(error) => {
            let refusal = Refusal::from(error);
            (
                Finding::fail("schema", format!("{} {}", refusal.what, refusal.why), refusal.next),
                false,
            )
        }
        Ok(version) => match status.warning() {
            Some(warning) => (Finding::warn("schema", warning, "Run: tenure migrate"), true),
            None => (
                Finding::ok(
                    "schema",
                    format!("Version {version}, with the functions of this program."),
                ),
                true,
            ),
        },
    }
}

pub(super) fn roles(doctor: &Value) -> Finding {
    let Some(roles) = doctor["roles"].as_object() else {
        return Finding::warn(
            "roles",
            "The schema does not tell about its roles.",
            "Run: tenure migrate",
        );
    };
    let missing: Vec<&str> = roles
        .iter()
        .filter(|(_, there)| **there != true)
        .map(|(role, _)| role.as_str())
        .collect();
    if !missing.is_empty() {
        return Finding::fail(
            "roles",
            format!("Missing: {}.", missing.join(", ")),
            "Make them: tenure migrate --roles | psql, as a login with CREATEROLE; then run: tenure migrate --force",
        );
    }
    let login = doctor["login"].as_str().unwrap_or_default();
    let held: Vec<&str> = doctor["login_roles"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match held.is_empty() {
        true => Finding::fail(
            "roles",
            format!("The login {login} has no role of Tenure."),
            format!("Grant one, such as: grant tenure_worker to \"{login}\""),
        ),
        false => Finding::ok(
            "roles",
            format!("All {} are there; {login} acts as {}.", roles.len(), held.join(", ")),
        ),
    }
}

pub(super) fn gates(keys: &[ConfigEntry]) -> Finding {
    let closed: Vec<&str> = keys
        .iter()
        .filter(|key| key.is_gate && key.value.0 != true)
        .map(|key| key.key.as_str())
        .collect();
    match closed.is_empty() {
        true => Finding::ok("gates", "All are open."),
        false => Finding::warn(
            "gates",
            format!("Closed: {}.", closed.join(", ")),
            format!("If work should flow: tenure gate open {}", closed.join(" ")),
        ),
    }
}
