//! The promises of the pure rules, and the vectors that bind SQL to them.

#![allow(clippy::unwrap_used)] // A test that cannot go on may stop.

mod anchors;
mod anchors_rewritten;
mod backoff;
mod codes;
mod evidence;
mod evidence_fields;
mod evidence_forged;
mod evidence_keys;
mod evidence_tampering;
mod execution_transitions;
mod hints;
mod limits;
mod masking;
mod names;
mod payload;
mod plan_graph;
mod plan_schema;
mod plans;
mod priority;
mod purity;
mod rhythm;
mod slots;
mod traceparent;
mod transitions;

use std::path::{Path, PathBuf};

/// The text of a vector file.
fn vectors(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One JSON value for each line of a vector file.
fn json_lines(name: &str) -> Vec<serde_json::Value> {
    vectors(name)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a vector is JSON"))
        .collect()
}

/// A place in the repository; none when the crate was packaged without it.
fn in_repository(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    path.exists().then_some(path)
}
