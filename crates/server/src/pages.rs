//! Documents that are part of the program.

use include_dir::{Dir, include_dir};

/// `docs/errors/`, one page per code.
static ERROR_PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/errors");

/// `docs/plan.schema.json`: the JSON Schema of plans.
pub const PLAN_SCHEMA: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/plan.schema.json"));

/// The page that explains a code of a refusal.
pub fn error_page(code: &str) -> Option<&'static str> {
    ERROR_PAGES.get_file(format!("{code}.md"))?.contents_utf8()
}
